"""Qrels: ratings, splits, judgements, judged lists and ranks; TREC qrels files in and out.

The names of splits, which need settings, are imported when they are first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from qrels.catalogue import Catalogue
from qrels.grades import Scale, rating_scale
from qrels.judged import Judged, judge, match, running
from qrels.qrels import Qrels, qrels_from_columns
from qrels.ranks.full_ranks import FullRanks
from qrels.ratings.k_core import k_core
from qrels.ratings.ratings import Ratings, Split
from qrels.ratings.splits.shared.counts import SplitCounts
from qrels.ratings.statistics import Statistics, describe

__all__ = [
    "Catalogue",
    "FullRanks",
    "Judged",
    "Qrels",
    "Ratings",
    "Scale",
    "Split",
    "SplitCounts",
    "SplitSettings",
    "Splitter",
    "Statistics",
    "describe",
    "find_split",
    "judge",
    "k_core",
    "match",
    "qrels_from_columns",
    "rating_scale",
    "running",
    "split",
    "splits",
]

_HOMES = {
    "SplitSettings": "qrels.ratings.splits.shared.split",
    "Splitter": "qrels.ratings.splits.shared.split",
    "find_split": "qrels.ratings.splits.shared.register",
    "split": "qrels.ratings.splits.shared.split",
    "splits": "qrels.ratings.splits.shared.register",
}

if TYPE_CHECKING:
    from qrels.ratings.splits.shared.register import find_split, splits
    from qrels.ratings.splits.shared.split import SplitSettings, Splitter, split
else:

    def __getattr__(name: str) -> object:
        """Import a name when it is first asked for."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_HOMES[name]), name)
