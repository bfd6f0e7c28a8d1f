"""Full ranks are sampled again and again, and metrics are estimated from that.

Ways to estimate (an estimator with its prior and iterations, given samples of a design) by metric,
system and repeat. Studies ask it for some ways, and look at its frame.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from joblib import delayed
from numpy.typing import NDArray

from analyses.sampled.estimators import Cells, Estimator, Fits
from analyses.sampled.estimators.ht_plugin import HorvitzThompson
from analyses.sampled.estimators.learned_priors import WithPrior
from analyses.sampled.estimators.mle import AdaptiveMaximumLikelihood, MaximumLikelihood
from analyses.sampled.estimators.shared.nodes import HEAD
from analyses.sampled.expectation.crossings import first_of
from analyses.sampled.expectation.metrics import RankMetric, rank_metric
from analyses.sampled.expectation.rank_pmf import moments
from analyses.sampled.samples.designs import SampleDesign
from analyses.sampled.samples.from_candidates import Negatives
from analyses.sampled.samples.sampled_ranks import SampledRanks
from analyses.sampled.shared.facts import mean_of_users
from qrels import FullRanks, Qrels
from qrels.ranks.full_ranks import CandidateRanks
from runs import InputError
from runs.shared.parallel import processes, single_threaded

if TYPE_CHECKING:
    from analyses.shared.work import Work

Floats = NDArray[np.float64]

Draws = Literal["items", "shared", "independent"]

CUTOFFS = range(1, 51)
"""Where a curve is compared with the true one."""

CURVES = ("Recall", "nDCG", "AP")
"""Those that Li et al. (2023) look at."""


RESAMPLED = 20
"""Samples of which users are resampled, if they are."""


@dataclass(frozen=True)
class Way:
    """An estimator and its samples, maybe with an oracle: the true ranks as prior."""

    estimator: Estimator
    design: SampleDesign
    oracle: bool = False

    def fit(
        self, samples: Sequence[SampledRanks], cells: Cells, *, true: FullRanks | None = None
    ) -> Fits:
        """Fit repeated samples, which were counted; only Horvitz-Thompson sees their chances."""
        if isinstance(self.estimator, HorvitzThompson):
            return self.estimator.fit_repeats(samples)
        learn = partial(Cells.true_masses, ranks=true) if self.oracle and true else None
        return self.estimator.fit_cells(cells, learn=learn)


def takes(estimator: Estimator, design: SampleDesign) -> bool:
    """Say whether an estimator is for such samples: adaptive ones for adaptive, else others."""
    return isinstance(estimator, AdaptiveMaximumLikelihood) == design.adaptive


def whole_curves(names: Sequence[str | RankMetric]) -> tuple[RankMetric, ...]:
    """Take the whole curves of metrics, each once and up to the last cut-off; if none, the usual.

    Examples
    --------
    >>> [str(metric) for metric in whole_curves(["Recall@10", "AP", "AUC"])]
    ['Recall@50', 'AP@50']
    """
    cut = [metric for metric in map(rank_metric, names) if metric.name != "AUC"]
    chosen = cut or map(rank_metric, CURVES)
    return tuple(dict.fromkeys(replace(metric, cutoff=CUTOFFS[-1]) for metric in chosen))


def relative_error(estimates: Floats, truth: Floats) -> Floats:
    r"""Compare curves, (..., n_cutoffs), with the true one, (n_cutoffs,), in per cent: (...).

    .. math:: 100 \cdot \mathrm{mean}_K \frac{|\hat M@K - M@K|}{M@K}

    Cut-offs where the truth is 0 are left out, since nothing can be relative to it; it is NaN if
    that is so at all of them. The released code of Li et al. (2023) takes estimates there for
    right.

    Examples
    --------
    >>> relative_error(np.array([[0.3, 0.75, 0.5]]), np.array([0.0, 0.5, 1.0]))
    array([50.])
    """
    known = truth != 0
    if not known.any():
        return np.full(estimates.shape[:-1], np.nan)
    off = np.abs(estimates - truth)[..., known] / truth[known]
    return np.asarray(100 * off.mean(axis=-1))


def path_for(metrics: Sequence[RankMetric]) -> str:
    """Say where to take sums over ranks: on the grid, unless a cut-off lies below its head."""
    return "grid" if max(metric.cutoff or 0 for metric in metrics) <= HEAD else "full"


@dataclass(frozen=True, eq=False)
class Trial:
    """One system, sampled again and again, from a first number of the repeat on.

    Systems share the random numbers of a repeat, if they have the same first one; or the items, if
    it is known how the system ranks all candidates. What estimates come to, and errors of curves,
    are known if asked for; so many times are users of the first samples resampled.
    """

    ranks: FullRanks
    metrics: tuple[RankMetric, ...]
    repeats: int
    seed: int
    expect: bool
    curved: bool
    first: int
    every: CandidateRanks | None
    replicates: int

    @cached_property
    def columns(self) -> list[RankMetric]:
        """All that is estimated: the metrics, and those of their curves, each once."""
        return [*dict.fromkeys([*self.metrics, *(each for of in self._cut for each in of)])]

    @property
    def _cut(self) -> list[list[RankMetric]]:
        """The metrics at all cut-offs, but AUC, which has none; nothing if not asked for."""
        return [
            [replace(metric, cutoff=k) for k in CUTOFFS if self.curved and metric.name != "AUC"]
            for metric in self.metrics
        ]

    def places(self, metrics: Sequence[RankMetric]) -> list[int]:
        """Find metrics among the columns."""
        return [self.columns.index(metric) for metric in metrics]

    @cached_property
    def truth(self) -> Floats:
        """Every column among all candidates."""
        return np.array([metric.exact(self.ranks) for metric in self.columns])

    @cached_property
    def curves(self) -> list[list[int]]:
        """Places of the curve of each metric among the columns."""
        return [*map(self.places, self._cut)]

    def find(self, ways: Sequence[Way]) -> dict[str, Any]:
        """Estimate in all ways: what `Experiment` has of one system."""
        drawn = {design: self._draw(design) for design in dict.fromkeys(w.design for w in ways)}
        count = cache(lambda design, path: Cells.of(drawn[design], path=path))
        found = []
        for way in ways:
            samples, path = drawn[way.design], "full" if way.oracle else path_for(self.columns)
            of_way = self._estimated(way, samples, count(way.design, path))
            if self.replicates:
                of_way["resampled"] = self._resampled(way, samples, path)
            found.append(of_way | {"scored": _mean_length(samples)})
        return {name: np.array([each[name] for each in found]) for name in found[0]} | {
            "exact": self.truth[self.places(self.metrics)],
            "zero_cutoffs": np.array([(self.truth[of] == 0).sum() for of in self.curves]),
            "spread": np.array([metric.of_users(self.ranks).std() for metric in self.metrics]),
        }

    def _estimated(self, way: Way, samples: Sequence[SampledRanks], cells: Cells) -> dict[str, Any]:
        fits = way.fit(samples, cells, true=self.ranks)
        values = fits.estimates(self.columns)[: self.repeats]
        own, likelihoods = values[:, self.places(self.metrics)], np.full(len(values), np.nan)
        if isinstance(way.estimator, MaximumLikelihood) and fits.masses is not None:
            likelihoods = cells.likelihoods(fits.masses)
        expected, variance = self._expected(way, fits, own)
        return {
            "estimated": own.T,
            "errors": [relative_error(values[:, of], self.truth[of]) for of in self.curves],
            "expected": expected,
            "expected_variance": variance,
            "likelihoods": likelihoods,
        }

    def _resampled(self, way: Way, samples: Sequence[SampledRanks], path: str) -> list[Floats]:
        """Estimate from resampled users of the first samples: (n_metrics, n_replicates) of each."""
        fits = (way.fit([one], Cells.of([one], path=path)) for one in samples[:RESAMPLED])
        drawn = (fit.bootstrap(self.replicates, seed=self.seed) for fit in fits)
        return [fit.estimates(self.metrics).T for fit in drawn]

    def _draw(self, design: SampleDesign) -> list[SampledRanks]:
        """Draw the samples; if there are none, one in which nothing is above."""
        if self.every is not None:
            items = Negatives(self.every, self.ranks, self.repeats, self.seed, **design.of_items)
            return items.rank(self.every, self.ranks, design.sizes)
        repeats = range(self.first, self.first + max(self.repeats, 1))
        drawn = [design.draw(self.ranks, seed=self.seed, repeat=repeat) for repeat in repeats]
        return drawn if self.repeats else [replace(drawn[0], rank=drawn[0].order)]

    def _expected(self, way: Way, fits: Fits, values: Floats) -> tuple[Floats, Floats]:
        """Give what estimates are expected to be, and their variance if it is known: (n_metrics,).

        Of adaptive samples it is the mean. A prior that repeats share is learned from samples as
        they are expected: its expectation, but for its noise.
        """
        unknown = np.full(len(self.metrics), np.nan)
        if not self.expect or way.design.adaptive:
            return values.mean(axis=0), unknown
        estimator, linear = way.estimator, way.estimator.linear and fits.masses is None
        if linear and (self.ranks.n_relevant == 1).all():
            values = fits.all_corrected(self.metrics)
            return moments(self.ranks, values, replace=way.design.replace)
        if isinstance(estimator, WithPrior):
            estimator = estimator.with_prior(estimator.prior.removeprefix("pooled:"))
        expected = estimator.fit_cells(self._as_expected(fits.cells))
        return expected.estimates(self.metrics)[0], unknown

    @cached_property
    def _as_expected(self) -> Callable[[Cells], Cells]:
        return cache(lambda cells: cells.expected(self.ranks))


def _mean_length(samples: Sequence[SampledRanks]) -> float:
    """Give the mean number of items that are scored for a user, relevant ones included."""
    every = [mean_of_users(one.n_negatives + one.n_relevant, one) for one in samples]
    return float(np.mean(every))


class SampledSystems(NamedTuple):
    """Systems to be sampled: full ranks, those of all candidates if known, and what they share."""

    systems: Mapping[str, FullRanks]
    every: Mapping[str, CandidateRanks]
    draws: Draws

    @property
    def first(self) -> FullRanks:
        """Ranks of the first system, whose users and candidates are those of all others."""
        return first_of(self.systems)

    @classmethod
    def of(cls, work: Work, draws: Draws | None) -> SampledSystems:
        """Let systems share items: by default if all candidates of all users are ranked.

        If it is asked for, users whose candidates are not all ranked are left out.
        """
        given = cls(work.full_ranks, {}, draws or "shared")
        if draws not in (None, "items"):
            return given
        found = cls.by_items(every, work.qrels) if (every := work.candidate_ranks) else None
        if draws is None and not (found and len(found.first) == len(given.first)):
            return given
        if not found:
            raise InputError(
                "to draw items, it must be known how systems rank all candidates, which studies "
                "that train systems know: `draws` must be shared or independent."
            )
        return found

    @classmethod
    def by_items(cls, every: Mapping[str, CandidateRanks], judged: Qrels) -> SampledSystems:
        """Let systems share items, of which all rankings are known."""
        ranks = {name: one.of_relevant(judged) for name, one in every.items()}
        return cls(ranks, every, "items")

    def tried(
        self,
        work: Work,
        ways: Sequence[Way],
        metrics: tuple[RankMetric, ...],
        *,
        label: str,
        repeats: int,
        expect: bool = False,
        curved: bool = False,
        replicates: int = 0,
    ) -> dict[str, NDArray[Any]]:
        """Sample the systems, and estimate in all ways, in threads, or on the cluster in use.

        What is found of each system has an axis of systems after that of metrics; replicates, if
        there are some, are (n_ways, n_resampled, n_metrics, n_replicates, n_systems).
        """
        apart = repeats if self.draws == "independent" else 0
        trials = [
            Trial(
                ranks,
                metrics,
                repeats,
                work.seed,
                expect,
                curved,
                place * apart,
                self.every.get(name),
                replicates,
            )
            for place, (name, ranks) in enumerate(self.systems.items())
        ]
        workers, found = processes(work.n_jobs, return_as="generator", prefer="threads"), []
        # Threads of the linear algebra may change last digits, and slow small matrices.
        with work.progress(label, len(trials)) as bar, single_threaded("blas"):
            for each in workers(delayed(_find)(trial, ways) for trial in trials):
                found.append(each)
                bar.advance()
        axes = {"estimated": 2, "errors": 2, "likelihoods": 1}
        return {n: np.stack([of[n] for of in found], axis=axes.get(n, -1)) for n in found[0]}


def _find(trial: Trial, ways: Sequence[Way]) -> dict[str, Any]:
    with single_threaded("blas"):
        return trial.find(ways)
