"""What systems ask of ratings that they read as amounts."""

from __future__ import annotations

from qrels import Ratings
from runs import InputError


def require_amounts(ratings: Ratings, *, system: str) -> None:
    """Refuse ratings below 0, or all 0."""
    least = ratings.rating.min()
    if least < 0:
        raise InputError(
            f"system {system!r} cannot be trained: it reads ratings as amounts, which must be at "
            f"least 0, got {least}."
        )
    require_any(ratings, system=system)


def require_any(ratings: Ratings, *, system: str) -> None:
    """Refuse ratings that are all 0, likewise."""
    if not ratings.rating.any():
        raise InputError(f"system {system!r} cannot be trained: every training rating is 0.")
