"""Progress: what is said, where, and after how long."""

import sys
from collections.abc import Iterator

import pytest

from runs.shared.progress import (
    Clock,
    Progress,
    ProgressBars,
    ProgressLines,
    SilentProgress,
    choose_progress,
)

EVERY = [SilentProgress, ProgressLines, ProgressBars]


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
    with ProgressLines(clock=lambda: 0.0)("Training", 2) as bar:
        bar.advance(done="ease, 3.0 s")
        bar.advance()
    assert capsys.readouterr().err == "Training: ease, 3.0 s; 1 of 2\nTraining: 0.0 s\n"


def test_a_log_is_told_how_far_the_work_is_after_a_minute_of_silence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The clock says 0 at the beginning, then 59.9, 60, 119.9, 120 and, at the end, 125 seconds."""
    times: Iterator[float] = iter([0.0, 59.9, 60.0, 119.9, 120.0, 125.0])
    with ProgressLines(clock=lambda: next(times))("Judging", 2000) as bar:
        bar.advance(1000)
        bar.advance()
        bar.advance(2)
        bar.advance()
    assert capsys.readouterr().err.splitlines() == [
        "Judging: 1,001 of 2,000",
        "Judging: 1,004 of 2,000",
        "Judging: 125.0 s",
    ]


def test_what_is_done_breaks_the_silence(capsys: pytest.CaptureFixture[str]) -> None:
    times: Iterator[float] = iter([0.0, 50.0, 109.0, 110.0, 115.0])
    with ProgressLines(clock=lambda: next(times))("Training", 4) as bar:
        bar.advance(done="ease")
        bar.advance()
        bar.advance()
    assert capsys.readouterr().err.splitlines() == [
        "Training: ease; 1 of 4",
        "Training: 3 of 4",
        "Training: 115.0 s",
    ]


def test_bars_count_what_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressBars()("Judging", 7) as bar:
        bar.advance()
        bar.advance(4)
    assert "5/7" in capsys.readouterr().err


def test_a_note_above_bars_is_broken_between_words(capsys: pytest.CaptureFixture[str]) -> None:
    bars = ProgressBars()
    width = bars._console.width
    path = "/data/" + "x" * width
    bars.note(f"{'word ' * width}well-known {path}")
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1] == path
    assert all(len(line) <= width for line in lines[:-1])
    assert not any(line.endswith("-") for line in lines)


@pytest.mark.parametrize(
    ("quiet", "is_terminal", "kind"),
    [
        (True, True, SilentProgress),
        (True, False, SilentProgress),
        (False, True, ProgressBars),
        (False, False, ProgressLines),
    ],
)
def test_bars_are_for_terminals_and_lines_for_logs(
    quiet: bool, is_terminal: bool, kind: type[Progress], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    assert type(choose_progress(quiet=quiet)) is kind


def test_a_cost_is_of_wall_and_of_processor_time(monkeypatch: pytest.MonkeyPatch) -> None:
    wall, processor = iter([100.0, 107.0]), iter([10.0, 13.0])
    monkeypatch.setattr("time.perf_counter", lambda: next(wall))
    monkeypatch.setattr("time.process_time", lambda: next(processor))
    cost = Clock().cost()
    assert (cost.seconds, cost.cpu_seconds) == (7.0, 3.0)
