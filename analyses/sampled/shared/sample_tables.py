"""Sampled ranks as people have them: tables of ranks, or of scores of items and negatives."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from warnings import warn

import numpy as np

from analyses.sampled.samples.sampled_ranks import SampledRanks
from analyses.sampled.shared.rank_table import CANDIDATES, LONG, Line, check_apart, read_whole
from runs import InputError
from runs.shared.errors import InputWarning
from runs.shared.groups import place_in_group
from runs.shared.lines import ID_HEADERS, check_width, distinct, read_lines, read_number

if TYPE_CHECKING:
    import pandas as pd

Tables: TypeAlias = "str | PathLike[str] | Sequence[str | PathLike[str]] | pd.DataFrame"
Sampled: TypeAlias = "Tables | Mapping[str, SampledRanks]"
"""Sampled ranks of systems; see `sampled_of`."""

NEGATIVES = "n_negatives"
MASS = "inverse_mass_above"
SCORED = ("user", "score", "label")
CHANCE = "probability"
OTHER_NAMES = {"user_id": "user", "item_id": "item", "prediction": "score", "relevant": "label"}
PAIR = re.compile(r"\(\s*([^,()]+?)\s*,\s*[^,()]+\)")
"""How NCF's files of negatives name a user and the held-out item."""


class SampledRow(NamedTuple):
    """A rank of a system in a sample, where it stands in the file."""

    line: int
    system: str
    user: str
    rank: int
    n_negatives: int
    n_candidates: int
    inverse_mass_above: float | None = None


class Given(NamedTuple):
    """What holds for all rows where a table does not say it; None where it must."""

    negatives: int | None
    candidates: int | None


def sampled_of(
    given: Sampled,
    *,
    negatives: int | None = None,
    candidates: int | None = None,
    replace: bool = True,
) -> dict[str, SampledRanks]:
    """Read the sampled ranks of systems.

    Parameters
    ----------
    given
        Ranks by system; or a table, as a file or a data frame, or files, of one system each (named
        as the file) or of several. A table of ranks is long, with columns system, user and rank,
        or wide, with a column for each system; n_negatives and n_candidates are columns of it,
        or are the same for all. A table of scores has the columns user, score and label, 1 for
        relevant items and 0 for the negatives of their user, and maybe system, item and
        probability, that of each negative to be drawn; names may be RecBole's, ``user_id:token``.
        In NCF's layout, a line without a heading is ``(user,item)``, the score of that item, and
        the scores of its negatives, between tabs.
    negatives, candidates
        Of each user, where a table has no such column: sampled negatives without the relevant
        items, and candidates with them.
    replace
        Whether negatives were drawn with replacement.

    Returns
    -------
    Ranks by system, of the same users.

    Raises
    ------
    InputError
        If a file breaks a rule: a rank that cannot be, a user who is duplicated, ...

    Warns
    -----
    InputWarning
        If relevant items have the scores of negatives, below which they are placed.
    """
    if isinstance(given, Mapping):
        systems = dict(given)
    else:
        asked, systems = Given(negatives, candidates), {}
        for path, lines in _tables(given):
            own = _by_system(_checked(path, lines, asked), replace=replace)
            for name in own.keys() & systems.keys():
                raise InputError(f"{path}: system {name!r} is duplicated, in another file.")
            systems |= own
    _check_same_users(systems)
    return systems


def _tables(given: Tables) -> Iterator[tuple[Path, Iterator[Line]]]:
    """Give each table with its name, as lines of fields."""
    if isinstance(given, str | PathLike):
        given = [given]
    if not isinstance(given, Sequence):
        rows = given.astype(str).itertuples(index=False)
        lines = [[*map(str, given.columns)], *([*row] for row in rows)]
        yield Path("the data frame"), iter(enumerate(lines, start=1))
        return
    for path in map(Path, given):
        yield path, read_lines(path)


def _checked(path: Path, lines: Iterator[Line], asked: Given) -> list[SampledRow]:
    """Read a table of any layout, and refuse ranks that cannot be."""
    heading = next(lines, None)
    if heading is None:
        raise InputError(f"{path}: the file is empty.")
    if PAIR.fullmatch(heading[1][0]):
        rows = [*_pairs(path, [heading, *lines], asked)]
    else:
        names = [OTHER_NAMES.get(name, name) for name in _untyped(heading[1])]
        distinct(path, [(heading[0], name) for name in names], "column")
        body = [(line, check_width(path, line, row, heading[1])) for line, row in lines]
        read = _scored if {"score", "label"} <= set(names) else _ranked
        rows = [*read(path, names, body, asked)]
    if not rows:
        raise InputError.at(path, heading[0], "the table has a heading but no ranks.")
    check_apart(path, rows)
    _check_lengths(path, rows)
    return rows


