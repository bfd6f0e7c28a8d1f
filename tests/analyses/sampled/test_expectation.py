"""Metrics of ranks, and what is expected of sampled ones."""

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analyses.sampled.estimators import find_estimator
from analyses.sampled.metrics import RankMetric, rank_metric, read_metrics, with_cutoffs
from analyses.sampled.papers import LISTS, Example, expected_by_size, orderings, paper_metric
from analyses.sampled.rank_distribution import sampled_rank_pmf
from analyses.sampled.samples import RankSettings, SampledRanks
from analyses.sampled.sizes import Settings, sizes
from analyses.sampled.sizes import ranks as rank_distributions
from analyses.shared.work import RanksWork
from qrels import FullRanks
from runs import InputError, InputWarning
from tests.drawn import curve, points


@pytest.mark.parametrize(
    ("name", "replace", "verified"),
    [
        ("AP", True, {2: 0.995065639, 100: 0.6365916755, 743: 0.1346970284, 4482: 0.02231421558}),
        ("nDCG", True, {2: 0.996357366, 212: 0.5610036045, 4482: 0.1810870331}),
        ("Recall@10", True, {2: 1, 212: 0.9999506843, 743: 0.8009160683, 1548: 0.04624321841}),
        ("Recall@10", False, {100: 0.9999999571, 212: 0.999957087, 743: 0.8018844022}),
    ],
)
def test_expected_metrics_are_those_verified(
    name: str, replace: bool, verified: dict[int, float]
) -> None:
    values = rank_metric(name)(np.arange(1, 101), n=100)
    found = sampled_rank_pmf([*verified], n=10_000, m=99, replace=replace) @ values
    np.testing.assert_allclose(found, [*verified.values()], rtol=1e-8)


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("name", ["Recall@2", "AP", "nDCG@3", "AUC", "RR"])
def test_all_sizes_are_expected_as_one_by_one(name: str, replace: bool) -> None:
    """Against all samples of six items, of which one is relevant."""
    metric, ranks = rank_metric(name), FullRanks.of([3], n_candidates=6)
    found = expected_by_size(metric, ranks, replace)
    for m in (1, 2, 3):
        every = list(product([1, 2, 4, 5, 6], repeat=m))
        every = every if replace else [one for one in every if len(set(one)) == m]
        scores = [metric(1 + sum(other < 3 for other in one), n=m + 1) for one in every]
        assert found[m - 1] == pytest.approx(np.mean(scores), abs=1e-12)


def test_the_tables_of_the_papers_are_made(example: Example) -> None:
    """Krichene & Rendle, tables 1 and 2: A, B, C by AUC, AP, nDCG and Recall@10."""
    exact = [
        [0.990099, 0.554755, 0.843144],
        [0.010000, 0.010090, 0.101379],
        [0.150190, 0.121660, 0.208033],
        [0, 0, 0.2],
    ]
    expected = [
        [0.9901, 0.5548, 0.8431],
        [0.6366, 0.3407, 0.3262],
        [0.7290, 0.4473, 0.4600],
        [1.0000, 0.4000, 0.5694],
    ]
    deviations = [
        [0.0045, 0.0136, 0.0138],
        [0.1304, 0.0711, 0.0509],
        [0.0978, 0.0528, 0.0395],
        [0.0001, 0.0000, 0.0902],
    ]
    np.testing.assert_allclose(example.exact, exact, atol=1e-6)
    np.testing.assert_allclose(example.expected, expected, atol=5e-5)
    np.testing.assert_allclose(example.sd, deviations, atol=7e-5)
    frames = example.frames()
    assert [len(frames[name]) for name in ("kdd2020-table1", "kdd2020-table2")] == [27, 27]
    assert {"dataset", "system", "metric", "cutoff", "instance", "value", "sd"} <= {
        *frames["rendle2019-table2"]
    }


