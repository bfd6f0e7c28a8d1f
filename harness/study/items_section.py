"""The table [items] of a study file: what metrics may know of items."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from pydantic import Field

from runs.shared.members import Names, Section

PATHS = ("features", "popularity", "propensities")


class ItemsSection(Section):
    """What is known of items, for metrics that ask."""

    features: Path | None = Field(
        None,
        description="Table of features, an item a row: columns of numbers, or of categories "
        "between |.",
    )
    columns: Names = Field(
        (), description="Columns of it that are features; by default all but the first."
    )
    popularity: Path | None = Field(
        None, description="Table of counts of ratings, where they do not come from training."
    )
    propensities: Literal["world"] | Path | None = Field(
        None,
        description='Table of chances to be observed, above 0 and up to 1; or "world": those in '
        "a simulated world, for users to whom the item is relevant.",
    )

    @property
    def files(self) -> list[Path]:
        """The tables that are read."""
        return [path for name in PATHS if isinstance(path := getattr(self, name), Path)]

    def anchored(self, anchor: Callable[[Path], Path]) -> ItemsSection:
        """Let paths count from the folder of the study file."""
        given = {name: getattr(self, name) for name in PATHS}
        update = {name: anchor(path) for name, path in given.items() if isinstance(path, Path)}
        return self.model_copy(update=update)
