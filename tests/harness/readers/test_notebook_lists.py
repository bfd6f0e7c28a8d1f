"""Runs and qrels as notebooks have them: the same scores, whatever holds them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ir_measures import Qrel, ScoredDoc

from harness import InputError, discriminate, robustness, score
from harness.readers.judgements import counts_of, judgements_of
from harness.readers.rankings import (
    has_columns_of_trec,
    is_single,
    read_pairs,
    read_run_files,
    replicates_of,
    runs_of,
)
from runs.tables.roles import RUNS
from tests.harness.small import FULL, JUDGEMENTS, PARTIAL, write_collection, write_run

MEASURES = ["nDCG@2", "bpref", "P@1"]
LISTS = {
    name: {
        topic: {item: 1.0 / rank for rank, item in enumerate(items, start=1)}
        for topic, items in lists.items()
    }
    for name, lists in {"full": FULL, "partial": PARTIAL}.items()
}
PAIRS = [(topic, item, grade) for topic, own in JUDGEMENTS.items() for item, grade in own.items()]
FEW: dict[str, Any] = {"samples": 3, "replicates": 5, "levels": [1.0, 0.5]}


class OfRanx:
    """A Run or Qrels as ranx has them: no mapping, but it gives one."""

    def __init__(self, content: Mapping[str, Mapping[str, float]], name: str | None = None) -> None:
        self.content, self.name = content, name

    def keys(self) -> Any:
        return self.content.keys()

    def __getitem__(self, topic: str) -> Mapping[str, float]:
        return self.content[topic]

    def __len__(self) -> int:
        return len(self.content)

    def to_dict(self) -> Mapping[str, Mapping[str, float]]:
        return self.content


class OfLensKit:
    """Lists of LensKit, which give a frame."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame

    def to_df(self) -> pd.DataFrame:
        return self.frame


NAMES = ("qid", "docno", "score")


def records(name: str) -> list[ScoredDoc]:
    return [ScoredDoc(t, item, s) for t, own in LISTS[name].items() for item, s in own.items()]


def frame(name: str, *, columns: tuple[str, str, str]) -> pd.DataFrame:
    return pd.DataFrame(records(name)).set_axis(columns, axis=1)


def of_trec(name: str) -> pd.DataFrame:
    rows = [(t, "Q0", item, 1, number, name) for t, item, number in records(name)]
    return pd.DataFrame(rows)


