"""Where the popularity of an item is counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from analyses.shared.analysis import AnalysisSettings, Given, SettingError
from analyses.shared.work import CountedIn

if TYPE_CHECKING:
    from analyses.shared.work import Work

RATINGS_IN_WORDS = {"train": "training ratings", "test": "judgements", "all": "ratings"}


class CountedSettings(AnalysisSettings):
    """Settings of an analysis that counts ratings of items."""

    section: ClassVar[str]

    counted_in: CountedIn | None = Field(
        None, description='Where popularity is counted; "train" if there are ratings, else "test".'
    )

    def check(self, given: Given) -> None:
        """Refuse to count in training ratings where there are none."""
        if not given.has_training and self.counted_in in ("train", "all"):
            raise SettingError(
                "counted_in",
                f"without training ratings, `counted_in` in [analyses.{self.section}] must be "
                f"'test', got {self.counted_in!r}.",
            )

    def counted(self, work: Work) -> tuple[CountedIn, NDArray[np.intp]]:
        """Say where is counted, and give the ratings of each item there."""
        counts = work.popularity_counts
        where = next(iter(counts)) if self.counted_in is None else self.counted_in
        return where, counts[where]
