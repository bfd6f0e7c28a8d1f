"""How negatives are sampled: as many for everybody, or more for those who have none above.

All randomness is keyed by seed, repeat and user: a user's sample does not depend on which other
users there are, on blocks or on workers. Systems that are sampled with one seed and repeat share
their random numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analyses.sampled.samples.sampled_ranks import SampledRanks
from qrels.ranks.full_ranks import FullRanks
from runs import InputError
from runs.shared.fields import Integers
from runs.shared.streams import random_uniforms

MOST_DOUBLINGS = 5
"""Samples of 100 grow to 3,200, as those of Li et al. (2023)."""

LARGEST_SHARE = 1 / 3
"""Part of the candidates that are sampled at most, unless asked otherwise."""

SMALLEST = 10
"""Fewest negatives that samples of several sizes begin with, where candidates allow."""


def require_negatives(m: int, n_irrelevant: Integers, *, name: str = "m") -> None:
    """Refuse to sample no negatives, or more than a user has irrelevant candidates."""
    if m < 1:
        raise InputError(f"`{name}` must be at least 1 negative, got {m}.")
    if m > n_irrelevant.min(initial=m):
        raise InputError(
            f"`{name}` must not be above the irrelevant candidates, {n_irrelevant.min()} for some "
            f"user, got {m}."
        )


@dataclass(frozen=True)
class SampleDesign:
    r"""Numbers of sampled negatives: one, or rising ones for who has none above so far.

    With :math:`a_j` of N irrelevant candidates above a user's relevant item number j, the sampled
    negatives above it are :math:`\mathrm{Bin}(m, a_j/N)` or :math:`\mathrm{Hyp}(N, a_j, m)`. For
    several relevant items the numbers between them are drawn in turn, each given those before:
    together they are multinomial, or multivariate hypergeometric.

    Parameters
    ----------
    sizes
        Negatives of a user: at first, and of an adaptive sample while nothing is above.
    replace
        Whether an item may be drawn twice.
    adaptive
        Whether samples grow, which those of users with one relevant item each can.

    References
    ----------
    Krichene & Rendle (2020), On sampled metrics for item recommendation, sections 4.3 and 4.4.

    Examples
    --------
    A sample of all four negatives, without replacement, has the ranks themselves:

    >>> design = SampleDesign((4,), False)
    >>> print(design, design.draw(FullRanks.of([1, 3, 5], n_candidates=5), seed=42).rank)
    m = 4 [1 3 5]
    """

    sizes: tuple[int, ...]
    replace: bool = True
    adaptive: bool = False

    @classmethod
    def growing(cls, n0: int, n_max: int) -> SampleDesign:
        """Double from n0 to n_max items while a user's one relevant item is the first.

        Notes
        -----
        Li et al. (2023), Towards reliable item sampling for recommendation evaluation, Algorithm 1.
        Printed, it stops only at n_max itself, so that other values would never end for a user
        whose item is ranked first; and it has n0 - 1 negatives, where the released script draws n0.

        Examples
        --------
        Nothing is above the first rank, everything above the last:

        >>> design = SampleDesign.growing(4, 16)
        >>> ranks = design.draw(FullRanks.of([1, 50], n_candidates=50), seed=42)
        >>> design.sizes, ranks.n_negatives.tolist(), ranks.rank.tolist()
        ((3, 7, 15), [15, 3], [1, 4])
        """
        if n0 < 2:
            raise InputError(
                f"`n0` must be at least 2, the relevant item and a negative, got {n0}."
            )
        ratio = n_max // n0
        if n_max != ratio * n0 or ratio < 1 or ratio & (ratio - 1):
            raise InputError(f"`n_max` must be `n0`, {n0}, times a power of 2, got {n_max}.")
        return cls(tuple(n0 * 2**n - 1 for n in range(ratio.bit_length())), adaptive=True)

    @classmethod
    def suited(cls, ranks: FullRanks, *, n0: int, n_max: int | None = None) -> SampleDesign:
        """Let samples grow to n_max; by default 32-fold, or to a third of the candidates.

        Examples
        --------
        >>> ranks = FullRanks.of([1, 7], n_candidates=1000)
        >>> print(SampleDesign.suited(ranks, n0=100))
        100 to 200
        """
        largest = max(LARGEST_SHARE * int(ranks.n_candidates.min()), n0)
        usual = n0 * 2 ** min(int(np.log2(largest / n0)), MOST_DOUBLINGS)
        return cls.growing(n0, usual if n_max is None else n_max)

    def __str__(self) -> str:
        first, *_, last = (*self.sizes, self.sizes[-1])
        return f"{first + 1:,} to {last + 1:,}" if self.adaptive else f"m = {first:,}"

    def check(self, ranks: FullRanks) -> None:
        """Refuse more negatives than some user has irrelevant candidates, or none.

        Adaptive samples are refused to several relevant items, too.
        """
        if self.adaptive and (ranks.n_relevant > 1).any():
            raise InputError("adaptive samples are of users with one relevant item each.")
        name = "n_max - 1" if self.adaptive else "negatives"
        require_negatives(self.sizes[-1], ranks.n_irrelevant, name=name)

    @property
    def of_items(self) -> Mapping[str, Any]:
        """How items are drawn, where they are known; see `Negatives`."""
        return {"replace": self.replace}

    def draw(self, ranks: FullRanks, *, seed: int, repeat: int = 0) -> SampledRanks:
        """Sample once."""
        from analyses.sampled.samples.inversion import negatives_above

        self.check(ranks)
        drawn, negatives = np.zeros((2, len(ranks)), dtype=np.int64)
        by_user, order = ranks.by_user, ranks.order[ranks.by_user]
        for size, before in zip(self.sizes, (0, *self.sizes), strict=False):
            growing = drawn == 0
            for place in range(1, order.max(initial=0) + 1):
                here = np.flatnonzero((order == place) & growing[by_user])
                rows, last = by_user[here], by_user[here - 1]
                # The first place has nothing before it, whatever row that names.
                passed, found = (ranks.above[last], drawn[last]) if place > 1 else (0, 0)
                kind = ("adaptive ranks", size + 1) if self.adaptive else ("sampled ranks", place)
                uniforms = random_uniforms(ranks.user[rows], seed, kind[0], repeat, kind[1])
                above, others = ranks.above[rows] - passed, ranks.n_irrelevant[rows] - passed
                left = np.broadcast_to(size - before - found, rows.shape)
                drawn[rows] = found + negatives_above(uniforms, left, above, others, self.replace)
            negatives[growing] = size
        every = drawn + ranks.order
        return SampledRanks(
            every, ranks.n_candidates, ranks.user, n_negatives=negatives, replace=self.replace
        )


def require_rising(
    numbers: Sequence[int], *, name: str = "negatives", least: int | None = None
) -> None:
    """Refuse numbers that do not rise, from a least one if there is one, or are none."""
    rises = bool(numbers) and sorted(set(numbers)) == list(numbers)
    if not rises or (least is not None and numbers[0] < least):
        start = "" if least is None else f" from at least {least}"
        raise InputError(f"`{name}` must rise{start}, got {list(numbers)}.")


def round_numbers(largest: int) -> tuple[int, ...]:
    """Give 1, 2, 5, 10, 20, 50, ... as far as they are not above the largest.

    Examples
    --------
    >>> round_numbers(20)
    (1, 2, 5, 10, 20)
    """
    powers = [10**digits for digits in range(len(str(largest)))]
    numbers = [leading * power for power in powers for leading in (1, 2, 5)]
    return tuple(number for number in numbers if number <= largest)


def sizes_suited(ranks: FullRanks) -> tuple[int, ...]:
    """Give numbers of negatives to compare: 10, 20, 50, 100, ... to a third of the candidates.

    Where those of some user are too few for 10, it is the largest of 1, 2 and 5 that fits.

    Examples
    --------
    >>> sizes_suited(FullRanks.of([1, 7], n_candidates=[310, 4000]))
    (10, 20, 50, 100)
    """
    third = max(int(LARGEST_SHARE * ranks.n_candidates.min()), 1)
    fitting = round_numbers(min(third, int(ranks.n_irrelevant.min())) or 1)
    return tuple(number for number in fitting if number >= SMALLEST) or (fitting[-1],)