FORMS: dict[str, tuple[Any, Any]] = {
    "dictionaries": (LISTS, JUDGEMENTS),
    "records of ir_measures": (
        {name: iter(records(name)) for name in LISTS},
        (Qrel(*pair) for pair in PAIRS),
    ),
    "frames of ir_measures": (
        {name: pd.DataFrame(records(name)) for name in LISTS},
        pd.DataFrame([Qrel(*pair) for pair in PAIRS]),
    ),
    "frames of PyTerrier": (
        {name: frame(name, columns=NAMES) for name in LISTS},
        pd.DataFrame(PAIRS, columns=["qid", "docno", "label"]),
    ),
    "one frame of TREC's columns": (
        pd.concat([of_trec(name) for name in LISTS]),
        pd.DataFrame([(topic, 0, item, grade) for topic, item, grade in PAIRS]),
    ),
    "one frame with names": (
        pd.concat([pd.DataFrame(records(name)).assign(run_id=name) for name in LISTS]),
        JUDGEMENTS,
    ),
    "objects of ranx": ([OfRanx(LISTS[name], name) for name in LISTS], OfRanx(JUDGEMENTS)),
    "lists of LensKit": (
        {name: OfLensKit(frame(name, columns=("user_id", "item_id", "score"))) for name in LISTS},
        JUDGEMENTS,
    ),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    write_collection(folder)
    return folder


@pytest.mark.parametrize("form", FORMS)
def test_what_holds_runs_and_qrels_changes_no_score(form: str, files: Path) -> None:
    runs, qrels = FORMS[form]
    found = score(runs, qrels, MEASURES)
    expected = score(f"{files}/*.run", files / "test.qrels", MEASURES)
    assert found.systems == expected.systems
    assert found.users.tolist() == expected.users.tolist()
    assert np.array_equal(found.values, expected.values)


def test_files_take_the_names_that_they_are_given(files: Path) -> None:
    runs = {"one": files / "full.run", "two": str(files / "partial.run")}
    assert score(runs, files / "test.qrels", "P@1").systems == ("one", "two")


def test_paths_and_runs_with_names_may_be_mixed(files: Path) -> None:
    runs = [files / "full.run", OfRanx(LISTS["partial"], "other")]
    assert score(runs, JUDGEMENTS, "P@1").systems == ("full", "other")


def test_ids_that_are_numbers_match_ids_that_are_texts() -> None:
    runs = {name: {"1": {7: 2.0, 8: number}} for name, number in (("a", 1.0), ("b", 3.0))}
    assert score(runs, {1: {"7": 1, "8": 0}}, "P@1").values.tolist() == [[[1.0], [0.0]]]


def test_a_negative_grade_of_any_size_means_not_judged() -> None:
    unjudged = {**JUDGEMENTS, "u1": {"a": 1, "b": -1e12}}
    pooled = {**JUDGEMENTS, "u1": {"a": 1, "b": -1}}
    found, expected = (score(LISTS, qrels, ["bpref"]) for qrels in (unjudged, pooled))
    assert np.array_equal(found.values, expected.values)


RUN = LISTS["full"]
REFUSED_RUNS: list[tuple[Any, str]] = [
    ([RUN, RUN], "a run needs the name of its system, and dict has none: give {name: run}, where"),
    ([OfRanx(RUN)], "a run needs the name of its system, and OfRanx has none"),
    (3, "a run needs the name of its system, and int has none"),
    ({"a": RUN, "b": 3}, "the run 'b' must be a path, a dictionary"),
    ({"a": RUN, "b": [1]}, "ScoredDocs of ir_measures or a Run of ranx, got a list of int."),
    ({"a": RUN, "b": {}}, "the run 'b': there is no item."),
    ({"a": RUN, "b": []}, "the run 'b': there is no item."),
    ({"a": RUN, "b": {"u1": 3}}, "the run 'b': numbers by item are expected for topic 'u1', got i"),
    ({"a": RUN, "b": {"u1": {"d": "x"}}}, "the run 'b': numbers are expected, found 'x'."),
    ({"a": RUN, "b": {"u1": {"d": np.nan}}}, "the run 'b': item 'd' of topic 'u1' has no number."),
    ({"a": RUN, "b": {"u1": {None: 1.0}}}, "the run 'b': in row 1 an id is missing."),
    ({"a": RUN, "b": {"u9": {"d": 1.0}}}, "the run 'b': none of its 1 users is in the qrels"),
    ({"a": RUN, "b": records("full") * 2}, "the run 'b': item 'a' of topic 'u1' is duplicated."),
    ({"a": RUN, "b": pd.DataFrame(records("full")).drop(columns="score")}, "the run 'b': No col"),
    ({1: RUN, "1": RUN}, "the run '1': the tag '1' is also that of the run '1'"),
]


@pytest.mark.parametrize(("runs", "finding"), REFUSED_RUNS)
def test_a_run_that_cannot_be_read_is_told(runs: Any, finding: str) -> None:
    with pytest.raises(InputError) as caught:
        score(runs, JUDGEMENTS, MEASURES)
    assert finding in str(caught.value)


REFUSED_QRELS: list[tuple[Any, str]] = [
    (3, "the qrels must be a path, a dictionary {topic: {item: grade}}, a data frame, Qrels of"),
    ({"u1": {"a": 0.5}}, "a grade must be a whole number of at most 2147483647, and item 'a' of"),
    ({"u1": {"a": 0}}, "the qrels: no judgement is relevant: the highest grade is 0"),
    (pd.DataFrame(PAIRS), "the qrels: No column is known to hold the users"),
]


@pytest.mark.parametrize(("qrels", "finding"), REFUSED_QRELS)
def test_qrels_that_cannot_be_read_are_told(qrels: Any, finding: str) -> None:
    with pytest.raises(InputError) as caught:
        score(LISTS, qrels, MEASURES)
    assert finding in str(caught.value)


def test_one_run_is_scored_and_is_no_comparison() -> None:
    one = score({"full": RUN}, JUDGEMENTS, MEASURES)
    assert np.array_equal(one.values, score(LISTS, JUDGEMENTS, MEASURES).values[:, :1])
    with pytest.raises(InputError, match="compares at least two systems, got 1"):
        robustness({"full": RUN}, JUDGEMENTS, MEASURES, **FEW)
    with pytest.raises(InputError, match="at least two systems and one topic, got 1 and"):
        discriminate(one)


def test_measures_may_have_the_names_of_trec_eval() -> None:
    found = score(LISTS, JUDGEMENTS, ["ndcg_cut_10", "map", "MRR@5", "P_1", "recip_rank"])
    expected = score(LISTS, JUDGEMENTS, ["nDCG@10", "AP", "RR@5", "P@1", "RR"])
    assert found.measures == expected.measures
    assert np.array_equal(found.values, expected.values)
    with pytest.raises(InputError, match="no metric is called 'ndcg_cut'"):
        score(LISTS, JUDGEMENTS, "ndcg_cut")


def test_what_is_no_measure_is_refused() -> None:
    with pytest.raises(InputError, match="got 3"):
        score(LISTS, JUDGEMENTS, [3])  # type: ignore[list-item]


def test_no_measure_is_refused() -> None:
    with pytest.raises(InputError, match="there is no measure: name some, such as 'nDCG@10'"):
        score(LISTS, JUDGEMENTS, [])


def test_users_that_the_qrels_lack_are_left_out_with_a_warning(tmp_path: Path) -> None:
    more = {**PARTIAL, "u9": ["a"]}
    runs = {"full": LISTS["full"], "more": write_run(tmp_path, "more", more)}
    with pytest.warns(UserWarning, match=r"more\.run: 1 of its users are not in the qrels"):
        assert score(runs, JUDGEMENTS, "P@1").values.shape == (1, 2, 3)


@pytest.mark.slow
def test_losing_judgements_at_random_is_what_the_study_makes_of_it() -> None:
    found = robustness(LISTS, JUDGEMENTS, MEASURES, **FEW)
    assert found.frame().columns[:4].tolist() == ["metric", "cutoff", "level", "tau"]
    assert found.frame().tau[0] == 1.0
    assert len(found.findings()) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "popularity",
    [{"a": 9, "b": 1, "unseen": 4}, pd.Series(list("aaaaaaaaab") + ["unseen"] * 4).value_counts()],
    ids=["dictionary", "counted"],
)
def test_popular_is_what_the_user_says(popularity: Any) -> None:
    few: dict[str, Any] = {"levels": [1.0, 0.5], "replicates": 0}
    found = robustness(LISTS, JUDGEMENTS, MEASURES, loss="popularity", popularity=popularity, **few)
    frame = found.frame()
    # Of the six items that are judged or counted, a, unseen and b are the most popular.
    assert frame.counted_in.unique().tolist() == ["train"]
    assert frame.judgements[1] == 3


