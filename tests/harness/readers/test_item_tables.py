"""Tables of items: what is read, and what is refused with its line."""

from pathlib import Path

import numpy as np
import pytest

from harness.readers.item_tables import read_features, read_item_values
from runs import InputError, Numbering

ITEMS = Numbering.of(["10", "20", "30"])


def written(folder: Path, text: str) -> Path:
    path = folder / "items.csv"
    path.write_bytes(text.encode())
    return path


def test_categories_become_features(tmp_path: Path) -> None:
    path = written(tmp_path, "id,title,genres\n20,One,Drama | War\n10,Two,War\n99,Other,Noir\n")
    found = read_features(path, ITEMS, columns=["genres"])
    assert found.names == ("Drama", "Noir", "War")
    np.testing.assert_array_equal(found.values, [[0, 0, 1], [1, 0, 1], [0, 0, 0]])


def test_numbers_are_features_as_they_are(tmp_path: Path) -> None:
    found = read_features(written(tmp_path, "id\tx\ty\n10\t0.5\t-1\n30\t2\t0\n"), ITEMS)
    assert found.names == ("x", "y")
    np.testing.assert_array_equal(found.values, [[0.5, -1], [0, 0], [2, 0]])


def test_a_number_among_categories_is_one_of_them(tmp_path: Path) -> None:
    found = read_features(written(tmp_path, "id,tags\n10,war|1984\n20,1984\n30,\n"), ITEMS)
    assert found.names == ("1984", "war")
    np.testing.assert_array_equal(found.values, [[1, 1], [1, 0], [0, 0]])


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("", "items.csv: the file is empty"),
        ("id\n10\n", r"items.csv, line 1: two columns or more expected"),
        ("id,x,y\n10,1,2\n20,3\n", "items.csv, line 3: 3 fields expected, .* found 2"),
        ("id,x\n10,1\n20,2\n10,3\n", "items.csv, line 4: item '10' is duplicated"),
        ("id,x\n10,1\n,2\n", "items.csv, line 3: an item has no name"),
        ("id,x,x\n10,1,2\n", "items.csv, line 1: column 'x' is duplicated"),
        ("id,x\n10,1\n20,big\n", "items.csv, line 3: column 'x': a number expected, found 'big'"),
        ("id,x\n10,1\n20,inf\n", "items.csv, line 3: column 'x': a number expected, found 'inf'"),
        ("id,x\n10,1\n20,\n", "items.csv, line 3: column 'x': a number is missing"),
    ],
)
def test_a_table_of_features_that_breaks_a_rule_is_refused_with_its_line(
    tmp_path: Path, text: str, finding: str
) -> None:
    with pytest.raises(InputError, match=finding):
        read_features(written(tmp_path, text), ITEMS)


@pytest.mark.parametrize("text", ["id,x\n", "id,x\ni10,1\n"])
def test_a_table_of_other_items_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match="no item of the study, such as '10', is there"):
        read_features(written(tmp_path, text), ITEMS)


def test_a_column_that_is_not_there_is_answered_with_the_columns(tmp_path: Path) -> None:
    path = written(tmp_path, "id,title,genres\n10,One,War\n")
    with pytest.raises(InputError, match="no column 'genre'; its columns are title, genres"):
        read_features(path, ITEMS, columns=["genre"])


def test_values_of_items_are_read_by_id(tmp_path: Path) -> None:
    path = written(tmp_path, "item,count\n30,7\n10,0\n")
    found = read_item_values(path, ITEMS, what="count")
    np.testing.assert_array_equal(found, [0, np.nan, 7])


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        (
            "item,p\n10,0.5\n20,1.5\n",
            r"line 3: the chance of an item must be from 0 to 1, got 1\.5",
        ),
        ("item,p\n10,0.5\n20,-1\n", "line 3: the chance of an item must be from 0 to 1, got -1"),
        ("item,p\n10,0.5\n20,half\n", "line 3: column 'p': a number expected, found 'half'"),
        ("item,p\n10,0.5\n20,\n", "line 3: column 'p': a chance is missing"),
        ("item,p\n10,0.5\n10,0.6\n", "line 3: item '10' is duplicated"),
        ("item\n10\n", "line 1: two columns expected: item and chance"),
    ],
)
def test_a_value_that_breaks_a_rule_is_refused_with_its_line(
    tmp_path: Path, text: str, finding: str
) -> None:
    with pytest.raises(InputError, match=finding):
        read_item_values(written(tmp_path, text), ITEMS, what="chance", high=1.0)
