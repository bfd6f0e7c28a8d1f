import numpy as np
import pytest

from analyses.recall.recall_curves import draw_recall_curves, draw_recall_over_time
from runs import InputError

MODELS, VALIDATIONS, BETAS, CUTOFFS = ["a", "b", "c"], ["LOO", "LLOO"], [0.0, 0.5, 1.0], [5, 10]
LABELS = {"models": MODELS, "validations": VALIDATIONS, "betas": BETAS, "cutoffs": CUTOFFS}


@pytest.fixture
def values(rng: np.random.Generator) -> np.ndarray:
    return rng.random((3, 2, 3, 2))


def test_panels_are_models_by_validations(values: np.ndarray) -> None:
    panels = draw_recall_curves(values, **LABELS).axes  # type: ignore[arg-type]
    assert len(panels) == 6
    assert [ax.get_title() for ax in panels[:2]] == VALIDATIONS
    assert [ax.get_ylabel() for ax in panels[::2]] == ["a\nrecall", "b\nrecall", "c\nrecall"]


def test_a_panel_has_a_line_for_each_cutoff(values: np.ndarray) -> None:
    panel = draw_recall_curves(values, **LABELS).axes[3]  # type: ignore[arg-type]
    for number, line in enumerate(panel.lines):
        np.testing.assert_array_equal(line.get_ydata(), values[1, 1, :, number])


def test_relative_curves_begin_at_one(values: np.ndarray) -> None:
    figure = draw_recall_curves(values, relative=True, **LABELS)  # type: ignore[arg-type]
    assert all(line.get_ydata()[0] == 1 for ax in figure.axes for line in ax.lines)  # type: ignore[index]


def test_effective_shares_stand_above(values: np.ndarray) -> None:
    shares = np.array([[1.0, 0.8, 0.3], [1.0, 0.7, 0.2]])
    figure = draw_recall_curves(values, effective_shares=shares, **LABELS)  # type: ignore[arg-type]
    (above,) = figure.axes[1].child_axes
    assert [label.get_text() for label in above.get_xticklabels()] == ["100%", "70%", "20%"]


def test_values_that_do_not_fit_their_labels_are_refused(values: np.ndarray) -> None:
    with pytest.raises(InputError, match=r"values must have the shape \(3, 2, 3, 2\)"):
        draw_recall_curves(values[:2], **LABELS)  # type: ignore[arg-type]


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
