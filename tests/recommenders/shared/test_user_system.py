"""Systems in files of users."""

from pathlib import Path

import numpy as np
import pytest

import recommenders
from qrels import Ratings
from recommenders import BatchScorer, find_system
from runs import InputError

IMPORTS = """
from dataclasses import dataclass

import numpy as np
from lenskit.data import ItemList
from lenskit.pipeline import Component
from lenskit.training import Trainable
from pydantic import BaseModel
from recommenders import Settings, system
from recommenders.shared.scorers import FactorScorer
"""
COMPONENT = (
    IMPORTS
    + """
class Config(BaseModel):
    sign: int = 1

class ByCount(Component[ItemList], Trainable):
    "Count ratings."
    config: Config

    def train(self, data, options=None):
        self.counts = data.item_stats()["rating_count"]

    def is_trained(self):
        return hasattr(self, "counts")

    def __call__(self, query: object, items: ItemList) -> ItemList:
        return ItemList(items, scores=self.config.sign * self.counts.reindex(items.ids()).values)
"""
)
SYSTEM = (
    IMPORTS
    + """
@system("counts", family="baseline", source="-")
def by_count(ratings, settings: Settings, *, seed):
    "Count ratings."
    counts = ratings.item_counts().astype(float)
    return FactorScorer(ratings, np.ones((len(ratings.users), 1)), counts[:, None])
"""
)


def trained(text: str, wanted: str, folder: Path, ratings: Ratings, **settings: int) -> BatchScorer:
    (folder / "own.py").write_text(text)
    return recommenders.train(f"{folder}/own.py:{wanted}", settings, ratings, seed=1)


def counted(scorer: BatchScorer, ratings: Ratings) -> bool:
    scores = scorer.score_batch(np.array([4, 2], dtype=np.int32))
    return np.array_equal(scores, np.tile(ratings.item_counts(), (2, 1)))


def test_a_lenskit_component_is_a_system(tmp_path: Path, ratings: Ratings) -> None:
    assert counted(trained(COMPONENT, "ByCount", tmp_path, ratings), ratings)


def test_a_component_is_trained_if_it_has_train_alone(tmp_path: Path, ratings: Ratings) -> None:
    text = COMPONENT.replace("(Component[ItemList], Trainable)", "(Component[ItemList])")
    text = text.replace("is_trained", "is_ready")
    assert counted(trained(text, "ByCount", tmp_path, ratings), ratings)


def test_a_component_in_a_pipeline_is_trained_or_refused(tmp_path: Path, ratings: Ratings) -> None:
    from lenskit.training import Trainable

    text = COMPONENT.replace("is_trained", "is_ready") + PIPELINE
    if hasattr(Trainable, "is_trained"):  # LensKit 2026
        with pytest.raises(InputError, match="'scorer', which must have the method `is_trained`"):
            trained(text, "made", tmp_path, ratings)
    else:
        (scores,) = trained(text, "made", tmp_path, ratings).score_batch(np.array([4], np.int32))
        assert not np.isnan(scores).all()


def test_a_changed_file_is_another_system(tmp_path: Path, ratings: Ratings) -> None:
    assert counted(trained(SYSTEM, "by_count", tmp_path, ratings), ratings)
    scorer = trained(SYSTEM.replace("np.ones", "-np.ones"), "by_count", tmp_path, ratings)
    (scores,) = scorer.score_batch(np.array([4], dtype=np.int32))
    assert np.array_equal(scores, -ratings.item_counts())


def test_a_declared_system_is_a_system(tmp_path: Path, ratings: Ratings) -> None:
    assert counted(trained(SYSTEM, "by_count", tmp_path, ratings), ratings)


PIPELINE = "from lenskit.pipeline import topn_pipeline\nmade = topn_pipeline(ByCount())\n"
MODEL = """
from implicit.nearest_neighbours import CosineRecommender
made = CosineRecommender(K=5)
"""


@pytest.mark.parametrize("maker", ["", "def build(): return made\n"])
def test_a_lenskit_pipeline_is_a_system_that_ranks_by_itself(
    maker: str, tmp_path: Path, ratings: Ratings
) -> None:
    wanted = "build" if maker else "made"
    scorer = trained(COMPONENT + PIPELINE + maker, wanted, tmp_path, ratings)
    (scores,) = scorer.score_batch(np.array([4], dtype=np.int32))
    counts = ratings.item_counts()
    seen = ratings.item[ratings.user == 4]
    assert np.isnan(scores[seen]).all()
    listed = np.flatnonzero(~np.isnan(scores))
    assert {*listed, *seen} == {*np.flatnonzero(counts)}
    assert (np.diff(counts[listed[np.argsort(-scores[listed])]]) <= 0).all()


