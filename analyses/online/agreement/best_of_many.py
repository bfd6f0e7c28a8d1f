"""The best of many measures against the best of many by chance: the max-T permutation test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from analyses.online.agreement.model_ranks import distinct_orderings, whole_ranks
from analyses.online.agreement.permuted_rates import all_orders, joint_orders, together
from analyses.online.agreement.wording import caution, print_p, print_rho, word_finding
from analyses.online.tables.experiment import Experiment, check_experiments, numbers_of
from analyses.shared.drawing import axes_or_new
from runs import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

MOST_ENUMERATED: Final = 9
"""Models up to which all orders are gone through, 362,880, if all data sets have the same."""

TOLERANCE: Final = 1e-9
"""Statistics that differ by less tie, and count as reached."""

EDGES: Final = tuple(np.arange(-1.025, 1.03, 0.05).tolist())
"""Of the bars of the figure."""


@dataclass(frozen=True, eq=False)
class BestOfMany:
    """Each measure's mean rho, and how often the best of all measures gets there by chance.

    Of each measure, of shape (n_measures,): the mean rho over the chosen data sets, which are not
    all if some were chosen after looking (NaN where one is undefined); the one-sided p as if it
    were the only measure, and the data sets given beforehand; and the chance that the largest
    statistic of all measures is as large. The maxima are that statistic for each order of the
    rates, rising, of shape (n_orders,). The orderings counted are different sets of orderings of
    the models behind the measures. Exact: all orders were gone through, the observed one among
    them; else random ones by the seed. Joint: data sets share models, whose rates are dealt out
    jointly.
    """

    measures: tuple[str, ...]
    experiments: tuple[str, ...]
    n_models: tuple[int, ...]
    chosen: tuple[str, ...]
    statistics: Floats
    p_alone: Floats
    p_adjusted: Floats
    maxima: Floats
    n_orderings: int
    is_exact: bool
    is_joint: bool
    seed: int

    @property
    def best(self) -> int:
        """Number of the measure with the largest statistic, the first of several."""
        return int(np.nanargmax(self.statistics))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the null distribution of the maximum, its 95 % limit, and what was observed."""
        ax = axes_or_new(ax)
        weights = np.full(len(self.maxima), 1 / len(self.maxima))
        ax.hist(self.maxima, bins=EDGES, weights=weights, color="#56B4E9")
        limit, observed = np.quantile(self.maxima, 0.95), self.statistics[self.best]
        ax.axvline(limit, color="0.4", linestyle="--", label=f"95 % up to {print_rho(limit)}")
        ax.axvline(observed, color="#D55E00", label=f"observed: {print_rho(observed)}")
        subject = "rho" if len(self.chosen) == 1 else "mean rho"
        ax.set_xlabel(f"largest {subject} of {len(self.measures):,} measures")
        ax.set_ylabel("share of orders of the rates")
        ax.set_xlim(self.maxima[0] - 0.1, max(float(self.maxima[-1]), observed) + 0.1)
        ax.set_ylim(0, 1.3 * ax.dataLim.y1)
        ax.legend(frameon=False, fontsize="small", loc="upper left")
        return ax

    def conclusion(self) -> str:
        """Say what the best measure amounts to, with and without the choice among many."""
        best = self.best
        p = float(self.p_adjusted[best])
        finding = word_finding(float(self.statistics[best]), p, n_models=min(self.n_models))
        subject = "" if len(self.chosen) == 1 else "mean "
        return (
            f"The best of {len(self.measures):,} measures, {self.measures[best]}, has {subject}"
            f"{finding} if the choice of the best is taken into account; alone it would have a "
            f"chance of {print_p(float(self.p_alone[best]))}."
        )

    def caption(self) -> str:
        """Say what was permuted, and what was chosen again each time."""
        several = f"mean of Spearman's rho in {len(self.chosen)} data sets"
        statistic = "Spearman's rho" if len(self.chosen) == 1 else several
        chosen_anew = (
            f" {', '.join(self.chosen)} were chosen among {len(self.experiments)} data sets after "
            "looking: in every order the best as many are chosen anew."
        )
        selection = "" if len(self.chosen) == len(self.experiments) else chosen_anew
        return (
            f"The largest {statistic} between {len(self.measures):,} measures "
            f"({self.n_orderings:,} different orderings) and click-through rates that are "
            f"{self._orders()}. All measures are computed again for every order, and the best is "
            f"taken.{selection}{caution(min(self.n_models))}"
        )

    def _orders(self) -> str:
        among = f"the {self.n_models[0]} models" if len(self.n_models) == 1 else "the models"
        if self.is_exact:
            jointly = "" if len(self.n_models) == 1 else ", jointly in all data sets"
            return f"dealt out among {among} in all {len(self.maxima):,} orders{jointly}"
        where = "" if len(self.n_models) == 1 else " of each data set"
        where += ", jointly where data sets share models" if self.is_joint else ""
        return (
            f"dealt out among {among}{where} in {len(self.maxima):,} random orders "
            f"(seed {self.seed})"
        )


