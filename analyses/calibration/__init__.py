"""Whether tests and intervals keep what they promise, where the truth is known."""

from analyses.calibration.calibration import CHECKS, Calibration, Check, Settings, calibrate
from analyses.calibration.population import Population
from analyses.calibration.promises import Promise, Quantity, Rate
from analyses.calibration.studies import Lists, Studies, Tables

__all__ = [
    "CHECKS",
    "Calibration",
    "Check",
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
