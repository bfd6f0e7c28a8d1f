"""BPRMF: matrix factorisation that learns to rank rated items above unrated ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from qrels import Ratings
from recommenders.shared.lenskit_bridge import trained
from recommenders.shared.scorers import FactorScorer
from recommenders.shared.system import (
    AtLeastOne,
    Factors,
    NotNegative,
    Positive,
    Range,
    Settings,
    searched,
    system,
)

if TYPE_CHECKING:
    from lenskit.flexmf import FlexMFImplicitScorer


class BPRMFSettings(Settings):
    """Settings of BPRMF."""

    factors: Factors = searched(
        64, Range(16, 128, log=True), description="Number of factors (the paper's k): 1 to 2000."
    )
    regularization: NotNegative = searched(
        0.5,
        Range(0.05, 2.0, log=True),
        description="Weight decay of AdamW, in place of the paper's lambda: 0 or more; 0.3 to 1 "
        "work well on MovieLens. Use less with more ratings.",
    )
    learning_rate: Positive = searched(
        0.01,
        Range(0.001, 0.05, log=True),
        description="Learning rate of the optimiser (the paper's alpha): above 0.",
    )
    epochs: AtLeastOne = searched(
        60, Range(20, 100, log=True), description="Number of passes over the ratings: at least 1."
    )
    batch_ratings: AtLeastOne = Field(8192, description="Number of ratings in a batch: at least 1.")


def bprmf_component(settings: BPRMFSettings) -> FlexMFImplicitScorer:
    """Configure LensKit's component: its preset has neither user nor item biases."""
    from lenskit.flexmf import FlexMFImplicitScorer

    return FlexMFImplicitScorer(
        preset="bpr",
        embedding_size=settings.factors,
        regularization=settings.regularization,
        learning_rate=settings.learning_rate,
        epochs=settings.epochs,
        batch_size=settings.batch_ratings,
    )


@system(
    "bprmf",
    family="factors",
    source="Rendle, Freudenthaler, Gantner & Schmidt-Thieme (2009), BPR: Bayesian personalized "
    "ranking from implicit feedback, UAI",
    lenskit=bprmf_component,
)
def bprmf(ratings: Ratings, settings: BPRMFSettings, *, seed: int) -> FactorScorer:
    r"""Learn factors by which a user's rated items score above unrated ones.

    .. math:: \max \sum_{u,\, i \in I_u,\, j \notin I_u} \log \sigma(p_u \cdot q_i - p_u \cdot q_j)

    over pairs: in each epoch every rating meets one unrated item, drawn uniformly; scores are
    :math:`p_u \cdot q_i`.

    Notes
    -----
    The criterion is the paper's; where the paper takes one pair at a time and penalises the
    squared factors, LensKit takes batches and has AdamW decay the factors.
    """
    # Compiling takes a minute, saves seconds, and needs a C compiler.
    model = trained(
        bprmf_component(settings), ratings, seed=seed, environment={"LK_TORCH_COMPILE": "0"}
    ).model
    of_users, of_items = (
        embedding.weight.detach().numpy().copy() for embedding in (model.u_embed, model.i_embed)
    )
    return FactorScorer(ratings, of_users, of_items)
