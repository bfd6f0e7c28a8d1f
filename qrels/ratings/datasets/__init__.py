"""Readers for the data sets that people have on disk: `read_ratings`."""

from qrels.ratings.datasets.layouts import FORMATS as FORMATS
from qrels.ratings.datasets.ratings_file import read_ratings as read_ratings