def _untyped(heading: Sequence[str]) -> list[str]:
    """Name the columns without RecBole's types; the first needs no name if it holds ids.

    Examples
    --------
    >>> _untyped(["", "score:float"])
    ['topic', 'score']
    """
    return [
        heading[0].partition(":")[0] or ID_HEADERS[1],
        *(h.partition(":")[0] for h in heading[1:]),
    ]


def _ranked(
    path: Path, names: Sequence[str], body: Iterable[Line], asked: Given
) -> Iterator[SampledRow]:
    """Read a table of ranks, long or wide."""
    has_ids = names[0].lower() in ID_HEADERS
    is_long = {"user", "rank"} <= set(names)
    systems = [n for n in names[has_ids:] if n not in (NEGATIVES, CANDIDATES, MASS)]
    for line, fields in body:
        row = dict(zip(names, fields, strict=True))
        sizes = (
            _size(path, line, row, NEGATIVES, asked.negatives, least=1),
            _size(path, line, row, CANDIDATES, asked.candidates, least=2),
        )
        mass = read_number(path, line, MASS, row[MASS]) if MASS in row else None
        user = fields[0] if has_ids else str(line)
        cells = [(system, user, row[system]) for system in systems]
        if is_long:
            cells = [(row.get(LONG[0], path.stem), row["user"], row["rank"])]
        for system, whose, rank in cells:
            yield SampledRow(
                line, system, whose, read_whole(path, line, rank, "a rank", least=1), *sizes, mass
            )


def _size(
    path: Path, line: int, row: Mapping[str, str], column: str, asked: int | None, *, least: int
) -> int:
    """Read a number of negatives or candidates, from its column or as it holds for all."""
    what = column.removeprefix("n_")
    if column in row and asked is not None:
        finding = f"the table has a column {column}, so their number may not be given besides."
        raise InputError.at(path, 1, finding)
    if asked is not None:
        return asked
    if column not in row:
        finding = f"the number of {what} must be given, as there is no column {column}."
        raise InputError.at(path, 1, finding)
    return read_whole(path, line, row[column], f"a number of {what}", least=least)


class _Item(NamedTuple):
    """An item of a user's sample."""

    line: int
    score: float
    relevant: bool
    chance: float | None
    n_candidates: int


def _scored(
    path: Path, names: Sequence[str], body: Iterable[Line], asked: Given
) -> Iterator[SampledRow]:
    """Rank the relevant items of a table of scores."""
    missing = [name for name in SCORED if name not in names]
    if missing:
        raise InputError.at(path, 1, f"a table of scores has a column {missing[0]}, and none here.")
    samples: dict[tuple[str, str], list[_Item]] = {}
    for line, fields in body:
        row = dict(zip(names, fields, strict=True))
        if row["label"] not in ("0", "1", "0.0", "1.0"):
            finding = f"a label must be 1 (relevant) or 0 (a negative), found {row['label']!r}."
            raise InputError.at(path, line, finding)
        item = _Item(
            line,
            read_number(path, line, "score", row["score"]),
            float(row["label"]) == 1,
            _chance(path, line, row),
            _size(path, line, row, CANDIDATES, asked.candidates, least=2),
        )
        samples.setdefault((row.get("system", path.stem), row["user"]), []).append(item)
    yield from _ranks(path, samples, asked)


def _chance(path: Path, line: int, row: Mapping[str, str]) -> float | None:
    """Read the probability that a negative was drawn with; nothing is drawn of relevant items."""
    if CHANCE not in row or float(row["label"]) == 1:
        return None
    chance = read_number(path, line, CHANCE, row[CHANCE], kind="probability")
    if not 0 < chance <= 1:
        finding = f"a probability must be above 0 and at most 1, got {chance:g}."
        raise InputError.at(path, line, finding)
    return chance


def _pairs(path: Path, body: Iterable[Line], asked: Given) -> Iterator[SampledRow]:
    """Rank the held-out items of NCF's layout: a pair, its score, and those of its negatives."""
    samples: dict[tuple[str, str], list[_Item]] = {}
    for line, (pair, *scores) in body:
        found = PAIR.fullmatch(pair)
        if found is None or len(scores) < 2:
            finding = "(user,item), its score and those of its negatives expected, between tabs."
            raise InputError.at(path, line, finding)
        key = (path.stem, found[1])
        if key in samples:
            finding = f"user {found[1]!r} is duplicated, first in line {samples[key][0].line}."
            raise InputError.at(path, line, finding)
        n_candidates = _size(path, line, {}, CANDIDATES, asked.candidates, least=2)
        samples[key] = [
            _Item(line, read_number(path, line, pair, score), not place, None, n_candidates)
            for place, score in enumerate(scores)
        ]
    yield from _ranks(path, samples, asked)


