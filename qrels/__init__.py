"""Qrels: ratings, splits, judgements, judged lists and ranks; TREC qrels files in and out.

The names of splits, which need settings, are imported when they are first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from qrels.catalogue import Catalogue
from qrels.grades import Scale, rating_scale
from qrels.judged import Judged, accumulate
from qrels.matches import judge, match
from qrels.qrels import Qrels, qrels_from_columns
from qrels.ranks.full_ranks import FullRanks
from qrels.ratings.ratings import Ratings, Split, k_core
from qrels.ratings.statistics import describe

__all__ = [
    "Catalogue",
    "FullRanks",
    "Judged",
    "Qrels",
    "Ratings",
    "Scale",
    "Split",
    "SplitSettings",
    "Splitter",
    "accumulate",
    "describe",
    "find_split",
    "judge",
    "k_core",
    "match",
    "qrels_from_columns",
    "rating_scale",
    "split",
    "split_counts",
    "splits",
]

if TYPE_CHECKING:
    from qrels.ratings.splitter import (
        SplitSettings,
        Splitter,
        find_split,
        split,
        split_counts,
        splits,
    )
else:

    def __getattr__(name: str) -> object:
        """Import a name when it is first asked for."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module("qrels.ratings.splitter"), name)
