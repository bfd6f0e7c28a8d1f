"""What is known of items and users, for metrics that ask which items are ranked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar, cast

from qrels.ranks.judged_ranks import JudgedRanks
from qrels.subtopics import Subtopics
from runs import InputError
from runs.shared.arrays import Floats, Integers, Longs, Sparse

T = TypeVar("T")

NO_JUDGEMENT = -1
"""Stands for the number of a judgement where there is none."""

REMEDIES = {
    "popularity": "item popularity is unknown: use [ratings], or write "
    'popularity = "counts.csv" in [items]',
    "n_raters": "the number of training users is unknown: use [ratings]",
    "features": 'item features are unknown: write features = "features.csv" in [items]',
    "propensities": "observation probabilities of items are unknown: write "
    'propensities = "propensities.csv" in [items]',
    "profiles": "training ratings are unknown: use [ratings]",
    "hidden_ranks": "ranks of hidden items are unknown: use [ratings]; a metric of your own "
    'must be declared with needs=("loo",) or ("lloo",)',
}
"""What is wrong, and what to do, where a property of the catalogue is not known."""


@dataclass(frozen=True, eq=False)
class Catalogue:
    """What is known of the items of a collection, of what its users rated, and of hidden items.

    What is not known is None.

    Parameters
    ----------
    n_items
        Number of items.
    popularity
        Number of training ratings of every item, int64 of shape (n_items,).
    n_raters
        Number of users with training ratings.
    features
        Numbers that describe the items, float64 of shape (n_items, n_features): 0 in all where
        nothing is known of an item. Categories are columns of 0 and 1.
    feature_names
        Names of the columns of ``features``.
    propensities
        Probability of every item to be observed, above 0 and up to 1, of shape (n_items,).
    profiles
        Training ratings of every user, a sparse matrix of shape (n_users, n_items).
    hidden_ranks
        By system: the rank of each judged item when it is hidden from the system.
    """

    n_items: int
    popularity: Longs | None = None
    n_raters: int | None = None
    features: Floats | None = None
    feature_names: Sequence[str] = ()
    propensities: Floats | None = None
    profiles: Sparse | None = None
    hidden_ranks: Mapping[str, JudgedRanks] | None = None

    def require(self, name: str) -> Any:
        """Look up an attribute of this catalogue, such as "popularity", by its name.

        Raises InputError, which says what to do, if it is not known (None).
        """
        value = getattr(self, name)
        if value is None:
            raise InputError(f"{REMEDIES[name]}.")
        return value

    def once(self, derive: Callable[[Catalogue], T]) -> T:
        """Compute ``derive(catalogue)`` once: lists of many systems and users ask for it."""
        if derive not in self._derived:
            self._derived[derive] = derive(self)
        return cast("T", self._derived[derive])

    @cached_property
    def _derived(self) -> dict[Any, Any]:
        return {}

    def select_users(self, users: Integers, judgements: Integers) -> Catalogue:
        """Copy this catalogue for some users and some judgements, in the order of their numbers.

        ``users``: numbers of users, by which rows of ``profiles`` (training ratings, of shape
        (n_users, n_items)) are chosen; ``judgements``: indices of judgements in the qrels, by which
        hidden ranks of each system are chosen, -1 for a miss. Both stay None if they are.
        """
        profiles = None if self.profiles is None else self.profiles[users]
        hidden_ranks = self.hidden_ranks
        if hidden_ranks is not None:
            hidden_ranks = {
                system: ranks.select(judgements) for system, ranks in hidden_ranks.items()
            }
        return replace(self, profiles=profiles, hidden_ranks=hidden_ranks)


@dataclass(frozen=True, eq=False)
class ItemsOfLists:
    """The items in the lists of a system, and the items that their users have judgements of.

    Parameters
    ----------
    catalogue
        What is known of the items.
    users
        Numbers of the users, of shape (n_lists,).
    listed
        Item at each rank, int32 of shape (n_ranks, n_lists), -1 where there is none.
    judged
        Item of each judgement, int32 of shape (n, n_lists), -1 where there is none.
    judgements
        Number of each judgement in the qrels, of the same shape.
    system
        Name of the system.
    listed_judgements
        Number in the qrels of the judgement of the item at each rank, of shape (n_ranks, n_lists),
        -1 where there is none; None where ``subtopics`` are None.
    subtopics
        Subtopics of all judgements in the qrels; None where items are judged for whole topics.
    """

    catalogue: Catalogue
    users: Integers
    listed: Integers
    judged: Integers
    judgements: Integers | None = None
    system: str = ""
    listed_judgements: Integers | None = None
    subtopics: Subtopics | None = None

    def hidden_ranks(self) -> JudgedRanks:
        """Look up the ranks of the judged items when they are hidden, of shape (n, n_lists).

        ``self.judgements``, of the same shape, has the numbers of their judgements in the qrels.
        Raises InputError if they are not known for this system.
        """
        ranks_by_system: Mapping[str, JudgedRanks] = self.catalogue.require("hidden_ranks")
        if self.judgements is None or self.system not in ranks_by_system:
            raise InputError(f"{REMEDIES['hidden_ranks']}.")
        return ranks_by_system[self.system].select(self.judgements)
