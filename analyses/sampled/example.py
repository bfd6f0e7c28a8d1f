"""The example of Krichene & Rendle: three lists of ranks that sampling orders wrongly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.sampled.expectation.crossings import Consistency, consistency_crossings
from analyses.sampled.expectation.metrics import RankMetric, rank_metric
from analyses.sampled.expectation.moments import Moments, estimate_moments, sampled_values
from analyses.sampled.samples.from_full_ranks import sample_ranks
from analyses.shared.drawing import axes_or_new, categories, legend_beside
from qrels import FullRanks
from runs import InputError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

N_CANDIDATES = 10_000
LISTS: Mapping[str, FullRanks] = MappingProxyType(
    {
        "A": FullRanks.of([100] * 5, n_candidates=N_CANDIDATES),
        "B": FullRanks.of([40, 40, 8437, 9266, 4482], n_candidates=N_CANDIDATES),
        "C": FullRanks.of([212, 2, 743, 5342, 1548], n_candidates=N_CANDIDATES),
    }
)
"""Ranks of the relevant items of five users, by system; tables 1 and 2 of the paper."""

METRICS = ("AUC", "AP", "nDCG", "Recall@10")


@dataclass(frozen=True, eq=False)
class ToyTable:
    """Exact metrics of the example lists, and what sampling makes of them.

    Parameters
    ----------
    metrics
        Label of the first axis of all arrays, which are of shape (n_metrics, n_systems).
    systems
        Label of the second.
    exact
        Means over the users of the exact metrics: table 1.
    expected, sd
        Exact mean and standard deviation, over samples, of the mean over the users: table 2.
    simulated, simulated_sd
        The same from simulated samples; NaN where there are too few.
    m, replace, repeats, seed
        Negatives, how they were drawn, number of simulated samples, and their seed.
    """

    metrics: tuple[RankMetric, ...]
    systems: tuple[str, ...]
    exact: Floats
    expected: Floats
    sd: Floats
    simulated: Floats
    simulated_sd: Floats
    m: int
    replace: bool
    repeats: int
    seed: int

    def to_frame(self) -> pd.DataFrame:
        """Give one row for each metric and system."""
        import pandas as pd

        columns = ("exact", "expected", "sd", "simulated", "simulated_sd")
        labels = {
            "metric": np.repeat([str(metric) for metric in self.metrics], len(self.systems)),
            "system": np.tile(self.systems, len(self.metrics)),
        }
        return pd.DataFrame(labels | {name: getattr(self, name).ravel() for name in columns})

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw sampled metrics with one standard deviation to either side, and the exact ones."""
        axes = axes_or_new(ax)
        places = np.arange(len(self.metrics))
        for number, (label, style) in enumerate(categories(self.systems)):
            beside = places + 0.2 * (number - (len(self.systems) - 1) / 2)
            colour, marker = style["color"], style["marker"]
            axes.errorbar(
                beside,
                self.expected[:, number],
                self.sd[:, number],
                color=colour,
                marker=marker,
                linestyle="",
                label=f"{label}, sampled",
            )
            axes.plot(
                beside,
                self.exact[:, number],
                color=colour,
                marker=marker,
                linestyle="",
                markerfacecolor="none",
                label=f"{label}, exact",
            )
        axes.set_xticks(places, [str(metric) for metric in self.metrics])
        axes.set_ylabel("mean over the users")
        legend_beside(axes)
        return axes

    def caption(self) -> str:
        """Say what is shown."""
        how = "with" if self.replace else "without"
        simulated = f"; simulated {self.repeats:,} times, seed {self.seed}" if self.repeats else ""
        return (
            f"Ranks of {len(LISTS['A'])} users among {N_CANDIDATES:,} candidates: exact metrics, "
            f"and the mean and standard deviation of those among {self.m} negatives sampled "
            f"{how} replacement{simulated}."
        )


def toy_table(
    metrics: Sequence[str] = METRICS,
    *,
    m: int = 99,
    replace: bool = True,
    repeats: int = 1000,
    seed: int,
) -> ToyTable:
    """Compute the metrics of the example lists, exact and sampled.

    Parameters
    ----------
    metrics
        Metrics of ranks.
    m, replace
        Negatives, and how they are drawn.
    repeats, seed
        Samples to simulate besides, none or at least 2, and their seed.

    Returns
    -------
    Tables 1 and 2 of the paper.

    Raises
    ------
    InputError
        If a metric or the number of repeats makes no sense.

    Notes
    -----
    Krichene & Rendle (2020), tables 1 and 2; theirs is the simulation.

    Examples
    --------
    The exact order of the three lists is C, B, A in AP, and the sampled one A, B, C:

    >>> table = toy_table(["AP"], repeats=0, seed=1)
    >>> table.exact.round(4), table.expected.round(4)
    (array([[0.01  , 0.0101, 0.1014]]), array([[0.6366, 0.3407, 0.3262]]))
    """
    if repeats < 0 or repeats == 1:
        raise InputError(f"`repeats` must be 0 or at least 2, got {repeats}.")
    read = tuple(rank_metric(metric) for metric in metrics)
    values = np.array([sampled_values(metric, m=m) for metric in read])
    moments = [
        [estimate_moments(v, some.rank, n=N_CANDIDATES, replace=replace) for some in LISTS.values()]
        for v in values
    ]
    simulated = _simulated(values, m=m, replace=replace, repeats=repeats, seed=seed)
    return ToyTable(
        metrics=read,
        systems=tuple(LISTS),
        exact=np.array(
            [[metric(s.rank, n=N_CANDIDATES).mean() for s in LISTS.values()] for metric in read]
        ),
        expected=np.array([[float(each.mean) for each in row] for row in moments]),
        sd=np.sqrt([[float(each.variance) for each in row] for row in moments]),
        simulated=simulated.mean,
        simulated_sd=np.sqrt(simulated.variance),
        m=m,
        replace=replace,
        repeats=repeats,
        seed=seed,
    )


def _simulated(values: Floats, *, m: int, replace: bool, repeats: int, seed: int) -> Moments:
    """Sample again and again; mean and variance of the means over the users."""
    shape = (len(values), len(LISTS))
    if repeats == 0:
        return Moments(np.full(shape, np.nan), np.full(shape, np.nan))
    means = np.array([_sample(values, m, seed, repeat, replace) for repeat in range(repeats)])
    return Moments(means.mean(axis=0), means.var(axis=0, ddof=1))


def _sample(values: Floats, m: int, seed: int, repeat: int, replace: bool) -> Floats:
    """Sample every list once, each user with numbers of its own; of shape (n_metrics, n_lists)."""
    ranks = np.concatenate([some.rank for some in LISTS.values()])
    sampled = sample_ranks(
        ranks, n_candidates=N_CANDIDATES, m=m, seed=seed, repeat=repeat, replace=replace
    )
    per_list = sampled.above.reshape(len(LISTS), -1)
    return np.asarray(values[:, per_list].mean(axis=2))


def toy_consistency(
    metrics: Sequence[str] = METRICS, *, negatives: int | None = None, replace: bool = True
) -> dict[str, Consistency]:
    """Follow the expected metrics of the example lists over the size of the sample.

    Parameters
    ----------
    metrics
        Metrics of ranks.
    negatives
        The largest number of negatives; by default all.
    replace
        Whether they are drawn with replacement.

    Returns
    -------
    By metric, the panels of figure 2 of Krichene & Rendle (2020).

    Examples
    --------
    >>> toy_consistency(["nDCG"])["nDCG"].settled
    692
    """
    return {
        metric: consistency_crossings(LISTS, metric, negatives=negatives, replace=replace)
        for metric in metrics
    }
