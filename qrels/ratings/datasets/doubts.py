"""Doubts about ratings that can be read: columns of other names, ids that never come again."""

from __future__ import annotations

from typing import Final

import numpy as np

from qrels.ratings.ratings import Ratings
from runs.tables.hints import Meaning, hint_of
from runs.tables.roles import Columns, Reason, Role

FITTING: Final = {
    Role.USER: (Meaning.USER, Meaning.TOPIC, Meaning.NAME),
    Role.ITEM: (Meaning.ITEM, Meaning.NAME),
    Role.RATING: (Meaning.GRADE, Meaning.SCORE, Meaning.COUNT, Meaning.VALUE, Meaning.EVENT),
    Role.COUNT: (Meaning.COUNT, Meaning.GRADE, Meaning.SCORE, Meaning.VALUE),
}
"""What the name of a column may say that is named for a role."""

IN_WORDS: Final = {
    Meaning.USER: "users are",
    Meaning.TOPIC: "topics are",
    Meaning.ITEM: "items are",
    Meaning.GRADE: "ratings are",
    Meaning.SCORE: "scores are",
    Meaning.COUNT: "amounts are",
    Meaning.RANK: "ranks are",
    Meaning.TIME: "times are",
    Meaning.ATTRIBUTE: "prices, texts and other attributes are",
}
"""What columns of such a name hold."""

FEWEST_RATINGS: Final = 100
"""Of fewer ratings, ids that never come again are no surprise."""

MOST_WHOLE_RATINGS: Final = 100
"""More distinct whole numbers, none of them small, may be ids."""


def named_otherwise(columns: Columns) -> list[str]:
    """Write of columns that a person named for a role, although their names say another thing.

    A column is doubted only if the file has a heading and the name itself is a word for the other
    thing, or for an attribute such as a price: the weakness of such a hint is 0. Roles without an
    entry in `FITTING`, the meanings that a name may have for each role, are never doubted.

    Returns
    -------
    A sentence for each such column.
    """
    sentences = []
    for column in columns.columns:
        hint = hint_of(column.name) if columns.has_heading else None
        if column.reason != Reason.NAMED or column.role not in FITTING or hint is None:
            continue
        is_clear = hint.weakness == 0 or hint.meaning == Meaning.ATTRIBUTE
        if is_clear and hint.meaning in IN_WORDS and hint.meaning not in FITTING[column.role]:
            sentences.append(
                f"The column {column.name!r} is named for the {column.role}s, but is called as "
                f"{IN_WORDS[hint.meaning]}."
            )
    return sentences


def unlikely_ids(ratings: Ratings) -> list[str]:
    """Write of users or items that never come again, and of ratings that may be ids.

    Returns
    -------
    Sentences; none for fewer than `FEWEST_RATINGS` (100) ratings. Ratings may be ids if they are
    more than `MOST_WHOLE_RATINGS` (100) distinct whole numbers, all above this number.
    """
    if len(ratings) < FEWEST_RATINGS:
        return []
    sentences = []
    n_ids = {"user": len(ratings.users), "item": len(ratings.items)}
    for name, n in n_ids.items():
        if n == len(ratings):
            sentences.append(
                f"Every {name} has one rating: the column of the {name}s may hold numbers of "
                "lines, orders or receipts."
            )
    # Usual ratings are small: only others are sorted to count them.
    lowest = float(ratings.rating.min())
    if lowest <= MOST_WHOLE_RATINGS:
        return sentences
    distinct_values = np.unique(ratings.rating)
    is_whole = bool((distinct_values == np.floor(distinct_values)).all())
    if is_whole and len(distinct_values) > MOST_WHOLE_RATINGS:
        sentences.append(
            f"The ratings have {len(distinct_values):,} distinct values from {lowest:.0f} to "
            f"{distinct_values[-1]:.0f}: they may be ids."
        )
    return sentences
