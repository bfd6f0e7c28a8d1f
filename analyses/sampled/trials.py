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

Likelihood = Literal["as drawn", "binomial", "hypergeometric"]
"""Distribution of a sampled rank given the full one: of the draws, with replacement, without."""

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
    likelihood: Likelihood = Field(
        "as drawn",
        description="Distribution of sampled ranks that estimators assume: that of the draws, "
        "binomial (with replacement) or hypergeometric (without).",
    )
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
    def _check_combinations(self) -> Self:
        """Refuse, with ValueError, settings that do not fit each other.

        Negatives must rise; ``ht-plugin`` must not be listed; ``n_max`` needs adaptive-mle;
        drawings other than uniform need shared items, which random ties do not allow.
        """
        names = {find_estimator(estimator).name for estimator in self.estimators}
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
        """List all ways, pairs of an estimator and the design of its samples, adaptive ones last.

        For each number of negatives and drawing: all estimators but adaptive-mle if it is uniform,
        else no correction, and ht-plugin for AUC if items are drawn by weights. Adaptive samples
        grow from the first number of negatives. Refuse, with InputError, designs that the users of
        these ranks do not allow: more negatives than irrelevant candidates, and adaptive samples
        for several relevant items.
        """
        estimators = read_estimators(self.estimators)
        ways: list[Way] = []
        for m, drawing in product(self.negatives, self.drawing):
            # Items are drawn by weights only with replacement.
            is_weighted = drawing in ("popular", "half hard")
            design = SampleDesign((m,), self.replace or is_weighted, drawing=drawing)
            if drawing == "uniform":
                usable = [estimator for estimator in estimators if estimator.name != "adaptive-mle"]
            elif is_weighted and "AUC" in self.metrics:
                usable = list(read_estimators(["uncorrected", "ht-plugin"]))
            else:
                usable = list(read_estimators(["uncorrected"]))
            ways += [(estimator, design) for estimator in usable]
        for estimator in estimators:
            if estimator.name == "adaptive-mle" and "uniform" in self.drawing:
                ways.append((estimator, self._adaptive_design(ranks)))
        for _, design in ways:
            design.check(ranks)
        return ways

    def _adaptive_design(self, ranks: FullRanks) -> SampleDesign:
        """Design samples that double from the first number of negatives and the relevant item.

        Up to ``n_max`` items. By default up to 32 times the first size, but to no more than a third
        of the candidates of any user. InputError if n_max is not the first size times a power of 2.
        """
        n0 = self.negatives[0] + 1
        ratio = max(int(ranks.n_candidates.min()) / 3 / n0, 1)
        n_doublings = min(int(np.log2(ratio)), LARGEST_GROWTH)
        return SampleDesign.growing(n0, self.n_max or n0 * 2**n_doublings)


POWER = 0.75
"""Of the training ratings, by which popular items are drawn."""


class ItemWeights(NamedTuple):
    """Weights by which popular and hard items are drawn as negatives.

    ``popularity`` is by item, (n_items,), and ``hard`` are the first items of a system for each
    user, (n_users, n). Half hard draws are from uniform items and from hard ones, as often.
    """

    popularity: Floats
    hard: Longs

    def negatives(self, design: SampleDesign) -> dict[str, Any]:
        """Choose the arguments of `Negatives` for the drawing of a design.

        For "popular" and "half hard" ``weigh``, a function of a user and numbers of items (n,) to
        weights (n,); for "hard" ``fixed``, the first m items of each user, (n_users, m); else none.
        ``self.popularity`` is the weight of each item, (n_items,), and ``self.hard`` the first
        irrelevant items of each user, (n_users, n), by the ranking of one system.
        """
        m = design.sizes[0]
        hard_items = self.hard[:, :m]

        def by_popularity(_: int, items: Longs) -> Floats:
            return self.popularity[items]

        def half_hard(user: int, items: Longs) -> Floats:
            # Weights of all candidates add up to 1, and those of the m hard items to 1 more.
            return 1 / len(items) + np.isin(items, hard_items[user]) / m

        match design.drawing:
            case "popular":
                return {"weigh": by_popularity}
            case "half hard":
                return {"weigh": half_hard}
            case "hard":
                return {"fixed": hard_items}
        return {}


