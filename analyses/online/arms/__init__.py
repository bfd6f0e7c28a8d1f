"""The arms of an experiment: what was recorded of them, and both sides that are compared."""