def in_short(orders: Iterable[Sequence[Any]]) -> str:
    """Write orders of A, B and C, each with the number of negatives from which on it holds."""
    return ", ".join(f"{order.replace(' > ', '').replace(' ', '')} {m}" for order, m in orders)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "replace", "expected"),
    [
        ("AP", False, "ACB 1, ABC 73, ACB 277, CAB 434, CBA 1108"),
        ("nDCG@10", True, "ACB 1, ABC 122, ACB 712, CAB 899, CBA 941"),
    ],
)
def test_orders_by_size_are_those_verified(name: str, replace: bool, expected: str) -> None:
    by_size = [expected_by_size(rank_metric(name), of, replace) for of in LISTS.values()]
    found = in_short((order, m + 1) for m, order in orderings(np.array(by_size)))
    # Without a sampled item there is a tie that values of 12 decimals still have at first.
    assert found.endswith(expected)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("APP", "did you mean 'AP'"),
        ("AUC@5", "AUC uses all ranks"),
        ("P@0", "the cut-off must be at least 1"),
        ("nDCG@5x", "is no metric of ranks"),
    ],
)
def test_what_is_no_metric_of_ranks_is_said(text: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        read_metrics([text])


@pytest.mark.parametrize(("text", "read"), [("HR", "Recall@10"), ("Hit@5", "Recall@5")])
def test_hit_rates_are_read_as_recall_with_a_caution(text: str, read: str) -> None:
    with pytest.warns(InputWarning, match=f"{text} is read as {read}, which differs where users"):
        assert str(rank_metric(text)) == read


def test_metrics_of_several_items_are_those_of_trec_eval() -> None:
    ranks = FullRanks.of([1, 4, 6], n_candidates=10, user=[0, 0, 0])
    ideal = 1 + 1 / np.log2(3) + 1 / np.log2(4)
    values = {
        "P@5": 2 / 5,
        "Recall@5": 2 / 3,
        "AP": (1 + 2 / 4 + 3 / 6) / 3,
        "RR": 1,
        "nDCG": (1 + 1 / np.log2(5) + 1 / np.log2(7)) / ideal,
        "AUC": 1 - (0 + 2 + 3) / 7 / 3,
    }
    for name, value in values.items():
        assert rank_metric(name).exact(ranks) == pytest.approx(value), name


def test_sizes_end_at_the_exact_values_and_orders() -> None:
    systems = {
        "a": FullRanks.of([1, 9, 4, 30], n_candidates=51),
        "b": FullRanks.of([3, 3, 9, 9], n_candidates=51),
    }
    found = sizes(RanksWork(systems), Settings(metrics=("AP", "AUC"), replace=False))
    assert found.expected["m"].unique().tolist() == [1, 2, 5, 10, 20, 50]
    last = found.expected.query("m == 50 and estimator == 'Uncorrected'")
    np.testing.assert_allclose(last["expected"], last["exact"], atol=1e-9)
    np.testing.assert_allclose(np.array([row[-1] for row in found.agreement().rows[::2]]), 1)


def test_ranks_are_counted_up_to_the_ends_of_bins() -> None:
    systems = {"one": FullRanks.of([1, 2, 4, 4], n_candidates=8)}
    found = rank_distributions(RanksWork(systems), RankSettings())
    assert found.shares["one"][:4].tolist() == [0.25, 0.5, 0.5, 1.0]
    assert found.medians.tolist() == [3.0]


# The figures of the example, as numbers


@pytest.mark.slow
def test_the_first_figure_has_metrics_by_rank(example: Example) -> None:
    """All 10,000 ranks, or the first 100; AP is the reciprocal of the rank."""
    for view, last in (("all ranks", 10_000), ("the first 100", 100)):
        ax = example.plot_metrics(view=view)
        found = curve(ax, "AP")
        assert found[:, 0].tolist() == [*range(1, last + 1)]
        np.testing.assert_allclose(found[:, 1], 1 / found[:, 0])
        np.testing.assert_allclose(curve(ax, "AUC")[:, 1], (10_000 - found[:, 0]) / 9_999)
        np.testing.assert_allclose(curve(ax, "nDCG")[:, 1], 1 / np.log2(found[:, 0] + 1))
        np.testing.assert_allclose(curve(ax, "Recall@10")[:, 1], found[:, 0] <= 10)


@pytest.mark.slow
def test_the_second_figure_has_expected_metrics_and_where_orders_change(example: Example) -> None:
    """Orders by AP change at 73, 281, 438 and 954 negatives; at 99 AP is that of table 2."""
    ax = example.plot_sizes(name="AP")
    for number, name in enumerate("ABC"):
        by_size = curve(ax, name)
        assert by_size[98].tolist() == [99, pytest.approx(example.expected[1, number])]
        assert len(by_size) == 9_999
    changes = [float(points(line)[0, 0]) for line in ax.lines if str(line.get_label())[0] == "_"]
    assert changes == [73, 281, 438, 954]
    assert ax.get_xscale() == "log"


@pytest.mark.slow
def test_the_third_figure_has_expectations_of_five_numbers_of_negatives(example: Example) -> None:
    """Of the first 1,000 ranks; with 10 to 1,000 negatives, as Krichene & Rendle have them."""
    ax = example.plot_expectations(name="AP")
    labels = [str(line.get_label()) for line in ax.lines]
    assert labels == ["m = 10", "m = 50", "m = 100", "m = 500", "m = 1,000", "exact"]
    for m in (10, 1000):
        found = curve(ax, f"m = {m:,}")
        assert found[:, 0].tolist() == [*range(1, 1001)]
        chances = sampled_rank_pmf([212], n=10_000, m=m)
        assert found[211, 1] == pytest.approx((chances / np.arange(1, m + 2)).sum())
    assert curve(ax, "exact")[3].tolist() == [4, 0.25]


@pytest.mark.slow
def test_the_fourth_figure_has_corrections_from_a_hundred_negatives(example: Example) -> None:
    in_sample, true = (example.plot_corrections(side=side) for side in example.sides)
    names = [f"BV(gamma={gamma},prior=uniform)" for gamma in ("1", "0.1", "0.01", "0.001")]
    assert [str(line.get_label()) for line in in_sample.lines] == [*names, "CLS"]
    assert [str(line.get_label()) for line in true.lines] == [*names, "CLS", "exact"]
    sample = SampledRanks.of([1], n_negatives=100, n_candidates=10_000)
    corrected = find_estimator("cls").fit(sample).corrected(["AP"])[:, 0]
    np.testing.assert_allclose(curve(in_sample, "CLS")[:, 1], corrected[:20])
    chances = sampled_rank_pmf([40], n=10_000, m=100)
    assert curve(true, "CLS")[39, 1] == pytest.approx((chances @ corrected).item())
    assert len(curve(true, "exact")) == 1000
    assert (in_sample.get_xscale(), true.get_xscale()) == ("linear", "log")


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("AP", "ACB 1, ABC 73, ACB 281, CAB 438, CBA 954"),
        ("Recall@10", "A=B=C 1, ACB 10, ABC 228, BAC 1061, BCA 1263, CBA 2479"),
    ],
)
def test_the_table_of_orders_has_where_each_begins(
    example: Example, metric: str, expected: str
) -> None:
    rows = [row[1:] for row in example.orders().rows if row[0] == metric]
    assert in_short(rows).endswith(expected)


