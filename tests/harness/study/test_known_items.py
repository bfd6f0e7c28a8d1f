"""What a study knows of items: its tables of them, and what is refused before any work."""

from pathlib import Path

import numpy as np
import pytest

from harness.study.collection import collect
from harness.study.item_catalogue import read_catalogue
from harness.study.run import check
from harness.study.study import Study
from runs import InputError
from tests.harness.small import (
    NO_ANALYSES,
    TREC,
    WORLD,
    manifest_of,
    read_frame,
    run_text,
    write_collection,
)

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


@pytest.mark.slow
def test_categories_of_a_table_reach_the_scores(given: Path) -> None:
    text = TREC + metrics("P", "S-Recall") + ITEMS + NO_ANALYSES
    means = read_frame(run_text(text, given, output=given / "study"), "means")
    found = means[means.metric == "S-Recall"].set_index("system")["mean"]
    assert found["full"] == pytest.approx(1.0)  # a has both genres of u1, d and z the others'
    assert found["partial"] == pytest.approx(1 / 3)


@pytest.mark.slow
def test_items_without_features_are_counted_and_said(given: Path) -> None:
    folder = run_text(
        TREC + metrics("P", "ILD") + ITEMS + NO_ANALYSES, given, output=given / "study"
    )
    warned = " ".join(manifest_of(folder)["warnings"])  # type: ignore[arg-type]
    assert "items.csv: 3 items without features." in warned


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


@pytest.mark.slow
def test_a_table_of_popularity_stands_for_ratings(given: Path) -> None:
    (given / "counts.csv").write_text("item,count\na,6\nb,4\nd,2\nx,1\n")
    text = TREC + metrics("P", "ARP") + '[items]\npopularity = "counts.csv"\n' + NO_ANALYSES
    means = read_frame(run_text(text, given, output=given / "study"), "means")
    found = means[means.metric == "ARP"].set_index("system")["mean"]
    assert found["full"] == pytest.approx((5 + 4 + 0) / 3)


@pytest.mark.slow
def test_an_unjudged_item_needs_no_propensity(given: Path) -> None:
    (given / "chances.csv").write_text("item,chance\na,0.5\nb,1\nc,1\nd,1\nz,1\n")
    text = (
        TREC
        + metrics("P", "DCG(propensity=table)")
        + '[items]\npropensities = "chances.csv"\n'
        + NO_ANALYSES
    )
    means = read_frame(run_text(text, given, output=given / "study"), "means")
    found = means[means.metric == "DCG(propensity=table)"].set_index("system")["mean"]
    # Grades 1 / .5 at rank 1 of u1, 1 at rank 1 of u2 and at rank 2 of u3, below an unjudged item.
    assert found["full"] == pytest.approx((2 + 1 + 1 / np.log2(3)) / 3)


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
    collection = collect(study)
    assert collection.split is not None
    found = read_catalogue(study.items, collection).known("propensities")
    ratings = [collection.split.train.item_counts(), collection.split.test.item_counts()]
    assert found.shape == ratings[0].shape
    assert ((found > 0) & (found <= 1)).all()
    assert np.corrcoef(found, sum(ratings))[0, 1] > 0.8


def test_propensities_of_a_world_need_a_world(given: Path) -> None:
    text = TREC + metrics("P") + '[items]\npropensities = "world"\n' + NO_ANALYSES
    with pytest.raises(InputError, match=r"study.toml, line \d+: `propensities` in \[items\] may"):
        run_text(text, given, output=given / "study")
