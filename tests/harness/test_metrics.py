"""The readable metrics against pytrec_eval, and by hand."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.metric import available_metrics, built_in_metrics, find_metric
from qrels import Judged, Qrels, judge
from runs import InputError, Run
from tests.lists import pytrec_eval_scores, random_case, runs_and_qrels

METRICS = built_in_metrics()
PYTREC_EVAL = {
    "P": "P_{}",
    "Recall": "recall_{}",
    "AP": "map_cut_{}",
    "nDCG": "ndcg_cut_{}",
    "RR": "recip_rank",
    "bpref": "bpref",
    "infAP": "infAP",
}


def test_the_folder_is_the_list() -> None:
    assert set(METRICS) == set(PYTREC_EVAL)


@pytest.mark.parametrize("name", METRICS)
@given(case=runs_and_qrels(), cutoff=st.integers(1, 10))
def test_a_metric_at_a_cutoff_is_pytrec_evals(
    name: str, case: tuple[Run, Qrels], cutoff: int
) -> None:
    run, qrels = case
    measure = PYTREC_EVAL[name]
    cut = None if "{}" in measure else cutoff
    expected = pytrec_eval_scores(
        run, qrels, measure.format(cutoff), cutoff=cut, pool=name == "infAP"
    )
    scores = METRICS[name](judge(run, qrels), cutoff=cutoff)
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["AP", "nDCG", "RR", "bpref", "infAP"])
@given(case=runs_and_qrels())
def test_a_metric_without_cutoff_is_pytrec_evals(name: str, case: tuple[Run, Qrels]) -> None:
    run, qrels = case
    measure = {"AP": "map", "nDCG": "ndcg"}.get(name, PYTREC_EVAL[name])
    expected = pytrec_eval_scores(run, qrels, measure, pool=name == "infAP")
    np.testing.assert_allclose(METRICS[name](judge(run, qrels)), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("cutoff", [5, 100])
def test_a_metric_on_long_lists_is_pytrec_evals(name: str, cutoff: int) -> None:
    run, qrels = random_case(3, n_users=40, n_items=400, depth=100, n_judged=33)
    measure = PYTREC_EVAL[name]
    expected = pytrec_eval_scores(
        run, qrels, measure.format(cutoff), cutoff=cutoff, pool=name == "infAP"
    )
    scores = METRICS[name](judge(run, qrels), cutoff=cutoff)
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", METRICS)
def test_an_empty_list_scores_zero(name: str) -> None:
    empty = Judged(np.full((1, 5), np.nan), np.ones((1, 2)))
    assert METRICS[name](empty, cutoff=3).tolist() == [0.0]


@pytest.mark.parametrize("name", METRICS)
def test_a_user_without_judgements_scores_zero(name: str) -> None:
    unjudged = Judged(np.full((1, 5), np.nan), np.full((1, 2), np.nan))
    assert METRICS[name](unjudged, cutoff=3).tolist() == [0.0]


@pytest.mark.parametrize("name", METRICS)
def test_lattice_scales_make_scores_whole(name: str) -> None:
    run, qrels = random_case(5, n_users=200, n_items=60, depth=20, n_judged=20)
    for cutoff in (1, 5, 10, 20):
        scale = METRICS[name].lattice(cutoff)
        if scale is not None:
            hits = METRICS[name](judge(run, qrels), cutoff=cutoff) * scale
            np.testing.assert_allclose(hits, np.rint(hits), atol=1e-9)


def test_positive_only_qrels_turn_bpref_into_recall() -> None:
    run, qrels = random_case(7, n_users=30, n_items=60, depth=20, n_judged=20)
    judged = judge(run, qrels.keep(qrels.relevant))
    np.testing.assert_allclose(METRICS["bpref"](judged), METRICS["Recall"](judged))


def write_plugin(folder: Path, body: str) -> Path:
    path = folder / "my_metric.py"
    path.write_text(
        "import numpy as np\nfrom harness.metric import metric\n"
        "@metric('first', source='here')\n"
        f"def first(judged, *, cutoff=None):\n    {body}\n"
    )
    return path


def test_a_plugin_stands_beside_the_built_in_metrics(tmp_path: Path) -> None:
    path = write_plugin(tmp_path, "return judged.relevant[:, 0].astype(float)")
    metrics = available_metrics([path])
    assert list(metrics) == [*METRICS, "first"]
    assert metrics["first"](Judged(np.array([[1.0]]), np.ones((1, 1)))).tolist() == [1.0]


def test_a_metric_must_return_one_value_per_user(tmp_path: Path) -> None:
    first = available_metrics([write_plugin(tmp_path, "return judged.relevant")])["first"]
    with pytest.raises(InputError, match=r"'first' must return one value per user"):
        first(Judged(np.array([[1.0]]), np.ones((1, 1))))


def test_a_metric_must_return_finite_values(tmp_path: Path) -> None:
    first = available_metrics([write_plugin(tmp_path, "return np.array([np.nan])")])["first"]
    with pytest.raises(InputError, match=r"got nan at cut-off 5 for user number 0"):
        first(Judged(np.array([[1.0]]), np.ones((1, 1))), cutoff=5)


def test_a_plugin_that_fails_is_named(tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text("import nowhere_to_be_found\n")
    with pytest.raises(InputError, match=r"broken\.py: the plug-in fails with ModuleNotFound"):
        available_metrics([path])


def test_a_plugin_without_a_metric_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "empty.py"
    path.write_text("x = 1\n")
    with pytest.raises(InputError, match=r"no function in it is declared with @metric"):
        available_metrics([path])


def test_a_plugin_may_not_take_a_built_in_name(tmp_path: Path) -> None:
    path = write_plugin(tmp_path, "return None")
    path.write_text(path.read_text().replace("'first'", "'AP'"))
    with pytest.raises(InputError, match="a metric called 'AP' exists already"):
        available_metrics([path])


def test_an_unknown_metric_is_answered_with_the_list() -> None:
    with pytest.raises(InputError, match="no metric is called 'zzz'; there are AP, bpref"):
        find_metric("zzz", METRICS)


@pytest.mark.parametrize("name", ["P", "Recall", "AP", "RR", "bpref", "infAP"])
@given(case=runs_and_qrels(), level=st.integers(1, 5))
def test_the_relevance_level_of_a_name_is_that_of_the_qrels(
    name: str, case: tuple[Run, Qrels], level: int
) -> None:
    run, qrels = case
    named = find_metric(f"{name}(rel={level})", METRICS)(judge(run, qrels), cutoff=5)
    levelled = Qrels(qrels.offsets, qrels.items, qrels.grades, relevance_level=level)
    np.testing.assert_array_equal(named, METRICS[name](judge(run, levelled), cutoff=5))
