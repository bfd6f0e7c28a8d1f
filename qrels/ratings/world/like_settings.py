"""What is said of a world that is like real ratings, and cannot be fitted to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from qrels.ratings.world.world_settings import refused_setting


class LikeSettings(BaseModel):
    """What the ratings do not tell of the world that they came from.

    Who rates what is all that there is to learn from: strong liking of what is rated, and strong
    familiarity with it, leave much the same ratings. `liking` is therefore stated; all else is
    fitted given its value.

    Examples
    --------
    >>> LikeSettings(seed=7).liking
    1.0
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    liking: float = Field(
        default=1.0,
        ge=0.0,
        le=5.0,
        description="How strongly being rated follows preference, in units of the spread of "
        "ratings, 0 (not at all) to 5. It cannot be learned from the ratings: try several.",
    )
    exposure: float = Field(
        default=1.0,
        ge=0.0,
        le=2.0,
        description="Multiple of the popularity that is fitted, 0 (none) to 2; popularity is met "
        "at 1 alone.",
    )
    familiarity: float = Field(
        default=1.0,
        ge=0.0,
        le=2.0,
        description="Multiple of the familiarity that is fitted, 0 (none) to 2.",
    )
    strength: float = Field(
        default=1.0,
        ge=0.0,
        le=10.0,
        description="Multiple of popularity, familiarity and liking in what is rated, 0 (ratings "
        "are missing completely at random) to 10. All is fitted as if it were 1, so that the truth "
        "does not depend on it.",
    )
    bias: Literal["both", "exposure", "liking"] = Field(
        default="both",
        description="What `strength` multiplies: liking, or popularity and familiarity "
        "(`exposure`); the other stays as it is.",
    )
    fill: float = Field(
        default=1.0,
        gt=0.0,
        description="Multiple of every user's number of ratings, above 0; like `strength`, it "
        "leaves the truth as it is.",
    )
    seed: int = Field(default=1, ge=0, description="Seed of all that is drawn, at least 0.")

    @property
    def exposure_strength(self) -> float:
        """Multiple of popularity and familiarity."""
        return 1.0 if self.bias == "liking" else self.strength

    @property
    def liking_strength(self) -> float:
        """Multiple of ``liking``."""
        return 1.0 if self.bias == "exposure" else self.strength

    @property
    def is_usual(self) -> bool:
        """Whether as much is rated, as selectively, as all is fitted for."""
        return self.exposure == self.familiarity == self.strength == self.fill == 1


def like_settings(changes: Mapping[str, Any]) -> LikeSettings:
    """Check the settings of a world that is like real ratings.

    Raises
    ------
    InputError
        If there is no such setting, or a value is out of range.

    Examples
    --------
    >>> like_settings({"liking": 9.0})
    Traceback (most recent call last):
    runs.InputError: the world's setting 'liking': input should be less than or equal to 5.
    """
    try:
        return LikeSettings.model_validate(changes)
    except ValidationError as error:
        raise refused_setting(error) from None
