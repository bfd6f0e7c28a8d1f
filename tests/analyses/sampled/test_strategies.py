"""Ways to sample negatives, against full ranking and the truth."""

import numpy as np
import pytest
from numpy.typing import NDArray

from analyses.sampled.samples.from_candidates import Negatives, top_items
from analyses.sampled.shared.trials import SampledSystems
from analyses.sampled.strategies import (
    FEWER,
    HARD,
    Settings,
    Strategies,
    strategies,
    ways_to_sample,
)
from analyses.shared.measure import Measure, Measures, Scores
from analyses.shared.work import Truth
from qrels import qrels_from_columns
from qrels.ranks.full_ranks import CandidateRanks
from tests.analyses.made import JudgedWork

N_USERS, N_ITEMS = 120, 60
SYSTEMS = ("good", "fair", "poor")
NDCG = Measure("nDCG", 10)
Counts = NDArray[np.intp]
MEASURES = Measures([NDCG])


COUNTS = np.arange(N_ITEMS, 0, -1)


def _work(*, truth: Truth | None = None, counts: Counts = COUNTS) -> JudgedWork:
    """Judge one item a user, which systems rank by its worth and more or less noise."""
    rng = np.random.default_rng(5)
    worth = rng.normal(size=(N_USERS, N_ITEMS))
    item = np.array([rng.choice(N_ITEMS, p=np.exp(w) / np.exp(w).sum()) for w in worth])
    noise = rng.normal(size=(len(SYSTEMS), N_USERS, N_ITEMS))
    ranks = {
        name: CandidateRanks(
            np.arange(N_USERS),
            (-(worth + by * own)).argsort(axis=1).argsort(axis=1).astype(np.uint16) + np.uint16(1),
        )
        for name, by, own in zip(SYSTEMS, (0.3, 1.0, 6.0), noise, strict=True)
    }
    judged = qrels_from_columns(
        np.arange(N_USERS), item, np.ones(N_USERS, np.int32), n_users=N_USERS, relevance_level=1
    )
    return JudgedWork(
        lambda *_, **__: np.zeros(0),
        judged,
        MEASURES,
        len(SYSTEMS),
        popularity_counts={"train": counts},
        known_truth=truth,
        candidate_ranks=ranks,
    )


def _found(**asked: object) -> Strategies:
    settings = Settings.model_validate(
        {"metrics": ("nDCG@10", "AUC"), "negatives": 15, "repeats": 5, "replicates": 40} | asked
    )
    return strategies(_work(truth=_truth()), settings)


def _truth() -> Truth:
    values = np.array([[[0.5, 0.5], [0.4, 0.4], [0.1, 0.1]]])
    return Truth(Scores(values, MEASURES, SYSTEMS, np.array(["1", "2"])), (NDCG,), "of a world")


@pytest.fixture(scope="module")
def found() -> Strategies:
    return _found()


def test_full_ranking_is_like_itself_and_never_wrong(found: Strategies) -> None:
    apart, wrong, fidelity, _, validity = found.means[:, 0]
    assert (wrong == 0).all()
    assert (fidelity == 1).all()
    assert (validity == 1).all()
    assert (apart == 1).all()


def test_fewer_users_in_full_cost_what_the_samples_do(found: Strategies) -> None:
    assert found.n_fewer == round(N_USERS * 16 / N_ITEMS)
    assert (found.means[0, found.ways.index(FEWER)] < 1).all()


def test_hard_negatives_of_a_system_favour_the_others_and_wrongly_so(found: Strategies) -> None:
    place = found.ways.index(HARD)
    by_auc = found.means[:, place, 1]
    assert by_auc[1] > 0.3
    assert by_auc[2] < found.means[2, 2, 1]


def test_only_items_that_are_known_can_be_popular() -> None:
    known = np.where(np.arange(N_ITEMS) < N_ITEMS / 2, COUNTS, -1)
    work = _work(counts=known)
    found = strategies(work, Settings(metrics=("AUC",), negatives=5, repeats=2, replicates=20))
    popular = np.isin(work.qrels.items, np.arange(N_ITEMS / 2 * 0.1))
    assert found.lost_judgements == pytest.approx(popular.mean())


def test_popular_items_are_drawn_by_a_power_of_their_ratings() -> None:
    work = _work()
    sampled = SampledSystems.by_items(work.candidate_ranks, work.qrels)
    settings = Settings(negatives=15, power=0.5)
    ways = ways_to_sample(settings, sampled, work.popularity_counts["train"])
    (design,) = {way.design for way in ways if getattr(way.design, "of", "") == "popular"}
    negatives = Negatives(sampled.every["good"], sampled.first, 3, 1, **design.of_items)
    items, inverse = negatives.of(3, np.array([3]), 15)
    assert inverse is not None
    per_root = 1 / inverse / np.sqrt(COUNTS[items])
    np.testing.assert_allclose(per_root, per_root.mean())


def test_half_of_the_draws_are_hard() -> None:
    work, m, user = _work(), 15, 3
    sampled = SampledSystems.by_items(work.candidate_ranks, work.qrels)
    ways = ways_to_sample(Settings(negatives=m), sampled, work.popularity_counts["train"])
    (design,) = {way.design for way in ways if getattr(way.design, "of", "") == "half hard"}
    negatives = Negatives(sampled.every["good"], sampled.first, 2000, 1, **design.of_items)
    items, inverse = negatives.of(user, np.array([user]), m)
    assert inverse is not None
    hard = top_items(sampled.every["good"], sampled.first, m=m)[user]
    n = N_ITEMS - 1
    assert np.isin(items, hard).mean() == pytest.approx(0.5 + 0.5 * m / n, abs=0.01)
    assert sorted({*(1 / inverse).round(12).ravel().tolist()}) == pytest.approx(
        [0.5 / n, 0.5 / n + 0.5 / m]
    )


def test_known_chances_repair_what_popular_negatives_do(found: Strategies) -> None:
    labels = found.labels
    assert (found.means[2, labels.index("half hard, HT")] >= 0.9).all()


def test_frames_say_what_each_way_costs(found: Strategies) -> None:
    frame = found.frames()["sampled_strategies"].set_index(["metric", "way", "estimator"])
    assert frame.loc[("AUC", "full", ""), "scored"] == N_ITEMS
    assert frame.loc[("AUC", "uniform", "Uncorrected"), "scored"] == 16
    assert frame.loc[("AUC", FEWER, ""), "users"] == found.n_fewer


def test_the_nearest_ways_are_named(found: Strategies) -> None:
    said = found.findings()[1]
    assert said.startswith("AUC at the cost of 15 negatives of 120 users: of the samples, most")
    assert f"{found.n_fewer} users in full have" in said
    assert "most like the truth is" in said


def test_without_a_truth_there_is_no_column_for_it() -> None:
    settings = Settings(metrics=("AUC",), negatives=5, repeats=2, replicates=20)
    told = strategies(_work(), settings)
    assert told.compared().headings[-1] == "popular lost"
    assert "truth" not in told.findings()[0]
