import numpy as np
import pytest

from analyses.significance.question import cautions

UNSURE = np.full((2, 10), 0.5)


@pytest.mark.parametrize("test", ["wilcoxon", "sign"])
@pytest.mark.parametrize(("n_users", "warned"), [(50, False), (999, False), (1000, True)])
def test_rank_tests_are_warned_of_at_the_scale_of_users(
    test: str, n_users: int, warned: bool
) -> None:
    found = " ".join(cautions(UNSURE, test=test, n_users=n_users))
    assert ("Ihemelandu & Ekstrand 2023" in found) == warned


@pytest.mark.parametrize("test", ["exact", "monte-carlo", "t", "bootstrap"])
def test_tests_of_means_are_not_warned_of_at_the_scale_of_users(test: str) -> None:
    assert cautions(UNSURE, test=test, n_users=100_000) == ()


@pytest.mark.parametrize(("n_users", "warned"), [(199, True), (200, False)])
@pytest.mark.parametrize("test", ["t", "wilcoxon", "bootstrap"])
def test_approximations_are_warned_of_where_they_rest_on_few_users(
    test: str, n_users: int, warned: bool
) -> None:
    found = cautions(UNSURE, test=test, n_users=n_users)
    sentence = "20 of the 20 tests rest on fewer than 200 users who differ, too few to trust an app"
    assert any(caution.startswith(sentence) for caution in found) == warned


@pytest.mark.parametrize("test", ["exact", "monte-carlo", "sign"])
def test_exact_tests_may_rest_on_few_users(test: str) -> None:
    assert cautions(UNSURE, test=test, n_users=50) == ()


@pytest.mark.parametrize(("draws", "warned"), [(199, True), (200, False), (100_000, False)])
def test_draws_must_suffice_for_the_correction(draws: int, warned: bool) -> None:
    found = cautions(UNSURE, test="monte-carlo", n_users=50, draws=draws)
    assert bool(found) == warned


def test_the_advised_number_of_draws_is_enough() -> None:
    (sentence,) = cautions(np.ones((1, 7)), test="monte-carlo", n_users=50, draws=9)
    advised = int(sentence.split("at least ")[1].rstrip(".").replace(",", ""))
    assert cautions(np.ones((1, 7)), test="monte-carlo", n_users=50, draws=advised) == ()


def test_tests_without_draws_need_none() -> None:
    assert cautions(UNSURE, test="exact", n_users=50) == ()
