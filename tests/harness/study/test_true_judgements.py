"""True judgements over the users and items of a study: of a world, and of files."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analyses.shared.measure import Measure, Measures
from harness.metrics.shared.register import built_in_metrics, find_metric
from harness.scoring.score import score
from harness.study import true_judgements
from harness.study.collection import collect
from harness.study.study import Study
from harness.study.true_judgements import (
    UNJUDGED_USERS,
    UNUSED_JUDGEMENTS,
    TrueJudgements,
    judgements_of_world,
)
from qrels import Catalogue, Ratings, Split, qrels_from_columns, rating_scale
from qrels.ratings.world import Preferences, Truth
from runs import InputError, InputWarning, Numbering, Run
from tests.harness.small import WORLD

USERS, ITEMS = Numbering.of(["a", "b", "c"]), Numbering.of(["w", "x", "y", "z"])

# Preferences are the product of a user's and an item's number; with next to no noise a true rating
# is one more than the number of cuts below it:   w  x  y  z
#                                              a  1  2  4  5
#                                              b  5  4  2  1
#                                              c  3  3  3  3
TRUTH = Truth(
    USERS,
    ITEMS,
    Preferences(
        np.array([[1.0], [-1.0], [0.0]]),
        np.array([[-3.0], [-1.2], [1.2], [3.0]]),
        np.zeros(3),
        np.zeros(4),
    ),
    np.zeros(4),
    np.array([-1.5, -0.5, 0.5, 1.5]),
    0.02,
)
# a rated z in training, b rated z and c nothing; c and a are tested.
TRAIN = Ratings(
    USERS, ITEMS, np.array([0, 1], np.int32), np.array([3, 3], np.int32), np.array([5.0, 2.0])
)
TEST = Ratings(
    USERS, ITEMS, np.array([0, 1, 2], np.int32), np.array([0, 0, 0], np.int32), np.arange(3.0, 6)
)
STARS = Ratings(
    USERS,
    ITEMS,
    np.array([0, 0, 0, 0, 1], np.int32),
    np.array([0, 1, 2, 3, 0], np.int32),
    np.arange(1.0, 6),
)


def judged(train: Ratings = TRAIN, **options: int) -> TrueJudgements:
    scale = rating_scale(STARS, threshold=3.5)
    split = Split(train, TEST)
    return judgements_of_world(TRUTH, split, scale, candidates="all", **{"seed": 1, **options})


def rows(known: TrueJudgements) -> list[tuple[str, str, int]]:
    users, items = known.topics.ids[known.qrels.users], ITEMS.ids[known.qrels.items]
    return list(zip(users.tolist(), items.tolist(), known.qrels.grades.tolist(), strict=True))


# Worlds


def test_a_world_judges_all_that_a_user_did_not_rate_in_training() -> None:
    assert rows(judged()) == [
        *(("a", "w", 1), ("a", "x", 2), ("a", "y", 4)),
        *(("b", "w", 5), ("b", "x", 4), ("b", "y", 2)),
        *(("c", "w", 3), ("c", "x", 3), ("c", "y", 3), ("c", "z", 3)),
    ]


def test_a_training_rating_of_0_is_a_rating() -> None:
    rated_0 = replace(TRAIN, rating=np.array([0.0, 2.0]))
    assert rows(judged(rated_0)) == rows(judged())


def test_true_scores_of_a_world_are_those_by_hand() -> None:
    run = Run("s", np.array([[2, 1, 0, -1], [0, 2, 1, -1], [3, 2, 1, 0]], np.int32))
    measures = Measures([Measure("P", 2), Measure("nDCG", 2)])
    metrics = {name: find_metric(name, built_in_metrics()) for name in ("P", "nDCG")}
    users = judged().topics.ids
    scores = score([run], judged().qrels, measures, metrics, users=users, catalogue=Catalogue(4))
    found = scores.values[:, 0]
    second = 1 / np.log2(3)
    assert found[0] == pytest.approx([0.5, 0.5, 0.0])
    assert found[1] == pytest.approx([1, (5 + 2 * second) / (5 + 4 * second), 1])


def test_users_are_drawn_where_a_world_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    everything = rows(judged())
    monkeypatch.setattr(true_judgements, "MAX_PAIRS", 8)
    drawn = {seed: judged(seed=seed).topics.ids.tolist() for seed in range(9)}
    assert {len(users) for users in drawn.values()} == {2}
    assert len(set(map(tuple, drawn.values()))) > 1
    for seed, users in drawn.items():
        assert rows(judged(seed=seed)) == [row for row in everything if row[0] in users]


def test_a_threshold_that_no_true_rating_of_a_world_reaches_is_refused() -> None:
    inside = replace(TRUTH, cuts=np.array([-9.0, -0.5, 0.5, 9.0]))
    with pytest.raises(InputError, match="reaches the threshold 5: the highest grade is 4"):
        judgements_of_world(
            inside, Split(TRAIN, TEST), rating_scale(STARS, threshold=5.0), candidates="all", seed=1
        )


# Files


RATINGS = """
name = "x"
[ratings]
path = "ratings.csv"
threshold = 3.5
[split]
method = "given"
train = "train.csv"
test = "test.csv"
""".replace('path = "ratings.csv"\n', "")
# b has no training rating, and nobody rated y in training.
TRAIN_ROWS = "user,item,rating\na,w,5\na,x,1\nc,w,4\nc,z,2\n"
TEST_ROWS = "user,item,rating\na,z,4\na,y,2\nb,w,4\n"


def collected(text: str, base: Path) -> TrueJudgements:
    study = Study.parse(text, source="study.toml", base=base, changes={})
    known = collect(study).true_judgements
    assert known is not None
    return known


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.csv").write_text(TRAIN_ROWS)
    (tmp_path / "test.csv").write_text(TEST_ROWS)
    return tmp_path


def with_truth(folder: Path, rows: str, options: str = "", *, name: str = "true.csv") -> str:
    (folder / name).write_text(rows)
    return f'{RATINGS}[truth]\npath = "{name}"\n{options}'


@pytest.mark.filterwarnings("ignore::runs.InputWarning")
@pytest.mark.parametrize(
    ("name", "rows_of_file", "options"),
    [
        ("true.csv", "user,item,rating\na,z,4\na,y,5\nc,x,2\n", ""),
        ("true.txt", "a\tz\t4\na\ty\t5\nc\tx\t2\n", 'format = "yahoo-r3"\n'),
        ("m.csv", "user_id,video_id,watch_ratio\na,z,4\na,y,5\nc,x,2\n", 'format = "kuairec"\n'),
        ("true.qrels", "a 0 z 4\na 0 y 5\nc 0 x 2\n", "threshold = 4\n"),
        ("true.gz.txt", "a 0 z 4\na 0 y 5\nc 0 x 2\n", 'threshold = 4\nformat = "qrels"\n'),
    ],
)
def test_truth_is_read_in_any_layout(
    name: str, rows_of_file: str, options: str, folder: Path
) -> None:
    known = collected(with_truth(folder, rows_of_file, options, name=name), folder)
    assert rows(known) == [("a", "y", 5), ("a", "z", 4), ("c", "x", 2)]
    assert known.qrels.relevance_level == 4
    assert known.candidates == "judged"
    assert known.origin == f"of {name}"


@pytest.mark.filterwarnings("ignore::runs.InputWarning")
def test_what_only_one_side_knows_is_counted_and_said(folder: Path) -> None:
    text = "user,item,rating\na,z,4\na,w,5\nc,new,5\nc,other,1\nb,z,5\nd,z,1\ne,new,3\n"
    with pytest.warns(InputWarning, match="6 judgements left out: .*; 1 test users without"):
        known = collected(with_truth(folder, text), folder)
    assert rows(known) == [("a", "z", 4)]
    assert (known.facts[UNUSED_JUDGEMENTS], known.facts[UNJUDGED_USERS]) == (6, 1)


@pytest.mark.filterwarnings("ignore::runs.InputWarning")
def test_users_who_are_not_tested_are_judged_truly_if_they_have_a_profile(folder: Path) -> None:
    known = collected(with_truth(folder, "user,item,rating\nc,x,4\na,z,5\n"), folder)
    assert known.topics.ids.tolist() == ["a", "c"]
    assert known.rows.tolist() == [0, -1]


@pytest.mark.filterwarnings("ignore::runs.InputWarning")
@pytest.mark.parametrize(
    ("text", "options", "finding"),
    [
        ("user,item,rating\na,z,5\na,z,4\n", "", "true.csv, line 3: user 'a' rates item 'z' a "
         "second time"),
        ("user,item,rating\na,z,3\n", "", "true.csv: no true rating reaches the threshold 3.5"),
        ("user,item,rating\na,w,5\na,z,1\n", "", "true.csv: none of the 1 judgements that the "
         "study can use is relevant: the highest grade is 1, the lowest relevant one 4."),
        ("user,item,rating\na,z,5\n", "threshold = nan\n", "`threshold` in [truth]"),
        ("a 0 z\n", 'format = "qrels"\n', "true.csv: No column is known to hold the grades"),
        ("a 0 z 1\n", 'format = "qrels"\nthreshold = 0.5\n', "whole number of at least 1, got "
         "0.5."),
        ("a 0 z 1\n", 'format = "qrels"\nthreshold = 2\n', "the highest grade is 1, the "
         "lowest relevant one 2."),
        ("a 0 z 1\n", 'format = "grels"\n', "did you mean 'qrels'?"),
        ("user,item,rating\na,z,5\n", 'references = ["nDCG@x"]\n', "study.toml, line 11: "
         "`references` in [truth]: 'nDCG@x': behind the @ stands a cut-off"),
    ],
)  # fmt: skip
def test_a_truth_that_breaks_a_rule_is_refused(
    text: str, options: str, finding: str, folder: Path
) -> None:
    with pytest.raises(InputError) as caught:
        collected(with_truth(folder, text, options), folder)
    assert finding in str(caught.value).replace(f"{folder}/", "")
    assert str(caught.value).startswith("study.toml, line ")


def test_a_truth_is_of_a_file_or_of_a_world(folder: Path) -> None:
    with pytest.raises(InputError, match="`path` is missing: only a simulated world has"):
        collected(RATINGS + "[truth]\n", folder)
    with pytest.raises(InputError, match="a simulated world has its own truth: it has no `path`"):
        collected(WORLD + '[truth]\npath = "true.csv"\n', folder)


# Lists


def test_given_lists_are_condensed_to_what_is_truly_judged() -> None:
    known = replace(judged(), candidates="judged")
    run = Run("s", np.array([[3, 2, 0, 1], [3, 0, -1, -1], [1, -1, -1, -1]], np.int32))
    expected = [[2, 0, 1, -1], [0, -1, -1, -1], [1, -1, -1, -1]]
    assert known.restrict_lists(run).items.tolist() == expected
    assert judged().restrict_lists(run) is run


@pytest.mark.parametrize("candidates", ["judged", "all"])
def test_lists_must_be_of_the_users_of_the_truth(candidates: Any) -> None:
    known = replace(judged(), candidates=candidates)
    run = Run("s", np.array([[3, 2], [3, 0]], np.int32))
    refusal = "run 's' must have a list for each of the 3 users of the truth, got 2"
    with pytest.raises(ValueError, match=refusal):
        known.restrict_lists(run)
    with pytest.raises(ValueError, match=refusal):
        known.with_unranked_items(run, 4, seed=1)


def test_items_that_a_system_leaves_out_come_last_in_an_order_that_all_systems_share() -> None:
    known = replace(judged(), candidates="judged")
    whole = known.with_unranked_items(Run("s", np.full((3, 1), -1, np.int32)), 4, seed=1).items
    run = Run("s", np.array([[2, -1], [0, -1], [1, -1]], np.int32))
    found = known.with_unranked_items(run, 4, seed=1).items
    assert found[:, 0].tolist() == [2, 0, 1]
    for own, shared in zip(found.tolist(), whole.tolist(), strict=True):
        assert own[1:] == [*(item for item in shared if item != own[0]), -1][:3]


# What lists of judged items can show


def test_measures_as_deep_as_half_of_the_users_have_judgements_are_named() -> None:
    """The users have 1, 3 and 8 true judgements: 3 in the median, 4 in the mean."""
    users, items = np.repeat([0, 1, 2], [1, 3, 8]), np.concatenate([[0], range(3), range(8)])
    grades = np.ones(12, np.int32)
    qrels = qrels_from_columns(users, items, grades, n_users=3, relevance_level=1)
    known = replace(judged(), qrels=qrels)
    measures = Measures([Measure("P", 2), Measure("AP", 3), Measure("RR", 4), Measure("bpref")])
    run = Run("s", np.array([[0, -1, -1], [0, 2, 1], [3, 2, 1]], np.int32))
    notes = [*known.notes([run], measures, trained=True)]
    (deep,) = [note for note in notes if "at most 3 truly judged items" in note]
    assert "AP@3 and RR@4" in deep
    assert "P@2" not in deep
    assert "bpref" not in deep
    assert len([*known.notes([run], Measures([Measure("P", 2)]), trained=True)]) == 1


def test_a_system_that_leaves_out_more_than_one_in_twenty_judged_items_is_named() -> None:
    """Of 10 judged items of the first 4 ranks one system lists 9, the other all."""
    whole = Run("whole", np.array([[2, 1, 0, -1], [0, 2, 1, -1], [3, 2, 1, 0]], np.int32))
    part = Run("part", np.array([[2, 1, 0, -1], [0, 2, 1, -1], [3, 2, 1, -1]], np.int32))
    measures = Measures([Measure("P", 2)])
    notes = [*judged().notes([whole, part], measures, trained=True)]
    assert any("part (90 %)" in note and "whole" not in note for note in notes)
    assert len([*judged().notes([whole, part], measures, trained=False)]) == 1


def test_lists_are_completed_by_the_other_judged_items_down_to_the_depth() -> None:
    run = Run("s", np.array([[2, -1], [-1, -1], [3, 1]], np.int32))
    known = judged()
    deep = known.with_unranked_items(run, 4, seed=1).items
    assert [sorted(row) for row in deep.tolist()] == [[-1, 0, 1, 2], [-1, 0, 1, 2], [0, 1, 2, 3]]
    assert deep[0, 0] == 2
    assert deep[2, :2].tolist() == [3, 1]
    # Behind what is listed, nothing is left open.
    assert (deep[:2, 3] == -1).all()
    shallow = known.with_unranked_items(run, 2, seed=1).items
    np.testing.assert_array_equal(shallow, deep[:, :2])
