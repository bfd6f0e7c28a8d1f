"""What sampling does to metrics of real systems, and what the corrections make of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from analyses.sampled.estimators import uncorrected
from analyses.sampled.expectation.crossings import DECIMALS, first_of
from analyses.sampled.expectation.metrics import rank_metric
from analyses.sampled.shared.facts import tidy
from analyses.sampled.shared.sampling_experiment import (
    LEAST_COVERED,
    Experiment,
    experiment,
    nearest,
    without_cutoffs,
)
from analyses.sampled.shared.settings import (
    ESTIMATORS,
    EstimatorNames,
    GrowingSettings,
    read_estimators,
)
from analyses.sampled.shared.trials import Draws, Way, takes
from analyses.shared.analysis import analysis
from analyses.shared.drawing import categories, draw_whiskers, label_curves, scale_by_factors
from analyses.shared.result import figure, table
from analyses.shared.table import Cell, Table, shown
from analyses.significance.permutation.pairs import pair_indices
from qrels import FullRanks
from runs.shared.members import Whole

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
    return experiment(Estimates, work, settings, ways)


@dataclass(frozen=True, eq=False)
class Estimates(Experiment):
    """Exact metrics of systems, and estimates of them from repeated samples."""

    label, curves = "Estimating from samples", False

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give estimates, counts of true orders, and what advice is from."""
        frames = {"sampled": self.to_frame(), "sampled_orders": self.orders()}
        return frames | {"sampled_advice": self.advice()}

    def orders(self) -> pd.DataFrame:
        """Count the repeats that have a pair of systems in its true order.

        Returns
        -------
        Columns metric, cutoff, estimator, system_a, system_b, exact_a, exact_b, correct, repeats:
        none of those for systems that truly tie. A tied estimate is not correct.
        """
        systems, (a, b) = np.array(self.systems, dtype=object), pair_indices(len(self.systems))
        exact, estimated = (np.round(of, DECIMALS) for of in (self.exact, self.estimated))
        true = np.sign(exact[:, a] - exact[:, b])[:, np.newaxis]
        found = np.sign(estimated[:, :, a] - estimated[:, :, b]).swapaxes(0, 1)
        frame = tidy(
            {"metric": self.metrics, "estimator": self.estimators, "pair": range(len(a))},
            system_a=systems[a],
            system_b=systems[b],
            exact_a=exact[:, np.newaxis, a],
            exact_b=exact[:, np.newaxis, b],
            correct=((found == true[..., np.newaxis]).sum(axis=3)) * (true != 0),
            repeats=self.n_repeats * (true != 0),
        )
        return without_cutoffs(frame).drop(columns=["measure", "pair"])

    def _laid_out(
        self, numbers: Floats, metrics: Sequence[str], write: Callable[[float], str]
    ) -> list[list[Cell]]:
        """Write means and deviations of numbers over the repeats, a column a way."""
        pairs = zip(numbers.mean(axis=3), numbers.std(axis=3, ddof=1), strict=True)
        told = [np.vectorize(lambda m, s: f"{write(m)} ± {write(s)}")(*pair) for pair in pairs]
        return [
            [f"{metric}, {system}", *(str(own[m, s]) for own in told)]
            for m, metric in enumerate(metrics)
            for s, system in enumerate(self.systems)
        ]

    @table("sampled", "exact metrics, and estimates from sampled negatives")
    def means(self) -> Table:
        """Tabulate exact values, and means and deviations of estimates, by metric and system."""
        rows = self._laid_out(self.estimated, self.metrics, shown)
        pairs = zip(rows, self.exact.ravel().tolist(), strict=True)
        return Table(
            name="sampled",
            title="Exact metrics, and estimates from samples",
            note=self.caption(),
            headings=["metric, system", "exact", *self.names],
            rows=[[name, exact, *told] for (name, *told), exact in pairs],
        )

    @table("sampled_orders", "bias and noise of those estimates, and systems in the true order")
    def distances(self) -> Table:
        """Tabulate bias and noise, and how often systems are ordered rightly."""
        note = (
            "Bias: what the estimator makes of samples as they are expected, less the exact value; "
            "more users do not lessen it. Noise: standard deviation over samples, for "
            f"{self.users:,} users. Both are root mean squares over the systems. In order: shares "
            "of the pairs of systems in the true order, in expectation and in samples. Covered: of "
            "100 intervals over users, how many hold the exact value. Winner: share of the samples "
            f"that find the best system. {self.caption()}"
        )
        rows = [
            [f"{metric}, {name}", *numbers[:4], f"{numbers[4]:.0f} of 100", numbers[5]]
            for metric, of_ways in zip(self.metrics, self.numbers.T.tolist(), strict=True)
            for name, numbers in zip(self.names, of_ways, strict=True)
        ]
        return Table(
            name="sampled_orders",
            title=f"Bias and noise for {self.users:,} users, and pairs of systems in true order",
            note=note,
            headings=[
                "metric, estimator",
                "bias",
                "noise",
                "expected",
                "in order",
                "covered",
                "winner",
            ],
            rows=rows,
        )

    @table("sampled_errors", "relative errors of their curves, and items scored")
    def curve_errors(self) -> Table:
        """Tabulate how many items are scored, and relative errors of curves, by system."""
        scored = zip(self.systems, self.scored.T, strict=True)
        # Several cut-offs of a metric have one curve.
        names = [rank_metric(name).name for name in self.metrics]
        curves = [place for place, name in enumerate(names) if name not in ("AUC", *names[:place])]
        return Table(
            name="sampled_errors",
            title="Relative error of the curve over the cut-offs 1 to 50, in per cent",
            note=self.caption(),
            headings=["metric, system", *self.names],
            rows=[
                *([f"items scored for a user, {s}", *map("{:,.1f}".format, n)] for s, n in scored),
                *self._laid_out(
                    self.errors[:, curves], [names[n] for n in curves], "{:.2f}".format
                ),
            ],
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
        for (label, style), (_, own) in zip(categories(self.names), ways, strict=True):
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
        return (
            f"Metrics of {self.counted} estimated from {self.negatives[0]:,} sampled "
            "negatives, against the exact ones: mean and standard deviation. A falling curve has "
            "systems in the wrong order. Ties are settled as in the full ranks. "
            f"{self.of_samples}"
        )

    def findings(self) -> Sequence[str]:
        """Say for each metric what to compare systems by, and what to report as a level."""
        near = nearest(self.numbers)
        return [
            f"{metric} from {self.negatives[0]:,} negatives of {self.users:,} users. "
            f"{self._to_compare(*self.numbers[2:4, :, place])}"
            f"{self._to_report(near[place], *self.numbers[[0, 1, 4], :, place])}"
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
        said = f"To compare systems: {self.names[best]}, {told[best]}"
        if plain not in self.estimators or self.estimators[best] == plain:
            return f"{said}. "
        return f"{said}; uncorrected {told[self.estimators.index(plain)]}. "

    def _to_report(self, best: int, bias: Floats, noise: Floats, covered: Floats) -> str:
        none = ", and those of no estimator do as they should"
        return (
            f"To report a level: {self.names[best]}, bias {shown(float(bias[best]))}, noise "
            f"{shown(float(noise[best]))}; {covered[best]:.0f} of 100 intervals hold the exact "
            f"value{none if covered.max() < LEAST_COVERED else ''}."
        )
