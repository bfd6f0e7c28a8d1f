import numpy as np
import pytest
from matplotlib.figure import Figure

from analyses.correlation import Correlation, correlate
from analyses.measure import Measure, Scores
from runs import InputError

MEASURES = tuple(Measure(metric, cutoff) for metric in ("P", "AP") for cutoff in (5, 10))


def correlation() -> Correlation:
    """P@5 and P@10 order the three systems alike, AP@5 the other way round, AP@10 not at all."""
    means = np.array([[3.0, 2, 1], [0.3, 0.2, 0.1], [1, 2, 3], [1, 1, 1]])
    values = np.repeat(means[:, :, None], 4, axis=2)
    return correlate(Scores(values, MEASURES, ("a", "b", "c"), np.array(list("wxyz"))))


def test_cutoffs_of_one_metric_are_compared() -> None:
    frame = correlation().among_cutoffs()
    assert list(frame.columns) == ["metric", "cutoff_a", "cutoff_b", "tau"]
    assert len(frame) == 8
    assert frame.set_index(["metric", "cutoff_a", "cutoff_b"]).tau["P", 5, 10] == 1.0


def test_metrics_at_one_cutoff_are_compared() -> None:
    frame = correlation().among_metrics()
    assert list(frame.columns) == ["metric_a", "metric_b", "cutoff", "tau"]
    taus = frame.set_index(["metric_a", "metric_b", "cutoff"]).tau
    assert taus["P", "AP", 5] == -1.0
    assert np.isnan(taus["P", "AP", 10])


def test_a_table_shows_every_tau() -> None:
    ax = correlation().plot(Figure().subplots(), cutoff=10)
    assert [text.get_text() for text in ax.texts] == ["1", "–", "–", "–"]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["P", "AP"]


def test_a_figure_needs_a_metric_or_a_cutoff() -> None:
    with pytest.raises(InputError, match="either a `metric` or a `cutoff`"):
        correlation().plot()


def test_a_figure_of_what_was_not_measured_is_refused() -> None:
    with pytest.raises(InputError, match="nothing was measured for nDCG"):
        correlation().plot(metric="nDCG")
