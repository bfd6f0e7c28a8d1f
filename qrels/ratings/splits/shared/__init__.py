"""What splits have in common: what a split is, the register, and holding out of each user."""
