"""Options by which a person says how a file of ratings is read."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from runs.tables.options import TableOptions


class RatingOptions(TableOptions):
    """How a file of ratings is read."""

    format: str | None = Field(None, description="Format of the ratings file; default: recognised.")
    implicit: bool | None = Field(
        None,
        description="Whether the data are implicit feedback: all items in the file are relevant, "
        "and ratings are counts or weights; default: only if all ratings are equal.",
    )
    duplicates: Literal["error", "last", "sum"] = Field(
        "error",
        description="Repeated pairs of user and item: report an error, keep the last rating, or, "
        "of amounts, add them up and leave out what comes to 0 or less.",
    )
    events: tuple[str, ...] = Field(
        (), description="Events that are read, such as purchase; others are dropped; default: all."
    )
    unrated: tuple[float, ...] = Field(
        (), description='Values that mean "not rated", such as 0 or -1; such lines are dropped.'
    )

    @property
    def of_file(self) -> dict[str, Any]:
        """The options by their names, without those that a section adds."""
        return {name: getattr(self, name) for name in RatingOptions.model_fields}
