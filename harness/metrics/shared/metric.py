"""What a metric is: a function of judged lists with a name; and averages over users."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from harness.metrics.shared.names import Value, print_name
from harness.metrics.shared.option import Option, options_of
from qrels import Judged
from qrels.ranks.judged_ranks import Validation
from runs import InputError
from runs.shared.arrays import DEEPEST_RANK, Floats, mean_in_order
from runs.shared.errors import prefixed_errors, require_choice, warn
from runs.shared.members import user_code

ROUNDING = 1e-9
"""How far a score may lie outside its range."""


class MetricFunction(Protocol):
    """Scores of all users: judged lists in, float64 of shape (n_users,) out.

    A metric with options takes each as a further keyword.
    """

    def __call__(self, judged: Judged, *, cutoff: int | None = None, **options: Any) -> Floats:
        """Score every user."""


LEVEL = Option(
    "rel",
    None,
    "a whole number, at least 1",
    "Lowest relevant grade; by default that of the qrels.",
    lambda value: isinstance(value, int) and value >= 1,
)
"""The option that every metric with relevant items has: the relevance level."""


CONDENSED = Option(
    "condensed",
    False,
    "true or false",
    "Take unjudged items out of the lists first, so that the others move up, as with trec_eval's "
    "-J (Sakai 2007).",
    lambda value: isinstance(value, bool),
)
"""The option that every metric has: whether ranks count judged items alone."""


MEAN = Option(
    "mean",
    "arithmetic",
    "arithmetic or geometric",
    "Geometric: users' scores are log(max(score, 1e-5)), and the exponential of their mean is "
    "given as the mean, as in trec_eval's gm_map.",
    lambda value: value in ("arithmetic", "geometric"),
)
"""The option of every metric that is never negative: how its scores are averaged over users."""


SHARED = (LEVEL, CONDENSED, MEAN)
"""The options that metrics have in common."""


@dataclass(frozen=True, eq=False, repr=False)
class Metric:
    """A metric: a function of judged lists, its options, its cut-off and facts about it.

    ``metric(option=value)`` sets options, ``metric @ n`` sets the cut-off, and ``metric(judged)``
    gives the scores of the users, float64 of shape (n_users,). Metrics that print the same are
    equal.

    Parameters
    ----------
    name
        Name, such as ``nDCG``.
    function
        The definition.
    source
        Publication that defines it.
    trec_eval
        The same measure in trec_eval; "" if there is none.
    aliases
        Other names.
    lattice
        Function of the cut-off: a whole number whose product with every score is an integer, or
        None. With it, the exact permutation test counts ties exactly.
    options
        Options, which are set in brackets after the name.
    low, high
        Range of the scores.
    higher_is_better
        Whether higher scores are better.
    has_level
        Whether it depends on which items are relevant, and so has the option ``rel``.
    needs
        Ranks that must be computed before scoring: of hidden items ("loo", "lloo").
    per_user
        Whether the function scores one user at a time, which is slower.
    accumulates
        How relevant items add up where every one raises the score, whatever the others: "sum" or
        "max" of what each earns at its rank, or "cascade"; "" for other metrics. Such scores have a
        residual (Moffat & Zobel 2008).
    note
        A sentence that readers of its values must know.
    given
        Options that differ from their defaults.
    cutoff
        Default cut-off; None for whole lists.
    declared
        The metric without options, if this one has options.

    Examples
    --------
    >>> from harness.metrics.ndcg import ndcg
    >>> ndcg(gains="exp") @ 10
    nDCG(gains=exp)@10
    >>> (ndcg @ 10)(gains="exp") == ndcg(gains="exp") @ 10
    True
    """

    name: str
    function: MetricFunction
    source: str
    trec_eval: str = ""
    aliases: tuple[str, ...] = ()
    lattice: Callable[[int], int | None] = lambda _: None
    options: tuple[Option, ...] = ()
    low: float = 0.0
    high: float = 1.0
    higher_is_better: bool = True
    has_level: bool = True
    needs: tuple[Validation, ...] = ()
    per_user: bool = False
    accumulates: Literal["", "sum", "max", "cascade"] = ""
    note: str = ""
    given: tuple[tuple[str, Value], ...] = ()
    cutoff: int | None = None
    declared: Metric | None = None

    def __post_init__(self) -> None:
        # Help, and what looks for examples, find the definition behind the metric.
        vars(self).update(
            __doc__=self.doc, __module__=self.function.__module__, __wrapped__=self.function
        )

    @property
    def label(self) -> str:
        """Name with the options that differ from their defaults."""
        return print_name(self.name, dict(self.given))

    def __str__(self) -> str:
        return print_name(self.name, dict(self.given), self.cutoff)

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Metric) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    @property
    def bare(self) -> Metric:
        """The metric without options and cut-off."""
        return replace(self, cutoff=None) if self.declared is None else self.declared

    @property
    def all_options(self) -> tuple[Option, ...]:
        """All options: relevance level, its own options, and the options of all metrics."""
        level = (LEVEL,) if self.has_level else ()
        mean = (MEAN,) if self.low >= 0 or self.is_geometric else ()
        return (*level, *self.options, CONDENSED, *mean)

    @property
    def accumulation(self) -> str:
        """How relevant items add up with these options; "" where the scores have no residual."""
        given = dict(self.given)
        changed = self.is_condensed or self.is_geometric or given.get("beta", 0.0) != 0.0
        scale_varies = self.accumulates == "cascade" and given.get("top") is None
        return "" if changed or scale_varies else self.accumulates

    @property
    def is_condensed(self) -> bool:
        """Whether unjudged items are removed from the lists first."""
        return dict(self.given).get(CONDENSED.name) is True

    @property
    def is_geometric(self) -> bool:
        """Whether scores are logarithms, for a geometric mean over the users."""
        return dict(self.given).get(MEAN.name) == "geometric"

    @property
    def doc(self) -> str:
        """Docstring of the function."""
        return inspect.getdoc(self.function) or ""

    @property
    def summary(self) -> str:
        """First line of the docstring of the function."""
        return self.doc.partition("\n")[0]

    def facts(self) -> list[str]:
        """Describe its source, range and direction in sentences."""
        better = "more" if self.higher_is_better else "less"
        trec_eval = f" In trec_eval: {self.trec_eval}." if self.trec_eval else ""
        return [
            f"Source: {self.source}.",
            f"From {self.low:g} to {self.high:g}, {better} is better.{trec_eval}",
        ]

    def with_options(self, values: Mapping[str, Any]) -> Metric:
        """Give the metric with some options set.

        Raises
        ------
        InputError
            If there is no such option, or it does not take the value.
        """
        known = {option.name: option for option in self.all_options}
        for name, value in values.items():
            if name not in known:
                options = "; ".join(f"{option.name}: {option.help}" for option in known.values())
                raise InputError(f"{self.name} has no option {name!r}; its options are {options}.")
            if not known[name].accepts(value):
                raise InputError(
                    f"{self.name}: the option {name!r} must be {known[name].values}, got {value!r}."
                )
        merged = {**dict(self.given), **values}
        given = tuple(
            (option.name, merged[option.name])
            for option in self.all_options
            if option.name in merged and merged[option.name] != option.default
        )
        bare = self.bare
        chosen = replace(bare, given=given, cutoff=self.cutoff, declared=bare)
        if not chosen.is_geometric:
            return chosen
        low, high = logarithms(np.array([bare.low, bare.high])).tolist()
        return replace(chosen, low=low, high=high, lattice=lambda _: None)

    def __matmul__(self, cutoff: int) -> Metric:
        if not isinstance(cutoff, Integral) or not 1 <= cutoff <= DEEPEST_RANK:
            raise InputError(
                f"{self}: the cut-off must be a whole number from 1 to {DEEPEST_RANK:,}, got "
                f"{cutoff!r}."
            )
        return replace(self, cutoff=int(cutoff))

    def average(self, scores: Floats) -> Floats:
        """Average scores over the users, the last axis, by the arithmetic or geometric mean."""
        means = mean_in_order(scores)
        return np.asarray(np.exp(means) if self.is_geometric else means)

    def __call__(
        self, judged: Judged | None = None, *, cutoff: int | None = None, **options: Any
    ) -> Any:
        """Score every user and check the scores; without judged lists, set options."""
        chosen = self.with_options(options) if options else self
        if judged is None:
            return chosen if cutoff is None else chosen @ cutoff
        return chosen._score(judged, self.cutoff if cutoff is None else cutoff)

    def _score(self, judged: Judged, cutoff: int | None) -> Floats:
        shared, level = {option.name for option in SHARED}, dict(self.given).get(LEVEL.name)
        options = {name: value for name, value in self.given if name not in shared}
        if self.is_condensed:
            judged = judged.condensed
        if isinstance(level, int):
            judged = judged.at_level(level)
        with user_code(f"metric {self.label!r}"), prefixed_errors(f"metric {self.label!r}"):
            values = np.asarray(self.function(judged, cutoff=cutoff, **options), dtype=np.float64)
        if values.shape != (judged.n_users,):
            raise InputError(
                f"metric {self.label!r} must return one value per user, of shape "
                f"({judged.n_users},), got shape {values.shape}."
            )
        if not np.isfinite(values).all():
            user = int(np.isfinite(values).argmin())
            raise InputError(
                f"metric {self.label!r} must return finite values, got {values[user]} at cut-off "
                f"{cutoff} for user number {user}."
            )
        values = logarithms(values) if self.is_geometric else values
        if (values < self.low - ROUNDING).any() or (values > self.high + ROUNDING).any():
            warn(
                f"metric {self.label!r} returns values outside its range, {self.low:g} to "
                f"{self.high:g}: give the right `low` and `high` in @metric."
            )
        return values


@contextmanager
def users_named(ids: Sequence[Any] | NDArray[np.str_]) -> Iterator[None]:
    """Name the user for whom a metric fails by the id, not by the number among those scored."""
    try:
        yield
    except InputError as error:
        named = re.sub(r"user number (\d+)", lambda n: f"user {str(ids[int(n[1])])!r}", str(error))
        raise InputError(named) from error


def metric(name: str, *, source: str, **facts: Any) -> Callable[[Callable[..., Any]], Metric]:
    """Declare a function of judged lists as a metric (decorator).

    The function takes `qrels.Judged` lists and a cut-off n, the number of ranks to consider (None
    for all), and returns the scores of all users, float64 of shape (n_users,). Its further
    keyword-only parameters are options of the metric; see
    `harness.metrics.shared.option.options_of`.

    In the formulas of all metrics, rel(k) is 1 if rank k holds a relevant item, else 0;
    :math:`r_k` and :math:`n_k` are the numbers of relevant and of judged non-relevant items in
    ranks 1 to k; R and N are these numbers over all judgements of the user.

    Parameters
    ----------
    name
        Name of the metric.
    source
        Publication that defines it.
    facts
        Further fields of `Metric`, such as ``high`` or ``higher_is_better``.

    Raises
    ------
    InputError
        If an option has the name of an option that all metrics have, or ``needs`` is unknown.

    Examples
    --------
    >>> @metric("hits", source="by hand", high=np.inf)
    ... def hits(judged: Judged, *, cutoff: int | None = None, times: int = 1):
    ...     "Number of relevant items in the list."
    ...     return times * judged.relevant[:, :cutoff].sum(axis=1)
    >>> hits(times=2) @ 5, hits.summary
    (hits(times=2)@5, 'Number of relevant items in the list.')
    >>> hits(Judged(np.array([[1.0, 0.0]]), np.ones((1, 1))), times=2)
    array([2.])
    """
    for need in facts.get("needs", ()):
        require_choice("needs", need, get_args(Validation))

    def declare(function: Callable[..., Any]) -> Metric:
        own = options_of(function)
        taken = {option.name for option in own} & {option.name for option in SHARED}
        if taken:
            raise InputError(f"{name}: {min(taken)!r} is an option that metrics have already.")
        return Metric(name, function, source, options=own, **facts)

    return declare


def ratio(numerator: Floats, denominator: NDArray[np.number]) -> Floats:
    """Divide; 0 where the denominator is 0, as in trec_eval. Both are of shape (n_users,)."""
    quotient = np.zeros(len(numerator))
    return np.divide(numerator, denominator, out=quotient, where=denominator > 0)


FLOOR = 1e-5
"""What trec_eval puts in the place of lower scores (``MIN_GEO_MEAN``)."""


def geometric_mean(scores: Floats) -> Floats:
    r"""Geometric mean over users, the last axis; it gives more weight to users with low scores.

    .. math:: \exp\left(\frac{1}{U} \sum_u \log \max(s_u, 10^{-5})\right)

    For AP it is trec_eval's ``gm_map`` (Robertson 2006, On GMAP: and other transformations), for
    bpref its ``gm_bpref``.

    Examples
    --------
    >>> float(geometric_mean(np.array([0.1, 0.4])))
    0.2
    """
    return np.asarray(np.exp(mean_in_order(logarithms(scores))))


def logarithms(scores: Floats) -> Floats:
    """Give the logarithms whose arithmetic mean orders systems as the geometric mean does."""
    return np.asarray(np.log(np.maximum(scores, FLOOR)))
