"""What sampling does to metrics of real systems, which estimator corrects it, and at what cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from analyses.sampled.estimators import find_estimator
from analyses.sampled.metrics import read_metrics, tidy, with_cutoffs
from analyses.sampled.papers import draw_curves, with_paper_tables
from analyses.sampled.samples import Population, first_of, replacement
from analyses.sampled.trials import SHARED, SampledSystems, Settings, run_trials
from analyses.shared.analysis import analysis
from analyses.shared.drawing import (
    axes_or_new,
    categories,
    chosen_panel,
    has_positive,
    label_curves,
    scale_by_factors,
)
from analyses.shared.measure import Measure, Measures
from analyses.shared.result import Result, figure, table
from analyses.shared.table import Cell, Table, shown
from analyses.significance.permutation import pair_indices

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.work import Work

Floats = NDArray[np.float64]

DECIMALS = 12
"""Values are compared after rounding to so many decimals."""

USERS = tuple(size * 10**power for power in range(2, 7) for size in (1, 2, 5))
"""Numbers of users that are tried."""

IN_ORDER = 0.9
"""Share of the pairs of systems that is to be in the true order."""


class Advice(NamedTuple):
    """What is known of every way to estimate, each of shape (n_ways, n_metrics).

    Bias and noise are root mean squares over systems; pairs of systems are in the true order in
    expectation, and in samples as if differences were normal; the winner is the share of samples
    that find the best system; users_needed is the least number tried for whom nine in ten pairs are
    in order. NaN where there are no pairs, and no best, but true ties.
    """

    bias: Floats
    noise: Floats
    in_expectation: Floats
    in_samples: Floats
    winner: Floats
    users_needed: Floats


@analysis(
    "estimates",
    source="Krichene & Rendle (2020), tables 3 and 4; Li et al. (2023), tables 1 to 3 and 6 to 11",
    needs=("full_ranks",),
)
def estimates(work: Work, settings: Settings) -> Estimates:
    """Sample negatives again and again, and estimate the exact metrics from every sample."""
    only_uniform = settings.drawing == ("uniform",)
    sampled = SampledSystems.of(work, settings.draws if only_uniform else "items")
    first, metrics = first_of(sampled.systems), read_metrics(settings.metrics)
    ways = settings.ways(first)
    sizes = next((np.array(w.design.sizes) + 1 for w in ways if w.design.adaptive), np.arange(0))
    below = [1 - ranks.above / ranks.n_irrelevant for ranks in sampled.systems.values()]
    reached = [[(one ** (n - 1)).mean() for n in (1, *sizes[:-1])] for one in below if len(sizes)]
    return Estimates(
        study=work.name,
        measures=Measures(Measure(str(metric)) for metric in metrics),
        systems=tuple(sampled.systems),
        estimators=tuple(str(way.estimator) for way in ways),
        drawings=tuple(way.design.drawing for way in ways),
        negatives=tuple(way.design.sizes[0] for way in ways),
        **run_trials(work, sampled, ways, metrics, settings),
        adaptive_sizes=tuple(sizes.tolist()),
        reached=np.array(reached).reshape(len(sampled.systems), len(sizes)),
        population=Population.of(first),
        replace=settings.replace,
        seed=work.seed,
        draws=sampled.draws,
        users=settings.users or len(np.unique(first.user)),
    )


@with_paper_tables
@dataclass(frozen=True, eq=False)
class Estimates(Result):
    """Exact metrics of systems, and estimates of them from repeated samples.

    Arrays are of shape (n_ways, n_metrics, n_systems, n_repeats), or lack some of these axes. The
    ways to estimate are labelled by their estimator, drawing and (first) number of negatives.

    Parameters
    ----------
    errors, errors_by_cutoff
        Mean relative error of the metric's curve at cut-offs 1 to 50, in per cent, without those
        where the truth is 0; NaN for AUC, and where there are no others. The second has cut-offs
        in place of repeats.
    expected
        What estimates converge to with more and more users, or their mean over the repeats for
        adaptive and weighted samples.
    scored_by_repeat, sampled_shares
        Mean number of items scored for a user, the relevant ones included; shares of the items at
        each rank of the samples of the first way: (n_ranks, n_systems).
    adaptive_sizes, reached
        Sizes of adaptive samples, and the expected share of users whose samples are at least so
        large: (n_systems, n_sizes); none without adaptive samples.
    users
        For how many users advice is.
    """

    study: str
    measures: Measures
    systems: tuple[str, ...]
    estimators: tuple[str, ...]
    drawings: tuple[str, ...]
    negatives: tuple[int, ...]
    exact: Floats
    estimated: Floats
    errors: Floats
    errors_by_cutoff: Floats
    expected: Floats
    scored_by_repeat: Floats
    sampled_shares: Floats
    adaptive_sizes: tuple[int, ...]
    reached: Floats
    population: Population
    replace: bool
    seed: int
    draws: str
    users: int

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics."""
        return self.measures.metrics

    @property
    def n_repeats(self) -> int:
        """Samples of each system."""
        return self.estimated.shape[-1]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of negatives, each once."""
        return tuple(dict.fromkeys(self.negatives))

    @property
    def names(self) -> list[str]:
        """Short names of the ways: estimators without usual options; samples where they differ."""
        several = len(self.sizes) > 1
        return [
            f"{name.replace(',prior=uniform', '')}{f', {drawing}' * (drawing != 'uniform')}"
            f"{f', m = {m:,}' * several}"
            for name, drawing, m in zip(self.estimators, self.drawings, self.negatives, strict=True)
        ]

    @property
    def sd(self) -> Floats:
        """Standard deviation of estimates over the repeats: noise of sampling, not of users."""
        return np.asarray(self.estimated.std(axis=-1, ddof=1))

    @cached_property
    def advice(self) -> Advice:
        """What is known of every way for so many users."""
        scale = np.sqrt(self.population.n_users / self.users)
        true, rightly, _ = self._pairs
        exact, estimated = (np.round(of, DECIMALS) for of in (self.exact, self.estimated))
        best = exact == exact.max(axis=1, keepdims=True)
        first = estimated == estimated.max(axis=2, keepdims=True)
        found = (first.sum(axis=2) == 1) & (first & best[..., np.newaxis]).any(axis=2)
        needed = np.full(self.expected.shape[:2], np.nan)
        for users in reversed(USERS):
            needed[self.in_samples(users) >= IN_ORDER] = users
        errors = (self.expected - self.exact, self.sd * scale)
        bias, noise = (np.sqrt((of**2).mean(axis=2)) for of in errors)
        expected = shares_in_order(rightly > 0, true)
        wins = np.where(best.sum(axis=1) == 1, found.mean(axis=2), np.nan)
        numbers = (bias, noise, expected, self.in_samples(self.users), wins, needed)
        # What a way does not estimate has no numbers.
        return Advice(*np.where(np.isnan(bias), np.nan, np.array(numbers)))

    def in_samples(self, users: int) -> Floats:
        """Give the share of pairs in the true order in samples of so many users."""
        true, rightly, noise = self._pairs
        noise = noise * np.sqrt(self.population.n_users / users)
        surely = np.where(rightly > 0, np.inf, -np.inf)
        far = np.divide(rightly, noise, out=surely, where=noise > 0)
        return shares_in_order(ndtr(far), true)

    @cached_property
    def _pairs(self) -> tuple[Floats, Floats, Floats]:
        a, b = pair_indices(len(self.systems))
        exact = np.round(self.exact, DECIMALS)
        true = np.sign(exact[:, a] - exact[:, b])
        rightly = np.round(self.expected[:, :, a] - self.expected[:, :, b], DECIMALS) * true
        apart = self.estimated[:, :, a] - self.estimated[:, :, b]
        return true, rightly, apart.std(axis=3, ddof=1)

    @cached_property
    def chosen(self) -> NDArray[np.intp]:
        """Ways to compare systems by, and to report levels by: (2, n_sizes, n_metrics)."""
        compare = np.round(np.nan_to_num(self.advice.in_samples), 4)
        report = -np.nan_to_num(np.hypot(self.advice.bias, self.advice.noise), nan=np.inf)
        of_sizes = [np.flatnonzero(np.array(self.negatives) == m) for m in self.sizes]
        return np.array(
            [[own[of[own].argmax(axis=0)] for own in of_sizes] for of in (compare, report)]
        )

    @property
    def costs(self) -> Floats | None:
        """Scores computed for each user who ends at an adaptive size: (n_systems, n_sizes).

        The scores of all who grow to it, over the users who end there (Li et al., 2023, eq. 13).
        NaN at the last size; infinite where nobody ends; None without adaptive samples.
        """
        if not self.adaptive_sizes:
            return None
        spent = self.reached * np.diff(self.adaptive_sizes, prepend=0)
        ended = self.reached - np.pad(self.reached[:, 1:], ((0, 0), (0, 1)))
        costs = np.divide(spent, ended, out=np.full(spent.shape, np.inf), where=ended > 0)
        costs[:, -1] = np.nan
        return costs

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give means over repeats, every estimate, orders of pairs, advice, and adaptive sizes."""
        scored = self.scored_by_repeat.mean(axis=(1, 2))[:, np.newaxis]
        frames = {
            "sampled": self.to_frame(),
            "sampled_repeats": self.repeats_frame(),
            "sampled_orders": self.orders(),
            "sampled_advice": self._frame(
                {}, users=self.users, scored=scored, **self.advice._asdict()
            ),
        }
        if (costs := self.costs) is not None:
            axes = {"system": self.systems, "size": self.adaptive_sizes}
            frames["sampled_adaptive"] = tidy(axes, reached=self.reached, cost=costs)
        return frames

    def _frame(self, axes: Mapping[str, Any], **columns: Any) -> pd.DataFrame:
        import pandas as pd

        read = [find_estimator(name) for name in self.estimators]
        labels = {"estimator": self.estimators, "prior": [one.prior for one in read]}
        names = {"iterations": [one.iterations for one in read], "drawing": self.drawings}
        ways = pd.DataFrame({**labels, **names, "m": self.negatives})
        every = {"way": range(len(read)), "metric": self.metrics, **axes}
        frame = with_cutoffs(tidy(every, **columns))
        place = 2 + len(axes)
        joined = ways.iloc[frame.pop("way")].reset_index(drop=True)
        return pd.concat([frame.iloc[:, :place], joined, frame.iloc[:, place:]], axis=1)

    def to_frame(self) -> pd.DataFrame:
        """Give one row for each way, metric and system: items ``scored`` for a user, errors in %.

        ``sd`` and ``error_sd`` are over the repeats.
        """
        return self._frame(
            {"system": self.systems},
            repeats=self.n_repeats,
            scored=self.scored_by_repeat.mean(axis=2)[:, np.newaxis],
            exact=self.exact,
            expected=self.expected,
            mean=self.estimated.mean(axis=3),
            sd=self.sd,
            error=self.errors.mean(axis=3),
            error_sd=self.errors.std(axis=3, ddof=1),
        )

    def repeats_frame(self) -> pd.DataFrame:
        """Give one row for each way, metric, system and repeat: its estimate and curve's error."""
        axes = {"system": self.systems, "repeat": range(1, self.n_repeats + 1)}
        return self._frame(axes, value=self.estimated, error=self.errors)

    def orders(self) -> pd.DataFrame:
        """Count the repeats with a pair of systems in its true order: none if they truly tie."""
        systems, (a, b) = np.array(self.systems, dtype=object), pair_indices(len(self.systems))
        estimated, (true, *_) = np.round(self.estimated, DECIMALS), self._pairs
        found = np.sign(estimated[:, :, a] - estimated[:, :, b]) == true[..., np.newaxis]
        repeats, correct = self.n_repeats * (true != 0), found.sum(axis=3) * (true != 0)
        frame = self._frame({"pair": range(len(a))}, correct=correct, repeats=repeats)
        pair = frame.pop("pair")
        frame.insert(2, "system_1", systems[a][pair])
        frame.insert(3, "system_2", systems[b][pair])
        return frame

    @table("sampled", "exact metrics, and estimates from sampled negatives")
    def means(self) -> Table:
        """Tabulate exact values, and means and deviations of estimates, by metric and system."""
        mean, rows = self.estimated.mean(axis=3), list[list[Cell]]()
        for m, s in np.ndindex(self.exact.shape):
            own = zip(mean[:, m, s].tolist(), self.sd[:, m, s].tolist(), strict=True)
            texts = ("–" if np.isnan(of) else f"{shown(of)} ± {shown(off)}" for of, off in own)
            name = f"{self.metrics[m]}, {self.systems[s]}"
            rows.append([name, float(self.exact[m, s]), *texts])
        title, headings = "Exact metrics, and estimates from samples", ["metric, system", "exact"]
        return Table("sampled", title, self.caption(), [*headings, *self.names], rows)

    @table("sampled_orders", "bias and noise of those estimates, and systems in the true order")
    def distances(self) -> Table:
        """Tabulate bias and noise, and how often systems are ordered rightly."""
        note = (
            "Bias: expected estimate less the exact value. Noise: standard deviation over samples "
            f"for {self.users:,} users. Both are root mean squares over systems. In order: share "
            "of the pairs of systems in the true order, in expectation and in samples. Winner: "
            f"share of the samples that find the best system. Users for {IN_ORDER:g}: the least "
            f"number tried that has so many pairs in order in samples. {self.caption()}"
        )
        rows: list[list[Cell]] = [
            [f"{metric}, {name}", *numbers[:5], "–" if np.isnan(u := numbers[5]) else f"{u:,.0f}"]
            for metric, of_ways in zip(self.metrics, np.array(self.advice).T.tolist(), strict=True)
            for name, numbers in zip(self.names, of_ways, strict=True)
            if not np.isnan(numbers[0])
        ]
        title = f"Bias and noise for {self.users:,} users, and pairs of systems in true order"
        headings = ["metric, estimator", "bias", "noise", "expected", "in order", "winner"]
        return Table("sampled_orders", title, note, [*headings, f"users for {IN_ORDER:g}"], rows)

    @figure("aaai2023-figure1a", "Ranks of the relevant items in the samples")
    def plot_sampled_ranks(self, ax: Axes | None = None) -> Axes:
        """Draw the shares of the items at each rank of the samples, by system."""
        shares = np.where(self.sampled_shares > 0, self.sampled_shares, np.nan)
        curves = dict(zip(self.systems, shares.T, strict=True))
        ax = draw_curves(ax, curves, xlabel="rank in the sample", ylabel="share of the items")
        scale_by_factors(ax, along="y")
        return ax

    @property
    def parts(self) -> tuple[str, ...]:
        """Metrics that have curves, each once."""
        names = {name.partition("@")[0]: name for name in reversed(self.metrics) if name != "AUC"}
        return tuple(reversed(names.values()))

    @figure(
        "aaai2023-figure1b", "Error of the estimates by cut-off", panels="part", comparable=False
    )
    def plot_errors(self, ax: Axes | None = None, *, part: str | None = None) -> Axes:
        """Draw relative errors of a metric by cut-off, in the mean over systems and repeats."""
        chosen = self.parts[chosen_panel(self.parts, part)]
        errors = self.errors_by_cutoff[:, self.metrics.index(chosen)].mean(axis=1)
        ways = zip(self.estimators, self.drawings, self.negatives, errors, strict=True)
        curves = {
            name.replace(",prior=uniform", ""): own
            for name, drawing, m, own in ways
            if (drawing, m) == (self.drawings[0], self.sizes[0])
        }
        labels: dict[str, Any] = {"xlabel": "cut-off K", "ylabel": "relative error, %"}
        ax = draw_curves(ax, curves, title=chosen.partition("@")[0], **labels)
        scale_by_factors(ax, along="y")
        return ax

    @figure("aaai2023-figure2", "Adaptive samples: what larger ones cost", of="costs")
    def plot_costs(self, ax: Axes | None = None) -> Axes:
        """Draw scores for a user who ends at a size against the sizes, by system."""
        ax, sizes, costs = axes_or_new(ax), self.adaptive_sizes[:-1], self.costs
        assert costs is not None
        for (label, style), own in zip(categories(self.systems), costs, strict=True):
            ax.plot(sizes, own[:-1], label=label, **style)
        scale_by_factors(ax, along="y")
        if has_positive(ax, along="x"):
            ax.set_xscale("log", base=2)
        ax.set_xticks(sizes, [f"{size:,}" for size in sizes], minor=False)
        end = "size that adaptive samples end at"
        ax.set(xlabel=end, ylabel="scores for a user who ends at the size")
        label_curves(ax)
        return ax

    def caption_of(self, part: str) -> str:
        """Say what the figure of adaptive sizes shows."""
        mean_sizes = (self.reached * np.diff(self.adaptive_sizes, prepend=0)).sum(axis=1)
        means = ", ".join(f"{s} {n:,.1f}" for s, n in zip(self.systems, mean_sizes, strict=True))
        return (
            "Scores of all users whose adaptive samples grow to a size, over the users who end "
            f"there, expected from the full ranks of {self.population}. Mean sizes: {means}."
        )

    def caption(self) -> str:
        """Say what is shown."""
        negatives = " or ".join(f"{m:,}" for m in self.sizes)
        sizes = self.adaptive_sizes[-1:]
        adaptive = f", or adaptive samples of up to {sizes[0]:,} items," if sizes else ""
        return (
            f"Metrics of {len(self.systems):,} systems estimated from {negatives} sampled "
            f"negatives{adaptive} drawn {replacement(self.replace)}, {SHARED[self.draws]}: mean "
            f"and standard deviation over {self.n_repeats:,} samples (seed {self.seed}). "
            f"{self.population}; corrections use that mean."
        )

    def findings(self) -> Sequence[str]:
        """Say for each metric what to compare systems by, and what to report as a level."""
        return [*map(self._finding, range(len(self.metrics)))]

    def _finding(self, metric: int) -> str:
        best, near = self.chosen[..., metric]
        right = np.nan_to_num(self.advice.in_samples[best, metric])
        enough = right >= IN_ORDER
        size = int((enough if enough.any() else right).argmax())
        bias, noise = (shown(float(of[near[size], metric])) for of in self.advice[:2])
        return (
            f"{self.metrics[metric]} of {self.users:,} users: compare systems by "
            f"{self.names[best[size]]} from {self.sizes[size]:,} negatives "
            f"({100 * right[size]:.0f} % of the pairs in the true order); report levels by "
            f"{self.names[near[size]]} (bias {bias}, noise {noise})."
        )


def shares_in_order(right: NDArray[Any], true: Floats) -> Floats:
    """Give the share of what is right among pairs, the last axis, that truly differ; or NaN."""
    counted, n_pairs = (right * (true != 0)).sum(axis=-1), np.abs(np.sign(true)).sum(axis=-1)
    return np.divide(counted, n_pairs, out=np.full(counted.shape, np.nan), where=n_pairs > 0)
