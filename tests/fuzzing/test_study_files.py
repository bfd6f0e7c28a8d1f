"""Mutated study files are refused in a sentence, or are studies."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

import pytest
import tomli_w

from harness.study.run import check
from harness.study.study import Study
from runs import InputError
from tests.harness.small import TREC, TREC_METRICS, WHOLE, write_collection

OPTIONS = """
[figures]
measures = ["P@5"]
width = 3.0
height = 2.0
font_size = 8.0
palette = "viridis"
[analyses.systems]
permutations = 99
"""
WRONG = [
    *(0, -1, 2**31, 2**63, 10**30, 0.5, 1e308, -1e308, float("inf"), float("nan"), True, False),
    *("", "x", "../x", "/", "a\nb", "\x00", "é" * 50, "$x_2$", "nDCG@0", "P@1e9", "P(rel=x)@5"),
    *([], [[]], ["x"], [1, 1], [-5], [1e308], {}, {"a": 1}, {"x": {"y": {"z": 1}}}),
]
"""Values that hardly any key takes."""

N_MUTANTS = 40


def keys_of(table: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Go through the keys of a study file, those of its tables, too."""
    for key, value in table.items():
        yield (*path, key)
        if isinstance(value, dict):
            yield from keys_of(value, (*path, key))


def mutated(study: dict[str, Any], random: Random) -> dict[str, Any]:
    """Give a key another value or name, or leave it out."""
    mutant = deepcopy(study)
    *folder, key = random.choice([*keys_of(mutant)])
    table = mutant
    for name in folder:
        table = table[name]
    match random.choice(["value", "value", "name", "nothing"]):
        case "value":
            table[key] = random.choice(WRONG)
        case "name":
            table[key + random.choice(["s", "_", " "])] = table.pop(key)
        case "nothing":
            del table[key]
    return mutant


@pytest.mark.slow
@pytest.mark.parametrize("text", [WHOLE + OPTIONS, TREC + TREC_METRICS])
def test_a_mutated_study_file_is_refused_with_its_name_or_is_a_study(
    text: str, tmp_path: Path
) -> None:
    write_collection(tmp_path)
    random = Random(1)
    study = tomllib.loads(text)
    n_refused = 0
    for _ in range(N_MUTANTS):
        mutant = tomli_w.dumps(mutated(study, random))
        try:
            check(Study.parse(mutant, source="study.toml", base=tmp_path))
        except InputError as error:
            n_refused += 1
            message = str(error)
            assert "study.toml" in message or str(tmp_path) in message, mutant
            assert message.endswith((".", "?", ")", "`", "'")), message
    assert n_refused > N_MUTANTS / 2
