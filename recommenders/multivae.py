"""MultiVAE: a variational autoencoder of users' items with a multinomial likelihood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from qrels import Ratings
from recommenders.shared.lenskit_bridge import one_thread
from recommenders.shared.scorers import HistoryScorer, pattern
from recommenders.shared.system import (
    AtLeastOne,
    Choice,
    Factors,
    NotNegative,
    Positive,
    Range,
    Settings,
    searched,
    system,
)
from runs.shared.arrays import Floats, Sparse

if TYPE_CHECKING:
    from torch import Tensor

ANNEALED = 0.5
"""Share of the steps over which the weight of the divergence rises."""


class MultiVAESettings(Settings):
    """Settings of MultiVAE."""

    factors: Factors = searched(
        128, Range(32, 256, log=True), "Size of the latent vector (the paper's K)."
    )
    hidden: AtLeastOne = Field(600, description="Size of the hidden layers: at least 1.")
    dropout: Annotated[float, Field(ge=0, lt=1)] = searched(
        0.5,
        Choice((0.3, 0.5, 0.7)),
        "Share of a user's items that are dropped in each step: 0 or more, below 1.",
    )
    divergence: NotNegative = searched(
        0.2,
        Range(0.05, 0.5, log=True),
        "Final weight of the Kullback-Leibler divergence (the paper's beta).",
    )
    learning_rate: Positive = searched(
        0.001, Range(0.0005, 0.005, log=True), "Learning rate of Adam: above 0."
    )
    epochs: AtLeastOne = searched(
        100, Range(30, 200, log=True), "Number of passes over the users: at least 1."
    )
    batch_users: AtLeastOne = Field(256, description="Number of users in a batch: at least 1.")


@system(
    "multivae",
    family="autoencoder",
    source="Liang, Krishnan, Hoffman & Jebara (2018), Variational autoencoders for collaborative "
    "filtering, WWW",
)
def multivae(ratings: Ratings, settings: MultiVAESettings, *, seed: int) -> AutoencoderScorer:
    r"""Reconstruct a user's items through a normal latent vector.

    .. math:: \max \mathrm{E}_{q(z_u | b_u)}\left[\sum_i b_{ui} \log \pi_i(z_u)\right]
              - \beta\, \mathrm{KL}(q(z_u | b_u) \,\|\, N(0, I)), \quad
              \pi(z) = \mathrm{softmax}(f(z))

    with :math:`b_{ui} = 1` where u rated i, else 0. Encoder and decoder f have one hidden layer
    each (tanh). Scores are :math:`f(\mu)` of the mean latent vector :math:`\mu`.

    Notes
    -----
    The weight :math:`\beta` rises linearly over the first half of the steps; the paper chooses the
    number of steps and the final weight on validation data.
    """
    import torch
    from torch.nn import functional

    rows = pattern(ratings.matrix()).tocsr()
    rows = rows[np.flatnonzero(np.diff(rows.indptr))]
    n_items, size, hidden = len(ratings.items), settings.factors, settings.hidden
    with one_thread(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        shapes = (n_items, hidden), (hidden, 2 * size), (size, hidden), (hidden, n_items)
        layers: list[Tensor] = []
        for inside, outside in shapes:
            spread = np.sqrt(2 / (inside + outside))
            layers += [torch.randn(inside, outside) * spread, torch.zeros(outside)]
        for layer in layers:
            layer.requires_grad_()
        optimizer = torch.optim.Adam(layers, lr=settings.learning_rate, foreach=True)
        n_batches = -(-rows.shape[0] // settings.batch_users)
        rising, step = max(1.0, ANNEALED * settings.epochs * n_batches), 0
        for _ in range(settings.epochs):
            order = torch.randperm(rows.shape[0]).numpy()
            for start in range(0, len(order), settings.batch_users):
                batch = rows[order[start : start + settings.batch_users]]
                counts = np.diff(batch.indptr)
                values = torch.from_numpy(np.repeat(1 / np.sqrt(counts), counts)).float()
                encoded = functional.embedding_bag(
                    torch.from_numpy(batch.indices.astype(np.int64)),
                    layers[0],
                    torch.from_numpy(batch.indptr[:-1].astype(np.int64)),
                    mode="sum",
                    per_sample_weights=functional.dropout(values, settings.dropout),
                )
                both = torch.tanh(encoded + layers[1]) @ layers[2] + layers[3]
                mean, log_variance = both[:, :size], both[:, size:]
                latent = mean + torch.randn_like(mean) * torch.exp(log_variance / 2)
                logits = torch.tanh(latent @ layers[4] + layers[5]) @ layers[6] + layers[7]
                likely = functional.log_softmax(logits, dim=1)
                user = torch.from_numpy(np.repeat(np.arange(len(counts)), counts))
                found = likely[user, torch.from_numpy(batch.indices.astype(np.int64))].sum()
                apart = (mean**2 + log_variance.exp() - log_variance - 1).sum() / 2
                weight = settings.divergence * min(1.0, step / rising)
                optimizer.zero_grad()
                torch.autograd.backward((weight * apart - found) / len(counts))
                optimizer.step()
                step += 1
    weights = [layer.detach().numpy().astype(np.float64) for layer in layers]
    return AutoencoderScorer(ratings, tuple(weights))


@dataclass(frozen=True, eq=False)
class AutoencoderScorer(HistoryScorer):
    """Scores by an autoencoder: weights and offsets of four layers, the second without spread."""

    layers: tuple[Floats, ...]

    def _products(self, histories: Sparse) -> NDArray[np.floating]:
        counts = np.maximum(np.diff(histories.indptr), 1)[:, np.newaxis]
        into, offset, middle, middle_offset, out, out_offset, last, last_offset = self.layers
        size = len(out)
        hidden = np.tanh(pattern(histories) @ into / np.sqrt(counts) + offset)
        mean = hidden @ middle[:, :size] + middle_offset[:size]
        return np.asarray(np.tanh(mean @ out + out_offset) @ last + last_offset)
