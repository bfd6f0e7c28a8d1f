"""Work in other processes: signals, workers of a cluster, threads."""

import logging
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import nullcontext
from importlib.metadata import distributions, version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import joblib
import numpy as np
import pytest
from threadpoolctl import threadpool_info

from runs import InputError, InputWarning
from runs.shared import parallel
from runs.shared.parallel import (
    PACKAGES,
    _check_workers,
    _do,
    _in_order,
    _lost_scheduler_explained,
    _result,
    _run_on_cluster,
    _sent,
    _silence,
    deferred_signals,
    exit_with_parent,
    on_cluster,
    process_pool,
    processes_on_cluster,
    single_threaded,
)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_comes_while_workers_are_started_is_heard_afterwards(
    n_jobs: int, sent: signal.Signals
) -> None:
    passed = []

    def tasks() -> Iterator[Any]:
        signal.raise_signal(sent)
        passed.append(n_jobs)
        yield joblib.delayed(abs)(-1)

    former = signal.signal(sent, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            next(process_pool(n_jobs, return_as="generator")(tasks()))
        assert signal.getsignal(sent) is signal.default_int_handler
    finally:
        signal.signal(sent, former)
    assert passed == [n_jobs] * (n_jobs > 1)


def test_results_come_in_the_order_of_the_tasks() -> None:
    tasks = [joblib.delayed(abs)(-number) for number in range(5)]
    workers = process_pool(2, return_as="generator", prefer="threads")
    assert list(workers(tasks)) == [0, 1, 2, 3, 4]


def test_threads_are_not_told_to_end_with_their_process(monkeypatch: pytest.MonkeyPatch) -> None:
    options: list[dict[str, Any]] = []

    def parallel_of(n_jobs: int, **given: Any) -> None:
        options.append(given)

    monkeypatch.setattr(joblib, "Parallel", parallel_of)
    process_pool(2, return_as="generator", prefer="threads")
    process_pool(2, return_as="generator")
    assert options == [
        {"return_as": "generator", "prefer": "threads"},
        {"return_as": "generator", "initializer": exit_with_parent, "initargs": (os.getpid(),)},
    ]


def test_signals_are_kept_for_the_main_thread_alone() -> None:
    came: list[int] = []
    before = signal.getsignal(signal.SIGINT)
    with deferred_signals(came):
        assert signal.getsignal(signal.SIGINT) is not before
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before
    assert came == [signal.SIGINT]

    def elsewhere() -> None:
        with deferred_signals(came):
            came.append(0)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert came == [signal.SIGINT, 0]


def test_a_worker_ends_when_its_parent_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    parents = iter([7, 7, 1])
    ended: list[int] = []
    waits: list[float] = []
    monkeypatch.setattr("os.getppid", lambda: next(parents))
    monkeypatch.setattr("os._exit", ended.append)
    monkeypatch.setattr("time.sleep", waits.append)
    started: list[bool] = []

    class Thread:
        def __init__(self, *, target: Callable[[], None], daemon: bool) -> None:
            self.target = target
            started.append(daemon)

        def start(self) -> None:
            self.target()

    monkeypatch.setattr(threading, "Thread", Thread)
    exit_with_parent(7)
    assert (waits, ended, started) == ([0.5, 0.5], [1], [True])


class Future:
    """A task that is done, of a scheduler without processes."""

    def __init__(self, value: Any, error: BaseException | None = None) -> None:
        self.value = value
        self.error = error

    def done(self) -> bool:
        return True

    def exception(self) -> BaseException | None:
        return self.error

    def result(self) -> Any:
        return self.value


class Client:
    """A client of a cluster whose workers, at each look, are these; the last stay."""

    scheduler = SimpleNamespace(identity=None)

    def __init__(self, *looks: set[str]) -> None:
        self.looks = [*looks]
        self.places: list[list[str] | None] = []
        self.keys: list[str] = []

    def sync(self, identity: object, *, n_workers: int) -> dict[str, set[str]]:
        assert n_workers == -1
        look = self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]
        return {"workers": look}

    def submit(self, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        if "key" in options:
            self.keys.append(options["key"])
            return args[0]
        self.places.append(options["workers"])
        assert options["allow_other_workers"] is True
        assert options["pure"] is False
        return Future(function(*args))


@pytest.fixture
def distributed(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Stand in for Dask: waits end at once, with the first task."""
    waits: list[Any] = []

    class KilledWorker(Exception):  # noqa: N818
        pass

    module = SimpleNamespace(
        wait=lambda *args: waits.append(args), KilledWorker=KilledWorker, waits=waits
    )
    modules = {"distributed": module, "cloudpickle": SimpleNamespace(dumps=pickle.dumps)}
    monkeypatch.setattr(parallel, "import_module", modules.__getitem__)
    monkeypatch.setattr("time.sleep", lambda seconds: waits.append(seconds))
    return module


def power(base: int, exponent: int, *, plus: int = 0) -> int:
    return int(base**exponent) + plus


TASKS = [joblib.delayed(power)(number, 2, plus=100) for number in range(3)]


def test_workers_of_a_cluster_do_one_task_at_a_time(distributed: SimpleNamespace) -> None:
    client = Client({"w1", "w2"})
    results = _run_on_cluster(client, TASKS)
    assert next(results) == (0, 100)
    assert client.places == [["w1"], ["w2"]]
    assert list(results) == [(1, 101), (2, 104)]
    assert client.places == [["w1"], ["w2"], ["w1"]]
    ((running, seconds, when), *_) = distributed.waits
    assert (len(running), seconds, when) == (2, 1, "FIRST_COMPLETED")


def test_a_cluster_without_workers_is_looked_at_again(distributed: SimpleNamespace) -> None:
    assert list(_run_on_cluster(Client(set(), {"w1"}), TASKS[1:2])) == [(0, 101)]
    assert distributed.waits[0] == 1


@pytest.mark.usefixtures("distributed")
def test_a_worker_that_is_gone_is_told() -> None:
    client = Client({"w1", "w2"}, {"w1"})
    with pytest.warns(InputWarning, match="the Dask worker w2 is gone"):
        assert len(list(_run_on_cluster(client, TASKS))) == 3


@pytest.mark.usefixtures("distributed")
def test_what_a_cluster_does_is_sorted_if_it_shall_be(monkeypatch: pytest.MonkeyPatch) -> None:
    done = [(1, "b"), (2, "c"), (0, "a")]
    monkeypatch.setattr(parallel, "_run_on_cluster", lambda client, tasks: iter(done))
    token = parallel._client_in_use.set("a client")
    try:
        assert list(process_pool(2, return_as="generator")([])) == ["a", "b", "c"]
        assert list(process_pool(2, return_as="generator_unordered")([])) == ["b", "c", "a"]
        here = process_pool(1, return_as="generator", in_this_process=True)
        assert list(here([joblib.delayed(abs)(-1)])) == [1]
    finally:
        parallel._client_in_use.reset(token)


def test_a_result_is_given_as_soon_as_those_before_it_are_there() -> None:
    given: list[int] = []

    def results() -> Iterator[tuple[int, str]]:
        for number in (2, 0, 1, 3):
            given.append(number)
            yield number, "abcd"[number]

    ordered = _in_order(results())
    assert [(next(ordered), len(given)) for _ in range(4)] == [
        ("a", 2),
        ("b", 3),
        ("c", 3),
        ("d", 4),
    ]


@pytest.mark.usefixtures("distributed")
def test_inputs_of_10000_bytes_are_sent_once_by_themselves() -> None:
    client, inputs = Client({"w1"}), dict[str, Any]()
    extra = len(pickle.dumps(b"x" * 9000)) - 9000
    for n_bytes, is_large in ((9_999, False), (10_000, True), (10_000, True)):
        part = b"x" * (n_bytes - extra)
        assert pickle.loads(_sent(client, part, inputs)) == part
        assert bool(inputs) == is_large
    assert len(client.keys) == 1
    assert client.keys[0].startswith("harness-input-")


def test_a_worker_calls_the_function_with_arguments_and_options() -> None:
    parts = [*map(pickle.dumps, (power, 2, 5, 7))]
    assert _do(parts, ["plus"]) == 39
    assert _do(parts[:3], []) == 32


def test_what_a_task_raises_is_raised_here(distributed: SimpleNamespace) -> None:
    assert _result(Future(3)) == 3
    with pytest.raises(KeyError, match="a"):
        _result(Future(None, KeyError("a")))
    with pytest.raises(ChildProcessError, match="all workers that began it were lost"):
        _result(Future(None, distributed.KilledWorker()))


@pytest.mark.parametrize("error", [OSError, CancelledError])
def test_a_scheduler_that_is_lost_is_told(error: type[BaseException]) -> None:
    with (
        pytest.raises(ConnectionError, match="Dask scheduler is lost"),
        _lost_scheduler_explained(),
    ):
        raise error


@pytest.mark.parametrize("context", [on_cluster, processes_on_cluster])
def test_without_an_address_work_stays_here(context: Any) -> None:
    with context(None):
        assert parallel._client_in_use.get() is None
        workers = process_pool(1, return_as="generator")
        assert list(workers([joblib.delayed(abs)(-1)])) == [1]


def test_versions_of_workers_are_compared_with_what_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {each.name for each in distributions()}
    here = {name: version(name) for name in PACKAGES if name in known}
    client = SimpleNamespace(run=lambda _: {"tcp://worker": here})
    (tmp_path / "numpy-0.0.1.dist-info").mkdir()
    (tmp_path / "numpy-0.0.1.dist-info" / "METADATA").write_text("Name: numpy\nVersion: 0.0.1\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    assert version("numpy") == np.__version__
    _check_workers(client, "tcp://scheduler")
    there = {name: number for name, number in here.items() if name != "numpy"}
    with pytest.raises(InputError, match="the Dask worker w2 has numpy not at all, and here is"):
        _check_workers(SimpleNamespace(run=lambda _: {"w1": here, "w2": there}), "")
    with pytest.raises(InputError, match=r"the Dask worker w has numpy 1\.0, and here is"):
        _check_workers(SimpleNamespace(run=lambda _: {"w": here | {"numpy": "1.0"}}), "")
    with pytest.raises(InputError, match="the Dask cluster at 'tcp://scheduler' has no workers"):
        _check_workers(SimpleNamespace(run=lambda _: {}), "tcp://scheduler")


class Connection:
    """What answers at the address of a scheduler."""

    def __init__(self, error: Exception | None) -> None:
        self.error = error
        self.asked: list[Any] = []

    async def connect(self, address: str, seconds: float) -> "Connection":
        self.asked.append((address, seconds))
        if self.error is not None:
            raise self.error
        return self

    async def close(self) -> None:
        self.asked.append("closed")


def connected_to(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> dict[str, list[tuple[Any, Any]]]:
    """Stand in for Dask; what is made of it, with its arguments and options."""
    made: dict[str, list[tuple[Any, Any]]] = {"Client": [], "LocalCluster": []}

    def maker(name: str) -> Callable[..., Any]:
        def make(*args: Any, **options: Any) -> Any:
            made[name].append((args, options))
            return nullcontext(name)

        return make

    module = SimpleNamespace(__name__="distributed", **{name: maker(name) for name in made})
    modules = {"distributed": module, "distributed.comm": connection}
    monkeypatch.setattr(parallel, "import_module", modules.__getitem__)
    monkeypatch.setattr(parallel, "_silence", lambda package: None)
    return made


def test_a_client_is_of_the_cluster_whose_scheduler_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connection, checked = Connection(None), []
    made = connected_to(connection, monkeypatch)
    monkeypatch.setattr(parallel, "_check_workers", lambda *args: checked.append(args))
    with processes_on_cluster("tcp://a"):
        assert parallel._client_in_use.get() == "Client"
    assert parallel._client_in_use.get() is None
    assert connection.asked == [("tcp://a", 5), "closed"]
    assert made["Client"] == [(("tcp://a",), {"timeout": 5})]
    assert checked == [("Client", "tcp://a")]


def test_a_cluster_here_has_two_processes_of_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    connection = Connection(None)
    made = connected_to(connection, monkeypatch)
    with processes_on_cluster("local"):
        assert parallel._client_in_use.get() == "Client"
    ((_, options),) = made["LocalCluster"]
    assert (options["n_workers"], options["threads_per_worker"]) == (2, 1)
    assert made["Client"] == [(("LocalCluster",), {})]
    assert connection.asked == []


@pytest.mark.parametrize(
    ("error", "reason"),
    [(OSError("refused"), "refused"), (TimeoutError(), "something else is there")],
)
def test_an_address_where_no_scheduler_answers_is_refused(
    error: Exception, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    connected_to(Connection(error), monkeypatch)
    with (
        pytest.raises(InputError, match=rf"no Dask scheduler answers at 'tcp://a' \({reason}\)"),
        processes_on_cluster("tcp://a"),
    ):
        pass


def test_loggers_of_a_package_are_silenced_with_those_within() -> None:
    names = ("odd_package", "odd_package.part", "odd_packages")
    for name in names:
        logging.getLogger(name).setLevel(logging.INFO)
    _silence("odd_package")
    levels = [logging.getLogger(name).level for name in names]
    assert levels == [logging.CRITICAL, logging.CRITICAL, logging.INFO]


def test_libraries_work_in_one_thread_for_a_while() -> None:
    np.ones((2, 2)) @ np.ones((2, 2))
    before = [pool["num_threads"] for pool in threadpool_info()]
    with single_threaded("blas"):
        assert {p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"} == {1}
    with single_threaded():
        assert {pool["num_threads"] for pool in threadpool_info()} == {1}
    assert [pool["num_threads"] for pool in threadpool_info()] == before
