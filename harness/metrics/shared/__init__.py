"""What metrics have in common: what a metric is, names, averages, bridges."""
