import re
from pathlib import Path

import numpy as np
import pytest

from harness.study.collection import Collection, collect
from harness.study.input_files import TrecIds, qrels_files
from harness.study.study import Study
from runs import InputError, InputWarning
from tests.harness.small import DRAWN, JUDGEMENTS, TREC, write_collection, write_ratings, write_run

# A handful of judgements seldom has both kinds for a user; the tests of warnings ask for them.
pytestmark = pytest.mark.filterwarnings("ignore::runs.InputWarning")

RATINGS = 'name = "x"\n[ratings]\npath = "ratings.csv"\n'


def collect_text(text: str, base: Path) -> Collection:
    return collect(Study.parse(text, source="study.toml", base=base, changes={}))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_ratings(tmp_path / "ratings.csv")
    return tmp_path


def lines(folder: Path, *rows: str) -> None:
    text = "userId,movieId,rating,timestamp\n" + "".join(f"{row}\n" for row in rows)
    (folder / "ratings.csv").write_text(text)


def grades(collection: Collection) -> set[int]:
    return set(collection.qrels.grades.tolist())


# Ratings


def test_half_stars_become_doubled_grades(folder: Path) -> None:
    assert grades(collect_text(RATINGS, folder)) <= set(range(1, 11))
    assert max(grades(collect_text(RATINGS, folder))) == 10


def test_a_threshold_that_no_test_rating_reaches_is_refused(folder: Path) -> None:
    with pytest.raises(InputError, match=r"no test rating reaches the threshold 5\.5"):
        collect_text(RATINGS + "threshold = 5.5\n", folder)


def test_ratings_below_a_threshold_are_counted_by_rating_and_not_by_value(tmp_path: Path) -> None:
    rows = [(user, item) for user in range(10) for item in range(10)]
    lines(tmp_path, *(f"u{user},i{item},{10 if item else 1},1" for user, item in rows))
    with pytest.raises(InputError) as refused:
        collect_text(RATINGS + "threshold = 11\n", tmp_path)
    share = re.search(r"10 \((\d+) %\)", str(refused.value))
    assert share is not None
    assert int(share[1]) > 80


def lines_up_to(folder: Path, top: float) -> None:
    """Three users rate as many items as there are half stars."""
    steps = range(int(2 * top) + 1)
    lines(folder, *(f"u{user},i{step},{step / 2},1" for user in range(3) for step in steps))


def test_4_is_usual_on_a_scale_that_ends_at_5(tmp_path: Path) -> None:
    lines_up_to(tmp_path, 5.0)
    assert collect_text(RATINGS, tmp_path).threshold == 4.0


def test_on_another_scale_the_study_needs_a_threshold(tmp_path: Path) -> None:
    lines_up_to(tmp_path, 4.5)
    with pytest.raises(InputError) as caught:
        collect_text(RATINGS, tmp_path)
    rule, *thresholds, last = str(caught.value).splitlines()
    assert rule.startswith("study.toml, line 2: `threshold` in [ratings] is missing")
    assert "The ratings are: 0 (10 %), 0.5 (10 %), 1 (10 %), " in rule
    proposed = [line.partition(":")[0] for line in thresholds]
    assert proposed == ["threshold = 3.5", "threshold = 2.5", "threshold = 1"]
    assert last.endswith("implicit = true.")


SOME = [f"u{user},i{item},{1 + (user + item) % 3},1" for user in range(4) for item in range(5)]


def test_a_rule_for_grades_that_does_not_fit_is_answered_with_its_line(tmp_path: Path) -> None:
    lines(tmp_path, *SOME)
    with pytest.raises(InputError, match=r"study\.toml, line 5: the threshold 2 must be one of"):
        collect_text(RATINGS + "threshold = 2\ngrades = [1, 3]\n", tmp_path)


def ids_of(collection: Collection) -> str:
    """The table of the numbers that stand for ids."""
    topics = TrecIds(collection.trec_topics, collection.topics)
    items = TrecIds(collection.trec_items, collection.items)
    return qrels_files(collection.qrels, topics, items)["ids.csv"].decode()


