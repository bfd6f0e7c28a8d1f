"""Hidden ranks: where a model puts items hidden from it, left out one by one or in time."""

from recommenders.kernels.hidden.by_scores import ProfileScorer, rank_hidden_by_scores
from recommenders.kernels.hidden.by_similarity import rank_hidden
from recommenders.kernels.hidden.hiding import Hiding
from recommenders.kernels.hidden.of_systems import rank_held_out

__all__ = ["Hiding", "ProfileScorer", "rank_held_out", "rank_hidden", "rank_hidden_by_scores"]
