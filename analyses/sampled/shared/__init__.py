"""What studies of sampled metrics share."""
