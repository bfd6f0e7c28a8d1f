import errno
import gzip
import os
import signal
import subprocess
import sys
import warnings
from concurrent.futures import BrokenExecutor
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from analyses.shared.table import FORMATS
from harness.cli.console import warnings_as_sentences
from harness.cli.main import (
    PATH_ERRNOS,
    SUMMARY_LENGTH,
    _groups,
    _sentence_and_code,
    main,
    signals_as_interrupts,
)
from harness.study.study import read_study
from harness.version import __version__
from runs import InputError
from runs.formats import read_run
from tests.harness.small import (
    METRICS,
    NO_ANALYSES,
    ROOT,
    TREC,
    TREC_METRICS,
    WHOLE,
    contents,
    write_collection,
    write_ratings,
    write_run,
)

MISUSED = 2
RATINGS = 'name = "x"\n[ratings]\npath = "ratings.csv"\n'
TWO = '[systems]\nnames = ["random", "popularity"]\ndepth = 20\n'
SMALL = TWO + METRICS + NO_ANALYSES
SLOW = (
    "numpy",
    "pydantic",
    "pandas",
    "scipy",
    "matplotlib",
    "numba",
    "pyarrow",
    "joblib",
    "hypothesis",
    "lenskit",
    "torch",
)


def harness(*arguments: str | Path) -> Result:
    return CliRunner(env={"COLUMNS": "200"}).invoke(main, [str(argument) for argument in arguments])


def run(folder: Path, text: str, *options: str | Path) -> Result:
    """Run a study file in this folder."""
    (folder / "study.toml").write_text(text, encoding="utf-8")
    output = ("--output", folder / "study", "--jobs", "1", "--quiet")
    return harness("run", folder / "study.toml", *output, *options)


# Help


def test_help_names_every_command() -> None:
    answer = harness("--help")
    assert answer.exit_code == 0
    commands = {
        "run",
        "tune",
        "init",
        "describe",
        "systems",
        "metrics",
        "check",
        "correlate",
        "discriminate",
        "evaluate",
        "export",
        "report",
        "figure",
        "table",
        "card",
    }
    assert commands <= set(answer.output.split())


def test_help_has_whole_summaries() -> None:
    answer = CliRunner(env={"COLUMNS": "80"}).invoke(main, ["--help"])
    assert "..." not in answer.output.partition("Options:")[2]


def test_another_command_is_answered_with_the_one_that_was_meant() -> None:
    assert "'discriminate'" in harness("discriminat").stderr


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("command", [("metrics",), ("systems",), ("systems", "ease")])
def test_lists_are_printed_in_every_format(command: tuple[str, ...], format_: str) -> None:
    answer = CliRunner(env={"COLUMNS": "80"}).invoke(main, [*command, "--format", format_])
    assert answer.exit_code == 0
    if format_ == "text":
        assert max(map(len, answer.stdout.splitlines())) <= 80
        assert "…" not in answer.stdout


@pytest.mark.parametrize("command", [[], ["run"], ["table"], ["verify"]])
def test_help_imports_nothing_slow(command: list[str]) -> None:
    code = (
        f"import sys; sys.argv = {['harness', *command, '--help']}\n"
        "from harness.cli.main import main\n"
        f"try: main()\nexcept SystemExit: print(set({SLOW}) & set(sys.modules))"
    )
    answer = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert answer.stdout.splitlines()[-1] == "set()", answer.stderr


@pytest.mark.slow
def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    command = [sys.executable, "-m", "harness", "metrics"]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout
        assert running.stderr
        running.stdout.close()
        assert running.stderr.read() == ""


# Running


