from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from pydantic import ValidationError

from analyses.intervals.block_resampling import Resampling
from analyses.ordering import tau_b
from analyses.pools import Pools, Settings, _pools, _ranks_lost, pools
from analyses.shared.measure import Measure, Measures
from analyses.shared.work import SumSamples
from qrels import qrels_from_columns
from tests.analyses.blocks import sums_of
from tests.analyses.made import JudgedWork
from tests.analyses.test_popularity import work_of
from tests.drawn import corners_of, explained, points_of

N_USERS, N_ITEMS, DEPTH = 5, 6, 3
LISTS = np.array(
    [
        [[0, 1, 2], [3, 0, 1], [1, 4, 0], [2, 0, 5], [4, 2, 3]],
        [[1, 0, 3], [0, 1, 2], [5, 1, 4], [2, 3, 0], [0, 4, 2]],
        [[5, 2, -1], [3, 4, 5], [1, 3, 2], [1, 2, 0], [4, 0, 1]],
    ],
    dtype=np.int32,
)
"""What three systems recommend to five users; the third has two items for the first user."""


def hits_of(kept: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Count the judged items in each list: (1, n_systems, n_users, n_samples)."""
    by_user = kept.reshape(N_USERS, N_ITEMS, -1).astype(np.float64)
    hits = [
        [sum(by_user[user, item] for item in items if item >= 0) for user, items in enumerate(rows)]
        for rows in LISTS
    ]
    return np.array([hits])


def work(falling: tuple[str, ...] = ()) -> JudgedWork:
    """All items are judged for all users, and all are relevant."""
    users, items = np.divmod(np.arange(N_USERS * N_ITEMS), N_ITEMS)
    grades = np.ones(len(users), dtype=np.int32)
    qrels = qrels_from_columns(users, items, grades, n_users=N_USERS, relevance_level=1)
    return JudgedWork(
        sums_of(hits_of),
        qrels,
        Measures([Measure("hits", 3)], lower_is_better_for=falling),
        n_systems=3,
        recommended={f"s{number}": rows for number, rows in enumerate(LISTS)},
    )


def kept_in_pool(pooling: list[int], depth: int) -> NDArray[np.bool_]:
    """Mark the judgements of the first items of some systems, (n_judgements,)."""
    marks = np.zeros((N_USERS, N_ITEMS), dtype=np.bool_)
    for system in pooling:
        for user, items in enumerate(LISTS[system]):
            marks[user, [item for item in items[:depth] if item >= 0]] = True
    return marks.ravel()


def places(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks from 1, the highest score; ties share one."""
    higher = np.array([(scores > score).sum() for score in scores])
    level = np.array([(scores == score).sum() for score in scores])
    return higher + (level + 1) / 2


def test_a_pool_without_a_system_lacks_what_it_alone_brings() -> None:
    tops = np.array([[True, True], [True, False], [False, True], [False, False]])
    assert _pools(tops).T.astype(int).tolist() == [[1, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 0]]


def test_places_are_counted_by_hand() -> None:
    # Systems a, b, c; pools of all, without a, without b, without c.
    means = np.array([[0.9, 0.4, 0.9, 0.9], [0.5, 0.5, 0.2, 0.5], [0.3, 0.3, 0.3, 0.1]])
    # Without its items a falls behind b, b behind c; c was last.
    assert _ranks_lost(means).tolist() == [1.0, 1.0, 0.0]


def test_systems_that_tie_share_their_places() -> None:
    means = np.array([[0.9, 0.5, 0.9], [0.5, 0.5, 0.5]])
    assert _ranks_lost(means).tolist() == [0.5, 0.0]


@pytest.fixture
def found() -> Pools:
    return pools(work_of(), Settings(depths=(1, 5), replicates=20))


def test_who_brings_nothing_alone_does_not_fall(found: Pools) -> None:
    needless = found.n_own == 0
    assert (found.falls[..., 0][:, needless] == 0).all()


def test_the_pool_has_the_items_at_the_depth_or_above(found: Pools) -> None:
    """Both users are recommended items 0 and 1 by the one system, 2 and 3 by the other."""
    assert found.n_kept.tolist() == [4, 8]
    assert found.n_own.tolist() == [[2, 2], [4, 4]]
    assert (found.n_judgements, found.n_users) == (8, 2)


def test_a_system_falls_by_the_score_of_the_items_that_it_alone_brings(found: Pools) -> None:
    """System a has 2 and b 1; a without its items has 0, b is last anyway."""
    assert found.falls[0, :, :, 0].tolist() == [[1, 0], [1, 0]]
    assert found.taus[0, :, 0].tolist() == [1, 1]


@pytest.mark.parametrize(("falling", "sign"), [((), 1), (("hits",), -1)])
def test_every_pool_and_resample_is_scored_by_its_judgements(
    falling: tuple[str, ...], sign: int
) -> None:
    """By brute force; where lower scores are better, places are in the order of rising scores."""
    found = pools(work(falling), Settings(depths=(1, 2, 3), replicates=15))
    resampling = Resampling.of(N_USERS, replicates=15, seed=0)
    weights = np.vstack([np.ones(N_USERS), resampling.weights[:, resampling.blocks]])
    everything = np.ones(N_USERS * N_ITEMS, dtype=np.bool_)
    truths = hits_of(everything)[0, :, :, 0] @ weights.T
    for number, depth in enumerate((1, 2, 3)):
        whole = kept_in_pool([0, 1, 2], depth)
        assert found.n_kept[number] == whole.sum()
        totals = hits_of(whole)[0, :, :, 0] @ weights.T
        np.testing.assert_allclose(found.taus[0, number], tau_b(totals.T, truths.T))
        for system in range(3):
            others = [other for other in range(3) if other != system]
            without = kept_in_pool(others, depth)
            assert found.n_own[number, system] == whole.sum() - without.sum()
            left = hits_of(without)[0, :, :, 0] @ weights.T
            for replicate in range(16):
                lost = (
                    places(sign * left[:, replicate])[system]
                    - places(sign * totals[:, replicate])[system]
                )
                assert found.falls[0, number, system, replicate] == lost


def stated(**changes: Any) -> Pools:
    """Two measures, two depths and three systems, with 40 replicates of whole numbers."""
    rng = np.random.default_rng(5)
    taus = np.concatenate([np.array([[[0.5], [0.9]], [[0.4], [0.8]]]), rng.random((2, 2, 40))], 2)
    falls = rng.integers(-2, 3, size=(2, 2, 3, 41)).astype(np.float64)
    falls[..., 0] = np.array([[[0, 1, 2], [0, 0, 1.5]], [[0, 0, 1], [-1, 0, 1]]])
    facts: dict[str, Any] = {
        "measures": Measures([Measure("P", 5), Measure("AP", 5)]),
        "systems": ("a", "b", "c"),
        "depths": (5, 20),
        "taus": taus,
        "falls": falls,
        "n_kept": np.array([30, 70]),
        "n_own": np.array([[1, 2, 3], [4, 5, 6]]),
        "n_judgements": 80,
        "n_users": 7,
    }
    return Pools(**facts | changes)


def test_frames_have_the_middle_95_percent_of_the_replicates() -> None:
    result = stated()
    frames = result.frames()
    row = frames["pools"].query("metric == 'AP' and depth == 20").iloc[0]
    assert (row.judgements, row.tau) == (70, 0.8)
    assert [row.low, row.high] == pytest.approx(
        np.quantile(result.taus[1, 1, 1:], [0.025, 0.975]).tolist()
    )
    mean_falls = result.falls[1, 1].mean(axis=0)
    assert row.fall == mean_falls[0] == 0
    limits = np.quantile(mean_falls[1:], [0.025, 0.975])
    assert [row.fall_low, row.fall_high] == pytest.approx(limits.tolist())
    of_system = frames["pools_left_out"].query("metric == 'P' and depth == 20 and system == 'c'")
    row = of_system.iloc[0]
    assert (row.fall, row.own_judgements) == (1.5, 6)
    limits = np.quantile(result.falls[0, 1, 2, 1:], [0.025, 0.975])
    assert [row.low, row.high] == pytest.approx(limits.tolist())


def test_the_table_has_the_mean_fall_by_depth() -> None:
    table = stated().table()
    assert table.headings == ["measure", "top 5", "top 20"]
    rows = [[*row] for row in table.rows]
    assert rows == [["P@5", 1.0, 0.5], ["AP@5", pytest.approx(1 / 3), 0.0]]


def test_the_finding_has_the_mean_fall_at_the_first_depth_from_the_least() -> None:
    (sentence,) = stated().findings()
    assert ".33 by AP@5, 1.00 by P@5" in sentence


def test_the_caption_has_the_share_of_the_judgements_at_the_first_depth() -> None:
    assert "37.5 %" in stated().caption()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["taus", "falls"])
