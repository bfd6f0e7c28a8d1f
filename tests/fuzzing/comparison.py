"""Our readers beside the specification, on damaged files."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import qrels.trec
import runs.formats
from runs import InputError, InputWarning
from tests.fuzzing import specification
from tests.fuzzing.mutation import damaged_file, valid_qrels, valid_run

REFUSED = "refused"


class WrongReadError(AssertionError):
    """A reader took, refused or understood a file otherwise than the specification."""


@dataclass(frozen=True)
class Reader:
    """A reader of ours and what specifies it.

    Parameters
    ----------
    name
        What it reads.
    valid
        Makes the lines of a valid file.
    ours, specified
        Make a plain value of the content of a file; `InputError` and `RefusedError` refuse it.
    """

    name: str
    valid: Callable[[Random], list[bytes]]
    ours: Callable[[bytes], Any]
    specified: Callable[[bytes], Any]


@dataclass
class Tally:
    """What was tried."""

    lines: int = 0
    files: int = 0
    taken: int = 0

    def __str__(self) -> str:
        return f"{self.lines:,} mutated lines in {self.files:,} files, {self.taken:,} of them read"


def compare_one(reader: Reader, random: Random, tally: Tally) -> None:
    """Damage a valid file and demand that both say the same of it.

    Raises
    ------
    WrongReadError
        If they do not; the message holds the file.
    """
    n_damaged = random.choice([1, 1, 1, 2, 3])
    content = damaged_file(reader.valid(random), n_damaged, random)
    specified, ours = _outcome(reader.specified, content), _outcome(reader.ours, content)
    if specified != ours:
        raise WrongReadError(
            f"{reader.name} {content!r}:\nspecified {specified!r}\nours      {ours!r}"
        )
    tally.lines += n_damaged
    tally.files += 1
    tally.taken += specified != REFUSED


def _outcome(read: Callable[[bytes], Any], content: bytes) -> Any:
    try:
        return read(content)
    except (InputError, specification.RefusedError):
        return REFUSED
    except Exception as error:
        raise WrongReadError(f"{content!r} crashes the reader: {error!r}") from error


def _our_run(content: bytes) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        file, *further = runs.formats.parse_runs(Path("fuzzed.run"), content)
        if further:
            raise InputError("several runs, which the specification leaves out")
        run = file.to_run(file.users, file.items)
    ids = file.items.ids
    lists = [[str(ids[item]) for item in row if item >= 0] for row in run.items]
    return file.system, dict(zip(file.users.ids.tolist(), lists, strict=True))


def _our_qrels(content: bytes) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        file = qrels.trec.parse_qrels(Path("fuzzed.qrels"), content)
    grades: dict[str, dict[str, int]] = {}
    for user, item, grade in zip(file.user, file.item, file.grade.tolist(), strict=True):
        grades.setdefault(str(file.users.ids[user]), {})[str(file.items.ids[item])] = grade
    return grades


READERS = (
    Reader("run", valid_run, _our_run, specification.read_run),
    Reader("qrels", valid_qrels, _our_qrels, specification.read_qrels),
)
