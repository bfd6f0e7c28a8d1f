"""Ranks among sampled negatives."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom, hypergeom

from analyses.sampled.samples import (
    Negatives,
    RankSettings,
    SampleDesign,
    SampledRanks,
    first_of,
    mean_of_users,
    population_of,
    replacement,
    require_negatives,
    top_items,
    weighted_auc,
)
from analyses.shared.analysis import SettingError, StudyFacts
from analyses.shared.measure import Measure, Measures
from analyses.shared.sampling_loop import distinct_places, negatives_above
from qrels import FullRanks, qrels_from_columns
from qrels.ranks.full_ranks import CandidateRanks
from runs import InputError
from runs.shared.streams import random_uniforms

ONE = FullRanks.of(np.random.default_rng(1).integers(1, 301, 400), n_candidates=300)


@pytest.mark.parametrize("replace", [True, False])
def test_numbers_above_are_the_quantiles_of_their_distribution(replace: bool) -> None:
    rng = np.random.default_rng(2)
    n, m = rng.integers(60, 4000, 500), rng.integers(1, 60, 500)
    above, uniforms = rng.integers(0, n + 1), rng.random(500)
    expected = (
        binom.ppf(uniforms, m, above / n) if replace else hypergeom.ppf(uniforms, n, above, m)
    )
    assert (negatives_above(uniforms, m, above, n, replace) == expected).all()


@pytest.mark.parametrize("replace", [True, False])
def test_several_items_have_the_joint_moments_of_a_multivariate_draw(replace: bool) -> None:
    ranks = FullRanks.of(np.tile([6, 20], 4000), n_candidates=42, user=np.repeat(range(4000), 2))
    above = SampleDesign((10,), replace).draw(ranks, seed=1).above.reshape(-1, 2)
    shares, n, m = np.array([5, 18]) / 40, 40, 10
    factor = m if replace else m * (n - m) / (n - 1)
    covariance = factor * np.array(
        [[shares[0] * (1 - shares[0]), shares[0] * (1 - shares[1])],
         [shares[0] * (1 - shares[1]), shares[1] * (1 - shares[1])]]
    )  # fmt: skip
    np.testing.assert_allclose(above.mean(axis=0), m * shares, rtol=0.03)
    np.testing.assert_allclose(np.cov(above.T), covariance, rtol=0.1)


def test_a_sample_does_not_depend_on_the_other_users() -> None:
    some = FullRanks.of(ONE.rank[:7], n_candidates=300)
    for design in (SampleDesign((20,)), SampleDesign.growing(5, 40)):
        every = design.draw(ONE, seed=1, repeat=3)
        assert (design.draw(some, seed=1, repeat=3).rank == every.rank[:7]).all()


def test_adaptive_samples_end_where_something_is_above_and_have_the_expected_size() -> None:
    ranks = FullRanks.of(np.full(20_000, 30), n_candidates=300)
    sample = SampleDesign.growing(10, 80).draw(ranks, seed=1)
    sizes, below = sample.n_negatives + 1, 1 - 29 / 299
    assert set(sizes) == {10, 20, 40, 80}
    assert (sample.above[sizes < 80] > 0).all()
    expected = 10 + sum(size * below ** (size - 1) for size in (10, 20, 40))
    assert sizes.mean() == pytest.approx(expected, rel=0.02)
    # Below the first size, what was drawn is binomial of the negatives drawn last.
    second = sample.above[sizes == 20]
    chances = binom.pmf(np.arange(1, 11), 10, 29 / 299)
    assert second.mean() == pytest.approx(
        (np.arange(1, 11) * chances).sum() / chances.sum(), rel=0.05
    )


@pytest.mark.parametrize(
    ("rank", "m", "sentence"),
    [
        ([1, 4], 2, "got 2 negatives and rank 4 in row 1"),
        ([1], 9, "irrelevant candidates, .* got 9 negatives"),
        ([1], 0, "got 0 negatives"),
    ],
)
def test_impossible_samples_are_refused(rank: list[int], m: int, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        SampledRanks.of(rank, n_negatives=m, n_candidates=9)


# Negatives that all systems rank

N_USERS, N_ITEMS = 200, 30
JUDGED = qrels_from_columns(
    np.repeat(np.arange(N_USERS), 2),
    np.tile([3, 8], N_USERS),
    np.ones(2 * N_USERS, np.int32),
    n_users=N_USERS,
    relevance_level=1,
)


JUDGED_ONCE = qrels_from_columns(
    np.arange(N_USERS),
    np.full(N_USERS, 3),
    np.ones(N_USERS, np.int32),
    n_users=N_USERS,
    relevance_level=1,
)


def _ranks(seed: int, *, known: int = 5) -> CandidateRanks:
    """Rank in another random order for every user; the last items are no candidates."""
    orders = np.random.default_rng(seed).permuted(
        np.tile(np.arange(1, N_ITEMS - known + 1), (N_USERS, 1)), axis=1
    )
    ranks = np.zeros((N_USERS, N_ITEMS), dtype=np.uint16)
    ranks[:, : N_ITEMS - known] = orders
    return CandidateRanks(np.arange(N_USERS), ranks)


RANKS = _ranks(1)
RELEVANT = RANKS.relevant_ranks(JUDGED)


def _items(drawn: Negatives, m: int, *, n_users: int = N_USERS) -> NDArray[np.intp]:
    rows = (np.flatnonzero(drawn.relevant.user == user) for user in range(n_users))
    return np.array([drawn.draw(user, own, m)[0] for user, own in enumerate(rows)])


def _of_system(ranks: CandidateRanks) -> FullRanks:
    return ranks.relevant_ranks(JUDGED)


def test_systems_rank_the_same_items() -> None:
    drawn = Negatives(RANKS, RELEVANT, repeats=2, seed=1)
    other = _ranks(2)
    shared = Negatives(other, _of_system(other), repeats=2, seed=1)
    assert (_items(drawn, 4) == _items(shared, 4)).all()
    (first, _), items = drawn.rank(RANKS, RELEVANT, [4]), _items(drawn, 4)[0, 0]
    above = (RANKS.rank[0, items] < RELEVANT.rank[0]).sum()
    assert first.rank[0] == above + RELEVANT.order[0]


@pytest.mark.parametrize("replace", [True, False])
def test_equal_chances_have_the_law_of_samples_from_full_ranks(replace: bool) -> None:
    drawn = Negatives(RANKS, RELEVANT, repeats=200, seed=1, replace=replace)
    above = np.array([sample.above for sample in drawn.rank(RANKS, RELEVANT, [6])])
    n, chances = RELEVANT.n_irrelevant, RELEVANT.above / RELEVANT.n_irrelevant
    variances = 6 * chances * (1 - chances) * (1 if replace else (n - 6) / (n - 1))
    assert (np.abs(above.mean(axis=0) - 6 * chances) <= 5 * np.sqrt(variances / 200)).all()
    assert above.var(axis=0).sum() == pytest.approx(variances.sum(), rel=0.03)


def test_without_replacement_all_candidates_can_be_drawn_and_none_twice() -> None:
    drawn = Negatives(RANKS, RELEVANT, repeats=3, seed=1, replace=False)
    assert (np.sort(_items(drawn, 23)) == np.setdiff1d(np.arange(25), [3, 8])).all()
    every = drawn.rank(RANKS, RELEVANT, [23])
    assert (every[2].rank == RELEVANT.rank).all()


def test_adaptive_samples_grow_while_nothing_is_above() -> None:
    full = RANKS.relevant_ranks(JUDGED_ONCE)
    (sample,) = Negatives(RANKS, full, repeats=1, seed=1).rank(
        RANKS, full, SampleDesign.growing(3, 12).sizes
    )
    assert set(sample.n_negatives) == {2, 5, 11}
    assert (sample.above[sample.n_negatives < 11] > 0).all()
    n, mean = full.n_irrelevant, sample.n_negatives.mean()
    below = 1 - full.above / n
    assert mean == pytest.approx((2 + 3 * below**2 + 6 * below**5).mean(), rel=0.1)


def test_what_adaptive_samples_had_below_is_kept() -> None:
    full = RANKS.relevant_ranks(JUDGED_ONCE)
    samples = Negatives(RANKS, full, repeats=20, seed=1).rank(RANKS, full, [2, 5])
    added = np.concatenate([sample.above[sample.n_negatives == 5] for sample in samples])
    assert set(added) == {0, 1, 2, 3}


def test_known_chances_repair_what_negatives_of_a_likeness_do() -> None:
    """The lower an item is ranked, the more often it is drawn."""
    weights = RANKS.rank.astype(np.float64)
    drawn = Negatives(
        RANKS, RELEVANT, repeats=60, seed=2, weigh=lambda user, items: weights[user, items]
    )
    samples = drawn.rank(RANKS, RELEVANT, [10])
    found = np.array([weighted_auc(sample).mean() for sample in samples])
    exact = (1 - RELEVANT.above / RELEVANT.n_irrelevant).mean()
    assert abs(found.mean() - exact) < 4 * found.std(ddof=1) / np.sqrt(60)
    plain = np.mean([1 - sample.above.mean() / 10 for sample in samples])
    assert plain > exact + 0.1


def test_the_top_of_a_system_keeps_its_own_first_ranks() -> None:
    top = top_items(RANKS, RELEVANT, m=7)
    (hard,) = Negatives(RANKS, RELEVANT, repeats=1, seed=0, fixed=top).rank(RANKS, RELEVANT, [7])
    assert (hard.above == np.minimum(RELEVANT.above, 7)).all()


def test_relevant_items_that_are_no_candidates_are_last() -> None:
    ranks = _ranks(1, known=24)
    full = _of_system(ranks)
    assert full.item is not None
    cold = full.item == 8
    assert set(full.rank[cold]) == set(full.n_candidates) == {7}
    (sampled,) = Negatives(ranks, full, repeats=1, seed=1).rank(ranks, full, [4])
    assert set(sampled.above[cold]) == {4}


# Samples and designs, by hand


def test_all_negatives_may_be_sampled_and_all_may_be_above() -> None:
    """Of 9 candidates, 8 are irrelevant: ranks go to 9, of 8 negatives."""
    sample = SampledRanks.of([9, 1], n_negatives=8, n_candidates=9)
    assert sample.above.tolist() == [8, 0]
    assert sample.replace
    assert sample.inverse_mass_above is None
    assert SampledRanks.of([2], n_negatives=1, n_candidates=9).above.tolist() == [1]


def test_each_user_may_have_a_number_of_negatives() -> None:
    sample = SampledRanks.of([1, 2], n_negatives=[3, 4], n_candidates=[9, 7], replace=False)
    assert sample.n_negatives.tolist() == [3, 4]
    assert sample.n_irrelevant.tolist() == [8, 6]
    assert not sample.replace


def test_weighted_auc_is_that_of_the_estimated_ranks() -> None:
    """Of 10 irrelevant items: (1 - 3 / 2 / 10 + 1 - 8 / 2 / 10) / 2, and 1 - 1 / 2 / 10."""
    sample = SampledRanks(
        np.array([2, 3, 2]),
        np.array([12, 12, 11]),
        np.array([4, 4, 7]),
        n_negatives=np.array([2, 2, 2]),
        inverse_mass_above=np.array([3.0, 8.0, 1.0]),
    )
    assert weighted_auc(sample).tolist() == pytest.approx([(0.85 + 0.6) / 2, 0.95])
    with pytest.raises(InputError, match="HT needs the probabilities"):
        weighted_auc(SampledRanks.of([1], n_negatives=2, n_candidates=9))


@pytest.mark.parametrize(("m", "is_refused"), [(0, True), (1, False), (8, False), (9, True)])
def test_negatives_are_from_1_to_the_irrelevant_candidates(m: int, is_refused: bool) -> None:
    n_irrelevant = np.array([20, 8])
    if is_refused:
        with pytest.raises(InputError, match=rf"`m` must be .* \(8 for some user\), got {m}"):
            require_negatives(m, n_irrelevant)
    else:
        require_negatives(m, n_irrelevant)
    require_negatives(5, np.array([], dtype=np.int64))


@pytest.mark.parametrize(
    ("n0", "n_max", "sizes"),
    [(10, 10, (9,)), (10, 20, (9, 19)), (3, 24, (2, 5, 11, 23)), (1, 4, (0, 1, 3))],
)
def test_adaptive_samples_double(n0: int, n_max: int, sizes: tuple[int, ...]) -> None:
    design = SampleDesign.growing(n0, n_max)
    assert (design.sizes, design.adaptive, design.replace) == (sizes, True, True)
    assert design.drawing == "uniform"


@pytest.mark.parametrize(("n0", "n_max"), [(10, 5), (10, 30), (10, 25), (10, 60), (10, 0)])
def test_the_largest_sample_is_the_first_times_a_power_of_2(n0: int, n_max: int) -> None:
    with pytest.raises(InputError, match=f"`n0`, {n0}, times a power of 2, got {n_max}"):
        SampleDesign.growing(n0, n_max)


def test_adaptive_samples_are_of_one_item_and_fit_the_candidates() -> None:
    several = FullRanks.of([1, 2], n_candidates=30, user=[0, 0])
    with pytest.raises(InputError, match="one relevant item each"):
        SampleDesign.growing(5, 20).check(several)
    SampleDesign.growing(5, 20).check(FullRanks.of([1], n_candidates=20))
    with pytest.raises(InputError, match="`n_max - 1` must be"):
        SampleDesign.growing(5, 20).check(FullRanks.of([1], n_candidates=19))
    with pytest.raises(InputError, match="`negatives` must be"):
        SampleDesign((19,)).check(FullRanks.of([1], n_candidates=19))


def test_samples_of_another_repeat_or_seed_are_others() -> None:
    design = SampleDesign((20,))
    first = design.draw(ONE, seed=1)
    assert (first.rank == design.draw(ONE, seed=1, repeat=0).rank).all()
    assert (first.rank != design.draw(ONE, seed=1, repeat=1).rank).any()
    assert (first.rank != design.draw(ONE, seed=2).rank).any()
    assert (first.n_negatives == 20).all()


@pytest.mark.parametrize("replace", [True, False])
def test_numbers_above_are_those_of_the_written_uniforms(replace: bool) -> None:
    """The first item of a user has the stream "sampled ranks", repeat and place."""
    ranks = FullRanks.of([30, 5, 200], n_candidates=300, user=[8, 2, 5])
    sample = SampleDesign((20,), replace).draw(ranks, seed=7, repeat=3)
    uniforms = random_uniforms(np.array([8, 2, 5]), 7, "sampled ranks", 3, 1)
    above = np.array([29, 4, 199])
    expected = (
        binom.ppf(uniforms, 20, above / 299) if replace else hypergeom.ppf(uniforms, 299, above, 20)
    )
    assert sample.above.tolist() == np.asarray(expected).tolist()


def test_the_ends_of_uniforms_give_the_fewest_and_the_most() -> None:
    """Of 6 negatives among 10, of which 7 are above: 3 at least without replacement, and 6."""
    m, above, others = (np.array([number] * 2) for number in (6, 7, 10))
    ends = np.array([0.0, 1.0])
    assert negatives_above(ends, m, above, others, True).tolist() == [0, 6]
    assert negatives_above(ends, m, above, others, False).tolist() == [3, 6]
    few = np.array([2, 2])
    assert negatives_above(ends, m, few, others, False).tolist() == [0, 2]


@pytest.mark.parametrize("replace", [True, False])
def test_where_nothing_or_all_is_above_nothing_is_drawn(replace: bool) -> None:
    m, above, others = np.array([4, 4, 0, 4]), np.array([0, 9, 5, 9]), np.array([9, 9, 9, 9])
    uniforms = np.array([0.99, 0.01, 0.99, 0.99])
    assert negatives_above(uniforms, m, above, others, replace).tolist() == [0, 4, 0, 4]


@pytest.mark.parametrize("replace", [True, False])
def test_numbers_of_many_negatives_are_quantiles_too(replace: bool) -> None:
    """Chances of the first numbers are below what float64 holds."""
    uniforms = np.array([1e-9, 0.3, 0.5, 0.999999])
    n, m, above = (np.full(4, number) for number in (200_000, 50_000, 100_000))
    expected = (
        binom.ppf(uniforms, m, above / n) if replace else hypergeom.ppf(uniforms, n, above, m)
    )
    found = negatives_above(uniforms, m, above, n, replace)
    assert found.tolist() == np.asarray(expected).tolist()


def test_distinct_places_are_those_of_fisher_and_yates() -> None:
    """Of 4 places, .6 of them is the third, then .5 of the three others, in their new order."""
    uniforms = np.array([[0.6, 0.5, 0.0, 0.9], [0.0, 0.0, 0.0, 0.0]])
    first, second = distinct_places(uniforms, 4)
    assert first.tolist() == [2, 0, 1, 3]
    # The next row goes on from there.
    assert sorted(second.tolist()) == [0, 1, 2, 3]
    assert distinct_places(np.zeros((1, 2)), 5).tolist() == [[0, 1]]


def test_systems_must_have_the_same_users_and_candidates() -> None:
    one = FullRanks.of([1, 2], n_candidates=9)
    assert first_of({"a": one, "b": FullRanks.of([2, 1], n_candidates=9)}) is one
    with pytest.raises(InputError, match="'a' and 'b' have different users"):
        first_of({"a": one, "b": FullRanks.of([1, 2, 3], n_candidates=9)})
    with pytest.raises(InputError, match="'a' and 'b' have different numbers of candidates"):
        first_of({"a": one, "b": FullRanks.of([1, 2], n_candidates=8)})
    with pytest.raises(InputError, match="at least one system"):
        first_of({})
    with pytest.raises(InputError, match="the systems have no ranks"):
        first_of({"a": FullRanks.of([], n_candidates=9)})


def test_a_population_is_named_by_its_items_users_and_candidates() -> None:
    """Two items of a user among 10 candidates, and one of another among 21."""
    ranks = FullRanks.of([1, 2, 3], n_candidates=[10, 10, 21], user=[0, 0, 1])
    assert mean_of_users(np.array([10, 10, 21]), ranks) == 15.5
    assert population_of(ranks) == ("3 relevant items of 2 users, among a mean of 15.5 candidates")
    assert (replacement(True), replacement(False)) == ("with replacement", "without replacement")


def test_hard_negatives_are_the_first_irrelevant_candidates() -> None:
    """What is no candidate, and what is relevant, is none of them."""
    ranks = CandidateRanks(
        np.array([0, 1]), np.array([[2, 1, 0, 3, 4], [4, 3, 2, 1, 0]], dtype=np.uint16)
    )
    judged = qrels_from_columns(
        np.array([0, 1]), np.array([1, 3]), np.ones(2, np.int32), n_users=2, relevance_level=1
    )
    relevant = ranks.relevant_ranks(judged)
    assert top_items(ranks, relevant, m=3).tolist() == [[0, 3, 4], [2, 1, 0]]
    with pytest.raises(InputError, match="got 4"):
        top_items(ranks, relevant, m=4)


class Asked(RankSettings):
    """Settings that sample twenty negatives."""

    def samples(self, ranks: FullRanks) -> object:
        """Refuse fewer irrelevant candidates."""
        require_negatives(20, ranks.n_irrelevant)
        return None


@pytest.mark.parametrize(
    ("has_training", "n_candidates", "key"),
    [(True, 21, None), (True, 20, "negatives"), (False, 21, "studies")],
)
def test_samples_are_checked_before_the_work(
    has_training: bool, n_candidates: int, key: str | None
) -> None:
    facts = StudyFacts(
        ("a",),
        Measures([Measure("AP")]),
        has_training,
        best_ranks=lambda: FullRanks.of([1], n_candidates=n_candidates),
    )
    if key is None:
        Asked().check(facts)
        RankSettings().check(facts)
    else:
        with pytest.raises(SettingError) as error:
            Asked().check(facts)
        assert error.value.key == key
