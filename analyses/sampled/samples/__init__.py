"""Where relevant items stand among sampled negatives: drawn from full ranks, or from scores."""

from analyses.sampled.samples.from_full_ranks import sample_ranks, sample_ranks_adaptive
from analyses.sampled.samples.from_scores import popularity_proposal, sample_ranks_from_scores
from analyses.sampled.samples.sampled_ranks import SampledRanks

__all__ = [
    "SampledRanks",
    "popularity_proposal",
    "sample_ranks",
    "sample_ranks_adaptive",
    "sample_ranks_from_scores",
]
