"""The recall of every single user, from which means over any users are made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analyses.recall.grids import BETAS, CUTOFFS, require_counts, require_grid
from analyses.recall.hidden_parts import Hits, Part, Validation, choose_part
from analyses.recall.stratification import Stratification, item_weights
from qrels.ranks.hidden_ranks import HiddenRanks

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class UserRecalls:
    """Recalls of single users, from which any mean over users is made.

    Parameters
    ----------
    users
        Numbers of the users, of shape (n_users,).
    shares
        Share of each user's weight that is found, float32 of shape (n_users, n_betas,
        n_cutoffs).
    denominators
        :math:`D_u`, float64 of shape (n_users, n_betas): stratified weights.
    """

    users: NDArray[np.int32]
    shares: NDArray[np.float32]
    denominators: Floats


def user_recalls(
    ranks: HiddenRanks,
    counts: NDArray[np.integer],
    *,
    validation: Validation,
    betas: Sequence[float] = BETAS,
    cutoffs: Sequence[int] = CUTOFFS,
    stratification: Stratification | None = None,
    block_users: int = 10_000,
) -> Iterator[UserRecalls]:
    """Give the recalls of every user, blocks of users at a time, for a bootstrap.

    A block of 10,000 users under 294 parametrisations takes 12 MB. Everything is as of
    `measure_recall`, where weights do not matter.
    """
    chosen = stratification or Stratification()
    require_grid(ranks, [validation], betas, cutoffs)
    require_counts(counts, ranks)
    part = choose_part(ranks, validation, counts, chosen)
    weights = [item_weights(counts, beta=beta, stratification=chosen) for beta in betas]
    for first in range(0, len(part.users), block_users):
        yield _recalls_of(part.block(first, first + block_users), weights, cutoffs, chosen)


def errors_of_means(
    ranks: Mapping[str, HiddenRanks],
    counts: NDArray[np.integer],
    *,
    validation: Validation,
    betas: Sequence[float] = BETAS,
    cutoffs: Sequence[int] = CUTOFFS,
    stratification: Stratification | None = None,
) -> Floats:
    """Give standard errors over users of the mean recalls of models, of differences between them.

    It is what a bootstrap over users, the same for all models, comes to with ever more replicates.
    What moves the recalls of all models alike, of a user who is easy to serve, is no error of
    theirs; of one model alone it is. Stratified means are ratios of sums, whose errors are those
    of the delta method. Ranks are those of the same hidden items.

    Returns
    -------
    Of shape (n_models, n_betas, n_cutoffs).
    """
    chosen = stratification or Stratification()
    asked: dict[str, Any] = {"betas": betas, "cutoffs": cutoffs, "stratification": chosen}

    def blocks() -> Iterator[tuple[Floats, Floats]]:
        of_models = [
            user_recalls(r, counts, validation=validation, **asked) for r in ranks.values()
        ]
        for parts in zip(*of_models, strict=True):
            shares = np.stack([part.shares for part in parts]).astype(np.float64)
            yield shares, parts[0].denominators[..., np.newaxis]

    means: Floats | None = None
    if chosen.weights == "stratified":
        totals = [((of * shares).sum(axis=1), of.sum(axis=0), len(of)) for shares, of in blocks()]
        found, whole, n = (np.sum(each, axis=0) for each in zip(*totals, strict=True))
        means = found / whole
    sums, squares, n_users = 0.0, 0.0, 0
    for shares, of in blocks():
        if means is not None:
            shares = (shares - means[:, np.newaxis]) * of / (whole / n)
        if len(shares) > 1:
            shares -= shares.mean(axis=0)
        sums, squares = sums + shares.sum(axis=1), squares + (shares**2).sum(axis=1)
        n_users += shares.shape[1]
    if n_users < 2:
        return np.full(np.shape(sums), np.nan)
    variances = (squares - np.square(sums) / n_users) / (n_users - 1)
    return np.sqrt(np.maximum(variances, 0.0) / n_users)


def _recalls_of(
    part: Part, weights: Sequence[Floats], cutoffs: Sequence[int], chosen: Stratification
) -> UserRecalls:
    """Measure the users of a part one by one."""
    hits, n_users = Hits.of(part, cutoffs, chosen.metric), len(part.users)
    shares = np.empty((n_users, len(weights), len(cutoffs)), dtype=np.float32)
    denominators = np.empty((n_users, len(weights)))
    for place, of_items in enumerate(weights):
        of_rows = of_items[part.item]
        denominators[:, place] = np.add.reduceat(of_rows, part.starts)
        found = hits.totals_of_users(of_rows, n_users)
        shares[:, place] = found / denominators[:, place, np.newaxis]
    return UserRecalls(part.users, shares, denominators)
