"""Fixtures of the analyses' tests."""

import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Protocol

import numpy as np
import pytest

STATUS = Path("/proc/self/status")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20261121)


@pytest.fixture
def peak_megabytes() -> Iterator[Callable[[], float]]:
    """Measure the memory that numpy and Python took at most since the test began."""
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()


class WithinMemory(Protocol):
    """Runs code, after a preparation, with so many megabytes more than the preparation took."""

    def __call__(self, code: str, *, preparation: str, megabytes: int) -> None:
        """Run it; an error fails the test."""


@pytest.fixture
def within_memory() -> WithinMemory:
    """Run code in a process of its own, which gets no more data than it may take."""
    if not STATUS.is_file():
        pytest.skip(f"{STATUS} is absent: the memory of a process cannot be read here")

    def run(code: str, *, preparation: str, megabytes: int) -> None:
        limit = (
            "import re, resource\n"
            f"status = open({str(STATUS)!r}).read()\n"
            "taken = int(re.search(r'VmData:\\s+(\\d+) kB', status).group(1)) << 10\n"
            f"limit = taken + ({megabytes} << 20)\n"
            "resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))\n"
        )
        script = dedent(preparation) + limit + dedent(code)
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr

    return run
