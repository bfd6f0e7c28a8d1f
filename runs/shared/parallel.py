"""Work in threads, in other processes and on Dask clusters; one thread of native libraries."""

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
    """Run tasks in threads of this process, or on the cluster of `on_cluster`.

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
    if in_this_process:
        return joblib.Parallel(n_jobs, return_as=return_as, require="sharedmem")(tasks)
    return joblib.Parallel(n_jobs, return_as=return_as, prefer="threads")(tasks)


def process_pool(
    n_jobs: int, *, return_as: str, in_this_process: bool = False, **options: Any
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Make a function that runs tasks in parallel in processes of this machine, or of a cluster.

    Within `runs.shared.parallel.processes_on_cluster` the processes are those of the cluster. Those
    of this machine end at most half a second after this process.

    Parameters
    ----------
    n_jobs
        Number of processes.
    return_as
        "generator": results are in the order of the tasks; "generator_unordered": as they are made.
    in_this_process
        Whether processes of this machine are used where there is a cluster, too.
    options
        Further options of ``joblib.Parallel``.

    Returns
    -------
    A function of tasks that `delayed` makes, and returns an iterator over their results.
    """
    client = _client_in_use.get()
    if client is not None and not in_this_process:
        if return_as == "generator":
            return lambda tasks: _in_order(_run_on_cluster(client, tasks))
        return lambda tasks: (result for _, result in _run_on_cluster(client, tasks))
    if options.get("prefer") != "threads":
        options |= {"initializer": exit_with_parent, "initargs": (os.getpid(),)}
    pool: Callable[[Iterable[Any]], Generator[Any]]
    pool = joblib.Parallel(n_jobs, return_as=return_as, **options)

    def run(tasks: Iterable[Any]) -> Iterator[Any]:
        """Start the tasks, and return an iterator over their results.

        Signals that come meanwhile are raised when all workers are there; an interrupt ends them.
        """
        received: list[int] = []
        with deferred_signals(received):
            results = pool(tasks)
        try:
            # Only the first signal: the others came while it would have been handled.
            for number in received[:1]:
                signal.raise_signal(number)
        except KeyboardInterrupt as interrupt:
            time.sleep(0.1)  # What ends workers fails at tasks that are not yet with them.
            results.throw(interrupt)
        return results

    return run


