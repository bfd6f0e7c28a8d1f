"""Tables of full ranks: a row for each system and relevant item, or a column for each system."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from analyses.sampled.expectation.crossings import first_of
from qrels import FullRanks
from runs import InputError
from runs.shared.lines import ID_HEADERS, check_width, distinct, read_lines

LONG = ("system", "user", "rank")
CANDIDATES = "n_candidates"

Line = tuple[int, list[str]]


class RankRow(NamedTuple):
    """A rank of a system, where it stands in the file."""

    line: int
    system: str
    user: str
    rank: int
    n_candidates: int


def read_rank_table(path: Path, *, candidates: int | None = None) -> dict[str, FullRanks]:
    """Read the full ranks of systems.

    A table is UTF-8 text with a heading line; fields are separated by tabs if that line has one,
    else by commas. A long table has the columns system, user and rank. Any other is wide: a column
    for every system and a row for every user, whose ids may stand in the first column if its
    heading is empty, user, topic, query or qid. Users with several relevant items have several
    rows. Numbers of candidates stand in a column n_candidates, or are one for all.

    Parameters
    ----------
    path
        The table.
    candidates
        Candidates of each user, relevant items included, where the table has none.

    Returns
    -------
    Ranks by system, in the order of the file.

    Raises
    ------
    InputError
        If the file is missing, empty or no such table, numbers of candidates are missing or given
        twice, a rank is not from 1 to their number or is duplicated, or systems have different
        users.
    """
    lines = read_lines(path)
    heading = next(lines, None)
    if heading is None:
        raise InputError(f"{path}: the file is empty.")
    names = distinct(path, [(heading[0], name) for name in _named(heading[1])], "column")
    if (CANDIDATES in names) == (candidates is not None):
        raise InputError.at(path, heading[0], _of_candidates(names))
    body = ((line, check_width(path, line, row, heading[1])) for line, row in lines)
    rows = [*_rows(path, names, body, candidates)]
    if not rows:
        raise InputError.at(path, heading[0], "the table has a heading but no ranks.")
    check_apart(path, rows)
    systems = _by_system(rows)
    try:
        first_of(systems)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return systems


def _named(heading: Sequence[str]) -> list[str]:
    """Name the first column, which needs no heading if it holds ids."""
    return [heading[0] or ID_HEADERS[1], *heading[1:]]


def _of_candidates(names: Sequence[str]) -> str:
    if CANDIDATES in names:
        return f"the table has a column {CANDIDATES}, so their number may not be given besides."
    return f"the number of candidates must be given, as there is no column {CANDIDATES}."


def _rows(
    path: Path, names: Sequence[str], body: Iterable[Line], candidates: int | None
) -> Iterator[RankRow]:
    has_ids = names[0].lower() in ID_HEADERS
    systems = [name for name in names[has_ids:] if name != CANDIDATES]
    for line, fields in body:
        row = dict(zip(names, fields, strict=True))
        n = _n_candidates(path, line, row, candidates)
        user = fields[0] if has_ids else str(line)
        cells = [(system, user, row[system]) for system in systems]
        if set(LONG) <= set(names):
            cells = [(row["system"], row["user"], row["rank"])]
        for system, whose, rank in cells:
            yield RankRow(line, system, whose, _rank(path, line, rank, n), n)


def _n_candidates(path: Path, line: int, row: dict[str, str], candidates: int | None) -> int:
    if candidates is not None:
        return candidates
    return read_whole(path, line, row[CANDIDATES], "a number of candidates", least=2)


def _rank(path: Path, line: int, text: str, n_candidates: int) -> int:
    rank = read_whole(path, line, text, "a rank", least=1)
    if rank > n_candidates:
        finding = f"a rank must not be above the candidates, {n_candidates}, got {rank}."
        raise InputError.at(path, line, finding)
    return rank


def read_whole(path: Path, line: int, text: str, what: str, *, least: int) -> int:
    """Read a whole number that is at least so large."""
    if not text.isdecimal() or int(text) < least:
        finding = f"{what} must be a whole number from {least}, found {text!r}."
        raise InputError.at(path, line, finding)
    return int(text)


class Placed(Protocol):
    """A rank of a system, where it stands in a file."""

    @property
    def line(self) -> int:
        """Number of the line."""

    @property
    def system(self) -> str:
        """Name of the system."""

    @property
    def user(self) -> str:
        """Id of the user."""

    @property
    def rank(self) -> int:
        """Rank of a relevant item."""


def check_apart(path: Path, rows: Sequence[Placed]) -> None:
    """Refuse a rank that two relevant items of a user share."""
    first: dict[tuple[str, str, int], int] = {}
    for row in rows:
        if first.setdefault((row.system, row.user, row.rank), row.line) != row.line:
            finding = (
                f"system {row.system!r} has rank {row.rank} twice for user {row.user!r}, "
                f"first in line {first[row.system, row.user, row.rank]}."
            )
            raise InputError.at(path, row.line, finding)


def _by_system(rows: Sequence[RankRow]) -> dict[str, FullRanks]:
    """Number the users in the order of the file, and gather the rows of each system."""
    numbers = {user: n for n, user in enumerate(dict.fromkeys(row.user for row in rows))}
    gathered: dict[str, list[RankRow]] = {}
    for row in rows:
        gathered.setdefault(row.system, []).append(row)
    return {
        system: FullRanks.of(
            [row.rank for row in own],
            n_candidates=[row.n_candidates for row in own],
            user=[numbers[row.user] for row in own],
        )
        for system, own in gathered.items()
    }
