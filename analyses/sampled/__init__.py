"""Sampled metrics: what they say of the exact ones, and what corrects them."""

from analyses.sampled.adaptive_sizes import AdaptiveSizes, study_adaptive_sizes
from analyses.sampled.correction import Sampled, study_correction
from analyses.sampled.cost import Cost, study_cost
from analyses.sampled.iterations import Iterations, study_iterations
from analyses.sampled.prior_choice import Priors, study_prior
from analyses.sampled.rank_distributions import RankDistributions, study_ranks
from analyses.sampled.sample_size import SampleSize, study_sample_size

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
