"""Arrays by what they hold."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
"""Scores, coefficients, times: double precision."""

Masks: TypeAlias = NDArray[np.bool_]
"""What is chosen."""

Numbers: TypeAlias = NDArray[np.intp]
"""Counts, and numbers of rows, items, users, from 0."""
