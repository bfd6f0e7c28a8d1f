import numpy as np
import pytest

from analyses.shared.draws import Draws


def multinomial(rng: np.random.Generator, n_users: int, n_replicates: int) -> np.ndarray:
    return rng.multinomial(n_users, np.full(n_users, 1 / n_users), size=n_replicates)


def test_overlaps_are_sums_of_products_over_users_and_runs() -> None:
    users = np.array([[2, 0, 1], [1, 1, 1], [0, 3, 0]])
    # Two runs of a system, and one of another, which replicates draw once each.
    runs_of_first = [[0.5, 1.5, 0.0], [1.0, 1.0, 0.0], [2.0, 0.0, 0.0]]
    runs_of_second = [[0.0, 0.0, 1.0]] * 3
    runs = np.stack([runs_of_first, runs_of_second], axis=1)
    draws = Draws.of(users, runs)
    assert draws.n_drawn == 6
    # Replicates 0 and 2: users (1)(-1) + (-1)(2) + (0)(-1), runs (-.5)(1) + (.5)(-1).
    assert draws.overlaps[0, 2] == -4.0
    assert draws.overlaps[0, 0] == 2.5
    assert not draws.overlaps[1].any()


def test_users_are_compared_in_parts_with_one_result() -> None:
    weights = multinomial(np.random.default_rng(1), 9000, 3)
    excess = weights - 1.0
    np.testing.assert_array_equal(Draws.of(weights).overlaps, excess @ excess.T)


@pytest.mark.parametrize("share", [0.25, 0.5])
def test_the_linear_share_is_found_up_to_its_standard_error(share: float) -> None:
    """Replicates that are linear in the draws, and noise that is not, in known shares."""
    rng = np.random.default_rng(5)
    n_users, n_replicates = 50, 200
    found = []
    for _ in range(100):
        weights = multinomial(rng, n_users, n_replicates)
        effects = rng.normal(size=n_users)
        effects /= np.linalg.norm(effects - effects.mean())
        linear = weights @ effects
        noise = rng.normal(size=n_replicates)
        replicates = np.sqrt(share) * linear + np.sqrt(1 - share) * noise
        deviations = replicates - replicates.mean()
        found.append(Draws.of(weights).linear_share(deviations[np.newaxis]))
    standard_error = np.sqrt(2 * n_users) / n_replicates
    assert np.mean(found) == pytest.approx(share + standard_error, abs=0.03)


def test_what_does_not_vary_or_has_no_replicates_is_taken_as_linear() -> None:
    assert Draws.of(np.ones((4, 3))).linear_share(np.zeros((2, 4))) == 1.0
    assert Draws.of(np.empty((0, 3))).linear_share(np.empty((2, 0))) == 1.0
