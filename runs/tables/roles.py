"""Which column holds what: the roles of columns, kinds of tables, and reasons for roles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from runs.shared.errors import InputError, require_known
from runs.tables.hints import Meaning


class Role(StrEnum):
    """What a column holds."""

    USER = "user"
    ITEM = "item"
    RATING = "rating"
    COUNT = "count"
    SCORE = "score"
    RANK = "rank"
    TIME = "time"
    EVENT = "event"
    HISTORY = "history"
    SUBTOPIC = "subtopic"
    SYSTEM = "system"
    MEASURE = "measure"
    INDEX = "index"
    UNREAD = "unread"


class Reason(StrEnum):
    """Why a column has its role."""

    NAMED = "named by you"
    FORMAT = "by the format"
    NAME = "by its name"
    VALUES = "by its values"
    ORDER = "by its place, as there is no heading"
    LEFT = "proposed: the only column left"
    PROPOSED = "proposed by its values"
    NONE = ""


ColumnNames: TypeAlias = Mapping[str, str | int]
"""Names, or places from 0, of columns, by what they hold."""

PROPOSALS: Final = frozenset((Reason.LEFT, Reason.PROPOSED))
"""Reasons that a person must confirm before anything is made of them."""


@dataclass(frozen=True)
class Kind:
    """A kind of table: which roles its columns can have.

    Parameters
    ----------
    name
        What it holds, in the plural: "ratings".
    meanings
        By role, what names of such columns can mean; the first counts more.
    required
        Roles without which it cannot be read.
    roles
        What a person calls the roles.
    section
        The section of a study file that says how such a table is read; "" if none does.
    prefix
        What the options of the command line that say so begin with.
    weakest
        Weakest hints that count (`runs.tables.hints.Hint`). In a table whose columns are systems,
        "item-knn" is no column of items.
    """

    name: str
    meanings: Mapping[Role, tuple[Meaning, ...]]
    required: tuple[Role, ...]
    roles: Mapping[str, Role]
    section: str
    prefix: str = "--"
    weakest: int = 2

    @property
    def option(self) -> str:
        """How a person names a column on the command line."""
        return f"{self.prefix}column"

    def setting(self, name: str) -> str:
        """Where a person sets what says how such a table is read, such as "encoding"."""
        option = f"`{self.prefix}{name}`"
        return f"{option}, or `{name}` in {self.section}" if self.section else option


RATINGS: Final = Kind(
    name="ratings",
    meanings={
        Role.USER: (Meaning.USER, Meaning.TOPIC),
        Role.ITEM: (Meaning.ITEM,),
        Role.RATING: (Meaning.GRADE, Meaning.SCORE),
        Role.COUNT: (Meaning.COUNT,),
        Role.TIME: (Meaning.TIME,),
        Role.EVENT: (Meaning.EVENT,),
        Role.HISTORY: (Meaning.HISTORY,),
    },
    required=(Role.USER, Role.ITEM),
    roles={
        "user": Role.USER,
        "item": Role.ITEM,
        "rating": Role.RATING,
        "count": Role.COUNT,
        "time": Role.TIME,
        "event": Role.EVENT,
    },
    section="[ratings]",
)
RUNS: Final = Kind(
    name="runs",
    meanings={
        Role.USER: (Meaning.TOPIC, Meaning.USER),
        Role.ITEM: (Meaning.ITEM,),
        Role.SCORE: (Meaning.SCORE, Meaning.GRADE),
        Role.RANK: (Meaning.RANK,),
        Role.SYSTEM: (Meaning.SYSTEM,),
    },
    required=(Role.USER, Role.ITEM),
    roles={
        "user": Role.USER,
        "item": Role.ITEM,
        "score": Role.SCORE,
        "rank": Role.RANK,
        "system": Role.SYSTEM,
    },
    section="[runs]",
)
QRELS: Final = Kind(
    name="qrels",
    meanings={
        Role.USER: (Meaning.TOPIC, Meaning.USER),
        Role.ITEM: (Meaning.ITEM,),
        Role.RATING: (Meaning.GRADE, Meaning.SCORE),
        Role.SUBTOPIC: (Meaning.SUBTOPIC,),
    },
    required=(Role.USER, Role.ITEM, Role.RATING),
    roles={
        "user": Role.USER,
        "item": Role.ITEM,
        "grade": Role.RATING,
        "subtopic": Role.SUBTOPIC,
    },
    section="[qrels]",
    prefix="--qrels-",
)
SCORES: Final = Kind(
    name="scores",
    meanings={
        Role.USER: (Meaning.TOPIC, Meaning.USER),
        Role.ITEM: (Meaning.ITEM,),
        Role.SYSTEM: (Meaning.SYSTEM, Meaning.NAME),
        Role.MEASURE: (Meaning.MEASURE,),
        Role.SCORE: (Meaning.SCORE, Meaning.VALUE),
    },
    required=(),
    roles={
        "user": Role.USER,
        "system": Role.SYSTEM,
        "measure": Role.MEASURE,
        "score": Role.SCORE,
    },
    section="",
    weakest=0,
)


def named_roles(columns: ColumnNames | None, kind: Kind) -> dict[Role, str | int]:
    """Look up the roles of the columns that a person names.

    Raises
    ------
    InputError
        If a table of this kind has no such role, or two roles have one column.
    """
    columns = columns or {}
    require_known(f"no column of {kind.name} is called", columns, list(kind.roles))
    for role, column in columns.items():
        if isinstance(column, int) and column < 0:
            raise InputError(f"columns are numbered from 0, got {column} for the {role}.")
    if len(set(columns.values())) < len(columns):
        raise InputError(f"`columns` must be different, got {dict(columns)}.")
    return {kind.roles[name]: column for name, column in columns.items()}


@dataclass(frozen=True)
class Column:
    """A column of a table, and what it is read as.

    Parameters
    ----------
    place
        Its place, from 0.
    name
        What the heading calls it; without a heading, its place.
    role
        What it holds.
    reason
        Why.
    examples
        Up to three of its values.
    remark
        What its values are, where they do not fit its name; or "".
    """

    place: int
    name: str
    role: Role
    reason: Reason
    examples: tuple[str, ...]
    remark: str = ""


@dataclass(frozen=True)
class Columns:
    """All columns of a table with their roles.

    Parameters
    ----------
    kind
        What the table holds.
    columns
        The columns, in order.
    has_heading
        Whether a heading names them.
    questions
        What only a person can settle, in sentences; a table with questions is not read.
    """

    kind: Kind
    columns: tuple[Column, ...]
    has_heading: bool
    questions: tuple[str, ...] = ()

    def place(self, role: Role) -> int | None:
        """Look up the place of the column with a role; None if there is none."""
        places = (column.place for column in self.columns if column.role == role)
        return next(places, None)

    def column(self, role: Role) -> Column | None:
        """Look up the column with a role; None if there is none."""
        place = self.place(role)
        return None if place is None else self.columns[place]

    @property
    def proposals(self) -> list[Column]:
        """Columns whose role is proposed, and not said by a name."""
        return [column for column in self.columns if column.reason in PROPOSALS]


def require_settled(
    columns: Columns, *, label: str, table: Callable[[Columns], str], hint: str = ""
) -> None:
    """Refuse a table that only a person can say how to read, or whose roles are proposals.

    Parameters
    ----------
    columns
        The columns with their roles.
    label
        The table, for the error.
    table
        Writes what stands in the error beside the questions: all columns, with their roles.
    hint
        What else a person can do about proposals; "" for nothing.
    """
    sentences = list(columns.questions)
    for column in columns.proposals:
        sentences.append(
            f"The column {column.name!r} may be the {column.role}: name it, "
            f"`{columns.kind.option} {column.role}={column.name}`."
        )
    if not sentences:
        return
    if hint and columns.proposals and not columns.questions:
        sentences.append(hint)
    raise InputError("\n".join([f"{label}: {sentences[0]}", *sentences[1:], table(columns)]))
