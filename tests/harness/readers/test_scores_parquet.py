import numpy as np
import pytest

from analyses.shared.measure import Measure, Measures, Scores
from harness.readers.scores import scores_from_parquet, scores_to_parquet


@pytest.fixture
def scores() -> Scores:
    measures = Measures(Measure(f"m{n}", cutoff) for n in range(7) for cutoff in range(1, 12))
    users = np.array([f"u{n}" for n in range(60)])
    values = np.random.default_rng(7).random((77, 7, 60))
    return Scores(values, measures, tuple("abcdefg"), users)


def test_equal_scores_are_equal_bytes_whatever_memory_held_before(scores: Scores) -> None:
    written = set()
    for n in range(8):
        before = [np.full(1000 * n + 1, n) for _ in range(50)]
        del before
        written.add(scores_to_parquet(scores))
    assert len(written) == 1


def test_scores_are_read_back_as_they_were(scores: Scores) -> None:
    back = scores_from_parquet(scores_to_parquet(scores))
    assert back.measures == scores.measures
    assert (back.values == scores.values).all()


def test_what_is_reported_of_whole_lists_too_is_read_back(scores: Scores) -> None:
    every = [Measure("P", 5), Measure("P", 10), Measure("bpref")]
    measures = Measures(every, falling=["P"], reported=[every[2], every[0]], grid=every[:2])
    few = Scores(scores.values[:3], measures, scores.systems, scores.users)
    back = scores_from_parquet(scores_to_parquet(few)).measures
    assert (back, back.falling) == (measures, measures.falling)
    assert (back.reported, back.grid) == (measures.reported, measures.grid)
