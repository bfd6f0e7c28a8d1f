"""Measures that only trec_eval's output needs are pytrec_eval's."""

import numpy as np
import pytest
from hypothesis import given

from harness.trec_eval.further_measures import ODDITIES
from qrels import Qrels, judge
from runs import Run
from tests.lists import pytrec_eval_scores, random_case, runs_and_qrels


@given(case=runs_and_qrels(lowest=-2))
def test_measures_are_pytrec_evals(case: tuple[Run, Qrels]) -> None:
    judged = judge(*case)
    for name, score in ODDITIES.items():
        expected = pytrec_eval_scores(*case, name)
        np.testing.assert_allclose(score(judged), expected, rtol=0, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("name", ODDITIES)
@pytest.mark.parametrize("n_judged", [3, 33, 300])
def test_a_measure_on_long_lists_is_pytrec_evals(name: str, n_judged: int) -> None:
    run, qrels = random_case(3, n_users=40, n_items=400, depth=100, n_judged=n_judged)
    scores = ODDITIES[name](judge(run, qrels))
    np.testing.assert_allclose(scores, pytrec_eval_scores(run, qrels, name), rtol=0, atol=1e-12)


@pytest.mark.parametrize("after_the_last", [0, 1, 2])
def test_the_end_of_the_list_counts_two_ranks_after_the_last_gain(after_the_last: int) -> None:
    items = np.arange(1 + after_the_last, dtype=np.int32)[None, ::-1].copy()
    qrels = Qrels(
        np.array([0, 1]),
        np.array([0], dtype=np.int32),
        np.array([1], dtype=np.int32),
        relevance_level=1,
    )
    run = Run("s", items)
    found = ODDITIES["Rndcg"](judge(run, qrels))
    np.testing.assert_allclose(found, pytrec_eval_scores(run, qrels, "Rndcg"), rtol=0, atol=1e-12)
