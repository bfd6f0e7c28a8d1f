"""LDA: users as documents, items as their words."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np
from pydantic import Field

from qrels import Ratings
from recommenders.shared.scorers import FactorScorer
from recommenders.shared.system import AtLeastOne, Factors, Range, Settings, searched, system

BATCH_USERS = 128
"""Number of users between two updates of the topics."""

USER_STEPS = 20
"""Maximum number of steps that fit a user's topics, in each pass."""


Prior: TypeAlias = Annotated[float, Field(gt=0, le=1)]


class LDASettings(Settings):
    """Settings of LDA."""

    topics: Factors = searched(
        20,
        Range(10, 100, log=True),
        "Number of topics (the paper's k): 1 to 2000; 10 to 50 work well on MovieLens.",
    )
    passes: AtLeastOne = Field(5, description="Number of passes over the ratings: at least 1.")
    user_prior: Prior = searched(
        0.1,
        Range(0.01, 1.0, log=True),
        "Dirichlet prior of a user's topics (the paper's alpha): above 0, at most 1.",
    )
    item_prior: Prior = searched(
        1.0,
        Range(0.01, 1.0, log=True),
        "Dirichlet prior of a topic's items (the paper's eta): above 0, at most 1.",
    )


@system(
    "lda",
    family="topics",
    requires_nonnegative=True,
    source="Blei, Ng & Jordan (2003), Latent Dirichlet allocation, JMLR 3",
)
def lda(ratings: Ratings, settings: LDASettings, *, seed: int) -> FactorScorer:
    r"""Recommend items that are likely under the user's topics, with Dirichlet priors.

    .. math:: P(i \mid u) = \sum_z \theta_{uz} \phi_{zi}, \quad
              \theta_u \sim \mathrm{Dir}(\alpha), \quad \phi_z \sim \mathrm{Dir}(\eta)

    with posterior means for :math:`\theta` and :math:`\phi`, from variational Bayes in online
    form (Hoffman, Blei & Bach, 2010) by scikit-learn, with 128 users between two updates, and 20
    steps at most for a user's topics; a rating of r counts like r words.

    Notes
    -----
    The model is the paper's, which fits :math:`\phi` by variational EM; ratings as counts are
    the reading of the ranking literature.
    """
    from sklearn.decomposition import LatentDirichletAllocation

    random_state = np.random.RandomState(np.random.MT19937(seed))
    model = LatentDirichletAllocation(
        n_components=settings.topics,
        doc_topic_prior=settings.user_prior,
        topic_word_prior=settings.item_prior,
        learning_method="online",
        batch_size=BATCH_USERS,
        max_iter=settings.passes,
        max_doc_update_iter=USER_STEPS,
        n_jobs=1,
        random_state=random_state,
    )
    user_topics = model.fit_transform(ratings.matrix())
    topic_items = model.components_ / model.components_.sum(axis=1, keepdims=True)
    return FactorScorer(ratings, user_topics, topic_items.T)
