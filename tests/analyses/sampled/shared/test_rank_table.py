"""Tables of full ranks."""

from pathlib import Path

import pytest

from analyses.sampled.shared.sample_tables import read_rank_table
from qrels import FullRanks
from runs import InputError

LONG = "system,user,rank,n_candidates\nx,ann,2,9\ny,ann,3,9\nx,bob,4,8\ny,bob,1,8\n"
WIDE = "user,x,y,n_candidates\nann,2,3,9\nbob,4,1,8\n"


def _read(tmp_path: Path, text: str, candidates: int | None = None) -> dict[str, FullRanks]:
    (tmp_path / "ranks.csv").write_text(text)
    return read_rank_table(tmp_path / "ranks.csv", candidates=candidates)


@pytest.mark.parametrize("text", [LONG, WIDE, WIDE.replace(",", "\t")])
def test_long_and_wide_tables_say_the_same(tmp_path: Path, text: str) -> None:
    found = _read(tmp_path, text)
    assert {name: ranks.rank.tolist() for name, ranks in found.items()} == {
        "x": [2, 4],
        "y": [3, 1],
    }
    assert found["y"].n_candidates.tolist() == [9, 8]


def test_users_are_the_same_whatever_the_order_of_the_rows(tmp_path: Path) -> None:
    heading, *rows = LONG.splitlines()
    found = _read(tmp_path, "\n".join([heading, rows[0], rows[3], rows[2], rows[1]]))
    assert dict(zip(found["y"].user.tolist(), found["y"].rank.tolist(), strict=True)) == {
        0: 3,
        1: 1,
    }


def test_the_last_rank_is_that_of_the_candidates(tmp_path: Path) -> None:
    assert _read(tmp_path, "x\n9\n", candidates=9)["x"].rank.tolist() == [9]


def test_rows_without_ids_are_users_of_their_own(tmp_path: Path) -> None:
    found = _read(tmp_path, "x,y\n2,3\n4,1\n", candidates=9)
    assert found["x"].user.tolist() == [0, 1]


def test_a_user_may_have_several_relevant_items(tmp_path: Path) -> None:
    found = _read(tmp_path, "user,x\nann,2\nann,5\nbob,1\n", candidates=9)
    assert found["x"].n_relevant.tolist() == [2, 2, 1]


@pytest.mark.parametrize(
    ("text", "candidates", "sentence"),
    [
        ("", 9, "ranks.csv: the file is empty"),
        ("x,y\n", 9, "line 1: the table has a heading but no ranks"),
        ("x,x\n1,2\n", 9, "line 1: column 'x' is duplicated"),
        ("x,y\n1,2\n1\n", 9, "line 3: 2 fields expected"),
        ("x,y\n1,2\n3,2.5\n", 9, "line 3: a rank must be a whole number from 1, found '2.5'"),
        ("x,y\n1,2\n0,2\n", 9, "line 3: a rank must be a whole number from 1, found '0'"),
        ("x,y\n1,2\n10,2\n", 9, "line 3: a rank must not be above the candidates, 9, got 10"),
        ("x,y\n1,2\n", None, "line 1: the number of candidates must be given"),
        (WIDE, 9, "line 1: the table has a column n_candidates"),
        (WIDE + "eve,1,1,\n", None, "line 4: a number of candidates must be a whole number"),
        (LONG + "x,ann,2,9\n", None, "line 6: .* rank 2 twice for user 'ann', first in line 2"),
        (LONG + "x,eve,2,9\n", None, "systems 'x' and 'y' have different users"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(
    tmp_path: Path, text: str, candidates: int | None, sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        _read(tmp_path, text, candidates)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.csv: there is no such file"):
        read_rank_table(tmp_path / "none.csv")
