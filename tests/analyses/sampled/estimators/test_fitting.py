"""What fitted estimators answer, for every kind of sample."""

from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from analyses.intervals.resampling import resampled_users
from analyses.sampled.estimators import (
    Cells,
    Estimator,
    adaptive_mle,
    bv,
    cls,
    ht_plugin,
    ls,
    mes,
    mle,
    mn,
    rank_estimate,
    uncorrected,
)
from analyses.sampled.expectation.metrics import rank_metric
from analyses.sampled.expectation.rank_pmf import moments
from analyses.sampled.samples import SampleDesign, SampledRanks
from qrels import FullRanks
from runs import InputError
from tests.analyses.sampled.estimators.rankings import (
    Floats,
    draw,
    draw_adaptively,
    learned_of,
    nodes_and_table,
    power_law,
    sample_of,
)
from tests.analyses.sampled.references import expectation, moments_of_one_item

ALL = [
    uncorrected(),
    rank_estimate(),
    rank_estimate(mode="round"),
    rank_estimate(mode="linear"),
    cls(),
    cls(nonnegative=True),
    bv(1.0),
    bv(0.1),
    bv(0.01, prior="mle"),
    bv(0.01, prior="mes"),
    mn(prior="uniform"),
    mn(),
    mle(),
    adaptive_mle(),
    mes(),
]
CUTOFFS = range(1, 51)


def long_tail(*, n: int, m: int, replace: bool = True, n_users: int = 2000) -> SampledRanks:
    rng = np.random.default_rng(7)
    ranks = rng.choice(n, n_users, p=power_law(n, offset=20)) + 1
    if replace:
        return draw(ranks, n=n, m=m, rng=rng)
    above = rng.hypergeometric(ranks - 1, n - ranks, m)
    return SampledRanks.of(above + 1, n_negatives=m, n_candidates=n, replace=False)


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("estimator", ALL, ids=str)
def test_the_grid_gives_what_all_ranks_give(estimator: Estimator, replace: bool) -> None:
    sample = long_tail(n=2500, m=60, replace=replace)
    names = [f"Recall@{cutoff}" for cutoff in CUTOFFS] + ["nDCG@10", "AP@10", "AP", "nDCG"]
    # Many values fit AUC as well as each other under the constraint of CLS.
    names += [] if isinstance(estimator, cls) else ["AUC"]
    grid, full = (estimator.fit(sample, path=path).estimates(names) for path in ("grid", "full"))
    np.testing.assert_allclose(grid, full, rtol=1e-4)


def test_where_nearly_all_are_sampled_once_all_ranks_are_taken() -> None:
    once, often = (
        nodes_and_table(2000, 1900, replace=replace, path="grid")[0] for replace in (False, True)
    )
    assert len(often) < len(once) == 2000


def several_items(*, sizes: NDArray[np.int64], n_irrelevant: int) -> tuple[SampledRanks, Floats]:
    """All irrelevant candidates as the sample, for users with so many relevant items; and AP."""
    rng = np.random.default_rng(2)
    above = [np.sort(rng.integers(0, n_irrelevant + 1, size)) for size in sizes]
    order = np.concatenate([np.arange(1, size + 1) for size in sizes])
    rank = np.concatenate(above) + order
    n_relevant, users = np.repeat(sizes, sizes), np.repeat(np.arange(len(sizes)), sizes)
    m = np.full(len(rank), n_irrelevant)
    sample = SampledRanks(rank, n_irrelevant + n_relevant, users, n_negatives=m, replace=False)
    precisions = np.bincount(users, weights=order / rank / n_relevant).astype(np.float64)
    return sample, precisions


EXACT_OF_ALL = [one for one in ALL if not isinstance(one, cls | mes)]


@pytest.mark.parametrize("estimator", EXACT_OF_ALL, ids=str)
def test_a_sample_of_all_candidates_needs_no_correction(estimator: Estimator) -> None:
    sample, precisions = several_items(sizes=np.array([1, 2, 5, 3, 1, 4]), n_irrelevant=12)
    found = estimator.fit(sample, path="full").estimate("AP")
    np.testing.assert_allclose(found, precisions.mean(), atol=1e-9)


