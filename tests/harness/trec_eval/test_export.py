"""Exports and scripts, read back by trec_eval and ir_measures."""

from __future__ import annotations

import io
import os
import runpy
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from itertools import product
from pathlib import Path
from shutil import copytree

import ir_measures
import numpy as np
import pandas as pd
import pytest
import pytrec_eval
from click.testing import CliRunner

from harness.cli.main import main
from harness.metrics.shared.names import parse_name
from harness.metrics.shared.register import built_in_metrics
from harness.trec_eval.export import (
    TOOL_NAMES,
    export_study,
    ir_measure_of,
    ir_measures_script,
    trec_eval_script,
)
from harness.trec_eval.measures import offered_names
from qrels import judge
from runs import InputError
from tests.harness.small import as_trec, contents
from tests.lists import OF_ITEMS, qrels_as_dicts, random_case, run_as_dicts

LEVEL = 4
CUTOFFS = (1, 5, 20)
SYSTEMS = ("random", "popularity", "puresvd")
TOLERANCE = 1e-9
PRINTED_TOLERANCE = 5.05e-5


@pytest.fixture(scope="module")
def exported(scored: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("exported")
    export_study(scored, target)
    return target


@pytest.fixture(scope="module")
def means(scored: Path) -> pd.Series[float]:
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
    exported: Path, means: pd.Series[float], system: str, cutoff: int, metric: str, measure: str
) -> None:
    run = exported / f"runs/{system}.run"
    theirs = by_pytrec_eval(exported / "qrels/test.qrels", run, f"{measure}.{cutoff}")
    assert abs(means[metric, cutoff, system] - theirs) < TOLERANCE


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("cutoff", CUTOFFS)
@pytest.mark.parametrize(("metric", "measure"), [("RR", "recip_rank"), ("bpref", "bpref")])
def test_pytrec_eval_agrees_on_runs_cut_to_size(
    exported: Path, means: pd.Series[float], system: str, cutoff: int, metric: str, measure: str
) -> None:
    run = exported / f"runs/{system}.run"
    theirs = by_pytrec_eval(exported / "qrels/test.qrels", run, measure, cut_to=cutoff)
    assert abs(means[metric, cutoff, system] - theirs) < TOLERANCE


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("cutoff", CUTOFFS)
def test_pytrec_eval_gives_the_papers_infap_on_pooled_qrels(
    exported: Path, means: pd.Series[float], system: str, cutoff: int
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
    exported: Path, means: pd.Series[float], system: str, cutoff: int, metric: str, text: str
) -> None:
    theirs = by_ir_measures(exported, system, text.format(level=LEVEL, cutoff=cutoff))
    assert abs(means[metric, cutoff, system] - theirs) < TOLERANCE


@pytest.mark.parametrize("system", SYSTEMS)
def test_ir_measures_agrees_on_bpref_of_whole_lists(
    exported: Path, means: pd.Series[float], system: str
) -> None:
    theirs = by_ir_measures(exported, system, f"Bpref(rel={LEVEL})")
    assert abs(means["bpref", 20, system] - theirs) < TOLERANCE


def test_exported_runs_are_those_of_the_study(scored: Path, exported: Path) -> None:
    ours = {f"runs/{path.stem}.run": as_trec(path).encode() for path in scored.glob("runs/*")}
    assert contents(exported, "runs/*") == ours


def test_exported_qrels_are_those_of_the_study(scored: Path, exported: Path) -> None:
    assert contents(exported, "qrels/*.qrels") == contents(scored, "qrels/*.qrels")


def test_pooled_qrels_mark_what_was_retrieved_and_not_judged(exported: Path) -> None:
    grades = np.loadtxt(exported / "qrels/pooled/random.qrels", dtype=str)[:, 3]
    assert np.count_nonzero(grades == "-1") > 0


Calls = list[list[str]]
Means = dict[tuple[str, int, str], float]

TREC_NAMES = {"P": "P", "recall": "Recall", "map_cut": "AP", "ndcg_cut": "nDCG"}
CUT_TREC_NAMES = {"recip_rank": "RR", "bpref": "bpref", "infAP": "infAP"}
IR_NAMES = {"P": "P", "R": "Recall", "AP": "AP", "nDCG": "nDCG", "RR": "RR"}
CUT_IR_NAMES = {"Bpref": "bpref", "infAP": "infAP"}


def calls_of(script: str, folder: Path, bin_folder: Path) -> Calls:
    """Run a script with a tool that only notes what it is called with."""
    notes, tool = bin_folder / "calls", bin_folder / script.removesuffix(".sh")
    tool.write_text(f"#!/bin/sh\nprintf '%s\\t' \"$@\" >> '{notes}'\necho >> '{notes}'\n")
    tool.chmod(0o755)
    paths = os.pathsep.join([str(bin_folder), os.environ["PATH"]])
    subprocess.run(["sh", script], cwd=folder, env={"PATH": paths}, check=True)
    return [line.rstrip("\t").split("\t") for line in notes.read_text().splitlines()]


@pytest.fixture(scope="module")
def printed_by_trec_eval(exported: Path, tmp_path_factory: pytest.TempPathFactory) -> Means:
    """What ``trec_eval.sh`` prints, with ``harness evaluate`` in the place of trec_eval."""
    found: Means = {}
    for call in calls_of("trec_eval.sh", exported, tmp_path_factory.mktemp("bin")):
        *options, qrels, run = call
        if "infAP" in options and "infAP" not in offered_names(built_in_metrics()):
            continue
        paths = ["--qrels", str(exported / qrels), str(exported / run)]
        answer = CliRunner().invoke(main, ["evaluate", *options, *paths])
        for line in answer.stdout.splitlines():
            name, _, value = line.split("\t")
            if "-M" in options:
                metric = CUT_TREC_NAMES[name.strip()]
                cutoff = int(options[options.index("-M") + 1])
            else:
                base, _, rank = name.strip().rpartition("_")
                metric, cutoff = TREC_NAMES[base], int(rank)
            found[metric, cutoff, Path(run).stem] = float(value)
    return found


