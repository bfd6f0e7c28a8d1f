"""Expected metrics by the number of negatives, and distributions of ranks, by hand."""

from collections.abc import Mapping

import numpy as np
import pytest
from matplotlib.axes import Axes

from analyses.sampled.estimators import find_estimator
from analyses.sampled.metrics import rank_metric
from analyses.sampled.papers import expected_by_size
from analyses.sampled.samples import RankSettings
from analyses.sampled.sizes import (
    RankDistributions,
    Settings,
    Sizes,
    equal_bins,
    ranks,
    round_numbers,
    sizes,
)
from analyses.shared.work import RanksWork
from qrels import FullRanks
from runs import InputError
from tests.drawn import explained, points

SYSTEMS = {
    "a": FullRanks.of([1, 9, 4, 30], n_candidates=51),
    "b": FullRanks.of([3, 3, 9, 9], n_candidates=51),
}


@pytest.mark.parametrize(
    ("largest", "numbers"),
    [(1, (1,)), (4, (1, 2)), (10, (1, 2, 5, 10)), (99, (1, 2, 5, 10, 20, 50))],
)
def test_round_numbers_are_1_2_and_5_times_powers_of_10(
    largest: int, numbers: tuple[int, ...]
) -> None:
    assert round_numbers(largest) == numbers


def test_bins_are_fifty_or_one_for_each_rank() -> None:
    assert equal_bins(3).tolist() == [1, 2, 3]
    assert equal_bins(50).tolist() == [*range(1, 51)]
    assert equal_bins(51).tolist() == [*range(1, 50), 51]
    assert equal_bins(1000).tolist() == [*range(20, 1001, 20)]


def test_negatives_are_drawn_with_replacement_of_all_round_sizes_by_default() -> None:
    """Four metrics, as docs/methods/sampled-metrics.md has them."""
    settings = Settings()
    assert settings.metrics == ("Recall@10", "nDCG@10", "AP", "AUC")
    assert (settings.replace, settings.sizes) == (True, None)
    assert settings.samples(SYSTEMS["a"]) == (1, 2, 5, 10, 20, 50)
    assert Settings(sizes=(3, 50)).samples(SYSTEMS["a"]) == (3, 50)


