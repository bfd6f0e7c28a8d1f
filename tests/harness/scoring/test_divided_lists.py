"""Blocks of users, their lists and samples of their judgements, one by one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from analyses.shared.measure import Measure
from harness.metrics.shared.metric import Metric
from harness.metrics.shared.register import built_in_metrics
from harness.scoring import blocks as judging
from harness.scoring.blocks import Needs, Samples, divide, needs_of
from harness.scoring.kernel import (
    NEITHER,
    NONRELEVANT,
    RELEVANT,
    SUMS_AT_ONCE,
    P,
    find_hits,
    group_sums,
)
from qrels import Catalogue, Judged, Qrels, qrels_from_columns
from runs import Run
from tests.lists import known_items, random_case

METRICS = built_in_metrics()
LISTS = np.array([[3, 0, 7, 1], [9, 8, -1, -1], [-1, -1, -1, -1]], dtype=np.int32)
RUN = Run("s", LISTS)


@pytest.fixture
def qrels() -> Qrels:
    """The first user has judged items 0, 1, 3 and 5, the second item 8, the third 2 and 4."""
    users, items = np.array([[0, 0, 0, 0, 1, 2, 2], [0, 1, 3, 5, 8, 2, 4]])
    grades = np.array([2, -1, 1, 4, 2, 0, 3])
    return qrels_from_columns(users, items, grades, n_users=3, relevance_level=2)


def test_a_block_has_users_with_about_equally_many_judgements(
    qrels: Qrels, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judging, "USERS_AT_ONCE", 2)
    few, many = divide([RUN], qrels, depth=4)
    assert (few.users.tolist(), many.users.tolist()) == ([1, 2], [0])
    assert few.judgements.tolist() == [[4, 5], [-1, 6]]
    assert many.judgements.tolist() == [[0], [1], [2], [3]]
    (lists,) = many.systems
    assert lists.judgements.tolist() == [[2], [0], [-1], [1]]
    (lists,) = few.systems
    assert lists.judgements.tolist() == [[-1, -1], [4, -1], [-1, -1], [-1, -1]]
    assert lists.lengths.tolist() == [2, 0]
    assert lists.items(few.users, qrels).tolist() == [[9, -1], [8, -1], [-1, -1], [-1, -1]]


def counted(counts: list[int], n_samples: int, cells_at_once: int) -> list[list[int]]:
    users = np.repeat(np.arange(len(counts)), counts)
    items = np.concatenate([np.arange(count) for count in counts])
    of_all = qrels_from_columns(users, items, items, n_users=len(counts), relevance_level=1)
    return [users.tolist() for users in judging._users_of_blocks(of_all, n_samples, cells_at_once)]


def test_a_block_has_at_most_so_many_judgements_in_all_its_samples(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert counted([4, 0, 1, 2, 3, 3, 5], 1, 24) == [[1, 2, 3, 4], [0, 5, 6]]
    assert counted([4, 0, 1, 2, 3, 3, 5], 4, 24) == [[1], [2], [3, 4], [5], [0], [6]]
    assert counted([4, 0, 1, 2, 3, 3, 5], 1000, 24) == [[1], [2], [3], [4], [5], [0], [6]]
    monkeypatch.setattr(judging, "USERS_AT_ONCE", 3)
    assert counted([1] * 7, 1, 24) == [[0, 1, 2], [3, 4, 5], [6]]


def test_a_block_has_the_lists_of_as_many_runs_as_fit(
    qrels: Qrels, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [replace(RUN, system=name) for name in "abcde"]
    (whole,) = divide(runs, qrels, depth=4)
    monkeypatch.setattr(judging, "RANKS_AT_ONCE", 2 * 3 * 4)
    blocks = list(divide(runs, qrels, depth=4))
    assert [block.first_system for block in blocks] == [0, 2, 4]
    systems = [lists for block in blocks for lists in block.systems]
    assert [lists.run.system for lists in systems] == ["a", "b", "c", "d", "e"]
    for lists, in_one_block in zip(systems, whole.systems, strict=True):
        np.testing.assert_array_equal(lists.judgements, in_one_block.judgements)


def test_lists_are_cut_or_end_with_empty_ranks(qrels: Qrels) -> None:
    (block,) = divide([RUN], qrels, depth=2)
    assert block.systems[0].judgements.tolist() == [[2, -1, -1], [0, 4, -1]]
    assert block.systems[0].lengths.tolist() == [2, 2, 0]
    (block,) = divide([RUN], qrels, depth=6)
    assert block.systems[0].judgements.shape == (6, 3)
    assert block.systems[0].judgements[4:].tolist() == [[-1] * 3] * 2
    assert block.systems[0].lengths.tolist() == [4, 2, 0]


def test_judged_ranks_move_up_and_know_where_they_were(qrels: Qrels) -> None:
    (block,) = divide([RUN], qrels, depth=5, hits_only=True)
    (lists,) = block.systems
    assert lists.judgements.tolist() == [[2, 4, -1], [0, -1, -1], [1, -1, -1]]
    assert lists.lengths.tolist() == [4, 2, 0]
    assert lists.listed_ranks is not None
    assert (lists.listed_ranks.depth, lists.listed_ranks.ranks(3).T.tolist()) == (
        5,
        [[1, 2, 6], [2, 6, 6], [4, 6, 6]],
    )
    assert lists.items(block.users, qrels).tolist() == [[3, 8, -1], [0, -1, -1], [1, -1, -1]]


def test_nothing_is_listed_and_no_rank_is_judged(qrels: Qrels) -> None:
    empty = Run("e", np.full((3, 2), -1, dtype=np.int32))
    (block,) = divide([empty], qrels, depth=2, hits_only=True)
    assert block.systems[0].judgements.shape == (0, 3)


def test_samples_must_have_a_row_of_masks_for_each_judgement(qrels: Qrels) -> None:
    with pytest.raises(ValueError, match="masks of shape \\(6, 2\\) do not fit 7 judgements"):
        Samples.of_masks(qrels, Catalogue(10), np.ones((6, 2), dtype=bool))


def test_rows_are_the_samples_of_one_user_after_the_other(qrels: Qrels) -> None:
    kept = np.array([[1, 0], [1, 1], [0, 1], [1, 1], [1, 0], [1, 1], [0, 1]], dtype=bool)
    samples = Samples.of_masks(qrels, Catalogue(10), kept)
    (block,) = divide([RUN], qrels, depth=4)
    (judged,) = block.judge(samples)
    nan = np.nan
    np.testing.assert_array_equal(
        judged.grades,
        [[nan, 2, nan, -1], [1, nan, nan, -1], [nan, 2, nan, nan], [nan] * 4, *[[nan] * 4] * 2],
    )
    np.testing.assert_array_equal(
        judged.judgements,
        [
            [2, -1, nan, 4],
            [nan, -1, 1, 4],
            [2, nan, nan, nan],
            [nan] * 4,
            [0, nan, nan, nan],
            [0, 3, nan, nan],
        ],
    )
    assert judged.n_retrieved.tolist() == [4, 4, 2, 2, 0, 0]
    assert judged.relevance_level == 2
    assert judged.users.tolist() == [0, 0, 1, 1, 2, 2]
    assert judged.items[::2].tolist() == LISTS.tolist()
    assert judged.judged_items[::2].tolist() == [[0, 1, 3, 5], [8, -1, -1, -1], [2, 4, -1, -1]]


def test_one_sample_is_seen_as_one_of_several(qrels: Qrels) -> None:
    kept = np.array([[1], [0], [1], [0], [1], [1], [0]], dtype=bool)
    (block,) = divide([RUN], qrels, depth=4)
    (one,) = block.judge(Samples.of_masks(qrels, Catalogue(10), kept))
    (two,) = block.judge(Samples.of_masks(qrels, Catalogue(10), np.repeat(kept, 2, axis=1)))
    np.testing.assert_array_equal(one.grades, two.grades[::2])
    np.testing.assert_array_equal(one.judgements, two.judgements[1::2])


def scoring(function: Any, **facts: Any) -> Metric:
    return Metric("own", function, source="here", high=np.inf, **facts)


def needed(metric: Metric, *, n_users: int = 20, cutoff: int | None = 5) -> Needs:
    run, qrels = random_case(8, n_users=n_users, n_items=60, depth=20, n_judged=20)
    measures, metrics = [Measure("own", cutoff)], {"own": metric}
    catalogue = known_items()
    (needs,) = needs_of([run], qrels, measures, metrics, catalogue, depth=20)
    return needs


def lengths(judged: Judged, *, cutoff: int | None = None) -> NDArray[np.float64]:
    return judged.n_retrieved.astype(float)


def hits(judged: Judged, *, cutoff: int | None = None) -> NDArray[np.float64]:
    return judged.hits(cutoff)


def unjudged(judged: Judged, *, cutoff: int | None = None) -> NDArray[np.float64]:
    return np.isnan(judged.grades[:, :cutoff]).sum(axis=1).astype(float)


def slightly_unjudged(judged: Judged, *, cutoff: int | None = None) -> NDArray[np.float64]:
    return judged.hits(cutoff) + 1e-11 * unjudged(judged, cutoff=cutoff)


def hardly_unjudged(judged: Judged, *, cutoff: int | None = None) -> NDArray[np.float64]:
    return judged.hits(cutoff) + 1e-14 * unjudged(judged, cutoff=cutoff)


def fifth_column(judged: Judged, *, cutoff: int | None = None) -> NDArray[np.float64]:
    return np.nan_to_num(judged.grades[:, 19])


@pytest.mark.parametrize(
    ("metric", "needs"),
    [
        (scoring(lengths), "nothing"),
        (scoring(hits), "judged ranks"),
        (scoring(hits, per_user=True), "all ranks"),
        (scoring(unjudged), "all ranks"),
        (scoring(slightly_unjudged), "all ranks"),
        (scoring(hardly_unjudged), "judged ranks"),
        (scoring(fifth_column), "all ranks"),
    ],
)
@pytest.mark.parametrize("n_users", [4, 20])
def test_a_metric_needs_the_cheapest_of_what_changes_no_score(
    metric: Metric, n_users: int, needs: Needs
) -> None:
    assert needed(metric, n_users=n_users) == needs


def test_about_400_users_are_tried_each_with_all_half_a_tenth_and_none_of_the_judgements() -> None:
    seen = []

    def counting(judged: Judged, *, cutoff: int | None = None) -> NDArray[np.float64]:
        counts = np.count_nonzero(judged.judgements >= 0, axis=1)
        seen.append(counts)
        return counts.astype(float)

    for n_users, rows in ((1, 400), (20, 400), (399, 798), (400, 400), (1000, 500)):
        seen.clear()
        assert needed(scoring(counting), n_users=n_users) == "judged ranks"
        of_shares = np.concatenate(seen)[: 4 * rows].reshape(-1, 4)
        assert len(np.concatenate(seen)) == 2 * 4 * rows  # of all ranks, and of judged ranks alone
        assert (of_shares[:, 0] == 20).all()
        assert of_shares[:, 1].mean() == pytest.approx(10, abs=0.5)
        assert of_shares[:, 2].mean() == pytest.approx(2, abs=0.3)
        assert (of_shares[:, 3] == 0).all()


def test_hits_are_those_of_one_user_after_the_other_system_by_system(qrels: Qrels) -> None:
    other = Run("o", np.array([[5, 2], [1, 8], [4, 2]], dtype=np.int32))
    found = find_hits([RUN, other], qrels, depth=3)
    # By falling grade: items 5, 0, 3 and 1 of the first user, 4 and 2 of the last.
    assert found.order.tolist() == [3, 0, 2, 1, 4, 6, 5]
    assert found.gains.tolist() == [4, 2, 1, 0, 2, 3, 0]
    good, bad = RELEVANT, NONRELEVANT
    assert found.relevance.tolist() == [good, good, bad, NEITHER, good, good, bad]
    assert found.n_systems == 2
    # Of user 0: items 3 and 0 of the run, item 5 of the other; of user 1: item 8 of both.
    assert found.offsets.tolist() == [0, 2, 3, 4, 5, 5, 7]
    assert found.ranks.tolist() == [1, 2, 1, 2, 2, 1, 2]
    assert found.judgements.tolist() == [2, 1, 0, 4, 4, 5, 6]


def test_hits_are_seen_at_another_level(qrels: Qrels) -> None:
    found = find_hits([RUN], qrels, depth=4).at_level(4)
    assert found.relevance.tolist() == [
        RELEVANT,
        NONRELEVANT,
        NONRELEVANT,
        NEITHER,
        *[NONRELEVANT] * 3,
    ]
    assert (found.qrels.relevance_level, len({RELEVANT, NONRELEVANT, NEITHER})) == (4, 3)


def test_sums_are_made_for_some_groups_at_a_time(
    qrels: Qrels, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, kept = find_hits([RUN], qrels, depth=4), np.ones((7, 3), dtype=bool)
    groups = np.array([2, 0, 1])
    (whole,) = group_sums(found, kept, cutoffs=[1, 4], groups=groups)
    assert (whole[0], whole[1].shape) == (slice(0, 3), (7, 2, 1, 3, 3))
    assert whole[1][P, 1, 0].tolist() == [[0.25] * 3, [0.0] * 3, [0.25] * 3]
    # 1 system, 2 cut-offs, 8 sums, and 3 samples, or 9 that are padded to 16.
    for n_samples, cells, parts in ((3, 48, 3), (3, 96, 2), (3, 95, 3), (9, 512, 2), (9, 511, 3)):
        monkeypatch.setattr("harness.scoring.kernel.SUMS_AT_ONCE", cells)
        kept = np.ones((7, n_samples), dtype=bool)
        some = [part for part, _ in group_sums(found, kept, cutoffs=[1, 4], groups=groups)]
        assert len(some) == parts
        assert [some[0].start, some[-1].stop] == [0, 3]
    assert SUMS_AT_ONCE * 8 == 4 * 2**20
