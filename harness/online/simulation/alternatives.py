"""Alternatives: what one arm's models would have shown to the users of another."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from analyses.online.logs.slates import Slates
from harness.online.simulation.arms import Lottery
from harness.online.simulation.profiles import profiles_before
from harness.online.simulation.simulation import SimulatedExperiment
from runs import InputError


def lists_of_arm(experiment: SimulatedExperiment, arm: str, slates: Slates) -> NDArray[np.int32]:
    """Ask an arm's models for the lists of other users, at the times when these asked.

    For a placebo (`Slates.showing`) and for off-policy estimates of the arm from the log of one
    that draws its lists.

    Parameters
    ----------
    experiment
        Whose models they are.
    arm
        Name of the arm.
    slates
        Some of the lists of the experiment.

    Returns
    -------
    Items of shape (n_places,), in the order of the slates.

    Raises
    ------
    InputError
        If there is no such arm, or it draws its lists.
    """
    if arm not in experiment.arms:
        raise InputError(f"there is no arm {arm!r}; there are {', '.join(experiment.arms)}.")
    import pandas as pd

    depth = int(slates.lengths[0]) if len(slates) else 0
    lists = np.empty((len(slates), depth), dtype=np.int32)
    period = np.searchsorted(experiment.boundaries, slates.time, side="right") - 1
    turn = pd.Series(slates.user).groupby(slates.user).cumcount().to_numpy()
    for number, model in enumerate(experiment.recommenders[experiment.arms.index(arm)]):
        if isinstance(model, Lottery):
            raise InputError(f"arm {arm!r} draws its lists; what it would have shown is unknown.")
        for chosen in range(int(turn.max(initial=-1)) + 1):
            rows = np.flatnonzero((period == number) & (turn == chosen))
            rows = rows[np.argsort(slates.user[rows])]
            users, times = slates.user[rows], slates.time[rows]
            profiles = profiles_before(experiment.events, users, times, n_items=len(slates.items))
            lists[rows] = model.recommend(profiles, depth=depth)
    return lists.ravel()