def test_ids_that_a_trec_file_cannot_carry_have_numbers_in_their_order(tmp_path: Path) -> None:
    lines(tmp_path, *(row.replace("u1", "#1").replace("i", "item ") for row in SOME))
    collection = collect_text(RATINGS + "implicit = true\n", tmp_path)
    assert collection.topics.ids.tolist() == ["#1", "u0", "u2", "u3"]
    assert collection.trec_topics.ids.tolist() == list("1234")
    assert collection.trec_items.ids.tolist() == list("12345")
    table = ids_of(collection).splitlines()
    assert (table[0], table[1], table[5]) == ("kind,number,id", "user,1,#1", "item,1,item 0")


def given_runs(folder: Path, *names: str) -> Collection:
    for name in names:
        (folder / f"{name}.csv").write_text("user,item,score\nu1,i,2\nu1,#7,1\n")
    (folder / "test.qrels").write_text("u1 0 #7 1\n")
    truth = '[truth]\npath = "test.qrels"\ncandidates = "judged"\n'
    text = 'name = "x"\n[runs]\npaths = ["*.csv"]\n[qrels]\npath = "test.qrels"\n'
    return collect_text(text + truth, folder)


def test_ids_of_given_runs_that_do_not_fit_have_numbers_too(tmp_path: Path) -> None:
    collection = given_runs(tmp_path, "a", "b")
    assert collection.trec_topics.ids.tolist() == ["u1"]
    assert collection.trec_items.ids.tolist() == ["1", "2"]
    assert ids_of(collection) == "kind,number,id\nitem,1,#7\nitem,2,i\n"
    assert [run.items.tolist() for run in collection.true_runs] == [[[0, -1]], [[0, -1]]]


def test_the_name_of_a_given_run_must_fit(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"my b\.csv: no run can have the system 'my b'"):
        given_runs(tmp_path, "a", "my b")


def test_the_k_core_reaches_the_ratings(folder: Path) -> None:
    collection = collect_text(RATINGS + "item_min = 8\n[split]\ntest_share = 0.5\n", folder)
    assert collection.items.ids.tolist() == ["i8", "i9"]


@pytest.mark.parametrize("method", DRAWN)
def test_every_split_works_from_a_study_file(folder: Path, method: str) -> None:
    collection = collect_text(RATINGS + f'[split]\nmethod = "{method}"\n', folder)
    assert collection.split is not None
    assert 0 < len(collection.split.test) < len(collection.split.train)


