"""TREC run files: ``user Q0 item rank score tag``."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from runs.run import Run
from runs.run_file import RunFile
from runs.shared.errors import InputError, InputWarning
from runs.shared.fields import Columns, Layout, NumberedLines, read_columns
from runs.shared.ids import escaped, require_fit_ids
from runs.shared.joined_rows import joined_rows
from runs.shared.numbering import Numbering
from runs.shared.pairs import ITEM, USER, Pairs

N_FIELDS, SCORE_FIELD, TAG_FIELD = 6, 4, 5
LAYOUT = Layout(
    N_FIELDS, texts=(USER, ITEM, TAG_FIELD), numbers=(SCORE_FIELD,), skips_blank_lines=True
)
SCORE = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf(inity)?", re.IGNORECASE)
NUMBER = re.compile(rb"[+-]?\d+(\.\d*)?")


def parse_run(path: Path, content: bytes) -> RunFile:
    """Read the lines of a run as trec_eval does, and refuse what it would misread.

    The rank and the second field are ignored. Blank lines and lines that begin with ``#`` are
    skipped. Fields beyond the sixth are ignored with a warning.

    Raises
    ------
    InputError
        With file and line: fewer than six fields, a score that is not a number (infinities are
        numbers), an item twice for a user, a second tag, no line.
    """
    columns = read_columns(path, content, LAYOUT, _checked_lines)
    scores = columns.numbers(SCORE_FIELD)
    for position in np.flatnonzero(np.isnan(scores))[:1]:
        _check_fields(path, *columns.line(position))
    pairs = Pairs.of_columns(columns)
    return RunFile(path, _only_tag(columns), *pairs, scores)


def format_run(run: Run, topics: Numbering, items: Numbering) -> bytes:
    """Write a run as the lines of a TREC run file.

    The score is ``depth + 1 - rank``: strictly falling, and exact in float32, so that every
    evaluator finds our order again.

    Raises
    ------
    InputError
        If an id or the system's name does not fit a field.

    Examples
    --------
    >>> run = Run("pop", np.array([[1, 0]], dtype=np.int32))
    >>> print(format_run(run, Numbering.of(["u7"]), Numbering.of(["a", "b"])).decode(), end="")
    u7 Q0 b 1 2 pop
    u7 Q0 a 2 1 pop
    """
    for kind, named in (("user", topics.ids), ("item", items.ids)):
        require_fit_ids(named, kind=kind)
    require_fit_ids(np.array([run.system]), kind="system")
    beginnings = [f"{topic} Q0 " for topic in topics.ids.tolist()]
    endings = [f" {rank} {run.depth + 1 - rank} {run.system}\n" for rank in range(1, run.depth + 1)]
    user, column = np.nonzero(run.items >= 0)
    ranked = items.ids.tolist(), run.items[user, column]
    return joined_rows((beginnings, user), ranked, (endings, column))


def _checked_lines(path: Path, lines: NumberedLines) -> Iterator[list[bytes]]:
    """Check lines, and give six fields of each; warn of further ones."""
    n_lines, extra = 0, []
    for number, fields in lines:
        if not fields:
            continue
        _check_fields(path, number, fields)
        n_lines += 1
        if len(fields) > N_FIELDS:
            extra.append(number)
        yield fields[:N_FIELDS]
    if not n_lines:
        raise InputError(f"{path}: the file has no line with a recommendation.")
    _warn_of_extra_fields(path, extra)


def _check_fields(path: Path, number: int, fields: list[bytes]) -> None:
    if len(fields) < N_FIELDS:
        finding = f"a run line has six fields (user Q0 item rank score tag), found {len(fields)}."
        raise InputError.at(path, number, finding)
    if len(fields) > N_FIELDS and not NUMBER.fullmatch(fields[3]):
        finding = f"more than six fields, and the rank {fields[3].decode()!r} is no number"
        raise InputError.at(path, number, f"{finding}: does the item id have a space?")
    if not SCORE.fullmatch(fields[4]):
        raise InputError.at(path, number, f"the score {fields[4].decode()!r} is not a number.")


def _only_tag(columns: Columns) -> str:
    tags, codes = columns.names(TAG_FIELD)
    if len(tags) > 1:
        other = int((codes != codes[0]).argmax())
        raise InputError.at(
            columns.path,
            columns.line(other)[0],
            f"a run has one tag, found {tags[codes[other]]!r} after {tags[codes[0]]!r} in line "
            f"{columns.line(0)[0]}: are these two runs?",
        )
    return escaped(tags[0])


def _warn_of_extra_fields(path: Path, extra: list[int]) -> None:
    if extra:
        warnings.warn(
            f"{path}: {len(extra)} lines (the first is line {extra[0]}) have more than six "
            "fields; the rest is ignored.",
            InputWarning,
            stacklevel=3,
        )
