"""Metrics as functions of the rank."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from analyses.sampled.expectation.curves import corrected_curves, expectation_curves, metric_curves
from analyses.sampled.expectation.moments import expected_metric, sampled_values


@pytest.mark.parametrize(("upto", "last"), [(None, 50), (9, 9)])
def test_metrics_are_drawn_up_to_a_rank(upto: int | None, last: int) -> None:
    assert metric_curves(["AP", "nDCG"], n=50, upto=upto).ranks.tolist() == [*range(1, last + 1)]


def test_expectations_come_near_the_metric_with_more_negatives() -> None:
    curves = expectation_curves("AP", n=200, negatives=[5, 50, 199], replace=False).curves
    away = [np.abs(curve - curves["exact"]).max() for curve in curves.values()]
    assert away == sorted(away, reverse=True)


def test_what_is_not_corrected_has_the_expectation_of_the_metric() -> None:
    values = {"uncorrected": sampled_values("nDCG", m=20)}
    _, expected = corrected_curves("nDCG", values, n=200, replace=False)
    np.testing.assert_allclose(
        expected.curves["uncorrected"],
        expected_metric("nDCG", expected.ranks, n=200, m=20, replace=False),
        rtol=1e-14,
    )


def test_the_frame_has_a_row_for_each_curve_and_rank() -> None:
    frame = expectation_curves("AP", n=50, negatives=[1, 2], upto=10).to_frame()
    assert frame["curve"].unique().tolist() == ["m = 1", "m = 2", "exact"]
    assert len(frame) == 30


def test_the_figure_has_a_line_for_each_curve() -> None:
    curves = metric_curves(["AP", "nDCG", "AUC"], n=50)
    assert len(curves.plot(Figure().subplots()).lines) == 3
