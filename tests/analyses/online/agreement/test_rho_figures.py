import numpy as np
import pytest

from analyses.online.agreement.rank_agreement import Agreement, study_agreement
from analyses.online.agreement.rho_figures import alone_of, curves_of, plot_alone, plot_curve
from analyses.online.tables.experiment import Experiment

MEASURES = ("P@20", "P@5", "AUC", "LOO(beta=0)@5", "LOO(beta=0)@10", "RR@5")


@pytest.fixture(scope="module")
def result() -> Agreement:
    """Two experiments of five models; P@5 follows the rates, and P@20 does the opposite."""
    rising = np.arange(5.0)
    values = np.stack([-rising, rising, rising % 3, rising, rising, rising % 2])
    experiments = [
        Experiment(name, tuple("abcde"), MEASURES, values, rates=rising) for name in ("X", "Y")
    ]
    return study_agreement(experiments)


def test_a_curve_runs_over_rising_cutoffs() -> None:
    assert curves_of(MEASURES) == {"P": {5: 1, 20: 0}}


def test_every_measure_is_on_a_curve_or_alone_or_in_the_grid() -> None:
    assert alone_of(MEASURES) == [2, 5]


def test_every_experiment_has_a_line(result: Agreement) -> None:
    lines = {line.get_label(): line for line in plot_curve(result, metric="P").lines}
    assert np.asarray(lines["X"].get_ydata()).tolist() == [1.0, -1.0]
    assert np.asarray(lines["Y"].get_ydata()).tolist() == [1.0, -1.0]


def test_what_is_rare_by_chance_is_marked(result: Agreement) -> None:
    *_, mark = plot_curve(result, metric="P").lines
    assert np.asarray(mark.get_ydata()).tolist() == pytest.approx([0.9, 0.9])


def test_measures_alone_have_a_row_each(result: Agreement) -> None:
    names = [label.get_text() for label in plot_alone(result).get_yticklabels()]
    assert names == ["AUC", "RR@5"]
