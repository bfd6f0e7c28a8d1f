"""The page on replications is made by the study files and the code that are here."""

from pathlib import Path

import pandas as pd
import pytest

from harness.report.publication import Publication
from tests.benchmarks.page_digests import OF_EXAMPLE, PAGE, digests_of, kept, made_tables
from tests.conftest import WrittenExample


@pytest.mark.parametrize("kind", ["study", "code", "content"])
def test_tables_are_made_by_what_is_here(kind: str) -> None:
    """Where this fails, run `make replications`, which makes the tables and writes digests."""
    tables = set(made_tables())
    here = {table: digests_of(table)[kind] for table in tables}
    assert {table: digests[kind] for table, digests in kept().items()} == here


@pytest.mark.slow
@pytest.mark.parametrize("table", OF_EXAMPLE)
def test_tables_of_the_example_are_made_again(
    written_example: WrittenExample, tmp_path: Path, table: str
) -> None:
    """Rendle (2019) and Tables 1 and 2 of Krichene & Rendle (2020), which need no data."""
    on_page = tmp_path / f"{table}.csv"
    page = pd.read_csv(PAGE / f"{table}.csv", dtype=str).rename(columns={"ours": "value"})
    page.to_csv(on_page, index=False)
    made = Publication.of_tables([written_example.folder], [on_page])
    assert (len(made.joined), made.missing) == (len(page), ())
    assert made.joined.ours.tolist() == pytest.approx(made.joined.published.tolist(), rel=1e-5)
