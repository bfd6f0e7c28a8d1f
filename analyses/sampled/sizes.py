"""Expected metrics against the number of negatives: uncorrected and corrected, not simulated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, product
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from analyses.sampled.curve_points import CurvePoints
from analyses.sampled.estimates import METRICS, WIDE, read_estimators, read_metrics
from analyses.sampled.estimators import Estimator, Fits
from analyses.sampled.expectation.candidates import in_words
from analyses.sampled.expectation.crossings import (
    DECIMALS,
    ordering_of,
    print_ordering,
    require_same_users,
)
from analyses.sampled.expectation.designs import require_rising
from analyses.sampled.expectation.metrics import RankMetric
from analyses.sampled.expectation.moments import Moments, exact_metric
from analyses.sampled.expectation.round_numbers import round_numbers
from analyses.sampled.expectation.user_moments import Addends, moments_of_mean
from analyses.sampled.samples.from_full_ranks import require_negatives
from analyses.sampled.samples.sampled_ranks import SampledRanks
from analyses.shared.drawing import (
    COLOURS,
    DASHES,
    axes_or_new,
    categories,
    chosen_panel,
    draw_band,
    legend_beside,
    scale_by_factors,
)
from analyses.shared.measure import Measure
from qrels import FullRanks
from runs import InputError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

ESTIMATORS = ("uncorrected", "bv(gamma=0.1)")

MOST_COLOURS = len(COLOURS)
"""Systems that are told apart in a figure; the others are grey."""


@dataclass(frozen=True, eq=False)
class SampleSize:
    """Expected estimates of metrics, and their spread, for some numbers of negatives.

    Parameters
    ----------
    systems, metrics, estimators, negatives
        Labels of the axes.
    exact
        Metrics among all candidates, of shape (n_metrics, n_systems).
    expected
        Means over samples of the estimates, of shape (n_estimators, n_metrics, n_systems,
        n_sizes).
    sd
        Standard deviations over samples, likewise: the noise of sampling, not that of users. NaN
        where they were not asked for.
    n_users, n_relevant
        Users, and their relevant items.
    candidates
        Smallest and largest number of candidates of a user.
    corrected_for
        Whether corrections take the ``"mean"`` number of candidates or that of the ``"users"``.
    replace
        Whether negatives are drawn with replacement.
    """

    systems: tuple[str, ...]
    metrics: tuple[str, ...]
    estimators: tuple[str, ...]
    negatives: tuple[int, ...]
    exact: Floats
    expected: Floats
    sd: Floats
    n_users: int
    n_relevant: int
    candidates: tuple[int, int]
    corrected_for: str
    replace: bool

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The metrics, each a panel of the figure."""
        return tuple(Measure(metric) for metric in self.metrics)

    def to_frame(self) -> pd.DataFrame:
        """Give rows of estimator, metric, system, m, expected, sd, exact."""
        import pandas as pd

        frame = pd.DataFrame(
            product(self.estimators, self.metrics, self.systems, self.negatives),
            columns=["estimator", "metric", "system", "m"],
        )
        exact = np.broadcast_to(self.exact[..., np.newaxis], self.expected.shape)
        return frame.assign(expected=self.expected.ravel(), sd=self.sd.ravel(), exact=exact.ravel())

    def crossings(self) -> pd.DataFrame:
        """Say from which number of negatives on, of those looked at, systems are ordered how.

        Returns
        -------
        Columns estimator, metric, m, ordering, and whether it is the exact one.
        """
        import pandas as pd

        rows = []
        for (e, estimator), (n, metric) in product(
            enumerate(self.estimators), enumerate(self.metrics)
        ):
            truth = self._ordering(self.exact[n])
            met = [
                (self._ordering(v), m)
                for v, m in zip(self.expected[e, n].T, self.negatives, strict=True)
            ]
            for ordering, group in groupby(met, key=lambda each: each[0]):
                rows.append((estimator, metric, next(group)[1], ordering, ordering == truth))
        return pd.DataFrame(rows, columns=["estimator", "metric", "m", "ordering", "exact"])

    def _ordering(self, values: Floats) -> str:
        return print_ordering(ordering_of(self.systems, np.round(values, DECIMALS)))

    def plot(
        self, ax: Axes | None = None, *, metric: str | None = None, cutoff: int | None = None
    ) -> Axes:
        """Draw one metric against the negatives, and the exact values at the right edge.

        Parameters
        ----------
        ax
            Axes to draw on; new ones by default.
        metric
            Name of the metric; the first by default.
        cutoff
            None: cut-offs are part of the names.
        """
        number = chosen_panel(self.metrics, metric, cutoff)
        ax = axes_or_new(ax)
        for system, label, style in self._styles():
            self._draw(ax, number, system, label, style)
        self._scale(ax, number)
        self._explain(ax)
        ax.set_title(self.metrics[number])
        legend_beside(ax)
        return ax

    def _styles(self) -> Iterator[tuple[int, str | None, dict[str, Any]]]:
        """Give the best systems by the first metric a colour, all others below them one grey."""
        best = set(self.exact[0].argsort(kind="stable")[::-1][:MOST_COLOURS].tolist())
        others = [system for system in range(len(self.systems)) if system not in best]
        grey = {"color": "0.8", "marker": "", "linewidth": 0.5, "zorder": 1}
        for system in others:
            yield system, f"{len(others)} others" if system == others[0] else None, grey
        styles = categories([self.systems[system] for system in sorted(best)])
        for system, (label, style) in zip(sorted(best), styles, strict=True):
            yield system, label, {**style, "linewidth": 1, "markersize": 2.5}

    def _draw(
        self, ax: Axes, number: int, system: int, label: str | None, style: Mapping[str, Any]
    ) -> None:
        """Draw the curves of a system, one for each estimator, and its exact value."""
        curves, spreads = self.expected[:, number, system], self.sd[:, number, system]
        for dash, curve, sd in zip(DASHES, curves, spreads, strict=False):
            own = {**style, "linestyle": dash}
            ax.plot(self.negatives, curve, label=label if dash == DASHES[0] else None, **own)
            if len(self.systems) <= MOST_COLOURS:
                draw_band(ax, np.array(self.negatives), curve - sd, curve + sd, own)
        edge = ax.get_yaxis_transform()
        own = {"color": style["color"], "marker": "<", "markersize": 4}
        ax.plot(1, self.exact[number, system], **own, transform=edge, clip_on=False)

    def _scale(self, ax: Axes, number: int) -> None:
        """Scale so that all curves are seen, whatever their bands."""
        from matplotlib.ticker import LogLocator

        shown = np.append(self.expected[:, number].ravel(), self.exact[number])
        lowest, highest = shown.min(), shown.max()
        if lowest > 0 and highest > WIDE * lowest:
            scale_by_factors(ax, along="y")
            ax.set_ylim(lowest / 1.1, highest * 1.1)
        else:
            margin = 0.05 * (highest - lowest) or 0.05
            ax.set_ylim(lowest - margin, highest + margin)
        ax.set_xscale("log")
        ax.xaxis.set_major_locator(LogLocator(numticks=9))
        ax.xaxis.set_major_formatter("{x:,.0f}")
        ax.set_xlabel("sampled negatives")
        ax.set_ylabel("expected from samples")

    def _explain(self, ax: Axes) -> None:
        """Add to the legend what dashes and arrows are."""
        for dash, estimator in zip(DASHES, self.estimators, strict=False):
            ax.plot([], [], color="0.3", linestyle=dash, linewidth=1, label=estimator)
        ax.scatter([], [], s=16, color="0.3", marker="<", label="exact")

    def caption(self) -> str:
        """Say what is shown."""
        n = in_words(self.candidates)
        how = "with" if self.replace else "without"
        whose = "each user's own, in steps of 2 %" if self.corrected_for == "users" else "the mean"
        return (
            f"Expected estimates of metrics of {len(self.systems)} systems from m sampled "
            f"negatives, drawn uniformly {how} replacement, against m, and the exact values among "
            f"all n = {n} candidates (arrows), of {self.n_relevant:,} relevant items of "
            f"{self.n_users:,} users. Not simulated; corrections use {whose} number of "
            f"candidates. {self._of_curves()}Estimators: {'; '.join(self.estimators)}."
        )

    def _of_curves(self) -> str:
        if len(self.systems) > MOST_COLOURS:
            return f"The {MOST_COLOURS} best systems by exact {self.metrics[0]} are in colour. "
        if np.isnan(self.sd).all():
            return ""
        return "Bands are one standard deviation over samples of the negatives, not of the users. "


