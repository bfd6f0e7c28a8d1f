from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from pydantic import ValidationError
from scipy.stats import ttest_rel

from analyses.intervals.resampling import resampled_users
from analyses.ordering import tau_b
from analyses.shared.analysis import SettingError, StudyFacts
from analyses.shared.families import N_CROSSED
from analyses.shared.measure import Measure, Measures
from analyses.shared.scores import Scores
from analyses.shared.work import ScoresWork, Truth
from analyses.validity import Settings, Validity, validity
from analyses.validity.comparison import Comparison, JointUsers
from analyses.validity.measure_validity import POPULAR_LEVELS
from analyses.validity.pair_verdicts import resampled_rates
from runs import InputError
from tests.analyses.made import JudgedWork, Totals
from tests.analyses.validity.test_loss_curves import one_judgement_each
from tests.analyses.validity.test_sweep import by_judgement

NDCG, P, ARP = Measure("nDCG", 10), Measure("P", 10), Measure("ARP", 10)


def scores(
    values: Any, measures: Measures | None = None, *, users: str = "u", systems: str = "s"
) -> Scores:
    values = np.asarray(values, dtype=np.float64)
    known = measures or Measures([NDCG, P, *(Measure(f"m{n}", 10) for n in range(len(values)))])
    return Scores(
        values,
        Measures(known[: len(values)], lower_is_better_for=known.lower_is_better_for),
        tuple(f"{systems}{number}" for number in range(values.shape[1])),
        np.array([f"{users}{number}" for number in range(values.shape[2])]),
    )


def compare(measured: Scores, true: Scores, *, seed: int = 0, **settings: Any) -> Validity:
    asked = {"replicates": 50, "judgements": False} | settings
    truth = Truth(true, (true.measures[0],), "of a made world")
    return validity(ScoresWork(measured, known_truth=truth, seed=seed), Settings(**asked))


@pytest.fixture
def right(rng: np.random.Generator) -> Scores:
    return scores(rng.random((2, 9, 1)) + 0.3 * rng.random((2, 9, 40)))


def test_a_metric_that_is_the_truth_is_right(right: Scores) -> None:
    found = compare(right, right)
    assert found.tau.values[0].tolist() == found.tau_aps[0].tolist() == [1.0, 1.0]
    assert found.regret.values[0].tolist() == [0.0, 0.0]
    assert (found.tau_replicates[0] == 1).all()
    assert not found.verdicts.wrong[0].any()
    assert found.rate("power").values[0].tolist() == [1.0, 1.0]


def test_systems_in_their_true_order_may_be_so_by_chance(rng: np.random.Generator) -> None:
    users = rng.normal(size=(1, 9, 40))
    # As far apart as their standard errors, and in order.
    measured = users - users.mean(axis=2, keepdims=True) + np.arange(9)[:, None] / np.sqrt(40)
    found = compare(scores(measured), scores(measured * 0 + np.arange(9)[:, None]))
    assert found.tau.values[0, 0] == 1
    assert found.tau.both[0][0, 0] < 0.95
    assert found.estimates().limits_over_all_sources()[0][0] == pytest.approx(
        found.tau.both[0][0, 0]
    )


def test_resampling_draws_who_is_the_same_user_together(right: Scores) -> None:
    others = Scores(right.values, right.measures, right.systems, np.char.add("t", right.users))
    assert (compare(right, right).regret.users[1][0] == 0).all()
    assert (compare(right, others).tau_replicates[0] < 1).any()


def test_a_reversed_metric_is_wrong_everywhere(right: Scores) -> None:
    found = compare(scores(-right.values), right)
    assert found.tau.values[0].tolist() == [-1.0, -1.0]
    assert not found.verdicts.right[0].any()
    assert found.rate("type III").values[0].tolist() == [1.0, 1.0]
    extent = np.ptp(right.mean_values(), axis=1)
    assert found.regret.values[0] == pytest.approx(extent)


