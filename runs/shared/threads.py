"""One thread of native libraries, where speed or the last bit of a sum depends on their number."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Literal

from threadpoolctl import ThreadpoolController


def single_threaded(api: Literal["blas"] | None = None) -> AbstractContextManager[object]:
    """Let BLAS, or all libraries that have a pool of threads, work with one of them.

    Examples
    --------
    >>> from threadpoolctl import threadpool_info
    >>> with single_threaded("blas"):
    ...     {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}
    {1}
    """
    return _pools(len(sys.modules)).limit(limits=1, user_api=api)


@lru_cache(maxsize=1)
def _pools(n_modules: int) -> ThreadpoolController:
    """Find the pools of what is loaded, which takes milliseconds, once until a module is added."""
    return ThreadpoolController()
