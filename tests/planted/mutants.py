"""Faults drawn at random, by Cosmic Ray's operators: ``python -m tests.planted.mutants``.

A module is drawn by its size, then one of its places, then what is written there. A mutant is seen
if the tests that mirror its module fail, or take many times as long, and pass without it. Printed
are the shares seen by package, with Wilson's 95 % interval, and the survivors; those that
`equivalent.toml` has as equivalent, with a reason, are not counted: a line, and what it becomes, or
whatever it becomes.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import sys
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from difflib import unified_diff
from functools import partial
from math import sqrt
from pathlib import Path
from queue import SimpleQueue
from random import Random
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from tests.planted.__main__ import PASSED, TREE, run_tests
from tests.planted.fault import Fault

PACKAGES = ("runs", "qrels", "recommenders", "analyses", "harness")
EQUIVALENT = Path(__file__).with_name("equivalent.toml")

OPERATORS = (
    *("ReplaceComparisonOperator_Lt_LtE", "ReplaceComparisonOperator_Lt_GtE"),
    *("ReplaceComparisonOperator_LtE_Lt", "ReplaceComparisonOperator_LtE_Gt"),
    *("ReplaceComparisonOperator_Gt_GtE", "ReplaceComparisonOperator_Gt_LtE"),
    *("ReplaceComparisonOperator_GtE_Gt", "ReplaceComparisonOperator_GtE_Lt"),
    *("ReplaceComparisonOperator_Eq_NotEq", "ReplaceComparisonOperator_NotEq_Eq"),
    *("ReplaceComparisonOperator_Is_IsNot", "ReplaceComparisonOperator_IsNot_Is"),
    *("ReplaceBinaryOperator_Add_Sub", "ReplaceBinaryOperator_Sub_Add"),
    *("ReplaceBinaryOperator_Mul_Div", "ReplaceBinaryOperator_Div_Mul"),
    *("ReplaceBinaryOperator_Pow_Mul", "ReplaceBinaryOperator_FloorDiv_Mul"),
    *("ReplaceBinaryOperator_Mod_Mul", "ReplaceBinaryOperator_BitOr_BitAnd"),
    *("ReplaceBinaryOperator_BitAnd_BitOr", "ReplaceUnaryOperator_Delete_USub"),
    *("ReplaceUnaryOperator_Delete_Not", "ReplaceUnaryOperator_Delete_Invert"),
    *("AddNot", "ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "ReplaceAndWithOr"),
    *("ReplaceOrWithAnd", "NumberReplacer", "ZeroIterationForLoop"),
)
"""Operators of Cosmic Ray that write what somebody might write by mistake."""

LEFT_OUT = shutil.ignore_patterns(".*", "build")
"""What tests do not need of the tree."""

SECONDS = 300.0
"""Longest time of the tests of a mutant; those that take longer see it."""


@dataclass(frozen=True)
class Mutant:
    """A module with one change: its path in the tree, what it was and what it becomes."""

    file: str
    before: str
    after: str

    @property
    def package(self) -> str:
        """The package, and the folder within `analyses` and `harness`."""
        parts = Path(self.file).parts
        return "/".join(parts[:2]) if parts[0] == "harness" and len(parts) > 2 else parts[0]

    @property
    def changed(self) -> list[str]:
        """The lines that differ, with their number: what was, and what is."""
        lines = unified_diff(self.before.splitlines(), self.after.splitlines(), n=0, lineterm="")
        return [line for line in lines if line[:3] not in ("---", "+++")]

    def __str__(self) -> str:
        heading, *lines = self.changed
        number = heading.split()[1].removeprefix("-").partition(",")[0]
        return "\n".join([f"{self.file}:{number}", *(f"  {line}" for line in lines)])


def drawn(seed: int) -> Iterator[Mutant]:
    """Draw mutants without end, each once."""
    random = Random(seed)
    modules = [path for package in PACKAGES for path in sorted((TREE / package).rglob("*.py"))]
    sizes = [len(path.read_text("utf-8").splitlines()) for path in modules]
    places: dict[Path, list[list[tuple[Any, int]]]] = {}
    drawn_before = set()
    while True:
        (module,) = random.choices(modules, weights=sizes)
        source = module.read_text("utf-8")
        if module not in places:
            places[module] = mutable_places(source)
        if not places[module]:
            continue
        operator, occurrence = random.choice(random.choice(places[module]))
        mutant = _mutated(module, source, operator, occurrence)
        if mutant is not None and mutant not in drawn_before:
            drawn_before.add(mutant)
            yield mutant


def mutable_places(source: str) -> list[list[tuple[Any, int]]]:
    """List the places of a module where an operator fits: the operators, and their occurrences.

    Annotations and decorators are left out, as nothing is computed from them, and the word strict
    of `zip`, which guards what has equal lengths by construction.
    """
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator

    nodes = list(ast_nodes(get_ast(source)))
    places: dict[tuple[int, int], list[tuple[Any, int]]] = {}
    for name in OPERATORS:
        operator = get_operator(f"core/{name}")()
        occurrence = 0
        for node in nodes:
            for start, _ in operator.mutation_positions(node):
                if not _is_declared(node):
                    places.setdefault(start, []).append((operator, occurrence))
                occurrence += 1
    return [places[start] for start in sorted(places)]


def _is_declared(node: Any) -> bool:
    """Tell whether a node is of what `mutable_places` leaves out.

    Beside annotations that is the bare star among parameters, and the test of ``TYPE_CHECKING``.
    """
    if node.type == "if_stmt" and getattr(node.children[1], "value", "") == "TYPE_CHECKING":
        return True
    while node.parent is not None:
        parent = node.parent
        is_type = (
            (parent.type == "tfpdef" and node is parent.children[-1])
            # What is behind the equals sign is a value.
            or (parent.type == "annassign" and node is parent.children[1])
            or (parent.type == "funcdef" and node is parent.annotation)
        )
        is_strictness = (
            parent.type == "argument" and getattr(parent.children[0], "value", "") == "strict"
        )
        if (
            is_type
            or is_strictness
            or parent.type == "decorator"
            or (parent.type == "parameters" and node.type == "operator")
        ):
            return True
        node = parent
    return False


def _mutated(module: Path, source: str, operator: Any, occurrence: int) -> Mutant | None:
    """Apply an operator; None if the result is no valid code, or the same."""
    from cosmic_ray.mutating import mutate_code

    after = mutate_code(source, operator, occurrence)
    if after is None or after == source:
        return None
    try:
        compile(after, str(module), "exec")
    except (SyntaxError, ValueError):
        return None
    return Mutant(str(module.relative_to(TREE)), source, after)


def mirror(file: str) -> list[str]:
    """Find the tests that mirror a module, and its doctests.

    ``harness/report/answer.py`` is mirrored by ``tests/harness/report/test_answer.py``; a module
    without a file of tests of its own by those of its folder, or of the nearest folder above.
    """
    path = Path(file)
    own = TREE / "tests" / path.parent / f"test_{path.stem}.py"
    if own.exists():
        return [str(own.relative_to(TREE)), file]
    folder = path.parent
    while not [*(TREE / "tests" / folder).glob("test_*.py")]:
        folder = folder.parent
    return [
        *sorted(str(p.relative_to(TREE)) for p in (TREE / "tests" / folder).glob("test_*.py")),
        file,
    ]


def is_seen(trees: SimpleQueue[Path], mutant: Mutant) -> bool | None:
    """Tell whether the tests that mirror a module fail with a mutant, in a tree that is free.

    None if they fail without it, too: then they tell nothing.
    """
    tree = trees.get()
    fault = Fault(str(mutant), mutant.file, mutant.before, mutant.after, mirror(mutant.file))
    try:
        with fault.planted(tree):
            code = run_tests(tree, fault.tests, seconds=SECONDS)
        seconds: float | None = 0.0
        if code != PASSED:
            seconds = seconds_without_mutant(tree, tuple(fault.tests))
    finally:
        trees.put(tree)
    if seconds is None:
        print(f"\nFAIL WITHOUT {mutant}\n", end="", file=sys.stderr, flush=True)
        return None
    is_slow_anyway = code is None and seconds > SECONDS / 3
    seen = code != PASSED and not is_slow_anyway
    print("." if seen else f"\nSURVIVED {mutant}\n", end="", file=sys.stderr, flush=True)
    return seen


_seconds: dict[tuple[str, ...], float | None] = {}


def seconds_without_mutant(tree: Path, tests: tuple[str, ...]) -> float | None:
    """Measure how long tests take without a mutant, once; None if they fail."""
    if tests not in _seconds:
        start = perf_counter()
        code = run_tests(tree, tests, seconds=10 * SECONDS)
        _seconds[tests] = perf_counter() - start if code == PASSED else None
    return _seconds[tests]


def equivalents() -> list[dict[str, str]]:
    """Read the mutants that change nothing that a test could see: file, old, new, reason."""
    return tomllib.loads(EQUIVALENT.read_text("utf-8")).get("mutant", [])


def is_equivalent(mutant: Mutant, known: Sequence[dict[str, str]]) -> bool:
    """Tell whether a mutant is listed as equivalent: its lines without blanks at their ends.

    Where only the line before is listed, whatever it becomes is equivalent.
    """
    lines = mutant.changed[1:]
    old = "\n".join(line[1:].strip() for line in lines if line.startswith("-"))
    new = "\n".join(line[1:].strip() for line in lines if line.startswith("+"))
    return any(
        (each["file"], each["old"].strip()) == (mutant.file, old)
        and each.get("new", new).strip() == new
        for each in known
    )


def wilson(n_seen: int, n_all: int) -> tuple[float, float]:
    """Compute Wilson's 95 % interval of a share."""
    z = 1.959964
    share = n_seen / n_all
    centre = (share + z * z / (2 * n_all)) / (1 + z * z / n_all)
    half_width = (
        z * sqrt(share * (1 - share) / n_all + z * z / (4 * n_all**2)) / (1 + z * z / n_all)
    )
    return centre - half_width, centre + half_width


