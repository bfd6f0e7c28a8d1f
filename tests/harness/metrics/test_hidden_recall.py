"""LOO and LLOO: the recalls of the recall meter, user by user."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from analyses.recall.parametrisations import BETAS, CUTOFFS, RecallSettings
from analyses.recall.recall import measure_recall
from analyses.shared.measure import Measure, Measures
from harness.metrics.leave_last_one_out import lloo
from harness.metrics.leave_one_out import loo
from harness.metrics.shared.metric import Metric
from harness.scoring.score import SampleScorer, score
from qrels import Catalogue, Judged, Qrels, judge, qrels_from_columns
from qrels.ranks.hidden_ranks import MISS, HiddenRanks
from qrels.ranks.judged_ranks import JudgedRanks
from runs import InputError, Run
from tests.conftest import examples
from tests.hidden_example import TRAIN_COUNTS, golden_ranks, ranked_histories
from tests.lists import means_on


def collection(ranks: HiddenRanks) -> tuple[Run, Qrels, Catalogue]:
    """Judge the hidden items of every user relevant, and give their ranks to a system "s"."""
    hidden = ranks.hidden
    n_users = len(hidden.users)
    order = np.lexsort((hidden.item, hidden.user))
    qrels = qrels_from_columns(
        hidden.user, hidden.item, np.ones(len(order), dtype=int), n_users=n_users, relevance_level=1
    )
    judged = JudgedRanks(ranks.rank_loo[order], ranks.rank_lloo[order])
    catalogue = Catalogue(6, popularity=TRAIN_COUNTS, hidden_ranks={"s": judged})
    return Run("s", np.full((n_users, 3), -1, dtype=np.int32)), qrels, catalogue


def judged_of(ranks: HiddenRanks) -> Judged:
    return judge(*collection(ranks))


def check_grid(ranks: HiddenRanks, betas: Sequence[float], cutoffs: Sequence[int]) -> None:
    """Compare means over the users who hide two items or more with the recalls of the grid."""
    several = np.bincount(ranks.hidden.user, minlength=len(ranks.hidden.users)) > 1
    judged = judged_of(ranks)
    means = [
        [[metric(judged, cutoff=n, beta=beta)[several].mean() for n in cutoffs] for beta in betas]
        for metric in (loo, lloo)
    ]
    grid = RecallSettings(betas=tuple(betas), cutoffs=tuple(cutoffs))
    values = measure_recall(ranks, TRAIN_COUNTS, grid)["value"]
    np.testing.assert_allclose(np.ravel(means), values, rtol=0, atol=1e-12)


def test_means_are_the_588_uniform_recalls_of_the_grid() -> None:
    check_grid(golden_ranks(), BETAS, CUTOFFS)


@examples(30)
@given(ranks=ranked_histories())
def test_means_are_uniform_recalls(ranks: HiddenRanks) -> None:
    if np.bincount(ranks.hidden.user).max() > 1:
        check_grid(ranks, [0.0, 0.7], [1, 5, 50])


@pytest.mark.parametrize("metric", [loo, lloo])
@pytest.mark.parametrize("beta", [0.0, 0.7])
def test_a_lost_judgement_is_a_lost_hidden_item(metric: Metric, beta: float) -> None:
    run, qrels, catalogue = collection(golden_ranks())
    kept = np.random.default_rng(1).random((len(qrels.items), 5)) < [1.0, 0.7, 0.5, 0.2, 0.0]
    chosen = metric(beta=beta)
    measures = Measures(Measure(chosen.label, cutoff) for cutoff in (1, 2))
    scorer = SampleScorer([run], qrels, measures, {chosen.label: chosen}, catalogue)
    assert not scorer.by_definition
    expected = []
    for sample in kept.T:
        rows = np.flatnonzero(sample)
        left = replace(catalogue, hidden_ranks={"s": catalogue.hidden_ranks["s"].select(rows)})  # type: ignore[index]
        users = np.array(["a", "b", "c"])
        metrics = {chosen.label: chosen}
        scores = score([run], qrels.keep(sample), measures, metrics, users=users, catalogue=left)
        expected.append(scores.mean_values())
    found = means_on(scorer, qrels, kept)
    np.testing.assert_allclose(found, np.stack(expected, axis=-1), rtol=0, atol=1e-12)


def test_what_is_not_relevant_is_not_hidden() -> None:
    run, qrels, catalogue = collection(golden_ranks())
    grades = np.where(qrels.items == 4, 0, qrels.grades)
    judged = judge(run, replace(qrels, grades=grades.astype(np.int32)), catalogue)
    # The third user's items 0, 1, 5 have the ranks 3, 2, 3; item 4, a miss, is left out.
    assert loo(judged, cutoff=3)[2] == 1.0


def test_what_was_not_ranked_is_refused() -> None:
    run, qrels, catalogue = collection(golden_ranks())
    known = JudgedRanks(loo=np.ones(len(qrels.items), dtype=np.uint16))
    judged = judge(run, qrels, replace(catalogue, hidden_ranks={"s": known}))
    with pytest.raises(InputError, match="no item was ranked under LLOO"):
        lloo(judged, cutoff=1)
    other = judge(Run("other", run.items), qrels, catalogue)
    with pytest.raises(InputError, match="ranks of hidden items are unknown"):
        loo(other, cutoff=1)


def test_a_miss_is_found_at_no_cut_off() -> None:
    run, qrels, catalogue = collection(golden_ranks())
    nowhere = JudgedRanks(loo=np.full(len(qrels.items), MISS, dtype=np.uint16))
    judged = judge(run, qrels, replace(catalogue, hidden_ranks={"s": nowhere}))
    last = JudgedRanks(loo=np.full(len(qrels.items), MISS - 1, dtype=np.uint16))
    deepest = judge(run, qrels, replace(catalogue, hidden_ranks={"s": last}))
    for cutoff in (None, MISS - 1, MISS, MISS + 1, 100_000):
        assert loo(judged, cutoff=cutoff).tolist() == [0, 0, 0]
        assert loo(deepest, cutoff=cutoff).tolist() == [1, 1, 1]
    assert loo(deepest, cutoff=MISS - 2).tolist() == [0, 0, 0]
