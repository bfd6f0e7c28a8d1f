"""What sampling does to metrics of real systems, and what the corrections make of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from scipy.special import ndtr

from analyses.sampled.estimators import Estimator, uncorrected
from analyses.sampled.estimators.learned_priors import WithPrior
from analyses.sampled.estimators.shared.expected import expected_of_ranks
from analyses.sampled.expectation.crossings import DECIMALS, first_of
from analyses.sampled.expectation.designs import Adaptive, Design, FixedSize
from analyses.sampled.expectation.errors import winner_count
from analyses.sampled.expectation.metrics import rank_metric
from analyses.sampled.shared.curve_points import CurvePoints
from analyses.sampled.shared.facts import Drawn, Ranked
from analyses.sampled.shared.repeated_samples import SampledSystem, Samples, each_system, takes
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
from runs.shared.settings import Whole

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.work import Work

Floats = NDArray[np.float64]

WIDE = 2
"""Estimates further apart than by this factor are drawn on a logarithmic scale."""

OF_ADVICE = (
    "Bias: what the estimator makes of samples as they are expected, less the exact value; more "
    "users do not lessen it. Noise: standard deviation over samples, for {users:,} users. Both are "
    "root mean squares over the systems. In order: shares of the pairs of systems in the true "
    "order, in expectation and in samples. Covered: of 100 intervals over users, how many hold the "
    "exact value."
)

HALF_WIDTH = 1.96
"""Of an interval of 95 %, in standard errors."""

ROUNDING = 1e-6
"""Bias below it is that of the grid."""

LEAST_COVERED = 90
"""Of 100 intervals; an estimator whose intervals hold the truth in fewer is not for levels."""


class Settings(GrowingSettings):
    """Metrics estimated from ranks among sampled negatives."""

    estimators: EstimatorNames = ESTIMATORS
    users: Whole | None = Field(
        None, ge=1, description="Users that advice is for; by default those of the ranks."
    )

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
        limits = [
            _expected(e, samples[d], system.ranks, points)
            if isinstance(d, FixedSize)
            else points.at_metrics(of).mean(axis=0)
            for (e, d), of in zip(designs.items(), values, strict=True)
        ]
        return (
            points.at_metrics(system.truth),
            points.at_metrics(np.array(values)),
            np.array([system.errors(of) for of in values]),
            system.zero_cutoffs,
            np.array([samples[design].scored for design in designs.values()]),
            np.array(limits),
            np.array([metric.of_users(system.ranks).std() for metric in points.metrics]),
        )

    exact, estimated, errors, zeros, scored, expected, spread = (
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
        expected=expected,
        spread=spread,
        users=settings.users or len(np.unique(first.user)),
        ranked=Ranked.of(first),
        drawn=Drawn(settings.replace, settings.corrected_for, work.seed, settings.draws),
        negatives=settings.negatives,
        n_max=max((d.n_max for d in designs.values() if isinstance(d, Adaptive)), default=0),
    )


def _expected(
    estimator: Estimator, samples: Samples, ranks: FullRanks, points: CurvePoints
) -> Floats:
    """Estimate the metrics from samples as they are expected: (n_metrics,).

    A prior that repeats share is learned from these: its expectation, but for its noise.
    """
    if isinstance(estimator, WithPrior):
        alone: dict[str, Any] = {"prior": estimator.prior.removeprefix("pooled:")}
        estimator = replace(estimator, **alone)
    counted = expected_of_ranks(samples.counted, ranks)
    return np.asarray(estimator.fit_tally(counted).estimates(points.metrics)[0])


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
    expected
        Estimates from samples as they are expected, the mean of adaptive ones: of shape
        (n_estimators, n_metrics, n_systems).
    spread
        Standard deviation over users of the exact metrics, of shape (n_metrics, n_systems).
    users
        How many users advice is for.
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
    expected: Floats
    spread: Floats
    users: int
    negatives: int
    n_max: int

    @property
    def repeated(self) -> Floats:
        """The estimates, of which `mean` and `sd` are."""
        return self.estimated

    @property
    def bias(self) -> Floats:
        """Root mean square over systems of what is expected less the exact value.

        Of shape (n_estimators, n_metrics).
        """
        return _root_mean_square(self.expected - self.exact)

    @property
    def noise(self) -> Floats:
        """Root mean square over systems of the deviation over samples of so many users.

        Of shape (n_estimators, n_metrics).
        """
        return _root_mean_square(self.sd * self._scale)

    @property
    def covered(self) -> Floats:
        """How many of 100 intervals over users hold the exact value, as bias lets them.

        The mean over systems, of shape (n_estimators, n_metrics).
        """
        error = np.hypot(self.sd * self._scale, self.spread / np.sqrt(self.users))
        off = self.expected - self.exact
        off = np.where(np.abs(off) < ROUNDING, 0.0, off)
        off = np.divide(off, error, out=np.where(off == 0, 0.0, np.inf), where=error > 0)
        return np.asarray(100 * (ndtr(HALF_WIDTH - off) - ndtr(-HALF_WIDTH - off)).mean(axis=2))

    @property
    def _scale(self) -> float:
        """What noise is multiplied by for so many users as advice is for."""
        return float(np.sqrt(self.ranked.n_users / self.users))

    def ordered(self) -> tuple[Floats, Floats]:
        """Give the shares of pairs of systems in the true order, in expectation and in samples.

        Samples are those of so many users as advice is for, as if differences were normal. Both are
        of shape (n_estimators, n_metrics); NaN where there are no pairs but true ties.
        """
        a, b = np.array(self._pairs, dtype=np.intp).reshape(-1, 2).T
        true = np.sign(np.round(self.exact[:, a] - self.exact[:, b], DECIMALS))
        expected = np.round(self.expected[:, :, a] - self.expected[:, :, b], DECIMALS)
        apart = self.estimated[:, :, a] - self.estimated[:, :, b]
        noise = apart.std(axis=3, ddof=1) * self._scale
        rightly = expected * true
        surely = np.where(rightly > 0, np.inf, -np.inf)
        far = np.divide(rightly, noise, out=surely, where=noise > 0)
        n_pairs = np.abs(true).sum(axis=1)
        return _shares(np.sign(expected) == true, true, n_pairs), _shares(ndtr(far), true, n_pairs)

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give estimates, counts of true orders and of winners found, and what advice is from."""
        return {
            "sampled": self.to_frame(),
            "sampled_orders": self.orders(),
            "sampled_winners": self.winners(),
            "sampled_advice": self.advice(),
        }

    def advice(self) -> pd.DataFrame:
        """Give one row for each metric and estimator.

        Returns
        -------
        Columns metric, cutoff, estimator, users; bias and noise for so many users, in_expectation
        and in_samples, the shares of pairs of systems in the true order, and covered, how many of
        100 intervals over users hold the exact value.
        """
        in_expectation, in_samples = self.ordered()
        frame = tidy(
            {"metric": self.metrics, "estimator": self.estimators},
            users=self.users,
            bias=self.bias.T,
            noise=self.noise.T,
            in_expectation=in_expectation.T,
            in_samples=in_samples.T,
            covered=self.covered.T,
        )
        return _named(frame)[["metric", "cutoff", *frame.columns[1:]]]

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

    @table("sampled_orders", "bias and noise of those estimates, and systems in the true order")
    def distances(self) -> Table:
        """Tabulate bias and noise, and how often pairs of systems are ordered rightly."""
        numbers = np.stack([self.bias, self.noise, *self.ordered()], axis=2).swapaxes(0, 1)
        rows: list[list[Cell]] = [
            [f"{metric}, {estimator}", *own.tolist(), f"{covered:.0f} of 100"]
            for metric, of_metric, of_covered in zip(
                self.metrics, numbers, self.covered.T, strict=True
            )
            for estimator, own, covered in zip(self.estimators, of_metric, of_covered, strict=True)
        ]
        return Table(
            name="sampled_orders",
            title=f"Bias and noise for {self.users:,} users, and pairs of systems in true order",
            note=f"{OF_ADVICE.format(users=self.users)} {self.caption()}",
            headings=["metric, estimator", "bias", "noise", "expected", "in order", "covered"],
            rows=rows,
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
        """Say for each metric what to compare systems by, and what to report as a level."""
        in_expectation, in_samples = self.ordered()
        return [
            f"{metric} from {self.negatives:,} negatives of {self.users:,} users. "
            f"{self._to_compare(in_samples[:, place], in_expectation[:, place])}"
            f"{self._to_report(place)}"
            for place, metric in enumerate(self.metrics)
        ]

    def _to_compare(self, in_samples: Floats, in_expectation: Floats) -> str:
        if np.isnan(in_samples).any():
            return ""
        shares = list(zip(np.round(in_samples, 4), in_expectation, strict=True))
        best, plain = shares.index(max(shares)), str(uncorrected())
        told = [
            f"{100 * share:.0f} % of the pairs in order ({100 * expected:.0f} % in expectation)"
            for share, expected in shares
        ]
        said = f"To compare systems: {self.estimators[best]}, {told[best]}"
        if plain not in self.estimators or self.estimators[best] == plain:
            return f"{said}. "
        return f"{said}; uncorrected {told[self.estimators.index(plain)]}. "

    def _to_report(self, place: int) -> str:
        bias, noise, covered = (of[:, place] for of in (self.bias, self.noise, self.covered))
        holds, off = covered >= LEAST_COVERED, np.hypot(bias, noise)
        best = int(np.where(holds | ~holds.any(), off, np.inf).argmin())
        return (
            f"To report a level: {self.estimators[best]}, bias {shown(float(bias[best]))}, noise "
            f"{shown(float(noise[best]))}; {covered[best]:.0f} of 100 intervals hold the exact "
            f"value{'' if holds.any() else ', and those of no estimator do as they should'}."
        )


def _root_mean_square(values: Floats) -> Floats:
    """Average over the last axis, systems."""
    return np.asarray(np.sqrt((values**2).mean(axis=2)))


def _shares(right: NDArray[Any], true: Floats, n_pairs: Floats) -> Floats:
    """Give the share of what is right among pairs that truly differ: (n_estimators, n_metrics)."""
    counted = (right * (true != 0)).sum(axis=2)
    return np.divide(counted, n_pairs, out=np.full(counted.shape, np.nan), where=n_pairs > 0)


def _named(frame: pd.DataFrame) -> pd.DataFrame:
    """Take the cut-offs out of the names of metrics."""
    import pandas as pd

    metrics = [*map(rank_metric, frame["metric"])]
    return frame.assign(
        metric=[str(replace(metric, cutoff=None)) for metric in metrics],
        cutoff=pd.array([metric.cutoff for metric in metrics], dtype="Int64"),
    )
