"""A stop before memory runs out: what is dense says how large it will be."""

from __future__ import annotations

from runs import InputError


def refuse_above(max_gigabytes: float, *, system: str, needed_bytes: int, why: str) -> None:
    """Refuse to start what needs more memory than allowed.

    Raises
    ------
    InputError
        With the system, the need, the limit and the setting that raises it.

    Examples
    --------
    >>> refuse_above(4.0, system="ease", needed_bytes=9 * 10**9, why="3 matrices")
    Traceback (most recent call last):
    runs.errors.InputError: system 'ease' needs about 9.0 GB (3 matrices), above the limit of \
4.0 GB; raise its setting 'max_gigabytes' or leave the system out.
    """
    if needed_bytes > max_gigabytes * 1e9:
        raise InputError(
            f"system {system!r} needs about {needed_bytes / 1e9:.1f} GB ({why}), above the limit "
            f"of {max_gigabytes} GB; raise its setting 'max_gigabytes' or leave the system out."
        )
