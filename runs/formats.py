"""Run files: TREC's ``user Q0 item rank score tag``, packed or not, and Parquet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from glob import glob
from pathlib import Path
from typing import Any

import numpy as np

from runs.run import Run
from runs.run_file import RunFile
from runs.shared.arrays import Floats, Integers, Ints
from runs.shared.errors import InputError, as_input_error, warn
from runs.shared.fields import (
    ITEM_FIELD,
    USER_FIELD,
    Columns,
    Layout,
    NumberedLines,
    Pairs,
    join_rows,
    read_columns,
)
from runs.shared.files import PARQUET, parquet_bytes, read_bytes
from runs.shared.ids import Numbering, escaped, first_unfit_id, id_fault
from runs.tables.sniff import RANK, SCORE


def find_run_files(patterns: Iterable[str]) -> list[Path]:
    """Find run files by their paths, in which ``*`` and ``?`` stand for other characters.

    Each file is listed once, in the order of the patterns and then of the names; a pattern that
    matches no file is refused with an InputError.
    """
    paths: list[Path] = []
    for pattern in patterns:
        # Brackets stand for themselves: folders have them in their names.
        matches = [Path(match) for match in sorted(glob(pattern.replace("[", "[[]")))]
        if not matches:
            raise InputError(f"{pattern}: no run file matches.")
        paths += matches
    return list(dict.fromkeys(paths))


def read_run(path: Path) -> RunFile:
    """Read the one run of a file: the lines of TREC, also compressed, or Parquet.

    Raises
    ------
    InputError
        If the file cannot be read, a line or row breaks a rule, or the file holds several runs.

    Warns
    -----
    InputWarning
        If lines have more than six fields, or scores rise with the ranks (see `parse_runs`).
    """
    path = Path(path)
    content = read_bytes(path)
    read = runs_from_parquet if content.startswith(PARQUET) else parse_runs
    run, *further_runs = read(path, content)
    if further_runs:
        raise InputError(
            f"{path}: one run expected, found {1 + len(further_runs)}: the tags {run.system!r} and "
            f"{further_runs[0].system!r}."
        )
    return run


N_FIELDS = 6
SCORE_FIELD = 4
TAG_FIELD = 5
RANK_FIELD = 3

BEGINNING = 1 << 15
"""Bytes of a run of which ranks and scores are compared."""

FEW_FALLS = 20
"""Of so many neighbours whose scores rise with the ranks, one may fall."""

LAYOUT = Layout(
    N_FIELDS,
    texts=(USER_FIELD, ITEM_FIELD, TAG_FIELD),
    numbers=(SCORE_FIELD,),
    skips_blank_lines=True,
)


def parse_runs(path: Path, content: bytes) -> list[RunFile]:
    """Read the lines of runs as trec_eval does, and refuse what it would misread.

    The rank and the second field are ignored. Blank lines and lines that begin with ``#`` are
    skipped. Fields beyond the sixth are ignored with a warning. A file holds a run for each tag.

    Parameters
    ----------
    path
        The file, for messages.
    content
        Its bytes, unpacked.

    Returns
    -------
    One run for each tag, with users, items and scores of its lines in the order of the file.

    Raises
    ------
    InputError
        If a line breaks a rule, an item is listed twice, or tags differ though no topic has two.

    Warns
    -----
    InputWarning
        If lines have more than six fields, or scores rise with the ranks, as distances do.
    """
    columns = read_columns(path, content, LAYOUT, _checked_lines)
    warn_of_distances(path, *_first_ranks_and_scores(content))
    scores = columns.numbers(SCORE_FIELD)
    # The first score that is no number, if there is one, is refused at its line.
    for position in np.flatnonzero(np.isnan(scores))[:1]:
        line, fields = columns.line(position)
        _check_fields(path, line, fields)
    return _runs_of(columns, scores)


def _first_ranks_and_scores(content: bytes) -> tuple[list[str], Floats, Floats]:
    """Read topics, ranks and scores of the first lines of a run, each of shape (n_lines,).

    ``content``: bytes of the file. Lines whose rank or score is no number are left out.
    """
    topics = []
    ranks = []
    scores = []
    # The last line of a longer file may be cut off.
    beginning = content[:BEGINNING].rpartition(b"\n")[0] if len(content) > BEGINNING else content
    for line in beginning.splitlines():
        fields = line.split()
        if len(fields) < N_FIELDS:
            continue
        if RANK.fullmatch(fields[RANK_FIELD]) and SCORE.fullmatch(fields[SCORE_FIELD]):
            topics.append(fields[USER_FIELD].decode(errors="replace"))
            ranks.append(float(fields[RANK_FIELD]))
            scores.append(float(fields[SCORE_FIELD]))
    return topics, np.array(ranks), np.array(scores)


def warn_of_distances(
    path: Path | str, topics: Sequence[str], ranks: Floats, scores: Floats
) -> None:
    """Warn if scores rise with the ranks: they may be distances, and lists are reversed.

    Pairs of a line and the next one are counted, of one topic and with rising ranks. The warning
    comes if scores rise in two or more of them, and more than `FEW_FALLS` (20) times as often as
    they fall.

    Parameters
    ----------
    path
        The run, for the message.
    topics, ranks, scores
        Topic, rank and score of some lines, in the order of the file, of shape (n_lines,).
    """
    topic_ids = np.array(topics)
    same_topic = topic_ids[1:] == topic_ids[:-1]
    is_next = same_topic & (ranks[1:] > ranks[:-1])
    n_rising = np.count_nonzero(is_next & (scores[1:] > scores[:-1]))
    n_falling = np.count_nonzero(is_next & (scores[1:] < scores[:-1]))
    if n_rising > 1 and n_rising > FEW_FALLS * n_falling:
        warn(
            f"{path}: scores rise with the ranks ({scores[0]:g} at rank {ranks[0]:g}, "
            f"{scores[1]:g} at rank {ranks[1]:g}). Lists are ordered by score, the highest first, "
            "as trec_eval does, and not by rank. If scores are distances, write them with a minus."
        )


def _runs_of(columns: Columns, scores: Floats) -> list[RunFile]:
    """Part the lines of a file by their tags, the names of the systems: one run for each.

    ``columns``: fields of the lines; ``scores``: score of each line, of shape (n_lines,). Raises
    InputError if an id or tag is too long, a run lists an item twice for a user, or no topic has
    two of the tags.
    """
    tags, tag_of_line = columns.bounded_texts(TAG_FIELD)
    # Pairs are the ids of users and of items, and the number of both for each line.
    if len(tags) == 1:
        return [RunFile(columns.path, escaped(tags[0]), *Pairs.of_columns(columns), scores)]
    users, user = columns.numbered_texts(USER_FIELD)
    items, item = columns.numbered_texts(ITEM_FIELD)
    _refuse_tags_of_one_run(columns, tags, tag_of_line, user)
    runs = []
    for tag_number, tag in enumerate(tags):
        lines = np.flatnonzero(tag_of_line == tag_number)
        users_of_tag, user_of_tag = _renumbered(users, user[lines])
        items_of_tag, item_of_tag = _renumbered(items, item[lines])
        pairs = Pairs(users_of_tag, items_of_tag, user_of_tag, item_of_tag)
        duplicates = pairs.duplicate_rows()
        if len(duplicates) > 0:
            line = int(lines[duplicates[0]])
            item_id = items.ids[item[line]]
            user_id = users.ids[user[line]]
            finding = f"item {item_id} is duplicated for user {user_id} in the run {tag!r}."
            raise columns.error_at(line, finding)
        runs.append(RunFile(columns.path, escaped(tag), *pairs, scores[lines]))
    return runs


def _renumbered(numbering: Numbering, numbers: Ints) -> tuple[Numbering, Ints]:
    """Number the ids that occur among some numbers, int32 of shape (n_lines,), anew."""
    present, places = np.unique(numbers, return_inverse=True)
    return Numbering.of(numbering.ids[present]), places.astype(np.int32)


def _refuse_tags_of_one_run(
    columns: Columns, tags: Sequence[str], tag_of_line: Ints, user: Ints
) -> None:
    """Raise InputError if no topic has lines of two tags: all lines may be of one run.

    Parameters
    ----------
    columns
        The fields of the file, which the error names with the line.
    tags
        The distinct tags, at least two.
    tag_of_line, user
        Position in ``tags`` and number of the user of each line, of shape (n_lines,).
    """
    # One number for each pair of a user and a tag.
    pairs = user.astype(np.int64) * len(tags) + tag_of_line
    if len(np.unique(pairs)) > len(np.unique(user)):
        return
    first_other_line = int((tag_of_line != tag_of_line[0]).argmax())
    first_tag = tags[tag_of_line[0]]
    other_tag = tags[tag_of_line[first_other_line]]
    raise columns.error_at(
        first_other_line,
        f"the tag {other_tag!r} after {first_tag!r} in {columns.place(0)}, and no "
        "topic has two tags. If these are several runs, part the file by tag; if it is one run, "
        "give all lines one tag.",
    )


def format_run(run: Run, topics: Numbering, items: Numbering) -> bytes:
    """Write a run as the lines of a TREC run file.

    The score is ``depth + 1 - rank``: strictly falling, and exact in float32, so that every
    evaluator finds our order again. ``topics`` and ``items`` have the ids of the users and items of
    the run, in the order of their numbers.
    """
    beginnings = [f"{topic} Q0 " for topic in topics.ids.tolist()]
    endings = []
    for rank in range(1, run.depth + 1):
        score = run.depth + 1 - rank
        endings.append(f" {rank} {score} {run.system}\n")
    user, column = np.nonzero(run.items >= 0)
    item = run.items[user, column]
    return join_rows((beginnings, user), (items.ids.tolist(), item), (endings, column))


def _checked_lines(path: Path, lines: NumberedLines) -> Iterator[list[bytes]]:
    """Yield the first six fields of each line that is not blank.

    ``lines``: pairs of the number of a line in the file, from 1, and its fields. Raises InputError
    for a line of fewer fields or whose score is no number, and if no line is left; at the end,
    warns of lines with further fields.
    """
    longer_lines = []
    has_lines = False
    for number, fields in lines:
        if not fields:
            continue
        _check_fields(path, number, fields)
        has_lines = True
        if len(fields) > N_FIELDS:
            longer_lines.append(number)
        yield fields[:N_FIELDS]
    if not has_lines:
        raise InputError(f"{path}: the file has no line with a recommendation.")
    if longer_lines:
        warn(
            f"{path}: {len(longer_lines)} lines (the first is line {longer_lines[0]}) have more "
            "than six fields; the rest is ignored."
        )


def _check_fields(path: Path, number: int, fields: list[bytes]) -> None:
    """Raise InputError for a line of fewer than six fields, or whose score is no number.

    Also for a line of more fields whose fourth, the rank, is no number: its item id may have a
    space. ``number`` is that of the line in the file, from 1.
    """
    if len(fields) < N_FIELDS:
        finding = f"a run line has six fields (user Q0 item rank score tag), found {len(fields)}."
        raise InputError.at_line(path, number, finding)
    if len(fields) > N_FIELDS and not RANK.fullmatch(fields[3]):
        finding = f"more than six fields, and the rank {fields[3].decode()!r} is no number"
        raise InputError.at_line(path, number, f"{finding}: does the item id have a space?")
    if not SCORE.fullmatch(fields[4]):
        raise InputError.at_line(path, number, f"the score {fields[4].decode()!r} is not a number.")


COLUMNS = {"system": TAG_FIELD, "user": USER_FIELD, "item": ITEM_FIELD, "score": SCORE_FIELD}
"""Columns of a run in Parquet, and the fields of a line that hold the same."""

BYTES_PER_ROW = 100
"""What a row takes while it is read, with room to spare."""


def run_to_parquet(run: Run, topics: Numbering, items: Numbering) -> bytes:
    """Write a run as the columns system, user, item and score of a Parquet file.

    ``topics`` and ``items`` have the ids of the users and items of the run, in the order of their
    numbers; a TREC file can hold them. The score is ``depth + 1 - rank``.
    """
    import pyarrow as pa

    user, column = np.nonzero(run.items >= 0)
    system = np.zeros(len(user), dtype=np.int32)

    def encoded(number: Integers, ids: Sequence[str]) -> Any:
        """Encode a column of ids by their positions in ``ids``: ``number``, of shape (n_rows,)."""
        texts = pa.array(ids, pa.string())
        return pa.DictionaryArray.from_arrays(number.astype(np.int32), texts)

    encoded_systems = encoded(system, [run.system])
    encoded_users = encoded(user, topics.ids.tolist())
    encoded_items = encoded(run.items[user, column], items.ids.tolist())
    scores = (run.depth - column).astype(np.float32)
    table = pa.table(
        {
            "system": encoded_systems,
            "user": encoded_users,
            "item": encoded_items,
            "score": scores,
        }
    )
    return parquet_bytes(
        table,
        write_statistics=False,
        row_group_size=max(len(user), 1),
        # Whatever their length, ids are written once, not once a row.
        dictionary_pagesize_limit=2**31 - 1,
    )


def is_own(content: bytes) -> bool:
    """Test whether the content of a Parquet file has the columns system, user, item and score.

    True also if it cannot be read at all, so that reading it as a run says why.
    """
    import pyarrow as pa
    from pyarrow import parquet

    try:
        return {*COLUMNS} <= {*parquet.read_schema(pa.py_buffer(content)).names}
    except (pa.ArrowException, OSError):
        return True


def runs_from_parquet(path: Path | str, content: bytes) -> list[RunFile]:
    """Read the columns system, user, item and score of a Parquet file, a run for each system.

    Raises
    ------
    InputError
        If the file cannot be read, a column is missing or of another type, a value is missing or
        NaN, a TREC file cannot hold an id, or a run lists an item twice for a user.
    """
    columns = Columns(path, content, _arrays(path, content), unit="row")
    for name, field in COLUMNS.items():
        array = columns.arrays[field]
        if array.null_count:
            first_missing = array.is_null().index(True).as_py()
            raise columns.error_at(first_missing, f"the {name} is missing.")
        if name != "score":
            _require_fit_ids(columns, field, name)
    scores = columns.numbers(SCORE_FIELD)
    is_missing = np.isnan(scores)
    if is_missing.any():
        raise columns.error_at(int(is_missing.argmax()), "the score is not a number.")
    return _runs_of(columns, scores)


def _require_fit_ids(columns: Columns, field: int, name: str) -> None:
    """Raise InputError at the first row whose id no TREC file can hold, as with a space.

    ``field`` is the number of the field of ids, ``name`` what the error calls it: "system", "user"
    or "item".
    """
    texts, codes = columns.bounded_texts(field)
    unfit = first_unfit_id(texts)
    if unfit is not None:
        finding = f"no run can have the {name} {texts[unfit]!r}: it {id_fault(texts[unfit])}."
        raise columns.error_at(int((codes == unfit).argmax()), finding)


def _arrays(path: Path | str, content: bytes) -> dict[int, Any]:
    """Read the columns of a Parquet file, by the number of the field of a TREC line.

    Columns of ids and systems are Arrow dictionaries, in which a text is stored once; scores are
    numbers. Raises InputError if the file cannot be read, lacks a column or has one twice, has no
    rows or more than fit into memory, or holds values of another type.
    """
    import pyarrow as pa
    from psutil import virtual_memory
    from pyarrow import parquet

    with as_input_error(f"{path}: not a Parquet file that can be read", pa.ArrowException, OSError):
        buffer = pa.py_buffer(content)
        metadata = parquet.read_metadata(buffer)
        # What is nested has a path of several names.
        paths = [metadata.schema.column(place).path for place in range(metadata.num_columns)]
        if any(paths.count(name) != 1 for name in COLUMNS):
            raise InputError(
                f"{path}: a run has the columns {', '.join(COLUMNS)}, found {', '.join(paths)}."
            )
        n_rows = metadata.num_rows
        if not n_rows:
            raise InputError(f"{path}: the file has no row with a recommendation.")
        if n_rows > int(virtual_memory().available) // BYTES_PER_ROW:
            raise InputError(f"{path}: it has {n_rows:,} rows, which free memory cannot hold.")
        file = parquet.ParquetFile(buffer, read_dictionary=["system", "user", "item"])
        table = file.read(list(COLUMNS))
        return {field: _converted(path, name, table[name]) for name, field in COLUMNS.items()}


def _converted(path: Path | str, name: str, column: Any) -> Any:
    """Convert an Arrow column of ids to a dictionary of its texts; scores stay numbers.

    ``name`` is that of the column. In the dictionary no text is without a row.

    Raises
    ------
    InputError
        If scores are no numbers, or names neither text nor integers.
    """
    from pyarrow import types

    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    is_text = types.is_string(kind) or types.is_large_string(kind)
    is_score = name == "score"
    is_fit = types.is_integer(kind) or (types.is_floating(kind) if is_score else is_text)
    if not is_fit:
        wanted = "numbers" if is_score else "text or integers"
        raise InputError(f"{path}: the column {name} must hold {wanted}, found {column.type}.")
    if is_score:
        return column.combine_chunks()
    is_encoded = is_text and types.is_dictionary(column.type)
    encoded = column if is_encoded else column.cast("string").dictionary_encode()
    names = encoded.unify_dictionaries().combine_chunks()
    has_unused_texts = len(names.indices.unique()) < len(names.dictionary)
    return names.cast("string").dictionary_encode() if has_unused_texts else names
