"""The experiment: estimates from repeated samples."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy.stats import binom, norm

from analyses.ordering.agreement import mean_of_defined
from analyses.sampled.estimates import Estimates, estimates, growth, shares_in_order
from analyses.sampled.samples import SampleDesign
from analyses.sampled.trials import ItemWeights, Settings, relative_error, trials_of
from analyses.shared.evidence import to_evidence
from analyses.shared.measure import Measure, Measures
from analyses.shared.result import TableDeclaration, tables_of
from qrels import FullRanks, qrels_from_columns
from qrels.ranks.full_ranks import CandidateRanks
from tests.analyses.made import JudgedWork
from tests.analyses.sampled.rankings import studied
from tests.drawn import curve

N = 60
BEST, WORST = FullRanks.of([1] * 30, n_candidates=N), FullRanks.of([N] * 30, n_candidates=N)
SPREAD = FullRanks.of(range(1, 31), n_candidates=N)
SHIFTED = FullRanks.of(range(3, 33), n_candidates=N)
SEVERAL = FullRanks.of([1, 9, 4, 20], n_candidates=[50, 50, 70, 70], user=[0, 0, 5, 5])
FIXED = ("mes", "mle", "bv(gamma=0.01)", "bv(gamma=0.01,prior=mes)", "bv(gamma=0.01,prior=mle)")
AAAI = (*FIXED, "mn(prior=mes)", "mn(prior=mle)", "adaptive-mle")


def _studied(**asked: Any) -> Estimates:
    return studied(
        {"spread": SPREAD, "shifted": SHIFTED}, **{"negatives": 10, "repeats": 5} | asked
    )


@pytest.fixture(scope="module")
def result() -> Estimates:
    return _studied()


def test_results_do_not_depend_on_the_number_of_workers(result: Estimates) -> None:
    assert to_evidence(result) == to_evidence(_studied(n_jobs=3))


def test_systems_that_are_sampled_independently_share_nothing() -> None:
    twins = {"one": SPREAD, "two": SPREAD}
    shared, apart = (
        studied(twins, negatives=10, repeats=5, draws=draws) for draws in ("shared", "independent")
    )
    assert (shared.estimated[:, :, 0] == shared.estimated[:, :, 1]).all()
    assert (apart.estimated[:, :, 0] == shared.estimated[:, :, 0]).all()
    assert (apart.estimated[:, 1, 0] != apart.estimated[:, 1, 1]).any()
    assert not np.allclose(apart.estimated[:, 1, 0, 1:], apart.estimated[:, 1, 1, :-1])


def test_ties_in_random_order_add_noise_and_are_exact_on_average() -> None:
    """Each of 30 items shares its score with the 40 that follow."""
    rank, n_candidates = np.full((2, 30), [[5], [N]])
    ties = np.tile([[0, 40]], (30, 1))
    ranks = FullRanks(rank, n_candidates, np.arange(30), ties=ties)
    fixed, random = (
        studied(
            {"tied": ranks},
            negatives=N - 1,
            replace=False,
            repeats=400,
            metrics=("AUC",),
            estimators=("uncorrected",),
            draws="shared",
            ties=ties,
        )
        for ties in ("by item", "random")
    )
    assert fixed.estimated.std() < 1e-12
    middle = (N - 25) / (N - 1)
    assert random.exact.item() == pytest.approx(middle, abs=0.01)
    assert random.estimated.mean() == pytest.approx(random.exact.item(), abs=1e-12)
    deviation = np.sqrt((41**2 - 1) / 12 / 30) / (N - 1)
    assert random.estimated.std() == pytest.approx(deviation, rel=0.15)


def test_all_negatives_without_replacement_give_the_exact_metrics() -> None:
    found = _studied(negatives=N - 1, replace=False, estimators=("uncorrected",))
    np.testing.assert_allclose(found.estimated.mean(axis=3)[0], found.exact, atol=1e-12)
    np.testing.assert_allclose(mean_of_defined(found.errors[:, :3]), 0, atol=1e-9)


@pytest.mark.parametrize("likelihood", ["as drawn", "hypergeometric", "binomial"])
def test_estimators_may_assume_another_distribution_than_that_of_the_draws(likelihood: str) -> None:
    """All negatives, each once: sampled ranks are the full ranks. BV(1) is a posterior mean."""
    found = _studied(
        negatives=N - 1,
        replace=False,
        likelihood=likelihood,
        estimators=("bv(gamma=1)",),
        metrics=("AP",),
    )
    ranks = np.arange(1, N + 1)
    is_binomial = likelihood == "binomial"
    shares_above = (ranks[:, np.newaxis] - 1) / (N - 1)
    chances = np.asarray(binom.pmf(ranks - 1, N - 1, shares_above)) if is_binomial else np.eye(N)
    posterior_means = (1 / ranks) @ chances / chances.sum(axis=0)
    spread, shifted = posterior_means[:30].mean(), posterior_means[2:32].mean()
    np.testing.assert_allclose(found.estimated[0, 0, :, 0], [spread, shifted], rtol=1e-3)
    np.testing.assert_allclose(found.expected[0, 0], [spread, shifted], rtol=1e-3)


def test_relative_errors_leave_out_what_is_truly_nothing(result: Estimates) -> None:
    errors = relative_error(np.array([[0.3, 0.75, 0.5]]), np.array([0.0, 0.5, 1.0]))
    assert mean_of_defined(errors).tolist() == [50.0]
    assert np.isnan(result.errors[:, result.measures.metrics.index("AUC")]).all()


def test_frames_carry_the_numbers_of_their_labels(result: Estimates) -> None:
    frame = result.frame()
    assert len(frame) == 5 * 4 * 2
    rows = frame.query("estimator == 'MLE(iters=100)' and metric == 'nDCG' and system == 'shifted'")
    assert rows["mean"].item() == result.estimated[4, 1, 1].mean()
    assert rows["iterations"].item() == 100
    repeats = result.frames()["sampled_repeats"]
    every = repeats.query("prior == 'uniform' and metric == 'AP' and repeat == 3")
    assert every["value"].tolist() == result.estimated[3, 2, :, 2].tolist()


def test_orders_count_the_repeats_that_are_right() -> None:
    asked: dict[str, Any] = {"repeats": 3, "negatives": 20}
    found = studied({"worst": WORST, "best": BEST}, **asked)
    assert (found.orders()["correct"] == 3).all()
    assert (found.advice["winner"] == 1).all()
    tied = studied({"a": SPREAD, "b": SPREAD}, **asked)
    assert (tied.orders()["repeats"] == 0).all()
    assert np.isnan(tied.advice["winner"]).all()
    assert studied({"a": SPREAD}, **asked).orders().empty


def test_of_systems_that_tie_in_a_sample_none_wins() -> None:
    found = _studied(negatives=5, metrics=("Recall@10",), estimators=("uncorrected",))
    assert (found.estimated == 1).all()
    assert found.advice["winner"].item() == 0


def test_what_is_expected_is_what_samples_come_to() -> None:
    estimators = ("bv(gamma=0.1)", "uncorrected")
    for system in (SPREAD, SEVERAL):
        found = studied(
            {"a": system}, negatives=10, repeats=400, estimators=estimators, metrics=("AP",)
        )
        error = found.sd / np.sqrt(400)
        assert (np.abs(found.estimated.mean(axis=3) - found.expected) < 4 * error).all()


def test_adaptive_samples_are_expected_to_be_what_they_are_on_average() -> None:
    found = _studied(estimators=("mle", "adaptive-mle"), n_max=44, repeats=200)
    np.testing.assert_allclose(found.expected[1], found.estimated[1].mean(axis=2), rtol=1e-12)
    assert (found.scored[0] == 11).all()
    below = 1 - (SPREAD.rank - 1) / (N - 1)
    expected = (11 + 11 * below**10 + 22 * below**21).mean()
    assert found.scored[1, 0, 0].mean() == pytest.approx(expected, rel=0.02)
    assert found.adaptive is not None
    assert found.adaptive["cost"][0] == pytest.approx(11 / (1 - (below**10).mean()))
    assert (found.estimated[0] == _studied(estimators=("mle",), repeats=200).estimated[0]).all()


def test_a_pooled_prior_is_expected_to_be_learned() -> None:
    priors = ("pooled:mle", "mle", "uniform")
    estimators = tuple(f"bv(gamma=0.1,prior={prior})" for prior in priors)
    pooled, own, uniform = _studied(estimators=estimators, metrics=("AP",)).expected
    assert (pooled == own).all()
    assert (pooled != uniform).all()


def test_more_users_lessen_noise_and_leave_bias(result: Estimates) -> None:
    many = _studied(users=3000)
    assert (many.advice["bias"] == result.advice["bias"]).all()
    np.testing.assert_allclose(many.advice["noise"], result.advice["noise"] / 10)
    at_last = _studied(users=10**9).advice
    np.testing.assert_allclose(at_last["in_samples"], at_last["in_expectation"], atol=1e-9)


def test_pairs_are_in_order_in_samples_as_often_as_normal_differences_are(
    result: Estimates,
) -> None:
    samples = np.diff(result.estimated, axis=2)[:, :, 0]
    off = np.diff(result.expected)[..., 0] * np.sign(np.diff(result.exact))[..., 0]
    noisy = samples.std(axis=2) > 0
    shares = norm.cdf(off / np.where(noisy, samples.std(axis=2, ddof=1), 1.0))
    assert noisy.any()
    np.testing.assert_allclose(result.advice["in_samples"][noisy], shares[noisy], rtol=1e-9)


def test_users_are_needed_until_pairs_are_in_order() -> None:
    found = _studied(metrics=("AP",), estimators=("bv(gamma=0.1)",))
    needed = found.advice["users_needed"].item()
    tried = [100, 200, 500, 1000, 2000, 5000, 10_000]
    assert found.in_samples(int(needed)).item() >= 0.9
    fewer = [users for users in tried if users < needed]
    assert all(found.in_samples(users).item() < 0.9 for users in fewer)


def test_levels_are_reported_by_what_errs_least(result: Estimates) -> None:
    errors = np.hypot(result.advice["bias"], result.advice["noise"])
    assert [result.chosen(n)[1] for n in range(4)] == errors.argmin(axis=0).tolist()


def test_pairs_that_truly_tie_are_not_counted() -> None:
    right, true = np.array([[True, True, False]]), np.array([0.0, 1.0, -1.0])
    assert shares_in_order(right, true).tolist() == [0.5]


def face_of(name: str) -> TableDeclaration:
    return next(face for face in tables_of(Estimates) if face.name == name)


def test_tables_of_the_papers_have_their_rows_where_they_are_asked_for(result: Estimates) -> None:
    metrics = tuple(f"{name}@{k}" for name in ("Recall", "nDCG", "AP") for k in (10, 20))
    asked: dict[str, Any] = {"metrics": metrics, "negatives": (10, 19), "repeats": 3}
    found = _studied(estimators=AAAI, n_max=44, **asked)
    rows = {face.name: face.make(found).rows for face in tables_of(Estimates)}
    counts = {name: len(own) for name, own in rows.items() if name.startswith("aaai")}
    per_table = {1: 28, 6: 28, 9: 28, 10: 28, 2: 12, 7: 12, 11: 12, 3: 30, 8: 30}
    assert counts == {f"aaai2023-table{number}": n for number, n in per_table.items()}
    table = found.frames()["sampled"].query("metric == 'Recall' and system == 'spread' and m == 10")
    first = face_of("aaai2023-table1").make(found)
    row = dict(zip(first.headings, first.rows[1], strict=True))
    assert (row["estimator"], row["sample_set_size"], row["cutoff"]) == (
        "MLE",
        11,
        "1-50 (mean over K)",
    )
    assert row["value"] == table.query("estimator == 'MLE(iters=100)'")["error"].iloc[0]
    kdd = {face.name: face.make(result) for face in tables_of(Estimates)}
    values, orders = kdd["kdd2020-table3"], kdd["kdd2020-table4"]
    assert {"paper_estimator", "gamma", "m_negatives", "value", "sd"} <= {*values.headings}
    assert len(values.rows) == 2 * 4 * 5
    assert len(orders.rows) == 4 * 4
    assert values.rows[0][list(values.headings).index("value")] == 100 * result.exact[0, 0]


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"repeats": 1}, "greater than or equal to 2"),
        ({"negatives": 0}, "greater than or equal to 1"),
        ({"negatives": N}, "59 for some user"),
        ({"negatives": (20, 10)}, "`negatives` must rise"),
        ({"metrics": ()}, "at least 1 item"),
        ({"metrics": ("P",)}, "P of a whole list is the same for all systems"),
        ({"metrics": ("AP", "MAP")}, "'AP' is duplicated"),
        ({"estimators": ("adaptive-mle",), "n_max": 30}, "`n0`, 11, times a power of 2, got 30"),
        ({"estimators": ("ht-plugin",)}, "ht-plugin is added by drawing"),
        ({"n_max": 44}, "`n_max` needs the estimator adaptive-mle"),
        ({"drawing": ("odd",)}, "Input should be 'uniform', 'popular', 'half hard' or 'hard'"),
        ({"draws": "items"}, "`draws` must be shared or independent"),
        ({"estimators": ("bv(gamma=1)",), "metrics": ("Recall@10",), "drawing": ("hard",),
          "draws": "shared"}, "`draws` must be items"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(asked: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        _studied(**asked)


N_USERS, N_ITEMS = 120, 60


def _judged_work(systems: tuple[str, ...] = ("good", "fair", "poor")) -> JudgedWork:
    """Judge one item a user, which systems rank by its worth and more or less noise."""
    rng = np.random.default_rng(5)
    worth = rng.normal(size=(N_USERS, N_ITEMS))
    item = np.array([rng.choice(N_ITEMS, p=np.exp(w) / np.exp(w).sum()) for w in worth])
    noise = rng.normal(size=(len(systems), N_USERS, N_ITEMS))
    ranks = {
        name: CandidateRanks(
            np.arange(N_USERS),
            (-(worth + by * own)).argsort(axis=1).argsort(axis=1).astype(np.uint16) + np.uint16(1),
        )
        for name, by, own in zip(systems, (0.3, 1.0, 6.0), noise, strict=True)
    }
    ones = np.ones(N_USERS, np.int32)
    judged = qrels_from_columns(np.arange(N_USERS), item, ones, n_users=N_USERS, relevance_level=1)
    counts: NDArray[np.intp] = np.arange(N_ITEMS, 0, -1)
    return JudgedWork(
        lambda *_, **__: np.zeros(0),
        judged,
        Measures([Measure("nDCG", 10)]),
        len(systems),
        popularity_counts={"train": counts},
        candidate_ranks=ranks,
        full_ranks={name: one.relevant_ranks(judged) for name, one in ranks.items()},
    )


def test_ways_to_draw_negatives_stand_beside_each_other() -> None:
    drawing = ("uniform", "popular", "half hard", "hard")
    asked: dict[str, Any] = {"estimators": ("uncorrected", "mle"), "metrics": ("AUC", "Recall@5")}
    found = estimates(_judged_work(), Settings(**asked, drawing=drawing, negatives=20, repeats=40))
    assert found.draws == "items"
    assert (found.ways["drawing"] + " " + found.ways["estimator"]).tolist() == [
        *("uniform Uncorrected", "uniform MLE(iters=100)", "popular Uncorrected", "popular HT"),
        *("half hard Uncorrected", "half hard HT", "hard Uncorrected"),
    ]
    weighted = found.estimated[[3, 5], 0]
    error = weighted.std(axis=2) / np.sqrt(40)
    assert (np.abs(weighted.mean(axis=2) - found.exact[0]) < 4 * error).all()
    # The top items of the first system are above what is relevant, most of all for itself.
    assert (found.estimated[6, 0].mean(axis=1) < found.exact[0] - 0.05).all()
    assert np.isnan(found.estimated[[3, 5], 1]).all()
    assert all(np.isnan(of[[3, 5], 1]).all() for of in found.advice.values())
    assert found.chosen(1)[1] not in (3, 5)


def test_half_of_the_draws_are_of_hard_items() -> None:
    weights = ItemWeights(np.ones(10), hard=np.array([[0, 1, 2]]))
    weigh = weights.negatives(SampleDesign((3,), drawing="half hard"))["weigh"]
    assert weigh(0, np.arange(10)).sum() == pytest.approx(2)


def test_systems_are_compared_by_what_is_most_in_order_in_samples() -> None:
    found = _studied(estimators=("bv(gamma=0.001)", "uncorrected"), metrics=("AP",))
    assert found.advice["in_expectation"].ravel().tolist() == [1, 1]
    assert found.chosen(0)[0] == 1


# Settings, by hand


def test_by_default_a_hundred_negatives_are_drawn_a_hundred_times() -> None:
    """As docs/methods/sampled-metrics.md has it."""
    settings = Settings()
    assert (settings.negatives, settings.repeats, settings.replace) == ((100,), 100, True)
    assert (settings.drawing, settings.ties, settings.draws) == (("uniform",), "by item", None)
    assert (settings.n_max, settings.users) == (None, None)
    assert settings.likelihood == "as drawn"
    assert settings.needs == ("all_candidate_ranks",)
    assert Settings(draws="items").needs == ("candidate_ranks",)
    assert Settings(draws="shared").needs == ()
    assert Settings(drawing=("uniform", "hard")).needs == ("candidate_ranks",)
    assert Settings.model_validate({"negatives": 7}).negatives == (7,)


@pytest.mark.parametrize("settings", [{"users": 0}, {"repeats": 1}, {"estimators": ()}])
def test_there_are_two_repeats_one_user_and_one_estimator_at_least(
    settings: dict[str, Any],
) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        Settings(**settings)
    assert Settings(users=1, repeats=2).users == 1


@pytest.mark.parametrize(
    ("n_candidates", "largest"), [(10**6, 3232), (9_696, 3232), (9_695, 1616), (1000, 303 - 101)]
)
def test_adaptive_samples_double_five_times_or_to_a_third_of_the_candidates(
    n_candidates: int, largest: int
) -> None:
    """From 101 items, the relevant one included: 32 x 101 = 3,232 is a third of 9,696."""
    ranks = FullRanks.of([1], n_candidates=n_candidates)
    ways = Settings(estimators=("mle", "adaptive-mle"), repeats=2).samples(ranks)
    (_, fixed), (one, adaptive) = ways
    assert (fixed.sizes, fixed.adaptive) == ((100,), False)
    assert (one.name, adaptive.sizes[0], adaptive.sizes[-1] + 1) == ("adaptive-mle", 100, largest)


def test_an_adaptive_sample_may_have_the_first_size_alone() -> None:
    ranks = FullRanks.of([1], n_candidates=150)
    ((_, adaptive),) = Settings(estimators=("adaptive-mle",)).samples(ranks)
    assert adaptive.sizes == (100,)


def test_popular_items_are_drawn_by_the_power_three_quarters_of_their_ratings() -> None:
    trials, _ = trials_of(_judged_work(), Settings(drawing=("popular",), negatives=5, repeats=2))
    weights = next(iter(trials.values())).weights
    assert weights is not None
    np.testing.assert_allclose(weights.popularity, np.arange(N_ITEMS, 0, -1) ** 0.75)
    weigh = weights.negatives(SampleDesign((5,), drawing="popular"))["weigh"]
    assert weigh(0, np.array([0, 59])).tolist() == pytest.approx([60**0.75, 1.0])
    fixed = weights.negatives(SampleDesign((3,), drawing="hard"))["fixed"]
    assert fixed.shape == (N_USERS, 3)
    assert weights.negatives(SampleDesign((3,))) == {}


def test_relative_errors_are_in_per_cent() -> None:
    found = relative_error(np.array([[0.3, 0.75]]), np.array([0.4, 0.5]))
    np.testing.assert_allclose(found, [[25, 50]])


# Advice, by hand


def stated(**changes: Any) -> Estimates:
    """Two ways to estimate one metric of three systems, in four samples of 100 users."""
    exact = np.array([[0.5, 0.4, 0.2]])
    noise = np.array([-1.0, 1.0, -1.0, 1.0]) * np.array([[0.06], [-0.06], [0.06]])
    expected = np.array([[[0.5, 0.4, 0.2]], [[0.6, 0.2, 0.4]]])
    facts: dict[str, Any] = {
        "study": "s",
        "measures": Measures([Measure("AP")]),
        "systems": ("a", "b", "c"),
        "ways": pd.DataFrame(
            [
                ["BV(gamma=0.1,prior=uniform)", "uniform", 0, "uniform", 10],
                ["MLE", "", 5, "hard", 20],
            ],
            columns=["estimator", "prior", "iterations", "drawing", "m"],
        ),
        "exact": exact,
        "estimated": expected[..., None] + noise * np.array([1.0, 0.1])[:, None, None, None],
        "errors": np.full((2, 1, 3, 4), 5.0),
        "errors_by_cutoff": np.tile(np.arange(1.0, 51), (2, 1, 3, 1)),
        "expected": expected,
        "scored": np.full((2, 1, 3, 4), 11.0),
        "sampled_shares": np.array([[0.5, 0.25, 0.0], [0.5, 0.75, 1.0]]),
        "adaptive": None,
        "population": "p",
        "replace": True,
        "draws": "shared",
        "n_users": 100,
        "users": 400,
        "repeats": 4,
    }
    return Estimates(**facts | changes)


def test_bias_and_noise_are_root_mean_squares_for_so_many_users() -> None:
    """Deviations of four samples, .06 times the root of 4 / 3, are halved by 400 users."""
    advice = stated().advice
    np.testing.assert_allclose(advice["bias"].ravel(), [0, np.sqrt((0.01 + 0.04 + 0.04) / 3)])
    sd = 0.06 * np.sqrt(4 / 3)
    np.testing.assert_allclose(stated().sd[0, 0], [sd] * 3)
    np.testing.assert_allclose(advice["noise"].ravel(), [sd / 2, sd / 20])
    np.testing.assert_allclose(advice["in_expectation"].ravel(), [1, 2 / 3])
    # In two of four samples the first has no equal: .56 against .34 and .26, or .44 and .46.
    np.testing.assert_allclose(advice["winner"].ravel(), [0.5, 1])


def test_pairs_are_in_order_by_the_normal_distribution_of_their_differences() -> None:
    """Differences of a and b vary by .12 times the root of 4 / 3, those of a and c not at all."""
    sd = 0.12 * np.sqrt(4 / 3)
    for users, factor in ((100, 1.0), (900, 3.0)):
        expected = (norm.cdf(0.1 / sd * factor) + 1.0 + norm.cdf(0.2 / sd * factor)) / 3
        assert stated().in_samples(users)[0, 0] == pytest.approx(expected)
    # 90 % are in order where the mean of two normal chances is .85.
    needed = stated().advice["users_needed"].ravel()
    assert stated().in_samples(int(needed[0]))[0, 0] >= 0.9
    assert np.isnan(needed[1])


def test_ways_are_chosen_from_the_fewest_negatives_that_suffice() -> None:
    """The first way has all pairs in order with many users; the second never."""
    assert stated(users=10_000).chosen(0) == (0, 0)
    # None suffices: those of the most pairs in order.
    turned = stated(expected=stated().expected[::-1], estimated=stated().estimated[::-1])
    assert turned.chosen(0) == (1, 1)


def test_names_have_what_differs() -> None:
    assert stated().names == ["BV(gamma=0.1), m = 10", "MLE, hard, m = 20"]
    ways = stated().ways.assign(m=1000)
    assert stated(ways=ways).names == ["BV(gamma=0.1)", "MLE, hard"]


def test_frames_have_means_deviations_and_orders() -> None:
    frames = stated().frames()
    row: Any = frames["sampled"].set_index(["estimator", "system"]).loc[("MLE", "b")]
    assert (row["exact"], row["expected"], row["scored"], row["repeats"]) == (0.4, 0.2, 11, 4)
    assert row["mean"] == pytest.approx(0.2)
    assert row["sd"] == pytest.approx(0.006 * np.sqrt(4 / 3))
    assert (row["error"], row["error_sd"]) == (5, 0)
    repeats = frames["sampled_repeats"].set_index(["estimator", "system", "repeat"])
    assert repeats["value"]["MLE", "c", 4] == pytest.approx(0.406)
    assert sorted({key[2] for key in repeats.index}) == [1, 2, 3, 4]
    orders = frames["sampled_orders"].set_index(["estimator", "system_1", "system_2"])
    assert orders["correct"]["MLE", "b", "c"] == 0
    assert orders["correct"]["MLE", "a", "b"] == 4
    assert orders["correct"]["BV(gamma=0.1,prior=uniform)", "a", "b"] == 2
    advice = frames["sampled_advice"]
    assert advice["users"].tolist() == [400, 400]
    assert "sampled_adaptive" not in frames


def test_tables_have_means_deviations_and_advice() -> None:
    table = stated().means()
    assert table.headings[2:] == ["BV(gamma=0.1), m = 10", "MLE, hard, m = 20"]
    name, exact, first, second = table.rows[1]
    assert (name, exact) == ("AP, b", 0.4)
    assert first == f"0.4000 ± {0.06 * np.sqrt(4 / 3):.4f}"
    assert second == f"0.2000 ± {0.006 * np.sqrt(4 / 3):.4f}"
    rows = stated().distances().rows
    assert [row[0] for row in rows] == ["AP, BV(gamma=0.1), m = 10", "AP, MLE, hard, m = 20"]
    assert rows[1][-1] == "–"
    unknown = stated().estimated.copy()
    unknown[1] = np.nan
    nothing = stated(expected=np.where(np.arange(2)[:, None, None] == 1, np.nan, stated().expected))
    assert len(nothing.distances().rows) == 1
    assert [row[3] for row in stated(estimated=unknown).means().rows] == ["–"] * 3


def test_findings_have_the_numbers_of_what_is_chosen() -> None:
    (sentence,) = stated(users=10_000).findings()
    noise = 0.06 * np.sqrt(4 / 3) / 10
    assert "with 10,000 users, use BV(gamma=0.1) and 10 negatives (100 % of" in sentence
    assert "m = " not in sentence  # the number of negatives is stated once
    assert f"(bias .000, noise {noise:.3f}".replace("0.", ".") in sentence


@pytest.mark.slow
def test_figures_have_shares_of_ranks_and_errors_of_the_first_design() -> None:
    ax = stated().plot_sampled_ranks()
    # A share of 0 has no logarithm.
    np.testing.assert_allclose(curve(ax, "b"), [[1, 0.25], [2, 0.75]])
    np.testing.assert_allclose(curve(ax, "c"), [[1, np.nan], [2, 1.0]])
    errors = stated().plot_errors()
    assert [str(line.get_label()) for line in errors.lines] == ["BV(gamma=0.1)"]
    np.testing.assert_allclose(curve(errors, "BV"), np.arange(1, 51)[:, None] * [1, 1])
    costs = pd.DataFrame(
        {
            "system": ["a"] * 3,
            "size": [11, 22, 44],
            "reached": [1.0, 0.5, 0.2],
            "cost": [22.0, 30.0, np.nan],
        }
    )
    of_sizes = stated(adaptive=costs).plot_costs()
    assert curve(of_sizes, "a").tolist() == [[11, 22], [22, 30]]
    assert of_sizes.get_xticks().tolist() == [11, 22]


def test_adaptive_sizes_are_reached_by_those_with_nothing_above() -> None:
    """Of 10 irrelevant items, 2 are above: with 4 negatives, .8^4 go on to 9."""
    ranks = FullRanks.of([3], n_candidates=11)
    ways = Settings(estimators=("adaptive-mle",), negatives=(4,), n_max=10).samples(ranks)
    frame = growth({"a": ranks}, ways)
    assert frame is not None
    assert frame["size"].tolist() == [5, 10]
    np.testing.assert_allclose(frame["reached"], [1.0, 0.8**4])
    np.testing.assert_allclose(frame["cost"], [5 / (1 - 0.8**4), np.nan])
    best = growth({"a": FullRanks.of([1], n_candidates=11)}, ways)
    assert best is not None
    assert best["cost"].tolist()[0] == np.inf
    assert growth({"a": ranks}, Settings(negatives=(4,)).samples(ranks)) is None
