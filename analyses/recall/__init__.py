"""Recall of hidden items, weighed against their popularity, from one table of ranks."""
