"""Hidden ranks: where a model puts items hidden from it, left out one by one or in time."""

from recommenders.kernels.hidden.by_scores import ProfileScorer, rank_hidden_by_scores
from recommenders.kernels.hidden.by_similarity import rank_hidden
from recommenders.kernels.hidden.hiding import Hiding

__all__ = ["Hiding", "ProfileScorer", "rank_hidden", "rank_hidden_by_scores"]
