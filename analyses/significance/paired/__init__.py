"""Tests beside the permutation test, one a file, for all pairs of systems and all measures.

Each takes scores of shape (n_measures, n_systems, n_users) and gives two-sided p-values in (0, 1]
of shape (n_measures, n_pairs), pairs in the order of
`analyses.significance.permutation.pair_indices`.
"""

from analyses.significance.paired.bootstrap import sakai_test
from analyses.significance.paired.sign import sign_test
from analyses.significance.paired.t import t_test
from analyses.significance.paired.wilcoxon import wilcoxon_test

__all__ = ["sakai_test", "sign_test", "t_test", "wilcoxon_test"]
