"""What a system is: a name, a family, a publication, settings, search space, memory, training."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from pydantic import ConfigDict, Field

from qrels import Ratings
from recommenders.shared.scorers import BatchScorer
from runs.shared.errors import InputError
from runs.shared.members import Member
from runs.shared.settings import Section

if TYPE_CHECKING:
    from lenskit.pipeline import Component
    from pydantic import BaseModel


Value: TypeAlias = int | float | str | bool

KEY = "search"
DIGITS = 3


@dataclass(frozen=True)
class Range:
    """Numbers between two bounds, both included: whole ones if both bounds are.

    Parameters
    ----------
    low, high
        The bounds, rising.
    log
        Whether ratios count, not differences: as many numbers from 1 to 10 as from 10 to 100.
    """

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ValueError(f"the bounds of a range must rise, got {self.low} and {self.high}.")
        if self.log and self.low <= 0:
            raise ValueError(f"a logarithmic range must begin above 0, got {self.low}.")

    @property
    def is_whole(self) -> bool:
        """Whether only whole numbers are meant."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    def __contains__(self, value: Value) -> bool:
        return not isinstance(value, str) and self.low <= value <= self.high

    def at(self, uniform: float) -> Value:
        """Give the number at a share of the range, from 0 to 1: evenly, or by ratios."""
        if self.log:
            return self.tidy(self.low * (self.high / self.low) ** uniform)
        return self.tidy(self.low + uniform * (self.high - self.low))

    def tidy(self, number: float) -> Value:
        """Round to a whole number or to three significant digits, within the bounds."""
        rounded = round(number) if self.is_whole else float(f"{number:.{DIGITS}g}")
        return min(max(rounded, self.low), self.high)

    def read(self, text: str) -> Value:
        """Read a number of this range back."""
        return int(text) if self.is_whole else float(text)

    def __str__(self) -> str:
        return f"{self.low} to {self.high}" + (", log" if self.log else "")


@dataclass(frozen=True)
class Choice:
    """One of some values, all worth trying equally.

    Parameters
    ----------
    values
        What there is to choose from.
    """

    values: tuple[Value, ...]

    def __post_init__(self) -> None:
        if len({str(value) for value in self.values}) < max(len(self.values), 2):
            raise ValueError(f"a choice needs two different values or more, got {self.values}.")

    def __contains__(self, value: Value) -> bool:
        return value in self.values

    def at(self, uniform: float) -> Value:
        """Give the value at a share of the values, from 0 to 1."""
        return self.values[min(int(uniform * len(self.values)), len(self.values) - 1)]

    def read(self, text: str) -> Value:
        """Read a value of this choice back."""
        return self.values[[str(value) for value in self.values].index(text)]

    def __str__(self) -> str:
        return ", ".join(str(value) for value in self.values)


Place: TypeAlias = Range | Choice


def search_space(settings: type[BaseModel]) -> Mapping[str, Place]:
    """Find which settings are searched, and where.

    Examples
    --------
    >>> from recommenders import systems
    >>> search_space(systems()["ease"].settings)
    {'regularization': Range(low=10.0, high=5000.0, log=True)}
    """
    extras = {name: field.json_schema_extra for name, field in settings.model_fields.items()}
    found: Any = {n: e[KEY] for n, e in extras.items() if isinstance(e, dict) and KEY in e}
    return {name: (Choice if "values" in data else Range)(**data) for name, data in found.items()}


PROCESS_BYTES = 700_000_000
"""What a worker holds before it trains: LensKit and torch."""


@dataclass(frozen=True)
class Need:
    """Memory that training takes beyond the ratings, at its peak, and what for, in a few words."""

    n_bytes: int
    why: str


def workers_within(available_bytes: int, needs: Sequence[int], *, n_jobs: int) -> int:
    """Give how many of the trainings fit into memory side by side, whichever meet; at least 1.

    Each training takes so many bytes; ``n_jobs`` workers are wanted.

    Examples
    --------
    >>> workers_within(10 * 10**9, [6 * 10**9, 5 * 10**9, 10**9], n_jobs=2)
    1
    """
    largest = sorted(needs, reverse=True)
    fitting = [n for n in range(1, n_jobs + 1) if sum(largest[:n]) <= available_bytes]
    return max(fitting, default=1)


def require_any(ratings: Ratings, *, system: str) -> None:
    """Refuse ratings that are all 0."""
    if not ratings.rating.any():
        raise InputError(f"system {system!r} cannot be trained: every training rating is 0.")


AtLeastOne: TypeAlias = Annotated[int, Field(ge=1)]
Factors: TypeAlias = Annotated[int, Field(ge=1, le=2000)]
Positive: TypeAlias = Annotated[float, Field(gt=0)]
NotNegative: TypeAlias = Annotated[float, Field(ge=0)]
Gigabytes: TypeAlias = Annotated[
    float, Field(gt=0, description="Maximum memory for training, in GB: above 0.")
]


class Settings(Section):
    """Settings of a system: described fields with ranges; unknown names are refused."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False)


def searched(default: Any, place: Place, description: str = "", **facts: Any) -> Any:
    """Declare a setting that `harness tune` searches; one declared by `Field` stays as it is.

    Parameters
    ----------
    default
        The default, which must be in the place.
    place
        Where values worth trying are: a `Range` or a `Choice`.
    description
        What it means; "" where the type says so.
    facts
        What else `pydantic.Field` takes, such as what is allowed at all.

    Examples
    --------
    >>> from recommenders.shared.system import Range
    >>> class MySettings(Settings):
    ...     factors: int = searched(30, Range(5, 200), "Number of factors.", ge=1)
    >>> MySettings().factors
    30
    """
    if default not in place:
        raise ValueError(f"the default {default!r} is not where it is searched: {place}.")
    facts |= {"description": description} if description else {}
    return Field(default, json_schema_extra={KEY: asdict(place)}, **facts)


@dataclass(frozen=True)
class SystemSpec(Member[Any]):
    """One recommender, as its file declares it.

    Parameters
    ----------
    name, source
        See `Member`.
    make
        Learns from ratings, settings and a seed; equal arguments give equal scorers. Its
        annotations name the class of its settings, whose defaults are good on MovieLens-like data.
    family
        The kind of method, in one or two words.
    lenskit
        Makes LensKit's component for these settings, where the system is one of LensKit's;
        None where it is ours.
    need
        Estimates the memory that training takes, for systems with a setting ``max_gigabytes``;
        None where it is little.
    amounts
        Whether it takes ratings for amounts, which are at least 0 and not all 0.
    """

    family: str
    lenskit: Callable[[Any], Component[Any]] | None = None
    need: Callable[[Ratings, Any], Need] | None = None
    amounts: bool = False

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


def system(name: str, **facts: Any) -> Callable[[Callable[..., BatchScorer]], SystemSpec]:
    """Declare the function below, whose ``settings`` have an annotation, as a system's training.

    Other facts are those of `SystemSpec`: source and family, and what else is to be said.

    Examples
    --------
    >>> @system("nothing", family="baseline", source="-")
    ... def nothing(ratings, settings: Settings, *, seed):
    ...     '''Score every item alike.'''
    >>> nothing.name, nothing.summary
    ('nothing', 'Score every item alike.')
    """
    return lambda make: SystemSpec(name, make=make, **facts)
