"""What sampling does to metrics of real systems, which estimator corrects it, and at what cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Self, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, model_validator
from scipy.special import ndtr

from analyses.sampled.estimators import find_estimator, read_estimators
from analyses.sampled.expectation import DECIMALS, first_of
from analyses.sampled.labels import (
    Ranked,
    between,
    coverage,
    how_drawn,
    mean_of_users,
    tidy,
    with_cutoffs,
)
from analyses.sampled.metrics import METRICS, MetricNames, read_metrics
from analyses.sampled.paper_tables import with_paper_tables
from analyses.sampled.samples import SampleDesign
from analyses.sampled.trials import Drawing, Draws, ItemWeights, SampledSystems, Way, run_trials
from analyses.shared.analysis import AnalysisSettings, SettingError, StudyFacts, analysis
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
from qrels import FullRanks
from runs import InputError
from runs.shared.members import Names, Sizes, Whole, read_by

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.work import Work

Floats = NDArray[np.float64]

ROUNDING = 1e-6
"""Bias below it is that of the grid."""

LEAST_COVERED = 90
"""Of 100 intervals; an estimator whose intervals hold the truth in fewer is not for levels."""

USERS = tuple(size * 10**power for power in range(2, 7) for size in (1, 2, 5))
"""Numbers of users that are tried."""

ESTIMATORS = (
    "uncorrected",
    "rank-estimate(denominator=m+1)",
    "cls(nonnegative=true)",
    "bv(gamma=0.1)",
    "mle(iters=100)",
)
ADVICE = ("bias", "noise", "in_expectation", "in_samples", "covered", "winner", "users_needed")


class RankSettings(AnalysisSettings):
    """Settings of an analysis of ranks among all candidates."""

    def check(self, given: StudyFacts) -> None:
        """Refuse runs, which have no ranks among all candidates, and samples that users lack."""
        if not given.has_training:
            raise SettingError(
                "studies",
                "[analyses.sampled] needs ranks among all candidates, which runs do not have: "
                "begin with [ratings] and train systems, or give a table of ranks to "
                "`harness sampled`.",
            )
        try:
            self.check_ranks(given.best_ranks())
        except InputError as error:
            raise SettingError("negatives", str(error)) from None

    def check_ranks(self, ranks: FullRanks) -> None:
        """Refuse samples that these users lack."""


def _one_or_more(value: Any) -> Any:
    return (value,) if isinstance(value, int) else value


class Settings(RankSettings):
    """Metrics estimated from ranks among sampled negatives."""

    metrics: MetricNames = METRICS
    estimators: Annotated[tuple[str, ...], read_by(read_estimators)] = Field(
        ESTIMATORS, description="Estimators of the exact metrics, with options."
    )
    negatives: Annotated[Sizes, BeforeValidator(_one_or_more)] = Field(
        (100,),
        min_length=1,
        description="Numbers of sampled negatives of each user, without relevant items.",
    )
    replace: bool = Field(True, strict=True, description="Whether an item may be sampled twice.")
    repeats: Whole = Field(100, ge=2, description="Samples of each system.")
    n_max: Whole | None = Field(
        None,
        description="Largest adaptive samples, for adaptive-mle; default: 32 times the negatives, "
        "or a third of the candidates.",
    )
    draws: Draws | None = Field(
        None,
        description="What systems share: the sampled items, the random number of each user, or "
        "nothing (independent); default: items if all candidates are ranked, else shared.",
    )
    drawing: Names = Field(
        ("uniform",),
        description="Ways to draw negatives: uniform; popular (by training ratings), half hard and "
        "hard (the top items of a system) where studies train systems.",
    )
    power: float | None = Field(
        None,
        gt=0,
        description="Power of the training ratings by which popular ones are drawn, .75.",
    )
    hard_by: str | None = Field(
        None, description="System whose top items are hard negatives; default: the first."
    )
    users: Whole | None = Field(
        None, ge=1, description="Number of users to plan for; default: as many as in the input."
    )
    in_order: float = Field(
        0.9, gt=0.5, lt=1, description="Share of the pairs of systems to be in the true order."
    )

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        ways, names = get_args(Drawing), {find_estimator(one).name for one in self.estimators}
        for one in self.drawing:
            if one not in ways:
                raise ValueError(f"`drawing` must be {', '.join(ways)}, got {one!r}")
        if list(self.negatives) != sorted(self.negatives):
            raise ValueError(f"`negatives` must rise, got {list(self.negatives)}")
        if "ht-plugin" in names:
            raise ValueError(
                "HT is for samples of known probabilities: drawing = ['popular'] adds it for AUC"
            )
        hard = {"half hard", "hard"} & set(self.drawing)
        for name, needed, found in (
            ("n_max", "adaptive-mle among the estimators", "adaptive-mle" in names),
            ("power", "drawing = ['popular']", "popular" in self.drawing),
            ("hard_by", "drawing = ['hard'] or ['half hard']", hard),
        ):
            if getattr(self, name) is not None and not found:
                raise ValueError(f"`{name}` would be ignored: it needs {needed}")
        if self.drawing != ("uniform",) and self.draws not in (None, "items"):
            raise ValueError(f"`draws` must be items for other than uniform ones, got {self.draws}")
        return self

    @property
    def needs(self) -> tuple[str, ...]:
        """Say which ranks of all candidates are needed."""
        if self.draws == "items" or self.drawing != ("uniform",):
            return ("candidate_ranks",)
        return ("all_candidate_ranks",) if self.draws is None else ()

    def check(self, given: StudyFacts) -> None:
        """Refuse also hard negatives of an unknown system."""
        super().check(given)
        if self.hard_by is not None and self.hard_by not in given.systems:
            raise SettingError("hard_by", f"`hard_by` is no system of the study: {self.hard_by!r}.")

    def check_ranks(self, ranks: FullRanks) -> None:
        """Refuse samples that these users lack."""
        self.ways(ranks)

    def ways(self, ranks: FullRanks) -> list[Way]:
        """Give all estimators for all designs of samples that they are for.

        Adaptive samples grow from the first number of negatives.
        """
        found = []
        for n, m in enumerate(self.negatives):
            for drawing in self.drawing:
                fixed = SampleDesign((m,), self.replace, drawing=drawing)
                names: list[str] = ["uncorrected"]
                if drawing in ("popular", "half hard"):
                    fixed = SampleDesign((m,), drawing=drawing)
                    auc = any(metric.name == "AUC" for metric in read_metrics(self.metrics))
                    names += ["ht-plugin"] if auc else []
                for one in read_estimators(self.estimators if drawing == "uniform" else names):
                    if one.name != "adaptive-mle":
                        found.append(Way(one, fixed))
                    elif n == 0:
                        growing = SampleDesign.suited(ranks, n0=m + 1, n_max=self.n_max)
                        found.append(Way(one, growing))
        for design in dict.fromkeys(way.design for way in found):
            design.check(ranks)
        return sorted(found, key=lambda way: way.design.adaptive)


@analysis(
    "estimates",
    source="Krichene & Rendle (2020), tables 3 and 4; Li et al. (2023), tables 1 to 3 and 6 to 11",
    needs=("full_ranks",),
)
def estimates(work: Work, settings: Settings) -> Estimates:
    """Sample negatives again and again, and estimate the exact metrics from every sample.

    Examples
    --------
    All four negatives of five candidates, without replacement, leave nothing to chance:

    >>> from analyses.shared.work import RanksWork
    >>> work = RanksWork({"one": FullRanks.of([1, 4], n_candidates=5)}, seed=1)
    >>> asked = {"metrics": ("AP",), "estimators": ("uncorrected",), "replace": False}
    >>> estimates(work, Settings(**asked, negatives=4, repeats=2)).estimated.ravel()
    array([0.625, 0.625])
    """
    only_uniform = settings.drawing == ("uniform",)
    sampled = SampledSystems.of(work, settings.draws if only_uniform else "items")
    first, metrics = first_of(sampled.systems), read_metrics(settings.metrics)
    ways, names, weights = settings.ways(first), tuple(sampled.systems), None
    if not only_uniform:
        counts, power = work.popularity_counts["train"], settings.power or 0.75
        by, largest = settings.hard_by or names[0], settings.negatives[-1]
        weights = ItemWeights.of(sampled, counts, largest, power, by)
    arrays = run_trials(work, sampled, ways, metrics, repeats=settings.repeats, weights=weights)
    every = sampled.systems.values()
    growing = [way.design.sizes for way in ways if way.design.adaptive][:1]
    sizes = tuple(m + 1 for m in growing[0]) if growing else ()
    below = [1 - ranks.above / ranks.n_irrelevant for ranks in every] if growing else []
    reached = [[1.0, *((one ** (n - 1)).mean() for n in sizes[:-1])] for one in below]
    return Estimates(
        study=work.name,
        measures=Measures(Measure(str(metric)) for metric in metrics),
        systems=names,
        estimators=tuple(str(way.estimator) for way in ways),
        samples=tuple(str(way.design) for way in ways),
        drawings=tuple(way.design.drawing for way in ways),
        negatives=tuple(way.design.sizes[0] for way in ways),
        **arrays,
        adaptive_sizes=sizes,
        reached=np.array(reached).reshape(len(names), len(sizes)),
        ranked=Ranked.of(first),
        mean_candidates=mean_of_users(first.n_candidates, first),
        replace=settings.replace,
        seed=work.seed,
        draws=sampled.draws,
        users=settings.users or len(np.unique(first.user)),
        in_order=settings.in_order,
    )


@with_paper_tables
@dataclass(frozen=True, eq=False)
class Estimates(Result):
    """Exact metrics of systems, and estimates of them from repeated samples.

    Parameters
    ----------
    study, measures, systems
        Name of the study, metrics and systems.
    estimators, samples, drawings, negatives
        Labels of the ways to estimate: the estimator, its samples, how negatives are drawn, and how
        many at first.
    exact
        Metrics among all candidates, of shape (n_metrics, n_systems).
    estimated
        Of shape (n_ways, n_metrics, n_systems, n_repeats).
    errors
        Relative error of the metric's curve at cut-offs 1 to 50, in per cent, of the same shape;
        cut-offs where the truth is 0 are left out; NaN for AUC, and where there are no others.
    errors_by_cutoff
        Their mean over the repeats by cut-off: (n_ways, n_metrics, n_systems, 50).
    expected, expected_variance
        What estimates converge to with more and more users, or their mean over the repeats for
        adaptive and weighted samples: (n_ways, n_metrics, n_systems). The variance over samples is
        known for linear estimates with a uniform prior and one relevant item a user, else NaN.
    scored_by_repeat
        Mean number of items scored for a user, the relevant ones included: (n_ways, n_systems,
        n_repeats).
    zero_cutoffs, spread
        Cut-offs that errors leave out, and the standard deviation over users of the exact metrics:
        (n_metrics, n_systems).
    sampled_shares
        Shares of the items at each rank of the samples of the first way: (n_ranks, n_systems).
    adaptive_sizes, reached
        Sizes of adaptive samples, and the expected share of users whose samples are at least so
        large: (n_systems, n_sizes); none without adaptive samples.
    ranked, mean_candidates, replace, seed, draws
        Of whom the ranks are, how many candidates a user has, and how samples were drawn.
    users, in_order
        For how many users advice is, and the share of pairs of systems to be in order.
    """

    study: str
    measures: Measures
    systems: tuple[str, ...]
    estimators: tuple[str, ...]
    samples: tuple[str, ...]
    drawings: tuple[str, ...]
    negatives: tuple[int, ...]
    exact: Floats
    estimated: Floats
    errors: Floats
    errors_by_cutoff: Floats
    expected: Floats
    expected_variance: Floats
    scored_by_repeat: Floats
    zero_cutoffs: NDArray[np.int64]
    spread: Floats
    sampled_shares: Floats
    adaptive_sizes: tuple[int, ...]
    reached: Floats
    ranked: Ranked
    mean_candidates: float
    replace: bool
    seed: int
    draws: str
    users: int
    in_order: float

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
        found = []
        for name, way, sample in zip(self.estimators, self.drawings, self.samples, strict=True):
            short = name.replace(",prior=uniform", "").replace("mode=floor,", "")
            short += f", {way}" if way != "uniform" else ""
            found.append(f"{short}, {sample}" if len(self.sizes) > 1 else short)
        return found

    @property
    def sd(self) -> Floats:
        """Standard deviation of estimates over the repeats: noise of sampling, not of users."""
        return np.asarray(self.estimated.std(axis=-1, ddof=1))

    @property
    def scored(self) -> Floats:
        """Items scored for a user, the relevant ones included: (n_ways, n_systems)."""
        return np.asarray(self.scored_by_repeat.mean(axis=2))

    @cached_property
    def advice_numbers(self) -> Floats:
        """What is known of every way for so many users: (7, n_ways, n_metrics), as `ADVICE` names.

        Bias and noise are root mean squares over systems; in_expectation and in_samples are shares
        of the pairs of systems in the true order, in samples as if differences were normal; covered
        is how many of 100 intervals over users hold the exact value, as bias lets them; winner is
        the share of samples that find the best system; users_needed is the least number tried for
        whom `in_order` of the pairs are. NaN where there are no pairs, and no best, but true ties.
        """
        scale, off = np.sqrt(self.ranked.n_users / self.users), self.expected - self.exact
        true, rightly, _ = self._pairs
        exact, estimated = (np.round(of, DECIMALS) for of in (self.exact, self.estimated))
        error = np.hypot(self.sd * scale, self.spread / np.sqrt(self.users))
        off = np.where(np.abs(off) < ROUNDING, 0.0, off)
        apart = np.divide(off, error, out=np.where(off == 0, 0.0, np.inf), where=error > 0)
        best = exact == exact.max(axis=1, keepdims=True)
        first = estimated == estimated.max(axis=2, keepdims=True)
        found = (first.sum(axis=2) == 1) & (first & best[..., np.newaxis]).any(axis=2)
        needed = np.full(self.expected.shape[:2], np.nan)
        for users in reversed(USERS):
            needed[self.in_samples(users) >= self.in_order] = users
        numbers = [
            np.sqrt(((self.expected - self.exact) ** 2).mean(axis=2)),
            np.sqrt(((self.sd * scale) ** 2).mean(axis=2)),
            shares_in_order(rightly > 0, true),
            self.in_samples(self.users),
            coverage(apart).mean(axis=2),
            np.where(best.sum(axis=1) == 1, found.mean(axis=2), np.nan),
            needed,
        ]
        # What a way does not estimate has no numbers.
        return np.where(np.isnan(self.expected).any(axis=2), np.nan, np.array(numbers))

    def in_samples(self, users: int) -> Floats:
        """Give the share of pairs in the true order in samples of so many users."""
        true, rightly, noise = self._pairs
        noise = noise * np.sqrt(self.ranked.n_users / users)
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
        found = []
        for m in self.sizes:
            own = np.flatnonzero(np.array(self.negatives) == m)
            numbers = self.advice_numbers[:, own]
            in_samples = np.round(np.nan_to_num(numbers[3]), 4)
            found.append([own[in_samples.argmax(axis=0)], own[nearest(numbers)]])
        return np.array(found).swapaxes(0, 1)

    @property
    def costs(self) -> Floats | None:
        r"""Scores computed for each user who ends at an adaptive size: (n_systems, n_sizes).

        .. math:: C_0 = U n_0 / m_0, \quad
            C_j = (U - \sum_{i<j} m_i)(n_j - n_{j-1}) / m_j

        with :math:`m_j` of the U users expected to end at :math:`n_j` (Li et al., 2023, eq. 13).
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
        frames = {"sampled": self.to_frame(), "sampled_repeats": self.repeats_frame()}
        frames |= {"sampled_orders": self.orders(), "sampled_advice": self.advice()}
        if (costs := self.costs) is not None:
            axes = {"system": self.systems, "size": self.adaptive_sizes}
            frames["sampled_adaptive"] = tidy(axes, reached=self.reached, cost=costs)
        return frames

    def _frame(self, axes: Mapping[str, Any], **columns: Any) -> pd.DataFrame:
        import pandas as pd

        read = [find_estimator(name) for name in self.estimators]
        labels: dict[str, Any] = {"estimator": self.estimators}
        labels["prior"] = [one.prior for one in read]
        labels |= {"iterations": [one.iterations for one in read], "drawing": self.drawings}
        ways = pd.DataFrame({**labels, "sample": self.samples, "m": self.negatives})
        every = {"way": range(len(read)), "metric": self.metrics, **axes}
        frame = with_cutoffs(tidy(every, **columns))
        place = 2 + len(axes)
        joined = ways.iloc[frame.pop("way")].reset_index(drop=True)
        return pd.concat([frame.iloc[:, :place], joined, frame.iloc[:, place:]], axis=1)

    def to_frame(self) -> pd.DataFrame:
        """Give one row for each way, metric and system.

        Returns
        -------
        Columns metric, cutoff, system, estimator, prior, iterations, drawing, sample, m, repeats,
        replace; scored, items for a user, and share, that of the candidates; exact; expected,
        expected_sd; mean, sd and standard_error (of the mean) over the repeats; error and error_sd,
        in per cent, and zero_cutoffs, those left out.
        """
        scored = self.scored[:, np.newaxis]
        columns = {"repeats": self.n_repeats, "replace": self.replace, "scored": scored}
        columns |= {"share": scored / self.mean_candidates, "exact": self.exact}
        columns |= {"expected": self.expected, "expected_sd": np.sqrt(self.expected_variance)}
        columns |= {"mean": self.estimated.mean(axis=3), "sd": self.sd}
        columns["standard_error"] = self.sd / np.sqrt(self.n_repeats)
        columns |= {"error": self.errors.mean(axis=3), "error_sd": self.errors.std(axis=3, ddof=1)}
        return self._frame({"system": self.systems}, **columns, zero_cutoffs=self.zero_cutoffs)

    def repeats_frame(self) -> pd.DataFrame:
        """Give one row for each way, metric, system and repeat: its estimate and curve's error."""
        axes = {"system": self.systems, "repeat": range(1, self.n_repeats + 1)}
        exact = self.exact[..., np.newaxis]
        return self._frame(axes, exact=exact, value=self.estimated, error=self.errors)

    def orders(self) -> pd.DataFrame:
        """Count the repeats that have a pair of systems in its true order.

        Returns
        -------
        Columns metric, cutoff, system_1, system_2, labels of the ways, exact_1, exact_2, correct
        and repeats: none of those for systems that truly tie. A tied estimate is not correct.
        """
        systems, (a, b) = np.array(self.systems, dtype=object), pair_indices(len(self.systems))
        exact, estimated = (np.round(of, DECIMALS) for of in (self.exact, self.estimated))
        true = np.sign(exact[:, a] - exact[:, b])
        found = np.sign(estimated[:, :, a] - estimated[:, :, b])
        frame = self._frame(
            {"pair": range(len(a))},
            exact_1=exact[:, a],
            exact_2=exact[:, b],
            correct=((found == true[..., np.newaxis]).sum(axis=3)) * (true != 0),
            repeats=self.n_repeats * (true != 0),
        )
        pair = frame.pop("pair")
        frame.insert(2, "system_1", systems[a][pair])
        frame.insert(3, "system_2", systems[b][pair])
        return frame

    def advice(self) -> pd.DataFrame:
        """Give one row for each way and metric: what advice for so many users is from.

        Returns
        -------
        Labels of the ways; users; scored, the items scored for a user; and `ADVICE`.
        """
        scored = self.scored.mean(axis=1)[:, np.newaxis]
        numbers = dict(zip(ADVICE, self.advice_numbers, strict=True))
        return self._frame({}, users=self.users, scored=scored, **numbers)

    @table("sampled", "exact metrics, and estimates from sampled negatives")
    def means(self) -> Table:
        """Tabulate exact values, and means and deviations of estimates, by metric and system."""
        mean, sd = self.estimated.mean(axis=3), self.sd
        rows: list[list[Cell]] = []
        for m, s in np.ndindex(self.exact.shape):
            own = zip(mean[:, m, s].tolist(), sd[:, m, s].tolist(), strict=True)
            texts = ("–" if np.isnan(of) else f"{shown(of)} ± {shown(off)}" for of, off in own)
            name = f"{self.metrics[m]}, {self.systems[s]}"
            rows.append([name, float(self.exact[m, s]), *texts])
        title, headings = "Exact metrics, and estimates from samples", ["metric, system", "exact"]
        return Table("sampled", title, self.caption(), [*headings, *self.names], rows)

    @table("sampled_orders", "bias and noise of those estimates, and systems in the true order")
    def distances(self) -> Table:
        """Tabulate bias and noise, and how often systems are ordered rightly."""
        note = (
            "Bias: the expected estimate less the exact value; more users do not reduce it. Noise: "
            f"standard deviation over samples, for {self.users:,} users. Both are root mean "
            "squares over the systems. In order: shares of the pairs of systems in the true order, "
            "in expectation and in samples. Covered: how many of 100 intervals over users hold the "
            f"exact value. Winner: share of the samples that find the best system. {self.caption()}"
        )
        rows: list[list[Cell]] = [
            [f"{metric}, {name}", *numbers[:4], f"{numbers[4]:.0f} of 100", numbers[5]]
            for metric, of_ways in zip(self.metrics, self.advice_numbers.T.tolist(), strict=True)
            for name, numbers in zip(self.names, of_ways, strict=True)
            if not np.isnan(numbers[0])
        ]
        title = f"Bias and noise for {self.users:,} users, and pairs of systems in true order"
        headings = ["metric, estimator", "bias", "noise", "expected", "in order", "covered"]
        return Table("sampled_orders", title, note, [*headings, "winner"], rows)

    @table("sampled_choose", "negatives and estimators to choose")
    def choices(self) -> Table:
        """Tabulate what to compare and to report by for each number of negatives."""
        rows: list[list[Cell]] = []
        for place, number in np.ndindex(len(self.metrics), len(self.sizes)):
            best, near = self.chosen[:, number, place]
            numbers = self.advice_numbers[..., place]
            needed, error = numbers[6, best], float(np.hypot(*numbers[:2, near]))
            rows.append(
                [
                    f"{self.metrics[place]}, m = {self.sizes[number]:,}",
                    "-" if np.isnan(numbers[3, best]) else self.names[best],
                    float(numbers[3, best]),
                    "-" if np.isnan(needed) else f"{needed:,.0f}",
                    self.names[near],
                    error,
                ]
            )
        note = (
            "To compare: the estimator that has most pairs of systems in the order of full "
            f"ranking, and the least number of users ({USERS[0]:,}, {USERS[1]:,}, {USERS[2]:,}, "
            f"...) for whom it has {self.in_order:g} of them. To report: the one nearest to the "
            "exact level among those whose intervals cover, with the root of its squared bias and "
            f"noise. {self.caption()}"
        )
        title, needs = f"What to choose for {self.users:,} users", f"users for {self.in_order:g}"
        headings = ["metric, negatives", "to compare", "in order", needs, "to report", "error"]
        return Table("sampled_choose", title, note, headings, rows)

    def _drawn_ways(self) -> dict[str, int]:
        ways = zip(self.estimators, self.drawings, self.negatives, strict=True)
        return {
            name.replace(",prior=uniform", "").replace("mode=floor,", ""): way
            for way, (name, drawing, m) in enumerate(ways)
            if m == self.sizes[0] and drawing == self.drawings[0]
        }

    @figure("aaai2023-figure1a", "Ranks of the relevant items in the samples")
    def plot_sampled_ranks(self, ax: Axes | None = None) -> Axes:
        """Draw the shares of the items at each rank of the samples, by system."""
        ax, shares = axes_or_new(ax), np.where(self.sampled_shares > 0, self.sampled_shares, np.nan)
        for (label, style), own in zip(categories(self.systems), shares.T, strict=True):
            ax.plot(np.arange(1, len(own) + 1), own, label=label, **style | {"marker": ""})
        scale_by_factors(ax, along="y")
        ax.set(xlabel="rank in the sample", ylabel="share of the items")
        label_curves(ax)
        return ax

    @property
    def parts(self) -> tuple[str, ...]:
        """Metrics that have curves, each once."""
        names = {name.partition("@")[0]: name for name in reversed(self.metrics)}
        return tuple(name for name in self.metrics if name in names.values() and name != "AUC")

    @figure(
        "aaai2023-figure1b", "Error of the estimates by cut-off", panels="part", comparable=False
    )
    def plot_errors(self, ax: Axes | None = None, *, part: str | None = None) -> Axes:
        """Draw relative errors of a metric by cut-off, in the mean over systems and repeats."""
        chosen, ax = self.parts[chosen_panel(self.parts, part)], axes_or_new(ax)
        errors, drawn = self.errors_by_cutoff[:, self.metrics.index(chosen)], self._drawn_ways()
        for (label, style), way in zip(categories([*drawn]), drawn.values(), strict=True):
            own = errors[way].mean(axis=0)
            if not np.isnan(own).all():
                ax.plot(np.arange(1, len(own) + 1), own, label=label, **style | {"marker": ""})
        scale_by_factors(ax, along="y")
        ax.set(title=chosen.partition("@")[0], xlabel="cut-off K", ylabel="relative error, %")
        label_curves(ax)
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
        ax.set_xlabel("size that adaptive samples end at")
        ax.set_ylabel("scores for a user who ends at the size")
        label_curves(ax)
        return ax

    def caption_of(self, part: str) -> str:
        """Say what the figure of adaptive sizes shows."""
        mean_sizes = (self.reached * np.diff(self.adaptive_sizes, prepend=0)).sum(axis=1)
        means = ", ".join(f"{s} {n:,.1f}" for s, n in zip(self.systems, mean_sizes, strict=True))
        return (
            "Scores computed for each user whose adaptive sample ends at a size: those of all who "
            "grow to it, over the users who end there. Where the curve climbs, larger samples do "
            f"not pay. Expected from the full ranks of {self.ranked}, not simulated. Expected "
            f"mean sizes: {means}."
        )

    def caption(self) -> str:
        """Say what is shown."""
        adaptive, sizes = "", self.adaptive_sizes
        if sizes:
            adaptive = (
                f"; adaptive ones, drawn with replacement, double from {sizes[0]:,} to at most "
                f"{sizes[-1]:,} items while the relevant item is the first"
            )
        return (
            f"Metrics of {len(self.systems):,} system{'s' * (len(self.systems) > 1)} estimated "
            f"from {between(self.sizes[0], self.sizes[-1])} sampled negatives: mean and standard "
            f"deviation. Ties are settled as in the full ranks. {self.ranked} among "
            f"n = {self.ranked.n} candidates; {self.n_repeats:,} samples of the negatives, not of "
            f"the users, seed {self.seed}, drawn {how_drawn(self.replace, self.draws)}{adaptive}; "
            "corrections use the mean number of candidates."
        )

    def findings(self) -> Sequence[str]:
        """Say for each metric what to compare systems by, and what to report as a level."""
        return [
            f"{metric} of {self.users:,} users: {' '.join(self._advised(place))}"
            for place, metric in enumerate(self.metrics)
        ]

    def _advised(self, place: int) -> Iterator[str]:
        numbers, (best, near) = self.advice_numbers[..., place], self.chosen[..., place]
        right, number = numbers[3, best], 0
        if np.isnan(right).all():
            yield "there are no two systems to order."
        else:
            enough = np.flatnonzero(right >= self.in_order)
            number = int(enough[0]) if len(enough) else int(np.nanargmax(right))
            way = best[number]
            if not len(enough):
                yield f"no samples have {100 * self.in_order:.0f} % of the pairs in order."
            yield (
                f"To compare systems: {self.names[way]} from {self.sizes[number]:,} negatives, "
                f"with {100 * right[number]:.0f} % of the pairs in order "
                f"({100 * numbers[2, way]:.0f} % in expectation), at "
                f"{100 * self.scored[way].mean() / self.mean_candidates:.1f} % of the cost of full "
                "ranking."
            )
        level = near[number]
        bias, noise, covered = (float(of) for of in numbers[[0, 1, 4], level])
        own = numbers[4, np.array(self.negatives) == self.sizes[number]]
        none = ", and no estimator's cover as they should" if np.nanmax(own) < LEAST_COVERED else ""
        yield (
            f"To report a level: {self.names[level]}, bias {shown(bias)}, noise {shown(noise)}; "
            f"{covered:.0f} of 100 intervals hold the exact value{none}."
        )


def shares_in_order(right: NDArray[Any], true: Floats) -> Floats:
    """Give the share of what is right among pairs, the last axis, that truly differ; or NaN."""
    counted, n_pairs = (right * (true != 0)).sum(axis=-1), np.abs(np.sign(true)).sum(axis=-1)
    return np.divide(counted, n_pairs, out=np.full(counted.shape, np.nan), where=n_pairs > 0)


def nearest(numbers: Floats) -> NDArray[np.intp]:
    """Number the ways to report levels by, with intervals that cover if any do: (n_metrics,)."""
    off, holds = np.hypot(*numbers[:2]), numbers[4] >= LEAST_COVERED
    allowed = (holds | ~holds.any(axis=-2, keepdims=True)) & ~np.isnan(off)
    return np.asarray(np.where(allowed, off, np.inf).argmin(axis=-2))
