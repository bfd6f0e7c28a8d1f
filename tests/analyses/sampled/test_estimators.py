"""Estimators, against verified values, exact fractions and dense algebra."""

import numpy as np
import pytest
from scipy.stats import binom, hypergeom

from analyses.sampled.estimators import find_estimator
from analyses.sampled.metrics import rank_metric
from analyses.sampled.rank_distribution import sampled_rank_pmf
from analyses.sampled.samples import SampleDesign, SampledRanks, weighted_auc
from qrels import FullRanks
from runs import InputError
from tests.analyses.sampled.rankings import Floats, fit, sample_of

FIVE = sample_of([5, 3, 2], n=5)
"""Shares .5, .3 and .2 of the users, n = 5, m = 2."""


@pytest.mark.parametrize(
    ("name", "metric", "values"),
    [
        ("bv(gamma=1)", "Recall@1", [8 / 15, 0, 0]),
        ("bv(gamma=0.1)", "Recall@1", [2591 / 3255, -69 / 155, 37 / 1085]),
        ("bv(gamma=0.01)", "Recall@1", [211841 / 242205, -759 / 1205, 6347 / 80735]),
        ("bv(gamma=0.1)", "AP", [178657 / 195300, 1297 / 9300, 41017 / 195300]),
        ("cls", "Recall@1", [128 / 177, 0, 0]),
        ("mn(prior=uniform)", "Recall@1", [581 / 925, -23 / 185, -11 / 925]),
        ("rank-estimate", "Recall@1", [1, 0, 0]),
        ("rank-estimate", "AP", [1, 1 / 3, 1 / 5]),
        ("uncorrected", "AP", [1, 1 / 2, 1 / 3]),
    ],
)
def test_corrected_values_are_exact_fractions(name: str, metric: str, values: list[float]) -> None:
    found = fit(name, FIVE).corrected([metric])[:, 0]
    np.testing.assert_allclose(found, values, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("name", "m", "n", "values"),
    [
        ("bv(gamma=1)", 99, 10_000, [0.095212389, 0.0041886414, 0.0001291006]),
        ("bv(gamma=0.1)", 99, 10_000, [0.23308691, -0.14791712, -0.019706118]),
        ("bv(gamma=0.01)", 99, 10_000, [0.40092131, -0.59819046, 0.27162092]),
        ("bv(gamma=0.001)", 99, 10_000, [0.56067292, -1.3529053, 1.481127]),
        ("cls", 99, 10_000, [0.18853933, 0, 0]),
        ("bv(gamma=0.1)", 100, 3541, [0.56540931, -0.27072528, -0.084714949]),
        ("cls", 100, 3541, [0.48763849, 0, 0]),
    ],
)
def test_corrected_values_of_a_hundred_negatives_are_those_verified(
    name: str, m: int, n: int, values: list[float]
) -> None:
    sample = SampledRanks.of([1], n_negatives=m, n_candidates=n)
    found = fit(name, sample).corrected(["Recall@10"])[:3, 0]
    np.testing.assert_allclose(found, values, rtol=1e-6, atol=1e-10)


def test_the_printed_table_3_follows_from_its_rank_estimates() -> None:
    """Krichene & Rendle: CLS has one value, by which the share of first ranks is multiplied."""
    sample = SampledRanks.of([1], n_negatives=100, n_candidates=3541)
    (recall, ndcg), *_ = fit("cls", sample).corrected(["Recall@10", "nDCG@10"])
    shares = np.array([17.46, 17.26, 18.67])
    np.testing.assert_allclose(recall * shares, [8.52, 8.42, 9.10], atol=0.02)
    np.testing.assert_allclose(ndcg * shares, [3.99, 3.94, 4.27], atol=0.01)


