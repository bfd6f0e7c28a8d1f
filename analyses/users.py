"""Users: orderings of the systems and discriminative power on random subsets of the users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from pydantic import Field

from analyses.intervals.percentile_intervals import percentiles
from analyses.intervals.split_halves import (
    N_SPLITS,
    random_order,
    resampled_split_half_taus,
    split_half_taus,
)
from analyses.ordering import tau_b
from analyses.ordering.agreement import mean_of_defined
from analyses.ordering.coefficients import mean_coefficients, stack_levels
from analyses.shared.analysis import AnalysisSettings, analysis
from analyses.shared.drawing import Curve, curve_styles, draw_band, label_curves
from analyses.shared.exact_sums import sums_on_grid
from analyses.shared.limits import arcsine_limits, variance_stabilised
from analyses.shared.measure import Measures, tidy
from analyses.shared.measure_estimates import Estimates
from analyses.shared.number_format import MISSING, common_decimals, rounded
from analyses.shared.result import Result, figure, table
from analyses.shared.scores import Scores
from analyses.shared.sentences import best_measures_sentence
from analyses.shared.table import Table
from analyses.significance.permutation import monte_carlo_test
from runs.shared.arrays import Floats, Numbers
from runs.shared.errors import counted
from runs.shared.parallel import delayed, run_in_threads, single_threaded
from runs.shared.settings import Permutations, Repeats, Sizes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.work import Work

CONFIDENCE = 0.9
"""Lines run from the 5 % to the 95 % quantile of the subsets."""

LABELS_APART = 1.4
"""A size has a label if all users are this many times more: labels would cover each other."""

SCORES_AT_ONCE = 1 << 21
"""Scores, or their sums under some of the permutations, that are held at a time: 16 MB."""

SUMS_AT_LEAST = 1024
"""Users below which the sums, not the scores, fill the memory."""


class Settings(AnalysisSettings):
    """Random subsets of the users."""

    sizes: Sizes | None = Field(
        None, description="Numbers of users in a subset; default: 50, 100, 200, 500 and so on."
    )
    repeats: Repeats = Field(N_SPLITS, ge=1, description="Number of random subsets of each size.")
    permutations: Permutations = Field(
        1000, ge=99, description="Number of random permutations of the test."
    )


@analysis(
    "users",
    source="Valcarce et al. (2018), section 6",
    question="Would fewer {units} give the same ordering of the systems?",
)
def users(work: Work, settings: Settings) -> Users:
    """Compare orderings on random subsets of the users with that on all, and test the pairs.

    The orderings on two disjoint random halves of the users are compared, too (`repeats` splits):
    system ranking consistency (Sakai 2021, On the instability of diminishing return IR measures).

    The smaller subsets are parts of the larger: subset k of a size has the first users in the k-th
    random order, which depends on the seed, the number of users and k alone. Orderings are of all
    measures, and tests of the report measures: by random sign flips at all sizes, as the exact test
    is slow for few users. Raises InputError if there are fewer than two systems.
    """
    scores = work.scores
    scores.require("the analysis of users")
    repeats = settings.repeats
    n_users = len(scores.users)
    sizes = _subset_sizes(n_users, settings.sizes)
    orders = [random_order(n_users, work.seed, repeat) for repeat in range(repeats)]
    random_orders = np.stack(orders)
    tested = scores.select(scores.measures.reported)
    taus = []
    coefficients = []
    p_summaries = []
    for size in work.steps("Taking users away", len(sizes), sizes):
        subsets = random_orders[:, :size]
        means, full_means = _subset_means(scores, subsets)
        taus.append(tau_b(means, full_means))
        coefficients.append(mean_coefficients(means, full_means))
        # All subsets of all users are the same.
        tested_subsets = subsets[:1] if size == n_users else subsets
        p_values = _test(work, settings, tested.weighted_values, tested_subsets)
        p_summaries.append(_summarise(p_values, settings.permutations, repeats))
    dp = np.stack([summary.dp for summary in p_summaries], axis=1)
    significant = np.stack([summary.significant for summary in p_summaries], axis=1)
    median_p = np.stack([summary.median_p for summary in p_summaries], axis=1)
    half_taus = split_half_taus(scores.weighted_values, random_orders)
    half_replicates = resampled_split_half_taus(scores.weighted_values, seed=work.seed)
    n_systems = len(scores.systems)
    return Users(
        measures=scores.measures,
        sizes=tuple(sizes),
        taus=np.stack(taus, axis=1),
        half_taus=half_taus,
        half_replicates=half_replicates,
        coefficients=stack_levels(coefficients),
        tested=tested.measures,
        dp=dp,
        significant=significant,
        median_p=median_p,
        n_systems=n_systems,
        permutations=settings.permutations,
    )


def _subset_sizes(n_users: int, sizes: Sequence[int] | None) -> list[int]:
    """List the sizes of subsets, rising, with all users as the last; by default the usual ones.

    A size above the number of users counts as that.
    """
    if sizes is None:
        sizes = usual_sizes(n_users)
    distinct = {min(size, n_users) for size in sizes}
    distinct.add(n_users)
    return sorted(distinct)


class _PSummary(NamedTuple):
    """What the p-values of subsets come to: arrays of shape (n_measures, n_repeats).

    DP is the sum of the p-values of all pairs without the bias of Monte-Carlo, ``significant`` the
    share of pairs with p < .05, and ``median_p`` the median over pairs.
    """

    dp: Floats
    significant: Floats
    median_p: Floats


def _summarise(p_values: Floats, permutations: int, repeats: int) -> _PSummary:
    """Summarise the p-values of subsets of one size over pairs.

    Parameters
    ----------
    p_values
        Of shape (n_subsets, n_measures, n_pairs). A single subset counts for all repeats.
    permutations
        Number of random permutations of the test.
    repeats
        Number of subsets of the size.
    """
    shape = (p_values.shape[1], repeats)
    # The unbiased count / permutations, of (count + 1) / (permutations + 1).
    unbiased = (p_values * (permutations + 1) - 1) / permutations
    sums = unbiased.sum(axis=-1)
    is_significant = p_values < 0.05
    shares = is_significant.mean(axis=-1)
    medians = np.median(p_values, axis=-1)
    dp = np.broadcast_to(sums.T, shape)
    significant = np.broadcast_to(shares.T, shape)
    median_p = np.broadcast_to(medians.T, shape)
    return _PSummary(dp=dp, significant=significant, median_p=median_p)


@dataclass(frozen=True, eq=False)
class Users(Result):
    """Agreement of subsets of the users with all of them, and their discriminative power.

    Parameters
    ----------
    measures
        Label of the first axis of ``taus``.
    sizes
        Numbers of users, rising; the last is all of them.
    taus
        Kendall's tau-b of a subset's ordering with that of all users, float64 of shape
        (n_measures, n_sizes, n_repeats); NaN where all systems tie.
    half_taus
        tau-b between the orderings on two disjoint halves of the users, of shape (n_measures,
        n_repeats); NaN where all systems tie in a half.
    half_replicates
        The mean over splits of the same for resampled users, of shape (n_measures, n_replicates).
    coefficients
        By further coefficient: the mean of the subsets in which it is defined, float64 of shape
        (n_measures, n_sizes).
    tested
        The measures whose pairs of systems were tested: those that are reported.
    dp
        Sum of the p-values of all pairs, without the bias of Monte-Carlo; lower is better. Of
        shape (n_tested, n_sizes, n_repeats), as are the next two.
    significant, median_p
        Share of the pairs with p < .05, and their median p-value.
    n_systems, permutations
        Facts for the caption.
    """

    measures: Measures
    sizes: tuple[int, ...]
    taus: Floats
    half_taus: Floats
    half_replicates: Floats
    coefficients: Mapping[str, Floats]
    tested: Measures
    dp: Floats
    significant: Floats
    median_p: Floats
    n_systems: int
    permutations: int

    @property
    def n_repeats(self) -> int:
        """Number of subsets of each size."""
        return self.taus.shape[2]

    def consistency(self) -> Estimates:
        """Estimate the system ranking consistency of each measure, with intervals over users.

        It is the mean tau-b between the orderings of the systems on two disjoint random halves of
        the users: what agreement with the ordering of other users can be expected, if both have
        half of the users. Intervals are on the scale of arcsines.
        """
        values = mean_of_defined(self.half_taus)
        low, high = arcsine_limits(values, self.half_replicates)
        return Estimates(
            name="consistency",
            quantity=f"mean tau-b between two halves of the {self.units}",
            subject=f"Agreement of two halves of the {self.units}",
            best="consistent",
            measures=self.measures,
            values=values,
            low=low,
            high=high,
            replicates=variance_stabilised(values, self.half_replicates),
            no_value="all systems tie on a half of the users",
        )

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Tabulate ``users``: one row per measure and number of users, and ``consistency``.

        Columns metric, cutoff, users, repeats, tau (the mean), tau_low, tau_high (5 % and 95 %
        quantiles over the subsets), of report measures dp (sum of p over pairs), dp_low, dp_high,
        significant_05 (share of pairs with p < .05) and median_p (means over the subsets), and by
        its name one for each further coefficient (the mean of the subsets in which it is defined).
        The columns of dp to median_p are NaN for other measures.

        ``consistency`` has a row per measure: metric, cutoff, consistency, low, high (95 %, over
        users); see `consistency`.
        """
        sizes = {"users": self.sizes}
        tau_low, tau_high = percentiles(self.taus, confidence=CONFIDENCE)
        dp_low, dp_high = percentiles(self.dp, confidence=CONFIDENCE)
        tau = mean_of_defined(self.taus)
        orderings = tidy(
            self.measures,
            sizes,
            repeats=self.n_repeats,
            tau=tau,
            tau_low=tau_low,
            tau_high=tau_high,
        )
        dp = self.dp.mean(axis=2)
        significant_05 = self.significant.mean(axis=2)
        median_p = self.median_p.mean(axis=2)
        tests = tidy(
            self.tested,
            sizes,
            dp=dp,
            dp_low=dp_low,
            dp_high=dp_high,
            significant_05=significant_05,
            median_p=median_p,
        )
        # By metric, cut-off and number of users.
        frame = orderings.merge(tests, how="left")
        for name, values in self.coefficients.items():
            frame[name] = values.ravel()
        estimates = self.consistency()
        consistency = tidy(
            self.measures, consistency=estimates.values, low=estimates.low, high=estimates.high
        )
        return {"users": frame, "consistency": consistency}

    @table("users", "agreement of subsets of the {units} with all {units}")
    def agreement(self, *, cutoff: int | None = None) -> Table:
        """Tabulate how subsets of the users order the systems, compared with all users.

        Cells are mean taus over the subsets of a size. Rows are the report measures, or the
        measures at a cut-off; columns the sizes below all users, and the agreement of two halves of
        the users with its interval, a dash where it is undefined. Decimals of means are those that
        the 5 % and 95 % quantiles of all cells support.
        """
        compared = self.measures.reported_or_at(cutoff)
        # The last size is all users, which has a column only if it is the one size.
        sizes = self.sizes[:-1] or self.sizes
        indices = self.measures.indices(compared)
        taus = self.taus[indices, : len(sizes)]
        low, high = percentiles(taus, confidence=CONFIDENCE)
        decimals = common_decimals(low.ravel(), high.ravel())
        columns: dict[str, Any] = {"measure": [str(measure) for measure in compared]}
        for size, means in zip(sizes, mean_of_defined(taus).T, strict=True):
            columns[f"{size} {self.units}"] = means
        consistency = self.consistency().by_label(compared)
        columns["two halves [95 %]"] = [
            str(consistency[label]) if label in consistency else MISSING
            for label in compared.labels
        ]
        title = f"Agreement of subsets of the {self.units} with all {self.units}"
        note = (
            f"Kendall's tau-b between the orderings of the systems on random subsets of the "
            f"{self.units} and on all {self.units}: mean of {self.n_repeats} subsets of each size. "
            f"Two halves: mean tau-b between the orderings on two disjoint random halves of the "
            f"{self.units} ({self.n_repeats} splits), with its interval over {self.units}."
        )
        return Table.from_columns("users", title, note, columns, decimals=decimals)

    @figure("users_tau", "Agreement of subsets of the {units} with all {units}", number=9)
    def plot(self, ax: Axes, *, metric: str | None = None) -> None:
        """Draw mean tau against the number of users: cut-offs of one metric, or the reverse.

        Metrics have bands of their spread.
        """
        curves = curve_styles(self.measures, metric=metric)
        self._draw(ax, self.taus, curves, with_spread=metric is None)
        ax.set_ylabel(f"Kendall's tau-b with all {self.units}")
        ax.set_title(metric or "")

    @figure("users_dp", "Discriminative power of subsets of the {units}", number=10, part="dp")
    def plot_power(self, ax: Axes) -> None:
        """Draw discriminative power of the report measures against the number of users."""
        curves = curve_styles(self.tested)
        self._draw(ax, self.dp, curves, with_spread=True)
        ax.set(
            ylim=(0, None),
            ylabel="DP (sum of p over unordered pairs)",
        )

    def _draw(
        self, ax: Axes, values: Floats, curves: Sequence[Curve], *, with_spread: bool
    ) -> None:
        """Draw means over subsets against the number of users, with their spread or without.

        Values are of shape (n_measures, n_sizes, n_repeats). A curve is the position of its
        measure, its label, and keywords of matplotlib for its line. The spread is from the 5 % to
        the 95 % quantile over repeats; NaN is left out of it, and of the mean.
        """
        means = mean_of_defined(values)
        low, high = percentiles(values, confidence=CONFIDENCE)
        sizes = np.asarray(self.sizes)
        explanation = "Bands: from the 5 % to the 95 % quantile of the subsets."
        for index, label, style in curves:
            if with_spread:
                limits = (low[index], high[index])
                draw_band(ax, sizes, limits, style, label=label, explanation=explanation)
            ax.plot(self.sizes, means[index], label=label, **style)
        ax.set(xscale="log", xlabel=self.units)
        n_users = self.sizes[-1]
        # Sizes close to all users have no label, as it would cover theirs.
        ticks = [size for size in self.sizes if size * LABELS_APART <= n_users]
        ticks.append(n_users)
        ax.set_xticks(ticks, [f"{size:,}" for size in ticks], rotation=45)
        ax.minorticks_off()
        label_curves(ax, ordered=not with_spread)

    def findings(self) -> Sequence[str]:
        """Write how well halves of the users order the systems: compared with all, and each other.

        A sentence on the largest subset of at most half of the users, and one on which measures may
        be most consistent between two halves; without what is undefined, or has no such subset.
        """
        of_halves = best_measures_sentence(self.consistency(), self.units)
        return [sentence for sentence in (self._largest_subset_sentence(), of_halves) if sentence]

    def _largest_subset_sentence(self) -> str:
        """Write how well the largest subset of at most half of the users orders the systems.

        A sentence with the report measures of the lowest and the highest mean tau over the subsets
        of that size. Empty if there is no such size, nothing is reported, or a mean is undefined,
        as tau is in all subsets.
        """
        n_users = self.sizes[-1]
        half_indices = [index for index, size in enumerate(self.sizes) if 2 * size <= n_users]
        reported = self.measures.reported
        if not half_indices or not reported:
            return ""
        largest = half_indices[-1]
        indices = self.measures.indices(reported)
        means = mean_of_defined(self.taus[indices, largest])
        if np.isnan(means).any():
            return ""
        lowest = int(means.argmin())
        highest = int(means.argmax())
        least = rounded(float(means[lowest]), 2)
        most = rounded(float(means[highest]), 2)
        size = self.sizes[largest]
        users = counted(n_users, self.unit)
        return (
            f"On {size:,} of the {users}, tau-b with the ordering on all is {least} "
            f"({reported[lowest]}) to {most} ({reported[highest]})."
        )

    def caption(self) -> str:
        """Write what the curves of taus are."""
        return (
            f"Kendall's tau-b between the orderings of {self.n_systems} systems on a subset of the "
            f"{self.units} and on all {self.units}. {self._subsets()} Higher is better."
        )

    def caption_of(self, part: str) -> str:
        """Write what discriminative power is, and how pairs were tested."""
        n_pairs = self.n_systems * (self.n_systems - 1) // 2
        pairs = f"{n_pairs:,} unordered pairs of {self.n_systems} systems"
        permutations = f"{self.permutations:,} permutations"
        return (
            f"DP of subsets of the {self.units}: the sum of the p-values of the {pairs}. "
            f"{self._subsets()} The p-values are of a Monte-Carlo permutation test "
            f"({permutations}). Lower is better."
        )

    def _subsets(self) -> str:
        """Write how many subsets the curves are means of, and that they are parts of all users."""
        users = counted(self.sizes[-1], self.unit)
        return (
            f"Mean of {self.n_repeats} random subsets of the {users} of each size. A subset is "
            f"part of all {self.units}: two separate samples agree less."
        )


