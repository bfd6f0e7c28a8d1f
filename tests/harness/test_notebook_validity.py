"""Validity in notebooks: of scores, and of runs with their judgements."""

from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from harness import InputError, metric, score, validity
from harness.metrics.shared.metric import Metric
from qrels import Judged

N_TOPICS, N_ITEMS, SYSTEMS = 12, 14, ("a", "b", "c", "d", "e")
FEW: dict[str, Any] = {"samples": 2, "replicates": 6, "levels": [1.0, 0.5]}

Lists = dict[str, dict[str, dict[str, float]]]
Marks = dict[str, dict[str, int]]


@pytest.fixture(scope="module")
def complete() -> Marks:
    drawn = np.random.default_rng(5).random((N_TOPICS, N_ITEMS)) < 0.4
    return {f"t{t}": {f"i{i}": int(drawn[t, i]) for i in range(N_ITEMS)} for t in range(N_TOPICS)}


@pytest.fixture(scope="module")
def some(complete: Marks) -> Marks:
    """Give the judgements of every other item."""
    return {t: {i: g for i, g in own.items() if int(i[1:]) % 2} for t, own in complete.items()}


@pytest.fixture(scope="module")
def lists(complete: Marks) -> Lists:
    noise = np.random.default_rng(6).random((len(SYSTEMS), N_TOPICS, N_ITEMS))
    return {
        system: {
            topic: {
                item: grade + (n + 1) * noise[n, t, i]
                for i, (item, grade) in enumerate(own.items())
            }
            for t, (topic, own) in enumerate(complete.items())
        }
        for n, system in enumerate(SYSTEMS)
    }


def test_one_measure_of_ir_measures_is_taken(lists: Lists, some: Marks, complete: Marks) -> None:
    options: dict[str, Any] = {"qrels": some, "judgements": False, "replicates": 0}
    measure: Any = ir_measures.nDCG @ 5
    found = validity(lists, complete, measure, **options)
    named = validity(lists, complete, "nDCG@5", **options)
    pd.testing.assert_frame_equal(found.frame(), named.frame())


@pytest.mark.slow
def test_runs_are_scored_by_both_and_judgements_are_lost(
    lists: Lists, some: Marks, complete: Marks
) -> None:
    found = validity(lists, complete, ["P@5", "RR"], qrels=some, **FEW)
    assert found.truths == ("itself", "nDCG@10", "P@10")
    for judged, means in ((some, found.measured), (complete, found.true[0])):
        assert means == pytest.approx(score(lists, judged, ["P@5", "RR"]).mean_values())
    assert found.kept is not None
    assert found.popular is not None
    for curves in (found.kept, found.popular):
        assert curves.itself[:, 0].tolist() == [1.0, 1.0]
        assert curves.taus[..., 0] == pytest.approx(found.tau.values)


@metric("misses", source="P, turned round", higher_is_better=False)
def misses(judged: Judged, *, cutoff: int | None = None) -> NDArray[np.float64]:
    """Share of the first ranks that hold nothing relevant."""
    return np.asarray(1.0 - judged.relevant[:, :cutoff].mean(axis=1))


@pytest.mark.slow
def test_judgements_that_are_the_truth_make_every_measure_right(lists: Lists, some: Marks) -> None:
    measures: list[str | Metric] = ["nDCG@5", "P@5", misses @ 5]
    found = validity(lists, some, measures, qrels=some, references=["P@5"], **FEW)
    assert found.tau.values[0].tolist() == [1.0, 1.0, 1.0]
    assert found.tau.values[1, 1:].tolist() == [1.0, 1.0]
    assert found.regret.values[0].tolist() == [0.0, 0.0, 0.0]


@pytest.mark.slow
def test_scores_need_no_judgements_and_systems_no_order(lists: Lists, complete: Marks) -> None:
    true = score(lists, complete, ["P@5", "P@10"])
    backwards = {
        str(measure): pd.DataFrame(values.T, columns=list(true.systems)).iloc[:, ::-1]
        for measure, values in zip(true.measures, true.values, strict=True)
    }
    rated = {name: frame.iloc[:, ::-1] for name, frame in backwards.items()}
    found = validity(rated, backwards, replicates=FEW["replicates"])
    assert found.systems == SYSTEMS
    assert (found.truths, found.kept) == (("itself", "P@10"), None)
    assert found.tau.values[0].tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("asked", "finding"),
    [
        ({}, "a truth needs a reference, such as nDCG@10"),
        ({"references": ["AP"]}, "the truth has no scores of AP; it has P@5"),
        ({"references": ["P@5"], "tests": "t"}, "has no argument 'tests'; did you mean 'test'"),
    ],
)
def test_what_validity_cannot_be_asked_is_told(asked: dict[str, Any], finding: str) -> None:
    frame = {"P@5": pd.DataFrame({"a": [0.1, 0.2], "b": [0.3, 0.4]})}
    with pytest.raises(InputError, match=finding):
        validity(frame, frame, **asked)
