from pathlib import Path

import numpy as np
import pytest

from analyses.online.clicks.rates import click_through
from analyses.online.clicks.tallies import tally
from analyses.online.logs import read_logs
from analyses.online.logs.acceptance import implicit_clicks
from runs import InputError
from tests.analyses.online.clicks.experiments import DAY, WINDOW, experiment, studied, written
from tests.analyses.online.logs.writing import write_csv


def test_numbers_are_those_of_the_library(tmp_path: Path) -> None:
    log = experiment()
    found = studied(tmp_path, log).chosen.rates
    logs = read_logs(*written(tmp_path, log))
    events = {name: getattr(logs.events, name) for name in ("user", "item", "time")}
    clicked = implicit_clicks(logs.slates, **events, window=WINDOW)
    counts = tally(
        logs.slates.any_place(clicked),
        user=logs.slates.user,
        arm=logs.slates.arm,
        arms=logs.slates.arms,
    )
    expected = click_through(counts)
    np.testing.assert_array_equal(found.rates, expected.rates)
    np.testing.assert_array_equal(found.covariances, expected.covariances)


def test_every_rate_stands_with_and_without_robots(tmp_path: Path) -> None:
    log = experiment()
    log["lists"]["user"][:50] = ["robot"] * 50
    del log["clicks"]["rec_id"]
    found = studied(tmp_path, log, robots=10)
    kept = {name: values[50:] for name, values in log["lists"].items()}
    people = studied(tmp_path, {"lists": kept, "clicks": log["clicks"]})
    assert found.chosen.rates.rates.tolist() == people.chosen.rates.rates.tolist()
    assert [group.rates.n_slates[0] for group in found.groups.values()] == [120, 70]


def test_the_split_is_tested_with_and_without_robots(tmp_path: Path) -> None:
    log = experiment()
    log["lists"]["user"][:50] = ["robot"] * 50
    del log["clicks"]["rec_id"]
    splits = [group.split for group in studied(tmp_path, log, robots=10).groups.values()]
    assert [split.counts.tolist() for split in splits if split] == [[36, 60], [35, 60]]


def test_robots_must_leave_someone(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="`--robots 1` leaves nobody"):
        studied(tmp_path, experiment(), robots=1)


def test_an_uneven_split_is_a_mismatch_unless_it_was_planned(tmp_path: Path) -> None:
    log = experiment({"A": (90, 0.2), "B": (10, 0.2)})
    assert studied(tmp_path, log).alarm
    assert not studied(tmp_path, log, shares={"A": 0.9, "B": 0.1}).alarm


def test_periods_are_averaged_as_in_the_thesis(tmp_path: Path) -> None:
    found = studied(tmp_path, experiment(days=2), over_time="thesis")
    rates = np.array([period.rates for period in found.periods.values()])
    users = np.array([period.n_users for period in found.periods.values()])
    expected = (rates * users).sum(axis=0) / users.sum(axis=0)
    np.testing.assert_allclose(found.chosen.rates.rates, expected, rtol=1e-14)


def test_the_mean_over_periods_needs_periods(tmp_path: Path) -> None:
    log = experiment()
    del log["lists"]["model_version"]
    with pytest.raises(InputError, match="thesis averages over periods: it needs --models, or"):
        studied(tmp_path, log, over_time="thesis")


def test_rates_over_time_are_those_of_each_day(tmp_path: Path) -> None:
    assert studied(tmp_path, experiment(days=1)).daily is None
    found = studied(tmp_path, experiment(days=4))
    days = found.frames()["days"]
    assert days["day"].unique().tolist() == [f"1970-01-0{day}" for day in (1, 2, 3, 4)]
    whole = found.chosen.rates
    counts = days.groupby("arm")[["slates", "accepted"]].sum()
    assert counts["slates"].tolist() == whole.n_slates.tolist()
    assert counts["accepted"].tolist() == whole.n_accepted.tolist()
    assert (days["rate"] == days["accepted"] / days["slates"]).all()


def test_a_day_without_lists_leaves_a_gap_in_time(tmp_path: Path) -> None:
    log = experiment(days=4)
    kept = [time // DAY != 1 for time in log["lists"]["time"]]
    log["lists"] = {
        name: [value for value, is_kept in zip(values, kept, strict=True) if is_kept]
        for name, values in log["lists"].items()
    }
    daily = studied(tmp_path, log).daily
    assert daily is not None
    axes = daily.plot(arm="B")
    other, own = axes.get_lines()
    assert np.asarray(own.get_xdata()).tolist() == [1, 3, 4]
    assert own.get_ydata() == pytest.approx([found.rates[1] for found in daily.by_day.values()])
    assert other.get_ydata() == pytest.approx([found.rates[0] for found in daily.by_day.values()])


def test_versions_have_their_hours(tmp_path: Path) -> None:
    """Of four days, two each; without a table of models, from the first list to the last."""
    frame = studied(tmp_path, experiment(days=4)).frames()["periods"]
    assert frame["hours"].tolist() == pytest.approx([24 + 1 + 59 / 60] * 4)
    text = f"arm,model_version,valid_from,valid_to\nA,v,0,{DAY}\nA,w,{DAY},{4 * DAY}\nB,v,0,{DAY}\n"
    models = write_csv(tmp_path, models=text)["models"]
    frame = studied(tmp_path, experiment(days=4), models=models).frames()["periods"]
    assert frame.set_index(["period", "arm"])["hours"].dropna().to_dict() == {
        ("v", "A"): 24.0,
        ("w", "A"): 72.0,
        ("v", "B"): 24.0,
    }
