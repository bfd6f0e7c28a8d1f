"""Tests between systems, their power, and what many of them need."""
