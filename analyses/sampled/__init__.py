"""Sampled metrics: what they say of the exact ones, and what corrects them."""

from analyses.sampled.correction import Sampled, study_correction
from analyses.sampled.sample_size import SampleSize, study_sample_size

__all__ = ["SampleSize", "Sampled", "study_correction", "study_sample_size"]