@pytest.fixture(scope="module")
def printed_by_ir_measures(exported: Path, tmp_path_factory: pytest.TempPathFactory) -> Means:
    """What ``ir_measures.sh`` prints: its own commands, in this process."""
    found: Means = {}
    folder = copytree(exported, tmp_path_factory.mktemp("ir_measures") / "exported")
    for _, _, qrels, run, names in calls_of(
        "ir_measures.sh", folder, tmp_path_factory.mktemp("bin")
    ):
        for line in run_ir_measures(str(folder / qrels), str(folder / run), names):
            text, value = line.split("\t")
            parsed = parse_name(text)
            is_cut = run.startswith("cut/")
            metric = (CUT_IR_NAMES if is_cut else IR_NAMES)[parsed.name]
            cutoff = int(Path(run).parent.name) if is_cut else parsed.cutoff
            assert cutoff is not None
            found[metric, cutoff, Path(run).stem] = float(value)
    return found


def run_ir_measures(*arguments: str) -> list[str]:
    """Call ``python -m ir_measures -p 12`` without starting a process."""
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed):
        patch.setattr(sys, "argv", ["ir_measures", "-p", "12", *arguments])
        runpy.run_module("ir_measures", run_name="__main__")
    return printed.getvalue().splitlines()


METRICS = ("P", "Recall", "AP", "nDCG", "RR", "bpref", "infAP")


@pytest.mark.parametrize("metric", METRICS)
def test_the_trec_eval_script_prints_our_means(
    means: pd.Series[float], printed_by_trec_eval: Means, metric: str
) -> None:
    if metric == "infAP" and "infAP" not in offered_names(built_in_metrics()):
        pytest.skip("trec_eval's infAP is not among the metrics")
    for cutoff, system in product(CUTOFFS, SYSTEMS):
        printed = printed_by_trec_eval[metric, cutoff, system]
        assert abs(means[metric, cutoff, system] - printed) <= PRINTED_TOLERANCE


@pytest.mark.parametrize("metric", METRICS)
def test_the_ir_measures_script_prints_our_means(
    means: pd.Series[float], printed_by_ir_measures: Means, metric: str
) -> None:
    for cutoff, system in product(CUTOFFS, SYSTEMS):
        printed = printed_by_ir_measures[metric, cutoff, system]
        assert abs(means[metric, cutoff, system] - printed) < TOLERANCE


@pytest.mark.slow
def test_a_command_of_the_script_is_ir_measures_own(exported: Path) -> None:
    run = exported / "runs/popularity.run"
    paths = [str(exported / "qrels/test.qrels"), str(run)]
    command = [sys.executable, "-m", "ir_measures", *paths, "P(rel=4)@5"]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    assert answer.stdout.startswith("P(rel=4)@5\t0.")


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


OURS = {name: metric for name, metric in built_in_metrics().items() if not metric.needs}
OF_GRADES = [name for name in OURS if name not in OF_ITEMS]


@pytest.mark.parametrize("name", OF_GRADES)
def test_our_metrics_are_measures_for_them(name: str) -> None:
    run, qrels = random_case(4, n_users=15, n_items=60, depth=20, n_judged=10)
    measure = ir_measure_of(f"{name}@7", relevance_level=4)
    given = ir_measures.calc_aggregate([measure], qrels_as_dicts(qrels), run_as_dicts(run))
    expected = OURS[name](judge(run, qrels), cutoff=7).mean()
    assert given[measure] == pytest.approx(expected, abs=1e-12)
    assert str(measure) == f"{name}@7"


@pytest.mark.parametrize("name", sorted(OF_ITEMS))
def test_a_metric_of_items_says_that_ir_measures_has_grades_alone(name: str) -> None:
    run, qrels = random_case(4, n_users=15, n_items=60, depth=20, n_judged=10)
    measure = ir_measure_of(f"{name}@7", relevance_level=4)
    with pytest.raises(InputError, match="nothing says which items they hold"):
        ir_measures.calc_aggregate([measure], qrels_as_dicts(qrels), run_as_dicts(run))


Script = Callable[..., str]

WRITERS = (trec_eval_script, ir_measures_script)


@pytest.mark.parametrize("script_of", WRITERS)
def test_every_name_gets_a_command(script_of: Script) -> None:
    script = script_of("s", list(TOOL_NAMES), [5, 10], level=4)
    tool = "trec_eval" if script_of is trec_eval_script else "ir_measures"
    for names in TOOL_NAMES.values():
        assert getattr(names, tool).format(level=4) in script


def test_the_papers_infap_takes_the_pooled_qrels_alone() -> None:
    lines = trec_eval_script("s", ["bpref", "infAP"], [5], level=4).splitlines()
    assert [line.split()[-2] for line in lines if "trec_eval -c" in line] == [
        "qrels/test.qrels",
        '"$pooled"',
    ]


def test_a_level_of_its_own_is_a_command_of_its_own() -> None:
    lines = trec_eval_script("s", ["P", "P(rel=2)"], [5], level=4).splitlines()
    assert [line.split()[3] for line in lines if "trec_eval -c" in line] == ["4", "2"]
