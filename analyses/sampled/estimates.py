"""What sampling does to metrics of real systems, and what the corrections make of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from analyses.sampled.estimators import uncorrected
from analyses.sampled.expectation.crossings import DECIMALS, first_of
from analyses.sampled.shared.facts import crossed, text_rows, tidy
from analyses.sampled.shared.settings import (
    ESTIMATORS,
    EstimatorNames,
    GrowingSettings,
    read_estimators,
)
from analyses.sampled.shared.trials import (
    LEAST_COVERED,
    NUMBERS,
    Draws,
    Experiment,
    Way,
    experiment,
    nearest,
    takes,
    without_cutoffs,
)
from analyses.shared.analysis import analysis
from analyses.shared.drawing import categories, draw_whiskers, label_curves, scale_by_factors
from analyses.shared.result import figure, table
from analyses.shared.table import Table, shown
from analyses.significance.permutation.pairs import pair_indices
from qrels import FullRanks
from runs.shared.settings import Whole

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.work import Work

Floats = NDArray[np.float64]

WIDE = 2
"""Estimates further apart than by this factor are drawn on a logarithmic scale."""


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

    def designs(self, ranks: FullRanks) -> list[Way]:
        """Give each estimator the samples that it is for: adaptive ones, or of one size."""
        fixed, adaptive = self.fixed(ranks), self.growing(ranks)
        estimators = read_estimators(self.estimators)
        ways = [Way(one, adaptive if takes(one, adaptive) else fixed) for one in estimators]
        for design in dict.fromkeys(way.design for way in ways):
            design.check(ranks)
        return ways


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
    ways = settings.designs(first_of(work.full_ranks))
    return experiment(Estimates, work, settings, ways, negatives=settings.negatives)


@dataclass(frozen=True, eq=False)
class Estimates(Experiment):
    """Exact metrics of systems, and estimates of them from repeated samples.

    Negatives, m, are as many as were sampled.
    """

    negatives: int

    label, curves = "Estimating from samples", False
    columns = (
        "system", "metric", "cutoff", "estimator", "sample", "replace", "scored", "repeats",
        "exact", "expected", "mean", "sd", "standard_error", "error", "error_sd", "zero_cutoffs",
    )  # fmt: skip

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
        numbers = {name: of.T for name, of in zip(NUMBERS, self.numbers, strict=True)}
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
        a, b = pairs = np.array(pair_indices(len(systems)))
        exact_a, exact_b = exact[:, np.newaxis, a], exact[:, np.newaxis, b]
        names = {"system_a": systems[a], "system_b": systems[b]}
        return self._counted(pairs.T, **names, exact_a=exact_a, exact_b=exact_b)

    def winners(self) -> pd.DataFrame:
        """Count the repeats that find the best system.

        Returns
        -------
        Columns metric, cutoff, estimator, winner, correct, repeats, as for :meth:`orders`.
        """
        best = np.round(self.exact, DECIMALS).argmax(axis=1)
        winner = np.array(self.systems, dtype=object)[best, np.newaxis, np.newaxis]
        return self._counted(np.arange(len(self.systems))[np.newaxis], winner=winner)

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
