import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analyses.online.clicks.checks import stickiness
from analyses.online.clicks.sample_ratio import SampleRatio, chi_square, sample_ratio
from runs import InputError

DAY = 86_400_000


def users_of(*daily: tuple[int, int], shares: dict[str, float] | None = None) -> SampleRatio:
    """New users of arms A and B on each day; all come back on the last."""
    counts = np.array(daily)
    arm = np.concatenate([np.repeat([0, 1], of_day) for of_day in counts])
    day = np.repeat(np.arange(len(counts)), counts.sum(axis=1))
    user = np.arange(len(arm))
    again = np.full(len(arm), len(counts))
    found = stickiness(np.tile(user, 2), np.tile(arm, 2), np.append(day, again) * DAY)
    return sample_ratio(found, arms=["A", "B"], shares=shares)


@given(st.lists(st.integers(1, 500), min_size=2, max_size=6), st.data())
def test_the_test_is_that_of_scipy(counts: list[int], data: st.DataObject) -> None:
    n_arms = len(counts)
    weights = data.draw(st.lists(st.integers(1, 9), min_size=n_arms, max_size=n_arms))
    shares = np.array(weights) / sum(weights)
    statistic, p = chi_square(np.array(counts), shares)
    expected = stats.chisquare(counts, shares * sum(counts))
    np.testing.assert_allclose([statistic, p], expected, rtol=1e-9, atol=1e-300)


# The counts behind these statistics (five arms, equal shares) stand in the thesis alone.
@pytest.mark.parametrize(("statistic", "p"), [(2.31, 0.68), (24.5, 6.5e-5)])
def test_p_values_of_the_thesis(statistic: float, p: float) -> None:
    # Counts n + d, n - d, n, n, n have the statistic 2 d^2 / n.
    n = 1_000_000
    d = round(np.sqrt(statistic * n / 2))
    found = chi_square(np.array([n + d, n - d, n, n, n]), np.full(5, 0.2))
    np.testing.assert_allclose(found, [statistic, p], rtol=0.04)


def test_users_count_once_on_their_first_day() -> None:
    assert users_of((3, 2), (1, 4)).daily.tolist() == [[3, 2], [1, 4]]


def test_a_planned_split_is_no_mismatch() -> None:
    assert not users_of((900, 100), shares={"B": 1, "A": 9}).mismatch


def test_an_unplanned_split_is_a_mismatch() -> None:
    found = users_of((900, 800))
    assert found.p == pytest.approx(stats.chisquare([900, 800]).pvalue)
    assert not found.mismatch
    assert users_of((900, 700)).mismatch


def test_degrees_of_freedom_are_those_of_the_arms() -> None:
    frame = users_of((900, 800)).to_frame()
    expected = stats.chi2.sf(frame["chi_square"], frame["degrees_of_freedom"])
    np.testing.assert_allclose(frame["p"], expected)


def test_days_are_adjusted_for_their_number() -> None:
    frame = users_of((50, 50), (80, 40)).to_frame()
    p, adjusted = frame["p"].to_numpy(), frame["p_holm"].to_numpy()
    np.testing.assert_allclose(adjusted, [p[0], p[1], 2 * p[2]])


@pytest.mark.validity
def test_the_level_is_held() -> None:
    rng = np.random.default_rng(1)
    counts = rng.multinomial(1_000, [0.2, 0.3, 0.5], size=4_000)
    _, p = chi_square(counts, np.array([0.2, 0.3, 0.5]))
    # 4,000 trials: the standard deviation is 0.0034.
    assert np.mean(p < 0.05) == pytest.approx(0.05, abs=0.011)


def test_a_caption_with_a_mismatch_names_no_winner() -> None:
    assert "NOT split as planned" in users_of((900, 700)).caption()
    assert "NOT" not in users_of((900, 900)).caption()


@pytest.mark.parametrize(
    "shares",
    [{"A": 1.0}, {"A": 1, "C": 1}, {"A": 1, "B": 0}, {"A": 1, "B": -1}, {"A": 1, "B": np.nan}],
)
def test_shares_must_be_positive_and_one_for_each_arm(shares: dict[str, float]) -> None:
    with pytest.raises(InputError, match="must be one positive number for each of A, B, got"):
        users_of((3, 2), shares=shares)


def test_one_arm_has_no_ratio() -> None:
    users = stickiness(np.arange(2), np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.int64))
    with pytest.raises(InputError, match=r"needs two arms or more, got 1\."):
        sample_ratio(users, arms=["A"])


def test_an_arm_is_drawn_with_its_own_band_of_chance() -> None:
    found = users_of((30, 20), (10, 40), shares={"A": 4, "B": 1})
    axes = found.plot(arm="B")
    assert axes.get_ylim() == found.plot(arm="A").get_ylim()
    (own,) = axes.get_lines()
    assert own.get_ydata() == pytest.approx([2.0, 4.0])
    reach = axes.collections[0].get_datalim(axes.transData).y1 - 1
    assert reach == pytest.approx(1.96 * np.sqrt(4 / 50), 1e-4)