@pytest.mark.slow
def test_without_counts_an_item_is_as_popular_as_it_is_judged() -> None:
    found = robustness(LISTS, JUDGEMENTS, ["P@1"], loss="popularity", levels=[1.0], replicates=0)
    assert found.frame().counted_in.tolist() == ["test"]


@pytest.mark.parametrize(
    ("asked", "finding"),
    [
        ({"loss": "sparse"}, "`loss` must be one of random, popularity, got 'sparse'."),
        ({"popularity": {"a": 1}}, "`popularity` is for loss='popularity', got loss='random'."),
        ({"samples": 0}, "the setting 'samples' must be at least 1, got 0."),
        ({"sample": 9}, "robustness() has no argument 'sample'; did you mean 'samples'?"),
        ({"loss": "popularity", "counted_in": "train"}, "without training ratings, `counted_in`"),
        ({"loss": "popularity", "popularity": {"a": -1}}, "a whole number from 0 on, and item 'a'"),
        ({"loss": "popularity", "popularity": {"a": np.nan}}, "and item 'a' has nan."),
        ({"loss": "popularity", "popularity": 3}, "popularity must be counts by item"),
    ],
)
def test_what_robustness_cannot_be_asked_is_told(asked: dict[str, Any], finding: str) -> None:
    with pytest.raises(InputError) as caught:
        robustness(LISTS, JUDGEMENTS, MEASURES, **asked)
    assert finding in str(caught.value)


