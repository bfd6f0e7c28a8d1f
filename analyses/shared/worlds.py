"""Other worlds than the study's, in which the systems are trained anew."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

Bias: TypeAlias = Literal["both", "exposure", "liking"]


class OtherWorld(NamedTuple):
    """A world like the study's, under a seed of its own.

    Parameters
    ----------
    strength
        Multiple of what observation owes to popularity and liking; 0: nothing.
    density
        Multiple of the number of ratings.
    seed
        Key of all that is random in it: tastes, ratings, split, training.
    bias
        What the strength multiplies: "both", "exposure" (popularity) or "liking" alone.
    """

    strength: float
    density: float
    seed: int
    bias: Bias = "both"
