"""Sampled metrics: what they say of the exact ones, and what corrects them."""

from analyses.sampled.adaptive import AdaptiveSizes, study_adaptive_sizes
from analyses.sampled.cost import Cost, study_cost
from analyses.sampled.estimates import Sampled, study_correction
from analyses.sampled.iterations import Iterations, study_iterations
from analyses.sampled.priors import Priors, study_prior
from analyses.sampled.ranks import RankDistributions, study_ranks
from analyses.sampled.sizes import SampleSize, study_sample_size

__all__ = [
    "AdaptiveSizes",
    "Cost",
    "Iterations",
    "Priors",
    "RankDistributions",
    "SampleSize",
    "Sampled",
    "study_adaptive_sizes",
    "study_correction",
    "study_cost",
    "study_iterations",
    "study_prior",
    "study_ranks",
    "study_sample_size",
]
