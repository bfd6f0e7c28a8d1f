"""Qrels: ratings, splits, judgements and judged lists; TREC qrels files in and out."""

from qrels.ratings import Ratings, Split

__all__ = ["Ratings", "Split"]
