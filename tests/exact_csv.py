"""CSV files as they were written: numbers to the last bit."""

from typing import Any

import pandas as pd

ALWAYS_EXACT = (3, 1)
"""Version of pandas from which it reads numbers to the last bit without being asked."""


def read_exactly(source: Any) -> pd.DataFrame:
    version = tuple(int(part) for part in pd.__version__.split(".")[:2])
    if version >= ALWAYS_EXACT:
        return pd.read_csv(source)
    return pd.read_csv(source, float_precision="round_trip")
