"""Work in other processes, here or on a Dask cluster, and in one thread of native libraries."""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from contextvars import ContextVar
from functools import lru_cache
from hashlib import sha256
from importlib import import_module
from importlib.metadata import distributions
from typing import Any, Final, Literal, TypeAlias

import joblib
from threadpoolctl import ThreadpoolController

from runs.shared.errors import InputError, needed_by, warn

delayed = joblib.delayed
"""Makes a task of a call: ``delayed(function)(argument)``."""


def run_in_threads(
    tasks: Iterable[Any], *, n_jobs: int, return_as: str = "list", in_this_process: bool = False
) -> Any:
    """Do tasks in threads of this process, or on the cluster of `on_cluster`.

    Parameters
    ----------
    tasks
        What `delayed` makes.
    n_jobs
        Number of threads.
    return_as
        How the results are returned, in the order of the tasks: "list", or "generator".
    in_this_process
        Whether the tasks share memory, and stay in this process.
    """
    where: dict[str, str] = {"require": "sharedmem"} if in_this_process else {"prefer": "threads"}
    return joblib.Parallel(n_jobs, return_as=return_as, **where)(tasks)


def process_pool(
    n_jobs: int, *, return_as: str, in_this_process: bool = False, **options: Any
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Give workers of joblib in processes that outlive this one by half a second at most.

    Within `runs.shared.parallel.processes_on_cluster` they are those of the cluster.
    """
    client = _client_in_use.get()
    if client is not None and not in_this_process:
        if return_as == "generator":
            return lambda tasks: _sorted(_done_by_workers(client, tasks))
        return lambda tasks: (result for _, result in _done_by_workers(client, tasks))
    if options.get("prefer") != "threads":
        options |= {"initializer": exit_with_parent, "initargs": (os.getpid(),)}
    workers: Callable[[Iterable[Any]], Generator[Any]]
    workers = joblib.Parallel(n_jobs, return_as=return_as, **options)

    def begun(tasks: Iterable[Any]) -> Iterator[Any]:
        came: list[int] = []
        with deferred_signals(came):
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
def deferred_signals(came: list[int]) -> Iterator[None]:
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


def exit_with_parent(parent: int) -> None:
    """End this process when its parent is gone: left alone, joblib's workers would wait for ever.

    A parent that ended before this was called is gone, too.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


CHANGES_NO_NUMBER: Final = True
"""Where work is done changes no number: the versions of packages that this module uses do not."""

CLUSTER_OPTION: Final = "--dask"
"""The option of commands that names a cluster."""

LOCAL: Final = "local"
SECONDS_TO_ANSWER: Final = 5
SECONDS_BETWEEN_LOOKS: Final = 1
N_PROCESSES: Final = 2
LARGE: Final = 10_000
"""Bytes from which an input is sent by itself, once, and not with each task."""

PACKAGES: Final = ("metric-robustness-harness", "numpy", "scipy", "lenskit", "torch")
"""Packages whose versions may change results."""

Task: TypeAlias = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]

_client_in_use: ContextVar[Any] = ContextVar("client", default=None)
_one_at_a_time = threading.Lock()


@contextmanager
def on_cluster(address: str | None) -> Iterator[None]:
    """Send the parallel work of joblib to a Dask cluster, or leave it here for None.

    The address is that of the scheduler, such as "tcp://10.0.0.5:8786"; "local" starts two
    processes. Workers need this harness installed.
    """
    if address is None:
        yield
        return
    with _connected(address) as client, joblib.parallel_config("dask", client=client):
        yield


@contextmanager
def processes_on_cluster(address: str | None) -> Iterator[None]:
    """Send what `runs.shared.parallel.process_pool` does to a Dask cluster; threads stay here.

    See `on_cluster`.
    """
    with _connected(address) as client:
        token = _client_in_use.set(client)
        try:
            yield
        finally:
            _client_in_use.reset(token)


def is_on_cluster() -> bool:
    """Tell whether `process_pool` are those of a Dask cluster."""
    return _client_in_use.get() is not None


def _done_by_workers(client: Any, tasks: Iterable[Task]) -> Iterator[tuple[int, Any]]:
    """Do the tasks of `joblib.delayed` on a cluster, one at a time in each of its workers.

    A task is drawn when a worker is free. The scheduler keeps tasks and inputs: if a worker is
    lost, another has what it needs to do its work again. Given are the number of each task and its
    result, as they are made.
    """
    left, known, inputs = enumerate(tasks), set[str](), dict[str, Any]()
    running: dict[Any, tuple[int, str]] = {}
    while True:
        with _lost_scheduler_explained():
            found = set(client.sync(client.scheduler.identity, n_workers=-1)["workers"])
        for gone in sorted(known - found):
            warn(f"the Dask worker {gone} is gone; what it was doing is done again.")
        known, free = found, found - {place for _, place in running.values()}
        for place, (number, (function, args, options)) in zip(sorted(free), left, strict=False):
            parts = [_sent(client, part, inputs) for part in (function, *args, *options.values())]
            future = client.submit(
                _do, parts, [*options], workers=[place], allow_other_workers=True, pure=False
            )
            running[future] = number, place
        if not running and known:
            return
        for future in _done(running):
            yield running.pop(future)[0], _result(future)


