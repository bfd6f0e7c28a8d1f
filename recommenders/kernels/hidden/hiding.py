"""What is hidden, from whom, and what competes with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from qrels.ranks.hidden_ranks import MISS
from qrels.ranks.judged_ranks import Validation
from runs import InputError
from runs.shared.errors import require_choice

Repeats: TypeAlias = Literal["first", "all"]
Reachable: TypeAlias = Literal["positive", "all"]
Lists: TypeAlias = Literal["profile", "loo", "lloo"]
VALIDATIONS: tuple[Validation, ...] = get_args(Validation)


@dataclass(frozen=True)
class Hiding:
    """How items are hidden and ranked; the defaults are those of the reference.

    Parameters
    ----------
    repeats
        Whether only the first event of a user and an item is hidden under leave last one out, or
        all.
    exclude_seen
        Whether the items of the profile, which a model is shown, are no candidates.
    reachable
        Whether an item is recommended only with a score above 0, or any, which is for models whose
        scores may be negative. With nothing to recommend from, every item is a miss.
    tie_order
        Of equal scores the lower item number is first.
    deepest
        Deepest rank that is kept under leave last one out, and looked at for coverage.
    lists
        Which lists coverage is about: one for each user from the whole profile, or those of either
        measurement. None, and its cost, by default.

    Raises
    ------
    InputError
        If a choice is none, or two exclude each other.

    References
    ----------
    Kasalický (2021), (1.30), (1.31), (2.1) and (2.2), which leave these choices open.
    """

    repeats: Repeats = "first"
    exclude_seen: bool = True
    reachable: Reachable = "positive"
    tie_order: str = "item"
    deepest: int = 50
    lists: Lists | None = None

    def __post_init__(self) -> None:
        require_choice("repeats", self.repeats, get_args(Repeats))
        require_choice("reachable", self.reachable, get_args(Reachable))
        if self.lists is not None:
            require_choice("lists", self.lists, get_args(Lists))
        if self.tie_order == "expected":
            raise InputError(
                "`tie_order` 'expected' is a mean over ranks, and a table of ranks holds one "
                "whole rank for each hidden item; use 'item'."
            )
        require_choice("tie_order", self.tie_order, ("item",))
        if self.repeats == "all" and self.exclude_seen:
            raise InputError(
                "`repeats` 'all' hides items that are still in the profile; with `exclude_seen` "
                "they are no candidates and can never be hit. Use 'first', or do not exclude."
            )
        if not 1 <= self.deepest < MISS:
            raise InputError(f"`deepest` must be from 1 to {MISS - 1}, got {self.deepest}.")
