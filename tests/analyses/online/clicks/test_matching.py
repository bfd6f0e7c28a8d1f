"""Logs that are matched in shards of their users give what they give whole."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from analyses.online.clicks.click_question import Question
from analyses.online.clicks.click_result import Clicks
from analyses.online.clicks.counting import study_log
from qrels.interactions.shards import Reading
from runs import InputError
from runs.shared.progress import Silent
from tests.analyses.online.clicks.experiments import (
    WINDOW,
    experiment,
    written,
    written_as_csv,
)
from tests.analyses.online.logs.writing import CLICKS, LISTS, write_csv

Log = Mapping[str, dict[str, list[Any]]]


@pytest.fixture(scope="module")
def awkward() -> Log:
    """A log with all that is set aside: a robot, users of two arms, lists and clicks that err."""
    log = experiment({"A": (30, 0.3), "B": (30, 0.5)}, days=4)
    lists, clicks = log["lists"], log["clicks"]
    lists["user"][:50] = ["robot"] * 50
    lists["arm"][90] = "B"
    for values in lists.values():
        values.append(values[100])
    clicks["rec_id"][:3] = ["nowhere", lists["rec_id"][200], lists["rec_id"][300]]
    for values in clicks.values():
        values.append(values[40])
    return log


def study(paths: list[Path], *, shards: int, **asked: Any) -> Clicks:
    window = {} if "explicit" in asked else {"window": WINDOW}
    question = Question(**window | {"robots": 5} | asked)
    lists, clicks = paths
    return study_log(lists, clicks, question, reading=Reading(shards), progress=Silent())


def require_same(paths: list[Path], **asked: Any) -> Clicks:
    """Compare all that is found in one shard and in seven."""
    whole, cut = (study(paths, shards=shards, **asked) for shards in (1, 7))
    frames = cut.frames()
    assert [*frames] == [*whole.frames()]
    for name, frame in whole.frames().items():
        assert_frame_equal(frames[name], frame, check_exact=True)
    assert cut.findings() == whole.findings()
    assert cut.cautions() == whole.cautions()
    return cut


ASKED: Mapping[str, dict[str, Any]] = {
    "window": {},
    "last list": {"credit": "last", "crossing": "first"},
    "explicit": {"explicit": True},
    "over time": {"over_time": "thesis"},
}


@pytest.mark.slow
@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED.keys())
def test_shards_of_users_change_nothing(
    tmp_path: Path, awkward: Log, asked: dict[str, Any]
) -> None:
    found = require_same(written(tmp_path, awkward), **asked)
    assert found.facts.set_aside["lists whose id stands before"] == 1
    assert found.facts.set_aside["clicks that name a list outside the file"] == 1
    assert found.facts.set_aside["clicks on a list of another user"] > 1
    assert found.facts.repeated_events == 1


@pytest.mark.slow
def test_shards_of_users_know_tables_beside_the_log(tmp_path: Path, awkward: Log) -> None:
    tables = write_csv(
        tmp_path,
        models="arm,model_version,valid_from,valid_to\nA,v1,0,90000000\nB,v1,0,400000000\n",
        assignment="user,arm\nA20,A\nA21,B\nB3,B\n",
        merged="user,person\nA22,A23\nB5,B6\n",
    )
    users = require_same(written(tmp_path, awkward)).facts.users
    found = require_same(written(tmp_path, awkward), **tables)
    assert found.facts.without_version
    assert found.facts.against_assignment
    assert found.facts.users == users - 2


@pytest.mark.slow
def test_shards_of_csv_change_nothing(tmp_path: Path) -> None:
    require_same(written_as_csv(tmp_path, experiment(days=2)), robots=None, explicit=True)


@pytest.mark.slow
def test_more_shards_than_users_change_nothing(tmp_path: Path) -> None:
    log = experiment({"A": (2, 0.9), "B": (1, 0.9)})
    require_same(written(tmp_path, log), robots=None)


def test_an_error_in_a_shard_names_the_row_of_the_log(tmp_path: Path) -> None:
    lists = LISTS.replace("B,1,x", "B,0,x")
    paths = [*write_csv(tmp_path, lists=lists, clicks=CLICKS).values()]
    said = []
    for shards in (1, 2):
        with pytest.raises(InputError) as raised:
            study(paths, shards=shards)
        said.append(str(raised.value))
    assert "lists.csv, row 3, column 'position'" in said[0]
    assert said[1] == said[0]


def test_lists_of_two_users_with_one_id_are_refused_in_shards(tmp_path: Path) -> None:
    log = experiment()
    log["lists"]["rec_id"][-1] = log["lists"]["rec_id"][0]
    with pytest.raises(InputError, match=r"1 ids stand for lists of two users.*--shards 1"):
        study(written(tmp_path, log), shards=7)


def test_a_policy_needs_the_whole_log(tmp_path: Path) -> None:
    lists, clicks = written(tmp_path, experiment())
    with pytest.raises(InputError, match="--policy compares lists place by place"):
        study([lists, clicks], shards=2, policy=lists)


@pytest.mark.slow
def test_a_cluster_changes_nothing(tmp_path: Path) -> None:
    log = experiment(days=4)
    for table in log.values():
        table["time"] = [1_770_000_000_000 + time for time in table["time"]]
    lists, clicks = written(tmp_path, log)
    question = Question(window=WINDOW)
    (tmp_path / "scratch").mkdir()
    readings = Reading(1), Reading(3, scratch=tmp_path / "scratch", dask="local")
    whole, cut = (
        study_log(lists, clicks, question, reading=reading, progress=Silent()).frames()
        for reading in readings
    )
    pd.testing.assert_frame_equal(cut["arms"], whole["arms"], check_exact=True)
    assert not [*(tmp_path / "scratch").iterdir()]
