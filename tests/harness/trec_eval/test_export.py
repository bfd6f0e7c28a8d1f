"""Exports and scripts, read back by trec_eval and ir_measures."""

from __future__ import annotations

import io
import json
import os
import re
import runpy
import subprocess
import sys
import warnings
from contextlib import redirect_stdout
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pandas as pd
import pytest
import pytrec_eval
from click.testing import CliRunner

from harness.cli.main import main
from harness.readers.rankings import runs_of
from harness.report.study_folder import FinishedStudy
from harness.trec_eval.export import (
    ATOMIC_RUN,
    TOOL_NAMES,
    TOOLS,
    RunFormat,
    Tool,
    _metadata,
    export_study,
    pool,
    script,
    split_layouts,
)
from qrels import Qrels
from runs import InputError, Run
from tests.exact_csv import read_exactly
from tests.harness.small import as_trec, contents, run_text

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
    frame = read_exactly(scored / "tables/means.csv")
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


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("cutoff", CUTOFFS)
def test_pytrec_eval_gives_the_papers_infap_on_pooled_qrels(
    exported: Path, means: pd.Series[float], system: str, cutoff: int
) -> None:
    pooled = exported / f"qrels/pooled/{system}.qrels"
    run = exported / f"runs/{system}.run"
    theirs = by_pytrec_eval(pooled, run, "infAP", cut_to=cutoff)
    assert abs(means["infAP", cutoff, system] - theirs) < TOLERANCE


def test_exported_runs_are_those_of_the_study(scored: Path, exported: Path) -> None:
    ours = {f"runs/{path.stem}.run": as_trec(path).encode() for path in scored.glob("runs/*")}
    assert contents(exported, "runs/*") == ours


@pytest.mark.parametrize(
    ("format_", "place"),
    [
        ("parquet", "runs/*.parquet"),
        ("lenskit", "lenskit/runs/*.parquet"),
        ("recbole", "recbole/runs/*.inter"),
        ("ir_metadata", "ir_metadata/*.run"),
    ],
)
def test_runs_in_other_formats_are_read_as_those_of_trec(
    format_: RunFormat, place: str, scored: Path, tmp_path: Path
) -> None:
    export_study(scored, tmp_path, run_formats=[format_])
    found, expected = (
        [by.to_run(by.users, by.items).items.tolist() for by in runs_of(str(tmp_path / pattern))]
        for pattern in (place, "runs/*.run")
    )
    assert found == expected
    assert len(found) == 3


def test_descriptions_of_runs_are_yaml_in_comments(scored: Path, tmp_path: Path) -> None:
    export_study(scored, tmp_path, run_formats=["ir_metadata"])
    lines = (tmp_path / "ir_metadata/popularity.run").read_text().splitlines()
    end = lines.index("# ir_metadata.end")
    assert lines[0] == "# ir_metadata.start"
    facts = dict(line.removeprefix("# ").split(": ", 1) for line in lines[1:end])
    assert (facts["schema version"], facts["tag"]) == ("0.2", '"popularity"')
    assert json.loads(facts["method"])["retrieval"][0]["name"] == "popularity"


def test_exported_qrels_are_those_of_the_study(scored: Path, exported: Path) -> None:
    assert contents(exported, "qrels/*.qrels") == contents(scored, "qrels/*.qrels")


@pytest.mark.usefixtures("no_figures")
def test_the_exported_study_file_gives_the_means_of_the_study(
    exported: Path, means: pd.Series[float], tmp_path: Path
) -> None:
    text = (exported / "study.toml").read_text() + '[analyses]\nnames = ["users"]\n'
    again = run_text(text, exported, output=tmp_path / "again")
    frame = read_exactly(again / "tables/means.csv")
    means_again = frame.set_index(["metric", "cutoff", "system"])["mean"]
    pd.testing.assert_series_equal(means_again.sort_index(), means.sort_index())


def test_pooled_qrels_mark_what_was_retrieved_and_not_judged(exported: Path) -> None:
    grades = np.loadtxt(exported / "qrels/pooled/random.qrels", dtype=str)[:, 3]
    assert np.count_nonzero(grades == "-1") > 0


Means = dict[tuple[str, int, str], float]

NAMES = {
    "trec_eval": {"P": "P", "recall": "Recall", "map_cut": "AP", "ndcg_cut": "nDCG"}
    | {"recip_rank": "RR", "bpref": "bpref", "infAP": "infAP"},
    "ir_measures": {"P": "P", "R": "Recall", "AP": "AP", "nDCG": "nDCG", "RR": "RR"}
    | {"Bpref": "bpref", "infAP": "infAP"},
}
PRINTED = {"trec_eval": PRINTED_TOLERANCE, "ir_measures": TOLERANCE}


