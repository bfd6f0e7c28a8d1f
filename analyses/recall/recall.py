"""The recall meter: every popularity-stratified recall of a model from one table of ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.recall.grids import BETAS, CUTOFFS, require_counts, require_grid
from analyses.recall.hidden_parts import (
    VALIDATIONS,
    Hits,
    Validation,
    Weighed,
    choose_part,
    distinct_counts,
)
from analyses.recall.recall_curves import draw_recalls
from analyses.recall.stratification import Stratification, item_weights
from analyses.shared.drawing import axes_or_new
from qrels.ranks.hidden_ranks import HiddenRanks

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RecallGrid:
    """Recalls of one model under every validation, exponent and cut-off.

    Parameters
    ----------
    validations, betas, cutoffs
        Labels of the axes of ``values``.
    values
        float64 of shape (n_validations, n_betas, n_cutoffs), in [0, 1].
    ceilings
        What a model could reach that is not asked for items of users it knows nothing of, of
        shape (n_validations, n_betas).
    effective_shares
        Effective sample size over the number of hidden items, of shape (n_validations, n_betas):
        1 where all weigh alike; the variance grows by one over it.
    n_users, n_hidden
        Users and hidden items that count, of shape (n_validations,).
    n_short
        Users dropped for too few items.
    n_emptied
        Users dropped as nothing of theirs is left to hide, of shape (n_validations,).
    n_unpopular
        Hidden items left out for having no training event, of shape (n_validations,).
    coverage
        Share of the items in the lists, of shape (n_cutoffs,), NaN beyond what was looked at; None
        if it was not asked for.
    stratification
        How it was weighed.
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
    coverage: Floats | None
    stratification: Stratification

    def to_frame(self) -> pd.DataFrame:
        """One row per validation, exponent and cut-off.

        Returns
        -------
        Columns validation, beta, cutoff, metric, value, ceiling, effective_share, users,
        hidden_items, and coverage where it is known.
        """
        import pandas as pd

        n_validations, n_betas, n_cutoffs = self.values.shape
        frame = pd.DataFrame(
            {
                "validation": np.repeat(self.validations, n_betas * n_cutoffs),
                "beta": np.tile(np.repeat(self.betas, n_cutoffs), n_validations),
                "cutoff": np.tile(self.cutoffs, n_validations * n_betas),
                "metric": self.stratification.metric,
                "value": self.values.ravel(),
                "ceiling": np.repeat(self.ceilings, n_cutoffs),
                "effective_share": np.repeat(self.effective_shares, n_cutoffs),
                "users": np.repeat(self.n_users, n_betas * n_cutoffs),
                "hidden_items": np.repeat(self.n_hidden, n_betas * n_cutoffs),
            }
        )
        if self.coverage is not None:
            frame["coverage"] = np.tile(self.coverage, n_validations * n_betas)
        return frame

    def plot(self, ax: Axes | None = None, *, validation: Validation) -> Axes:
        """Draw values against the exponent, a line for each cut-off.

        Parameters
        ----------
        ax
            Axes to draw on; new ones by default.
        validation
            Which validation.
        """
        number = self.validations.index(validation)
        ax = draw_recalls(
            axes_or_new(ax),
            self.values[number],
            betas=self.betas,
            cutoffs=self.cutoffs,
            effective_shares=self.effective_shares[number],
            title=validation,
        )
        ax.set_ylabel(self.stratification.metric)
        return ax

    def caption(self) -> str:
        """Say what the values are means of, and what was left out."""
        chosen = self.stratification
        return (
            f"Popularity-stratified {chosen.metric} of hidden items with {chosen.weights} weights; "
            f"first items: {chosen.first_item}, smoothing: {chosen.smoothing}. "
            f"{self._counts_in_words()} {self.n_short:,} users with fewer than "
            f"{chosen.min_items} items were dropped."
        )

    def _counts_in_words(self) -> str:
        """Say for each validation how many users and items there are."""
        columns = zip(
            self.validations,
            self.n_users,
            self.n_hidden,
            self.n_emptied,
            self.n_unpopular,
            strict=True,
        )
        return " ".join(
            f"{name}: {hidden:,} hidden items of {users:,} users, without {emptied:,} users who "
            f"have nothing to hide and {unpopular:,} items that have no training event."
            for name, users, hidden, emptied, unpopular in columns
        )


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

    Parameters
    ----------
    ranks
        Ranks of the hidden items :math:`H_u`. Under leave one out repeated rows do not count.
    counts
        How popular items are, of shape (n_items,); see `popularity_counts`.
    validations
        Leave one out, leave last one out, or both.
    betas
        Exponents, not negative.
    cutoffs
        Rising cut-offs, from 1.
    stratification
        Further choices; the defaults of `Stratification` if there are none.

    Raises
    ------
    InputError
        If a cut-off is deeper than ranks are known, a number is out of range, or no user is left.

    References
    ----------
    Kasalický (2021), (1.30) to (1.33), (2.1) and (2.2). Stratified weights are those of Steck
    (2011). Uniform weights with :math:`\beta = (\gamma + 1) / 2` are the estimator of Yang et al.
    (RecSys 2018), with :math:`P_{ui} \propto N_i^{(\gamma + 1) / 2}`.

    Notes
    -----
    The printed weights of (1.33) add up to one over the number of users; that factor is left out.

    Examples
    --------
    Two users. One had items 0 and 1, found at ranks 1 and 3, the other 0 and 2, at 2 and nowhere:

    >>> from qrels.ranks.hidden_ranks import MISS, HiddenItems
    >>> from qrels.interactions.interactions import Interactions
    >>> from runs import Numbering
    >>> events = Interactions.of(
    ...     Numbering.of("uv"), Numbering.of("abc"), user=[0, 0, 1, 1], item=[0, 1, 0, 2],
    ...     time=[1, 2, 1, 2],
    ... )
    >>> found = np.array([1, 3, 2, MISS], dtype=np.uint16)
    >>> ranks = HiddenRanks(HiddenItems.of(events), found, found, deepest=50)
    >>> recall = measure_recall(
    ...     ranks, np.array([2, 1, 0]), validations=["LOO"], betas=[0, 1], cutoffs=[1, 2]
    ... )
    >>> recall.values.round(3).tolist()
    [[[0.25, 0.5], [0.2, 0.325]]]
    """
    chosen = stratification or Stratification()
    require_grid(ranks, validations, betas, cutoffs)
    require_counts(counts, ranks)
    parts = [choose_part(ranks, name, counts, chosen) for name in validations]
    shape = (len(parts), len(betas))
    values = np.empty((*shape, len(cutoffs)))
    ceilings, effective_shares = np.empty(shape), np.empty(shape)
    for number, part in enumerate(parts):
        found = Hits.of(part, cutoffs, chosen.metric)
        for place, beta in enumerate(betas):
            weights = item_weights(counts, beta=beta, stratification=chosen)
            weighed = Weighed.of(part, weights, chosen.weights)
            values[number, place] = found.totals(weighed)
            ceilings[number, place] = weighed.ceiling(part)
            effective_shares[number, place] = weighed.effective_share(part)
    n_distinct = distinct_counts(ranks.hidden)
    n_fit = np.count_nonzero(n_distinct >= chosen.min_items)
    return RecallGrid(
        validations=tuple(validations),
        betas=tuple(betas),
        cutoffs=tuple(cutoffs),
        values=values,
        ceilings=ceilings,
        effective_shares=effective_shares,
        n_users=np.array([len(part.users) for part in parts]),
        n_hidden=np.array([len(part.item) for part in parts]),
        n_short=int(np.count_nonzero(n_distinct) - n_fit),
        n_emptied=np.array([n_fit - len(part.users) for part in parts]),
        n_unpopular=np.array([part.n_unpopular for part in parts]),
        coverage=_coverage(ranks, cutoffs),
        stratification=chosen,
    )


def _coverage(ranks: HiddenRanks, cutoffs: Sequence[int]) -> Floats | None:
    """Give the share of items in any list at each cut-off, NaN where it is not known."""
    if ranks.best is None:
        return None
    known = [ranks.coverage(k) if k <= ranks.deepest else np.nan for k in cutoffs]
    return np.array(known)
