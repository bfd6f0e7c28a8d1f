r"""The paired permutation (sign-flip) test for all pairs of systems, exact and by Monte-Carlo.

Under the null hypothesis every user's difference d between two systems is as likely as -d. With
independent signs s, the two-sided p-value of the mean difference is

.. math:: p = P\left( \Big|\sum_u s_u d_u\Big| \ge \Big|\sum_u d_u\Big| \right),

ties included: the randomisation test of Fisher (1935), as Smucker, Allan & Carterette (2007)
recommend it for information retrieval.
"""

from analyses.significance.permutation.exact import ExactTest, Method, exact_test
from analyses.significance.permutation.lattice import find_scale, on_lattice
from analyses.significance.permutation.monte_carlo import monte_carlo_test
from analyses.significance.permutation.pairs import pair_indices

__all__ = [
    "ExactTest",
    "Method",
    "exact_test",
    "find_scale",
    "monte_carlo_test",
    "on_lattice",
    "pair_indices",
]