@pytest.mark.filterwarnings("ignore:Method expects CSR")
def test_a_model_with_the_methods_of_implicit_is_a_system(tmp_path: Path, ratings: Ratings) -> None:
    nearest_neighbours = pytest.importorskip("implicit.nearest_neighbours")
    from scipy.sparse import csr_matrix

    scorer = trained(MODEL, "made", tmp_path, ratings)
    (scores,) = scorer.score_batch(np.array([4], dtype=np.int32))
    model, matrix = nearest_neighbours.CosineRecommender(K=5), csr_matrix(ratings.matrix())
    model.fit(matrix, show_progress=False)
    listed, _ = model.recommend(4, matrix[4], N=5, filter_already_liked_items=False)
    assert np.argsort(-scores)[:5].tolist() == listed.tolist()


def test_a_data_class_may_be_the_configuration(tmp_path: Path, ratings: Ratings) -> None:
    text = COMPONENT.replace("class Config(BaseModel)", "@dataclass\nclass Config")
    with pytest.raises(InputError, match="has no setting 'sin'; did you mean 'sign'"):
        trained(text, "ByCount", tmp_path, ratings, sin=1)
    assert counted(trained(text, "ByCount", tmp_path / ".", ratings, sign=1), ratings)


PREDICTS = COMPONENT + "from lenskit.pipeline import predict_pipeline\n"
PREDICTS += "Mine = predict_pipeline(ByCount())\n"
NOT_ASKED = (
    COMPONENT
    + """
from lenskit.pipeline import PipelineBuilder

builder = PipelineBuilder()
query, items = builder.create_input("query", object), builder.create_input("items", ItemList)
builder.add_component("recommender", ByCount(), query=query, items=items)
Mine = builder.build()
"""
)
UNLIKE_IMPLICIT = """
class Model:
    def fit(self, matrix): ...
    def recommend(self, users): ...
Mine = Model()
"""
SPLIT = """
from qrels import SplitSettings, split

@split("mine", source="-")
def Mine(ratings, settings: SplitSettings, *, seed): ...
"""
UNDESCRIBED = """
from recommenders import system

@system("counts", family="baseline", source="-")
def Mine(ratings, settings, *, seed): ...
"""


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        (None, "the file of the system does not exist"),
        ("1 / 0", "the file of the system fails with ZeroDivisionError"),
        ("Mine = 3", "'Mine' in it must be a LensKit component class"),
        ("Mien = 3", "there is no 'Mine' in it; did you mean 'Mien'"),
        (PREDICTS, "the pipeline 'Mine' must have a component 'recommender'"),
        (f"{PREDICTS}made = Mine\ndef Mine(): return made", "'Mine' must have a component 'recom"),
        (NOT_ASKED, "the pipeline 'Mine' must have an input 'n'"),
        (COMPONENT + "Mine = ByCount()", "'Mine' in it is a LensKit component; name its class"),
        (UNLIKE_IMPLICIT, "method `fit` of 'Mine' must take the keyword 'show_progress'"),
        ("def Mine(n): ...", "'Mine' in it must make a system when called without arguments"),
        (SPLIT, "'Mine' in it must be a LensKit component class"),
        (UNDESCRIBED, "argument `settings` of 'Mine' must be annotated"),
        ("def Mine(): 1 / 0", r"'own.py:Mine' fails in .*own.py, line 1: ZeroDivisionError"),
    ],
)
def test_a_file_without_the_system_is_refused(
    tmp_path: Path, text: str | None, finding: str
) -> None:
    if text is not None:
        (tmp_path / "own.py").write_text(text)
    with pytest.raises(InputError, match=finding):
        find_system(f"{tmp_path}/own.py:Mine")


def test_a_file_alone_is_no_name_of_a_system() -> None:
    with pytest.raises(InputError, match=r"named with the object in the file: own\.py:NAME"):
        find_system("own.py")


def test_a_component_that_fails_is_told_file_and_line(tmp_path: Path, ratings: Ratings) -> None:
    text = COMPONENT.replace("self.counts = ", "self.counts = data.nothing + ")
    with pytest.raises(InputError, match=r"'own.py:ByCount' fails in .*own.py, line \d+: Attrib"):
        trained(text, "ByCount", tmp_path, ratings)


def test_a_component_must_return_scores(tmp_path: Path, ratings: Ratings) -> None:
    text = COMPONENT.replace("return ItemList(items, scores=", "return (items, ")
    scorer = trained(text, "ByCount", tmp_path, ratings)
    with pytest.raises(InputError, match="must return an ItemList with scores"):
        scorer.score_batch(np.array([0], dtype=np.int32))
