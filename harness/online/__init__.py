"""Offline metrics and online clicks: simulated experiments, searches for models, and the study."""
