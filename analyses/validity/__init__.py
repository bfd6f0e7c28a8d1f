"""Validity: whether measures order the systems as the truth does; in one study, and in a sweep."""

from analyses.validity.measure_validity import Settings, validity
from analyses.validity.sweep import ValiditySweep, validity_sweep
from analyses.validity.validity_result import Validity

__all__ = ["Settings", "Validity", "ValiditySweep", "validity", "validity_sweep"]
