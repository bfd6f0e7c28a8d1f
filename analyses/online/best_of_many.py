"""The best of many measures against the best of many by chance: the max-T permutation test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, permutations
from typing import Final

import numpy as np

from analyses.intervals.resampling import draw_ranges
from analyses.online.experiments import Experiment, require_unique
from analyses.ordering import DECIMALS
from analyses.ordering.agreement import ratio_or_nan
from analyses.shared.number_format import rounded
from analyses.shared.sentences import format_p_value
from runs import InputError
from runs.shared.arrays import Floats, Integers, Longs, Numbers
from runs.shared.errors import require_known
from runs.shared.streams import random_words

MAX_ENUMERATED_MODELS: Final = 9
"""Models up to which all orders are enumerated, 362,880, if all data sets have the same models."""

PER_STREAM: Final = 1024
"""Random orders that share a stream of random words."""

TOLERANCE: Final = 1e-9
"""Statistics that differ by less are equal."""

ALPHA: Final = 0.05
"""Significance level."""

MIN_TESTED_MODELS: Final = 8
ADVISED_MODELS: Final = 20
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
        """State the best measure, with and without correction for the choice among many."""
        best = int(np.nanargmax(self.statistics))
        rho = float(self.statistics[best])
        p = float(self.p_adjusted[best])
        p_alone = float(self.p_alone[best])
        n_models = self.fewest_models
        if n_models < MIN_TESTED_MODELS:
            verdict = f"these are too few models for a test, {ADVISED_MODELS} or more are advised"
        else:
            verdict = "it is significant" if p <= ALPHA else "it is not significant"
        return (
            f"Of {len(self.measures):,} measures, {self.measures[best]} agrees best with the "
            f"click-through rates, with rho = {rounded(rho, 2)} over "
            f"{n_models} models ({format_p_value(p)} with correction for choosing the best "
            f"measure, {format_p_value(p_alone)} without); {verdict}."
        )

    def caption(self) -> str:
        """Describe the test, the orders of the rates, and the data sets."""
        n_orders = len(self.maxima)
        orders = f"all {n_orders:,}" if self.is_exact else f"{n_orders:,} random"
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
    names = tuple(experiment.name for experiment in experiments)
    _check_experiments(experiments, chosen or ())
    chosen_sets = [n for n, name in enumerate(names) if not chosen or name in chosen]
    ranks = [scaled_ranks(experiment.values) for experiment in experiments]
    rates = [scaled_ranks(experiment.rates) for experiment in experiments]
    is_defined = ~np.any([np.isnan(set_ranks).any(axis=1) for set_ranks in ranks], axis=0)
    has_undefined_rates = any(np.isnan(set_rates).any() for set_rates in rates)
    if not is_defined.any() or has_undefined_rates:
        raise InputError("no measure has a rho in all experiments.")
    # Hundreds of measures are a few different orderings of the models.
    joint = np.concatenate(ranks, axis=1)[is_defined].round(DECIMALS)
    distinct, ordering_of_measure = np.unique(joint, axis=0, return_inverse=True)
    models = [experiment.models for experiment in experiments]
    ends = np.cumsum([len(set_models) for set_models in models])[:-1]
    orderings = np.split(distinct, ends, axis=1)
    statistics = np.mean([orderings[n] @ rates[n] for n in chosen_sets], axis=0)
    has_same_models = len({frozenset(set_models) for set_models in models}) == 1
    is_exact = has_same_models and len(models[0]) <= MAX_ENUMERATED_MODELS
    if is_exact:
        orders = _all_orders(models)
    else:
        orders = _random_orders(permutations, names=names, models=models, seed=seed)
    n_extreme_alone, maxima = _permute_rates(orderings, rates, orders, chosen_sets, statistics)
    n_extreme = len(maxima) - np.searchsorted(maxima, statistics - TOLERANCE)
    # All orders have the observed one among them; random orders need not.
    extra = 0 if is_exact else 1
    n_orders = len(maxima) + extra

    def by_measure(by_ordering: Floats) -> Floats:
        """Repeat values of orderings for their measures; NaN where a rho is undefined."""
        values = np.full(len(is_defined), np.nan)
        values[is_defined] = by_ordering[ordering_of_measure.reshape(-1)]
        return values

    return BestOfMany(
        measures=experiments[0].measures,
        fewest_models=min(len(set_models) for set_models in models),
        chosen=tuple(names[number] for number in chosen_sets),
        statistics=by_measure(statistics),
        p_alone=by_measure((n_extreme_alone + extra) / n_orders),
        p_adjusted=by_measure((n_extreme + extra) / n_orders),
        maxima=maxima,
        n_orderings=len(statistics),
        is_exact=is_exact,
    )


def _check_experiments(experiments: Sequence[Experiment], chosen: Sequence[str]) -> None:
    """Refuse, with InputError, duplicate names, other measures, and unknown chosen names."""
    names = [experiment.name for experiment in experiments]
    require_unique("the study", "experiment", names)
    if len({experiment.measures for experiment in experiments}) > 1:
        raise InputError(f"{', '.join(names)} must have the same measures.")
    require_known("no experiment is called", chosen, names)


def _permute_rates(
    orderings: Sequence[Floats],
    rates: Sequence[Floats],
    orders: Iterator[tuple[Numbers, ...]],
    chosen_sets: Sequence[int],
    statistics: Floats,
) -> tuple[Longs, Floats]:
    """Count for each ordering the orders with a mean rho as large, and find the largest of each.

    Of every data set: scaled ranks of the orderings, (n_orderings, n_models), those of the rates,
    (n_models,), and blocks of orders, (n_orders, n_models). The mean is over the chosen data sets,
    with the observed values ``statistics``, (n_orderings,). For the largest, if not all data sets
    were chosen, each ordering has its best ones, as many. Maxima are rising, (n_orders,).
    """
    n_chosen = len(chosen_sets)
    thresholds = statistics[:, np.newaxis] - TOLERANCE
    n_extreme = np.zeros(len(statistics), dtype=np.int64)
    maxima = []
    for block in orders:
        permuted_sets = zip(orderings, rates, block, strict=True)
        rhos = np.stack(
            [set_ranks @ set_rates[order].T for set_ranks, set_rates, order in permuted_sets]
        )
        means = rhos[chosen_sets].mean(axis=0)
        n_extreme += np.count_nonzero(means >= thresholds, axis=1)
        if n_chosen < len(rhos):
            means = np.sort(rhos, axis=0)[-n_chosen:].mean(axis=0)
        maxima.append(means.max(axis=0))
    return n_extreme, np.sort(np.concatenate(maxima))


def scaled_ranks(values: Floats) -> Floats:
    """Rank models along the last axis, scaled so that a product of two rankings is Spearman's rho.

    Values are compared after rounding to 12 decimals, and tied models share their mean rank. Where
    a value is undefined, or all are equal, the ranks are NaN. The shape stays.
    """
    from scipy.stats import rankdata

    n_models = values.shape[-1]
    ranks = rankdata(np.round(values, DECIMALS), axis=-1, nan_policy="propagate")
    ranks -= (n_models + 1) / 2
    lengths = np.sqrt((ranks * ranks).sum(axis=-1, keepdims=True))
    return ratio_or_nan(ranks, lengths)


def _random_orders(
    n_orders: int, *, names: Sequence[str], models: Sequence[tuple[str, ...]], seed: int
) -> Iterator[tuple[Numbers, ...]]:
    """Draw orders of the models of each data set, each as likely, a thousand at a time.

    Yields for each data set an array (n_orders, n_models). Data sets that share models are permuted
    jointly, by one random key for each model. The others have orders of their own, which depend
    neither on other data sets nor on how many orders follow.
    """
    groups = _groups_with_shared_models(models)
    models_of_groups = [
        list(dict.fromkeys(chain.from_iterable(models[number] for number in group)))
        for group in groups
    ]
    for start, stop in draw_ranges(n_orders, PER_STREAM):
        orders: dict[int, Numbers] = {}
        for group, group_models in zip(groups, models_of_groups, strict=True):
            n_words = (stop - start) * len(group_models)
            first_name = names[group[0]]
            words = random_words(n_words, seed, "rates among models", first_name, start)
            keys = words.reshape(-1, len(group_models))
            for number in group:
                columns = [group_models.index(model) for model in models[number]]
                orders[number] = _orders_by_keys(keys, columns)
        yield tuple(orders[number] for number in range(len(models)))


def _all_orders(models: Sequence[tuple[str, ...]]) -> Iterator[tuple[Numbers, ...]]:
    """Yield every order of the models once, a thousand at a time, jointly in all data sets.

    For each data set an array (n_orders, n_models); all data sets have the same models.
    """
    first_models = models[0]
    columns = [[first_models.index(name) for name in set_models] for set_models in models]
    orders = permutations(range(len(first_models)))
    while block := list(islice(orders, PER_STREAM)):
        keys = np.array(block)
        yield tuple(_orders_by_keys(keys, set_columns) for set_columns in columns)


def _orders_by_keys(keys: Integers, columns: Sequence[int]) -> Numbers:
    """Order the models of a data set by the keys of all models, wherever they stand in it.

    Keys are of shape (n_orders, n_all_models); ``columns`` are those of the data set's models. The
    result is of shape (n_orders, n_models): positions among the models of the data set.
    """
    model_columns = np.array(columns)
    positions = np.argsort(model_columns)
    sorted_keys = keys[:, model_columns[positions]]
    orders = np.empty((len(keys), len(model_columns)), dtype=np.intp)
    orders[:, positions] = positions[sorted_keys.argsort(axis=1, kind="stable")]
    return orders


def _groups_with_shared_models(models: Sequence[tuple[str, ...]]) -> list[list[int]]:
    """Group the data sets, by number, that are connected by models that they share."""
    from scipy.sparse.csgraph import connected_components

    shares_models = np.array(
        [[not set(left).isdisjoint(right) for right in models] for left in models]
    )
    n_groups, group = connected_components(shares_models, directed=False)
    return [np.flatnonzero(group == number).tolist() for number in range(n_groups)]
