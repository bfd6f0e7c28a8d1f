"""How hidden items are weighed against their popularity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from runs import InputError
from runs.shared.errors import require_choice

if TYPE_CHECKING:
    from qrels.interactions.interactions import Interactions

Weights: TypeAlias = Literal["uniform", "stratified"]
FirstItem: TypeAlias = Literal["miss", "skip"]
Smoothing: TypeAlias = Literal["add-one", "drop"]
Popularity: TypeAlias = Literal["events", "users"]
MetricName: TypeAlias = Literal["Recall", "RR", "nDCG"]


@dataclass(frozen=True)
class Stratification:
    r"""How hidden items and users are weighed, where the sources leave a choice.

    Parameters
    ----------
    weights
        Whether users count alike, or by their :math:`D_u`, so that hidden items are averaged.
    first_item
        Whether under leave last one out the first items of users, which no model can be asked
        for, are misses, or not hidden at all.
    smoothing
        Whether one event is added to every item (``"add-one"``), or hidden items without a
        training event are left out (``"drop"``), as in the code of Yang et al. (2018).
    clip
        Upper bound on the weight of an item, or None.
    min_items
        Distinct items without which a user is dropped.
    metric
        What a hidden item at rank r adds at cut-offs from r: 1, 1 / r (``"RR"``), or
        1 / log2(1 + r) (``"nDCG"``).
    """

    weights: Weights = "uniform"
    first_item: FirstItem = "miss"
    smoothing: Smoothing = "add-one"
    clip: float | None = None
    min_items: int = 2
    metric: MetricName = "Recall"

    def __post_init__(self) -> None:
        choices = {
            "weights": Weights,
            "first_item": FirstItem,
            "smoothing": Smoothing,
            "metric": MetricName,
        }
        for name, choice in choices.items():
            require_choice(name, getattr(self, name), get_args(choice))
        if self.clip is not None and not self.clip > 0:
            raise InputError(f"`clip` must be above 0, got {self.clip}.")
        if self.min_items < 1:
            raise InputError(f"`min_items` must be at least 1, got {self.min_items}.")


def popularity_counts(train: Interactions, *, of: Popularity = "events") -> NDArray[np.intp]:
    """Count what makes an item popular: its training events, or the users who had it."""
    require_choice("of", of, get_args(Popularity))
    return train.event_counts() if of == "events" else train.user_counts()


def item_weights(
    counts: NDArray[np.integer], *, beta: float, stratification: Stratification
) -> NDArray[np.float64]:
    r"""Give what a hidden item weighs, :math:`p_i^{-\beta}`, of shape (n_items,).

    An item that no event was seen of, where none is added, weighs 0.
    """
    raised = counts + (1.0 if stratification.smoothing == "add-one" else 0.0)
    known = raised > 0
    logarithms = np.log(np.where(known, raised, 1.0)) - np.log(max(raised.sum(), 1.0))
    with np.errstate(over="ignore"):
        weights = np.where(known, np.exp(-beta * logarithms), 0.0)
        if stratification.clip is not None:
            weights = np.minimum(weights, stratification.clip)
        if not np.isfinite(weights.sum() ** 2):
            raise InputError(
                f"with beta = {beta:g} weights of rare items are too large to be added up; take a "
                "smaller exponent or give `clip`."
            )
    return weights