# Mistakes


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "study.toml: `name` is missing."),
        ("name = x", "study.toml: not a TOML file: Invalid value (at line 1, column 8)."),
        (RATINGS.replace("ratings.csv", "no.csv") + SMALL, "no.csv: there is no such file or fol"),
        (RATINGS + 'format = "cvs"\n' + SMALL, "got 'cvs'; did you mean 'csv'?"),
        (RATINGS + "user_min = 99\n" + SMALL, "no ratings remain where every user has at least 99"),
        (RATINGS + "threshold = 9.0\n" + SMALL, "no test rating reaches the threshold 9"),
        (RATINGS + "columns = { user = 9, item = 1, rating = 2 }\n" + SMALL, "no column 9"),
        (RATINGS + '[split]\nmethod = "randm"\n' + SMALL, "no split is called 'randm'"),
        (RATINGS + SMALL.replace('"random"', '"randm"'), "no system is called 'randm'; did you m"),
        (RATINGS + SMALL.replace('"P"', '"nDGC"'), "no metric is called 'nDGC'; did you mean 'nD"),
        (RATINGS + SMALL + "[systems.settings.popularity]\nx = 1\n", "has no setting 'x'"),
        (RATINGS + SMALL + "[systems.settings.ease]\n", "the study has no system 'ease'"),
        (RATINGS + SMALL.replace("[5, 20]", '[5, 20]\nplugins = ["no.py"]'), "no.py: the metric"),
        (WHOLE.replace("n_users = 60", "users = 60"), "the world has no setting 'users'"),
        (WHOLE.replace("gini = 0.5", "gini = 0.99"), "`gini` must be between"),
        (WHOLE.replace('"world"', '"world"\npreset = "big"'), "there is no preset 'big'"),
        (TREC.replace("*.run", "*.trec"), "*.trec: no run file matches."),
        (TREC.replace("test.qrels", "no.qrels"), "no.qrels: the file does not exist."),
    ],
)
def test_a_mistake_is_answered_with_a_sentence_and_exit_code_2(
    tmp_path: Path, text: str, sentence: str
) -> None:
    write_collection(tmp_path)
    write_ratings(tmp_path / "ratings.csv")
    answer = run(tmp_path, text)
    assert (answer.exit_code, answer.stdout) == (MISUSED, "")
    assert sentence in answer.stderr
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "ratings.csv: the file is empty"),
        ("userId,movieId,rating,timestamp\nu,a,good,1\n", "ratings.csv, line 2: "),
        ("userId,movieId,rating,timestamp\nu,a,nan,1\n", "ratings.csv, line 2: "),
        ("userId,movieId,rating,timestamp\nu,a,1,1\nu,b,inf,1\n", "ratings.csv, line 3: "),
        ("userId,movieId,rating,timestamp\nu,a,1,1\nu,a,2,1\n", "ratings.csv, line 3: "),
        ("userId,movieId,rating,timestamp\nu,a\n", "ratings.csv, line 2: "),
        ("userId,movieId,rating,timestamp\nu,a,1,1,1\n", "ratings.csv, line 2: "),
        ("userId,movieId,rating,timestamp\nu,,1,1\n", "ratings.csv, line 2: "),
        (
            "userId,movieId,rted,timestamp\nu,a,3,1\n",
            "ratings.csv: The column 'rted' may be",
        ),
    ],
)
def test_a_fault_in_the_ratings_is_answered_with_file_and_line(
    tmp_path: Path, content: str, sentence: str
) -> None:
    (tmp_path / "ratings.csv").write_text(content)
    answer = run(tmp_path, RATINGS + SMALL)
    assert answer.exit_code == MISUSED
    assert f"Error: {tmp_path}/{sentence}" in answer.stderr
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "no.toml"),
        ("run", "--seed", "-1"),
        ("run", "--seed", str(2**63)),
        ("run", "--jobs", "0"),
        ("describe", "no.csv"),
        ("metrics", "--plugin", "no.py"),
        ("report", "no-study"),
        ("export", "no-study", "--output", "target"),
        ("export", "no-study"),
        ("rnu",),
    ],
)
def test_a_wrong_command_line_exits_with_code_2(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = harness(*arguments)
    assert answer.exit_code == MISUSED
    assert "Error: " in answer.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [("card", "P@5"), ("init", "ratings.csv")])