def test_a_list_holds_several_runs_of_a_system(tmp_path: Path) -> None:
    path = write_run(tmp_path, "any", FULL)
    several = [path, LISTS["partial"], OfRanx(LISTS["partial"]), frame("full", columns=NAMES)]
    one_each = score({**LISTS, "records": records("full")}, JUDGEMENTS, MEASURES)
    found = score({"both": several, "records": records("full")}, JUDGEMENTS, MEASURES)
    assert found.systems == ("both", "records")
    full, partial = one_each.values[:, 0], one_each.values[:, 1]
    ranked_for_by_both = [True, True, False]
    expected = np.where(ranked_for_by_both, (full + partial) / 2, full)
    np.testing.assert_allclose(found.values[:, 0], expected, atol=1e-13)


def test_judgements_are_taken_away_from_all_runs_of_a_system() -> None:
    found = robustness(
        {"both": [LISTS["full"]] * 2, "partial": LISTS["partial"]}, JUDGEMENTS, MEASURES, **FEW
    )
    single = robustness(
        {"both": LISTS["full"], "partial": LISTS["partial"]}, JUDGEMENTS, MEASURES, **FEW
    )
    assert found.frame().tau.tolist() == single.frame().tau.tolist()


@pytest.mark.parametrize("run", [RUN, OfRanx(RUN), records("full"), pd.DataFrame(records("full"))])
def test_a_single_run_needs_no_name(run: Any) -> None:
    named = score({"full": LISTS["full"]}, JUDGEMENTS, MEASURES)
    alone = score(run, JUDGEMENTS, MEASURES)
    assert alone.systems == ("run",)
    np.testing.assert_array_equal(alone.values, named.values)


def test_a_category_without_rows_is_no_system() -> None:
    frames = []
    for system, lists in LISTS.items():
        rows = [(t, item, s) for t, own in lists.items() for item, s in own.items()]
        frames.append(pd.DataFrame(rows, columns=NAMES).assign(system=system))
    runs = pd.concat(frames)
    categories = ["full", "partial", "withdrawn"]
    runs["system"] = pd.Categorical(runs["system"], categories=categories)
    assert score(runs, JUDGEMENTS, MEASURES).systems == ("full", "partial")


def test_scores_by_system_in_place_of_frames_by_measure_are_told_apart() -> None:
    by_system: dict[str, Any] = {"a": [0.1, 0.2], "b": [0.2, 0.3]}
    with pytest.raises(InputError, match="'a' has list"):
        discriminate(by_system)


def test_all_wrong_names_are_told_at_once() -> None:
    with pytest.raises(InputError, match=r"(?s)'ndgc'.*nDCG.*'bprev'.*bpref"):
        score(LISTS, JUDGEMENTS, ["ndgc@10", "P@1", "bprev"])


@pytest.mark.parametrize(
    ("data", "is_one"),
    [
        (RUN, True),
        (LISTS, False),
        ({}, True),
        ({"u": {}}, True),
        ({"a": RUN, "b": 3}, False),
        (records("full"), True),
        (tuple(records("full")), True),
        ([], False),
        ([1], False),
        ([RUN], False),
        (OfRanx(RUN), True),
        (pd.DataFrame(records("full")), True),
        ("a.run", False),
    ],
)
def test_a_single_run_is_told_from_several(data: Any, is_one: bool) -> None:
    assert is_single(data) == is_one


def pairs(run: Any) -> list[tuple[str, str, float]]:
    found, numbers = read_pairs(run, "the run", RUNS)
    users, items = found.users.ids[found.user], found.items.ids[found.item]
    return [*zip(users.tolist(), items.tolist(), numbers.tolist(), strict=True)]


def test_scores_count_before_ranks_and_ranks_where_there_are_none() -> None:
    frame = pd.DataFrame({"qid": ["u", "u"], "docno": ["a", "b"], "rank": [1, 2]})
    assert pairs(frame) == [("u", "a", -1), ("u", "b", -2)]
    scored = frame.assign(score=[0.5, 2])
    assert pairs(scored) == [("u", "a", 0.5), ("u", "b", 2)]
    assert pairs(frame.assign(score=[np.nan, np.nan])) == pairs(frame)
    with pytest.raises(InputError, match="item 'b' of topic 'u' has no number"):
        pairs(frame.assign(score=[0.5, np.nan]))


