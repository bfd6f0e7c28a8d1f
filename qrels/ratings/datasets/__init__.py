"""Readers for the data sets that people have on disk: `read_ratings` and `guess_format`."""

from qrels.ratings.datasets.layouts import FORMATS
from qrels.ratings.datasets.ratings_file import guess_format, read_ratings

__all__ = ["FORMATS", "guess_format", "read_ratings"]
