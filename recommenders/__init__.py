"""Recommenders: one system per file, over LensKit components."""
