"""The experiment: full ranks are sampled again and again, and metrics are estimated from samples.

Each way to estimate, an estimator with its prior and iterations given samples of a design, is tried
on the same samples, by metric, system and repeat.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from joblib import delayed
from numpy.typing import NDArray

from analyses.sampled.estimators import TRUE, Estimator, path_for, weighted_auc
from analyses.sampled.expectation import empty_cells, expected_estimates, first_of
from analyses.sampled.labels import mean_of_users
from analyses.sampled.metrics import RankMetric
from analyses.sampled.rank_distribution import Cells
from analyses.sampled.samples import Negatives, SampleDesign, SampledRanks, top_items
from qrels import FullRanks
from qrels.ranks.full_ranks import CandidateRanks
from runs import InputError
from runs.shared.parallel import processes, single_threaded

if TYPE_CHECKING:
    from analyses.shared.work import Work

Floats = NDArray[np.float64]
Draws = Literal["items", "shared", "independent"]
Drawing = Literal["uniform", "popular", "half hard", "hard"]

CUTOFFS = range(1, 51)
"""Where the curve of a metric is compared with the true one, as by Li et al. (2023)."""


class Way(NamedTuple):
    """An estimator, and the design of the samples that it is given."""

    estimator: Estimator
    design: SampleDesign


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
        given = cls(work.full_ranks, {}, draws or "shared")
        if draws not in (None, "items"):
            return given
        found, every = None, work.candidate_ranks
        if every:
            ranks = {name: one.of_relevant(work.qrels) for name, one in every.items()}
            found = cls(ranks, every, "items")
        is_whole = found and len(first_of(found.systems)) == len(first_of(given.systems))
        if draws is None and not is_whole:
            return given
        if not found:
            raise InputError(
                "to draw items, it must be known how systems rank all candidates, which studies "
                "that train systems know: `draws` must be shared or independent."
            )
        return found


class ItemWeights(NamedTuple):
    """Weights by which popular and hard items are drawn as negatives.

    Half hard draws are from uniform items and from hard ones, as often.
    """

    popularity: Floats
    hard: NDArray[np.int64]

    @classmethod
    def of(
        cls, sampled: SampledSystems, counts: NDArray[np.intp], m: int, power: float, hard_by: str
    ) -> ItemWeights:
        """Weigh by training ratings to a power, and find the first m items of a system."""
        hard = top_items(sampled.every[hard_by], sampled.systems[hard_by], m=m)
        return cls(np.maximum(counts, 0).astype(np.float64) ** power, hard)

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


def relative_error(estimates: Floats, truth: Floats) -> Floats:
    r"""Compare curves, (..., n_cutoffs), with the true one, in per cent: the same shape.

    .. math:: 100 \frac{|\hat M@K - M@K|}{M@K}

    It is NaN at cut-offs where the truth is 0. The released code of Li et al. (2023) takes
    estimates there for right.
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
    """One system, sampled again and again, from a first number of the repeat on.

    Systems share the random numbers of a repeat, if they have the same first one; or the items, if
    it is known how the system ranks all candidates.
    """

    ranks: FullRanks
    metrics: tuple[RankMetric, ...]
    repeats: int
    seed: int
    first: int
    every: CandidateRanks | None
    weights: ItemWeights | None

    @cached_property
    def curves(self) -> list[list[RankMetric]]:
        """Each metric at all cut-offs; nothing for AUC."""
        return [
            [] if metric.name == "AUC" else [replace(metric, cutoff=k) for k in CUTOFFS]
            for metric in self.metrics
        ]

    @cached_property
    def columns(self) -> list[RankMetric]:
        """All that is estimated: the metrics, and their curves, each once."""
        return [*dict.fromkeys([*self.metrics, *(each for of in self.curves for each in of)])]

    @cached_property
    def truth(self) -> Floats:
        """Every column among all candidates."""
        return np.array([metric.exact(self.ranks) for metric in self.columns])

    def places(self, metrics: Sequence[RankMetric]) -> list[int]:
        """Find metrics among the columns."""
        return [self.columns.index(metric) for metric in metrics]

    def draw(self, design: SampleDesign) -> list[SampledRanks]:
        """Draw all repeats."""
        if self.every is None:
            repeats = range(self.first, self.first + self.repeats)
            return [design.draw(self.ranks, seed=self.seed, repeat=repeat) for repeat in repeats]
        how = self.weights.negatives(design) if self.weights else {}
        items = Negatives(self.every, self.ranks, self.repeats, self.seed, design.replace, **how)
        return items.rank(self.every, self.ranks, design.sizes)

    def find(self, ways: Sequence[Way]) -> dict[str, NDArray[Any]]:
        """Estimate in all ways; see `Estimates` for the arrays, of one system here."""
        drawn = {design: self.draw(design) for design in dict.fromkeys(w.design for w in ways)}
        count = cache(lambda design, path: Cells.of(drawn[design], path=path))
        filled = cache(lambda empty: empty.expected(self.ranks))
        unfilled = cache(
            lambda m, replaced, path: empty_cells(self.ranks, m, replace=replaced, path=path)
        )
        found = []
        for estimator, design in ways:
            samples, own = drawn[design], self.places(self.metrics)
            path = "full" if estimator.prior == TRUE else path_for(self.columns)
            if estimator.name == "ht-plugin":
                values = np.full((self.repeats, len(self.columns)), np.nan)
                auc = self.places([m for m in self.metrics if m.name == "AUC"])
                values[:, auc] = np.array([[weighted_auc(one).mean()] for one in samples])
            else:
                fits = estimator.fit_cells(count(design, path), true=self.ranks)
                values = fits.estimates(self.columns)
            expected, variance = values[:, own].mean(axis=0), np.full(len(own), np.nan)
            if not design.adaptive and design.drawing == "uniform":
                empty = unfilled(design.sizes[0], design.replace, path)
                expected, variance = expected_estimates(
                    estimator,
                    self.ranks,
                    self.metrics,
                    empty=empty,
                    filled=lambda empty=empty: filled(empty),  # type: ignore[misc]
                )
            errors = np.full((len(own), self.repeats, len(CUTOFFS)), np.nan)
            for number, curve in enumerate(map(self.places, self.curves)):
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
        zeros = [(self.truth[self.places(curve)] == 0).sum() for curve in self.curves]
        return {name: np.array([each[name] for each in found]) for name in found[0]} | {
            "exact": self.truth[self.places(self.metrics)],
            "zero_cutoffs": np.array(zeros),
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
    *,
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
        for each in workers(delayed(_find)(trial, ways) for trial in trials):
            found.append(each)
            bar.advance()
    axes = {"estimated": 2, "errors": 2}
    axes |= {"errors_by_cutoff": 2, "scored_by_repeat": 1}
    return {n: np.stack([of[n] for of in found], axis=axes.get(n, -1)) for n in found[0]}


def _find(trial: Trial, ways: Sequence[Way]) -> dict[str, NDArray[Any]]:
    with single_threaded("blas"):
        return trial.find(ways)
