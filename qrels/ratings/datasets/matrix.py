"""Ratings as a matrix: a user a line, an item a column, and a number where nothing is rated."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from qrels.ratings.datasets.delimited import DelimitedRows
from qrels.ratings.datasets.fields import NO_NUMBER, Columns, NotPlain, Record


class MatrixRows(DelimitedRows):
    """Lines of UTF-8 text, each the ratings of a user; blank lines are skipped.

    Users and items are called by their places, from 1: the first line is user 1, and the first
    column behind those that are skipped is item 1.
    """

    def names(self) -> list[str]:
        """Call the columns by their places."""
        return [str(place) for place in range(1, len(self._first()[1]) + 1)]

    def beginning(self, n: int) -> list[list[str]]:
        """Give the fields of the first lines."""
        return [fields for _, fields in islice(self._matrix(), n)]

    def records(self) -> Iterator[Record]:
        """Read cell by cell what is rated."""
        unrated = float(self.layout.unrated or 0)
        for user, (line, ratings) in enumerate(self._matrix(), start=1):
            for item, text in enumerate(ratings, start=1):
                if text not in NO_NUMBER and not _is(text, unrated):
                    yield line, {"user": str(user), "item": str(item), "rating": text}

    def columns(self) -> Columns:
        """Read line by line, if all cells are plain numbers."""
        import pyarrow as pa

        if b"_" in self.source.data or self.layout.decimal != ".":
            raise NotPlain
        try:
            lines = [np.array(ratings, dtype=np.float64) for _, ratings in self._matrix()]
        except ValueError as error:
            raise NotPlain from error
        matrix = np.array(lines)
        user, item = np.nonzero(matrix != float(self.layout.unrated or 0))
        names = pa.array([str(place) for place in range(1, max(matrix.shape, default=0) + 1)])
        numbered = {"user": names.take(pa.array(user)), "item": names.take(pa.array(item))}
        found = numbered | {"rating": pa.array(matrix[user, item])}
        return {role: pa.chunked_array([column]) for role, column in found.items()}

    def _matrix(self) -> Iterator[tuple[int, list[str]]]:
        """Give the number and the cells of every line, all of one length."""
        width = len(self._first()[1])
        for line, fields in self._lines():
            if len(fields) != width:
                raise self.error(line, self._wrong_width(fields, width))
            yield line, fields[self.layout.skipped :]

    def _plain_lines(self) -> Iterator[tuple[int, list[str]]]:
        """Split at any white space where the layout has a space."""
        separator = None if self.layout.separator == " " else self.layout.separator
        for line, text in enumerate(self._decoded(), start=1):
            yield line, text.strip("\n").split(separator)


def _is(text: str, number: float) -> bool:
    try:
        return float(text) == number
    except ValueError:
        return False