def test_a_folder_in_place_of_a_file_is_refused_before_any_work(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = harness(*command, "--output", tmp_path)
    assert answer.exit_code == MISUSED
    assert "is a directory" in answer.stderr


def test_a_file_in_place_of_a_folder_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    answer = harness("card", "P@5", "--tries", "1", "--output", "file/card.html")
    assert answer.exit_code == MISUSED
    assert answer.stderr.startswith("Error: file")


def test_a_folder_that_is_no_study_is_left_alone(tmp_path: Path) -> None:
    write_collection(tmp_path)
    (tmp_path / "study").mkdir()
    (tmp_path / "study/thesis.tex").touch()
    answer = run(tmp_path, TREC + TREC_METRICS + NO_ANALYSES)
    assert answer.exit_code == MISUSED
    assert "not empty and holds no study" in answer.stderr
    assert [path.name for path in (tmp_path / "study").iterdir()] == ["thesis.tex"]


# Interruptions


@pytest.fixture
def interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Result:
    """A run during whose scoring somebody pressed Ctrl-C."""
    with monkeypatch.context() as patch:
        patch.setattr("harness.study.score_parts.score", _interrupt)
        return run(tmp_path, WHOLE)


def _interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_an_interruption_is_answered_with_how_to_go_on(interrupted: Result) -> None:
    assert interrupted.exit_code == 130
    assert interrupted.stderr == "Interrupted. The same command goes on from what is complete.\n"


@pytest.mark.slow
@pytest.mark.usefixtures("interrupted", "blank_figures")
def test_an_interrupted_run_goes_on_to_the_same_tables(finished: Path, tmp_path: Path) -> None:
    assert run(tmp_path, WHOLE).exit_code == 0
    assert contents(tmp_path / "study", "tables/*") == contents(finished, "tables/*")


# The other commands


@pytest.mark.parametrize(
    ("table", "finding"),
    [
        ('[metrics]\nnames = ["nDGC"]', "line 5: no metric is called 'nDGC'; did you mean 'nDCG'?"),
        ('[systems]\nnames = ["ease"]', "line 5: a study compares at least two systems."),
        ('[systems]\nnames = ["eas", "random"]', "line 5: no system is called 'eas'"),
        ("[systems.settings.ease]\nregularization = -1", "line 4: system 'ease': the setting"),
        ('[split]\nmethod = "user-randm"', "line 5: no split is called 'user-randm'"),
        ("[metrics]\ncutoffs = [5.0]", "line 5: `cutoffs` in [metrics] must be a valid"),
        ("[systems]\ndepth = true", "line 5: `depth` in [systems] must be a valid"),
    ],
)
def test_a_wrong_name_or_value_is_placed_in_the_study_file(
    tmp_path: Path, table: str, finding: str
) -> None:
    study = tmp_path / "study.toml"
    study.write_text(f'name = "x"\n[ratings]\nformat = "world"\n{table}\n')
    answer = CliRunner().invoke(main, ["run", str(study), "--output", str(tmp_path / "out")])
    assert answer.exit_code == 2
    assert f"study.toml, {finding}" in answer.output
    assert not (tmp_path / "out").exists()


def test_a_metric_that_fails_is_found_out_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from harness.metrics.shared.metric import metric\n"
        "@metric('mine', source='here')\n"
        "def mine(judged, *, cutoff=None):\n"
        "    return judged.no_such_thing\n"
    )
    study = tmp_path / "study.toml"
    study.write_text(
        'name = "x"\n[ratings]\nformat = "world"\n[metrics]\nplugins = ["mine.py"]\n'
        'names = ["mine"]\n'
    )
    answer = CliRunner().invoke(main, ["run", str(study), "--output", str(tmp_path / "out")])
    assert answer.exit_code == 2
    assert "line 6: metric 'mine' fails in " in answer.output
    assert "mine.py, line 4: AttributeError" in answer.output
    assert not (tmp_path / "out").exists()