def best_of_many(
    experiments: Sequence[Experiment],
    *,
    permutations: int = 10_000,
    seed: int,
    chosen: Sequence[str] | None = None,
) -> BestOfMany:
    r"""Test all measures at once against what the best of them reaches by chance.

    The statistic of measure p is its rho, :math:`T_p = \frac1k \sum_s \rho_{ps}` over k data sets.
    The null hypothesis is that the rates have nothing to do with the models: within each data set
    every order of them is as likely, and of data sets that share models, one order of all
    their models: what makes a model's rate high in one of them does so in others. With
    :math:`M_b = \max_p T_p` under order b,

    .. math:: \tilde p_p = \frac{1 + \#\{b : M_b \ge T_p\}}{B + 1},

    or, for data sets of the same up to 9 models, the share among all L! orders. The chance that any
    measure gets :math:`\tilde p \le \alpha` is at most :math:`\alpha`.

    If the statistic is of data sets that were chosen after looking at the rhos, every order takes,
    for each measure, the data sets of the largest rhos, as many.

    Raises
    ------
    InputError
        If the experiments do not fit each other, a chosen one does not exist, no measure has a rho
        or there is no permutation.

    References
    ----------
    Westfall & Young (1993), Resampling-based multiple testing; Phipson & Smyth (2010) for the +1.

    Examples
    --------
    Of the six orders of three rates, one agrees fully with the first measure, and one with the
    second:

    >>> values = np.array([[1.0, 2, 3], [3, 2, 1]])
    >>> one = Experiment("A", ("a", "b", "c"), ("AP", "RR"), values, np.array([0.1, 0.2, 0.3]))
    >>> found = best_of_many([one], seed=1)
    >>> found.p_alone.round(3), found.p_adjusted.round(3)
    (array([0.167, 1.   ]), array([0.333, 1.   ]))
    """
    check_experiments(experiments)
    if permutations < 1:
        raise InputError(f"`permutations` must be at least 1, got {permutations}.")
    names = tuple(one.name for one in experiments)
    sets = numbers_of(chosen, names)
    orderings, which = _different_orderings(experiments)
    if not len(orderings[0]):
        raise InputError("no measure has a rho in all experiments.")
    ranks = [_standardised(whole_ranks(one.rates)) for one in experiments]
    observed = _rhos(orderings, [rates[:, np.newaxis] for rates in ranks])
    statistics = observed[sets, :, 0].mean(axis=0)
    models = [one.models for one in experiments]
    is_exact = len(models[0]) <= MOST_ENUMERATED and len({frozenset(own) for own in models}) == 1
    orders = (
        all_orders(models)
        if is_exact
        else joint_orders(permutations, groups=names, models=models, seed=seed)
    )
    dealt = ([rates[order].T for rates, order in zip(ranks, some, strict=True)] for some in orders)
    maxima, reached = _go_through(orderings, dealt, statistics, sets)
    beyond = len(maxima) - np.searchsorted(maxima, statistics - TOLERANCE)
    # All orders have the observed one among them; random orders need not.
    extra = 0 if is_exact else 1
    n_orders = len(maxima) + extra
    return BestOfMany(
        measures=experiments[0].measures,
        experiments=names,
        n_models=tuple(len(one.models) for one in experiments),
        chosen=tuple(names[number] for number in sets),
        statistics=_spread(statistics, which),
        p_alone=_spread((reached + extra) / n_orders, which),
        p_adjusted=_spread((beyond + extra) / n_orders, which),
        maxima=maxima,
        n_orderings=len(statistics),
        is_exact=is_exact,
        is_joint=len(together(models)) < len(models),
        seed=seed,
    )


def _different_orderings(experiments: Sequence[Experiment]) -> tuple[list[Floats], Indices]:
    """Give the standardised ranks of the different orderings, and which of them a measure has.

    Returns
    -------
    For each experiment, an array of shape (n_orderings, n_models); and for each measure the number
    of its ordering, or -1 where it is undefined in an experiment.
    """
    ranks = [whole_ranks(one.values) for one in experiments]
    defined = np.all([some.any(axis=1) for some in ranks], axis=0)
    defined &= all(np.ptp(one.rates) > 0 for one in experiments)
    joint, numbers, _ = distinct_orderings(np.concatenate(ranks, axis=1)[defined])
    which = np.full(len(defined), -1)
    which[defined] = numbers
    ends = np.cumsum([len(one.models) for one in experiments])
    return [_standardised(part) for part in np.split(joint, ends[:-1], axis=1)], which


def _standardised(ranks: Floats) -> Floats:
    """Scale ranks so that a product of two orderings is rho."""
    return ranks / np.sqrt((ranks * ranks).sum(axis=-1, keepdims=True))


def _rhos(orderings: Sequence[Floats], rates: Sequence[Floats]) -> Floats:
    """Correlate, giving an array of shape (n_experiments, n_orderings, n_orders)."""
    return np.stack([some @ dealt for some, dealt in zip(orderings, rates, strict=True)])


def _go_through(
    orderings: Sequence[Floats],
    dealt: Iterator[list[Floats]],
    statistics: Floats,
    sets: Sequence[int],
) -> tuple[Floats, NDArray[np.int64]]:
    """Give the largest statistic of each order, rising, and how often each measure's is reached.

    The largest is over data sets chosen anew: for each ordering those of its largest rhos.
    """
    reached = np.zeros(len(statistics), dtype=np.int64)
    maxima = []
    for rates in dealt:
        rhos = _rhos(orderings, rates)
        alone = rhos[sets].mean(axis=0)
        reached += np.count_nonzero(alone >= statistics[:, np.newaxis] - TOLERANCE, axis=1)
        is_chosen = len(sets) < len(rhos)
        best = np.sort(rhos, axis=0)[-len(sets) :].mean(axis=0) if is_chosen else alone
        maxima.append(best.max(axis=0))
    return np.sort(np.concatenate(maxima)), reached


def _spread(values: Floats, which: Indices) -> Floats:
    """Give every measure the value of its ordering; NaN where it has none."""
    return np.append(values, np.nan)[which]
