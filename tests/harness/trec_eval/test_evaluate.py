"""`harness evaluate` prints what trec_eval prints, and computes what pytrec_eval computes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytrec_eval
from click.testing import CliRunner, Result
from hypothesis import given

from harness.cli.main import main
from harness.metrics.shared.register import built_in_metrics
from harness.notebook import score
from harness.trec_eval import evaluate as evaluation
from harness.trec_eval.evaluate import Evaluation, Evaluations, as_trec, evaluate_runs
from harness.trec_eval.measures import LEFT_OUT, RUN_ID, read_measures
from qrels import Qrels
from runs import InputError, InputWarning, Run
from tests.conformance import CONFORMANCE, needs_conformance
from tests.conftest import examples
from tests.harness.small import ROOT, write_qrels, write_run
from tests.lists import qrels_as_dicts, run_as_dicts, runs_and_qrels

MISUSED = 2
VERSIONS = ("v9.0.8", "v10.0")
ROUNDING = {"v9.0.8": [], "v10.0": ["--rounding", "nearest"]}
A = ["-mall_trec"]
CS = "5,10,20,30,40,50,60,70,80,90,100"
MANY = [
    *(f"-m{name}.{CS}" for name in ("P", "recall", "map_cut", "ndcg_cut")),
    *("-mrecip_rank", "-mbpref", "-minfAP", "-mmap", "-mndcg", "-mnum_q", "-mnum_ret", "-mnum_rel"),
    *("-mnum_rel_ret", "-mset_P", "-mset_recall", "-mRprec", "-mgm_map"),
]
CHOSEN = [
    *("-mP.5,7,3", "-mrecall.20,2000", "-mndcg_cut.10,20,23", "-msuccess.2,5,20"),
    *("-mndcg.1=3,2=9,4=4.5", "-miprec_at_recall..10,.20,.25,.75,.50", "-mRprec_mult.0.2,5,0.35"),
]
CUT = ["-mrecip_rank", "-mbpref", "-minfAP", "-mmap", "-mndcg", "-mset_P", "-mset_recall"]
TEST = ("qrels.test", "results.test")
TRUNCATED = ("qrels.test", "results.trunc")
GRADED = ("qrels.rel_level", "results.test")
CASES = {
    "out.test": ([], TEST),
    "out.test.a": (A, TEST),
    "out.test.aq": ([*A, "-q"], TEST),
    "out.test.meas_params": (["-q", *CHOSEN], TEST),
    "out.test.aqc": ([*A, "-q", "-c"], TRUNCATED),
    "out.test.aqcM": ([*A, "-q", "-c", "-M100"], TRUNCATED),
    "out.test.aql": ([*A, "-q", "-l2"], GRADED),
    "out.comment.test": ([], ("qrels.comment.test.gz", "results.comment.test.gz")),
    "gen.qc.test": (["-q", "-c", *MANY], TEST),
    "gen.qcJ.test": (["-q", "-c", "-J", *MANY], TEST),
    "gen.qc.trunc": (["-q", "-c", *MANY], TRUNCATED),
    "gen.qc.302": (["-q", "-c", *MANY], ("qrels-302.test", "results-302.test")),
    "gen.qcl2.rel_level": (["-q", "-c", "-l2", *MANY], GRADED),
    "gen.qcl4.rel_level": (["-q", "-c", "-l4", *MANY], GRADED),
    **{
        f"gen.qcl2M{n}.rel_level": (["-q", "-c", "-l2", f"-M{n}", *CUT], GRADED)
        for n in (5, 10, 20, 50, 100)
    },
}


def evaluate(*arguments: str | Path) -> Result:
    texts = [str(argument) for argument in arguments]
    return CliRunner().invoke(main, ["evaluate", *texts])


def labels(line: str) -> tuple[str, str]:
    name, topic, _ = line.split("\t")
    return name.strip(), topic


def known_quirk(line: str) -> bool:
    """Under -c, trec_eval counts all grades above 0 as relevant in the total, whatever -l says."""
    return labels(line) == ("num_rel", "all")


@pytest.mark.slow
@needs_conformance
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("case", CASES)
def test_lines_are_trec_evals(case: str, version: str) -> None:
    if not (CONFORMANCE / "trec_eval" / version / case).exists():
        pytest.skip(f"{case} was not made with {version}")
    options, (qrels, run) = CASES[case]
    folder = CONFORMANCE / "trec_eval"
    answer = evaluate("--qrels", folder / qrels, folder / run, *options, *ROUNDING[version])
    ours = answer.stdout.splitlines()
    expected = (folder / version / case).read_text().splitlines()
    names = {labels(line)[0] for line in ours}
    topics = {labels(line)[1] for line in expected}
    quirky = "-c" in options and any(option.startswith("-l") for option in options)
    wanted = [line for line in expected if labels(line)[0] in names]
    given = [line for line in ours if labels(line)[1] in topics]
    assert [line for line in given if not (quirky and known_quirk(line))] == [
        line for line in wanted if not (quirky and known_quirk(line))
    ]
    assert len(given) > 5


@needs_conformance
@pytest.mark.parametrize("version", VERSIONS)
def test_the_default_output_is_trec_evals_to_the_letter(version: str) -> None:
    folder = CONFORMANCE / "trec_eval"
    files = ("--qrels", folder / "qrels.test", folder / "results.test")
    assert evaluate(*files, *ROUNDING[version]).stdout_bytes == (
        (folder / version / "out.test").read_bytes()
    )


@needs_conformance
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("case", ["out.test.a", "out.test.aq", "out.test.aql"])
def test_all_trec_lacks_what_it_says_and_nothing_else(case: str, version: str) -> None:
    options, (qrels, run) = CASES[case]
    folder = CONFORMANCE / "trec_eval"
    answer = evaluate("--qrels", folder / qrels, folder / run, *options, *ROUNDING[version])
    lines = (folder / version / case).read_text().splitlines()
    kept = [line for line in lines if not _is_left_out(labels(line)[0])]
    assert answer.stdout.splitlines() == kept


def _is_left_out(name: str) -> bool:
    return name in LEFT_OUT or name.rpartition("_")[0] in LEFT_OUT


def files(folder: Path, run: Run, qrels: Qrels) -> tuple[Path, Path]:
    """Write a generated case; a list without items is not in the run."""
    judgements = folder / "test.qrels"
    nested = qrels_as_dicts(qrels)
    judgements.write_text("".join(f"{u} 0 {i} {g}\n" for u in nested for i, g in nested[u].items()))
    lists = {user: list(scores) for user, scores in run_as_dicts(run).items() if scores}
    return judgements, write_run(folder, "s", lists)


MEASURES = {
    "map": "map",
    "P.1,3": "P_1",
    "recall.2": "recall_2",
    "ndcg": "ndcg",
    "ndcg_cut.3": "ndcg_cut_3",
    "map_cut.2": "map_cut_2",
    "recip_rank": "recip_rank",
    "bpref": "bpref",
    "num_rel_ret": "num_rel_ret",
    "num_ret": "num_ret",
    "num_rel": "num_rel",
}


@pytest.mark.filterwarnings("ignore::runs.InputWarning")
@examples(30)
@given(case=runs_and_qrels())
def test_values_are_pytrec_evals(
    tmp_path_factory: pytest.TempPathFactory, case: tuple[Run, Qrels]
) -> None:
    run, qrels = case
    if not (qrels.relevant.any() and run.lengths.any()):
        return
    judgements, ranked = files(tmp_path_factory.mktemp("case"), run, qrels)
    columns = read_measures(list(MEASURES), built_in_metrics())
    if not np.isin(run.items[run.items >= 0], qrels.items).any():
        with pytest.raises(InputError, match="no run has an item that is judged"):
            evaluate_runs(judgements, [ranked], columns)
        return
    found = evaluate_runs(judgements, [ranked], columns, relevance_level=qrels.relevance_level)
    evaluator = pytrec_eval.RelevanceEvaluator(
        qrels_as_dicts(qrels),
        {measure.partition(",")[0] for measure in MEASURES},
        relevance_level=qrels.relevance_level,
    )
    theirs = evaluator.evaluate({user: s for user, s in run_as_dicts(run).items() if s})
    evaluation = found.runs[0]
    for topic, scores in theirs.items():
        row = evaluation.values[:, evaluation.topics.index(topic)]
        ours = dict(zip((column.name for column in columns), row, strict=True))
        assert {name: ours[name] for name in scores} == pytest.approx(scores, abs=1e-12)


@pytest.fixture
def collection(tmp_path: Path) -> tuple[Path, Path]:
    """Qrels of two topics, and a run that lacks the second."""
    qrels = write_qrels(tmp_path, {"u1": {"a": 2, "b": 0, "d": -1}, "u2": {"c": 1}})
    return qrels, write_run(tmp_path, "als", {"u1": ["x", "b", "d", "a"]})


IMPORTED = {
    "annotated_types", "click", "cloudpickle", "numpy", "psutil", "pyarrow", "typing_extensions",
}  # fmt: skip
"""What evaluate may import of others: little, so that it starts in a third of a second."""

OURS = (
    "harness.cli",
    "harness.metrics",
    "harness.readers",
    "harness.scoring",
    "harness.trec_eval",
    "qrels",
    "runs",
    "analyses.shared",
)


@pytest.mark.slow
def test_evaluate_imports_little(collection: tuple[Path, Path]) -> None:
    code = (
        "import sys\nbefore = set(sys.modules)\nfrom harness.cli.main import main\n"
        f"try: main(['evaluate', '--qrels', {str(collection[0])!r}, {str(collection[1])!r}])\n"
        "finally: print(*sorted(set(sys.modules) - before))"
    )
    answer = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    loaded = answer.stdout.splitlines()[-1].split()
    packages = {name.partition(".")[0] for name in loaded if not name.startswith(("_", "cython"))}
    ours = {"harness", "analyses", "qrels", "runs"}
    assert packages - sys.stdlib_module_names - ours <= IMPORTED
    parts = {name for name in loaded if name.count(".") == 1 and name.partition(".")[0] in ours}
    assert {part for part in parts if not part.startswith(OURS)} <= {
        "harness.own_packages",
        "harness.version",
    }


def test_the_default_output_by_hand(tmp_path: Path) -> None:
    """One topic; one of its two relevant items is at rank 4 of 4."""
    qrels = write_qrels(tmp_path, {"u": {"a": 1, "b": 0, "c": 1}})
    run = write_run(tmp_path, "als", {"u": ["x", "b", "y", "a"]})
    values = {
        **{"num_ret": 4, "num_rel": 2, "num_rel_ret": 1, "map": "0.1250", "gm_map": "0.1250"},
        **{"Rprec": "0.0000", "bpref": "0.0000", "recip_rank": "0.2500"},
        **{f"iprec_at_recall_{i / 10:.2f}": "0.2500" for i in range(6)},
        **{f"iprec_at_recall_{i / 10:.2f}": "0.0000" for i in range(6, 11)},
        **{"P_5": "0.2000", "P_10": "0.1000", "P_15": "0.0667", "P_20": "0.0500"},
        **{"P_30": "0.0333", "P_100": "0.0100", "P_200": "0.0050", "P_500": "0.0020"},
        "P_1000": "0.0010",
    }
    expected = [
        *(f"{name:<22}\tu\t{value}" for name, value in values.items() if name != "gm_map"),
        "runid                 \tall\tals",
        "num_q                 \tall\t1",
        *(f"{name:<22}\tall\t{value}" for name, value in values.items()),
    ]
    assert evaluate("--qrels", qrels, run, "-q").stdout == "\n".join(expected) + "\n"


def averages(collection: tuple[Path, Path], *measures: str, **options: object) -> list[float]:
    qrels, run = collection
    columns = read_measures(measures, built_in_metrics())
    found: Evaluations = evaluate_runs(qrels, [run], columns, **options)  # type: ignore[arg-type]
    return found.runs[0].averages.tolist()


def test_a_topic_that_the_run_lacks_is_left_out_if_the_topics_are_the_runs(
    collection: tuple[Path, Path],
) -> None:
    qrels, run = collection
    assert averages(collection, "num_q", "recip_rank", topics="run") == [1.0, 0.25]
    answer = evaluate("--qrels", qrels, run, "-q", "-mnum_ret", "--topics", "run")
    assert [labels(line)[1] for line in answer.stdout.splitlines()] == ["u1", "all"]
    assert answer.stderr.splitlines() == [
        "2 topics: 0 without relevant items, 1 without judged non-relevant items; those that a run "
        "has count.",
        f"{run}: 1 topic without recommendations, which do not count.",
    ]


def test_averages_are_not_over_the_topics_of_both(collection: tuple[Path, Path]) -> None:
    for flags in (["-c", "--topics", "run"], ["--topics", "run", "-c"]):
        answer = evaluate("--qrels", *collection, *flags)
        assert answer.exit_code == MISUSED
        assert "-c averages over all topics in the qrels" in answer.stderr


def test_where_nothing_is_relevant_all_but_ndcg_is_zero(collection: tuple[Path, Path]) -> None:
    measures = ("-mmap", "-mgm_map", "-mnum_rel", "-mndcg", "-mnum_q")
    answer = evaluate("--qrels", *collection, "-l3", *measures)
    values = [line.split()[2] for line in answer.stdout.splitlines()]
    assert values == ["2", "0", "0.0000", "0.0000", f"{1 / np.log2(5) / 2:.4f}"]
    warning = "Warning: no judgement is relevant: the highest grade is 2, the relevance level 3."
    assert warning in answer.stderr


def test_a_depth_cuts_the_lists_first(collection: tuple[Path, Path]) -> None:
    assert averages(collection, "recip_rank", depth=3) == [0.0]


def test_judged_only_follows_the_depth(collection: tuple[Path, Path]) -> None:
    assert averages(collection, "recip_rank", judged_only=True, depth=3) == [0.0]


def test_a_geometric_mean_is_averaged_as_one(collection: tuple[Path, Path]) -> None:
    theirs, ours = averages(collection, "gm_map", "AP(mean=geometric)")
    assert ours == pytest.approx(theirs, abs=1e-12)


def test_recall_points_are_rounded_up_or_to_the_nearest(tmp_path: Path) -> None:
    """At 0.3, trec_eval 9 wants two of four relevant items, trec_eval 10 one."""
    qrels = write_qrels(tmp_path, {"u": dict.fromkeys("abcd", 1)})
    run = write_run(tmp_path, "s", {"u": ["a", "x", "y", "b"]})
    printed = [
        evaluate("--qrels", qrels, run, "-miprec_at_recall.0.3", "--rounding", rounding).stdout
        for rounding in ("up", "nearest")
    ]
    assert [text.split()[-1] for text in printed] == ["0.5000", "1.0000"]


def test_judged_only_is_what_condensed_lists_score(collection: tuple[Path, Path]) -> None:
    ours = averages(collection, "AP(condensed=true)", "bpref(condensed=true)@1")
    assert ours == averages(collection, "AP", "bpref@1", judged_only=True)
    assert ours != averages(collection, "AP", "bpref@1")


def test_single_precision_makes_close_scores_ties(tmp_path: Path) -> None:
    qrels = write_qrels(tmp_path, {"u": {"a": 0, "b": 1}})
    run = tmp_path / "close.run"
    run.write_text("u Q0 a 1 16777217 s\nu Q0 b 2 16777216 s\n")
    ties = "items with equal scores.* recip_rank 1.000 \\(.500 to 1.000\\)"
    with pytest.warns(InputWarning, match=ties):
        assert averages((qrels, run), "recip_rank", precision="single") == [1.0]
    with pytest.warns(InputWarning, match="differ in double precision only"):
        assert averages((qrels, run), "recip_rank") == [0.5]


def test_csv_has_all_digits(collection: tuple[Path, Path]) -> None:
    qrels, run = collection
    answer = evaluate("--qrels", qrels, run, "-q", "-m", "ndcg", "-m", "num_ret", "--format", "csv")
    assert answer.stdout.splitlines() == [
        "run,system,measure,topic,value",
        f"{run},als,num_ret,u1,4",
        f"{run},als,ndcg,u1,{float(1 / np.log2(5))!r}",
        f"{run},als,num_ret,u2,0",
        f"{run},als,ndcg,u2,0.0",
        f"{run},als,num_ret,all,4",
        f"{run},als,ndcg,all,{float(1 / np.log2(5) / 2)!r}",
    ]


def test_tables_have_a_row_for_each_run(collection: tuple[Path, Path]) -> None:
    qrels, run = collection
    answer = evaluate("--qrels", qrels, run, "-m", "ndcg", "-mRR@4", "--format", "markdown")
    assert "als.run | 0.2153 | 0.1250 |" in answer.stdout


def test_systems_of_one_file_and_a_topic_called_all_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("all 0 a 1\nt 0 b 1\n")
    rows = "all,a,1,A\nt,b,1,A\nall,a,1,B\nt,c,1,B\n"
    (tmp_path / "runs.csv").write_text(f"user_id,item_id,score,model\n{rows}")
    every = {
        kind: evaluate(
            "--qrels", tmp_path / "qrels", tmp_path / "runs.csv", "-q", "-mmap", "--format", kind
        ).stdout
        for kind in ("trec", "text", "json")
    }
    assert [*map(str.split, every["trec"].splitlines())] == [
        ["runid", "all", "A"], ["map", "all", "1.0000"], ["map", "t", "1.0000"],
        ["map", "all", "1.0000"],
        ["runid", "all", "B"], ["map", "all", "1.0000"], ["map", "t", "0.0000"],
        ["map", "all", "0.5000"],
    ]  # fmt: skip
    assert re.findall(r"([AB](?:, topic \w+)?) +([.\d]+)\n", every["text"]) == [
        ("A, topic all", "1.0000"), ("A, topic t", "1.0000"), ("A", "1.0000"),
        ("B, topic all", "1.0000"), ("B, topic t", "0.0000"), ("B", "0.5000"),
    ]  # fmt: skip
    document = json.loads(every["json"])
    assert [run["all"]["map"] for run in document["runs"]] == [1, 0.5]
    assert document["runs"][1]["topics"]["all"]["map"] == 1


def test_json_has_averages_topics_and_coverage(collection: tuple[Path, Path]) -> None:
    qrels, run = collection
    answer = evaluate("--qrels", qrels, run, "-q", "-mofficial", "-mRR@4", "--format", "json")
    document = json.loads(answer.stdout)
    assert document["qrels"]["users without judged non-relevant items"] == 1
    assert document["runs"][0]["topics without recommendations"] == 1
    assert document["runs"][0]["all"]["RR@4"] == 0.125
    assert document["runs"][0]["topics"]["u1"]["recip_rank"] == 0.25


def test_means_add_topics_one_after_the_other_as_trec_eval_does(tmp_path: Path) -> None:
    """trec_eval prints P_500 = 0.5496 of these 40 topics; sums in pairs round to 0.5497."""
    hits = np.random.default_rng(6).integers(0, 501, 40)
    lists = {f"t{topic:02}": [f"d{n}" for n in range(count)] for topic, count in enumerate(hits)}
    qrels = write_qrels(
        tmp_path, {topic: dict.fromkeys([*items, "z"], 1) for topic, items in lists.items()}
    )
    run = write_run(tmp_path, "s", lists)
    assert f"{np.mean(hits / 500):.4f}" == "0.5497"
    assert evaluate("--qrels", qrels, run, "-mP.500").stdout.split() == ["P_500", "all", "0.5496"]
    scores = score([run], qrels, ["P@500"])
    assert f"{scores.mean_values()[0, 0]:.4f}" == "0.5496"


@pytest.mark.slow
def test_one_long_list_takes_no_memory_for_the_others(tmp_path: Path) -> None:
    """4,000 topics times the longest list would take 1.9 GB of grades."""
    n_topics, longest = 4_000, 60_000
    lists = {f"t{topic}": ["x", "b", "y", "a"] for topic in range(n_topics)}
    lists["t7"] = ["a", *(f"d{number}" for number in range(longest)), "b"]
    grades = {topic: {"a": 2, "b": 0, "c": 1} for topic in lists}
    qrels = write_qrels(tmp_path, grades)
    run = write_run(tmp_path, "s", lists)
    names = ("map", "bpref", "ndcg", "Rndcg", "ndcg_rel", "G", "binG", "P_5", "set_P", "num_ret")
    columns = read_measures([name.replace("P_5", "P.5") for name in names], built_in_metrics())
    tracemalloc.start()
    evaluation = evaluate_runs(qrels, [run], columns).runs[0]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200e6
    scored_lists = {
        topic: {item: float(-rank) for rank, item in enumerate(lists[topic])}
        for topic in ("t7", "t11")
    }
    evaluator = pytrec_eval.RelevanceEvaluator(grades, {*names} - {"P_5"} | {"P.5"})
    for topic, expected in evaluator.evaluate(scored_lists).items():
        values = evaluation.values[:, evaluation.topics.index(topic)]
        by_name = {column.name: value for column, value in zip(columns, values, strict=True)}
        assert by_name == pytest.approx(expected, abs=1e-12)


def test_a_mean_over_ranks_of_whole_lists_sees_all_topics_equally_deep(
    collection: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """P without a cut-off divides by the depth of the run, in whatever blocks topics are scored."""
    assert averages(collection, "P(rel=1)") == [0.125]
    monkeypatch.setattr("harness.trec_eval.evaluate.CELLS_AT_ONCE", 1)
    assert averages(collection, "P(rel=1)") == [0.125]


@pytest.mark.parametrize(
    ("widths", "at_once", "blocks"),
    [
        ([3, 3, 3], 9, [[0, 1, 2]]),
        ([3, 3, 3], 8, [[0, 1], [2]]),
        ([5, 1, 2, 0, 2], 25, [[0, 1, 2, 3, 4]]),
        ([5, 1, 2, 0, 2], 8, [[1, 2, 3, 4], [0]]),
        ([5, 1, 2, 0, 2], 7, [[1, 2, 3], [4], [0]]),
        ([5, 1, 2, 0, 2], 1, [[3], [1], [2], [4], [0]]),
        ([], 1, [[]]),
    ],
)
def test_topics_are_scored_in_blocks_of_few_ranks(
    widths: list[int], at_once: int, blocks: list[list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation, "CELLS_AT_ONCE", at_once)
    found = evaluation._blocks(np.array(widths, dtype=np.int64))
    assert [topics.tolist() for topics in found] == blocks


@pytest.mark.parametrize("at_once", [1, 3, 8, 1000])
@pytest.mark.parametrize("options", [{}, {"depth": 2}, {"judged_only": True}])
def test_blocks_of_topics_change_no_value(
    options: dict[str, Any], at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grades = {"u1": {"a": 2, "b": 0, "d": -1}, "u2": {"c": 1}, "u3": {"a": 1}, "u4": {"x": 0}}
    lists = {"u1": ["x", "b", "d", "a", "e"], "u2": ["c"], "u4": ["y", "x"]}
    both = write_qrels(tmp_path, grades), write_run(tmp_path, "s", lists)
    measures = ("map", "P", "num_ret", "Rndcg", "P@all", "RR")
    expected = averages(both, *measures, **options)
    monkeypatch.setattr(evaluation, "CELLS_AT_ONCE", at_once)
    assert averages(both, *measures, **options) == expected


def test_a_depth_beyond_the_longest_list_changes_nothing(collection: tuple[Path, Path]) -> None:
    assert averages(collection, "P@all", depth=99) == averages(collection, "P@all") == [1 / 8]
    assert averages(collection, "P@all", depth=2) == [0]


def of_two_topics(**changes: Any) -> Evaluations:
    columns = read_measures(["runid", "num_ret", "map", "gm_map"], built_in_metrics())
    assert columns[0] is RUN_ID
    values = np.array([[0, 0], [4, 1], [0.5, 0.25], [0.5, 0.25]])
    run = Evaluation("a.run", "als", ("1", "2"), columns, values, n_missing=0)
    return Evaluations((run,), {}, **changes)


def test_lines_are_as_wide_as_trec_evals() -> None:
    assert as_trec(of_two_topics(), per_topic=True).splitlines() == [
        "num_ret               \t1\t4",
        "map                   \t1\t0.5000",
        "num_ret               \t2\t1",
        "map                   \t2\t0.2500",
        "runid                 \tall\tals",
        "num_ret               \tall\t5",
        "map                   \tall\t0.3750",
        f"gm_map                \tall\t{0.125**0.5:.4f}",
    ]
    without = as_trec(of_two_topics(), per_topic=False).splitlines()
    assert [line.split("\t")[1] for line in without] == ["all"] * 4


def test_several_runs_begin_with_their_tag_once() -> None:
    one = of_two_topics().runs[0]
    few = replace(one, columns=one.columns[1:], values=one.values[1:], system="b")
    lines = as_trec(Evaluations((one, few), {}), per_topic=False).splitlines()
    assert [line.split()[0] for line in lines] == ["runid", "num_ret", "map", "gm_map"] * 2
    assert lines[4] == "runid                 \tall\tb"
    assert len(as_trec(Evaluations((few,), {}), per_topic=False).splitlines()) == 3


def test_all_topics_count_unless_those_of_the_run_are_asked_for() -> None:
    facts = {
        "users": 2,
        "users without relevant items": 1,
        "users without judged non-relevant items": 0,
    }
    run = replace(of_two_topics().runs[0], n_missing=3)
    begin = "2 topics: 1 without relevant items, 0 without judged non-relevant items; "
    assert Evaluations((run,), facts).remarks() == [
        f"{begin}all count.",
        "a.run: 3 topics without recommendations.",
    ]
    assert Evaluations((run,), facts, "run").remarks() == [
        f"{begin}those that a run has count.",
        "a.run: 3 topics without recommendations, which do not count.",
    ]


def test_measures_that_need_non_relevant_judgements_are_warned_of_where_none_are(
    tmp_path: Path,
) -> None:
    qrels = write_qrels(tmp_path, {"u": {"a": 1}})
    both = qrels, write_run(tmp_path, "s", {"u": ["a", "b"]})
    with pytest.warns(InputWarning, match=r"bpref@5 equals Recall.*AUC\(rel=1\) is 0"):
        averages(both, "bpref@5", "AUC(rel=1)", "P@5")


def test_topics_stand_below_each_other_in_tables(collection: tuple[Path, Path]) -> None:
    qrels, run = collection
    answer = evaluate("--qrels", qrels, run, "-q", "-mndcg", "-mrunid", "--format", "markdown")
    rows = [line.split("|")[1] for line in answer.stdout.splitlines() if "als.run" in line]
    assert [row.strip().rpartition(", ")[2] for row in rows[:2]] == ["topic u1", "topic u2"]
    assert rows[2].strip().endswith("/als.run")
    assert "runid" not in answer.stdout


# Subtopics


@pytest.fixture
def of_subtopics(tmp_path: Path) -> tuple[Path, Path]:
    """Qrels of three subtopics, and a run of two topics."""
    judgements = tmp_path / "q"
    judgements.write_text("t1 1 a 1\nt1 1 b 1\nt1 2 b 1\nt1 3 c 2\nt2 1 d 1\nt2 1 e 0\n")
    return judgements, write_run(tmp_path, "s", {"t1": ["b", "z", "a"], "t2": ["e", "d"]})


def test_measures_of_subtopics_are_printed_for_each_topic(of_subtopics: tuple[Path, Path]) -> None:
    judgements, run = of_subtopics
    measures = ["-m", "S-Recall@2", "-m", "alpha-nDCG@3", "-m", "map"]
    answer = evaluate("-q", "--format", "csv", "--qrels", judgements, run, *measures)
    rows = [line.split(",")[2:] for line in answer.stdout.splitlines()[1:]]
    found = {(measure, topic): float(value) for measure, topic, value in rows}
    log3 = np.log2(3)
    assert found["S-Recall@2", "t1"] == pytest.approx(2 / 3)
    assert found["S-Recall@2", "t2"] == 1
    assert found["alpha-nDCG@3", "t1"] == pytest.approx((2 + 0.5 / 2) / (2 + 1 / log3 + 0.5 / 2))
    assert found["alpha-nDCG@3", "t2"] == pytest.approx(1 / log3)
    assert found["map", "t1"] == pytest.approx((1 + 2 / 3) / 3)


def test_unjudged_items_can_be_left_out_before_subtopics_are_counted(
    of_subtopics: tuple[Path, Path],
) -> None:
    judgements, run = of_subtopics
    run.write_text(run.read_text().replace(" b ", " y "))
    options = ["--format", "csv", "-m", "S-Recall@1", "-q"]
    with_unjudged = evaluate("--qrels", judgements, run, *options).stdout
    judged_alone = evaluate("--qrels", judgements, run, *options, "-J").stdout
    assert "S-Recall@1,t1,0.0" in with_unjudged
    assert "S-Recall@1,t1,0.333" in judged_alone


def test_measures_of_subtopics_say_what_they_need(tmp_path: Path) -> None:
    judgements = tmp_path / "q"
    judgements.write_text("t1 0 a 1\n")
    run = write_run(tmp_path, "s", {"t1": ["a"]})
    answer = evaluate("--qrels", judgements, run, "-m", "alpha-nDCG@2")
    assert answer.exit_code == 2
    assert "or give qrels with subtopics (topic subtopic item grade)" in answer.stderr
