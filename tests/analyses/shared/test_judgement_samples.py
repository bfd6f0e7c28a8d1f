from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from analyses.shared.analysis import SettingError, StudyFacts
from analyses.shared.judgement_samples import (
    CountedSettings,
    LossSettings,
    Mode,
    Sampling,
    percent_grid,
    sample_judgements,
)
from analyses.shared.measure import Measure, Measures
from qrels import Qrels, qrels_from_columns
from runs.shared.streams import random_words


def judgements(n_judged: list[int], *, seed: int = 0) -> Qrels:
    """Users with so many judgements, of grades -1 (in the pool, not judged) to 5."""
    grades = np.random.default_rng(seed).integers(-1, 6, sum(n_judged))
    items = np.concatenate([np.arange(n) for n in n_judged])
    users = np.repeat(np.arange(len(n_judged)), n_judged)
    return qrels_from_columns(users, items, grades, n_users=len(n_judged), relevance_level=4)


users = st.lists(st.integers(0, 40), min_size=1, max_size=8).filter(any)
levels = st.floats(0.01, 1.0)


@given(st.integers(1, 60), st.floats(0.05, 1.0), st.integers(0, 99))
def test_a_sample_keeps_the_share_it_says(n_judgements: int, level: float, seed: int) -> None:
    kept = sample_judgements(n_judgements, level=level, n_samples=4, seed=seed)
    assert (kept.sum(axis=0) == max(1, round(level * n_judgements))).all()


@pytest.mark.parametrize(
    ("n_judgements", "level", "billionths", "n_kept"),
    [(10, 0.3, 300_000_000, 3), (11, 0.9, 900_000_000, 10), (1, 0.2, 200_000_000, 1)],
)
def test_a_sample_keeps_the_judgements_with_the_lowest_numbers(
    n_judgements: int, level: float, billionths: int, n_kept: int
) -> None:
    """Each judgement has 32 bits, of the stream of seed, level in billionths and sample."""
    kept = sample_judgements(n_judgements, level=level, n_samples=3, seed=1)
    for sample, marks in enumerate(kept.T):
        words = random_words(6, 1, "sparsity", billionths, sample)
        numbers = [part for word in words.tolist() for part in (word % 2**32, word >> 32)]
        order = sorted(range(n_judgements), key=lambda place: numbers[place])
        assert np.flatnonzero(marks).tolist() == sorted(order[:n_kept])


