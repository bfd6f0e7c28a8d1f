"""LensKit's own tests of components, on our systems; and what they do not ask."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from lenskit.data import Dataset, ItemList, RecQuery, from_interactions_df
from lenskit.testing import BasicComponentTests, ScorerTests
from lenskit.training import TrainingOptions

import recommenders
from qrels import Ratings
from recommenders.shared.lenskit_bridge import dataset_of

# Systems whose item neighbours may all be strangers to a user.
CANNOT_SCORE_ALL = {"als-knn", "item-knn", "rp3beta"}

# LensKit's tests have fixtures that pytest is going to refuse, and a field that it drops itself.
lenskit_tests = pytest.mark.filterwarnings(
    "ignore:Class-scoped fixtures defined as instance",
    "ignore:user_items is deprecated:DeprecationWarning",
    "ignore:no query items",
    "ignore:no user history available",
    "ignore:The given NumPy array is not writable",
    "ignore:maximum time is naïve",
)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


@pytest.fixture(scope="module")
def ml_ratings(ratings: Ratings) -> pd.DataFrame:
    """Ratings as LensKit's tests expect them, ids being integers."""
    seconds = np.arange(len(ratings)) * 60
    return pd.DataFrame(
        {
            "user_id": ratings.user + 1000,
            "item_id": ratings.item + 5000,
            "rating": ratings.rating,
            "timestamp": pd.to_datetime(np.random.default_rng(0).permutation(seconds), unit="s"),
        }
    )


@pytest.fixture(scope="module")
def ml_ds(ml_ratings: pd.DataFrame) -> Dataset:
    return from_interactions_df(ml_ratings)


@pytest.fixture
def ml_100k(ml_ratings: pd.DataFrame) -> pd.DataFrame:
    return ml_ratings


@pytest.fixture(scope="module", autouse=True)
def one_process_without_compiler() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LK_NUM_PROCS", "1")
        patch.setenv("LK_TORCH_COMPILE", "0")
        yield


def component_tests(name: str) -> type:
    """Give LensKit's tests, for the component that a user gets under this name."""
    component = recommenders.component(name)
    attributes = {
        "component": type(component),
        "config": component.config,
        "configs": [component.dump_config()],
        "can_score": "some" if name in CANNOT_SCORE_ALL else "known",
    }
    tests = type(f"Test_{name}", (BasicComponentTests, ScorerTests), attributes)
    return pytest.mark.slow(lenskit_tests(tests))


# pytest collects classes by their names in the module.
# One system of each family; every LensKit component is tested by LensKit itself.
FAMILIES = {spec.family: name for name, spec in recommenders.systems().items() if not spec.lenskit}
globals().update({f"Test_{name}": component_tests(name) for name in FAMILIES.values()})


@pytest.mark.slow
def test_a_pipeline_that_was_saved_gives_the_lists_of_a_study(ratings: Ratings) -> None:
    from lenskit.batch import recommend
    from lenskit.pipeline import Pipeline, topn_pipeline

    from recommenders import RM2Config, RM2Scorer

    config = topn_pipeline(RM2Scorer(RM2Config(neighbours=10)), n=20).config
    pipeline = Pipeline.from_config(config)
    scorer: Any = pipeline.node("scorer")
    scorer.component.train(dataset_of(ratings), TrainingOptions(rng=1))
    pipeline.train(dataset_of(ratings), TrainingOptions(retrain=False))
    everybody = np.arange(len(ratings.users), dtype=np.int32)
    theirs = recommend(pipeline, ratings.users.ids.tolist(), n_jobs=1)
    of_study = recommenders.train("rm2", {"neighbours": 10}, ratings, seed=1)
    run = recommenders.recommend(of_study, ratings, everybody, system="rm2", depth=20)
    for user, items in zip(ratings.users.ids, run.items, strict=True):
        found = theirs.lookup(user)
        assert found is not None
        assert found.ids().tolist() == ratings.items.ids[items[items >= 0]].tolist()


def test_a_history_counts_more_than_the_user_it_came_from(ratings: Ratings) -> None:
    model: Any = recommenders.component("puresvd", {"factors": 5})
    model.train(dataset_of(ratings), TrainingOptions(rng=1))
    item = ItemList(ratings.items.ids)
    first, second = (str(ratings.users.ids[number]) for number in (0, 1))
    history = dataset_of(ratings).user_row(second)
    asked = model(RecQuery(user_id=first, history_items=history), item).scores()
    np.testing.assert_array_equal(asked, model(RecQuery(user_id=second), item).scores())


@pytest.mark.parametrize("number", [0, 1])
def test_a_history_is_a_row_of_its_known_items_and_their_ratings(
    ratings: Ratings, number: int
) -> None:
    model: Any = recommenders.component("puresvd", {"factors": 5})
    model.train(dataset_of(ratings), TrainingOptions(rng=1))
    known = str(ratings.items.ids[number])
    row = model._history_row(ItemList(["nowhere", known], rating=[3.0, 4.0])).toarray()
    assert row.shape == (1, len(ratings.items))
    assert {number: 4.0} == {at: row[0, at] for at in np.flatnonzero(row).tolist()}
    assert model._history_row(ItemList([known])).toarray()[0, number] == 1


def test_unknown_items_and_users_score_nan(ratings: Ratings) -> None:
    model: Any = recommenders.component("random")
    model.train(dataset_of(ratings), TrainingOptions(rng=1))
    known = str(ratings.users.ids[0])
    assert np.isnan(model(known, ItemList(["0", "?"])).scores()).tolist() == [False, True]
    assert np.isnan(model("?", ItemList(["0"])).scores()).all()
    assert np.isnan(model(RecQuery(), ItemList(["0"])).scores()).all()
