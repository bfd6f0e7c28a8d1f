"""Recall of hidden items: every popularity-stratified recall of a model from one table of ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

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
    (stratified), :math:`p` the share of the training events, :math:`H_u` the hidden items of a
    user, and K a cut-off. ``ranks`` are those of the hidden items in the lists of one model. Users
    with fewer than ``min_items`` distinct items are left out.

    Counts are the training events of every item, of shape (n_items,). The result has a row for each
    validation ("LOO": every item is hidden in turn, "LLOO": every event, with what came before it),
    exponent and cut-off. Columns are validation, beta, cutoff, value, ceiling (the largest possible
    value, since nothing leads to some items), effective_share (the effective sample size over the
    number of hidden items: the variance grows by one over it), users and hidden_items (their
    numbers).

    Raises
    ------
    InputError
        If no hidden item is left under a validation, the deepest cut-off is deeper than the ranks
        that are known, or weights are too large.

    References
    ----------
    Kasalický (2021), (1.30) to (1.33), (2.1) and (2.2). Stratified weights are those of Steck
    (2011). Uniform weights with :math:`\beta = (\gamma + 1) / 2` are the estimator of Yang et al.
    (RecSys 2018), with :math:`P_{ui} \propto N_i^{(\gamma + 1) / 2}`.
    The printed weights of (1.33) add up to one over the number of users; that factor is left out.
    """
    import pandas as pd

    if settings is None:
        settings = RecallSettings()
    frames = []
    for validation in VALIDATIONS:
        hidden = _hidden_items(ranks, validation, counts, settings, min_items)
        n_hidden = len(hidden.item)
        # The first of the cut-offs with which an item is found; most are found with none.
        first_cutoff = np.searchsorted(settings.cutoffs, hidden.rank)
        hits = np.flatnonzero(first_cutoff < len(settings.cutoffs))
        unreachable = np.flatnonzero(~hidden.reachable)
        for beta in settings.betas:
            weight_by_item = item_weights(counts, beta=beta, smoothing=settings.smoothing)
            shares = weight_by_item[hidden.item]
            user_totals = np.bincount(hidden.user, shares)
            n_users = len(user_totals)
            # From weights of the hidden items to their shares in the recall, which add up to 1.
            if weights == "uniform":
                shares /= (n_users * user_totals)[hidden.user]
            else:
                shares /= user_totals.sum()
            # What each cut-off adds to the recall at the one before.
            gains = np.bincount(first_cutoff[hits], shares[hits], minlength=len(settings.cutoffs))
            sum_of_squares = (shares * shares).sum()
            columns = {
                "validation": validation,
                "beta": beta,
                "cutoff": settings.cutoffs,
                "value": gains.cumsum(),
                "ceiling": 1 - shares[unreachable].sum(),
                "effective_share": 1 / (sum_of_squares * n_hidden),
                "users": n_users,
                "hidden_items": n_hidden,
            }
            frames.append(pd.DataFrame(columns))
    return pd.concat(frames, ignore_index=True)


def errors_of_means(
    ranks: Sequence[HiddenRanks],
    counts: Integers,
    settings: RecallSettings | None = None,
    *,
    weights: Weights = "uniform",
    min_items: int = 2,
) -> Floats:
    """Compute standard errors over users of the values of models, of differences between them.

    It is what a bootstrap over users, the same for all models, converges to. What moves the recalls
    of all models alike, such as a user who is easy to serve, is no error of theirs; of one model
    alone it is. Stratified means are ratios of sums, whose errors are those of the delta method.

    Parameters
    ----------
    ranks
        By model: the ranks of the same hidden items.
    counts
        Training events of every item, of shape (n_items,).
    settings
        Exponents and cut-offs; by default those of `RecallSettings`.
    weights
        Of the users: "uniform", or "stratified" by the weights of their hidden items.
    min_items
        Users with fewer distinct items are left out.

    Returns
    -------
    Errors of shape (n_models, n_values), in the order of the rows of `measure_recall`: by
    validation, exponent and cut-off. NaN for a single user.

    Raises
    ------
    InputError
        As `measure_recall` does: no hidden item is left, cut-offs are too deep, or weights too
        large.
    """
    if settings is None:
        settings = RecallSettings()
    errors = []
    for validation in VALIDATIONS:
        models = [_hidden_items(model, validation, counts, settings, min_items) for model in ranks]
        items = models[0].item
        users = models[0].user
        for beta in settings.betas:
            weight_by_item = item_weights(counts, beta=beta, smoothing=settings.smoothing)
            hidden_weights = weight_by_item[items]
            recalls = _recalls_by_user(models, hidden_weights, settings.cutoffs)
            user_totals = np.bincount(users, hidden_weights).astype(np.float64)
            errors.append(_standard_errors(recalls, user_totals, weights))
    return np.concatenate(errors, axis=1)


def _recalls_by_user(
    models: Sequence[_HiddenItems], weights: Floats, cutoffs: Sequence[int]
) -> NDArray[np.float32]:
    """Compute the recall of every user under each model: (n_models, n_users, n_cutoffs).

    It is the weight of the user's hidden items with a rank of at most the cut-off over that of all
    of them. ``weights`` are those of the hidden items, of shape (n_hidden,); the models have the
    same hidden items, with the user (from 0) and the rank (from 1) of each. In single precision, as
    one number for each model, user and cut-off is held.
    """
    users = models[0].user
    user_totals = np.bincount(users, weights)
    n_users = len(user_totals)
    # The last column is for items that are found at no cut-off.
    n_columns = len(cutoffs) + 1
    recalls = np.empty((len(models), n_users, len(cutoffs)), dtype=np.float32)
    for number, hidden in enumerate(models):
        # The first of the cut-offs with which an item is found.
        first_cutoff = np.searchsorted(cutoffs, hidden.rank)
        cells = users * n_columns + first_cutoff
        gains = np.bincount(cells, weights, n_users * n_columns).reshape(n_users, n_columns)
        found_weights = gains[:, :-1].cumsum(axis=1)
        recalls[number] = found_weights / user_totals[:, np.newaxis]
    return recalls


