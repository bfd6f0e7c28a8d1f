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
"""Largest distance of a score outside its range that is taken for rounding."""


class MetricFunction(Protocol):
    """Scores of all users: judged lists in, float64 of shape (n_users,) out.

    A metric with options takes each as a further keyword.
    """

    def __call__(self, judged: Judged, *, cutoff: int | None = None, **options: Any) -> Floats:
        """Score every user."""


LEVEL_OPTION = Option(
    "rel",
    None,
    "a whole number, at least 1",
    "Lowest relevant grade; by default that of the qrels.",
    lambda value: isinstance(value, int) and value >= 1,
)
"""The option that every metric with relevant items has: the relevance level."""


CONDENSED_OPTION = Option(
    "condensed",
    False,
    "true or false",
    "Take unjudged items out of the lists first, so that the others move up, as with trec_eval's "
    "-J (Sakai 2007).",
    lambda value: isinstance(value, bool),
)
"""The option that every metric has: whether ranks count judged items alone."""


MEAN_OPTION = Option(
    "mean",
    "arithmetic",
    "arithmetic or geometric",
    "Geometric: users' scores are log(max(score, 1e-5)), and the exponential of their mean is "
    "given as the mean, as in trec_eval's gm_map.",
    lambda value: value in ("arithmetic", "geometric"),
)
"""The option of every metric that is never negative: how its scores are averaged over users."""


SHARED_OPTIONS = (LEVEL_OPTION, CONDENSED_OPTION, MEAN_OPTION)
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
    option_values
        Names and values of the options that differ from their defaults.
    cutoff
        Default cut-off; None for whole lists.
    declared
        The metric as it was declared, if this one has options.

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
    option_values: tuple[tuple[str, Value], ...] = ()
    cutoff: int | None = None
    declared: Metric | None = None

    def __post_init__(self) -> None:
        # ``help`` and doctest find the function behind the metric by these attributes.
        vars(self).update(
            __doc__=self.doc, __module__=self.function.__module__, __wrapped__=self.function
        )

    @property
    def label(self) -> str:
        """Name with the options that differ from their defaults."""
        return print_name(self.name, dict(self.option_values))

    def __str__(self) -> str:
        return print_name(self.name, dict(self.option_values), self.cutoff)

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Metric) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    @property
    def as_declared(self) -> Metric:
        """The metric without options and cut-off."""
        return replace(self, cutoff=None) if self.declared is None else self.declared

    @property
    def all_options(self) -> tuple[Option, ...]:
        """All options: relevance level, options of the function, and those of all metrics.

        The relevance level is left out if the metric does not depend on it, and the kind of mean if
        scores can be negative.
        """
        options = [*self.options, CONDENSED_OPTION]
        if self.has_level:
            options.insert(0, LEVEL_OPTION)
        if self.low >= 0 or self.is_geometric:
            options.append(MEAN_OPTION)
        return tuple(options)

    @property
    def accumulation(self) -> str:
        """How relevant items add up with the options that are set; "" if there is no residual.

        Scores have no residual if unjudged items are removed, means are geometric, items have
        weights (``beta``), or the highest grade is that of each user (no ``top``).
        """
        values = dict(self.option_values)
        has_item_weights = values.get("beta", 0.0) != 0.0
        scale_varies = self.accumulates == "cascade" and values.get("top") is None
        if self.is_condensed or self.is_geometric or has_item_weights or scale_varies:
            return ""
        return self.accumulates

    @property
    def is_condensed(self) -> bool:
        """Whether unjudged items are removed from the lists first."""
        return dict(self.option_values).get(CONDENSED_OPTION.name) is True

    @property
    def is_geometric(self) -> bool:
        """Whether scores are logarithms, for a geometric mean over the users."""
        return dict(self.option_values).get(MEAN_OPTION.name) == "geometric"

    @property
    def doc(self) -> str:
        """Docstring of the function."""
        return inspect.getdoc(self.function) or ""

    @property
    def summary(self) -> str:
        """First line of the docstring of the function."""
        return self.doc.partition("\n")[0]

    def facts(self) -> list[str]:
        """Describe the metric in two texts: its source; its range, direction and trec_eval name."""
        direction = "more" if self.higher_is_better else "less"
        range_and_direction = f"From {self.low:g} to {self.high:g}, {direction} is better."
        if self.trec_eval:
            range_and_direction += f" In trec_eval: {self.trec_eval}."
        return [f"Source: {self.source}.", range_and_direction]

    def with_options(self, values: Mapping[str, Any]) -> Metric:
        """Return the metric with some options set, by name; options that were set stay.

        Options with their default are not part of the name. With geometric means, the range becomes
        that of the logarithms, and no lattice of scores is known any more.

        Raises
        ------
        InputError
            If there is no such option, or it does not take the value.
        """
        self._check_options(values)
        merged = {**dict(self.option_values), **values}
        option_values = []
        for option in self.all_options:
            if option.name in merged and merged[option.name] != option.default:
                option_values.append((option.name, merged[option.name]))
        declared = self.as_declared
        metric = replace(
            declared, option_values=tuple(option_values), cutoff=self.cutoff, declared=declared
        )
        if not metric.is_geometric:
            return metric
        low, high = logarithms(np.array([declared.low, declared.high])).tolist()
        return replace(metric, low=low, high=high, lattice=lambda _: None)

    def _check_options(self, values: Mapping[str, Any]) -> None:
        """Raise InputError if a name is no option of the metric, or a value is not allowed.

        ``values`` are by the name of the option.
        """
        option_by_name = {option.name: option for option in self.all_options}
        for name, value in values.items():
            if name not in option_by_name:
                options = "; ".join(f"{option.name}: {option.help}" for option in self.all_options)
                raise InputError(f"{self.name} has no option {name!r}; its options are {options}.")
            option = option_by_name[name]
            if not option.accepts(value):
                raise InputError(
                    f"{self.name}: the option {name!r} must be {option.allowed_values}, got "
                    f"{value!r}."
                )

    def __matmul__(self, cutoff: int) -> Metric:
        """Return the metric with a cut-off: ``metric @ 10``.

        Raises InputError unless it is a whole number from 1 to the deepest rank that is allowed.
        """
        if not isinstance(cutoff, Integral) or not 1 <= cutoff <= DEEPEST_RANK:
            raise InputError(
                f"{self}: the cut-off must be a whole number from 1 to {DEEPEST_RANK:,}, got "
                f"{cutoff!r}."
            )
        return replace(self, cutoff=int(cutoff))

    def average(self, scores: Floats) -> Floats:
        """Average scores over the users, the last axis, by the arithmetic or geometric mean.

        For a geometric mean the scores are logarithms, as this metric returns them.
        """
        means = mean_in_order(scores)
        return np.asarray(np.exp(means) if self.is_geometric else means)

    def __call__(
        self, judged: Judged | None = None, *, cutoff: int | None = None, **options: Any
    ) -> Any:
        """Score every user, or set options.

        With judged lists, returns the scores of the users, float64 of shape (n_users,), at the
        cut-off of the call or else of the metric, None for whole lists. Without, returns the metric
        with these options and this cut-off. Raises InputError if an option does not exist or has a
        value that is not allowed, or if a user cannot be scored.
        """
        metric = self.with_options(options) if options else self
        if judged is None:
            return metric if cutoff is None else metric @ cutoff
        return metric._score(judged, self.cutoff if cutoff is None else cutoff)

    def _score(self, judged: Judged, cutoff: int | None) -> Floats:
        """Score every user by ``self.function``, and check the scores, of shape (n_users,).

        The shared options are applied here: unjudged items are removed, the relevance level is set,
        and for geometric means logarithms are returned. Raises InputError if the function fails, or
        returns another shape or a score that is not finite; warns of scores outside the range.
        """
        shared_names = {option.name for option in SHARED_OPTIONS}
        function_options = {
            name: value for name, value in self.option_values if name not in shared_names
        }
        if self.is_condensed:
            judged = judged.condensed
        level = dict(self.option_values).get(LEVEL_OPTION.name)
        if isinstance(level, int):
            judged = judged.at_level(level)
        subject = f"metric {self.label!r}"
        with user_code(subject), prefixed_errors(subject):
            scores = self.function(judged, cutoff=cutoff, **function_options)
            values = np.asarray(scores, dtype=np.float64)
        if values.shape != (judged.n_users,):
            raise InputError(
                f"{subject} must return one value per user, of shape "
                f"({judged.n_users},), got shape {values.shape}."
            )
        is_finite = np.isfinite(values)
        if not is_finite.all():
            user = int(is_finite.argmin())
            raise InputError(
                f"{subject} must return finite values, got {values[user]} at cut-off "
                f"{cutoff} for user number {user}."
            )
        if self.is_geometric:
            values = logarithms(values)
        is_too_low = values < self.low - ROUNDING
        is_too_high = values > self.high + ROUNDING
        if is_too_low.any() or is_too_high.any():
            warn(
                f"{subject} returns values outside its range, {self.low:g} to "
                f"{self.high:g}: give the right `low` and `high` in @metric."
            )
        return values


