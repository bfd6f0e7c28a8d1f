"""Discriminative power: how surely a metric tells systems apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from analyses.drawing import axes_or_new, curves_of, legend_beside
from analyses.measure import Measure, Scores
from analyses.permutation import (
    ExactTest,
    Method,
    exact_test,
    monte_carlo_test,
    on_lattice,
    pair_indices,
)
from runs import InputError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

SCALE_TOLERANCE = 1e-6
# Curves are drawn up to the pair after which all of them stay below this p-value.
SHOWN_P = 0.001
LEAST_SHOWN = 21
MARKERS_PER_CURVE = 12

Test = Literal["exact", "monte-carlo"]


@dataclass(frozen=True, eq=False)
class Discrimination:
    """p-values of all pairs of systems for every measure, and the powers they add up to.

    Parameters
    ----------
    measures
        Label of the first axis of the arrays.
    systems
        Names of the systems; the second axis holds their pairs i < j, first by i, then by j.
    differences
        Mean score of i minus mean score of j, of shape (n_measures, n_pairs).
    p
        Two-sided p-values in (0, 1], of shape (n_measures, n_pairs).
    methods
        How each was found, of shape (n_measures, n_pairs): a label of
        :class:`analyses.permutation.Method`.
    n_users
        Number of users (topics).
    test
        "exact" or "monte-carlo".
    permutations, seed
        Number of random sign flips and their seed, where Monte-Carlo was used.
    """

    measures: tuple[Measure, ...]
    systems: tuple[str, ...]
    differences: NDArray[np.float64]
    p: NDArray[np.float64]
    methods: NDArray[np.str_]
    n_users: int
    test: Test
    permutations: int
    seed: int

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Names of the systems of each pair."""
        first, second = pair_indices(len(self.systems))
        return tuple((self.systems[i], self.systems[j]) for i, j in zip(first, second, strict=True))

    @property
    def dp(self) -> NDArray[np.float64]:
        """Discriminative power: sum of p over the unordered pairs, lower is better.

        Of shape (n_measures,). Valcarce et al. (2018) sum over ordered pairs: twice as much.
        """
        return np.asarray(self.p.sum(axis=1))

    def to_frame(self) -> pd.DataFrame:
        """One row per measure and pair: metric, cutoff, systems, difference, p, method."""
        import pandas as pd

        n_measures, n_pairs = self.p.shape
        first, second = zip(*self.pairs, strict=True)
        return pd.DataFrame(
            {
                "metric": np.repeat([measure.metric for measure in self.measures], n_pairs),
                "cutoff": np.repeat([measure.cutoff for measure in self.measures], n_pairs),
                "system_a": first * n_measures,
                "system_b": second * n_measures,
                "difference": self.differences.ravel(),
                "p": self.p.ravel(),
                "method": self.methods.ravel(),
            }
        )

    def summary(self) -> pd.DataFrame:
        """One row per measure, with discriminative power in every convention.

        Returns
        -------
        Columns ``dp`` (sum of p over unordered pairs), ``dp_ordered`` (over ordered pairs, as
        Valcarce et al. 2018 print it), ``significant_05`` (share of pairs with p < .05; Sakai
        2006), ``median_p`` (Lu, Moffat & Culpepper 2016), ``dp_mean`` (``dp`` divided by the
        number of pairs) and ``significant_01``.
        """
        import pandas as pd

        return pd.DataFrame(
            {
                "metric": [measure.metric for measure in self.measures],
                "cutoff": [measure.cutoff for measure in self.measures],
                "dp": self.dp,
                "dp_ordered": 2 * self.dp,
                "significant_05": (self.p < 0.05).mean(axis=1),
                "median_p": np.median(self.p, axis=1),
                "dp_mean": self.p.mean(axis=1),
                "significant_01": (self.p < 0.01).mean(axis=1),
            }
        )

    def plot(
        self, ax: Axes | None = None, *, metric: str | None = None, cutoff: int | None = None
    ) -> Axes:
        """Draw p-value curves: p in falling order against the rank of the pair.

        The nearer a curve is to the origin, the more discriminative the measure. With
        ``cutoff``, the legend gives the area below each curve, its DP.

        Parameters
        ----------
        ax
            Axes to draw on; those of a new figure by default.
        metric
            One curve per cut-off of this metric.
        cutoff
            One curve per metric at this cut-off.

        Returns
        -------
        The axes.

        Raises
        ------
        InputError
            Unless exactly one of ``metric`` and ``cutoff`` is given and occurs.
        """
        chosen = curves_of(self.measures, metric=metric, cutoff=cutoff)
        ax = axes_or_new(ax)
        falling = -np.sort(-self.p, axis=1)
        n_shown = _n_shown(falling[[number for number, _, _ in chosen]])
        ranks, marked = np.arange(1, n_shown + 1), max(1, n_shown // MARKERS_PER_CURVE)
        for number, name, style in chosen:
            label = name if metric is not None else f"{name} (DP {self.dp[number]:.3g})"
            line = {"marker": ".", **style}
            ax.plot(ranks, falling[number, :n_shown], label=label, markevery=marked, **line)
        self._frame_plot(ax, n_shown, title=metric or f"cut-off {cutoff}")
        return ax

    def caption(self, *, metric: str | None = None, cutoff: int | None = None) -> str:
        """Say in full sentences what the curves show, or the tables by default."""
        subject = "p-values"
        if metric is not None:
            subject = f"p-value curves of every cut-off of {metric}"
        elif cutoff is not None:
            subject = f"p-value curves of every metric at cut-off {cutoff}"
        return (
            f"{subject[0].upper()}{subject[1:]}, for the {len(self.pairs):,} unordered pairs of "
            f"{len(self.systems):,} systems over {self.n_users:,} users: two-sided paired "
            f"permutation test of the difference in means, {self._test_in_words()}. "
            "DP is the sum of the p-values over unordered pairs. Lower is more discriminative; "
            "DPs compare only for the same systems on the same data."
        )

    def _frame_plot(self, ax: Axes, n_shown: int, *, title: str) -> None:
        from matplotlib.ticker import MaxNLocator

        cut = "" if n_shown == self.p.shape[1] else f" (rest below {SHOWN_P})"
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.axhline(0.05, color="0.6", linewidth=0.8, zorder=0)
        ax.set_xlabel("pair of systems, by falling p" + cut)
        ax.set_ylabel("p-value (line at .05)")
        ax.set_ylim(-0.02, 1.02)
        ax.set_title(title)
        legend_beside(ax)

    def _test_in_words(self) -> str:
        draws = f"{self.permutations:,} random sign flips shared by all pairs, seed {self.seed}"
        if self.test == "monte-carlo":
            return f"by Monte-Carlo ({draws})"
        n_drawn = np.count_nonzero(self.methods == Method.MONTE_CARLO)
        if n_drawn == 0:
            return "computed exactly"
        return f"computed exactly but for {n_drawn:,} of {self.p.size:,} ({draws})"


def discriminate(
    scores: Scores,
    *,
    test: Test = "exact",
    scales: Mapping[Measure, int] | None = None,
    permutations: int = 100_000,
    seed: int = 0,
    n_jobs: int = 1,
    advance: Callable[[int], object] | None = None,
) -> Discrimination:
    """Test the difference in means of every pair of systems, for every measure.

    Parameters
    ----------
    scores
        Per-user scores of at least two systems.
    test
        "exact": p-values without sampling error, at a cost of n_users x n_pairs per measure.
        Where no exact method is safe, Monte-Carlo takes over, and the label says so.
        "monte-carlo": random sign flips, the same for all pairs and measures.
    scales
        Factors that make a measure's scores integers (P@k: k; RR@5: 60; RR@10: 2520), so that
        ties are counted exactly. Usual ones are found without being told.
    permutations, seed
        Number of random sign flips and their seed.
    n_jobs
        Number of processes; the p-values do not depend on it.
    advance
        Called with the number of measures ("exact") or permutations finished since the last
        call.

    Raises
    ------
    InputError
        If there are fewer than two systems, a scale does not fit, or a setting is out of range.

    Examples
    --------
    Of the eight ways to sign the differences 3, 2 and 1, two add up to 6 or -6:

    >>> values = np.array([[[3.0, 2.0, 1.0], [0.0, 0.0, 0.0]]])
    >>> scores = Scores(values, (Measure("hits", 5),), ("a", "b"), np.array(["1", "2", "3"]))
    >>> discriminate(scores).to_frame()[["system_a", "system_b", "difference", "p"]]
      system_a system_b  difference     p
    0        a        b         2.0  0.25
    """
    scales = scales or {}
    _check(scores, test=test, scales=scales, permutations=permutations)
    draw = partial(monte_carlo_test, permutations=permutations, seed=seed, n_jobs=n_jobs)
    if test == "monte-carlo":
        p = draw(_by_user_id(scores), advance=advance)
        methods = np.full(p.shape, str(Method.MONTE_CARLO))
    else:
        exact = _test_exactly(scores, scales, n_jobs=n_jobs, advance=advance)
        methods = np.array([result.methods for result in exact])
        p = _fill(np.array([result.p for result in exact]), scores, draw)
    first, second = pair_indices(len(scores.systems))
    means = scores.means()
    return Discrimination(
        measures=scores.measures,
        systems=scores.systems,
        differences=means[:, first] - means[:, second],
        p=p,
        methods=methods,
        n_users=len(scores.users),
        test=test,
        permutations=permutations,
        seed=seed,
    )


def _check(scores: Scores, *, test: str, scales: Mapping[Measure, int], permutations: int) -> None:
    if len(scores.systems) < 2:
        raise InputError(f"discrimination needs at least two systems, got {len(scores.systems)}.")
    if len(scores.users) == 0:
        raise InputError("discrimination needs at least one user, got none.")
    if test not in get_args(Test):
        raise InputError(f"`test` must be 'exact' or 'monte-carlo', got {test!r}.")
    if permutations < 1:
        raise InputError(f"`permutations` must be at least 1, got {permutations}.")
    for measure, values in zip(scores.measures, scores.values, strict=True):
        scale = scales.get(measure)
        if scale and not on_lattice(values, scale, tolerance=SCALE_TOLERANCE):
            raise InputError(f"the scores of {measure} are not multiples of 1/{scale}.")


def _test_exactly(
    scores: Scores,
    scales: Mapping[Measure, int],
    *,
    n_jobs: int,
    advance: Callable[[int], object] | None,
) -> list[ExactTest]:
    tasks = (
        delayed(exact_test)(values, scale=scales.get(measure))
        for measure, values in zip(scores.measures, scores.values, strict=True)
    )
    results = []
    for result in Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(tasks):
        results.append(result)
        if advance is not None:
            advance(1)
    return results


def _fill(
    p: NDArray[np.float64],
    scores: Scores,
    draw: Callable[[NDArray[np.float64]], NDArray[np.float64]],
) -> NDArray[np.float64]:
    """Draw the p-values that no exact method gave."""
    missing = np.isnan(p)
    measures = np.flatnonzero(missing.any(axis=1))
    if len(measures) == 0:
        return p
    drawn = np.zeros_like(p)
    drawn[measures] = draw(_by_user_id(scores)[measures])
    return np.where(missing, drawn, p)


def _by_user_id(scores: Scores) -> NDArray[np.float64]:
    """Order users by id, so that the random signs stay with the users."""
    return scores.values[:, :, np.argsort(scores.users, kind="stable")]


def _n_shown(curves: NDArray[np.float64]) -> int:
    """Number of pairs up to the last p-value that can be told from 0 in a figure."""
    n_visible = int((curves >= SHOWN_P).sum(axis=1).max()) + 1
    return min(curves.shape[1], max(LEAST_SHOWN, n_visible))
