"""Sampled ranks straight from scores, where not everything can be scored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from analyses.sampled.samples.from_full_ranks import require_negatives
from analyses.sampled.samples.sampled_ranks import SampledRanks
from qrels.ranks.ties import Ties, limits, priorities, require_ties
from qrels.ratings.ratings import Ratings
from runs import InputError
from runs.shared.groups import place_in_group
from runs.shared.streams import random_uniforms, random_words

if TYPE_CHECKING:
    from scipy.sparse import csr_array

BLOCK_USERS = 512

Floats = NDArray[np.float64]
ScoreUsers = Callable[[NDArray[np.int32]], NDArray[np.floating]]
"""Scores all items for some users: gives an array of shape (n_users, n_items)."""


def sample_ranks_from_scores(
    score_users: ScoreUsers,
    relevant: Ratings,
    *,
    train: Ratings,
    candidates: NDArray[np.bool_] | None = None,
    m: int,
    seed: int,
    repeat: int = 0,
    replace: bool = True,
    proposal: NDArray[np.floating] | None = None,
    ties: Ties = "item",
) -> SampledRanks:
    r"""Sample negatives, and rank the relevant items among them by their scores.

    Parameters
    ----------
    score_users
        Scores all items for some users, as a recommender's ``score_batch``. Scores are compared
        as float32; what is not a number is below all others.
    relevant
        The held-out relevant items; those that are no candidates, such as cold ones, are last.
    train
        Training ratings: their items are no candidates for those who rated them.
    candidates
        Mask over the items, of shape (n_items,); by default those with training ratings.
    m
        Negatives to sample for each user, the same for all of the user's relevant items.
    seed, repeat
        Key of the random numbers, with the number of the user.
    replace
        Whether to sample with replacement.
    proposal
        Weights over the items, of shape (n_items,), such as popularity to a power: the user's
        negatives are drawn with probabilities in proportion to them. None for equal ones.
    ties
        Who is first of equal scores: the lower item number ("item"), the relevant item ("min"),
        the other ("max"), or whoever is in one random order per user ("random").

    Returns
    -------
    One row for each relevant item, by user and score; with a proposal,
    ``inverse_mass_above`` is :math:`\sum 1/q_i` over the sampled negatives above.

    Raises
    ------
    InputError
        If m is less than 1 or above a user's irrelevant candidates, a proposal comes without
        replacement or has a candidate of no weight, or the rule for ties is none.
    """
    require_ties(ties)
    allowed = train.item_counts() > 0 if candidates is None else candidates
    _require_proposal(proposal, allowed, replace=replace)
    sampler = _Sampler(train, allowed, m, (seed, repeat), replace, proposal, ties)
    found = [
        sampler.rank(user, scores, relevant.item[slice(*ends)])
        for user, scores in _scored(score_users, np.unique(relevant.user))
        for ends in [np.searchsorted(relevant.user, [user, user + 1])]
    ]
    n_relevant = np.array([len(rows) for rows in found], dtype=np.int64)
    user = np.repeat(np.unique(relevant.user).astype(np.int64), n_relevant)
    above, n_candidates, inverse_mass_above = np.concatenate([np.empty((0, 3)), *found]).T
    order = place_in_group(user)
    return SampledRanks(
        rank=above.astype(np.int64) + order,
        n_negatives=np.full(len(order), m, dtype=np.int64),
        n_candidates=n_candidates.astype(np.int64),
        replace=replace,
        user=user,
        order=order,
        n_relevant=np.repeat(n_relevant, n_relevant),
        inverse_mass_above=None if proposal is None else inverse_mass_above,
    )


def popularity_proposal(train: Ratings, *, power: float) -> Floats:
    """Give the numbers of training ratings to a power, as weights to sample items with.

    Examples
    --------
    >>> from runs import Numbering
    >>> users, items = Numbering.of(["u", "v"]), Numbering.of(["a", "b"])
    >>> user, item = np.array([0, 1, 1], np.int32), np.array([0, 0, 1], np.int32)
    >>> popularity_proposal(Ratings(users, items, user, item, np.ones(3)), power=2.0)
    array([4., 1.])
    """
    return np.asarray(train.item_counts().astype(np.float64) ** power)


def _require_proposal(
    proposal: NDArray[np.floating] | None, allowed: NDArray[np.bool_], *, replace: bool
) -> None:
    if proposal is None:
        return
    if not replace:
        raise InputError("a `proposal` needs sampling with replacement.")
    if proposal.shape != allowed.shape:
        raise InputError(
            f"`proposal` must have one weight for each of the {len(allowed)} items, "
            f"got shape {proposal.shape}."
        )
    weightless = allowed & ~((proposal > 0) & np.isfinite(proposal))
    if weightless.any():
        item = int(weightless.argmax())
        raise InputError(
            f"every candidate must have a finite weight above 0 in `proposal`, got "
            f"{proposal[item]} for item number {item}."
        )


def _scored(
    score_users: ScoreUsers, users: NDArray[np.int32]
) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """Give each user's scores, minus infinity where there are none."""
    for start in range(0, len(users), BLOCK_USERS):
        block = users[start : start + BLOCK_USERS]
        scores = score_users(block).astype(np.float32)
        scores[np.isnan(scores)] = -np.inf
        yield from zip(block.tolist(), scores, strict=True)