def calls_of(script: str, folder: Path, bin_folder: Path) -> list[list[str]]:
    """Run a script with a tool that only notes what it is called with."""
    notes, tool = bin_folder / "calls", bin_folder / script.removesuffix(".sh")
    tool.write_text(f"#!/bin/sh\nprintf '%s\\t' \"$@\" >> '{notes}'\necho >> '{notes}'\n")
    tool.chmod(0o755)
    paths = os.pathsep.join([str(bin_folder), os.environ["PATH"]])
    subprocess.run(["sh", script], cwd=folder, env={"PATH": paths}, check=True)
    return [line.rstrip("\t").split("\t") for line in notes.read_text().splitlines()]


def lines_of(tool: str, call: list[str], folder: Path) -> tuple[str, list[tuple[str, str]]]:
    """Do what a call asks of a tool: the run, and names with values."""
    if tool == "trec_eval":
        *options, qrels, run = call
        paths = ["--qrels", str(folder / qrels), str(folder / run)]
        answer = CliRunner().invoke(main, ["evaluate", *options, *paths]).stdout
        found = [line.split("\t") for line in answer.splitlines()]
        return run, [(name.strip().replace("_cut_", "_cut@"), value) for name, _, value in found]
    _, _, qrels, run, names = call
    lines = run_ir_measures(str(folder / qrels), str(folder / run), names)
    return run, [(name, value) for name, value in (line.split("\t") for line in lines)]


@pytest.fixture(scope="module", params=["trec_eval", "ir_measures"])
def printed(
    request: pytest.FixtureRequest, exported: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Means]:
    """What a script prints, with ``harness evaluate`` in the place of trec_eval."""
    tool: str = request.param
    folder = copytree(exported, tmp_path_factory.mktemp(tool) / "exported")
    found: Means = {}
    for call in calls_of(f"{tool}.sh", folder, tmp_path_factory.mktemp("bin")):
        run, lines = lines_of(tool, call, folder)
        for name, value in lines:
            parts = re.fullmatch(r"(\w+?)(?:\(.*\))?(?:[_@]([0-9]+))?", name)
            assert parts is not None
            base, rank = parts.groups()
            cutoff = int(rank or Path(run).parent.name)
            found[NAMES[tool][base], cutoff, Path(run).stem] = float(value)
    return tool, found


def run_ir_measures(*arguments: str) -> list[str]:
    """Call ``python -m ir_measures -p 12`` without starting a process."""
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed):
        patch.setattr(sys, "argv", ["ir_measures", "-p", "12", *arguments])
        with warnings.catch_warnings():
            # On Python 3.13 it reads names of measures by what Python 3.14 lacks.
            warnings.simplefilter("ignore", DeprecationWarning)
            runpy.run_module("ir_measures", run_name="__main__")
    return printed.getvalue().splitlines()


METRICS = ("P", "Recall", "AP", "nDCG", "RR", "bpref", "infAP")


def test_the_scripts_print_our_means(means: pd.Series[float], printed: tuple[str, Means]) -> None:
    tool, found = printed
    assert len(found) == len(METRICS) * len(CUTOFFS) * len(SYSTEMS)
    for (metric, cutoff, system), value in found.items():
        assert abs(means[metric, cutoff, system] - value) <= PRINTED[tool]


def test_a_run_may_lack_a_judged_user(given: Path, tmp_path: Path) -> None:
    export_study(given, tmp_path / "target")
    pooled = np.loadtxt(tmp_path / "target/qrels/pooled/partial.qrels", dtype=str)
    assert ["u1", "0", "x", "-1"] in pooled.tolist()


