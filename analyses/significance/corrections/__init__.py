"""Corrections for testing many pairs of systems at once.

A family is the pairs of one measure: do not pool measures, and count no pair twice. Bonferroni,
Holm and Benjamini-Hochberg adjust any test's p-values; max-T and Tukey's HSD are permutation tests
of their own.
"""

from analyses.significance.corrections.adjustments import benjamini_hochberg, bonferroni, holm
from analyses.significance.corrections.max_t import max_t_test
from analyses.significance.corrections.tukey import tukey_test

__all__ = ["benjamini_hochberg", "bonferroni", "holm", "max_t_test", "tukey_test"]