def test_columns_of_trec_have_their_numbers_for_names() -> None:
    assert has_columns_of_trec(of_trec("full"), width=6)
    assert not has_columns_of_trec(of_trec("full"), width=4)
    assert not has_columns_of_trec(of_trec("full").rename(columns={5: "tag"}), width=6)
    by_text = of_trec("full").rename(columns=str)
    assert pairs(by_text) == pairs(RUN)
    qrels = judgements_of(pd.DataFrame([("u", 0, "i", 3), ("u", 0, "j", -9)]))
    assert (qrels.grade.tolist(), qrels.items.ids.tolist()) == ([3, -1], ["i", "j"])


def test_runs_of_a_system_are_numbered_from_1() -> None:
    found, systems = replicates_of({"a": [RUN, RUN], "b": RUN, "c": [RUN]})
    assert systems == ("a", "a", "b", "c")
    assert [run.system for run in found] == ["a-1", "a-2", "b", "c-1"]
    found, systems = replicates_of(LISTS)
    assert ([run.system for run in found], systems) == (["full", "partial"], ())
    found, systems = replicates_of(RUN)
    assert ([run.system for run in found], systems) == (["run"], ())


def test_a_frame_with_a_system_holds_several_runs_and_one_without_a_single() -> None:
    frame = pd.DataFrame(records("full"))
    several = pd.concat([frame.assign(tag="x"), frame.assign(tag="y")])
    assert [run.system for run in runs_of(several)] == ["x", "y"]
    assert [(run.system, run.path) for run in runs_of(frame)] == [("run", "the run 'run'")]
    named: Any = OfRanx(RUN, "mine")
    nameless: Any = OfRanx(RUN, "")
    assert [run.system for run in runs_of(named)] == ["mine"]
    assert [run.system for run in runs_of(nameless)] == ["run"]


def test_a_table_is_called_as_its_file_without_the_extension(tmp_path: Path) -> None:
    frame = frame_with_names()
    for name, system in (("a.b.csv", "a.b"), ("c.csv.gz", "c"), ("plain", "plain")):
        frame.to_csv(tmp_path / name, index=False)
        (run,) = read_run_files([tmp_path / name])
        assert (run.system, run.path) == (system, tmp_path / name)
    frame.assign(system=[*"xy"] * 2).to_csv(tmp_path / "two.csv", index=False)
    assert [run.system for run in read_run_files([tmp_path / "two.csv"])] == ["x", "y"]
    with pytest.raises(InputError, match=r"two\.csv: 2 systems found, one expected for 'a'"):
        runs_of({"a": tmp_path / "two.csv"})


def frame_with_names() -> pd.DataFrame:
    rows = [("u", "a", 2.0), ("u", "b", 1.0), ("v", "a", 3.0), ("v", "b", 1.0)]
    return pd.DataFrame(rows, columns=["user", "item", "score"])


@pytest.mark.parametrize(
    ("grade", "is_one"), [(2147483647, True), (2147483648, False), (0.5, False), (-1e12, True)]
)
def test_a_grade_is_a_whole_number_that_fits(grade: float, is_one: bool) -> None:
    given = {"u": {"a": 1, "b": grade}}
    if is_one:
        assert judgements_of(given).grade.tolist() == [1, max(grade, -1)]
    else:
        with pytest.raises(InputError, match="and item 'b' of topic 'u' has"):
            judgements_of(given)


def test_counts_are_whole_numbers_by_item() -> None:
    assert counts_of({1: 3, "b": 0, "c": 2.0}) == {"1": 3, "b": 0, "c": 2}  # type: ignore[dict-item]
    assert counts_of(pd.Series([4, 5], ["a", "b"])) == {"a": 4, "b": 5}
    for odd in (-1, 0.5, "3"):
        with pytest.raises(InputError, match=f"item 'a' has {odd}"):
            counts_of({"a": odd})  # type: ignore[dict-item]
    for table in (pd.DataFrame({"a": [1]}), [("a", 1)]):
        with pytest.raises(InputError, match="a dictionary or a Series, got"):
            counts_of(table)  # type: ignore[arg-type]
