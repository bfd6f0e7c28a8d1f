"""What estimators have in common: the interface, tallies of samples, and how rank distributions fit."""
