"""Estimates where systems rank the same sampled items."""

from typing import Any

import numpy as np
import pytest

from analyses.sampled.estimates import Estimates, Settings, estimates
from analyses.shared.evidence import to_evidence
from analyses.shared.measure import Measures
from analyses.shared.work import RanksAlone
from qrels import FullRanks, qrels_from_columns
from qrels.ranks.full_ranks import CandidateRanks
from runs import InputError
from tests.analyses.made import JudgedWork

N_USERS, N_ITEMS = 40, 30
ORDERS = np.random.default_rng(1).permuted(np.tile(np.arange(1, N_ITEMS + 1), (N_USERS, 1)), axis=1)
SYSTEMS = {"one": ORDERS, "twin": ORDERS, "turned": N_ITEMS + 1 - ORDERS}
USERS = np.arange(N_USERS)
JUDGED = qrels_from_columns(
    USERS, USERS % N_ITEMS, np.ones(N_USERS, np.int32), n_users=N_USERS, relevance_level=1
)


def _found(*, known: int = N_USERS, n_jobs: int = 1, **asked: Any) -> Estimates:
    """Know how systems rank all candidates of the first users."""
    every = {
        name: CandidateRanks(USERS[:known], ranks[:known].astype(np.uint16))
        for name, ranks in SYSTEMS.items()
    }
    full = {
        name: FullRanks.of(ranks[USERS, USERS % N_ITEMS], n_candidates=N_ITEMS)
        for name, ranks in SYSTEMS.items()
    }
    work = JudgedWork(
        lambda *_, **__: np.zeros(0),
        JUDGED,
        Measures([]),
        len(SYSTEMS),
        n_jobs=n_jobs,
        full_ranks=full,
        candidate_ranks=every,
    )
    usual: dict[str, Any] = {"metrics": ("AUC",), "estimators": ("uncorrected",)}
    return estimates(work, Settings(**usual | {"negatives": 5, "repeats": 400} | asked))


@pytest.fixture(scope="module")
def found() -> Estimates:
    return _found()


def test_systems_rank_the_same_items(found: Estimates) -> None:
    one, twin, turned = found.estimated[0, 0]
    assert (one == twin).all()
    np.testing.assert_allclose(one + turned, 1)


def test_a_random_number_that_is_shared_is_not_what_items_are() -> None:
    one, twin, turned = _found(draws="shared").estimated[0, 0]
    assert (one == twin).all()
    assert (one + turned).std() > 0.01


def test_a_system_alone_is_sampled_by_the_same_law(found: Estimates) -> None:
    other = _found(draws="shared")
    assert (found.exact == other.exact).all()
    error = found.sd / np.sqrt(400)
    assert (np.abs(found.mean - found.expected) < 4 * error).all()
    np.testing.assert_allclose(found.sd, other.sd, rtol=0.15)


def test_the_caption_says_what_systems_share(found: Estimates) -> None:
    assert "with replacement, the same items for all systems" in found.caption()
    assert "random number of each user" in _found(draws="shared", repeats=2).caption()


def test_adaptive_samples_are_of_items_too() -> None:
    grown = _found(estimators=("adaptive-mle",), n_max=12, repeats=20)
    assert 6 < grown.scored[0, 0] == grown.scored[0, 1] < 12


def test_items_do_not_depend_on_the_workers() -> None:
    assert to_evidence(_found(repeats=5)) == to_evidence(_found(repeats=5, n_jobs=2))


def test_users_some_of_whose_candidates_are_not_ranked_share_a_random_number() -> None:
    assert to_evidence(_found(known=30, repeats=5)) == to_evidence(
        _found(draws="shared", repeats=5)
    )


def test_or_they_are_left_out() -> None:
    few = _found(known=30, draws="items", repeats=5)
    assert few.ranked.n_users == few.users == 30


def test_ranks_of_relevant_items_alone_are_not_enough_to_draw_items() -> None:
    ranks = {"one": FullRanks.of([1, 4], n_candidates=9)}
    with pytest.raises(InputError, match="`draws` must be shared or independent"):
        estimates(RanksAlone(ranks), Settings(draws="items", negatives=2, repeats=2))
