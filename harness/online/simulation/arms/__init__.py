"""The arms of a simulated experiment: models, what they serve, and how it is logged."""
