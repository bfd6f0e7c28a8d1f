"""The exported files, read and scored by other tools, give our means."""

from pathlib import Path

import ir_measures
import numpy as np
import pandas as pd
import pytest
import pytrec_eval

from harness.export import export_study
from runs import InputError
from tests.harness.small import contents

LEVEL = 4
CUTOFFS = (1, 5, 20)
SYSTEMS = ("random", "popularity", "puresvd")
TOLERANCE = 1e-9


@pytest.fixture(scope="module")
def exported(scored: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("exported")
    export_study(scored, target)
    return target


@pytest.fixture(scope="module")
def means(scored: Path) -> "pd.Series[float]":
    frame = pd.read_csv(scored / "tables/means.csv", float_precision="round_trip")
    return frame.set_index(["metric", "cutoff", "system"])["mean"]


def cut(run: dict[str, dict[str, float]], n: int) -> dict[str, dict[str, float]]:
    """Keep the n items of each list whose scores are highest."""
    return {
        user: dict(sorted(scores.items(), key=lambda scored: -scored[1])[:n])
        for user, scores in run.items()
    }


def by_pytrec_eval(qrels: Path, run: Path, measure: str, *, cut_to: int | None = None) -> float:
    """Mean over all users in the qrels, as ``trec_eval -c -l 4`` prints it."""
    with qrels.open() as stream:
        judgements = pytrec_eval.parse_qrel(stream)
    with run.open() as stream:
        ranked = pytrec_eval.parse_run(stream)
    evaluator = pytrec_eval.RelevanceEvaluator(judgements, {measure}, relevance_level=LEVEL)
    scores = evaluator.evaluate(ranked if cut_to is None else cut(ranked, cut_to))
    return sum(next(iter(score.values())) for score in scores.values()) / len(judgements)


def by_ir_measures(exported: Path, system: str, measure: str) -> float:
    """Mean over all users in the qrels of what ir_measures gives."""
    qrels, run = exported / "qrels/test.qrels", exported / f"runs/{system}.run"
    judgements = list(ir_measures.read_trec_qrels(str(qrels)))  # type: ignore[no-untyped-call]
    ranked = list(ir_measures.read_trec_run(str(run)))  # type: ignore[no-untyped-call]
    scores = ir_measures.iter_calc([ir_measures.parse_measure(measure)], judgements, ranked)
    users = {judgement.query_id for judgement in judgements}
    return float(sum(score.value for score in scores) / len(users))


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("cutoff", CUTOFFS)
@pytest.mark.parametrize(
    ("metric", "measure"),
    [("P", "P"), ("Recall", "recall"), ("AP", "map_cut"), ("nDCG", "ndcg_cut")],
)
def test_pytrec_eval_agrees_where_it_has_cutoffs(
    exported: Path, means: "pd.Series[float]", system: str, cutoff: int, metric: str, measure: str
) -> None:
    run = exported / f"runs/{system}.run"
    theirs = by_pytrec_eval(exported / "qrels/test.qrels", run, f"{measure}.{cutoff}")
    assert abs(means[metric, cutoff, system] - theirs) < TOLERANCE


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("cutoff", CUTOFFS)
@pytest.mark.parametrize(("metric", "measure"), [("RR", "recip_rank"), ("bpref", "bpref")])
def test_pytrec_eval_agrees_on_runs_cut_to_size(
    exported: Path, means: "pd.Series[float]", system: str, cutoff: int, metric: str, measure: str
) -> None:
    run = exported / f"runs/{system}.run"
    theirs = by_pytrec_eval(exported / "qrels/test.qrels", run, measure, cut_to=cutoff)
    assert abs(means[metric, cutoff, system] - theirs) < TOLERANCE


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("cutoff", CUTOFFS)
def test_pytrec_eval_gives_the_papers_infap_on_pooled_qrels(
    exported: Path, means: "pd.Series[float]", system: str, cutoff: int
) -> None:
    pooled = exported / f"qrels/pooled/{system}.qrels"
    run = exported / f"runs/{system}.run"
    theirs = by_pytrec_eval(pooled, run, "infAP", cut_to=cutoff)
    assert abs(means["infAP", cutoff, system] - theirs) < TOLERANCE


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("cutoff", CUTOFFS)
@pytest.mark.parametrize(
    ("metric", "text"),
    [
        ("P", "P(rel={level})@{cutoff}"),
        ("Recall", "R(rel={level})@{cutoff}"),
        ("AP", "AP(rel={level})@{cutoff}"),
        ("nDCG", "nDCG@{cutoff}"),
        ("RR", "RR(rel={level})@{cutoff}"),
    ],
)
def test_ir_measures_agrees(
    exported: Path, means: "pd.Series[float]", system: str, cutoff: int, metric: str, text: str
) -> None:
    theirs = by_ir_measures(exported, system, text.format(level=LEVEL, cutoff=cutoff))
    assert abs(means[metric, cutoff, system] - theirs) < TOLERANCE


@pytest.mark.parametrize("system", SYSTEMS)
def test_ir_measures_agrees_on_bpref_of_whole_lists(
    exported: Path, means: "pd.Series[float]", system: str
) -> None:
    theirs = by_ir_measures(exported, system, f"Bpref(rel={LEVEL})")
    assert abs(means["bpref", 20, system] - theirs) < TOLERANCE


def test_exported_runs_are_those_of_the_study(scored: Path, exported: Path) -> None:
    assert contents(exported, "runs/*") == contents(scored, "runs/*")


def test_exported_qrels_are_those_of_the_study(scored: Path, exported: Path) -> None:
    assert contents(exported, "qrels/*.qrels") == contents(scored, "qrels/*.qrels")


def test_pooled_qrels_mark_what_was_retrieved_and_not_judged(exported: Path) -> None:
    grades = np.loadtxt(exported / "qrels/pooled/random.qrels", dtype=str)[:, 3]
    assert np.count_nonzero(grades == "-1") > 0


def test_the_script_asks_for_the_level_and_the_cutoffs(exported: Path) -> None:
    script = (exported / "trec_eval.sh").read_text()
    assert f"-l {LEVEL} -m P.1,5,20 -m recall.1,5,20" in script


def test_a_run_may_lack_a_judged_user(given: Path, tmp_path: Path) -> None:
    export_study(given, tmp_path / "target")
    pooled = np.loadtxt(tmp_path / "target/qrels/pooled/partial.qrels", dtype=str)
    assert ["u1", "0", "x", "-1"] in pooled.tolist()


def test_a_target_with_something_in_it_is_refused(scored: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(InputError, match="must be a new or empty folder"):
        export_study(scored, tmp_path)


def test_a_target_that_is_a_file_is_refused(scored: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="must be a new or empty folder"):
        export_study(scored, tmp_path / "file")


def test_an_unfinished_study_is_not_exported(copied: Path, tmp_path: Path) -> None:
    (copied / "manifest.json").unlink()
    with pytest.raises(InputError, match="no finished study is here"):
        export_study(copied, tmp_path / "target")