def test_a_target_with_something_in_it_is_refused(scored: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(InputError, match="must be a new or empty folder"):
        export_study(scored, tmp_path)


@pytest.mark.parametrize("tool", TOOLS)
def test_every_name_gets_a_command(tool: Tool) -> None:
    text = script(tool, "s", list(TOOL_NAMES), [5, 10], level=4)
    for names in TOOL_NAMES.values():
        assert getattr(names, tool).format(level=4) in text


def test_a_level_of_its_own_is_a_command_of_its_own() -> None:
    lines = script("trec_eval", "s", ["P", "P(rel=2)"], [5], level=4).splitlines()
    assert [line.split()[3] for line in lines if "trec_eval -c" in line] == ["4", "2"]


def test_the_name_of_a_data_set_is_text_to_recbole(scored: Path, tmp_path: Path) -> None:
    study = copytree(scored, tmp_path / "study")
    manifest = json.loads((study / "manifest.json").read_text()) | {"study": "1e3"}
    (study / "manifest.json").write_text(json.dumps(manifest))
    export_study(study, tmp_path / "target")
    assert 'dataset: "1e3"\n' in (tmp_path / "target/recbole/1e3.yaml").read_text()
    assert (tmp_path / "target/recbole/1e3/1e3.part1.inter").exists()


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("label", ["x\ntouch PWNED\n#", "$(touch PWNED)", "`touch PWNED`"])
def test_a_name_in_a_script_is_not_run(tool: Tool, label: str, tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/$(touch PWNED);touch PWNED'.run").touch()
    cutoffs: Any = [5, "5; touch PWNED"]
    (tmp_path / f"{tool}.sh").write_text(script(tool, label, ["P", "AP"], cutoffs, level=1))
    calls_of(f"{tool}.sh", tmp_path, tmp_path)
    assert list(tmp_path.rglob("PWNED")) == []


def test_what_is_retrieved_for_a_user_without_judgements_is_not_pooled() -> None:
    one = np.array([1], dtype=np.int32)
    qrels = Qrels(np.array([0, 1, 1]), one - 1, one, relevance_level=1)
    run = Run("s", np.array([[1, 0], [1, 0]], dtype=np.int32))
    pooled = pool(qrels, run)
    assert np.diff(pooled.offsets).tolist() == [2, 0]
    assert pooled.grades.tolist() == [1, -1]


def test_a_script_cuts_runs_for_measures_without_a_cut_off() -> None:
    text = script("trec_eval", "my study", ["P(rel=2)", "nDCG", "RR", "infAP"], [5, 10], level=4)
    assert text.splitlines() == [
        "#!/bin/sh",
        "# The means of the study my study, by trec_eval: run it in this folder.",
        "# Compare with tables/means.csv of the study.",
        "set -e",
        "for run in runs/*.run; do",
        '  name="$(basename "$run")"',
        '  pooled="qrels/pooled/${name%.run}.qrels"',
        '  echo "# $run"',
        '  trec_eval -c -l 2 -m P.5,10 qrels/test.qrels "$run"',
        '  trec_eval -c -l 4 -m ndcg_cut.5,10 qrels/test.qrels "$run"',
        "  for n in 5 10; do",
        '    echo "# $run, cut to $n"',
        '    mkdir -p "cut/$n"',
        """    awk -v n="$n" '$4 <= n' "$run" > "cut/$n/$name\"""",
        '    trec_eval -c -l 4 -m recip_rank qrels/test.qrels "cut/$n/$name"',
        '    trec_eval -c -l 4 -m infAP "$pooled" "cut/$n/$name"',
        "  done",
        "done",
    ]


def test_the_other_tool_takes_the_level_in_the_name_and_a_cut_off_behind_it() -> None:
    lines = script("ir_measures", "s", ["P(rel=2)", "RR", "infAP"], [5, 10], level=4).splitlines()
    assert [line.strip() for line in lines if "ir_measures -p" in line] == [
        "ir_measures -p 12 qrels/test.qrels \"$run\" 'P(rel=2)@5 P(rel=2)@10'",
        "ir_measures -p 12 qrels/test.qrels \"$run\" 'RR(rel=4)@5 RR(rel=4)@10'",
        'ir_measures -p 12 "$pooled" "cut/$n/$name" \'infAP(rel=4)\'',
    ]


@pytest.mark.parametrize("tool", TOOLS)
def test_what_a_tool_has_no_measure_for_is_remarked_and_not_run(tool: Tool) -> None:
    labels = ["P", "AP(condensed=true)", "RBP", "nDCG(gains=exp,rel=2)", "AP(rel=2)"]
    text = script(tool, "s", labels, [5], level=1)
    remark = "# It has no measure for AP(condensed=true), RBP, nDCG(gains=exp,rel=2)."
    assert remark in text.splitlines()
    assert sum(line.startswith("  ") and f"{tool} -" in line for line in text.splitlines()) == 2
    assert "It has no measure" not in script(tool, "s", ["P"], [5], level=1)


TREC_EVAL = {
    "P": "P", "Recall": "recall", "AP": "map_cut", "nDCG": "ndcg_cut", "Success": "success",
    "RR": "recip_rank", "bpref": "bpref", "infAP": "infAP", "infAP_trec": "infAP",
    "Rprec": "Rprec", "SetP": "set_P", "SetR": "set_recall", "SetF": "set_F",
}  # fmt: skip


def test_measures_are_cut_or_pooled_where_the_tool_does_not() -> None:
    assert {name: names.trec_eval for name, names in TOOL_NAMES.items()} == TREC_EVAL
    whole = {name for name, names in TOOL_NAMES.items() if not names.cut}
    assert whole == {"P", "Recall", "AP", "nDCG", "Success"}
    assert TOOL_NAMES["RR"].cut == ("trec_eval",)
    rest = {*TOOL_NAMES} - whole - {"RR"}
    assert {TOOL_NAMES[name].cut for name in rest} == {("trec_eval", "ir_measures")}
    assert [name for name, names in TOOL_NAMES.items() if names.pooled] == ["infAP"]


def test_ranks_and_scores_of_other_formats_count_down_the_list(
    scored: Path, tmp_path: Path
) -> None:
    export_study(scored, tmp_path, run_formats=["lenskit", "recbole"])
    frame = pd.read_parquet(tmp_path / "lenskit/runs/popularity.parquet")
    trec = pd.read_csv(tmp_path / "runs/popularity.run", sep=" ", header=None, dtype=str)
    assert frame["user_id"].tolist() == trec[0].tolist()
    assert frame["item_id"].tolist() == trec[2].tolist()
    assert frame["rank"].tolist() == trec[3].astype(int).tolist()
    depth = frame["rank"].max()
    assert (frame["score"] == depth + 1 - frame["rank"]).all()
    assert frame["score"].dtype == np.float32
    atomic = pd.read_csv(tmp_path / "recbole/runs/popularity.inter", sep="\t", dtype=str)
    assert tuple(atomic.columns) == ATOMIC_RUN
    assert atomic["item_id:token"].tolist() == trec[2].tolist()


def test_a_description_names_the_method_the_machine_and_the_versions(scored: Path) -> None:
    manifest = FinishedStudy.open(scored).manifest
    versions = {"numpy": "2.0", "commit": "abc"}
    known = manifest.model_copy(
        update={"versions": versions, "sources": {"ease": ("Linear.", "Steck (2019)")}}
    )
    lines = _metadata("ease", known).splitlines()
    facts = {
        name: json.loads(value)
        for name, value in (line.removeprefix("# ").split(": ", 1) for line in lines[1:-1])
    }
    assert facts == {
        "schema version": 0.2,
        "run version": 1.0,
        "tag": "ease",
        "platform": {
            "hardware": {"cpu": {"architecture": manifest.host.processor}},
            "operating system": {"kernel": manifest.host.system},
            "software": {"libraries": {"python": ["numpy==2.0"]}},
        },
        "implementation": {"source": {"lang": ["python"], "commit": "abc"}},
        "method": {
            "automatic": True,
            "score ties": "none: the score is the depth + 1 - rank",
            "retrieval": [{"name": "ease", "method": "Linear.", "source": "Steck (2019)"}],
        },
        "data": {"test collection": {"name": manifest.study}},
    }
    assert '"commit"' not in _metadata(
        "ease", known.model_copy(update={"versions": {"numpy": "2.0"}})
    )
    assert "a run by another program" in _metadata("other", known)


def test_the_split_is_laid_out_for_recbole_and_lenskit(scored: Path) -> None:
    found = dict(split_layouts(scored, "mine"))
    assert [*found] == [
        "recbole/mine/mine.part1.inter",
        "recbole/mine/mine.part3.inter",
        "recbole/mine.yaml",
        "lenskit/train.parquet",
        "lenskit/test.parquet",
    ]
    train = pd.read_csv(scored / "split/train.csv", dtype=str)
    test = pd.read_csv(scored / "split/test.csv", dtype=str)
    for part, name, ratings in (("part1", "train", train), ("part3", "test", test)):
        atomic = pd.read_csv(
            io.BytesIO(found[f"recbole/mine/mine.{part}.inter"]), sep="\t", dtype=str
        )
        assert [*atomic.columns][:3] == ["user_id:token", "item_id:token", "rating:float"]
        assert atomic["item_id:token"].tolist() == ratings["item"].tolist()
        table = pd.read_parquet(io.BytesIO(found[f"lenskit/{name}.parquet"]))
        assert [*table.columns][:3] == ["user_id", "item_id", "rating"]
        assert table["user_id"].astype(str).tolist() == ratings["user"].tolist()
    settings = found["recbole/mine.yaml"].decode().splitlines()
    assert settings[-4:] == [
        'dataset: "mine"',
        "benchmark_filename: [part1, part3, part3]",
        f"load_col: {{inter: [{', '.join(table.columns)}]}}",
        "eval_step: 0",
    ]


def test_a_study_of_runs_alone_has_no_split_to_lay_out(given: Path) -> None:
    assert [*split_layouts(given, "mine")] == []


def test_an_empty_folder_is_taken_and_a_file_is_not(given: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="must be a new or empty folder"):
        export_study(given, tmp_path / "file")
    (tmp_path / "empty").mkdir()
    paths = export_study(given, tmp_path / "empty")
    names = sorted(str(path.relative_to(tmp_path / "empty")) for path in paths)
    runs = sorted(path.stem for path in (given / "runs").glob("*.parquet"))
    pooled = [f"qrels/pooled/{name}.qrels" for name in runs]
    scripts = ["ir_measures.sh", "study.toml", "trec_eval.sh"]
    expected = [*pooled, "qrels/test.qrels", *(f"runs/{name}.run" for name in runs), *scripts]
    assert names == sorted(expected)
