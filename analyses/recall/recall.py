"""Recall of hidden items: every popularity-stratified recall of a model from one table of ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.recall.parametrisations import BETAS, CUTOFFS, VALIDATIONS, Validation, require_axes
from analyses.recall.stratification import MetricName, Stratification, item_weights
from analyses.shared.drawing import gradations, label_curves
from qrels.ranks.hidden_ranks import MISS, HiddenItems, HiddenRanks
from runs import InputError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RecallGrid:
    """Recalls of one model under every validation, exponent and cut-off.

    Values, of shape (n_validations, n_betas, n_cutoffs), are in [0, 1]. Ceilings are the largest
    possible values, since nothing leads to some items, and effective shares effective sample sizes
    over the number of hidden items: 1 where all weigh alike; the variance grows by one over it;
    both are of shape (n_validations, n_betas). Of shape (n_validations,) are the users and hidden
    items that count, users dropped as they have nothing left to hide, and hidden items left out for
    having no training event; short are users dropped for too few items.
    """

    validations: tuple[Validation, ...]
    betas: tuple[float, ...]
    cutoffs: tuple[int, ...]
    values: Floats
    ceilings: Floats
    effective_shares: Floats
    n_users: NDArray[np.intp]
    n_hidden: NDArray[np.intp]
    n_short: int
    n_emptied: NDArray[np.intp]
    n_unpopular: NDArray[np.intp]
    stratification: Stratification

    def to_frame(self) -> pd.DataFrame:
        """Give one row per validation, exponent and cut-off.

        Columns validation, beta, cutoff, metric, value, ceiling, effective_share, users and
        hidden_items.
        """
        import pandas as pd

        axes = [self.validations, self.betas, self.cutoffs]
        index = pd.MultiIndex.from_product(axes, names=["validation", "beta", "cutoff"])
        n_betas, n_cutoffs = self.values.shape[1:]
        return index.to_frame(index=False).assign(
            metric=self.stratification.metric,
            value=self.values.ravel(),
            ceiling=np.repeat(self.ceilings, n_cutoffs),
            effective_share=np.repeat(self.effective_shares, n_cutoffs),
            users=np.repeat(self.n_users, n_betas * n_cutoffs),
            hidden_items=np.repeat(self.n_hidden, n_betas * n_cutoffs),
        )

    def caption(self) -> str:
        """Describe what the values are means of, and what was left out."""
        chosen = self.stratification
        counts = " ".join(
            f"{name}: {hidden:,} hidden items of {users:,} users, without {emptied:,} users who "
            f"have nothing to hide and {unpopular:,} items that have no training event."
            for name, users, hidden, emptied, unpopular in zip(
                self.validations,
                self.n_users,
                self.n_hidden,
                self.n_emptied,
                self.n_unpopular,
                strict=True,
            )
        )
        return (
            f"Popularity-stratified {chosen.metric} of hidden items with {chosen.weights} weights; "
            f"first items: {chosen.first_item}, smoothing: {chosen.smoothing}. {counts} "
            f"{self.n_short:,} users with fewer than {chosen.min_items} items were dropped."
        )


def draw_recalls(
    ax: Axes,
    values: Floats,
    effective_shares: Floats,
    *,
    betas: Sequence[float],
    cutoffs: Sequence[int],
    title: str,
) -> Axes:
    """Draw recall over beta, a line per cut-off (figures 4.7 to 4.11 of Kasalický 2021).

    Values are of shape (n_betas, n_cutoffs). The effective share of the hidden items at each beta,
    of shape (n_betas,), stands on an axis above: the level of a recall says nothing about its
    worth, and this does about its error.
    """
    curves = list(zip(values.T, gradations([f"@{cutoff}" for cutoff in cutoffs]), strict=True))
    # The longest list comes first in the legend, as its line is on top.
    for curve, (label, style) in reversed(curves):
        ax.plot(betas, curve, label=label, **style)
    ax.set_xlabel("exponent of popularity (beta)")
    above = ax.secondary_xaxis("top")
    some = sorted({round(place) for place in np.linspace(0, len(betas) - 1, 5)})
    above.set_xticks([betas[n] for n in some], [f"{effective_shares[n]:.0%}" for n in some])
    above.set_xlabel("effective share of hidden items", fontsize="small")
    # Points of room for the axis above.
    ax.set_title(title, pad=28.0)
    label_curves(ax, ordered=True)
    return ax


def measure_recall(
    ranks: HiddenRanks,
    counts: NDArray[np.integer],
    *,
    validations: Sequence[Validation] = VALIDATIONS,
    betas: Sequence[float] = BETAS,
    cutoffs: Sequence[int] = CUTOFFS,
    stratification: Stratification | None = None,
) -> RecallGrid:
    r"""Measure popularity-stratified recall under every validation, exponent and cut-off.

    .. math:: a_i = p_i^{-\beta}, \quad D_u = \sum_{i \in H_u} a_i, \quad
              \mathrm{recall} = \sum_u w_u
              \sum_{i \in H_u} [\mathrm{rank}_u(i) \le K] \frac{a_i}{D_u}

    with :math:`w_u` one over the number of users (uniform), or :math:`D_u / \sum_v D_v`
    (stratified), and :math:`p` the share of the training events.

    Under leave one out repeated rows of the ranks do not count. Counts say how popular items are,
    of shape (n_items,); see `popularity_counts`. Cut-offs rise, from 1, and are not deeper than
    ranks are known.

    References
    ----------
    Kasalický (2021), (1.30) to (1.33), (2.1) and (2.2). Stratified weights are those of Steck
    (2011). Uniform weights with :math:`\beta = (\gamma + 1) / 2` are the estimator of Yang et al.
    (RecSys 2018), with :math:`P_{ui} \propto N_i^{(\gamma + 1) / 2}`.
    The printed weights of (1.33) add up to one over the number of users; that factor is left out.
    """
    chosen = stratification or Stratification()
    _require_known(ranks, counts, validations, betas, cutoffs)
    parts = [_Part.of(ranks, name, counts, chosen) for name in validations]
    shape = (len(parts), len(betas))
    values = np.empty((*shape, len(cutoffs)))
    ceilings, effective_shares = np.empty(shape), np.empty(shape)
    for number, part in enumerate(parts):
        # Most hidden items are not found, and most can be.
        place, lost = part.places(cutoffs), np.flatnonzero(~part.reachable)
        hits = np.flatnonzero(place < len(cutoffs))
        place, gain = place[hits], _gains(part.rank[hits], chosen.metric)
        for column, beta in enumerate(betas):
            weights = item_weights(counts, beta=beta, stratification=chosen)[part.item]
            totals = np.add.reduceat(weights, part.starts)
            scales = np.full(part.n_users, 1 / totals.sum())
            if chosen.weights == "uniform":
                scales = 1 / (totals * part.n_users)
            weights *= np.repeat(scales, part.sizes)
            found = np.bincount(place, weights[hits] * gain, minlength=len(cutoffs))
            values[number, column] = found.cumsum()
            ceilings[number, column] = 1 - weights[lost].sum()
            effective_shares[number, column] = 1 / ((weights * weights).sum() * len(weights))
    n_distinct = _distinct_counts(ranks.hidden)
    n_fit = np.count_nonzero(n_distinct >= chosen.min_items)
    return RecallGrid(
        validations=tuple(validations),
        betas=tuple(betas),
        cutoffs=tuple(cutoffs),
        values=values,
        ceilings=ceilings,
        effective_shares=effective_shares,
        n_users=np.array([part.n_users for part in parts]),
        n_hidden=np.array([len(part.item) for part in parts]),
        n_short=int(np.count_nonzero(n_distinct) - n_fit),
        n_emptied=np.array([n_fit - part.n_users for part in parts]),
        n_unpopular=np.array([part.n_unpopular for part in parts]),
        stratification=chosen,
    )


def errors_of_means(
    ranks: Mapping[str, HiddenRanks],
    counts: NDArray[np.integer],
    *,
    validation: Validation,
    betas: Sequence[float] = BETAS,
    cutoffs: Sequence[int] = CUTOFFS,
    stratification: Stratification | None = None,
) -> Floats:
    """Give standard errors over users of the mean recalls of models, of differences between them.

    It is what a bootstrap over users, the same for all models, converges to. What moves the recalls
    of all models alike, such as a user who is easy to serve, is no error of theirs; of one model
    alone it is. Stratified means are ratios of sums, whose errors are those of the delta method.
    Ranks are those of the same hidden items; errors are of shape (n_models, n_betas, n_cutoffs).
    """
    chosen = stratification or Stratification()
    for of_model in ranks.values():
        _require_known(of_model, counts, [validation], betas, cutoffs)
    parts = [_Part.of(of_model, validation, counts, chosen) for of_model in ranks.values()]
    errors = [
        _errors(*_user_recalls(parts, weights, cutoffs, chosen.metric), chosen)
        for weights in (item_weights(counts, beta=beta, stratification=chosen) for beta in betas)
    ]
    return np.stack(errors, axis=1)


def _errors(shares: Floats, totals: Floats, chosen: Stratification) -> Floats:
    """Give the errors for one exponent, of shape (n_models, n_cutoffs)."""
    n_users = len(totals)
    if n_users < 2:
        return np.full((len(shares), shares.shape[2]), np.nan)
    if chosen.weights == "stratified":
        weights = totals[:, np.newaxis] / totals.mean()
        shares = (shares - (weights * shares).mean(axis=1, keepdims=True)) * weights
    if len(shares) > 1:
        shares = shares - shares.mean(axis=0)
    return np.asarray(shares.std(axis=1, ddof=1) / np.sqrt(n_users))


def _user_recalls(
    parts: Sequence[_Part], weights: Floats, cutoffs: Sequence[int], metric: MetricName
) -> tuple[Floats, Floats]:
    """Give the recalls of every user by every model, and what all hidden items of a user weigh.

    Their shapes are (n_models, n_users, n_cutoffs) and (n_users,).
    """
    n_users, width = parts[0].n_users, len(cutoffs) + 1
    of_rows = weights[parts[0].item]
    totals = np.add.reduceat(of_rows, parts[0].starts)
    shares = np.empty((len(parts), n_users, len(cutoffs)), dtype=np.float32)
    for number, part in enumerate(parts):
        cell = part.user * width + part.places(cutoffs)
        found = np.bincount(cell, of_rows * _gains(part.rank, metric), n_users * width)
        found = found.reshape(n_users, width)[:, :-1].cumsum(axis=1)
        shares[number] = found / totals[:, np.newaxis]
    return shares.astype(np.float64), totals


def _require_known(
    ranks: HiddenRanks,
    counts: NDArray[np.integer],
    validations: Sequence[Validation],
    betas: Sequence[float],
    cutoffs: Sequence[int],
) -> None:
    """Refuse an impossible grid, one deeper than ranks are known, and counts of other items."""
    require_axes(validations, betas, cutoffs)
    deepest = ranks.deepest if "LLOO" in validations else MISS - 1
    if cutoffs[-1] > deepest:
        raise InputError(
            f"cut-off {cutoffs[-1]} is deeper than ranks are known, {deepest}; rank hidden items "
            "with `deepest` at least as large."
        )
    n_items = len(ranks.hidden.items)
    if counts.shape != (n_items,):
        raise InputError(f"counts must be of {n_items} items, got shape {counts.shape}.")
    if counts.min(initial=0) < 0:
        raise InputError(f"counts of items must not be negative, got {counts.min()}.")


@dataclass(frozen=True, eq=False)
class _Part:
    """The hidden items that count under one validation, and their ranks.

    Users, numbered from 0, items, ranks and the mask of those for which there is a profile to
    recommend from are of shape (n_rows,). Rows left out as their items are unknown are counted.
    """

    user: NDArray[np.intp]
    item: NDArray[np.int32]
    rank: NDArray[np.int64]
    reachable: NDArray[np.bool_]
    n_unpopular: int

    @property
    def n_users(self) -> int:
        return int(self.user[-1]) + 1

    @cached_property
    def starts(self) -> NDArray[np.intp]:
        """Row at which each user begins, of shape (n_users,)."""
        return np.flatnonzero(np.diff(self.user, prepend=-1))

    @property
    def sizes(self) -> NDArray[np.intp]:
        """Rows of each user, of shape (n_users,)."""
        return np.diff(self.starts, append=len(self.user))

    def places(self, cutoffs: Sequence[int]) -> NDArray[np.intp]:
        """Number the first cut-off at which each row is found; that behind the last if none."""
        return np.searchsorted(cutoffs, self.rank)

    @classmethod
    def of(
        cls,
        ranks: HiddenRanks,
        validation: Validation,
        counts: NDArray[np.integer],
        chosen: Stratification,
    ) -> _Part:
        """Choose what counts under a validation; refuse that nothing does."""
        hidden, n_distinct = ranks.hidden, _distinct_counts(ranks.hidden)
        hides = np.ones(len(hidden), dtype=np.bool_)
        if validation == "LOO":
            hides = hidden.is_first
        elif chosen.first_item == "skip":
            hides = hidden.has_past
        hides = hides & (n_distinct[hidden.user] >= chosen.min_items)
        kept = hides & (counts > 0)[hidden.item] if chosen.smoothing == "drop" else hides
        if not kept.any():
            raise InputError(
                f"{validation} recall has no user with at least {chosen.min_items} items and one "
                "to hide."
            )
        rank = ranks.rank_loo if validation == "LOO" else ranks.rank_lloo
        reachable = n_distinct[hidden.user] > 1 if validation == "LOO" else hidden.has_past
        user = np.cumsum(np.diff(hidden.user[kept], prepend=-1) > 0) - 1
        n_unpopular = int(np.count_nonzero(hides) - np.count_nonzero(kept))
        columns = hidden.item[kept], rank[kept].astype(np.int64), reachable[kept]
        return cls(user, *columns, n_unpopular)


def _distinct_counts(hidden: HiddenItems) -> NDArray[np.intp]:
    """Count the distinct items of every user, of shape (n_users,)."""
    return np.bincount(hidden.user[hidden.is_first], minlength=len(hidden.users))


def _gains(rank: NDArray[np.int64], metric: MetricName) -> Floats:
    """Give what items at these ranks add."""
    if metric == "RR":
        return 1 / rank
    return 1 / np.log2(1 + rank) if metric == "nDCG" else np.ones(len(rank))