@pytest.mark.parametrize(
    "name", ["Recall@3", "P@3", "nDCG@3", "RR", "AUC", "AP(divisor=reachable)@3"]
)
def test_every_metric_of_several_items_is_right_from_all_candidates(name: str) -> None:
    sample, _ = several_items(sizes=np.array([1, 2, 5, 3, 1, 4]), n_irrelevant=12)
    terms = rank_metric(name).summands(
        sample.rank, n=sample.n_candidates, order=sample.order, n_relevant=sample.n_relevant
    )
    found = bv(0.1).fit(sample, path="full").estimate(name)
    np.testing.assert_allclose(found, terms.sum() / 6, atol=1e-9)


def test_values_are_corrected_item_by_item() -> None:
    rng = np.random.default_rng(4)
    above = np.sort(rng.integers(0, 21, (30, 2)), axis=1)
    sample = SampledRanks(
        (above + np.array([1, 2])).ravel(),
        np.full(60, 302),
        np.repeat(np.arange(30), 2),
        n_negatives=np.full(60, 20),
    )
    fitted = bv(0.1).fit(sample)
    first, second = (fitted.corrected("Recall@10", order=order) for order in (1, 2))
    # Values for place 1 are those of users with one relevant item, and halve with two.
    expected = (first[above[:, 0]] / 2 + second[above[:, 1]]).mean()
    np.testing.assert_allclose(fitted.estimate("Recall@10"), expected, atol=1e-12)


def test_rr_learns_from_first_items_alone() -> None:
    sample, _ = several_items(sizes=np.array([2, 3, 1, 4]), n_irrelevant=12)
    first = sample.order == 1
    alone = SampledRanks.of(sample.rank[first], n_negatives=12, n_candidates=13, replace=False)
    found = mn().fit(sample, path="full").estimate("RR")
    expected = mn().fit(alone, path="full").estimate("RR")
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_the_estimate_is_the_mean_of_corrected_values() -> None:
    sample = long_tail(n=500, m=20)
    fitted = mn().fit(sample)
    expected = fitted.corrected("nDCG@10")[sample.above].mean()
    np.testing.assert_allclose(fitted.estimate("nDCG@10"), expected, rtol=1e-12)


def test_the_posterior_mean_of_a_rank_is_known_without_replacement() -> None:
    n_irrelevant, m = 30, 6
    sample = sample_of([1] * (m + 1), n=n_irrelevant + 1, replace=False)
    # AUC is 1 - a / N.
    means = n_irrelevant * (1 - bv(1.0).fit(sample, path="full").corrected("AUC"))
    expected = (np.arange(m + 1) + 1) * (n_irrelevant + 2) / (m + 2) - 1
    np.testing.assert_allclose(means, expected, rtol=1e-10)


def of_two_lengths() -> SampledRanks:
    rng = np.random.default_rng(9)
    lengths = np.repeat([1500, 3000], 1000)
    ranks = (lengths * rng.random(2000) ** 3).astype(np.int64) + 1
    above = rng.binomial(40, (ranks - 1) / (lengths - 1))
    return SampledRanks.of(above + 1, n_negatives=40, n_candidates=lengths)


def test_the_mean_number_of_candidates_is_corrected_for() -> None:
    sample = of_two_lengths()
    as_many = SampledRanks.of(sample.rank, n_negatives=40, n_candidates=2250)
    by_mean, by_number = (bv(0.1).fit(one).estimate("Recall@10") for one in (sample, as_many))
    assert by_mean == by_number


def ht_of_one_negative(item: int) -> SampledRanks:
    """Sample one item of four with q = .1, .2, .3, .4; the first, third and fourth are above."""
    above = item != 1
    inverse = 1 / [0.1, 0.2, 0.3, 0.4][item] if above else 0.0
    one = SampledRanks.of([1 + above], n_negatives=1, n_candidates=5)
    return replace(one, inverse_mass_above=np.array([inverse]))


def test_horvitz_thompson_is_right_on_average() -> None:
    aucs = np.array(
        [ht_plugin().fit(ht_of_one_negative(item)).estimate("AUC")[0] for item in range(4)]
    )
    # AUC = (5 - R) / 4 gives the estimated rank R back.
    ranks, chances = 5 - 4 * aucs, np.array([0.1, 0.2, 0.3, 0.4])
    mean = chances @ ranks
    variance = chances @ (ranks - mean) ** 2
    np.testing.assert_allclose([mean, variance], [4, float(Fraction(41, 6))], atol=1e-12)


