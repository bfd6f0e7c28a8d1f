"""Readers for the data sets that people have on disk: `read_ratings` and `guess_format`."""

from harness.datasets.guessing import guess_format
from harness.datasets.layouts import FORMATS
from harness.datasets.reading import read_ratings

__all__ = ["FORMATS", "guess_format", "read_ratings"]
