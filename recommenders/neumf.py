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
"""Maximum number of hidden units, items times units, that scoring holds at a time: 16 MB."""


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

    n_users = len(ratings.users)
    n_items = len(ratings.items)
    users = torch.from_numpy(ratings.user.astype(np.int64))
    items = torch.from_numpy(ratings.item.astype(np.int64))
    with one_thread(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layers = _random_layers(n_users, n_items, settings)
        optimizer = torch.optim.AdamW(
            layers, lr=settings.learning_rate, weight_decay=settings.regularization, foreach=True
        )
        for _ in range(settings.epochs):
            for batch in torch.split(torch.randperm(len(ratings)), settings.batch_ratings):
                n_negatives = len(batch) * settings.negatives
                random_items = torch.randint(n_items, (n_negatives,))
                batch_users = users[batch]
                user = torch.cat([batch_users, batch_users.repeat(settings.negatives)])
                item = torch.cat([items[batch], random_items])
                is_rated = torch.cat([torch.ones(len(batch)), torch.zeros(n_negatives)])
                logits = _logits(user, item, layers)
                loss = functional.binary_cross_entropy_with_logits(logits, is_rated)
                optimizer.zero_grad()
                torch.autograd.backward(loss)
                optimizer.step()
    arrays = [layer.detach().numpy().astype(np.float64) for layer in layers]
    return NeuMFScorer(ratings, tuple(arrays))


def _random_layers(n_users: int, n_items: int, settings: NeuMFSettings) -> list[Tensor]:
    """Draw the embeddings and weights with torch's random generator; offsets are 0.

    Returns four embeddings, of shapes (n_users, factors) and (n_items, factors): users and items of
    the product, then users and items of the perceptron. After them come weights, (n_inputs,
    n_outputs), and offsets, (n_outputs,), of two hidden layers and the last layer. All of them
    require gradients.
    """
    import torch

    factors = settings.factors
    n_second = max(1, settings.hidden // 2)
    embedding_shapes = [
        (n_users, factors),
        (n_items, factors),
        (n_users, factors),
        (n_items, factors),
    ]
    layer_shapes = [
        (2 * factors, settings.hidden),
        (settings.hidden, n_second),
        (factors + n_second, 1),
    ]
    layers: list[Tensor] = [torch.randn(shape) * 0.01 for shape in embedding_shapes]
    for n_inputs, n_outputs in layer_shapes:
        standard_deviation = np.sqrt(2 / n_inputs)
        layers.append(torch.randn(n_inputs, n_outputs) * standard_deviation)
        layers.append(torch.zeros(n_outputs))
    for layer in layers:
        layer.requires_grad_()
    return layers


def _logits(user: Tensor, item: Tensor, layers: list[Tensor]) -> Tensor:
    """Compute the scores of pairs of user and item numbers, all of shape (n_pairs,).

    Layers are those of `_random_layers`.
    """
    import torch

    user_product, item_product, user_deep, item_deep = layers[:4]
    first, first_offset, second, second_offset, last, last_offset = layers[4:]
    inputs = torch.cat([user_deep[user], item_deep[item]], dim=1)
    hidden = torch.relu(inputs @ first + first_offset)
    deep = torch.relu(hidden @ second + second_offset)
    product = user_product[user] * item_product[item]
    last_inputs = torch.cat([product, deep], dim=1)
    outputs = last_inputs @ last + last_offset
    return outputs[:, 0]


@dataclass(frozen=True, eq=False)
class NeuMFScorer(TrainedOnRatings):
    """Scores by a product of embeddings and a perceptron.

    ``layers`` holds embeddings, weights and offsets, float64; see `_random_layers`.
    """

    layers: tuple[Floats, ...]

    def score_batch(self, user_numbers: Ints) -> Singles:
        """Score every item for training users: float32 of shape (n_rows, n_items).

        Scores are those of the embeddings and the perceptron in ``self.layers``, without the last
        offset, which changes no order. NaN for a user without training ratings. The layers are four
        embeddings, (n_users, n_factors) or (n_items, n_factors), then weights, (n_inputs,
        n_outputs), and offsets, (n_outputs,), of two hidden layers and the last one.
        """
        user_product, item_product, user_deep, item_deep = self.layers[:4]
        first, first_offset, second, second_offset, last, _ = self.layers[4:]
        n_items, n_factors = item_product.shape
        product_weights = last[:n_factors, 0]
        deep_weights = last[n_factors:, 0]
        scores = (user_product[user_numbers] * product_weights) @ item_product.T

        # The first layer is linear in the two halves of its input.
        half = len(first) // 2
        hidden_of_users = user_deep @ first[:half] + first_offset
        hidden_of_items = item_deep @ first[half:]
        block_items = max(1, ITEMS_AT_ONCE // first.shape[1])
        for row, user in zip(scores, user_numbers, strict=True):
            for start in range(0, n_items, block_items):
                block = slice(start, start + block_items)
                hidden = np.maximum(hidden_of_users[user] + hidden_of_items[block], 0)
                deep = np.maximum(hidden @ second + second_offset, 0)
                row[block] += deep @ deep_weights
        scores[~self.has_ratings[user_numbers]] = np.nan
        return scores.astype(np.float32)
