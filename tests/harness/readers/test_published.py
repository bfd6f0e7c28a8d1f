from pathlib import Path

import pytest

from harness.readers.means_table import read_published
from runs import InputError


def written(text: str, folder: Path) -> Path:
    path = folder / "published.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_other_columns_are_passed_over(tmp_path: Path) -> None:
    text = "source,measure,system,value\nTable 1,P@10,slim,0.3\nTable 1,nDCG@10,slim,0.4\n"
    found = read_published(written(text, tmp_path))
    assert found.numbers == {("slim", "P@10"): 0.3, ("slim", "nDCG@10"): 0.4}
    assert (found.subject, found.are_ranks) == ("system", False)


def test_an_order_of_measures_is_read(tmp_path: Path) -> None:
    found = read_published(written("quantity,measure,rank\narea,P@5,2\narea,AP@5,1\n", tmp_path))
    assert (found.subject, found.are_ranks) == ("quantity", True)


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("", "the file is empty"),
        ("system,measure,value\n", "line 1: the table has a heading but no numbers"),
        ("name,measure,value\nx,P,1\n", "line 1: one column `system` or `quantity` expected"),
        ("system,measure,value,rank\nx,P,1,1\n", "line 1: one column `value` or `rank` expected"),
        ("system,metric,value\nx,P,1\n", "line 1: one column `measure` expected"),
        ("system,measure,value\nx,P\n", "line 2: 3 fields expected"),
        ("system,measure,value\nx,P,high\n", "line 2: column 'value': a number expected"),
        ("system,measure,value\n,P,1\n", "line 2: a system has no name"),
        ("system,measure,value\nx,P@5,1\nx,P@5,2\n", "line 3: P@5 of 'x' is duplicated"),
        ("system,measure,value\nx,P@0,1\n", "line 2: "),
        ("system,measure,rank\nx,P,0\n", "line 2: a rank is 1 or more, got 0"),
    ],
)
def test_what_is_no_such_table_is_refused(text: str, finding: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_published(written(text, tmp_path))
    assert "published.csv" in str(caught.value)
    assert finding in str(caught.value)
