"""The experiment: full ranks are sampled again and again, and metrics are estimated from samples.

Each way to estimate, an estimator with its prior and iterations given samples of a design, is tried
on the same samples, by metric, system and repeat.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, product
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from joblib import delayed
from numpy.typing import NDArray
from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from analyses.ordering.agreement import mean_of_defined
from analyses.sampled.estimators import (
    Estimator,
    Metrics,
    find_estimator,
    path_for,
    read_estimators,
)
from analyses.sampled.metrics import METRICS, MetricNames, RankMetric
from analyses.sampled.rank_distribution import Cells
from analyses.sampled.samples import (
    Negatives,
    RankSettings,
    SampleDesign,
    SampledRanks,
    first_of,
    mean_of_users,
    sampled_ranks,
    top_items,
    weighted_auc,
)
from qrels import FullRanks
from qrels.ranks.full_ranks import CandidateRanks
from runs import InputError
from runs.shared.parallel import processes, single_threaded
from runs.shared.settings import Sizes, Whole, read_by, without_repetition

if TYPE_CHECKING:
    from analyses.shared.work import Work

Floats = NDArray[np.float64]
Draws = Literal["items", "shared", "independent"]
SHARED = {
    "items": "the same items for all systems",
    "shared": "by a random number of each user that the systems share",
    "independent": "independently for each system",
}
"""What systems share in repeated samples."""

Drawing = Literal["uniform", "popular", "half hard", "hard"]

CUTOFFS = range(1, 51)
"""Where the curve of a metric is compared with the true one, as by Li et al. (2023)."""

LARGEST_GROWTH = 5
"""Adaptive samples double so often by default: from 100 to 3,200, as those of Li et al. (2023)."""

ESTIMATORS = ("uncorrected", "rank-estimate(denominator=m+1)", "cls", "bv(gamma=0.1)", "mle")


class Way(NamedTuple):
    """An estimator, and the design of the samples that it is given."""

    estimator: Estimator
    design: SampleDesign


def _one_or_more(value: Any) -> Any:
    return (value,) if isinstance(value, int) else value


class Settings(RankSettings):
    """Metrics estimated from ranks among sampled negatives."""

    removed: ClassVar[Mapping[str, str]] = {
        "in_order": "users are counted until 90 % of the pairs are in order"
    }

    metrics: MetricNames = METRICS
    estimators: Annotated[tuple[str, ...], read_by(read_estimators)] = Field(
        ESTIMATORS, description="Estimators of the exact metrics, with options."
    )
    negatives: Annotated[Sizes, BeforeValidator(_one_or_more)] = Field(
        (100,), min_length=1, description="Numbers of sampled negatives of each user."
    )
    replace: bool = Field(True, strict=True, description="Whether an item may be sampled twice.")
    repeats: Whole = Field(100, ge=2, description="Samples of each system.")
    n_max: Whole | None = Field(
        None,
        description="Largest adaptive samples; default: 32 fold, or a third of the candidates.",
    )
    draws: Draws | None = Field(
        None, description="What systems share; default: items if all are ranked, else shared."
    )
    drawing: Annotated[tuple[Drawing, ...], AfterValidator(without_repetition)] = Field(
        ("uniform",), description="Ways to draw negatives, in studies that train systems."
    )
    users: Whole | None = Field(
        None, ge=1, description="Number of users to plan for; default: as many as in the input."
    )

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        names = {find_estimator(one).name for one in self.estimators}
        draws_items = self.drawing == ("uniform",) or self.draws in (None, "items")
        for holds, rule in (
            (list(self.negatives) == sorted(self.negatives), "`negatives` must rise"),
            (
                "ht-plugin" not in names,
                "HT estimates AUC where drawing = ['popular'], which adds it",
            ),
            (self.n_max is None or "adaptive-mle" in names, "`n_max` is for adaptive-mle alone"),
            (draws_items, "`draws` must be items where `drawing` is not uniform"),
        ):
            if not holds:
                raise ValueError(rule)
        return self

    @property
    def needs(self) -> tuple[str, ...]:
        """Say which ranks of all candidates are needed."""
        if self.draws == "items" or self.drawing != ("uniform",):
            return ("candidate_ranks",)
        return ("all_candidate_ranks",) if self.draws is None else ()

    def check_ranks(self, ranks: FullRanks) -> None:
        """Refuse samples that these users lack."""
        self.ways(ranks)

    def ways(self, ranks: FullRanks) -> list[Way]:
        """Give all estimators for the designs of samples that they are for, adaptive ones last.

        Adaptive samples grow from the first number of negatives.
        """
        found, asked = [], read_estimators(self.estimators)
        for m, drawing in product(self.negatives, self.drawing):
            weighted = drawing in ("popular", "half hard")
            design = SampleDesign((m,), self.replace or weighted, drawing=drawing)
            others = ["uncorrected", *(["ht-plugin"] if weighted and "AUC" in self.metrics else [])]
            estimators = asked if drawing == "uniform" else read_estimators(others)
            found += [Way(one, design) for one in estimators if one.name != "adaptive-mle"]
        for one in asked:
            if one.name == "adaptive-mle" and "uniform" in self.drawing:
                n0 = self.negatives[0] + 1
                ratio = max(int(ranks.n_candidates.min()) / 3 / n0, 1)
                usual = n0 * 2 ** min(int(np.log2(ratio)), LARGEST_GROWTH)
                found.append(Way(one, SampleDesign.growing(n0, self.n_max or usual)))
        for design in dict.fromkeys(way.design for way in found):
            design.check(ranks)
        return found


class SampledSystems(NamedTuple):
    """Systems to be sampled: full ranks, those of all candidates if known, and what they share."""

    systems: Mapping[str, FullRanks]
    every: Mapping[str, CandidateRanks]
    draws: Draws

    @classmethod
    def of(cls, work: Work, draws: Draws | None) -> SampledSystems:
        """Let systems share items: by default if all candidates of all users are ranked.

        If it is asked for, users whose candidates are not all ranked are left out.
        """
        ranked, every = work.full_ranks, work.candidate_ranks if draws in (None, "items") else {}
        if every:
            systems = {name: one.of_relevant(work.qrels) for name, one in every.items()}
            if draws == "items" or len(first_of(systems)) == len(first_of(ranked)):
                return cls(systems, every, "items")
        if draws == "items":
            raise InputError(
                "`draws` must be shared or independent: items are drawn in studies that train "
                "systems, which rank all candidates."
            )
        return cls(ranked, {}, draws or "shared")


POWER = 0.75
"""Of the training ratings, by which popular items are drawn."""


class ItemWeights(NamedTuple):
    """Weights by which popular and hard items are drawn as negatives.

    Half hard draws are from uniform items and from hard ones, as often.
    """

    popularity: Floats
    hard: NDArray[np.int64]

    @classmethod
    def of(cls, sampled: SampledSystems, counts: NDArray[np.intp], m: int) -> ItemWeights:
        """Weigh by training ratings to a power, and find the first m items of the first system."""
        first = next(iter(sampled.systems))
        hard = top_items(sampled.every[first], sampled.systems[first], m=m)
        return cls(np.maximum(counts, 0).astype(np.float64) ** POWER, hard)

    def negatives(self, design: SampleDesign) -> dict[str, Any]:
        """Say how `Negatives` draws them."""
        m = design.sizes[0]
        hard = self.hard[:, :m]
        ways: dict[str, dict[str, Any]] = {
            "popular": {"weigh": lambda _, items: self.popularity[items]},
            "half hard": {"weigh": lambda u, i: 1 / len(i) + np.isin(i, hard[u]) / m},
            "hard": {"fixed": hard},
        }
        return ways.get(design.drawing, {})


def expected_cells(ranks: FullRanks, m: int, replace: bool, path: str) -> Cells:
    """Give the cells as samples of m negatives of some full ranks are expected to fill them."""
    sizes = np.full(len(ranks), m)
    nothing_above = sampled_ranks(ranks, np.zeros_like(sizes), sizes, replace)
    return Cells.of([nothing_above], path=path).expected(ranks)


def expect(estimator: Estimator, cells: Cells, metrics: Metrics) -> Floats:
    """Give what estimates converge to with more and more users: (n_metrics,).

    Without a learned prior it is their expectation. A pooled prior is learned from the cells.
    """
    options = dict(estimator.options)
    if (prior := estimator.prior).startswith("pooled:"):
        options["prior"] = prior.removeprefix("pooled:")
    return Estimator(estimator.name, tuple(options.items())).fit_cells(cells).estimates(metrics)[0]


def relative_error(estimates: Floats, truth: Floats) -> Floats:
    """Compare curves, (..., n_cutoffs), with the true one, in per cent; NaN where that is 0.

    The released code of Li et al. (2023) takes estimates there for right.
    """
    known = np.where(truth == 0, np.nan, truth)
    return np.asarray(100 * np.abs(estimates - truth) / known)


@dataclass(frozen=True, eq=False)
class Trial:
    """One system, sampled again and again, from a first number of the repeat on."""

    ranks: FullRanks
    metrics: tuple[RankMetric, ...]
    repeats: int
    seed: int
    first: int
    every: CandidateRanks | None
    weights: ItemWeights | None

    def draw(self, design: SampleDesign) -> list[SampledRanks]:
        """Draw all repeats."""
        if self.every is None:
            repeats = range(self.first, self.first + self.repeats)
            return [design.draw(self.ranks, seed=self.seed, repeat=repeat) for repeat in repeats]
        how = self.weights.negatives(design) if self.weights else {}
        items = Negatives(self.every, self.ranks, self.repeats, self.seed, design.replace, **how)
        return items.rank(self.every, self.ranks, design.sizes)

    def estimate(self, ways: Sequence[Way]) -> dict[str, NDArray[Any]]:
        """Estimate in all ways; see `Estimates` for the arrays, of one system here."""
        drawn = {design: self.draw(design) for design in dict.fromkeys(w.design for w in ways)}
        count = cache(lambda design, path: Cells.of(drawn[design], path=path))
        expected_of = cache(lambda m, how, path: expected_cells(self.ranks, m, how, path))
        # The metrics, and their curves over cut-offs, each once.
        curves = [
            [replace(metric, cutoff=k) for k in CUTOFFS if metric.name != "AUC"]
            for metric in self.metrics
        ]
        columns = [*dict.fromkeys([*self.metrics, *chain(*curves)])]
        truth, path = np.array([metric.exact(self.ranks) for metric in columns]), path_for(columns)
        own, n_cutoffs = len(self.metrics), len(CUTOFFS)
        found: dict[str, list[Any]] = {name: [] for name in PER_WAY}
        for estimator, design in ways:
            if estimator.name == "ht-plugin":
                values = np.full((self.repeats, len(columns)), np.nan)
                auc = columns.index(RankMetric("AUC"))
                values[:, auc] = [weighted_auc(one).mean() for one in drawn[design]]
            else:
                values = estimator.fit_cells(count(design, path)).estimates(columns)
            expected = values[:, :own].mean(axis=0)
            if not design.adaptive and design.drawing == "uniform":
                cells = expected_of(design.sizes[0], design.replace, path)
                expected = expect(estimator, cells, self.metrics)
            errors = np.full((own, self.repeats, n_cutoffs), np.nan)
            for number, curve in enumerate(curves):
                if curve:
                    at = [columns.index(metric) for metric in curve]
                    errors[number] = relative_error(values[:, at], truth[at])
            lengths = [mean_of_users(s.n_negatives + s.n_relevant, s) for s in drawn[design]]
            by_cutoff, by_repeat = errors.mean(axis=1), mean_of_defined(errors)
            every = (values[:, :own].T, by_repeat, by_cutoff, expected, lengths)
            for name, of_way in zip(PER_WAY, every, strict=True):
                found[name].append(of_way)
        length = max(ways[0].design.sizes) + int(self.ranks.n_relevant.max())
        samples = drawn[ways[0].design]
        counts = sum(np.bincount(one.rank, minlength=length + 1)[1:] for one in samples)
        return {name: np.array(of_ways) for name, of_ways in found.items()} | {
            "exact": truth[:own],
            "sampled_shares": np.asarray(counts / (len(samples) * len(self.ranks))),
        }


PER_WAY = ("estimated", "errors", "errors_by_cutoff", "expected", "scored_by_repeat")


def run_trials(
    work: Work,
    sampled: SampledSystems,
    ways: Sequence[Way],
    metrics: tuple[RankMetric, ...],
    settings: Settings,
) -> dict[str, NDArray[Any]]:
    """Sample the systems, and estimate in all ways, in threads, or on the cluster in use.

    Arrays have the axes of `Estimates`, that of systems after that of metrics.
    """
    weights, repeats = None, settings.repeats
    if settings.drawing != ("uniform",):
        counts = work.popularity_counts["train"]
        weights = ItemWeights.of(sampled, counts, settings.negatives[-1])
    apart = repeats if sampled.draws == "independent" else 0
    trials = []
    for n, (name, ranks) in enumerate(sampled.systems.items()):
        every = sampled.every.get(name)
        trials.append(Trial(ranks, metrics, repeats, work.seed, n * apart, every, weights))
    workers, found = processes(work.n_jobs, return_as="generator", prefer="threads"), []
    # Threads of the linear algebra may change last digits, and slow small matrices.
    with work.progress("Estimating from samples", len(trials)) as bar, single_threaded("blas"):
        for each in workers(delayed(_estimate)(trial, ways) for trial in trials):
            found.append(each)
            bar.advance()
    axes = {"estimated": 2, "errors": 2, "errors_by_cutoff": 2, "scored_by_repeat": 1}
    return {n: np.stack([of[n] for of in found], axis=axes.get(n, -1)) for n in found[0]}


def _estimate(trial: Trial, ways: Sequence[Way]) -> dict[str, NDArray[Any]]:
    with single_threaded("blas"):
        return trial.estimate(ways)
