import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs import InputError, InputWarning, Numbering, Run, run_file
from runs.formats import find_run_files, format_run, parse_runs, read_run
from runs.run_file import RunFile, common_items, require_known_users
from tests.harness.small import write_run


def written(folder: Path, text: str) -> Path:
    path = folder / "als.run"
    path.write_bytes(text.encode())
    return path


def ranked_items(file: RunFile) -> list[list[str]]:
    run = file.to_run(file.users, file.items)
    return [[str(file.items.ids[item]) for item in row if item >= 0] for row in run.items]


def test_lines_are_ordered_by_score_then_by_falling_item_id(tmp_path: Path) -> None:
    text = "u Q0 10 1 0.5 s\nu Q0 9 2 0.5 s\nu Q0 a 3 1e1 s\nu Q0 b 4 -inf s\n"
    assert ranked_items(read_run(written(tmp_path, text))) == [["a", "9", "10", "b"]]


def test_tabs_carriage_returns_blank_lines_and_comments_are_fine(tmp_path: Path) -> None:
    text = "# a comment\n\n  u\tQ0\t1\tx\t2\ts\r\nu Q0 2 x 1 s"
    assert ranked_items(read_run(written(tmp_path, text))) == [["1", "2"]]


def test_a_gzipped_run_is_read(tmp_path: Path) -> None:
    path = tmp_path / "als.run.gz"
    path.write_bytes(gzip.compress(b"u Q0 1 1 2 s\n"))
    assert read_run(path).system == "s"


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("u Q0 1 1 2 s\nu Q0 2 1 2\n", "als.run, line 2: a run line has six fields .* found 5"),
        ("u Q0 1 1 1_0 s\n", "line 1: the score '1_0' is not a number"),
        ("u Q0 1 1 2 s\nu Q0 2 1 nan s\n", "als.run, line 2: the score 'nan' is not a number"),
        ("u Q0 a b 1 2 s\n", "line 1: more than six fields, and the rank 'b' is no number"),
        (
            "u Q0 1 1 2 s\n\nv Q0 1 1 2 s\nu Q0 1 2 1 s\n",
            "line 4: item 1 is duplicated for user u, first in line 1",
        ),
        (
            "u Q0 1 1 2 s\nu Q0 2 2 1 t\n",
            "one run expected, found 2: the tags 's' and 't'",
        ),
        ("", "als.run: the file is empty"),
        ("\ufeffu Q0 1 1 2 s\n", "line 1: a byte order mark"),
        ("# nothing\n", "als.run: the file has no line with a recommendation"),
        ("u Q0 1 1 2 s\nu Q0 \0 1 2 s\n", "line 2: a NUL byte"),
    ],
)
def test_what_trec_eval_would_misread_is_refused(tmp_path: Path, text: str, finding: str) -> None:
    with pytest.raises(InputError, match=finding):
        read_run(written(tmp_path, text))


def test_an_id_may_have_a_thousand_characters_and_no_more(tmp_path: Path) -> None:
    run = read_run(written(tmp_path, f"u Q0 {'x' * 1000} 1 2 s\n"))
    assert run.items.ids.tolist() == ["x" * 1000]
    with pytest.raises(InputError, match="at most 1,000 characters, found one of 1,001"):
        read_run(written(tmp_path, f"u Q0 {'x' * 1001} 1 2 s\n"))


def test_bytes_that_are_not_utf8_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "als.run"
    path.write_bytes(b"u Q0 1 1 2 s\nu Q0 \xff 1 2 s\n")
    with pytest.raises(InputError, match="line 2: not UTF-8"):
        read_run(path)


def test_a_broken_archive_is_named(tmp_path: Path) -> None:
    path = tmp_path / "als.run.gz"
    path.write_bytes(gzip.compress(b"u Q0 1 1 2 s\n" * 100)[:-12])
    with pytest.raises(InputError, match=r"als\.run\.gz: the file cannot be read"):
        read_run(path)


def test_scores_beyond_the_range_of_doubles_tie_at_infinity(tmp_path: Path) -> None:
    text = "u Q0 a 1 1e400 s\nu Q0 b 2 inf s\nu Q0 c 3 -infinity s\nu Q0 d 4 -1e400 s\n"
    assert ranked_items(read_run(written(tmp_path, text))) == [["b", "a", "d", "c"]]


CLOSE = "u Q0 a 1 16777217 s\nu Q0 b 2 16777216 s\n"


def test_scores_that_differ_in_double_precision_only_are_warned_of(tmp_path: Path) -> None:
    with pytest.warns(InputWarning, match="1 neighbours in the lists have scores that differ in"):
        assert ranked_items(read_run(written(tmp_path, CLOSE))) == [["a", "b"]]


