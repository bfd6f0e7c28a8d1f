"""Tables of full or sampled ranks, or of scores of relevant items and negatives."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from warnings import warn

import numpy as np

from analyses.sampled.samples import SampledRanks, first_of
from qrels import FullRanks
from runs import InputError
from runs.shared.errors import InputWarning, prefixed_errors
from runs.shared.fields import ID_HEADERS, distinct_names, is_number, read_lines, require_width

if TYPE_CHECKING:
    import pandas as pd

Tables: TypeAlias = "str | PathLike[str] | Sequence[str | PathLike[str]] | pd.DataFrame"
Sampled: TypeAlias = "Tables | Mapping[str, SampledRanks]"
Line = tuple[int, list[str]]

CANDIDATES = "n_candidates"
NEGATIVES = "n_negatives"
INVERSE_MASS = "inverse_mass_above"
"""Columns of numbers of candidates and negatives, and of sums of 1 / probability."""

RANK_COLUMNS = ["rank", CANDIDATES, "number"]
"""Columns in the order of the fields of `FullRanks`; ``number`` is that of the user."""

SMALLEST = {CANDIDATES: 2, NEGATIVES: 1}
ROUNDING = 1e-9

MIN_RANKS = 100
USUAL_NEGATIVES = 1000
"""So many ranks show whether they are those among all candidates, or among a usual sample."""

OTHER_NAMES = {"user_id": "user", "item_id": "item", "prediction": "score", "relevant": "label"}
SHARE_OF_DIFFERENT_IDS = 0.95
"""Of the numbers of a line so many differ if they are ids, drawn with replacement."""

PAIR = re.compile(r"\(\s*([^,()]+?)\s*,\s*[^,()]+\)")
"""How NCF's files of negatives name a user and the held-out item."""


def read_rank_table(path: Path, *, candidates: int | None = None) -> dict[str, FullRanks]:
    """Read the full ranks of systems from a table of text, long or wide; see `correct`.

    ``candidates``: number of candidates of each user, if the table has no such column. Refuse, with
    InputError, ranks above it and systems of other users; warn if ranks seem to be sampled.
    """
    rows = _Rows.read(path, read_lines(path), {})
    rows.read_ranks({CANDIDATES: candidates})
    rule = "a rank must not be above the candidates, {n_candidates}, got {rank}."
    rows.refuse(rows.frame["rank"] > rows.frame[CANDIDATES], rule)
    systems = {}
    for system, system_rows in rows.frame.groupby("system", sort=False):
        ranks, n_candidates, users = system_rows[RANK_COLUMNS].to_numpy().T
        systems[str(system)] = FullRanks(ranks, n_candidates, users)
    with prefixed_errors(path):
        first_of(systems)
    deepest = int(rows.frame["rank"].max())
    fewest = int(rows.frame[CANDIDATES].min())
    if len(rows.frame) >= MIN_RANKS and deepest <= min(USUAL_NEGATIVES + 1, fewest / 2):
        warn(
            f"{path}: no rank is above {deepest:,}, among {fewest:,} candidates or more. If these "
            f"are ranks among {deepest - 1:,} sampled negatives, use `harness correct`.",
            InputWarning,
            stacklevel=2,
        )
    return systems


def read_sampled_ranks(
    sampled: Sampled,
    *,
    negatives: int | None = None,
    candidates: int | None = None,
    replace: bool = True,
) -> dict[str, SampledRanks]:
    """Read the sampled ranks of systems, of the same users; see `correct`.

    Refuse, with InputError, ranks that are no `SampledRanks`, rows that break a rule, a system that
    occurs in two files, and systems of other users.
    """
    if isinstance(sampled, Mapping):
        systems = dict(sampled)
        for name, ranks in systems.items():
            if not isinstance(ranks, SampledRanks):
                raise InputError(
                    f"the ranks of {name!r} must be SampledRanks, such as SampledRanks.of(...), "
                    f"got {type(ranks).__name__}."
                )
    else:
        systems = {}
        user_numbers: dict[str, int] = {}
        sizes = {NEGATIVES: negatives, CANDIDATES: candidates}
        for path, lines in _tables(sampled):
            rows = _Rows.read(path, lines, user_numbers)
            if {"score", "label"} <= set(rows.frame):
                rows.rank_scores(sizes)
            else:
                rows.read_ranks(sizes)
            rows.check_lengths()
            for system, ranks in rows.sampled_ranks(replace=replace):
                if system in systems:
                    raise InputError(f"{path}: system {system!r} is duplicated, in another file.")
                systems[system] = ranks
    first_of(systems)
    return systems


