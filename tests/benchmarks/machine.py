"""What a benchmark ran on, without which its numbers mean nothing."""

import platform
from collections.abc import Callable
from time import process_time

import numpy as np
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


def cpu_seconds(work: Callable[[], object]) -> float:
    """CPU time of this process for one call."""
    start = process_time()
    work()
    return process_time() - start
