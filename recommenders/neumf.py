"""NeuMF: matrix factorisation and a multilayer perceptron, learned together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from qrels import Ratings
from recommenders.shared.lenskit_bridge import one_thread
from recommenders.shared.scorers import TrainedOnRatings
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
from runs.shared.arrays import Floats, Ints, Singles

if TYPE_CHECKING:
    from torch import Tensor

ITEMS_AT_ONCE = 1 << 21
"""Hidden units of users and items that are held at a time: 16 MB."""


class NeuMFSettings(Settings):
    """Settings of NeuMF."""

    factors: Factors = searched(32, Range(8, 64, log=True), "Size of each of the four embeddings.")
    hidden: AtLeastOne = Field(
        64, description="Size of the first hidden layer; the second has half of it: at least 1."
    )
    negatives: AtLeastOne = searched(
        4, Range(1, 10), "Number of random items for each rating: at least 1."
    )
    regularization: NotNegative = searched(
        1.0, Range(0.1, 3.0, log=True), "Weight decay of AdamW: 0 or more."
    )
    learning_rate: Positive = searched(
        0.003, Range(0.0005, 0.01, log=True), "Learning rate of AdamW: above 0."
    )
    epochs: AtLeastOne = searched(
        20, Range(5, 50, log=True), "Number of passes over the ratings: at least 1."
    )
    batch_ratings: AtLeastOne = Field(2048, description="Number of ratings in a batch.")


@system(
    "neumf",
    family="neural",
    source="He, Liao, Zhang, Nie, Hu & Chua (2017), Neural collaborative filtering, WWW",
)
def neumf(ratings: Ratings, settings: NeuMFSettings, *, seed: int) -> NeuMFScorer:
    r"""Learn which items a user rated by a generalised product and a perceptron of embeddings.

    .. math:: s_{ui} = h \cdot [p_u \odot q_i;\; \phi_2(\phi_1([p'_u; q'_i]))], \quad
              \phi(x) = \max(W x + b, 0)

    with the logistic loss over rated items and random ones, drawn anew in each epoch.

    Notes
    -----
    Both parts are learned together from the start; the paper's pre-training of each is left out,
    and so is its third hidden layer. Random items may be rated ones, which are rare.
    """
    import torch
    from torch.nn import functional

    n_users, n_items = len(ratings.users), len(ratings.items)
    size, hidden, half = settings.factors, settings.hidden, max(1, settings.hidden // 2)
    users, items = (torch.from_numpy(n.astype(np.int64)) for n in (ratings.user, ratings.item))
    n_drawn = settings.negatives
    with one_thread(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        shapes = [(n_users, size), (n_items, size)] * 2
        layers: list[Tensor] = [torch.randn(shape) * 0.01 for shape in shapes]
        for inside, outside in ((2 * size, hidden), (hidden, half), (size + half, 1)):
            layers += [torch.randn(inside, outside) * np.sqrt(2 / inside), torch.zeros(outside)]
        for layer in layers:
            layer.requires_grad_()
        optimizer = torch.optim.AdamW(
            layers, lr=settings.learning_rate, weight_decay=settings.regularization, foreach=True
        )
        p, q, p_deep, q_deep, *dense = layers
        for _ in range(settings.epochs):
            for some in torch.split(torch.randperm(len(users)), settings.batch_ratings):
                drawn = torch.randint(n_items, (len(some) * n_drawn,))
                user = torch.cat([users[some], users[some].repeat(n_drawn)])
                item = torch.cat([items[some], drawn])
                wanted = torch.cat([torch.ones(len(some)), torch.zeros(len(drawn))])
                deep = torch.cat([p_deep[user], q_deep[item]], dim=1)
                for weights, offsets in zip(dense[:4:2], dense[1:4:2], strict=True):
                    deep = torch.relu(deep @ weights + offsets)
                both = torch.cat([p[user] * q[item], deep], dim=1)
                logits = (both @ dense[4] + dense[5])[:, 0]
                optimizer.zero_grad()
                torch.autograd.backward(functional.binary_cross_entropy_with_logits(logits, wanted))
                optimizer.step()
    return NeuMFScorer(ratings, tuple(x.detach().numpy().astype(np.float64) for x in layers))


@dataclass(frozen=True, eq=False)
class NeuMFScorer(TrainedOnRatings):
    """Scores by a product of embeddings and a perceptron: four embeddings, then three layers."""

    layers: tuple[Floats, ...]

    def score_batch(self, user_numbers: Ints) -> Singles:
        """Score every item for these training users."""
        p, q, p_deep, q_deep, first, offset, second, second_offset, last, _ = self.layers
        size = p.shape[1]
        scores = (p[user_numbers] * last[:size, 0]) @ q.T
        half = len(first) // 2
        of_users, of_items = p_deep @ first[:half] + offset, q_deep @ first[half:]
        at_once = max(1, ITEMS_AT_ONCE // first.shape[1])
        for row, user in zip(scores, user_numbers, strict=True):
            for start in range(0, len(q), at_once):
                hidden = np.maximum(of_users[user] + of_items[start : start + at_once], 0)
                deep = np.maximum(hidden @ second + second_offset, 0)
                row[start : start + at_once] += deep @ last[size:, 0]
        scores[~self.has_ratings[user_numbers]] = np.nan
        return scores.astype(np.float32)
