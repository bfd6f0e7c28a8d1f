"""Lists of a simulated population, and the intervals of studies made of its users."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.correlation import Settings as CorrelationSettings
from analyses.correlation import correlation
from analyses.discrimination import Settings as DiscriminationSettings
from analyses.discrimination import discrimination
from analyses.ordering import tau_b
from analyses.shared.estimate import Estimates
from analyses.shared.measure import Measure, Measures, Scores
from analyses.shared.work import SumSamples, Work, WorkInMemory
from analyses.sparsity import Settings as SparsitySettings
from analyses.sparsity import sparsity
from qrels import qrels_from_columns
from tests.benchmarks.populations import uniforms

if TYPE_CHECKING:
    from qrels import Qrels

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]

REPLICATES = 300
# Taus are compared with room for rounding.
TINY = 1e-9

N_CANDIDATES, N_RELEVANT, EARLY, DEPTH = 30, 8, 5, 10
SIMULATED = Measures([Measure("P", EARLY), Measure("RR", 10), Measure("AP", 10)])
MOST_SUITED = 2.5
LEVELS = (1.0, 0.5, 0.2, 0.1)
SAMPLES = 5


@dataclass(frozen=True, eq=False)
class Held:
    """Intervals of some numbers: arrays of shape (n_numbers,).

    Parameters
    ----------
    values, low, high
        What was observed, and the limits around it; NaN where there are none.
    truths
        What intervals should hold: None if that is the expectation of the values.
    at_once
        Whether all are to hold at once.
    """

    values: Floats
    low: Floats
    high: Floats
    truths: Floats | None = None
    at_once: bool = False


@dataclass(frozen=True, eq=False)
class Lists:
    """A simulated population whose lists are known: areas can be calibrated, too.

    Parameters
    ----------
    lists
        Of shape (n_population_users, n_systems, depth): which of a user's relevant items is at
        every rank, or their number for one that is not relevant.
    """

    lists: Numbers

    @classmethod
    def simulated(
        cls,
        *,
        n_systems: int = 8,
        n_users: int = 4000,
        seed: int,
        qualities: Floats | None = None,
        choosy: Floats | None = None,
    ) -> Lists:
        """Let systems rank 30 items for each user, eight of them relevant.

        How much better relevant items are scored depends on the user's skill and on the system's
        quality, by default from .9 to 1.1. Choosy systems, 0 to 1, by default every other, suit
        some users more than others, so that measures disagree; the rest is noise, in part the same
        for all systems.

        Examples
        --------
        >>> Lists.simulated(n_users=5, seed=1).lists.shape
        (5, 8, 10)
        """
        if qualities is not None:
            n_systems = len(qualities)
        worth = np.linspace(0.9, 1.1, n_systems) if qualities is None else qualities
        choice = np.arange(n_systems) % 2 if choosy is None else choosy
        shape = (n_users, n_systems, N_CANDIDATES)
        skills = 2 * uniforms((n_users, 1, 1), seed, "lists", "skills")
        suited = uniforms((n_users, n_systems), seed, "lists", "tastes") - 0.5
        tastes = worth + MOST_SUITED * choice * suited
        noise = uniforms(shape, seed, "lists", "noise")
        shared = uniforms((n_users, 1, N_CANDIDATES), seed, "lists", "shared")
        odds = np.log(noise / (1 - noise) + 1e-9) / 2 + np.log(shared / (1 - shared) + 1e-9) / 2
        relevant = np.arange(N_CANDIDATES) < N_RELEVANT
        scores = odds + skills * tastes[..., np.newaxis] * relevant
        found = np.argsort(-scores, axis=2)[:, :, :DEPTH]
        return cls(np.minimum(found, N_RELEVANT))

    @cached_property
    def everybody(self) -> _ListsAlone:
        """All users, with their scores as they are."""
        order = np.arange(len(SIMULATED))[:, np.newaxis].repeat(len(self.lists), axis=1)
        return _ListsAlone(self.lists, order)

    def judged(self, kept: NDArray[np.bool_]) -> Scores:
        """Score all users by some of their judgements, of shape (n_users * 8, 1)."""
        return self.everybody.judged(kept)

    def work(self, users: Numbers, order: Numbers, *, seed: int) -> Work:
        """Take the lists of some users."""
        return _ListsAlone(self.lists[users], order, seed=seed)


@dataclass(frozen=True, eq=False)
class _ListsAlone(WorkInMemory):
    """Lists of which each user has eight relevant items, in ``Lists.lists``."""

    name = "lists"
    lists: Numbers = field()
    order: Numbers = field()

    @cached_property
    def scores(self) -> Scores:
        """Scores with all judgements."""
        return self.judged(np.ones((len(self.lists) * N_RELEVANT, 1), dtype=np.bool_))

    def judged(self, kept: NDArray[np.bool_]) -> Scores:
        """Score with one sample of the judgements."""
        return _labelled(self._of_users(kept)[..., 0], SIMULATED)

    @cached_property
    def scales(self) -> Mapping[Measure, int]:
        """None is told: they are found."""
        return {}

    @property
    def qrels(self) -> Qrels:
        """Judgements of the relevant items, which no two users share."""
        items = np.arange(len(self.lists) * N_RELEVANT)
        return qrels_from_columns(
            items // N_RELEVANT,
            items,
            np.ones_like(items),
            n_users=len(self.lists),
            relevance_level=1,
        )

    def rescorer(self, n_samples: int) -> SumSamples:
        """Give what scores these lists."""

        def sum_samples(kept: NDArray[np.bool_], *, blocks: Numbers) -> Floats:
            in_blocks = np.zeros((int(blocks.max()) + 1, len(blocks)))
            in_blocks[blocks, np.arange(len(blocks))] = 1
            return np.einsum("bu,msuk->mbsk", in_blocks, self._of_users(kept), optimize=True)

        return sum_samples

    def _of_users(self, kept: NDArray[np.bool_]) -> Floats:
        """Score samples of judgements: (n_measures, n_systems, n_users, n_samples)."""
        n_users, n_systems, _ = self.lists.shape
        judged = np.zeros((n_users, N_RELEVANT + 1, kept.shape[1]))
        judged[:, :-1] = kept.reshape(n_users, N_RELEVANT, -1)
        users = np.arange(n_users)[:, np.newaxis]
        hits, first, precisions, early = np.zeros((4, n_users, n_systems, kept.shape[1]))
        for column in range(DEPTH):
            relevant, rank = judged[users, self.lists[:, :, column]], column + 1
            hits += relevant
            precisions += relevant * hits / rank
            np.maximum(first, relevant / rank, out=first)
            if rank == EARLY:
                early[:] = hits / EARLY
        precisions /= np.maximum(judged.sum(axis=1), 1)[:, np.newaxis]
        return dealt(np.stack([early, first, precisions]).swapaxes(1, 2), self.order)


def dealt(scores: Floats, order: Numbers) -> Floats:
    """Deal each user's scores out to the measures: (n_measures, n_systems, n_users, ...).

    Examples
    --------
    >>> dealt(np.array([[[1.0, 2.0]], [[3.0, 4.0]]]), np.array([[0, 1], [1, 0]])).tolist()
    [[[1.0, 4.0]], [[3.0, 2.0]]]
    """
    places = order[:, np.newaxis].reshape(len(order), 1, -1, *(1,) * (scores.ndim - 3))
    return np.take_along_axis(scores, places, axis=0)


def intervals_of(work: Work, everybody: Work) -> Iterator[tuple[str, Held]]:
    """Give the intervals of a study of some users, by what they are of."""
    yield "agreement", _agreements(work, everybody)
    for name, estimates in _estimates(work):
        yield name, Held(estimates.values, estimates.low, estimates.high)
        yield from _differences(name, estimates)


def _agreements(work: Work, everybody: Work) -> Held:
    found = correlation(work, CorrelationSettings(replicates=REPLICATES, every_pair=True))
    means = everybody.scores.mean_values()
    known = tau_b(means[:, np.newaxis], means)
    pairs = np.triu_indices(len(known), k=1)
    return Held(found.taus[pairs], found.low[pairs] - TINY, found.high[pairs] + TINY, known[pairs])


def _estimates(work: Work) -> Iterator[tuple[str, Estimates]]:
    """Give the numbers of the measures that can be had: DP by the t-test, which is quick."""
    settings = DiscriminationSettings(test="t", replicates=REPLICATES)
    yield "DP", discrimination(work, settings).estimates()
    if isinstance(work, _ListsAlone):
        lost = SparsitySettings(levels=LEVELS, samples=SAMPLES, replicates=REPLICATES)
        yield "area", sparsity(work, lost).estimates()


def _differences(name: str, estimates: Estimates) -> Iterator[tuple[str, Held]]:
    """Give the intervals of differences of two measures, one by one and jointly."""
    frame = estimates.differences()
    columns = ("difference", "low", "high", "joint_low", "joint_high")
    values, low, high, lowest, highest = (frame[column].to_numpy() for column in columns)
    if len(values) > 0:
        yield f"difference of {name}s", Held(values, low, high)
        yield f"all differences of {name}s", Held(values, lowest, highest, at_once=True)


def share_held(some: list[Held]) -> float:
    """Give the share of intervals that hold the truth; NaN if there is none.

    Examples
    --------
    >>> ones = np.ones(2)
    >>> share_held([Held(ones, ones - 1, ones + 1, np.array([1.5, 2.5]))])
    0.5
    """
    values, low, high = (
        np.array([getattr(one, name) for one in some]) for name in ("values", "low", "high")
    )
    truths = _expected(values) if some[0].truths is None else some[0].truths
    defined = ~np.isnan(low + high + truths)
    held = (low <= truths) & (truths <= high)
    if some[0].at_once:
        held, defined = (held | ~defined).all(axis=1), defined.any(axis=1)
    return float(held[defined].mean()) if defined.any() else np.nan


def _expected(values: Floats) -> Floats:
    """Give what values of studies, (n_studies, n_numbers), have on average, as each may take it.

    A value is nearer to a mean that it is part of; the mean is moved for each by as much.
    """
    n_studies, means = len(values), values.mean(axis=0)
    return np.asarray(values - (values - means) * np.sqrt(n_studies / max(n_studies - 1, 1)))


def _labelled(values: Floats, measures: Measures) -> Scores:
    systems = tuple(f"s{number}" for number in range(values.shape[1]))
    return Scores(values, measures, systems, np.arange(values.shape[2]).astype(np.str_))
