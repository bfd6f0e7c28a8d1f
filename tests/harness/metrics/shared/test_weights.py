"""Recall, nDCG and DCG weighted by inverse propensities, against loops over users and items."""

from math import log2
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from harness.metrics.shared.register import built_in_metrics, find_metric
from harness.metrics.shared.weights import (
    Relevance,
    Weighting,
    mean_novelty,
    rank_discounts,
    relevance_weights,
    satisfaction,
    sum_of_discounts,
    weighting_of,
)
from harness.study.run import run_study
from harness.study.study import Study
from qrels import Catalogue, Judged, Qrels, judge
from runs import InputError, Run
from runs.shared.progress import SilentProgress
from tests.lists import random_case

METRICS = built_in_metrics()
WEIGHTED = ["Recall(beta=0.5)", "nDCG(beta=1)", "DCG(beta=0.25)", "nDCG(beta=1,gains=exp)"]
CUTOFF = 7


@pytest.fixture(scope="module")
def case() -> tuple[Run, Qrels, Catalogue]:
    run, qrels = random_case(8, n_users=30, n_items=60, depth=20, n_judged=20)
    popularity = np.random.default_rng(1).integers(0, 50, 60)
    return run, qrels, Catalogue(60, popularity=popularity)


def grades_of(qrels: Qrels, user: int) -> dict[int, int]:
    rows = slice(qrels.offsets[user], qrels.offsets[user + 1])
    return dict(zip(qrels.items[rows].tolist(), qrels.grades[rows].tolist(), strict=True))


def weights(catalogue: Catalogue, beta: float) -> NDArray[np.float64]:
    counts = np.maximum(catalogue.require("popularity"), 1)
    return np.asarray((counts / counts.max()) ** -beta)


def test_recall_is_the_estimate_of_yang_et_al(case: tuple[Run, Qrels, Catalogue]) -> None:
    run, qrels, catalogue = case
    gamma = 1.5
    counts = np.maximum(catalogue.require("popularity"), 1).astype(float)
    propensity = counts ** ((gamma + 1) / 2)
    found = find_metric("Recall(beta=1.25)", METRICS)(judge(run, qrels, catalogue), cutoff=CUTOFF)
    for user in range(qrels.n_users):
        relevant = {i for i, grade in grades_of(qrels, user).items() if grade >= 4}
        hits = relevant & set(run.items[user, :CUTOFF].tolist())
        total = sum(1 / propensity[i] for i in relevant)
        expected = sum(1 / propensity[i] for i in hits) / total if relevant else 0.0
        assert found[user] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("gains", "worth"), [("rating", float), ("exp", lambda g: 2.0**g - 1)])
def test_gains_are_weighted_in_the_list_and_in_the_ideal(
    case: tuple[Run, Qrels, Catalogue], gains: str, worth: type[float]
) -> None:
    run, qrels, catalogue = case
    weight, judged = weights(catalogue, 0.5), judge(run, qrels, catalogue)
    dcg, ndcg = (
        find_metric(f"{name}(beta=0.5,gains={gains})", METRICS)(judged, cutoff=CUTOFF)
        for name in ("DCG", "nDCG")
    )
    for user in range(qrels.n_users):
        worths = {i: worth(g) * weight[i] for i, g in grades_of(qrels, user).items()}
        listed = enumerate(run.items[user, :CUTOFF].tolist(), start=1)
        gained = sum(worths.get(i, 0.0) / log2(k + 1) for k, i in listed)
        best = sorted(worths.values(), reverse=True)[:CUTOFF]
        ideal = sum(gain / log2(k + 1) for k, gain in enumerate(best, start=1))
        assert dcg[user] == pytest.approx(gained, rel=1e-12)
        assert ndcg[user] == pytest.approx(gained / ideal if ideal else 0.0, abs=1e-12)


