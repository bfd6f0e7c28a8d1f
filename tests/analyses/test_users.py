from typing import Any

import numpy as np
import pytest

from analyses.ordering import COEFFICIENTS, tau_b
from analyses.shared.evidence import to_evidence
from analyses.shared.measure import Measure, Measures, Scores
from analyses.shared.work import ScoresWork
from analyses.users import Settings, Users, random_order, users
from runs import InputError
from tests.analyses.made import discriminate

N_USERS = 120
MEASURES = Measures((Measure("a", 5), Measure("a", 10), Measure("b", 10)))


def scores(n_users: int = N_USERS, n_systems: int = 4) -> Scores:
    """Systems of rising quality among users who differ; the second metric is noisier."""
    rng = np.random.default_rng(2)
    noise = rng.normal(size=(3, n_systems, n_users)) * np.array([1.0, 1.0, 3.0])[:, None, None]
    values = noise + 0.15 * np.arange(n_systems)[:, None]
    systems = tuple(f"s{number}" for number in range(n_systems))
    return Scores(values, MEASURES, systems, np.arange(n_users).astype(np.str_))


def study_users(scores: Scores, *, seed: int = 0, n_jobs: int = 1, **settings: Any) -> Users:
    # Fewer permutations than a study allows are as good for a test.
    asked = Settings().model_copy(update=settings)
    return users(ScoresWork(scores, seed=seed, n_jobs=n_jobs), asked)


def study(**changes: Any) -> Users:
    settings: dict[str, Any] = {"sizes": [10, 60], "repeats": 40, "permutations": 400, "seed": 3}
    return study_users(scores(), **(settings | changes))


def test_a_subset_is_ordered_by_its_own_means() -> None:
    result = study()
    subset = random_order(N_USERS, 3, 7)[:10]
    values = scores().values
    expected = tau_b(values[:, :, subset].mean(axis=2), values.mean(axis=2))
    np.testing.assert_array_equal(result.taus[:, 0, 7], expected)


@pytest.mark.parametrize("name", ["tau-ap", "rbo"])
def test_further_coefficients_are_means_over_the_subsets(name: str) -> None:
    values = scores().values
    subsets = [random_order(N_USERS, 3, repeat)[:10] for repeat in range(40)]
    means = np.stack([values[:, :, subset].mean(axis=2) for subset in subsets])
    expected = COEFFICIENTS[name].compare(means, values.mean(axis=2)).mean(axis=0)
    np.testing.assert_allclose(study().coefficients[name][:, 0], expected)


@pytest.mark.slow
def test_power_at_all_users_is_that_of_the_exact_test() -> None:
    exact = discriminate(scores()).dp[1:]
    found = study(permutations=20_000, sizes=[], repeats=1).dp[:, -1, 0]
    # 6 pairs, each with a standard error below sqrt(.25 / 20,000) = .0036.
    np.testing.assert_allclose(found, exact, rtol=0, atol=4 * 6 * 0.0036)


@pytest.mark.slow
def test_power_is_right_in_the_mean_with_few_permutations() -> None:
    exact = discriminate(scores()).dp[1:]
    few = [
        study(permutations=9, sizes=[], repeats=1, seed=seed).dp[:, -1, 0] for seed in range(200)
    ]
    # The 1 of (count + 1) / (permutations + 1) would add up to 0.6.
    np.testing.assert_allclose(np.mean(few, axis=0), exact, rtol=0, atol=0.15)


def test_only_the_deepest_cutoff_is_tested() -> None:
    result = study()
    assert result.tested == (Measure("a", 10), Measure("b", 10))
    frame = result.frame()
    assert frame.dp.isna().tolist() == (frame.cutoff == 5).tolist()


@pytest.mark.slow
def test_the_number_of_workers_and_of_repeats_at_once_change_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = to_evidence(study())
    monkeypatch.setattr("analyses.users.SCORES_AT_ONCE", 2000)
    assert to_evidence(study(n_jobs=2)) == whole


def test_a_single_user_may_be_all() -> None:
    result = study_users(scores(n_users=1), repeats=2, permutations=99)
    assert result.sizes == (1,)
    assert result.median_p.tolist() == [[[1.0, 1.0]]] * 2


def test_one_system_is_refused() -> None:
    with pytest.raises(InputError, match="at least two systems and one user, got 1 and 120"):
        study_users(scores(n_systems=1))
