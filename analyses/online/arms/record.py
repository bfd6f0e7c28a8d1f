"""What is kept of an experiment: its log, the ranks of hidden items, and the truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from analyses.online.clicks.click_result import Known
from analyses.online.logs.read_log import Logs
from qrels.interactions.interactions import Interactions
from qrels.ranks.hidden_ranks import HiddenRanks
from runs import Numbering

Place = tuple[str, int]
"""An arm and its period, from 0."""


@dataclass(frozen=True, eq=False)
class Record:
    """A log, and the ranks of hidden items by the models that it served.

    The items of test users are hidden, whom no model learnt from. By arm and period there are
    ranks, and when the model became live, in milliseconds since 1970 in UTC. Planned shares of the
    arms may be known, and what else is: their settings, truth, remarks.
    """

    logs: Logs
    events: Interactions
    test_users: Numbering
    ranks: Mapping[Place, HiddenRanks]
    starts: Mapping[Place, int]
    shares: Mapping[str, float] | None
    known: Known
