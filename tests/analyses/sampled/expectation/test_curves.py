"""Metrics as functions of the rank."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from analyses.sampled.expectation.curves import corrected_curves, expectation_curves, metric_curves
from analyses.sampled.expectation.metrics import rank_metric


@pytest.mark.parametrize(("upto", "last"), [(None, 50), (9, 9)])
def test_metrics_are_drawn_up_to_a_rank(upto: int | None, last: int) -> None:
    assert metric_curves(["AP", "nDCG"], n=50, upto=upto).ranks.tolist() == [*range(1, last + 1)]


def test_expectations_come_near_the_metric_with_more_negatives() -> None:
    curves = expectation_curves("AP", n=200, negatives=[5, 50, 199], upto=200).curves
    away = [np.abs(curve - curves["exact"]).max() for curve in curves.values()]
    assert away == sorted(away, reverse=True)


def test_there_is_a_curve_for_each_number_of_negatives() -> None:
    curves = expectation_curves("AP", n=50, negatives=[1, 2], upto=10).curves
    assert {name: len(curve) for name, curve in curves.items()} == {
        "m = 1": 10,
        "m = 2": 10,
        "exact": 10,
    }


def test_what_is_not_corrected_has_the_expectation_of_the_metric() -> None:
    values = {"uncorrected": rank_metric("nDCG")(np.arange(1, 22), n=21)}
    _, expected = corrected_curves("nDCG", values, n=200, upto=200)
    curves = expectation_curves("nDCG", n=200, negatives=[20], upto=200).curves
    np.testing.assert_allclose(expected.curves["uncorrected"], curves["m = 20"], rtol=1e-14)


def test_the_figure_has_a_line_for_each_curve() -> None:
    curves = metric_curves(["AP", "nDCG", "AUC"], n=50)
    assert len(curves.plot(Figure().subplots()).lines) == 3
