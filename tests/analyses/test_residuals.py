"""Residuals: against all judgements of small lists, tried one by one."""

from collections.abc import Callable
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from analyses.residuals import Residuals, Settings, columns_in, residuals
from analyses.shared.measure import Measure, Measures
from harness.metrics.shared.register import built_in_metrics, find_metric
from qrels import Judged, Qrels
from runs import InputError

METRICS = built_in_metrics()
NAMES = ("P", "Success", "RR", "DCG", "RBP", "ERR(top=2)")
SYSTEMS = ("a", "b", "c")
TOP = 2


def some_work(seed: int, names: tuple[str, ...] = NAMES) -> Any:
    """One user, lists of up to 4 of 6 items, two of which are judged."""
    draw = np.random.default_rng(seed)
    lists = {name: draw.permutation(6)[None, :4].astype(np.int32) for name in SYSTEMS}
    lists["c"][0, 4 - seed % 4 :] = -1
    judged = np.sort(draw.permutation(6)[:2]).astype(np.int32)
    qrels = Qrels(
        np.array([0, 2]),
        judged,
        np.array([TOP, draw.integers(0, 3)], dtype=np.int32),
        relevance_level=1,
    )
    measures = [Measure(name, 3) for name in names]

    def score_lists(measure: Measure, grades: np.ndarray) -> Any:
        return find_metric(measure.metric, METRICS)(Judged(grades, grades), cutoff=measure.cutoff)

    return SimpleNamespace(
        scores=SimpleNamespace(measures=Measures(measures, reported=measures)),
        recommended=lists,
        qrels=qrels,
        accumulation=lambda measure: find_metric(measure.metric, METRICS).accumulation,
        score_lists=score_lists,
        steps=lambda label, total, items: items,
        unit="user",
    )


def every_score(work: Any) -> np.ndarray:
    """Scores of the systems under all judgements: (n_judgements, n_measures, n_systems)."""
    known = dict(zip(work.qrels.items.tolist(), work.qrels.grades.tolist(), strict=True))
    unknown = [item for item in range(6) if item not in known]
    found = []
    for grades in product(range(TOP + 1), repeat=len(unknown)):
        told = known | dict(zip(unknown, grades, strict=True)) | {-1: np.nan}
        lists = [np.array([[float(told[i]) for i in row[0]]]) for row in work.recommended.values()]
        measures = work.scores.measures
        found.append([[work.score_lists(m, own)[0] for own in lists] for m in measures])
    return np.array(found)


@pytest.mark.parametrize("seed", range(8))
def test_limits_are_those_of_all_judgements(seed: int) -> None:
    work = some_work(seed)
    found, scores = residuals(work, Settings()), every_score(work)
    np.testing.assert_allclose(found.low, scores.min(axis=0), atol=1e-12)
    np.testing.assert_allclose(found.high, scores.max(axis=0), atol=1e-12)
    differences = np.stack([scores[..., i] - scores[..., j] for i, j in ((0, 1), (0, 2), (1, 2))])
    lowest, highest = differences.min(axis=1).T, differences.max(axis=1).T
    exact = [n for n, name in enumerate(NAMES) if not name.startswith("ERR")]
    np.testing.assert_allclose(found.least[exact], lowest[exact], atol=1e-12)
    np.testing.assert_allclose(found.most[exact], highest[exact], atol=1e-12)
    assert (found.least[-1] <= lowest[-1] + 1e-12).all()
    assert (found.most[-1] >= highest[-1] - 1e-12).all()


def test_measures_without_bounds_are_refused_or_named() -> None:
    with pytest.raises(InputError, match="AP@3 and nDCG@3"):
        residuals(some_work(1, ("AP", "nDCG")), Settings())
    found = residuals(some_work(1, ("P", "ERR", "P(condensed=true)", "Recall")), Settings())
    assert found.labels == ("P@3",)
    (caution,) = found.cautions()
    assert "ERR@3, P(condensed=true)@3 and Recall@3" in caution


def test_pairs_that_are_judged_completely_are_settled() -> None:
    ones = np.ones((1, 1))
    found = Residuals(
        measures=Measures([Measure("P", 3)], reported=[Measure("P", 3)]),
        systems=("a", "b"),
        low=ones,
        high=ones,
        least=ones * 0.1,
        most=ones * 0.1,
        others=(),
        n_users=1,
        top=1.0,
    )
    assert found.settled().all()
    assert "1 under P@3" in found.findings()[0]


def test_columns_of_items_in_another_list_are_found_block_by_block(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    items = np.array([[4, 7, -1], [1, 2, 3], [5, -1, -1]])
    others = np.array([[7, 8], [3, 1], [-1, -1]])
    expected = [[-1, 0, -1], [1, -1, 0], [-1, -1, -1]]
    assert columns_in(items, others).tolist() == expected
    monkeypatch.setattr("analyses.residuals.COMPARED_AT_ONCE", 1)
    assert columns_in(items, others).tolist() == expected


@pytest.mark.slow
def test_deep_lists_of_many_users_are_compared_within_the_memory(
    rng: np.random.Generator, peak_megabytes: Callable[[], float]
) -> None:
    """All pairs of items of 300 users would take 300 MB, three times."""
    lists = rng.permuted(np.tile(np.arange(1000), (300, 1)), axis=1)
    columns = columns_in(lists, np.sort(lists, axis=1))
    np.testing.assert_array_equal(columns, lists)
    assert peak_megabytes() < 100
