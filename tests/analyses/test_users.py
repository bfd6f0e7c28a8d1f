from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from analyses.intervals.split_halves import random_order
from analyses.ordering import COEFFICIENTS, tau_b
from analyses.shared.evidence import to_evidence
from analyses.shared.measure import Measure, Measures
from analyses.shared.scores import Scores
from analyses.shared.work import ScoresWork
from analyses.significance.permutation import DrawnTests, monte_carlo_test
from analyses.users import Settings, Users, users, usual_sizes
from runs import InputError
from tests.analyses.made import discriminate
from tests.drawn import band_at, curve

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


def test_two_halves_of_the_users_are_compared() -> None:
    """The splits are those of the random orders; the estimate is their mean, with an interval."""
    result = study()
    order = random_order(N_USERS, 3, 7)
    values = scores().values
    first, second = (values[:, :, half].mean(axis=2) for half in (order[:60], order[60:]))
    np.testing.assert_array_equal(result.half_taus[:, 7], tau_b(first, second))
    found = result.consistency()
    np.testing.assert_allclose(found.values, result.half_taus.mean(axis=1))
    assert (found.low < found.values).all()
    assert (found.values < found.high).all()
    frame = result.frames()["consistency"]
    assert frame.consistency.tolist() == found.values.tolist()
    assert frame[["low", "high"]].to_numpy().T.tolist() == [found.low.tolist(), found.high.tolist()]
    # Two noisy measures differ in it.
    assert any("halves" in sentence for sentence in result.findings())


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
    assert np.isnan(result.consistency().values).all()
    assert result.findings() == []


def test_one_system_is_refused() -> None:
    with pytest.raises(InputError, match="at least two systems and one user, got 1 and 120"):
        study_users(scores(n_systems=1))


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([10, 60], (10, 60, 120)),
        ([60, 10, 60], (10, 60, 120)),
        ([10, 500], (10, 120)),
        ([], (120,)),
    ],
)
def test_sizes_rise_to_all_users(sizes: list[int], expected: tuple[int, ...]) -> None:
    result = study(sizes=sizes, repeats=1, permutations=9)
    assert result.sizes == expected
    assert result.taus.shape == (3, len(expected), 1)
    assert (result.taus[:, -1] == 1).all()


@pytest.mark.parametrize(
    ("n_users", "expected"),
    [
        (5, []),
        (6, [5]),
        (100, [5, 10, 20, 50]),
        (101, [50, 100]),
        (500, [50, 100, 200]),
        (1001, [50, 100, 200, 500, 1000]),
    ],
)
def test_usual_sizes_are_below_the_number_of_users(n_users: int, expected: list[int]) -> None:
    assert usual_sizes(n_users) == expected


def steps_apart(steps: list[int], *, n_users: int = 40) -> Scores:
    """Systems that are a step apart for each user: they tie, or differ as much for all."""
    values = np.tile(np.array(steps, dtype=float)[None, :, None], (1, 1, n_users))
    systems = tuple(f"s{number}" for number in range(len(steps)))
    return Scores(values, Measures([Measure("a", 5)]), systems, np.arange(n_users).astype(np.str_))


@pytest.mark.parametrize(
    ("steps", "median", "significant"),
    [([0, 0, 1], 0.01, 2 / 3), ([0, 0, 0, 1], (1 + 0.01) / 2, 1 / 2), ([0, 0, 0], 1.0, 0.0)],
)
def test_power_of_pairs_that_tie_or_differ_for_all_users(
    steps: list[int], median: float, significant: float
) -> None:
    """Pairs that tie have p = 1; no sign flip of 40 equal differences is as extreme: p = 1/100."""
    result = study_users(steps_apart(steps), sizes=[30], repeats=5, permutations=99)
    n_tied = sum(steps[i] == steps[j] for i in range(len(steps)) for j in range(i))
    np.testing.assert_allclose(result.median_p, np.full((1, 2, 5), median))
    np.testing.assert_allclose(result.significant, np.full((1, 2, 5), significant))
    # DP has 0 for a pair that no permutation reaches.
    np.testing.assert_allclose(result.dp, np.full((1, 2, 5), n_tied), atol=1e-12)


@pytest.mark.parametrize(("permutations", "share"), [(19, 0.0), (20, 2 / 3)])
def test_a_p_of_the_level_itself_is_not_significant(permutations: int, share: float) -> None:
    """Where none is as extreme, p is 1 / 20, or 1 / 21."""
    result = study_users(steps_apart([0, 0, 1]), sizes=[], repeats=2, permutations=permutations)
    np.testing.assert_allclose(result.significant, np.full((1, 1, 2), share))