def test_three_users_and_four_systems_by_hand() -> None:
    """Measured: d is put first; truly a, b, c, d, of which only a and b are within noise."""
    true = np.array([[8, 9, 10], [7, 9, 10], [4, 5, 6], [1, 2, 3]]) / 10
    measured = np.array([[5, 6, 7], [4, 5, 6], [3, 4, 5], [8, 9, 10]]) / 10
    found = compare(scores([measured]), scores([true]), replicates=0)
    # Of the pairs ab, ac, ad, bc, bd, cd the three with d are the wrong way round.
    assert found.tau.values[0, 0] == pytest.approx(0.0)
    # Down d, a, b, c: above a 0 of 1 is right, above b 1 of 2, above c 2 of 3.
    assert found.tau_aps[0, 0] == pytest.approx(2 / 3 * (0 / 1 + 1 / 2 + 2 / 3) - 1)
    assert found.regret.values[0, 0] == pytest.approx(0.9 - 0.2)
    assert found.verdicts.truly_significant[0, 0].tolist() == [False, True, True, True, True, True]
    assert found.verdicts.inverted[0, 0].tolist() == [False, False, True, False, True, True]
    assert found.verdicts.significant[0, 0].all()
    assert found.verdicts.right[0, 0].sum() == 2
    assert found.verdicts.false_positive[0, 0].tolist() == [True, *[False] * 5]
    assert found.rate("power").values[0, 0] == pytest.approx(2 / 5)
    assert found.rate("type III").values[0, 0] == pytest.approx(3 / 6)
    row = found.frame().iloc[0]
    assert (row.chosen, row.true_differences, row.inversions) == ("s3", 5, 3)
    assert row.regret_share == pytest.approx(1.0)


def test_verdicts_are_those_of_a_loop_over_pairs(rng: np.random.Generator) -> None:
    worth = 0.15 * rng.random((3, 7, 1))
    measured, true = (worth + rng.random((3, 7, 30)) for _ in range(2))
    found = compare(scores(measured), scores(true, users="t"), replicates=0)
    for measure in range(3):
        counted = dict.fromkeys(("right", "wrong", "false_positive", "missed", "inverted"), 0)
        for i, j in combinations(range(7), 2):
            p, true_p = (ttest_rel(s[measure, i], s[measure, j]).pvalue for s in (measured, true))
            first, second = (s[measure, i].mean() - s[measure, j].mean() for s in (measured, true))
            counted["inverted"] += true_p <= 0.05 and first * second < 0
            counted["missed"] += true_p <= 0.05 < p
            if p <= 0.05:
                same = "right" if first * second > 0 else "wrong"
                counted[same if true_p <= 0.05 else "false_positive"] += 1
        for name, count in counted.items():
            assert getattr(found.verdicts, name)[0, measure].sum() == count, name


def test_of_a_falling_metric_less_is_better(rng: np.random.Generator) -> None:
    values, true = rng.random((2, 9, 20)), rng.random((2, 9, 20))
    turned = np.array([1.0, -1.0])[:, None, None]
    falling = Measures([NDCG, ARP], lower_is_better_for=["ARP"])
    plain = compare(scores(values), scores(true))
    found = compare(scores(values * turned, falling), scores(true * turned, falling))
    for name in ("tau_aps", "tau_replicates", "p", "attainable"):
        assert getattr(found, name) == pytest.approx(getattr(plain, name)), name
    for name in ("tau", "regret", "rates"):
        one, other = getattr(found, name), getattr(plain, name)
        for values, expected in zip(
            (one.values, *one.users), (other.values, *other.users), strict=True
        ):
            assert values == pytest.approx(expected, nan_ok=True), name
    assert found.verdicts.shares() == pytest.approx(plain.verdicts.shares())


@pytest.mark.parametrize(
    ("true", "finding"),
    [
        (scores(np.ones((2, 9, 2)), systems="t"), "the same systems in the same order"),
        (scores(np.ones((2, 9, 0))), "a truth needs at least two systems and one user, got 9"),
    ],
)
def test_a_truth_that_does_not_fit_is_refused(right: Scores, true: Scores, finding: str) -> None:
    with pytest.raises(InputError, match=finding):
        compare(right, true)


def test_a_study_without_truth_is_refused_before_any_work() -> None:
    given = StudyFacts(("a", "b"), Measures([P]), has_training=True)
    with pytest.raises(SettingError, match=r"in \[truth\], or study a simulated world"):
        Settings().check(given)
    Settings().check(StudyFacts(("a", "b"), Measures([P]), has_training=True, has_truth=True))