def relative_error(estimates: Floats, truth: Floats) -> Floats:
    """Compare curves, (..., n_cutoffs), with the true one, in per cent; NaN where that is 0.

    The released code of Li et al. (2023) takes estimates there as right.
    """
    denominator = np.where(truth == 0, np.nan, truth)
    return np.asarray(100 * np.abs(estimates - truth) / denominator)


class WayEstimates(NamedTuple):
    """Estimates of one system in one way, as arrays of `Estimates` without the other axes.

    ``estimated`` and ``errors`` are of shape (n_metrics, n_repeats), ``errors_by_cutoff`` of
    (n_metrics, n_cutoffs), ``expected`` of (n_metrics,), and ``scored`` of (1, n_repeats).
    """

    estimated: Floats
    errors: Floats
    errors_by_cutoff: Floats
    expected: Floats
    scored: Floats


@dataclass(frozen=True, eq=False)
class Trial:
    """One system, whose ranks are sampled repeatedly, from a first number of the repeat on.

    ``candidate_ranks``: the ranks of all candidates, if systems share sampled items, else None.
    ``weights``: those of items, if some drawing is not uniform, else None. ``likelihood``: the
    distribution of sampled ranks that estimators assume (`Settings`).
    """

    ranks: FullRanks
    metrics: tuple[RankMetric, ...]
    repeats: int
    seed: int
    first_repeat: int
    candidate_ranks: CandidateRanks | None
    weights: ItemWeights | None
    has_random_ties: bool
    likelihood: Likelihood

    @cached_property
    def ranks_by_repeat(self) -> Mapping[int, FullRanks]:
        """The full ranks by number of the repeat: the same, but for ties in random order."""
        repeats = range(self.first_repeat, self.first_repeat + self.repeats)
        if not self.has_random_ties:
            return dict.fromkeys(repeats, self.ranks)
        return {
            repeat: self.ranks.with_ties_by(
                random_uniforms(self.ranks.user, self.seed, "ties", repeat)
            )
            for repeat in repeats
        }

    def draw(self, design: SampleDesign) -> list[SampledRanks]:
        """Draw the samples of all repeats, a list.

        If the ranks of all candidates are known, items are drawn, which systems share, by weights
        if there are any; otherwise the numbers of negatives above the relevant items.
        """
        if self.candidate_ranks is None:
            return [
                design.draw(ranks, seed=self.seed, repeat=repeat)
                for repeat, ranks in self.ranks_by_repeat.items()
            ]
        drawing = self.weights.negatives(design) if self.weights else {}
        negatives = Negatives(
            self.candidate_ranks, self.ranks, self.repeats, self.seed, design.replace, **drawing
        )
        return negatives.rank(self.candidate_ranks, self.ranks, design.sizes)

    def curve(self, metric: RankMetric) -> list[RankMetric]:
        """List a metric at the cut-offs 1 to 50; nothing for AUC."""
        if metric.name == "AUC":
            return []
        return [replace(metric, cutoff=cutoff) for cutoff in CUTOFFS]

    @cached_property
    def columns(self) -> list[RankMetric]:
        """All metrics that are estimated, each once: those of the study, then of the curves."""
        curves = [self.curve(metric) for metric in self.metrics]
        return list(dict.fromkeys([*self.metrics, *chain(*curves)]))

    @cached_property
    def truth(self) -> Floats:
        """Exact values of `columns`, in the mean over random orders of ties: (n_columns,)."""
        orders = list(dict.fromkeys(self.ranks_by_repeat.values()))
        return np.array(
            [np.mean([metric.exact(ranks) for ranks in orders]) for metric in self.columns]
        )

    def estimate(self, ways: Sequence[Way]) -> dict[str, NDArray[Any]]:
        """Estimate the metrics of this system in all ways: arrays by the names of `Estimates`.

        Ways are pairs of an estimator and a design of samples; those of one design share samples.
        "estimated", "errors", "errors_by_cutoff", "expected" and "scored" have the ways as their
        first axis (see `WayEstimates`); "exact" is of shape (n_metrics,), and "sampled_shares", of
        the samples of the first way, of (n_ranks,). "expected" is the estimate from expected counts
        for uniform samples of one size and ties in one order, else the mean over the repeats.
        ``self.columns`` are the metrics of the study, then those of their curves, and
        ``self.truth`` are their exact values, (n_columns,).
        """
        designs = dict.fromkeys(design for _, design in ways)
        samples = {design: self.draw(design) for design in designs}
        # Ways of one design share the counts of samples, each computed once.
        count = cache(lambda design: self._assume(Cells.of(samples[design]), design))
        expect = cache(
            lambda design: self._assume(
                Cells.expected(self.ranks, design.sizes[0], design.replace), design
            )
        )
        estimates = []
        for estimator, design in ways:
            if estimator.name == "ht-plugin":
                values = self._weighted_estimates(samples[design])
            else:
                values = estimator.fit_cells(count(design)).estimates(self.columns)
            expected = values[:, : len(self.metrics)].mean(axis=0)
            if not (design.adaptive or self.has_random_ties) and design.drawing == "uniform":
                (expected,) = estimator.fit_cells(expect(design)).estimates(self.metrics)
            estimates.append(self._way_estimates(values, expected, samples[design]))
        arrays: dict[str, NDArray[Any]] = {}
        for name in PER_WAY:
            arrays[name] = np.array([getattr(way, name) for way in estimates])
        arrays["exact"] = self.truth[: len(self.metrics)]
        _, first_design = ways[0]
        arrays["sampled_shares"] = self._shares_of_ranks(first_design, samples[first_design])
        return arrays

    def _assume(self, cells: Cells, design: SampleDesign) -> Cells:
        """Have estimators assume the likelihood of the settings for cells of a design's samples.

        Adaptive samples and those that are not uniform keep the distribution of their draws.
        """
        is_fixed = self.likelihood == "as drawn" or design.adaptive
        if is_fixed or design.drawing != "uniform":
            return cells
        return cells.assuming(with_replacement=self.likelihood == "binomial")

    def _weighted_estimates(self, samples: Sequence[SampledRanks]) -> Floats:
        """Estimate AUC from negatives with probabilities: (n_repeats, n_columns).

        Columns are the metrics of `columns`; all but AUC are NaN. ``samples``: one for each repeat.
        """
        values = np.full((self.repeats, len(self.columns)), np.nan)
        auc = self.columns.index(RankMetric("AUC"))
        values[:, auc] = [weighted_auc(sample).mean() for sample in samples]
        return values

    def _way_estimates(
        self, values: Floats, expected: Floats, samples: Sequence[SampledRanks]
    ) -> WayEstimates:
        """Compute relative errors (%) of curves, and numbers of scored items, of one way.

        ``values``: estimates of shape (n_repeats, n_columns), in the order of `columns`, whose
        first n_metrics are those of the study; ``expected``: of (n_metrics,), passed on;
        ``samples``: one for each repeat. A curve is a metric at the cut-offs 1 to 50. Errors are a
        mean over cut-offs whose exact value is not 0; NaN if there is none, and for AUC, which has
        no curve. Errors by cut-off, a mean over repeats, are NaN where the exact value is 0.
        """
        n_metrics = len(self.metrics)
        errors = np.full((n_metrics, self.repeats, len(CUTOFFS)), np.nan)
        for number, metric in enumerate(self.metrics):
            curve_columns = [self.columns.index(at_cutoff) for at_cutoff in self.curve(metric)]
            curve_errors = relative_error(values[:, curve_columns], self.truth[curve_columns])
            errors[number, :, : len(curve_columns)] = curve_errors
        scored = [
            mean_of_users(sample.n_negatives + sample.n_relevant, sample) for sample in samples
        ]
        return WayEstimates(
            estimated=values[:, :n_metrics].T,
            errors=mean_of_defined(errors),
            errors_by_cutoff=errors.mean(axis=1),
            expected=expected,
            scored=np.array([scored]),
        )

    def _shares_of_ranks(self, design: SampleDesign, samples: Sequence[SampledRanks]) -> Floats:
        """Compute the shares of the relevant items at rank 1, 2, ... of samples of a design.

        Over all repeats. Of shape (n_ranks,), up to the last rank that is possible: the largest
        size plus the largest number of relevant items.
        """
        ranks = np.concatenate([sample.rank for sample in samples])
        n_ranks = max(design.sizes) + int(self.ranks.n_relevant.max())
        counts = np.bincount(ranks, minlength=n_ranks + 1)
        return counts[1:] / len(ranks)


