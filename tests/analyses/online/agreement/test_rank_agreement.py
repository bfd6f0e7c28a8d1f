from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from matplotlib.figure import Figure
from scipy import stats

from analyses.online.agreement.rank_agreement import (
    Agreement,
    correlations,
    study_agreement,
)
from analyses.online.agreement.rho_figures import plot_grid
from analyses.shared.evidence import read_evidence, to_evidence
from runs import InputError
from tests.analyses.online.examples import GRID, experiment, random_experiments

SMALL = ["LOO(beta=0)@5", "LOO(beta=1)@5", "LLOO(beta=0)@5", "LLOO(beta=1)@5"]
RATES = [0.1, 0.2, 0.3, 0.4]
SAME, NEARLY, REVERSE, HALF = [1, 2, 3, 4], [2, 1, 3, 4], [4, 3, 2, 1], [2, 1, 4, 3]
"""Their rhos with `RATES` are 1, .8, -1 and .6."""


def small(*rows: list[int], name: str = "A", measures: list[str] = SMALL) -> Agreement:
    return study_agreement([experiment(rows, RATES, measures=measures, name=name)])


@pytest.fixture
def of_thesis(rng: np.random.Generator) -> Agreement:
    """The sizes of the thesis: five data sets of five models, 588 measures; random values."""
    return study_agreement(random_experiments(rng))


def test_correlations_are_those_of_scipy(rng: np.random.Generator) -> None:
    values, rates = rng.integers(0, 5, (20, 7)), rng.integers(0, 5, 7)
    found = study_agreement([experiment(values, rates)])
    rhos = [stats.spearmanr(row, rates).statistic for row in values]
    taus = [stats.kendalltau(row, rates).statistic for row in values]
    np.testing.assert_allclose(found.rhos[:, 0], rhos, atol=1e-12)
    np.testing.assert_allclose(found.taus[:, 0], taus, atol=1e-12)


@given(
    values=arrays(np.float64, (3, 6), elements=st.integers(0, 9).map(float)),
    order=st.permutations(range(6)),
)
def test_neither_the_order_of_models_nor_the_scale_of_values_matters(
    values: np.ndarray, order: list[int]
) -> None:
    rates = np.arange(6.0)
    plain = experiment(values, rates)
    moved = experiment(values[:, order] ** 3 + 1, 0.1 + rates[order] / 100)
    np.testing.assert_array_equal(correlations(plain), correlations(moved))


def test_a_constant_measure_is_counted_as_undefined() -> None:
    found = small(SAME, NEARLY, REVERSE, [1, 1, 1, 1])
    assert found.over_experiments()["undefined"].sum() == 1
    assert "Undefined: 1 of 4 rhos" in found.caption()


def test_the_table_has_a_row_for_every_measure_and_experiment(of_thesis: Agreement) -> None:
    frame = of_thesis.to_frame()
    assert len(frame) == 5 * 588
    assert frame["rho"].to_numpy().reshape(5, 588).T.tolist() == of_thesis.rhos.tolist()


def test_measures_are_ordered_by_their_mean_over_experiments() -> None:
    first = experiment([SAME, NEARLY, HALF], RATES)
    second = experiment([REVERSE, NEARLY, SAME], RATES, name="B")
    frame = study_agreement([first, second]).over_experiments()
    assert frame["measure"].tolist() == ["M1", "M2", "M0"]
    assert frame["rank"].tolist() == [1, 1, 3]
    np.testing.assert_allclose(frame[["min", "mean", "max"]].iloc[2], [-1, 0, 1], atol=1e-12)


def test_chosen_experiments_alone_are_averaged() -> None:
    first = experiment([SAME, NEARLY], RATES)
    second = experiment([REVERSE, NEARLY], RATES, name="B")
    frame = study_agreement([first, second]).over_experiments(["A"])
    assert frame["measure"].tolist() == ["M0", "M1"]


def test_all_that_tie_with_the_last_are_among_the_best() -> None:
    found = small(SAME, NEARLY, REVERSE, NEARLY)
    assert found.best(2)["measure"].tolist() == [SMALL[0], SMALL[1], SMALL[3]]


def test_undefined_measures_are_not_among_the_best() -> None:
    assert len(small(SAME, NEARLY, REVERSE, [1, 1, 1, 1]).best(10)) == 3


def test_bins_count_every_measure(of_thesis: Agreement) -> None:
    frame = of_thesis.bins()
    assert frame.groupby("experiment")["count"].sum().tolist() == [588] * 5


def test_measures_that_order_the_models_alike_are_one_ordering() -> None:
    frame = small(SAME, [10, 20, 30, 40], REVERSE, [1, 1, 3, 4]).orderings()
    assert frame[["orderings", "most"]].to_numpy().tolist() == [[3, 2]]


