"""Qrels: ratings, splits, judgements, judged lists and ranks; TREC qrels files in and out."""

from qrels.grades import Scale, rating_scale
from qrels.judged import Judged, down_to, judge, match, running_sum
from qrels.qrels import Qrels, qrels_from_columns
from qrels.ranks.from_full_ranks import sample_ranks, sample_ranks_adaptive
from qrels.ranks.from_scores import popularity_proposal, sample_ranks_from_scores
from qrels.ranks.full_ranks import FullRanks
from qrels.ranks.sampled_ranks import Cells, SampledRanks
from qrels.ratings.k_core import k_core
from qrels.ratings.ratings import Ratings, Split
from qrels.ratings.splits.shared.counts import SplitCounts
from qrels.ratings.splits.shared.register import find_split, splits
from qrels.ratings.splits.shared.split import SplitSettings, Splitter, split
from qrels.ratings.statistics import Statistics, describe

__all__ = [
    "Cells",
    "FullRanks",
    "Judged",
    "Qrels",
    "Ratings",
    "SampledRanks",
    "Scale",
    "Split",
    "SplitCounts",
    "SplitSettings",
    "Splitter",
    "Statistics",
    "describe",
    "down_to",
    "find_split",
    "judge",
    "k_core",
    "match",
    "popularity_proposal",
    "qrels_from_columns",
    "rating_scale",
    "running_sum",
    "sample_ranks",
    "sample_ranks_adaptive",
    "sample_ranks_from_scores",
    "split",
    "splits",
]
