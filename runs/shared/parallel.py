"""Work in other processes, here or on a Dask cluster, and in one thread of native libraries."""

from __future__ import annotations

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
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from functools import lru_cache
from hashlib import sha256
from importlib import import_module
from itertools import count, repeat
from typing import Any, Final, Literal, TypeAlias

import joblib
from threadpoolctl import ThreadpoolController

from runs.shared.errors import InputError, InputWarning, missing_package


def processes(
    n_jobs: int,
    *,
    return_as: str,
    needs: Iterable[int] = repeat(0),
    here: bool = False,
    **options: Any,
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Give workers of joblib in processes that outlive this one by half a second at most.

    Within `runs.shared.parallel.processes_on_cluster` they are those of the cluster.
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


LOCAL: Final = "local"
SECONDS_TO_ANSWER: Final = 5
SECONDS_BETWEEN_LOOKS: Final = 1
N_PROCESSES: Final = 2
LARGE: Final = 10_000
"""Bytes from which an input is sent by itself, once, and not with each task."""

HARNESS: Final = "metric-robustness-harness"
PACKAGES: Final = (HARNESS, "numpy", "scipy", "lenskit", "torch")
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
    import joblib

    with _connected(address) as client, joblib.parallel_config("dask", client=client):
        yield


@contextmanager
def processes_on_cluster(address: str | None) -> Iterator[None]:
    """Send what `runs.shared.parallel.processes` does to a Dask cluster; threads stay here.

    See `on_cluster`.
    """
    if address is None:
        yield
        return
    with _connected(address) as client:
        token = _client_in_use.set(client)
        try:
            yield
        finally:
            _client_in_use.reset(token)


def cluster_in_use() -> Any:
    """Give the client of the cluster that processes are asked of; None if they run here."""
    return _client_in_use.get()


class ClusterWorkers:
    """Does the tasks of `joblib.delayed` on a cluster, one at a time in each of its workers.

    A task is drawn when a worker is free, and goes to one whose memory it fits into; if it fits
    into none, to the largest. The scheduler keeps tasks and inputs: if a worker is lost, another
    has what it needs to do its work again.

    ``client``: the client of the cluster; ``needs``: bytes that each task takes; ``in_order``:
    whether results come in the order of the tasks, or as they are made.
    """

    def __init__(self, client: Any, needs: Iterable[int], *, in_order: bool) -> None:
        self.client = client
        self.needs = needs
        self.in_order = in_order
        self._inputs: dict[str, Any] = {}
        self._known: set[str] = set()

    def __call__(self, tasks: Iterable[Task]) -> Iterator[Any]:
        """Give the results of tasks."""
        results = self._results(tasks)
        return _sorted(results) if self.in_order else (result for _, result in results)

    def _results(self, tasks: Iterable[Task]) -> Iterator[tuple[int, Any]]:
        """Give the number of each task, and its result, as they are made."""
        left = zip(count(), tasks, self.needs)
        running: dict[Any, tuple[int, str]] = {}
        waiting, all_drawn = None, False
        while not all_drawn or running:
            memory = self._memory()
            while free := set(memory) - {place for _, place in running.values()}:
                waiting = waiting or next(left, None)
                all_drawn = waiting is None
                place = None if waiting is None else _place(waiting[2], memory, free)
                if waiting is None or place is None:
                    break
                number, (function, args, options), _ = waiting
                parts = [self._sent(part) for part in (function, *args, *options.values())]
                future = self.client.submit(
                    _do, parts, [*options], workers=[place], allow_other_workers=True, pure=False
                )
                running[future] = number, place
                waiting = None
            for future in self._done(running):
                yield running.pop(future)[0], self._result(future)

    def _memory(self) -> dict[str, int]:
        """Give the bytes of memory of each worker by address, and say which workers are gone."""
        with self._lost_scheduler_explained():
            found = self.client.sync(self.client.scheduler.identity, n_workers=-1)["workers"]
        for gone in sorted(self._known - set(found)):
            warnings.warn(
                f"the Dask worker {gone} is gone; what it was doing is done again.",
                InputWarning,
                stacklevel=2,
            )
        self._known = set(found)
        return {address: facts["memory_limit"] or 2**63 for address, facts in found.items()}

    def _sent(self, part: Any) -> Any:
        """Give a part of a task as bytes; if it is large, what the scheduler has them by."""
        pickled = import_module("cloudpickle").dumps(part)
        if len(pickled) < LARGE:
            return pickled
        key = f"harness-input-{sha256(pickled).hexdigest()}"
        if key not in self._inputs:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
                self._inputs[key] = self.client.submit(bytes, pickled, key=key)
        return self._inputs[key]

    def _done(self, running: Mapping[Any, Any]) -> list[Any]:
        """Wait for a task to be done, or a moment, and give those that are."""
        distributed = import_module("distributed")
        if not running:
            time.sleep(SECONDS_BETWEEN_LOOKS)
            return []
        with self._lost_scheduler_explained():
            try:
                distributed.wait(list(running), SECONDS_BETWEEN_LOOKS, "FIRST_COMPLETED")
            except TimeoutError:
                return []
        return [future for future in running if future.done()]

    def _result(self, future: Any) -> Any:
        killed = import_module("distributed").KilledWorker
        with self._lost_scheduler_explained():
            error = future.exception()
        if isinstance(error, killed):
            raise ChildProcessError(
                "a task was given up, since all workers that began it were lost, most likely for "
                "want of memory; the same command goes on from what is complete."
            )
        if error is not None:
            raise error
        with self._lost_scheduler_explained():
            return future.result()

    @contextmanager
    def _lost_scheduler_explained(self) -> Iterator[None]:
        try:
            yield
        except (OSError, CancelledError):
            raise ConnectionError(
                "the Dask scheduler is lost; the same command goes on from what is complete."
            ) from None


def _place(need: int, memory: Mapping[str, int], free: set[str]) -> str | None:
    """Give a free worker for a task; None if those that it fits into are busy."""
    fitting = [each for each, size in memory.items() if size >= need]
    fitting = fitting or [max(memory, key=lambda address: memory[address])]
    return next((each for each in fitting if each in free), None)


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
def _connected(address: str) -> Iterator[Any]:
    try:
        distributed = import_module("distributed")
    except ModuleNotFoundError:
        raise missing_package("distributed", needed_by="--dask", extra="cluster") from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with ExitStack() as stack:
        yield stack.enter_context(_client(distributed, address, stack))


def _client(distributed: Any, address: str, stack: ExitStack) -> Any:
    if address == LOCAL:
        cluster = distributed.LocalCluster(
            n_workers=N_PROCESSES, threads_per_worker=1, dashboard_address="127.0.0.1:0"
        )
        return distributed.Client(stack.enter_context(cluster))
    try:
        client = distributed.Client(address, timeout=SECONDS_TO_ANSWER)
    except (OSError, ValueError) as error:
        raise InputError(
            f"no Dask scheduler answers at {address!r} ({error}); an address looks like "
            "tcp://10.0.0.5:8786, and 'local' starts a cluster here."
        ) from None
    try:
        _check_workers(client, address)
    except InputError:
        client.close()
        raise
    return client


def _check_workers(client: Any, address: str) -> None:
    """Refuse a cluster that has no workers, or one with other versions than this process."""
    found = client.run(_versions_finder(), PACKAGES)
    if not found:
        raise InputError(f"the Dask cluster at {address!r} has no workers.")
    here = _versions_finder()(PACKAGES)
    for worker, versions in found.items():
        for package, version in here.items():
            if versions[package] != version:
                raise InputError(
                    f"the Dask worker {worker} has {package} {versions[package] or 'not at all'}, "
                    f"and here is {version or 'none'}: results would not be the same."
                )


def _versions_finder() -> Callable[..., dict[str, str | None]]:
    """Give a function that travels whole to workers that may lack the harness."""

    def find(packages: tuple[str, ...] = ()) -> dict[str, str | None]:
        from importlib.metadata import PackageNotFoundError, version

        found: dict[str, str | None] = {}
        for package in packages:
            try:
                found[package] = version(package)
            except PackageNotFoundError:
                found[package] = None
        return found

    return find


def single_threaded(api: Literal["blas"] | None = None) -> AbstractContextManager[object]:
    """Let BLAS, or all libraries that have a pool of threads, work with one of them."""
    return _pools(len(sys.modules)).limit(limits=1, user_api=api)


@lru_cache(maxsize=1)
def _pools(n_modules: int) -> ThreadpoolController:
    """Find the pools of what is loaded, which takes milliseconds, once until a module is added."""
    return ThreadpoolController()
