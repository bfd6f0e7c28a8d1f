"""Small lists of one user, and a small catalogue of items, on which metrics are tried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from harness.metrics.shared.metric import LEVEL_OPTION, Metric
from qrels import Catalogue, Judged
from qrels.catalogue import ItemsOfLists
from runs.shared.arrays import Floats, Ints, Longs

UNJUDGED = "–"
RANKS_BELOW = 2
MOST_MISSED = 3
USUAL_LEVEL = 2
WHOLE = 20
"""Length of the longest lists, but for `RANKS_BELOW`, without a cut-off."""

TRIES = 100
TOLERANCE = 1e-9
"""Scores that differ by less are taken as equal: sums of some numbers round."""

CATALOGUE_SEED = 1
N_RATERS, N_CATEGORIES, N_USERS = 40, 4, 2
SHARE = 0.4
N_KINDS = 3
"""Kinds of items: very relevant, relevant, not relevant."""


@dataclass(frozen=True)
class UserList:
    """One user's list: the grade at each rank, None where unjudged; and grades it missed."""

    ranked: tuple[int | None, ...]
    missed: tuple[int, ...] = ()

    @property
    def judgements(self) -> tuple[int, ...]:
        """All grades of the user, the best first."""
        retrieved = [grade for grade in self.ranked if grade is not None]
        return tuple(sorted([*retrieved, *self.missed], reverse=True))

    def marks(self, *, level: int) -> str:
        """Print the list: R, N or – at each rank, with the grade where it is not the plainest."""
        return " ".join(_mark(grade, level) for grade in self.ranked) or "(empty)"


def _mark(grade: int | None, level: int) -> str:
    """Mark an item; relevant ones have by default the grade of the level, others 0."""
    if grade is None:
        return UNJUDGED
    letter, plain = ("R", level) if grade >= level else ("N", 0)
    return letter if grade == plain else f"{letter}{grade}"


@dataclass(frozen=True)
class Shape:
    """Lists of a trial: ranks that the metric considers, and the lowest relevant grade."""

    cutoff: int
    level: int

    @property
    def depth(self) -> int:
        """Length of the longest lists: they go on below the cut-off."""
        return self.cutoff + RANKS_BELOW

    @property
    def relevant_grades(self) -> tuple[int, ...]:
        """Two relevant grades, the plainest first."""
        return (self.level, self.level + 1)

    @property
    def nonrelevant_grades(self) -> tuple[int, ...]:
        """The non-relevant grades, the plainest first."""
        return (0,) if self.level == 1 else (0, self.level - 1)

    @property
    def catalogue(self) -> Catalogue:
        """What is known of items: there are enough for all lists."""
        return catalogue(N_KINDS * (self.depth + MOST_MISSED + 1))

    def items(self, listed: UserList) -> tuple[list[int], list[int]]:
        """Number the items that a list holds, and those that it misses, by their grades.

        The n-th item of a relevant grade is always the same, and so is the n-th of the others,
        judged or not: a list whose items change places holds the same items, and so does one that
        loses a non-relevant judgement. Numbers fall, so that the order of the items is not that of
        the ranks.
        """
        seen: Counter[int] = Counter()
        numbers = []
        for mark in (*listed.ranked, *listed.missed):
            kind = 2 if mark is None or mark < self.level else 1 - (mark - self.level)
            numbers.append(self.catalogue.n_items - 1 - kind - N_KINDS * seen[kind])
            seen[kind] += 1
        return numbers[: len(listed.ranked)], numbers[len(listed.ranked) :]

    def judged_items(self, listed: UserList) -> list[tuple[int, int]]:
        """Give the user's judgements, the best first: item and grade."""
        ranked, missed = self.items(listed)
        marks = zip((*ranked, *missed), (*listed.ranked, *listed.missed), strict=True)
        judgements = [(item, grade) for item, grade in marks if grade is not None]
        return sorted(judgements, key=lambda judgement: -judgement[1])

    def judged(self, lists: Sequence[UserList]) -> Judged:
        """Lay lists out as a metric sees them, one user each."""
        return Judged(
            _matrix([listed.ranked for listed in lists], width=self.depth),
            _matrix([listed.judgements for listed in lists]),
            relevance_level=self.level,
            lengths=np.array([len(listed.ranked) for listed in lists]),
        ).with_items(lambda: self._items_of_lists(lists))

    def _items_of_lists(self, lists: Sequence[UserList]) -> ItemsOfLists:
        judged = [[item for item, _ in self.judged_items(listed)] for listed in lists]
        listed = _by_rank([self.items(each)[0] for each in lists], width=self.depth)
        users = np.zeros(len(lists), dtype=np.intp)
        return ItemsOfLists(self.catalogue, users, listed, judged=_by_rank(judged))


@dataclass(frozen=True)
class Bench:
    """A metric set up for trials on small lists: ranks considered, cases to try for each law."""

    metric: Metric
    cutoff: int | None
    tries: int = TRIES

    @cached_property
    def shape(self) -> Shape:
        """Lists with the relevance level of the metric's name, or 2, which leaves room below."""
        level = dict(self.metric.option_values).get(LEVEL_OPTION.name)
        return Shape(self.cutoff or WHOLE, level if isinstance(level, int) else USUAL_LEVEL)

    def score(self, listed: UserList) -> float:
        """Score one list, alone."""
        return self.score_together([listed])[0]

    def score_together(self, lists: Sequence[UserList]) -> list[float]:
        """Score several lists in one call."""
        return self.unbounded(self.shape.judged(lists), cutoff=self.cutoff).tolist()

    @cached_property
    def unbounded(self) -> Metric:
        """The metric as if any score were in its range, which is a law here."""
        return replace(self.metric, low=-np.inf, high=np.inf)

    def is_better(self, one: float, other: float) -> bool:
        """Tell whether one score is better than the other, rounding aside."""
        gain = one - other if self.metric.higher_is_better else other - one
        return gain > TOLERANCE


def _matrix(rows: Iterable[Sequence[int | None]], *, width: int = 0) -> Floats:
    filled = [[np.nan if grade is None else float(grade) for grade in row] for row in rows]
    width = max([width, *map(len, filled)])
    return np.array([row + [np.nan] * (width - len(row)) for row in filled])


def _by_rank(rows: Iterable[Sequence[int]], *, width: int = 0) -> Ints:
    """Lay the items of lists out rank by rank, -1 where there is none."""
    return np.nan_to_num(_matrix(rows, width=width), nan=-1).astype(np.int32).T


@lru_cache(maxsize=16)
def catalogue(n_items: int) -> Catalogue:
    """Draw what is known of items: the same every time, and of all users alike."""
    from scipy.sparse import csr_array

    generator = np.random.default_rng(CATALOGUE_SEED)
    popularity: Longs = generator.integers(1, N_RATERS + 1, n_items)
    features = (generator.random((n_items, N_CATEGORIES)) < SHARE).astype(np.float64)
    rated = (generator.random(n_items) < SHARE).astype(np.float64)
    return Catalogue(
        n_items,
        popularity=popularity,
        n_raters=N_RATERS,
        features=features,
        feature_names=tuple("abcd"),
        propensities=popularity / N_RATERS,
        profiles=csr_array(np.tile(rated, (N_USERS, 1))),
    )
