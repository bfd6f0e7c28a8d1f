"""What a log says of its arms."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from scipy.stats import chisquare, norm

from analyses.online.clicks import LONGEST, Clicks, Question, milliseconds, read_pairs
from runs import InputError
from tests.analyses.online.click_logs import (
    DAY,
    MINUTE,
    Log,
    counted,
    experiment,
    studied,
    with_robot,
    write_csv,
    written,
    written_as_csv,
)


def verdict(found: Clicks) -> str:
    """Give what is said of the arms, below an alarm if there is one."""
    return found.findings()[bool(found.alarm)]


def test_a_log_gives_what_a_few_lines_of_pandas_give(tmp_path: Path) -> None:
    log = experiment({"A": (60, 0.2), "B": (50, 0.6), "C": (70, 0.4)}, days=3)
    log["lists"]["user"][-1] = "A0"
    found = studied(tmp_path, log)
    rec = pd.DataFrame(log["lists"]).explode("items").rename(columns={"items": "item"})
    hit = rec.merge(pd.DataFrame(log["clicks"]), on=["user", "item"], suffixes=("", "_i"))
    near = (hit.time_i >= hit.time) & (hit.time_i <= hit.time + 10 * MINUTE)
    lists = rec.drop_duplicates("rec_id")
    lists = lists.assign(ok=lists.rec_id.isin(hit[near].rec_id))
    lists = lists[lists.groupby("user").arm.transform("nunique") == 1]
    users = lists.groupby(["arm", "user"]).ok.agg(["sum", "size"])
    arms = users.groupby("arm")
    rate = arms["sum"].sum() / arms["size"].sum()
    of_user = rate.reindex(users.index.get_level_values("arm")).to_numpy()
    squares = ((users["sum"] - users["size"] * of_user) ** 2).groupby("arm").sum()
    n = arms.size()
    error = squares.pow(0.5) / arms["size"].sum() * (n / (n - 1)) ** 0.5
    ours = found.tables["arms"]
    np.testing.assert_array_equal(ours["users"], n)
    np.testing.assert_allclose(ours["rate"], rate, rtol=1e-14)
    np.testing.assert_allclose(ours["error"], error, rtol=1e-12)
    pair = found.tables["differences"].iloc[0]
    deviate = (rate["A"] - rate["B"]) / np.hypot(error["A"], error["B"])
    np.testing.assert_allclose(pair["p"], 2 * norm.sf(abs(deviate)), rtol=1e-9)
    split = found.frames()["sample_ratio"]
    np.testing.assert_allclose(split["p"][0], chisquare([60, 50, 70]).pvalue)


@pytest.fixture
def awkward() -> Log:
    """A log with a robot, a crossed user, duplicates, and clicks that name no list."""
    log = experiment({"A": (40, 0.3), "B": (40, 0.5)}, days=4)
    log["lists"]["user"][20:60] = ["robot"] * 40
    log["lists"]["user"][-1] = "A30"
    log["lists"]["rec_id"][-3] = log["lists"]["rec_id"][-2]
    log["clicks"]["rec_id"][0] = "none"
    for column in log["clicks"].values():
        column.append(column[0])
    return log


@pytest.mark.parametrize("asked", [{}, {"explicit": True}, {"over_time": "thesis"}, {"robots": 5}])
def test_neither_threads_nor_memory_nor_layout_change_anything(
    tmp_path: Path, awkward: Log, asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = written(tmp_path, awkward)
    whole = counted(paths, n_jobs=1, **asked)
    monkeypatch.setattr("qrels.interactions.log_table.MEMORY", "64MB")
    again = counted(paths, n_jobs=3, **asked)
    for name, frame in whole.frames().items():
        assert_frame_equal(again.frames()[name], frame, check_exact=True)
    told = " ".join(whole.cautions())
    for caution in ("1 lists with a duplicate id", "14 clicks do not"):
        assert caution in told


def test_csv_gives_the_same_as_parquet(tmp_path: Path) -> None:
    log = experiment(days=2)
    whole, text = counted(written(tmp_path, log)), counted(written_as_csv(tmp_path, log))
    for name, frame in whole.frames().items():
        assert_frame_equal(text.frames()[name], frame, check_exact=True)


def test_users_of_two_arms_are_left_out_and_counted(tmp_path: Path) -> None:
    log = experiment({"A": (2, 1.0), "B": (2, 0.0)})
    log["lists"]["user"][-1] = "A0"
    found = studied(tmp_path, log)
    assert found.tables["arms"][["users", "lists"]].to_numpy().tolist() == [[1, 2], [2, 3]]
    assert any("more than one arm" in caution for caution in found.cautions())
    log["lists"]["user"] = ["ann"] * 8
    del log["clicks"]["rec_id"]
    with pytest.raises(InputError, match="no list is left"):
        studied(tmp_path, log)


def test_robots_are_left_out_of_rates_and_split(tmp_path: Path) -> None:
    log = with_robot(50)
    found = studied(tmp_path, log, robots=10)
    kept = {name: values[50:] for name, values in log["lists"].items()}
    people = studied(tmp_path, {"lists": kept, "clicks": log["clicks"]})
    assert_frame_equal(found.tables["arms"], people.tables["arms"])
    assert found.frames()["sample_ratio"]["users_A"][0] == 35
    with pytest.raises(InputError, match="no list is left"):
        studied(tmp_path, experiment(), robots=1)


def test_who_comes_back_day_after_day_is_no_robot(tmp_path: Path) -> None:
    log = experiment(days=6)
    found, people = studied(tmp_path, log, robots=2), studied(tmp_path, log)
    assert_frame_equal(found.tables["arms"], people.tables["arms"])


def test_the_arm_that_is_surely_clicked_more_is_named(tmp_path: Path) -> None:
    log = experiment({"A": (60, 0.1), "B": (60, 0.2), "C": (60, 0.7)})
    assert verdict(studied(tmp_path, log)).startswith("Arm C")
    log = experiment({"A": (60, 0.1), "B": (60, 0.6), "C": (60, 0.6)})
    assert verdict(studied(tmp_path, log)).startswith("No arm")


def test_there_is_no_winner_when_users_are_not_split_as_planned(tmp_path: Path) -> None:
    log = experiment({"A": (90, 0.1), "B": (10, 0.9)})
    found = studied(tmp_path, log)
    assert verdict(found).startswith("No arm")
    assert found.alarm.startswith("SAMPLE-RATIO MISMATCH")
    assert not studied(tmp_path, log, shares={"A": 0.9, "B": 0.1}).alarm


def test_rates_over_time_are_those_of_each_day(tmp_path: Path) -> None:
    assert studied(tmp_path, experiment(days=1)).daily is None
    log = experiment(days=4)
    kept = [time // DAY != 1 for time in log["lists"]["time"]]
    log["lists"] = {
        name: [value for value, is_kept in zip(values, kept, strict=True) if is_kept]
        for name, values in log["lists"].items()
    }
    found = studied(tmp_path, log)
    days = found.frames()["days"]
    assert days["day"].unique().tolist() == [f"1970-01-0{day}" for day in (1, 3, 4)]
    counts = days.groupby("arm")[["lists", "accepted"]].sum()
    arms = found.tables["arms"].set_index("arm")
    assert_frame_equal(counts, arms[["lists", "accepted"]])
    axes = found.plot_over_time(arm="B")
    _, own = axes.get_lines()
    assert np.asarray(own.get_xdata()).tolist() == [1, 3, 4]
    assert own.get_ydata() == pytest.approx(days["rate"][days["arm"] == "B"].tolist())


def test_rates_of_a_sparse_log_are_drawn_by_week(tmp_path: Path) -> None:
    found = studied(tmp_path, experiment({"A": (5, 0.3), "B": (5, 0.5)}, days=15))
    tables = found.frames()
    days, weeks = (tables[n].groupby("arm")[["lists", "accepted"]].sum() for n in ("days", "weeks"))
    assert_frame_equal(days, weeks)
    axes = found.plot_over_time(arm="B")
    assert np.asarray(axes.get_lines()[-1].get_xdata()).tolist() == [1, 2, 3]
    assert axes.get_xlabel() == "week"


@pytest.mark.parametrize(("window", "rate"), [("1 ms", 0.0), ("5 min", 1.0)])
def test_rates_of_one_user_are_drawn_without_intervals(
    tmp_path: Path, window: str, rate: float
) -> None:
    log = experiment({"A": (1, 1.0), "B": (1, 0.0)}, days=2)
    axes = studied(tmp_path, log, window=window).plot_over_time(arm="A")
    assert np.asarray(axes.get_lines()[-1].get_ydata()).tolist() == [rate, rate]
    assert axes.get_ylim()[1] > rate


def test_periods_are_averaged_as_in_the_thesis(tmp_path: Path) -> None:
    found = studied(tmp_path, experiment(days=2), over_time="thesis")
    periods = found.tables["periods"]
    by_arm = periods.assign(sum=periods["rate"] * periods["users"]).groupby("arm")
    expected = by_arm["sum"].sum() / by_arm["users"].sum()
    np.testing.assert_allclose(found.tables["arms"]["rate"], expected, rtol=1e-14)
    paths = written(tmp_path, experiment(), without=("model_version",))
    with pytest.raises(InputError, match="thesis averages over periods: it needs --models, or"):
        counted(paths, over_time="thesis")


def test_periods_are_those_of_the_table_of_models(tmp_path: Path) -> None:
    text = f"arm,model_version,valid_from,valid_to\nA,v,0,{DAY}\nA,w,{DAY},{4 * DAY}\nB,v,0,{DAY}\n"
    models = write_csv(tmp_path, models=text)["models"]
    found = studied(tmp_path, experiment(days=4), models=models)
    hours = found.frames()["periods"].set_index(["period", "arm"])["hours"].dropna()
    assert hours.to_dict() == {("v", "A"): 24.0, ("w", "A"): 72.0, ("v", "B"): 24.0}
    assert found.tables["periods"]["lists"].tolist() == [120, 120, 360, 0]
    table = found.thesis2021_table4_2()
    assert [list(row[1:4]) for row in table.rows if row[1] == "A"][:4] == [
        ["A", "measurements o", 2],
        ["A", "duration of one iteration", "48:00"],
        ["A", "iCTR users", 60],
        ["A", "iCTR interactions", 480],
    ]


@pytest.mark.parametrize("text", ["10", "-1 s", "soon", "", f"{LONGEST} s"])
def test_a_duration_has_a_unit(text: str) -> None:
    with pytest.raises(ValueError, match=r"must be a number with a unit \(ms, s, min, h, d\)"):
        milliseconds(text)


@pytest.mark.parametrize("text", ["A", "A=1,A=2", "=1"])
def test_pairs_have_names_once(text: str) -> None:
    with pytest.raises(ValueError, match="must be a value for each name"):
        read_pairs(text)


@pytest.mark.parametrize("asked", [{}, {"window": "1 h", "explicit": True}])
def test_a_click_is_implicit_or_explicit(asked: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="--explicit"):
        Question(recommendations="x", interactions="y", **asked)
