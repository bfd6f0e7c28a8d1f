"""Hidden ranks: where a model puts items hidden from it, left out one by one or in time."""

from recommenders.hidden.hiding import Hiding
from recommenders.hidden.linear import rank_hidden
from recommenders.hidden.scored import ProfileScorer, rank_hidden_by_scores

__all__ = ["Hiding", "ProfileScorer", "rank_hidden", "rank_hidden_by_scores"]