def test_in_single_precision_close_scores_tie(tmp_path: Path) -> None:
    file = read_run(written(tmp_path, CLOSE))
    lists = file.ranked_lists(file.users, file.items, precision="single")
    run = lists.to_run(np.arange(len(file.users)))
    assert file.items.ids[run.items[0]].tolist() == ["b", "a"]


ORDERINGS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 6), st.sampled_from([1.0, 1 + 1e-12, 2.0, 0.0])),
    unique_by=lambda line: line[:2],
    min_size=1,
)


@pytest.mark.filterwarnings("ignore::runs.InputWarning")
@pytest.mark.parametrize("presorted", [False, True])
@given(ORDERINGS)
def test_any_order_of_lines_gives_the_same_run(
    presorted: bool, entries: list[tuple[int, int, float]]
) -> None:
    ranked = sorted(entries, key=lambda entry: (entry[0], -entry[2], -entry[1]))
    lines = [f"u{u} Q0 i{i} 1 {score!r} s" for u, i, score in (ranked if presorted else entries)]
    expected: dict[int, list[str]] = {}
    for user, item, _ in ranked:
        expected.setdefault(user, []).append(f"i{item}")
    file = parse_runs(Path("a.run"), "\n".join(lines).encode())[0]
    assert ranked_items(file) == list(expected.values())


