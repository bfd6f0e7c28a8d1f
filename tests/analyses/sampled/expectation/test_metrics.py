"""Metrics of ranks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyses.sampled.expectation.metrics import NAMES, RankMetric, rank_metric
from runs import InputError


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AUC", 3 / 4),
        ("P", 1 / 5),
        ("P@4", 1 / 4),
        ("Recall@2", 1.0),
        ("AP", 1 / 2),
        ("AP@2", 1 / 2),
        ("RR@4", 1 / 2),
        ("nDCG@2", 1 / np.log2(3)),
        ("Recall@1", 0.0),
        ("AP@1", 0.0),
    ],
)
def test_rank_two_of_five_scores_what_the_formulas_say(name: str, value: float) -> None:
    assert rank_metric(name)(2, n=5) == value


@given(
    name=st.sampled_from([name for name in NAMES if name != "AUC"]),
    cutoff=st.none() | st.integers(1, 1000),
)
def test_a_metric_reads_back_what_it_prints(name: str, cutoff: int | None) -> None:
    metric = RankMetric(name, cutoff)
    assert rank_metric(str(metric)) == metric


def test_ap_prints_its_divisor() -> None:
    assert str(rank_metric("AP(divisor=reachable)@5")) == "AP(divisor=reachable)@5"


@pytest.mark.parametrize(("divisor", "value"), [("relevant", 1 / 3), ("reachable", 1.0)])
def test_ap_divides_by_the_relevant_items_or_by_those_within_reach(
    divisor: str, value: float
) -> None:
    metric = rank_metric(f"AP(divisor={divisor})@1")
    assert metric.summands([1, 2, 3], n=9, order=[1, 2, 3], n_relevant=3).sum() == value


@given(q=st.integers(1, 6), cutoff=st.integers(1, 9))
def test_relevant_items_at_the_top_have_an_ndcg_of_one(q: int, cutoff: int) -> None:
    first = np.arange(1, q + 1)
    terms = RankMetric("nDCG", cutoff).summands(first, n=20, order=first, n_relevant=q)
    np.testing.assert_allclose(terms.sum(), 1.0, rtol=1e-14)


def test_several_relevant_items_are_scored_by_pairs_of_items_in_auc() -> None:
    # Relevant at 2 and 5 of 7: the five others are in order with them in 4 + 2 of 10 pairs.
    terms = rank_metric("AUC").summands([2, 5], n=7, order=[1, 2], n_relevant=2)
    np.testing.assert_allclose(terms.sum(), 6 / 10, rtol=1e-14)


@pytest.mark.parametrize(
    ("name", "finding"),
    [
        ("nDGC@10", "no metric of ranks is called 'nDGC'; did you mean 'nDCG'?"),
        ("Recall@0", "the cut-off must be at least 1, got 0."),
        ("AUC@10", "AUC looks at all ranks and takes no cut-off, got 10."),
        ("AP(divisor=most)", "`divisor` must be relevant or reachable, got 'most'."),
        ("P(divisor=reachable)", "P takes no `divisor`; AP does."),
        ("Recall at 10", "'Recall at 10' is no metric of ranks: it is written NAME or NAME@10."),
    ],
)
def test_a_wrong_name_is_told(name: str, finding: str) -> None:
    with pytest.raises(InputError) as caught:
        rank_metric(name)
    assert str(caught.value) == finding
