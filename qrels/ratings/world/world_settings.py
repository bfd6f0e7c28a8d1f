"""Settings of simulated worlds, and presets of them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import Field, model_validator

from runs.shared.errors import require_known
from runs.shared.settings import Section, check_settings

MAX_PAIRS = 10_000_000_000
"""Largest number of pairs of user and item of a world."""

Liking: TypeAlias = Annotated[float, Field(ge=0.0, le=5.0)]


class SharedSettings(Section):
    """Settings that all simulated worlds share: how much is observed, and how selectively."""

    exposure: float = Field(
        1.0,
        ge=0.0,
        le=2.0,
        description="Effect of item popularity on which ratings are observed: 0 (none) to 2; at 1 "
        "the ratings have the given Gini coefficient, or the fitted popularity.",
    )
    strength: float = Field(
        1.0,
        ge=0.0,
        le=10.0,
        description="Strength of the observation bias, which multiplies `exposure`, `familiarity` "
        "and `liking`: 0 (ratings are missing completely at random) to 10. It does not change the "
        "truth.",
    )
    bias: Literal["both", "exposure", "liking"] = Field(
        "both",
        description="Bias that `strength` multiplies: liking, exposure (popularity and "
        "familiarity), or both.",
    )
    fill: float = Field(
        1.0,
        gt=0.0,
        description="Multiple of the number of ratings, above 0. It does not change the truth.",
    )
    seed: int = Field(1, ge=0, description="Random seed of the world.")

    @property
    def exposure_strength(self) -> float:
        """Multiple of ``exposure``."""
        return 1.0 if self.bias == "liking" else self.strength

    @property
    def liking_strength(self) -> float:
        """Multiple of ``liking``."""
        return 1.0 if self.bias == "exposure" else self.strength


class WorldSettings(SharedSettings):
    """Settings of a drawn world; equal settings give equal worlds."""

    n_users: int = Field(ge=2, description="Number of users, at least 2.")
    n_items: int = Field(ge=2, description="Number of items, at least 2.")
    n_ratings: int = Field(ge=2, description="Exact number of observed ratings.")
    min_ratings: int = Field(5, ge=1, description="Minimum number of ratings per user, at least 1.")
    gini: float = Field(
        0.6,
        gt=0.0,
        lt=1.0,
        description="Gini coefficient of ratings over items if `exposure` is 1, in (0, 1); low "
        "values cannot be reached with strong `liking` or few ratings.",
    )
    liking: Liking = Field(
        1.5,
        description="Effect of preference on which ratings are observed: 0 (none) to 5. If "
        "`exposure` and `familiarity` are 0, too, ratings are missing completely at random.",
    )
    familiarity: float = Field(
        0.0,
        ge=0.0,
        le=10.0,
        description="Effect of familiarity, whether users like the item or not, on which ratings "
        "are observed: 0 (none) to 10. Users are familiar with items of their topics, and users "
        "with few ratings with popular items.",
    )
    dimensions: int = Field(16, ge=1, le=200, description="Latent dimensions of taste, 1 to 200.")
    noise: float = Field(
        0.6,
        ge=0.1,
        le=5.0,
        description="Scale of the logistic noise in ratings: 0.1 to 5 times the spread of taste.",
    )

    @model_validator(mode="after")
    def _numbers_fit(self) -> Self:
        """Raise ValueError for worlds of more than 10 billion pairs of a user and an item.

        Also if there are fewer ratings than all users must have, or more than pairs. The same holds
        for the number of ratings times ``fill``.
        """
        n_least = self.n_users * self.min_ratings
        n_pairs = self.n_users * self.n_items
        if n_pairs > MAX_PAIRS:
            raise ValueError(
                f"`n_users` times `n_items` must be at most {MAX_PAIRS:,}, got {n_pairs:,}."
            )
        numbers = {"n_ratings": self.n_ratings, "n_ratings` times `fill": self.n_observed}
        for name, number in numbers.items():
            if not n_least <= number <= n_pairs:
                raise ValueError(
                    f"`{name}` must be between {n_least:,} (`n_users` times `min_ratings`) and "
                    f"{n_pairs:,} (`n_users` times `n_items`), got {number:,}."
                )
        return self

    @property
    def n_observed(self) -> int:
        """Number of ratings: ``n_ratings`` times ``fill``."""
        return round(self.n_ratings * self.fill)

    @property
    def is_usual(self) -> bool:
        """Whether strength and fill are those with which popularity and cuts are computed."""
        return self.strength == 1 and self.fill == 1


PRESETS: Mapping[str, WorldSettings] = MappingProxyType(
    {
        "small": WorldSettings(
            n_users=600, n_items=1_000, n_ratings=40_000, min_ratings=20, gini=0.58
        ),
        # With these two, loss of popular items comes out as on real MovieLens data.
        "ml-1m": WorldSettings(
            n_users=6_040,
            n_items=3_706,
            n_ratings=1_000_209,
            min_ratings=20,
            gini=0.634,
            liking=0.9,
            familiarity=2.0,
        ),
        # These Gini coefficients are guesses: popularity on larger data is steeper.
        "ml-10m": WorldSettings(
            n_users=69_878, n_items=10_677, n_ratings=10_000_054, min_ratings=20, gini=0.75
        ),
        "ml-25m": WorldSettings(
            n_users=162_541, n_items=59_047, n_ratings=25_000_095, min_ratings=20, gini=0.85
        ),
    }
)


def world_settings(preset: str | None, changes: Mapping[str, Any]) -> WorldSettings:
    """Look up the settings of a simulated world by the name of a preset, and change some of them.

    The preset is "small" if it is None; ``changes`` are new values by setting.

    Raises InputError if there is no such preset or setting, or a setting breaks a rule.
    """
    name = "small" if preset is None else preset
    require_known("there is no preset", [name], [*PRESETS])
    values = {**PRESETS[name].model_dump(), **changes}
    return check_settings("the world", WorldSettings, values)
