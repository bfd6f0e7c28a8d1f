"""Where relevant items stand among sampled negatives."""

from analyses.sampled.samples.designs import Adaptive, FixedSize
from analyses.sampled.samples.sampled_ranks import SampledRanks

__all__ = ["Adaptive", "FixedSize", "SampledRanks"]