@pytest.mark.parametrize("name", ["Recall", "nDCG", "DCG"])
def test_a_table_of_propensities_weighs_like_popularity(
    case: tuple[Run, Qrels, Catalogue], name: str
) -> None:
    run, qrels, catalogue = case
    table = Catalogue(60, propensities=1 / weights(catalogue, 0.5))
    expected = find_metric(f"{name}(beta=0.5)", METRICS)(judge(run, qrels, catalogue))
    found = find_metric(f"{name}(propensity=table)", METRICS)(judge(run, qrels, table))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("Recall(beta=-1)", "at least 0, got -1"),
        ("nDCG(clip=1)", "below 1, got 1"),
        ("nDCG(clip=-0.1)", r"at least 0 and below 1, got -0\.1"),
        ("EPC(discount=0)", "above 0 and below 1, got 0"),
        ("EPC(discount=1)", "above 0 and below 1, got 1"),
        ("RBP(p=0)", "above 0 and below 1, got 0"),
        ("SetF(beta=0)", "above 0, got 0"),
        ("DCG(propensity=guess)", "'guess'"),
    ],
)
def test_weights_out_of_range_are_refused(name: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        find_metric(name, METRICS)


def test_a_study_without_popularity_is_refused_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "a.run").write_text("u Q0 i 1 2 a\n")
    (tmp_path / "test.qrels").write_text("u 0 i 1\n")
    text = (
        'name = "s"\n[runs]\npaths = ["a.run"]\n[qrels]\npath = "test.qrels"\n'
        '[metrics]\nnames = ["Recall(beta=0.5)"]\n'
    )
    changes = {"output": str(tmp_path / "study")}
    study = Study.parse(text, source="study.toml", base=tmp_path, changes=changes)
    with pytest.raises(InputError, match=r'line 7: .*popularity = "counts.csv" in \[items\]'):
        run_study(study, n_jobs=1, progress=SilentProgress())
    assert not (tmp_path / "study").exists()


def test_a_study_weighs_items_by_given_counts(tmp_path: Path) -> None:
    (tmp_path / "a.run").write_text("u Q0 i 1 2 a\nu Q0 j 2 1 a\n")
    (tmp_path / "b.run").write_text("u Q0 j 1 2 b\n")
    (tmp_path / "test.qrels").write_text("u 0 i 1\nu 0 j 1\n")
    (tmp_path / "counts.csv").write_text("item,count\ni,3\nj,1\n")
    text = (
        'name = "s"\n[runs]\npaths = ["*.run"]\n[qrels]\npath = "test.qrels"\n'
        '[metrics]\nnames = ["Recall(beta=1)", "P"]\ncutoffs = [1]\n'
        '[items]\npopularity = "counts.csv"\n[analyses]\nnames = []\n'
    )
    changes = {"output": str(tmp_path / "study")}
    study = Study.parse(text, source="study.toml", base=tmp_path, changes=changes)
    run_study(study, n_jobs=1, progress=SilentProgress())
    means = (tmp_path / "study" / "tables" / "means.csv").read_text()
    assert "a,Recall(beta=1),1,0.25," in means
    assert "b,Recall(beta=1),1,0.75," in means


@pytest.mark.parametrize(
    ("table", "key", "sentence"),
    [
        ("item,count\ni,1.5\nj,1\n", "popularity", "must be a whole number, got 1.5"),
        ("item,count\ni,-1\n", "popularity", r"line 2: the count of an item must be at least 0"),
        ("item,p\ni,0.5\n", "propensities", "1 judged items have no propensity, the first is 'j'"),
        ("item,p\ni,0.5\nj,1.5\n", "propensities", r"line 3: the propensity .* to 1, got 1.5"),
        ("item,p\ni,0.5\ni,1\n", "propensities", r"line 3: item 'i' is duplicated"),
    ],
)
def test_a_table_that_breaks_a_rule_is_refused(
    tmp_path: Path, table: str, key: str, sentence: str
) -> None:
    (tmp_path / "a.run").write_text("u Q0 i 1 2 a\nu Q0 j 2 1 a\n")
    (tmp_path / "b.run").write_text("u Q0 j 1 2 b\n")
    (tmp_path / "test.qrels").write_text("u 0 i 1\nu 0 j 1\n")
    (tmp_path / "table.csv").write_text(table)
    text = (
        'name = "s"\n[runs]\npaths = ["*.run"]\n[qrels]\npath = "test.qrels"\n'
        f'[metrics]\nnames = ["P"]\ncutoffs = [1]\n[items]\n{key} = "table.csv"\n'
    )
    changes = {"output": str(tmp_path / "study")}
    study = Study.parse(text, source="study.toml", base=tmp_path, changes=changes)
    with pytest.raises(InputError, match=sentence):
        run_study(study, n_jobs=1, progress=SilentProgress())


def test_all_items_weigh_alike_unless_an_exponent_or_a_table_is_given() -> None:
    assert weighting_of(0, "popularity", 0.5) is None
    assert weighting_of(0.5, "popularity", 0.1) == Weighting(0.5, "popularity", 0.1)
    assert weighting_of(0, "table", 0.0) == Weighting(0, "table", 0.0)


