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

CANDIDATES, NEGATIVES, MASS = "n_candidates", "n_negatives", "inverse_mass_above"
COLUMNS = ["rank", CANDIDATES, "number"]
LEAST = {CANDIDATES: 2, NEGATIVES: 1}
ROUNDING = 1e-9
FEW_RANKS, MOST_SAMPLED = 100, 1000
"""Ranks that say whether they are those among all candidates, and negatives that are usual."""

OTHER_NAMES = {"user_id": "user", "item_id": "item", "prediction": "score", "relevant": "label"}
MOSTLY = 0.95
"""Of the numbers of a line so many differ if they are ids, drawn with replacement."""

PAIR = re.compile(r"\(\s*([^,()]+?)\s*,\s*[^,()]+\)")
"""How NCF's files of negatives name a user and the held-out item."""


def read_rank_table(path: Path, *, candidates: int | None = None) -> dict[str, FullRanks]:
    """Read the full ranks of systems from a table of text, long or wide; see `correct`."""
    rows = _Rows.read(path, read_lines(path), {})
    rows.rank({CANDIDATES: candidates})
    rule = "a rank must not be above the candidates, {n_candidates}, got {rank}."
    rows.refuse(rows.frame["rank"] > rows.frame[CANDIDATES], rule)
    systems = {
        str(system): FullRanks(*own[COLUMNS].to_numpy().T)
        for system, own in rows.frame.groupby("system", sort=False)
    }
    with prefixed_errors(path):
        first_of(systems)
    deepest, least = int(rows.frame["rank"].max()), int(rows.frame[CANDIDATES].min())
    if len(rows.frame) >= FEW_RANKS and deepest <= min(MOST_SAMPLED + 1, least / 2):
        warn(
            f"{path}: no rank is above {deepest:,}, among {least:,} candidates or more. If these "
            f"are ranks among {deepest - 1:,} sampled negatives, use `harness correct`.",
            InputWarning,
            stacklevel=2,
        )
    return systems


def read_sampled_ranks(
    given: Sampled,
    *,
    negatives: int | None = None,
    candidates: int | None = None,
    replace: bool = True,
) -> dict[str, SampledRanks]:
    """Read the sampled ranks of systems, of the same users; see `correct`."""
    systems = dict(given) if isinstance(given, Mapping) else {}
    for name, ranked in systems.items():
        if not isinstance(ranked, SampledRanks):
            what = f"the ranks of {name!r} must be SampledRanks, such as SampledRanks.of(...)"
            raise InputError(f"{what}, got {type(ranked).__name__}.")
    numbers: dict[str, int] = {}
    for path, lines in () if isinstance(given, Mapping) else _tables(given):
        rows = _Rows.read(path, lines, numbers)
        read = rows.rank_scores if {"score", "label"} <= set(rows.frame) else rows.rank
        read({NEGATIVES: negatives, CANDIDATES: candidates})
        rows.check_lengths()
        for system, own in rows.frame.groupby("system", sort=False):
            if system in systems:
                raise InputError(f"{path}: system {system!r} is duplicated, in another file.")
            ranks = own.sort_values(["number", "rank"])
            systems[str(system)] = SampledRanks(
                *ranks[COLUMNS].to_numpy().T,
                n_negatives=ranks[NEGATIVES].to_numpy(),
                replace=replace,
                inverse_mass_above=ranks[MASS].to_numpy() if MASS in ranks else None,
            )
    first_of(systems)
    return systems


def _tables(given: Tables) -> Iterator[tuple[Path, Iterator[Line]]]:
    if isinstance(given, str | PathLike | Sequence):
        for path in [given] if isinstance(given, str | PathLike) else given:
            yield Path(path), read_lines(Path(path))
    else:
        import pyarrow as pa

        frame = given if hasattr(given, "iloc") else pa.table(given).to_pandas()
        lines = [[*map(str, row)] for row in (frame.columns, *frame.to_numpy(dtype=object))]
        yield Path("the data frame"), iter(enumerate(lines, start=1))


