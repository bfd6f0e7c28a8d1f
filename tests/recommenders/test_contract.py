"""What holds for every system. A new system is one more name in SYSTEMS."""

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import recommenders
from qrels import Ratings
from recommenders import BatchScorer
from recommenders.shared import scorers
from runs import Numbering, Run

pytestmark = pytest.mark.slow

SYSTEMS = [
    "als-knn",
    "bprmf",
    "chi2",
    "ease",
    "ht",
    "item-knn",
    "kld",
    "krichene-x",
    "krichene-y",
    "krichene-z",
    "lda",
    "lm-wsr-ib",
    "lm-wsr-ub",
    "nncosngbr-ib",
    "nncosngbr-ub",
    "plsa",
    "popularity",
    "puresvd",
    "random",
    "rm1",
    "rm2",
    "rp3beta",
    "rsv",
    "rw",
    "slim",
    "svd",
    "uir-item",
    "wrmf",
]
DEPTH = 20
SEED = 7

every_system = pytest.mark.parametrize("name", SYSTEMS)
_scorers: dict[str, BatchScorer] = {}
_runs: dict[str, Run] = {}


@pytest.fixture
def scorer(name: str, ratings: Ratings) -> BatchScorer:
    if name not in _scorers:
        _scorers[name] = recommenders.train(name, {}, ratings, seed=SEED)
    return _scorers[name]


def users_of(ratings: Ratings) -> NDArray[np.int32]:
    return np.arange(len(ratings.users), dtype=np.int32)


@pytest.fixture
def run(name: str, scorer: BatchScorer, ratings: Ratings) -> Run:
    """Everybody's lists."""
    if name not in _runs:
        _runs[name] = lists(scorer, ratings)
    return _runs[name]


def lists(scorer: BatchScorer, ratings: Ratings) -> Run:
    return recommenders.recommend(scorer, ratings, users_of(ratings), system="tested", depth=DEPTH)


def trained_lists(name: str, ratings: Ratings) -> NDArray[np.int32]:
    return lists(recommenders.train(name, {}, ratings, seed=SEED), ratings).items


def test_every_system_of_the_register_is_tested_here() -> None:
    assert list(recommenders.systems()) == SYSTEMS


@every_system
def test_lists_equal_those_of_a_lenskit_pipeline(
    name: str, scorer: BatchScorer, run: Run, ratings: Ratings
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
    for user, user_id in enumerate(ratings.users.ids):
        list_of_user = theirs.lookup(user_id)
        assert list_of_user is not None
        expected = ratings.items.numbers(list_of_user.ids().astype(str))
        ours = run.items[user]
        ours = ours[ours >= 0]
        assert len(ours) == len(expected)
        # Ranks may swap among items whose scores are equal but for rounding, or tie.
        np.testing.assert_allclose(scores[user, ours], scores[user, expected], rtol=1e-5)
        their_scores: Any = list_of_user.scores()
        np.testing.assert_allclose(scores[user, expected], their_scores, rtol=1e-4)


@every_system
def test_a_seed_settles_the_lists(name: str, run: Run, ratings: Ratings) -> None:
    np.testing.assert_array_equal(trained_lists(name, ratings), run.items)


@every_system
@pytest.mark.parametrize("block_users", [1, 7])
def test_the_size_of_the_blocks_does_not_matter(
    scorer: BatchScorer,
    run: Run,
    ratings: Ratings,
    block_users: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scorers, "BLOCK_ROWS", block_users)
    np.testing.assert_array_equal(lists(scorer, ratings).items, run.items)


@every_system
def test_scores_are_a_new_array_that_may_be_overwritten(
    scorer: BatchScorer, ratings: Ratings
) -> None:
    first = scorer.score_batch(users_of(ratings))
    kept = first.copy()
    first[:] = -np.inf
    np.testing.assert_array_equal(scorer.score_batch(users_of(ratings)), kept)


@every_system
def test_scores_are_float32_for_every_user_and_item(scorer: BatchScorer, ratings: Ratings) -> None:
    scores = scorer.score_batch(np.array([3, 1, 3], dtype=np.int32))
    assert scores.dtype == np.float32
    assert scores.shape == (3, len(ratings.items))
    np.testing.assert_array_equal(scores[0], scores[2])


@every_system
def test_a_pickled_scorer_gives_the_same_lists(
    scorer: BatchScorer, run: Run, ratings: Ratings
) -> None:
    copy = pickle.loads(pickle.dumps(scorer))
    np.testing.assert_array_equal(lists(copy, ratings).items, run.items)


@every_system
def test_nobody_is_recommended_what_they_rated_in_training(run: Run, ratings: Ratings) -> None:
    rated = ratings.matrix().toarray() > 0
    for user in users_of(ratings):
        items = run.items[user][run.items[user] >= 0]
        assert not rated[user, items].any()


@every_system
def test_items_and_users_without_training_ratings_do_no_harm(name: str, ratings: Ratings) -> None:
    """Two users lose all ratings, and with them some items."""
    cold_items = np.arange(len(ratings.items)) % 10 == 0
    kept = ratings.select((ratings.user > 1) & ~cold_items[ratings.item])
    scorer = recommenders.train(name, {}, kept, seed=SEED)
    recommended = lists(scorer, kept).items
    assert (recommended[2:, 0] >= 0).all()
    assert not cold_items[recommended[recommended >= 0]].any()


@every_system
def test_one_user_with_one_rating_can_be_trained_on(name: str) -> None:
    alone = Ratings(
        Numbering.of(["u"]),
        Numbering.of(["a", "b"]),
        np.array([0], dtype=np.int32),
        np.array([1], dtype=np.int32),
        np.array([4.0]),
    )
    assert trained_lists(name, alone).max() == -1


@every_system
def test_constant_ratings_can_be_trained_on(name: str, ratings: Ratings) -> None:
    constant = replace(ratings, rating=np.full(len(ratings), 3.0))
    assert (trained_lists(name, constant)[:, 0] >= 0).all()


def test_workers_give_the_lists_of_the_main_process(ratings: Ratings) -> None:
    from joblib import Parallel, delayed

    # Workers have threads of their own number: LensKit's pool and BLAS are pinned there too.
    work = (delayed(trained_lists)(name, ratings) for name in SYSTEMS)
    for name, items in zip(SYSTEMS, Parallel(n_jobs=2)(work), strict=True):
        own = _runs[name].items if name in _runs else trained_lists(name, ratings)
        np.testing.assert_array_equal(items, own, err_msg=name)
