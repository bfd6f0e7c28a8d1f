"""What is remarkable about the input, each thing said once."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from warnings import WarningMessage

from runs.shared.errors import InputWarning


class NearTies(InputWarning):
    """Neighbours in the lists of a run file whose scores are ties in single precision alone."""

    def __init__(self, path: Path | str, count: int) -> None:
        self.path, self.count = path, count
        super().__init__(f"{path}: {_near_ties(count)}")


def remarks_of(caught: Iterable[WarningMessage]) -> list[str]:
    """Give what was warned of, each sentence once, near-ties of all run files in one."""
    found = [warning.message for warning in caught]
    near = [each for each in found if isinstance(each, NearTies)]
    told = [_joined(near) if isinstance(each, NearTies) else str(each) for each in found]
    return list(dict.fromkeys(told))


def _joined(near: list[NearTies]) -> str:
    first, *others = near
    if not others:
        return str(first)
    total = sum(each.count for each in near)
    return f"{len(near)} run files (the first is {first.path}): {_near_ties(total)}"


def _near_ties(count: int) -> str:
    return (
        f"{count} neighbours in the lists have scores that differ in double precision only; "
        "trec_eval 9 and pytrec_eval rank them as ties."
    )
