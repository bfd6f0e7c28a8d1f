"""What a split is: a name, a publication, settings, and which ratings train and which test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal, Protocol, Self, TypeAlias, TypeVar

from pydantic import Field

from qrels.ratings.datasets.split_files import SplitFiles
from qrels.ratings.ratings import Ratings, Split
from runs.shared.members import Member, Section

TestShare: TypeAlias = Annotated[
    float, Field(gt=0, lt=1, description="Share of ratings to test; exact: 0.2 is one fifth.")
]
TimeTies: TypeAlias = Annotated[
    Literal["item", "random"],
    Field(
        description="Which of a user's ratings of one second counts as later: that of the higher "
        "item number, or one at random."
    ),
]


class SplitSettings(Section):
    """Settings of a split: described fields with ranges; unknown names are refused."""

    @property
    def parts(self) -> SplitFiles | None:
        """Where the parts are, if they are given and not drawn; by default None."""
        return None

    def within_training(self) -> Self:
        """Give the settings that split the training part again; by default the same."""
        return self


SettingsT = TypeVar("SettingsT", bound=SplitSettings)
SettingsIn = TypeVar("SettingsIn", bound=SplitSettings, contravariant=True)


class HoldsOut(Protocol[SettingsIn]):
    """Divides ratings; equal arguments give equal parts."""

    def __call__(self, ratings: Ratings, settings: SettingsIn, *, seed: int) -> Split:
        """Tell what trains from what tests; `Ratings.select` keeps the numbering."""


@dataclass(frozen=True)
class Splitter(Member[SettingsT]):
    """A split, as its file declares it.

    Parameters
    ----------
    name, source
        See `Member`.
    make
        Divides ratings; its annotations name the class of its settings.
    """

    make: HoldsOut[SettingsT]

    def __call__(self, ratings: Ratings, settings: SettingsT | None = None, *, seed: int) -> Split:
        """Divide ratings; with the defaults if no settings are given."""
        return self.make(ratings, self.settings() if settings is None else settings, seed=seed)


def split(name: str, *, source: str) -> Callable[[HoldsOut[SettingsT]], Splitter[SettingsT]]:
    """Declare a function of ratings, settings and a seed as a split.

    Parameters
    ----------
    name, source
        See `Member`.

    Examples
    --------
    >>> @split("by-item", source="-")
    ... def by_item(ratings: Ratings, settings: SplitSettings, *, seed: int) -> Split:
    ...     '''Hold out every second item.'''
    ...     tested = ratings.item % 2 == 1
    ...     return Split(ratings.select(~tested), ratings.select(tested))
    >>> by_item.name, by_item.summary
    ('by-item', 'Hold out every second item.')
    """

    def declare(make: HoldsOut[SettingsT]) -> Splitter[SettingsT]:
        return Splitter(name, source, make)

    return declare