@pytest.mark.parametrize("size", [8, 11])
def test_pairs_are_tested_on_the_users_of_each_subset(size: int) -> None:
    """By the report measures; a subset may have all users but one."""
    result = study_users(scores(n_users=12), seed=3, sizes=[size], repeats=3, permutations=99)
    for repeat in range(3):
        subset = random_order(12, 3, repeat)[:size]
        values = scores(n_users=12).values[1:, :, subset]
        p = monte_carlo_test(values, permutations=99, seed=3).p
        np.testing.assert_allclose(result.median_p[:, 0, repeat], np.median(p, axis=1))
        np.testing.assert_allclose(result.significant[:, 0, repeat], (p < 0.05).mean(axis=1))
        np.testing.assert_allclose(result.dp[:, 0, repeat], ((100 * p - 1) / 99).sum(axis=1))


def by_hand() -> Users:
    """Two sizes of five subsets, in which tau and DP are known."""
    taus = np.array([[[0.0, 0.1, 0.2, 0.9, np.nan], [1.0] * 5]])
    shares = np.array([[[0.1, 0.1, 0.1, 0.3, 0.4], [0.5] * 5]])
    return Users(
        measures=Measures([Measure("a", 5)]),
        sizes=(10, 20),
        taus=taus,
        half_taus=np.array([[0.2, 0.4]]),
        half_replicates=np.array([[0.2, 0.3, 0.4]]),
        coefficients={"rbo": np.array([[0.7, 1.0]])},
        tested=Measures([Measure("a", 5)]),
        dp=10 * shares,
        significant=shares,
        median_p=shares / 2,
        n_systems=5,
        permutations=99,
    )


def test_the_frame_has_means_and_the_middle_90_percent_of_the_subsets() -> None:
    row = by_hand().frame().iloc[0]
    # Of four defined taus the quantile 5 % is .15 of the way from the first to the second.
    assert row[["tau", "tau_low", "tau_high"]].tolist() == pytest.approx([0.3, 0.015, 0.795])
    # Of five the quantile 5 % is .2 of the way, from 1 to 1; 95 % is .8 of the way from 3 to 4.
    assert row[["dp", "dp_low", "dp_high"]].tolist() == pytest.approx([2.0, 1.0, 3.8])
    assert row[["significant_05", "median_p", "rbo"]].tolist() == pytest.approx([0.2, 0.1, 0.7])
    assert row[["users", "repeats"]].tolist() == [10, 5]


def test_figures_draw_means_with_bands_of_the_middle_90_percent() -> None:
    ax = by_hand().plot()
    np.testing.assert_allclose(curve(ax, "a@5"), [[10, 0.3], [20, 1.0]])
    assert band_at(ax, 10) == pytest.approx([0.015, 0.795])
    power = by_hand().plot_power()
    np.testing.assert_allclose(curve(power, "a@5"), [[10, 2.0], [20, 5.0]])
    assert band_at(power, 10) == pytest.approx([1.0, 3.8])


def test_sizes_are_labelled_that_are_far_enough_from_all_users() -> None:
    """Seven users are 1.4 times five."""
    ax = with_taus([[0.2, 0.7, 1.0], [0.3, 0.6, 1.0]], sizes=(5, 6, 7)).plot()
    assert [label.get_text() for label in ax.get_xticklabels()] == ["5", "7"]


def test_the_table_has_subsets_without_all_users() -> None:
    table = by_hand().agreement()
    assert list(table.headings) == ["measure", "10 users", "two halves [95 %]"]
    assert table.rows[0][1] == pytest.approx(0.3)
    assert str(table.rows[0][2]).startswith(".3")


def test_the_table_has_the_mean_of_each_size() -> None:
    table = with_taus([[0.2, 0.7, 1.0], [0.3, 0.6, 1.0]], sizes=(4, 10, 20)).agreement()
    assert list(table.headings)[:3] == ["measure", "4 users", "10 users"]
    assert [[*row][:3] for row in table.rows] == [["a@5", 0.2, 0.7], ["b@5", 0.3, 0.6]]


def with_taus(taus: list[list[float]], *, sizes: tuple[int, ...]) -> Users:
    """Two metrics with one subset of each size; nothing is known of halves."""
    measures = Measures([Measure("a", 5), Measure("b", 5)])
    return replace(
        by_hand(),
        measures=measures,
        tested=measures,
        sizes=sizes,
        taus=np.array(taus)[:, :, None],
        half_taus=np.full((2, 1), np.nan),
        half_replicates=np.full((2, 3), np.nan),
    )