def main() -> None:
    """Draw mutants, run their tests and print what was seen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=200, help="number of mutants")
    parser.add_argument("--seed", type=int, required=True, help="random seed")
    parser.add_argument("--jobs", type=int, default=2, help="mutants that are tested at a time")
    parser.add_argument("--only", default="", help="mutants of files that begin with this")
    arguments = parser.parse_args()
    known = equivalents()
    mutants: list[Mutant] = []
    for mutant in drawn(arguments.seed):
        if mutant.file.startswith(arguments.only) and not is_equivalent(mutant, known):
            mutants.append(mutant)
        if len(mutants) == arguments.sample:
            break
    with TemporaryDirectory() as folder:
        trees: SimpleQueue[Path] = SimpleQueue()
        for number in range(arguments.jobs):
            trees.put(Path(shutil.copytree(TREE, Path(folder) / f"tree{number}", ignore=LEFT_OUT)))
        with ThreadPoolExecutor(arguments.jobs) as workers:
            seen = list(workers.map(partial(is_seen, trees), mutants))
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"\n{(usage.ru_utime + usage.ru_stime) / 60:.0f} CPU-minutes\n")
    for mutant, was_seen in zip(mutants, seen, strict=True):
        if was_seen is None:
            print(f"Not counted, as the tests fail without it: {mutant}\n")
        elif not was_seen:
            print(f"{mutant}\n")
    packages = sorted({mutant.package for mutant in mutants})
    for package in [*packages, "all"]:
        results = [
            was_seen
            for mutant, was_seen in zip(mutants, seen, strict=True)
            if package in ("all", mutant.package) and was_seen is not None
        ]
        if not results:
            continue
        low, high = wilson(sum(results), len(results))
        share = sum(results) / len(results)
        counts = f"{sum(results):>4} of {len(results):>4}"
        print(f"{package:<22} {counts}  {share:.2f} [{low:.2f}, {high:.2f}]")


if __name__ == "__main__":
    main()
