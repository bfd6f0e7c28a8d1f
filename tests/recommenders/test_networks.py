"""MultiVAE and NeuMF, against the same networks written densely, one user or pair at a time."""

from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

import recommenders
from qrels import Ratings
from recommenders import neumf
from recommenders.multivae import AutoencoderScorer
from recommenders.neumf import NeuMFScorer
from runs import Numbering


@pytest.fixture(scope="module")
def few() -> Ratings:
    """Seven users, the last of whom rated nothing, and five items."""
    table = np.random.default_rng(3).random((7, 5)) < 0.5
    table[:6, 0] = True
    table[6] = False
    user, item = (numbers.astype(np.int32) for numbers in np.nonzero(table))
    return Ratings(
        Numbering.of("tuvwxyz"), Numbering.of("abcde"), user, item, np.full(len(user), 2.0)
    )


def autoencoder(ratings: Ratings, *, dropout: float, divergence: float) -> list[torch.Tensor]:
    """Train three epochs of two batches of four users and of two, in double precision by hand.

    The weight of the divergence rises in the first three of six steps: 0, 1/3, 2/3, then all.
    """
    table = torch.from_numpy(ratings.matrix().toarray() > 0)[:6].float()
    torch.manual_seed(5)
    layers = []
    for inside, outside in ((5, 3), (3, 4), (2, 3), (3, 5)):
        layers.append(torch.randn(inside, outside) * (2 / (inside + outside)) ** 0.5)
        layers.append(torch.zeros(outside))
    for layer in layers:
        layer.requires_grad_()
    optimizer = torch.optim.Adam(layers, lr=0.01)
    into, offset, middle, middle_offset, out, out_offset, last, last_offset = layers
    rises = iter([0, 1 / 3, 2 / 3, 1, 1, 1])
    for _ in range(3):
        order = torch.randperm(6)
        for users in (order[:4], order[4:]):
            rated = table[users]
            lengths = rated.sum(dim=1, keepdim=True).sqrt()
            shown = torch.zeros_like(rated)
            shown[rated > 0] = functional.dropout((rated / lengths)[rated > 0], dropout)
            encoded = torch.tanh(shown @ into + offset) @ middle + middle_offset
            mean, log_variance = encoded[:, :2], encoded[:, 2:]
            latent = mean + torch.randn_like(mean) * torch.exp(log_variance) ** 0.5
            logits = torch.tanh(latent @ out + out_offset) @ last + last_offset
            likelihood = (functional.log_softmax(logits, dim=1) * rated).sum(dim=1)
            apart = 0.5 * (mean**2 + torch.exp(log_variance) - log_variance - 1).sum(dim=1)
            optimizer.zero_grad()
            (next(rises) * divergence * apart - likelihood).mean().backward()
            optimizer.step()
    return layers


@pytest.mark.slow
@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_the_autoencoder_is_trained_as_written(few: Ratings, dropout: float) -> None:
    settings = {
        "factors": 2,
        "hidden": 3,
        "dropout": dropout,
        "divergence": 0.7,
        "learning_rate": 0.01,
        "epochs": 3,
        "batch_users": 4,
    }
    scorer = recommenders.train("multivae", settings, few, seed=5)
    assert isinstance(scorer, AutoencoderScorer)
    with torch.random.fork_rng(devices=[]):
        expected = autoencoder(few, dropout=dropout, divergence=0.7)
    for found, layer in zip(scorer.layers, expected, strict=True):
        np.testing.assert_allclose(found, layer.detach().numpy(), rtol=1e-3, atol=1e-5)