class _Rows:
    """Rows of a table, with the line of each, that refuse what is wrong with them.

    Users have the same numbers in all tables.
    """

    def __init__(self, path: Path, frame: pd.DataFrame, numbers: dict[str, int]) -> None:
        self.path, self.frame, self.numbers = path, frame, numbers

    @classmethod
    def read(cls, path: Path, lines: Iterator[Line], numbers: dict[str, int]) -> _Rows:
        import pandas as pd

        heading = next(lines, None)
        if heading is None:
            raise InputError(f"{path}: the file is empty.")
        if PAIR.fullmatch(heading[1][0]):
            return cls(path, _read_pairs(path, [heading, *lines]), numbers)
        if len(heading[1]) == 1 and ";" in heading[1][0]:
            finding = "columns are separated by tabs or commas, found semicolons."
            raise InputError.at_line(path, heading[0], finding)
        names = [name.partition(":")[0] for name in heading[1]]
        names = [OTHER_NAMES.get(name, name) for name in [names[0] or "user", *names[1:]]]
        distinct_names(path, [(heading[0], name) for name in names], "column")
        body = [(line, *require_width(path, line, row, heading[1])) for line, row in lines]
        if not body:
            raise InputError.at_line(path, heading[0], "the table has a heading but no ranks.")
        return cls(path, pd.DataFrame(body, columns=["line", *names]), numbers)

    def refuse(self, wrong: Any, finding: str) -> None:
        """Refuse the first row where something is wrong; the finding may name its columns."""
        if np.any(wrong):
            row = self.frame.iloc[int(np.argmax(wrong))]
            raise InputError.at_line(self.path, int(row["line"]), finding.format(**row))

    def whole(self, column: str, what: str, *, least: int) -> None:
        # Where a value is missing, pandas writes the ranks of all others as 3.0.
        texts = [text.removesuffix(".0") for text in self.frame[column]]
        numbers = np.array([int(t) if t.isdecimal() else least - 1 for t in texts])
        rule = f"{what} must be a whole number from {least}, found {{{column}!r}}."
        self.refuse(numbers < least, rule)
        self.frame[column] = numbers

    def number(self, column: str) -> None:
        numbers = [float(t) if is_number(t) else np.nan for t in self.frame[column]]
        rule = f"column '{column}': a number expected, found {{{column}!r}}."
        self.refuse(~np.isfinite(numbers), rule)
        self.frame[column] = numbers

    def size(self, column: str, given: int | None) -> None:
        """Read numbers of negatives or candidates, from a column or as they hold for all."""
        what = column.removeprefix("n_")
        if column in self.frame and given is not None:
            rule = f"the table has a column {column}: do not give {what} = {given:,}, too."
            raise InputError.at_line(self.path, 1, rule)
        if column not in self.frame and given is None:
            rule = f"the number of {what} is missing: give {what}, or add a column {column}."
            raise InputError.at_line(self.path, 1, rule)
        if given is None:
            self.whole(column, f"a number of {what}", least=LEAST[column])
        else:
            self.frame[column] = given

    def number_users(self) -> None:
        """Number the users, and refuse a rank that two relevant items of a user share."""
        for name in ("user", "system"):
            self.refuse(self.frame[name].str.strip() == "", f"column '{name}': an id is missing.")
        users = self.frame["user"]
        self.frame["number"] = [self.numbers.setdefault(u, len(self.numbers)) for u in users]
        keys = ["system", "user", "rank"]
        self.frame["before"] = self.frame.groupby(keys, sort=False)["line"].transform("first")
        rule = "system {system!r} has rank {rank} twice for user {user!r}, first in line {before}: "
        rule += "a rank counts the user's other relevant items, too."
        self.refuse(self.frame.duplicated(keys), rule)

    def rank(self, sizes: Mapping[str, int | None]) -> None:
        """Read a table of ranks, long or wide: a row for each rank, and users numbered."""
        for column, given in sizes.items():
            self.size(column, given)
        if MASS in self.frame:
            self.number(MASS)
        frame, kept = self.frame, ["line", *self.frame.columns.intersection([*sizes, MASS])]
        if not {"user", "rank"} <= set(frame):
            names = [*frame.columns[1:]]
            ids = next((name for name in names if name.lower() in ID_HEADERS), "line")
            frame["user"] = frame[ids].astype(str)
            systems = [name for name in names if name not in (*kept, ids, "item")]
            frame = frame.melt([*kept, "user"], systems, var_name="system", value_name="rank")
            self.frame = frame.sort_values("line", kind="stable", ignore_index=True)
        elif "system" not in frame:
            frame["system"] = self.path.stem
        self.whole("rank", "a rank", least=1)
        self.number_users()

    def rank_scores(self, sizes: Mapping[str, int | None]) -> None:
        """Rank the relevant items of a table of scores among the negatives of their user.

        They are placed below those of the same score.
        """
        import pandas as pd

        frame = self.frame
        if "user" not in frame:
            raise InputError.at_line(
                self.path, 1, "a table of scores has a column user, and none here."
            )
        relevant = frame["label"].isin(["1", "1.0"])
        is_label = relevant | frame["label"].isin(["0", "0.0"])
        self.refuse(~is_label, "a label must be 1 (relevant) or 0 (a negative), found {label!r}.")
        self.number("score")
        self.size(CANDIDATES, sizes[CANDIDATES])
        if "probability" in frame:
            frame.loc[relevant, "probability"] = "1"
            self.number("probability")
            rule = "a probability must be above 0 and at most 1, got {probability:g}."
            self.refuse(~frame["probability"].between(0, 1, inclusive="right"), rule)
        if "system" not in frame:
            frame["system"] = self.path.stem
        frame["relevant"], negatives = relevant, sizes[NEGATIVES]
        groups = frame.groupby(["system", "user"], sort=False)
        n_relevant = groups["relevant"].transform("sum")
        frame[NEGATIVES] = groups["relevant"].transform("size") - n_relevant
        if negatives is not None:
            rule = f"user {{user!r}} has {{n_negatives}} negatives, not {negatives}."
            self.refuse(frame[NEGATIVES] != negatives, rule)
        self.refuse(n_relevant == 0, "user {user!r} has no relevant item.")
        self.refuse(frame[NEGATIVES] == 0, "user {user!r} has no negative.")
        self.frame = pd.concat([_rank_among(own) for _, own in groups], ignore_index=True)
        if n_tied := int(self.frame["tied"].sum()):
            sentence = "relevant items have the score of a negative; they are placed below those."
            warn(f"{self.path}: {n_tied:,} {sentence}", InputWarning, stacklevel=3)
        self.number_users()

    def check_lengths(self) -> None:
        """Refuse ranks below the sample, samples above the candidates, and sizes that differ."""
        frame, sizes = self.frame, [NEGATIVES, CANDIDATES]
        own = frame.groupby(["system", "user"], sort=False)
        frame["before"], n_relevant = own["line"].transform("first"), own["rank"].transform("size")
        frame["most"] = frame[CANDIDATES] - n_relevant
        frame["length"] = frame[NEGATIVES] + n_relevant
        differs = (own[sizes].transform("first") != frame[sizes]).any(axis=1)
        self.refuse(differs, "user {user!r} has other negatives or candidates in line {before}.")
        rule = "negatives must not be above the irrelevant candidates, {most}, got {n_negatives}."
        self.refuse(frame[NEGATIVES] > frame["most"], rule)
        rule = "a rank must not be above {length}, the relevant items and negatives, got {rank}."
        self.refuse(frame["rank"] > frame["length"], rule)
        if MASS in frame:
            frame["above"] = frame["rank"] - own["rank"].rank(method="first").astype(int)
            rule = f"{MASS} must be {{above}} or more, as 1 / probability is for each negative"
            rule += f" above, got {{{MASS}:g}}."
            self.refuse(frame[MASS] < frame["above"] * (1 - ROUNDING), rule)


