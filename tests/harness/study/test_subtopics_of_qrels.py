"""Studies of qrels of subtopics: what is scored, kept, exported, and refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ir_measures import Qrel

from harness import score
from harness.study.run import check
from harness.study.study import Study
from harness.trec_eval.export import export_study
from runs import InputError, InputWarning
from tests.harness.small import NO_ANALYSES, TREC, manifest_of, read_frame, run_text, write_run

pytestmark = pytest.mark.filterwarnings("ignore:.*items are judged for:runs.InputWarning")

GRADES = [
    *[("t1", "1", "a", 1), ("t1", "2", "a", 0), ("t1", "1", "b", 1), ("t1", "2", "b", 2)],
    *[("t1", "3", "c", 1), ("t2", "2", "a", 1), ("t2", "1", "d", 1), ("t3", "1", "d", 0)],
    ("t3", "2", "a", 1),
]
"""Topic, subtopic, item and grade."""

LISTS = {
    "one": {"t1": ["a", "b", "x"], "t2": ["a", "d"], "t3": ["d", "a"]},
    "two": {"t1": ["x", "c"], "t2": ["x", "d"], "t3": ["a"]},
}
RECALLS = {"one": [2 / 3, 1, 1], "two": [1 / 3, 1 / 2, 1]}
"""S-Recall@2 of each topic, by hand."""

METRICS = '[metrics]\nnames = ["S-Recall", "P"]\ncutoffs = [2]\n'
SPARSITY = "[analyses.sparsity]\nlevels = [1.0, 0.5]\nsamples = 3\nreplicates = 4\n"
TRUTH = '[truth]\npath = "true.qrels"\ncandidates = "all"\nreferences = ["S-Recall@2"]\n'


def lines_of(grades: list[tuple[str, str, str, int]]) -> str:
    return "".join(f"{topic} {subtopic} {item} {g}\n" for topic, subtopic, item, g in grades)


@pytest.fixture
def given(tmp_path: Path) -> Path:
    """Runs, qrels of subtopics, the same judgements of whole topics, and categories of items."""
    for name, lists in LISTS.items():
        write_run(tmp_path, name, lists)
    (tmp_path / "test.qrels").write_text(lines_of(GRADES))
    (tmp_path / "true.qrels").write_text(lines_of(GRADES))
    highest: dict[tuple[str, str], int] = {}
    for topic, _, item, grade in GRADES:
        highest[topic, item] = max(grade, highest.get((topic, item), 0))
    plain = [(topic, "0", item, grade) for (topic, item), grade in highest.items()]
    (tmp_path / "plain.qrels").write_text(lines_of(plain))
    (tmp_path / "items.csv").write_text("item,genre\na,x\nb,x\nc,x\nd,x\n")
    return tmp_path


def means(study: Path) -> dict[tuple[str, str], float]:
    """Means by system and metric."""
    frame = read_frame(study, "means")
    names = zip(frame["system"].tolist(), frame["metric"].tolist(), strict=True)
    return dict(zip(names, frame["mean"].tolist(), strict=True))


def sorted_lines(path: Path) -> list[str]:
    return sorted(path.read_text().splitlines())


@pytest.mark.slow
@pytest.mark.usefixtures("blank_figures")
def test_a_study_scores_keeps_and_exports_subtopics(given: Path) -> None:
    study = run_text(TREC + METRICS + SPARSITY + TRUTH, given, output=given / "study")
    found = means(study)
    for system, recalls in RECALLS.items():
        assert found[system, "S-Recall"] == pytest.approx(np.mean(recalls))
    assert found["one", "P"] == pytest.approx((2 + 2 + 1) / 6)
    assert sorted_lines(study / "qrels/subtopics.qrels") == sorted_lines(given / "test.qrels")
    assert sorted_lines(study / "qrels/test.qrels") == sorted_lines(given / "plain.qrels")
    assert sorted_lines(study / "truth/subtopics.qrels") == sorted_lines(given / "true.qrels")
    export_study(study, given / "export")
    assert sorted_lines(given / "export/qrels/test.qrels") == sorted_lines(given / "plain.qrels")
    text = (given / "export/study.toml").read_text() + NO_ANALYSES
    again = run_text(text, given / "export", output=given / "again")
    assert means(again) == found


@pytest.mark.slow
def test_the_scores_follow_the_subtopics_though_the_highest_grades_stay(given: Path) -> None:
    text = TREC + METRICS + NO_ANALYSES
    study = run_text(text, given, output=given / "study")
    before = means(study)
    # Item a of topic t1 is now relevant for subtopic 2 alone, which b covers, too; c for none new.
    moved = lines_of(GRADES).replace("t1 1 a 1\nt1 2 a 0", "t1 1 a 0\nt1 2 a 1")
    moved = moved.replace("t1 3 c 1", "t1 1 c 1")
    (given / "test.qrels").write_text(moved)
    after = means(run_text(text, given, output=given / "study"))
    assert after["one", "P"] == before["one", "P"]
    assert after["one", "S-Recall"] == pytest.approx(1)


@pytest.mark.slow
def test_subtopics_count_and_not_the_categories_of_items_and_that_is_said(given: Path) -> None:
    items = '[items]\nfeatures = "items.csv"\n'
    study = run_text(TREC + METRICS + items + NO_ANALYSES, given, output=given / "study")
    assert means(study)["two", "S-Recall"] == pytest.approx(np.mean(RECALLS["two"]))
    warned = " ".join(manifest_of(study)["warnings"])  # type: ignore[arg-type]
    assert "S-Recall: the subtopics of the qrels count" in warned


def test_qrels_without_subtopics_are_refused_once_they_are_read(given: Path) -> None:
    text = TREC.replace("test.qrels", "plain.qrels") + METRICS + NO_ANALYSES
    check(Study.parse(text, source="study.toml", base=given, changes={}))
    finding = r"study.toml, line \d+: metric 'S-Recall': .*features.csv.* or give qrels with"
    with pytest.raises(InputError, match=finding):
        run_text(text, given, output=given / "study")
    assert not (given / "study").exists()


@pytest.mark.parametrize(
    ("qrels", "truth", "finding"),
    [
        ("test.qrels", "plain.qrels", "S-Recall counts subtopics, which the qrels have, and the"),
        ("plain.qrels", "true.qrels", "S-Recall counts subtopics, which the truth has, and the"),
    ],
)
def test_a_truth_must_have_subtopics_where_the_qrels_do(
    given: Path, qrels: str, truth: str, finding: str
) -> None:
    text = TREC.replace("test.qrels", qrels) + METRICS + NO_ANALYSES
    text += TRUTH.replace("true.qrels", truth)
    with pytest.raises(InputError, match=finding):
        run_text(text, given, output=given / "study")


FRAME = pd.DataFrame(GRADES, columns=["query_id", "subtopic_id", "doc_id", "relevance"])
FORMS: dict[str, Any] = {
    "a file": "test.qrels",
    "a frame": FRAME,
    "a frame of TREC's columns": pd.DataFrame(GRADES),
    "records of ir_measures": [
        Qrel(t, item, grade, subtopic) for t, subtopic, item, grade in GRADES
    ],
}


@pytest.mark.parametrize("form", FORMS)
def test_subtopics_are_read_from_what_python_has(form: str, given: Path) -> None:
    qrels = given / "test.qrels" if form == "a file" else FORMS[form]
    runs = {
        name: {
            topic: {item: -float(rank) for rank, item in enumerate(items)}
            for topic, items in lists.items()
        }
        for name, lists in LISTS.items()
    }
    found = score(runs, qrels, ["S-Recall@2", "P@2"])
    np.testing.assert_allclose(found.values[0], list(RECALLS.values()), rtol=0, atol=1e-12)


def test_what_is_done_with_items_of_several_subtopics_is_said() -> None:
    with pytest.warns(InputWarning, match="the qrels: items are judged for 3 subtopics, such as"):
        score({"s": {"t1": {"a": 1.0}, "t2": {"a": 1.0}, "t3": {"a": 1.0}}}, FRAME, "P@2")


def test_an_item_that_is_judged_twice_for_a_subtopic_is_refused() -> None:
    twice = pd.concat([FRAME, FRAME.tail(1)])
    with pytest.raises(InputError, match="item 'a' of topic 't3' is duplicated"):
        score({"s": {"t1": {"a": 1.0}}}, twice, "P@2")
