"""Readers for the data sets that people have on disk: `read_ratings`."""

from qrels.ratings.datasets.rating_file import read_ratings as read_ratings
from runs.tables.layouts import FORMATS as FORMATS
