import numpy as np
import pytest
from matplotlib.axes import Axes

from analyses.recall.recall_curves import draw_recall_over_time, draw_recalls
from analyses.shared.drawing import axes_or_new
from runs import InputError

BETAS, CUTOFFS = (0.0, 0.5, 1.0), (5, 10)
SHARES = np.array([1.0, 0.7, 0.2])


def drawn(values: np.ndarray) -> Axes:
    return draw_recalls(
        axes_or_new(None), values, betas=BETAS, cutoffs=CUTOFFS, effective_shares=SHARES
    )


@pytest.fixture
def values(rng: np.random.Generator) -> np.ndarray:
    return rng.random((3, 2))


def test_a_panel_has_a_line_for_each_cutoff(values: np.ndarray) -> None:
    lines = {line.get_label(): line for line in drawn(values).lines}
    for number, cutoff in enumerate(CUTOFFS):
        np.testing.assert_array_equal(lines[f"@{cutoff}"].get_ydata(), values[:, number])


def test_effective_shares_stand_above(values: np.ndarray) -> None:
    (above,) = drawn(values).child_axes
    assert [label.get_text() for label in above.get_xticklabels()] == ["100%", "70%", "20%"]


def test_values_that_do_not_fit_their_labels_are_refused(values: np.ndarray) -> None:
    with pytest.raises(InputError, match=r"values must have the shape \(3, 2\)"):
        drawn(values[:2])


def test_recall_over_time_has_a_line_each() -> None:
    days = np.array(["2021-03-01", "2021-03-02", "2021-03-04"], dtype="datetime64[D]")
    recalls = {"A": np.array([0.1, 0.2, 0.3]), "B": np.array([0.3, 0.2, 0.1])}
    ax = draw_recall_over_time(recalls, {"A": days, "B": days})
    labelled = [line for line in ax.lines if not str(line.get_label()).startswith("_")]
    assert [line.get_label() for line in labelled] == ["A", "B"]
    assert np.diff(labelled[1].get_xdata()).tolist() == [1, 2]


def test_a_recall_without_a_time_is_refused() -> None:
    with pytest.raises(InputError, match="A: every recall needs the time of its period"):
        draw_recall_over_time({"A": np.ones(2)}, {})
