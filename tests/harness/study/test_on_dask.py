"""Studies whose systems are trained by a Dask cluster: a scheduler and workers of their own."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from click.testing import CliRunner
from joblib import delayed

from harness.cli.main import main
from runs import InputError
from runs.shared import parallel
from runs.shared.parallel import process_pool
from tests.harness.small import METRICS, NO_ANALYSES, SYSTEMS, WORLD, start

pytestmark = pytest.mark.slow

distributed = pytest.importorskip("distributed", reason="distributed is not installed")

PATIENCE = 120.0
UNEQUAL = {"manifest.json", "report.html", "study.toml"}


def test_what_answers_and_is_no_scheduler_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the port of a dashboard does."""
    monkeypatch.setattr(parallel, "SECONDS_TO_ANSWER", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        with (
            pytest.raises(InputError, match="no Dask scheduler answers"),
            parallel.processes_on_cluster(address),
        ):
            pass


class Cluster:
    """A scheduler and two workers, which have one thread each and nobody who restarts them."""

    def __init__(self, folder: Path, stack: list[subprocess.Popen[bytes]]) -> None:
        self.file = folder / "scheduler.json"
        self.address = ""
        self.scheduler = self._start(stack, folder, "scheduler", "--host=127.0.0.1", "--port=0")
        asked = ["--nthreads=1", "--no-nanny", "--host=127.0.0.1"]
        for _ in range(2):
            self._start(stack, folder, "worker", *asked)
        with distributed.Client(scheduler_file=str(self.file), timeout=PATIENCE) as client:
            client.wait_for_workers(2, timeout=PATIENCE)
            self.address = client.scheduler.address

    def _start(
        self, stack: list[subprocess.Popen[bytes]], folder: Path, *asked: str
    ) -> subprocess.Popen[bytes]:
        file = f"--scheduler-file={self.file}"
        command = [sys.executable, "-m", "dask", *asked, file, "--no-dashboard"]
        stack.append(subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL))
        return stack[-1]

    def pid_of_a_busy_worker(self) -> int:
        """Wait until a worker trains."""
        with distributed.Client(self.address) as client:
            pids: dict[str, int] = client.run(os.getpid)
            end = time.monotonic() + PATIENCE
            while time.monotonic() < end:
                for worker, keys in client.processing().items():
                    if any(str(key).startswith("_do") for key in keys):
                        return pids[worker]
                time.sleep(0.01)
        raise AssertionError("no worker trained.")


@contextmanager
def running_cluster(folder: Path) -> Iterator[Cluster]:
    started: list[subprocess.Popen[bytes]] = []
    try:
        yield Cluster(folder, started)
    finally:
        for process in started:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study file, beside the folder of what it gives with one worker here."""
    folder = tmp_path_factory.mktemp("study")
    file = folder / "study.toml"
    file.write_text(WORLD + SYSTEMS + METRICS + NO_ANALYSES, encoding="utf-8")
    make(file, folder / "here")
    return file


def make(study: Path, output: Path) -> None:
    """Run the study in this process."""
    arguments = ["run", study, "--jobs", "1", "--quiet", "--output", output]
    answer = CliRunner().invoke(main, list(map(str, arguments)))
    assert answer.exit_code == 0, answer.output


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster that loses a worker in the end, and then its scheduler."""
    with running_cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


def begun(study: Path, folder: Path, cluster: Cluster) -> BaseProcess:
    """Start a study on a cluster, in a folder where what it prints is kept, too."""
    asked = ("--output", folder / "there", "--dask", cluster.address)
    return start("run", study, *asked, output=folder / "printed.txt")


def contents(folder: Path) -> dict[str, bytes]:
    """Give all files but those that tell of costs and places."""
    return {
        str(name): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
        and (name := path.relative_to(folder)).name not in UNEQUAL
        and name.parts[0] != ".ledger"
    }


def _total(numbers: np.ndarray[Any, Any], more: int) -> tuple[float, int]:
    return float(numbers.sum()) + more, os.getpid()