def test_the_caption_of_the_example_says_of_how_many(example: Example) -> None:
    assert "five users among 10,000 candidates" in example.caption()
    assert "99 sampled negatives (100 for corrections)" in example.caption()


def test_metrics_have_the_columns_of_the_papers() -> None:
    assert paper_metric("nDCG@10") == {"metric": "nDCG", "paper_metric": "NDCG", "cutoff": 10}
    assert paper_metric("AP") == {"metric": "AP", "paper_metric": "AP", "cutoff": "none"}
    assert paper_metric("AUC")["cutoff"] == ""


def test_orders_are_given_where_they_begin_and_of_rounded_values() -> None:
    values = np.array([[1.0, 1.0, 2.0, 2.0], [1.0, 3.0, 3.0, 1.0], [0.5, 0.5, 0.5, 1.0 + 1e-13]])
    assert orderings(values) == [(0, "A = B > C"), (1, "B > A > C"), (3, "A > B = C")]


# Metrics of ranks, by hand


@pytest.mark.parametrize(
    ("name", "rank", "value"),
    [
        ("P@5", 5, 0.2),
        ("P@5", 6, 0.0),
        ("Recall@5", 5, 1.0),
        ("Recall@5", 5.5, 0.0),
        ("RR@5", 4, 0.25),
        ("AP@5", 5, 0.2),
        ("AP@5", 6, 0.0),
        ("nDCG", 7, 1 / 3),
        ("AUC", 11, 0.9),
        ("AUC", 101, 0.0),
        ("Recall", 101, 1.0),
    ],
)
def test_metrics_of_one_item_are_those_of_its_rank(name: str, rank: float, value: float) -> None:
    assert rank_metric(name)([rank], n=101).tolist() == pytest.approx([value])


@pytest.mark.parametrize("text", ["AP@0", "RR@-1"])
def test_a_cut_off_is_1_at_least(text: str) -> None:
    with pytest.raises(InputError, match=r"cut-off must be at least 1|no metric of ranks"):
        rank_metric(text)
    assert RankMetric("AP", 1).cutoff == 1


def test_names_of_other_tools_are_read() -> None:
    names = ["Precision@5", "NDCG", "MRR@10", "MAP", " AUC "]
    assert [*map(str, read_metrics(names))] == ["P@5", "nDCG", "RR@10", "AP", "AUC"]
    with pytest.raises(InputError, match="P of a whole list"):
        read_metrics(["P"])


def test_terms_of_several_items_are_those_of_fewer_rescaled() -> None:
    """Item j of q: nDCG@3 of three items has the ideal 1 + 1 / log2(3) + 1 / 2."""
    ndcg, ideal = rank_metric("nDCG@3"), 1 / np.log2(np.arange(2, 5))
    found = ndcg.rescaling(np.array([1, 2]), np.array([3, 3]), n_irrelevant=50)
    expected = ideal[[0, 1]].cumsum() / ideal.sum()
    np.testing.assert_allclose(found, expected)
    # Beyond the cut-off nothing is added.
    assert ndcg.rescaling(np.array([4]), np.array([5]), n_irrelevant=50).tolist() == [0]
    recall = rank_metric("Recall").rescaling(np.array([1]), np.array([4]), n_irrelevant=50)
    assert recall.tolist() == [0.25]


def test_frames_have_metrics_and_cut_offs_in_columns_of_their_own() -> None:
    frame = with_cutoffs(pd.DataFrame({"metric": ["Recall@10", "AUC"], "value": [1, 2]}))
    assert frame.columns.tolist() == ["metric", "cutoff", "value"]
    assert frame["metric"].tolist() == ["Recall", "AUC"]
    assert frame["cutoff"].tolist()[0] == 10
    assert frame["cutoff"].isna().tolist() == [False, True]
