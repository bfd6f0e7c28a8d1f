"""Whole numbers that are evenly spread on a logarithmic axis and easy to read."""

from __future__ import annotations


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
