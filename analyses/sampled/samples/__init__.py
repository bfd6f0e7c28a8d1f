"""Where relevant items stand among sampled negatives."""

from analyses.sampled.samples.designs import SampleDesign
from analyses.sampled.samples.sampled_ranks import SampledRanks

__all__ = ["SampleDesign", "SampledRanks"]
