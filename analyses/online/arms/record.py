"""What is kept of an experiment: its log, the ranks of hidden items, and the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analyses.online.arms.arm_truth import Truth
from analyses.online.arms.offline_values import Place
from analyses.online.logs.read_log import Logs
from qrels.interactions.interactions import Interactions
from qrels.ranks.hidden_ranks import HiddenRanks
from runs import Numbering


@dataclass(frozen=True, eq=False)
class Record:
    """A log, and the ranks of hidden items by the models that it served.

    Parameters
    ----------
    logs
        Lists, interactions, versions.
    events
        The interactions, for training.
    test_users
        Users whose items are hidden, and whom no model learnt from.
    ranks
        Ranks of hidden items by arm and period.
    starts
        When each model of an arm and period became live, in milliseconds since 1970 in UTC.
    shares
        Planned shares of the arms, if they are known.
    truth
        Exact rates, of simulated worlds.
    off_policy
        Clicks per list of every arm as estimated from the log of another: arm, estimator, value,
        error and what it rests on.
    settings
        Settings of the arms, a row each.
    remarks
        What is to be said of the models.
    """

    logs: Logs
    events: Interactions
    test_users: Numbering
    ranks: Mapping[Place, HiddenRanks]
    starts: Mapping[Place, int]
    shares: Mapping[str, float] | None
    truth: Truth | None
    off_policy: Sequence[Mapping[str, Any]]
    settings: Sequence[Mapping[str, Any]]
    remarks: Sequence[str]
