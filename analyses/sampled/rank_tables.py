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
    """Read the full ranks of systems, by name, from a table of text, long or wide.

    A long table has the columns user and rank, and maybe system (else there is one, of the name of
    the file); a wide one has a column of ranks for each system. ``candidates``: number of
    candidates of each user, if the table has no column n_candidates. Refuse, with InputError, a
    table that breaks a rule, ranks above the candidates, and systems of other users. Warn if there
    are 100 ranks or more, of which none is above 1,001 or half the candidates: they seem to be
    sampled.
    """
    rows = _Rows.read(path, read_lines(path), {})
    rows.read_ranks({CANDIDATES: candidates})
    # Columns in braces are those of the first row where the mask is true.
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
    deepest_if_sampled = min(USUAL_NEGATIVES + 1, fewest / 2)
    if len(rows.frame) >= MIN_RANKS and deepest <= deepest_if_sampled:
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
    """Read the sampled ranks of systems, by name, of the same users.

    ``sampled``: ranks by system, or a table (see `correct`): a data frame, a file, or several
    files, of ranks or of scores of relevant items and negatives. ``negatives`` and ``candidates``:
    numbers for all users, if a table has no such columns. Refuse, with InputError, ranks that are
    no `SampledRanks`, rows that break a rule, a system that occurs in two files, and systems of
    other users. Warn if relevant items have the score of a negative.
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
        """Take the path, for messages, the rows, and numbers of users by id, which are added to."""
        self.path = path
        self.frame = frame
        self.user_numbers = user_numbers

    @classmethod
    def read(cls, path: Path, lines: Iterator[Line], user_numbers: dict[str, int]) -> _Rows:
        """Read lines of text, the heading first, to a frame of texts with the number of each line.

        ``user_numbers``: numbers of users of other tables, to which new ones are added later.
        Refuse, with InputError, an empty file, a duplicated column, rows of another length, and a
        table without rows.
        """
        import pandas as pd

        heading = next(lines, None)
        if heading is None:
            raise InputError(f"{path}: the file is empty.")
        heading_line, fields = heading
        if PAIR.fullmatch(fields[0]):
            return cls(path, _read_pairs(path, [heading, *lines]), user_numbers)
        names = _column_names(fields)
        distinct_names(path, [(heading_line, name) for name in names], "column")
        body = [(line, *require_width(path, line, row, fields)) for line, row in lines]
        if not body:
            raise InputError.at_line(path, heading_line, "the table has a heading but no ranks.")
        return cls(path, pd.DataFrame(body, columns=["line", *names]), user_numbers)

    def refuse(self, is_wrong: Any, problem: str) -> None:
        """Refuse, with InputError, the first row where a mask is true; nothing happens if none is.

        ``is_wrong``: a mask of the rows of the frame, (n_rows,). The problem is the message, where
        a column in braces is replaced by its value in that row; the message has file and line.
        """
        if np.any(is_wrong):
            row = self.frame.iloc[int(np.argmax(is_wrong))]
            raise InputError.at_line(self.path, int(row["line"]), problem.format(**row))

    def read_whole_numbers(self, column: str, description: str, *, smallest: int) -> None:
        """Turn the texts of a column of the frame into whole numbers, in place.

        Refuse, with InputError, other texts, and numbers below the smallest. The description stands
        in the message, as in "a rank must be a whole number from 1".
        """
        # Where a value is missing, pandas writes the ranks of all others as 3.0.
        texts = [text.removesuffix(".0") for text in self.frame[column]]
        # Other texts become a number that is too small.
        too_small = smallest - 1
        numbers = np.array([int(text) if text.isdecimal() else too_small for text in texts])
        rule = f"{description} must be a whole number from {smallest}, found {{{column}!r}}."
        self.refuse(numbers < smallest, rule)
        self.frame[column] = numbers

    def read_numbers(self, column: str) -> None:
        """Turn the texts of a column of the frame into finite numbers, in place.

        Refuse, with InputError, other texts.
        """
        texts = self.frame[column]
        numbers = [float(text) if is_number(text) else np.nan for text in texts]
        rule = f"column '{column}': a number expected, found {{{column}!r}}."
        self.refuse(~np.isfinite(numbers), rule)
        self.frame[column] = numbers

    def read_size(self, column: str, size: int | None) -> None:
        """Read numbers of negatives or candidates into a column, in place.

        ``column``: "n_negatives" or "n_candidates", read if the table has it, else filled with
        ``size``, one number for all users. Refuse, with InputError, both a column and a size,
        neither, and texts that are no whole numbers from 1 (negatives) or 2 (candidates).
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
        """Number the users in a new column "number", and check ids and ranks.

        A user has the same number in all tables, in ``user_numbers``, to which new users are added.
        Refuse, with InputError, a missing user or system, and a rank that two relevant items of a
        user share under one system. Adds the column "before", the line of the first such rank. In a
        rule, columns in braces stand for their values in the first row that breaks it.
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

        The frame then has the columns system, user, number (of the user), rank, and those of
        ``sizes``: by column, the number of negatives or candidates of all users, or None to read
        the column. A long table without systems has one, of the name of the file. Refuse, with
        InputError, rows that break a rule.
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
        one, else the number of the line. The columns that remain, but "item", are systems; the
        first column of the frame is the line. Rows are sorted by line.
        """
        frame = self.frame
        names = list(frame.columns[1:])
        id_column = next((name for name in names if name.lower() in ID_HEADERS), "line")
        frame["user"] = frame[id_column].astype(str)
        not_systems = (*shared_columns, id_column, "item")
        systems = [name for name in names if name not in not_systems]
        long_frame = frame.melt(
            [*shared_columns, "user"], systems, var_name="system", value_name="rank"
        )
        self.frame = long_frame.sort_values("line", kind="stable", ignore_index=True)

    def rank_scores(self, sizes: Mapping[str, int | None]) -> None:
        """Rank the relevant items of a table of scores among the negatives of their user.

        The frame gets a row for each relevant item, with its rank. Items are placed below negatives
        of the same score, with a warning. ``sizes``: by column, the number of negatives or
        candidates of all users; None to count negatives and read candidates. Refuse, with
        InputError, a table without users, labels other than 1 and 0, scores and probabilities that
        are no numbers, users without a relevant item or a negative, and those with another number
        of negatives: ``self.refuse`` names the first row where a mask is true.
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
        """Read the column of probabilities of negatives in place; those of relevant items become 1.

        ``is_relevant``: a mask of the rows. Refuse, with InputError, texts that are no numbers, and
        numbers that are not above 0 and at most 1.
        """
        self.frame.loc[is_relevant, "probability"] = "1"
        self.read_numbers("probability")
        rule = "a probability must be above 0 and at most 1, got {probability:g}."
        is_probability = self.frame["probability"].between(0, 1, inclusive="right")
        self.refuse(~is_probability, rule)

    def _count_negatives(self, by_user: Any, negatives: int | None) -> None:
        """Count the negatives of each user and system, in a new column "n_negatives".

        ``by_user``: the mask "relevant", grouped by system and user. ``negatives``: the number that
        all users must have; None for any. Refuse, with InputError, another number, a user without a
        relevant item, and one without a negative.
        """
        n_relevant = by_user.transform("sum")
        self.frame[NEGATIVES] = by_user.transform("size") - n_relevant
        if negatives is not None:
            rule = f"user {{user!r}} has {{n_negatives}} negatives, not {negatives}."
            self.refuse(self.frame[NEGATIVES] != negatives, rule)
        self.refuse(n_relevant == 0, "user {user!r} has no relevant item.")
        self.refuse(self.frame[NEGATIVES] == 0, "user {user!r} has no negative.")

    def check_lengths(self) -> None:
        """Check that ranks and sizes of samples fit each other; refuse others with InputError.

        Rows of a user and system must agree in negatives and candidates; negatives must not exceed
        the irrelevant candidates, nor ranks the negatives and relevant items; sums of 1 /
        probability must be at least the number of negatives above. Adds columns to the frame that
        messages name in braces: before, most, length and above.
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
        """Yield the name and sampled ranks of each system of a table that was read.

        Rows are sorted by user and rank. ``replace``: whether negatives were drawn with
        replacement. Sums of 1 / probability are None if the table has none.
        """
        for system, system_rows in self.frame.groupby("system", sort=False):
            rows = system_rows.sort_values(["number", "rank"])
            ranks, n_candidates, users = rows[RANK_COLUMNS].to_numpy().T
            inverse_mass_above = rows[INVERSE_MASS].to_numpy() if INVERSE_MASS in rows else None
            sampled_ranks = SampledRanks(
                ranks,
                n_candidates,
                users,
                n_negatives=rows[NEGATIVES].to_numpy(),
                replace=replace,
                inverse_mass_above=inverse_mass_above,
            )
            yield str(system), sampled_ranks


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