def _read_pairs(path: Path, body: Sequence[Line]) -> pd.DataFrame:
    import pandas as pd

    rows, users = [], []
    for line, (pair, *scores) in body:
        found = PAIR.fullmatch(pair)
        if found is None or len(scores) < 2:
            finding = "(user,item), its score and those of its negatives expected, between tabs."
            raise InputError.at_line(path, line, finding)
        users.append((line, found[1]))
        rows += [(line, found[1], score, "10"[place > 0]) for place, score in enumerate(scores)]
    distinct_names(path, users, "user")
    n_different = sum(len({*own}) for _, (_, *own) in body)
    if n_different > MOSTLY * len(rows) and all(text.isdecimal() for _, _, text, _ in rows):
        finding = "whole numbers, hardly any twice, are ids of items, as in test.negative of NCF: "
        finding += "the scores of the held-out item and its negatives are needed in their place."
        raise InputError.at_line(path, body[0][0], finding)
    return pd.DataFrame(rows, columns=["line", "user", "score", "label"])


def _rank_among(own: pd.DataFrame) -> pd.DataFrame:
    negatives = own[~own["relevant"]]
    ranked = own[own["relevant"]].sort_values("score", ascending=False, kind="stable")
    off = negatives["score"].to_numpy() - ranked["score"].to_numpy()[:, np.newaxis]
    ranked["rank"] = (off >= 0).sum(axis=1) + np.arange(1, len(ranked) + 1)
    ranked["tied"] = (off == 0).any(axis=1)
    if "probability" in own:
        ranked[MASS] = (off >= 0) @ (1 / negatives["probability"].to_numpy())
    return ranked