@contextmanager
def name_users_in_errors(ids: Sequence[Any] | NDArray[np.str_]) -> Iterator[None]:
    """Replace the numbers of users in errors of metrics by their ids.

    An InputError of the block that tells of "user number 3" is raised again with the id of user 3:
    ``ids`` holds the ids of the users that are scored, (n_users,).
    """
    try:
        yield
    except InputError as error:

        def user_id(match: re.Match[str]) -> str:
            number = int(match[1])
            return f"user {str(ids[number])!r}"

        message = re.sub(r"user number (\d+)", user_id, str(error))
        raise InputError(message) from error


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
        """Make the metric of the function, whose keyword-only parameters are its options."""
        options = options_of(function)
        shared_names = {option.name for option in SHARED_OPTIONS}
        duplicates = shared_names & {option.name for option in options}
        if duplicates:
            raise InputError(f"{name}: {min(duplicates)!r} is an option that metrics have already.")
        return Metric(name, function, source, options=options, **facts)

    return declare


def ratio(numerator: Floats, denominator: NDArray[np.number]) -> Floats:
    """Divide; 0 where the denominator is 0, as in trec_eval. Both are of shape (n_users,).

    Examples
    --------
    >>> ratio(np.array([1.0, 0.0]), np.array([4, 0]))
    array([0.25, 0.  ])
    """
    quotient = np.zeros(len(numerator))
    return np.divide(numerator, denominator, out=quotient, where=denominator > 0)


GEOMETRIC_FLOOR = 1e-5
"""Lowest score in a geometric mean: lower ones are raised to it, as by trec_eval's MIN_GEO_MEAN."""


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
    """Compute the natural logarithms of scores, of any shape; scores below 1e-5 count as 1e-5.

    The arithmetic mean of the logarithms orders systems as the geometric mean of the scores does.
    """
    return np.asarray(np.log(np.maximum(scores, GEOMETRIC_FLOOR)))
