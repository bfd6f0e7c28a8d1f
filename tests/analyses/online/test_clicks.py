"""What a log says of its arms."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from pandas.testing import assert_frame_equal
from scipy.stats import chisquare, norm

from analyses.online.clicks import MAX_DURATION, Question, count_clicks, milliseconds, read_pairs
from analyses.online.clicks_result import Clicks
from analyses.online.clicks_result import verdict as verdict_of
from runs import InputError
from runs.shared.progress import SilentProgress
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
from tests.drawn import corners, explained, points


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


@pytest.mark.parametrize("text", ["10", "-1 s", "soon", "", f"{MAX_DURATION} s"])
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


# Numbers that are stated by hand


@pytest.mark.parametrize(
    ("text", "length"),
    [
        *(("30 min", 1_800_000), ("1.5h", 5_400_000), ("2 days", 172_800_000), ("250 ms", 250)),
        *(("0 s", 0), ("0.0004 s", 0), ("0.0016 s", 2), ("104249 days", 104_249 * DAY)),
    ],
)
def test_a_duration_is_in_whole_milliseconds(text: str, length: int) -> None:
    assert milliseconds(text) == length


def test_values_are_read_by_name() -> None:
    assert read_pairs("A=0.5, B = 0.25") == {"A": "0.5", "B": "0.25"}
    assert read_pairs("click=view,impression=") == {"click": "view", "impression": ""}
    assert read_pairs("a=b=c") == {"a=b": "c"}


def test_a_question_reads_texts_and_has_bounds() -> None:
    files = {"recommendations": "x", "interactions": "y"}
    question = Question(**files, window="1 min", shares="A=1,B=3", types="click=view")
    assert question.window == 60_000
    assert question.shares == {"A": 1.0, "B": 3.0}
    assert question.types == {"click": "view"}
    assert (question.over_time, question.explicit, question.robots) == ("pooled", False, None)
    Question.model_validate({**files, "explicit": True, "robots": 1, "first_year": 9999})
    for refused in (
        {"robots": 0},
        {"shares": {"A": 0.0}},
        {"shares": {"A": np.inf}},
        {"first_year": 0},
        {"first_year": 10_000},
    ):
        with pytest.raises(ValueError, match=r"greater|finite|less"):
            Question.model_validate({**files, "explicit": True, **refused})
    Question.model_validate({**files, "explicit": True, "first_year": 1, "shares": {"A": 0.1}})


def frames_of(rates: list[float], pairs: list[tuple[str, str, float, float]]) -> Any:
    """Rates of arms A, B and so on, and their pairs with a p that is adjusted."""
    arms = pd.DataFrame({"arm": [*"ABCD"[: len(rates)]], "rate": rates})
    rows = [
        {
            "arm_a": a,
            "arm_b": b,
            "difference": gap,
            "low": gap - 0.1,
            "high": gap + 0.1,
            "p_holm": p,
        }
        for a, b, gap, p in pairs
    ]
    return arms, pd.DataFrame(rows)


def test_the_best_arm_is_compared_with_the_nearest_of_those_it_may_not_exceed() -> None:
    """B has .5 and exceeds C by .1 and A by .3; without certainty on A, A is named."""
    pairs = [("A", "B", -0.3, 0.04), ("A", "C", -0.2, 0.03), ("B", "C", 0.1, 0.01)]
    rates = [0.2, 0.5, 0.4]
    assert verdict_of(*frames_of(rates, pairs)) == (
        "Arm B has the highest click-through rate: the rate of B is .10 above that of C (p = .01, "
        "Holm's method)."
    )
    pairs[0] = ("A", "B", -0.3, 0.05)
    assert verdict_of(*frames_of(rates, pairs)) == (
        "No arm has a significantly higher click-through rate than all others: the rate of B is "
        ".30 above that of A (p = .05, Holm's method)."
    )
    pairs[0] = ("A", "B", -0.3, 0.0499)
    assert verdict_of(*frames_of(rates, pairs)).startswith("Arm B")
    pairs[2] = ("B", "C", 0.1, np.nan)
    assert verdict_of(*frames_of(rates, pairs)).startswith("No arm")


def test_a_log_of_one_arm_has_no_winner_and_no_split(tmp_path: Path) -> None:
    found = studied(tmp_path, experiment({"A": (4, 0.5)}))
    assert found.findings() == ["The log has only one arm, so no rates are compared."]
    assert not {"sample_ratio", "split"} & {*found.tables}
    assert not found.alarm


@pytest.mark.slow
def test_what_is_known_of_a_simulated_experiment_stands_beside_its_rates(tmp_path: Path) -> None:
    """Lists of B in the period v1 were not shown, and have no rate."""
    lists, clicks = written(tmp_path, experiment({"A": (4, 1.0), "B": (4, 0.0)}, days=2))
    truth = pd.DataFrame(
        {
            "arm": ["A", "A", "B", "B"],
            "period": [0, 1, 0, 1],
            "users": [10, 30, 5, 5],
            "lists": [100, 50, 40, 0],
            "expected_rate": [0.2, 0.6, 0.5, np.nan],
        }
    )
    settings = [{"arm": "B", "depth": 3}, {"arm": "A", "depth": 5, "decay": 0.5}]

    def known(over_time: str) -> Clicks:
        question = Question.model_validate(
            {"recommendations": lists, "interactions": clicks, "explicit": True}
            | {"over_time": over_time}
        )
        return count_clicks(
            question,
            progress=SilentProgress(),
            name="w",
            settings=settings,
            truth=truth,
            remarks=["A remark."],
            n_jobs=1,
        )

    pooled = known("pooled")
    assert pooled.tables["arms"]["expected"].tolist() == pytest.approx([50 / 150, 0.5])
    averaged = known("thesis").tables["arms"]
    assert averaged["expected"].tolist() == pytest.approx([(10 * 0.2 + 30 * 0.6) / 40, 0.5])
    assert pooled.tables["truth"] is truth
    table = pooled.tables["thesis2021-table4.1"]
    assert table.to_numpy().tolist() == [
        ["w", "B", "depth", "3"], ["w", "A", "depth", "5"], ["w", "A", "decay", "0.5"]
    ]  # fmt: skip
    assert table.columns.tolist() == ["dataset", "system", "hyperparameter", "value"]
    assert table.index.tolist() == [0, 1, 2]
    assert "A remark." in pooled.cautions()
    assert {*pooled.tables["thesis2021-table4.2"]["dataset"]} == {"w"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_users", "days", "by_week"), [(15, 8, False), (14, 8, True), (14, 7, False)]
)
def test_sparse_logs_of_more_than_a_week_have_rates_by_week(
    tmp_path: Path, n_users: int, days: int, by_week: bool
) -> None:
    """Of two lists a user and day, 15 users have 30 a day and arm."""
    log = experiment({"A": (n_users, 0.3), "B": (n_users, 0.5)}, days=days)
    later = {"time": [time + 3 * DAY for time in log["lists"]["time"]]}
    found = studied(tmp_path, {"lists": log["lists"] | later, "clicks": log["clicks"]})
    assert ("weeks" in found.tables) == by_week
    assert not any("days of the week" in caution for caution in found.cautions())
    if by_week:
        weeks = found.tables["weeks"]
        assert weeks["week"].tolist() == ["1", "1", "2", "2"]
        assert weeks["lists"].tolist() == [7 * 28, 7 * 28, 28, 28]
        assert "by week (UTC)" in found.caption_of("daily")
    else:
        assert "by day (UTC)" in found.caption_of("daily")


@pytest.mark.slow
def test_logs_of_less_than_a_week_have_a_caution(tmp_path: Path) -> None:
    found = studied(tmp_path, experiment({"A": (3, 0.3), "B": (3, 0.5)}, days=6))
    assert any("covers 6 of the 7 days" in caution for caution in found.cautions())
    assert "Click-through rates of 2 arms, pooled over time, with 95 % intervals over 6 users" in (
        found.caption()
    )
    assert "interacts with an item of it within 0 days 00:10:00." in found.caption()


@pytest.mark.slow
@pytest.mark.parametrize(("n_silent", "cautioned"), [(3, True), (2, False)])
def test_users_without_an_interaction_have_a_caution_from_more_than_half_on(
    tmp_path: Path, n_silent: int, cautioned: bool
) -> None:
    found = studied(tmp_path, experiment({"A": (4 - n_silent, 1.0), "B": (n_silent, 0.0)}))
    sentence = "75 % of the users have no interaction."
    assert (sentence in found.cautions()) == cautioned


@pytest.mark.slow
def test_a_version_is_live_from_its_start_until_before_its_end(tmp_path: Path) -> None:
    """Lists are shown at 0 and one hour; the version of A begins then, that of B ends then."""
    hour = 60 * MINUTE
    text = (
        "arm,model_version,valid_from,valid_to\n"
        f"A,v,{hour},{3 * hour}\nB,w,0,{hour}\nB,u,{2 * hour},{4 * hour + 20 * MINUTE}\n"
    )
    models = write_csv(tmp_path, models=text)["models"]
    log = experiment({"A": (1, 0.0), "B": (1, 1.0)})
    found = studied(tmp_path, log, models=models, over_time="thesis")
    facts = dict(found.tables["facts"].to_numpy().tolist())
    assert (
        facts["lists were shown when no version of their arm's model was live; they do not count"]
        == 2
    )
    assert found.tables["arms"]["lists"].tolist() == [1, 1]
    periods = found.tables["periods"]
    # Versions have other names by arm: periods have numbers.
    assert periods[["period", "arm", "lists"]].to_numpy().tolist() == [
        ["1", "A", 1], ["1", "B", 1], ["2", "A", 0], ["2", "B", 0]
    ]  # fmt: skip
    np.testing.assert_array_equal(periods["hours"], [2.0, 1.0, np.nan, 7 / 3])
    rates = found.tables["rates"]
    assert rates[["model", "period", "recommendations", "accepted"]].to_numpy().tolist() == [
        ["A", "1", 1, 0], ["B", "1", 1, 1]
    ]  # fmt: skip
    assert rates.index.tolist() == [0, 1]
    assert rates.columns.tolist() == [
        *("model", "period", "rate", "error", "users", "recommendations", "accepted")
    ]
    assert periods.columns.tolist() == [
        *("period", "arm", "users", "lists", "accepted", "rate", "error", "low", "high", "hours")
    ]
    table = {row[2]: row[3] for row in found.thesis2021_table4_2().rows if row[1] == "B"}
    assert table["duration of one iteration"] == "1:00"
    assert table["iCTR"] == 100
    assert "averaged over periods" in found.caption()


@pytest.mark.slow
def test_versions_in_lists_are_live_from_their_first_to_their_last_list(tmp_path: Path) -> None:
    """Users are shown lists at 0, 1 and 2 minutes, and an hour later."""
    found = studied(tmp_path, experiment({"A": (3, 0.5), "B": (1, 0.5)}))
    periods = found.tables["periods"]
    assert periods["hours"].tolist() == pytest.approx([62 / 60, 1.0])
    table = {row[2]: row[3] for row in found.thesis2021_table4_2().rows if row[1] == "A"}
    assert table["duration of one iteration"] == "1:02"
    assert table["measurements o"] == 1


@pytest.mark.slow
def test_the_split_has_users_percentages_and_the_plan(tmp_path: Path) -> None:
    found = studied(tmp_path, experiment({"A": (3, 0.5), "B": (1, 0.5)}), shares={"A": 1, "B": 4})
    assert found.arms == ("A", "B")
    table = found.clicks_split()
    rows = [list(row[:4]) for row in table.rows]
    assert rows == [["A", 3, 75.0, 20.0], ["B", 1, 25.0, 80.0]]
    assert table.rows[0][4] == pytest.approx(chisquare([3, 1], [0.8, 3.2]).pvalue)


@pytest.mark.slow
def test_an_alarm_is_above_the_figure_and_in_its_caption(tmp_path: Path) -> None:
    found = studied(tmp_path, experiment({"A": (90, 0.1), "B": (10, 0.9)}, days=2))
    ax = found.plot_over_time(arm="A")
    figure = ax.get_figure()
    assert isinstance(figure, Figure)
    assert figure.get_suptitle() == "Sample-ratio mismatch (p < .001)"
    assert found.caption().startswith("SAMPLE-RATIO MISMATCH")
    assert found.caption_of("daily").startswith("SAMPLE-RATIO MISMATCH")
    _, own = ax.get_lines()
    assert "Grey: the other arms." in explained(ax)
    (spread,) = ax.collections
    assert to_hex(np.asarray(spread.get_facecolor())[0]) == to_hex(own.get_color())
    days = found.tables["days"]
    highest = days[["rate", "high"]].max().max()
    assert ax.get_ylim() == pytest.approx((0, 1.05 * highest))
    of_a = days[days["arm"] == "A"]
    np.testing.assert_allclose(points(own), [[1, of_a.rate.iloc[0]], [2, of_a.rate.iloc[1]]])
    band = {(x, round(float(y), 9)) for x, y in corners(ax)}
    assert {(1, round(of_a.low.iloc[0], 9)), (2, round(of_a.high.iloc[1], 9))} <= band
    fair = studied(tmp_path, experiment({"A": (3, 0.1), "B": (3, 0.9)}, days=2))
    without = fair.plot_over_time(arm="A").get_figure()
    assert isinstance(without, Figure)
    assert without.get_suptitle() == ""
