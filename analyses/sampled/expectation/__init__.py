"""Sampled metrics without simulation: exact means, variances and curves."""
