"""Qrels: ratings, splits, judgements and judged lists; TREC qrels files in and out."""

from qrels.judged import Judged, judge, match
from qrels.qrels import Qrels, qrels_from_columns
from qrels.ratings import Ratings, Split

__all__ = ["Judged", "Qrels", "Ratings", "Split", "judge", "match", "qrels_from_columns"]
