"""Where relevant items stand among sampled negatives."""

from analyses.sampled.samples.designs import Design
from analyses.sampled.samples.sampled_ranks import SampledRanks

__all__ = ["Design", "SampledRanks"]
