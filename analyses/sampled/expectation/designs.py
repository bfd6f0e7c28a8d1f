"""How negatives are sampled: as many for everybody, or more for those who have none above."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from analyses.sampled.samples.from_full_ranks import (
    require_negatives,
    require_one_relevant,
    require_sizes,
    sample_ranks,
    sample_ranks_adaptive,
)
from analyses.sampled.samples.sampled_ranks import SampledRanks
from qrels import FullRanks
from runs import InputError

MOST_DOUBLINGS = 5
"""Samples of 100 grow to 3,200, as those of Li et al. (2023)."""

LARGEST_SHARE = 1 / 3
"""Part of the candidates that are sampled at most, unless asked otherwise."""

SMALLEST = 10
"""Fewest negatives that samples of several sizes begin with, where candidates allow."""


@dataclass(frozen=True)
class FixedSize:
    """As many negatives, m, for every user.

    Examples
    --------
    >>> print(FixedSize(1000))
    m = 1,000
    """

    negatives: int
    replace: bool = True

    def __str__(self) -> str:
        return f"m = {self.negatives:,}"

    def check(self, ranks: FullRanks) -> None:
        """Refuse more negatives than some user has irrelevant candidates, or none."""
        require_negatives(self.negatives, ranks.n_irrelevant, name="negatives")

    def draw(self, ranks: FullRanks, *, seed: int, repeat: int) -> SampledRanks:
        """Sample once."""
        return sample_ranks(ranks, m=self.negatives, seed=seed, repeat=repeat, replace=self.replace)


@dataclass(frozen=True)
class Adaptive:
    """Samples that double from n0 to n_max items while a user's relevant one is the first.

    References
    ----------
    Li et al. (2023), Towards reliable item sampling for recommendation evaluation, Algorithm 1.

    Examples
    --------
    >>> print(Adaptive(100, 3200))
    100 to 3,200
    """

    n0: int
    n_max: int

    def __str__(self) -> str:
        return f"{self.n0:,} to {self.n_max:,}"

    @classmethod
    def suited(cls, ranks: FullRanks, *, n0: int, n_max: int | None = None) -> Adaptive:
        """Let samples grow to n_max; by default 32-fold, or to a third of the candidates.

        Examples
        --------
        >>> ranks = FullRanks.of([1, 7], n_candidates=1000)
        >>> print(Adaptive.suited(ranks, n0=100))
        100 to 200
        """
        if n_max is not None:
            return cls(n0, n_max)
        largest = max(LARGEST_SHARE * int(ranks.n_candidates.min()), n0)
        doublings = min(int(np.log2(largest / n0)), MOST_DOUBLINGS)
        return cls(n0, n0 * 2**doublings)

    def check(self, ranks: FullRanks) -> None:
        """Refuse sizes that no doubling reaches or users lack, and several relevant items."""
        require_one_relevant(ranks)
        require_sizes(self.n0, self.n_max)
        require_negatives(self.n_max - 1, ranks.n_irrelevant, name="n_max - 1")

    def draw(self, ranks: FullRanks, *, seed: int, repeat: int) -> SampledRanks:
        """Sample once."""
        return sample_ranks_adaptive(ranks, n0=self.n0, n_max=self.n_max, seed=seed, repeat=repeat)

    def on_the_way(self) -> tuple[Adaptive, ...]:
        """Give the samples that stop growing at the first size, the second, and so on to the last.

        Examples
        --------
        >>> [str(each) for each in Adaptive(100, 400).on_the_way()]
        ['100 to 100', '100 to 200', '100 to 400']
        """
        n_doublings = (self.n_max // self.n0).bit_length()
        return tuple(Adaptive(self.n0, self.n0 * 2**number) for number in range(n_doublings))


Design: TypeAlias = FixedSize | Adaptive


def require_rising(
    numbers: Sequence[int], *, name: str = "negatives", least: int | None = None
) -> None:
    """Refuse numbers that do not rise, from a least one if there is one, or are none.

    Raises
    ------
    InputError
        If it is so.
    """
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


def scores_per_user(sampled: SampledRanks) -> float:
    """Give the mean number of items that are scored for a user, relevant ones included.

    Examples
    --------
    >>> ranks = FullRanks.of([5, 2, 1], n_candidates=9, user=[0, 0, 1])
    >>> scores_per_user(FixedSize(4).draw(ranks, seed=1, repeat=0))
    5.5
    """
    lists = sampled.n_negatives + sampled.n_relevants
    return float((lists / sampled.n_relevants).sum() / (1 / sampled.n_relevants).sum())
