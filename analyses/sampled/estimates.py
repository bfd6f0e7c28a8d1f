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

SHARE_IN_ORDER = 0.9
"""Share of the pairs of systems that is to be in the true order."""


@analysis(
    "estimates",
    source="Krichene & Rendle (2020), tables 3 and 4; Li et al. (2023), tables 1 to 3 and 6 to 11",
    needs=(Need.FULL_RANKS,),
)
def estimates(work: Work, settings: Settings) -> Estimates:
    """Sample negatives repeatedly, and estimate the exact metrics from every sample.

    A trial samples one system; a way is an estimator with a design of samples. InputError if users
    have fewer negatives than a design samples, if adaptive samples meet users with several relevant
    items, or if systems are to share sampled items but do not rank all candidates.
    """
    trials, draws = trials_of(work, settings)
    systems = {system: trial.ranks for system, trial in trials.items()}
    first_ranks = first_of(systems)
    ways = settings.samples(first_ranks)
    n_users = len(np.unique(first_ranks.user))
    first_trial, *_ = trials.values()
    measures = Measures(Measure(str(metric)) for metric in first_trial.metrics)
    arrays = run_trials(work, [*trials.values()], ways)
    adaptive_sizes = growth(systems, ways)
    return Estimates(
        study=work.name,
        measures=measures,
        systems=tuple(systems),
        ways=_ways_frame(ways),
        **arrays,
        adaptive=adaptive_sizes,
        population=population_of(first_ranks),
        replace=settings.replace,
        likelihood=settings.likelihood,
        draws=draws,
        ties=settings.ties,
        n_users=n_users,
        users=settings.users or n_users,
        repeats=settings.repeats,
    )


def _ways_frame(ways: Sequence[Way]) -> pd.DataFrame:
    """Tabulate estimators and the designs of their samples, a row for each way.

    Columns estimator, prior ("" if it has none), iterations (0 if it has none), drawing (the
    sampling strategy), and m, the first number of negatives.
    """
    import pandas as pd

    rows = []
    for estimator, design in ways:
        prior = estimator.option("prior")
        iterations = estimator.option("iters") or 0
        rows.append((str(estimator), prior, iterations, design.drawing, design.sizes[0]))
    return pd.DataFrame(rows, columns=["estimator", "prior", "iterations", "drawing", "m"])


