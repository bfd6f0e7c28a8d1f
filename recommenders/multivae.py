"""MultiVAE: a variational autoencoder of users' items with a multinomial likelihood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from qrels import Ratings
from recommenders.shared.lenskit_bridge import one_thread
from recommenders.shared.scorers import HistoryBasedScorer, pattern
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

ANNEALED_SHARE = 0.5
"""Share of the training steps over which the weight of the divergence rises to its final value."""


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

    rated = pattern(ratings.matrix()).tocsr()
    rated = rated[np.flatnonzero(np.diff(rated.indptr))]
    n_users, n_items = rated.shape
    n_batches = -(-n_users // settings.batch_users)
    n_rising_steps = max(1.0, ANNEALED_SHARE * settings.epochs * n_batches)
    with one_thread(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layers = _random_layers(n_items, settings)
        optimizer = torch.optim.Adam(layers, lr=settings.learning_rate, foreach=True)
        step = 0
        for _ in range(settings.epochs):
            order = torch.randperm(n_users).numpy()
            for start in range(0, n_users, settings.batch_users):
                batch = rated[order[start : start + settings.batch_users]]
                divergence_weight = settings.divergence * min(1.0, step / n_rising_steps)
                loss = _loss(
                    batch, layers, dropout=settings.dropout, divergence_weight=divergence_weight
                )
                optimizer.zero_grad()
                torch.autograd.backward(loss)
                optimizer.step()
                step += 1
    weights = [layer.detach().numpy().astype(np.float64) for layer in layers]
    return AutoencoderScorer(ratings, tuple(weights))


def _random_layers(n_items: int, settings: MultiVAESettings) -> list[Tensor]:
    """Draw the weights of the four layers with torch's random generator; offsets are 0.

    Returns weights, of shape (n_inputs, n_outputs), and offsets, of shape (n_outputs,), layer after
    layer: encoder, latent vector, decoder, items. The outputs of the second layer are the mean and
    the logarithm of the variance of the latent vector. All of them require gradients.
    """
    import torch

    shapes = [
        (n_items, settings.hidden),
        (settings.hidden, 2 * settings.factors),
        (settings.factors, settings.hidden),
        (settings.hidden, n_items),
    ]
    layers: list[Tensor] = []
    for n_inputs, n_outputs in shapes:
        standard_deviation = np.sqrt(2 / (n_inputs + n_outputs))
        layers.append(torch.randn(n_inputs, n_outputs) * standard_deviation)
        layers.append(torch.zeros(n_outputs))
    for layer in layers:
        layer.requires_grad_()
    return layers


def _loss(
    batch: Sparse, layers: list[Tensor], *, dropout: float, divergence_weight: float
) -> Tensor:
    """Compute the loss per user of a batch: minus the log-likelihood, plus the weighted divergence.

    The batch is of shape (n_batch, n_items), with 1.0 for rated items, at least one a row. Layers
    are those of `_random_layers`. Rated items are dropped from the input, and the latent vectors
    drawn, with torch's random generator.
    """
    import torch
    from torch.nn import functional

    encoder, encoder_offset, latent, latent_offset = layers[:4]
    decoder, decoder_offset, output, output_offset = layers[4:]
    counts = np.diff(batch.indptr)
    n_batch = len(counts)
    items = torch.from_numpy(batch.indices.astype(np.int64))
    user = torch.from_numpy(np.repeat(np.arange(n_batch), counts))
    unit_length_values = np.repeat(1 / np.sqrt(counts), counts)
    input_values = torch.from_numpy(unit_length_values).float()

    row_starts = torch.from_numpy(batch.indptr[:-1].astype(np.int64))
    remaining_values = functional.dropout(input_values, dropout)
    encoded = functional.embedding_bag(
        items, encoder, row_starts, mode="sum", per_sample_weights=remaining_values
    )
    latent_parameters = torch.tanh(encoded + encoder_offset) @ latent + latent_offset
    n_factors = len(decoder)
    mean = latent_parameters[:, :n_factors]
    log_variance = latent_parameters[:, n_factors:]
    standard_deviation = torch.exp(log_variance / 2)
    vectors = mean + torch.randn_like(mean) * standard_deviation

    decoded = torch.tanh(vectors @ decoder + decoder_offset)
    logits = decoded @ output + output_offset
    log_shares = functional.log_softmax(logits, dim=1)
    log_likelihood = log_shares[user, items].sum()
    twice_divergences = mean**2 + log_variance.exp() - log_variance - 1
    divergence = twice_divergences.sum() / 2
    return (divergence_weight * divergence - log_likelihood) / n_batch


@dataclass(frozen=True, eq=False)
class AutoencoderScorer(HistoryBasedScorer):
    """Scores by an autoencoder of four layers, with the mean latent vector of each history.

    ``layers`` holds weights and offsets, float64, layer after layer; see `_random_layers`.
    """

    layers: tuple[Floats, ...]

    def _products(self, histories: Sparse) -> NDArray[np.floating]:
        """Score every item for rows of ratings, both of shape (n_rows, n_items).

        The scores are the outputs of the decoder for the mean latent vector. ``self.layers`` are
        weights, of shape (n_inputs, n_outputs), and offsets, (n_outputs,), of encoder, latent
        vector (means first), decoder and items. The values of ratings do not matter.
        """
        encoder, encoder_offset, latent, latent_offset = self.layers[:4]
        decoder, decoder_offset, output, output_offset = self.layers[4:]
        n_factors = len(decoder)
        counts = np.maximum(np.diff(histories.indptr), 1)
        lengths = np.sqrt(counts[:, np.newaxis])
        inputs = pattern(histories) @ encoder / lengths
        encoded = np.tanh(inputs + encoder_offset)
        mean = encoded @ latent[:, :n_factors] + latent_offset[:n_factors]
        decoded = np.tanh(mean @ decoder + decoder_offset)
        return np.asarray(decoded @ output + output_offset)
