"""What a benchmark ran on, without which its numbers mean nothing.

``python -m tests.benchmarks.machine`` prints it with the versions of all that is measured.
"""

import platform
from collections.abc import Callable
from datetime import date
from importlib.metadata import version
from time import process_time

import numpy as np
import psutil
import scipy
from threadpoolctl import threadpool_info

VECTOR_EXTENSIONS = ("neon", "asimd", "sve", "avx2", "avx512f")


def describe_machine() -> str:
    """CPU and its vector extensions, BLAS with kernels and threads, versions."""
    from cpuinfo import get_cpu_info  # type: ignore[import-untyped]

    cpu = get_cpu_info()
    extensions = [name for name in VECTOR_EXTENSIONS if name in cpu.get("flags", [])]
    blas = [
        f"{library['internal_api']} {library['version']} ({library.get('architecture')} kernels, "
        f"{library['num_threads']} threads)"
        for library in threadpool_info()
        if library["user_api"] == "blas"
    ]
    return (
        f"{cpu.get('brand_raw', platform.machine())} [{' '.join(extensions)}]; "
        f"{'; '.join(blas)}; Python {platform.python_version()}, numpy {np.__version__}, "
        f"scipy {scipy.__version__}"
    )


PEERS = (
    *("pandas", "numba", "lenskit", "pytrec-eval-terrier", "ir-measures", "implicit"),
    "scikit-learn",
)
"""Distributions that benchmarks measure, or compare with."""


def cpu_seconds(work: Callable[[], object]) -> float:
    """CPU time of this process for one call."""
    start = process_time()
    work()
    return process_time() - start


if __name__ == "__main__":
    ours = version("metric-robustness-harness")
    peers = ", ".join(f"{name} {version(name)}" for name in PEERS)
    memory = psutil.virtual_memory().total / 1e9
    print(
        f"Version {ours}, {date.today()}: {psutil.cpu_count()} threads, {memory:.0f} GB of memory."
    )
    print(f"{describe_machine()}, {peers}.")
