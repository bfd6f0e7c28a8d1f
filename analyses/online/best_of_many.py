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
        """State the measure of the largest mean rho, with and without correction for its choice.

        It is called significant if the corrected p is at most .05, and 8 models or more are
        compared. ``statistics``, ``p_alone`` and ``p_adjusted`` are of shape (n_measures,).
        """
        best = int(np.nanargmax(self.statistics))
        best_measure = self.measures[best]
        rho = rounded(float(self.statistics[best]), 2)
        p = float(self.p_adjusted[best])
        p_adjusted = format_p_value(p)
        p_alone = format_p_value(float(self.p_alone[best]))
        n_measures = len(self.measures)
        n_models = self.fewest_models
        if n_models < MIN_TESTED_MODELS:
            verdict = f"these are too few models for a test, {ADVISED_MODELS} or more are advised"
        elif p <= ALPHA:
            verdict = "it is significant"
        else:
            verdict = "it is not significant"
        return (
            f"Of {n_measures:,} measures, {best_measure} agrees best with the click-through rates, "
            f"with rho = {rho} over {n_models} models ({p_adjusted} with correction for choosing "
            f"the best measure, {p_alone} without); {verdict}."
        )

    def caption(self) -> str:
        """Describe the test, the orders of the rates, and the data sets.

        ``self.maxima`` has a number for each order of the rates.
        """
        n_orders = len(self.maxima)
        orders = f"all {n_orders:,}" if self.is_exact else f"{n_orders:,} random"
        n_measures = len(self.measures)
        datasets = ", ".join(self.chosen)
        return (
            f"The p-value of the best of {n_measures:,} measures, which order the models in "
            f"{self.n_orderings:,} different ways, is by the max-T permutation test: the largest "
            f"rho in {orders} orders of the rates. Data sets: {datasets}."
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

    Data sets are chosen by name; by default all are. Random orders are drawn if not all are
    enumerated. Results of a measure whose rho is undefined in a data set are NaN. InputError if
    names of data sets are duplicate or unknown, their measures differ, or no rho is defined.

    References
    ----------
    Westfall & Young (1993), Resampling-based multiple testing; Phipson & Smyth (2010) for the +1.
    """
    names = tuple(experiment.name for experiment in experiments)
    _check_experiments(experiments, chosen or ())
    chosen_sets = [n for n, name in enumerate(names) if not chosen or name in chosen]
    ranks = [scaled_ranks(experiment.values) for experiment in experiments]
    rates = [scaled_ranks(experiment.rates) for experiment in experiments]
    joint_ranks = np.concatenate(ranks, axis=1)
    is_defined = ~np.isnan(joint_ranks).any(axis=1)
    has_undefined_rates = any(np.isnan(set_rates).any() for set_rates in rates)
    if not is_defined.any() or has_undefined_rates:
        raise InputError("no measure has a rho in all experiments.")
    # Hundreds of measures are a few different orderings of the models.
    joint = joint_ranks[is_defined].round(DECIMALS)
    distinct, ordering_of_measure = np.unique(joint, axis=0, return_inverse=True)
    models = [experiment.models for experiment in experiments]
    set_sizes = [len(set_models) for set_models in models]
    ends = np.cumsum(set_sizes)[:-1]
    orderings = np.split(distinct, ends, axis=1)
    statistics = np.mean([orderings[number] @ rates[number] for number in chosen_sets], axis=0)
    is_exact = _can_enumerate(models)
    # Generators: nothing is drawn before it is used.
    random_orders = _random_orders(permutations, names=names, models=models, seed=seed)
    orders = _all_orders(models) if is_exact else random_orders
    n_extreme_alone, maxima = _permute_rates(orderings, rates, orders, chosen_sets, statistics)
    # Maxima that reach each statistic, rounding aside.
    n_extreme = len(maxima) - np.searchsorted(maxima, statistics - TOLERANCE)
    # All orders have the observed one among them; random orders need not.
    extra = 0 if is_exact else 1
    n_orders = len(maxima) + extra
    shares_alone = (n_extreme_alone + extra) / n_orders
    shares_of_maxima = (n_extreme + extra) / n_orders

    def by_measure(by_ordering: Floats) -> Floats:
        """Repeat values of orderings, (n_orderings,), for their measures, (n_measures,).

        NaN where a rho is undefined.
        """
        values = np.full(len(joint_ranks), np.nan)
        values[is_defined] = by_ordering[ordering_of_measure.reshape(-1)]
        return values

    return BestOfMany(
        measures=experiments[0].measures,
        fewest_models=min(set_sizes),
        chosen=tuple(names[number] for number in chosen_sets),
        statistics=by_measure(statistics),
        p_alone=by_measure(shares_alone),
        p_adjusted=by_measure(shares_of_maxima),
        maxima=maxima,
        n_orderings=len(statistics),
        is_exact=is_exact,
    )


def _check_experiments(experiments: Sequence[Experiment], chosen: Sequence[str]) -> None:
    """Refuse, with InputError, experiments that cannot be tested together.

    These have duplicate names, or measures that differ. Refuse a chosen name that is none of them.
    """
    names = [experiment.name for experiment in experiments]
    require_unique("the study", "experiment", names)
    if len({experiment.measures for experiment in experiments}) > 1:
        raise InputError(f"{', '.join(names)} must have the same measures.")
    require_known("no experiment is called", chosen, names)


def _can_enumerate(models: Sequence[tuple[str, ...]]) -> bool:
    """Check whether all data sets have the same models, at most 9; ``models`` are by data set."""
    has_same_models = len({frozenset(set_models) for set_models in models}) == 1
    return has_same_models and len(models[0]) <= MAX_ENUMERATED_MODELS


def _permute_rates(
    orderings: Sequence[Floats],
    rates: Sequence[Floats],
    orders: Iterator[tuple[Numbers, ...]],
    chosen_sets: Sequence[int],
    statistics: Floats,
) -> tuple[Longs, Floats]:
    """Permute the rates; count the extreme mean rhos of each ordering, and find each maximum.

    Of every data set: scaled ranks (their products are rhos) of distinct orderings of the models,
    (n_orderings, n_models), and of the rates, (n_models,). Each block holds, for every data set,
    orders of its models, (n_orders, n_models). The mean is over the chosen data sets (numbers).

    The counts, (n_orderings,), are the orders whose mean rho is at least the observed one, of
    ``statistics``, (n_orderings,). The maxima, (n_orders,) and rising, are the largest mean rho of
    all orderings under each order. For these, if not all data sets were chosen, each ordering takes
    the data sets of its largest rhos, as many as were chosen.
    """
    n_chosen = len(chosen_sets)
    # Rounding aside.
    thresholds = statistics[:, np.newaxis] - TOLERANCE
    n_extreme = np.zeros(len(statistics), dtype=np.int64)
    maxima = []
    for block in orders:
        rhos_of_sets = []
        for set_ranks, set_rates, order in zip(orderings, rates, block, strict=True):
            permuted_rates = set_rates[order]
            rhos_of_sets.append(set_ranks @ permuted_rates.T)
        # (n_datasets, n_orderings, n_orders)
        rhos = np.stack(rhos_of_sets)
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
    """Draw orders of the models of each data set, each as likely, 1,024 at a time.

    Names and models are by data set. Each block has, for every data set, an array (n_orders,
    n_models) of positions among its models; the blocks have ``n_orders`` orders together. Data sets
    that share models are permuted jointly, by one random key for each model. The others have orders
    of their own, which depend neither on other data sets nor on how many orders follow.
    """
    groups = _groups_with_shared_models(models)
    models_of_groups = []
    for group in groups:
        group_models = chain.from_iterable(models[number] for number in group)
        models_of_groups.append(list(dict.fromkeys(group_models)))
    for start, stop in draw_ranges(n_orders, PER_STREAM):
        orders: dict[int, Numbers] = {}
        for group, distinct_models in zip(groups, models_of_groups, strict=True):
            n_words = (stop - start) * len(distinct_models)
            first_name = names[group[0]]
            words = random_words(n_words, seed, "rates among models", first_name, start)
            keys = words.reshape(-1, len(distinct_models))
            for number in group:
                columns = [distinct_models.index(model) for model in models[number]]
                orders[number] = _orders_by_keys(keys, columns)
        yield tuple(orders[number] for number in range(len(models)))


def _all_orders(models: Sequence[tuple[str, ...]]) -> Iterator[tuple[Numbers, ...]]:
    """Yield every order of the models once, up to 1,024 at a time, jointly in all data sets.

    ``models`` are by data set: the same in all, in any order. Each block has, for every data set,
    an array (n_orders, n_models) of positions among its models.
    """
    first_models = models[0]
    columns = [[first_models.index(name) for name in set_models] for set_models in models]
    orders = permutations(range(len(first_models)))
    while block := list(islice(orders, PER_STREAM)):
        keys = np.array(block)
        yield tuple(_orders_by_keys(keys, set_columns) for set_columns in columns)


def _orders_by_keys(keys: Integers, columns: Sequence[int]) -> Numbers:
    """Permute the models of a data set by the keys of all models, wherever they stand in it.

    Keys are of shape (n_orders, n_all_models); ``columns`` are those of the data set's models, one
    for each. The result is of shape (n_orders, n_models): positions among the models of the data
    set. In the order of the columns, the k-th place takes the model of the k-th smallest key; so
    data sets with the same models are permuted alike.
    """
    model_columns = np.array(columns)
    positions = np.argsort(model_columns)
    sorted_keys = keys[:, model_columns[positions]]
    orders = np.empty((len(keys), len(model_columns)), dtype=np.intp)
    orders[:, positions] = positions[sorted_keys.argsort(axis=1, kind="stable")]
    return orders


def _groups_with_shared_models(models: Sequence[tuple[str, ...]]) -> list[list[int]]:
    """Group the data sets, by number, that are connected by models that they share.

    ``models`` are by data set. Two data sets without a common model are in one group if others
    connect them. A data set that shares none is a group of its own.
    """
    from scipy.sparse.csgraph import connected_components

    rows = [[not set(left).isdisjoint(right) for right in models] for left in models]
    shares_models = np.array(rows)
    n_groups, group_of_set = connected_components(shares_models, directed=False)
    return [np.flatnonzero(group_of_set == number).tolist() for number in range(n_groups)]
