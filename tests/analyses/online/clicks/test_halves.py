import numpy as np
import pytest

from analyses.online.clicks.checks import Halves, halves
from analyses.online.clicks.tallies import Tallies, tally
from runs import InputError


def clicks_of(n_users: int, *, n_arms: int = 1, seed: int = 1) -> Tallies:
    """Each user has 3 lists, accepted at a rate of the user's own."""
    rng = np.random.default_rng(seed)
    user = np.repeat(np.arange(n_users), 3)
    accepted = rng.random(3 * n_users) < rng.random(n_users)[user]
    arms = [str(arm) for arm in range(n_arms)]
    return tally(accepted, user=user, arm=user % n_arms, arms=arms)


def hashes(n_users: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return np.random.default_rng(0).integers(2**64, size=n_users, dtype=np.uint64)


def found(n_users: int = 400) -> Halves:
    return halves(clicks_of(n_users), hashes(n_users))


def test_a_difference_is_that_of_the_rates_of_two_groups() -> None:
    tallies = clicks_of(100)
    is_second = hashes(100)[tallies.user] >> np.uint64(7) & np.uint64(1) == 1
    rates = [
        tallies.n_accepted[rows].sum() / tallies.n_slates[rows].sum()
        for rows in (~is_second, is_second)
    ]
    assert halves(tallies, hashes(100)).differences[7] == rates[1] - rates[0]


@pytest.mark.validity
def test_intervals_cover_0_about_as_often_as_they_promise() -> None:
    assert 55 <= found().covered.sum() <= 64


def test_lists_that_are_not_independent_are_known_to_be_of_one_user() -> None:
    """As if every list stood a hundred times: binomial errors would shrink tenfold."""
    once = clicks_of(400)
    often = Tallies(
        once.arms, once.periods, once.user, once.arm, once.period,
        once.n_slates * 100, once.n_accepted * 100,
    )  # fmt: skip
    np.testing.assert_allclose(halves(often, hashes(400)).errors, found().errors, rtol=1e-12)


def test_the_table_says_which_intervals_cover_0() -> None:
    frame = found().to_frame()
    assert (frame["covers_zero"] == ((frame["low"] <= 0) & (frame["high"] >= 0))).all()
    assert frame["split"].tolist() == [*range(1, 65)]


def test_the_caption_counts_them() -> None:
    result = found()
    assert f"in {result.covered.sum()} of 64 splits; about 61 are due" in result.caption()


def test_two_arms_are_refused() -> None:
    with pytest.raises(InputError, match=r"halves are made of one arm, got 2\."):
        halves(clicks_of(10, n_arms=2), hashes(10))


def test_too_few_users_are_refused() -> None:
    with pytest.raises(InputError, match="3 users of arm '0' are too few for two in each half"):
        halves(clicks_of(3), hashes(3))