@pytest.mark.parametrize("estimator", ALL, ids=str)
def test_samples_of_a_proposal_are_refused(estimator: Estimator) -> None:
    with pytest.raises(InputError, match="drawn from a proposal: use ht-plugin"):
        estimator.fit(ht_of_one_negative(0))


def test_horvitz_thompson_needs_a_proposal() -> None:
    with pytest.raises(InputError, match="inverse_mass_above"):
        ht_plugin().fit(sample_of([1, 1], n=5))


def adaptive() -> SampledRanks:
    rng = np.random.default_rng(1)
    ranks = rng.choice(1000, 500, p=power_law(1000, offset=5)) + 1
    return draw_adaptively(ranks, n=1000, n0=25, n_max=200, rng=rng)


@pytest.mark.parametrize("estimator", [uncorrected(), bv(0.1), cls(), mn(), mes(), ls()], ids=str)
def test_adaptive_samples_are_refused(estimator: Estimator) -> None:
    with pytest.raises(InputError, match="24 to 199 negatives: use adaptive-mle"):
        estimator.fit(adaptive())


def test_adaptive_mle_is_mle_with_50_iterations() -> None:
    found = adaptive_mle().fit(adaptive()).curve("Recall", CUTOFFS)
    np.testing.assert_array_equal(found, mle(iters=50).fit(adaptive()).curve("Recall", CUTOFFS))


@pytest.mark.parametrize("estimator", [bv(0.1), bv(0.1, prior="mle"), mn(), mle(), mes()], ids=str)
def test_repeats_are_fitted_each_for_itself(estimator: Estimator) -> None:
    samples = [sample_of(counts, n=200) for counts in ([9, 5, 3, 3], [2, 6, 6, 6], [0, 0, 10, 10])]
    together = estimator.fit_repeats(samples).estimate("Recall@5")
    apart = [estimator.fit(sample).estimate("Recall@5")[0] for sample in samples]
    np.testing.assert_allclose(together, apart, rtol=1e-9)


def test_a_pooled_prior_is_the_mean_of_the_repeats_own() -> None:
    samples = [sample_of(counts, n=50) for counts in ([9, 5, 3, 3], [2, 6, 6, 6])]
    own = [learned_of(mle().fit(sample)) for sample in samples]
    pooled = learned_of(bv(0.1, prior="pooled:mle").fit_repeats(samples))
    np.testing.assert_allclose(pooled, np.mean(own, axis=0), atol=1e-12)


def test_a_pooled_prior_needs_repeats() -> None:
    with pytest.raises(InputError, match="pooled:mle@100 takes repeated samples"):
        bv(0.1, prior="pooled:mle").fit(sample_of([1, 1], n=5)).estimate("AP")


def test_a_replicate_repeats_the_whole_fit_on_redrawn_users() -> None:
    sample = long_tail(n=500, m=20, n_users=60)
    times = resampled_users(0, 3, n_users=60, seed=5).astype(np.int64)
    expected = [
        mn()
        .fit(SampledRanks.of(np.repeat(sample.rank, one), n_negatives=20, n_candidates=500))
        .estimate("AP@10")[0]
        for one in times
    ]
    found = mn().fit(sample).bootstrap(3, seed=5).estimate("AP@10")
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_users_are_redrawn_with_all_their_items() -> None:
    sample, _ = several_items(sizes=np.array([2, 3, 1, 4]), n_irrelevant=12)
    drawn = Cells.of([sample]).resampled(2, seed=5)
    times = resampled_users(0, 2, n_users=4, seed=5)
    np.testing.assert_array_equal(drawn.counts.sum(axis=0), times @ [2, 3, 1, 4])


@pytest.mark.slow
def test_moments_are_those_of_simulated_samples() -> None:
    rng = np.random.default_rng(6)
    ranks = rng.integers(1, 300, 50)
    fitted = bv(0.1).fit(draw(ranks, n=300, m=20, rng=rng))
    values = fitted.corrected("Recall@10")
    above = rng.binomial(20, (ranks - 1) / 299, size=(20_000, 50))
    simulated = values[above].mean(axis=1)
    mean, variance = moments(FullRanks.of(ranks, n_candidates=300), values[:, None], replace=True)
    assert abs(simulated.mean() - mean) < 4 * np.sqrt(variance / 20_000)
    np.testing.assert_allclose(simulated.var(), variance[0], rtol=0.05)


