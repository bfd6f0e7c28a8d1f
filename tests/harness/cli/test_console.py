import pytest

from analyses.shared.table import Table
from harness.cli.console import print_tables


@pytest.mark.parametrize("in_records", [False, True])
def test_names_in_brackets_are_printed_as_they_are(
    capsys: pytest.CaptureFixture[str], in_records: bool
) -> None:
    table = Table("t", "[/title]", "", ["[/name]", "[red]P"], [["[/a]", 0.5]])
    print_tables(table, in_records=in_records)
    printed = capsys.readouterr().out
    assert "[red]P" in printed
    assert "[/a]" in printed
