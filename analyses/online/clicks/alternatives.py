"""Lists that were not shown: what they would have earned, and how often they seem accepted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from analyses.online.logs.recommendations import Recommendations, read_recommendations
from analyses.online.logs.slates import Slates
from qrels.interactions.table import LogTable
from runs import InputError, Numbering


def items_instead(path: Path, slates: Slates) -> NDArray[np.int32]:
    """Read lists that stand for those of a log.

    The table is laid out as the recommendations are: for each of their lists one of the same
    length, under the same ``rec_id``.

    Returns
    -------
    Numbers of the items at the places of the log, of shape (n_places,).

    Raises
    ------
    InputError
        If lists are missing, unknown or of another length, or neither table of the log has an item.
    """
    table = LogTable.open(path)
    read = read_recommendations(table)
    order = _places_of(read, table, slates)
    first = read.first[order]
    # The places of the log's lists, one list after the other, in the order of the table.
    places = np.repeat(first - slates.first[:-1], slates.lengths) + np.arange(len(slates.item))
    items = read.item.numbers(slates.items)[places]
    unknown = items < 0
    if unknown.any():
        place = int(places[unknown.argmax()])
        finding = f"{read.item[place]!r} is in neither table of the log: nothing is known of it."
        raise table.error(read.item_column, int(read.rows[place]), finding)
    return items


def _places_of(read: Recommendations, table: LogTable, slates: Slates) -> NDArray[np.int64]:
    """Find the list of the table that stands for each list of the log, of shape (n_slates,)."""
    ids = read.rec.ids[read.rec.places]
    numbering = Numbering.of(ids)
    at = numbering.numbers(slates.ids)
    if (at < 0).any():
        raise InputError(
            f"{table.path}: there must be a list for each one in the log, but "
            f"{str(slates.ids[(at < 0).argmax()])!r} has none."
        )
    order = np.argsort(ids)[at]
    lengths = np.diff(read.first)[order]
    differing = lengths != slates.lengths
    if differing.any():
        number = int(differing.argmax())
        raise table.error(
            "rec_id",
            int(read.rows[read.first[order[number]]]),
            f"list {str(slates.ids[number])!r} has {slates.lengths[number]} items in the log, got "
            f"{lengths[number]}.",
        )
    return order
