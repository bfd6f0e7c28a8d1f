"""What a system is: a name, a family, a publication, settings, and how to train it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeAlias, TypeVar

from pydantic import ConfigDict, Field

from qrels import Ratings
from recommenders.shared.memory import Need
from recommenders.shared.scorers import BatchScorer
from recommenders.shared.search_space import KEY, Place
from runs.shared.errors import InputError, missing_package
from runs.shared.members import Member, Section

if TYPE_CHECKING:
    from lenskit.pipeline import Component

SettingsT = TypeVar("SettingsT", bound="Settings", contravariant=True)

AtLeastOne: TypeAlias = Annotated[int, Field(ge=1)]
Factors: TypeAlias = Annotated[int, Field(ge=1, le=2000)]
Positive: TypeAlias = Annotated[float, Field(gt=0)]
NotNegative: TypeAlias = Annotated[float, Field(ge=0)]
Gigabytes: TypeAlias = Annotated[
    float, Field(gt=0, description="Memory that training may take, in GB: above 0.")
]


class Settings(Section):
    """Settings of a system: described fields with ranges; unknown names are refused."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False)


def searched(default: Any, place: Place, **facts: Any) -> Any:
    """Declare a setting that `harness tune` searches; one declared by `Field` stays as it is.

    Parameters
    ----------
    default
        The default, which must be in the place.
    place
        Where values worth trying are: a `Range` or a `Choice`.
    facts
        What `pydantic.Field` takes: the description, and what is allowed at all.

    Raises
    ------
    ValueError
        If the default is somewhere else.

    Examples
    --------
    >>> from recommenders.shared.search_space import Range
    >>> class MySettings(Settings):
    ...     factors: int = searched(30, Range(5, 200), ge=1, description="Number of factors.")
    >>> MySettings().factors
    30
    """
    if default not in place:
        raise ValueError(f"the default {default!r} is not where it is searched: {place}.")
    return Field(default, json_schema_extra={KEY: asdict(place)}, **facts)


class Trainer(Protocol[SettingsT]):
    """Learns from training ratings; equal arguments give equal scorers."""

    def __call__(self, ratings: Ratings, settings: SettingsT, *, seed: int) -> BatchScorer:
        """Train on ``ratings`` and give what scores their users and items."""


@dataclass(frozen=True)
class SystemSpec(Member[Any]):
    """One recommender, as its file declares it.

    Parameters
    ----------
    name, source
        See `Member`.
    make
        Trains it; its annotations name the class of its settings, whose defaults are good on
        MovieLens-like data.
    family
        The kind of method, in one or two words.
    lenskit
        Makes LensKit's component for these settings, where the system is one of LensKit's;
        None where it is ours.
    need
        Estimates the memory that training takes, for systems with a setting ``max_gigabytes``;
        None where it is little.
    """

    make: Trainer[Any]
    family: str
    lenskit: Callable[[Any], Component[Any]] | None = None
    need: Callable[[Ratings, Any], Need] | None = None

    @property
    def scores_histories(self) -> bool:
        """Whether it scores anybody's ratings, as the annotation of what it trains says."""
        made = self._annotated("return") if "return" in self.make.__annotations__ else None
        return hasattr(made, "score_histories")

    @property
    def stem(self) -> str:
        """What its classes are called: RM2, of RM2Settings and RM2Scorer."""
        return self.settings.__name__.removesuffix("Settings")

    def facts(self) -> dict[str, Any]:
        """Say what is known of the system, as data: all but how it is trained."""
        schema = self.settings.model_json_schema(mode="serialization")["properties"]
        return {
            "name": self.name,
            "family": self.family,
            "source": self.source,
            "summary": self.summary,
            "lenskit": self.lenskit is not None,
            "settings": {
                name: {key: value for key, value in field.items() if key != "title"}
                for name, field in schema.items()
            },
        }


def system(
    name: str,
    *,
    family: str,
    source: str,
    lenskit: Callable[[Any], Component[Any]] | None = None,
    need: Callable[[Ratings, Any], Need] | None = None,
) -> Callable[[Trainer[Any]], SystemSpec]:
    """Declare the function below, whose ``settings`` have an annotation, as a system's training.

    Examples
    --------
    >>> @system("nothing", family="baseline", source="-")
    ... def nothing(ratings, settings: Settings, *, seed):
    ...     '''Score every item alike.'''
    >>> nothing.name, nothing.summary
    ('nothing', 'Score every item alike.')
    """

    def declare(make: Trainer[Any]) -> SystemSpec:
        return SystemSpec(name, source, make, family, lenskit, need)

    return declare


def not_installed(name: str, error: ModuleNotFoundError) -> InputError:
    """Say which package a system needs, and how to install it."""
    package = str(error.name).partition(".")[0]
    return missing_package(package, needed_by=f"system {name!r}", extra="recommenders")
