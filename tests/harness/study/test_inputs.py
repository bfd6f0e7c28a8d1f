"""The input of a study: thresholds, judgements, and runs that stand beside trained systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from harness.study.inputs import (
    checksum,
    judge_test,
    load_k_core,
    load_ratings,
    order_runs,
    order_runs_beside_trained,
    read_runs,
    relevance_threshold,
    source_checksum,
    split_ratings,
)
from harness.study.sections import SplitSection
from harness.study.study import RatingsSection, Study
from qrels import Ratings, Split, rating_scale
from runs import InputError, InputWarning, Numbering, Run
from runs.run_file import RunFile
from runs.tables.source import open_source
from tests.harness.small import METRICS, SYSTEMS, WORLD, write_run

USERS, ITEMS = Numbering.of(["u0", "u1", "u2"]), Numbering.of(["a", "b", "c", "d"])

RATED = [("u0", "a", 5.0), ("u0", "b", 0.0), ("u1", "a", 3.0), ("u2", "d", 4.0)]
"""Training ratings; a rating of 0 is a rating, too."""

TESTED = [("u0", "c", 4.0), ("u0", "d", 2.0), ("u2", "a", 5.0)]
"""Test ratings: the second user has none."""


def ratings_of(rows: Sequence[tuple[str, str, float]]) -> Ratings:
    users, items, values = zip(*sorted(rows), strict=True)
    return Ratings(USERS, ITEMS, USERS.numbers(users), ITEMS.numbers(items), np.array(values))


def split() -> Split:
    return Split(ratings_of(RATED), ratings_of(TESTED))


def study_of(text: str, base: Path = Path()) -> Study:
    return Study.parse(text, source="study.toml", base=base, changes={})


TRAINED = study_of(WORLD + SYSTEMS + METRICS)


def run_file(system: str, lists: dict[str, str], *, path: str = "") -> RunFile:
    """A run whose lists are letters, the best first."""
    lines = [(user, item, -rank) for user, row in lists.items() for rank, item in enumerate(row)]
    users, items = (Numbering.of(column) for column in (list(lists), {i for _, i, _ in lines}))
    return RunFile(
        path or f"{system}.run",
        system,
        users,
        items,
        users.numbers([user for user, _, _ in lines]),
        items.numbers([item for _, item, _ in lines]),
        np.array([score for _, _, score in lines], dtype=float),
    )


def beside(*files: RunFile) -> tuple[Run, ...]:
    return order_runs_beside_trained(
        files, TRAINED, split(), (), trec_topics=split().topics, trec_items=ITEMS
    )


# Runs beside trained systems


@pytest.mark.filterwarnings("ignore::runs.InputWarning")
def test_runs_beside_trained_systems_have_a_row_for_each_topic() -> None:
    (run,) = beside(run_file("theirs", {"u0": "cab", "u2": "d"}))
    assert run.system == "theirs"
    assert run.items.tolist() == [[2, 0, 1], [3, -1, -1]]


@pytest.mark.parametrize(
    ("lists", "n_rated"),
    [({"u0": "abc", "u2": "da"}, 3), ({"u0": "bcd", "u2": "a"}, 1), ({"u0": "da", "u2": "bca"}, 1)],
)
def test_items_that_their_user_rated_in_training_are_counted(
    lists: dict[str, str], n_rated: int
) -> None:
    """User u0 rated a and b, u2 rated d; what others rated, and ends of lists, do not count."""
    with pytest.warns(
        InputWarning, match=rf"theirs\.run: {n_rated} of its recommendations are items"
    ):
        beside(run_file("theirs", lists))


def test_items_that_their_user_did_not_rate_in_training_give_no_warning() -> None:
    """Items that others rated, and items that the user rates in the test part."""
    assert len(beside(run_file("theirs", {"u0": "cd", "u2": "abc"}))) == 1


def test_each_run_has_a_warning_of_its_own() -> None:
    files = [
        run_file("first", {"u0": "a"}),
        run_file("second", {"u0": "c"}),
        run_file("third", {"u0": "ab"}),
    ]
    with pytest.warns(InputWarning) as caught:
        beside(*files)
    assert [str(warning.message).split(" of its")[0] for warning in caught] == [
        "first.run: 1",
        "third.run: 2",
    ]


def test_an_item_without_a_rating_is_refused() -> None:
    with pytest.raises(InputError, match=r"theirs\.run: the item 'z' has no rating"):
        beside(run_file("theirs", {"u0": "az"}))


def test_a_tag_of_a_trained_system_is_refused() -> None:
    with pytest.raises(InputError, match="the tag 'popularity' is the name of a trained system"):
        beside(run_file("popularity", {"u0": "a"}))


def test_without_runs_there_are_none() -> None:
    assert beside() == ()


# Lists


def lists(*files: RunFile, systems: Sequence[str] = (), **how: object) -> tuple[Run, ...]:
    return order_runs(files, USERS, ITEMS, systems, **how)  # type: ignore[arg-type]


def test_lists_are_cut_at_the_depth_and_as_long_as_their_longest() -> None:
    files = run_file("one", {"u0": "abcd", "u1": "ba"}), run_file("two", {"u2": "dc"})
    assert [run.items.shape for run in lists(*files)] == [(3, 4), (3, 2)]
    cut = lists(*files, depth=3)
    assert cut[0].items.tolist() == [[0, 1, 2], [1, 0, -1], [-1, -1, -1]]
    assert cut[1].items.tolist() == [[-1, -1], [-1, -1], [3, 2]]


def test_two_systems_are_compared_whatever_the_number_of_runs() -> None:
    first, second = run_file("one", {"u0": "a"}), run_file("two", {"u0": "b"})
    assert len(lists(first, second)) == 2
    assert len(lists(first, min_systems=1)) == 1
    assert len(lists(first, trained_systems=("trained",))) == 1
    with pytest.raises(InputError, match="compares at least two systems, got 1"):
        lists(first)
    # Two runs of one system are one system.
    with pytest.raises(InputError, match="compares at least two systems, got 1"):
        lists(first, second, systems=("mine", "mine"))
    assert len(lists(first, second, systems=("mine", "other"))) == 2


def test_tags_differ_by_more_than_case() -> None:
    files = run_file("one", {"u0": "a"}), run_file("One", {"u0": "b"}, path="other.run")
    with pytest.raises(InputError, match=r"other\.run: the tag 'One' is also that of one\.run"):
        lists(*files)


@pytest.mark.parametrize(
    ("tag", "fits"), [("x" * 150, True), ("x" * 151, False), ("é" * 26, False), ("é" * 25, True)]
)
def test_a_tag_takes_150_characters_as_the_name_of_a_file(tag: str, fits: bool) -> None:
    """A letter with an accent has two bytes, of three characters each."""
    files = run_file(tag, {"u0": "a"}), run_file("two", {"u0": "b"})
    if fits:
        assert [run.system for run in lists(*files)] == [tag, "two"]
    else:
        with pytest.raises(InputError, match="it may take at most 150 characters"):
            lists(*files)


def test_a_run_of_an_unknown_user_is_refused() -> None:
    with pytest.raises(InputError, match=r"one\.run: none of its 1 users"):
        lists(run_file("one", {"stranger": "a"}), run_file("two", {"u0": "a"}))


def test_replicates_say_which_system_each_run_is_of(tmp_path: Path) -> None:
    paths = [tmp_path / f"{tag}.run" for tag in ("ease-1", "ease-2", "slim-1")]
    for path in paths:
        write_run(tmp_path, path.stem, {"u0": ["a", "b"]})
    given = WORLD + METRICS + '[runs]\npaths = ["*.run"]\n'
    files, systems = read_runs(paths, study_of(given, tmp_path))
    assert [file.system for file in files] == ["ease-1", "ease-2", "slim-1"]
    assert systems == ()
    pattern = "replicates = '(?P<system>.+)-(?P<replicate>.+)'\n"
    files, systems = read_runs(paths, study_of(given + pattern, tmp_path))
    assert systems == ("ease", "ease", "slim")
    assert len({file.system for file in files}) == 3


# Ratings


def thresholds(values: list[float], **settings: object) -> float:
    section = RatingsSection(path=Path("r.csv"), **settings)
    rows = [(f"u{n % 3}", "abcd"[n // 3], value) for n, value in enumerate(values)]
    ratings = ratings_of(sorted(rows))
    return relevance_threshold(section, ratings, test=ratings)


def test_the_threshold_is_that_of_the_study_or_what_is_usual() -> None:
    assert thresholds([1, 2, 5], threshold=2.5) == 2.5
    assert thresholds([1, 2, 5]) == 4
    # Where nothing is said by ratings, all that is rated is relevant.
    assert thresholds([3, 3, 3]) == 3
    assert thresholds([2, 7, 9], implicit=True) == 2
    with pytest.raises(InputError, match=r"`threshold` in \[ratings\] is missing"):
        thresholds([2, 7, 9])


def test_in_a_world_that_is_drawn_4_is_usual_even_if_no_rating_is_5() -> None:
    drawn = RatingsSection(format="world")
    ratings = ratings_of([("u0", "a", 1.0), ("u1", "a", 3.0)])
    assert relevance_threshold(drawn, ratings, test=ratings) == 4
    like = RatingsSection(format="world", like=Path("r.csv"))
    with pytest.raises(InputError, match="is missing"):
        relevance_threshold(like, ratings, test=ratings)


def test_test_users_are_judged_by_the_grades_of_their_test_ratings() -> None:
    """Users u0 and u2 are topics 0 and 1; grades are the ratings, of which 4 is relevant."""
    scale = rating_scale(ratings_of([*RATED, ("u1", "b", 2.0)]), threshold=4.0)
    qrels = judge_test(split(), scale)
    assert qrels.n_users == 2
    judged = zip(qrels.users.tolist(), qrels.items.tolist(), qrels.grades.tolist(), strict=True)
    assert [*judged] == [(0, 2, 4), (0, 3, 2), (1, 0, 5)]
    assert qrels.relevance_level == 4


def test_a_test_part_without_a_relevant_rating_is_refused() -> None:
    ratings = ratings_of([*RATED, ("u1", "b", 2.0)])
    low = Split(
        ratings,
        replace(
            ratings_of(TESTED),
            rating=np.array([3.0, 2.0, 3.0]),
            users=ratings.users,
            items=ratings.items,
        ),
    )
    with pytest.raises(InputError, match="no test rating reaches the threshold 4"):
        judge_test(low, rating_scale(ratings, threshold=4.0))


LINES = "userId,movieId,rating,timestamp\nu0,a,5,1\nu0,b,3,2\nu1,a,4,3\nu2,c,1,4\n"


Sections = tuple[RatingsSection, SplitSection]


def sections(text: str, base: Path = Path()) -> Sections:
    """What a study says of its ratings and of their split."""
    study = study_of(text, base)
    assert study.ratings is not None
    return study.ratings, study.split


@pytest.fixture
def of_file(tmp_path: Path) -> Sections:
    (tmp_path / "r.csv").write_text(LINES)
    text = 'name = "x"\n[ratings]\npath = "r.csv"\nuser_min = 2\n'
    return sections(
        text + '[split]\nmethod = "global-time"\ncut = 2\n' + SYSTEMS + METRICS, tmp_path
    )


def test_ratings_come_with_the_checksum_of_their_file(of_file: Sections, tmp_path: Path) -> None:
    section, of_split = of_file
    ratings, facts, world = load_ratings(section, of_split)
    assert ratings.rating.tolist() == [5, 3, 4, 1]
    assert [fact["sha256"] for fact in facts] == [sha256(LINES.encode()).hexdigest()]
    assert world is None
    assert checksum(tmp_path / "r.csv")["sha256"] == facts[0]["sha256"]
    assert source_checksum(open_source(tmp_path / "r.csv")) == facts[0]


def test_the_k_core_is_kept(of_file: Sections) -> None:
    section, of_split = of_file
    kept = load_k_core(section, of_split)
    assert kept.users.ids.tolist() == ["u0"]
    assert kept.rating.tolist() == [5, 3]
    twice = section.model_copy(update={"user_min": 0, "item_min": 2})
    assert load_k_core(twice, of_split).rating.tolist() == [5, 4]


def test_a_split_is_the_one_of_the_section(of_file: Sections) -> None:
    section, of_split = of_file
    ratings, _, _ = load_ratings(section, of_split)
    parts = split_ratings(ratings, of_split, seed=1)
    assert parts.train.rating.tolist() + parts.test.rating.tolist() == [5, 3]
    assert len(parts.test) == 1


def test_a_world_comes_with_its_settings_and_its_truth() -> None:
    text = (
        '[ratings]\nformat = "world"\n[ratings.world]\nn_users = 12\nn_items = 15\nn_ratings = 90\n'
    )
    section, of_split = sections(
        'name = "x"\n' + text + "min_ratings = 2\ngini = 0.3\n" + SYSTEMS + METRICS
    )
    ratings, (facts,), world = load_ratings(section, of_split)
    assert world is not None
    assert facts["world"]["n_users"] == 12
    assert len(world.ratings) == len(ratings)
