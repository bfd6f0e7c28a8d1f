"""What metrics of samples are expected to be, by the number of negatives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from analyses.ordering import tau_b
from analyses.sampled.estimators import Estimator, Fits
from analyses.sampled.estimators.shared.nodes import HEAD
from analyses.sampled.expectation.crossings import (
    DECIMALS,
    first_of,
    met,
    ordering_of,
    print_ordering,
)
from analyses.sampled.expectation.metrics import RankMetric
from analyses.sampled.expectation.rank_pmf import moments
from analyses.sampled.samples.designs import require_rising, round_numbers
from analyses.sampled.samples.from_full_ranks import require_negatives
from analyses.sampled.samples.sampled_ranks import SampledRanks
from analyses.sampled.shared.facts import Drawn, Ranked, tidy
from analyses.sampled.shared.settings import (
    METRICS,
    CorrectedFor,
    MetricNames,
    RankSettings,
    Replace,
    SampleSizes,
    read_estimators,
    read_metrics,
)
from analyses.shared.analysis import analysis
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
from analyses.shared.measure import Measure, Measures
from analyses.shared.result import Result, figure, table
from analyses.shared.table import Cell, Table
from qrels import FullRanks
from runs import InputError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.work import Work

Floats = NDArray[np.float64]

ESTIMATORS = ("uncorrected", "bv(gamma=0.1)")

WIDE = 2
"""Metrics further apart than by this factor are drawn on a logarithmic scale."""

MOST_COLOURS = len(COLOURS)
"""Systems that are told apart in a figure; the others are grey."""


class Settings(RankSettings):
    """Expected metrics by the number of negatives."""

    metrics: MetricNames = METRICS
    replace: Replace = True
    corrected_for: CorrectedFor = "mean"
    sizes: SampleSizes = None

    def designs(self, ranks: FullRanks) -> tuple[int, ...]:
        """Give the numbers of negatives.

        By default they are 1, 2, 5, 10, 20, ... as far as all users have so many irrelevant
        candidates.
        """
        if self.sizes is None:
            return round_numbers(int(ranks.n_irrelevant.min()))
        require_rising(self.sizes)
        for m in (self.sizes[0], self.sizes[-1]):
            require_negatives(m, ranks.n_irrelevant)
        return tuple(self.sizes)


@analysis("sizes", source="Krichene & Rendle (2020), figure 6", needs=("full_ranks",))
def sizes(work: Work, settings: Settings) -> Sizes:
    """Expect metrics of systems from samples of several sizes, without simulation.

    Standard deviations are left out where users have several relevant items, which hang together.

    Raises
    ------
    InputError
        If users differ between systems, or a name or number makes no sense.

    Examples
    --------
    All four negatives of five candidates give the exact metric:

    >>> from analyses.shared.work import RanksAlone
    >>> work = RanksAlone({"one": FullRanks.of([1, 4], n_candidates=5)})
    >>> found = sizes(work, Settings(metrics=("AP",), sizes=(1, 4), replace=False))
    >>> found.expected[0].ravel().round(4), found.sd[0].ravel().round(4), found.exact.ravel()
    (array([0.8125, 0.625 ]), array([0.1083, 0.    ]), array([0.625]))
    """
    return expect_sizes(work, settings)


def expect_sizes(
    work: Work,
    settings: Settings,
    *,
    estimators: Sequence[str | Estimator] = ESTIMATORS,
) -> Sizes:
    """Do so for up to four linear estimators, by name or value, that learn nothing from the sample.

    Raises
    ------
    InputError
        As `sizes` does, and if an estimator is not linear or learns from the sample.
    """
    systems, first = work.full_ranks, first_of(work.full_ranks)
    numbers, metrics = settings.designs(first), read_metrics(settings.metrics)
    asked = read_estimators(estimators)
    if len(asked) > len(DASHES):
        raise InputError(f"there must be at most {len(DASHES)} estimators, got {len(asked)}.")
    workers, found = Parallel(n_jobs=work.n_jobs, prefer="threads"), []
    with work.progress("Expecting sampled metrics", len(numbers) * len(asked)) as bar:
        for estimator, m in product(asked, numbers):
            fits = _fit(estimator, metrics, first, m=m, settings=settings)
            found.append(
                workers(delayed(_moments)(fits, metrics, each) for each in systems.values())
            )
            bar.advance()
    # From (estimator and size, system, moment, metric) to (moment, estimator, metric, system, size)
    shape = (len(asked), len(numbers), len(systems), 2, len(metrics))
    means, variances = np.array(found).reshape(shape).transpose(3, 0, 4, 2, 1)
    return Sizes(
        measures=Measures(Measure(str(metric)) for metric in metrics),
        systems=tuple(systems),
        estimators=tuple(map(str, asked)),
        negatives=numbers,
        exact=np.array([[m.exact(s) for s in systems.values()] for m in metrics]),
        expected=means,
        sd=np.sqrt(variances),
        ranked=Ranked.of(first),
        drawn=Drawn(settings.replace, settings.corrected_for, work.seed),
    )


def _fit(
    estimator: Estimator,
    metrics: tuple[RankMetric, ...],
    ranks: FullRanks,
    *,
    m: int,
    settings: Settings,
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
        replace=settings.replace,
        user=ranks.user,
        order=ranks.order,
        n_relevant=ranks.n_relevant,
    )
    path = "grid" if max(metric.cutoff or 0 for metric in metrics) <= HEAD else "full"
    fits = estimator.fit(sample, n=settings.corrected_for, path=path).fits
    if not estimator.linear or fits.masses() is not None:
        raise InputError(
            f"{estimator} learns from the sample; without one, only linear estimators with a "
            "uniform prior have an expectation: uncorrected, rank-estimate, cls, bv, mn."
        )
    return fits


def _moments(fits: Fits, metrics: tuple[RankMetric, ...], ranks: FullRanks) -> Floats:
    """Give mean and variance of a system's estimates: (2, n_metrics).

    Variances are not known where users have several relevant items, or candidates of their own are
    corrected for.
    """
    means = fits.expected(ranks).estimates(metrics)[0]
    if (ranks.n_relevant > 1).any() or len(fits.cells.groups) > 1:
        return np.array([means, np.full_like(means, np.nan)])
    replace = fits.cells.groups[0].replace
    values = [fits.corrected(metric)[0] for metric in metrics]
    return np.array([means, [moments(ranks, own, replace=replace)[1] for own in values]])


@dataclass(frozen=True, eq=False)
class Sizes(Result):
    """Expected estimates of metrics, and their spread, for some numbers of negatives.

    Parameters
    ----------
    measures, systems, estimators, negatives
        Labels of axes; measures are metrics with their cut-offs.
    exact
        Metrics among all candidates, of shape (n_metrics, n_systems).
    expected
        Means over samples of the estimates, of shape (n_estimators, n_metrics, n_systems,
        n_sizes).
    sd
        Standard deviations over samples, likewise: the noise of sampling, not that of users. NaN
        where they are not known.
    ranked, drawn
        Of whom the ranks are, and how samples are drawn.
    """

    measures: Measures
    systems: tuple[str, ...]
    estimators: tuple[str, ...]
    negatives: tuple[int, ...]
    exact: Floats
    expected: Floats
    sd: Floats
    ranked: Ranked
    drawn: Drawn

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics."""
        return self.measures.metrics

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give what is expected, and where the order of systems changes."""
        return {"sampled_sizes": self.to_frame(), "sampled_crossings": self.crossings()}

    def to_frame(self) -> pd.DataFrame:
        """Give rows of estimator, metric, system, m, expected, sd, exact."""
        return tidy(
            {
                "estimator": self.estimators,
                "metric": self.metrics,
                "system": self.systems,
                "m": self.negatives,
            },
            expected=self.expected,
            sd=self.sd,
            exact=self.exact[..., np.newaxis],
        )

    def crossings(self) -> pd.DataFrame:
        """Say from which number of negatives on, of those looked at, systems are ordered how.

        Returns
        -------
        Columns estimator, metric, m, ordering, and whether it is the exact one.
        """
        import pandas as pd

        exact, expected = np.round(self.exact, DECIMALS), np.round(self.expected, DECIMALS)
        rows = []
        for (e, estimator), (n, metric) in product(
            enumerate(self.estimators), enumerate(self.metrics)
        ):
            truth = ordering_of(self.systems, exact[n])
            for place, ordering in met(self.systems, expected[e, n]):
                told = print_ordering(ordering), ordering == truth
                rows.append((estimator, metric, self.negatives[place], *told))
        return pd.DataFrame(rows, columns=["estimator", "metric", "m", "ordering", "exact"])

    @table("sampled_sizes", "agreement of expected with exact orders of the systems, by negatives")
    def agreement(self) -> Table:
        """Tabulate how well the expected order of the systems agrees with the exact one."""
        # (n_estimators, n_metrics, n_sizes, n_systems) against (n_metrics, 1, n_systems)
        taus = tau_b(np.moveaxis(self.expected, 3, 2), self.exact[:, np.newaxis])
        labels = map(", ".join, product(self.metrics, self.estimators))
        numbers = taus.swapaxes(0, 1).reshape(-1, len(self.negatives)).tolist()
        rows: list[list[Cell]] = [[label, *row] for label, row in zip(labels, numbers, strict=True)]
        return Table(
            name="sampled_sizes",
            title="Agreement (tau-b) of the expected with the exact order of the systems, "
            "by negatives",
            note=self.caption(),
            headings=["metric, estimator", *(f"{m:,}" for m in self.negatives)],
            rows=rows,
        )

    @figure(
        "sampled_sizes",
        "Sampled negatives: expected metrics by their number",
        number=13,
        panels="metric",
        comparable=False,
    )
    def plot(self, ax: Axes | None = None, *, metric: str | None = None) -> Axes:
        """Draw one metric against the negatives, and the exact values at the right edge.

        The first metric by default, on new axes by default.
        """
        number, ax = chosen_panel(self.metrics, metric), axes_or_new(ax)
        ax.set_title(self.metrics[number])
        for system, label, style in self._styles():
            self._draw(ax, number, system, label, style)
        self._scale(ax, number)
        self._explain(ax)
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
        return (
            f"Expected estimates of metrics of {len(self.systems)} systems from m sampled "
            f"negatives, drawn uniformly {self.drawn.how}, against m, and the exact values among "
            f"all n = {self.ranked.n} candidates (arrows), of {self.ranked}. "
            f"Not simulated; corrections use {self.drawn.whose}. {self._of_curves()}"
            f"Estimators: {'; '.join(self.estimators)}."
        )

    def _of_curves(self) -> str:
        if len(self.systems) > MOST_COLOURS:
            return f"The {MOST_COLOURS} best systems by exact {self.metrics[0]} are in colour. "
        if np.isnan(self.sd).all():
            return ""
        return "Bands are one standard deviation over samples of the negatives, not of the users. "
