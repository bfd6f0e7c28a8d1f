from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest, norm

from analyses.online.clicks.click_result import Clicks
from tests.analyses.online.clicks.experiments import DAY, experiment, studied
from tests.analyses.online.logs.writing import write_csv


def verdict(found: Clicks) -> str:
    """Give what is said of the arms, below an alarm if there is one."""
    return found.findings()[bool(found.alarm)]


def test_the_arm_that_is_surely_clicked_more_is_named(tmp_path: Path) -> None:
    found = verdict(studied(tmp_path, experiment({"A": (60, 0.1), "B": (60, 0.2), "C": (60, 0.7)})))
    assert found.startswith("Arm C is clicked most: its rate is 0.625")
    assert found.endswith("above that of B (p < 1e-12 by Holm's method over 3 pairs).")


def test_the_interval_is_of_best_less_second_whichever_comes_first(tmp_path: Path) -> None:
    one, other = ({"A": 0.8, "B": 0.2}, {"A": 0.2, "B": 0.8})
    gaps = [
        verdict(studied(tmp_path, experiment({arm: (60, rates[arm]) for arm in "AB"})))
        for rates in (one, other)
    ]
    for gap in gaps:
        difference, low, high = (
            float(word.strip("[],")) for word in gap.split(" is ")[2].split()[:3]
        )
        assert 0 < low < difference < high


def test_two_arms_alike_have_no_winner(tmp_path: Path) -> None:
    found = verdict(studied(tmp_path, experiment({"A": (60, 0.3), "B": (60, 0.3)})))
    assert found.startswith("No winner: the rate of ")


def test_a_leader_must_beat_every_other_arm(tmp_path: Path) -> None:
    log = experiment({"A": (60, 0.1), "B": (60, 0.6), "C": (60, 0.6)})
    found = studied(tmp_path, log)
    lead = abs(np.subtract(*found.chosen.rates.rates[1:]))
    assert verdict(found).startswith("No winner: the rate of ")
    assert f"{lead:.5f} [-" in verdict(found)


def test_there_is_no_winner_when_users_are_not_split_as_planned(tmp_path: Path) -> None:
    found = studied(tmp_path, experiment({"A": (90, 0.1), "B": (10, 0.9)}))
    assert verdict(found).startswith("No winner is named")
    assert found.alarm.startswith("SAMPLE-RATIO MISMATCH against equal shares; say")


def test_there_is_no_alarm_when_users_are_split_as_planned(tmp_path: Path) -> None:
    assert not studied(tmp_path, experiment()).alarm


def test_one_day_out_of_plan_is_an_alarm(tmp_path: Path) -> None:
    log = experiment({"A": (50, 0.5), "B": (50, 0.5)})
    late = [user.startswith("A") for user in log["lists"]["user"]]
    log["lists"]["time"] = [
        time + DAY * is_late for time, is_late in zip(log["lists"]["time"], late, strict=True)
    ]
    found = studied(tmp_path, log)
    assert "(all: on 1970-01-01, 1970-01-02)" in found.alarm


def test_robots_have_no_say_if_they_are_looked_for(tmp_path: Path) -> None:
    log = experiment({"A": (60, 0.1), "B": (60, 0.8)})
    log["lists"]["user"][-60:] = ["robot"] * 60
    del log["clicks"]["rec_id"]
    found = studied(tmp_path, log, robots=10)
    assert verdict(found).startswith("Without robots: Arm B is clicked most")


def test_one_arm_has_nothing_to_be_compared_with(tmp_path: Path) -> None:
    assert "nothing to compare" in verdict(studied(tmp_path, experiment({"A": (9, 0.5)})))


def test_p_values_are_those_of_normal_deviates(tmp_path: Path) -> None:
    frame = studied(tmp_path, experiment()).chosen.rates.differences()
    expected = 2 * norm.sf(np.abs(frame["difference"] / frame["error"]))
    np.testing.assert_allclose(frame["p"], expected, rtol=1e-12)


def test_arms_without_a_click_or_a_miss_have_exact_intervals(tmp_path: Path) -> None:
    found = studied(tmp_path, experiment({"A": (5, 1.0), "B": (5, 0.0)}))
    exact = 1 - 0.025 ** (1 / 10)
    low, high = found.chosen.rates.limits
    assert [low[0], high[0], low[1], high[1]] == pytest.approx([1 - exact, 1.0, 0.0, exact])
    assert exact == pytest.approx(binomtest(0, 10).proportion_ci(method="exact").high)
    assert verdict(found).startswith("Arm A is clicked most")


def repeat_first_click(log: dict[str, Any]) -> None:
    for column in log["clicks"].values():
        column.append(column[0])


def rename_users(log: dict[str, Any]) -> None:
    del log["clicks"]["rec_id"]
    log["clicks"]["user"] = ["id-" + user for user in log["clicks"]["user"]]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (repeat_first_click, "1 interactions are repeated in every column."),
        (rename_users, "100% of the users have no interaction at all"),
        (rename_users, "No list is accepted: is 10 min long enough"),
        (lambda log: None, "The log has 1 of the 7 days of a week"),
    ],
)
def test_what_weakens_the_rates_is_said(tmp_path: Path, change: Any, sentence: str) -> None:
    log = experiment()
    change(log)
    assert any(caution.startswith(sentence) for caution in studied(tmp_path, log).cautions())


def test_nothing_weakens_the_rates_of_a_whole_week(tmp_path: Path) -> None:
    assert not studied(tmp_path, experiment(days=7)).cautions()


def test_gaps_and_lists_without_a_version_are_said(tmp_path: Path) -> None:
    text = f"arm,model_version,valid_from,valid_to\nA,v,0,1\nA,w,{DAY},{9 * DAY}\nB,v,0,{9 * DAY}\n"
    models = write_csv(tmp_path, models=text)["models"]
    said = " ".join(studied(tmp_path, experiment(days=2), models=models).cautions())
    assert "24.8% of the lists were shown when no version of their arm's model was live" in said
    assert "Between versions of the models there are 1 gaps." in said


@pytest.mark.parametrize(
    ("crossing", "fate"),
    [
        ("exclude", "their lists do not count."),
        ("first", "their lists count for their first arm, or the one they were assigned to."),
    ],
)
def test_users_of_two_arms_are_said(tmp_path: Path, crossing: str, fate: str) -> None:
    log = experiment()
    del log["clicks"]["rec_id"]
    log["lists"]["user"][-1] = "A0"
    said = studied(tmp_path, log, crossing=crossing).cautions()
    assert said[0] == f"1 of 120 users were shown lists by more than one arm; {fate}"
