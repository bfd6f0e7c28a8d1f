"""What is left of a command that is stopped: nothing runs on, and nothing lies about."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.harness.small import METRICS, NO_ANALYSES, SYSTEMS, WORLD

SHARED_MEMORY = Path("/dev/shm")
PATIENCE = 60.0
HEARING = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
from harness.cli.main import main
main()
"""
"""The harness, if these tests run where signals are ignored, too."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not SHARED_MEMORY.is_dir(), reason="the machine has no /dev/shm"),
]


@pytest.fixture
def command(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A study that trains in two processes, in a session of its own."""
    (tmp_path / "study.toml").write_text(WORLD + SYSTEMS + METRICS + NO_ANALYSES, encoding="utf-8")
    run = [sys.executable, "-c", HEARING, "run", "study.toml", "--jobs", "2", "--output", "study"]
    with subprocess.Popen(
        run, cwd=tmp_path, start_new_session=True, stderr=subprocess.PIPE, text=True
    ) as started:
        yield started
        for process in in_session(started.pid):
            process.kill()


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
    command: subprocess.Popen[str],
) -> None:
    assert comes_true(lambda: len(workers(command.pid)) > 0)
    command.kill()
    command.wait()
    assert comes_true(lambda: not in_session(command.pid))


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_study_that_is_told_to_end_says_so_and_leaves_nothing(
    command: subprocess.Popen[str], tmp_path: Path, sent: signal.Signals
) -> None:
    before = {path.name for path in SHARED_MEMORY.iterdir()}
    assert comes_true(lambda: len(workers(command.pid)) > 0)
    command.send_signal(sent)
    _, said = command.communicate(timeout=PATIENCE)
    assert command.returncode == 128 + sent
    assert "Traceback" not in said
    assert said.endswith("Interrupted. The same command goes on from what is complete.\n")
    assert comes_true(lambda: not in_session(command.pid))
    left = {path.name for path in SHARED_MEMORY.iterdir()} - before
    assert not [name for name in left if str(command.pid) in name]
    assert not list(tmp_path.rglob("*.partial"))
