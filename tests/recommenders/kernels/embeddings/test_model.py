"""Item-kNN on learned vectors, from interactions to hidden ranks."""

from dataclasses import replace

import numpy as np
import pytest

from recommenders.kernels.embeddings import EmbeddingSettings, similarity
from recommenders.kernels.hidden_ranks import rank_hidden
from tests.embedding_example import two_tastes
from tests.hidden_example import events_of

pytest.importorskip("implicit", reason="implicit is not installed")

SMALL = EmbeddingSettings(factors=2, regularization=0.1, neighbours=5)


def test_neighbours_are_of_one_taste() -> None:
    found = similarity(two_tastes(), SMALL, seed=1).toarray()
    assert not found[:6, 6:].any()
    assert not found[6:, :6].any()


def test_similarities_rank_hidden_items() -> None:
    """Users who had five of the six items of a taste are offered the sixth."""
    model = similarity(two_tastes(), SMALL, seed=1)
    test = events_of([range(6), range(6, 12)], n_items=12)
    assert rank_hidden(model, test, n_jobs=1).rank_loo.tolist() == [1] * 12


def test_items_that_were_pruned_have_no_neighbours_and_are_nobodys() -> None:
    events = two_tastes()
    seldom = events.user_counts().argmin()
    settings = replace(SMALL, min_users_per_item=int(events.user_counts()[seldom]) + 1)
    found = similarity(events, settings, seed=1)
    assert found.shape == (12, 12)
    assert not found[[seldom]].nnz
    assert seldom not in found.indices


def test_values_of_events_count() -> None:
    events = two_tastes()
    plain = replace(SMALL, bm25_rows="none")
    dear = replace(events, value=np.where(events.item == 0, 20.0, 1.0))
    one, other = (similarity(each, plain, seed=1) for each in (events, dear))
    assert (one.toarray() != other.toarray()).any()


@pytest.mark.slow
def test_a_model_is_the_same_whatever_the_number_of_threads() -> None:
    one, other = (similarity(two_tastes(), SMALL, seed=1, n_jobs=jobs) for jobs in (1, 2))
    np.testing.assert_array_equal(one.toarray(), other.toarray())
