"""Sampled ranks of relevant items whose full ranks are known.

All randomness is keyed by seed, repeat and user: a user's sample does not depend on which other
users there are, on blocks or on workers. Systems that are sampled with one seed and repeat share
their random numbers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from analyses.sampled.samples.sampled_ranks import SampledRanks
from qrels.ranks.full_ranks import FullRanks
from runs import InputError
from runs.shared.groups import Integers
from runs.shared.streams import random_uniforms


def sample_ranks(
    ranks: ArrayLike | FullRanks,
    *,
    n_candidates: ArrayLike | None = None,
    m: int,
    seed: int,
    repeat: int = 0,
    replace: bool = True,
    user: ArrayLike | None = None,
) -> SampledRanks:
    r"""Sample the ranks of relevant items whose full ranks are known.

    With :math:`a_j` of N irrelevant candidates above a user's relevant item number j, the sampled
    negatives above it are :math:`\mathrm{Bin}(m, a_j/N)` or :math:`\mathrm{Hyp}(N, a_j, m)`. For
    several relevant items the numbers between them are drawn in turn, each given those before:
    together they are multinomial, or multivariate hypergeometric.

    Parameters
    ----------
    ranks
        Full ranks, or ranks among all candidates from 1, of shape (n_rows,), with the next and
        the last parameter.
    n_candidates
        Candidates n, training items excluded: one number, or one for each row.
    m
        Negatives to sample, the relevant items not counted.
    seed, repeat
        Key of the random numbers, with the number of the user.
    replace
        Whether to sample with replacement.
    user
        Numbers of the users, of shape (n_rows,); rows of one user are its relevant items. By
        default every row is a user of its own.

    Returns
    -------
    The ranks in the samples, row by row.

    Raises
    ------
    InputError
        If m is less than 1 or above the irrelevant candidates of a user, or a rank is half,
        out of range or taken twice.

    Notes
    -----
    Krichene & Rendle (2020), sections 4.3 and 4.4.

    Examples
    --------
    A sample of all four negatives, without replacement, has the ranks themselves:

    >>> sample_ranks([1, 3, 5], n_candidates=5, m=4, seed=42, replace=False).rank
    array([1, 3, 5])
    """
    full = _full(ranks, n_candidates, user)
    require_negatives(m, full.n_irrelevant)
    negatives = np.full(len(full), m, dtype=np.int64)
    return SampledRanks(
        rank=_sampled_above(full, m, key=(seed, "sampled ranks", repeat), replace=replace)
        + full.order,
        n_negatives=negatives,
        n_candidates=full.n_candidates,
        replace=replace,
        user=full.user,
        order=full.order,
        n_relevant=full.n_relevant,
    )


def _full(
    ranks: ArrayLike | FullRanks, n_candidates: ArrayLike | None, user: ArrayLike | None
) -> FullRanks:
    if isinstance(ranks, FullRanks):
        return ranks
    if n_candidates is None:
        raise InputError("`n_candidates` must say among how many the items were ranked.")
    return FullRanks.of(ranks, n_candidates=n_candidates, user=user)


def require_negatives(m: int, n_irrelevant: Integers, *, name: str = "m") -> None:
    """Refuse to sample no negatives, or more than a user has irrelevant candidates.

    Raises
    ------
    InputError
        If m, which the user calls ``name``, is one of these.
    """
    if m < 1:
        raise InputError(f"`{name}` must be at least 1 negative, got {m}.")
    if m > n_irrelevant.min(initial=m):
        raise InputError(
            f"`{name}` must not be above the irrelevant candidates, {n_irrelevant.min()} for some "
            f"user, got {m}."
        )


def _sampled_above(
    full: FullRanks, m: int, *, key: tuple[int | str, ...], replace: bool
) -> Integers:
    """Draw the negatives above each relevant item, those nearer to the top first."""
    from analyses.sampled.samples.inversion import negatives_above

    sampled, above, others = np.zeros(len(full), np.int64), full.above, full.n_irrelevant
    by_user, order = full.by_user, full.order[full.by_user]
    for place in range(1, order.max(initial=0) + 1):
        here = np.flatnonzero(order == place)
        rows, before = by_user[here], by_user[here - 1]
        # The first place has nothing before it, whatever row that names.
        passed, drawn = (above[before], sampled[before]) if place > 1 else (0, 0)
        sampled[rows] = drawn + negatives_above(
            random_uniforms(full.user[rows], *key, place),
            negatives=np.broadcast_to(m - drawn, rows.shape),
            above=above[rows] - passed,
            others=others[rows] - passed,
            replace=replace,
        )
    return sampled


def sample_ranks_adaptive(
    ranks: ArrayLike | FullRanks,
    *,
    n_candidates: ArrayLike | None = None,
    n0: int = 100,
    n_max: int = 3200,
    seed: int,
    repeat: int = 0,
    user: ArrayLike | None = None,
) -> SampledRanks:
    """Sample ranks, with more negatives for those who have none above yet.

    Every user starts with n0 - 1 negatives. While the relevant item is at rank 1 and the sample,
    the item included, is smaller than n_max, as many items again are added.

    Parameters
    ----------
    ranks, n_candidates
        As for :func:`sample_ranks`, one relevant item per user.
    n0, n_max
        Size of the first and the largest sample, the relevant item included.
    seed, repeat
        Key of the random numbers, with the number of the user.
    user
        Numbers of the users, each once, of shape (n_rows,); those of the rows by default.

    Returns
    -------
    The ranks in the final samples, drawn with replacement.

    Raises
    ------
    InputError
        If n_max is not n0 times a power of 2, or above the candidates of a user.

    Notes
    -----
    Li et al. (2023), Algorithm 1. Printed, it stops only at n_max itself, so that other values
    would never end for a user whose item is ranked first; and it has n0 - 1 negatives, where the
    released script draws n0.

    Examples
    --------
    Nothing is above the first rank, everything above the last:

    >>> ranks = sample_ranks_adaptive([1, 50], n_candidates=50, n0=4, n_max=16, seed=42)
    >>> ranks.n_negatives.tolist(), ranks.rank.tolist()
    ([15, 3], [1, 4])
    """
    full = _full(ranks, n_candidates, user)
    require_sizes(n0, n_max)
    require_negatives(n_max - 1, full.n_irrelevant, name="n_max - 1")
    require_one_relevant(full)
    negatives = np.full(len(full), n0 - 1, dtype=np.int64)
    above = _more_above(full, np.arange(len(full)), n0 - 1, size=n0, key=(seed, repeat))
    size = n0
    while size < n_max:
        rows = np.flatnonzero((above == 0) & (negatives == size - 1))
        above[rows] = _more_above(full, rows, size, size=2 * size, key=(seed, repeat))
        negatives[rows] += size
        size *= 2
    return SampledRanks(above + 1, negatives, full.n_candidates, replace=True, user=full.user)


def require_sizes(n0: int, n_max: int) -> None:
    """Refuse sizes of adaptive samples that no doubling joins.

    Raises
    ------
    InputError
        If the first has no negative, or the last is not the first times a power of 2.
    """
    if n0 < 2:
        raise InputError(f"`n0` must be at least 2, the relevant item and a negative, got {n0}.")
    ratio = n_max // n0
    if n_max != ratio * n0 or ratio < 1 or ratio & (ratio - 1):
        raise InputError(f"`n_max` must be `n0`, {n0}, times a power of 2, got {n_max}.")


def require_one_relevant(full: FullRanks) -> None:
    """Refuse users with several relevant items, for whom adaptive samples have no rule to stop.

    Raises
    ------
    InputError
        If there are any.
    """
    if (full.n_relevant > 1).any():
        raise InputError("adaptive samples are of users with one relevant item each.")


def _more_above(
    full: FullRanks, rows: Integers, more: int, *, size: int, key: tuple[int, int]
) -> Integers:
    """Draw the negatives above among those that bring the sample of these rows to its size."""
    from analyses.sampled.samples.inversion import negatives_above

    seed, repeat = key
    return negatives_above(
        random_uniforms(full.user[rows], seed, "adaptive ranks", repeat, size),
        negatives=np.full(len(rows), more),
        above=full.above[rows],
        others=full.n_irrelevant[rows],
        replace=True,
    )
