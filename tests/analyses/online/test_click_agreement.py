from pathlib import Path

import pandas as pd
import pytest

from analyses.online.click_agreement import ClickStudy, study_clicks
from analyses.online.tables.links import read_experiments
from analyses.shared.publish import every_table
from tests.analyses.online.tables.tables import RATES, VALUES, write, write_grid


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> ClickStudy:
    """Two experiments, in which opposite betas agree with the rates."""
    experiments = read_experiments(*write_grid(tmp_path_factory.mktemp("grid")))
    return study_clicks(experiments, permutations=500, seed=1)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> ClickStudy:
    """Three models: nDCG@5 orders them as the rates do."""
    folder = tmp_path_factory.mktemp("plain")
    paths = write(folder, "values.csv", VALUES), write(folder, "rates.csv", RATES)
    return study_clicks(read_experiments(*paths), seed=1)


def test_the_measure_that_agrees_is_the_first(plain: ClickStudy) -> None:
    first = plain.ranking().iloc[0]
    assert first["measure"] == "nDCG@5"
    assert (first["mean"], first["tau_b"]) == (1.0, 1.0)


def test_the_best_of_two_is_reached_by_two_of_six_orders(plain: ClickStudy) -> None:
    first = plain.ranking().iloc[0]
    assert (first["p_alone"], first["p_adjusted"]) == pytest.approx((1 / 6, 2 / 6))


def test_p_values_stay_with_their_measures(grid: ClickStudy) -> None:
    frame = grid.ranking().set_index("measure")
    for name in ("LOO(beta=1)@5", "nDCG@10", "AUC"):
        number = grid.best.measures.index(name)
        assert frame.loc[name, "p_adjusted"] == grid.best.p_adjusted[number]
        assert frame.loc[name, "tau_b"] == grid.agreement.taus[number].mean()


def test_opposite_experiments_leave_a_mean_of_nothing(grid: ClickStudy) -> None:
    row = grid.ranking().set_index("measure").T["LOO(beta=0)@5"]
    assert (row["min"], row["mean"], row["max"]) == (-1.0, 0.0, 1.0)


def test_few_models_are_told_what_they_can_show(plain: ClickStudy, grid: ClickStudy) -> None:
    assert "With 3 models and one measure, named beforehand, there is no rho" in plain.of_few()
    assert "With 5 models of one data set and one measure" in grid.of_few()
    assert "is +.90. A correlation over 5 models can be described, not judged" in grid.of_few()


def test_nothing_is_called_significant_with_few_models(grid: ClickStudy) -> None:
    texts = [grid.findings()[0], grid.caption()]
    texts += [table.to_text() for table in every_table({"online": grid})]
    assert "significant" not in " ".join(texts)


def test_the_number_of_orderings_stands_beside_that_of_measures(grid: ClickStudy) -> None:
    assert "The 11 measures are 5 different orderings" in grid.findings()[0]


def test_ties_with_the_tenth_are_counted(grid: ClickStudy) -> None:
    """Eight recalls tie at a mean rho of 0, the tenth and last of the best ten among them."""
    mean = grid.ranking()["mean"]
    others = int((mean == mean.iloc[9]).sum()) - 1
    assert f"{others} others tie with the tenth" in grid.findings()[0]


def test_at_most_ten_measures_are_listed(grid: ClickStudy) -> None:
    assert len(grid.best_measures().rows) == 10


def test_the_spread_over_experiments_is_shown_where_there_are_several(
    plain: ClickStudy, grid: ClickStudy
) -> None:
    assert plain.best_measures().headings[1:3] == ["rho", "tau-b"]
    assert grid.best_measures().headings[1:4] == ["mean rho", "min", "max"]


def test_models_and_rates_are_kept(plain: ClickStudy) -> None:
    frame = plain.frames()["online_models"]
    assert frame["model"].tolist() == ["a", "b", "c"]
    assert frame["rate"].tolist() == [0.01, 0.02, 0.03]


def test_every_experiment_has_its_orderings(grid: ClickStudy) -> None:
    frame = grid.frames()["online_orderings"]
    assert frame[["models", "measures", "orderings"]].to_numpy().tolist() == [[5, 11, 5]] * 2


def test_every_rho_is_in_a_bin(grid: ClickStudy) -> None:
    rows = grid.bins().rows
    assert [(name, sum(map(int, counts))) for name, *counts in rows] == [("X", 11), ("Y", 11)]


def test_validations_that_are_equal_are_counted_as_equal(grid: ClickStudy) -> None:
    assert [row[1:5] for row in grid.validations().rows] == [[4, 0, 4, 0], [4, 0, 4, 0]]


def test_the_beta_that_agrees_is_counted_as_better(grid: ClickStudy) -> None:
    assert [row[1:5] for row in grid.betas().rows] == [[4, 4, 0, 0], [4, 0, 0, 4]]


def test_no_value_is_above_its_equal(grid: ClickStudy) -> None:
    assert [row[1:4] for row in grid.levels().rows] == [[20, 0, 0.0], [20, 0, 0.0]]


def test_both_comparisons_are_crossed(grid: ClickStudy) -> None:
    assert grid.crossed().rows[1] == ["X, Y: equal", 4, 0, 4]


def test_without_a_grid_there_is_nothing_to_compare(plain: ClickStudy) -> None:
    for table in (plain.levels(), plain.validations(), plain.betas(), plain.crossed()):
        assert not table.rows


def test_without_a_grid_its_tables_are_left_out(plain: ClickStudy) -> None:
    assert [table.name for table in every_table({"online": plain})] == [
        "online",
        "online_bins",
    ]


@pytest.mark.slow
def test_experiments_chosen_after_looking_are_crossed_apart(tmp_path: Path) -> None:
    experiments = read_experiments(*write_grid(tmp_path))
    study = study_clicks(experiments, permutations=200, seed=1, chosen=["X"])
    whole, chosen = (
        study.frames()[name].set_index("LOO and LLOO").T["="].tolist()
        for name in ("online_crossed", "online_crossed_chosen")
    )
    assert (whole, chosen) == ([4, 0, 4], [4, 0, 0])


def test_a_choice_after_looking_makes_chance_likelier(tmp_path: Path) -> None:
    experiments = read_experiments(*write_grid(tmp_path))
    chosen = study_clicks(experiments, permutations=500, seed=1, chosen=["X"])
    alone = study_clicks(experiments[:1], permutations=500, seed=1)
    assert chosen.best.is_joint
    assert chosen.best.p_adjusted.min() >= alone.best.p_adjusted.min()


@pytest.mark.slow
def test_the_same_seed_gives_the_same_tables(grid: ClickStudy, tmp_path: Path) -> None:
    again = study_clicks(read_experiments(*write_grid(tmp_path)), permutations=500, seed=1)
    for name, frame in grid.frames().items():
        pd.testing.assert_frame_equal(frame, again.frames()[name])