def users_with_several_items() -> FullRanks:
    """Thirty users with one to four relevant items among 100 to 390 candidates."""
    rng = np.random.default_rng(8)
    ranks = [rng.choice(100, size, replace=False) + 1 for size in rng.integers(1, 5, 30)]
    users = np.repeat(np.arange(30), [len(some) for some in ranks])
    return FullRanks.of(np.concatenate(ranks), n_candidates=100 + 10 * users, user=users)


@cache
def samples_of_several_items(*, replace: bool, repeats: int) -> list[SampledRanks]:
    ranks = users_with_several_items()
    return [
        SampleDesign((30,), replace).draw(ranks, seed=2, repeat=repeat) for repeat in range(repeats)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("metric", ["AP", "RR"])
def test_means_of_several_items_are_those_of_simulated_samples(metric: str, replace: bool) -> None:
    ranks, repeats = users_with_several_items(), 2000
    samples = samples_of_several_items(replace=replace, repeats=repeats)
    fits = bv(0.1).fit_repeats(samples)
    drawn = fits.estimate(metric)
    error = drawn.std() / np.sqrt(repeats)
    assert abs(drawn.mean() - expectation(fits, metric, ranks)) < 4 * error


def test_ranks_like_those_of_samples_are_of_items_at_their_own_places() -> None:
    """Second and third items of users are further down than first ones."""
    sampled = mle().fit(samples_of_several_items(replace=True, repeats=1)[0]).cells
    like, _ = sampled.refilled(sampled.most_likely(100), (rank_metric("AP"),))
    for order in (1, 2, 3):
        seen, expected = (
            np.average(of.cells[own, 3], weights=of.counts[own, 0])
            for of in (sampled, like)
            for own in [of.cells[:, 1] == order]
        )
        assert expected == pytest.approx(seen, rel=0.15)


@pytest.mark.parametrize("metric", ["AP", "Recall@10"])
def test_variances_are_those_of_the_corrected_values(metric: str) -> None:
    fitted = bv(0.1).fit(sample_of([1] * 21, n=300))
    values, ranks = fitted.corrected(metric), np.array([3, 70, 70, 290])
    means, variances = moments_of_one_item(values, ranks, n=300, replace=True)
    full = FullRanks.of(ranks, n_candidates=300)
    mean, variance = moments(full, values[:, np.newaxis], replace=True)
    np.testing.assert_allclose(variance[0], variances.mean() / 4, rtol=1e-9)
    np.testing.assert_allclose(mean[0], means.mean(), rtol=1e-9)
    np.testing.assert_allclose(expectation(fitted, metric, full), means.mean(), rtol=1e-9)


def test_cutoffs_below_the_head_of_the_grid_are_refused() -> None:
    with pytest.raises(InputError, match='at most 128, got 200; fit with path="full"'):
        bv(0.1).fit(long_tail(n=5000, m=50)).estimate("Recall@200")


def test_estimates_of_a_distribution_have_no_corrected_values() -> None:
    with pytest.raises(InputError, match="does not correct values one by one"):
        mle().fit(sample_of([1, 1], n=5)).corrected("AP")


def test_samples_of_both_kinds_are_not_fitted_together() -> None:
    samples = [long_tail(n=500, m=20, replace=replace) for replace in (True, False)]
    with pytest.raises(InputError, match="drawn alike"):
        mle().fit_repeats(samples)


def test_repeats_are_of_the_same_users() -> None:
    samples = [sample_of([5, 5], n=9), sample_of([5, 4], n=9)]
    with pytest.raises(InputError, match="of the same users, and drawn alike"):
        bv(0.1).fit_repeats(samples)


def test_horvitz_thompson_redraws_users() -> None:
    above = np.arange(6) % 3
    mass = 9 * above.astype(np.float64)
    plain = SampledRanks.of(above + 1, n_negatives=3, n_candidates=50)
    sample = replace(plain, inverse_mass_above=mass)
    times = resampled_users(0, 4, n_users=6, seed=5)
    found = ht_plugin().fit(sample).bootstrap(4, seed=5).estimate("AP")
    np.testing.assert_allclose(found, times @ (1 / (1 + above * 3.0)) / 6, rtol=1e-12)
    both = ht_plugin().fit_repeats([sample, sample]).estimate("AP")
    np.testing.assert_allclose(both, ht_plugin().fit(sample).estimate("AP").repeat(2), rtol=1e-12)
