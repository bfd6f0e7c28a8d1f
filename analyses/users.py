"""Users: orderings of the systems and discriminative power on random subsets of the users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from analyses.intervals.percentile_intervals import percentiles
from analyses.ordering import tau_b
from analyses.ordering.agreement import mean_of_defined
from analyses.ordering.coefficients import mean_coefficients, stack_levels
from analyses.shared.analysis import AnalysisSettings, analysis
from analyses.shared.drawing import Curve, curve_styles, draw_whiskers, label_curves, panel_title
from analyses.shared.exact_sums import sums_on_grid
from analyses.shared.measure import Measures, tidy
from analyses.shared.number_format import common_decimals, rounded
from analyses.shared.result import Result, figure, table
from analyses.shared.scores import Scores
from analyses.shared.table import Table
from analyses.significance.permutation import monte_carlo_test
from runs.shared.arrays import Floats, Numbers
from runs.shared.errors import counted
from runs.shared.parallel import delayed, run_in_threads, single_threaded
from runs.shared.settings import Permutations, Repeats, Sizes
from runs.shared.streams import random_words

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
    repeats: Repeats = Field(50, ge=1, description="Number of random subsets of each size.")
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

    The smaller subsets are parts of the larger: subset k of a size has the first users in the k-th
    random order, which depends on (seed, k) alone. All sizes are tested by random sign flips, as
    the exact test is slow for few users.
    """
    scores, repeats = work.scores, settings.repeats
    n_users = len(scores.users)
    scores.require("the analysis of users")
    wanted = usual_sizes(n_users) if settings.sizes is None else settings.sizes
    sizes = sorted({min(size, n_users) for size in [*wanted, n_users]})
    orders = np.stack([random_order(n_users, work.seed, repeat) for repeat in range(repeats)])
    reported = scores.select(scores.measures.reported).weighted_values
    taus, coefficients = [], []
    powers, significant, medians = np.empty((3, len(reported), len(sizes), repeats))
    for number, size in enumerate(work.steps("Taking users away", len(sizes), sizes)):
        means, full = _subset_means(scores, orders[:, :size])
        taus.append(tau_b(means, full))
        coefficients.append(mean_coefficients(means, full))
        some = orders[:1] if size == n_users else orders[:, :size]
        p = _test(work, settings, reported, some)
        # The unbiased count / permutations, of (count + 1) / (permutations + 1).
        unbiased = (p * (settings.permutations + 1) - 1) / settings.permutations
        powers[:, number] = unbiased.sum(axis=-1).T
        significant[:, number] = (p < 0.05).mean(axis=-1).T
        medians[:, number] = np.median(p, axis=-1).T
    return Users(
        measures=scores.measures,
        sizes=tuple(sizes),
        taus=np.stack(taus, axis=1),
        coefficients=stack_levels(coefficients),
        tested=scores.measures.reported,
        dp=powers,
        significant=significant,
        median_p=medians,
        n_systems=len(scores.systems),
        permutations=settings.permutations,
    )


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
    coefficients: Mapping[str, Floats]
    tested: Measures
    dp: Floats
    significant: Floats
    median_p: Floats
    n_systems: int
    permutations: int

    @property
    def n_repeats(self) -> int:
        """Subsets of each size."""
        return self.taus.shape[2]

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give ``users``: one row per measure and number of users.

        Columns metric, cutoff, users, repeats, tau (the mean), tau_low, tau_high (5 % and 95 % of
        the subsets), of report measures dp, dp_low, dp_high, significant_05 and median_p (the
        means), and by its name one for each further coefficient (the mean of the subsets in which
        it is defined).
        """
        sizes = {"users": self.sizes}
        tau, (low, high) = mean_of_defined(self.taus), percentiles(self.taus, confidence=CONFIDENCE)
        orderings = {"repeats": self.n_repeats, "tau": tau, "tau_low": low, "tau_high": high}
        low, high = percentiles(self.dp, confidence=CONFIDENCE)
        power = {"dp": self.dp.mean(axis=2), "dp_low": low, "dp_high": high}
        power |= {"significant_05": self.significant.mean(axis=2)}
        power |= {"median_p": self.median_p.mean(axis=2)}
        coefficients = {name: values.ravel() for name, values in self.coefficients.items()}
        frame = tidy(self.measures, sizes, **orderings)
        of_tested = tidy(self.tested, sizes, **power)
        return {"users": frame.merge(of_tested, how="left").assign(**coefficients)}

    @table("users", "agreement of subsets of the {units} with all {units}")
    def agreement(self, *, cutoff: int | None = None) -> Table:
        """Tabulate how subsets of the users order the systems, compared with all users."""
        compared, sizes = self.measures.reported_or_at(cutoff), self.sizes[:-1] or self.sizes
        some = self.taus[self.measures.indices(compared), : len(sizes)]
        headings = [f"{size} {self.units}" for size in sizes]
        means = dict(zip(headings, mean_of_defined(some).T, strict=True))
        low, high = percentiles(some, confidence=CONFIDENCE)
        decimals = common_decimals(low.ravel(), high.ravel())
        title = (
            f"Agreement of subsets of the {self.units} with all {self.units}{compared.title_suffix}"
        )
        note = (
            f"Kendall's tau-b between the orderings of the systems on random subsets of the "
            f"{self.units} and on all {self.units}: mean of {self.n_repeats} subsets of each size."
        )
        columns = {"metric": compared.labels} | means
        return Table.from_columns("users", title, note, columns, decimals=decimals)

    @figure("users_tau", "Agreement of subsets of the {units} with all {units}", number=9)
    def plot(self, ax: Axes, *, metric: str | None = None) -> None:
        """Draw mean tau against the number of users: cut-offs of one metric, or the reverse.

        Metrics have their spread drawn, beside each other.
        """
        curves = curve_styles(self.measures, metric=metric)
        self._draw(ax, self.taus, curves, with_spread=metric is None)
        ax.set_ylabel(f"Kendall's tau-b with all {self.units}")
        ax.set_title(panel_title(self.measures, metric=metric))

    @figure("users_dp", "Discriminative power of subsets of the {units}", number=10, part="dp")
    def plot_power(self, ax: Axes) -> None:
        """Draw discriminative power of the report measures against the number of users."""
        curves = curve_styles(self.tested)
        self._draw(ax, self.dp, curves, with_spread=True)
        ax.set(
            ylim=(0, None),
            ylabel="DP (sum of p over unordered pairs)",
            title=self.tested.common_depth,
        )

    def _draw(
        self, ax: Axes, values: Floats, curves: Sequence[Curve], *, with_spread: bool
    ) -> None:
        """Draw means over subsets against the number of users, with their spread or without."""
        means = mean_of_defined(values)
        low, high = percentiles(values, confidence=CONFIDENCE)
        for place, (number, label, style) in enumerate(curves):
            if with_spread:
                # Side by side, so that no whiskers cover others.
                moved = np.asarray(self.sizes) * 1.02 ** (place - (len(curves) - 1) / 2)
                limits = (low[number], high[number])
                lines = "Vertical lines: from the 5 % to the 95 % quantile of the subsets."
                draw_whiskers(
                    ax, moved, means[number], limits, style, label=label, explanation=lines
                )
            else:
                ax.plot(self.sizes, means[number], label=label, **style)
        ax.set(xscale="log", xlabel=self.units)
        apart = [size for size in self.sizes if size * LABELS_APART <= self.sizes[-1]]
        shown = [*apart, self.sizes[-1]]
        ax.set_xticks(shown, [f"{size:,}" for size in shown], rotation=45)
        ax.minorticks_off()
        label_curves(ax, ordered=not with_spread)

    def findings(self) -> Sequence[str]:
        """Say how well the largest subset of at most half of the users does."""
        fewer = [n for n, size in enumerate(self.sizes) if 2 * size <= self.sizes[-1]]
        reported = self.measures.reported
        if not fewer or not reported:
            return ()
        means = mean_of_defined(self.taus[self.measures.indices(reported), fewer[-1]])
        if np.isnan(means).any():
            return ()
        low, high = int(np.nanargmin(means)), int(np.nanargmax(means))
        return (
            f"On {self.sizes[fewer[-1]]:,} of the {counted(self.sizes[-1], self.unit)}, tau-b "
            "with the "
            f"ordering on all is {rounded(float(means[low]), 2)} ({reported[low]}) to "
            f"{rounded(float(means[high]), 2)} ({reported[high]}).",
        )

    def caption(self) -> str:
        """Say what the curves are."""
        return (
            f"Kendall's tau-b between the orderings of {self.n_systems} systems on a subset of the "
            f"{self.units} and on all {self.units}. {self._subsets()} Higher is better."
        )

    def caption_of(self, part: str) -> str:
        """Say what discriminative power is, and how pairs were tested."""
        n_pairs = self.n_systems * (self.n_systems - 1) // 2
        return (
            f"DP of subsets of the {self.units}: the sum of the p-values of the {n_pairs:,} "
            f"unordered pairs of {self.n_systems} systems. {self._subsets()} The p-values are of a "
            f"Monte-Carlo permutation test ({self.permutations:,} permutations). Lower is better."
        )

    def _subsets(self) -> str:
        return (
            f"Mean of {self.n_repeats} random subsets of the {counted(self.sizes[-1], self.unit)} "
            "of "
            f"each size. A subset is part of all {self.units}: two separate samples agree less."
        )


def usual_sizes(n_users: int) -> list[int]:
    """Give 50, 100, 200, 500, 1000 and so on below the number of users; from 5, of 100 or fewer."""
    smallest = 50 if n_users > 100 else 5
    powers = [10**power for power in range(len(str(n_users)))]
    series = [leading * power for power in powers for leading in (1, 2, 5)]
    return [size for size in series if smallest <= size < n_users]


def random_order(n_users: int, seed: int, repeat: int) -> Numbers:
    """Give a random order of users, of which a subset has the first."""
    words = random_words(n_users, seed, "users", n_users, repeat)
    return np.argsort(words, kind="stable")


def _subset_means(scores: Scores, subsets: Numbers) -> tuple[Floats, Floats]:
    """Average over each subset, (n_measures, n_subsets, n_systems), and over all, (..., 1, ...).

    Scores are summed on a grid, on which the order of users changes nothing.
    """
    n_users = len(scores.users)
    chosen = np.zeros((n_users, len(subsets) + 1))
    chosen[:, -1] = 1.0
    for number, subset in enumerate(subsets):
        chosen[subset, number] = 1.0
    with single_threaded("blas"):
        sums = np.stack([sums_on_grid(values, chosen).T for values in scores.weighted_values])
    means = sums / chosen.sum(axis=0)[:, None]
    return means[:, :-1], means[:, -1:]


def _test(work: Work, settings: Settings, values: Floats, subsets: Numbers) -> Floats:
    """Test all pairs of systems on every subset: p of shape (n_subsets, n_measures, n_pairs)."""
    n_measures, n_systems, _ = values.shape
    size = subsets.shape[1]
    at_once = max(1, SCORES_AT_ONCE // (n_measures * n_systems * max(size, SUMS_AT_LEAST)))

    def test(some: Numbers) -> Floats:
        together = values[:, :, some].transpose(2, 0, 1, 3).reshape(-1, n_systems, size)
        p = monte_carlo_test(together, permutations=settings.permutations, seed=work.seed)
        return p.reshape(len(some), n_measures, -1)

    firsts = range(0, len(subsets), at_once)
    tasks = (delayed(test)(subsets[first : first + at_once]) for first in firsts)
    with single_threaded("blas"):
        return np.concatenate(run_in_threads(tasks, n_jobs=work.n_jobs))
