"""What is due to chance: resampling users, bands around curves, areas, paired differences."""