def growth(systems: Mapping[str, FullRanks], ways: Sequence[Way]) -> pd.DataFrame | None:
    """Compute the expected share of users whose adaptive samples reach a size, and its cost.

    A sample grows to the next size while no negative is above the user's one relevant item. The
    cost of a size is the number of scores of all users who grow to it, over the number of users who
    end there (Li et al., 2023, eq. 13): NaN at the last size; infinite where nobody ends. Columns
    system, size (number of items, the relevant one included), reached and cost. None if no samples
    are adaptive. ``systems``: full ranks by system.
    """
    adaptive = [design for _, design in ways if design.adaptive]
    if not adaptive:
        return None
    sizes = np.array(adaptive[0].sizes) + 1
    # Everybody reaches the first size, as a sample of one item has no negatives.
    previous_sizes = np.array([1, *sizes[:-1]])
    reached = np.empty((len(systems), len(sizes)))
    for system, ranks in enumerate(systems.values()):
        share_below = 1 - ranks.above / ranks.n_irrelevant
        for size_index, previous_size in enumerate(previous_sizes):
            # The chance that all previous_size - 1 negatives are below the relevant item.
            chance_to_grow = share_below ** (previous_size - 1)
            reached[system, size_index] = chance_to_grow.mean()
    new_items = np.diff(sizes, prepend=0)
    n_scores = reached * new_items
    ended = -np.diff(reached, append=0)
    infinite = np.full(n_scores.shape, np.inf)
    cost = np.divide(n_scores, ended, out=infinite, where=ended > 0)
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
    likelihood: str = "as drawn"

    @property
    def names(self) -> list[str]:
        """Short names of the ways, with the number of negatives m if the ways differ in it.

        ``self.ways`` has a row for each way, in their order, with the column m.
        """
        has_several_sizes = self.ways["m"].nunique() > 1
        if not has_several_sizes:
            return self._names_without_sizes
        sizes = self.ways["m"]
        names = zip(self._names_without_sizes, sizes, strict=True)
        return [f"{name}, m = {m:,}" for name, m in names]

    @property
    def _names_without_sizes(self) -> list[str]:
        """Names of the ways: the estimator without a uniform prior, and a drawing not uniform.

        ``self.ways`` has a row for each way with both, such as "BV(gamma=0.1,prior=uniform)".
        """
        names = []
        for estimator, drawing in self.ways[["estimator", "drawing"]].to_numpy():
            name = estimator.replace(",prior=uniform", "")
            if drawing != "uniform":
                name += f", {drawing}"
            names.append(name)
        return names

    @property
    def sd(self) -> Floats:
        """Standard deviation of estimates over the repeats: noise of sampling, not of users."""
        return np.asarray(self.estimated.std(axis=-1, ddof=1))

    @cached_property
    def advice(self) -> dict[str, Floats]:
        """Bias, noise and orders of pairs by every way, each of shape (n_ways, n_metrics).

        For `users` users. ``bias`` (expected less exact) and ``noise`` (standard deviation over
        samples) are root mean squares over systems. ``in_expectation`` and ``in_samples`` are the
        shares of the pairs of systems in the true order, in expectation and in samples (as if
        differences were normal). ``winner`` is the share of samples that find the best system;
        ``users_needed`` the least number of users tried with which nine in ten pairs are in order.
        NaN for shares of pairs if all truly tie, for the winner if several systems are truly best,
        and everywhere for a metric that a way does not estimate.

        ``self.exact`` is of shape (n_metrics, n_systems), ``self.expected`` and ``self.sd`` of
        (n_ways, n_metrics, n_systems).
        """
        true_signs, expected_differences, _ = self._pairs
        biases = self.expected - self.exact
        bias = np.sqrt((biases**2).mean(axis=2))
        noise_factor = np.sqrt(self.n_users / self.users)
        scaled_deviations = self.sd * noise_factor
        advice = {
            "bias": bias,
            "noise": np.sqrt((scaled_deviations**2).mean(axis=2)),
            "in_expectation": shares_in_order(expected_differences > 0, true_signs),
            "in_samples": self.in_samples(self.users),
            "winner": self._shares_of_winners(),
            "users_needed": self._needed_users(),
        }
        # What a way does not estimate has no numbers.
        is_missing = np.isnan(bias)
        return {name: np.where(is_missing, np.nan, values) for name, values in advice.items()}

    def _shares_of_winners(self) -> Floats:
        """Compute the share of samples in which the best system is first: (n_ways, n_metrics).

        Best: by exact values, (n_metrics, n_systems). First: by estimates, (n_ways, n_metrics,
        n_systems, n_repeats). A sample in which systems tie for the first place does not find the
        best. NaN if several systems are truly best.
        """
        exact = np.round(self.exact, DECIMALS)
        estimated = np.round(self.estimated, DECIMALS)
        is_best = exact == exact.max(axis=1, keepdims=True)
        is_first = estimated == estimated.max(axis=2, keepdims=True)
        has_one_first = is_first.sum(axis=2) == 1
        has_best_first = (is_first & is_best[..., np.newaxis]).any(axis=2)
        shares = (has_one_first & has_best_first).mean(axis=2)
        has_one_best = is_best.sum(axis=1) == 1
        return np.where(has_one_best, shares, np.nan)

    def _needed_users(self) -> Floats:
        """Find the least number tried with which nine in ten pairs are in the true order.

        Of shape (n_ways, n_metrics); NaN where even the largest number is too small, and where all
        pairs truly tie.
        """
        needed = np.full(self.expected.shape[:2], np.nan)
        # From many to few: smaller numbers that are enough overwrite larger ones.
        for users in reversed(USERS):
            is_enough = self.in_samples(users) >= SHARE_IN_ORDER
            needed[is_enough] = users
        return needed

    def in_samples(self, users: int) -> Floats:
        """Compute the share of pairs in the true order in samples of so many users.

        Of shape (n_ways, n_metrics); NaN if all pairs truly tie. A pair counts by its chance to be
        in order: that of a normal difference, with the expected difference and the standard
        deviation over repeats, which falls with the root of the number of users.
        """
        # By pair, (n_metrics, n_pairs) and twice (n_ways, n_metrics, n_pairs).
        true_signs, expected_differences, noise = self._pairs
        # Without noise the chance is 1 or 0.
        z = np.where(expected_differences > 0, np.inf, -np.inf)
        scaled_noise = noise * np.sqrt(self.n_users / users)
        np.divide(expected_differences, scaled_noise, out=z, where=noise > 0)
        return shares_in_order(ndtr(z), true_signs)

    @cached_property
    def _pairs(self) -> tuple[Floats, Floats, Floats]:
        """Differences of pairs of systems: true signs, expected differences, and noise.

        Signs are of shape (n_metrics, n_pairs). Expected differences are positive in the true
        order; they and standard deviations over the repeats are of (n_ways, n_metrics, n_pairs).
        Values are rounded to 12 decimals before they are compared.
        """
        a, b = pair_indices(len(self.systems))
        true_signs = np.sign(pair_differences(np.round(self.exact, DECIMALS)))
        expected = np.round(pair_differences(self.expected), DECIMALS) * true_signs
        differences = self.estimated[:, :, a] - self.estimated[:, :, b]
        return true_signs, expected, differences.std(axis=3, ddof=1)

    def chosen(self, metric: int) -> tuple[int, int]:
        """Choose a way to compare systems by a metric, and a way to report its values.

        First the number of negatives is chosen: the smallest for which some way has at least nine
        in ten pairs in order, else that of the way with the most pairs in order. Of the ways with
        so many negatives, the first result has most pairs in order, and the second the least root
        of squared bias plus squared noise. ``metric`` is an index of metrics; both results are
        indices of rows of ``ways``. Bias, noise and shares of pairs in order are arrays of
        ``self.advice``, (n_ways, n_metrics).
        """
        in_order = np.round(np.nan_to_num(self.advice["in_samples"][:, metric]), 4)
        errors = np.hypot(self.advice["bias"], self.advice["noise"])[:, metric]
        is_enough = in_order >= SHARE_IN_ORDER
        sizes = self.ways["m"].to_numpy()
        chosen_size = sizes[is_enough].min() if is_enough.any() else sizes[in_order.argmax()]
        is_candidate = sizes == chosen_size
        candidate_errors = np.where(is_candidate, np.nan_to_num(errors, nan=np.inf), np.inf)
        best_for_order = np.where(is_candidate, in_order, -1).argmax()
        return int(best_for_order), int(candidate_errors.argmin())

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Tabulate means over repeats, every estimate, orders of pairs, advice, adaptive sizes.

        ``sampled`` has one row for each way, metric and system: items ``scored`` for a user, errors
        in %; ``sd`` and ``error_sd`` are over the repeats. ``sampled_repeats`` has one for each
        repeat, too; ``sampled_orders`` for each way, metric and pair; ``sampled_advice`` for each
        way and metric. ``sampled_adaptive`` (see `growth`) is there if some samples are adaptive.
        Estimates and errors are of shape (n_ways, n_metrics, n_systems, n_repeats), items scored
        likewise, for one metric.
        """
        systems = {"system": self.systems}
        sampled = self._frame(
            systems,
            repeats=self.repeats,
            scored=self.scored.mean(axis=3),
            exact=self.exact,
            expected=self.expected,
            mean=self.estimated.mean(axis=3),
            sd=self.sd,
            error=self.errors.mean(axis=3),
            error_sd=self.errors.std(axis=3, ddof=1),
        )
        repeats = {"repeat": range(1, self.repeats + 1)}
        by_repeat = self._frame(systems, repeats, value=self.estimated, error=self.errors)
        mean_scored = self.scored.mean(axis=(2, 3))
        advice = self._frame(users=self.users, scored=mean_scored, **self.advice)
        frames = {
            "sampled": sampled,
            "sampled_repeats": by_repeat,
            "sampled_orders": self.orders(),
            "sampled_advice": advice,
        }
        if self.adaptive is not None:
            frames["sampled_adaptive"] = self.adaptive
        return frames

    def _frame(self, *axes: Mapping[str, Iterable[Any]], **columns: Any) -> pd.DataFrame:
        """Tabulate columns of shape (n_ways, n_metrics, ...), a row for each entry.

        ``axes``: the axes after the first two, each a map of one or more names of columns to their
        labels; columns may be of fewer axes or single numbers. Columns metric, cutoff (missing if
        there is none) and those of the axes come first, then those of ``ways``, then the given.
        """
        metrics = {"metric": self.measures.metrics}
        frame = with_cutoffs(tidy(self.ways, metrics, *axes, **columns))
        first = ["metric", "cutoff", *chain(*axes)]
        others = frame.columns.difference(first, sort=False)
        return frame[[*first, *others]]

    def orders(self) -> pd.DataFrame:
        """Count the repeats with a pair of systems in its true order, by way, metric and pair.

        Columns correct and repeats are 0 for pairs that truly tie.
        """
        true_signs, *_ = self._pairs
        differences = pair_differences(np.round(self.estimated, DECIMALS), axis=2)
        is_right = np.sign(differences) == true_signs[..., np.newaxis]
        differs = true_signs != 0
        return self._frame(
            pair_labels(self.systems, "system_1", "system_2"),
            correct=is_right.sum(axis=3) * differs,
            repeats=self.repeats * differs,
        )

    @table("sampled", "exact metrics, and estimates from sampled negatives")
    def means(self) -> Table:
        """Tabulate exact values, and means and deviations of estimates, by metric and system.

        A column for each way, as "mean ± standard deviation over repeats"; a dash for a metric that
        the way does not estimate. ``self.estimated`` is of shape (n_ways, n_metrics, n_systems,
        n_repeats).
        """
        row_names = map(", ".join, product(self.measures.metrics, self.systems))
        columns: dict[str, Any] = {"metric, system": row_names, "exact": self.exact.ravel()}
        way_means = self.estimated.mean(axis=3)
        for way_name, means, deviations in zip(self.names, way_means, self.sd, strict=True):
            cells = []
            moments = zip(means.ravel().tolist(), deviations.ravel().tolist(), strict=True)
            for mean, deviation in moments:
                cell = f"{format_cell(mean)} ± {format_cell(deviation)}"
                cells.append(MISSING if np.isnan(mean) else cell)
            columns[way_name] = cells
        title = "Exact metrics, and estimates from samples"
        return Table.from_columns("sampled", title, self.caption(), columns)

    @table("sampled_orders", "bias and noise of the estimates, and pairs in the true order")
    def distances(self) -> Table:
        """Tabulate bias and noise, and how often systems are in the true order.

        A row for each metric and way, but for metrics that the way does not estimate. The numbers
        are arrays of ``self.advice``, (n_ways, n_metrics), in the order of the columns.
        """
        note = (
            "Bias and noise: root mean squares over systems. Expected, in order: share of the "
            "pairs of systems in the true order in expectation, and in samples. Winner: share of "
            f"the samples in which the best system is first. Users for {SHARE_IN_ORDER:g}: number "
            f"of users with which {SHARE_IN_ORDER:.0%} of the pairs are in order. {self.caption()}"
        )
        rows: list[list[Cell]] = []
        for metric, metric_name in enumerate(self.measures.metrics):
            for way, way_name in enumerate(self.names):
                advice = {key: float(values[way, metric]) for key, values in self.advice.items()}
                if np.isnan(advice["bias"]):
                    continue
                users = advice.pop("users_needed")
                needed = MISSING if np.isnan(users) else f"{users:,.0f}"
                row_name = f"{metric_name}, {way_name}"
                rows.append([row_name, *advice.values(), needed])
        title = f"Bias and noise for {self.users:,} users, and pairs in the true order"
        headings = ["metric, estimator", "bias", "noise", "expected", "in order", "winner"]
        headings.append(f"users for {SHARE_IN_ORDER:g}")
        return Table("sampled_orders", title, note, headings, rows)

    @figure("aaai2023-figure1a", "Ranks of the relevant items in the samples")
    def plot_sampled_ranks(self, ax: Axes) -> None:
        """Draw the shares of the items at each rank of the samples, by system.

        ``self.sampled_shares`` is of shape (n_ranks, n_systems). Shares of 0 are not drawn.
        """
        shares = np.where(self.sampled_shares > 0, self.sampled_shares, np.nan)
        curves = dict(zip(self.systems, shares.T, strict=True))
        draw_curves(ax, curves, xlabel="rank in the sample", ylabel="share of the items")
        set_log_scale(ax, along="y")

    @property
    def parts(self) -> tuple[str, ...]:
        """Metrics that have curves, each once: the first cut-off of each, in order."""
        with_curves = [name for name in self.measures.metrics if name != "AUC"]
        names: dict[str, str] = {}
        for name in reversed(with_curves):
            metric, _, _ = name.partition("@")
            names[metric] = name
        return tuple(reversed(names.values()))

    @figure("aaai2023-figure1b", "Relative errors by cut-off", panels="part", comparable=False)
    def plot_errors(self, ax: Axes, *, part: str | None = None) -> None:
        """Draw relative errors (%) of a metric by cut-off, in the mean over systems and repeats.

        ``part``: one of `parts`, by default the first. Only ways whose samples have the drawing and
        number of negatives of the first way are drawn, a curve for each. ``self.errors_by_cutoff``
        is of shape (n_ways, n_metrics, n_systems, n_cutoffs), a mean over repeats.
        """
        name = self.parts[panel_index(self.parts, part)]
        metric = self.measures.metrics.index(name)
        errors = self.errors_by_cutoff[:, metric].mean(axis=1)
        designs = self.ways[["drawing", "m"]]
        has_first_design = (designs == designs.iloc[0]).all(axis=1)
        curves = {}
        for way in np.flatnonzero(has_first_design):
            label = self.ways["estimator"][way].replace(",prior=uniform", "")
            curves[label] = errors[way]
        title, _, _ = name.partition("@")
        draw_curves(ax, curves, title=title, xlabel="cut-off K")
        ax.set_ylabel("relative error, %")
        set_log_scale(ax, along="y")

    @figure("aaai2023-figure2", "Cost of larger adaptive samples", part="adaptive")
    def plot_costs(self, ax: Axes) -> None:
        """Draw scores for a user who ends at a size against the sizes, by system.

        The last size, where costs are NaN, is left out. The figure is made only for adaptive
        samples.
        """
        assert self.adaptive is not None
        costs = self.adaptive.dropna()
        for label, style in category_styles(self.systems):
            system_costs = costs[costs["system"] == label]
            ax.plot(system_costs["size"], system_costs["cost"], label=label, **style)
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
        """Describe the figure of adaptive sizes; every part has this caption."""
        return f"Scores computed for samples that reach a size, per user. {self.population}."

    def caption(self) -> str:
        """Describe the samples: numbers of systems, negatives and repeats, users, and ties.

        ``self.population`` says in words whose ranks these are.
        """
        sizes = self.ways["m"].unique()
        negatives = " or ".join(f"{m:,}" for m in sizes)
        caption = (
            f"Metrics of {len(self.systems):,} systems estimated from {negatives} negatives, "
            f"sampled {replacement(self.replace)}: mean and standard deviation over "
            f"{self.repeats:,} samples, for {self.population}."
        )
        if self.likelihood != "as drawn":
            caption += f" Estimators assume {self.likelihood} sampled ranks."
        if self.ties == "random":
            caption += " Ties are in a random order in each sample."
        return caption

    def findings(self) -> Sequence[str]:
        """State for each metric what to compare systems by, and what to report as a level.

        A sentence for each metric names two ways (see `chosen`) with the same number of negatives:
        one to compare systems by, one to report values by. Arrays of ``self.advice`` are of shape
        (n_ways, n_metrics).
        """
        sentences = []
        way_names = self._names_without_sizes
        for metric_index, metric in enumerate(self.measures.metrics):
            for_order, for_level = self.chosen(metric_index)
            bias = rounded(float(self.advice["bias"][for_level, metric_index]))
            noise = rounded(float(self.advice["noise"][for_level, metric_index]))
            share_in_order = np.nan_to_num(self.advice["in_samples"][for_order, metric_index])
            n_negatives = self.ways["m"][for_order]
            sentences.append(
                f"To compare systems by {metric} with {self.users:,} users, use "
                f"{way_names[for_order]} and {n_negatives:,} negatives "
                f"({100 * share_in_order:.0f} % of the pairs in the true order); to report its "
                f"value, use {way_names[for_level]} (bias {bias}, noise {noise})."
            )
        return sentences


def shares_in_order(in_order: NDArray[Any], true_signs: Floats) -> Floats:
    """Compute the share of pairs in the true order among those that truly differ.

    ``in_order``: truth values or probabilities, of shape (..., n_pairs); signs of the true
    differences, of (n_metrics, n_pairs). The result has no axis of pairs; NaN if all pairs tie.
    """
    n_in_order = (in_order * (true_signs != 0)).sum(axis=-1)
    n_differing = np.abs(np.sign(true_signs)).sum(axis=-1)
    return ratio_or_nan(n_in_order, n_differing)