def test_settings_have_the_defaults_of_the_documentation() -> None:
    """Ten shares of the judgements from all to a tenth, eleven of the items from all to .8."""
    settings = Settings()
    assert (settings.test, settings.correction, settings.alpha) == ("t", "none", 0.05)
    assert (settings.replicates, settings.samples, settings.judgements) == (400, 20, True)
    assert settings.levels == (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
    expected = (1.0, 0.98, 0.96, 0.94, 0.92, 0.9, 0.88, 0.86, 0.84, 0.82, 0.8)
    assert expected == POPULAR_LEVELS
    Settings(replicates=0, samples=1)
    for refused in ({"replicates": -1}, {"samples": 0}):
        with pytest.raises(ValidationError):
            Settings.model_validate(refused)


@dataclass(frozen=True, eq=False)
class KnownScores(JudgedWork):
    """Work with scores that are stated."""

    stated: Any = None

    @cached_property
    def scores(self) -> Scores:
        return self.stated


@pytest.mark.parametrize("judgements", [True, False])
def test_loss_of_judgements_has_half_of_the_replicates(
    judgements: bool, rng: np.random.Generator
) -> None:
    known = scores(rng.random((1, 4, 6)))
    progress = Totals()
    work = KnownScores(
        partial(by_judgement, values=known.values),
        one_judgement_each(6),
        known.measures,
        4,
        progress=progress,
        popularity_counts={"train": np.array([3])},
        known_truth=Truth(known, (known.measures[0],), "of a made world"),
        stated=known,
    )
    settings = Settings(replicates=7, levels=(1.0, 0.5), samples=2, judgements=judgements)
    found = validity(work, settings)
    assert found.tau_replicates.shape == (2, 1, 7)
    if judgements:
        assert found.kept is not None
        assert found.popular is not None
        assert found.kept.replicates.shape == (2, 1, 2, 3)
        assert found.popular.taus.shape == (2, 1, 11)
        assert found.kept.taus[0, 0, 0] == 1
    else:
        assert found.kept is found.popular is None
    assert progress.announced == progress.done == (5 if judgements else 3)


def test_users_of_study_and_truth_are_counted(right: Scores) -> None:
    fewer = replace(right, values=right.values[:, :, 5:], users=right.users[5:])
    others = replace(fewer, users=np.append(fewer.users[:30], [f"t{n}" for n in range(5)]))
    found = compare(right, others)
    assert (found.n_users, found.n_true_users, found.n_shared) == (40, 35, 30)
    assert found.truths == ("itself", "nDCG@10")
    assert found.origin == "of a made world"


def test_what_has_no_value_on_the_truth_is_left_out(right: Scores) -> None:
    true = scores(right.values[:1])
    found = compare(right, true)
    assert (found.measures, found.measures.reported) == ((NDCG,), (NDCG,))
    assert found.tau.values.tolist() == compare(scores(right.values[:1]), true).tau.values.tolist()
    assert found.unmeasured == ("P@10",)


def test_rates_over_users_are_those_of_the_test_on_who_is_drawn(rng: np.random.Generator) -> None:
    """Ten users drawn with replacement, and tested by scipy; one replicate after the other."""
    measured, true = (scores(rng.random((1, 4, 10)) + 0.1 * np.arange(4)[:, None]) for _ in "ab")
    users = JointUsers.of_scores(measured, true, replicates=30, seed=3)
    comparison = Comparison(measured, true, np.zeros((1, 1), dtype=np.intp))
    groups = np.array([[1.0, 1, 1, 1, 1, 1], [1, 1, 0, 1, 0, 0]])
    drawn, crossed = resampled_rates(comparison, [0], users, Settings(correction="holm"), groups)
    for replicate, weights in enumerate(resampled_users(0, 30, n_users=10, seed=3)):
        again = np.repeat(np.arange(10), weights.astype(int))
        sides = [scores(each.values[:, :, again]) for each in (measured, true)]
        found = compare(*sides, replicates=0, correction="holm")
        assert drawn[:, 0, 0, replicate] == pytest.approx(found.rates.values[:, 0, 0], nan_ok=True)
    assert_array_equal(crossed[..., 0], drawn[..., :N_CROSSED])
    assert not np.array_equal(crossed[..., 1], crossed[..., 0], equal_nan=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("noise", "n_draws"),
    [(0.3, 20), *(pytest.param(noise, 100, marks=pytest.mark.validity) for noise in (0.3, 1.0))],
)
def test_intervals_over_users_hold_tau_and_regret_of_all_users(
    noise: float, n_draws: int, rng: np.random.Generator
) -> None:
    """A population of users: the measure is biased, and shares its users with the truth."""
    worth = rng.normal(size=10)
    biased = worth + 0.5 * rng.normal(size=10)
    truly, lost = tau_b(biased, worth), worth.max() - worth[biased.argmax()]
    held = np.zeros(2)
    for draw in range(n_draws):
        own = rng.normal(size=(10, 150))
        true = worth[:, None] + 5 * noise * own
        measured = biased[:, None] + 5 * noise * (0.6 * own + 0.8 * rng.normal(size=(10, 150)))
        found = compare(scores([measured]), scores([true]), seed=draw, replicates=200)
        (low, high), frame = found.tau.users, found.frame().iloc[0]
        held += [low[0, 0] <= truly <= high[0, 0], frame.regret_low <= lost <= frame.regret_high]
    assert (held >= 0.9 * n_draws).all()


@pytest.mark.validity
@pytest.mark.parametrize(("noise", "bias"), [(0.5, 0.5), (0.5, 2.0), (3.0, 0.5), (3.0, 2.0)])
def test_intervals_over_users_hold_the_rates_of_other_users(
    noise: float, bias: float, rng: np.random.Generator
) -> None:
    """What is held is the mean of the rates over samples of as many users."""
    worth = rng.normal(size=10)
    biased = worth + bias * rng.normal(size=10)
    found = []
    for draw in range(200):
        own = rng.normal(size=(10, 100))
        true = worth[:, None] + noise * own
        measured = biased[:, None] + noise * (0.6 * own + 0.8 * rng.normal(size=(10, 100)))
        replicates = 200 if draw < 100 else 0
        some = compare(scores([measured]), scores([true]), seed=draw, replicates=replicates)
        found.append(some.rates)
    expected = np.nanmean([rates.values[:, 0, 0] for rates in found], axis=0)
    assert_held(expected, [tuple(end[:, 0, 0] for end in r.users) for r in found[:100]])


@pytest.mark.validity
@pytest.mark.parametrize("n_systems", [10, 20])
@pytest.mark.parametrize("bias", [0.5, 2.0])
def test_intervals_over_users_and_systems_hold_what_others_would_have_given(
    n_systems: int, bias: float, rng: np.random.Generator
) -> None:
    """Systems are drawn from a population of them, with users."""

    def drawn(seed: int) -> Validity:
        worth = rng.normal(size=n_systems)
        biased = worth + bias * rng.normal(size=n_systems)
        true, measured = (
            level[:, None] + 2 * rng.normal(size=(n_systems, 100)) for level in (worth, biased)
        )
        replicates = 100 if seed < 100 else 0
        return compare(scores([measured]), scores([true]), seed=seed, replicates=replicates)

    found = [drawn(seed) for seed in range(300)]
    rates = [each.rates for each in found]
    expected = np.nanmean([rate.values[:, 0, 0] for rate in rates], axis=0)
    assert_held(expected, [tuple(end[:, 0, 0] for end in rate.both) for rate in rates[:100]])
    taus = [each.tau for each in found]
    expected = np.mean([tau.values[0] for tau in taus], axis=0)
    assert_held(expected, [tuple(end[0] for end in tau.both) for tau in taus[:100]])


def assert_held(expected: np.ndarray, limits: list[tuple[np.ndarray, ...]]) -> None:
    """Nine in ten of the intervals that are given hold what is expected."""
    low, high = np.array(limits).swapaxes(0, 1)
    given = ~np.isnan(low)
    held = ((low <= expected) & (expected <= high)).sum(axis=0)
    assert (held >= 0.9 * given.sum(axis=0)).all(), (held, given.sum(axis=0))