def test_a_plugin_on_the_command_line_adds_its_metrics(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from harness.metrics.shared.metric import metric\n"
        "@metric('first', source='here')\n"
        "def first(judged, *, cutoff=None):\n"
        "    return judged.relevant[:, 0].astype(float)\n"
    )
    write_collection(tmp_path)
    answer = run(tmp_path, TREC + TREC_METRICS + NO_ANALYSES, "--plugin", tmp_path / "mine.py")
    assert answer.exit_code == 0, answer.output
    assert ",first,2," in (tmp_path / "study" / "tables" / "means.csv").read_text()


# What is too much


@pytest.mark.parametrize(
    "text",
    [
        f'name = "x"\nseed = {"9" * 5000}\n',
        f"a = {'[' * 3000}{']' * 3000}\n",
        'name = "x"\n[ratings]\npath = "a\\u0000b.csv"\n',
        'name = "x"\noutput = "a\\u0000b"\n[ratings]\nformat = "world"\n',
    ],
)
def test_a_study_file_that_no_reader_can_bear_is_refused_in_a_sentence(
    tmp_path: Path, text: str
) -> None:
    (tmp_path / "study.toml").write_text(text)
    answer = harness("run", tmp_path / "study.toml")
    assert answer.exit_code == MISUSED
    assert "Error: " in answer.stderr
    assert "Traceback" not in answer.stderr


def test_a_long_id_is_refused_with_its_line_before_it_fills_the_memory(tmp_path: Path) -> None:
    (tmp_path / "a.run").write_text(f"u Q0 a 1 2 s\nu Q0 {'b' * 400_000} 2 1 s\n")
    (tmp_path / "q.qrels").write_text("u 0 a 1\n")
    answer = harness("evaluate", "--qrels", tmp_path / "q.qrels", tmp_path / "a.run")
    assert answer.exit_code == MISUSED
    assert "a.run, line 2: an id or a name has at most 1,000 characters, found one of 400,000" in (
        answer.stderr
    )


def test_an_archive_that_memory_cannot_hold_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Memory:
        available = 8_000

    monkeypatch.setattr("psutil.virtual_memory", Memory)
    (tmp_path / "a.run.gz").write_bytes(gzip.compress(b"u Q0 a 1 2 s\n" * 1000))
    with pytest.raises(InputError, match=r"a.run.gz: a file may have at most 0.0 MB unpacked"):
        read_run(tmp_path / "a.run.gz")


def test_control_characters_of_names_are_shown_and_not_obeyed(tmp_path: Path) -> None:
    tag = "b\x1b[2J\u202em"
    (tmp_path / "a.run").write_text(f"u Q0 a 1 2 {tag}\n", encoding="utf-8")
    (tmp_path / "q.qrels").write_text("u 0 a 1\n")
    answer = harness("evaluate", "--qrels", tmp_path / "q.qrels", tmp_path / "a.run")
    assert "b\\x1b[2J\\u202em" in answer.stdout
    assert not {"\x1b", "\u202e"} & set(answer.stdout + answer.stderr)
    wrong = harness("run", tmp_path / f"{tag}.toml")
    assert not {"\x1b", "\u202e"} & set(wrong.stderr)


def started(*arguments: str | Path, **options: Any) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "harness", *map(str, arguments)]
    return subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments", [["--help"], ["metrics"], ["evaluate", "--qrels", "q", "a.run"]]
)
def test_an_output_that_nobody_reads_is_no_failure(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "a.run").write_text("u Q0 a 1 2 s\n")
    (tmp_path / "q").write_text("u 0 a 1\n")
    paths = [tmp_path / each if (tmp_path / each).exists() else each for each in arguments]
    with started(*paths) as command:
        assert command.stdout is not None
        command.stdout.close()
        assert command.stderr is not None
        assert b"Failed" not in command.stderr.read()
    assert command.returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