def study_sample_size(
    systems: Mapping[str, FullRanks],
    *,
    negatives: Sequence[int] | None = None,
    metrics: Sequence[str | RankMetric] = METRICS,
    estimators: Sequence[str | Estimator] = ESTIMATORS,
    replace: bool = True,
    corrected_for: Literal["mean", "users"] = "mean",
    spread: bool = True,
    n_jobs: int = 1,
    advance: Callable[[], object] = lambda: None,
) -> SampleSize:
    """Expect metrics of systems from samples of several sizes, without simulation.

    Parameters
    ----------
    systems
        Full ranks by system, of the same users and relevant items, one or several a user.
    negatives
        Numbers of negatives, rising; by default 1, 2, 5, 10, 20, ... as far as all users have so
        many irrelevant candidates.
    metrics
        Metrics of ranks.
    estimators
        Names or values of up to four linear estimators that learn nothing from the sample; see
        :mod:`analyses.sampled.estimators`.
    replace
        Whether negatives are drawn with replacement.
    corrected_for
        Whether corrections take the mean number of candidates, or the users' own.
    spread
        Whether to give standard deviations too. With one relevant item a user they take hardly
        longer than the means; with several, their time grows with m and the number of items, to
        some fifty times that of the means for m = 1,000.
    n_jobs
        Threads; results do not depend on it.
    advance
        Called when an estimator is done for a size.

    Raises
    ------
    InputError
        If users differ between systems, an estimator is not linear or learns from the sample, or
        a name or number makes no sense.

    Notes
    -----
    Krichene & Rendle (2020), figure 6. Corrected values come from sums on the grid of
    :class:`analyses.sampled.estimators.nodes.Nodes`; their expectations are exact.

    Examples
    --------
    All four negatives of five candidates give the exact metric:

    >>> systems = {"one": FullRanks.of([1, 4], n_candidates=5)}
    >>> asked = {"metrics": ["AP"], "estimators": ["uncorrected"], "replace": False}
    >>> found = study_sample_size(systems, negatives=[1, 4], **asked)
    >>> found.expected.ravel().round(4), found.sd.ravel().round(4), found.exact.ravel()
    (array([0.8125, 0.625 ]), array([0.1083, 0.    ]), array([0.625]))
    """
    require_same_users(systems)
    first = next(iter(systems.values()))
    sizes = _sizes(negatives, first)
    read, asked = read_metrics(metrics), _read_few(estimators)
    workers = Parallel(n_jobs=n_jobs, prefer="threads")
    found = []
    for m, estimator in product(sizes, asked):
        fits = _fit(estimator, read, first, m=m, n=corrected_for, replace=replace)
        addends = fits.addends(read, n_orders=int(first.order.max()))
        found.append(
            workers(delayed(_moments)(addends, s, spread=spread) for s in systems.values())
        )
        advance()
    # From (size and estimator, system, moment, metric) to (moment, estimator, metric, system, size)
    shape = (len(sizes), len(asked), len(systems), 2, len(read))
    means, variances = np.array(found).reshape(shape).transpose(3, 1, 4, 2, 0)
    return SampleSize(
        systems=tuple(systems),
        metrics=tuple(map(str, read)),
        estimators=tuple(map(str, asked)),
        negatives=sizes,
        exact=np.array([[exact_metric(m, s) for s in systems.values()] for m in read]),
        expected=means,
        sd=np.sqrt(variances),
        n_users=len(np.unique(first.user)),
        n_relevant=len(first),
        candidates=(int(first.n_candidates.min()), int(first.n_candidates.max())),
        corrected_for=corrected_for,
        replace=replace,
    )


