"""All ratings from a moment on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from qrels.ratings.ratings import Ratings, Split
from qrels.ratings.splitter import SplitSettings, TestShare, require_times, rounded_share, split
from runs import InputError
from runs.shared.settings import Whole

USUAL_SHARE = 0.2


class Settings(SplitSettings):
    """Start of the test period, or its share of the ratings."""

    test_share: TestShare | None = Field(
        None, description="Share of all ratings in the test set; default without `cut`: 0.2."
    )
    cut: Whole | None = Field(
        None,
        description="Start of the test period, in seconds since 1970 in UTC, in place of a share.",
    )
    cold_users: Literal["drop", "keep"] = Field(
        "drop",
        description="Users without ratings before the test period: drop them from the test "
        "ratings, or keep them.",
    )

    @model_validator(mode="before")
    @classmethod
    def _share_without_cut(cls, values: Any) -> Any:
        """Add the default share to settings without a cut."""
        if isinstance(values, Mapping) and values.get("cut") is None:
            return {"test_share": USUAL_SHARE, **values}
        return values

    @model_validator(mode="after")
    def _share_or_cut(self) -> Self:
        """Refuse settings with both a share and a cut, or with neither."""
        if (self.test_share is None) == (self.cut is None):
            raise ValueError("a global-time split needs either `test_share` or `cut`")
        return self

    def within_training(self) -> Self:
        """Replace a cut by the default share: all training ratings lie before the cut."""
        return self if self.cut is None else type(self)(cold_users=self.cold_users)


@split("global-time", source="Campos et al. (2014)")
def global_time(ratings: Ratings, settings: Settings, *, seed: int) -> Split:
    r"""Train on the ratings before a point in time, and test on the later ones.

    A share of all N ratings puts the cut at the time of the
    :math:`\lfloor \mathrm{share} \cdot N + 1/2 \rfloor`-th latest, at least the first. Ratings of
    that second are all tested, so there may be more. `split_counts` counts the cold users. The seed
    is not used. Raises InputError without times, or if all ratings are on one side of the cut.

    Examples
    --------
    The cut is 5; dan is cold and dropped::

                   ratings       train         test
        ann      1 2 5 . 6     1 2 . . .     . . 5 . 6
        bob      . 3 4 . .     . 3 4 . .     . . . . .
        cid      4 . . 7 .     4 . . . .     . . . 7 .
        dan      . . 8 9 .     . . . . .     . . . . .
    """
    later = require_times(ratings) >= _cut(ratings, settings)
    if later.all() or not later.any():
        raise InputError(
            f"a global-time split needs ratings before and after its cut, got {(~later).sum()} "
            f"before and {later.sum()} after."
        )
    train = ratings.select(~later)
    tested = later
    if settings.cold_users == "drop":
        is_trained = train.user_counts() > 0
        tested = later & is_trained[ratings.user]
    return Split(train, ratings.select(tested))


def _cut(ratings: Ratings, settings: Settings) -> int:
    """Look up the cut, in seconds since 1970 in UTC, or compute it from the share of ratings."""
    if settings.test_share is None:
        assert settings.cut is not None
        return settings.cut
    n_test = max(rounded_share(settings.test_share, len(ratings)), 1)
    place = len(ratings) - n_test
    times = np.partition(require_times(ratings), place)
    return int(times[place])