@pytest.mark.parametrize("arguments", [["systems"], ["evaluate", "--qrels", "q", "a.run"]])
def test_an_output_that_lacks_a_sign_is_no_failure(
    tmp_path: Path, encoding: str, arguments: list[str]
) -> None:
    (tmp_path / "a.run").write_text("u Q0 a 1 2 日本\n", encoding="utf-8")
    (tmp_path / "q").write_text("u 0 a 1\n")
    paths = [tmp_path / each if (tmp_path / each).exists() else each for each in arguments]
    with started(*paths, env=os.environ | {"PYTHONIOENCODING": encoding}) as command:
        printed, said = command.communicate()
    assert command.returncode == 0, said
    assert printed


def test_a_full_disk_is_a_failure_that_names_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    answer = run(tmp_path, WHOLE)
    assert answer.exit_code == 1
    assert f"no space is left on the device of {tmp_path / 'study'}" in answer.stderr
    assert not list(tmp_path.rglob("*.partial"))


def test_a_study_does_not_tell_where_its_input_was(tmp_path: Path) -> None:
    home = tmp_path / "home" / "anna"
    home.mkdir(parents=True)
    write_ratings(home / "ratings.csv")
    text = RATINGS.replace("ratings.csv", str(home / "ratings.csv")) + SMALL
    assert run(tmp_path, text).exit_code == 0
    for name in ("manifest.json", "study.toml", "report.html"):
        assert str(tmp_path) not in (tmp_path / "study" / name).read_text()
    again = read_study(tmp_path / "study" / "study.toml").ratings
    assert again is not None
    assert again.path == home / "ratings.csv"


def test_a_refused_change_leaves_a_finished_study_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise InputError("these ranks cannot be.")

    write_ratings(tmp_path / "ratings.csv")
    assert run(tmp_path, RATINGS + SMALL).exit_code == 0
    before = contents(tmp_path / "study", "*.[jht]*")
    monkeypatch.setattr("harness.study.study_run.StudyRun.keep_analysis", refuse)
    refused = run(tmp_path, (RATINGS + SMALL).replace(NO_ANALYSES, ""))
    assert refused.exit_code == MISUSED
    assert contents(tmp_path / "study", "*.[jht]*") == before


@pytest.mark.filterwarnings("default")
def test_warnings_of_libraries_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with warnings_as_sentences():
        warnings.warn("no such glyph", UserWarning, stacklevel=1)
    assert capsys.readouterr().err == "Warning: no such glyph\n"


def test_an_unknown_metric_is_answered_with_the_option_for_ones_own(tmp_path: Path) -> None:
    answer = CliRunner().invoke(main, ["card", "Mine@50"])
    assert answer.exit_code == MISUSED
    assert "--plugin" in answer.stderr


@pytest.mark.parametrize("handler", [signal.SIG_IGN, signal.SIG_DFL])
def test_what_is_ignored_stays_ignored(handler: signal.Handlers) -> None:
    before = signal.signal(signal.SIGHUP, handler)
    try:
        with signals_as_interrupts():
            is_ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        assert is_ignored == (handler is signal.SIG_IGN)
        assert signal.getsignal(signal.SIGHUP) is handler
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGHUP])
def test_what_a_closed_terminal_sends_ends_a_command_like_ctrl_c(sent: signal.Signals) -> None:
    before = signal.getsignal(sent)
    with pytest.raises(KeyboardInterrupt) as caught, signals_as_interrupts():
        signal.raise_signal(sent)
    assert caught.value.args == (sent,)
    assert signal.getsignal(sent) is before
    assert _sentence_and_code(caught.value)[1] == 128 + sent


def failed(number: int, *place: object) -> OSError:
    return OSError(number, os.strerror(number), *place)


TOO_LITTLE = "Failed: memory ran out; use fewer workers (--jobs), or a machine with more memory."


