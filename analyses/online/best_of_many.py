"""The best of many measures against the best of many by chance: the max-T permutation test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, permutations
from typing import Final

import numpy as np

from analyses.intervals.resampling import draw_ranges
from analyses.online.experiments import Experiment, require_unique
from analyses.ordering import DECIMALS
from analyses.ordering.agreement import ratio_or_nan
from analyses.shared.number_format import rounded
from analyses.shared.sentences import format_p_value
from runs import InputError
from runs.shared.arrays import Floats, Integers, Numbers
from runs.shared.errors import require_known
from runs.shared.streams import random_words

MOST_ENUMERATED: Final = 9
"""Models up to which all orders are enumerated, 362,880, if all data sets have the same models."""

PER_STREAM: Final = 1024
"""Random orders that share a stream of random words."""

TOLERANCE: Final = 1e-9
"""Statistics that differ by less are equal."""

FEWEST_JUDGED, ADVISED, ALPHA = 8, 20, 0.05
"""With fewer than 8 models nothing is called significant; 20 or more are advised."""


@dataclass(frozen=True, eq=False)
class BestOfMany:
    """Each measure's mean rho, and how often the best of all measures reaches it by chance.

    Of each measure, of shape (n_measures,): the mean rho over the chosen data sets (NaN where one
    is undefined); the one-sided p as if it were the only measure, and the data sets chosen
    beforehand; and the chance that the largest statistic of all measures is as large. The
    maxima are that statistic for each order of the rates, rising, of shape (n_orders,). Exact: all
    orders were enumerated, the observed one among them; else random ones.
    """

    measures: tuple[str, ...]
    fewest_models: int
    chosen: tuple[str, ...]
    statistics: Floats
    p_alone: Floats
    p_adjusted: Floats
    maxima: Floats
    n_orderings: int
    is_exact: bool

    def finding(self) -> str:
        """Report the best measure, with and without correction for the choice among many."""
        best = int(np.nanargmax(self.statistics))
        p, n_models = float(self.p_adjusted[best]), self.fewest_models
        verdict = f"it is {'' if p <= ALPHA else 'not '}significant"
        if n_models < FEWEST_JUDGED:
            verdict = f"these are too few models for a test, {ADVISED} or more are advised"
        return (
            f"Of {len(self.measures):,} measures, {self.measures[best]} agrees best with the "
            f"click-through rates, with rho = {rounded(float(self.statistics[best]), 2)} over "
            f"{n_models} models ({format_p_value(p)} with correction for choosing the best "
            f"measure, {format_p_value(float(self.p_alone[best]))} without); {verdict}."
        )

    def caption(self) -> str:
        """Describe what was permuted."""
        orders = f"all {len(self.maxima):,}" if self.is_exact else f"{len(self.maxima):,} random"
        return (
            f"The p-value of the best of {len(self.measures):,} measures, which order the models "
            f"in {self.n_orderings:,} different ways, is by the max-T permutation test: the "
            f"largest rho in {orders} orders of the rates. Data sets: "
            f"{', '.join(self.chosen)}."
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
    The null hypothesis is that rates and models are unrelated: within each data set every order of
    the rates is as likely; data sets that share models have one order of all their models. With
    :math:`M_b = \max_p T_p` under order b,

    .. math:: \tilde p_p = \frac{1 + \#\{b : M_b \ge T_p\}}{B + 1},

    or, for data sets of the same up to 9 models, the share among all L! orders. The probability
    that any measure gets :math:`\tilde p \le \alpha` is at most :math:`\alpha`. If data sets were
    chosen after the results were known, every order takes, for each measure, the data sets of the
    largest rhos, as many.

    References
    ----------
    Westfall & Young (1993), Resampling-based multiple testing; Phipson & Smyth (2010) for the +1.
    """
    names = tuple(one.name for one in experiments)
    require_unique("the study", "experiment", names)
    if len({one.measures for one in experiments}) > 1:
        raise InputError(f"{', '.join(names)} must have the same measures.")
    require_known("no experiment is called", chosen or (), names)
    sets = [n for n, name in enumerate(names) if not chosen or name in chosen]
    ranks = [scaled_ranks(one.values) for one in experiments]
    rates = [scaled_ranks(one.rates) for one in experiments]
    defined = ~np.any([np.isnan(some).any(axis=1) for some in ranks], axis=0)
    if not defined.any() or any(np.isnan(own).any() for own in rates):
        raise InputError("no measure has a rho in all experiments.")
    # Hundreds of measures are a few different orderings of the models.
    joint = np.concatenate(ranks, axis=1)[defined].round(DECIMALS)
    distinct, which = np.unique(joint, axis=0, return_inverse=True)
    ends = np.cumsum([len(one.models) for one in experiments])[:-1]
    orderings = np.split(distinct, ends, axis=1)
    statistics = np.mean([orderings[n] @ rates[n] for n in sets], axis=0)
    models = [one.models for one in experiments]
    is_exact = len(models[0]) <= MOST_ENUMERATED and len({frozenset(own) for own in models}) == 1
    orders = _random_orders(permutations, names=names, models=models, seed=seed)
    if is_exact:
        orders = _all_orders(models)
    reached = np.zeros(len(statistics), dtype=np.int64)
    parts = []
    for some in orders:
        permuted = zip(orderings, rates, some, strict=True)
        rhos = np.stack([own @ rate[order].T for own, rate, order in permuted])
        alone = rhos[sets].mean(axis=0)
        reached += np.count_nonzero(alone >= statistics[:, np.newaxis] - TOLERANCE, axis=1)
        if len(sets) < len(rhos):
            alone = np.sort(rhos, axis=0)[-len(sets) :].mean(axis=0)
        parts.append(alone.max(axis=0))
    maxima = np.sort(np.concatenate(parts))
    beyond = len(maxima) - np.searchsorted(maxima, statistics - TOLERANCE)
    # All orders have the observed one among them; random orders need not.
    extra = 0 if is_exact else 1

    def by_measure(of_orderings: Floats) -> Floats:
        values = np.full(len(defined), np.nan)
        values[defined] = of_orderings[which.reshape(-1)]
        return values

    return BestOfMany(
        measures=experiments[0].measures,
        fewest_models=min(len(one.models) for one in experiments),
        chosen=tuple(names[number] for number in sets),
        statistics=by_measure(statistics),
        p_alone=by_measure((reached + extra) / (len(maxima) + extra)),
        p_adjusted=by_measure((beyond + extra) / (len(maxima) + extra)),
        maxima=maxima,
        n_orderings=len(statistics),
        is_exact=is_exact,
    )


