"""Metrics that exist for the names of trec_eval, one per file; a part of the list of metrics."""
