"""What holds for every system: all of it for one of each family, what is cheap for the others."""

import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import recommenders
from qrels import Ratings
from recommenders import BatchScorer
from recommenders.shared import scorers
from runs import InputError, Numbering, Run

pytestmark = pytest.mark.slow

DEPTH = 20
SEED = 7

# The first system of each family, by name.
ONE_OF_EACH = {s.family: name for name, s in reversed([*recommenders.systems().items()])}

every_system = pytest.mark.parametrize("name", recommenders.systems())
one_of_each = pytest.mark.parametrize("name", sorted(ONE_OF_EACH.values()))

Train = Callable[[str], BatchScorer]


@pytest.fixture(scope="session")
def trained(ratings: Ratings) -> Train:
    """Train every system once."""
    known: dict[str, BatchScorer] = {}

    def train(name: str) -> BatchScorer:
        if name not in known:
            known[name] = recommenders.train(name, {}, ratings, seed=SEED)
        return known[name]

    return train


@pytest.fixture
def scorer(name: str, trained: Train) -> BatchScorer:
    return trained(name)


def users_of(ratings: Ratings) -> NDArray[np.int32]:
    return np.arange(len(ratings.users), dtype=np.int32)


def lists(scorer: BatchScorer, ratings: Ratings) -> Run:
    return recommenders.recommend(scorer, ratings, users_of(ratings), system="tested", depth=DEPTH)


def trained_lists(name: str, ratings: Ratings) -> NDArray[np.int32]:
    return lists(recommenders.train(name, {}, ratings, seed=SEED), ratings).items


@every_system
def test_scores_are_new_and_float32_and_nobody_gets_what_they_rated(
    scorer: BatchScorer, ratings: Ratings
) -> None:
    scores = scorer.score_batch(users_of(ratings))
    assert scores.dtype == np.float32
    assert scores.shape == (len(ratings.users), len(ratings.items))
    kept = scores.copy()
    scores[:] = -np.inf
    np.testing.assert_array_equal(scorer.score_batch(users_of(ratings)), kept)
    items = lists(scorer, ratings).items
    assert (items[:, 0] >= 0).all()
    assert not (
        (ratings.matrix().toarray() > 0)[users_of(ratings)[:, None], items] & (items >= 0)
    ).any()


@one_of_each
def test_lists_equal_those_of_a_lenskit_pipeline(
    name: str, scorer: BatchScorer, ratings: Ratings
) -> None:
    from lenskit.batch import recommend
    from lenskit.pipeline import topn_pipeline
    from lenskit.training import TrainingOptions

    from recommenders.shared.lenskit_bridge import dataset_of, one_thread, silence

    with silence(), one_thread():
        dataset = dataset_of(ratings)
        component: Any = recommenders.component(name)
        without_compiler = {"LK_TORCH_COMPILE": "0"}
        options = TrainingOptions(rng=SEED, device="cpu", environment=without_compiler)
        # A pipeline would spawn a seed of its own; trained before, it keeps ours.
        component.train(dataset, options)
        pipeline = topn_pipeline(component, n=DEPTH)
        pipeline.train(dataset, TrainingOptions(retrain=False))
        theirs = recommend(pipeline, ratings.users.ids.tolist(), n_jobs=1)
    scores = scorer.score_batch(users_of(ratings)).astype(np.float64)
    for user, ours in enumerate(lists(scorer, ratings).items):
        list_of_user: Any = theirs.lookup(ratings.users.ids[user])
        expected = ratings.items.numbers(list_of_user.ids().astype(str))
        ours = ours[ours >= 0]
        assert len(ours) == len(expected)
        # Ranks may swap among items whose scores are equal but for rounding, or tie.
        np.testing.assert_allclose(scores[user, ours], scores[user, expected], rtol=1e-5)
        np.testing.assert_allclose(scores[user, expected], list_of_user.scores(), rtol=1e-4)


@one_of_each
def test_neither_blocks_nor_pickling_nor_a_second_training_change_the_lists(
    name: str, scorer: BatchScorer, ratings: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = lists(scorer, ratings).items
    np.testing.assert_array_equal(trained_lists(name, ratings), expected)
    np.testing.assert_array_equal(
        lists(pickle.loads(pickle.dumps(scorer)), ratings).items, expected
    )
    for block_users in (1, 7):
        monkeypatch.setattr(scorers, "BLOCK_ROWS", block_users)
        np.testing.assert_array_equal(lists(scorer, ratings).items, expected)


@one_of_each
def test_items_and_users_without_training_ratings_do_no_harm(name: str, ratings: Ratings) -> None:
    """Two users lose all ratings, and with them some items."""
    cold_items = np.arange(len(ratings.items)) % 10 == 0
    kept = ratings.select((ratings.user > 1) & ~cold_items[ratings.item])
    recommended = trained_lists(name, kept)
    assert (recommended[2:, 0] >= 0).all()
    assert not cold_items[recommended[recommended >= 0]].any()


@one_of_each
def test_one_rating_and_constant_ratings_can_be_trained_on(name: str, ratings: Ratings) -> None:
    user, item = np.array([[0], [1]], dtype=np.int32)
    alone = Ratings(Numbering.of("u"), Numbering.of("ab"), user, item, np.array([4.0]))
    assert trained_lists(name, alone).max() == -1
    constant = replace(ratings, rating=np.full(len(ratings), 3.0))
    assert (trained_lists(name, constant)[:, 0] >= 0).all()


def test_workers_give_the_lists_of_the_main_process(ratings: Ratings, trained: Train) -> None:
    from joblib import Parallel, delayed

    # Workers have threads of their own number: LensKit's pool and BLAS are pinned there too.
    # One of LensKit's systems and one of ours.
    by_kind = {spec.lenskit is None: name for name, spec in recommenders.systems().items()}
    names = [*by_kind.values()]
    work = (delayed(trained_lists)(name, ratings) for name in names)
    for name, items in zip(names, Parallel(n_jobs=2)(work), strict=True):
        own = lists(trained(name), ratings).items
        np.testing.assert_array_equal(items, own, err_msg=name)


AMOUNTS = [name for name, spec in recommenders.systems().items() if spec.requires_nonnegative]


@pytest.mark.parametrize("name", AMOUNTS)
@pytest.mark.parametrize(("rating", "rule"), [(-1.0, "at least 0, got -1.0"), (0.0, "rating is 0")])
def test_amounts_below_zero_or_all_zero_cannot_be_trained_on(
    name: str, ratings: Ratings, rating: float, rule: str
) -> None:
    wrong = replace(ratings, rating=np.full(len(ratings), rating))
    with pytest.raises(InputError, match=rf"'{name}' cannot be trained: .*{rule}"):
        recommenders.train(name, {}, wrong, seed=1)
