"""Recalls of hidden items as measures: their names, settings, and weights of items."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias, get_args

import numpy as np
from pydantic import AfterValidator, Field

from runs import InputError
from runs.shared.arrays import Floats, Integers
from runs.shared.settings import Section

Validation: TypeAlias = Literal["LOO", "LLOO"]
VALIDATIONS: tuple[Validation, ...] = get_args(Validation)
Weights: TypeAlias = Literal["uniform", "stratified"]
Smoothing: TypeAlias = Literal["add-one", "drop"]

BETAS = tuple(step / 20 for step in range(21))
"""Exponents of Kasalický (2021)."""

CUTOFFS = (*range(1, 11), 15, 20, 25, 50)
"""Cut-offs of Kasalický (2021)."""

PRINTED: Final = (
    r"(?P<validation>LOO|LLOO)\(beta=(?P<beta>[0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?)"
    r"(?:,weights='(?P<weights>uniform|stratified)')?\)@(?P<cutoff>[0-9]+)"
)
"""The name of a recall, as a regular expression."""


def name_recall(validation: str, beta: float, cutoff: int, weights: Weights = "uniform") -> str:
    """Name a popularity-stratified recall, such as LLOO(beta=0.35)@5.

    ``"LOO"`` hides every item in turn, ``"LLOO"`` every event, with what came before it (Kasalický
    2021, equations 2.1 and 2.2); beta is the exponent of popularity, and the cut-off the length of
    the lists. Users have ``"uniform"`` weights, which are not named, or are ``"stratified"`` by
    what they have hidden: LOO(beta=1,weights='stratified')@5.
    """
    # 1.0 is written as 1.
    exponent = repr(float(beta)).removesuffix(".0")
    options = f"beta={exponent}"
    if weights != "uniform":
        options += f",weights={weights!r}"
    return f"{validation}({options})@{cutoff}"


def _sorted_distinct(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Sort values, each once, from the lowest."""
    return tuple(sorted(set(values)))


Beta = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Cutoff = Annotated[int, Field(strict=True, ge=1, lt=65535)]


class RecallSettings(Section):
    """Exponents and cut-offs of recall, and the weights of hidden items."""

    betas: Annotated[tuple[Beta, ...], AfterValidator(_sorted_distinct)] = Field(
        BETAS, min_length=1, description="Exponents of popularity."
    )
    cutoffs: Annotated[tuple[Cutoff, ...], AfterValidator(_sorted_distinct)] = Field(
        CUTOFFS, min_length=1, description="Cut-offs."
    )
    first_item: Literal["miss", "skip"] = Field(
        "miss",
        description="LLOO: the first item of a user has no history; count it as a miss, or skip "
        "it.",
    )
    smoothing: Smoothing = Field(
        "add-one",
        description="Popularity of items without training events: add one event to every item, or "
        "drop these items.",
    )


def item_weights(counts: Integers, *, beta: float, smoothing: Smoothing = "add-one") -> Floats:
    r"""Compute what a hidden item weighs, :math:`p_i^{-\beta}`, of shape (n_items,).

    :math:`p_i` is the share of the item in all training events: ``counts``, of the same shape. With
    "add-one", each count is one more; with "drop", an item without events weighs 0. Raises
    InputError if weights are too large for double precision.
    """
    n_events = counts + (1.0 if smoothing == "add-one" else 0.0)
    is_seen = n_events > 0
    total = max(n_events.sum(), 1.0)
    # The logarithm of the share of the events; for items without any it is not used.
    positive_events = np.where(is_seen, n_events, 1.0)
    log_shares = np.log(positive_events) - np.log(total)
    with np.errstate(over="ignore"):
        weights = np.where(is_seen, np.exp(-beta * log_shares), 0.0)
        squared_sum = weights.sum() ** 2
    if not np.isfinite(squared_sum):
        raise InputError(
            f"with beta = {beta:g} the weights of rare items are too large; use a smaller exponent."
        )
    return weights
