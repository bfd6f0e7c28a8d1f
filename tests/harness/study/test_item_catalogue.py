"""What a study knows of items: its tables of them, and what is refused before any work."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.study.collection import Collection, collect
from harness.study.item_catalogue import example_catalogue, read_catalogue
from harness.study.run import check
from harness.study.sections import ItemsSection
from harness.study.study import Study
from qrels import Catalogue, Qrels, Ratings, Split
from qrels.ranks.hidden_ranks import MISS
from qrels.ratings.world.truth import item_propensities
from runs import InputError, Numbering
from tests.harness.small import NO_ANALYSES, TREC, WORLD, run_text, write_collection

USERS, CATALOGUE = Numbering.of(["u0", "u1", "u2"]), Numbering.of(["a", "b", "c", "d"])


def ratings_of(rows: list[tuple[int, int, float]]) -> Ratings:
    """Ratings of three users and four items: user, item, rating."""
    user, item, rating = zip(*rows, strict=True)
    numbers = np.array(user, np.int32), np.array(item, np.int32)
    return Ratings(USERS, CATALOGUE, *numbers, np.array(rating))


TRAIN = ratings_of([(0, 0, 2.0), (0, 1, 3.0), (2, 0, 5.0)])
TEST = ratings_of([(1, 3, 4.0), (2, 1, 5.0)])
QRELS = Qrels(np.array([0, 1, 2]), np.array([3, 1], np.int32), np.array([1, 1], np.int32), 1)


def collection(*, split: Split | None = None) -> Collection:
    """A collection of two topics, of whom one judged d and the other b."""
    topics = Numbering.of(["u1", "u2"])
    return Collection(topics, CATALOGUE, QRELS, inputs=(), facts={}, split=split)


def table(folder: Path, text: str) -> Path:
    (folder / "items.csv").write_text(text)
    return folder / "items.csv"


UNKNOWN = ("popularity", "n_raters", "profiles", "features", "propensities", "hidden_ranks")


def unknown(known: Catalogue) -> set[str]:
    return {name for name in UNKNOWN if getattr(known, name) is None}


def catalogue(section: ItemsSection, *, split: Split | None = None) -> Catalogue:
    return read_catalogue(section, collection(split=split))


# What training ratings tell


def test_training_ratings_tell_popularity_raters_and_profiles() -> None:
    known = catalogue(ItemsSection(), split=Split(TRAIN, TEST))
    assert known.n_items == 4
    assert known.require("popularity").tolist() == [2, 1, 0, 0]
    assert known.require("popularity").dtype == np.int64
    assert known.n_raters == 2
    # Of the users who are tested, u1 and u2, one rated nothing in training.
    assert known.require("profiles").toarray().tolist() == [[0, 0, 0, 0], [5, 0, 0, 0]]


def test_given_runs_tell_nothing_of_items() -> None:
    known = catalogue(ItemsSection())
    assert known.n_items == 4
    assert unknown(known) == {*UNKNOWN}


# Tables


def test_a_table_of_popularity_stands_for_training_ratings(tmp_path: Path) -> None:
    section = ItemsSection(popularity=table(tmp_path, "item,count\na,6\nb,0\nd,2\nx,1\n"))
    for split in (None, Split(TRAIN, TEST)):
        assert catalogue(section, split=split).require("popularity").tolist() == [6, 0, 0, 2]


def test_a_count_must_be_a_whole_number(tmp_path: Path) -> None:
    section = ItemsSection(popularity=table(tmp_path, "item,count\na,6\nb,1.5\nd,2.25\n"))
    finding = r"items\.csv: the count of an item must be a whole number, got 1\.5\."
    with pytest.raises(InputError, match=finding):
        catalogue(section)


def test_an_unjudged_item_needs_no_propensity(tmp_path: Path) -> None:
    section = ItemsSection(propensities=table(tmp_path, "item,chance\nb,1\nc,0.25\nd,0.5\n"))
    assert catalogue(section).require("propensities").tolist() == [1, 1, 0.25, 0.5]


def test_judged_items_without_a_propensity_are_counted(tmp_path: Path) -> None:
    section = ItemsSection(propensities=table(tmp_path, "item,chance\nb,1\nc,0.25\n"))
    with pytest.raises(InputError, match="1 judged items have no propensity, the first is 'd'"):
        catalogue(section)
    section = ItemsSection(propensities=table(tmp_path, "item,chance\na,1\n"))
    with pytest.raises(InputError, match="2 judged items have no propensity, the first is 'd'"):
        catalogue(section)


@pytest.mark.parametrize("chance", ["0", "1.01", "-0.5"])
def test_a_propensity_is_above_0_and_at_most_1(tmp_path: Path, chance: str) -> None:
    section = ItemsSection(propensities=table(tmp_path, f"item,chance\nb,1\nd,{chance}\n"))
    with pytest.raises(InputError, match=r"items\.csv, line 3: .*propensity"):
        catalogue(section)


def test_a_table_of_features_describes_the_items(tmp_path: Path) -> None:
    path = table(tmp_path, "item,year,genres\na,1990,war|drama\nc,1991,war\nz,1993,noir\n")
    known = catalogue(ItemsSection(features=path, columns=("genres",)))
    columns = dict(zip(known.feature_names, known.require("features").T.tolist(), strict=True))
    assert (columns["drama"], columns["war"]) == ([1, 0, 0, 0], [1, 0, 1, 0])
    assert "year" not in columns
    whole = catalogue(ItemsSection(features=path))
    columns = dict(zip(whole.feature_names, whole.require("features").T.tolist(), strict=True))
    assert columns["year"] == [1990, 0, 1991, 0]


# What is refused before any work

GENRES = "item,year,genres\na,1990,war|drama\nc,1991,war\nd,1992,noir\nz,1993,drama\n"
ITEMS = """
[items]
features = "items.csv"
columns = ["genres"]
"""


def metrics(*names: str) -> str:
    return f"[metrics]\nnames = [{', '.join(map(repr, names))}]\ncutoffs = [2]\n"


@pytest.fixture
def given(tmp_path: Path) -> Path:
    write_collection(tmp_path)
    (tmp_path / "items.csv").write_text(GENRES)
    return tmp_path


@pytest.mark.parametrize("name", ["ILD", "EILD", "alpha-nDCG", "ERR-IA", "S-Recall"])
def test_a_metric_of_features_asks_for_them_before_any_work(name: str, tmp_path: Path) -> None:
    study = Study.parse(WORLD + metrics(name), source="study.toml", base=tmp_path, changes={})
    finding = rf'study.toml, line \d+: metric {name!r}: .* write features = "features.csv" in'
    with pytest.raises(InputError, match=finding):
        check(study)


@pytest.mark.parametrize("name", ["EPC", "MSI", "ARP"])
def test_a_metric_of_popularity_asks_for_ratings_before_any_work(name: str, given: Path) -> None:
    with pytest.raises(InputError, match=rf"metric {name!r}: .* is unknown.*\[ratings\]"):
        run_text(TREC + metrics(name) + NO_ANALYSES, given, output=given / "study")


def test_features_that_are_no_categories_are_refused_before_any_work(given: Path) -> None:
    text = TREC + metrics("S-Recall") + ITEMS.replace("genres", "year") + NO_ANALYSES
    finding = r"line \d+: metric 'S-Recall': the features must be categories, 0 or 1: 'year' is"
    with pytest.raises(InputError, match=finding):
        run_text(text, given, output=given / "study")
    assert not (given / "study").exists()


# Propensities of a world


def test_a_world_tells_how_likely_its_items_are_observed(tmp_path: Path) -> None:
    text = WORLD + '[items]\npropensities = "world"\n'
    study = Study.parse(text, source="study.toml", base=tmp_path, changes={})
    world = collect(study)
    split = world.split
    assert split is not None
    assert world.truth is not None
    assert world.observation is not None
    found = read_catalogue(study.items, world).require("propensities")
    n_ratings = split.train.user_counts() + split.test.user_counts()
    ids = split.train.users.ids, split.train.items.ids
    expected = item_propensities(world.truth, world.observation, *ids, n_ratings, threshold=4.0)
    np.testing.assert_array_equal(found, expected)
    of_items = split.train.item_counts() + split.test.item_counts()
    assert np.corrcoef(found, of_items)[0, 1] > 0.8


def test_propensities_of_a_world_need_a_world(given: Path) -> None:
    text = TREC + metrics("P") + '[items]\npropensities = "world"\n' + NO_ANALYSES
    with pytest.raises(InputError, match=r"study.toml, line \d+: `propensities` in \[items\] may"):
        run_text(text, given, output=given / "study")


def test_propensities_of_a_world_need_ratings_of_it() -> None:
    finding = r'`propensities` in \[items\] may be "world" only in a study of a simulated world'
    with pytest.raises(InputError, match=finding):
        catalogue(ItemsSection(propensities="world"), split=Split(TRAIN, TEST))
    with pytest.raises(InputError, match=finding):
        catalogue(ItemsSection(propensities="world"))


# What metrics are tried out on


def example(text: str, *needs: Any) -> Catalogue:
    return example_catalogue(Study.parse(text, source="study.toml"), needs)


def test_metrics_are_tried_with_what_will_be_known() -> None:
    known = example(WORLD)
    assert known.n_items == 3
    assert known.n_raters == 3
    assert known.require("popularity").tolist() == [1, 1, 1]
    assert known.require("profiles").toarray().tolist() == np.eye(3).tolist()
    assert unknown(known) == {"propensities", "features", "hidden_ranks"}


def test_metrics_of_given_runs_are_tried_without_training() -> None:
    known = example(TREC)
    assert known.n_items == 3
    assert unknown(known) == {*UNKNOWN}
    assert example(TREC, "loo").hidden_ranks is None


def test_metrics_are_tried_with_tables_that_the_study_names() -> None:
    paths = 'popularity = "a"\nfeatures = "b"\npropensities = "c"\n'
    known = example(TREC + "[items]\n" + paths)
    assert known.require("popularity").tolist() == [1, 1, 1]
    assert known.require("propensities").tolist() == [1, 1, 1]
    assert known.require("features").tolist() == np.eye(3).tolist()
    assert len(known.feature_names) == 3


def test_metrics_that_hide_items_are_tried_with_the_ranks_that_they_need() -> None:
    known = example(WORLD, "lloo").require("hidden_ranks")
    (ranks,) = known.values()
    assert ranks.loo is None
    assert ranks.require("lloo").tolist() == [1, 3, MISS, 2]