def test_the_autoencoder_scores_by_the_mean_vector(few: Ratings) -> None:
    """Two items of five are 1 / sqrt(2) each."""
    rng = np.random.default_rng(1)
    shapes = [(5, 3), (3,), (3, 4), (4,), (2, 3), (3,), (3, 5), (5,)]
    layers = tuple(rng.normal(size=shape) for shape in shapes)
    scorer = AutoencoderScorer(few, layers)
    histories = few.matrix()[[0, 6]]
    rated = (few.matrix().toarray()[0] > 0) / np.sqrt(histories[[0]].nnz)
    into, offset, middle, middle_offset, out, out_offset, last, last_offset = layers
    mean = (np.tanh(rated @ into + offset) @ middle + middle_offset)[:2]
    expected = np.tanh(mean @ out + out_offset) @ last + last_offset
    scores = scorer.score_histories(histories)
    np.testing.assert_allclose(scores[0], expected, rtol=1e-5)
    assert np.isnan(scores[1]).all()


def both_parts(ratings: Ratings, *, hidden: int, half: int) -> list[torch.Tensor]:
    """Train NeuMF for two epochs, in batches of nine ratings with two random items each."""
    torch.manual_seed(5)
    layers: list[torch.Tensor] = [torch.randn(n, 2) * 0.01 for n in (7, 5, 7, 5)]
    for inside, outside in ((4, hidden), (hidden, half), (2 + half, 1)):
        layers.append(torch.randn(inside, outside) * (2 / inside) ** 0.5)
        layers.append(torch.zeros(outside))
    for layer in layers:
        layer.requires_grad_()
    optimizer = torch.optim.AdamW(layers, lr=0.01, weight_decay=0.3)
    pairs = [*zip(ratings.user.tolist(), ratings.item.tolist(), strict=True)]
    for _ in range(2):
        order = torch.randperm(len(pairs)).tolist()
        for start in range(0, len(order), 9):
            rated = [pairs[place] for place in order[start : start + 9]]
            items = torch.randint(5, (2 * len(rated),)).tolist()
            random = [*zip([user for user, _ in rated] * 2, items, strict=True)]
            logits = torch.stack([logit(layers, user, item) for user, item in rated + random])
            wanted = torch.tensor([1.0] * len(rated) + [0.0] * len(random))
            chances = torch.sigmoid(logits)
            loss = -(wanted * chances.log() + (1 - wanted) * (1 - chances).log()).mean()
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    return layers


def logit(layers: list[Any], user: int, item: int) -> Any:
    """Score a pair by the formula."""
    p, q, p_deep, q_deep, first, offset, second, second_offset, last, last_offset = layers
    deep = torch.relu(torch.cat([p_deep[user], q_deep[item]]) @ first + offset)
    deep = torch.relu(deep @ second + second_offset)
    return (torch.cat([p[user] * q[item], deep]) @ last + last_offset)[0]


@pytest.mark.slow
@pytest.mark.parametrize(("hidden", "half"), [(3, 1), (4, 2), (1, 1)])
def test_neumf_is_trained_and_scores_as_written(
    few: Ratings, hidden: int, half: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {
        "factors": 2,
        "hidden": hidden,
        "negatives": 2,
        "regularization": 0.3,
        "learning_rate": 0.01,
        "epochs": 2,
        "batch_ratings": 9,
    }
    scorer = recommenders.train("neumf", settings, few, seed=5)
    assert isinstance(scorer, NeuMFScorer)
    with torch.random.fork_rng(devices=[]):
        layers = both_parts(few, hidden=hidden, half=half)
    for found, layer in zip(scorer.layers, layers, strict=True):
        np.testing.assert_allclose(found, layer.detach().numpy(), rtol=1e-3, atol=1e-5)
    users = np.array([6, 4, 0], dtype=np.int32)
    expected = np.array(
        [[logit(layers, user, item).item() for item in range(5)] for user in (4, 0)]
    )
    expected -= layers[-1].item()
    scores = scorer.score_batch(users)
    assert np.isnan(scores[0]).all()
    np.testing.assert_allclose(scores[1:], expected, atol=1e-4)
    monkeypatch.setattr(neumf, "ITEMS_AT_ONCE", 2 * hidden)
    np.testing.assert_allclose(scorer.score_batch(users), scores, rtol=1e-6)
