import numpy as np
import pytest
from analyses.recall.recall_curves import draw_recalls
from matplotlib.axes import Axes

from analyses.shared.drawing import axes_or_new
from runs import InputError

BETAS, CUTOFFS = (0.0, 0.5, 1.0), (5, 10)
SHARES = np.array([1.0, 0.7, 0.2])


def drawn(values: np.ndarray) -> Axes:
    return draw_recalls(
        axes_or_new(None),
        values,
        betas=BETAS,
        cutoffs=CUTOFFS,
        effective_shares=SHARES,
        title="LOO",
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


def test_the_title_stands_over_the_shares(values: np.ndarray) -> None:
    ax = drawn(values)
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()
    (above,) = ax.child_axes
    assert ax.title.get_text() == "LOO"
    assert ax.title.get_window_extent().y0 >= above.xaxis.label.get_window_extent().y1 - 1


def test_values_that_do_not_fit_their_labels_are_refused(values: np.ndarray) -> None:
    with pytest.raises(InputError, match=r"values must have the shape \(3, 2\)"):
        drawn(values[:2])
