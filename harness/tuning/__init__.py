"""Searching the settings of systems on a validation part."""
