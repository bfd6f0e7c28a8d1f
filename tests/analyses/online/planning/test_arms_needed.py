from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from analyses.online.planning.arms_needed import ArmsNeeded, arms_needed
from analyses.ordering import spearman
from analyses.shared.evidence import read_evidence, to_evidence
from runs import InputError


@pytest.fixture
def needed(rng: np.random.Generator) -> ArmsNeeded:
    """Two dozen models: one measure follows their rates, one runs against them."""
    rates = np.arange(24.0)
    values = np.stack([rates + 6 * rng.normal(size=24), -rates])
    observed = rates + 3 * rng.normal(size=(50, 24))
    return arms_needed(
        values,
        true_rates=rates,
        measures=["good", "bad"],
        observed_rates=observed,
        sizes=[3, 5, 10, 24],
        subsets=400,
        seed=1,
    )


def test_subsets_have_the_mean_of_all_subsets(rng: np.random.Generator) -> None:
    values, rates = rng.random((1, 7)), rng.random(7)
    found = arms_needed(values, true_rates=rates, measures=["AP"], sizes=[4], subsets=4000, seed=1)
    subsets = np.array(list(combinations(range(7), 4)))
    expected = spearman(values[0][subsets], rates[subsets]).mean()
    assert found.to_frame()["mean"][0] == pytest.approx(expected, abs=0.03)


def test_all_models_without_noise_show_the_true_rho(rng: np.random.Generator) -> None:
    values, rates = rng.random((2, 9)), rng.random(9)
    found = arms_needed(values, true_rates=rates, measures=["AP", "RR"], subsets=5, seed=1)
    assert found.sizes == (5, 8, 9)
    np.testing.assert_allclose(found.rhos[:, -1], np.repeat(found.true_rhos[:, None], 5, axis=1))


def test_observed_rates_are_taken_in_turn() -> None:
    rates = np.arange(5.0)
    found = arms_needed(
        rates[None],
        true_rates=rates,
        observed_rates=np.stack([rates, -rates]),
        measures=["AP"],
        sizes=[5],
        subsets=4,
        seed=1,
    )
    assert found.rhos.ravel().tolist() == [1, -1, 1, -1]


def test_three_models_can_show_nothing(needed: ArmsNeeded) -> None:
    frame = needed.to_frame().query("arms == 3")
    assert frame["smallest_rho"].isna().all()
    assert frame[["shown", "shown_reversed"]].to_numpy().sum() == 0


def test_what_is_shown_reaches_the_smallest_rho(needed: ArmsNeeded) -> None:
    frame = needed.to_frame().set_index(["measure", "arms"])
    share = (needed.rhos[0, 1] >= 0.9 - 1e-9).mean()
    assert frame.loc[("good", 5), "shown"] == share
    assert 0 < share < 1


def test_a_measure_that_runs_against_the_rates_is_shown_reversed(needed: ArmsNeeded) -> None:
    assert needed.shown[1].max() == 0
    assert needed.shown_reversed[1, -1] == 1


def test_arms_needed_are_those_from_which_power_stays_enough(needed: ArmsNeeded) -> None:
    assert needed.needed("good") == 10
    assert needed.shown[0, 1] < 0.8 <= needed.shown[0, 2]
    assert needed.needed("bad") in (5, 10)


def test_where_no_number_of_arms_is_enough_none_is_needed(rng: np.random.Generator) -> None:
    noise = rng.random((1, 30))
    found = arms_needed(noise, true_rates=rng.random(30), measures=["AP"], subsets=100, seed=1)
    assert found.needed("AP") is None


def test_constant_values_have_no_rho() -> None:
    found = arms_needed(
        np.ones((1, 6)), true_rates=np.arange(6.0), measures=["AP"], subsets=9, seed=1
    )
    assert np.isnan(found.to_frame()["mean"]).all()


def test_the_best_of_a_subset_is_the_largest_rho_of_all_measures(needed: ArmsNeeded) -> None:
    frame = needed.choices()
    np.testing.assert_allclose(frame["observed"], needed.rhos.max(axis=0).mean(axis=1))


def test_the_measure_chosen_by_all_models_without_noise_is_the_truly_best(
    rng: np.random.Generator,
) -> None:
    values, rates = rng.random((5, 9)), rng.random(9)
    found = arms_needed(values, true_rates=rates, measures=list("VWXYZ"), subsets=200, seed=1)
    frame = found.choices()
    assert frame["true"].iloc[-1] == pytest.approx(found.true_rhos.max())
    assert (frame["true"] <= frame["best_true"] + 1e-12).all()
    assert frame["observed"].iloc[0] > frame["true"].iloc[0]


def test_measures_that_tie_share_the_choice() -> None:
    """In the first three models all three measures agree; over all four their rhos differ."""
    values = np.array([[1, 2, 3, 4], [1, 2, 3, 0], [1, 1, 1, 1.0]])
    rates = np.array([1, 2, 3, 4.0])
    found = arms_needed(
        values, true_rates=rates, measures=list("XYZ"), sizes=[3], subsets=300, seed=1
    )
    observed, true = found._best_of_each()
    tied = found.rhos[0, 0] == found.rhos[1, 0]
    assert tied.any()
    assert true[0][tied] == pytest.approx((1.0 - 0.2) / 2)
    assert (observed == 1).all()


def test_what_five_models_could_have_shown_is_said(needed: ArmsNeeded) -> None:
    said = needed.conclusion("good")
    assert "over 24 models. Of 5 of them" in said
    assert "reach +.90" in said
    assert "from 10 arms on" in said
    assert "No rho over so few models" in needed.conclusion("good", arms=3)


def test_the_words_describe(needed: ArmsNeeded) -> None:
    assert "signific" not in needed.caption() + needed.conclusion("good")


def test_the_result_can_be_kept(needed: ArmsNeeded, tmp_path: Path) -> None:
    (tmp_path / "found.npz").write_bytes(to_evidence(needed))
    back = read_evidence(tmp_path / "found.npz", ArmsNeeded)
    assert to_evidence(back) == to_evidence(needed)


def test_figures_show_each_size(needed: ArmsNeeded) -> None:
    power = needed.plot(Figure().subplots())
    assert power.lines[0].get_ydata() == pytest.approx(needed.shown[0])
    choices = needed.plot_choices(Figure().subplots())
    curves = [line for line in choices.lines if line.get_label() == "in truth"]
    assert curves[0].get_ydata() == pytest.approx(needed.choices()["true"].to_numpy())


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(InputError, match=r"`sizes` must be from 3 to 4, got \(5,\)"):
        arms_needed(np.ones((1, 4)), true_rates=np.ones(4), measures=["AP"], sizes=[5], seed=1)
    with pytest.raises(InputError, match="1 measures and 3 true rates do not fit"):
        arms_needed(np.ones((1, 4)), true_rates=np.ones(3), measures=["AP"], seed=1)


def test_what_is_unknown_is_refused(needed: ArmsNeeded) -> None:
    with pytest.raises(InputError, match="no measure is called 'AP'"):
        needed.needed("AP")
    with pytest.raises(InputError, match="nothing is known of good with 7 arms"):
        needed.conclusion("good", arms=7)
