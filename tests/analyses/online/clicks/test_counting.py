from pathlib import Path

import numpy as np
import pytest

from runs import InputError
from tests.analyses.online.clicks.experiments import DAY, MINUTE, experiment, studied
from tests.analyses.online.logs.writing import write_csv

CROSSING = experiment({"A": (2, 1.0), "B": (2, 0.0)})
CROSSING["lists"]["user"][-1] = "A0"


def test_users_of_two_arms_are_left_out(tmp_path: Path) -> None:
    found = studied(tmp_path, CROSSING)
    assert found.n_lists == 5
    assert found.chosen.rates.n_users.tolist() == [1, 2]


def test_users_of_two_arms_may_count_for_their_first(tmp_path: Path) -> None:
    found = studied(tmp_path, CROSSING, crossing="first")
    assert found.chosen.rates.n_slates.tolist() == [5, 3]


def test_an_assignment_goes_before_the_first_list(tmp_path: Path) -> None:
    assignment = write_csv(tmp_path, assignment="user,arm\nA0,B\n")["assignment"]
    found = studied(tmp_path, CROSSING, crossing="first", assignment=assignment)
    assert found.chosen.rates.n_slates.tolist() == [2, 6]


def test_who_saw_another_arm_than_assigned_has_crossed(tmp_path: Path) -> None:
    log = experiment({"A": (2, 1.0), "B": (2, 0.0)})
    assignment = write_csv(tmp_path, assignment="user,arm\nA0,B\n")["assignment"]
    assert studied(tmp_path, log, assignment=assignment).n_lists == 6


def test_a_log_in_which_everyone_crossed_is_refused(tmp_path: Path) -> None:
    log = experiment({"A": (1, 1.0), "B": (1, 1.0)})
    log["lists"]["user"] = ["ann"] * 4
    del log["clicks"]["rec_id"]
    with pytest.raises(InputError, match="no list counts: all users were shown lists by two arms"):
        studied(tmp_path, log)


def test_lists_without_a_live_version_do_not_count(tmp_path: Path) -> None:
    text = f"arm,model_version,valid_from,valid_to\nA,w,0,{DAY}\nB,w,0,{MINUTE}\n"
    models = write_csv(tmp_path, models=text)["models"]
    found = studied(tmp_path, experiment(days=2), models=models)
    assert {name: rates.n_slates.tolist() for name, rates in found.periods.items()} == {
        "w": [120, 1]
    }


def test_periods_are_the_versions_of_the_lists_if_there_are_no_models(tmp_path: Path) -> None:
    assert [*studied(tmp_path, experiment(days=2)).periods] == ["v0", "v1"]


def test_a_click_that_names_its_list_may_come_late(tmp_path: Path) -> None:
    log = experiment()
    log["clicks"]["time"] = [time + 30 * DAY for time in log["clicks"]["time"]]
    implicit, explicit = (
        studied(tmp_path, log, **asked) for asked in ({"window": MINUTE}, {"explicit": True})
    )
    n_clicks = log["clicks"]["type"].count("view")
    assert implicit.chosen.rates.n_accepted.sum() == 0
    assert explicit.chosen.rates.n_accepted.sum() == n_clicks


def test_clicks_may_be_marked_in_the_lists(tmp_path: Path) -> None:
    log = experiment()
    del log["clicks"]["rec_id"]
    log["lists"]["clicked"] = [[False, number % 4 == 0] for number in range(240)]
    assert studied(tmp_path, log, explicit=True).chosen.rates.n_accepted.sum() == 60


def test_explicit_clicks_must_name_their_list(tmp_path: Path) -> None:
    log = experiment()
    del log["clicks"]["rec_id"]
    with pytest.raises(
        InputError, match="must name their list: a column 'rec_id' in the interactions"
    ):
        studied(tmp_path, log, explicit=True)


def test_the_last_list_alone_may_have_the_credit(tmp_path: Path) -> None:
    log = experiment({"A": (1, 1.0), "B": (1, 1.0)})
    log["lists"]["time"] = [0, 1, 0, 1]
    log["clicks"] = {"time": [5], "user": ["A0"], "item": ["x"], "type": ["view"]}
    credits = [studied(tmp_path, log, credit=credit) for credit in ("all", "last")]
    assert [found.chosen.rates.n_accepted[0] for found in credits] == [2, 1]


def test_rates_equal_a_count_by_hand(tmp_path: Path) -> None:
    log = experiment()
    clicked = {rec for rec in log["clicks"]["rec_id"] if rec is not None}
    accepted = np.array([rec in clicked for rec in log["lists"]["rec_id"]])
    arm = np.array(log["lists"]["arm"])
    by_hand = [accepted[arm == name].mean() for name in "AB"]
    assert studied(tmp_path, log).chosen.rates.rates.tolist() == by_hand
