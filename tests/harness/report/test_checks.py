import json
from collections.abc import Mapping
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from harness.report.card import metric_card
from harness.report.checks import (
    SIMULATED,
    checks_of,
    judgement_checks,
    leakage_checks,
    untested_checks,
)
from harness.report.study_folder import FinishedStudy
from qrels.ratings.splitter import NEWER_TRAINING, OLDER_TESTS
from tests.harness.results import discrimination_of, keep


def said(folder: Path) -> list[str]:
    return [check.sentence for check in checks_of(FinishedStudy.open(folder))]


def user_counts(every: int, without: int, emptied: int) -> dict[str, int]:
    return {
        "users": every,
        "users without judged non-relevant items": without,
        "users without relevant items": emptied,
    }


def of_judgements(*metrics: str, without: int = 0, emptied: int = 0) -> list[str]:
    facts = user_counts(1000, without, emptied)
    return [check.sentence for check in judgement_checks(facts, metrics, "user")]


def change_manifest(folder: Path, **changes: Any) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def count(folder: Path, counts: Mapping[str, int]) -> None:
    collection = FinishedStudy.open(folder).manifest.collection
    change_manifest(folder, collection={**collection, **counts})


@pytest.mark.parametrize("metric", ["bpref", "infAP", "infAP_trec"])
def test_users_without_judged_non_relevant_items_are_counted(metric: str) -> None:
    (sentence,) = of_judgements("nDCG", metric, without=900)
    assert sentence.startswith("900 of the 1,000 users (90 %)")
    assert metric in sentence


@pytest.mark.parametrize(("metric", "is_excepted"), [("AP", False), ("nDCG", True)])
def test_users_without_relevant_items_are_counted(metric: str, is_excepted: bool) -> None:
    (sentence,) = of_judgements(metric, emptied=20)
    assert sentence.startswith("20 of the 1,000 users (2 %)")
    assert (metric in sentence) == is_excepted


def test_the_weightiest_checks_come_first_and_each_once(copied: Path) -> None:
    count(copied, user_counts(60, 54, 6))
    change_manifest(copied, warnings=["odd input.", "odd input."])
    keep(copied, "discrimination", discrimination_of({("P", 20): [*[0.01] * 20, 0.5]}))
    found = said(copied)
    assert len(found) == len(set(found))
    assert found[0] == "odd input."
    assert "60 users" in found[1]


@pytest.mark.slow
def test_a_study_of_trec_files_speaks_of_topics(given: Path, tmp_path: Path) -> None:
    folder = copytree(given, tmp_path / "study")
    count(folder, {"topics without judged non-relevant items": 1})
    sentences = said(folder)
    n_warnings = len(FinishedStudy.open(folder).manifest.warnings)
    expected = "1 of the 3 topics (33 %) has no judged non-relevant item"
    assert sentences[n_warnings].startswith(expected)
    assert not any("user" in sentence for sentence in said(folder))


@pytest.mark.slow
def test_a_card_has_the_checks_that_name_its_metric(given: Path, tmp_path: Path) -> None:
    folder = copytree(given, tmp_path / "study")
    count(folder, {"topics without judged non-relevant items": 1})
    study = FinishedStudy.open(folder)
    told = "given: 1 of the 3 topics (33 %) has no judged non-relevant item"
    assert told in metric_card("bpref@50", [study], tries=2).decode()
    assert told not in metric_card("nDCG@50", [study], tries=2).decode()


# Numbers that are stated by hand


def test_what_a_metric_becomes_is_said_of_each_that_becomes_something() -> None:
    (check,) = judgement_checks(user_counts(12_345, 1, 0), ["P", "bpref", "infAP"], "user")
    assert check.metrics == ("bpref", "infAP")
    assert check.sentence.startswith("1 of the 12,345 users (0 %) has no judged")
    assert of_judgements("P", "AP", without=1000) == []


def test_two_counts_make_two_cautions() -> None:
    of_bpref, of_all = judgement_checks(user_counts(4000, 1500, 1001), ["bpref"], "user")
    assert of_bpref.sentence.startswith("1,500 of the 4,000 users (38 %) have no judged")
    assert of_all.sentence.startswith("1,001 of the 4,000 users (25 %) have no relevant item")
    assert of_all.metrics == ()


def test_without_such_users_there_is_no_caution() -> None:
    assert of_judgements("bpref", "nDCG") == []
    assert list(judgement_checks({}, ["bpref", "nDCG"], "user")) == []


@pytest.mark.parametrize(
    ("older", "newer", "is_said"),
    [
        (0.005, 0.0, True),
        (0.0, 0.005, True),
        (0.0049, 0.0049, False),
        (0.0, 0.0, False),
        (1.0, 0.2, True),
    ],
)
def test_half_a_per_cent_of_ratings_from_the_future_is_a_caution(
    older: float, newer: float, is_said: bool
) -> None:
    found = list(leakage_checks({OLDER_TESTS: older, NEWER_TRAINING: newer}))
    assert len(found) == is_said


def test_the_caution_of_leakage_has_both_shares() -> None:
    (check,) = leakage_checks({OLDER_TESTS: 0.123, NEWER_TRAINING: 0.456}, "a split")
    assert check.sentence.startswith("By a split, 12 % of the test ratings are older than")
    assert "and 46 % of all training ratings are newer" in check.sentence
    assert list(leakage_checks({})) == []


@pytest.mark.slow
def test_a_simulated_world_has_its_caution_and_none_of_leakage(copied: Path) -> None:
    split = {OLDER_TESTS: 0.5, NEWER_TRAINING: 0.5}
    collection = FinishedStudy.open(copied).manifest.collection
    change_manifest(copied, collection={**collection, "split": split})
    (leak,) = leakage_checks(split)
    found = checks_of(FinishedStudy.open(copied))
    assert SIMULATED in [check.sentence for check in found]
    assert leak not in found
    change_manifest(copied, collection={**collection, "split": split, "truth": {}})
    of_ratings = checks_of(FinishedStudy.open(copied))
    assert leak in of_ratings
    assert SIMULATED not in [check.sentence for check in of_ratings]


def test_most_users_without_a_relevant_test_item_are_a_caution() -> None:
    (check,) = untested_checks(n_users=3000, n_tested=40, n_relevant=28)
    assert check.sentence == (
        "Measures tell of 28 of the 3,000 users (0.9 %): 2,960 have no item in the test set, and "
        "12 no relevant one."
    )
    assert list(untested_checks(n_users=100, n_tested=90, n_relevant=80)) == []
