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
    uniformly; scores are :math:`p_u \cdot q_i`.

    Notes
    -----
    The criterion, the penalty and the steps are the paper's (LearnBPR), with one penalty for all
    factors. Ours: that the learning rate falls by the epoch, in equal steps, and that an epoch is a
    random order of the ratings; the paper draws them with replacement.
    """
    from recommenders.kernels.pairwise import descend, draw_triples

    rng, n_items = np.random.default_rng(seed), len(ratings.items)
    of_users, of_items = (
        0.1 * rng.standard_normal((n, settings.factors), dtype=np.float32)
        for n in (len(ratings.users), n_items)
    )
    ends = offsets_of(ratings.user_counts())
    triples = np.empty((len(ratings), 3), dtype=np.int32)
    for rate in settings.learning_rate * np.linspace(1, 0, settings.epochs, endpoint=False):
        luck, places = rng.random(len(ratings)), rng.permutation(len(ratings))
        draw_triples(ends, ratings.item, luck, places, n_items, triples)
        descend(triples, of_users, of_items, np.float32(rate), np.float32(settings.regularization))
    if not (np.isfinite(of_users).all() and np.isfinite(of_items).all()):
        raise InputError(
            "system 'bprmf' cannot be trained: its factors become infinite; use a smaller "
            "'learning_rate'."
        )
    return FactorScorer(ratings, of_users, of_items)
