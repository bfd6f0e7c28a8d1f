"""Conclusions of the papers, computed from tables."""

import pandas as pd
import pytest

from tests.benchmarks.conclusions import (
    CONCLUSIONS,
    METRICS,
    Conclusion,
    adaptive_samples_are_small,
    all_keep_their_order_at_half,
    ap_is_nearest_to_ndcg,
    corrections_are_nearer,
    deeper_is_discriminative,
    deeper_is_robust_to_random_loss,
    ndcg_and_p_are_most_robust_to_random_loss,
    p_is_most_robust_to_loss_of_popular_items,
    read_tables,
    rr_is_least_robust_to_loss_of_popular_items,
    rr_stands_apart,
    tabulate,
)
from tests.benchmarks.page_digests import PAGE


def test_conclusions_of_the_page_are_those_of_its_tables() -> None:
    page = pd.read_csv(PAGE / "conclusions.csv")
    made = tabulate(read_tables(PAGE), "ours")
    pd.testing.assert_frame_equal(page[[*made]], made)


@pytest.mark.parametrize(
    ("n_as_said", "is_majority", "verdict"),
    [
        (6, False, "holds"),
        (3, False, "in part"),
        (2, False, "does not hold"),
        (4, True, "holds"),
        (3, True, "does not hold"),
    ],
)
def test_a_conclusion_holds_in_all_cases_or_in_most_where_it_is_on_a_majority(
    n_as_said: int, is_majority: bool, verdict: str
) -> None:
    conclusion = Conclusion("paper", "statement", lambda _: (n_as_said, 6), is_majority)
    assert conclusion.verdict(n_as_said, 6) == verdict


def test_five_comparisons_decide_on_no_majority() -> None:
    conclusion = Conclusion("paper", "statement", lambda _: (5, 5), is_majority=True)
    assert conclusion.verdict(5, 5) == "open"


def test_every_conclusion_is_stated_once() -> None:
    assert len({conclusion.statement for conclusion in CONCLUSIONS}) == len(CONCLUSIONS)


def _correlations() -> pd.DataFrame:
    """Seven metrics: those with neighbouring numbers correlate most; RR is the last."""
    order = ["AP", "nDCG", "P", "Recall", "infAP", "bpref", "RR"]
    rows = [
        (first, second, 1 - abs(i - j) / 10 - 0.01 * (i + j))
        for i, first in enumerate(order)
        for j, second in enumerate(order)
    ]
    return pd.DataFrame(rows, columns=["metric_row", "metric_column", "value"])


def test_correlations_of_metrics_are_compared_without_those_with_themselves() -> None:
    assert rr_stands_apart(lambda _: _correlations()) == (6, 6)
    assert ap_is_nearest_to_ndcg(lambda _: _correlations()) == (1, 1)


def test_corrected_values_are_nearer_than_the_uncorrected_one_of_their_system_and_metric() -> None:
    """Errors of 3 without correction, and of 2, 3 and 5 with."""
    values = {"exact": 5.0, "uncorrected": 8.0, "CLS": 7.0, "BV": 2.0, "rank estimate": 10.0}
    rows = [("X", "AP", estimator, value) for estimator, value in values.items()]
    frame = pd.DataFrame(rows, columns=["system", "metric", "estimator", "value"])
    assert corrections_are_nearer(lambda _: frame) == (1, 3)


def test_sizes_of_adaptive_samples_are_compared_with_fixed_ones_of_their_system() -> None:
    size, error = "average sample set size", "average relative error"
    rows = [
        ("A", "EASE", "adaptive MLE", "adaptive", size, 300.0),
        ("A", "EASE", "MN_MES", "500", error, 2.0),
        ("B", "EASE", "MN_MES", "1,000", error, 2.0),
        ("B", "EASE", "adaptive MLE", "adaptive", size, 1200.0),
    ]
    columns = ["dataset", "system", "estimator", "sample_set_size", "quantity", "value"]
    assert adaptive_samples_are_small(lambda _: pd.DataFrame(rows, columns=columns)) == (1, 2)


def _curves(at_half: dict[str, float]) -> pd.DataFrame:
    """Taus at 50 and 10 % of the judgements: cut-off 20 beats 10, which 100 beats as well."""
    rows = []
    for metric in METRICS:
        tau = at_half[metric]
        for cutoff, less in [("10", 0.2), ("20", 0.0), ("100", 0.0)]:
            rows.append((metric, cutoff, tau - less, tau - less - 0.1, ""))
    return pd.DataFrame(rows, columns=["metric", "cutoff", "50", "10", "dataset"])


def test_deeper_cutoffs_are_compared_with_all_shallower_ones_of_their_metric() -> None:
    """Of three cut-offs, 10 is worse than both others, and these are equal."""
    curves = _curves(dict.fromkeys(METRICS, 0.95))
    assert deeper_is_robust_to_random_loss(lambda _: curves) == (14, 21)
    powers = curves.rename(columns={"50": "value"}).drop(columns="10")
    assert deeper_is_discriminative(lambda _: powers) == (0, 21)


def test_metrics_are_compared_by_their_mean_tau_at_the_deepest_cutoff() -> None:
    taus = {"nDCG": 0.97, "P": 0.96, "AP": 0.965, "Recall": 0.94, "infAP": 0.93, "bpref": 0.85}
    curves = _curves({**taus, "RR": 0.86})
    assert all_keep_their_order_at_half(lambda _: curves) == (5, 7)
    # nDCG is above all five others, P above all but AP.
    assert ndcg_and_p_are_most_robust_to_random_loss(lambda _: curves) == (9, 10)
    assert p_is_most_robust_to_loss_of_popular_items(lambda _: curves) == (4, 6)
    assert rr_is_least_robust_to_loss_of_popular_items(lambda _: curves) == (5, 6)


def test_conclusions_from_pictures_are_not_computed_from_the_print() -> None:
    def is_read(name: str) -> pd.DataFrame:
        raise AssertionError(name)

    from_pictures = [conclusion for conclusion in CONCLUSIONS if not conclusion.is_printed]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.benchmarks.conclusions.CONCLUSIONS", from_pictures)
        table = tabulate(is_read, "print", printed_only=True)
    assert set(table["print verdict"]) == {"picture only"}