@dataclass(frozen=True, eq=False)
class _Sampler:
    """What samples for one user after the other; see :func:`sample_ranks_from_scores`."""

    train: Ratings
    allowed: NDArray[np.bool_]
    m: int
    key: tuple[int, int]
    replace: bool
    proposal: NDArray[np.floating] | None
    ties: Ties

    @cached_property
    def rated(self) -> csr_array[Any]:
        return self.train.matrix()

    def rank(self, user: int, scores: NDArray[np.float32], items: NDArray[np.int32]) -> Floats:
        """Rank a user's relevant items among those sampled for the user, in order.

        For each the sampled negatives above, the candidates, and the sum of 1 / q above.
        """
        irrelevant = self._irrelevant(user, items)
        require_negatives(self.m, np.array([len(irrelevant)]))
        chances = self._chances(irrelevant)
        drawn = self._draw(user, len(irrelevant), chances)
        first = priorities(self.ties, user, n_items=len(scores), seed=self.key[0])
        ordered = items[np.lexsort((first[items], -scores[items], ~self.allowed[items]))]
        goes_above = _goes_above(scores, first, ordered, irrelevant[drawn], self.ties)
        goes_above |= ~self.allowed[ordered][:, np.newaxis]
        masses = np.where(goes_above, 1 / chances[drawn], 0.0).sum(axis=1)
        n_candidates = np.full(len(items), len(irrelevant) + len(items))
        return np.column_stack([goes_above.sum(axis=1), n_candidates, masses])

    def _irrelevant(self, user: int, items: NDArray[np.int32]) -> NDArray[np.intp]:
        left = self.allowed.copy()
        left[self.rated.indices[slice(*self.rated.indptr[user : user + 2])]] = False
        left[items] = False
        return np.flatnonzero(left)

    def _chances(self, irrelevant: NDArray[np.intp]) -> Floats:
        """Give the chance of each irrelevant candidate to be drawn."""
        if self.proposal is None:
            return np.full(len(irrelevant), 1 / len(irrelevant))
        weights = self.proposal[irrelevant].astype(np.float64)
        return np.asarray(weights / weights.sum())

    def _draw(self, user: int, n_irrelevant: int, chances: Floats) -> NDArray[np.intp]:
        """Draw places among the irrelevant candidates, of shape (m,)."""
        seed, repeat = self.key
        key = (seed, "negatives", repeat, user)
        if not self.replace:
            return np.argpartition(random_words(n_irrelevant, *key), self.m - 1)[: self.m]
        uniforms = random_uniforms(np.arange(self.m), *key)
        if self.proposal is None:
            return (uniforms * n_irrelevant).astype(np.intp)
        places = np.searchsorted(np.cumsum(chances), uniforms, side="right")
        return np.minimum(places, n_irrelevant - 1)


def _goes_above(
    scores: NDArray[np.float32],
    first: NDArray[np.uint64],
    relevant: NDArray[np.int32],
    negatives: NDArray[np.intp],
    ties: Ties,
) -> NDArray[np.bool_]:
    """Tell which negatives are above which relevant items, of shape (n_relevant, m)."""
    own = scores[relevant][:, np.newaxis]
    limit = limits(ties, first[relevant])[:, np.newaxis]
    return (scores[negatives] > own) | ((scores[negatives] == own) & (first[negatives] < limit))