def scaled_ranks(values: Floats) -> Floats:
    """Rank models along the last axis, scaled so that a product of two rankings is Spearman's rho.

    Values are compared after rounding to 12 decimals, and tied models share their mean rank. Where
    a value is undefined, or all are equal, the ranks are NaN.
    """
    from scipy.stats import rankdata

    ranks = rankdata(np.round(values, DECIMALS), axis=-1, nan_policy="propagate")
    ranks -= (values.shape[-1] + 1) / 2
    length = np.sqrt((ranks * ranks).sum(axis=-1, keepdims=True))
    return ratio_or_nan(ranks, length)


def _random_orders(
    n_orders: int, *, names: Sequence[str], models: Sequence[tuple[str, ...]], seed: int
) -> Iterator[tuple[Numbers, ...]]:
    """Draw orders of the models of each data set, each as likely, a thousand at a time.

    Data sets that share models are permuted jointly, by one random key for each model. The others
    have orders of their own, which depend neither on other data sets nor on how many orders follow.
    """
    groups = _sharing(models)
    every = [[*dict.fromkeys(m for n in members for m in models[n])] for members in groups]
    for start, stop in draw_ranges(n_orders, PER_STREAM):
        orders: dict[int, Numbers] = {}
        for members, own in zip(groups, every, strict=True):
            n_words, key = (stop - start) * len(own), names[members[0]]
            words = random_words(n_words, seed, "rates among models", key, start)
            keys = words.reshape(-1, len(own))
            orders |= {n: _order(keys, [own.index(model) for model in models[n]]) for n in members}
        yield tuple(orders[n] for n in range(len(models)))


def _all_orders(models: Sequence[tuple[str, ...]]) -> Iterator[tuple[Numbers, ...]]:
    """Give every order of the models once, a thousand at a time, jointly in all data sets."""
    own = [[models[0].index(name) for name in names] for names in models]
    orders = permutations(range(len(models[0])))
    while some := list(islice(orders, PER_STREAM)):
        yield tuple(_order(np.array(some), columns) for columns in own)


def _order(keys: Integers, columns: Sequence[int]) -> Numbers:
    """Order the models of a data set by the keys of all models, wherever they stand in it."""
    own = np.array(columns)
    places = np.argsort(own)
    orders = np.empty((len(keys), len(own)), dtype=np.intp)
    orders[:, places] = places[keys[:, own[places]].argsort(axis=1, kind="stable")]
    return orders


def _sharing(models: Sequence[tuple[str, ...]]) -> list[list[int]]:
    """Group the data sets that share models, by number."""
    from scipy.sparse.csgraph import connected_components

    share = [[not {*own}.isdisjoint(others) for others in models] for own in models]
    n_groups, group = connected_components(np.array(share), directed=False)
    return [np.flatnonzero(group == number).tolist() for number in range(n_groups)]
