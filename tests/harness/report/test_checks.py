import json
from collections.abc import Mapping
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from harness.report.card import metric_card
from harness.report.checks import checks_of, judgement_checks
from harness.report.study_folder import FinishedStudy
from tests.harness.results import discrimination_of, keep


def said(folder: Path) -> list[str]:
    return [check.sentence for check in checks_of(FinishedStudy.at(folder))]


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
    collection = FinishedStudy.at(folder).manifest.collection
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
    assert "60 users" in found[0]
    assert found[1] == "odd input."


@pytest.mark.slow
def test_a_study_of_trec_files_speaks_of_topics(given: Path, tmp_path: Path) -> None:
    folder = copytree(given, tmp_path / "study")
    count(folder, {"topics without judged non-relevant items": 1})
    assert said(folder)[0].startswith("1 of the 3 topics (33 %) has no judged non-relevant item")
    assert not any("user" in sentence for sentence in said(folder))


@pytest.mark.slow
def test_a_card_has_the_checks_that_name_its_metric(given: Path, tmp_path: Path) -> None:
    folder = copytree(given, tmp_path / "study")
    count(folder, {"topics without judged non-relevant items": 1})
    study = FinishedStudy.at(folder)
    told = "given: 1 of the 3 topics (33 %) has no judged non-relevant item"
    assert told in metric_card("bpref@50", [study], tries=2).decode()
    assert told not in metric_card("nDCG@50", [study], tries=2).decode()