def _sizes(negatives: Sequence[int] | None, ranks: FullRanks) -> tuple[int, ...]:
    """Check numbers of negatives, or choose some."""
    if not len(ranks):
        raise InputError("the systems have no ranks.")
    if negatives is None:
        return round_numbers(int(ranks.n_irrelevant.min()))
    require_rising(negatives)
    for m in (negatives[0], negatives[-1]):
        require_negatives(m, ranks.n_irrelevant)
    return tuple(negatives)


def _read_few(names: Sequence[str | Estimator]) -> tuple[Estimator, ...]:
    """Read estimators, no more than there are dashes."""
    read = read_estimators(names)
    if len(read) > len(DASHES):
        raise InputError(f"there must be at most {len(DASHES)} estimators, got {len(read)}.")
    return read


def _fit(
    estimator: Estimator,
    metrics: tuple[RankMetric, ...],
    ranks: FullRanks,
    *,
    m: int,
    n: Literal["mean", "users"],
    replace: bool,
) -> Fits:
    """Fit an estimator to a sample of these users, of which it must not matter what is above whom.

    Raises
    ------
    InputError
        If it does.
    """
    sample = SampledRanks(
        rank=ranks.order,
        n_negatives=np.full(len(ranks), m),
        n_candidates=ranks.n_candidates,
        replace=replace,
        user=ranks.user,
        order=ranks.order,
        n_relevant=ranks.n_relevant,
    )
    fits = estimator.fit(sample, n=n, path=CurvePoints(metrics).path).fits
    if not estimator.linear or fits.masses() is not None:
        raise InputError(
            f"{estimator} learns from the sample; without one, only linear estimators with a "
            "uniform prior have an expectation: uncorrected, rank-estimate, cls, bv, mn."
        )
    return fits


def _moments(addends: Addends, ranks: FullRanks, *, spread: bool) -> Moments:
    """Give mean and variance of a system's estimates, each of shape (n_metrics,)."""
    if spread:
        return moments_of_mean(addends.moments(ranks))
    mean = addends.means(ranks).mean(axis=0)
    return Moments(mean, np.full_like(mean, np.nan))
