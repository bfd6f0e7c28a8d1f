"""Analyses: one study per file, each a pure function of scores."""
