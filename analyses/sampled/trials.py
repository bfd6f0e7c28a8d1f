"""The experiment: full ranks are sampled again and again, and metrics are estimated from samples.

Each way to estimate, an estimator with its prior and iterations given samples of a design, is tried
on the same samples, by metric, system and repeat.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import chain, product
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from analyses.ordering.agreement import mean_of_defined
from analyses.sampled.estimators import Estimator, find_estimator, read_estimators
from analyses.sampled.metrics import METRICS, MetricNames, RankMetric, read_metrics
from analyses.sampled.rank_distribution import Cells
from analyses.sampled.samples import (
    Negatives,
    RankSettings,
    SampleDesign,
    SampledRanks,
    first_of,
    mean_of_users,
    top_items,
    weighted_auc,
)
from analyses.shared.analysis import Need
from qrels import FullRanks
from qrels.ranks.full_ranks import CandidateRanks
from runs import InputError
from runs.shared.arrays import Floats, Longs
from runs.shared.parallel import delayed, process_pool, single_threaded
from runs.shared.settings import Repeats, Sizes, Whole, accepted_by, without_repetition
from runs.shared.streams import random_uniforms

if TYPE_CHECKING:
    from analyses.shared.work import Work

Ranked: TypeAlias = Mapping[str, FullRanks]
Draws = Literal["items", "shared", "independent"]
"""What systems share: sampled items, or the random number of each user, or nothing."""

Drawing = Literal["uniform", "popular", "half hard", "hard"]

CUTOFFS = range(1, 51)
"""Where the curve of a metric is compared with the true one, as by Li et al. (2023)."""

LARGEST_GROWTH = 5
"""Adaptive samples double so often by default: from 100 to 3,200, as those of Li et al. (2023)."""

ESTIMATORS = ("uncorrected", "rank-estimate(denominator=m+1)", "cls", "bv(gamma=0.1)", "mle")


Way: TypeAlias = tuple[Estimator, SampleDesign]
"""An estimator, and the design of the samples that it is given."""


class Settings(RankSettings):
    """Metrics estimated from ranks among sampled negatives."""

    metrics: MetricNames = METRICS
    estimators: Annotated[tuple[str, ...], accepted_by(read_estimators)] = Field(
        ESTIMATORS, min_length=1, description="Estimators of the exact metrics, with options."
    )
    negatives: Annotated[
        Sizes, BeforeValidator(lambda of: (of,) if isinstance(of, int) else of)
    ] = Field((100,), min_length=1, description="Numbers of negatives to sample for each user.")
    replace: bool = Field(True, strict=True, description="Sample negatives with replacement.")
    repeats: Repeats = Field(100, ge=2, description="Number of samples of each system.")
    n_max: Whole | None = Field(
        None,
        description="Largest adaptive samples; default: 32 times n0, or 1/3 of the candidates.",
    )
    draws: Draws | None = Field(
        None, description="What systems share; default: items if all are ranked, else shared."
    )
    ties: Literal["by item", "random"] = Field(
        "by item", description="Order of items with equal scores: one, or random in each sample."
    )
    drawing: Annotated[tuple[Drawing, ...], AfterValidator(without_repetition)] = Field(
        ("uniform",), description="Sampling strategies, in studies that train systems."
    )
    users: Whole | None = Field(
        None, ge=1, description="Number of users to plan for; default: as many as in the input."
    )

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        names = {find_estimator(one).name for one in self.estimators}
        if list(self.negatives) != sorted(self.negatives):
            raise ValueError("`negatives` must rise")
        if "ht-plugin" in names:
            raise ValueError("ht-plugin is added by drawing = ['popular'] for AUC; leave it out")
        if self.n_max is not None and "adaptive-mle" not in names:
            raise ValueError("`n_max` needs the estimator adaptive-mle")
        if self.drawing != ("uniform",) and self.draws not in (None, "items"):
            raise ValueError("`draws` must be items if `drawing` is not uniform")
        if self.ties == "random" and self.draws not in ("shared", "independent"):
            raise ValueError("`ties = 'random'` needs `draws = 'shared'` or 'independent'")
        return self

    @property
    def needs(self) -> tuple[Need, ...]:
        """Which ranks of all candidates are needed."""
        if self.draws == "items" or self.drawing != ("uniform",):
            return (Need.CANDIDATE_RANKS,)
        return (Need.ALL_CANDIDATE_RANKS,) if self.draws is None else ()

    def samples(self, ranks: FullRanks) -> list[Way]:
        """Give all estimators for the designs of samples that they are for, adaptive ones last.

        Adaptive samples grow from the first number of negatives.
        """
        found, asked = [], read_estimators(self.estimators)
        for m, drawing in product(self.negatives, self.drawing):
            weighted = drawing in ("popular", "half hard")
            design = SampleDesign((m,), self.replace or weighted, drawing=drawing)
            others = ["uncorrected", *["ht-plugin"][: weighted and "AUC" in self.metrics]]
            estimators = asked if drawing == "uniform" else read_estimators(others)
            found += [(one, design) for one in estimators if one.name != "adaptive-mle"]
        n0 = self.negatives[0] + 1
        ratio = max(int(ranks.n_candidates.min()) / 3 / n0, 1)
        usual = n0 * 2 ** min(int(np.log2(ratio)), LARGEST_GROWTH)
        for one in asked:
            if one.name == "adaptive-mle" and "uniform" in self.drawing:
                found.append((one, SampleDesign.growing(n0, self.n_max or usual)))
        for _, design in found:
            design.check(ranks)
        return found


POWER = 0.75
"""Of the training ratings, by which popular items are drawn."""


class ItemWeights(NamedTuple):
    """What popular and hard items are drawn by, as negatives.

    ``popularity`` is by item, and ``hard`` are the first items of a system for each user. Half hard
    draws are from uniform items and from hard ones, as often.
    """

    popularity: Floats
    hard: Longs

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
    has_random_ties: bool

    @cached_property
    def of_repeats(self) -> Mapping[int, FullRanks]:
        """The full ranks by number of the repeat: the same, but for ties in random order."""
        repeats, ranks = range(self.first, self.first + self.repeats), self.ranks
        if not self.has_random_ties:
            return dict.fromkeys(repeats, ranks)
        uniforms = (random_uniforms(ranks.user, self.seed, "ties", repeat) for repeat in repeats)
        return dict(zip(repeats, map(ranks.with_ties_by, uniforms), strict=True))

    def draw(self, design: SampleDesign) -> list[SampledRanks]:
        """Draw all repeats."""
        if self.every is None:
            every = self.of_repeats.items()
            return [design.draw(ranks, seed=self.seed, repeat=repeat) for repeat, ranks in every]
        how = self.weights.negatives(design) if self.weights else {}
        items = Negatives(self.every, self.ranks, self.repeats, self.seed, design.replace, **how)
        return items.rank(self.every, self.ranks, design.sizes)

    def estimate(self, ways: Sequence[Way]) -> dict[str, NDArray[Any]]:
        """Estimate in all ways; see `Estimates` for the arrays, of one system here."""
        drawn = {design: self.draw(design) for design in dict.fromkeys(d for _, d in ways)}
        # The metrics, and their curves over cut-offs, each once.
        curves = [
            [replace(metric, cutoff=k) for k in CUTOFFS if metric.name != "AUC"]
            for metric in self.metrics
        ]
        columns, own = [*dict.fromkeys([*self.metrics, *chain(*curves)])], len(self.metrics)
        orders = [*dict.fromkeys(self.of_repeats.values())]
        truth = np.array([np.mean([metric.exact(one) for one in orders]) for metric in columns])
        count = cache(lambda design: Cells.of(drawn[design]))
        expect = cache(lambda m, replace: Cells.expected(self.ranks, m, replace))
        rows: list[tuple[Any, ...]] = []
        for estimator, design in ways:
            if estimator.name == "ht-plugin":
                values = np.full((self.repeats, len(columns)), np.nan)
                auc = columns.index(RankMetric("AUC"))
                values[:, auc] = [weighted_auc(one).mean() for one in drawn[design]]
            else:
                values = estimator.fit_cells(count(design)).estimates(columns)
            expected = values[:, :own].mean(axis=0)
            if not (design.adaptive or self.has_random_ties) and design.drawing == "uniform":
                cells = expect(design.sizes[0], design.replace)
                expected = estimator.fit_cells(cells).estimates(self.metrics)[0]
            errors = np.full((own, self.repeats, len(CUTOFFS)), np.nan)
            for number, curve in enumerate(curves):
                at = [columns.index(metric) for metric in curve]
                errors[number, :, : len(at)] = relative_error(values[:, at], truth[at])
            scored = [mean_of_users(s.n_negatives + s.n_relevant, s) for s in drawn[design]]
            means = mean_of_defined(errors), errors.mean(axis=1)
            rows.append((values[:, :own].T, *means, expected, [scored]))
        (_, first), *_ = ways
        ranks = np.concatenate([one.rank for one in drawn[first]])
        length = max(first.sizes) + int(self.ranks.n_relevant.max())
        shares = np.bincount(ranks, minlength=length + 1)[1:] / len(ranks)
        found = dict(zip(PER_WAY, map(np.array, zip(*rows, strict=True)), strict=True))
        return found | {"exact": truth[:own], "sampled_shares": shares}


PER_WAY = ("estimated", "errors", "errors_by_cutoff", "expected", "scored")


def _ranked_systems(work: Work, draws: Draws | None) -> tuple[Ranked, Mapping[str, CandidateRanks]]:
    """Give the full ranks of systems, and those of all candidates if systems share items.

    They do by default if all candidates of all users are ranked. If it is asked for, users whose
    candidates are not all ranked are left out.
    """
    every = work.candidate_ranks if draws in (None, "items") else {}
    systems = {name: one.relevant_ranks(work.qrels) for name, one in every.items()}
    if every and (draws or len(first_of(systems)) == len(first_of(work.full_ranks))):
        return systems, every
    if draws == "items":
        raise InputError(
            "`draws` must be shared or independent: items are drawn in studies that train "
            "systems, which rank all candidates."
        )
    return work.full_ranks, {}


def trials_of(work: Work, settings: Settings) -> tuple[dict[str, Trial], Draws]:
    """Give a trial of each system, and what systems share."""
    is_uniform = settings.drawing == ("uniform",)
    systems, every = _ranked_systems(work, settings.draws if is_uniform else "items")
    draws: Draws = "items" if every else settings.draws or "shared"
    weights, first = None, next(iter(systems))
    if not is_uniform:
        hard = top_items(every[first], systems[first], m=settings.negatives[-1])
        popularity = np.maximum(work.popularity_counts["train"], 0.0) ** POWER
        weights = ItemWeights(popularity, hard)
    metrics, repeats = read_metrics(settings.metrics), settings.repeats
    apart = repeats if draws == "independent" else 0
    last = weights, settings.ties == "random"
    return {
        name: Trial(ranks, metrics, repeats, work.seed, n * apart, every.get(name), *last)
        for n, (name, ranks) in enumerate(systems.items())
    }, draws


def run_trials(work: Work, trials: Sequence[Trial], ways: Sequence[Way]) -> dict[str, Any]:
    """Sample the systems, and estimate in all ways, in threads, or on the cluster in use.

    Arrays have the axes of `Estimates`, that of systems after that of metrics.
    """
    workers = process_pool(work.n_jobs, return_as="generator", prefer="threads")
    # Threads of the linear algebra may change last digits, and slow small matrices.
    with single_threaded("blas"):
        estimated = workers(delayed(trial.estimate)(ways) for trial in trials)
        found = [*work.steps("Estimating from samples", len(trials), estimated)]
    return {n: np.stack([of[n] for of in found], axis=1 + (n in PER_WAY)) for n in found[0]}
