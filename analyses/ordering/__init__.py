"""How alike two orderings of systems are: coefficients over whole arrays of orderings."""

from analyses.ordering.agreement import DECIMALS
from analyses.ordering.coefficients import COEFFICIENTS, Coefficient, find_coefficient
from analyses.ordering.correlations import tau_ap, tau_ap_a, tau_b

__all__ = [
    "COEFFICIENTS",
    "DECIMALS",
    "Coefficient",
    "find_coefficient",
    "tau_ap",
    "tau_ap_a",
    "tau_b",
]
