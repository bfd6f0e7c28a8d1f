"""The experiment: full ranks are sampled again and again, and metrics are estimated from samples.

Each way to estimate, an estimator with its prior and iterations given samples of a design, is tried
on the same samples, by metric, system and repeat.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import product
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Self

import numpy as np
from joblib import delayed
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, model_validator

from analyses.sampled.estimators import (
    Estimator,
    Metrics,
    find_estimator,
    path_for,
    read_estimators,
)
from analyses.sampled.metrics import METRICS, MetricNames, RankMetric
from analyses.sampled.rank_distribution import Cells, distinct_ranks
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
from qrels import FullRanks
from qrels.ranks.full_ranks import CandidateRanks
from runs import InputError
from runs.shared.parallel import processes, single_threaded
from runs.shared.settings import Names, Sizes, Whole, read_by

if TYPE_CHECKING:
    from analyses.shared.work import Work

Floats = NDArray[np.float64]
Draws = Literal["items", "shared", "independent"]
SHARED = {
    "items": ", the same items for all systems",
    "shared": ", by a random number of each user that the systems share",
    "independent": ", independently for each system",
}
"""What systems share in repeated samples."""

DRAWINGS = ("uniform", "popular", "half hard", "hard")

CUTOFFS = range(1, 51)
"""Where the curve of a metric is compared with the true one, as by Li et al. (2023)."""

ESTIMATORS = (
    "uncorrected",
    "rank-estimate(denominator=m+1)",
    "cls(nonnegative=true)",
    "bv(gamma=0.1)",
    "mle(iters=100)",
)


class Way(NamedTuple):
    """An estimator, and the design of the samples that it is given."""

    estimator: Estimator
    design: SampleDesign


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
        description="Ways to draw negatives: uniform; popular (by training ratings, to the power "
        ".75), half hard and hard (top items of the first system) where studies train systems.",
    )
    users: Whole | None = Field(
        None, ge=1, description="Number of users to plan for; default: as many as in the input."
    )
    in_order: float = Field(
        0.9, gt=0.5, lt=1, description="Share of the pairs of systems to be in the true order."
    )

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        names = {find_estimator(one).name for one in self.estimators}
        for one in self.drawing:
            if one not in DRAWINGS:
                raise ValueError(f"`drawing` must be {', '.join(DRAWINGS)}, got {one!r}")
        if list(self.negatives) != sorted(self.negatives):
            raise ValueError(f"`negatives` must rise, got {list(self.negatives)}")
        if "ht-plugin" in names:
            raise ValueError(
                "HT is for samples of known probabilities: drawing = ['popular'] adds it for AUC"
            )
        if self.n_max is not None and "adaptive-mle" not in names:
            raise ValueError("`n_max` would be ignored: it needs adaptive-mle among the estimators")
        if self.drawing != ("uniform",) and self.draws not in (None, "items"):
            raise ValueError(f"`draws` must be items for other than uniform ones, got {self.draws}")
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
        found = []
        for m, drawing in product(self.negatives, self.drawing):
            weighted = drawing in ("popular", "half hard")
            design = SampleDesign((m,), self.replace or weighted, drawing=drawing)
            names = self.estimators if drawing == "uniform" else ("uncorrected",)
            if weighted and "AUC" in self.metrics:
                names = ("uncorrected", "ht-plugin")
            for one in read_estimators(names):
                if one.name != "adaptive-mle":
                    found.append(Way(one, design))
                elif m == self.negatives[0]:
                    growing = SampleDesign.suited(ranks, n0=m + 1, n_max=self.n_max)
                    found.append(Way(one, growing))
        for design in dict.fromkeys(way.design for way in found):
            design.check(ranks)
        return sorted(found, key=lambda way: way.design.adaptive)


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
                "to draw items, it must be known how systems rank all candidates, which studies "
                "that train systems know: `draws` must be shared or independent."
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
        match design.drawing:
            case "popular":
                return {"weigh": lambda _, items: self.popularity[items]}
            case "half hard":
                hard = self.hard[:, :m]
                return {"weigh": lambda u, items: 1 / len(items) + np.isin(items, hard[u]) / m}
            case "hard":
                return {"fixed": self.hard[:, :m]}
        return {}


def moments(ranks: FullRanks, values: Floats, *, replace: bool) -> tuple[Floats, Floats]:
    r"""Give mean and variance over samples of means over users with one relevant item each.

    Each user adds the value, of (m + 1, n_metrics), at the number of negatives above the item; with
    :math:`e = P v` they are :math:`\frac1U \sum_u e(r_u)` and
    :math:`\frac1{U^2} \sum_u [(P v^2)(r_u) - e(r_u)^2]`, of shape (n_metrics,).
    """
    n_users, mean, variance = len(ranks), np.zeros(values.shape[1]), np.zeros(values.shape[1])
    alike = np.zeros(n_users, dtype=np.int64)
    for rows, pmf in distinct_ranks(ranks, alike, m=len(values) - 1, replace=replace):
        means = pmf @ values
        mean += rows[:, 3] @ means
        variance += rows[:, 3] @ np.maximum(pmf @ values**2 - means**2, 0.0)
    return mean / n_users, variance / n_users**2


class Expectation:
    """What estimates from samples of m negatives of some full ranks are expected to be."""

    def __init__(self, ranks: FullRanks, m: int, replace: bool, path: str) -> None:
        sizes = np.full(len(ranks), m)
        nothing_above = SampledRanks(
            ranks.order, ranks.n_candidates, ranks.user, n_negatives=sizes, replace=replace
        )
        self.ranks, self.empty = ranks, Cells.of([nothing_above], path=path)

    @cached_property
    def filled(self) -> Cells:
        """Cells as samples of these ranks are expected to fill them."""
        return self.empty.expected(self.ranks)

    def of(self, estimator: Estimator, metrics: Metrics) -> tuple[Floats, Floats]:
        """Expect estimates, with their variance over samples: (n_metrics,) each.

        Without several relevant items or a learned prior they are exact. Others are what estimates
        converge to with more and more users, of unknown variance (NaN): a pooled prior is learned
        from samples as they are expected.
        """
        prior = estimator.prior
        if estimator.is_linear and prior in ("", "uniform") and self.empty.has_single_items:
            values = estimator.fit_cells(self.empty).corrected(metrics)
            return moments(self.ranks, values, replace=self.empty.kernels[0].replace)
        if prior.startswith("pooled:"):
            options = dict(estimator.options) | {"prior": prior.removeprefix("pooled:")}
            estimator = Estimator(estimator.name, tuple(options.items()))
        found = estimator.fit_cells(self.filled, true=self.ranks).estimates(metrics)[0]
        return found, np.full(len(metrics), np.nan)


def relative_error(estimates: Floats, truth: Floats) -> Floats:
    """Compare curves, (..., n_cutoffs), with the true one, in per cent; NaN where that is 0.

    The released code of Li et al. (2023) takes estimates there for right.
    """
    known = np.where(truth == 0, np.nan, truth)
    return np.asarray(100 * np.abs(estimates - truth) / known)


def mean_of_known(values: Floats) -> Floats:
    """Average over the last axis what is not NaN; NaN where nothing is known."""
    known = ~np.isnan(values)
    sums, counts = np.where(known, values, 0.0).sum(axis=-1), known.sum(axis=-1)
    return np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)


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

    @cached_property
    def columns(self) -> list[RankMetric]:
        """All that is estimated: the metrics, and their curves over cut-offs, each once."""
        curves = [metric for metric in self.metrics if metric.name != "AUC"]
        of_curves = [replace(metric, cutoff=k) for metric in curves for k in CUTOFFS]
        return [*dict.fromkeys([*self.metrics, *of_curves])]

    @cached_property
    def truth(self) -> Floats:
        """Every column among all candidates."""
        return np.array([metric.exact(self.ranks) for metric in self.columns])

    def curve(self, metric: RankMetric) -> list[int]:
        """Find a metric at all cut-offs among the columns; nothing for AUC."""
        if metric.name == "AUC":
            return []
        return [self.columns.index(replace(metric, cutoff=k)) for k in CUTOFFS]

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
        expect = cache(lambda m, replace, path: Expectation(self.ranks, m, replace, path))
        own, found = [*range(len(self.metrics))], []
        curves = [*map(self.curve, self.metrics)]
        for estimator, design in ways:
            samples, path = drawn[design], path_for(self.columns)
            if estimator.prior == "true":
                path = "full"
            if estimator.name == "ht-plugin":
                values = np.full((self.repeats, len(self.columns)), np.nan)
                auc = self.columns.index(RankMetric("AUC"))
                values[:, auc] = [weighted_auc(one).mean() for one in samples]
            else:
                fits = estimator.fit_cells(count(design, path), true=self.ranks)
                values = fits.estimates(self.columns)
            expected, variance = values[:, own].mean(axis=0), np.full(len(own), np.nan)
            if not design.adaptive and design.drawing == "uniform":
                expectation = expect(design.sizes[0], design.replace, path)
                expected, variance = expectation.of(estimator, self.metrics)
            errors = np.full((len(own), self.repeats, len(CUTOFFS)), np.nan)
            for number, curve in enumerate(curves):
                if curve:
                    errors[number] = relative_error(values[:, curve], self.truth[curve])
            lengths = [mean_of_users(one.n_negatives + one.n_relevant, one) for one in samples]
            found.append(
                {
                    "estimated": values[:, own].T,
                    "errors": mean_of_known(errors),
                    "errors_by_cutoff": errors.mean(axis=1),
                    "expected": expected,
                    "expected_variance": variance,
                    "scored_by_repeat": np.array(lengths),
                }
            )
        return {name: np.array([each[name] for each in found]) for name in found[0]} | {
            "exact": self.truth[own],
            "zero_cutoffs": np.array([(self.truth[curve] == 0).sum() for curve in curves]),
            "spread": np.array([metric.of_users(self.ranks).std() for metric in self.metrics]),
            "sampled_shares": self._sampled_shares(ways[0].design, drawn[ways[0].design]),
        }

    def _sampled_shares(self, design: SampleDesign, samples: Sequence[SampledRanks]) -> Floats:
        length = design.sizes[-1] + int(self.ranks.n_relevant.max())
        counts = sum(np.bincount(one.rank, minlength=length + 1)[1:] for one in samples)
        return np.asarray(counts / (len(samples) * len(self.ranks)))


def run_trials(
    work: Work,
    sampled: SampledSystems,
    ways: Sequence[Way],
    metrics: tuple[RankMetric, ...],
    repeats: int,
    weights: ItemWeights | None,
) -> dict[str, NDArray[Any]]:
    """Sample the systems, and estimate in all ways, in threads, or on the cluster in use.

    Arrays have the axes of `Estimates`, that of systems after that of metrics.
    """
    apart = repeats if sampled.draws == "independent" else 0
    trials = [
        Trial(ranks, metrics, repeats, work.seed, n * apart, sampled.every.get(name), weights)
        for n, (name, ranks) in enumerate(sampled.systems.items())
    ]
    workers, found = processes(work.n_jobs, return_as="generator", prefer="threads"), []
    # Threads of the linear algebra may change last digits, and slow small matrices.
    with work.progress("Estimating from samples", len(trials)) as bar, single_threaded("blas"):
        for each in workers(delayed(_estimate)(trial, ways) for trial in trials):
            found.append(each)
            bar.advance()
    axes = {"estimated": 2, "errors": 2}
    axes |= {"errors_by_cutoff": 2, "scored_by_repeat": 1}
    return {n: np.stack([of[n] for of in found], axis=axes.get(n, -1)) for n in found[0]}


def _estimate(trial: Trial, ways: Sequence[Way]) -> dict[str, NDArray[Any]]:
    with single_threaded("blas"):
        return trial.estimate(ways)