def test_of_equal_numbers_the_first_judgements_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The numbers are 7, 1, 7, 7, 1 and 9."""
    words = np.array([7 + (1 << 32), 7 + (7 << 32), 1 + (9 << 32)], dtype=np.uint64)
    monkeypatch.setattr(
        "analyses.shared.judgement_samples.random_words", lambda n_words, *_: words[:n_words]
    )
    kept = sample_judgements(6, level=4 / 6, n_samples=1, seed=1)
    assert np.flatnonzero(kept[:, 0]).tolist() == [0, 1, 2, 4]


def test_samples_of_users_keep_the_lowest_numbers_of_each() -> None:
    """Users have two bits of a word, and places within a user three; the rest is drawn."""
    qrels = judgements([5, 0, 7])
    kept = Sampling("per-user").draw(qrels, level=0.6, n_samples=2, seed=4)
    for sample, marks in enumerate(kept.T):
        words = random_words(12, 4, "sparsity", "per-user", 600_000_000, sample).tolist()
        drawn = [(word % 2**62) >> 3 for word in words]
        for places in (range(5), range(5, 12)):
            order = sorted(places, key=lambda place: drawn[place])
            n_kept = round(0.6 * len(places))
            assert [place for place in places if marks[place]] == sorted(order[:n_kept])


@given(users, levels, st.integers(0, 99))
def test_every_user_keeps_the_share_and_at_least_one(
    n_judged: list[int], level: float, seed: int
) -> None:
    sampling = Sampling("per-user")
    kept = sampling.draw(judgements(n_judged), level=level, n_samples=3, seed=seed)
    wanted = [min(n, max(1, round(level * n))) for n in n_judged]
    for sample in kept.T:
        assert judgements(n_judged).count_by_user(sample).tolist() == wanted


@given(users, levels, st.integers(0, 3), st.integers(0, 12))
def test_every_stratum_keeps_its_share_and_minimum(
    n_judged: list[int], level: float, least_relevant: int, least_nonrelevant: int
) -> None:
    qrels = judgements(n_judged)
    sampling = Sampling("stratified", least_relevant, least_nonrelevant)
    (sample,) = sampling.draw(qrels, level=level, n_samples=1, seed=1).T
    minima = {"relevant": least_relevant, "nonrelevant": least_nonrelevant}
    for stratum, least in minima.items():
        inside = getattr(qrels, stratum)
        before, after = qrels.count_by_user(inside), qrels.count_by_user(inside & sample)
        wanted = [min(n, max(least, round(level * n))) for n in before.tolist()]
        assert after.tolist() == wanted


@pytest.mark.parametrize("mode", ["all", "per-user", "stratified"])
def test_at_full_level_everything_is_kept(mode: Mode) -> None:
    qrels = judgements([5, 0, 30])
    assert Sampling(mode).draw(qrels, level=1.0, n_samples=2, seed=1).all()


@pytest.mark.parametrize("mode", ["all", "per-user", "stratified"])
def test_within_a_stratum_every_judgement_is_as_likely(mode: Mode) -> None:
    items = np.arange(20)
    qrels = qrels_from_columns(items // 10, items % 10, items * 0 + 5, n_users=2, relevance_level=4)
    kept = Sampling(mode).draw(qrels, level=0.4, n_samples=2000, seed=3)
    np.testing.assert_allclose(kept.mean(axis=1), 0.4, atol=5 * np.sqrt(0.24 / 2000))


@pytest.mark.parametrize("mode", ["all", "per-user", "stratified"])
def test_sample_k_does_not_depend_on_how_many_there_are(mode: Mode) -> None:
    def draw(n_samples: int) -> NDArray[np.bool_]:
        return Sampling(mode).draw(judgements([9, 30]), level=0.3, n_samples=n_samples, seed=1)

    np.testing.assert_array_equal(draw(5)[:, :2], draw(2))


def test_by_default_levels_are_twentieths_with_50_samples_and_200_replicates() -> None:
    """As docs/guides/study-file.md has it; for strata see Buckley & Voorhees (2004)."""
    settings = LossSettings()
    assert settings.levels == tuple(number / 100 for number in range(100, 0, -5))
    assert (settings.samples, settings.replicates) == (50, 200)
    assert percent_grid(30, 10, -10) == (0.3, 0.2)
    assert (Sampling().mode, Sampling().least_relevant, Sampling().least_nonrelevant) == (
        *("all", 1, 10),
    )


@pytest.mark.parametrize(
    ("settings", "is_accepted"),
    [
        ({"samples": 1}, True),
        ({"samples": 0}, False),
        ({"replicates": 0}, True),
        ({"replicates": -1}, False),
    ],
)
def test_there_is_a_sample_and_perhaps_no_replicate(
    settings: dict[str, int], is_accepted: bool
) -> None:
    if is_accepted:
        assert LossSettings(**settings)
    else:
        with pytest.raises(ValueError, match=next(iter(settings))):
            LossSettings(**settings)


def test_a_caption_names_the_least_numbers() -> None:
    assert (
        Sampling("stratified", 2, 7).in_words().endswith("of each user is drawn, at least 2 and 7")
    )
    assert Sampling("per-user").in_words("topic").endswith("of each topic is drawn, at least 1")


class Counted(CountedSettings):
    """Settings that count ratings."""

    section = "counted"


@pytest.mark.parametrize("has_training", [True, False])
@pytest.mark.parametrize("counted_in", [None, "train", "test", "all"])
def test_ratings_are_counted_where_there_are_some(has_training: bool, counted_in: str) -> None:
    facts = StudyFacts(("a",), Measures([Measure("P")]), has_training)
    settings = Counted.model_validate({"counted_in": counted_in})
    if not has_training and counted_in in ("train", "all"):
        with pytest.raises(SettingError, match=r"\[analyses.counted\] must be 'test', got"):
            settings.check(facts)
    else:
        settings.check(facts)


def test_popularity_is_counted_in_the_first_part_by_default() -> None:
    counts = {"train": np.array([3, 1]), "test": np.array([0, 2])}
    work: Any = SimpleNamespace(popularity_counts=counts)
    where, ratings = Counted().item_counts(work)
    assert (where, ratings.tolist()) == ("train", [3, 1])
    where, ratings = Counted(counted_in="test").item_counts(work)
    assert (where, ratings.tolist()) == ("test", [0, 2])
