"""The example of Krichene & Rendle, tables 1 and 2 and the data of figures 1 to 4."""

import numpy as np
import pytest

from analyses.sampled.example import LISTS, METRICS, N_CANDIDATES, SAMPLED, Example, example
from analyses.sampled.expectation.metrics import rank_metric
from analyses.sampled.samples import SampleDesign
from qrels import FullRanks

REPEATS = 1000
"""Of the printed table 2."""

# Rows as METRICS, columns as the lists A, B, C.
EXACT = [
    [0.990099, 0.554755, 0.843144],
    [0.010000, 0.010090, 0.101379],
    [0.150190, 0.121660, 0.208033],
    [0, 0, 0.2],
]
EXPECTED = [
    [0.9901, 0.5548, 0.8431],
    [0.6366, 0.3407, 0.3262],
    [0.7290, 0.4473, 0.4600],
    [1.0000, 0.4000, 0.5694],
]
SD = [
    [0.0045, 0.0136, 0.0138],
    [0.1304, 0.0711, 0.0509],
    [0.0978, 0.0528, 0.0395],
    [0.0001, 0.0000, 0.0902],
]
# AP, nDCG and Recall@10 as printed.
PRINTED = [[0.630, 0.336, 0.325], [0.724, 0.444, 0.460], [1.000, 0.400, 0.567]]
PRINTED_SD = [[0.129, 0.073, 0.050], [0.097, 0.054, 0.039], [0.000, 0.000, 0.092]]


@pytest.fixture(scope="module")
def table() -> Example:
    return example()


@pytest.fixture(scope="module")
def simulated() -> np.ndarray:
    """Metrics of 1,000 samples of each list: (n_repeats, n_metrics, n_lists)."""
    every = np.concatenate([some.rank for some in LISTS.values()])
    full, design = FullRanks.of(every, n_candidates=N_CANDIDATES), SampleDesign((SAMPLED,))
    values = np.array([rank_metric(name)(np.arange(1, 101), n=100) for name in METRICS])
    drawn = [design.draw(full, seed=1, repeat=repeat).above for repeat in range(REPEATS)]
    return np.array([values[:, above].reshape(4, 3, 5).mean(axis=2) for above in drawn])


def _standard_errors(table: Example) -> np.ndarray:
    return table.sd / np.sqrt(REPEATS)


def test_exact_metrics_are_those_of_table_1(table: Example) -> None:
    np.testing.assert_allclose(table.exact, EXACT, atol=1e-6)


def test_expectations_are_those_of_table_2(table: Example) -> None:
    np.testing.assert_allclose(table.expected, EXPECTED, atol=5.01e-5)


def test_deviations_are_those_of_table_2(table: Example) -> None:
    np.testing.assert_allclose(table.sd, SD, atol=5.01e-5)


def test_simulated_means_are_near_the_exact_ones(table: Example, simulated: np.ndarray) -> None:
    difference = np.abs(simulated.mean(axis=0) - table.expected)
    assert (difference <= 4 * _standard_errors(table) + 1e-15).all()


def test_simulated_deviations_are_near_the_exact_ones(
    table: Example, simulated: np.ndarray
) -> None:
    # A deviation from 1,000 draws is good to 1/sqrt(2000), or 2.2 %; four times that.
    varied = table.sd > 0.001
    np.testing.assert_allclose(simulated.std(axis=0, ddof=1)[varied], table.sd[varied], rtol=0.09)


def test_the_print_agrees_with_the_expectation(table: Example) -> None:
    difference = np.abs(np.array(PRINTED) - table.expected[1:])
    assert (difference <= 2.5 * _standard_errors(table)[1:] + 0.0005).all()


def test_the_printed_deviations_agree(table: Example) -> None:
    np.testing.assert_allclose(PRINTED_SD, table.sd[1:], atol=0.0025)


def test_without_replacement_ap_is_a_little_lower() -> None:
    table = example(["AP"], replace=False)
    np.testing.assert_allclose(table.expected, [[0.6358, 0.3405, 0.3260]], atol=5.01e-5)


def test_the_frame_has_a_row_for_each_metric_and_list(table: Example) -> None:
    frame = table.frames()["example"].set_index("metric, system")
    assert len(frame) == 12
    assert frame.loc["Recall@10, C", "exact"] == 0.2
    assert frame.loc["Recall@10, C", "expected"] == "0.5694 ± 0.0902"


def test_the_caption_says_how_it_was_sampled(table: Example) -> None:
    assert "not simulated, of those among 99 negatives sampled with replacement." in table.caption()
    assert f"{N_CANDIDATES:,}" in table.caption()


def test_the_panels_of_figure_2_are_the_metrics(table: Example) -> None:
    assert tuple(table.orders_by_size) == METRICS
    assert table.orders_by_size["nDCG"].settled == 692


def test_figure_2_marks_where_the_order_changes(table: Example) -> None:
    axes = table.plot_sizes(name="AP")
    assert len(axes.lines) == len(LISTS) + len(table.orders_by_size["AP"].orderings) - 1
