"""What estimators have in common: interface, tallies of samples, fits of distributions."""
