import numpy as np

from analyses.intervals.resampling import run_noise, run_weights
from analyses.shared.measure import RunDeviations


def drawn(runs: np.ndarray, systems: list[int], *, replicates: int = 2000) -> np.ndarray:
    numbers = np.array(systems)
    found = run_noise(
        RunDeviations(runs, numbers, np.array([True] * (int(numbers.max()) + 1))),
        replicates=replicates,
        seed=1,
    )
    assert isinstance(found, np.ndarray)
    return found


def test_the_variance_is_that_of_a_mean_of_as_many_runs(rng: np.random.Generator) -> None:
    values = rng.normal(size=(500, 3))
    deviations = values - values.mean(axis=1, keepdims=True)
    variances = drawn(deviations, [0, 0, 0])[:, 0].var(axis=1)
    np.testing.assert_allclose(variances, values.var(axis=1, ddof=1) / 3, rtol=0.15)
    assert 0.27 < variances.mean() < 0.40


def test_runs_count_as_often_as_there_are_some() -> None:
    weights = run_weights(np.array([0, 0, 0, 1]), replicates=50, seed=1)
    np.testing.assert_allclose(weights.sum(axis=2), np.tile([3.0, 1.0], (50, 1)))


def test_measures_share_their_runs() -> None:
    noise = drawn(np.array([[-0.1, 0.1], [-0.2, 0.2]]), [0, 0])
    np.testing.assert_allclose(noise[1], 2 * noise[0])


def test_systems_have_runs_of_their_own() -> None:
    noise = drawn(np.array([[-0.1, 0.1, -0.1, 0.1]]), [0, 0, 1, 1])[0]
    assert abs(np.corrcoef(noise)[0, 1]) < 0.1


def test_a_single_run_says_nothing_of_others() -> None:
    assert (drawn(np.array([[0.0, -0.1, 0.1]]), [0, 1, 1])[0, 0] == 0).all()


def test_without_replicates_there_is_no_noise() -> None:
    assert run_noise(None, replicates=3, seed=1) == 0
