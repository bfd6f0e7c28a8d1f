"""Metrics of ranks, and what is expected of sampled ones."""

from itertools import product

import numpy as np
import pytest

from analyses.sampled.metrics import rank_metric, read_metrics
from analyses.sampled.papers import LISTS, Example, expected_by_size, orderings
from analyses.sampled.rank_distribution import sampled_rank_pmf
from analyses.sampled.samples import RankSettings
from analyses.sampled.sizes import Settings, sizes
from analyses.sampled.sizes import ranks as rank_distributions
from analyses.shared.work import RanksWork
from qrels import FullRanks
from runs import InputError, InputWarning


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


def test_the_tables_of_the_papers_are_made() -> None:
    """Krichene & Rendle, tables 1 and 2: A, B, C by AUC, AP, nDCG and Recall@10."""
    found = Example()
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
    np.testing.assert_allclose(found.exact, exact, atol=1e-6)
    np.testing.assert_allclose(found.expected, expected, atol=5e-5)
    np.testing.assert_allclose(found.sd, deviations, atol=7e-5)
    frames = found.frames()
    assert [len(frames[name]) for name in ("kdd2020-table1", "kdd2020-table2")] == [27, 27]
    assert {"dataset", "system", "metric", "cutoff", "instance", "value", "sd"} <= {
        *frames["rendle2019-table2"]
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "replace", "expected"),
    [
        ("AP", True, "ACB 1, ABC 73, ACB 281, CAB 438, CBA 954"),
        ("AP", False, "ACB 1, ABC 73, ACB 277, CAB 434, CBA 1108"),
        ("Recall@10", True, "A=B=C 1, ACB 10, ABC 228, BAC 1061, BCA 1263, CBA 2479"),
        ("nDCG@10", True, "ACB 1, ABC 122, ACB 712, CAB 899, CBA 941"),
    ],
)
def test_orders_by_size_are_those_verified(name: str, replace: bool, expected: str) -> None:
    by_size = [expected_by_size(rank_metric(name), of, replace) for of in LISTS.values()]
    found = orderings(np.array(by_size))
    # Without a sampled item there is a tie that values of 12 decimals still have at first.
    texts = [f"{o.replace(' > ', '').replace(' ', '')} {m + 1}" for m, o in found]
    assert texts[-len(expected.split(", ")) :] == expected.split(", ")


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
