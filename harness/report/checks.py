"""Checks of a finished study: one list of cautions, the most important first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from analyses.shared.sentences import listed, paired, plural
from harness.metrics.shared.names import parse_name
from harness.readers.scores import SCORES_FILE, scores_from_parquet
from harness.report.study_folder import FinishedStudy
from runs.shared.arrays import Floats

BECOMES: Mapping[str, str] = {
    "bpref": "equals Recall",
    "infAP": "is close to Recall",
    "infAP_trec": "equals AP",
    "AUC": "is 0",
}
"""Values of metrics for a user without judged non-relevant items."""

GRADED = "nDCG"
"""The metric that grades below the relevance level count for."""


@dataclass(frozen=True)
class Check:
    """A caution, and the metrics that it is about; none if it is about all."""

    sentence: str
    metrics: tuple[str, ...] = ()


def checks_of(study: FinishedStudy) -> list[Check]:
    """Check a finished study; each caution is given once, the most important first."""
    found: dict[str, Check] = {}
    weightiest_first = (_of_judgements, _of_input, _of_systems_alike, _of_results)
    for checks in weightiest_first:
        for check in checks(study):
            found.setdefault(check.sentence, check)
    return list(found.values())


def judgement_checks(
    facts: Mapping[str, Any], metrics: Iterable[str], unit: str
) -> Iterator[Check]:
    """Count users, or topics, that some metrics cannot use, from counts of judgements."""
    names = [*metrics]
    without = facts.get(f"{plural(unit)} without judged non-relevant items", 0)
    become = {name: BECOMES[base] for name in names if (base := parse_name(name).name) in BECOMES}
    if without and become:
        told = listed([f"{name} {value}" for name, value in become.items()])
        sentence = f"{_counted(without, facts, unit)} no judged non-relevant item: for them {told}."
        yield Check(sentence, tuple(become))
    emptied = facts.get(f"{plural(unit)} without relevant items", 0)
    if emptied:
        graded = any(parse_name(name).name == GRADED for name in names)
        but = f", except {GRADED}, which also uses low grades" if graded else ""
        yield Check(
            f"{_counted(emptied, facts, unit)} no relevant item: for them all scores are 0{but}."
        )


def _counted(count: int, facts: Mapping[str, Any], unit: str) -> str:
    n_users = facts.get(plural(unit), 0)
    share = f"{count / n_users:.0%}".replace("%", " %")
    have = "has" if count == 1 else "have"
    return f"{count:,} of the {n_users:,} {plural(unit)} ({share}) {have}"


def _of_judgements(study: FinishedStudy) -> Iterator[Check]:
    if "means" in study.kinds:
        yield from judgement_checks(study.manifest["collection"], study.metrics, study.unit)


def _of_input(study: FinishedStudy) -> Iterator[Check]:
    """Repeat the warnings about the input."""
    yield from map(Check, study.manifest["warnings"])


def _of_systems_alike(study: FinishedStudy) -> Iterator[Check]:
    """Name pairs of systems with identical scores."""
    pairs = _systems_alike(study)
    if pairs:
        sentence = (
            f"{paired(pairs)} have identical scores for every {study.unit} by every measure: they "
            "tie in every ordering, and each such pair adds 1 to DP over unordered pairs."
        )
        yield Check(sentence)


def _systems_alike(study: FinishedStudy) -> list[tuple[str, str]]:
    """Find pairs of systems with the same scores; these are read only if means are the same."""
    if "means" not in study.kinds:
        return []
    means = study.means
    moments = np.concatenate([means.values, means.deviations])
    if not _same_columns(moments):
        return []
    scores = scores_from_parquet((study.folder / SCORES_FILE).read_bytes())
    by_system = scores.values.swapaxes(1, 2).reshape(-1, len(scores.systems))
    return [(scores.systems[i], scores.systems[j]) for i, j in _same_columns(by_system)]


def _same_columns(values: Floats) -> list[tuple[int, int]]:
    """Number the pairs of columns that are the same."""
    pairs = combinations(range(values.shape[1]), 2)
    return [(i, j) for i, j in pairs if np.array_equal(values[:, i], values[:, j], equal_nan=True)]


def _of_results(study: FinishedStudy) -> Iterator[Check]:
    """Give the cautions of the analyses."""
    for _, result in study.results():
        yield from map(Check, result.cautions())
