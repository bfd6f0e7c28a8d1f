"""What systems ask of ratings that they read as amounts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runs import InputError

if TYPE_CHECKING:
    from qrels import Ratings


def require_amounts(ratings: Ratings, *, system: str) -> None:
    """Refuse ratings below 0, or all 0.

    Raises
    ------
    InputError
        With the system and the rule.
    """
    if (ratings.rating < 0).any() or not ratings.rating.any():
        raise InputError(
            f"system {system!r} cannot be trained: it needs ratings of at least 0, and one above."
        )
