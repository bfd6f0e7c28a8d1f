"""What is known of items and users, for metrics that ask which items are ranked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar, cast

from qrels.ranks.judged_ranks import JudgedRanks
from runs import InputError
from runs.shared.arrays import Floats, Integers, Longs, Sparse

T = TypeVar("T")

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
"""What to do where something that a metric asks for is not known."""


@dataclass(frozen=True, eq=False)
class Catalogue:
    """What is known of the items of a collection, of what its users rated, and of hidden items.

    Parameters
    ----------
    n_items
        Number of items.
    popularity
        Training ratings of every item, int64 of shape (n_items,).
    n_raters
        Number of users with training ratings.
    features
        Numbers that describe the items, float64 of shape (n_items, n_features): 0 in all where
        nothing is known of an item. Categories are columns of 0 and 1.
    feature_names
        Names of the columns of ``features``.
    propensities
        Chance of every item to be observed, above 0 and up to 1, of shape (n_items,).
    profiles
        What every user rated in training, of shape (n_users, n_items).
    hidden_ranks
        By system: where it ranks each judged item that is hidden from it.

    What is not known is None.
    """

    n_items: int
    popularity: Longs | None = None
    n_raters: int | None = None
    features: Floats | None = None
    feature_names: Sequence[str] = ()
    propensities: Floats | None = None
    profiles: Sparse | None = None
    hidden_ranks: Mapping[str, JudgedRanks] | None = None

    def require(self, what: str) -> Any:
        """Give what is known of items by its name."""
        value = getattr(self, what)
        if value is None:
            raise InputError(f"{REMEDIES[what]}.")
        return value

    def once(self, derive: Callable[[Catalogue], T]) -> T:
        """Derive something of all items once: lists of many systems and users ask for it."""
        if derive not in self._derived:
            self._derived[derive] = derive(self)
        return cast("T", self._derived[derive])

    @cached_property
    def _derived(self) -> dict[Any, Any]:
        return {}

    def select_users(self, users: Integers, judgements: Integers) -> Catalogue:
        """Know the profiles of some users, and what is hidden from them, numbered anew so."""
        profiles = None if self.profiles is None else self.profiles[users]
        hidden = self.hidden_ranks
        if hidden is not None:
            hidden = {system: ranks.select(judgements) for system, ranks in hidden.items()}
        return replace(self, profiles=profiles, hidden_ranks=hidden)


@dataclass(frozen=True, eq=False)
class ItemsOfLists:
    """Which items lists hold, and which their users' judgements are about.

    ``catalogue``: what is known of them; ``users``: numbers of the users, of shape (n_lists,);
    ``listed``: item at each rank, int32 of shape (n_ranks, n_lists), -1 where there is none;
    ``judged``: item of each judgement, int32 of shape (n, n_lists), -1 where there is none;
    ``judgements``: number of each judgement in the qrels, likewise; ``system``: whose lists they
    are.
    """

    catalogue: Catalogue
    users: Integers
    listed: Integers
    judged: Integers
    judgements: Integers | None = None
    system: str = ""

    def hidden_ranks(self) -> JudgedRanks:
        """Give the ranks of the judged items when they are hidden, of shape (n, n_lists)."""
        of_systems: Mapping[str, JudgedRanks] = self.catalogue.require("hidden_ranks")
        if self.judgements is None or self.system not in of_systems:
            raise InputError(f"{REMEDIES['hidden_ranks']}.")
        return of_systems[self.system].select(self.judgements)