def test_large_inputs_are_sent_once_and_results_come_in_order(
    elsewhere: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    submit = distributed.Client.submit

    def noting(client: Any, function: Any, *args: Any, **options: Any) -> Any:
        sent.append(function.__name__)
        return submit(client, function, *args, **options)

    monkeypatch.setattr(distributed.Client, "submit", noting)
    with parallel.processes_on_cluster(elsewhere.address):
        tasks = (delayed(_total)(np.ones(5_000), more=n) for n in range(6))
        found = list(process_pool(1, return_as="generator")(tasks))
    assert [total for total, _ in found] == [5_000 + n for n in range(6)]
    assert os.getpid() not in {pid for _, pid in found}
    assert sorted(sent) == ["_do"] * 6 + ["bytes"]


def test_a_worker_of_another_version_is_refused_with_both_versions(
    elsewhere: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = dict.fromkeys(parallel.PACKAGES, "0.0.1")
    monkeypatch.setattr(distributed.Client, "run", lambda *_: {"tcp://worker": others})
    with (
        pytest.raises(InputError, match=r"has metric-robustness-harness 0\.0\.1, and here is \d"),
        parallel.processes_on_cluster(elsewhere.address),
    ):
        pass


def test_a_system_in_a_file_is_refused_by_a_cluster_elsewhere(tmp_path: Path) -> None:
    text = WORLD + SYSTEMS.replace('"puresvd"', '"mine.py:Mine"').split("[systems.settings")[0]
    (tmp_path / "study.toml").write_text(text + METRICS + NO_ANALYSES, encoding="utf-8")
    (tmp_path / "mine.py").write_text(
        "from recommenders.shared.scorers import UserScorer as Mine\n", encoding="utf-8"
    )
    asked = ["run", str(tmp_path / "study.toml"), "--dask", "tcp://127.0.0.1:9"]
    answer = CliRunner().invoke(main, asked)
    assert answer.exit_code == 2
    assert "the system 'mine.py:Mine' is in a file of this machine" in answer.stderr


def _listening() -> set[tuple[str, int]]:
    """Give addresses and ports that this process listens on."""
    found = psutil.Process().net_connections("tcp")
    places = [each.laddr for each in found if each.status == psutil.CONN_LISTEN]
    return {(place.ip, place.port) for place in places}


def test_with_local_workers_nothing_listens_beyond_this_machine() -> None:
    before = _listening()
    with parallel.processes_on_cluster("local"):
        opened = _listening() - before
    assert {address for address, _ in opened} == {"127.0.0.1"}


@pytest.mark.parametrize(
    "asked",
    [
        ["tune", "study.toml", "puresvd", "--trials", "4", "--quiet", "--output", "OUTPUT"],
        ["sampled", "ranks.csv", "--repeats", "5", "--quiet", "--format", "csv"],
    ],
)
def test_what_is_tuned_and_sampled_is_the_same(
    study: Path, elsewhere: Cluster, tmp_path: Path, asked: list[str]
) -> None:
    ranks = [f"{system},u{user},{1 + user * user % 97}" for system in "ab" for user in range(40)]
    (tmp_path / "ranks.csv").write_text("system,user,rank\n" + "\n".join(ranks) + "\n")
    asked = [*asked, "--candidates", "1000"] if asked[0] == "sampled" else asked
    found = []
    for where in (["--jobs", "1"], ["--dask", elsewhere.address]):
        places = {
            "study.toml": str(study),
            "ranks.csv": str(tmp_path / "ranks.csv"),
            "OUTPUT": str(tmp_path / where[0]),
        }
        answer = CliRunner().invoke(main, [*(places.get(each, each) for each in asked), *where])
        assert answer.exit_code == 0, answer.output
        found.append(answer.stdout.replace(places["OUTPUT"], ""))
    here, there = found
    assert here == there


# What ends the cluster stands last.


def test_a_worker_that_dies_is_named_and_its_work_is_done_again_with_the_same_bytes(
    study: Path, elsewhere: Cluster, tmp_path: Path
) -> None:
    running = begun(study, tmp_path, elsewhere)
    os.kill(elsewhere.pid_of_a_busy_worker(), signal.SIGKILL)
    running.join()
    said = (tmp_path / "printed.txt").read_text()
    assert running.exitcode == 0, said
    assert "is gone; what it was doing is done again." in said
    assert contents(tmp_path / "there") == contents(study.parent / "here")


def test_a_lost_scheduler_ends_a_study_with_a_sentence_and_it_goes_on_elsewhere(
    study: Path, elsewhere: Cluster, tmp_path: Path
) -> None:
    running = begun(study, tmp_path, elsewhere)
    elsewhere.pid_of_a_busy_worker()
    elsewhere.scheduler.kill()
    running.join()
    assert running.exitcode == 1
    sentence = "Failed: the Dask scheduler is lost; the same command goes on from what is complete."
    assert (tmp_path / "printed.txt").read_text().splitlines()[-1] == sentence
    make(study, tmp_path / "there")
    assert contents(tmp_path / "there") == contents(study.parent / "here")
