"""Measures of a study that make sense for its data."""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pytest

from harness.study.collection import Collection
from harness.study.sensible_measures import with_sensible_measures
from harness.study.study import Study
from qrels import Qrels
from runs import InputWarning, Numbering


@dataclass
class FewFacts:
    """What a collection has to do with the choice of measures."""

    qrels: Qrels
    items: Numbering
    is_implicit: bool = False
    unit: str = "user"


def collection(n_relevant: int, n_items: int) -> Collection:
    """Two users, each with so many relevant items and one that is not."""
    grades = [*[1] * n_relevant, 0]
    qrels = Qrels(
        offsets=np.array([0, len(grades), 2 * len(grades)]),
        items=np.array([*range(len(grades))] * 2, dtype=np.int32),
        grades=np.array(grades * 2, dtype=np.int32),
        relevance_level=1,
    )
    items = Numbering.of([f"{number:05d}" for number in range(n_items)])
    return cast("Collection", FewFacts(qrels, items))


def study(**metrics: Any) -> Study:
    return Study.model_validate({"name": "s", "ratings": {"format": "world"}, "metrics": metrics})


def test_measures_that_are_another_one_are_left_out() -> None:
    with pytest.warns(InputWarning, match="every user has one relevant item: P@n is Recall@n / n"):
        sensible = with_sensible_measures(study(), collection(1, 10_000))
    assert sensible.metrics.names == ("Recall", "nDCG", "RR", "infAP")


def test_measures_that_are_named_are_kept() -> None:
    with pytest.warns(InputWarning, match="AP is RR. They order systems alike"):
        sensible = with_sensible_measures(study(names=["AP", "RR"]), collection(1, 10_000))
    assert sensible.metrics.names == ("AP", "RR")


def test_usual_cut_offs_end_where_lists_hold_half_of_the_items() -> None:
    with pytest.warns(InputWarning, match="lists down to rank 70 hold more than half of the 120"):
        sensible = with_sensible_measures(study(), collection(3, 120))
    assert sensible.metrics.cutoffs[-1] == 60


def test_deep_cut_offs_that_are_named_are_computed_and_not_reported() -> None:
    named = study(names=["P", "RR@all"], cutoffs=[10, 100])
    with pytest.warns(InputWarning, match="Report measures are at cut-off 10"):
        sensible = with_sensible_measures(named, collection(3, 120))
    assert sensible.metrics.cutoffs == (10, 100)
    assert [str(measure) for measure in sensible.measures.reported] == ["P@10", "RR"]


def test_a_study_with_many_items_is_as_it_was() -> None:
    plain = study()
    assert with_sensible_measures(plain, collection(3, 10_000)) is plain