@pytest.mark.parametrize(
    ("error", "sentence", "code"),
    [
        (InputError("no.\n\x1bYes."), "Error: no.\n\\x1bYes.", 2),
        (KeyboardInterrupt(), "Interrupted. The same command goes on from what is complete.", 130),
        (
            BrokenExecutor(),
            "Failed: a worker was stopped, most likely for want of memory; try --jobs 1.",
            1,
        ),
        (
            failed(errno.ENOSPC),
            "Failed: no space is left on the device of the folder that is written to.",
            1,
        ),
        (failed(errno.ENOSPC, "a/b"), "Failed: no space is left on the device of a.", 1),
        (failed(errno.ENOENT, "a"), "Error: a: No such file or directory; name another place.", 2),
        (failed(errno.EIO, "a"), "Failed: [Errno 5] Input/output error: 'a'", 1),
        (failed(errno.ENOENT), "Failed: [Errno 2] No such file or directory", 1),
        (failed(errno.ENOENT, 3), "Failed: [Errno 2] No such file or directory: 3", 1),
        (MemoryError(), TOO_LITTLE, 1),
        (MemoryError("too large."), "Failed: too large.", 1),
        (ImportError("x", name="somebody.elses"), "", 1),
        (ValueError("a fault of ours"), "", 1),
    ],
)
def test_what_stops_a_command_is_answered_with_a_sentence_and_a_code(
    error: BaseException, sentence: str, code: int
) -> None:
    assert _sentence_and_code(error) == (sentence, code)


def test_a_module_of_ours_that_is_another_is_a_mistake_of_the_installation() -> None:
    sentence, code = _sentence_and_code(ImportError("x", name="runs.none"))
    assert (sentence.startswith("Error: "), code) == (True, 2)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EISDIR, errno.ENOTDIR, errno.EROFS])
def test_a_place_where_nothing_can_be_is_named(number: int) -> None:
    assert number in PATH_ERRNOS
    assert _sentence_and_code(failed(number, "p")) == (
        f"Error: p: {os.strerror(number)}; name another place.",
        2,
    )


def test_a_fault_of_ours_is_shown_with_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def fault() -> None:
        raise ValueError("ours")

    monkeypatch.setattr("harness.cli.main.require_own_packages", fault)
    answer = harness("metrics")
    assert isinstance(answer.exception, ValueError)
    assert answer.stderr == ""


def test_help_has_a_section_for_each_group_and_summaries_of_any_length() -> None:
    printed = harness("--help").stdout
    places = [printed.index(f"{heading}:") for heading, _ in _groups()]
    assert places == sorted(places)
    assert SUMMARY_LENGTH == 1000
    names = [name for _, group in _groups() for name in group]
    width = max(map(len, names))
    for _, group in _groups():
        for name, command in group.items():
            words = command.get_short_help_str(1000)
            assert f"  {name:<{width}}  {words}"[:60] in printed


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_is_asked_for_in_two_ways(option: str) -> None:
    assert harness(option).stdout == harness("--help").stdout
    assert harness("run", option).exit_code == 0


def test_the_version_is_told() -> None:
    assert harness("--version").stdout == f"harness, version {__version__}\n"


@pytest.mark.slow
def test_a_log_names_the_parts_that_are_made_and_those_that_are_up_to_date(tmp_path: Path) -> None:
    write_ratings(tmp_path / "ratings.csv")
    text = RATINGS + "threshold = 4\n" + SMALL
    first = run(tmp_path, text, "--verbose")
    assert "scores: made for the first time" in first.stderr
    changed = text + "[analyses.correlation]\nreplicates = 3\n"
    again = run(tmp_path, changed.replace("names = []", 'names = ["correlation"]'), "-v")
    assert "scores: up to date" in again.stderr
    assert "correlation: made for the first time" in again.stderr


def test_quiet_commands_print_no_warnings(tmp_path: Path) -> None:
    write_collection(tmp_path)
    write_run(tmp_path, "odd", {"u1": ["a"], "x1": ["b"]})
    command = ("evaluate", "--qrels", tmp_path / "test.qrels", tmp_path / "odd.run")
    loud, quiet = harness(*command), harness(*command, "--quiet")
    assert "Warning" in loud.stderr
    assert "Warning" not in quiet.stderr
    assert quiet.stdout == loud.stdout
