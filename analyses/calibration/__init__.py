"""Whether tests and intervals keep what they promise, where the truth is known."""

from analyses.calibration.calibration import CHECKS, Calibration, Settings, calibrate
from analyses.calibration.population import Population
from analyses.calibration.rates import Promise, Quantity, Rate
from analyses.calibration.studies import Lists, Studies, Tables

__all__ = [
    "CHECKS",
    "Calibration",
    "Lists",
    "Population",
    "Promise",
    "Quantity",
    "Rate",
    "Settings",
    "Studies",
    "Tables",
    "calibrate",
]
