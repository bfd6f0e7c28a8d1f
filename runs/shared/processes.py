"""Work in processes of their own, which end when the one that started them does."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from typing import Any

import joblib

from runs.shared.cluster import ClusterWorkers, cluster_in_use


def processes(
    n_jobs: int,
    *,
    return_as: str,
    needs: Iterable[int] = repeat(0),
    here: bool = False,
    **options: Any,
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Give workers of joblib in processes that outlive this one by half a second at most.

    Within `runs.shared.cluster.processes_on_cluster` they are those of the cluster.

    Parameters
    ----------
    n_jobs
        Number of workers; with one, this process works.
    return_as, options
        See `joblib.Parallel`; ``prefer="threads"`` asks for threads if there is no cluster.
    needs
        Bytes of memory that each task takes, for the workers of a cluster; ``n_jobs`` is for
        those here.
    here
        Whether they need what only this machine has.
    """
    client = cluster_in_use()
    if client is not None and not here:
        return ClusterWorkers(client, needs, in_order=return_as == "generator")
    if options.get("prefer") != "threads":
        options |= {"initializer": end_with, "initargs": (os.getpid(),)}
    workers: Callable[[Iterable[Any]], Iterator[Any]]
    workers = joblib.Parallel(n_jobs, return_as=return_as, **options)
    return workers


def end_with(parent: int) -> None:
    """End this process when its parent is gone: left alone, joblib's workers would wait for ever.

    A parent that ended before this was called is gone, too.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
