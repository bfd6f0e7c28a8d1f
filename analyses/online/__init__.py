"""Offline metrics and online clicks: whether one follows the other."""

GROUP = "Whether offline measures follow what users click."
