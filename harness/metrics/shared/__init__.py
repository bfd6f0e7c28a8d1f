"""What metrics share: the type of a metric, names, options, weights, measures of other tools."""
