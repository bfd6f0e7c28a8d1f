"""Arrays by what they hold."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
"""Scores, coefficients, times: double precision."""

Singles: TypeAlias = NDArray[np.float32]
"""Single precision, where loops are to be fast."""

Masks: TypeAlias = NDArray[np.bool_]
"""What is chosen."""

Numbers: TypeAlias = NDArray[np.intp]
"""Counts, and numbers of rows, items, users, from 0."""
