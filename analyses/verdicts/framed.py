"""Comparisons with the truth as tidy tables, in full."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.intervals.resampling import percentiles
from analyses.ordering.agreement import mean_of_defined
from analyses.verdicts.choice import as_share
from analyses.verdicts.comparison import Comparison
from analyses.verdicts.drawn import SUBSETS
from analyses.verdicts.pair_verdicts import RATES, VERDICTS

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


def by_measure(found: Comparison) -> pd.DataFrame:
    """Give one row per truth and measure; see `Validity.to_frame`."""
    import pandas as pd

    verdicts, shares = found.verdicts, found.verdicts.shares()
    regret = {
        "regret": found.regret.values,
        "regret_low": found.regret.users[0],
        "regret_high": found.regret.users[1],
        "regret_share": as_share(found.regret.values, found.true),
    }
    columns = {
        **found.tau.columns("tau"),
        "tau_ap": found.tau_aps,
        "attainable": found.attainable,
        "true_differences": verdicts.sure.sum(axis=-1),
        "inversions": verdicts.inverted.sum(axis=-1),
        **regret,
        **{_column(name): shares[..., n] for n, name in enumerate(VERDICTS)},
    }
    for name in RATES:
        columns |= found.rate(name).columns(_column(name), f"{_column(name)}_")
    n_truths, n_measures = found.tau.values.shape
    frame = pd.DataFrame(
        {
            "truth": np.repeat(found.truths, n_measures),
            "metric": [measure.metric for measure in found.measures] * n_truths,
            "cutoff": np.tile(found.measures.column, n_truths),
            **{name: values.ravel() for name, values in columns.items()},
        }
    )
    chosen = [found.chosen(number) for number in range(n_measures)]
    choices = {"chosen": chosen * n_truths, "same_choice": np.tile(found.same_choice, n_truths)}
    return frame.assign(**choices)


def _column(name: str) -> str:
    return name.replace(" ", "_").lower()


def curves(found: Comparison) -> pd.DataFrame:
    """Give one row per truth, measure and level of what is kept."""
    import pandas as pd

    low, high = percentiles(found.user_taus, confidence=SUBSETS)
    parts = [_curve(found, "users", found.sizes, mean_of_defined(found.user_taus), low, high)]
    for name, lost in (("judgements", found.kept), ("items", found.popular)):
        if lost is not None:
            bands = [lost.curves(n, found.measures).band() for n in range(len(found.truths))]
            limits = (np.stack(side) for side in zip(*bands, strict=True))
            part = _curve(found, name, lost.levels, lost.taus, *limits)
            parts.append(part.assign(itself=np.tile(lost.itself.ravel(), len(found.truths))))
    return pd.concat(parts, ignore_index=True)


def _curve(
    found: Comparison, kept: str, levels: Sequence[float], taus: Floats, low: Floats, high: Floats
) -> pd.DataFrame:
    import pandas as pd

    labels = product(found.truths, found.measures, levels)
    rows = [(t, m.metric, m.cutoff, kept, level) for t, m, level in labels]
    frame = pd.DataFrame(rows, columns=["truth", "metric", "cutoff", "kept", "level"])
    frame["cutoff"] = frame["cutoff"].astype("Int64")
    return frame.assign(tau=taus.ravel(), low=low.ravel(), high=high.ravel())
