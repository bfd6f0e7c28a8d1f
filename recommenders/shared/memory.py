"""A stop before memory runs out: what is dense says how large it will be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from runs import InputError

PROCESS_BYTES = 700_000_000
"""What a worker holds before it trains: LensKit and torch."""


@dataclass(frozen=True)
class Need:
    """Memory that training takes beyond the ratings, at its peak, and what for, in a few words."""

    n_bytes: int
    why: str


def refuse_above(max_gigabytes: float, need: Need, *, system: str) -> None:
    """Refuse to start what needs more memory than allowed.

    Raises
    ------
    InputError
        With the system, the need, the limit and the setting that raises it.

    Examples
    --------
    >>> refuse_above(4.0, Need(9 * 10**9, "3 matrices"), system="ease")
    Traceback (most recent call last):
    runs.InputError: system 'ease' needs about 9.0 GB (3 matrices), above the limit of \
4.0 GB; raise its setting 'max_gigabytes' or leave the system out.
    """
    if need.n_bytes > max_gigabytes * 1e9:
        raise InputError(
            f"system {system!r} needs about {need.n_bytes / 1e9:.1f} GB ({need.why}), above the "
            f"limit of {max_gigabytes} GB; raise its setting 'max_gigabytes' or leave the system "
            "out."
        )


def workers_within(available_bytes: int, needs: Sequence[int], *, n_jobs: int) -> int:
    """Give how many of the trainings fit into memory side by side, whichever meet; at least 1.

    Each training takes so many bytes; ``n_jobs`` workers are wanted.

    Examples
    --------
    >>> workers_within(10 * 10**9, [6 * 10**9, 5 * 10**9, 10**9], n_jobs=2)
    1
    """
    largest = sorted(needs, reverse=True)
    fitting = [n for n in range(1, n_jobs + 1) if sum(largest[:n]) <= available_bytes]
    return max(fitting, default=1)
