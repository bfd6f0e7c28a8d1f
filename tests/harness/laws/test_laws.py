"""The laws, on toy metrics that break them and on one that keeps them all."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from harness.cli.main import main
from harness.laws.battery import CONVENTIONS, LAWS
from harness.laws.cards import check_metric, worst_outcome
from harness.laws.law import Outcome, Verdict
from harness.laws.lists import Bench
from harness.laws.resolution import N_LISTS
from harness.metrics.shared.metric import Metric
from harness.metrics.shared.register import built_in_metrics, find_metric
from runs import InputError
from tests.harness.small import ROOT

BUILT_IN = built_in_metrics()
BY_NAME = {law.name: law for law in (*LAWS, *CONVENTIONS)}
NOISE = np.random.default_rng(1)


def toy(function: Any, **facts: Any) -> Metric:
    return Metric("toy", function, source="here", **facts)


def applied(law: str, metric: Metric, *, cutoff: int = 5) -> Outcome:
    return BY_NAME[law].apply(Bench(metric, cutoff))


def shown(outcome: Outcome, *, level: int = 2) -> list[tuple[str, str, float | str]]:
    return [(e.label, e.listed.marks(level=level), e.score) for e in outcome.evidence]


def hits(judged: Any, *, cutoff: int | None = None) -> Any:
    return judged.relevant[:, :cutoff].sum(axis=1)


def second_rank(judged: Any, *, cutoff: int | None = None) -> Any:
    return judged.relevant[:, 1]


def of_first_judgement(judged: Any, *, cutoff: int | None = None) -> Any:
    return judged.judgements[:, 0] >= judged.relevance_level


BROKEN = {
    "range": (toy(hits), [("list", "R R", 2.0)]),
    "perfect": (toy(second_rank), [("perfect", "R –", 0.0), ("other", "– R", 1.0)]),
    "top": (BUILT_IN["P"], [("perfect", "R – – – –", 0.2)]),
    "empty": (
        toy(lambda judged, *, cutoff=None: -judged.nonrelevant.sum(axis=1), low=-100),
        [("empty", "(empty)", 0.0), ("other", "N", -1.0)],
    ),
    "promotion": (toy(second_rank), [("before", "– R", 1.0), ("after", "R –", 0.0)]),
    "find, unjudged": (
        toy(lambda judged, *, cutoff=None: np.isnan(judged.grades[:, 0])),
        [("before", "–", 1.0), ("after", "R", 0.0)],
    ),
    "find, judged": (
        toy(lambda judged, *, cutoff=None: judged.nonrelevant[:, 0]),
        [("before", "N", 1.0), ("after", "R", 0.0)],
    ),
    "cut-off": (
        toy(lambda judged, *, cutoff=None: hits(judged)),
        [("one", "– – – – – R", 1.0), ("other", "– – – – –", 0.0)],
    ),
    "users": (
        toy(lambda judged, *, cutoff=None: hits(judged).cumsum()),
        [("alone", "(empty)", 0.0), ("together", "(empty)", 1.0), ("with", "R", 1.0)],
    ),
    "lattice": (toy(BUILT_IN["P"].function, lattice=lambda cutoff: 1), [("list", "R", 0.2)]),
    "files": (toy(of_first_judgement), [("memory", "(empty)", 1.0), ("file", "(empty)", 0.0)]),
}


@pytest.mark.slow
@pytest.mark.parametrize("law", BROKEN)
def test_a_broken_metric_is_shown_with_the_smallest_counterexample(law: str) -> None:
    metric, counterexample = BROKEN[law]
    outcome = applied(law, metric)
    assert outcome.verdict is Verdict.FAIL
    assert shown(outcome) == counterexample


@pytest.mark.slow
@pytest.mark.parametrize("law", [law.name for law in LAWS])
def test_reciprocal_rank_keeps_every_law(law: str) -> None:
    assert applied(law, BUILT_IN["RR"]).verdict is Verdict.PASS


def test_every_law_but_the_first_has_a_broken_metric_here() -> None:
    assert [law.name for law in LAWS] == ["score", *BROKEN]


@pytest.mark.slow
def test_a_metric_that_fails_on_a_list_is_shown_with_the_smallest() -> None:
    with np.errstate(all="ignore"):
        outcome = applied("score", toy(lambda judged, *, cutoff=None: 1 / judged.n_relevant))
    ((label, marks, said),) = shown(outcome)
    assert (label, marks) == ("list", "(empty)")
    assert "must return finite values, got inf" in str(said)


@pytest.mark.slow
def test_a_score_that_changes_from_call_to_call_is_found() -> None:
    noisy = toy(lambda judged, *, cutoff=None: NOISE.random(judged.n_users))
    assert shown(applied("score", noisy)) == [("list", "(empty)", "scores vary")]
    assert "changes from call to call" in applied("promotion", noisy).sentence


def test_lists_without_a_score_are_passed_over_by_the_other_laws() -> None:
    share = toy(lambda judged, *, cutoff=None: hits(judged, cutoff=cutoff) / judged.n_relevant)
    with np.errstate(all="ignore"):
        assert applied("range", share).verdict is Verdict.PASS


@pytest.mark.slow
def test_a_metric_without_any_score_fails_and_keeps_no_law() -> None:
    card = check_metric(toy(lambda judged, *, cutoff=None: None), cutoffs=[5], tries=30)
    verdicts = {outcome.law: outcome.verdict for outcome in card.outcomes}
    assert verdicts.pop("score") is Verdict.FAIL
    assert {*verdicts.values()} == {Verdict.NOT_APPLICABLE}
    assert card.resolution is None


def blind_below(rank: int) -> Any:
    def function(judged: Any, *, cutoff: int | None = None) -> Any:
        gains = judged.relevant * np.where(judged.ranks <= rank, 1, -1)
        return gains[:, :cutoff].sum(axis=1)

    return function


@pytest.mark.slow
def test_a_fault_at_deep_ranks_is_found() -> None:
    law = BY_NAME["find, unjudged"]
    benches = [Bench(toy(blind_below(8)), cutoff) for cutoff in (5, 20, None)]
    verdicts = [law.apply(bench).verdict for bench in benches]
    assert verdicts == [Verdict.PASS, Verdict.FAIL, Verdict.FAIL]
    assert worst_outcome(law, benches).sentence == "At cut-off 20."


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "verdict"),
    [("ndcg_cut", Verdict.PASS), ("ndcg_cut.n", Verdict.PASS), ("map", Verdict.FAIL)],
)
def test_the_measure_of_trec_eval_that_a_metric_names_is_compared(
    name: str, verdict: Verdict
) -> None:
    mine = toy(BUILT_IN["nDCG"].function, trec_eval=name)
    card = check_metric(mine, cutoffs=[5, None], tries=30)
    (outcome,) = [each for each in card.outcomes if each.law == "trec_eval"]
    assert outcome.verdict is verdict


def test_an_unknown_measure_of_trec_eval_is_refused() -> None:
    with pytest.raises(InputError, match="trec_eval has no measure 'ndcg_cutt'; did you mean"):
        check_metric(toy(hits, trec_eval="ndcg_cutt"), tries=1)


@pytest.mark.slow
def test_a_second_implementation_that_differs_is_shown_with_a_list() -> None:
    card = check_metric(toy(hits, high=5.0), cutoffs=[5], tries=30, against=BUILT_IN["P"])
    assert shown(card.outcomes[len(LAWS)]) == [("toy", "R", 1.0), ("P", "R", 0.2)]


@pytest.mark.slow
def test_the_resolution_stands_beside_those_of_ndcg_and_p() -> None:
    table = check_metric(BUILT_IN["Success"], cutoffs=[5], tries=1).resolution
    assert table is not None
    found = {name: (ties, distinct) for name, ties, distinct, _ in table.rows}
    assert [*found] == ["Success", "nDCG", "P"]
    assert found["Success"] > found["P"] > found["nDCG"]
    assert found["Success"][1] == 2
    ones = round(float(table.rows[0][3]) * N_LISTS)
    tied = ones * (ones - 1) + (N_LISTS - ones) * (N_LISTS - ones - 1)
    assert found["Success"][0] == pytest.approx(tied / (N_LISTS * (N_LISTS - 1)), abs=1e-12)


@pytest.mark.parametrize(
    ("law", "facts", "reason"),
    [
        ("range", {"low": -np.inf, "high": np.inf}, "declares no bounds"),
        ("top", {"high": np.inf}, "declares no best value"),
        ("top", {"low": -np.inf, "higher_is_better": False}, "declares no best value"),
        ("lattice", {}, "declares no such number"),
    ],
)
def test_a_law_that_does_not_apply_says_why(law: str, facts: dict[str, Any], reason: str) -> None:
    outcome = applied(law, toy(hits, **facts))
    assert outcome.verdict is Verdict.NOT_APPLICABLE
    assert reason in outcome.sentence


@pytest.mark.slow
def test_laws_are_turned_round_where_less_is_better() -> None:
    missed = toy(
        lambda judged, *, cutoff=None: 1 - BUILT_IN["RR"].function(judged, cutoff=cutoff),
        higher_is_better=False,
    )
    for law in ("perfect", "top", "empty", "promotion", "find, unjudged", "find, judged"):
        assert applied(law, missed).verdict is Verdict.PASS


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "law", "lists"), [("bpref", "unjudged", [("one", "N R", 0.0), ("other", "– R", 1.0)])]
)
def test_a_property_is_reported_with_an_example(
    name: str, law: str, lists: list[tuple[str, str, float]]
) -> None:
    outcome = applied(law, BUILT_IN[name])
    assert outcome.verdict is Verdict.REPORT
    assert sorted(shown(outcome)) == sorted(lists)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metric", "sentences"), [("P", ["Yes.", "Yes."]), ("nDCG", ["No, it", "No, higher"])]
)
def test_conventions_are_told(metric: str, sentences: list[str]) -> None:
    told = [applied(law.name, BUILT_IN[metric]).sentence for law in CONVENTIONS]
    assert all(own.startswith(other) for own, other in zip(told, sentences, strict=False))


def test_a_metric_that_ignores_the_order_is_not_moved_by_ties() -> None:
    assert applied("ties", toy(lambda judged, *, cutoff=None: hits(judged))).sentence == "No."


def test_graded_counterexamples_show_the_grade() -> None:
    outcome = applied("unjudged", BUILT_IN["nDCG"])
    assert shown(outcome) == [("one", "N1", 1.0), ("other", "–", 0.0)]


# Cards


def test_laws_of_lists_do_not_apply_to_hidden_items() -> None:
    metric = find_metric("LOO", built_in_metrics())
    verdicts = {outcome.verdict for outcome in check_metric(metric, tries=5).outcomes}
    assert verdicts == {Verdict.NOT_APPLICABLE}


# Command line


def check(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["check", "--tries", "30", *map(str, arguments)])


def write_metrics(folder: Path) -> Path:
    path = folder / "mine.py"
    path.write_text(
        "from harness.metrics.shared.metric import metric\n"
        "from harness.metrics.shared.user_metric import user_metric\n"
        "@metric('hits', source='here')\n"
        "def hits(judged, *, cutoff=None):\n"
        "    return judged.relevant[:, :cutoff].sum(axis=1)\n"
        "@user_metric('found', source='here', lattice=lambda cutoff: 1)\n"
        "def found(grades, user):\n"
        "    return any(grade >= user.relevance_level for grade in grades)\n"
    )
    return path


@pytest.mark.slow
def test_a_broken_law_is_answered_with_one_and_its_counterexample(tmp_path: Path) -> None:
    answer = check(write_metrics(tmp_path))
    assert answer.exit_code == 1
    assert "list:  R R  R = 2, N = 0  scores 2" in answer.output


@pytest.mark.slow
@pytest.mark.parametrize(
    ("breaks", "code", "said"),
    [
        (("top",), 0, ""),
        (("top", "range"), 1, "P@5 does not break 'range'."),
        (("range",), 1, "P@5 breaks 'top'."),
        (("tops",), 2, "no law is called 'tops'; did you mean 'top'?"),
    ],
)
def test_expected_breaks_of_laws_decide_the_exit_code(
    breaks: tuple[str, ...], code: int, said: str
) -> None:
    answer = check("P@5", *(f"--breaks={law}" for law in breaks))
    assert answer.exit_code == code
    assert said in answer.stderr


@pytest.mark.slow
def test_a_metric_in_a_file_that_is_not_named_is_answered_with_the_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_metrics(tmp_path)
    answer = check("mine")
    assert answer.exit_code == 2
    assert "to use the metrics of the file mine.py, add `--plugin mine.py`." in answer.stderr
    assert "FAIL" in check("hits@5", "--plugin", "mine.py").output


def test_a_metric_without_a_source_is_refused_with_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("from harness import metric\n@metric('X')\ndef x(judged): ...\n")
    answer = check(path)
    assert answer.exit_code == 2
    assert f"{path}, line 2: " in answer.stderr
    assert "'source'" in answer.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nDGC",), "did you mean 'nDCG'?"),
        (("no.py",), "the metric plug-in does not exist"),
        (("RR@3", "--cutoff", "5"), "'RR@3' has a cut-off of its own"),
    ],
)
def test_wrong_usage_is_answered_with_two(arguments: tuple[str, ...], sentence: str) -> None:
    answer = check(*arguments)
    assert answer.exit_code == 2
    assert sentence in answer.output


@pytest.mark.slow
def test_checking_leaves_nothing_behind(tmp_path: Path) -> None:
    path = write_metrics(tmp_path)
    command = [
        sys.executable,
        "-m",
        "harness",
        "check",
        str(path),
        "--tries",
        "5",
        "--format",
        "json",
    ]
    environment = {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert list(tmp_path.iterdir()) == [path]