def _sent(client: Any, part: Any, inputs: dict[str, Any]) -> Any:
    """Give a part of a task as bytes; if it is large, what the scheduler has them by."""
    pickled = import_module("cloudpickle").dumps(part)
    if len(pickled) < LARGE:
        return pickled
    key = f"harness-input-{sha256(pickled).hexdigest()}"
    if key not in inputs:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            inputs[key] = client.submit(bytes, pickled, key=key)
    return inputs[key]


def _done(running: Mapping[Any, Any]) -> list[Any]:
    """Wait for a task to be done, or a moment, and give those that are."""
    if not running:
        time.sleep(SECONDS_BETWEEN_LOOKS)
    with _lost_scheduler_explained(), suppress(TimeoutError):
        import_module("distributed").wait([*running], SECONDS_BETWEEN_LOOKS, "FIRST_COMPLETED")
    return [future for future in running if future.done()]


def _result(future: Any) -> Any:
    with _lost_scheduler_explained():
        error = future.exception()
        if error is None:
            return future.result()
    if isinstance(error, import_module("distributed").KilledWorker):
        raise ChildProcessError(
            "a task was given up, since all workers that began it were lost, most likely for want "
            "of memory; the same command goes on from what is complete."
        )
    raise error


@contextmanager
def _lost_scheduler_explained() -> Iterator[None]:
    try:
        yield
    except (OSError, CancelledError):
        raise ConnectionError(
            "the Dask scheduler is lost; the same command goes on from what is complete."
        ) from None


def _sorted(results: Iterable[tuple[int, Any]]) -> Iterator[Any]:
    """Give numbered results by number, each as soon as those before it are there."""
    early, turn = {}, 0
    for number, result in results:
        early[number] = result
        while turn in early:
            yield early.pop(turn)
            turn += 1


def _do(parts: list[bytes], names: list[str]) -> Any:
    """Do a task in a worker, alone: libraries count their threads by process."""
    with _one_at_a_time:
        function, *values = map(pickle.loads, parts)
        n_args = len(values) - len(names)
        return function(*values[:n_args], **dict(zip(names, values[n_args:], strict=True)))


@contextmanager
def _connected(address: str | None) -> Iterator[Any]:
    """Give a client of the cluster, or None for None."""
    if address is None:
        yield None
        return
    with needed_by("--dask", extra="cluster"):
        distributed = import_module("distributed")
    _silence(distributed.__name__)
    with ExitStack() as stack:
        if address == LOCAL:
            cluster = distributed.LocalCluster(
                n_workers=N_PROCESSES, threads_per_worker=1, dashboard_address="127.0.0.1:0"
            )
            yield stack.enter_context(distributed.Client(stack.enter_context(cluster)))
            return
        try:
            # A client would wait without end for what is there and is no scheduler.
            asyncio.run(asyncio.wait_for(_shake_hands(address), SECONDS_TO_ANSWER))
            client = stack.enter_context(distributed.Client(address, timeout=SECONDS_TO_ANSWER))
        except (OSError, ValueError) as error:
            reason = str(error) or "something else is there"
            raise InputError(
                f"no Dask scheduler answers at {address!r} ({reason}); "
                "an address looks like tcp://10.0.0.5:8786, and 'local' starts a cluster here."
            ) from None
        _check_workers(client, address)
        yield client


async def _shake_hands(address: str) -> None:
    """Connect to a Dask scheduler, and close the connection."""
    connection = await import_module("distributed.comm").connect(address, SECONDS_TO_ANSWER)
    await connection.close()


def _silence(package: str) -> None:
    """Let the loggers of a package say nothing: what goes wrong is said in a sentence of ours."""
    # Some of them have levels of their own.
    loggers = [name for name in logging.root.manager.loggerDict if name.startswith(f"{package}.")]
    for name in (package, *loggers):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def _check_workers(client: Any, address: str) -> None:
    """Refuse a cluster that has no workers, or one with other versions than this process."""

    def versions() -> dict[str, str]:  # It travels whole: workers may lack the harness.
        # Of several of a name the first is imported.
        return {p: each.version for p in PACKAGES for each in [*distributions(name=p)][:1]}

    found, here = client.run(versions), versions()
    if not found:
        raise InputError(f"the Dask cluster at {address!r} has no workers.")
    for worker, there in found.items():
        for package in PACKAGES:
            if there.get(package) != here.get(package):
                raise InputError(
                    f"the Dask worker {worker} has {package} {there.get(package, 'not at all')}, "
                    f"and here is {here.get(package, 'none')}: results would not be the same."
                )


def single_threaded(api: Literal["blas"] | None = None) -> AbstractContextManager[object]:
    """Let BLAS, or all libraries that have a pool of threads, work with one of them."""
    return _pools(len(sys.modules)).limit(limits=1, user_api=api)


@lru_cache(maxsize=1)
def _pools(n_modules: int) -> ThreadpoolController:
    """Find the pools of what is loaded, which takes milliseconds, once until a module is added."""
    return ThreadpoolController()
