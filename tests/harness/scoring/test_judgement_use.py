import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import random_array

from analyses.shared.measure import Measure
from harness.metrics.shared.metric import Metric, metric
from harness.metrics.shared.register import built_in_metrics
from harness.scoring.judgement_use import measures_that_use_judgements
from qrels import Catalogue, Judged, Qrels, qrels_from_columns
from runs import Run

N_USERS, N_ITEMS, DEPTH = 20, 60, 10


def qrels_of(*, with_nonrelevant: bool) -> Qrels:
    """Each user has six relevant items, of which some are listed, and six of grade 0."""
    rng = np.random.default_rng(1)
    rows = []
    for user in range(N_USERS):
        for number, item in enumerate(rng.permutation(N_ITEMS)[:12]):
            if number < 6:
                rows.append((user, item, 1))
            elif with_nonrelevant:
                rows.append((user, item, 0))
    users, items, grades = np.array(rows).T
    return qrels_from_columns(users, items, grades, n_users=N_USERS, relevance_level=1)


def runs() -> list[Run]:
    """Two runs of random lists."""
    rng = np.random.default_rng(2)
    all_items = np.tile(np.arange(N_ITEMS, dtype=np.int32), (N_USERS, 1))
    return [Run(name, rng.permuted(all_items, axis=1)[:, :DEPTH]) for name in ("a", "b")]


CATALOGUE = Catalogue(
    N_ITEMS,
    popularity=np.arange(N_ITEMS)[::-1].copy(),
    n_raters=N_ITEMS,
    features=np.eye(4)[np.random.default_rng(3).integers(0, 4, N_ITEMS)],
    feature_names=("one", "two", "three", "four"),
    profiles=random_array((N_USERS, N_ITEMS), density=0.2, random_state=1).tocsr(),
)


@metric("list length", source="-")
def list_length(judged: Judged, *, cutoff: int | None = None) -> NDArray[np.float64]:
    """Length of the list, as a share of the depth."""
    return np.asarray(judged.n_retrieved / judged.depth)


@metric("constant", source="-")
def constant(judged: Judged, *, cutoff: int | None = None) -> NDArray[np.float64]:
    """The same for all."""
    return np.full(judged.n_users, 0.5)


METRICS: dict[str, Metric] = {
    **built_in_metrics(),
    "list length": list_length,
    "constant": constant,
}
USES = ["P", "Recall", "AP", "nDCG", "RR", "bpref", "infAP", "RBP", "ERR", "Success", "S-Recall"]
USES_NOT = ["ILD", "Calibration", "ARP", "EPC", "MSI", "Judged", "list length", "constant"]


def found(names: list[str], qrels: Qrels) -> list[str]:
    measures = [Measure(name, DEPTH) for name in names]
    using = measures_that_use_judgements(runs(), qrels, measures, METRICS, CATALOGUE)
    return [measure.metric for measure in using]


@pytest.mark.parametrize("with_nonrelevant", [True, False])
def test_measures_of_relevance_use_the_judgements(with_nonrelevant: bool) -> None:
    qrels = qrels_of(with_nonrelevant=with_nonrelevant)
    assert found(USES, qrels) == USES


def test_measures_of_popularity_diversity_length_or_the_judged_share_do_not() -> None:
    assert found(USES_NOT, qrels_of(with_nonrelevant=True)) == []


def test_where_lists_hold_all_relevant_items_they_change_places_within_the_list() -> None:
    """Lists of all 60 items in random order; measures at cut-off 10."""
    all_items = np.tile(np.arange(N_ITEMS, dtype=np.int32), (N_USERS, 1))
    whole = [Run("a", np.random.default_rng(2).permuted(all_items, axis=1))]
    names = ["P", "nDCG", "AP", "RR", "ILD", "ARP", "list length", "constant"]
    for with_nonrelevant in (True, False):
        measures = [Measure(name, DEPTH) for name in names]
        qrels = qrels_of(with_nonrelevant=with_nonrelevant)
        using = measures_that_use_judgements(whole, qrels, measures, METRICS, CATALOGUE)
        assert [measure.metric for measure in using] == ["P", "nDCG", "AP", "RR"]


def test_where_no_judged_item_of_lists_can_change_places_unjudged_ones_do() -> None:
    """Items 0 to 9 are listed; 10 is relevant and 11 is judged non-relevant."""
    lists = np.tile(np.arange(DEPTH, dtype=np.int32), (N_USERS, 1))
    users = np.repeat(np.arange(N_USERS), 2)
    items = np.tile([10, 11], N_USERS)
    grades = np.tile([1, 0], N_USERS)
    qrels = qrels_from_columns(users, items, grades, n_users=N_USERS, relevance_level=1)
    measures = [Measure(name, DEPTH) for name in ("P", "nDCG", "ILD", "ARP", "constant")]
    runs_of_lists = [Run("a", lists)]
    using = measures_that_use_judgements(runs_of_lists, qrels, measures, METRICS, CATALOGUE)
    assert [measure.metric for measure in using] == ["P", "nDCG"]


def test_an_exchange_below_a_cutoff_decides_nothing() -> None:
    """The only judged non-relevant item of a list is at rank 10: P@5 is tried by unjudged ones."""
    lists = np.tile(np.arange(DEPTH, dtype=np.int32), (N_USERS, 1))
    users = np.repeat(np.arange(N_USERS), 2)
    items = np.tile([9, 10], N_USERS)
    grades = np.tile([0, 1], N_USERS)
    qrels = qrels_from_columns(users, items, grades, n_users=N_USERS, relevance_level=1)
    measures = [Measure("P", 5), Measure("P", 10), Measure("ARP", 5), Measure("ARP", 10)]
    using = measures_that_use_judgements([Run("a", lists)], qrels, measures, METRICS, CATALOGUE)
    assert using == measures[:2]


def test_without_lists_to_try_all_measures_are_taken_to_use_them() -> None:
    qrels = qrels_of(with_nonrelevant=True)
    empty = [Run("a", np.full((N_USERS, DEPTH), -1, dtype=np.int32))]
    measures = [Measure("ARP", DEPTH)]
    assert measures_that_use_judgements(empty, qrels, measures, METRICS, CATALOGUE) == measures