@pytest.mark.parametrize(
    ("clip", "expected"), [(0.0, [4**0.5, 4**0.5, 1, 2**0.5]), (0.6, [1 / 0.6, 1 / 0.6, 1, 2**0.5])]
)
def test_an_item_weighs_the_inverse_of_its_share_of_the_most_popular(
    clip: float, expected: list[float]
) -> None:
    """Items without ratings are as if they had one."""
    catalogue = Catalogue(4, popularity=np.array([0, 1, 4, 2]))
    found = Weighting(0.5, "popularity", clip).weights_of(
        np.array([[0, 1], [2, 3], [-1, 0]]), catalogue
    )
    expected = [*expected, 0, expected[0]]
    np.testing.assert_allclose(found, np.reshape(expected, (3, 2)))


def test_a_table_gives_the_chances_themselves() -> None:
    catalogue = Catalogue(3, propensities=np.array([0.5, 0.1, 1]))
    found = Weighting(9, "table", 0.2).weights_of(np.array([0, 1, 2, -1]), catalogue)
    assert found.tolist() == [2, 5, 1, 0]


def test_nothing_was_rated_and_all_weigh_1() -> None:
    catalogue = Catalogue(2, popularity=np.zeros(2, dtype=int))
    assert Weighting(1, "popularity", 0)(catalogue).tolist() == [1, 1, 0]


def test_ranks_are_looked_at_less_and_less() -> None:
    ranks = np.array([1, 2, 3, 7])
    assert rank_discounts(ranks, "none").tolist() == [1, 1, 1, 1]
    np.testing.assert_allclose(rank_discounts(ranks, "log2"), [1, 1 / log2(3), 0.5, 1 / 3])
    np.testing.assert_allclose(rank_discounts(ranks, 0.5), [1, 0.5, 0.25, 1 / 64])


GRADED = Judged(
    np.array([[2.0, np.nan, 0.0, 1.0], [1.0, np.nan, np.nan, np.nan]]),
    np.array([[3.0, 2.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0]]),
    relevance_level=2,
    lengths=np.array([4, 2]),
)


@pytest.mark.parametrize(
    ("relevance", "expected"),
    [
        ("none", [[1, 1, 1, 1], [1, 1, 1, 1]]),
        ("binary", [[1, 0, 0, 0], [0, 0, 0, 0]]),
        ("graded", [[3 / 8, 0, 0, 1 / 8], [1 / 2, 0, 0, 0]]),
    ],
)
def test_an_item_is_worth_what_is_known_of_it(
    relevance: Relevance, expected: list[list[float]]
) -> None:
    assert relevance_weights(GRADED, relevance).tolist() == expected


@pytest.mark.parametrize(("top", "scale"), [(3, [8, 8]), (4, [16, 16]), (None, [8, 2])])
def test_the_top_of_the_scale_satisfies_most(top: int | None, scale: list[int]) -> None:
    found = satisfaction(GRADED, top=top)
    assert found.tolist() == [[3 / scale[0], 0, 0, 1 / scale[0]], [1 / scale[1], 0, 0, 0]]


def test_a_grade_above_the_top_is_refused() -> None:
    with pytest.raises(InputError, match="`top` is 2, but the qrels hold the grade 3"):
        satisfaction(GRADED, top=2)


@pytest.mark.parametrize(
    ("cutoff", "expected"), [(None, [1.875, 1.5]), (3, [1.75, 1.5]), (1, [1, 1]), (9, [1.875, 1.5])]
)
def test_ranks_are_looked_at_down_to_the_cut_off_or_the_end(
    cutoff: int | None, expected: list[float]
) -> None:
    assert sum_of_discounts(GRADED, cutoff, 0.5).tolist() == expected


def test_novelty_is_averaged_over_the_ranks_whatever_is_relevant() -> None:
    run, qrels = random_case(8, n_users=6, n_items=60, depth=20, n_judged=20)
    new = np.append(np.random.default_rng(2).random(60), 0.0)
    judged = judge(run, qrels, Catalogue(60))
    found = mean_novelty(judged, lambda _: new, cutoff=4, discount="log2", relevance="binary")
    ranks = 1 / np.log2(np.arange(2, 6))
    expected = (ranks * judged.relevant[:, :4] * new[run.items[:, :4]]).sum(axis=1) / ranks.sum()
    np.testing.assert_allclose(found, expected)
    empty = judge(Run("e", np.full((6, 3), -1, dtype=np.int32)), qrels, Catalogue(60))
    of_none = mean_novelty(empty, lambda _: new, cutoff=4, discount="log2", relevance="none")
    assert of_none.tolist() == [0] * 6