PER_WAY = WayEstimates._fields
"""Arrays of a trial that have an axis of ways."""


def _ranked_systems(work: Work, draws: Draws | None) -> tuple[Ranked, Mapping[str, CandidateRanks]]:
    """Look up the full ranks of systems, and those of all candidates if systems share items.

    The first result has ranks of relevant items by system, the second those of all candidates,
    or is empty if systems do not share sampled items. By default (``draws`` None) they do if all
    candidates of all users are ranked. With "items" they do, and users whose candidates are not all
    ranked are left out: InputError if no system ranks all candidates.
    """
    candidate_ranks = work.candidate_ranks if draws in (None, "items") else {}
    systems = {name: ranks.relevant_ranks(work.qrels) for name, ranks in candidate_ranks.items()}
    if candidate_ranks:
        if draws is not None:
            return systems, candidate_ranks
        has_all_items = len(first_of(systems)) == len(first_of(work.full_ranks))
        if has_all_items:
            return systems, candidate_ranks
    if draws == "items":
        raise InputError(
            "`draws` must be shared or independent: items are drawn in studies that train "
            "systems, which rank all candidates."
        )
    return work.full_ranks, {}


def trials_of(work: Work, settings: Settings) -> tuple[dict[str, Trial], Draws]:
    """Prepare a trial of each system by name, and settle what systems share.

    The second result: "items" (sampled items), "shared" (the random number of each user) or
    "independent" (nothing). Independent systems have other numbers of repeats, which key their
    random numbers. Weights of items, by popularity in training to the power 0.75, are there if a
    drawing is not uniform. InputError if items are
    to be shared or weighted, and no system ranks all candidates, and if the last number of
    negatives is above a user's irrelevant candidates.
    """
    is_uniform = settings.drawing == ("uniform",)
    systems, candidate_ranks = _ranked_systems(work, settings.draws if is_uniform else "items")
    draws: Draws = "items" if candidate_ranks else settings.draws or "shared"
    weights = None
    if not is_uniform:
        # Hard items are those of the first system, for all systems.
        first, *_ = systems
        hard = top_items(candidate_ranks[first], systems[first], m=settings.negatives[-1])
        popularity = np.maximum(work.popularity_counts["train"], 0.0) ** POWER
        weights = ItemWeights(popularity, hard)
    metrics = read_metrics(settings.metrics)
    repeats = settings.repeats
    repeats_apart = repeats if draws == "independent" else 0
    trials = {
        name: Trial(
            ranks=ranks,
            metrics=metrics,
            repeats=repeats,
            seed=work.seed,
            first_repeat=number * repeats_apart,
            candidate_ranks=candidate_ranks.get(name),
            weights=weights,
            has_random_ties=settings.ties == "random",
            likelihood=settings.likelihood,
        )
        for number, (name, ranks) in enumerate(systems.items())
    }
    return trials, draws


def run_trials(work: Work, trials: Sequence[Trial], ways: Sequence[Way]) -> dict[str, Any]:
    """Sample the systems, and estimate in all ways, in threads, or on the cluster in use.

    Arrays by the names of fields of `Estimates`, with the axes stated there: systems come after
    ways and metrics.
    """
    workers = process_pool(work.n_jobs, return_as="generator", prefer="threads")
    # Threads of the linear algebra may change last digits, and slow small matrices.
    with single_threaded("blas"):
        estimated = workers(delayed(trial.estimate)(ways) for trial in trials)
        by_system = list(work.steps("Estimating from samples", len(trials), estimated))
    arrays = {}
    for name in by_system[0]:
        system_axis = 2 if name in PER_WAY else 1
        system_arrays = [system[name] for system in by_system]
        arrays[name] = np.stack(system_arrays, axis=system_axis)
    return arrays