@pytest.mark.parametrize(("size", "named"), [(10, 10), (11, 4)])
def test_the_finding_is_of_the_largest_subset_of_at_most_half_of_the_users(
    size: int, named: int
) -> None:
    (finding,) = with_taus([[0.2, 0.7, 1.0], [0.3, 0.6, 1.0]], sizes=(4, size, 20)).findings()
    numbers = ".6", "(b@5)", ".7", "(a@5)"
    if named == 4:
        numbers = ".2", "(a@5)", ".3", "(b@5)"
    places = [finding.index(number) for number in (f"On {named} of the 20", *numbers)]
    assert places == sorted(places)


def test_without_a_subset_of_half_of_the_users_or_a_tau_there_is_no_finding() -> None:
    assert with_taus([[0.2, 1.0], [0.3, 1.0]], sizes=(11, 20)).findings() == []
    assert with_taus([[0.2, 1.0], [np.nan, 1.0]], sizes=(10, 20)).findings() == []


def test_the_caption_counts_unordered_pairs() -> None:
    assert "of the 10 unordered pairs of 5 systems" in by_hand().caption_of("dp")


def test_settings_have_their_defaults_and_bounds() -> None:
    settings = Settings()
    assert settings.sizes is None
    assert (settings.repeats, settings.permutations) == (50, 1000)
    Settings(repeats=1, permutations=99)
    for refused in ({"repeats": 0}, {"permutations": 98}):
        with pytest.raises(ValidationError):
            Settings.model_validate(refused)


def test_captions_have_the_systems_the_subsets_and_the_permutations() -> None:
    found = by_hand()
    assert "orderings of 5 systems" in found.caption()
    assert "Mean of 5 random subsets of the 20 users of each size." in found.caption()
    assert "permutation test (99 permutations)" in found.caption_of("dp")


def test_cutoffs_of_a_metric_are_drawn_at_the_sizes_themselves() -> None:
    """Without lines to either side."""
    measures = Measures([Measure("a", 5), Measure("a", 10)])
    taus = np.array([[[0.2, 0.4], [1.0, 1.0]], [[0.5, 0.7], [1.0, 1.0]]])
    found = replace(by_hand(), measures=measures, taus=taus, sizes=(10, 20))
    ax = found.plot(metric="a")
    np.testing.assert_allclose(curve(ax, "@5"), [[10, 0.3], [20, 1.0]])
    np.testing.assert_allclose(curve(ax, "@10"), [[10, 0.6], [20, 1.0]])
    assert not ax.collections
    assert ax.get_title() == "a"


def test_a_size_has_a_label_if_all_users_are_14_tenths_or_more() -> None:
    for sizes, labels in (((10, 14), ["10", "14"]), ((11, 15), ["15"])):
        ax = with_taus([[0.2, 1.0], [0.3, 1.0]], sizes=sizes).plot()
        assert [label.get_text() for label in ax.get_xticklabels()] == labels


def test_the_axis_of_power_begins_at_0() -> None:
    assert by_hand().plot_power().get_ylim()[0] == 0


@pytest.mark.parametrize("n_users", [1000, 1200])
def test_subsets_are_tested_alike_however_many_at_a_time(
    n_users: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.random.default_rng(1).random((1, 2, n_users))
    known = Scores(
        values, Measures([Measure("a", 5)]), ("x", "y"), np.arange(n_users).astype(np.str_)
    )
    asked: dict[str, Any] = {"sizes": [20], "repeats": 3, "permutations": 99}
    whole = study_users(known, **asked)
    monkeypatch.setattr("analyses.users.SCORES_AT_ONCE", 1)
    one_by_one = study_users(known, **asked)
    assert one_by_one.median_p.tolist() == whole.median_p.tolist()


def test_no_more_scores_are_held_at_a_time_than_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 2 systems and 2,000 users, 4,000 scores; of 20 users, sums as of 1,024 users."""
    held: list[int] = []

    def tested(values: np.ndarray, **settings: Any) -> DrawnTests:
        held.append(len(values))
        ones = np.ones((len(values), 1))
        return DrawnTests(ones, ones)

    monkeypatch.setattr("analyses.users.monte_carlo_test", tested)
    monkeypatch.setattr("analyses.users.SCORES_AT_ONCE", 2 * 2 * 1024)
    values = np.random.default_rng(1).random((1, 2, 2048))
    known = Scores(values, Measures([Measure("a", 5)]), ("x", "y"), np.arange(2048).astype(np.str_))
    study_users(known, sizes=[20, 2000], repeats=3, permutations=99)
    assert held == [2, 1, 1, 1, 1, 1]
