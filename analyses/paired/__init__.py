"""Tests beside the permutation test, one a file, for all pairs of systems and all measures.

Each takes scores of shape (n_measures, n_systems, n_users) and gives two-sided p-values in (0, 1]
of shape (n_measures, n_pairs), pairs in the order of `analyses.permutation.pair_indices`.
"""

from analyses.paired.bootstrap import SakaiTest, bootstrap_test, sakai_test
from analyses.paired.differences import count_differing
from analyses.paired.sign import sign_test
from analyses.paired.t import t_test
from analyses.paired.wilcoxon import wilcoxon_test

__all__ = [
    "SakaiTest",
    "bootstrap_test",
    "count_differing",
    "sakai_test",
    "sign_test",
    "t_test",
    "wilcoxon_test",
]