def _tables(tables: Tables) -> Iterator[tuple[Path, Iterator[Line]]]:
    """Yield the path and the lines of each file, or "the data frame" and its rows as texts.

    Lines are pairs of a number, from 1, and fields; the heading is the first.
    """
    if isinstance(tables, str | PathLike):
        tables = [tables]
    if isinstance(tables, Sequence):
        for path in tables:
            yield Path(path), read_lines(Path(path))
    else:
        import pyarrow as pa

        frame = tables if hasattr(tables, "iloc") else pa.table(tables).to_pandas()
        rows = [frame.columns, *frame.to_numpy(dtype=object)]
        lines = [[str(value) for value in row] for row in rows]
        yield Path("the data frame"), iter(enumerate(lines, start=1))


class _Rows:
    """Rows of a table, with the line of each, that refuse what is wrong with them.

    Users have the same numbers in all tables.
    """

    def __init__(self, path: Path, frame: pd.DataFrame, user_numbers: dict[str, int]) -> None:
        self.path = path
        self.frame = frame
        self.user_numbers = user_numbers

    @classmethod
    def read(cls, path: Path, lines: Iterator[Line], user_numbers: dict[str, int]) -> _Rows:
        """Read lines of text, the heading first, to a frame of texts with the number of each line.

        ``user_numbers``: numbers of users of other tables, to which new ones are added later.
        Refuse, with InputError, an empty file, semicolons, a duplicated column, rows of another
        length, and a table without rows.
        """
        import pandas as pd

        heading = next(lines, None)
        if heading is None:
            raise InputError(f"{path}: the file is empty.")
        heading_line, fields = heading
        if PAIR.fullmatch(fields[0]):
            return cls(path, _read_pairs(path, [heading, *lines]), user_numbers)
        if len(fields) == 1 and ";" in fields[0]:
            problem = "columns are separated by tabs or commas, found semicolons."
            raise InputError.at_line(path, heading_line, problem)
        names = _column_names(fields)
        distinct_names(path, [(heading_line, name) for name in names], "column")
        body = [(line, *require_width(path, line, row, fields)) for line, row in lines]
        if not body:
            raise InputError.at_line(path, heading_line, "the table has a heading but no ranks.")
        return cls(path, pd.DataFrame(body, columns=["line", *names]), user_numbers)

    def refuse(self, is_wrong: Any, problem: str) -> None:
        """Refuse, with InputError, the first row where something is wrong.

        ``is_wrong``: a mask of the rows. The problem may have columns in braces, whose values in
        the row are filled in.
        """
        if np.any(is_wrong):
            row = self.frame.iloc[int(np.argmax(is_wrong))]
            raise InputError.at_line(self.path, int(row["line"]), problem.format(**row))

    def read_whole_numbers(self, column: str, description: str, *, smallest: int) -> None:
        """Turn the texts of a column into whole numbers; refuse others with InputError.

        The description stands in the sentence, as in "a rank must be a whole number from 1".
        """
        # Where a value is missing, pandas writes the ranks of all others as 3.0.
        texts = [text.removesuffix(".0") for text in self.frame[column]]
        numbers = np.array([int(text) if text.isdecimal() else smallest - 1 for text in texts])
        rule = f"{description} must be a whole number from {smallest}, found {{{column}!r}}."
        self.refuse(numbers < smallest, rule)
        self.frame[column] = numbers

    def read_numbers(self, column: str) -> None:
        """Turn the texts of a column into finite numbers; refuse others with InputError."""
        numbers = [float(text) if is_number(text) else np.nan for text in self.frame[column]]
        rule = f"column '{column}': a number expected, found {{{column}!r}}."
        self.refuse(~np.isfinite(numbers), rule)
        self.frame[column] = numbers

    def read_size(self, column: str, size: int | None) -> None:
        """Read numbers of negatives or candidates, from a column or one size for all users.

        Refuse, with InputError, both at once, and neither.
        """
        description = column.removeprefix("n_")
        if column in self.frame and size is not None:
            rule = f"the table has a column {column}: do not give {description} = {size:,}, too."
            raise InputError.at_line(self.path, 1, rule)
        if column not in self.frame and size is None:
            rule = f"the number of {description} is missing: give {description}, or add a column "
            raise InputError.at_line(self.path, 1, f"{rule}{column}.")
        if size is None:
            smallest = SMALLEST[column]
            self.read_whole_numbers(column, f"a number of {description}", smallest=smallest)
        else:
            self.frame[column] = size

    def number_users(self) -> None:
        """Number the users, and refuse a rank that two relevant items of a user share.

        Numbers go on from those of other tables. Refuse a missing user or system, too, all with
        InputError.
        """
        for name in ("user", "system"):
            is_missing = self.frame[name].str.strip() == ""
            self.refuse(is_missing, f"column '{name}': an id is missing.")
        numbers = self.user_numbers
        self.frame["number"] = [
            numbers.setdefault(user, len(numbers)) for user in self.frame["user"]
        ]
        keys = ["system", "user", "rank"]
        self.frame["before"] = self.frame.groupby(keys, sort=False)["line"].transform("first")
        rule = (
            "system {system!r} has rank {rank} twice for user {user!r}, first in line {before}: "
            "a rank counts the user's other relevant items, too."
        )
        self.refuse(self.frame.duplicated(keys), rule)

    def read_ranks(self, sizes: Mapping[str, int | None]) -> None:
        """Read a table of ranks, long or wide: afterwards a row for each rank, users numbered.

        ``sizes``: by column, the number of negatives or candidates of all users; None to read the
        column.
        """
        for column, size in sizes.items():
            self.read_size(column, size)
        if INVERSE_MASS in self.frame:
            self.read_numbers(INVERSE_MASS)
        if not {"user", "rank"} <= set(self.frame):
            kept_columns = ["line", *self.frame.columns.intersection([*sizes, INVERSE_MASS])]
            self._make_long(kept_columns)
        elif "system" not in self.frame:
            self.frame["system"] = self.path.stem
        self.read_whole_numbers("rank", "a rank", smallest=1)
        self.number_users()

    def _make_long(self, shared_columns: list[str]) -> None:
        """Turn a wide table, with a column of ranks for each system, into a long one.

        Shared columns are repeated for each system, as is the user: the column of ids if there is
        one, else the number of the line.
        """
        frame = self.frame
        names = list(frame.columns[1:])
        id_column = next((name for name in names if name.lower() in ID_HEADERS), "line")
        frame["user"] = frame[id_column].astype(str)
        others = (*shared_columns, id_column, "item")
        systems = [name for name in names if name not in others]
        long_frame = frame.melt(
            [*shared_columns, "user"], systems, var_name="system", value_name="rank"
        )
        self.frame = long_frame.sort_values("line", kind="stable", ignore_index=True)

    def rank_scores(self, sizes: Mapping[str, int | None]) -> None:
        """Rank the relevant items of a table of scores among the negatives of their user.

        They are placed below those of the same score, with a warning. ``sizes``: by column, the
        number of negatives or candidates of all users; None to count or read them. Refuse, with
        InputError, rows that break a rule.
        """
        import pandas as pd

        frame = self.frame
        if "user" not in frame:
            raise InputError.at_line(
                self.path, 1, "a table of scores has a column user, and none here."
            )
        is_relevant = frame["label"].isin(["1", "1.0"])
        is_label = is_relevant | frame["label"].isin(["0", "0.0"])
        self.refuse(~is_label, "a label must be 1 (relevant) or 0 (a negative), found {label!r}.")
        self.read_numbers("score")
        self.read_size(CANDIDATES, sizes[CANDIDATES])
        if "probability" in frame:
            self._read_probabilities(is_relevant)
        if "system" not in frame:
            frame["system"] = self.path.stem
        frame["relevant"] = is_relevant
        groups = frame.groupby(["system", "user"], sort=False)
        self._count_negatives(groups["relevant"], sizes[NEGATIVES])
        ranked = [_rank_among(user_rows) for _, user_rows in groups]
        self.frame = pd.concat(ranked, ignore_index=True)
        n_tied = int(self.frame["tied"].sum())
        if n_tied:
            sentence = "relevant items have the score of a negative; they are placed below those."
            warn(f"{self.path}: {n_tied:,} {sentence}", InputWarning, stacklevel=3)
        self.number_users()

    def _read_probabilities(self, is_relevant: pd.Series[bool]) -> None:
        """Read the probabilities of negatives; those of relevant items, unread, are 1.

        Refuse, with InputError, numbers that are not above 0 and at most 1.
        """
        self.frame.loc[is_relevant, "probability"] = "1"
        self.read_numbers("probability")
        rule = "a probability must be above 0 and at most 1, got {probability:g}."
        is_probability = self.frame["probability"].between(0, 1, inclusive="right")
        self.refuse(~is_probability, rule)

    def _count_negatives(self, by_user: Any, negatives: int | None) -> None:
        """Count the negatives of each user, from the column "relevant" grouped by user.

        Refuse, with InputError, another number than that of all users, if there is one, a user
        without a relevant item, and one without a negative.
        """
        n_relevant = by_user.transform("sum")
        self.frame[NEGATIVES] = by_user.transform("size") - n_relevant
        if negatives is not None:
            rule = f"user {{user!r}} has {{n_negatives}} negatives, not {negatives}."
            self.refuse(self.frame[NEGATIVES] != negatives, rule)
        self.refuse(n_relevant == 0, "user {user!r} has no relevant item.")
        self.refuse(self.frame[NEGATIVES] == 0, "user {user!r} has no negative.")

    def check_lengths(self) -> None:
        """Refuse ranks below the sample, samples above the candidates, and sizes that differ.

        All with InputError.
        """
        frame = self.frame
        by_user = frame.groupby(["system", "user"], sort=False)
        n_relevant = by_user["rank"].transform("size")
        frame["before"] = by_user["line"].transform("first")
        frame["most"] = frame[CANDIDATES] - n_relevant
        frame["length"] = frame[NEGATIVES] + n_relevant
        sizes = [NEGATIVES, CANDIDATES]
        differs = (by_user[sizes].transform("first") != frame[sizes]).any(axis=1)
        self.refuse(differs, "user {user!r} has other negatives or candidates in line {before}.")
        rule = "negatives must not be above the irrelevant candidates, {most}, got {n_negatives}."
        self.refuse(frame[NEGATIVES] > frame["most"], rule)
        rule = "a rank must not be above {length}, the relevant items and negatives, got {rank}."
        self.refuse(frame["rank"] > frame["length"], rule)
        if INVERSE_MASS in frame:
            order = by_user["rank"].rank(method="first").astype(int)
            frame["above"] = frame["rank"] - order
            rule = (
                f"{INVERSE_MASS} must be {{above}} or more, as 1 / probability is for each "
                f"negative above, got {{{INVERSE_MASS}:g}}."
            )
            is_too_small = frame[INVERSE_MASS] < frame["above"] * (1 - ROUNDING)
            self.refuse(is_too_small, rule)

    def sampled_ranks(self, *, replace: bool) -> Iterator[tuple[str, SampledRanks]]:
        """Yield the names and sampled ranks of the systems of a table that was read."""
        for system, system_rows in self.frame.groupby("system", sort=False):
            rows = system_rows.sort_values(["number", "rank"])
            ranks, n_candidates, users = rows[RANK_COLUMNS].to_numpy().T
            yield (
                str(system),
                SampledRanks(
                    ranks,
                    n_candidates,
                    users,
                    n_negatives=rows[NEGATIVES].to_numpy(),
                    replace=replace,
                    inverse_mass_above=rows[INVERSE_MASS].to_numpy()
                    if INVERSE_MASS in rows
                    else None,
                ),
            )