def usual_sizes(n_users: int) -> list[int]:
    """List 50, 100, 200, 500, 1000 and so on below the number of users; from 5, of 100 or fewer."""
    smallest = 50 if n_users > 100 else 5
    n_digits = len(str(n_users))
    sizes = []
    for exponent in range(n_digits):
        for leading in (1, 2, 5):
            sizes.append(leading * 10**exponent)
    return [size for size in sizes if smallest <= size < n_users]


def _subset_means(scores: Scores, subsets: Numbers) -> tuple[Floats, Floats]:
    """Average scores over the users of each subset, and over all users.

    Subsets hold numbers of users, of shape (n_subsets, size). Scores are summed on a grid, on which
    the order of users changes nothing. The result: means of the weighted scores over each subset,
    (n_measures, n_subsets, n_systems), and over all users, (n_measures, 1, n_systems).
    """
    n_users = len(scores.users)
    # 1 for the users of a subset, else 0; the last column is of all users.
    weights = np.zeros((n_users, len(subsets) + 1))
    weights[:, -1] = 1.0
    for number, subset in enumerate(subsets):
        weights[subset, number] = 1.0
    with single_threaded("blas"):
        sums = [sums_on_grid(values, weights).T for values in scores.weighted_values]
    sizes = weights.sum(axis=0)
    means = np.stack(sums) / sizes[:, np.newaxis]
    subset_means = means[:, :-1]
    full_means = means[:, -1:]
    return subset_means, full_means


