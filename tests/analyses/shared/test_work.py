"""What an analysis may use, what is refused, and the truth."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from analyses.shared.measure import Measure, Measures
from analyses.shared.scores import Scores
from analyses.shared.work import OtherWorld, RanksWork, ScoresWork, Truth, WorkInMemory
from runs import InputError
from runs.shared.progress import SilentProgress

SCORES = Scores(np.ones((1, 1, 1)), Measures([Measure("P", 10)]), ("a",), np.array(["1"]))
NOTHING = ScoresWork(Scores(np.zeros((0, 0, 0)), Measures(()), (), np.array([])))
RANKS = RanksWork(full_ranks={})


def test_a_reference_must_have_been_measured() -> None:
    with pytest.raises(InputError, match="no scores of nDCG@10; it has P@10"):
        Truth(SCORES, (Measure("nDCG", 10),), "of a world")
    with pytest.raises(InputError, match="a truth needs a reference"):
        Truth(SCORES, (), "of a world")


def test_a_truth_says_nothing_more_by_default() -> None:
    truth = Truth(SCORES, (Measure("P", 10),), "of a world")
    assert not truth.condensed
    assert truth.notes == ()


@pytest.mark.parametrize("what", ["scores", "scales", "qrels", "popularity_counts"])
def test_what_is_not_known_is_refused_in_a_sentence(what: str) -> None:
    with pytest.raises(InputError, match=f"needs .*; {RANKS.name} has none"):
        getattr(RANKS, what)


@pytest.mark.parametrize("known", [RANKS, NOTHING])
def test_nothing_is_scored_anew_without_judgements(known: WorkInMemory) -> None:
    with pytest.raises(InputError, match="needs judgements"):
        known.rescorer(1)


def test_without_a_word_work_has_seed_0_and_one_worker() -> None:
    for work in (RANKS, NOTHING):
        assert (work.seed, work.n_jobs) == (0, 1)
        assert isinstance(work.progress, SilentProgress)
    assert RanksWork(full_ranks={}, seed=3, n_jobs=2).seed == 3


def test_scores_of_topics_make_work_of_topics() -> None:
    topics = Scores(
        np.ones((1, 1, 1)), Measures([Measure("P")]), ("a",), np.array(["1"]), unit="topic"
    )
    assert ScoresWork(topics).unit == "topic"
    assert ScoresWork(SCORES).unit == RANKS.unit == "user"


def test_the_truth_is_what_is_known() -> None:
    truth = Truth(SCORES, (Measure("P", 10),), "of a world")
    assert ScoresWork(SCORES, known_truth=truth).truth is truth
    with pytest.raises(InputError, match="needs a truth"):
        _ = NOTHING.truth


def test_other_worlds_multiply_exposure_and_liking() -> None:
    assert OtherWorld(1.0, 1.0, 3).bias == "both"


class Bar:
    """Counts steps."""

    def __init__(self) -> None:
        self.done = 0

    def advance(self, steps: int = 1) -> None:
        self.done += steps


def test_every_step_is_shown_when_it_is_done() -> None:
    bar, asked, done = Bar(), [], []

    @contextmanager
    def progress(label: str, total: int) -> Iterator[Bar]:
        asked.append((label, total))
        yield bar

    work = RanksWork(full_ranks={}, progress=progress)  # type: ignore[arg-type]
    for item in work.steps("Drawing", 3, iter("abc")):
        done.append((item, bar.done))
    assert asked == [("Drawing", 3)]
    assert done == [("a", 0), ("b", 1), ("c", 2)]
    assert bar.done == 3


def test_families_are_those_of_the_scores() -> None:
    values = np.random.default_rng(1).normal(size=(1, 3, 50))
    values[0, 1] = values[0, 0] + 0.01 * values[0, 1]
    scores = Scores(values, Measures([Measure("P")]), ("a", "b", "c"), np.arange(50).astype(str))
    of = ScoresWork(scores).families.family_numbers
    assert (of[0] == of[1], of[0] == of[2]) == (True, False)