def _ranks(
    path: Path, samples: Mapping[tuple[str, str], Sequence[_Item]], asked: Given
) -> Iterator[SampledRow]:
    """Rank relevant items among the negatives of their user, below those of the same score."""
    n_tied = 0
    for (system, user), items in samples.items():
        negatives = [item for item in items if not item.relevant]
        if asked.negatives not in (None, len(negatives)):
            finding = f"user {user!r} has {len(negatives)} negatives, not {asked.negatives}."
            raise InputError.at(path, items[0].line, finding)
        for what, some in (
            ("relevant item", len(items) - len(negatives)),
            ("negative", len(negatives)),
        ):
            if not some:
                raise InputError.at(path, items[0].line, f"user {user!r} has no {what}.")
        scores = np.array([item.score for item in negatives])
        relevant = sorted((i for i in items if i.relevant), key=lambda item: -item.score)
        for place, item in enumerate(relevant, start=1):
            above = scores >= item.score
            n_tied += bool((scores == item.score).any())
            mass = _mass(negatives, above)
            size = len(negatives), item.n_candidates
            yield SampledRow(item.line, system, user, place + int(above.sum()), *size, mass)
    if n_tied:
        warn(
            f"{path}: {n_tied:,} relevant items have the score of a negative; they are placed "
            "below those.",
            InputWarning,
            stacklevel=2,
        )


def _mass(
    negatives: Sequence[_Item], above: np.ndarray[tuple[int], np.dtype[np.bool_]]
) -> float | None:
    """Add up what the negatives above stand for, if the chances to be drawn are known."""
    if negatives[0].chance is None:
        return None
    chances = np.array([item.chance for item in negatives], dtype=np.float64)
    return float((1 / chances[above]).sum())


def _check_lengths(path: Path, rows: Sequence[SampledRow]) -> None:
    """Refuse ranks below the sample, samples above the candidates, and sizes that differ."""
    whose: dict[tuple[str, str], list[SampledRow]] = {}
    for row in rows:
        whose.setdefault((row.system, row.user), []).append(row)
    for own in whose.values():
        first, n_relevant = own[0], len(own)
        for row in own:
            if row[4:6] != first[4:6]:
                finding = (
                    f"user {row.user!r} has other negatives or candidates in line {first.line}."
                )
                raise InputError.at(path, row.line, finding)
            if row.n_negatives > row.n_candidates - n_relevant:
                finding = (
                    f"the negatives must not be above the irrelevant candidates, "
                    f"{row.n_candidates - n_relevant}, got {row.n_negatives}."
                )
                raise InputError.at(path, row.line, finding)
            if row.rank > row.n_negatives + n_relevant:
                finding = (
                    f"a rank must not be above {row.n_negatives + n_relevant}, the relevant items "
                    f"and negatives of the user, got {row.rank}."
                )
                raise InputError.at(path, row.line, finding)


def _by_system(rows: Sequence[SampledRow], *, replace: bool) -> dict[str, SampledRanks]:
    """Number the users in their order, and gather the rows of each system."""
    numbers = {user: n for n, user in enumerate(dict.fromkeys(row.user for row in rows))}
    gathered: dict[str, list[SampledRow]] = {}
    for row in rows:
        gathered.setdefault(row.system, []).append(row)
    return {name: _of_rows(own, numbers, replace=replace) for name, own in gathered.items()}


def _of_rows(
    rows: Sequence[SampledRow], numbers: Mapping[str, int], *, replace: bool
) -> SampledRanks:
    rows = sorted(rows, key=lambda row: (numbers[row.user], row.rank))
    users = np.array([numbers[row.user] for row in rows])
    _, place, counts = np.unique(users, return_inverse=True, return_counts=True)
    masses = [row.inverse_mass_above for row in rows]
    return SampledRanks(
        np.array([row.rank for row in rows]),
        np.array([row.n_negatives for row in rows]),
        np.array([row.n_candidates for row in rows]),
        replace,
        user=users,
        order=place_in_group(users),
        n_relevant=counts[place],
        inverse_mass_above=None if None in masses else np.array(masses, dtype=np.float64),
    )


def _check_same_users(systems: Mapping[str, SampledRanks]) -> None:
    """Refuse systems that cannot be compared user by user."""
    if not systems:
        raise InputError("there must be at least one system.")
    (name, first), *others = systems.items()
    for other, ranks in others:
        if not (
            np.array_equal(first.users, ranks.users)
            and np.array_equal(first.n_candidates, ranks.n_candidates)
        ):
            raise InputError(f"systems {name!r} and {other!r} have different users.")