@contextmanager
def deferred_signals(received: list[int]) -> Iterator[None]:
    """Append signals to a list within the block, instead of handling them.

    These are SIGINT, SIGTERM and SIGHUP, as far as they have a handler in Python: while joblib
    starts workers it cannot end them. The handlers are restored at the end of the block; the caller
    raises the signals again. In threads other than the main one, which get no signals, nothing
    happens.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    signals = {signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}
    handlers = {number: signal.getsignal(number) for number in signals}
    python_handlers = {number: handler for number, handler in handlers.items() if callable(handler)}
    for number in python_handlers:
        signal.signal(number, lambda number, _: received.append(number))
    try:
        yield
    finally:
        for number, handler in python_handlers.items():
            signal.signal(number, handler)


def exit_with_parent(parent_id: int) -> None:
    """End this process when its parent is gone: left alone, joblib's workers would wait for ever.

    ``parent_id`` is the parent's process id. A thread looks every half a second; a parent that
    ended before this was called is gone, too.
    """

    def watch_parent() -> None:
        """Wait until the process has another parent, and end it then."""
        while os.getppid() == parent_id:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch_parent, daemon=True).start()


CHANGES_NO_NUMBER: Final = True
"""Where work is done changes no number: the versions of packages that this module uses do not."""

CLUSTER_OPTION: Final = "--dask"
"""The option of commands that names a cluster."""

LOCAL: Final = "local"
"""The address that starts a cluster on this machine."""

SECONDS_TO_ANSWER: Final = 5
SECONDS_BETWEEN_LOOKS: Final = 1
N_PROCESSES: Final = 2
"""Number of processes of a cluster on this machine."""

LARGE: Final = 10_000
"""Bytes from which an input is sent by itself, once, and not with each task."""

PACKAGES: Final = ("metric-robustness-harness", "numpy", "scipy", "lenskit", "torch")
"""Packages whose versions may change results."""

Task: TypeAlias = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]
"""What `delayed` makes: a function, its arguments and its keywords."""

_client_in_use: ContextVar[Any] = ContextVar("client", default=None)
_one_at_a_time = threading.Lock()


@contextmanager
def on_cluster(address: str | None) -> Iterator[None]:
    """Send the parallel work of joblib within to a Dask cluster; None leaves it here.

    ``address`` is that of the scheduler, such as "tcp://10.0.0.5:8786"; "local" starts two
    processes. Workers need this harness installed, in the same version.

    Raises
    ------
    InputError
        If Dask is not installed, no scheduler answers, or the cluster has no workers or workers
        with other versions of packages.
    """
    if address is None:
        yield
        return
    with _connected(address) as client, joblib.parallel_config("dask", client=client):
        yield


@contextmanager
def processes_on_cluster(address: str | None) -> Iterator[None]:
    """Send the work of `runs.shared.parallel.process_pool` within to a Dask cluster.

    Threads stay here. ``address`` is that of the scheduler, "local" for two processes of this
    machine, or None: then work stays here. Raises InputError if Dask is not installed, no scheduler
    answers, or the cluster has no workers or workers with other versions of packages.
    """
    with _connected(address) as client:
        token = _client_in_use.set(client)
        try:
            yield
        finally:
            _client_in_use.reset(token)


def is_on_cluster() -> bool:
    """Test whether the processes of `process_pool` are those of a Dask cluster."""
    return _client_in_use.get() is not None


def _run_on_cluster(client: Any, tasks: Iterable[Task]) -> Iterator[tuple[int, Any]]:
    """Run the tasks of `joblib.delayed` on a cluster, one at a time in each of its workers.

    A task is taken from the iterable when a worker is free. The scheduler keeps tasks and inputs:
    if a worker is lost, which is warned of, another does its work again. Yields the number of each
    task, from 0, and its result, as they are made. Raises ConnectionError if the scheduler is lost.
    """
    numbered_tasks = enumerate(tasks)
    known_workers: set[str] = set()
    large_inputs: dict[str, Any] = {}
    running: dict[Any, tuple[int, str]] = {}
    while True:
        with _lost_scheduler_explained():
            identity = client.sync(client.scheduler.identity, n_workers=-1)
        workers = set(identity["workers"])
        for lost_worker in sorted(known_workers - workers):
            warn(f"the Dask worker {lost_worker} is gone; what it was doing is done again.")
        known_workers = workers
        free_workers = sorted(workers - {worker for _, worker in running.values()})
        for worker, (number, task) in zip(free_workers, numbered_tasks, strict=False):
            future = _submit(client, task, worker, large_inputs)
            running[future] = number, worker
        if not running and known_workers:
            return
        for future in _wait(running):
            number, _ = running.pop(future)
            yield number, _result(future)


def _submit(client: Any, task: Task, worker: str, large_inputs: dict[str, Any]) -> Any:
    """Send a task to a worker, and return its future; another worker may do it if that is lost.

    ``large_inputs`` holds what was sent by itself, and is added to; see `_sent`.
    """
    function, arguments, keywords = task
    parts = [
        _sent(client, part, large_inputs) for part in (function, *arguments, *keywords.values())
    ]
    return client.submit(
        _do, parts, [*keywords], workers=[worker], allow_other_workers=True, pure=False
    )


def _sent(client: Any, part: Any, large_inputs: dict[str, Any]) -> Any:
    """Pickle a part of a task: the function, an argument, or the value of a keyword.

    Returns the bytes if they are fewer than 10,000. A larger part is sent to the cluster by itself,
    and its future is returned. ``large_inputs`` holds these futures by a checksum of the bytes, and
    is added to, so that a part of several tasks is sent once.
    """
    pickled = import_module("cloudpickle").dumps(part)
    if len(pickled) < LARGE:
        return pickled
    key = f"harness-input-{sha256(pickled).hexdigest()}"
    if key not in large_inputs:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            large_inputs[key] = client.submit(bytes, pickled, key=key)
    return large_inputs[key]


def _wait(running: Mapping[Any, Any]) -> list[Any]:
    """Wait until one of the futures, the keys, is done, or for a second; return all that are."""
    if not running:
        time.sleep(SECONDS_BETWEEN_LOOKS)
    with _lost_scheduler_explained(), suppress(TimeoutError):
        import_module("distributed").wait([*running], SECONDS_BETWEEN_LOOKS, "FIRST_COMPLETED")
    return [future for future in running if future.done()]


def _result(future: Any) -> Any:
    """Return the result of a future that is done, or raise the exception of its task.

    Raises ChildProcessError if the workers that began the task were lost too often, and
    ConnectionError if the scheduler is lost.
    """
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
    """Turn an OSError or CancelledError raised within into a ConnectionError in a sentence."""
    try:
        yield
    except (OSError, CancelledError):
        raise ConnectionError(
            "the Dask scheduler is lost; the same command goes on from what is complete."
        ) from None


def _in_order(results: Iterable[tuple[int, Any]]) -> Iterator[Any]:
    """Yield the results of tasks in the order of the tasks' numbers, from 0.

    ``results`` are pairs of number and result in any order, without gaps. A result that comes early
    is kept until those before it have been yielded.
    """
    early_results: dict[int, Any] = {}
    next_number = 0
    for number, result in results:
        early_results[number] = result
        while next_number in early_results:
            yield early_results.pop(next_number)
            next_number += 1


def _do(parts: list[bytes], keyword_names: list[str]) -> Any:
    """Call the function of a task in a worker of the cluster, and return what it returns.

    ``parts`` are pickled: the function, its arguments, and the values of the keywords, whose names
    are ``keyword_names``. Tasks of a process wait for each other, as libraries set the number of
    their threads for the whole process.
    """
    with _one_at_a_time:
        function, *values = map(pickle.loads, parts)
        n_arguments = len(values) - len(keyword_names)
        arguments = values[:n_arguments]
        keywords = dict(zip(keyword_names, values[n_arguments:], strict=True))
        return function(*arguments, **keywords)


@contextmanager
def _connected(address: str | None) -> Iterator[Any]:
    """Connect a client to a Dask cluster for the time of the block, and yield the client.

    ``address`` is that of the scheduler; "local" starts a cluster of two processes here, and None
    yields None. Raises InputError if Dask is not installed, no scheduler answers, or the cluster
    has no workers or workers with other versions of packages.
    """
    if address is None:
        yield None
        return
    with needed_by("--dask", extra="cluster"):
        distributed = import_module("distributed")
    _silence(distributed.__name__)
    with ExitStack() as stack:
        if address == LOCAL:
            cluster = stack.enter_context(
                distributed.LocalCluster(
                    n_workers=N_PROCESSES, threads_per_worker=1, dashboard_address="127.0.0.1:0"
                )
            )
            yield stack.enter_context(distributed.Client(cluster))
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
    """Turn the loggers of a package off: what goes wrong is worded in errors of this program."""
    # Some of them have levels of their own.
    names = [name for name in logging.root.manager.loggerDict if name.startswith(f"{package}.")]
    for name in (package, *names):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def _check_workers(client: Any, address: str) -> None:
    """Refuse, with an InputError, a cluster without workers, or with other versions than here.

    Versions of `PACKAGES` are compared between this process and each worker.
    """

    def installed_versions() -> dict[str, str]:  # It travels whole: workers may lack the harness.
        """Look up the versions of the packages that are installed where this runs."""
        versions = {}
        for package in PACKAGES:
            # Of several distributions of a name the first is imported.
            for distribution in [*distributions(name=package)][:1]:
                versions[package] = distribution.version
        return versions

    versions_of_workers = client.run(installed_versions)
    versions_here = installed_versions()
    if not versions_of_workers:
        raise InputError(f"the Dask cluster at {address!r} has no workers.")
    for worker, versions_there in versions_of_workers.items():
        for package in PACKAGES:
            if versions_there.get(package) != versions_here.get(package):
                version_there = versions_there.get(package, "not at all")
                version_here = versions_here.get(package, "none")
                raise InputError(
                    f"the Dask worker {worker} has {package} {version_there}, and here is "
                    f"{version_here}: results would not be the same."
                )


def single_threaded(api: Literal["blas"] | None = None) -> AbstractContextManager[object]:
    """Let BLAS, or by default all libraries that have a pool of threads, use one thread within."""
    return _thread_pools(len(sys.modules)).limit(limits=1, user_api=api)


@lru_cache(maxsize=1)
def _thread_pools(n_modules: int) -> ThreadpoolController:
    """Find the pools of threads of all libraries that are loaded, which takes milliseconds.

    They are looked for again when the number of imported modules, ``n_modules``, has changed.
    """
    return ThreadpoolController()
