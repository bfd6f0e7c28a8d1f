"""Which samples to choose, beside fewer users in full."""

from typing import Any

import numpy as np
import pytest

from analyses.sampled.cost import USERS as USERS_TRIED
from analyses.sampled.cost import Cost, Settings, cost
from analyses.sampled.estimates import estimates
from analyses.shared.analysis import Given, SettingError
from analyses.shared.measure import Measures
from qrels import FullRanks
from tests.analyses.sampled.studied import study

N, USERS = 400, 300
RANDOM = np.random.default_rng(3)
EASE = RANDOM.beta(0.4, 5, USERS)
SYSTEMS = {
    name: FullRanks.of(1 + (np.minimum(factor * EASE, 1) * (N - 1)).astype(int), n_candidates=N)
    for name, factor in (("good", 1.0), ("fair", 1.3), ("poor", 3.0))
}
ASKED: dict[str, Any] = {
    "metrics": ["nDCG@10", "AUC"],
    "estimators": ["uncorrected", "bv(gamma=0.1)"],
    "repeats": 20,
    "draws": "independent",
    "seed": 2,
}


@pytest.fixture(scope="module")
def found() -> Cost:
    return study(cost, SYSTEMS, **ASKED, sizes=[10, 50])


def test_numbers_are_those_of_the_estimates(found: Cost) -> None:
    alone = study(estimates, SYSTEMS, **ASKED, negatives=50)
    assert (found.numbers[:, 2:] == alone.numbers).all()


def test_full_ranking_costs_what_the_samples_do(found: Cost) -> None:
    users = [round(USERS * 11 / N), round(USERS * 51 / N)]
    assert found.full_users.tolist() == [users[0]] * 2 + [users[1]] * 2


def test_fewer_users_in_full_are_in_order_as_often_as_drawn_ones_are(found: Cost) -> None:
    ranks = np.array([system.rank for system in SYSTEMS.values()])
    auc = 1 - (ranks - 1) / (N - 1)
    drawn = [RANDOM.choice(USERS, found.full_users[0], replace=False) for _ in range(4000)]
    good, fair, poor = np.array([auc[:, users].mean(axis=1) for users in drawn]).T
    shares = [(good > fair).mean(), (good > poor).mean(), (fair > poor).mean()]
    assert found.full[1, 0, 1] == pytest.approx(np.mean(shares), abs=0.05)


def test_levels_of_fewer_users_in_full_are_as_noisy_as_drawn_ones_are() -> None:
    many = study(cost, {"good": SYSTEMS["good"]}, **ASKED, sizes=[300])
    auc = 1 - (SYSTEMS["good"].rank - 1) / (N - 1)
    means = [RANDOM.permutation(auc)[: many.full_users[0]].mean() for _ in range(4000)]
    assert many.full[0, 0, 1] == pytest.approx(np.std(means), rel=0.05)


def test_no_fewer_users_than_needed_are_in_order_as_often(found: Cost) -> None:
    for way, metric in np.argwhere(~np.isnan(found.needed)):
        place = USERS_TRIED.index(found.needed[way, metric])
        assert found.in_samples(USERS_TRIED[place])[way, metric] >= found.in_order
        fewer = [found.in_samples(users)[way, metric] for users in USERS_TRIED[:place]]
        assert all(share < found.in_order for share in fewer)


def test_systems_are_compared_by_what_has_most_in_order_in_samples() -> None:
    asked = ASKED | {"estimators": ["bv(gamma=0.1)", "uncorrected"]}
    found = study(cost, SYSTEMS, **asked, sizes=[10, 50])
    in_expectation, in_samples = map(found.by_size, found.numbers[2:4])
    assert (in_expectation == 1).all()
    assert (in_samples[0, 1] > in_samples[0, 0]).any()
    most = found.numbers[3][found.chosen[0], np.arange(len(found.metrics))]
    np.testing.assert_allclose(most, in_samples.max(axis=1), atol=1e-4)


def test_more_users_are_needed_of_fewer_negatives(found: Cost) -> None:
    few, many = np.nan_to_num(found.needed[1::2, 0], nan=np.inf)
    assert few >= many
    assert np.isfinite(many)


def test_the_sentence_has_the_cost_and_the_users_in_full(found: Cost) -> None:
    said = found.findings()[1]
    assert said.startswith("AUC of 300 users: ")
    assert "from 10 negatives by Uncorrected, 2.8 % of the cost of full ranking" in said
    assert f"{found.full_users[0]} users ranked in full have" in said


def test_sizes_that_the_data_lack_are_refused_before_any_work() -> None:
    ranks = SYSTEMS["good"]
    given = Given(("a",), Measures(()), has_training=True, best_ranks=lambda: ranks)
    with pytest.raises(SettingError, match="must not be above the irrelevant candidates, 399"):
        Settings(sizes=(10, 400)).check(given)


def test_systems_that_tie_have_no_order() -> None:
    twins = {"a": SYSTEMS["good"], "b": SYSTEMS["good"]}
    found = study(cost, twins, **ASKED, sizes=[10])
    assert found.findings()[0].endswith("all systems tie, and there is no order to find.")
    assert found.advised().rows[0][1] == "-"


def test_shared_numbers_tie_twins_and_independent_ones_do_not() -> None:
    twins = {"a": SYSTEMS["good"], "b": SYSTEMS["good"]}
    apart = {
        draws: np.diff(study(estimates, twins, **ASKED | {"draws": draws}).estimated, axis=2)
        for draws in ("shared", "independent")
    }
    assert (apart["shared"] == 0).all()
    assert (apart["independent"] != 0).any()


def test_captions_say_what_systems_share() -> None:
    captions = {
        draws: study(estimates, SYSTEMS, **ASKED | {"draws": draws}).caption()
        for draws in ("shared", "independent")
    }
    assert "by a random number of each user that the systems share" in captions["shared"]
    assert "independently for each system" in captions["independent"]
