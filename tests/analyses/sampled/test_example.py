"""The example of Krichene & Rendle, tables 1 and 2 and the data of figures 1 to 4."""

import numpy as np
import pytest

from analyses.sampled.example import METRICS, N_CANDIDATES, Example, example
from runs import InputError

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
    return example(repeats=1000, seed=1)


def _standard_errors(table: Example) -> np.ndarray:
    return table.sd / np.sqrt(table.repeats)


def test_exact_metrics_are_those_of_table_1(table: Example) -> None:
    np.testing.assert_allclose(table.exact, EXACT, atol=1e-6)


def test_expectations_are_those_of_table_2(table: Example) -> None:
    np.testing.assert_allclose(table.expected, EXPECTED, atol=5.01e-5)


def test_deviations_are_those_of_table_2(table: Example) -> None:
    np.testing.assert_allclose(table.sd, SD, atol=5.01e-5)


def test_simulated_means_are_near_the_exact_ones(table: Example) -> None:
    difference = np.abs(table.simulated - table.expected)
    assert (difference <= 4 * _standard_errors(table) + 1e-15).all()


def test_simulated_deviations_are_near_the_exact_ones(table: Example) -> None:
    # A deviation from 1,000 draws is good to 1/sqrt(2000), or 2.2 %; four times that.
    varied = table.sd > 0.001
    np.testing.assert_allclose(table.simulated_sd[varied], table.sd[varied], rtol=0.09)


def test_the_print_agrees_with_the_expectation(table: Example) -> None:
    difference = np.abs(np.array(PRINTED) - table.expected[1:])
    assert (difference <= 2.5 * _standard_errors(table)[1:] + 0.0005).all()


def test_the_printed_deviations_agree(table: Example) -> None:
    np.testing.assert_allclose(PRINTED_SD, table.sd[1:], atol=0.0025)


def test_without_replacement_ap_is_a_little_lower() -> None:
    table = example(["AP"], replace=False, repeats=0, seed=1)
    np.testing.assert_allclose(table.expected, [[0.6358, 0.3405, 0.3260]], atol=5.01e-5)


def test_nothing_is_simulated_without_repeats() -> None:
    assert np.isnan(example(["AP"], repeats=0, seed=1).simulated).all()


def test_one_repeat_is_too_few() -> None:
    with pytest.raises(InputError, match="`repeats` must be 0 or at least 2, got 1"):
        example(repeats=1, seed=1)


def test_the_frame_has_a_row_for_each_metric_and_list(table: Example) -> None:
    frame = table.frames()["example"].set_index("metric, system")
    assert len(frame) == 12
    assert frame.loc["Recall@10, C", "exact"] == 0.2
    assert frame.loc["Recall@10, C", "expected"] == "0.5694 ± 0.0902"


def test_the_caption_says_how_it_was_sampled(table: Example) -> None:
    assert "99 negatives sampled with replacement; simulated 1,000 times" in table.caption()
    assert f"{N_CANDIDATES:,}" in table.caption()


def test_the_panels_of_figure_2_are_the_metrics(table: Example) -> None:
    assert tuple(table.orders_by_size) == METRICS
    assert table.orders_by_size["nDCG"].settled == 692