def _standard_errors(recalls: NDArray[np.float32], user_totals: Floats, weights: Weights) -> Floats:
    """Compute the standard errors over users of mean recalls: (n_models, n_cutoffs).

    Of several models, the errors are of their differences from the mean of all models. NaN of one
    user.

    Parameters
    ----------
    recalls
        Of shape (n_models, n_users, n_cutoffs).
    user_totals
        Sums of the weights of the users' hidden items, of shape (n_users,): "stratified" means
        weigh users by these.
    weights
        Of the users: "uniform" or "stratified".
    """
    n_models, n_users, n_cutoffs = recalls.shape
    if n_users == 1:
        return np.full((n_models, n_cutoffs), np.nan)
    deviations = recalls.astype(np.float64)
    if weights == "stratified":
        # By the delta method: the deviations of a ratio of two sums.
        user_weights = user_totals[:, np.newaxis] / user_totals.mean()
        means = (user_weights * deviations).mean(axis=1, keepdims=True)
        deviations = (deviations - means) * user_weights
    if n_models > 1:
        deviations -= deviations.mean(axis=0)
    return np.asarray(deviations.std(axis=1, ddof=1) / np.sqrt(n_users))


class _HiddenItems(NamedTuple):
    """The hidden items that count under one validation, and their ranks.

    Arrays of shape (n_hidden,): the number of the user, from 0 and rising; that of the item; its
    rank, from 1; and whether anything leads to it.
    """

    user: Numbers
    item: Ints
    rank: Longs
    reachable: Masks


def _hidden_items(
    ranks: HiddenRanks, validation: str, counts: Integers, settings: RecallSettings, min_items: int
) -> _HiddenItems:
    """Select the hidden items that count under a validation, "LOO" or "LLOO".

    ``counts`` are the training events of every item, of shape (n_items,). Users with fewer than
    ``min_items`` distinct items are left out; so are first items that settings skip, and items
    without training events that they drop. Raises InputError if none is left, or if the deepest
    cut-off is deeper than the ranks that are known. In the result users are numbered anew, from 0,
    without those who have nothing hidden.
    """
    hidden = ranks.hidden
    deepest = settings.cutoffs[-1]
    if validation == "LLOO" and deepest > ranks.deepest:
        raise InputError(
            f"ranks are known up to {ranks.deepest}, but the deepest cut-off is {deepest}; rank "
            "hidden items with `deepest` at least as large."
        )
    n_distinct = hidden.distinct_item_counts()[hidden.user]
    # LOO hides each item of a user once; something leads to it if the user has another.
    if validation == "LOO":
        is_counted = hidden.is_first
        rank = ranks.rank_loo
        reachable = n_distinct > 1
    else:
        is_counted = ranks.has_past
        rank = ranks.rank_lloo
        reachable = ranks.has_past
        if settings.first_item == "miss":
            is_counted = np.ones(len(hidden), dtype=np.bool_)
    is_counted = is_counted & (n_distinct >= min_items)
    if settings.smoothing == "drop":
        is_counted = is_counted & (counts > 0)[hidden.item]
    if not is_counted.any():
        raise InputError(
            f"{validation} recall needs users with at least {min_items} items, and one to hide."
        )
    # Users from 0, without those who have nothing hidden.
    is_next_user = np.diff(hidden.user[is_counted], prepend=-1) > 0
    user = np.cumsum(is_next_user) - 1
    return _HiddenItems(
        user=user,
        item=hidden.item[is_counted],
        rank=rank[is_counted].astype(np.int64),
        reachable=reachable[is_counted],
    )


def draw_recalls(ax: Axes, recalls: pd.DataFrame, *, title: str) -> None:
    """Draw recall over beta, a line per cut-off (figures 4.7 to 4.11 of Kasalický 2021).

    The recalls are rows of `measure_recall` of one validation. The effective share of the hidden
    items at five of the betas stands, in per cent, on an axis above: the level of a recall says
    nothing about its worth, and this does about its error.
    """
    values = recalls.pivot(index="beta", columns="cutoff", values="value")
    labels = [f"@{cutoff}" for cutoff in values]
    curves = list(zip(values, gradation_styles(labels), strict=True))
    # The longest list comes first in the legend, as its line is on top.
    for cutoff, (label, style) in reversed(curves):
        ax.plot(values.index, values[cutoff], label=label, **style)
    ax.set_xlabel("exponent of popularity (beta)")
    shares = recalls.groupby("beta")["effective_share"].first()
    evenly_spaced = np.linspace(0, len(shares) - 1, 5)
    ticks = sorted({round(position) for position in evenly_spaced})
    tick_labels = [f"{100 * share:.0f}" for share in shares.iloc[ticks]]
    axis_above = ax.secondary_xaxis("top")
    axis_above.set_xticks(shares.index[ticks], tick_labels)
    axis_above.set_xlabel("effective share (%)")
    # Points of room for the axis above.
    ax.set_title(title, pad=28.0)
    ax.set_ylabel("recall")
    label_curves(ax, ordered=True)
