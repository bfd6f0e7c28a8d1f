"""How alike two orderings of systems are: coefficients over whole arrays of orderings."""

from analyses.ordering.coefficients import COEFFICIENTS, Coefficient, find_coefficient
from analyses.ordering.decimals import DECIMALS
from analyses.ordering.kendall import tau_a, tau_b
from analyses.ordering.rbo import rbo, rbo_floor
from analyses.ordering.spearman import spearman
from analyses.ordering.tau_ap import tau_ap, tau_ap_a, tau_ap_b
from analyses.ordering.weighted import weighted_tau

__all__ = [
    "COEFFICIENTS",
    "DECIMALS",
    "Coefficient",
    "find_coefficient",
    "rbo",
    "rbo_floor",
    "spearman",
    "tau_a",
    "tau_ap",
    "tau_ap_a",
    "tau_ap_b",
    "tau_b",
    "weighted_tau",
]
