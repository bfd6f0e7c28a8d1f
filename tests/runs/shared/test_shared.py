"""Ids, modules, processes and progress."""

import errno
import signal
import sys
import tempfile
import warnings
from collections.abc import Iterator
from importlib.metadata import distributions, version
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs import InputWarning, first_unfit_id, id_fault
from runs.shared import compiled
from runs.shared.errors import remarks_of
from runs.shared.ids import WHITESPACE
from runs.shared.members import load_module
from runs.shared.parallel import PACKAGES, _check_workers, processes
from runs.shared.progress import Bars, Lines, Progress, Silent


@pytest.mark.parametrize("fit", ["tt0111161", "a#b", "日本", "a\u200bb"])
def test_ordinary_ids_are_fit(fit: str) -> None:
    assert id_fault(fit) is None


@pytest.mark.parametrize(
    ("unfit", "fault"),
    [
        ("", "is empty"),
        ("a\u2028b", "has whitespace (U+2028)"),
        ("a\0b", "has a NUL"),
        ("#a", "starts with '#'"),
    ],
)
def test_a_fault_is_named(unfit: str, fault: str) -> None:
    assert id_fault(unfit) == fault


def test_whitespace_is_what_python_splits_at() -> None:
    characters = map(chr, range(1, sys.maxunicode + 1))
    splitting = {character for character in characters if not character.split()}
    assert splitting == set(WHITESPACE)


letters = st.text(st.sampled_from("a#\0 \u3000é"), max_size=4)


@given(st.lists(letters.filter(lambda id: not id.endswith("\0")), max_size=5))
def test_the_first_unfit_id_is_the_first_with_a_fault(ids: list[str]) -> None:
    expected = next((place for place, id in enumerate(ids) if id_fault(id)), None)
    assert first_unfit_id(np.array(ids, dtype=np.str_)) == expected


def test_a_file_that_changed_within_a_second_is_run_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    path = tmp_path / "mine.py"
    for value in range(3):
        path.write_text(f"value = {value}\n")
        assert load_module(path, what="file").value == value
    assert list(tmp_path.iterdir()) == [path]


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
            next(processes(n_jobs, return_as="generator")(tasks()))
        assert signal.getsignal(sent) is signal.default_int_handler
    finally:
        signal.signal(sent, former)
    assert passed == [n_jobs] * (n_jobs > 1)


def doubled(value: int) -> int:
    return 2 * value


def test_versions_of_workers_are_compared_with_what_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Client:
        def run(self, _: Any) -> dict[str, dict[str, str]]:
            return {"tcp://worker": {name: version(name) for name in PACKAGES if name in known}}

    known = {each.name for each in distributions()}
    (tmp_path / "numpy-0.0.1.dist-info").mkdir()
    (tmp_path / "numpy-0.0.1.dist-info" / "METADATA").write_text("Name: numpy\nVersion: 0.0.1\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    assert version("numpy") == np.__version__
    _check_workers(Client(), "tcp://scheduler")


def test_loops_are_compiled_where_no_folder_can_be_written_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    compiled.warn_of_no_folder.cache_clear()
    with pytest.warns(InputWarning, match="NUMBA_CACHE_DIR") as caught:
        loops = [compiled.jit()(doubled) for _ in range(2)]
    assert [loop(3) for loop in loops] == [6, 6]
    assert len(caught) == 1


EVERY = [Silent, Lines, Bars]


def work(progress: Progress) -> None:
    """A piece of work with a remark, as the harness does it."""
    with progress("Judging", 3) as bar:
        bar.advance()
        bar.advance(2)
    progress.note("Warning: [/data] is [bold]odd[/bold].")


@pytest.mark.parametrize("kind", EVERY)
def test_standard_output_is_left_to_results(
    kind: type[Progress], capsys: pytest.CaptureFixture[str]
) -> None:
    work(kind())
    assert capsys.readouterr().out == ""


def test_a_log_says_what_is_done_as_it_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with Lines(clock=lambda: 0.0)("Training", 2) as bar:
        bar.advance(done="ease, 3.0 s")
        bar.advance()
    assert capsys.readouterr().err == "Training: ease, 3.0 s; 1 of 2\nTraining: 0.0 s\n"


def remarks(*given: InputWarning) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for warning in given:
            warnings.warn(warning, stacklevel=1)
    return remarks_of(caught)