def _column_names(fields: Sequence[str]) -> list[str]:
    """Read the names in a heading: without RecBole's types, the first by default "user"."""
    names = [field.partition(":")[0] for field in fields]
    names[0] = names[0] or "user"
    return [OTHER_NAMES.get(name, name) for name in names]


def _read_pairs(path: Path, body: Sequence[Line]) -> pd.DataFrame:
    """Read lines in NCF's layout: ``(user,item)``, its score and those of its negatives.

    A row for each score: line, user, score and label ("1" for the item, "0" for negatives), all
    but the line texts. Refuse, with InputError, other lines, a user who occurs twice, and ids of
    items in place of scores.
    """
    import pandas as pd

    rows = []
    users = []
    n_different = 0
    for line, (pair, *scores) in body:
        match = PAIR.fullmatch(pair)
        if match is None or len(scores) < 2:
            problem = "(user,item), its score and those of its negatives expected, between tabs."
            raise InputError.at_line(path, line, problem)
        user = match[1]
        users.append((line, user))
        n_different += len(set(scores))
        for place, score in enumerate(scores):
            label = "1" if place == 0 else "0"
            rows.append((line, user, score, label))
    distinct_names(path, users, "user")
    are_whole = all(score.isdecimal() for _, _, score, _ in rows)
    if n_different > SHARE_OF_DIFFERENT_IDS * len(rows) and are_whole:
        first_line, _ = body[0]
        problem = (
            "whole numbers, hardly any twice, are ids of items, as in test.negative of NCF: "
            "the scores of the held-out item and its negatives are needed in their place."
        )
        raise InputError.at_line(path, first_line, problem)
    return pd.DataFrame(rows, columns=["line", "user", "score", "label"])


def _rank_among(rows: pd.DataFrame) -> pd.DataFrame:
    """Rank the relevant items of a user among his negatives, by falling score.

    ``rows``: those of the user, with score, the mask "relevant" and, perhaps, probability. Returned
    are those of relevant items, with the columns rank, tied (with a negative) and, from
    probabilities, the sum of 1 / probability of the negatives above. Ties rank below negatives.
    """
    negatives = rows[~rows["relevant"]]
    ranked = rows[rows["relevant"]].sort_values("score", ascending=False, kind="stable")
    negative_scores = negatives["score"].to_numpy()
    differences = negative_scores - ranked["score"].to_numpy()[:, np.newaxis]
    is_above = differences >= 0
    order = np.arange(1, len(ranked) + 1)
    ranked["rank"] = is_above.sum(axis=1) + order
    ranked["tied"] = (differences == 0).any(axis=1)
    if "probability" in rows:
        ranked[INVERSE_MASS] = is_above @ (1 / negatives["probability"].to_numpy())
    return ranked
