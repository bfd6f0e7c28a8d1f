"""Ratings written as lines of text, and as a table of Arrow."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import Any, Literal

from qrels.ratings.ratings import Ratings

CSV_HEADER = ("user", "item", "rating", "time")


def format_rating_lines(
    ratings: Ratings, *, header: Sequence[str] = CSV_HEADER, separator: str = ","
) -> bytes:
    r"""Write a line for each rating under a header: user, item, rating and, if known, time.

    ``header``: names of the four columns. Numbers have the digits that read back as the same
    number; times are in seconds since 1970 in UTC. If an id has a separator, a quote or a line
    break, all ids are in double quotes, else none.
    """
    import pyarrow as pa

    table = rating_table(ratings, header=header)
    try:
        lines = _lines(table, separator, quoting="none")
    except pa.ArrowInvalid:
        lines = _lines(table, separator, quoting="needed")
    return separator.join(table.column_names).encode() + b"\n" + lines


def rating_table(ratings: Ratings, *, header: Sequence[str] = CSV_HEADER) -> Any:
    """Make an Arrow table of user, item, rating and, if known, time, with ids as text.

    ``header``: names of the four columns. Times are in seconds since 1970 in UTC.
    """
    import pyarrow as pa

    user_ids = pa.array(ratings.users.ids.tolist(), pa.string())
    item_ids = pa.array(ratings.items.ids.tolist(), pa.string())
    columns = [
        user_ids.take(pa.array(ratings.user)),
        item_ids.take(pa.array(ratings.item)),
        pa.array(ratings.rating),
    ]
    if ratings.time is not None:
        columns.append(pa.array(ratings.time))
    names = list(header[: len(columns)])
    return pa.table(columns, names=names)


def _lines(table: Any, separator: str, *, quoting: Literal["none", "needed"]) -> bytes:
    """Write the rows of an Arrow table as lines, without a heading.

    If ``quoting`` is "needed", all texts are in double quotes; if it is "none", Arrow raises
    ``ArrowInvalid`` where a text would need them.
    """
    from pyarrow import csv

    stream = BytesIO()
    options = csv.WriteOptions(
        include_header=False, delimiter=separator, quoting_style=quoting, batch_size=1 << 16
    )
    csv.write_csv(table, stream, options)
    return stream.getvalue()
