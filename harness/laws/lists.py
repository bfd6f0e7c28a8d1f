"""Small lists of one user, and a small catalogue of items, on which metrics are tried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from harness.metrics.shared.metric import LEVEL_OPTION, Metric
from qrels import Catalogue, Judged
from qrels.catalogue import ItemsOfLists
from runs.shared.arrays import Floats, Ints, Longs

UNJUDGED = "–"
"""How an unjudged item is printed."""

RANKS_BELOW = 2
"""Ranks of the longest lists below the cut-off."""

MAX_MISSED = 3
"""Largest number of judged items that a list misses."""

DEFAULT_LEVEL = 2
"""Lowest relevant grade, if the name of the metric has none."""

DEPTH_WITHOUT_CUTOFF = 20
"""Length of the longest lists, but for `RANKS_BELOW`, without a cut-off."""

TRIES = 100
TOLERANCE = 1e-9
"""Scores that differ by less are taken as equal: sums of some numbers round."""

CATALOGUE_SEED = 1
N_RATERS = 40
N_CATEGORIES = 4
N_USERS = 2

CATEGORY_SHARE = 0.4
"""Share of the items that a category has, and that users have rated."""

N_RELEVANCES = 3
"""Very relevant, relevant, not relevant: items of each have numbers of their own."""


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
        """Print the list: R, N or – at each rank, with the grade where it is not the default.

        Items of at least ``level`` are relevant (R). An empty list is "(empty)".
        """
        return " ".join(_mark(grade, level) for grade in self.ranked) or "(empty)"


def _mark(grade: int | None, level: int) -> str:
    """Print the mark of an item: "–" if unjudged (None), else R or N.

    The grade follows if it is not the default: ``level`` of a relevant item (R), 0 of another (N).
    """
    if grade is None:
        return UNJUDGED
    is_relevant = grade >= level
    letter = "R" if is_relevant else "N"
    default_grade = level if is_relevant else 0
    return letter if grade == default_grade else f"{letter}{grade}"


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
        most_items = self.depth + MAX_MISSED + 1
        return catalogue(N_RELEVANCES * most_items)

    def items(self, user_list: UserList) -> tuple[list[int], list[int]]:
        """Number the items that a list holds, and those that it misses, by their grades.

        The n-th item of a relevant grade is always the same, and so is the n-th of the others,
        judged or not: a list whose items change places holds the same items, and so does one that
        loses a non-relevant judgement. Numbers fall, so that the order of the items is not that of
        the ranks.
        """
        n_numbered: Counter[int] = Counter()
        numbers = []
        for grade in (*user_list.ranked, *user_list.missed):
            # 0 is the highest grade, 1 the relevance level, 2 what is not relevant.
            relevance = 2
            if grade is not None and grade >= self.level:
                relevance = 1 - (grade - self.level)
            number = relevance + N_RELEVANCES * n_numbered[relevance]
            numbers.append(self.catalogue.n_items - 1 - number)
            n_numbered[relevance] += 1
        length = len(user_list.ranked)
        return numbers[:length], numbers[length:]

    def judged_items(self, user_list: UserList) -> list[tuple[int, int]]:
        """List the user's judgements, the best grade first: number of the item, and grade.

        Judged items that the list misses are among them; unjudged ones are not.
        """
        ranked_items, missed_items = self.items(user_list)
        items = [*ranked_items, *missed_items]
        grades = [*user_list.ranked, *user_list.missed]
        judgements = []
        for item, grade in zip(items, grades, strict=True):
            if grade is not None:
                judgements.append((item, grade))
        return sorted(judgements, key=lambda judgement: -judgement[1])

    def judged(self, lists: Sequence[UserList]) -> Judged:
        """Make judged lists for metrics, one user each, in the order of the lists.

        Grades have the shape (n_lists, depth), NaN for unjudged items and below the end of a list.
        Items have the numbers of `items`.
        """
        grades = _matrix([user_list.ranked for user_list in lists], width=self.depth)
        judgements = _matrix([user_list.judgements for user_list in lists])
        lengths = np.array([len(user_list.ranked) for user_list in lists])
        judged = Judged(grades, judgements, relevance_level=self.level, lengths=lengths)
        return judged.with_items(lambda: self._items_of_lists(lists))

    def _items_of_lists(self, lists: Sequence[UserList]) -> ItemsOfLists:
        """Number the items of lists, and the judged ones; all users have the profile of user 0.

        Items by rank have the shape (depth, n_lists), judged ones (n_judged, n_lists), the best
        first; -1 where there is none.
        """
        listed_items = []
        judged_items = []
        for user_list in lists:
            ranked_items, _ = self.items(user_list)
            listed_items.append(ranked_items)
            judged_items.append([item for item, _ in self.judged_items(user_list)])
        users = np.zeros(len(lists), dtype=np.intp)
        by_rank = _by_rank(listed_items, width=self.depth)
        return ItemsOfLists(self.catalogue, users, by_rank, judged=_by_rank(judged_items))


@dataclass(frozen=True)
class Bench:
    """A metric set up for trials on small lists.

    Parameters
    ----------
    metric
        The metric.
    cutoff
        The cut-off; None without.
    tries
        Number of cases to try for each law.
    """

    metric: Metric
    cutoff: int | None
    tries: int = TRIES

    @cached_property
    def shape(self) -> Shape:
        """Lists down to the cut-off, or to rank 20 without one, and a few ranks deeper.

        Their lowest relevant grade is the whole number that the metric's name has as an option,
        else 2, which leaves room for a non-relevant grade 1 below.
        """
        level = dict(self.metric.option_values).get(LEVEL_OPTION.name)
        if not isinstance(level, int):
            level = DEFAULT_LEVEL
        return Shape(self.cutoff or DEPTH_WITHOUT_CUTOFF, level)

    def score(self, user_list: UserList) -> float:
        """Score one list, alone; raise InputError if the metric cannot."""
        (score,) = self.score_together([user_list])
        return score

    def score_together(self, lists: Sequence[UserList]) -> list[float]:
        """Score several lists in one call; raise InputError if the metric cannot."""
        judged = self.shape.judged(lists)
        return self.unbounded(judged, cutoff=self.cutoff).tolist()

    @cached_property
    def unbounded(self) -> Metric:
        """The metric as if any score were in its range, which is a law here."""
        return replace(self.metric, low=-np.inf, high=np.inf)

    def is_better(self, score: float, other_score: float) -> bool:
        """Check whether a score is better than the other, rounding aside."""
        difference = score - other_score
        gain = difference if self.metric.higher_is_better else -difference
        return gain > TOLERANCE


def _matrix(rows: Sequence[Sequence[int | None]], *, width: int = 0) -> Floats:
    """Put rows of numbers into a matrix, NaN for None and at the ends of short rows.

    It is as wide as the longest row, and at least ``width``.
    """
    width = max([width, *map(len, rows)])
    matrix = np.full((len(rows), width), np.nan)
    for number, row in enumerate(rows):
        matrix[number, : len(row)] = [np.nan if value is None else value for value in row]
    return matrix


def _by_rank(rows: Sequence[Sequence[int]], *, width: int = 0) -> Ints:
    """Put the items of lists into a matrix (n_ranks, n_lists), -1 where there is none.

    There are as many ranks as in the longest list, and at least ``width``.
    """
    items = np.nan_to_num(_matrix(rows, width=width), nan=-1)
    return items.astype(np.int32).T


@lru_cache(maxsize=16)
def catalogue(n_items: int) -> Catalogue:
    """Draw what is known of items: popularity, categories, propensities and users' profiles.

    It is the same every time; all users have rated the same items.
    """
    from scipy.sparse import csr_array

    generator = np.random.default_rng(CATALOGUE_SEED)
    popularity: Longs = generator.integers(1, N_RATERS + 1, n_items)
    has_category = generator.random((n_items, N_CATEGORIES)) < CATEGORY_SHARE
    is_rated = generator.random(n_items) < CATEGORY_SHARE
    profiles = np.tile(is_rated.astype(np.float64), (N_USERS, 1))
    return Catalogue(
        n_items,
        popularity=popularity,
        n_raters=N_RATERS,
        features=has_category.astype(np.float64),
        feature_names=tuple("abcd"),
        propensities=popularity / N_RATERS,
        profiles=csr_array(profiles),
    )
