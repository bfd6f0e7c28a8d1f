"""Points of curves over cut-offs."""

import pytest

from analyses.sampled.shared.curve_points import CurvePoints


@pytest.mark.parametrize(
    ("names", "curves"),
    [
        (["Recall@5", "Recall", "AP"], ("Recall", "AP")),
        (["nDCG@10", "AUC"], ("nDCG",)),
        (["AUC"], ("Recall", "nDCG", "AP")),
    ],
)
def test_a_curve_is_looked_at_once_and_auc_has_none(
    names: list[str], curves: tuple[str, ...]
) -> None:
    assert CurvePoints.of_curves(names).measures.metrics == curves
