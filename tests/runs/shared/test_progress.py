import sys

import pytest

from runs.shared.progress import Bars, Lines, Progress, Silent, watched

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


@pytest.mark.parametrize("kind", [Lines, Bars])
def test_what_is_done_is_said_on_standard_error(
    kind: type[Progress], capsys: pytest.CaptureFixture[str]
) -> None:
    work(kind())
    assert "Judging" in capsys.readouterr().err


@pytest.mark.parametrize("kind", [Lines, Bars])
def test_brackets_in_a_remark_are_printed_as_they_are(
    kind: type[Progress], capsys: pytest.CaptureFixture[str]
) -> None:
    work(kind())
    assert "Warning: [/data] is [bold]odd[/bold]." in capsys.readouterr().err


def test_a_long_remark_is_broken_between_words_and_said_in_full(
    capsys: pytest.CaptureFixture[str],
) -> None:
    remark, path = " ".join(["judgements"] * 12), "a/long-path" * 10
    Bars().note(f"{remark} {path}.")
    *lines, last = capsys.readouterr().err.splitlines()
    assert max(map(len, lines)) <= 80
    assert " ".join(lines) == remark
    assert last == f"{path}."


def test_silence_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    work(Silent())
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("kind", EVERY)
def test_an_error_goes_through(kind: type[Progress]) -> None:
    with pytest.raises(ZeroDivisionError), kind()("Judging", 3):
        raise ZeroDivisionError


def test_whoever_asks_for_quiet_gets_it() -> None:
    assert isinstance(watched(quiet=True), Silent)


def test_a_terminal_gets_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert isinstance(watched(quiet=False), Bars)


def test_a_log_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    assert isinstance(watched(quiet=False), Lines)


def test_a_log_says_what_is_done_as_it_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with Lines(clock=lambda: 0.0)("Training", 2) as bar:
        bar.advance(done="ease, 3.0 s")
        bar.advance()
    assert capsys.readouterr().err == "Training: ease, 3.0 s; 1 of 2\nTraining: 0.0 s\n"


def test_a_log_is_told_each_minute_how_far_the_work_is(capsys: pytest.CaptureFixture[str]) -> None:
    seconds = iter(range(0, 1000, 25))
    with Lines(clock=lambda: float(next(seconds)))("Drawing", 9) as bar:
        for _ in range(5):
            bar.advance()
    assert capsys.readouterr().err == "Drawing: 3 of 9\nDrawing: 175.0 s\n"
