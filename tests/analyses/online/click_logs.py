"""Logs of small experiments, written as files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from analyses.online.clicks import Question, count_clicks
from analyses.online.clicks_result import Clicks
from runs.shared.progress import SilentProgress

MINUTE = 60_000
DAY = 86_400_000
WINDOW = 10 * MINUTE
EQUAL: Mapping[str, tuple[int, float]] = {"A": (60, 0.2), "B": (60, 0.6)}

Log = Mapping[str, dict[str, list[Any]]]

LISTS = """rec_id,time,user,arm,position,item
r1,1000,ann,A,1,x
r1,1000,ann,A,2,y
r2,2000,bob,B,1,x
"""
CLICKS = """time,user,item,type
1500,ann,y,view
2500,bob,z,purchase
"""
MODELS = """arm,model_version,valid_from,valid_to
A,v2,2000,3000
A,v1,0,1500
B,v1,0,3000
"""


def write_csv(folder: Path, **tables: str) -> dict[str, Path]:
    """Write tables under their names."""
    paths = {name: folder / f"{name}.csv" for name in tables}
    for name, path in paths.items():
        path.write_text(tables[name])
    return paths


def write_parquet(path: Path, columns: Mapping[str, Sequence[Any] | pa.Array]) -> Path:
    """Write columns; of lists, if their values are."""
    parquet.write_table(pa.table(dict(columns)), path)
    return path


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


def with_robot(n_lists: int) -> dict[str, dict[str, list[Any]]]:
    """Give so many lists of arm A to one user."""
    log = experiment()
    log["lists"]["user"][:n_lists] = ["robot"] * n_lists
    del log["clicks"]["rec_id"]
    return log


def written(folder: Path, log: Log, *, without: tuple[str, ...] = ()) -> list[Path]:
    """Write the two tables as Parquet, without some columns."""
    return [
        write_parquet(
            folder / f"{name}.parquet",
            {column: values for column, values in table.items() if column not in without},
        )
        for name, table in log.items()
    ]


def written_as_csv(folder: Path, log: Log) -> list[Path]:
    """Write the two tables as CSV, with a row for each item of a list."""
    lists = pd.DataFrame(log["lists"]).explode("items").rename(columns={"items": "item"})
    lists["position"] = lists.groupby("rec_id").cumcount() + 1
    for name, frame in (("lists", lists), ("clicks", pd.DataFrame(log["clicks"]))):
        frame.to_csv(folder / f"{name}.csv", index=False)
    return [folder / "lists.csv", folder / "clicks.csv"]


def counted(paths: Sequence[Path], *, n_jobs: int = 1, **asked: Any) -> Clicks:
    """Count clicks; they count within a while, unless they are explicit."""
    files = {"recommendations": paths[0], "interactions": paths[1]}
    window = {} if "explicit" in asked else {"window": WINDOW}
    return count_clicks(
        Question(**files | window | asked), progress=SilentProgress(), n_jobs=n_jobs
    )


def studied(folder: Path, log: Log, **asked: Any) -> Clicks:
    """Write a log, and count its clicks."""
    return counted(written(folder, log), **asked)
