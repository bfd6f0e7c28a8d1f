"""The table of assignments: which arm a user was put in."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from analyses.online.logs.recommendations import known_arms
from qrels.interactions.columns import read_ids
from qrels.interactions.table import LogTable
from runs import Numbering

KNOWN: Final = ("user", "arm", "time")


def read_assignment(table: LogTable, users: Numbering, arms: Numbering) -> NDArray[np.int32]:
    """Give the arm of each user of the numbering, of shape (n_users,); -1 where it is not said.

    Raises
    ------
    InputError
        If a column is missing, an arm is unknown, or a user is duplicated.
    """
    table.require("user", "arm")
    user = read_ids(table.column("user"), table.fail("user"))
    arm = known_arms(table, read_ids(table.column("arm"), table.fail("arm")), arms)
    again = user.repetition()
    if again is not None:
        row, head = again
        raise table.error("user", row, f"{user[row]!r} is assigned again, after row {head + 1}.")
    numbers = user.numbers(users)
    assigned = np.full(len(users), -1, dtype=np.int32)
    assigned[numbers[numbers >= 0]] = arm[numbers >= 0]
    return assigned
