"""Analyses of scores, and of judgements that a function scores, without a study."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analyses.correlation import Correlation, correlation
from analyses.correlation import Settings as CorrelationSettings
from analyses.discrimination import Discrimination, discrimination
from analyses.discrimination import Settings as DiscriminationSettings
from analyses.shared.families import Families
from analyses.shared.measure import Measure, Measures
from analyses.shared.scores import Scores
from analyses.shared.work import (
    CountedIn,
    OtherWorld,
    ScoresWork,
    StudyWorld,
    SumSamples,
    Truth,
    Work,
)
from qrels import FullRanks, Qrels
from qrels.ranks.full_ranks import CandidateRanks
from runs.shared.progress import Bar, Progress, SilentProgress


class Counted(SilentProgress):
    """Hands on how many steps are done."""

    def __init__(self, advance: Callable[[int], object]) -> None:
        self._advance = advance

    @contextmanager
    def __call__(self, label: str, total: int) -> Iterator[Bar]:
        def advance(steps: int = 1, *, done: str = "") -> None:
            self._advance(steps)

        yield Bar(advance)


class Totals(SilentProgress):
    """Keeps how many steps are announced, and how many are done."""

    def __init__(self) -> None:
        self.announced = self.done = 0

    @contextmanager
    def __call__(self, label: str, total: int) -> Iterator[Bar]:
        def advance(steps: int = 1, *, done: str = "") -> None:
            self.done += steps

        self.announced += total
        yield Bar(advance)


def discriminate(
    scores: Scores,
    *,
    seed: int = 0,
    scales: Mapping[Measure, int] | None = None,
    n_jobs: int = 1,
    advance: Callable[[int], object] = lambda steps: None,
    **settings: Any,
) -> Discrimination:
    work = ScoresWork(
        scores, seed=seed, n_jobs=n_jobs, progress=Counted(advance), scales=scales or {}
    )
    return discrimination(work, DiscriminationSettings(**settings))


def correlate(scores: Scores, *, seed: int = 0, **settings: Any) -> Correlation:
    return correlation(ScoresWork(scores, seed=seed), CorrelationSettings(**settings))


def unrelated(n_systems: int) -> Families:
    """Put each system into a family of its own."""
    return Families(np.arange(n_systems))


@dataclass(frozen=True, eq=False)
class JudgedWork(Work):
    """Work on judgements under which a function scores systems."""

    sum_samples: SumSamples
    qrels: Qrels = field()
    measures: Measures = field()
    n_systems: int = field()
    seed: int = 0
    n_jobs: int = 1
    progress: Progress = field(default_factory=SilentProgress)
    popularity_counts: Mapping[CountedIn, NDArray[np.intp]] = field(default_factory=dict)
    recommended: Mapping[str, NDArray[np.int32]] = field(default_factory=dict)
    full_ranks: Mapping[str, FullRanks] = field(default_factory=dict)
    scales: Mapping[Measure, int] = field(default_factory=dict)
    name: str = "made"
    known_truth: Truth | None = None
    candidate_ranks: Mapping[str, CandidateRanks] = field(default_factory=dict)

    @property
    def families(self) -> Families:
        return unrelated(self.n_systems)

    @property
    def scores(self) -> Scores:
        n_users = self.qrels.n_users
        values = np.zeros((len(self.measures), self.n_systems, n_users))
        # One user has other scores by each system, so that no system is a copy of another.
        values[:, :, 0] = np.arange(self.n_systems)
        systems = tuple(f"s{number}" for number in range(self.n_systems))
        return Scores(values, self.measures, systems, np.arange(n_users).astype(np.str_))

    def rescorer(self, n_samples: int) -> SumSamples:
        return self.sum_samples

    def in_worlds(self, worlds: Sequence[OtherWorld], study: StudyWorld) -> Iterator[Any]:
        return (study(self) for _ in worlds)
