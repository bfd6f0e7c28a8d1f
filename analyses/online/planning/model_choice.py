"""The choice of models that differ in quality and in their lists, for an experiment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from runs import InputError

Floats = NDArray[np.float64]

REACH = 0.25
"""How far from a step of quality a candidate for it may be, in steps."""


@dataclass(frozen=True, eq=False)
class ModelChoice:
    """Models from the best downwards.

    Parameters
    ----------
    chosen
        Numbers of the candidates, by falling value, of shape (n_models,).
    n_missed
        Steps at which there was no candidate, so that the nearest of all was taken.
    """

    chosen: NDArray[np.intp]
    n_missed: int


def choose_models(values: Floats, overlaps: Floats, *, n_models: int, floor: float) -> ModelChoice:
    r"""Choose models of clearly different quality, and at equal quality of different lists.

    The best is kept. Then, at equal steps from its value :math:`v` down to :math:`f v`, of the
    candidates within a quarter of a step that one is taken whose lists overlap least, on average,
    with the lists of those already chosen. So these are half a step apart at least. Where no
    candidate is as near, the nearest is taken.

    Values are above 0 for the best candidate and NaN for one that failed, of shape
    (n_candidates,); overlaps of lists, such as `overlap_matrix`, have the shape (n_candidates,
    n_candidates); the floor :math:`f` is in [0, 1).

    Raises
    ------
    InputError
        If there are fewer candidates than models wanted, or a number is out of range.

    Notes
    -----
    Kasalický (2021) has models "of different quality" found by a search and does not say how
    they are chosen of its trials; this rule is ours. Of equal overlaps the value nearer to the
    step decides, then the lower number.
    """
    _require_enough(values, n_models, floor)
    best = int(np.nanargmax(values))
    targets, step = np.linspace(values[best], floor * values[best], n_models, retstep=True)
    reach = REACH * abs(step)
    chosen, n_missed = [best], 0
    for target in targets[1:]:
        distances = np.abs(values - target)
        distances[np.isnan(values)] = np.inf
        distances[chosen] = np.inf
        near = np.flatnonzero(distances <= reach)
        if len(near) == 0:
            n_missed += 1
            near = np.array([distances.argmin()])
        common = overlaps[near][:, chosen].mean(axis=1)
        chosen.append(int(near[np.lexsort((distances[near], common))[0]]))
    numbers = np.array(chosen)
    return ModelChoice(numbers[np.argsort(-values[numbers], kind="stable")], n_missed)


def _require_enough(values: Floats, n_models: int, floor: float) -> None:
    n_candidates = int(np.count_nonzero(~np.isnan(values)))
    if not 1 <= n_models <= n_candidates:
        raise InputError(
            f"models to choose must be from 1 to the {n_candidates} candidates that there are, "
            f"got {n_models}."
        )
    if not 0 <= floor < 1:
        raise InputError(f"`floor` must be at least 0 and below 1, got {floor}.")
    if not np.nanmax(values) > 0:
        raise InputError("no candidate has a value above 0, so that none is worse than the best.")
