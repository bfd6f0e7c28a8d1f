"""What notebooks keep a run or qrels in: a number for every pair of topic and item."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from runs import InputError, Numbering
from runs.shared.fields import Pairs

if TYPE_CHECKING:
    import pandas as pd

TOPIC_NAMES = ("query_id", "qid", "q_id", "topic", "topic_id", "user", "user_id", "userId")
ITEM_NAMES = ("doc_id", "docno", "docid", "item", "item_id", "itemId", "movieId")


@dataclass(frozen=True)
class Form:
    """How a run, or qrels, are laid out in a frame, and what is said of them.

    Parameters
    ----------
    what, forms
        What is read, such as "the run 'bm25'", and what it may be, for messages.
    names
        What the column of numbers may be called.
    number, width
        Its place, and how many columns there are, where they have no names: those of a TREC file.
    """

    what: str
    forms: str
    names: Sequence[str]
    number: int
    width: int


@dataclass(frozen=True, eq=False)
class Triples:
    """Topics, items and numbers of shape (n,), and what they are, for messages."""

    what: str
    topics: NDArray[np.str_]
    items: NDArray[np.str_]
    numbers: NDArray[np.float64]

    def pairs(self) -> Pairs:
        """Number topics and items.

        Raises
        ------
        InputError
            If there are none, or an item is duplicated for a topic.
        """
        if not len(self.topics):
            raise InputError(f"{self.what}: there is no item.")
        topics, items = Numbering.of(self.topics), Numbering.of(self.items)
        pairs = Pairs(topics, items, topics.numbers(self.topics), items.numbers(self.items))
        for place in pairs.repeated()[:1]:
            raise InputError(f"{self.what}: {self.named(place)} is duplicated.")
        return pairs

    def named(self, place: int) -> str:
        """Name the pair at a place."""
        return f"item {str(self.items[place])!r} of topic {str(self.topics[place])!r}"


def read_triples(data: Any, form: Form) -> Triples:
    """Read what a notebook has.

    Parameters
    ----------
    data
        Numbers by topic and item, ``{topic: {item: number}}``; what has ``to_dict()`` and gives
        such, as ranx does; a data frame, or what has ``to_df()``, as lists of LensKit have; or
        records with names, as ir_measures has them.
    form
        How a frame is laid out.

    Raises
    ------
    InputError
        If it is none of these, a column is missing, an id is missing, or a number is none.

    Examples
    --------
    >>> form = Form("the run 'a'", "a dictionary", ["score"], number=4, width=6)
    >>> found = read_triples({"t1": {"d1": 0.5, "d2": 0.25}}, form)
    >>> found.topics.tolist(), found.items.tolist(), found.numbers.tolist()
    (['t1', 't1'], ['d1', 'd2'], [0.5, 0.25])
    """
    topics, items, numbers = _columns_of(data, form)
    found = Triples(form.what, _ids(topics, form), _ids(items, form), _numbers(numbers, form))
    for place in np.flatnonzero(np.isnan(found.numbers))[:1]:
        raise InputError(f"{form.what}: {found.named(place)} has no number.")
    return found


def is_frame(data: Any) -> TypeGuard[pd.DataFrame]:
    """Tell whether it is a data frame."""
    return hasattr(data, "columns") and hasattr(data, "iloc")


def is_single(data: Any) -> bool:
    """Tell whether it is one run, not several: a dictionary of dictionaries, or records."""
    if isinstance(data, Mapping):
        return all(isinstance(one, Mapping) and _is_of_numbers(one) for one in data.values())
    return hasattr(data, "to_dict") or hasattr(data, "to_df")


def column_of(frame: pd.DataFrame, names: Sequence[str]) -> str | None:
    """Give the column of a frame that has one of the names; None if there is none."""
    return next((name for name in names if name in frame.columns), None)


def _is_of_numbers(items: Mapping[Any, Any]) -> bool:
    return not any(isinstance(number, Mapping) for number in items.values())


def has_columns_of_trec(frame: pd.DataFrame, *, width: int) -> bool:
    """Tell whether columns have numbers for names, and there are as many as in a TREC file."""
    return [*map(str, frame.columns)] == [*map(str, range(width))]


def _columns_of(data: Any, form: Form) -> Iterable[Any]:
    if is_frame(data):
        return _columns_of_frame(data, form)
    if hasattr(data, "to_df"):
        return _columns_of_frame(data.to_df(), form)
    if isinstance(data, Mapping):
        return _columns_of_mapping(data, form)
    if hasattr(data, "to_dict"):
        return _columns_of_mapping(data.to_dict(), form)
    return _columns_of_frame(_frame_of_records(data, form), form)


def _columns_of_frame(frame: pd.DataFrame, form: Form) -> Iterable[Any]:
    """Give topics, items and numbers of a frame, by names or as TREC files have them."""
    if has_columns_of_trec(frame, width=form.width):
        return [frame.iloc[:, place] for place in (0, 2, form.number)]
    every = (("topics", TOPIC_NAMES), ("items", ITEM_NAMES), ("numbers", form.names))
    found = [(role, names, column_of(frame, names)) for role, names in every]
    for role, names, name in found:
        if name is None:
            raise InputError(
                f"{form.what}: no column holds the {role}; it is called {' or '.join(names)}, and "
                f"there are {', '.join(map(str, frame.columns)) or 'none'}."
            )
    return [frame[name] for _, _, name in found]


def _columns_of_mapping(data: Mapping[Any, Any], form: Form) -> Iterable[Any]:
    for topic, items in data.items():
        if not isinstance(items, Mapping) or not _is_of_numbers(items):
            raise InputError(
                f"{form.what}: numbers by item are expected for topic {str(topic)!r}, got "
                f"{type(items).__name__}."
            )
    rows = [(t, item, number) for t, items in data.items() for item, number in items.items()]
    return [[row[place] for row in rows] for place in range(3)]


def _frame_of_records(data: Any, form: Form) -> pd.DataFrame:
    import pandas as pd

    if isinstance(data, str | bytes) or not isinstance(data, Iterable):
        raise InputError(f"{form.what} must be {form.forms}, got {type(data).__name__}.")
    records = list(data)
    for record in records[:1]:
        if not hasattr(record, "_fields"):
            kind = type(record).__name__
            raise InputError(f"{form.what} must be {form.forms}, got a list of {kind}.")
    names = records[0]._fields if records else (TOPIC_NAMES[0], ITEM_NAMES[0], form.names[0])
    return pd.DataFrame(records, columns=names)


def _ids(column: Any, form: Form) -> NDArray[np.str_]:
    """Give ids as text."""
    import pandas as pd

    ids = pd.Series(column, dtype=object if isinstance(column, list) else None)
    missing = ids.isna().to_numpy()
    if missing.any():
        raise InputError(f"{form.what}: in row {int(missing.argmax()) + 1} an id is missing.")
    return ids.astype(str).to_numpy(dtype=np.str_)


def _numbers(column: Any, form: Form) -> NDArray[np.float64]:
    try:
        return np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{form.what}: numbers are expected ({error}).") from None
