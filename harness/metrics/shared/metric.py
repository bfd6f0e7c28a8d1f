"""What a metric is: a function of judged lists with a name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from harness.metrics.shared.averages import logarithms
from harness.metrics.shared.names import Value, print_name
from qrels import Judged
from runs import InputError
from runs.shared.modules import failure_of


class MetricFunction(Protocol):
    """Scores of all users: judged lists in, float64 of shape (n_users,) out.

    A metric with options takes each as a further keyword.
    """

    def __call__(
        self, judged: Judged, *, cutoff: int | None = None, **options: Any
    ) -> NDArray[np.float64]:
        """Score every user."""


Defined = TypeVar("Defined", bound=Callable[..., NDArray[np.float64]])


@dataclass(frozen=True)
class Option:
    """An option of a metric, as data.

    Parameters
    ----------
    name
        Keyword of the definition.
    default
        Its value where the name of the metric does not give one; not printed.
    help
        One line: what it does, and which values it takes.
    accepts
        Tells whether a value will do.
    """

    name: str
    default: Value
    help: str
    accepts: Callable[[Value], bool]


def between(low: float, high: float) -> Callable[[Value], bool]:
    """Accept numbers strictly between two bounds.

    Examples
    --------
    >>> between(0, 1)(0.8), between(0, 1)(1), between(0, 1)("x")
    (True, False, False)
    """
    return lambda value: isinstance(value, int | float) and low < value < high


LEVEL = Option(
    "rel",
    0,
    "lowest relevant grade, a whole number of at least 1; by default that of the qrels",
    lambda value: isinstance(value, int) and value >= 1,
)
"""The option that every metric with relevant items has: the relevance level."""


MEAN = Option(
    "mean",
    "arithmetic",
    "arithmetic (the default), or geometric: then users' scores are log(max(score, 1e-5)), and the "
    "exponential of their mean is given as the mean, as in trec_eval's gm_map",
    lambda value: value in ("arithmetic", "geometric"),
)
"""The option of every metric that is never negative: how its scores are averaged over users."""


def no_lattice(cutoff: int) -> int | None:
    """Say that scores are no multiples of one number."""
    return None


@dataclass(frozen=True)
class Metric:
    """A metric and what is known of it, as data.

    Parameters
    ----------
    name
        As printed, say ``nDCG``.
    function
        The definition.
    source
        Where it was published.
    trec_eval
        The measure that agrees in trec_eval, "" where there is none.
    lattice
        For a cut-off, a whole number that makes every score an integer when multiplied with
        it, or None; the exact permutation test then counts ties exactly.
    options
        What can be set in brackets behind the name.
    low, high
        Range of the scores.
    higher_is_better
        Whether more is better.
    has_level
        Whether it asks which items are relevant, and so has the option ``rel``.
    per_user
        Whether the definition scores one user at a time, which is slower.
    given
        Options that differ from their defaults.
    """

    name: str
    function: MetricFunction
    source: str
    trec_eval: str = ""
    lattice: Callable[[int], int | None] = no_lattice
    options: tuple[Option, ...] = ()
    low: float = 0.0
    high: float = 1.0
    higher_is_better: bool = True
    has_level: bool = True
    per_user: bool = False
    given: tuple[tuple[str, Value], ...] = ()

    @property
    def label(self) -> str:
        """Name with the options that differ from their defaults; reads back as this metric."""
        return print_name(self.name, dict(self.given))

    @property
    def all_options(self) -> tuple[Option, ...]:
        """The options: the relevance level where there is one, its own, the mean."""
        level = (LEVEL,) if self.has_level else ()
        mean = (MEAN,) if self.low >= 0 or self.is_geometric else ()
        return (*level, *self.options, *mean)

    @property
    def is_geometric(self) -> bool:
        """Whether scores are logarithms, so that their mean is that of a geometric mean."""
        return dict(self.given).get(MEAN.name) == "geometric"

    @property
    def summary(self) -> str:
        """First line of the definition's docstring."""
        return (self.function.__doc__ or "").strip().partition("\n")[0]

    def with_options(self, values: Mapping[str, Value]) -> Metric:
        """Set options.

        Raises
        ------
        InputError
            If there is no such option or it does not take the value; the sentence says what
            there is.
        """
        known = {option.name: option for option in self.all_options}
        for name, value in values.items():
            if name not in known:
                raise InputError(f"{self.name} has no option {name!r}; {self._known_options()}")
            if not known[name].accepts(value):
                raise InputError(
                    f"{self.name}: the option {name!r} ({known[name].help}) cannot be {value!r}."
                )
        merged = {**dict(self.given), **values}
        given = tuple(
            (option.name, merged[option.name])
            for option in self.all_options
            if option.name in merged and merged[option.name] != option.default
        )
        chosen = replace(self, given=given)
        if not chosen.is_geometric or self.is_geometric:
            return chosen
        low, high = logarithms(np.array([self.low, self.high])).tolist()
        return replace(chosen, low=low, high=high, lattice=no_lattice)

    def average(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Average over users, the last axis, by the mean that the metric asks for."""
        means = scores.mean(axis=-1)
        return np.asarray(np.exp(means) if self.is_geometric else means)

    def __call__(self, judged: Judged, *, cutoff: int | None = None) -> NDArray[np.float64]:
        """Score every user, and check what came back.

        Raises
        ------
        InputError
            If the definition fails, or does not return one finite number per user.
        """
        options = dict(self.given)
        level = options.pop(LEVEL.name, None) if self.has_level else None
        options.pop(MEAN.name, None)
        if isinstance(level, int):
            judged = judged.at_level(level)
        try:
            scores = self.function(judged, cutoff=cutoff, **options)
            values = np.asarray(scores, dtype=np.float64)
        except Exception as error:
            raise InputError(f"metric {self.label!r} fails {failure_of(error)}") from error
        if values.shape != (judged.n_users,):
            raise InputError(
                f"metric {self.label!r} must return one value per user, of shape "
                f"({judged.n_users},), got shape {values.shape}."
            )
        if not np.isfinite(values).all():
            user = int(np.flatnonzero(~np.isfinite(values))[0])
            raise InputError(
                f"metric {self.label!r} must return finite values, got {values[user]} at cut-off "
                f"{cutoff} for user number {user}."
            )
        return logarithms(values) if self.is_geometric else values

    def _known_options(self) -> str:
        if not self.all_options:
            return "it has none."
        listed = "; ".join(f"{option.name}: {option.help}" for option in self.all_options)
        return f"its options are {listed}."


def metric(name: str, *, source: str, **facts: Any) -> Callable[[Defined], Defined]:
    """Declare a function over judged lists a metric; the function itself stays as it is.

    Parameters
    ----------
    name, source
        See `Metric`.
    facts
        Further parameters of `Metric`: trec_eval, lattice, options, low, high,
        higher_is_better, has_level.

    Examples
    --------
    >>> @metric("hits", source="by hand", high=np.inf)
    ... def hits(judged: Judged, *, cutoff: int | None = None) -> NDArray[np.float64]:
    ...     "Number of relevant items in the list."
    ...     return judged.relevant[:, :cutoff].sum(axis=1).astype(float)
    >>> hits.metric.name, hits.metric.summary
    ('hits', 'Number of relevant items in the list.')
    """

    def declare(function: Defined) -> Defined:
        function.metric = Metric(name, function, source=source, **facts)  # type: ignore[attr-defined]
        return function

    return declare


def ratio(numerator: NDArray[np.float64], denominator: NDArray[np.number]) -> NDArray[np.float64]:
    """Divide, giving 0 where the denominator is 0, as trec_eval does.

    Examples
    --------
    >>> ratio(np.array([1.0, 1.0]), np.array([2, 0]))
    array([0.5, 0. ])
    """
    quotient = np.zeros(len(numerator))
    return np.divide(numerator, denominator, out=quotient, where=denominator > 0)
