from pathlib import Path

import pytest

from harness.tuning.trials import Trial, TrialTable, best_of
from recommenders import Choice, Range
from recommenders.shared.system import Place, Value
from runs import InputError

SPACE: dict[str, Place] = {
    "factors": Range(5, 200),
    "penalty": Range(0.1, 9.0),
    "estimator": Choice(("mle", "nln")),
}
DEFAULTS: dict[str, Value] = {"factors": 30, "penalty": 0.1 + 0.2, "estimator": "mle"}
TRIALS = [
    Trial(0, DEFAULTS, 1 / 3, 0.25),
    Trial(1, {**DEFAULTS, "factors": 7}, None, 1.5, 'too "large", by far'),
]


def table(folder: Path, key: str = "one", **search: str) -> TrialTable:
    return TrialTable(folder / "tuning/x.csv", SPACE, {"epochs": 10}, {**search, "key": key})


def lines(folder: Path) -> list[str]:
    return (folder / "tuning/x.csv").read_text().splitlines()


def test_a_table_that_is_not_there_has_no_trials(tmp_path: Path) -> None:
    assert table(tmp_path).read() == {}


def test_trials_are_read_back_to_the_last_digit(tmp_path: Path) -> None:
    table(tmp_path).write(TRIALS)
    assert list(table(tmp_path).read().values()) == TRIALS


def test_a_line_shows_every_setting_the_score_the_seconds_and_the_state(tmp_path: Path) -> None:
    table(tmp_path, metric="nDCG@10").write(TRIALS[:1])
    assert lines(tmp_path) == [
        "trial,factors,penalty,estimator,epochs,score,seconds,state,finding,metric,key",
        "0,30,0.30000000000000004,mle,10,0.3333333333333333,0.250,done,,nDCG@10,one",
    ]


def test_trials_stand_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    table(tmp_path).write(reversed(TRIALS))
    assert [line[0] for line in lines(tmp_path)[1:]] == ["0", "1"]


def test_trials_of_another_search_are_left_alone(tmp_path: Path) -> None:
    table(tmp_path).write(TRIALS)
    table(tmp_path, "two").write(TRIALS[:1])
    assert table(tmp_path, "two").read() == {0: TRIALS[0]}
    assert list(table(tmp_path).read().values()) == TRIALS


def test_trials_of_a_search_of_other_settings_are_left_alone(tmp_path: Path) -> None:
    table(tmp_path).write(TRIALS)
    other = TrialTable(tmp_path / "tuning/x.csv", {"k": Range(1, 9)}, {}, {"key": "two"})
    other.write([Trial(0, {"k": 3}, 0.5, 1.0)])
    assert list(table(tmp_path).read().values()) == TRIALS
    assert other.read()[0].settings == {"k": 3}


def test_a_setting_may_be_called_as_another_column_is(tmp_path: Path) -> None:
    space: dict[str, Place] = {"metric": Choice(("cosine", "jaccard"))}
    search = {"metric": "nDCG@10", "key": "one"}
    trial = Trial(0, {"metric": "cosine"}, 0.5, 1.0)
    TrialTable(tmp_path / "x.csv", space, {}, search).write([trial])
    assert TrialTable(tmp_path / "x.csv", space, {}, search).read() == {0: trial}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0,30", "zero,30"),
        ("0,30", "0,many"),
        (",mle,", ",map,"),
        (",0.3333333333333333,", ",good,"),
        (",0.250,", ","),
        (",done,", ",done,,"),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, old: str, new: str) -> None:
    table(tmp_path).write(TRIALS[:1])
    path = tmp_path / "tuning/x.csv"
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(InputError, match=r"x\.csv, line 2: .*Mend it, or move the table away\."):
        table(tmp_path).read()


def test_a_table_that_is_not_text_is_refused(tmp_path: Path) -> None:
    table(tmp_path).write(TRIALS)
    (tmp_path / "tuning/x.csv").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"x\.csv: the table cannot be read"):
        table(tmp_path).read()


def test_no_trial_is_best_if_all_failed() -> None:
    assert best_of(TRIALS[1:], higher_is_better=True) is None


@pytest.mark.parametrize(("higher", "best"), [(True, 2), (False, 1)])
def test_the_best_is_the_first_of_equals_either_way(higher: bool, best: int) -> None:
    scores = [0.5, 0.1, 0.9, 0.1, 0.9]
    trials = [Trial(number, {}, score, 1.0) for number, score in enumerate(scores)]
    found = best_of(trials, higher_is_better=higher)
    assert found is not None
    assert found.number == best
