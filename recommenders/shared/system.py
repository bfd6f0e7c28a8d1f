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

SEARCH_KEY = "search"
"""Key of a field's JSON schema under which `searched` keeps the bounds or choices of a search."""

SIGNIFICANT_DIGITS = 3
"""Significant digits of searched numbers."""


@dataclass(frozen=True)
class Range:
    """Numbers between two bounds, both included: whole ones if both bounds are.

    Parameters
    ----------
    low, high
        The bounds, rising; whole numbers if both are of type int.
    log
        Whether the search is even by ratio: as many numbers from 1 to 10 as from 10 to 100.

    Raises
    ------
    ValueError
        If the bounds do not rise, or a logarithmic range does not begin above 0.
    """

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        """Raise ValueError for bounds that do not rise, and logarithms of numbers up to 0."""
        if not self.low < self.high:
            raise ValueError(f"the bounds of a range must rise, got {self.low} and {self.high}.")
        if self.log and self.low <= 0:
            raise ValueError(f"a logarithmic range must begin above 0, got {self.low}.")

    @property
    def is_whole(self) -> bool:
        """Whether the range holds only whole numbers, as both bounds are of type int."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    def __contains__(self, value: Value) -> bool:
        return not isinstance(value, str) and self.low <= value <= self.high

    def value_at(self, share: float) -> Value:
        """Return the number at a share of the range: ``low`` at 0, ``high`` at 1.

        Between them numbers are spaced evenly, or by ratio if the range is logarithmic. The number
        is rounded to a whole number or to three significant digits.
        """
        if self.log:
            return self.rounded(self.low * (self.high / self.low) ** share)
        return self.rounded(self.low + share * (self.high - self.low))

    def rounded(self, number: float) -> Value:
        """Round a number to a value of this range of a setting.

        It is rounded to a whole number if the range is whole, else to three significant digits, and
        raised or lowered to the bounds.
        """
        if self.is_whole:
            rounded: float = round(number)
        else:
            rounded = float(f"{number:.{SIGNIFICANT_DIGITS}g}")
        return min(max(rounded, self.low), self.high)

    def parse(self, text: str) -> Value:
        """Convert the text of a number of this range: to int if the range is whole, else float."""
        return int(text) if self.is_whole else float(text)

    def __str__(self) -> str:
        return f"{self.low} to {self.high}" + (", log" if self.log else "")


@dataclass(frozen=True)
class Choice:
    """A choice between values that are tried equally often.

    Parameters
    ----------
    values
        The values: at least two, whose texts differ.

    Raises
    ------
    ValueError
        If there are fewer than two values, or two have the same text.
    """

    values: tuple[Value, ...]

    def __post_init__(self) -> None:
        """Raise ValueError for fewer than two values, or two that are printed alike."""
        texts = {str(value) for value in self.values}
        if len(texts) < max(len(self.values), 2):
            raise ValueError(f"a choice needs two different values or more, got {self.values}.")

    def __contains__(self, value: Value) -> bool:
        return value in self.values

    def value_at(self, share: float) -> Value:
        """Return the value at a share, from 0 to 1, of which each value has an equal part."""
        number = int(share * len(self.values))
        return self.values[min(number, len(self.values) - 1)]

    def parse(self, text: str) -> Value:
        """Return the value with this text; ValueError if none has it."""
        texts = [str(value) for value in self.values]
        return self.values[texts.index(text)]

    def __str__(self) -> str:
        return ", ".join(str(value) for value in self.values)


SearchDomain: TypeAlias = Range | Choice
"""Where the values of a setting are searched."""


def search_space(settings: type[BaseModel]) -> Mapping[str, SearchDomain]:
    """Return the settings that are searched, each with the `Range` or `Choice` of its values.

    Settings declared without `searched` are left out.

    Examples
    --------
    >>> from recommenders import systems
    >>> search_space(systems()["ease"].settings)
    {'regularization': Range(low=10.0, high=5000.0, log=True)}
    """
    domains: dict[str, SearchDomain] = {}
    for name, field in settings.model_fields.items():
        extra: Any = field.json_schema_extra
        if isinstance(extra, dict) and SEARCH_KEY in extra:
            arguments = extra[SEARCH_KEY]
            domain_class = Choice if "values" in arguments else Range
            domains[name] = domain_class(**arguments)
    return domains


PROCESS_BYTES = 700_000_000
"""Bytes that a worker process holds before it trains: LensKit and torch."""


@dataclass(frozen=True)
class MemoryNeed:
    """Memory that training takes beyond the ratings, at its peak, in bytes; and what takes it.

    ``purpose`` names the arrays in a few words, for the error if the memory is above the limit.
    """

    n_bytes: int
    purpose: str


def workers_within(available_bytes: int, needs: Sequence[int], *, n_jobs: int) -> int:
    """Count how many trainings fit into memory side by side, at most ``n_jobs``, at least 1.

    Whichever trainings meet must fit, so the largest are added up.

    Parameters
    ----------
    available_bytes
        Free memory, in bytes.
    needs
        Memory that each training takes, in bytes.
    n_jobs
        Number of workers that are asked for.

    Examples
    --------
    >>> workers_within(10 * 10**9, [6 * 10**9, 5 * 10**9, 10**9], n_jobs=2)
    1
    """
    descending = sorted(needs, reverse=True)
    fitting = [n for n in range(1, n_jobs + 1) if sum(descending[:n]) <= available_bytes]
    return max(fitting, default=1)


def require_nonzero(ratings: Ratings, *, system: str) -> None:
    """Refuse ratings that are all 0, or none, with InputError that names the system."""
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


def searched(default: Any, domain: SearchDomain, description: str = "", **constraints: Any) -> Any:
    """Declare a setting that `harness tune` searches; one declared by `Field` is not searched.

    Parameters
    ----------
    default
        The default, which must be in the domain.
    domain
        The values worth trying: a `Range` or a `Choice`.
    description
        Description of the setting; "" if the annotated type has one.
    constraints
        Other arguments of `pydantic.Field`, such as ``ge``: the values that are allowed at all.

    Returns
    -------
    The field, for the class of settings.

    Raises
    ------
    ValueError
        If the default is not in the domain.

    Examples
    --------
    >>> from recommenders.shared.system import Range
    >>> class MySettings(Settings):
    ...     factors: int = searched(30, Range(5, 200), "Number of factors.", ge=1)
    >>> MySettings().factors
    30
    """
    if default not in domain:
        raise ValueError(f"the default {default!r} is not where it is searched: {domain}.")
    if description:
        constraints["description"] = description
    return Field(default, json_schema_extra={SEARCH_KEY: asdict(domain)}, **constraints)


@dataclass(frozen=True)
class SystemSpec(Member[Any]):
    """A recommender as its file declares it; see `system`.

    Parameters
    ----------
    name, source
        Name of the system, and the publication that defines it.
    make
        Trains: called with ratings, settings and a seed, it returns a scorer. Equal arguments give
        equal scorers. Its annotation of ``settings`` is the class of the settings, whose defaults
        are good on MovieLens-like data.
    family
        Kind of method, in one or two words.
    lenskit
        Makes the component of LensKit with these settings if the system is one of LensKit's, else
        None.
    memory_need
        Estimates the memory of training, for systems with a setting ``max_gigabytes``; None if
        training takes little memory.
    requires_nonnegative
        Whether training requires ratings of at least 0 that are not all 0, as it takes them for
        counts or weights.
    """

    family: str
    lenskit: Callable[[Any], Component[Any]] | None = None
    memory_need: Callable[[Ratings, Any], MemoryNeed] | None = None
    requires_nonnegative: bool = False

    @property
    def scores_histories(self) -> bool:
        """Whether the trained system scores anybody's ratings, not those of training users alone.

        It does if the class that ``make`` is annotated to return has ``score_histories``. False
        without this annotation.
        """
        if "return" not in self.make.__annotations__:
            return False
        return hasattr(self._annotated("return"), "score_histories")

    @property
    def stem(self) -> str:
        """Stem of the names of the system's classes: RM2 for RM2Settings and RM2Scorer."""
        return self.settings.__name__.removesuffix("Settings")

    def facts(self) -> dict[str, Any]:
        """Describe the system as data for JSON.

        The keys are name, family, source, summary, ``lenskit`` (whether it is a component of
        LensKit) and ``settings``: the JSON schema of each setting, without titles.
        """
        schema = self.settings.model_json_schema(mode="serialization")["properties"]
        settings = {}
        for name, field in schema.items():
            settings[name] = {key: value for key, value in field.items() if key != "title"}
        return {
            "name": self.name,
            "family": self.family,
            "source": self.source,
            "summary": self.summary,
            "lenskit": self.lenskit is not None,
            "settings": settings,
        }


def system(name: str, **facts: Any) -> Callable[[Callable[..., BatchScorer]], SystemSpec]:
    """Declare the function below as the training of a system.

    Parameters
    ----------
    name
        Name of the system in study files and tables.
    facts
        The other fields of `SystemSpec`: ``source`` and ``family``, and where they apply
        ``lenskit``, ``memory_need`` and ``requires_nonnegative``.

    Returns
    -------
    A decorator that makes a `SystemSpec` of the function.

    Notes
    -----
    The function takes the training ratings, settings that are annotated with their class, and the
    random seed, by keyword. It returns a scorer of the users and items of the ratings. The first
    paragraph of its docstring is the summary that `harness systems` prints.

    Examples
    --------
    >>> @system("nothing", family="baseline", source="-")
    ... def nothing(ratings, settings: Settings, *, seed):
    ...     '''Score every item alike.'''
    >>> nothing.name, nothing.summary
    ('nothing', 'Score every item alike.')
    """
    return lambda make: SystemSpec(name, make=make, **facts)
