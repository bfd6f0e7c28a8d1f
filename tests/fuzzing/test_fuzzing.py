"""A small slice of what ``python -m tests.fuzzing`` does, and the specification by hand."""

from pathlib import Path
from random import Random

import pytest

from tests.fuzzing import specification
from tests.fuzzing.comparison import READERS, Reader, Tally, WrongReadError, compare_one
from tests.fuzzing.tables import TableTally, compare_qrels_table, compare_run_table, compare_table

N_LINES = 2_000
N_TABLES = 60


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_a_damaged_file_is_read_as_specified_or_refused(reader: Reader) -> None:
    tally, random = Tally(), Random(20261121)
    while tally.lines < N_LINES:
        compare_one(reader, random, tally)
    assert 0 < tally.taken < tally.files


def test_a_table_of_ratings_is_read_as_written_or_refused(tmp_path: Path) -> None:
    tally = TableTally()
    random = Random(20261130)
    while tally.files < N_TABLES:
        compare_table(random, tally, tmp_path / "fuzzed.csv")
    assert tally.read > N_TABLES / 2


def test_a_table_of_runs_is_read_as_written_or_refused(tmp_path: Path) -> None:
    tally = TableTally()
    random = Random(20261130)
    while tally.files < N_TABLES:
        compare_run_table(random, tally, tmp_path / "fuzzed.csv")
    assert tally.read > N_TABLES / 2


def test_a_table_of_qrels_is_read_as_written_or_refused(tmp_path: Path) -> None:
    tally = TableTally()
    random = Random(20261130)
    while tally.files < N_TABLES:
        compare_qrels_table(random, tally, tmp_path / "fuzzed.csv")
    assert tally.read > N_TABLES / 2


def test_a_reader_that_skips_bad_lines_is_found_out() -> None:
    def careless(content: bytes) -> object:
        good = [line for line in content.split(b"\n") if len(line.split()) == 6]
        return READERS[0].ours(b"\n".join(good))

    reader = Reader("careless", READERS[0].valid, careless, READERS[0].specified)

    def fuzz(random: Random, tally: Tally) -> None:
        while tally.files < N_LINES:
            compare_one(reader, random, tally)

    with pytest.raises(WrongReadError):
        fuzz(Random(1), Tally())


def test_the_specification_orders_as_trec_eval() -> None:
    content = b"u Q0 10 1 0.5 s\nu Q0 9 2 0.5 s\nu Q0 a 3 1e1 s\n"
    assert specification.read_run(content) == ("s", {"u": ["a", "9", "10"]})


@pytest.mark.parametrize(
    "text", ["0.1", "1e23", "9007199254740993", "5e-324", "1e400", ".5", "-7."]
)
def test_the_specification_rounds_as_python_does(text: str) -> None:
    assert specification.number(text.encode()) == float(text)
