"""TREC run files: ``user Q0 item rank score tag``."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from runs.run import NO_ITEM, Run
from runs.shared.errors import InputError, InputWarning
from runs.shared.fields import Columns, Layout, NumberedLines, read_columns
from runs.shared.files import read_bytes
from runs.shared.ids import escaped, require_fit_ids
from runs.shared.joined_rows import joined_rows
from runs.shared.numbering import Numbering
from runs.shared.pairs import ITEM, USER, Pairs
from runs.shared.remarks import NearTies

N_FIELDS, SCORE_FIELD, TAG_FIELD = 6, 4, 5
LAYOUT = Layout(
    N_FIELDS, texts=(USER, ITEM, TAG_FIELD), numbers=(SCORE_FIELD,), skips_blank_lines=True
)
SCORE = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf(inity)?", re.IGNORECASE)
NUMBER = re.compile(rb"[+-]?\d+(\.\d*)?")

Precision: TypeAlias = Literal["double", "single"]


@dataclass(frozen=True, eq=False)
class RunFile:
    """What a run file says, line by line, over a numbering of its own.

    Parameters
    ----------
    path, system
        The file, or what it is called in messages, and the tag of its lines.
    users, items
        The ids in the file.
    user, item
        Numbers, int32 of shape (n_lines,).
    score
        float64 of shape (n_lines,).
    """

    path: Path | str
    system: str
    users: Numbering
    items: Numbering
    user: NDArray[np.int32]
    item: NDArray[np.int32]
    score: NDArray[np.float64]

    def to_run(
        self,
        topics: Numbering,
        items: Numbering,
        *,
        depth: int | None = None,
        precision: Precision = "double",
    ) -> Run:
        """Order the lines as trec_eval does: score falling, equal scores by item id falling.

        Parameters
        ----------
        topics, items
            The numberings of the study; lists of users that are no topic are left out.
        depth
            Ranks kept; the longest list by default.
        precision
            In which scores are compared: "double", as in trec_eval 10, or "single", as in
            trec_eval 9 and pytrec_eval.

        Warns
        -----
        InputWarning
            If scores are compared in double precision, and some that differ are equal in single.
        """
        topic = topics.numbers(self.users.ids)[self.user]
        item = items.numbers(self.items.ids)[self.item]
        single = in_single_precision(self.score)
        score: NDArray[np.floating] = single if precision == "single" else self.score
        order = _ranking(topic, score, item)
        order = order[topic[order] >= 0]
        topic, item = topic[order], item[order]
        if precision == "double":
            self._warn_of_coinciding_scores(topic, score[order], single[order])
        lengths = np.bincount(topic, minlength=len(topics))
        column = np.arange(len(topic)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        depth = int(lengths.max(initial=1)) if depth is None else depth
        ranked = np.full((len(topics), depth), NO_ITEM, dtype=np.int32)
        within = column < depth
        ranked[topic[within], column[within]] = item[within]
        return Run(self.system, ranked)

    def _warn_of_coinciding_scores(
        self, topic: NDArray[np.int32], double: NDArray[np.floating], single: NDArray[np.float32]
    ) -> None:
        same = (topic[1:] == topic[:-1]) & (single[1:] == single[:-1])
        coinciding = int(np.count_nonzero(same & (double[1:] != double[:-1])))
        if coinciding:
            warnings.warn(NearTies(self.path, coinciding), stacklevel=3)


def in_single_precision(scores: NDArray[np.float64]) -> NDArray[np.float32]:
    """Round scores to float32, those beyond its range to infinity.

    Examples
    --------
    >>> in_single_precision(np.array([16777217.0, 1e40])).tolist()
    [16777216.0, inf]
    """
    with np.errstate(over="ignore", under="ignore"):
        return scores.astype(np.float32)


def _ranking(
    topic: NDArray[np.int32], score: NDArray[np.floating], item: NDArray[np.int32]
) -> NDArray[np.intp]:
    """Sort by topic, then falling score, then falling item; most lists are in order already."""
    order = np.argsort(topic, kind="stable")
    topics, scores, items = topic[order], score[order], item[order]
    ranks_above = (scores[:-1] > scores[1:]) | (
        (scores[:-1] == scores[1:]) & (items[:-1] > items[1:])
    )
    unordered = np.isin(topics, topics[1:][~ranks_above & (topics[:-1] == topics[1:])])
    lines = order[unordered]
    order[unordered] = lines[np.lexsort((-item[lines], -score[lines], topic[lines]))]
    return order


def require_known_users(file: RunFile, topics: Numbering) -> None:
    """Refuse a run for none of the topics; warn of users that are no topic."""
    unknown = np.count_nonzero(topics.numbers(file.users.ids) < 0)
    if unknown == len(file.users):
        raise InputError(
            f"{file.path}: none of its {unknown} users is in the qrels; do the ids match?"
        )
    if unknown:
        finding = f"{file.path}: {unknown} of its users are not in the qrels and are left out."
        warnings.warn(finding, InputWarning, stacklevel=2)


def find_run_files(patterns: Iterable[str]) -> list[Path]:
    """Find run files by their paths; ``*`` and ``?`` are welcome.

    Raises
    ------
    InputError
        If a pattern matches no file.
    """
    found: list[Path] = []
    for pattern in patterns:
        # Brackets stand for themselves: folders have them in their names.
        matches = [Path(match) for match in sorted(glob(pattern.replace("[", "[[]")))]
        if not matches:
            raise InputError(f"{pattern}: no run file matches.")
        found += matches
    return list(dict.fromkeys(found))


def read_run(path: Path) -> RunFile:
    """Read a run file (plain or gzipped) as trec_eval does, and refuse what it would misread.

    The rank and the second field are ignored. Blank lines and lines that begin with ``#`` are
    skipped. Fields beyond the sixth are ignored with a warning.

    Raises
    ------
    InputError
        With file and line: fewer than six fields, a score that is not a number (infinities are
        numbers), an item twice for a user, a second tag, an empty file.
    """
    path = Path(path)
    return parse_run(path, read_bytes(path))


def parse_run(path: Path, content: bytes) -> RunFile:
    """Read the content of a run file, unpacked; the path is for messages."""
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


def common_items(
    files: Sequence[RunFile], judged: Numbering, others: Sequence[str] = ()
) -> Numbering:
    """Number every item that the judgements or a run name, and others."""
    named = (judged.ids, *(file.items.ids for file in files), np.array(others, dtype=np.str_))
    return Numbering.of(np.concatenate(named))


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