def test_cells_are_as_many_as_in_the_thesis(of_thesis: Agreement) -> None:
    assert of_thesis.levels()["cells"].sum() == 25 * 294 == 7350
    assert of_thesis.validations()["cells"].sum() == 5 * 294 == 1470
    assert of_thesis.betas()["cells"].sum() == 5 * 560 == 2800
    assert of_thesis.crossed().to_numpy().sum() == 2800


def test_every_cell_is_on_one_side_or_equal_or_undefined(of_thesis: Agreement) -> None:
    for frame in (of_thesis.validations(), of_thesis.betas()):
        assert frame[[">", "=", "<", "undefined"]].to_numpy().sum(axis=1).tolist() == list(
            frame["cells"]
        )


def test_levels_count_where_loo_is_larger() -> None:
    frame = small([1, 2, 3, 4], [1, 1, 1, 1], [0, 2, 4, 3], [0, 0, 0, 0]).levels()
    assert frame[["cells", "larger", "share"]].to_numpy().tolist() == [[8, 6, 0.75]]


def test_validations_are_compared_at_the_same_beta() -> None:
    """At beta 0, LOO has 1 and LLOO .8; at beta 1 both have .6."""
    frame = small(SAME, HALF, NEARLY, HALF).validations()
    assert frame[[">", "=", "<", "undefined"]].to_numpy().tolist() == [[1, 1, 0, 0]]


def test_beta_0_is_compared_with_those_above_under_its_validation() -> None:
    """LOO has 1 at beta 0 and .6 at 1, LLOO .6 and .8."""
    frame = small(SAME, HALF, HALF, NEARLY).betas()
    assert frame[[">", "=", "<", "undefined"]].to_numpy().tolist() == [[1, 0, 1, 0]]


def test_a_cell_of_the_cross_table_compares_validations_at_its_beta() -> None:
    """At beta 1 LLOO is better (.8 against .6): for LOO beta 0 is better, for LLOO beta 1."""
    table = small(SAME, HALF, HALF, NEARLY).crossed()
    assert table.to_numpy()[2].tolist() == [1, 0, 1]
    assert table.to_numpy().sum() == 2


def test_the_margins_of_the_cross_table_are_the_comparison_of_betas(of_thesis: Agreement) -> None:
    table, betas = of_thesis.crossed(), of_thesis.betas()
    assert table.sum().tolist() == betas[[">", "=", "<"]].sum().tolist()


def test_undefined_cells_are_in_no_cell_of_the_cross_table() -> None:
    found = small(SAME, HALF, NEARLY, [1, 1, 1, 1])
    assert found.crossed().to_numpy().sum() == 0
    assert found.validations()["undefined"].tolist() == [1]


def test_other_measures_stand_beside_the_recalls() -> None:
    found = small(SAME, HALF, NEARLY, HALF, REVERSE, measures=[*SMALL, "nDCG@10"])
    assert found.to_frame()["rho"].tolist()[-1] == -1
    assert found.validations()["cells"].tolist() == [2]


def test_without_recalls_there_is_nothing_to_pair() -> None:
    found = small(SAME, REVERSE, measures=["nDCG@10", "RR"])
    assert found.betas()["cells"].tolist() == [0]
    assert np.isnan(found.levels()["share"]).all()


def test_the_result_can_be_kept(of_thesis: Agreement, tmp_path: Path) -> None:
    (tmp_path / "found.npz").write_bytes(to_evidence(of_thesis))
    back = read_evidence(tmp_path / "found.npz", Agreement)
    pd.testing.assert_frame_equal(back.to_frame(), of_thesis.to_frame())
    assert back.caption() == of_thesis.caption()


def test_the_caption_describes_few_models(of_thesis: Agreement) -> None:
    caption = of_thesis.caption()
    assert "A: 5 models" in caption
    assert "different orderings" in caption
    assert "signific" not in caption


def test_the_figure_has_a_cell_for_every_beta_and_cutoff(of_thesis: Agreement) -> None:
    ax = plot_grid(of_thesis, Figure().subplots(), experiment="B", validation="LOO")
    assert ax.images[0].get_array().shape == (14, 21)  # type: ignore[union-attr]
    assert ax.get_title() == "B, LOO"


def test_the_cell_of_the_figure_is_the_rho_of_its_beta_and_cutoff(of_thesis: Agreement) -> None:
    cells = plot_grid(of_thesis, Figure().subplots(), experiment="B").images[0].get_array()
    assert cells is not None
    rho = of_thesis.rhos[GRID.index("LLOO(beta=0.35)@15"), 1]
    assert cells[10, 7] == rho


def test_a_figure_of_what_was_not_measured_is_refused(of_thesis: Agreement) -> None:
    with pytest.raises(InputError, match="no experiment is called 'F'; there are A, B, C, D, E"):
        plot_grid(of_thesis, experiment="F")
    with pytest.raises(InputError, match="no recall with the validation 'LOOO' was measured"):
        plot_grid(of_thesis, experiment="A", validation="LOOO")
