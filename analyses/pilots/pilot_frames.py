"""All numbers of a pilot, as frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.pilots.pilot import Pilot, of_median_pair
from analyses.significance.permutation import pair_indices

if TYPE_CHECKING:
    import pandas as pd


def by_measure(found: Pilot) -> pd.DataFrame:
    """Give one row per measure; see :meth:`analyses.design.Design.summary`."""
    import pandas as pd

    low, high = found.interval
    parts, halves = found.components, found.halves
    relative_users, absolute_users = parts.users_for(found.reliability)
    return pd.DataFrame(
        _labels(found, 1)
        | {
            "needed": found.needed,
            "needed_low": low,
            "needed_high": high,
            "observed_median": of_median_pair(found.observed),
            "relative_median": of_median_pair(found.relative),
            "found_now": (found.relative <= found.n_users).mean(axis=1),
            "detectable_median": np.median(found.detectable, axis=1),
            "simulated_power": found.simulated,
            "noise": found.noise,
            "var_systems": parts.systems,
            "var_users": parts.users,
            "var_interaction": parts.interaction,
            "e_rho2": parts.relative,
            "e_rho2_low": parts.relative_low,
            "e_rho2_high": parts.relative_high,
            "e_rho2_users": relative_users,
            "phi": parts.absolute,
            "phi_users": absolute_users,
            "split_half": halves.reliability,
            "half_tau": halves.tau,
            "swap_rate": halves.swap_rate,
        }
    )


def by_pair(found: Pilot) -> pd.DataFrame:
    """Give one row per measure and pair; see :meth:`analyses.design.Design.to_frame`."""
    import pandas as pd

    first, second = (side[found.pairs] for side in pair_indices(len(found.systems)))
    names = np.array(found.systems, dtype=object)
    columns = _labels(found, len(found.pairs)) | {
        "system_a": np.tile(names[first], len(found.measures)),
        "system_b": np.tile(names[second], len(found.measures)),
        "difference": found.differences.ravel(),
        "deviation": found.deviations.ravel(),
        "users_observed": found.observed.ravel(),
        "users_relative": found.relative.ravel(),
        "detectable": found.detectable.ravel(),
    }
    if found.equivalence is not None:
        columns |= found.equivalence.columns(found.alpha)
    return pd.DataFrame(columns)


def by_size(found: Pilot) -> pd.DataFrame:
    """Give the curves: the expected share of significant pairs by measure and number of users."""
    import pandas as pd

    curves = _labels(found, len(found.sizes)) | {
        "users": np.tile(found.sizes, len(found.measures)),
        "significant": found.shares.ravel(),
    }
    return pd.DataFrame(curves)


def _labels(found: Pilot, n_rows: int) -> dict[str, NDArray[np.generic]]:
    """Name the measure of every row, for so many rows a measure."""
    metrics = np.array([measure.metric for measure in found.measures], dtype=object)
    return {
        "metric": metrics.repeat(n_rows),
        "cutoff": found.measures.column.repeat(n_rows),
    }
