"""Sampled metrics: what they say of the exact ones, and what corrects them."""

from analyses.sampled.correction import Sampled, study_correction

__all__ = ["Sampled", "study_correction"]