def test_em_and_the_most_entropic_distribution_are_those_verified() -> None:
    first = [4 / 15, 37 / 150, 16 / 75, 1 / 6, 8 / 75]
    many = [0.24890818443, 0.31499783498, 0.26155741050, 0.13625893442, 0.03827763567]
    mes = [0.25337969917, 0.30841645943, 0.25124506556, 0.13697830803, 0.04998046780]
    for name, expected in (("mle(iters=1)", first), ("mle", many), ("mes", mes)):
        masses = fit(name, FIVE).masses
        np.testing.assert_allclose(masses[:, 0], expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("replace", [True, False])
def test_the_kernel_is_that_of_scipy(replace: bool) -> None:
    r, t = np.arange(1, 41)[:, None], np.arange(11)
    own = binom.pmf(t, 10, (r - 1) / 39) if replace else hypergeom.pmf(t, 39, r - 1, 10)
    found = sampled_rank_pmf(r[:, 0], n=40, m=10, replace=replace)
    np.testing.assert_allclose(found, own, atol=1e-11)


def _samples(n: int, *, replace: bool = True, several: bool = False) -> list[SampledRanks]:
    rng = np.random.default_rng(5)
    shares = (np.arange(1.0, n - 9) + 20) ** -0.95
    ranks = rng.choice(n - 10, 300, p=shares / shares.sum()) + 1
    user = rng.integers(0, 90, 300) if several else np.arange(300)
    _, kept = np.unique(user * (n + 1) + ranks, return_index=True)
    full = FullRanks.of(ranks[kept], n_candidates=n, user=user[kept])
    return [SampleDesign((60,), replace).draw(full, seed=1, repeat=one) for one in range(3)]


METRICS = ("Recall@10", "nDCG@10", "AP", "RR", "AUC")
CLOSE_CUTOFFS = ("Recall@198", "Recall@199", "Recall@200")


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("several", [True, False])
def test_the_grid_is_as_good_as_all_ranks(replace: bool, several: bool) -> None:
    samples = _samples(2000, replace=replace, several=several)
    for name in ("bv(gamma=0.1)", "mn", "mle", "mes", "bv(gamma=0.01,prior=mle)"):
        grid, full = find_estimator(name).fit(samples), fit(name, samples)
        for metrics in (METRICS, CLOSE_CUTOFFS, ("Recall@30", "Recall@31")):
            np.testing.assert_allclose(grid.estimates(metrics), full.estimates(metrics), rtol=1e-4)


def test_one_item_estimates_are_plain_sums() -> None:
    """As in dense algebra with numpy alone."""
    samples, n, m = _samples(300), 300, 60
    kernel = sampled_rank_pmf(np.arange(1, n + 1), n=n, m=m, replace=True)
    shares = np.bincount(samples[1].above, minlength=m + 1) / len(samples[1])
    exact = np.array([rank_metric(name)(np.arange(1, n + 1), n=n) for name in METRICS]).T
    system = 0.9 * kernel.T @ kernel / n + 0.1 * np.diag(kernel.mean(axis=0))
    bv = shares @ np.linalg.solve(system, kernel.T @ exact / n)
    np.testing.assert_allclose(fit("bv(gamma=0.1)", samples).estimates(METRICS)[1], bv, rtol=1e-8)
    mass = np.full(n, 1 / n)
    for _ in range(100):
        mass *= kernel @ (shares / (mass @ kernel))
    np.testing.assert_allclose(fit("mle", samples).estimates(METRICS)[1], mass @ exact, rtol=1e-8)


def test_mn_with_a_uniform_prior_is_bv_of_candidates_by_users() -> None:
    sample = SampledRanks.of([1, 2, 3] * 30, n_negatives=5, n_candidates=45)
    mn, bv = (fit(n, sample).corrected(["AP"]) for n in ("mn(prior=uniform)", "bv(gamma=0.5)"))
    np.testing.assert_allclose(mn, bv, atol=1e-12)


def test_several_relevant_items_are_estimated_without_bias_where_nothing_is_left_out() -> None:
    """All negatives, without replacement: the sampled ranks are the ranks."""
    ranks = FullRanks.of([2, 5, 1, 3], n_candidates=7, user=[0, 0, 1, 1])
    (sample,) = (SampleDesign((5,), replace=False).draw(ranks, seed=1),)
    exact = [rank_metric(name).exact(ranks) for name in METRICS]
    for name in ("uncorrected", "bv(gamma=0.000001)"):
        found = fit(name, sample).estimates(METRICS)[0]
        np.testing.assert_allclose(found, exact, atol=1e-4)


def test_pooled_priors_are_the_mean_over_the_repeats() -> None:
    samples = _samples(300)
    own, pooled = (fit(f"bv(gamma=0.01,prior={p})", samples).masses for p in ("mle", "pooled:mle"))
    np.testing.assert_allclose(pooled[:, 0], own.mean(axis=1))
    with pytest.raises(InputError, match="needs repeated samples"):
        fit("bv(gamma=0.01,prior=pooled:mle)", samples[0]).estimates(["AP"])


def test_adaptive_samples_are_estimated_as_exact_likelihoods_would_be() -> None:
    """The stopping rule multiplies chances by what does not depend on the rank's share."""
    n, rng = 60, np.random.default_rng(1)
    full = FullRanks.of(rng.integers(1, 30, 400), n_candidates=n)
    sample = SampleDesign.growing(4, 16).draw(full, seed=1)
    theta, x = (np.arange(n) / (n - 1))[:, None], sample.above
    sizes = sample.n_negatives + 1
    before = np.where(sizes == 4, 0, sizes // 2 - 1)
    drawn = np.where(sizes == 4, 3, sizes // 2)
    chances = binom.pmf(x, drawn, theta) * (1 - theta) ** before
    mass = np.full(n, 1 / n)
    for _ in range(50):
        mass = mass * (chances / (mass @ chances)).mean(axis=1)
    found = fit("adaptive-mle", sample).masses
    np.testing.assert_allclose(found[:, 0], mass, atol=1e-9)
    with pytest.raises(InputError, match=r"samples of one size, .* use adaptive-mle"):
        fit("bv(gamma=0.1)", sample)


def test_probabilities_of_negatives_make_auc_unbiased() -> None:
    """Items 1, 3 and 4 of chances .1, .3 and .4 are above; one negative is drawn."""
    chances, above = np.array([0.1, 0.2, 0.3, 0.4]), np.array([True, False, True, True])
    masses: Floats = np.where(above, 1 / chances, 0)
    samples = [
        SampledRanks(
            np.array([1 + up]), np.array([5]), np.array([0]),
            n_negatives=np.array([1]), inverse_mass_above=np.array([mass]),
        )
        for up, mass in zip(above.astype(np.int64), masses, strict=True)
    ]  # fmt: skip
    found = np.array([weighted_auc(sample).item() for sample in samples])
    assert chances @ found == pytest.approx(1 - 3 / 4)
    with pytest.raises(InputError, match="with probabilities, ht-plugin estimates AUC"):
        fit("mle", samples[0])


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("bv(gamma=0.1)", "BV(gamma=0.1,prior=uniform)"),
        ("MN", "MN(prior=mle@100)"),
        ("adaptive_mle(iters=20)", "AdaptiveMLE(iters=20)"),
        ("cls", "CLS"),
        ("mes(eta=0.1)", "MES(eta=0.1)"),
        ("ht-plugin", "HT"),
    ],
)
def test_estimators_are_read_as_they_are_printed(text: str, printed: str) -> None:
    assert str(find_estimator(text)) == printed
    assert find_estimator(printed) == find_estimator(text)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("bw", "no estimator is called 'bw'; there are uncorrected"),
        ("bv", "bv needs the option `gamma`"),
        ("bv(gamma=0)", "`gamma` must be a number from 1e-06 to 1, got '0'"),
        ("mle(iters=x)", "`iters` must be a whole number from 1, got 'x'"),
        ("mn(prior=best)", "`prior` must be uniform, mle, mle@100 or mes, .* got 'best'"),
        ("mle(gamma=1)", "MLE has no option 'gamma'; its options: iters"),
        ("mle(", "is no estimator; write NAME"),
    ],
)
def test_what_is_no_estimator_is_said(text: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        find_estimator(text)


def test_ranks_like_those_of_samples_are_of_items_at_their_own_places() -> None:
    """Second items of users are further down than first ones."""
    sampled = fit("mle", _samples(300, several=True)[0]).cells
    like, _ = sampled.refilled([rank_metric("AP")], steep=False)
    for order in (1, 2, 3):
        seen, expected = (
            np.average(of.cells[own, 3], weights=of.counts[own, 0])
            for of in (sampled, like)
            for own in [of.cells[:, 1] == order]
        )
        assert expected == pytest.approx(seen, rel=0.01)