def _test(work: Work, settings: Settings, values: Floats, subsets: Numbers) -> Floats:
    """Test all pairs of systems on every subset, in threads: p-values by random sign flips.

    The tests are two-sided, of the difference in means. Some subsets are tested at a time, so that
    memory is bounded, and all subsets see the same sign flips.

    Parameters
    ----------
    work, settings
        Of which the seed and the numbers of threads and permutations are used.
    values
        Scores of shape (n_measures, n_systems, n_users).
    subsets
        Numbers of users, of shape (n_subsets, size).

    Returns
    -------
    p-values of shape (n_subsets, n_measures, n_pairs), of the pairs i < j, in (0, 1].
    """
    n_measures, n_systems, _ = values.shape
    size = subsets.shape[1]
    scores_of_subset = n_measures * n_systems * max(size, SUMS_AT_LEAST)
    at_once = max(1, SCORES_AT_ONCE // scores_of_subset)

    def test(some_subsets: Numbers) -> Floats:
        """Test all pairs on some subsets, (n, size): p-values of shape (n, n_measures, n_pairs)."""
        subset_scores = values[:, :, some_subsets].transpose(2, 0, 1, 3)
        # Of subsets and measures, of shape (n * n_measures, n_systems, size).
        tables = subset_scores.reshape(-1, n_systems, size)
        tests = monte_carlo_test(tables, permutations=settings.permutations, seed=work.seed)
        return tests.p.reshape(len(some_subsets), n_measures, -1)

    starts = range(0, len(subsets), at_once)
    blocks = [subsets[start : start + at_once] for start in starts]
    tasks = (delayed(test)(block) for block in blocks)
    with single_threaded("blas"):
        return np.concatenate(run_in_threads(tasks, n_jobs=work.n_jobs))
