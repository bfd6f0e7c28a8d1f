"""What sampling does to metrics of real systems, and what the corrections make of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from analyses.sampled.estimators import Estimator, uncorrected
from analyses.sampled.expectation.crossings import DECIMALS, first_of
from analyses.sampled.expectation.designs import Adaptive, Design
from analyses.sampled.expectation.errors import winner_count
from analyses.sampled.expectation.metrics import rank_metric
from analyses.sampled.shared.curve_points import CurvePoints
from analyses.sampled.shared.facts import Drawn, Ranked
from analyses.sampled.shared.repeated_samples import SampledSystem, each_system, takes
from analyses.sampled.shared.rows import named_rows, tidy
from analyses.sampled.shared.sampled_result import RepeatedResult
from analyses.sampled.shared.settings import (
    ESTIMATORS,
    EstimatorNames,
    GrowingSettings,
    read_estimators,
    read_metrics,
)
from analyses.shared.analysis import analysis
from analyses.shared.drawing import (
    categories,
    draw_whiskers,
    legend_beside,
    scale_by_factors,
)
from analyses.shared.measure import Measure, Measures
from analyses.shared.result import figure, table
from analyses.shared.table import Cell, Table, shown
from qrels import FullRanks

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.work import Work

Floats = NDArray[np.float64]

WIDE = 2
"""Estimates further apart than by this factor are drawn on a logarithmic scale."""

OF_ORDERS = (
    "Off by: root mean square of estimate minus exact value over systems and samples, bias and "
    "noise together. In order: the share of pairs of systems and samples in the true order."
)


class Settings(GrowingSettings):
    """Metrics estimated from ranks among sampled negatives."""

    estimators: EstimatorNames = ESTIMATORS

    def designs(self, ranks: FullRanks) -> dict[Estimator, Design]:
        """Give each estimator the samples that it is for: adaptive ones, or of one size."""
        fixed, adaptive = self.fixed(ranks), self.growing(ranks)
        designs: dict[Estimator, Design] = {
            each: adaptive if takes(each, adaptive) else fixed
            for each in read_estimators(self.estimators)
        }
        for design in dict.fromkeys(designs.values()):
            design.check(ranks)
        return designs


@analysis(
    "estimates",
    source="Krichene & Rendle (2020), tables 3 and 4; Li et al. (2023), tables 1 to 3",
    needs=("full_ranks",),
)
def estimates(work: Work, settings: Settings) -> Estimates:
    """Sample negatives again and again, and estimate the exact metrics from every sample.

    Raises
    ------
    InputError
        If a name or number makes no sense, systems have different users, or an estimator is not
        for uniform samples.

    Examples
    --------
    All four negatives of five candidates, without replacement, leave nothing to chance:

    >>> from analyses.shared.work import RanksAlone
    >>> work = RanksAlone({"one": FullRanks.of([1, 4], n_candidates=5)}, seed=1)
    >>> asked = {"metrics": ("AP",), "estimators": ("uncorrected",), "replace": False}
    >>> estimates(work, Settings(**asked, negatives=4, repeats=2)).estimated.ravel()
    array([0.625, 0.625])
    """
    first = first_of(work.full_ranks)
    points = CurvePoints(read_metrics(settings.metrics))
    designs = settings.designs(first)

    def find(system: SampledSystem) -> tuple[Any, ...]:
        samples = {design: system.sample(design) for design in dict.fromkeys(designs.values())}
        values = [points.estimates(e, samples[d].counted) for e, d in designs.items()]
        return (
            points.at_metrics(system.truth),
            points.at_metrics(np.array(values)),
            np.array([system.errors(of) for of in values]),
            system.zero_cutoffs,
            np.array([samples[design].scored for design in designs.values()]),
        )

    exact, estimated, errors, zeros, scored = (
        np.stack(parts, axis=-1)
        for parts in each_system(work, "Estimating from samples", settings, points, find)
    )
    return Estimates(
        measures=Measures(Measure(str(metric)) for metric in points.metrics),
        systems=tuple(work.full_ranks),
        estimators=tuple(map(str, designs)),
        exact=exact,
        estimated=np.moveaxis(estimated, 1, -1),
        errors=np.moveaxis(errors, 1, -1),
        zero_cutoffs=zeros,
        scored=scored,
        ranked=Ranked.of(first),
        drawn=Drawn(settings.replace, settings.corrected_for, work.seed),
        negatives=settings.negatives,
        n_max=max((d.n_max for d in designs.values() if isinstance(d, Adaptive)), default=0),
    )


@dataclass(frozen=True, eq=False)
class Estimates(RepeatedResult):
    """Exact metrics of systems, and estimates of them from repeated samples.

    Parameters
    ----------
    estimators
        Label of an axis; measures are metrics with their cut-offs.
    exact
        Metrics among all candidates, of shape (n_metrics, n_systems).
    estimated
        Of shape (n_estimators, n_metrics, n_systems, n_repeats).
    errors
        Of the same shape; NaN also for metrics of whole lists.
    zero_cutoffs
        Cut-offs that were left out there, because the truth is 0, of shape (n_metrics, n_systems).
    scored
        Mean number of items scored for a user, of shape (n_estimators, n_systems): those of the
        sample, the relevant ones included.
    negatives
        How many were sampled, m.
    n_max
        Largest adaptive sample, for estimators that ask for those; 0 if there are none.
    """

    estimators: tuple[str, ...]
    exact: Floats
    estimated: Floats
    zero_cutoffs: NDArray[np.int64]
    scored: Floats
    negatives: int
    n_max: int

    @property
    def repeated(self) -> Floats:
        """The estimates, of which `mean` and `sd` are."""
        return self.estimated

    @property
    def distance(self) -> Floats:
        """Root mean square of estimate minus truth over systems and repeats.

        Bias and noise together, of shape (n_estimators, n_metrics).
        """
        off = self.estimated - self.exact[:, :, np.newaxis]
        return np.asarray(np.sqrt((off**2).mean(axis=(2, 3))))

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give estimates, and counts of true orders and of winners found."""
        return {
            "sampled": self.to_frame(),
            "sampled_orders": self.orders(),
            "sampled_winners": self.winners(),
        }

    def to_frame(self) -> pd.DataFrame:
        """Give one row for each estimator, metric and system.

        Returns
        -------
        Columns system, metric, cutoff, estimator, m, replace, scored (items for each user),
        repeats, exact; mean, sd and standard_error (of the mean) over the repeats; error and
        error_sd, the relative error of the curve in per cent, and zero_cutoffs, those left out.
        """
        frame = tidy(
            {"estimator": self.estimators, "metric": self.metrics, "system": self.systems},
            m=self.negatives,
            replace=self.drawn.replace,
            scored=self.scored[:, np.newaxis],
            repeats=self.n_repeats,
            exact=self.exact,
            mean=self.mean,
            sd=self.sd,
            standard_error=self.sd / np.sqrt(self.n_repeats),
            error=self.errors.mean(axis=3),
            error_sd=self.errors.std(axis=3, ddof=1),
            zero_cutoffs=self.zero_cutoffs,
        )
        return _named(frame)[["system", "metric", "cutoff", "estimator", *frame.columns[3:]]]

    def orders(self) -> pd.DataFrame:
        """Count the repeats that have a pair of systems in its true order.

        Returns
        -------
        Columns metric, cutoff, estimator, system_a, system_b, exact_a, exact_b, correct, repeats:
        none of those for systems that truly tie. A tied estimate is not correct.
        """
        pairs = self._pairs
        systems, exact = np.array(self.systems, dtype=object), np.round(self.exact, DECIMALS)
        a, b = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
        return self._counted(
            pairs,
            system_a=systems[a],
            system_b=systems[b],
            exact_a=exact[:, np.newaxis, a],
            exact_b=exact[:, np.newaxis, b],
        )

    def winners(self) -> pd.DataFrame:
        """Count the repeats that find the best system.

        Returns
        -------
        Columns metric, cutoff, estimator, winner, correct, repeats, as for :meth:`orders`.
        """
        best = np.round(self.exact, DECIMALS).argmax(axis=1)
        winner = np.array(self.systems, dtype=object)[best, np.newaxis, np.newaxis]
        return self._counted([[*range(len(self.systems))]], winner=winner)

    def in_order(self) -> Floats:
        """Give the share of pairs of systems and repeats that are in the true order.

        Of shape (n_estimators, n_metrics); NaN where there are no pairs but true ties.
        """
        correct, repeats = self._counts(self._pairs).sum(axis=2).T
        return np.divide(correct, repeats, out=np.full(correct.shape, np.nan), where=repeats > 0)

    @property
    def _pairs(self) -> list[list[int]]:
        return [*map(list, combinations(range(len(self.systems)), 2))]

    def _counts(self, sets: Sequence[list[int]]) -> NDArray[np.int64]:
        """Count repeats that find the best of a set: (n_metrics, n_estimators, n_sets, 2)."""
        estimated, exact = np.round(self.estimated, DECIMALS), np.round(self.exact, DECIMALS)
        counts = [
            winner_count(of_estimator[number, some], truth[some])
            for number, truth in enumerate(exact)
            for of_estimator in estimated
            for some in sets
        ]
        shape = (len(self.metrics), len(self.estimators), len(sets), 2)
        return np.array(counts, dtype=np.int64).reshape(shape)

    def _counted(self, sets: Sequence[list[int]], **columns: Any) -> pd.DataFrame:
        """Put the counts beside columns that say which systems they are of."""
        axes = {"metric": self.metrics, "estimator": self.estimators, "set": range(len(sets))}
        correct, repeats = np.moveaxis(self._counts(sets), -1, 0)
        frame = tidy(axes, **columns, correct=correct, repeats=repeats)
        return _named(frame)[["metric", "cutoff", "estimator", *frame.columns[3:]]]

    @table("sampled", "exact metrics, and estimates from sampled negatives")
    def means(self) -> Table:
        """Tabulate exact values, and means and deviations of estimates, by metric and system."""
        rows: list[list[Cell]] = []
        for number, metric in enumerate(self.metrics):
            for place, system in enumerate(self.systems):
                values = zip(self.mean[:, number, place], self.sd[:, number, place], strict=True)
                cells = [f"{shown(float(mean))} ± {shown(float(sd))}" for mean, sd in values]
                rows.append([f"{metric}, {system}", float(self.exact[number, place]), *cells])
        return Table(
            name="sampled",
            title="Exact metrics, and estimates from samples",
            note=self.caption(),
            headings=["metric, system", "exact", *self.estimators],
            rows=rows,
        )

    @table("sampled_orders", "distance of those estimates, and pairs of systems in the true order")
    def distances(self) -> Table:
        """Tabulate how far estimates are off, and how often they order pairs of systems rightly."""
        headings = [
            f"{metric}, {what}" for metric in self.metrics for what in ("off by", "in order")
        ]
        numbers = np.stack([self.distance, self.in_order()], axis=2)
        return Table(
            name="sampled_orders",
            title="Distance of estimates from exact metrics, "
            "and pairs of systems in the true order",
            note=f"{OF_ORDERS} {self.caption()}",
            headings=["estimator", *headings],
            rows=named_rows(self.estimators, numbers),
            best={
                column: max if column % 2 == 0 else min for column in range(1, 1 + len(headings))
            },
        )

    @table("sampled_errors", "relative errors of their curves, and items scored")
    def curve_errors(self) -> Table:
        """Tabulate how many items are scored, and relative errors of curves, by system."""
        rows: list[list[Cell]] = [
            [f"items scored for a user, {system}", *(f"{scored:,.1f}" for scored in of_system)]
            for system, of_system in zip(self.systems, self.scored.T, strict=True)
        ]
        for number, name in enumerate(map(rank_metric, self.metrics)):
            if name.cutoff is None:
                continue
            for place, system in enumerate(self.systems):
                errors = self.errors[:, number, place]
                values = zip(errors.mean(axis=1), errors.std(axis=1, ddof=1), strict=True)
                cells = [f"{mean:.2f} ± {sd:.2f}" for mean, sd in values]
                rows.append([f"{replace(name, cutoff=None)}, {system}", *cells])
        return Table(
            name="sampled_errors",
            title="Relative error of the curve over the cut-offs 1 to 50, in per cent",
            note=self.caption(),
            headings=["metric, system", *self.estimators],
            rows=list({tuple(row): row for row in rows}.values()),
        )

    @table("sampled_winners", "share of the samples that find the best system")
    def winners_found(self) -> Table:
        """Tabulate the share of the samples that find the best system."""
        found = self.winners()
        shares = (found["correct"] / found["repeats"].where(found["repeats"] > 0)).to_numpy(float)
        return Table(
            name="sampled_winners",
            title="Share of the samples that find the best system",
            note=self.caption(),
            headings=["estimator", *self.metrics],
            rows=named_rows(self.estimators, shares.reshape(len(self.metrics), -1).T),
            best=dict.fromkeys(range(1, len(self.metrics) + 1), max),
        )

    @figure(
        "sampled_estimates",
        "Sampled negatives: estimates against exact metrics",
        number=11,
        panels="metric",
        comparable=False,
    )
    def plot(self, ax: Axes | None = None, *, metric: str | None = None) -> Axes:
        """Draw the estimates of a metric against its exact values, a curve for each estimator.

        The first metric by default, on new axes by default.
        """
        ax, number = self.panel(ax, metric)
        means, spreads = self.mean[:, number], self.sd[:, number]
        order = self.exact[number].argsort(kind="stable")
        exact = self.exact[number][order]
        ax.plot(exact, exact, color="0.6", linewidth=0.8, label="exact", zorder=0)
        styles = categories(self.estimators)
        for (label, style), mean, sd in zip(styles, means, spreads, strict=True):
            limits = (mean - sd)[order], (mean + sd)[order]
            draw_whiskers(ax, exact, mean[order], limits, style, label=label)
        lowest, highest = min(exact.min(), (means - spreads).min()), (means + spreads).max()
        if lowest > 0 and highest > WIDE * lowest:
            scale_by_factors(ax, along="y")
        ax.set_xlabel("exact")
        ax.set_ylabel("estimated from samples")
        legend_beside(ax)
        return ax

    def caption(self) -> str:
        """Say what is shown."""
        return (
            f"Metrics of {len(self.systems)} systems estimated from m = {self.negatives:,} "
            f"negatives, sampled uniformly {self.drawn.how}, against the exact ones among all "
            f"n = {self.ranked.n} candidates, of {self.ranked}: "
            f"mean and standard deviation over {self.n_repeats:,} samples of the negatives, not of "
            f"the users, seed {self.drawn.seed}. A falling curve has systems in the wrong order. "
            f"Ties are settled as in the full ranks; corrections use {self.drawn.whose}. "
            f"{self._of_adaptive()}Estimators: {'; '.join(self.estimators)}."
        )

    def _of_adaptive(self) -> str:
        if not self.n_max:
            return ""
        return (
            f"Adaptive samples start with the relevant item and {self.negatives:,} negatives, "
            f"drawn with replacement, and double up to {self.n_max:,} items while it is the first. "
        )

    def findings(self) -> Sequence[str]:
        """Say which estimators came closest, to which metrics, and how samples order systems."""
        closest = self._closest()
        metrics_of: dict[str, list[str]] = {}
        for metric, name in zip(self.metrics, closest, strict=True):
            metrics_of.setdefault(name, []).append(metric)
        found = "; ".join(f"{name} for {', '.join(some)}" for name, some in metrics_of.items())
        return [
            f"Metrics estimated from {self.negatives:,} sampled negatives: closest to the exact "
            f"values came {found}.{self._orders_in_short(closest)}"
        ]

    def _closest(self) -> list[str]:
        """Name the estimator that came closest to each metric."""
        return [self.estimators[number] for number in self.distance.argmin(axis=0)]

    def _orders_in_short(self, closest: Sequence[str]) -> str:
        plain, shares = str(uncorrected()), 100 * self.in_order()
        if np.isnan(shares).any() or plain not in self.estimators:
            return ""
        each = "; ".join(
            f"{metric} {of[self.estimators.index(plain)]:.0f} % and "
            f"{of[self.estimators.index(best)]:.0f} %"
            for metric, of, best in zip(self.metrics, shares.T, closest, strict=True)
        )
        return f" Pairs of systems in their true order, uncorrected and by the closest: {each}."

    def conclusion(self) -> str:
        """Say for each metric which estimator came closest, and how samples order the systems."""
        by_metric = zip(
            self.metrics, self._closest(), self.distance.T, self.in_order().T, strict=True
        )
        return "".join(
            f"{metric}: closest to the exact values was {closest}, off by "
            f"{shown(float(off.min()))}{self._of_order(shares, closest)}.\n"
            for metric, closest, off, shares in by_metric
        )

    def _of_order(self, shares: Floats, closest: str) -> str:
        """Say which share of the pairs of systems the sampled metric, and the closest, order."""
        plain = str(uncorrected())
        if np.isnan(shares).any() or plain not in self.estimators:
            return ""
        said, best = (
            f"{100 * shares[self.estimators.index(name)]:.0f} %" for name in (plain, closest)
        )
        told = f"; the uncorrected metric has {said} of the pairs of systems in their true order"
        return told if closest == plain else f"{told}, the closest {best}"


def _named(frame: pd.DataFrame) -> pd.DataFrame:
    """Take the cut-offs out of the names of metrics."""
    import pandas as pd

    metrics = [*map(rank_metric, frame["metric"])]
    return frame.assign(
        metric=[str(replace(metric, cutoff=None)) for metric in metrics],
        cutoff=pd.array([metric.cutoff for metric in metrics], dtype="Int64"),
    )
