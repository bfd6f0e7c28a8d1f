"""What a metric is: a function of judged lists with a name; and averages over users."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from harness.metrics.shared.names import Value, print_name
from harness.metrics.shared.option import Option, options_of
from qrels import Judged
from qrels.ranks.judged_ranks import Validation
from runs import InputError
from runs.shared.arrays import Floats
from runs.shared.errors import require_choice
from runs.shared.members import failure_of


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
    """A metric and what is known of it: a value, equal to what prints alike.

    Called with options it gives the metric that has them, with ``@`` the one at a cut-off, and with
    judged lists the users' scores.

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
    aliases
        What others call it.
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
    needs
        What must be made of systems before they are scored: ranks of hidden items ("loo", "lloo").
    per_user
        Whether the definition scores one user at a time, which is slower.
    note
        What readers of its values must know, a sentence.
    given
        Options that differ from their defaults.
    cutoff
        Ranks considered, where scoring is not told.
    declared
        The metric without options, of one that has some.

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
        """Name with the options that differ from their defaults; reads back as this metric."""
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
        """The options: the relevance level where there is one, its own, those of all metrics."""
        level = (LEVEL,) if self.has_level else ()
        mean = (MEAN,) if self.low >= 0 or self.is_geometric else ()
        return (*level, *self.options, CONDENSED, *mean)

    @property
    def is_condensed(self) -> bool:
        """Whether unjudged items are taken out of the lists first."""
        return dict(self.given).get(CONDENSED.name) is True

    @property
    def is_geometric(self) -> bool:
        """Whether scores are logarithms, so that their mean is that of a geometric mean."""
        return dict(self.given).get(MEAN.name) == "geometric"

    @property
    def doc(self) -> str:
        """Docstring of the definition."""
        return inspect.getdoc(self.function) or ""

    @property
    def summary(self) -> str:
        """First line of the definition's docstring."""
        return self.doc.partition("\n")[0]

    def facts(self) -> list[str]:
        """Say where it comes from and which way it goes, in sentences."""
        better = "more" if self.higher_is_better else "less"
        trec_eval = f" In trec_eval: {self.trec_eval}." if self.trec_eval else ""
        return [
            f"Source: {self.source}.",
            f"From {self.low:g} to {self.high:g}, {better} is better.{trec_eval}",
        ]

    def with_options(self, values: Mapping[str, Any]) -> Metric:
        """Set options."""
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
        if not isinstance(cutoff, Integral) or cutoff < 1:
            raise InputError(
                f"{self}: the cut-off must be a whole number of at least 1, got {cutoff!r}."
            )
        return replace(self, cutoff=int(cutoff))

    def average(self, scores: Floats) -> Floats:
        """Average over users, the last axis, by the mean that the metric asks for."""
        means = scores.mean(axis=-1)
        return np.asarray(np.exp(means) if self.is_geometric else means)

    def __call__(
        self, judged: Judged | None = None, *, cutoff: int | None = None, **options: Any
    ) -> Any:
        """Score every user, and check what came back; without lists, set options."""
        chosen = self.with_options(options) if options else self
        if judged is None:
            return chosen if cutoff is None else chosen @ cutoff
        return chosen._score(judged, self.cutoff if cutoff is None else cutoff)

    def _score(self, judged: Judged, cutoff: int | None) -> Floats:
        options = dict(self.given)
        level = options.pop(LEVEL.name, None) if self.has_level else None
        for shared in (CONDENSED, MEAN):
            options.pop(shared.name, None)
        if self.is_condensed:
            judged = judged.condensed
        if isinstance(level, int):
            judged = judged.at_level(level)
        try:
            scores = self.function(judged, cutoff=cutoff, **options)
            values = np.asarray(scores, dtype=np.float64)
        except InputError as error:
            raise InputError(f"metric {self.label!r}: {error}") from error
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


def metric(name: str, *, source: str, **facts: Any) -> Callable[[Callable[..., Any]], Metric]:
    """Make a metric of a function over judged lists: what all metrics share.

    The function takes `qrels.Judged` lists and a cut-off n, the ranks considered (all of them by
    default), and gives the scores of all users, float64 of shape (n_users,). In formulas rel(k)
    says whether rank k holds a relevant item, :math:`r_k` and :math:`n_k` count the relevant and
    the judged non-relevant items in ranks 1 to k, and R and N those of the user, in the list or
    not. Further keyword-only parameters are options of the metric (see
    `harness.metrics.shared.option.options_of`). The facts are fields of `Metric`.

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
    """Divide, giving 0 where the denominator is 0, as trec_eval does."""
    quotient = np.zeros(len(numerator))
    return np.divide(numerator, denominator, out=quotient, where=denominator > 0)


FLOOR = 1e-5
"""What trec_eval puts in the place of lower scores (``MIN_GEO_MEAN``)."""


def geometric_mean(scores: Floats, *, floor: float = FLOOR) -> Floats:
    r"""Geometric mean over users, the last axis: it gives weight to those who are served badly.

    .. math:: \exp\left(\frac{1}{U} \sum_u \log \max(s_u, \mathrm{floor})\right)

    Of AP it is trec_eval's ``gm_map`` (Robertson 2006, On GMAP: and other transformations), of
    bpref its ``gm_bpref``.

    Examples
    --------
    >>> float(geometric_mean(np.array([0.1, 0.4])))
    0.2
    """
    return np.asarray(np.exp(logarithms(scores, floor=floor).mean(axis=-1)))


def logarithms(scores: Floats, *, floor: float = FLOOR) -> Floats:
    """Give the logarithms whose arithmetic mean orders systems as the geometric mean does."""
    return np.asarray(np.log(np.maximum(scores, floor)))
