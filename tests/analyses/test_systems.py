import re

import numpy as np
import pytest
from scipy.stats import t

from analyses.shared.measure import Measure, Measures, Scores
from analyses.shared.sentences import letter_groups, letters_of
from analyses.shared.work import ScoresWork
from analyses.significance.corrections import max_t_test
from analyses.systems import Settings, Systems, systems
from runs import InputError

MEASURES = Measures([Measure("P", 5), Measure("loss", 5)], falling={"loss"})


def compared(levels: list[float], *, n_users: int = 60, seed: int = 3) -> Systems:
    """Systems whose users score around levels; the second measure is the first, negated."""
    noise = np.random.default_rng(seed).normal(scale=0.1, size=(len(levels), n_users))
    values = np.array(levels)[:, None] + noise
    names = tuple("abcdefgh"[: len(levels)])
    users = np.array([f"u{n:03}" for n in range(n_users)])
    scores = Scores(np.stack([values, -values]), MEASURES, names, users)
    return systems(ScoresWork(scores, seed=7), Settings(permutations=499))


def test_ranks_and_letters_come_from_one_simultaneous_test() -> None:
    found = compared([0.5, 0.1, 0.49, 0.3])
    better = found.better()[0]
    low, high = found.rank_intervals()
    for system in range(4):
        assert low[0, system] == 1 + sum(better[other, system] for other in range(4))
        assert high[0, system] == 4 - sum(better[system, other] for other in range(4))
    letters = found.letters(0)
    for a in range(4):
        for b in range(4):
            differ = better[a, b] or better[b, a]
            assert bool(set(letters[a]) & set(letters[b])) == (not differ)


def test_p_values_are_those_of_max_t() -> None:
    noise = np.random.default_rng(1).normal(size=(2, 3, 40))
    users = np.array([f"u{n:02}" for n in range(40)])
    scores = Scores(noise, MEASURES, ("a", "b", "c"), users)
    found = systems(ScoresWork(scores, seed=5), Settings(permutations=299))
    expected = max_t_test(noise, permutations=299, seed=5)
    assert np.array_equal(found.p_adjusted, expected)


def test_less_is_better_for_falling_measures() -> None:
    found = compared([0.5, 0.1, 0.3])
    assert np.array_equal(found.order(0), found.order(1))
    assert np.array_equal(found.better()[0], found.better()[1])


def test_intervals_of_means_are_students() -> None:
    found = compared([0.5, 0.1])
    reach = (found.high - found.low) / 2
    frame = found.frames()["systems"].query("metric == 'P'").set_index("system")
    assert frame.loc["a", "mean"] == pytest.approx(found.means[0, 0])
    noise = np.random.default_rng(3).normal(scale=0.1, size=(2, 60))
    expected = t.ppf(0.975, 59) * noise.std(axis=1, ddof=1) / np.sqrt(60)
    assert reach[0] == pytest.approx(expected)


def test_groups_are_the_largest_without_a_difference() -> None:
    differs = np.zeros((5, 5), dtype=bool)
    for a, b in [(0, 3), (0, 4), (1, 4)]:
        differs[a, b] = differs[b, a] = True
    assert [sorted(g) for g in letter_groups(differs)] == [[0, 1, 2], [1, 2, 3], [2, 3, 4]]


def test_letters_of_many_groups_hold_in_polynomial_time() -> None:
    """Of ten triples, whose members differ from each other alone, there are 59,049 groups."""
    triples = np.arange(30) // 3
    differs = (triples[:, None] == triples) & ~np.eye(30, dtype=bool)
    letters = letters_of(differs, np.arange(30))
    groups = [{*re.findall(r"[a-zA-Z]\d*", text)} for text in letters]
    share_one = np.array([[bool(own & other) for other in groups] for own in groups])
    np.testing.assert_array_equal(share_one, ~differs)


def test_the_table_of_one_measure_has_its_numbers_in_columns() -> None:
    found = compared([0.5, 0.1])
    assert found.tabulate(measure="P@5").headings == ["system", "mean", "95 %", "letters", "ranks"]
    with pytest.raises(InputError, match="P@5, loss@5"):
        found.tabulate(measure="P@7")


def test_one_system_is_not_compared() -> None:
    scores = Scores(np.zeros((2, 1, 3)), MEASURES, ("a",), np.array(["1", "2", "3"]))
    with pytest.raises(InputError, match="at least two systems and one user, got 1 and"):
        systems(ScoresWork(scores), Settings())
