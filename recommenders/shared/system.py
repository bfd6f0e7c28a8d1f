"""What a system is: a name, a family, a publication, settings, and how to train it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from recommenders.shared.search_space import Place, as_data
from runs.shared.errors import InputError, missing_package

if TYPE_CHECKING:
    from lenskit.pipeline import Component

    from qrels import Ratings
    from recommenders.shared.memory import Need
    from recommenders.shared.scorers import BatchScorer

SettingsT = TypeVar("SettingsT", bound="Settings", contravariant=True)


class Settings(BaseModel):
    """Settings of a system: described fields with ranges; unknown names are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


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
    return Field(default, json_schema_extra=as_data(place), **facts)


class Trainer(Protocol[SettingsT]):
    """Learns from training ratings; equal arguments give equal scorers."""

    def __call__(self, ratings: Ratings, settings: SettingsT, *, seed: int) -> BatchScorer:
        """Train on ``ratings`` and give what scores their users and items."""


@dataclass(frozen=True)
class SystemSpec:
    """One recommender, as its file declares it.

    Parameters
    ----------
    name
        What a study calls it.
    family
        The kind of method, in one or two words.
    source
        The publication that introduced it, as a short citation.
    settings
        Class of its settings; the defaults are good on MovieLens-like data.
    fit
        Trains it.
    lenskit
        Makes LensKit's component for these settings, where the system is one of LensKit's;
        None where it is ours.
    need
        Estimates the memory that training takes, for systems with a setting ``max_gigabytes``;
        None where it is little.
    """

    name: str
    family: str
    source: str
    settings: type[BaseModel]
    fit: Trainer[Any]
    lenskit: Callable[[Any], Component[Any]] | None = None
    need: Callable[[Ratings, Any], Need] | None = None

    @property
    def summary(self) -> str:
        """First line of the documentation."""
        return (self.fit.__doc__ or "").strip().partition("\n")[0]

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
    settings: type[Settings],
    lenskit: Callable[[Any], Component[Any]] | None = None,
    need: Callable[[Ratings, Any], Need] | None = None,
) -> Callable[[Trainer[Any]], SystemSpec]:
    """Declare the function below as the training of a system.

    Examples
    --------
    >>> @system("nothing", family="baseline", source="-", settings=Settings)
    ... def nothing(ratings, settings, *, seed):
    ...     '''Score every item alike.'''
    >>> nothing.name, nothing.summary
    ('nothing', 'Score every item alike.')
    """

    def declare(fit: Trainer[Any]) -> SystemSpec:
        return SystemSpec(name, family, source, settings, fit, lenskit, need)

    return declare


def not_installed(name: str, error: ModuleNotFoundError) -> InputError:
    """Say which package a system needs, and how to install it."""
    package = str(error.name).partition(".")[0]
    return missing_package(package, needed_by=f"system {name!r}", extra="recommenders")
