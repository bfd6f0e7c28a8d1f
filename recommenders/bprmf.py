"""BPRMF: matrix factorisation that learns to rank rated items above unrated ones."""

from __future__ import annotations

import numpy as np

from qrels import Ratings
from recommenders.shared.scorers import FactorScorer
from recommenders.shared.system import (
    AtLeastOne,
    Factors,
    Positive,
    Range,
    Settings,
    searched,
    system,
)
from runs import InputError
from runs.shared.fields import offsets_of


class BPRMFSettings(Settings):
    """Settings of BPRMF."""

    factors: Factors = searched(
        64, Range(16, 128, log=True), "Number of factors (the paper's k): 1 to 2000."
    )
    regularization: float = searched(
        0.01,
        Range(0.002, 0.05, log=True),
        "Penalty on the squared factors of a pair (the paper's lambda): 0 to 0.2; "
        "0.01 to 0.02 work well on MovieLens.",
        ge=0,
        le=0.2,
    )
    learning_rate: Positive = searched(
        0.1,
        Range(0.02, 0.2, log=True),
        "Learning rate at the start (the paper's alpha), from which it falls to 0: "
        "above 0; 0.05 to 0.2 work well on MovieLens.",
    )
    epochs: AtLeastOne = searched(
        60, Range(20, 100, log=True), "Number of passes over the ratings: at least 1."
    )


@system(
    "bprmf",
    family="factors",
    source="Rendle, Freudenthaler, Gantner & Schmidt-Thieme (2009), BPR: Bayesian personalized "
    "ranking from implicit feedback, UAI",
)
def bprmf(ratings: Ratings, settings: BPRMFSettings, *, seed: int) -> FactorScorer:
    r"""Learn factors by which a user's rated items score above unrated ones.

    .. math:: \max \sum_{u,\, i \in I_u,\, j \notin I_u} \log \sigma(p_u \cdot q_i - p_u \cdot q_j)

    over pairs, one after the other: in each epoch every rating meets one unrated item, drawn
    uniformly; scores are :math:`p_u \cdot q_i`. Raises InputError if factors become infinite.

    Notes
    -----
    The criterion, the penalty and the steps are the paper's (LearnBPR), with one penalty for all
    factors. Ours: that the learning rate falls by the epoch, in equal steps, and that an epoch is a
    random order of the ratings; the paper draws them with replacement.
    """
    from recommenders.kernels.pairwise import descend, draw_triples

    rng = np.random.default_rng(seed)
    n_users = len(ratings.users)
    n_items = len(ratings.items)
    n_ratings = len(ratings)
    n_factors = settings.factors
    user_factors = 0.1 * rng.standard_normal((n_users, n_factors), dtype=np.float32)
    item_factors = 0.1 * rng.standard_normal((n_items, n_factors), dtype=np.float32)
    starts = offsets_of(ratings.user_counts())
    # User, rated and unrated item, in the order of the steps.
    triples = np.empty((n_ratings, 3), dtype=np.int32)
    regularization = np.float32(settings.regularization)
    for rate in settings.learning_rate * np.linspace(1, 0, settings.epochs, endpoint=False):
        uniforms = rng.random(n_ratings)
        places = rng.permutation(n_ratings)
        draw_triples(starts, ratings.item, uniforms, places, n_items, triples)
        descend(triples, user_factors, item_factors, np.float32(rate), regularization)
    all_finite = np.isfinite(user_factors).all() and np.isfinite(item_factors).all()
    if not all_finite:
        raise InputError(
            "system 'bprmf' cannot be trained: its factors become infinite; use a smaller "
            "'learning_rate'."
        )
    return FactorScorer(ratings, user_factors, item_factors)