def test_curves_and_bands_are_the_values_and_limits_of_the_frame(name: str) -> None:
    result = stated()
    ax = result.plot() if name == "taus" else result.plot_falls()
    frame = result.frames()["pools"].query("metric == 'AP'")
    value, low, high = (
        ("tau", "low", "high") if name == "taus" else ("fall", "fall_low", "fall_high")
    )
    (curve,) = [line for line in ax.lines if line.get_label() == "AP@5"]
    assert points_of(curve) == [*zip(frame["depth"], frame[value], strict=True)]
    (band,) = [one for one in ax.collections if str(one.get_label()).endswith("AP@5")]
    corners = corners_of(band)
    for _, row in frame.iterrows():
        assert {(row.depth, round(row[low], 9)), (row.depth, round(row[high], 9))} <= corners


def test_without_replicates_there_are_no_bands() -> None:
    result = stated()
    alone = replace(result, taus=result.taus[..., :1], falls=result.falls[..., :1])
    assert not alone.plot().collections
    assert alone.frames()["pools"][["low", "high", "fall_low", "fall_high"]].isna().all(axis=None)


def test_settings_have_their_defaults_and_bounds() -> None:
    settings = Settings()
    assert (settings.depths, settings.replicates) == ((5, 10, 20, 50, 100), 200)
    Settings(depths=(1,), replicates=0)
    for refused in ({"depths": ()}, {"replicates": -1}):
        with pytest.raises(ValidationError):
            Settings.model_validate(refused)


