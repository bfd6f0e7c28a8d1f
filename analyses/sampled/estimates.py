"""What sampling does to metrics of real systems, and what the corrections make of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from scipy.special import ndtr

from analyses.sampled.estimators import Estimator, uncorrected
from analyses.sampled.expectation.crossings import DECIMALS, first_of
from analyses.sampled.samples.designs import Design
from analyses.sampled.shared.facts import coverage, crossed, text_rows, tidy
from analyses.sampled.shared.settings import (
    ESTIMATORS,
    EstimatorNames,
    GrowingSettings,
    read_estimators,
)
from analyses.sampled.shared.trials import (
    Draws,
    Experiment,
    Way,
    experiment,
    takes,
    without_cutoffs,
)
from analyses.shared.analysis import analysis
from analyses.shared.drawing import categories, draw_whiskers, label_curves, scale_by_factors
from analyses.shared.result import figure, table
from analyses.shared.table import Table, shown
from qrels import FullRanks
from runs.shared.settings import Whole

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.work import Work

Floats = NDArray[np.float64]

WIDE = 2
"""Estimates further apart than by this factor are drawn on a logarithmic scale."""

ROUNDING = 1e-6
"""Bias below it is that of the grid."""

LEAST_COVERED = 90
"""Of 100 intervals; an estimator whose intervals hold the truth in fewer is not for levels."""


class Settings(GrowingSettings):
    """Metrics estimated from ranks among sampled negatives."""

    estimators: EstimatorNames = ESTIMATORS
    draws: Draws | None = Field(
        None,
        description="What systems share: the sampled items, which they rank in studies that train "
        "them, the random number by which a user is sampled, or nothing; by default items if all "
        "candidates of all users are ranked, else the number.",
    )
    users: Whole | None = Field(
        None, ge=1, description="Users that advice is for; by default those of the ranks."
    )

    @property
    def needs(self) -> tuple[str, ...]:
        """Say which ranks of all candidates are needed."""
        every = {None: ("all_candidate_ranks",), "items": ("candidate_ranks",)}
        return every.get(self.draws, ())

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
    ways = [Way(*each) for each in settings.designs(first).items()]
    found = experiment(Estimates, work, settings, ways, users=0, negatives=settings.negatives)
    return replace(found, users=settings.users or found.ranked.n_users)


def shares_in_order(right: NDArray[Any], true: Floats) -> Floats:
    """Give the share of what is right among pairs, the last axis, that truly differ; or NaN."""
    counted, n_pairs = (right * (true != 0)).sum(axis=-1), np.abs(np.sign(true)).sum(axis=-1)
    return np.divide(counted, n_pairs, out=np.full(counted.shape, np.nan), where=n_pairs > 0)


def nearest(numbers: Floats) -> NDArray[np.intp]:
    """Number the estimators to report levels by, with intervals that cover if any do.

    Of `Estimates.numbers`, (5, ..., n_estimators, n_metrics), they are (..., n_metrics).
    """
    off, holds = np.hypot(*numbers[:2]), numbers[4] >= LEAST_COVERED
    allowed = holds | ~holds.any(axis=-2, keepdims=True)
    return np.asarray(np.where(allowed, off, np.inf).argmin(axis=-2))


@dataclass(frozen=True, eq=False)
class Estimates(Experiment):
    """Exact metrics of systems, and estimates of them from repeated samples.

    Users are those that advice is for, and negatives, m, as many as were sampled.
    """

    users: int
    negatives: int

    label, curves = "Estimating from samples", False
    columns = (
        "system", "metric", "cutoff", "estimator", "sample", "replace", "scored", "repeats",
        "exact", "expected", "mean", "sd", "standard_error", "error", "error_sd", "zero_cutoffs",
    )  # fmt: skip

    @property
    def bias(self) -> Floats:
        """Root mean square over systems of what is expected less the exact value.

        Of shape (n_estimators, n_metrics).
        """
        return np.asarray(np.sqrt(((self.expected - self.exact) ** 2).mean(axis=2)))

    @property
    def noise(self) -> Floats:
        """Root mean square over systems of the deviation over samples of so many users.

        Of shape (n_estimators, n_metrics).
        """
        return np.asarray(np.sqrt(((self.sd * self._scale) ** 2).mean(axis=2)))

    @property
    def covered(self) -> Floats:
        """How many of 100 intervals over users hold the exact value, as bias lets them.

        The mean over systems, of shape (n_estimators, n_metrics).
        """
        error = np.hypot(self.sd * self._scale, self.spread / np.sqrt(self.users))
        off = self.expected - self.exact
        off = np.where(np.abs(off) < ROUNDING, 0.0, off)
        off = np.divide(off, error, out=np.where(off == 0, 0.0, np.inf), where=error > 0)
        return np.asarray(coverage(off).mean(axis=2))

    @property
    def _scale(self) -> float:
        """What noise is multiplied by for so many users as advice is for."""
        return float(np.sqrt(self.ranked.n_users / self.users))

    def ordered(self) -> tuple[Floats, Floats]:
        """Give the shares of pairs of systems in the true order, in expectation and in samples.

        Samples are those of so many users as advice is for, as if differences were normal. Both are
        of shape (n_estimators, n_metrics); NaN where there are no pairs but true ties.
        """
        a, b = self._pairs
        true = np.sign(np.round(self.exact[:, a] - self.exact[:, b], DECIMALS))
        expected = np.round(self.expected[:, :, a] - self.expected[:, :, b], DECIMALS)
        apart = self.estimated[:, :, a] - self.estimated[:, :, b]
        noise, rightly = apart.std(axis=3, ddof=1) * self._scale, expected * true
        surely = np.where(rightly > 0, np.inf, -np.inf)
        far = np.divide(rightly, noise, out=surely, where=noise > 0)
        in_expectation = shares_in_order(np.sign(expected) == true, true)
        return in_expectation, shares_in_order(ndtr(far), true)

    @property
    def numbers(self) -> Floats:
        """Bias, noise, both shares in order, and intervals that cover: (5, n_estimators, n)."""
        return np.array([self.bias, self.noise, *self.ordered(), self.covered])

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
        names = ("bias", "noise", "in_expectation", "in_samples", "covered")
        numbers = {name: of.T for name, of in zip(names, self.numbers, strict=True)}
        axes = {"metric": self.metrics, "estimator": self.estimators}
        return _put_first(tidy(axes, users=self.users, **numbers))

    def orders(self) -> pd.DataFrame:
        """Count the repeats that have a pair of systems in its true order.

        Returns
        -------
        Columns metric, cutoff, estimator, system_a, system_b, exact_a, exact_b, correct, repeats:
        none of those for systems that truly tie. A tied estimate is not correct.
        """
        systems, exact = np.array(self.systems, dtype=object), np.round(self.exact, DECIMALS)
        a, b = self._pairs
        exact_a, exact_b = exact[:, np.newaxis, a], exact[:, np.newaxis, b]
        names = {"system_a": systems[a], "system_b": systems[b]}
        return self._counted(self._pairs.T, **names, exact_a=exact_a, exact_b=exact_b)

    def winners(self) -> pd.DataFrame:
        """Count the repeats that find the best system.

        Returns
        -------
        Columns metric, cutoff, estimator, winner, correct, repeats, as for :meth:`orders`.
        """
        best = np.round(self.exact, DECIMALS).argmax(axis=1)
        winner = np.array(self.systems, dtype=object)[best, np.newaxis, np.newaxis]
        return self._counted(np.arange(len(self.systems))[np.newaxis], winner=winner)

    @property
    def _pairs(self) -> NDArray[np.intp]:
        """All pairs of systems: (2, n_pairs)."""
        return np.array([*combinations(range(len(self.systems)), 2)], np.intp).reshape(-1, 2).T

    def _counted(self, sets: NDArray[np.intp], **columns: Any) -> pd.DataFrame:
        """Count repeats that find the best of sets, (n_sets, n), beside columns that name these.

        Ties that are true have none; repeats in which estimates tie do not find it.
        """
        estimated = np.round(self.estimated, DECIMALS)[:, :, sets].swapaxes(0, 1)
        exact = np.round(self.exact, DECIMALS)[:, np.newaxis, sets, np.newaxis]
        best, true = (of == of.max(axis=3, keepdims=True) for of in (estimated, exact))
        alone = true.sum(axis=3) == 1
        found = ((best & true).any(axis=3) & (best.sum(axis=3) == 1) & alone).sum(axis=3)
        axes = {"metric": self.metrics, "estimator": self.estimators, "set": range(len(sets))}
        repeats = self.n_repeats * alone[..., 0].astype(np.int64)
        frame = tidy(axes, **columns, correct=found, repeats=repeats)
        return _put_first(frame.drop(columns="set"))

    def _by_way(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Lay out what is told in rows of a frame, a column a way."""
        wide = frame.pivot(index="row", columns="way", values="told")
        return wide.loc[frame["row"].unique()]

    @table("sampled", "exact metrics, and estimates from sampled negatives")
    def means(self) -> Table:
        """Tabulate exact values, and means and deviations of estimates, by metric and system."""
        frame = self.every_column()
        told = _with_spread(frame["mean"], frame["sd"], shown)
        frame = frame.assign(told=told, row=frame["measure"] + ", " + frame["system"])
        wide = self._by_way(frame)
        wide.insert(0, "exact", frame.groupby("row", sort=False)["exact"].first())
        return Table(
            name="sampled",
            title="Exact metrics, and estimates from samples",
            note=self.caption(),
            headings=["metric, system", "exact", *self.estimators],
            rows=text_rows(wide.reset_index()),
        )

    @table("sampled_orders", "bias and noise of those estimates, and systems in the true order")
    def distances(self) -> Table:
        """Tabulate bias and noise, and how often pairs of systems are ordered rightly."""
        numbers = {str(n): of.T for n, of in enumerate(self.numbers)}
        frame = tidy({"metric": self.metrics, "estimator": self.estimators}, **numbers)
        frame.insert(0, "row", frame.pop("metric") + ", " + frame.pop("estimator"))
        frame["4"] = frame["4"].map("{:.0f} of 100".format)
        note = (
            "Bias: what the estimator makes of samples as they are expected, less the exact value; "
            "more users do not lessen it. Noise: standard deviation over samples, for "
            f"{self.users:,} users. Both are root mean squares over the systems. In order: shares "
            "of the pairs of systems in the true order, in expectation and in samples. Covered: of "
            f"100 intervals over users, how many hold the exact value. {self.caption()}"
        )
        return Table(
            name="sampled_orders",
            title=f"Bias and noise for {self.users:,} users, and pairs of systems in true order",
            note=note,
            headings=["metric, estimator", "bias", "noise", "expected", "in order", "covered"],
            rows=text_rows(frame),
        )

    @table("sampled_errors", "relative errors of their curves, and items scored")
    def curve_errors(self) -> Table:
        """Tabulate how many items are scored, and relative errors of curves, by system."""
        import pandas as pd

        frame = self.every_column()
        scored = frame.assign(
            row="items scored for a user, " + frame["system"],
            told=frame["scored"].map("{:,.1f}".format),
        )
        curves = frame[frame["cutoff"].notna()]
        told = _with_spread(curves["error"], curves["error_sd"], "{:.2f}".format)
        curves = curves.assign(row=curves["metric"] + ", " + curves["system"], told=told)
        rows = pd.concat([scored, curves]).drop_duplicates(["row", "way"])
        return Table(
            name="sampled_errors",
            title="Relative error of the curve over the cut-offs 1 to 50, in per cent",
            note=self.caption(),
            headings=["metric, system", *self.estimators],
            rows=text_rows(self._by_way(rows).reset_index()),
        )

    @table("sampled_winners", "share of the samples that find the best system")
    def winners_found(self) -> Table:
        """Tabulate the share of the samples that find the best system."""
        found = self.winners()
        found["share"] = found["correct"] / found["repeats"].where(found["repeats"] > 0)
        return crossed(
            found.assign(metric=np.repeat(self.metrics, len(self.estimators))),
            ["estimator"],
            ["metric"],
            "share",
            best=max,
            name="sampled_winners",
            title="Share of the samples that find the best system",
            note=self.caption(),
        )

    @figure(
        "sampled_estimates",
        "Sampled negatives: estimates against exact metrics",
        number=11,
        panels="metric",
        comparable=False,
    )
    def plot(self, ax: Axes | None = None, *, metric: str | None = None) -> Axes:
        """Draw the estimates of a metric against its exact values, a curve for each estimator."""
        ax, frame = self.panel(ax, metric)
        frame = frame.sort_values("exact", kind="stable")
        frame = frame.assign(low=frame["mean"] - frame["sd"], high=frame["mean"] + frame["sd"])
        exact = frame["exact"].unique()
        ax.plot(exact, exact, color="0.6", linewidth=0.8, label="exact", zorder=0)
        ways = frame.groupby("way")
        for (label, style), (_, own) in zip(categories(self.estimators), ways, strict=True):
            x, mean, low, high = own[["exact", "mean", "low", "high"]].to_numpy().T
            draw_whiskers(ax, x, mean, (low, high), style, label=label)
        lowest = min(exact.min(), frame["low"].min())
        if lowest > 0 and frame["high"].max() > WIDE * lowest:
            scale_by_factors(ax, along="y")
        ax.set(xlabel="exact", ylabel="estimated from samples")
        label_curves(ax)
        return ax

    def caption(self) -> str:
        """Say what is shown."""
        adaptive = (
            f"Adaptive samples start with the relevant item and {self.negatives:,} negatives, "
            f"drawn with replacement, and double up to {self.n_max:,} items while it is the first. "
        )
        return (
            f"Metrics of {len(self.systems)} systems estimated from m = {self.negatives:,} "
            f"negatives, sampled uniformly {self.drawn.how}, against the exact ones among all "
            f"n = {self.ranked.n} candidates, of {self.ranked}: "
            f"mean and standard deviation over {self.n_repeats:,} samples of the negatives, not of "
            f"the users, seed {self.drawn.seed}. A falling curve has systems in the wrong order. "
            "Ties are settled as in the full ranks; corrections use the mean number of candidates. "
            f"{adaptive if self.n_max else ''}Estimators: {'; '.join(self.estimators)}."
        )

    def findings(self) -> Sequence[str]:
        """Say for each metric what to compare systems by, and what to report as a level."""
        numbers = self.numbers
        near = nearest(numbers)
        return [
            f"{metric} from {self.negatives:,} negatives of {self.users:,} users. "
            f"{self._to_compare(*numbers[2:4, :, place])}"
            f"{self._to_report(near[place], *numbers[[0, 1, 4], :, place])}"
            for place, metric in enumerate(self.metrics)
        ]

    def _to_compare(self, in_expectation: Floats, in_samples: Floats) -> str:
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

    def _to_report(self, best: int, bias: Floats, noise: Floats, covered: Floats) -> str:
        none = ", and those of no estimator do as they should"
        return (
            f"To report a level: {self.estimators[best]}, bias {shown(float(bias[best]))}, noise "
            f"{shown(float(noise[best]))}; {covered[best]:.0f} of 100 intervals hold the exact "
            f"value{none if covered.max() < LEAST_COVERED else ''}."
        )


def _put_first(frame: pd.DataFrame) -> pd.DataFrame:
    """Take cut-offs out of the names of metrics, and put both first."""
    frame = without_cutoffs(frame).drop(columns="measure")
    names = ["metric", "cutoff"]
    return frame[[*names, *(name for name in frame if name not in names)]]


def _with_spread(
    means: pd.Series[float], spreads: pd.Series[float], write: Callable[[float], str]
) -> list[str]:
    """Write means with their deviations."""
    return [f"{write(mean)} ± {write(sd)}" for mean, sd in zip(means, spreads, strict=True)]
