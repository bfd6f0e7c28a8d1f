"""The table of models: which version of an arm's model was live when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from analyses.online.logs.recommendations import known_arms
from qrels.interactions.columns import Ids, read_ids
from qrels.interactions.table import LogTable
from runs import Numbering

KNOWN: Final = ("arm", "model_version", "valid_from", "valid_to")


@dataclass(frozen=True, eq=False)
class Models:
    """Versions of the arms' models, sorted by arm and time; each is live in [from, to).

    Arms have names, as versions have; the other columns are the number of the arm, and
    milliseconds since 1970 in UTC, all of shape (n_versions,).
    """

    arms: Numbering
    names: NDArray[np.str_]
    arm: NDArray[np.int32]
    valid_from: NDArray[np.int64]
    valid_to: NDArray[np.int64]

    @property
    def numbers(self) -> NDArray[np.int64]:
        """Number of each version among those of its arm, from 0."""
        return np.arange(len(self.arm)) - np.searchsorted(self.arm, self.arm)

    def at(self, arm: NDArray[np.int32], time: NDArray[np.int64]) -> NDArray[np.int64]:
        """Find the version that was live in an arm at a time: the period of what it then showed.

        Its number is -1 where none was; all columns are of shape (n,).

        Examples
        --------
        >>> models = Models(Numbering.of(["A"]), np.array(["v1", "v2"]), np.zeros(2, np.int32),
        ...                 np.array([0, 20]), np.array([10, 30]))
        >>> models.at(np.zeros(4, np.int32), np.array([0, 10, 20, 30])).tolist()
        [0, -1, 1, -1]
        """
        found = np.full(len(time), -1, dtype=np.int64)
        for number, (of_arm, start, end) in enumerate(
            zip(self.arm, self.valid_from, self.valid_to, strict=True)
        ):
            found[(arm == of_arm) & (time >= start) & (time < end)] = number
        return found

    @property
    def n_gaps(self) -> int:
        """How often no version of an arm was live between two of them."""
        following = self.arm[1:] == self.arm[:-1]
        return int(np.count_nonzero(following & (self.valid_from[1:] > self.valid_to[:-1])))


def read_models(table: LogTable, arms: Numbering) -> Models:
    """Read the versions of the models.

    Raises
    ------
    InputError
        If a column is missing, an arm is unknown, a version ends before it begins, or two versions
        of an arm overlap.
    """
    table.require(*KNOWN)
    version = read_ids(table.column("model_version"), table.fail("model_version"))
    arm = known_arms(table, read_ids(table.column("arm"), table.fail("arm")), arms)
    begin = table.times("valid_from")
    end = table.times("valid_to")
    if (end <= begin).any():
        row = int((end <= begin).argmax())
        finding = f"version {version[row]!r} must end after it begins."
        raise table.error("valid_to", row, finding)
    order = np.lexsort((begin, arm))
    _require_apart(table, version, arm[order], begin[order], end[order], rows=order)
    names = version.ids[version.places]
    return Models(arms, names[order], arm[order], begin[order], end[order])


def _require_apart(
    table: LogTable,
    version: Ids,
    arm: NDArray[np.int32],
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    *,
    rows: NDArray[np.intp],
) -> None:
    """Compare neighbours: of intervals that are sorted by arm and beginning, two overlap there."""
    overlaps = (arm[1:] == arm[:-1]) & (begin[1:] < end[:-1])
    if overlaps.any():
        at = int(overlaps.argmax())
        before, row = int(rows[at]), int(rows[at + 1])
        finding = (
            f"version {version[row]!r} begins before version {version[before]!r} of the same arm "
            f"ends, in row {before + 1}."
        )
        raise table.error("valid_from", row, finding)
