"""Samples that are drawn again and again: the one loop of all studies that estimate from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from analyses.sampled.estimators import Estimator, Tally
from analyses.sampled.estimators.mle import AdaptiveMaximumLikelihood
from analyses.sampled.expectation.designs import Adaptive, Design, scores_per_user
from analyses.sampled.samples.sampled_ranks import SampledRanks
from analyses.sampled.shared.curve_points import CurvePoints
from analyses.sampled.shared.settings import SampleSettings
from analyses.shared.work import Work
from qrels import FullRanks
from runs import InputError
from runs.shared.threads import single_threaded

Floats = NDArray[np.float64]


def takes(estimator: Estimator, design: Design) -> bool:
    """Say whether an estimator is for such samples: adaptive ones for adaptive, else others.

    Examples
    --------
    >>> from analyses.sampled.estimators import adaptive_mle
    >>> from analyses.sampled.expectation.designs import FixedSize
    >>> takes(adaptive_mle(), FixedSize(100))
    False
    """
    return isinstance(estimator, AdaptiveMaximumLikelihood) == isinstance(design, Adaptive)


@dataclass(frozen=True)
class Samples:
    """Samples of the same users, drawn in one way, and how many of them are in which cell."""

    drawn: Sequence[SampledRanks]
    counted: Tally

    @property
    def scored(self) -> float:
        """Mean number of items scored for a user, the relevant ones included."""
        return float(np.mean([scores_per_user(sample) for sample in self.drawn]))


@dataclass(frozen=True)
class SampledSystem:
    """Full ranks that are sampled again and again, and what is estimated of them.

    Systems share the random numbers of a repeat, if they have the same first one.
    """

    ranks: FullRanks
    points: CurvePoints
    corrected_for: Literal["mean", "users"]
    repeats: int
    seed: int
    first: int = 0

    def sample(self, design: Design) -> Samples:
        """Draw and count the samples."""
        repeats = range(self.first, self.first + self.repeats)
        drawn = [design.draw(self.ranks, seed=self.seed, repeat=repeat) for repeat in repeats]
        return Samples(drawn, self.points.count(drawn, n=self.corrected_for))

    @cached_property
    def truth(self) -> Floats:
        """What is estimated, among all candidates: (n_columns,)."""
        return self.points.exact(self.ranks)

    @property
    def zero_cutoffs(self) -> NDArray[np.int64]:
        """Cut-offs of each metric's curve where the truth is 0: (n_metrics,)."""
        return self.points.zero_cutoffs(self.truth)

    def errors(self, values: Floats) -> Floats:
        """Give relative errors of estimated curves in per cent: (n_repeats, n_metrics)."""
        return self.points.errors(values, self.truth)


def each_system(
    work: Work,
    label: str,
    settings: SampleSettings,
    points: CurvePoints,
    find: Callable[[SampledSystem], tuple[Any, ...]],
) -> Iterator[tuple[Any, ...]]:
    """Sample the systems, and find the same of each, in threads.

    The arrays that ``find`` gives come back sorted: the first of every system, the second, ...

    Raises
    ------
    InputError
        If samples are so few that they have no standard deviation.
    """
    if settings.repeats < 2:
        raise InputError(f"`repeats` must be at least 2, got {settings.repeats}.")
    apart = settings.repeats if settings.draws == "independent" else 0
    facts = (points, settings.corrected_for, settings.repeats, work.seed)
    sampled = [
        SampledSystem(ranks, *facts, first=place * apart)
        for place, ranks in enumerate(work.full_ranks.values())
    ]
    workers = Parallel(n_jobs=work.n_jobs, prefer="threads", return_as="generator")
    found = []
    # Threads of the linear algebra may change last digits, and slow small matrices.
    with work.progress(label, len(sampled)) as bar, single_threaded("blas"):
        for each in workers(delayed(find)(system) for system in sampled):
            found.append(each)
            bar.advance()
    return zip(*found, strict=True)
