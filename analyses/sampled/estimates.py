"""What sampling does to metrics of real systems, which estimator corrects it, and at what cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from analyses.ordering import DECIMALS
from analyses.ordering.agreement import ratio_or_nan
from analyses.sampled.metrics import with_cutoffs
from analyses.sampled.papers import (
    AP,
    FIXED_NDCG,
    LARGE_RECALL,
    NDCG,
    RECALL,
    aaai_winners,
    draw_curves,
    kdd_orders,
    kdd_values,
    paper_table,
)
from analyses.sampled.samples import first_of, population_of, replacement
from analyses.sampled.trials import Settings, Way, run_trials, trials_of
from analyses.shared.analysis import Need, analysis
from analyses.shared.drawing import category_styles, label_curves, panel_index, set_log_scale
from analyses.shared.measure import Measure, Measures, pair_labels, tidy
from analyses.shared.number_format import MISSING, Cell, format_cell, rounded
from analyses.shared.result import Result, figure, table
from analyses.shared.table import Table
from analyses.significance.permutation import pair_differences, pair_indices
from runs.shared.arrays import Floats

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.work import Work
    from qrels import FullRanks


USERS = tuple(size * 10**power for power in range(2, 7) for size in (1, 2, 5))
"""Numbers of users that are tried."""

IN_ORDER = 0.9
"""Share of the pairs of systems that is to be in the true order."""


@analysis(
    "estimates",
    source="Krichene & Rendle (2020), tables 3 and 4; Li et al. (2023), tables 1 to 3 and 6 to 11",
    needs=(Need.FULL_RANKS,),
)
def estimates(work: Work, settings: Settings) -> Estimates:
    """Sample negatives again and again, and estimate the exact metrics from every sample."""
    import pandas as pd

    trials, draws = trials_of(work, settings)
    systems = {name: trial.ranks for name, trial in trials.items()}
    first = first_of(systems)
    ways = settings.samples(first)
    labels = [
        (str(e), e.option("prior"), e.option("iters") or 0, d.drawing, d.sizes[0]) for e, d in ways
    ]
    return Estimates(
        study=work.name,
        measures=Measures(Measure(str(metric)) for metric in next(iter(trials.values())).metrics),
        systems=tuple(systems),
        ways=pd.DataFrame(labels, columns=["estimator", "prior", "iterations", "drawing", "m"]),
        **run_trials(work, [*trials.values()], ways),
        adaptive=growth(systems, ways),
        population=population_of(first),
        replace=settings.replace,
        draws=draws,
        ties=settings.ties,
        n_users=len(np.unique(first.user)),
        users=settings.users or len(np.unique(first.user)),
        repeats=settings.repeats,
    )


def growth(systems: Mapping[str, FullRanks], ways: Sequence[Way]) -> pd.DataFrame | None:
    """Give the expected share of users whose adaptive samples reach a size, and what it costs.

    The cost is of the scores of all who grow to it, over the users who end there (Li et al., 2023,
    eq. 13): NaN at the last size; infinite where nobody ends.
    """
    negatives = next((design.sizes for _, design in ways if design.adaptive), None)
    if negatives is None:
        return None
    sizes = np.array(negatives) + 1
    below = [1 - ranks.above / ranks.n_irrelevant for ranks in systems.values()]
    reached = np.array([[(one ** (n - 1)).mean() for n in (1, *sizes[:-1])] for one in below])
    spent = reached * np.diff(sizes, prepend=0)
    ended = -np.diff(reached, append=0)
    cost = np.divide(spent, ended, out=np.full(spent.shape, np.inf), where=ended > 0)
    cost[:, -1] = np.nan
    return tidy({"system": [*systems]}, {"size": sizes}, reached=reached, cost=cost)


@dataclass(frozen=True, eq=False)
class Estimates(Result):
    """Exact metrics of systems, and estimates of them from repeated samples.

    Arrays are of shape (n_ways, n_metrics, n_systems, n_repeats), or lack some of these axes.

    Parameters
    ----------
    ways
        Estimator, prior, iterations, drawing, and m, the (first) number of negatives.
    errors, errors_by_cutoff
        Mean relative error of the metric's curve at cut-offs 1 to 50, in per cent, without those
        where the truth is 0; NaN for AUC, and where there are no others. The second has cut-offs
        in place of repeats.
    expected
        What estimates converge to with more and more users, or their mean over the repeats for
        adaptive and weighted samples.
    scored, sampled_shares
        Mean number of items scored for a user, the relevant ones included, for one metric; shares
        of the items at each rank of the samples of the first way: (n_ranks, n_systems).
    adaptive
        Expected share of users whose adaptive samples reach each size, and its cost, by system.
    n_users, users, repeats
        Users of the study, and for how many users advice is; samples of each system.
    """

    study: str
    measures: Measures
    systems: tuple[str, ...]
    ways: pd.DataFrame
    exact: Floats
    estimated: Floats
    errors: Floats
    errors_by_cutoff: Floats
    expected: Floats
    scored: Floats
    sampled_shares: Floats
    adaptive: pd.DataFrame | None
    population: str
    replace: bool
    draws: str
    n_users: int
    users: int
    repeats: int
    ties: str = "by item"

    @property
    def names(self) -> list[str]:
        """Short names of the ways: estimators without usual options; samples where they differ."""
        several = self.ways["m"].nunique() > 1
        return [
            f"{name.replace(',prior=uniform', '')}{f', {drawing}' * (drawing != 'uniform')}"
            f"{f', m = {m:,}' * several}"
            for name, drawing, m in self.ways[["estimator", "drawing", "m"]].to_numpy()
        ]

    @property
    def sd(self) -> Floats:
        """Standard deviation of estimates over the repeats: noise of sampling, not of users."""
        return np.asarray(self.estimated.std(axis=-1, ddof=1))

    @cached_property
    def advice(self) -> dict[str, Floats]:
        """What is known of every way for so many users, each of shape (n_ways, n_metrics).

        Bias and noise are root mean squares over systems; pairs of systems are in the true order in
        expectation, and in samples as if differences were normal; the winner is the share of
        samples that find the best system; users_needed is the least number tried for whom nine in
        ten pairs are in order. NaN where there are no pairs, and no best, but true ties.
        """
        scale = np.sqrt(self.n_users / self.users)
        true, rightly, _ = self._pairs
        exact, estimated = (np.round(of, DECIMALS) for of in (self.exact, self.estimated))
        best = exact == exact.max(axis=1, keepdims=True)
        first = estimated == estimated.max(axis=2, keepdims=True)
        found = (first.sum(axis=2) == 1) & (first & best[..., np.newaxis]).any(axis=2)
        needed = np.full(self.expected.shape[:2], np.nan)
        for users in reversed(USERS):
            needed[self.in_samples(users) >= IN_ORDER] = users
        advice = {
            "bias": np.sqrt(((self.expected - self.exact) ** 2).mean(axis=2)),
            "noise": np.sqrt(((self.sd * scale) ** 2).mean(axis=2)),
            "in_expectation": shares_in_order(rightly > 0, true),
            "in_samples": self.in_samples(self.users),
            "winner": np.where(best.sum(axis=1) == 1, found.mean(axis=2), np.nan),
            "users_needed": needed,
        }
        # What a way does not estimate has no numbers.
        return {name: np.where(np.isnan(advice["bias"]), np.nan, of) for name, of in advice.items()}

    def in_samples(self, users: int) -> Floats:
        """Give the share of pairs in the true order in samples of so many users."""
        true, rightly, noise = self._pairs
        far = np.where(rightly > 0, np.inf, -np.inf)
        np.divide(rightly, noise * np.sqrt(self.n_users / users), out=far, where=noise > 0)
        return shares_in_order(ndtr(far), true)

    @cached_property
    def _pairs(self) -> tuple[Floats, Floats, Floats]:
        a, b = pair_indices(len(self.systems))
        true = np.sign(pair_differences(np.round(self.exact, DECIMALS)))
        rightly = np.round(pair_differences(self.expected), DECIMALS) * true
        apart = self.estimated[:, :, a] - self.estimated[:, :, b]
        return true, rightly, apart.std(axis=3, ddof=1)

    def chosen(self, metric: int) -> tuple[int, int]:
        """Choose ways to compare systems by and to report levels by, from negatives that suffice.

        These are the fewest from which nine in ten pairs are in order, or those of the most pairs.
        """
        right = np.round(np.nan_to_num(self.advice["in_samples"][:, metric]), 4)
        off = np.hypot(self.advice["bias"], self.advice["noise"])[:, metric]
        enough, m = right >= IN_ORDER, self.ways["m"].to_numpy()
        own = m == (m[enough].min() if enough.any() else m[right.argmax()])
        nearest = np.where(own, np.nan_to_num(off, nan=np.inf), np.inf)
        return int(np.where(own, right, -1).argmax()), int(nearest.argmin())

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give means over repeats, every estimate, orders of pairs, advice, and adaptive sizes.

        ``sampled`` has one row for each way, metric and system: items ``scored`` for a user, errors
        in %; ``sd`` and ``error_sd`` are over the repeats.
        """
        found = {"repeats": self.repeats, "scored": self.scored.mean(axis=3), "exact": self.exact}
        found |= {"expected": self.expected, "mean": self.estimated.mean(axis=3), "sd": self.sd}
        found |= {"error": self.errors.mean(axis=3), "error_sd": self.errors.std(axis=3, ddof=1)}
        repeats = {"system": self.systems}, {"repeat": range(1, self.repeats + 1)}
        scored = self.scored.mean(axis=(2, 3))
        frames = {
            "sampled": self._frame({"system": self.systems}, **found),
            "sampled_repeats": self._frame(*repeats, value=self.estimated, error=self.errors),
            "sampled_orders": self.orders(),
            "sampled_advice": self._frame(users=self.users, scored=scored, **self.advice),
        }
        return frames if self.adaptive is None else {**frames, "sampled_adaptive": self.adaptive}

    def _frame(self, *axes: Mapping[str, Iterable[Any]], **columns: Any) -> pd.DataFrame:
        frame = with_cutoffs(tidy(self.ways, {"metric": self.measures.metrics}, *axes, **columns))
        first = ["metric", "cutoff", *chain(*axes)]
        return frame[[*first, *frame.columns.difference(first, sort=False)]]

    def orders(self) -> pd.DataFrame:
        """Count the repeats with a pair of systems in its true order: none if they truly tie."""
        true, *_ = self._pairs
        apart = pair_differences(np.round(self.estimated, DECIMALS), axis=2)
        found, differ = np.sign(apart) == true[..., np.newaxis], true != 0
        counts = {"correct": found.sum(axis=3) * differ, "repeats": self.repeats * differ}
        return self._frame(pair_labels(self.systems, "system_1", "system_2"), **counts)

    @table("sampled", "exact metrics, and estimates from sampled negatives")
    def means(self) -> Table:
        """Tabulate exact values, and means and deviations of estimates, by metric and system."""
        names = map(", ".join, product(self.measures.metrics, self.systems))
        columns: dict[str, Any] = {"metric, system": names, "exact": self.exact.ravel()}
        for name, *ways in zip(self.names, self.estimated.mean(axis=3), self.sd, strict=True):
            pairs = zip(*(way.ravel().tolist() for way in ways), strict=True)
            columns[name] = [
                MISSING if np.isnan(of) else f"{format_cell(of)} ± {format_cell(off)}"
                for of, off in pairs
            ]
        title = "Exact metrics, and estimates from samples"
        return Table.from_columns("sampled", title, self.caption(), columns)

    @table("sampled_orders", "bias and noise of the estimates, and pairs in the true order")
    def distances(self) -> Table:
        """Tabulate bias and noise, and how often systems are ordered rightly."""
        note = (
            "Bias and noise: root mean squares over systems. Expected, in order: share of the "
            "pairs of systems in the true order in expectation, and in samples. Winner: share of "
            f"the samples in which the best system is first. Users for {IN_ORDER:g}: number of "
            f"users with which {IN_ORDER:.0%} of the pairs are in order. {self.caption()}"
        )
        advice = np.array([*self.advice.values()]).T.reshape(-1, len(self.advice)).tolist()
        rows, names = list[list[Cell]](), product(self.measures.metrics, self.names)
        for name, (*numbers, users) in zip(names, advice, strict=True):
            if not np.isnan(numbers[0]):
                needed = MISSING if np.isnan(users) else f"{users:,.0f}"
                rows.append([", ".join(name), *numbers, needed])
        title = f"Bias and noise for {self.users:,} users, and pairs in the true order"
        headings = ["metric, estimator", "bias", "noise", "expected", "in order", "winner"]
        return Table("sampled_orders", title, note, [*headings, f"users for {IN_ORDER:g}"], rows)

    @figure("aaai2023-figure1a", "Ranks of the relevant items in the samples")
    def plot_sampled_ranks(self, ax: Axes) -> None:
        """Draw the shares of the items at each rank of the samples, by system."""
        shares = np.where(self.sampled_shares > 0, self.sampled_shares, np.nan)
        curves = dict(zip(self.systems, shares.T, strict=True))
        draw_curves(ax, curves, xlabel="rank in the sample", ylabel="share of the items")
        set_log_scale(ax, along="y")

    @property
    def parts(self) -> tuple[str, ...]:
        """Metrics that have curves, each once."""
        with_cutoff = (name for name in reversed(self.measures.metrics) if name != "AUC")
        names = {name.partition("@")[0]: name for name in with_cutoff}
        return tuple(reversed(names.values()))

    @figure("aaai2023-figure1b", "Relative errors by cut-off", panels="part", comparable=False)
    def plot_errors(self, ax: Axes, *, part: str | None = None) -> None:
        """Draw relative errors of a metric by cut-off, in the mean over systems and repeats."""
        chosen = self.parts[panel_index(self.parts, part)]
        errors = self.errors_by_cutoff[:, self.measures.metrics.index(chosen)].mean(axis=1)
        designs = self.ways[["drawing", "m"]]
        curves = {
            self.ways["estimator"][way].replace(",prior=uniform", ""): errors[way]
            for way in np.flatnonzero((designs == designs.iloc[0]).all(axis=1))
        }
        draw_curves(ax, curves, title=chosen.partition("@")[0], xlabel="cut-off K")
        ax.set_ylabel("relative error, %")
        set_log_scale(ax, along="y")

    @figure("aaai2023-figure2", "Cost of larger adaptive samples", part="adaptive")
    def plot_costs(self, ax: Axes) -> None:
        """Draw scores for a user who ends at a size against the sizes, by system."""
        assert self.adaptive is not None
        costs = self.adaptive.dropna()
        for label, style in category_styles(self.systems):
            own = costs[costs["system"] == label]
            ax.plot(own["size"], own["cost"], label=label, **style)
        set_log_scale(ax, along="y")
        ax.set(xlabel="size of adaptive samples", ylabel="scores per user of this size")
        sizes = costs["size"].unique()
        ax.set_xscale("log", base=2)
        ax.set_xticks(sizes, [f"{size:,}" for size in sizes])
        label_curves(ax)

    kdd2020_table3 = paper_table("exact and corrected metrics", kdd_values, "kdd2020-table3")
    kdd2020_table4 = paper_table("repeats with pairs in order", kdd_orders, "kdd2020-table4")
    aaai2023_table1 = paper_table("errors of Recall", RECALL, "aaai2023-table1", "aaai2023-table6")
    aaai2023_table2 = paper_table("errors of nDCG", NDCG, "aaai2023-table2", "aaai2023-table7")
    aaai2023_table3 = paper_table("winners", aaai_winners, "aaai2023-table3", "aaai2023-table8")
    aaai2023_table9 = paper_table("errors of AP", AP, "aaai2023-table9")
    aaai2023_table10 = paper_table("errors of nDCG, fixed sizes", FIXED_NDCG, "aaai2023-table10")
    aaai2023_table11 = paper_table("errors of Recall, adaptive", LARGE_RECALL, "aaai2023-table11")

    def caption_of(self, part: str) -> str:
        """Say what the figure of adaptive sizes shows."""
        return f"Scores computed for samples that reach a size, per user. {self.population}."

    def caption(self) -> str:
        """Say what is shown."""
        negatives = " or ".join(f"{m:,}" for m in self.ways["m"].unique())
        ties = " Ties are in a random order in each sample." * (self.ties == "random")
        return (
            f"Metrics of {len(self.systems):,} systems estimated from {negatives} negatives, "
            f"sampled {replacement(self.replace)}: mean and standard deviation over "
            f"{self.repeats:,} samples, for {self.population}.{ties}"
        )

    def findings(self) -> Sequence[str]:
        """Say for each metric what to compare systems by, and what to report as a level."""
        sentences = []
        for number, metric in enumerate(self.measures.metrics):
            best, near = self.chosen(number)
            bias, noise = (rounded(float(self.advice[n][near, number])) for n in ("bias", "noise"))
            right = 100 * np.nan_to_num(self.advice["in_samples"][best, number])
            sentences.append(
                f"To compare systems by {metric} with {self.users:,} users, use "
                f"{self.names[best]} and {self.ways['m'][best]:,} negatives ({right:.0f} % of the "
                f"pairs in the true order); to report its value, use {self.names[near]} (bias "
                f"{bias}, noise {noise})."
            )
        return sentences


def shares_in_order(right: NDArray[Any], true: Floats) -> Floats:
    """Give the share of what is right among pairs, the last axis, that truly differ; or NaN."""
    return ratio_or_nan((right * (true != 0)).sum(axis=-1), np.abs(np.sign(true)).sum(axis=-1))
