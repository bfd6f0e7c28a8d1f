from itertools import combinations

import numpy as np
import pytest

from analyses.online.fewer_arms import FewerArms, take_away
from analyses.ordering import spearman


@pytest.fixture
def found(rng: np.random.Generator) -> FewerArms:
    """Two dozen models: one measure follows their rates, one runs against them."""
    rates = np.arange(24.0)
    values = np.stack([rates + 6 * rng.normal(size=24), -rates])
    observed = rates + 3 * rng.normal(size=(50, 24))
    names = ["good", "bad"]
    return take_away(values, rates, measures=names, observed=observed, subsets=200, seed=1)


def test_subsets_have_the_mean_of_all_subsets(rng: np.random.Generator) -> None:
    values, rates = rng.random((1, 7)), rng.random(7)
    found = take_away(
        values, rates, measures=["AP"], observed=rates[None], subsets=4000, seed=1
    ).frames()["fewer_arms"]
    subsets = np.array(list(combinations(range(7), 5)))
    expected = spearman(values[0][subsets], rates[subsets]).mean()
    assert found["arms"].tolist() == [5, 7]
    assert found["mean"][0] == pytest.approx(expected, abs=0.03)


def test_all_models_without_noise_show_the_true_rho(rng: np.random.Generator) -> None:
    values, rates = rng.random((2, 9)), rng.random(9)
    names = ["AP", "RR"]
    found = take_away(values, rates, measures=names, observed=rates[None], subsets=5, seed=1)
    assert found.sizes == (5, 8, 9)
    np.testing.assert_allclose(found.rhos[:, -1], np.repeat(found.true_rhos[:, None], 5, axis=1))


def test_what_is_shown_reaches_the_smallest_rho_with_the_true_sign(found: FewerArms) -> None:
    frame = found.frames()["fewer_arms"].set_index(["measure", "arms"])
    assert frame.loc[("good", 5), "shown"] == (found.rhos[0, 0] >= 0.9 - 1e-9).mean()
    assert frame.loc[("bad", 5), "shown"] == (found.rhos[1, 0] <= -0.9 + 1e-9).mean()


def test_more_arms_show_more(found: FewerArms) -> None:
    assert (np.diff(found.shown[1]) >= -0.05).all()
    assert found.shown[1, -1] == 1.0
    assert "bad (-1.00) from" in found.findings()[0]
