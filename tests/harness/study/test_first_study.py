"""The first study of a data set: what its ratings hold, and the study file for them."""

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.study.first_study import FIRST_SYSTEMS, DataDescription, describe_data, first_study
from harness.study.study import RatingsSection, Study
from qrels import Ratings, describe
from qrels.ratings.splits.user_last import user_last
from qrels.ratings.splits.user_random import user_random
from qrels.ratings.splitter import leakage
from recommenders.shared.register import find_system
from runs import InputError, Numbering
from runs.tables.roles import RATINGS, Columns

PAIRS = [(user, item) for user in range(6) for item in range(10) if (user + item) % 3]
"""Six users rate six or seven of ten items."""


def write(path: Path, *lines: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def rated(path: Path, top: int = 5, *, header: str = "user,item,rating") -> Path:
    rows = [f"u{user},i{item},{1 + (2 * user + item) % top}" for user, item in PAIRS]
    return write(path, header, *rows)


def described(path: Path, **options: Any) -> DataDescription:
    return describe_data(RatingsSection.model_validate({"path": path, **options}))


def study_text(path: Path, **options: Any) -> str:
    """The text of a study file beside the data."""
    return first_study(described(path, **options), file=path.parent / "study.toml")


def tables_of(path: Path, **options: Any) -> dict[str, Any]:
    return tomllib.loads(study_text(path, **options))


# The study file


def test_the_first_study_says_how_ratings_are_read_and_what_is_relevant(tmp_path: Path) -> None:
    columns = {"user": "user", "item": "item", "rating": "rating"}
    assert tables_of(rated(tmp_path / "data.csv")) == {
        "name": "data",
        "ratings": {"path": "data.csv", "format": "csv", "columns": columns, "threshold": 4.0},
        "split": {"method": "user-random"},
        "systems": {"names": [*FIRST_SYSTEMS]},
        "metrics": {"cutoffs": [5]},
    }


def timed(path: Path, days: int) -> Path:
    """Each user rates ten items on consecutive days, from a day of the user's own on."""
    rows = [
        f"u{user},i{item},{1 + (user + item) % 5},{1_000_000_000 + 86_400 * (days * user + item)}"
        for user in range(6)
        for item in range(10)
    ]
    return write(path, "user,item,rating,timestamp", *rows)


def test_ratings_with_times_are_split_at_a_moment_if_that_tests_half_of_the_users(
    tmp_path: Path,
) -> None:
    assert tables_of(timed(tmp_path / "together.csv", 0))["split"] == {"method": "global-time"}
    # Users come one after the other: only the last two have ratings after the moment.
    assert tables_of(timed(tmp_path / "apart.csv", 10))["split"] == {"method": "user-last"}


def test_users_with_many_test_items_have_the_usual_cutoffs(tmp_path: Path) -> None:
    """A fifth of 27 ratings is 5 test items, of 28 it is 6."""
    for n_items, has_cutoffs in ((27, True), (28, False)):
        rows = [f"u{user},i{item}" for user in range(4) for item in range(n_items)]
        path = write(tmp_path / f"{n_items}.csv", "user,item", *rows)
        assert ("metrics" in tables_of(path)) == has_cutoffs


def test_the_first_study_is_one_that_can_be_run(tmp_path: Path) -> None:
    text = study_text(rated(tmp_path / "data.csv"))
    study = Study.parse(text, source="study.toml", base=tmp_path)
    assert study.ratings is not None
    assert study.ratings.path == tmp_path / "data.csv"


def test_what_was_seen_has_no_threshold(tmp_path: Path) -> None:
    rows = [f"u{user},i{item}" for user, item in PAIRS]
    ratings = tables_of(write(tmp_path / "seen.csv", "user,item", *rows))["ratings"]
    assert ratings["implicit"] is True
    assert "threshold" not in ratings


@pytest.mark.parametrize("amounts", [(1, 1), (1, 1, 1, 9)])
def test_the_usual_systems_for_implicit_feedback_predict_no_ratings(
    tmp_path: Path, amounts: tuple[int, ...]
) -> None:
    rows = [f"u{user},i{item},{amounts[user * item % len(amounts)]}" for user, item in PAIRS]
    names = tables_of(write(tmp_path / "sold.csv", "user,item,qty", *rows))["systems"]["names"]
    assert names == [name for name in FIRST_SYSTEMS if name != "svd"]


def test_a_first_study_has_12_systems_of_six_families() -> None:
    systems = [find_system(name) for name in FIRST_SYSTEMS if name != "svd"]
    assert len(systems) >= 12
    assert len({system.family for system in systems}) >= 6


def test_systems_may_be_chosen_and_are_checked(tmp_path: Path) -> None:
    data, file = described(rated(tmp_path / "data.csv")), tmp_path / "study.toml"
    text = first_study(data, file=file, systems=["random", "popularity"])
    assert tomllib.loads(text)["systems"] == {"names": ["random", "popularity"]}
    with pytest.raises(InputError, match=r"^`--system`.*no system is called 'eas'"):
        first_study(data, file=file, systems=["random", "eas"])


@pytest.mark.parametrize(
    ("file", "name"),
    [("my data!.csv", "my-data"), ("a_b-2.csv", "a_b-2"), ("_a-.csv", "a"), ("日本.csv", "x")],
)
def test_the_name_of_the_study_is_that_of_the_file_in_plain_letters(
    file: str, name: str, tmp_path: Path
) -> None:
    assert tables_of(rated(tmp_path / file))["name"] == name


def test_the_path_counts_from_the_study_file_if_it_is_below(tmp_path: Path) -> None:
    path = rated(tmp_path / "deep" / "data.csv")
    data = described(path)
    below = tomllib.loads(first_study(data, file=tmp_path / "study.toml"))
    assert below["ratings"]["path"] == "deep/data.csv"
    beside = tomllib.loads(first_study(data, file=tmp_path / "other" / "study.toml"))
    assert beside["ratings"]["path"] == str(path)


def test_k_cores_are_written_if_they_are_asked_for(tmp_path: Path) -> None:
    ratings = tables_of(rated(tmp_path / "data.csv"), user_min=2, item_min=3)["ratings"]
    assert (ratings["user_min"], ratings["item_min"]) == (2, 3)


def test_how_a_table_is_read_is_written_key_by_key(tmp_path: Path) -> None:
    rows = [f"i{item}|u{user}|{1 + item % 5}" for user, item in PAIRS]
    columns = {"user": 1, "item": 0, "rating": 2}
    path = write(tmp_path / "log.txt", *rows)
    text = study_text(path, columns=columns, separator="|")
    assert tomllib.loads(text)["ratings"] == {
        "path": "log.txt",
        "separator": "|",
        "header": False,
        "columns": columns,
        "threshold": 4.0,
    }
    assert "columns.user = 1" in text


def test_a_threshold_is_at_most_the_highest_test_rating(tmp_path: Path) -> None:
    path = rated(tmp_path / "data.csv")
    highest = described(path).tested.rating.max()
    assert tables_of(path, threshold=highest)["ratings"]["threshold"] == highest
    finding = f"`--threshold` must be at most {highest:g}, the highest test rating, got 9:"
    with pytest.raises(InputError, match=finding):
        study_text(path, threshold=9)


def test_the_effect_of_thresholds_is_told_in_comments(tmp_path: Path) -> None:
    path = rated(tmp_path / "data.csv", 10)
    text, data = study_text(path), described(path)
    comments = [line for line in text.splitlines() if line.startswith("#")]
    told = [line for line in comments if line.startswith("# threshold = ")]
    assert len(told) == len(data.thresholds) == 3
    assert any(
        line.startswith("# Ratings from the threshold on are relevant.") for line in comments
    )
    assert "All ratings: 1 (" in text


def test_comments_are_at_most_96_characters_wide(tmp_path: Path) -> None:
    data = described(rated(tmp_path / "data.csv"))
    fitting, longer = f"{'a' * 50} {'b' * 43}", f"{'a' * 50} {'c' * 44}"
    noted = replace(data, notes=(fitting, longer))
    lines = first_study(noted, file=tmp_path / "study.toml").splitlines()
    assert f"# {fitting}" in lines
    assert f"# {'a' * 50}" in lines
    assert f"#   {'c' * 44}" in lines


def test_comments_behind_values_begin_in_one_column(tmp_path: Path) -> None:
    lines = study_text(rated(tmp_path / "data.csv")).splitlines()
    behind = [line.index("#") for line in lines if " #" in line]
    assert set(behind) == {41}
    assert len(behind) == 2


# Training and test files


@pytest.fixture
def folds(tmp_path: Path) -> Path:
    """Two folds, whose users have their ratings by falling item in the second."""
    rows = [f"u{user},i{item},{1 + (user + item) % 5},{10 * user + item}" for user, item in PAIRS]
    for fold in (1, 2):
        train = [row for place, row in enumerate(rows) if place % 4 != fold]
        write(tmp_path / "folds" / f"u{fold}.base", *train)
        write(tmp_path / "folds" / f"u{fold}.test", *rows[fold::4])
    return tmp_path / "folds"


def test_a_folder_of_two_parts_is_a_given_split(folds: Path) -> None:
    data = described(folds, separator=",")
    assert data.is_split
    assert data.fold == 1
    assert len(data.ratings) == len(PAIRS)
    assert data.ratings.held_out is not None
    assert len(data.tested) == len(PAIRS[1::4])
    text = first_study(data, file=folds.parent / "study.toml")
    tables = tomllib.loads(text)
    assert "path" not in tables["ratings"]
    assert tables["split"] == {"method": "given", "folder": "folds", "fold": 1}


def test_a_folder_of_one_fold_has_no_number(tmp_path: Path) -> None:
    rows = [f"u{user},i{item},{1 + (user + item) % 5}" for user, item in PAIRS]
    write(tmp_path / "parts" / "train.csv", "user,item,rating", *rows[::2])
    write(tmp_path / "parts" / "test.csv", "user,item,rating", *rows[1::2])
    data = described(tmp_path / "parts")
    assert data.fold is None
    assert tomllib.loads(first_study(data, file=tmp_path / "s.toml"))["split"] == {
        "method": "given",
        "folder": "parts",
    }


def test_folds_may_be_counted_from_0(folds: Path) -> None:
    for part in ("base", "test"):
        (folds / f"u1.{part}").rename(folds / f"u0.{part}")
    assert described(folds, separator=",").fold == 0


def test_a_folder_with_a_file_of_all_ratings_is_not_split(folds: Path) -> None:
    rated(folds / "ratings.csv")
    data = described(folds)
    assert not data.is_split
    assert data.fold is None


def test_the_future_in_a_given_split_is_told(folds: Path) -> None:
    data = described(folds, separator=",")
    held_out = data.ratings.held_out
    assert held_out is not None
    assert data.leakage["test_ratings_older_than_training"] > 0
    assert any(caution.startswith("By this split, ") for caution in data.cautions())


# Descriptions


def test_the_test_part_is_that_of_the_usual_split_with_the_usual_seed(tmp_path: Path) -> None:
    rows = [f"u{user},i{item},{1 + item % 5}" for user, item in PAIRS]
    data = described(write(tmp_path / "data.csv", "user,item,rating", *rows))
    split = user_random(data.ratings, seed=20261121)
    np.testing.assert_array_equal(data.tested.item, split.test.item)
    assert data.leakage == {}


def test_what_a_split_leaks_of_the_future_is_said(tmp_path: Path) -> None:
    """Users come one after the other: each is tested by ratings older than the next one's."""
    data = described(timed(tmp_path / "apart.csv", 10))
    split = user_last(data.ratings, seed=20261121)
    np.testing.assert_array_equal(data.tested.item, split.test.item)
    assert data.leakage == leakage(split)
    assert data.leakage["training_ratings_newer_than_test"] > 0
    sentences = data.cautions()
    assert any(text.startswith("By the split `user-last`, ") for text in sentences)
    assert data.facts().keys() >= data.leakage.keys()


def test_all_ratings_are_tested_where_a_split_leaves_none(tmp_path: Path) -> None:
    path = write(tmp_path / "data.csv", "user,item,rating", "u,a,1", "v,b,2", "w,a,5")
    data = described(path)
    assert len(data.tested) == 3
    assert data.leakage == {}


def test_ratings_are_described_after_the_k_core(tmp_path: Path) -> None:
    rows = ["u,a,1", "u,b,2", "v,a,5", "v,b,3", "w,c,4"]
    data = described(write(tmp_path / "data.csv", "user,item,rating", *rows), user_min=2)
    assert len(data.ratings) == 4
    assert data.facts()["users"] == 2
    alone = described(tmp_path / "data.csv", item_min=2)
    assert len(alone.ratings) == 4


def test_facts_are_counts_and_how_often_each_rating_occurs(tmp_path: Path) -> None:
    data = described(rated(tmp_path / "data.csv"))
    facts = data.facts()
    assert {**describe(data.ratings)}.items() <= facts.items()
    assert facts["distribution"].startswith("1 (")
    named = described(rated(tmp_path / "b.csv", header="person,thing,mark"))
    assert [column.role for column in named.columns.columns] == ["user", "item", "rating"]
    assert named.columns.proposals == [*named.columns.columns[1:]]
    seen = described(write(tmp_path / "seen.csv", "user,item", "u,a", "u,b", "v,a"))
    assert "distribution" not in seen.facts()


@pytest.mark.parametrize(
    ("file", "content", "what"),
    [("a.run", "u Q0 i 1 2.5 x", "a TREC run"), ("a.qrels", "u 0 i 1", "a qrels file")],
)
def test_a_trec_file_is_no_file_of_ratings(
    file: str, content: str, what: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=rf"{file}: this is {what}, not ratings\."):
        described(write(tmp_path / file, content, content.replace("i", "j")))


def test_a_format_that_is_named_is_believed(tmp_path: Path) -> None:
    path = write(tmp_path / "u.data", "1\t0\t4\t1", "1\t1\t5\t2", "2\t0\t3\t3")
    data = described(path, format="movielens-u.data")
    assert len(data.ratings) == 3
    assert "columns" not in data.facts()


USERS, ITEMS = Numbering.of(["u", "v"]), Numbering.of(["a", "b", "c"])


def ratings_of(rows: list[tuple[int, int, float]]) -> Ratings:
    user, item, rating = zip(*rows, strict=True)
    numbers = np.array(user, np.int32), np.array(item, np.int32)
    return Ratings(USERS, ITEMS, *numbers, np.array(rating))


def description(rows: list[tuple[int, int, float]], **options: Any) -> DataDescription:
    ratings = ratings_of(rows)
    section = RatingsSection.model_validate({"path": "data.csv", **options})
    columns = Columns(RATINGS, (), has_heading=True)
    return DataDescription(section, "csv", columns, ratings, split=None, split_method="x", notes=())


ONE_TO_NINE = [(0, 0, 1.0), (0, 1, 9.0), (1, 0, 3.0), (1, 2, 7.0)]


def test_ratings_that_are_all_alike_are_implicit_unless_the_user_says_so() -> None:
    alike = [(0, 0, 3.0), (1, 1, 3.0)]
    assert description(alike).is_implicit
    assert not description(alike, implicit=False).is_implicit
    assert not description(ONE_TO_NINE).is_implicit
    assert description(ONE_TO_NINE, implicit=True).is_implicit


def test_the_threshold_is_asked_for_or_usual_or_proposed() -> None:
    assert description(ONE_TO_NINE, threshold=2.5).threshold == 2.5
    assert description([(0, 0, 1.0), (1, 1, 5.0)]).threshold == 4.0
    assert description([(0, 0, 1.0), (1, 1, 5.0)], threshold=5.0).threshold == 5.0
    # From 7 on, each user has one item of both kinds.
    assert description(ONE_TO_NINE).threshold == 7.0
    assert description(ONE_TO_NINE, implicit=True).threshold is None


def test_thresholds_are_that_of_the_study_and_the_quartiles_falling() -> None:
    values = [threshold.value for threshold in description(ONE_TO_NINE, threshold=2.0).thresholds]
    assert values == sorted({2.0, *values}, reverse=True)
    assert 2.0 in values
    assert len(values) > 1
    of_three = description(ONE_TO_NINE, threshold=9.0).thresholds[0]
    assert (of_three.value, of_three.relevant) == (9.0, 0.25)
    assert description(ONE_TO_NINE, implicit=True).thresholds == []


def test_without_a_split_nothing_is_known_of_one() -> None:
    data = description(ONE_TO_NINE)
    assert not data.is_split
    assert (data.leakage, data.fold) == ({}, None)
