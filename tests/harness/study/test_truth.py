"""Truth in whole studies: its files, what depends on it, and what never does."""

import json
from collections.abc import Mapping
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest
from click.testing import CliRunner

from harness.cli.main import main
from harness.readers.score_parquet import scores_from_parquet
from harness.report.study_folder import FinishedStudy
from harness.study.true_judgements import UNUSED_JUDGEMENTS
from harness.trec_eval.export import export_study
from runs import InputError
from tests.harness.small import (
    NO_ANALYSES,
    TREC,
    VALIDITY,
    as_trec,
    contents,
    made_again,
    made_at,
    run_text,
    write_collection,
    write_ratings,
)

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::runs.InputWarning")]

BASE = (
    """
name = "judged"
[ratings]
path = "ratings.csv"
[systems]
names = ["popularity", "item-knn", "random"]
depth = 4
[metrics]
names = ["P", "nDCG", "Recall", "bpref"]
cutoffs = [2, 4]
"""
    + NO_ANALYSES
)
TRUTH = '[truth]\npath = "true.csv"\n'
RUNS = ("popularity", "item-knn", "random")
TRUE_RUNS = {f"true-run-{system}" for system in RUNS}


def write_truth(folder: Path, *, seed: int, name: str = "true.csv") -> None:
    """Draw what each of seven users truly thinks of six of the ten items."""
    rng = np.random.default_rng(seed)
    rows = [
        f"u{user},i{item},{rng.integers(1, 11) / 2}\n"
        for user in range(7)
        for item in sorted(rng.permutation(10)[:6].tolist())
    ]
    (folder / name).write_text("user,item,rating\n" + "".join(rows))


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of ratings with a truth of items drawn at random."""
    base = tmp_path_factory.mktemp("judged")
    write_ratings(base / "ratings.csv")
    write_truth(base, seed=1)
    return run_text(BASE + TRUTH, base, output=base / "study").parent


@pytest.fixture
def copied(judged: Path, tmp_path: Path) -> Path:
    return copytree(judged, tmp_path / "copy")


def again(text: str, base: Path) -> set[str]:
    before = made_at(base / "study")
    run_text(text, base, output=base / "study")
    return made_again(base / "study", before)


def lists_of(run: bytes) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in as_trec(run).splitlines():
        user, _, item, *_ = line.split()
        found.setdefault(user, []).append(item)
    return found


def judgements_of(folder: Path) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for line in (folder / "truth/true.qrels").read_text().splitlines():
        user, _, item, grade = line.split()
        found.setdefault(user, {})[item] = int(grade)
    return found


def test_lists_of_the_truth_hold_the_judged_items_alone_and_all_of_them(judged: Path) -> None:
    folder = judged / "study"
    known = judgements_of(folder)
    for run in contents(folder, "truth/runs/*.parquet").values():
        lists = lists_of(run)
        assert lists.keys() == known.keys()
        for user, items in lists.items():
            assert set(items) <= known[user].keys()
            assert len(items) == min(4, len(known[user]))


def test_other_tools_score_the_truth_the_same(judged: Path) -> None:
    folder = judged / "study"
    scores = scores_from_parquet((folder / "truth/scores.parquet").read_bytes())
    assert scores.systems == RUNS
    assert [str(m) for m in scores.measures][-2:] == ["nDCG@10", "P@10"]
    names = {"P@2": "P.2", "Recall@4": "recall.4", "nDCG@10": "ndcg_cut.10"}
    for system, means in zip(RUNS, scores.mean_values().T, strict=True):
        arguments = ["evaluate", "--qrels", f"{folder}/truth/true.qrels", "-l", "8"]
        for name in names.values():
            arguments += ["-m", name]
        output = (
            CliRunner().invoke(main, [*arguments, f"{folder}/truth/runs/{system}.parquet"]).output
        )
        values = [float(line.split()[-1]) for line in output.splitlines() if "\tall\t" in line]
        expected = [means[[str(m) for m in scores.measures].index(name)] for name in names]
        assert values == pytest.approx(expected, abs=5e-5)


def test_what_the_truth_judges_is_exported(judged: Path, tmp_path: Path) -> None:
    truth = judged / "study/truth"
    written = export_study(judged / "study", tmp_path / "exported")
    runs = contents(tmp_path / "exported/truth", "runs/*")
    assert runs == {f"runs/{p.stem}.run": as_trec(p).encode() for p in truth.glob("runs/*")}
    assert len(runs) == len(RUNS)
    exported = tmp_path / "exported/truth/true.qrels"
    assert exported in written
    assert exported.read_bytes() == (truth / "true.qrels").read_bytes()


def test_the_truth_changes_no_list_judgement_or_score(copied: Path) -> None:
    before = {p: contents(copied / "study", p) for p in ("runs/*", "qrels/*", "*.parquet")}
    write_truth(copied, seed=2)
    assert again(BASE + TRUTH, copied) == {"true-qrels", "true-scores", *TRUE_RUNS}
    assert {p: contents(copied / "study", p) for p in before} == before


def test_other_grades_of_the_same_items_ask_for_no_new_lists(copied: Path) -> None:
    text = (copied / "true.csv").read_text()
    (copied / "true.csv").write_text(text.replace(",5.0\n", ",4.5\n"))
    assert again(BASE + TRUTH, copied) == {"true-qrels", "true-scores"}


def test_usual_lists_are_made_for_users_of_the_truth_who_are_not_tested(copied: Path) -> None:
    split = copied / "study/split"
    test = (split / "test.csv").read_text().splitlines(keepends=True)
    (copied / "train.csv").write_bytes((split / "train.csv").read_bytes())
    (copied / "test.csv").write_text("".join(row for row in test if not row.startswith("u1,")))
    text = BASE.replace('path = "ratings.csv"', "threshold = 4.0")
    given = '[split]\nmethod = "given"\ntrain = "train.csv"\ntest = "test.csv"\n'
    truth = TRUTH + 'candidates = "all"\n'
    folder = run_text(text + given + truth, copied, output=copied / "part")
    for system in ("popularity", "item-knn"):
        usual = (copied / f"study/runs/{system}.parquet").read_bytes()
        true = lists_of((folder / f"truth/runs/{system}.parquet").read_bytes())
        assert "u1" in true
        assert "u1" not in lists_of((folder / f"runs/{system}.parquet").read_bytes())
        assert true.items() <= lists_of(usual).items()


def test_a_reference_that_hides_items_is_refused(judged: Path) -> None:
    text = BASE + TRUTH + 'references = ["LOO@5"]\n'
    with pytest.raises(InputError, match="LOO hides items, and cannot be a reference measure"):
        run_text(text, judged, output=judged / "other")


# Runs made elsewhere


@pytest.fixture
def given(tmp_path: Path) -> Path:
    write_collection(tmp_path)
    (tmp_path / "true.txt").write_text(
        "u1 0 x 1\nu1 0 b 0\nu1 0 never 2\nu2 0 d 1\nu2 0 a 0\nu4 0 z 1\n"
    )
    return tmp_path


def test_given_runs_are_condensed_to_what_is_truly_judged(given: Path) -> None:
    folder = run_text(
        TREC + NO_ANALYSES + '[truth]\npath = "true.txt"\n', given, output=given / "study"
    )
    assert lists_of((folder / "truth/runs/full.parquet").read_bytes()) == {
        "u1": ["b", "x"],
        "u2": ["d", "a"],
    }
    facts = json.loads((folder / "manifest.json").read_text())["collection"]["truth"]
    # No run has u4, and no user of the truth is called u3.
    assert facts[UNUSED_JUDGEMENTS] == 1
    assert facts["test users without a true judgement"] == 1
    assert judgements_of(folder)["u1"] == {"x": 1, "b": 0, "never": 2}


def test_given_runs_may_be_judged_as_they_are(given: Path) -> None:
    text = TREC + NO_ANALYSES + '[truth]\npath = "true.txt"\ncandidates = "all"\n'
    folder = run_text(text, given, output=given / "study")
    assert contents(folder, "truth/runs/*") == {}
    scores = scores_from_parquet((folder / "truth/scores.parquet").read_bytes())
    measures = [str(measure) for measure in scores.measures]
    # u1's list is a, b, x, of which x alone is truly relevant, u2's is d, a.
    assert scores.values[measures.index("P@10"), 0].tolist() == [0.1, 0.1]


@pytest.mark.usefixtures("no_figures")
def test_a_small_truth_names_systems_that_leave_items_out_and_measures_that_reach_too_deep(
    judged: Path,
) -> None:
    asked = '[systems.settings.item-knn]\nneighbours = 1\n[analyses]\nnames = ["validity"]\n'
    text = BASE.replace(NO_ANALYSES, "").replace("[2, 4]", '[2, 6]\nreport = ["P@6", "nDCG@6"]')
    text = text.replace("= 4\n", "= 10\n")
    folder = run_text(text + asked + VALIDITY + TRUTH, judged, output=judged / "coat")
    cautions = " ".join(FinishedStudy.open(folder).result("validity").cautions())
    assert "do not score all truly judged items: item-knn" in cautions
    assert "P@6" in cautions
    assert "P@2" not in cautions
