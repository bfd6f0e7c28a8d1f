"""Qrels: ratings, splits, judgements, judged lists and ranks; TREC qrels files in and out."""

from qrels.filtering import k_core
from qrels.full_ranks import FullRanks
from qrels.grades import Scale, rating_scale
from qrels.judged import Judged, down_to, judge, match, running_sum
from qrels.qrels import Qrels, qrels_from_columns
from qrels.ratings import Ratings, Split
from qrels.sampled_ranks import Cells, SampledRanks
from qrels.sampling import sample_ranks, sample_ranks_adaptive
from qrels.score_sampling import popularity_proposal, sample_ranks_from_scores
from qrels.splits import SPLITS, SplitCounts
from qrels.statistics import Statistics, describe

__all__ = [
    "SPLITS",
    "Cells",
    "FullRanks",
    "Judged",
    "Qrels",
    "Ratings",
    "SampledRanks",
    "Scale",
    "Split",
    "SplitCounts",
    "Statistics",
    "describe",
    "down_to",
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
]
