"""What is left of a command that is stopped: nothing runs on, and nothing lies about."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path

import psutil
import pytest

from tests.harness.small import METRICS, NO_ANALYSES, SYSTEMS, WORLD, start

SHARED_MEMORY = Path("/dev/shm")
PATIENCE = 60.0

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not SHARED_MEMORY.is_dir(), reason="the machine has no /dev/shm"),
]


@pytest.fixture
def command(tmp_path: Path) -> Iterator[BaseProcess]:
    """A study that trains in two processes, in a session of its own."""
    study, printed = tmp_path / "study.toml", tmp_path / "printed.txt"
    study.write_text(WORLD + SYSTEMS + METRICS + NO_ANALYSES, encoding="utf-8")
    asked = ("run", study, "--jobs", "2", "--output", tmp_path / "study")
    started = start(*asked, output=printed, in_session=True)
    yield started
    for process in in_session(leader_of(started)):
        process.kill()
    started.join()


def leader_of(process: BaseProcess) -> int:
    """Give the number of a process, which is that of its session."""
    assert process.pid is not None
    return process.pid


def in_session(leader: int) -> list[psutil.Process]:
    """Give the processes of a session that run."""
    found = []
    for process in psutil.process_iter():
        try:
            if os.getsid(process.pid) == leader and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (psutil.NoSuchProcess, ProcessLookupError):
            continue
    return found


def workers(leader: int) -> list[psutil.Process]:
    """Give the workers of joblib among them."""
    found = []
    for process in in_session(leader):
        try:
            if any("popen_loky" in argument for argument in process.cmdline()):
                found.append(process)
        except psutil.NoSuchProcess:
            continue
    return found


def comes_true(claim: Callable[[], bool]) -> bool:
    end = time.monotonic() + PATIENCE
    while not claim():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def test_a_killed_study_leaves_no_worker_that_waits_for_its_first_task(
    command: BaseProcess,
) -> None:
    leader = leader_of(command)
    assert comes_true(lambda: len(workers(leader)) > 0)
    command.kill()
    command.join()
    assert comes_true(lambda: not in_session(leader))


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_study_that_is_told_to_end_says_so_and_leaves_nothing(
    command: BaseProcess, tmp_path: Path, sent: signal.Signals
) -> None:
    before = {path.name for path in SHARED_MEMORY.iterdir()}
    leader = leader_of(command)
    assert comes_true(lambda: len(workers(leader)) > 0)
    os.kill(leader, sent)
    command.join(PATIENCE)
    said = (tmp_path / "printed.txt").read_text(encoding="utf-8")
    assert command.exitcode == 128 + sent
    assert "Traceback" not in said
    assert said.endswith("Interrupted. The same command goes on from what is complete.\n")
    assert comes_true(lambda: not in_session(leader))
    left = {path.name for path in SHARED_MEMORY.iterdir()} - before
    assert not [name for name in left if str(leader) in name]
    assert not list(tmp_path.rglob("*.partial"))
