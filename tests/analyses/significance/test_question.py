"""Standardised scores, and what to beware of in p-values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm, uniform

from analyses.shared.measure import Measure, Measures
from analyses.shared.scores import Scores
from analyses.shared.work import ScoresWork
from analyses.significance import question as question_module
from analyses.significance.paired_tests import sakai_test, sign_test, t_test, wilcoxon_test
from analyses.significance.permutation import exact_test, monte_carlo_test
from analyses.significance.question import (
    Correction,
    Question,
    Standard,
    Test,
    check_scales,
    correct,
    pair_tests,
    standardise,
    standardised,
)
from runs import InputError
from runs.shared.arrays import Floats
from tests.analyses.made import discriminate

UNSURE = discriminate(
    Scores(
        np.tile([0.0, 1.0], (2, 5, 4)) * [[[1.0]] * 5, [[0.5]] * 5],
        Measures([Measure("AP"), Measure("RR")]),
        tuple("abcde"),
        np.array([*"12345678"]),
    ),
    replicates=0,
)
"""Systems that nothing tells apart."""


def told(test: Test, n_users: int, draws: int = 100_000) -> list[str]:
    """Give what is said of the test, beside what is said of any."""
    found = replace(UNSURE, test=test, n_users=n_users, permutations=draws)
    return [sentence for sentence in found.cautions() if sentence not in UNSURE.cautions()]


@pytest.mark.parametrize(("n_users", "warned"), [(999, False), (1000, True)])
def test_rank_tests_are_warned_of_at_the_scale_of_users(n_users: int, warned: bool) -> None:
    found = " ".join(told("wilcoxon", n_users))
    assert ("Ihemelandu & Ekstrand 2023" in found) == warned


@pytest.mark.parametrize(("n_users", "warned"), [(199, True), (200, False)])
@pytest.mark.parametrize("test", ["t", "wilcoxon", "bootstrap"])
def test_approximations_are_warned_of_where_they_rest_on_few_users(
    test: Test, n_users: int, warned: bool
) -> None:
    assert bool(told(test, n_users)) == warned


@pytest.mark.parametrize(("test", "n_users"), [("exact", 50), ("sign", 50), ("t", 100_000)])
def test_tests_that_suit_the_number_of_users_have_no_caution(test: Test, n_users: int) -> None:
    assert told(test, n_users) == []


def test_the_advised_number_of_draws_is_enough() -> None:
    (sentence,) = told("monte-carlo", 50, 9)
    advised = int(sentence.split("at least ")[1].rstrip(".").replace(",", ""))
    assert told("monte-carlo", 50, advised) == []


def test_standards_are_distribution_functions_of_a_users_scores(rng: np.random.Generator) -> None:
    values = rng.random((2, 7, 5))
    means, spreads = values.mean(axis=1, keepdims=True), values.std(axis=1, ddof=1, keepdims=True)
    low = means - spreads * 0.5 / 0.15
    assert standardise(values, "normal") == pytest.approx(norm.cdf(values, means, spreads))
    expected = uniform.cdf(values, low, spreads / 0.15)
    assert standardise(values, "uniform") == pytest.approx(expected)
    ranks = values.argsort(axis=1).argsort(axis=1) + 1
    assert standardise(values, "empirical") == pytest.approx(ranks / 7)


def test_tied_systems_share_the_higher_place() -> None:
    values = np.array([[[0.2], [0.2], [0.1], [0.5]]])
    assert standardise(values, "empirical")[0, :, 0].tolist() == [0.75, 0.75, 0.25, 1.0]


@pytest.mark.parametrize("standard", ["normal", "uniform", "empirical"])
def test_a_user_whom_all_serve_alike_tells_no_systems_apart(standard: Standard) -> None:
    made = standardise(np.full((1, 3, 2), 0.3), standard)
    assert np.ptp(made) == 0


@pytest.mark.parametrize("standard", ["normal", "uniform", "empirical"])
def test_a_users_scale_does_not_matter(standard: Standard, rng: np.random.Generator) -> None:
    values = rng.random((1, 4, 6))
    scaled = values * np.arange(1, 7) + 3
    assert standardise(scaled, standard) == pytest.approx(standardise(values, standard))


def test_work_without_a_standard_stays_as_it_is() -> None:
    labels = Measures([Measure("P", 5)]), ("a", "b"), np.array(["u"])
    work = ScoresWork(Scores(np.array([[[1.0], [0.0]]]), *labels), seed=3)
    assert standardised(work, None) is work
    made = standardised(work, "empirical")
    assert (made.scores.values.ravel().tolist(), made.seed) == ([1.0, 0.5], 3)


# Which test is made, with how many draws


def test_by_default_pairs_are_tested_exactly_at_5_percent_without_a_correction() -> None:
    """As docs/methods/tests.md has it."""
    question = Question()
    assert (question.test, question.correction, question.alpha, question.permutations) == (
        *("exact", "none", 0.05, None),
    )


@pytest.mark.parametrize(
    ("test", "draws"),
    [
        ("exact", 100_000),
        ("monte-carlo", 100_000),
        ("bootstrap", 10_000),
        ("t", 0),
        ("wilcoxon", 0),
        ("sign", 0),
    ],
)
def test_draws_are_as_many_as_the_help_says(test: Test, draws: int) -> None:
    assert Question(test=test).draws == draws
    assert Question(test=test, permutations=99).draws == 99


@pytest.mark.parametrize(
    "settings", [{"permutations": 98}, {"alpha": 0.0}, {"alpha": 0.9e-9}, {"alpha": 1.0}]
)
def test_levels_are_between_0_and_1_and_99_draws_the_fewest(settings: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        Question(**settings)
    assert Question(permutations=99, alpha=1e-9).draws == 99


LABELS = Measures([Measure("P", 5), Measure("AP")]), ("a", "b", "c")


def work_of(
    values: np.ndarray, *, users: np.ndarray | None = None, scales: dict[Measure, int] | None = None
) -> ScoresWork:
    ids = np.arange(values.shape[2]).astype(np.str_) if users is None else users
    return ScoresWork(Scores(values, *LABELS, ids), seed=5, scales=scales or {})


@pytest.mark.parametrize(
    ("correction", "given", "draws"),
    [
        ("max-t", None, 10_000),
        ("max-t-sign-flip", None, 100_000),
        ("tukey", None, 5_000),
        ("max-t", 99, 99),
        ("tukey", 99, 99),
    ],
)
def test_joint_corrections_draw_as_often_as_the_help_says(
    correction: Correction, given: int | None, draws: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, int]] = []

    def test(scores: np.ndarray, **options: int) -> np.ndarray:
        asked.append(options)
        return scores[:, 0, :3]

    monkeypatch.setitem(question_module.JOINT_TESTS, correction, test)
    values = np.arange(24.0).reshape(2, 3, 4)
    users = np.array(["d", "b", "c", "a"])
    question = Question(correction=correction, permutations=given)
    found = correct(np.ones((2, 3)), work_of(values, users=users), question)
    assert asked == [{"permutations": draws, "seed": 5, "n_jobs": 1}]
    # Users are in the order of their ids.
    assert found is not None
    assert found.tolist() == values[:, 0, [3, 1, 2]].tolist()


def test_adjustments_are_those_of_their_names() -> None:
    p = np.array([[0.01, 0.02, 0.4]])
    nothing = work_of(np.zeros((2, 3, 1)))
    found = {
        name: correct(p, nothing, Question(correction=name))
        for name in ("bonferroni", "holm", "bh")
    }
    assert found["bonferroni"] == pytest.approx(np.array([[0.03, 0.06, 1.0]]))
    assert found["holm"] == pytest.approx(np.array([[0.03, 0.04, 0.4]]))
    assert found["bh"] == pytest.approx(np.array([[0.03, 0.03, 0.4]]))
    assert correct(p, nothing, Question()) is None


@pytest.fixture
def work(rng: np.random.Generator) -> ScoresWork:
    """A measure on a lattice of fifths, and one off every lattice; ids of users fall."""
    values = np.stack([rng.integers(0, 6, (3, 40)) / 5, rng.random((3, 40))])
    return work_of(values, users=np.array([f"u{number:02}" for number in range(40, 0, -1)]))


@pytest.mark.parametrize("test", ["t", "wilcoxon", "sign", "bootstrap", "monte-carlo"])
def test_pairs_that_are_asked_for_are_tested_for_every_measure(
    test: Test, work: ScoresWork
) -> None:
    steps: list[int] = []
    tests = pair_tests(
        work, Question(test=test, permutations=99), np.array([2, 0]), advance=steps.append
    )
    values = work.scores.values
    by_id = values[:, :, ::-1]
    by_test: dict[Test, Callable[[], Floats]] = {
        "t": lambda: t_test(values),
        "wilcoxon": lambda: wilcoxon_test(values),
        "sign": lambda: sign_test(values),
        "bootstrap": lambda: sakai_test(by_id, replicates=99, seed=5),
        "monte-carlo": lambda: monte_carlo_test(by_id, permutations=99, seed=5).p,
    }
    expected = by_test[test]()
    np.testing.assert_array_equal(tests.p, expected[:, [2, 0]])
    assert (tests.methods == test).all()
    assert tests.methods.shape == tests.p.shape == tests.required.shape == (2, 2)
    assert np.isnan(tests.required).all()
    assert sum(steps) == (99 if test == "monte-carlo" else 2)


def test_exact_tests_have_the_level_and_the_scale_of_their_measure(work: ScoresWork) -> None:
    steps: list[int] = []
    scaled = replace(work, scales={Measure("P", 5): 5})
    tests = pair_tests(scaled, Question(alpha=0.01), np.array([2, 0]), advance=steps.append)
    for number, scale in enumerate([5, None]):
        values = work.scores.values[number]
        expected = exact_test(values, scale=scale, alpha=0.01, pairs=np.array([2, 0]))
        np.testing.assert_array_equal(tests.p[number], expected.p)
        np.testing.assert_array_equal(tests.required[number], expected.required)
        assert tests.methods[number].tolist() == expected.methods.tolist()
    assert steps == [1, 1]


def test_pairs_without_an_exact_test_are_drawn() -> None:
    """Differences of one size off every lattice, in the second measure alone."""
    signs = np.random.default_rng(1).choice([-1.0, 1.0], 300)
    balanced = np.pi * np.tile([1.0, -1.0], 150)
    off = np.stack([np.pi * signs + 1e-7, balanced, np.zeros(300)])
    values = np.stack([np.tile([0.0, 1.0], 450).reshape(3, 300), off])
    question = Question(permutations=99)
    tests = pair_tests(work_of(values), question, np.arange(3), advance=lambda _: None)
    ids = np.argsort(np.arange(300).astype(np.str_), kind="stable")
    drawn = monte_carlo_test(values[1:, :, ids], permutations=99, seed=5)
    exact = exact_test(off)
    assert exact.methods.tolist() == ["monte-carlo", "monte-carlo", "equal-means"]
    np.testing.assert_array_equal(tests.p[1], [*drawn.p[0, :2], 1.0])
    # How many sums tie with 0 is not known where means are equal, either.
    np.testing.assert_array_equal(tests.mid_p[1], drawn.mid_p[0])
    assert 0.9 < tests.mid_p[1, 2] < 1
    assert tests.methods[1].tolist() == exact.methods.tolist()


@pytest.mark.parametrize(
    ("scale", "noise", "is_refused"),
    [(5, 0.0, False), (5, 1.9e-7, False), (5, 2.1e-7, True), (10, 0.0, False), (3, 0.0, True)],
)
def test_a_scale_makes_whole_numbers_but_for_a_millionth(
    scale: int, noise: float, is_refused: bool
) -> None:
    values = np.tile([0.2, 0.4 + noise], (2, 3, 1))
    scores = Scores(values, *LABELS, np.array(["u", "v"]))
    if is_refused:
        with pytest.raises(InputError, match=f"scores of P@5 are not multiples of 1/{scale}"):
            check_scales(scores, {Measure("P", 5): scale})
    else:
        check_scales(scores, {Measure("P", 5): scale})
    check_scales(scores, {})


def test_uniform_scores_end_at_0_and_1() -> None:
    """Of 20 systems the first is 4.25 deviations above the others."""
    values = np.zeros((1, 20, 1))
    values[0, 0] = 1.0
    found = standardise(values, "uniform")[0, :, 0]
    assert found[0] == 1.0
    assert found[1] == pytest.approx(0.5 - 0.15 / np.sqrt(20))
    assert standardise(-values, "uniform")[0, 0, 0] == 0.0


def test_standardised_work_keeps_jobs_and_unit() -> None:
    topics = Scores(
        np.array([[[1.0], [0.0]]]), Measures([Measure("P")]), ("a", "b"), np.array(["u"])
    )
    work = ScoresWork(replace(topics, unit="topic"), seed=3, n_jobs=2)
    made = standardised(work, "empirical")
    assert (made.n_jobs, made.unit) == (2, "topic")
    assert made.progress is work.progress
