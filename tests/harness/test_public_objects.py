"""What a person in a notebook sees of the public names: signatures, and how objects are printed."""

from collections.abc import Callable, Iterable, Iterator
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import harness
from analyses.sampled.samples import SampledRanks
from analyses.shared.analysis import find_analysis
from analyses.shared.result import Result, tables_of
from analyses.shared.scores import Scores
from qrels.qrels import qrels_from_columns
from runs import Run

HIGHEST = 20
"""Lines that an object may print."""

ANALYSES: dict[str, Callable[..., Any]] = {
    "discrimination": harness.discriminate,
    "systems": harness.compare_systems,
    "correlation": harness.correlate,
    "design": harness.design,
    "sparsity": harness.robustness,
    "popularity": harness.robustness,
    "validity": harness.validity,
}
MEASURES = ["nDCG@5", "P@5"]
VALUES = np.random.default_rng(7).random((5, 30, 12))


def lists(values: Iterable[Iterable[Any]]) -> dict[str, dict[str, Any]]:
    return {f"u{u}": {f"d{d}": x for d, x in enumerate(of)} for u, of in enumerate(values)}


RUNS = {f"system {number}": lists(VALUES[number]) for number in range(4)}
QRELS = lists((VALUES[4] > 0.6).astype(int))


@pytest.mark.parametrize("name", ANALYSES)
def test_keywords_have_the_defaults_of_the_settings(name: str) -> None:
    keywords = signature(ANALYSES[name]).parameters
    for setting, field in find_analysis(name).settings.model_fields.items():
        # Notebooks and commands give intervals to every pair. A grid is long: None stands for it.
        if setting != "every_pair":
            default = keywords[setting].default
            assert default == field.default or (not default and isinstance(field.default, tuple))


@pytest.mark.parametrize("function", [*ANALYSES.values(), harness.score, harness.correct])
def test_signatures_name_all_arguments(function: Callable[..., Any]) -> None:
    kinds = {each.kind for each in signature(function).parameters.values()}
    assert kinds == {Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY}


def test_the_front_shows_its_names_alone() -> None:
    assert {*harness.__all__, "nDCG", "bpref"} < {*dir(harness)}
    assert not [name for name in dir(harness) if not callable(getattr(harness, name))]


def results() -> Iterator[Result]:
    scores = harness.score(RUNS, QRELS, MEASURES)
    few: dict[str, Any] = {"replicates": 4}
    yield harness.discriminate(scores, **few)
    yield harness.correlate(scores, **few)
    yield harness.compare_systems(scores, permutations=99)
    yield harness.design(scores, **few)
    yield harness.robustness(RUNS, QRELS, MEASURES, samples=2, **few)
    yield harness.robustness(RUNS, QRELS, MEASURES, loss="popularity", **few)
    yield harness.validity(scores, scores, references=["P@5"], **few)
    ranks = SampledRanks.of([1, 2, 4] * 9, n_negatives=9, n_candidates=90)
    yield harness.correct({"a": ranks}, metrics=["AUC"], estimator="uncorrected", replicates=100)


def of_results(found: Iterator[Result]) -> Iterator[object]:
    for result in found:
        tables = [face.make(result) for face in tables_of(type(result))]
        yield from (result, result.estimates(), getattr(result, "measures", None), *tables)


def long(shown: Iterable[object]) -> list[object]:
    texts = {repr(each): each for each in shown}
    return [each for text, each in texts.items() if len(text.splitlines()) > HIGHEST]


def test_no_object_prints_its_arrays() -> None:
    systems, measures = tuple(map(str, range(99))), harness.score(RUNS, QRELS, "RR").measures
    many = Scores(np.zeros((1, 99, 30)), measures, systems, np.arange(30).astype(str))
    users, items = np.divmod(np.arange(600), 20)
    qrels = qrels_from_columns(users, items, items % 3, n_users=30, relevance_level=1)
    run = Run("a", np.arange(9000, dtype=np.int32).reshape(90, 100))
    study = harness.Study(name="many", ratings={"format": "world"})
    shown = [many, qrels, run, study, harness.nDCG @ 10, *of_results(results())]
    assert long(shown) == []


def test_nothing_of_a_finished_study_prints_its_arrays(finished: Path) -> None:
    study = harness.open_study(finished)
    kept = of_results(map(study.result, study.results))
    assert long([study, study.summary(), *map(study.table, study.tables), *kept]) == []
