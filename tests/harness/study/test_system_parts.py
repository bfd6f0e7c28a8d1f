"""Names of the parts of a study that are of one system each."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.study.workers import RUN


@given(st.lists(st.text(min_size=1), min_size=2, max_size=2, unique=True))
def test_two_systems_never_share_a_file(systems: list[str]) -> None:
    assert RUN.file(systems[0]) != RUN.file(systems[1])


@given(st.text(min_size=1))
def test_a_run_is_always_a_file_of_its_folder(system: str) -> None:
    assert Path(RUN.file(system)).parent == Path("runs")


@given(st.text(min_size=1))
def test_a_run_is_always_a_page_of_the_ledger(system: str) -> None:
    assert Path(RUN.of(system)).name == RUN.of(system)


@pytest.mark.parametrize("system", ["item-knn", "bm25@2", "k1=0.9", "größer"])
def test_usual_names_are_left_as_they_are(system: str) -> None:
    assert RUN.file(system) == f"runs/{system}.parquet"
