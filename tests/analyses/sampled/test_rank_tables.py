"""Tables of full and sampled ranks, and of scores of relevant items and their negatives."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from analyses.sampled.rank_tables import read_rank_table, read_sampled_ranks
from analyses.sampled.samples import SampledRanks
from qrels import FullRanks
from runs import InputError, InputWarning

LONG = (
    "system,user,rank,n_negatives,n_candidates\n"
    "x,ann,2,3,9\ny,ann,4,3,9\nx,bob,1,3,9\nx,bob,4,3,9\ny,bob,2,3,9\ny,bob,3,3,9\n"
)
WIDE = "user,x,y\nann,2,4\nbob,1,2\nbob,4,3\n"
RECBOLE = (
    "user_id:token\titem_id:token\tscore:float\tlabel:float\n"
    "ann\tr\t.8\t1.0\nann\ti\t.9\t0.0\nann\tj\t.1\t0.0\nann\tk\t.2\t0.0\n"
    "bob\tr\t.9\t1.0\nbob\ts\t.3\t1.0\nbob\ti\t.8\t0.0\nbob\tj\t.7\t0.0\nbob\tk\t.1\t0.0\n"
)
NCF = "(ann,25)\t.8\t.9\t.1\t.2\n(bob,3)\t.9\t.8\t.7\t.1\n"


def _read(tmp_path: Path, text: str, **asked: Any) -> dict[str, SampledRanks]:
    (tmp_path / "x.csv").write_text(text)
    return read_sampled_ranks(tmp_path / "x.csv", **asked)


def test_long_and_wide_tables_say_the_same(tmp_path: Path) -> None:
    long, wide = _read(tmp_path, LONG), _read(tmp_path, WIDE, negatives=3, candidates=9)
    for system in ("x", "y"):
        assert long[system].above.tolist() == wide[system].above.tolist()
        assert long[system].n_relevant.tolist() == [1, 2, 2]


def test_ranks_may_end_in_a_zero_and_users_stand_anywhere(tmp_path: Path) -> None:
    rows = [line.split(",") for line in WIDE.splitlines()]
    text = "".join(f"{x},7,{y},{user}\n" for user, x, y in rows).replace(",7,y,", ",item,y,")
    odd = text.replace("1,", "1.0,").replace("2,", "2.0,")
    found, expected = (_read(tmp_path, t, negatives=3, candidates=9) for t in (odd, WIDE))
    assert found.keys() == expected.keys()
    assert found["x"].rank.tolist() == expected["x"].rank.tolist()


def test_ids_of_negatives_are_no_scores(tmp_path: Path) -> None:
    lines = ["\t".join(map(str, [f"({user},25)", *range(99), 7])) + "\n" for user in range(2)]
    with pytest.raises(InputError, match=r"x\.csv, line 1: whole numbers, hardly any twice, are"):
        _read(tmp_path, "".join(lines), candidates=9)


def test_scores_in_recboles_layout_are_ranked(tmp_path: Path) -> None:
    found = _read(tmp_path, RECBOLE, candidates=9)["x"]
    assert found.rank.tolist() == [2, 1, 4]
    assert found.n_negatives.tolist() == [3, 3, 3]


def test_scores_in_ncfs_layout_are_ranked(tmp_path: Path) -> None:
    assert _read(tmp_path, NCF, candidates=9)["x"].rank.tolist() == [2, 1]


def test_negatives_of_the_same_score_are_placed_above(tmp_path: Path) -> None:
    with pytest.warns(InputWarning, match="1 relevant items have the score of a negative"):
        assert _read(tmp_path, NCF.replace(".8\t.9", ".9\t.9"), candidates=9)["x"].rank[0] == 2


def test_probabilities_say_what_negatives_above_stand_for(tmp_path: Path) -> None:
    text = "user,score,label,probability\nann,.5,1,\nann,.9,0,.25\nann,.8,0,.5\nann,.1,0,.1\n"
    mass = _read(tmp_path, text, candidates=9)["x"].inverse_mass_above
    assert mass is not None
    assert mass.tolist() == [6.0]
    text, sizes = "user,rank,inverse_mass_above\nann,2,6\n", {"negatives": 3, "candidates": 9}
    again = _read(tmp_path, text, **sizes)["x"].inverse_mass_above
    assert again is not None
    assert again.tolist() == [6.0]


@pytest.mark.parametrize(
    ("text", "asked", "sentence"),
    [
        ("", {}, "x.csv: the file is empty"),
        (LONG, {"negatives": 3}, "line 1: the table has a column n_negatives"),
        (WIDE, {"candidates": 9}, "line 1: the number of negatives is missing"),
        (WIDE + "eve,0,1\n", {"negatives": 3, "candidates": 9}, "line 5: .* from 1, found '0'"),
        (WIDE + "eve,5,1\n", {"negatives": 3, "candidates": 9}, "line 5: .* above 4, .* got 5"),
        (LONG + "x,ann,2,3,9\n", {}, "line 8: .* rank 2 twice for user 'ann', first in line 2"),
        (LONG + "x,ann,3,4,9\n", {}, "line 8: user 'ann' has other negatives or candidates"),
        (LONG + "x,eve,1,3,9\n", {}, "systems 'x' and 'y' have different users"),
        (LONG + "x,,1,3,9\n", {}, "line 8: column 'user': an id is missing"),
        (LONG.replace("3,9", "8,9"), {}, "line 4: .* irrelevant candidates, 7, got 8"),
        (RECBOLE + "eve\ti\t.1\t2\n", {"candidates": 9}, "line 11: a label must be 1 .* '2'"),
        (RECBOLE + "eve\ti\t.1\t0\n", {"candidates": 9}, "line 11: .* 'eve' has no relevant item"),
        (RECBOLE + "eve\ti\t.1\t1\n", {"candidates": 9}, "line 11: user 'eve' has no negative"),
        (RECBOLE + "eve\ti\tnan\t1\n", {"candidates": 9}, "line 11: .* number expected"),
        (RECBOLE, {"candidates": 9, "negatives": 4}, "'ann' has 3 negatives, not 4"),
        (NCF + "(ann,4)\t.1\t.2\n", {"candidates": 9}, "line 3: user 'ann' is duplicated"),
        (NCF + "ann\t.1\t.2\n", {"candidates": 9}, r"line 3: \(user,item\), its score"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(
    tmp_path: Path, text: str, asked: dict[str, int], sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        _read(tmp_path, text, **asked)


def test_sums_of_inverse_probabilities_are_at_least_the_negatives_above(tmp_path: Path) -> None:
    text = "user,rank,inverse_mass_above\nann,1,1\nann,4,1.5\n"
    with pytest.raises(InputError, match=r"line 3: inverse_mass_above must be 2 or more, .* 1\.5"):
        _read(tmp_path, text, negatives=3, candidates=9)


def test_users_of_several_files_are_matched_by_their_ids(tmp_path: Path) -> None:
    texts = {"one": "ann,1\nbob,2\n", "two": "bob,4\nann,3\n", "three": "ann,1\neve,2\n"}
    for name, text in texts.items():
        (tmp_path / f"{name}.csv").write_text(f"user,rank\n{text}")
    files = [tmp_path / f"{name}.csv" for name in texts]
    found = read_sampled_ranks(files[:2], negatives=3, candidates=9)
    assert {name: ranks.rank.tolist() for name, ranks in found.items()} == {
        "one": [1, 2],
        "two": [3, 4],
    }
    with pytest.raises(InputError, match="systems 'one' and 'three' have different users"):
        read_sampled_ranks(files, negatives=3, candidates=9)


def test_a_system_may_not_be_in_two_files(tmp_path: Path) -> None:
    for name in ("one.csv", "two.csv"):
        (tmp_path / name).write_text(LONG)
    with pytest.raises(InputError, match=r"two\.csv: system '.' is duplicated"):
        read_sampled_ranks([tmp_path / "one.csv", tmp_path / "two.csv"])


FULL_LONG = "system,user,rank,n_candidates\nx,ann,2,9\ny,ann,3,9\nx,bob,4,8\ny,bob,1,8\n"
FULL_WIDE = "user,x,y,n_candidates\nann,2,3,9\nbob,4,1,8\n"


def _read_full(tmp_path: Path, text: str, candidates: int | None = None) -> dict[str, FullRanks]:
    (tmp_path / "ranks.csv").write_text(text)
    return read_rank_table(tmp_path / "ranks.csv", candidates=candidates)


@pytest.mark.parametrize("text", [FULL_LONG, FULL_WIDE, FULL_WIDE.replace(",", "\t")])
def test_long_and_wide_tables_of_full_ranks_say_the_same(tmp_path: Path, text: str) -> None:
    found = _read_full(tmp_path, text)
    assert {name: ranks.rank.tolist() for name, ranks in found.items()} == {
        "x": [2, 4],
        "y": [3, 1],
    }
    assert found["y"].n_candidates.tolist() == [9, 8]


@pytest.mark.parametrize(
    ("text", "candidates", "sentence"),
    [
        ("x,y\n", 9, "line 1: the table has a heading but no ranks"),
        ("x,y\n1,2\n3,2.5\n", 9, "line 3: a rank must be a whole number from 1, found '2.5'"),
        ("x,y\n1,2\n10,2\n", 9, "line 3: a rank must not be above the candidates, 9, got 10"),
        (FULL_WIDE + "eve,1,1,\n", None, "line 4: a number of candidates must be a whole number"),
        (FULL_LONG + "x,eve,2,9\n", None, "systems 'x' and 'y' have different users"),
    ],
)
def test_what_is_wrong_with_full_ranks_is_named_with_its_line(
    tmp_path: Path, text: str, candidates: int | None, sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        _read_full(tmp_path, text, candidates)


@pytest.mark.parametrize(("deepest", "is_sampled"), [(100, True), (700, False)])
def test_ranks_that_may_be_among_negatives_are_warned_of(
    deepest: int, is_sampled: bool, tmp_path: Path
) -> None:
    rows = [f"u{n},{1 + n % deepest}" for n in range(2 * deepest)]
    (tmp_path / "ranks.csv").write_text("user,x\n" + "\n".join(rows))
    with pytest.warns(InputWarning, match="sampled negatives") if is_sampled else nullcontext():
        read_rank_table(tmp_path / "ranks.csv", candidates=1000)