def test_samples_are_announced_for_all_pools_of_each_depth() -> None:
    """At two depths, the pool of all and those without one of three systems."""
    announced: list[int] = []

    @dataclass(frozen=True, eq=False)
    class Announced(JudgedWork):
        def rescorer(self, n_samples: int) -> SumSamples:
            announced.append(n_samples)
            return self.sum_samples

    plain = work()
    facts = {name: getattr(plain, name) for name in ("sum_samples", "qrels", "measures")}
    known = Announced(**facts, n_systems=3, recommended=plain.recommended)
    pools(known, Settings(depths=(1, 2), replicates=0))
    assert announced == [2 * 4]


def test_the_axis_has_the_depths_of_the_pools() -> None:
    ax = stated().plot()
    assert [label.get_text() for label in ax.get_xticklabels()] == ["5", "20"]
    assert "(40 replicates)" in explained(ax)


def test_the_caption_has_users_systems_and_judgements() -> None:
    caption = stated().caption()
    assert "A judgement of 7 users is kept if one of 3 pooled systems" in caption
    assert "of 80 judgements at depth 5)" in caption
    (sentence,) = stated().findings()
    assert sentence.startswith("A system that is not in the pool of the top 5 items loses")


def test_the_table_is_of_the_report_measures_or_a_cutoff() -> None:
    measures = Measures([Measure("P", 5), Measure("P", 10)])
    result = stated(measures=measures)
    assert [row[0] for row in result.table().rows] == ["P@10"]
    assert [row[1] for row in result.table(cutoff=5).rows] == [1.0]
    assert [row[1] for row in result.table().rows] == [pytest.approx(1 / 3)]
