"""Logs of small experiments, written as files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analyses.online.clicks.click_question import Question
from analyses.online.clicks.click_result import Clicks
from analyses.online.clicks.counting import study_log
from runs.shared.progress import Silent
from tests.analyses.online.logs.writing import write_parquet

MINUTE = 60_000
DAY = 86_400_000
WINDOW = 10 * MINUTE
EQUAL: Mapping[str, tuple[int, float]] = {"A": (60, 0.2), "B": (60, 0.6)}


def experiment(
    arms: Mapping[str, tuple[int, float]] = EQUAL, *, days: int = 1, per_day: int = 2, seed: int = 1
) -> dict[str, dict[str, list[Any]]]:
    """Make a log of users and rates by arm.

    Everyone is shown x and y so often on each day, and clicks y a minute later at the rate of the
    arm; a click leads to a purchase of z every other time, which no list holds.
    """
    rng = np.random.default_rng(seed)
    lists: dict[str, list[Any]] = {
        name: [] for name in ("rec_id", "time", "user", "arm", "items", "model_version")
    }
    clicks: dict[str, list[Any]] = {name: [] for name in ("time", "user", "item", "type", "rec_id")}
    for arm, (n_users, rate) in arms.items():
        for user in range(n_users):
            for day in range(days):
                for number in range(per_day):
                    rec_id = f"{arm}{user}-{day}-{number}"
                    time = day * DAY + number * 3_600_000 + user * MINUTE
                    row = (rec_id, time, f"{arm}{user}", arm, ["x", "y"], f"v{2 * day // days}")
                    _append(lists, row)
                    if rng.random() < rate:
                        _append(clicks, (time + MINUTE, f"{arm}{user}", "y", "view", rec_id))
                        _append(clicks, (time + MINUTE, f"{arm}{user}", "z", "purchase", None))
    return {"lists": lists, "clicks": clicks}


def _append(columns: dict[str, list[Any]], row: tuple[Any, ...]) -> None:
    for column, value in zip(columns.values(), row, strict=True):
        column.append(value)


def written(
    folder: Path, log: Mapping[str, dict[str, list[Any]]], *, without: tuple[str, ...] = ()
) -> list[Path]:
    """Write the two tables as Parquet, without some columns."""
    return [
        write_parquet(
            folder / f"{name}.parquet",
            {column: values for column, values in table.items() if column not in without},
        )
        for name, table in log.items()
    ]


def written_as_csv(folder: Path, log: Mapping[str, dict[str, list[Any]]]) -> list[Path]:
    """Write the two tables as CSV, with a row for each item of a list."""
    lists = pd.DataFrame(log["lists"]).explode("items").rename(columns={"items": "item"})
    lists["position"] = lists.groupby("rec_id").cumcount() + 1
    for name, frame in (("lists", lists), ("clicks", pd.DataFrame(log["clicks"]))):
        frame.to_csv(folder / f"{name}.csv", index=False)
    return [folder / "lists.csv", folder / "clicks.csv"]


def studied(folder: Path, log: Mapping[str, dict[str, list[Any]]], **asked: Any) -> Clicks:
    """Study a log; clicks count within a while, unless they are explicit."""
    window = {} if "explicit" in asked else {"window": WINDOW}
    question = Question(**window | asked)
    lists, clicks = written(folder, log)
    return study_log(lists, clicks, question, progress=Silent())