@pytest.mark.parametrize(
    ("section", "sentence"),
    [
        ('method = "usr-random"', "no split is called 'usr-random'; did you mean 'user-random'?"),
        ("folds = 3", "there is no `folds` in [split]; there are `test_share`."),
        ("fold = 2", "there is no `fold` in [split]; there are `test_share`."),
        ('method = "k-fold"\nfold = 6', "`fold` in [split] must be at most 5, got 6."),
        ('method = "k-fold"\nfolds = 3\nfold = 4', "`fold` in [split] must be at most 3, got 4."),
        ('method = "k-fold"\ntest_share = 0.1', "there are `folds`, `fold`."),
        ('method = "leave-one-out-random"\nfolds = 2', "no `folds` in [split]; there are no keys."),
        ('method = "global-time"\ncut = 500\ntest_share = 0.1', "either `test_share` or `cut`"),
        ('method = "global-time"\ncut = 5000', "needs ratings before and after its cut"),
    ],
)
def test_a_wrong_split_is_answered(folder: Path, section: str, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        collect_text(RATINGS + f"[split]\n{section}\n", folder)
    assert sentence in str(caught.value)


def test_folds_of_one_study_test_different_ratings(folder: Path) -> None:
    tested = []
    for fold in (1, 2):
        text = RATINGS + f'[split]\nmethod = "k-fold"\nfolds = 2\nfold = {fold}\n'
        split = collect_text(text, folder).split
        assert split is not None
        tested.append(set(zip(split.test.user.tolist(), split.test.item.tolist(), strict=True)))
    assert tested[0].isdisjoint(tested[1])


def test_the_input_is_known_by_its_checksum(folder: Path) -> None:
    first = collect_text(RATINGS, folder).inputs[0]["sha256"]
    with (folder / "ratings.csv").open("a") as stream:
        stream.write("u0,i0,5.0,1\n")
    assert collect_text(RATINGS, folder).inputs[0]["sha256"] != first


def test_popularity_in_training_and_in_test_add_up(folder: Path) -> None:
    counts = collect_text(RATINGS, folder).popularity_counts()
    assert (counts["train"] + counts["test"]).tolist() == counts["all"].tolist()


def test_items_whose_ratings_were_all_dropped_are_not_in_the_catalogue(tmp_path: Path) -> None:
    lines(tmp_path, "u,a,4,1", "u,b,5,9", "v,a,2,1", "v,b,2,9", "late,only,5,9")
    text = RATINGS + '[split]\nmethod = "global-time"\ncut = 5\n'
    collection = collect_text(text, tmp_path)
    counts = dict(zip(collection.items.ids, collection.popularity_counts()["all"], strict=True))
    assert counts == {"a": 2, "b": 2, "only": -1}


# TREC files


@pytest.fixture
def given_folder(tmp_path: Path) -> Path:
    write_collection(tmp_path)
    return tmp_path


def test_runs_of_one_tag_are_called_as_their_files(given_folder: Path) -> None:
    write_run(given_folder, "full", {"u1": ["a"], "u2": ["a"]}, name="other.run")
    with pytest.warns(InputWarning, match="2 run files share their tag.*'full'"):
        collection = collect_text(TREC, given_folder)
    assert [run.system for run in collection.runs] == ["full", "other", "partial"]


def test_a_single_run_is_refused(given_folder: Path) -> None:
    (given_folder / "partial.run").unlink()
    with pytest.raises(InputError, match="a study compares at least two systems, got 1"):
        collect_text(TREC, given_folder)


def test_a_run_without_a_judged_user_is_refused(given_folder: Path) -> None:
    write_run(given_folder, "other", {"x1": ["a"], "x2": ["b"]})
    with pytest.raises(InputError, match=r"other\.run: none of its 2 users is in the qrels"):
        collect_text(TREC, given_folder)


def test_users_of_a_run_that_nobody_judged_are_left_out_with_a_warning(given_folder: Path) -> None:
    write_run(given_folder, "full", {"u1": ["a"], "x1": ["b"]})
    with pytest.warns(InputWarning, match=r"full\.run: 1 of its users are not in the qrels"):
        collection = collect_text(TREC, given_folder)
    assert collection.topics.ids.tolist() == ["u1", "u2", "u3"]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("full.run", "u1 Q0 a 1 9\n", "full.run, line 1: a run line has six fields"),
        ("full.run", "u1 Q0 a 1 x full\n", "full.run, line 1: the score 'x' is not a number."),
        ("full.run", "", "full.run: the file is empty."),
        ("test.qrels", "u1 0 a 1\nu1 0 a 0\n", "test.qrels, line 2: item a is duplicated"),
        ("test.qrels", "u1 0 a high\n", "test.qrels, line 1: a grade must be a whole number"),
    ],
)
def test_a_broken_file_is_named_with_its_line(
    given_folder: Path, name: str, content: str, sentence: str
) -> None:
    (given_folder / name).write_text(content)
    with pytest.raises(InputError) as caught:
        collect_text(TREC, given_folder)
    assert sentence in str(caught.value)


def test_the_judged_items_are_the_catalogue_of_given_runs(given_folder: Path) -> None:
    collection = collect_text(TREC, given_folder)
    counts = collection.popularity_counts()["test"]
    judged = {item for grades in JUDGEMENTS.values() for item in grades}
    assert set(collection.items.ids[counts >= 0].tolist()) == judged


def test_the_relevance_level_decides_what_is_relevant(given_folder: Path) -> None:
    qrels = collect_text(TREC + "relevance_level = 2\n", given_folder).qrels
    assert int(np.count_nonzero(qrels.relevant)) == 1
