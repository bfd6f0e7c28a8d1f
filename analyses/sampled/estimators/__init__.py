"""Estimators of exact metrics from sampled ranks, one a file, with one interface.

Each is a value with a printed form, fitted to samples of one system:
``bv(0.1).fit(sampled).estimate("Recall@10")``.
"""

from analyses.sampled.estimators.bv import BiasVariance
from analyses.sampled.estimators.cls import ConstrainedLeastSquares
from analyses.sampled.estimators.ht_plugin import HorvitzThompson
from analyses.sampled.estimators.ls import LeastSquares
from analyses.sampled.estimators.mes import MaximumEntropy
from analyses.sampled.estimators.mle import AdaptiveMaximumLikelihood, MaximumLikelihood
from analyses.sampled.estimators.mn import Multinomial
from analyses.sampled.estimators.naming import ESTIMATORS, find_estimator
from analyses.sampled.estimators.rank_estimate import RankEstimate
from analyses.sampled.estimators.shared.cells import Cells
from analyses.sampled.estimators.shared.estimator import Estimator, Fits
from analyses.sampled.estimators.uncorrected import Uncorrected

uncorrected, rank_estimate = Uncorrected, RankEstimate
ls, cls, bv, mn = LeastSquares, ConstrainedLeastSquares, BiasVariance, Multinomial
mle, adaptive_mle, mes = MaximumLikelihood, AdaptiveMaximumLikelihood, MaximumEntropy
ht_plugin = HorvitzThompson

__all__ = [
    "ESTIMATORS",
    "Cells",
    "Estimator",
    "Fits",
    "adaptive_mle",
    "bv",
    "cls",
    "find_estimator",
    "ht_plugin",
    "ls",
    "mes",
    "mle",
    "mn",
    "rank_estimate",
    "uncorrected",
]
