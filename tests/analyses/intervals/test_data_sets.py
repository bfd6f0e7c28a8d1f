"""Orders over data sets: by hand, by Demšar's example, and by scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats

from analyses.intervals.data_sets import DataSetRanks
from analyses.intervals.resampling import resampled_users
from runs import InputError, InputWarning

DEMSAR = """
.763 .768 .771 .798  .599 .591 .590 .569  .954 .971 .968 .967  .628 .661 .654 .657
.882 .888 .886 .898  .936 .931 .916 .931  .661 .668 .609 .685  .583 .583 .563 .625
.775 .838 .866 .875  1 1 1 1              .940 .962 .965 .962  .619 .666 .614 .669
.972 .981 .9751 .975  .957 .978 .946 .970
"""
"""Table 6 of Demšar (2006): AUC of four classifiers on 14 data sets.

It prints .975 twice, and ranks them 2 and 3.
"""


def ranks_of(scores: object) -> DataSetRanks:
    values = np.array(scores, dtype=float)
    n_data_sets, n_names = values.shape
    data_sets, names = (tuple(map(str, range(n))) for n in (n_data_sets, n_names))
    return DataSetRanks("P", data_sets, names, values)


def some_scores(rng: np.random.Generator, shape: tuple[int, int], *, ties: bool) -> np.ndarray:
    found = rng.normal(size=shape) + np.arange(shape[1])
    return found.round() if ties else found


def test_the_example_of_demsar_is_reproduced() -> None:
    ranks = ranks_of(np.array(DEMSAR.split(), dtype=float).reshape(14, 4))
    assert ranks.mean_ranks.round(3).tolist() == [3.143, 2.0, 2.893, 1.964]
    assert round(ranks.critical_difference, 2) == 1.25


def test_ties_share_their_mean_rank() -> None:
    assert ranks_of([[3, 1, 1, 0], [1, 1, 1, 2]]).ranks.tolist() == [[1, 2.5, 2.5, 4], [3, 3, 3, 1]]


def test_scores_that_differ_by_rounding_alone_tie() -> None:
    assert ranks_of([[0.1 + 0.2, 0.3], [1, 0]]).ranks.tolist() == [[1.5, 1.5], [1, 2]]


@pytest.mark.parametrize("ties", [False, True])
def test_the_tests_are_those_of_scipy(rng: np.random.Generator, ties: bool) -> None:
    scores = some_scores(rng, (9, 5), ties=ties)
    assert ranks_of(scores).friedman_p_value == stats.friedmanchisquare(*scores.T).pvalue


def test_two_differ_whose_mean_ranks_are_further_apart_than_the_critical_difference() -> None:
    ranks = ranks_of(np.tile([3.0, 2.0, 1.0], (6, 1)))
    # CD = 3.314 sqrt(3 x 4 / (12 x 6)) = 1.35.
    assert ranks.differs.tolist() == [[0, 0, 1], [0, 0, 0], [1, 0, 0]]


@pytest.mark.parametrize("n_data_sets", [5, 6])
def test_two_names_differ_by_the_sign_test(n_data_sets: int) -> None:
    ranks = ranks_of(np.tile([3.0, 2.0], (n_data_sets, 1)))
    assert ranks.friedman_p_value == 2 * 0.5**n_data_sets
    assert ranks.critical_difference < 1
    assert ranks.differs.any() == (n_data_sets == 6)
    tied = ranks_of(np.ones((n_data_sets, 2)))
    assert np.isnan(tied.friedman_p_value)
    assert not tied.differs.any()


def test_none_differ_unless_the_test_of_friedman_is_significant() -> None:
    # The first leads four data sets of six, where the last is last; the others take turns.
    turns = [[0, *np.roll(range(1, 7), turn), 7] for turn in range(4)]
    orders = [*turns, [3, 4, 5, 7, 0, 6, 1, 2], [2, 3, 4, 5, 6, 1, 0, 7]]
    ranks = ranks_of(-np.argsort(orders, axis=1))
    assert np.ptp(ranks.mean_ranks) > ranks.critical_difference
    assert ranks.friedman_p_value > 0.05
    assert not ranks.differs.any()


def test_no_difference_is_found_where_all_tie() -> None:
    ranks = ranks_of(np.ones((5, 3)))
    assert not ranks.differs.any()
    assert np.isnan(ranks.friedman_p_value)
    assert np.isnan(ranks.taus).all()
    assert ranks.strengths == pytest.approx(1 / 3)


@pytest.mark.parametrize("ties", [False, True])
def test_strengths_have_the_highest_likelihood(rng: np.random.Generator, ties: bool) -> None:
    ranks = ranks_of(some_scores(rng, (7, 4), ties=ties))

    def loss(logs: np.ndarray) -> float:
        found = (np.logaddexp(0, logs) - logs / 2).sum()
        for row in ranks.ranks:
            found += sum(np.logaddexp.reduce(logs[row >= row[i]]) - logs[i] for i in range(4))
        return float(found)

    best = np.exp(optimize.minimize(loss, np.zeros(4), tol=1e-12).x)
    assert ranks.strengths == pytest.approx(best / best.sum(), rel=1e-4)


def test_who_always_comes_first_is_strongest_and_not_infinitely_so() -> None:
    strengths = ranks_of(np.tile([1.0, 3.0, 2.0], (50, 1))).strengths
    assert 0 < strengths[0] < strengths[2] < strengths[1] < 1


def test_strengths_that_are_not_found_are_left_out_with_a_warning(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analyses.intervals.data_sets.MOST_STEPS", 3)
    ranks = ranks_of(some_scores(rng, (7, 4), ties=False))
    with pytest.warns(InputWarning, match="still change after 3 steps"):
        strengths = ranks.strengths
    assert np.isnan(strengths).all()
    with pytest.warns(InputWarning, match="still change after 3 steps"):
        low, high = ranks.strength_limits
    assert np.isnan([low, high]).all()


def test_intervals_of_strengths_hold_those_of_all_data_sets(rng: np.random.Generator) -> None:
    """Orders are drawn from the model: the largest of log strengths plus Gumbel noise is first."""
    held = []
    for _ in range(60):
        logs = rng.normal(size=4)
        ranks = ranks_of(logs + rng.gumbel(size=(15, 4)))
        (low, high), truly = ranks.strength_limits, np.exp(logs) / np.exp(logs).sum()
        held += [*((low <= truly) & (truly <= high))]
    assert 0.9 < np.mean(held) < 0.99
    few = ranks_of(rng.normal(size=(4, 4)))
    assert np.isnan(few.strength_limits).all()


def test_taus_are_with_the_mean_ranks_of_the_other_data_sets(rng: np.random.Generator) -> None:
    scores = some_scores(rng, (5, 6), ties=True)
    ranks = ranks_of(scores)
    for number, tau in enumerate(ranks.taus):
        others = np.delete(ranks.ranks, number, axis=0).mean(axis=0).round(9)
        assert tau == pytest.approx(stats.kendalltau(-others, scores[number]).statistic)


def test_intervals_of_many_data_sets_are_as_wide_as_students(rng: np.random.Generator) -> None:
    ranks = ranks_of(some_scores(rng, (40, 5), ties=False))
    low, high = ranks.rank_limits
    first, last = ranks.place_limits
    expected = stats.t.interval(0.95, 39, ranks.mean_ranks, stats.sem(ranks.ranks))
    assert np.abs(np.array([low, high]) - expected).max() < 0.05
    places = stats.rankdata(ranks.mean_ranks)
    assert ((first <= places) & (places <= last)).all()


def test_what_data_sets_agree_on_has_one_place_and_no_interval() -> None:
    low, high = ranks_of([[1, 2, 3], [2, 1, 3]] * 2).rank_limits
    first, last = ranks_of([[1, 2, 3], [2, 1, 3]] * 2).place_limits
    assert (first[2], last[2]) == (1, 1)
    assert np.isnan([low[2], high[2]]).all()
    assert (low[:2] < high[:2]).all()


@pytest.mark.parametrize(
    ("scores", "finding"),
    [
        ([[1, 2, 3]], "at least two data sets, and two that are ranked, got 1 and 3"),
        ([[1], [2]], "at least two data sets, and two that are ranked, got 2 and 1"),
        ([[1, np.nan], [1, 2]], "a score in every data set: P lacks some"),
    ],
)
def test_what_has_no_mean_ranks_is_refused(scores: object, finding: str) -> None:
    with pytest.raises(InputError, match=finding):
        ranks_of(scores)


@pytest.mark.parametrize("n_data_sets", [2, 3])
def test_few_data_sets_have_no_intervals(rng: np.random.Generator, n_data_sets: int) -> None:
    ranks = ranks_of(rng.normal(size=(n_data_sets, 7)))
    assert np.isnan(ranks.rank_limits).all()
    assert np.isnan(ranks.place_limits).all()


def test_scores_must_fit_data_sets_and_names() -> None:
    with pytest.raises(ValueError, match="do not fit 2 data sets and 3 names"):
        DataSetRanks("P", ("x", "y"), ("a", "b", "c"), np.zeros((3, 2)))


@pytest.mark.validity
@pytest.mark.parametrize("n_data_sets", [4, 8, 20])
def test_intervals_of_mean_ranks_hold(rng: np.random.Generator, n_data_sets: int) -> None:
    quality = np.linspace(1.5, 0, 7)
    true = stats.rankdata(-(quality + rng.normal(size=(100_000, 7))), axis=1).mean(axis=0)
    held = []
    for _ in range(300):
        low, high = ranks_of(quality + rng.normal(size=(n_data_sets, 7))).rank_limits
        held.append((low <= true) & (true <= high))
    assert 0.88 < np.mean(held) < 0.98


def test_intervals_of_few_data_sets_are_as_wide_as_students_of_resampled_ranks() -> None:
    """Of four data sets, how often each counts is moved from once by sqrt(4 / 3) 3.18 / 1.96."""
    ranks = ranks_of([[3, 2, 1, 0], [2, 3, 1, 0], [0, 3, 2, 1], [3, 1, 2, 0]])
    low, high = ranks.rank_limits
    first, last = ranks.place_limits
    counts = resampled_users(0, 1000, n_users=4, seed=0)
    wider = np.sqrt(4 / 3) * stats.t.ppf(0.975, 3) / stats.norm.ppf(0.975)
    replicates = (1 + wider * (counts - 1)) @ ranks.ranks / 4
    expected = np.clip(np.quantile(replicates, [0.025, 0.975], axis=0), 1, 4)
    np.testing.assert_allclose([low, high], expected)
    assert low.min() == 1
    places = np.quantile(stats.rankdata(replicates.round(9), axis=1), [0.025, 0.975], axis=0)
    assert first.tolist() == np.floor(places[0]).tolist()
    assert last.tolist() == np.ceil(places[1]).tolist()


def test_strengths_of_five_data_sets_have_intervals_that_end_at_1() -> None:
    ranks = ranks_of([[3, 2, 1], [3, 2, 1], [3, 1, 2], [2, 3, 1], [3, 2, 1]])
    low, high = ranks.strength_limits
    assert (low < ranks.strengths).all()
    assert (ranks.strengths < high).all()
    assert high[0] == 1


def test_the_critical_difference_is_that_of_nemenyi() -> None:
    """Of 5 names and 10 data sets with q = 3.8577."""
    ranks = ranks_of(np.arange(50.0).reshape(10, 5))
    assert ranks.critical_difference == pytest.approx(3.8577 * np.sqrt(30 / 120), abs=1e-3)


def test_limits_of_places_that_are_shared_are_whole_places() -> None:
    """The first and the last tie in all data sets: they share 1.5 or 2.5, so 1 to 3 are theirs."""
    ranks = ranks_of([[0, 0, 0], [0, 2, 0], [0, 0, 0], [2, 0, 2], [1, 2, 1]])
    first, last = ranks.place_limits
    assert (first.tolist(), last.tolist()) == ([1, 1, 1], [3, 3, 3])