@pytest.mark.parametrize(
    ("numbers", "sentence"),
    [
        ((5, 3), "`sizes` must rise"),
        ((), "`sizes` must rise"),
        ((51,), "`sizes` must be from 1 to"),
    ],
)
def test_sizes_must_rise_up_to_the_irrelevant_candidates(
    numbers: tuple[int, ...], sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        Settings(sizes=numbers).samples(SYSTEMS["a"])


BV = str(find_estimator("bv(gamma=0.1)"))


@pytest.fixture(scope="module")
def found() -> Sizes:
    return sizes(RanksWork(SYSTEMS), Settings(metrics=("Recall@3", "AP"), sizes=(2, 50)))


def test_uncorrected_metrics_are_those_expected_of_samples(found: Sizes) -> None:
    frame = found.expected.set_index(["m", "estimator", "metric", "system"])
    for name in ("Recall@3", "AP"):
        metric = rank_metric(name)
        for system, own in SYSTEMS.items():
            by_size = expected_by_size(metric, own, replace=True)
            for m in (2, 50):
                key = m, "Uncorrected", name, system
                assert frame["expected"][key] == pytest.approx(by_size[m - 1])
                assert frame["exact"][key] == pytest.approx(metric.exact(own))
    assert len(frame) == 2 * 2 * 2 * 2
    written = found.frames()["sampled_sizes"]
    assert written.columns[:2].tolist() == ["metric", "cutoff"]
    assert {*written["metric"]} == {"Recall", "AP"}


def test_agreement_is_1_where_two_systems_keep_their_order_and_minus_1_else(found: Sizes) -> None:
    """By Recall@3 b is the better, by AP a; of 3 sampled ranks, all are among the first 3."""
    table = found.agreement()
    assert table.headings == ["metric, estimator", "2", "50"]
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows == {
        "Recall@3, Uncorrected": [pytest.approx(np.nan, nan_ok=True), -1],
        f"Recall@3, {BV}": [1, -1],
        "AP, Uncorrected": [-1, 1],
        f"AP, {BV}": [-1, 1],
    }
    # Samples that order the systems otherwise than all candidates do.
    expected = found.expected.pivot(
        index=["metric", "estimator", "m"], columns="system", values="expected"
    )
    is_a_better = (expected["a"] - expected["b"]).round(9) > 0
    assert is_a_better.sum() == 4


def named(ax: Axes) -> Mapping[str, list[list[float]]]:
    return {str(line.get_label()): points(line).tolist() for line in ax.lines}


@pytest.mark.slow
def test_curves_are_shares_of_the_best_exact_value(found: Sizes) -> None:
    ax = found.plot(metric="AP")
    frame = found.expected.query("metric == 'AP'").set_index(["system", "estimator", "m"])
    best = frame["exact"].max()
    curves = named(ax)
    for system in "ab":
        exact = frame["exact"][system].iloc[0]
        np.testing.assert_allclose(
            curves[f"_{system}, exact"], [[0, exact / best], [1, exact / best]]
        )
        for estimator, label in (("Uncorrected", system), (BV, f"_{system}, {BV}")):
            values = [frame["expected"][system, estimator, m] / best for m in (2, 50)]
            np.testing.assert_allclose(curves[label], [[2, values[0]], [50, values[1]]])
    dashes = {str(line.get_label()): line.get_linestyle() for line in ax.lines}
    assert dashes["Uncorrected"] == dashes["a"] != dashes[BV]
    assert dashes[BV] == dashes[f"_a, {BV}"]
    assert (ax.get_xscale(), ax.get_title()) == ("log", "AP")
    assert "Thin lines: exact values." in explained(ax)
    assert found.plot().get_title() == "Recall@3"


# Distributions of ranks


@pytest.fixture(scope="module")
def distributions() -> RankDistributions:
    """Of 200 candidates: bins of 4 ranks."""
    systems = {
        "top": FullRanks.of([1, 1, 2, 10], n_candidates=200),
        "low": FullRanks.of([4, 5, 100, 200], n_candidates=200),
    }
    return ranks(RanksWork(systems), RankSettings())


def test_shares_are_counted_to_the_ends_of_bins_and_to_round_ranks(
    distributions: RankDistributions,
) -> None:
    shares = distributions.shares.set_index("last")
    assert [*shares.index] == sorted({*range(4, 201, 4), 1, 2, 5, 10, 20, 50, 100, 200})
    assert shares["top"][[1, 2, 5, 10, 200]].tolist() == [0.5, 0.75, 0.75, 1.0, 1.0]
    assert shares["low"][[2, 4, 5, 100, 196, 200]].tolist() == [0, 0.25, 0.5, 0.75, 0.75, 1.0]
    assert distributions.medians.tolist() == [1.5, 52.5]
    frame = distributions.frames()["sampled_ranks"].set_index(["system", "last"])
    assert frame["cumulative"]["low", 5] == 0.5


def test_the_table_has_the_first_rank_ten_and_a_hundred(distributions: RankDistributions) -> None:
    table = distributions.at_the_top()
    assert table.headings == [
        *("system", "median rank", "share in top 1", "share in top 10", "share in top 100")
    ]
    assert table.rows == [("top", "1.5", 0.5, 1.0, 1.0), ("low", "52.5", 0.0, 0.5, 0.75)]


@pytest.mark.slow
def test_the_figure_has_the_share_of_each_bin(distributions: RankDistributions) -> None:
    ax = distributions.plot()
    steps = {str(patch.get_label()): patch.get_data() for patch in ax.patches}  # type: ignore[attr-defined]
    values, edges, _ = steps["low"]
    expected = np.zeros(50)
    expected[[0, 1, 24, 49]] = 0.25
    np.testing.assert_allclose(values, expected)
    np.testing.assert_allclose(edges, np.append(0.5, np.arange(4, 201, 4) + 0.5))
    assert ax.get_yscale() == "log"
    assert "in 50 bins" in distributions.caption()
