"""Recall of hidden items: every popularity-stratified recall of a model from one table of ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from analyses.recall.parametrisations import VALIDATIONS, RecallSettings, Weights, item_weights
from analyses.shared.drawing import gradation_styles, label_curves
from qrels.ranks.hidden_ranks import HiddenRanks
from runs import InputError
from runs.shared.arrays import Floats, Integers, Ints, Longs, Masks, Numbers

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def measure_recall(
    ranks: HiddenRanks,
    counts: Integers,
    settings: RecallSettings | None = None,
    *,
    weights: Weights = "uniform",
    min_items: int = 2,
) -> pd.DataFrame:
    r"""Measure popularity-stratified recall under every validation, exponent and cut-off.

    .. math:: a_i = p_i^{-\beta}, \quad D_u = \sum_{i \in H_u} a_i, \quad
              \mathrm{recall} = \sum_u w_u
              \sum_{i \in H_u} [\mathrm{rank}_u(i) \le K] \frac{a_i}{D_u}

    with :math:`w_u` one over the number of users (uniform), or :math:`D_u / \sum_v D_v`
    (stratified), and :math:`p` the share of the training events. Users with fewer distinct items
    are left out.

    Counts are the training events of every item, of shape (n_items,). Columns are validation, beta,
    cutoff, value, ceiling (the largest possible value, since nothing leads to some items),
    effective_share (the effective sample size over the number of hidden items: the variance grows
    by one over it), users and hidden_items.

    References
    ----------
    Kasalický (2021), (1.30) to (1.33), (2.1) and (2.2). Stratified weights are those of Steck
    (2011). Uniform weights with :math:`\beta = (\gamma + 1) / 2` are the estimator of Yang et al.
    (RecSys 2018), with :math:`P_{ui} \propto N_i^{(\gamma + 1) / 2}`.
    The printed weights of (1.33) add up to one over the number of users; that factor is left out.
    """
    import pandas as pd

    settings = settings or RecallSettings()
    parts = []
    for validation in VALIDATIONS:
        rows = _rows(ranks, validation, counts, settings, min_items)
        # Most hidden items are not found, and most can be.
        place, lost = np.searchsorted(settings.cutoffs, rows.rank), np.flatnonzero(~rows.reachable)
        hits = np.flatnonzero(place < len(settings.cutoffs))
        for beta in settings.betas:
            own = item_weights(counts, beta=beta, smoothing=settings.smoothing)[rows.item]
            totals = np.bincount(rows.user, own)
            own /= (len(totals) * totals)[rows.user] if weights == "uniform" else totals.sum()
            found = np.bincount(place[hits], own[hits], minlength=len(settings.cutoffs))
            columns = {
                "validation": validation,
                "beta": beta,
                "cutoff": settings.cutoffs,
                "value": found.cumsum(),
                "ceiling": 1 - own[lost].sum(),
                "effective_share": 1 / ((own * own).sum() * len(own)),
                "users": len(totals),
                "hidden_items": len(own),
            }
            parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def errors_of_means(
    ranks: Sequence[HiddenRanks],
    counts: Integers,
    settings: RecallSettings | None = None,
    *,
    weights: Weights = "uniform",
    min_items: int = 2,
) -> Floats:
    """Give standard errors over users of the values of models, of differences between them.

    It is what a bootstrap over users, the same for all models, converges to. What moves the recalls
    of all models alike, such as a user who is easy to serve, is no error of theirs; of one model
    alone it is. Stratified means are ratios of sums, whose errors are those of the delta method.
    Ranks are those of the same hidden items; errors are of shape (n_models, n_values), in the order
    of `measure_recall`.
    """
    settings, errors = settings or RecallSettings(), []
    width = len(settings.cutoffs) + 1
    for validation in VALIDATIONS:
        models = [_rows(one, validation, counts, settings, min_items) for one in ranks]
        user, n_users = models[0].user, int(models[0].user[-1]) + 1
        for beta in settings.betas:
            own = item_weights(counts, beta=beta, smoothing=settings.smoothing)[models[0].item]
            totals = np.bincount(user, own)
            shares = np.empty((len(models), n_users, width - 1), dtype=np.float32)
            for number, rows in enumerate(models):
                cell = user * width + np.searchsorted(settings.cutoffs, rows.rank)
                found = np.bincount(cell, own, n_users * width)
                found = found.reshape(n_users, width)[:, :-1].cumsum(axis=1)
                shares[number] = found / totals[:, np.newaxis]
            apart = shares.astype(np.float64)
            if weights == "stratified":
                of_users = totals[:, np.newaxis] / totals.mean()
                apart = (apart - (of_users * apart).mean(axis=1, keepdims=True)) * of_users
            if len(models) > 1:
                apart -= apart.mean(axis=0)
            spreads = np.full((len(models), width - 1), np.nan)
            errors.append(apart.std(axis=1, ddof=1) / np.sqrt(n_users) if n_users > 1 else spreads)
    return np.concatenate(errors, axis=1)


class _Rows(NamedTuple):
    """The hidden items that count under one validation, and their ranks; users are from 0."""

    user: Numbers
    item: Ints
    rank: Longs
    reachable: Masks


def _rows(
    ranks: HiddenRanks, validation: str, counts: Integers, settings: RecallSettings, min_items: int
) -> _Rows:
    """Choose what counts under a validation; refuse that nothing does, or that it is not known."""
    hidden, deepest = ranks.hidden, settings.cutoffs[-1]
    if validation == "LLOO" and deepest > ranks.deepest:
        raise InputError(
            f"ranks are known up to {ranks.deepest}, but the deepest cut-off is {deepest}; rank "
            "hidden items with `deepest` at least as large."
        )
    n_distinct = hidden.distinct_item_counts()[hidden.user]
    if validation == "LOO":
        kept, rank, reachable = hidden.is_first, ranks.rank_loo, n_distinct > 1
    else:
        kept, rank, reachable = ranks.has_past, ranks.rank_lloo, ranks.has_past
        if settings.first_item == "miss":
            kept = np.ones(len(hidden), dtype=np.bool_)
    kept = kept & (n_distinct >= min_items)
    if settings.smoothing == "drop":
        kept = kept & (counts > 0)[hidden.item]
    if not kept.any():
        raise InputError(
            f"{validation} recall needs users with at least {min_items} items, and one to hide."
        )
    user = np.cumsum(np.diff(hidden.user[kept], prepend=-1) > 0) - 1
    return _Rows(user, hidden.item[kept], rank[kept].astype(np.int64), reachable[kept])


def draw_recalls(ax: Axes, recalls: pd.DataFrame, *, title: str) -> None:
    """Draw recall over beta, a line per cut-off (figures 4.7 to 4.11 of Kasalický 2021).

    The recalls are rows of `measure_recall` of one validation. The effective share of the hidden
    items at each beta stands on an axis above: the level of a recall says nothing about its worth,
    and this does about its error.
    """
    values = recalls.pivot(index="beta", columns="cutoff", values="value")
    curves = list(zip(values, gradation_styles([f"@{cutoff}" for cutoff in values]), strict=True))
    # The longest list comes first in the legend, as its line is on top.
    for cutoff, (label, style) in reversed(curves):
        ax.plot(values.index, values[cutoff], label=label, **style)
    ax.set_xlabel("exponent of popularity (beta)")
    above, shares = ax.secondary_xaxis("top"), recalls.groupby("beta")["effective_share"].first()
    some = sorted({round(place) for place in np.linspace(0, len(shares) - 1, 5)})
    above.set_xticks(shares.index[some], [f"{100 * share:.0f}" for share in shares.iloc[some]])
    above.set_xlabel("effective share (%)")
    # Points of room for the axis above.
    ax.set_title(title, pad=28.0)
    ax.set_ylabel("recall")
    label_curves(ax, ordered=True)
