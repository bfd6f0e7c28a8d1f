"""Before an experiment: which models, and how many of them."""
