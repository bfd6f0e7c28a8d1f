"""What commands print: tables, numbers, results, and warnings in the end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from click.testing import CliRunner, Result

from analyses.shared.table import FORMATS, Table
from harness.cli.console import (
    EXIT_BROKEN,
    EXIT_FAILED,
    EXIT_MISUSED,
    EXIT_NOT_PASSED,
    explain_misfits,
    format_cell,
    print_tables,
    publish,
    warnings_as_sentences,
    write_and_print_path,
)
from harness.cli.options import publication_options
from runs import InputError
from runs.shared.errors import warn
from tests.analyses.shared.test_publish import Counts


@pytest.mark.parametrize("in_records", [False, True])
def test_names_in_brackets_are_printed_as_they_are(
    capsys: pytest.CaptureFixture[str], in_records: bool
) -> None:
    table = Table("t", "[/title]", "", ["[/name]", "[red]P"], [["[/a]", 0.5]])
    print_tables(table, in_records=in_records)
    printed = capsys.readouterr().out
    assert "[red]P" in printed
    assert "[/a]" in printed


def test_a_command_exits_with_1_for_failures_and_2_for_mistakes() -> None:
    assert (EXIT_FAILED, EXIT_BROKEN, EXIT_MISUSED, EXIT_NOT_PASSED) == (1, 1, 2, 3)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1234567, "1,234,567"),
        (1234567.0, "1,234,567"),
        (1234.5678, "1,235"),
        (0.123456, "0.1235"),
        (0.0, "0"),
        (float("nan"), "nan"),
        ("x", "x"),
        (True, "1"),
        (np.float64(2.0), "2"),
    ],
)
def test_numbers_have_thousands_apart_and_four_digits(value: Any, text: str) -> None:
    assert format_cell(value) == text


TABLE = Table(
    "t",
    "Title",
    "A note.",
    ["name", "value", "longest heading"],
    [["a", 1234.0, "x"], ["b", 2, ""]],
)


def lines_of(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def test_a_table_is_printed_with_title_and_note(capsys: pytest.CaptureFixture[str]) -> None:
    print_tables(TABLE)
    lines = lines_of(capsys)
    assert lines[0] == "Title"
    assert [line.split() for line in lines if line.startswith("  ")][:3] == [
        ["name", "value", "longest", "heading"],
        ["a", "1,234", "x"],
        ["b", "2"],
    ]
    assert lines[-1] == "A note."


def test_a_record_has_a_line_for_each_cell(capsys: pytest.CaptureFixture[str]) -> None:
    print_tables(TABLE, in_records=True)
    assert lines_of(capsys) == [
        "a",
        "  value            1,234",
        "  longest heading  x",
        "",
        "b",
        "  value            2",
        "  longest heading",
        "",
        "A note.",
    ]


def test_tables_without_title_and_note_have_none(capsys: pytest.CaptureFixture[str]) -> None:
    print_tables(Table("t", "", "", ["n"], [["a"]]))
    assert [line for line in lines_of(capsys) if line.strip("─ ")] == ["  n", "  a"]


@pytest.mark.parametrize("format_", [format_ for format_ in FORMATS if format_ != "text"])
def test_other_formats_are_those_of_tables(
    format_: str, capsys: pytest.CaptureFixture[str]
) -> None:
    print_tables(TABLE, format_=format_, in_records=True)
    assert capsys.readouterr().out == FORMATS[format_]([TABLE])


def test_warnings_of_the_input_are_said_in_the_end_even_if_it_fails(
    capsys: pytest.CaptureFixture[str],
) -> None:
    @warnings_as_sentences()
    def fails() -> None:
        warn("odd.")
        print("first")
        raise InputError("no")

    with pytest.raises(InputError):
        fails()
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("first\n", "Warning: odd.\n")
    with warnings_as_sentences():
        warn("again.")
    assert capsys.readouterr().err == "Warning: again.\n"


def misfit(**options: Any) -> None:
    @explain_misfits
    def command(**given: Any) -> None:
        raise LookupError("no such measure")

    command(**options)


@pytest.mark.parametrize(
    ("options", "named"),
    [({"study": Path("a")}, "a"), ({"studies": (Path("a"), Path("b"))}, "a, b")],
)
def test_results_that_do_not_fit_together_are_named_with_their_folders(
    options: dict[str, Any], named: str
) -> None:
    with pytest.raises(InputError) as caught:
        misfit(**options, plugins=())
    assert str(caught.value).startswith(f"{named}: the results do not fit together; `harness run`")
    with pytest.raises(InputError):
        misfit(**options)


def test_a_fault_of_a_plugin_is_shown_as_it_is() -> None:
    with pytest.raises(LookupError, match="no such measure"):
        misfit(study=Path("a"), plugins=(Path("mine.py"),))


def test_a_file_is_named_where_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_and_print_path("card", tmp_path / "new/card.html", b"x")
    assert capsys.readouterr().out == f"The card is {(tmp_path / 'new/card.html').resolve()}\n"
    assert (tmp_path / "new/card.html").read_bytes() == b"x"


@click.command()
@publication_options
def example(**_: Any) -> None:
    """Publish an example."""
    publish({"example": Counts()})


def ask(*arguments: str | Path) -> Result:
    return CliRunner().invoke(example, ["--quiet", *map(str, arguments)])


@pytest.mark.slow
@pytest.mark.usefixtures("blank_figures")
def test_results_are_printed_in_the_format_and_written_to_the_folder(tmp_path: Path) -> None:
    plain = ask()
    assert plain.exit_code == 0
    assert not plain.stdout.startswith("{")
    answer = ask("--format", "json", "--output", tmp_path / "new")
    assert [*json.loads(answer.stdout)]
    assert [*(tmp_path / "new").iterdir()]
