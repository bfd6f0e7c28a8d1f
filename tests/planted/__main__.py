"""Plant faults one at a time, and list those that no test sees: ``python -m tests.planted``.

The tree is copied, so that nothing is changed here. A fault is seen if the tests related to it fail
within the time given; before, all of these tests pass. The exit code is 1 if one is not seen, and
2 if none could be planted.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from tests.planted.fault import Fault, read_faults

TREE = Path(__file__).parents[2]
LEFT_OUT = shutil.ignore_patterns(".*", "docs", "build")
QUIETLY = ("-x", "-q", "-p", "no:cacheprovider", "--hypothesis-profile=quick")
"""What hypothesis tries is the same each time, and as little as with ``make check``."""

PASSED, FAILED = 0, 1
"""Exit codes of pytest; others say that tests were not found, or could not be run."""


def main() -> int:
    """Plant each fault whose name or file has the text that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="faults whose name or file has this text")
    parser.add_argument("--seconds", type=float, default=600.0, help="longest time of the tests")
    arguments = parser.parse_args()
    faults = [f for f in read_faults() if arguments.only in f.name or arguments.only in f.file]
    with TemporaryDirectory() as folder:
        tree = Path(shutil.copytree(TREE, Path(folder) / "tree", ignore=LEFT_OUT))
        related = dict.fromkeys(test for fault in faults for test in fault.tests)
        if (
            not faults
            or run_tests(tree, related, seconds=len(faults) * arguments.seconds) != PASSED
        ):
            print("Nothing was planted: there is no such fault, or a related test fails without.")
            return 2
        survivors = [f for f in faults if not is_seen(f, tree, seconds=arguments.seconds)]
    for fault in survivors:
        print(f"Survived {', '.join(fault.tests)}: {fault.name} ({fault.file}).")
    print(f"{len(faults) - len(survivors)} of {len(faults)} planted faults are seen.")
    return 1 if survivors else 0


def is_seen(fault: Fault, tree: Path, *, seconds: float) -> bool:
    """Tell whether the related tests fail with the fault."""
    start = perf_counter()
    with fault.planted(tree):
        code = run_tests(tree, fault.tests, seconds=seconds)
    findings = {FAILED: "seen", PASSED: "SURVIVED", None: "TOO SLOW"}
    finding = findings.get(code, f"NOT TESTED (exit code {code})")
    print(f"{finding}, {perf_counter() - start:.0f} s: {fault.name}", file=sys.stderr, flush=True)
    return code == FAILED


def run_tests(tree: Path, tests: Iterable[str], *, seconds: float) -> int | None:
    """Run tests of a tree up to the first that fails; give no exit code where time was short."""
    command = [sys.executable, "-m", "pytest", *QUIETLY, *tests]
    environment = os.environ | {"PYTHONPATH": str(tree)}
    try:
        done = subprocess.run(
            command, cwd=tree, env=environment, capture_output=True, text=True, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        return None
    if done.returncode != PASSED:
        print("\n".join(done.stdout.splitlines()[-3:]), file=sys.stderr)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