@given(st.lists(st.permutations(range(6)), min_size=1, max_size=5), st.integers(1, 6))
def test_a_run_that_is_written_reads_back_the_same(orders: list[list[int]], depth: int) -> None:
    ranked = np.array(orders, dtype=np.int32)[:, :depth]
    ranked[0, depth // 2 :] = -1
    ranked[0, 0] = orders[0][0]
    topics = Numbering.of([f"u{n}" for n in range(len(orders))])
    items = Numbering.of([f"i{n}" for n in range(6)])
    content = format_run(Run("s", ranked), topics, items)
    run = parse_runs(Path("a.run"), content)[0].to_run(topics, items, depth=depth)
    np.testing.assert_array_equal(run.items, ranked)


def test_users_that_are_no_topic_are_left_out(tmp_path: Path) -> None:
    file = read_run(written(tmp_path, "u Q0 1 1 2 s\nv Q0 1 1 2 s\n"))
    run = file.to_run(Numbering.of(["t", "v"]), common_items([file], Numbering.of(["7"])))
    assert run.items.tolist() == [[-1], [0]]


IDS = st.sampled_from(["u", "v", "10", "9", "\u00e9", "a\u00a0b", '"', "x#"])
SCORES = st.sampled_from(["1", "2.5", "-.5e1", "+3.", "1e400", "inf", "007"])
GAPS = st.sampled_from([" ", " ", "  ", "\t", "\r \v", "   \f"])


@st.composite
def lines(draw: st.DrawFn) -> str:
    """A line of a run file, whose fields stand apart in any way."""
    fields = [draw(IDS), "Q0", draw(IDS), "1", draw(SCORES), "s"]
    return draw(st.sampled_from(["", " ", "\t"])) + "".join(field + draw(GAPS) for field in fields)


@given(
    st.lists(lines(), min_size=1, max_size=4, unique_by=lambda line: tuple(line.split()[:3])),
    st.sampled_from(["\n", "\r\n", "\n\n", "\n#\n", "\n \t# u Q0 1 1 2 s\n"]),
)
def test_lines_are_not_read_singly_for_their_blanks_and_comments(
    given: list[str], end: str
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("runs.formats._checked_lines", None)
        file = parse_runs(Path("a.run"), end.join([*given, ""]).encode())[0]
    fields = [bytes.split(line.encode()) for line in given]
    assert [file.users.ids[user].encode() for user in file.user] == [line[0] for line in fields]
    assert [file.items.ids[item].encode() for item in file.item] == [line[2] for line in fields]
    assert file.score.tolist() == [float(line[4]) for line in fields]


def test_a_table_of_ranks_that_would_be_all_but_empty_is_refused(tmp_path: Path) -> None:
    """1,000 topics times one list of 100,000: 500 MB for 101,000 lines."""
    lists = {f"t{topic:03}": ["a"] for topic in range(1000)}
    lists["t005"] = [f"d{number}" for number in range(100_000)]
    file = read_run(write_run(tmp_path, "s", lists))
    with pytest.raises(InputError, match="topic 't005' has 100,000 items"):
        file.to_run(file.users, file.items)
    with pytest.raises(InputError, match=r"100,000 ranks for 1,000 topics, .* take 0\.5 GB"):
        file.to_run(file.users, file.items)
    run = file.to_run(file.users, file.items, depth=2)
    np.testing.assert_array_equal(run.lengths, [2 if number == 5 else 1 for number in range(1000)])


def test_a_table_may_have_67_million_cells_or_20_for_each_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run_file.MAX_CELLS == 67_108_864
    monkeypatch.setattr(run_file, "MAX_CELLS", 39)
    file = read_run(written(tmp_path, "u Q0 1 1 2 s\nv Q0 1 1 2 s\n"))
    assert file.to_run(file.users, file.items, depth=20).items.shape == (2, 20)
    with pytest.raises(InputError, match="21 ranks for 2 topics"):
        file.to_run(file.users, file.items, depth=21)
    monkeypatch.setattr(run_file, "MAX_CELLS", 42)
    assert file.to_run(file.users, file.items, depth=21).depth == 21


def test_an_item_with_the_score_of_the_next_in_its_list_is_tied(tmp_path: Path) -> None:
    text = "u Q0 a 1 2 s\nu Q0 b 2 2 s\nu Q0 c 3 1 s\nv Q0 a 1 1 s\nv Q0 b 2 1 s\nw Q0 a 1 1 s\n"
    file = read_run(written(tmp_path, text))
    run = file.to_run(file.users, file.items)
    assert run.tied is not None
    assert run.items.tolist() == [[1, 0, 2], [1, 0, -1], [0, -1, -1]]
    assert run.tied.tolist() == [[True, False, False], [True, False, False], [False] * 3]
    assert file.ranked_lists(file.users, file.items).lengths.tolist() == [3, 2, 1]


def test_neighbours_of_different_topics_are_no_near_tie(tmp_path: Path) -> None:
    text = "u Q0 a 1 3 s\nu Q0 b 1 16777217 s\nv Q0 a 1 3 s\nv Q0 b 2 16777216 s\n"
    file = read_run(written(tmp_path, text))
    assert file.to_run(file.users, file.items).lengths.tolist() == [2, 2]


def test_a_run_for_no_topic_has_one_empty_rank(tmp_path: Path) -> None:
    file = read_run(written(tmp_path, "u Q0 1 1 2 s\n"))
    run = file.to_run(Numbering.of(["t", "v"]), file.items)
    assert run.items.tolist() == [[-1], [-1]]


def test_items_of_judgements_runs_and_others_are_numbered_together(tmp_path: Path) -> None:
    file = read_run(written(tmp_path, "u Q0 b 1 2 s\nu Q0 d 1 1 s\n"))
    found = common_items([file], Numbering.of(["a", "b"]), ["c"])
    assert found.ids.tolist() == ["a", "b", "c", "d"]


def test_users_of_a_run_that_are_no_topic_are_counted(tmp_path: Path) -> None:
    file = read_run(written(tmp_path, "a Q0 1 1 2 s\nb Q0 1 1 2 s\nz Q0 1 1 2 s\n"))
    require_known_users(file, Numbering.of(["a", "b", "z"]))
    with pytest.warns(InputWarning, match=r"als\.run: 1 of its users are not in the qrels"):
        require_known_users(file, Numbering.of(["a", "b", "c"]))
    with pytest.raises(InputError, match="none of its 3 users is in the qrels"):
        require_known_users(file, Numbering.of(["c"]))


def test_fields_beyond_the_sixth_are_ignored_with_a_warning(tmp_path: Path) -> None:
    text = "u Q0 a 1 3 s\n\nu Q0 b 2 2 s more\nu Q0 c 3.0 1 s and more\n"
    with pytest.warns(InputWarning, match=r"2 lines \(the first is line 3\) have more than six"):
        assert ranked_items(read_run(written(tmp_path, text))) == [["a", "b", "c"]]


def test_a_run_is_written_with_ranks_from_1_and_scores_down_to_1() -> None:
    run = Run("s", np.array([[1, 0], [1, -1]], dtype=np.int32))
    content = format_run(run, Numbering.of("uv"), Numbering.of("ab"))
    assert content == b"u Q0 b 1 2 s\nu Q0 a 2 1 s\nv Q0 b 1 2 s\n"


def test_run_files_are_found_by_patterns_each_once_and_brackets_are_names(tmp_path: Path) -> None:
    folder = tmp_path / "[runs]"
    folder.mkdir()
    for name in ("b.run", "a.run", "c.txt"):
        (folder / name).touch()
    found = find_run_files([f"{folder}/b.run", f"{folder}/*.run"])
    assert [path.name for path in found] == ["b.run", "a.run"]
    with pytest.raises(InputError, match=r"d\*: no run file matches"):
        find_run_files([f"{folder}/a.run", f"{folder}/d*"])
