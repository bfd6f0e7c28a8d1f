"""Offline metrics and online clicks: whether one follows the other."""
