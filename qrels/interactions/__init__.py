"""Interactions of users with items, read from logs."""
