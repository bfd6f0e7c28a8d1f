"""Work in processes of their own, which end when the one that started them does."""

from __future__ import annotations

import os
import threading
import time
from typing import Any

import joblib


def processes(n_jobs: int, **options: Any) -> joblib.Parallel:
    """Give workers of joblib in processes that outlive this one by half a second at most.

    Parameters
    ----------
    n_jobs
        Number of workers; with one, this process works.
    options
        See `joblib.Parallel`.
    """
    return joblib.Parallel(n_jobs, initializer=end_with, initargs=(os.getpid(),), **options)


def end_with(parent: int) -> None:
    """End this process when its parent is gone: left alone, joblib's workers would wait for ever.

    A parent that ended before this was called is gone, too.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
