"""Work in processes of their own, which end when the one that started them does."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
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
    workers: Callable[[Iterable[Any]], Generator[Any]]
    workers = joblib.Parallel(n_jobs, return_as=return_as, **options)

    def begun(tasks: Iterable[Any]) -> Iterator[Any]:
        came: list[int] = []
        with signals_kept(came):
            results = workers(tasks)
        try:
            for number in came[:1]:
                signal.raise_signal(number)
        except KeyboardInterrupt as heard:
            time.sleep(0.1)  # What ends workers fails at tasks that are not yet with them.
            results.throw(heard)
        return results

    return begun


@contextmanager
def signals_kept(came: list[int]) -> Iterator[None]:
    """Keep the signals that would interrupt: joblib cannot end workers while it starts them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ends = {signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}
    former = {each: heard for each in ends if callable(heard := signal.getsignal(each))}
    for each in former:
        signal.signal(each, lambda number, _: came.append(number))
    try:
        yield
    finally:
        for each, heard in former.items():
            signal.signal(each, heard)


def end_with(parent: int) -> None:
    """End this process when its parent is gone: left alone, joblib's workers would wait for ever.

    A parent that ended before this was called is gone, too.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
