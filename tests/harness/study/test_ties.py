"""Ties in given runs: how far other orders of the tied items could move the means."""

import json
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest

from harness.metrics.shared.register import built_in_metrics, find_metric
from qrels import Judged
from tests.harness.small import run_text

GRADES = {"a": 1, "b": 0, "c": 1}
SCORES = {"t1": {"a": 2, "b": 2, "x": 2, "c": 1}, "t2": {"b": 3, "c": 3, "x": 1, "a": 1}}


def write(folder: Path, name: str, scores: dict[str, dict[str, int]]) -> None:
    lines = [
        f"{topic} Q0 {item} 1 {score} {name}"
        for topic, own in scores.items()
        for item, score in own.items()
    ]
    (folder / f"{name}.run").write_text("\n".join(lines) + "\n", encoding="utf-8")


def study_of(folder: Path) -> list[str]:
    whole = {t: {item: 9 - n for n, item in enumerate(own)} for t, own in SCORES.items()}
    write(folder, "tied", SCORES)
    write(folder, "whole", whole)
    judged = [f"{topic} 0 {item} {grade}" for topic in SCORES for item, grade in GRADES.items()]
    (folder / "q.qrels").write_text("\n".join(judged) + "\n", encoding="utf-8")
    text = """
    name = "ties"
    [runs]
    paths = ["*.run"]
    [qrels]
    path = "q.qrels"
    [metrics]
    names = ["P", "AP", "RR"]
    cutoffs = [2]
    [analyses]
    names = []
    """
    made = run_text(text, folder, output=folder / "study")
    warnings: list[str] = json.loads((made / "manifest.json").read_text())["warnings"]
    return [warning for warning in warnings if "equal scores" in warning]


@pytest.mark.parametrize("name", ["P", "AP", "RR"])
def test_the_range_is_that_of_all_orders_of_tied_items(tmp_path: Path, name: str) -> None:
    (caution,) = study_of(tmp_path)
    metric = find_metric(name, built_in_metrics())
    values = []
    for orders in product(*(permutations(own) for own in SCORES.values())):
        pairs = zip(orders, SCORES.values(), strict=True)
        if any([*map(own.__getitem__, o)] != sorted(own.values())[::-1] for o, own in pairs):
            continue
        grades = [[float(GRADES.get(item, "nan")) for item in order] for order in orders]
        judged = Judged(grades=np.array(grades), judgements=np.array([[1.0, 0.0, 1.0]] * 2))
        values.append(metric(judged, cutoff=2).mean())
    low, high = (f"{value:.3f}".removeprefix("0") for value in (min(values), max(values)))
    assert "100 % of the lists of tied" in caution
    assert f"({low} to {high})" in caution.split(f"{name}@2")[1].split(")")[0] + ")"
