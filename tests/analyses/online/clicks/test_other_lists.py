import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analyses.online.clicks.off_policy import Target, read_target
from analyses.online.logs.slates import Slates
from runs import InputError
from tests.analyses.online.clicks.experiments import studied
from tests.analyses.online.logs.writing import write_parquet

LOG: dict[str, dict[str, list[Any]]] = {
    "lists": {
        "rec_id": ["r2", "r10"],
        "time": [0, 0],
        "user": ["u", "v"],
        "arm": ["A", "A"],
        "items": [["x"], ["y"]],
        "propensity": [[0.5], [0.5]],
        "clicked": [[True], [False]],
    },
    "clicks": {"time": [0], "user": ["u"], "item": ["x"], "type": ["view"]},
}


def policy(folder: Path, **changed: Any) -> Path:
    shown = {name: LOG["lists"][name] for name in ("rec_id", "time", "user", "arm", "items")}
    return write_parquet(folder / "policy.parquet", shown | changed)


def value(folder: Path, **changed: Any) -> float:
    found = studied(folder, LOG, policy=policy(folder, **changed)).policy
    assert found is not None
    return float(found.values[0])


def test_a_policy_earns_what_it_shares_with_the_log(tmp_path: Path) -> None:
    assert value(tmp_path) == 1.0
    assert value(tmp_path, items=[["y"], ["y"]]) == 0.0


def test_lists_of_a_policy_may_stand_in_any_order(tmp_path: Path) -> None:
    assert value(tmp_path, rec_id=["r10", "r2"], items=[["y"], ["x"]]) == 1.0


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"rec_id": ["r2", "r3"]}, r"a list for each one in the log, but 'r10' has none\."),
        ({"items": [["x"], ["w"]]}, r"row 2, column 'items': 'w' is in neither table of the log"),
        ({"items": [["x"], ["y", "x"]]}, r"row 2, .* list 'r10' has 1 items in the log, got 2\."),
    ],
)
def test_a_policy_must_have_lists_for_the_log(
    tmp_path: Path, changed: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        value(tmp_path, **changed)


LOGGED = "rec_id,position,item\nr1,1,x\nr1,2,y\nr2,1,x\nr2,2,y\n"


def logged() -> Slates:
    slates = Slates.of([["x", "y"], ["x", "y"]], user=["a", "b"], arm=["A"] * 2, time=[0] * 2)
    return replace(slates, ids=np.array(["r1", "r2"]))


def test_other_lists_need_no_more_than_their_ids_and_items(tmp_path: Path) -> None:
    by_place, whole = tmp_path / "policy.csv", tmp_path / "policy.parquet"
    by_place.write_text("rec_id,position,item\nr2,2,y\nr2,1,x\nr1,2,x\nr1,1,y\n")
    write_parquet(whole, {"rec_id": ["r2", "r1"], "items": [["x", "y"], ["y", "x"]]})
    for path in (by_place, whole):
        found = read_target(path, logged())
        assert isinstance(found, np.ndarray)
        assert logged().items.ids[found].tolist() == ["y", "x", "x", "y"]


def test_chances_of_a_stochastic_policy_are_read_by_position(tmp_path: Path) -> None:
    path = tmp_path / "policy.csv"
    path.write_text("rec_id,position,propensity\nr1,2,.3\nr1,1,.2\nr2,1,.5\nr2,2,1\n")
    found = read_target(path, logged())
    assert isinstance(found, Target)
    assert found.chance.tolist() == [0.2, 0.3, 0.5, 1.0]


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("rec_id,position\nr1,1\n", "no column 'item'"),
        ("rec_id,item\nr1,x\n", "no column 'items'"),
        (LOGGED.replace("r1,2,y", "r1,1,y"), "row 2, column 'position': the positions of a list"),
        (
            LOGGED.replace("r2,2,y\n", ""),
            "row 3, column 'rec_id': list 'r2' has 2 items",
        ),
        (LOGGED.replace("r1,2,y", "r1,2,z"), "row 2, column 'item': 'z' is in neither table"),
        (LOGGED.replace("r2", "r3"), "there must be a list for each one in the log, but 'r2'"),
    ],
)
def test_what_is_no_policy_is_refused(tmp_path: Path, text: str, finding: str) -> None:
    path = tmp_path / "policy.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=re.escape(finding)):
        read_target(path, logged())


def test_a_list_that_stands_twice_is_refused(tmp_path: Path) -> None:
    lists = {"rec_id": ["r1", "r1"], "items": [["x", "y"]] * 2}
    path = write_parquet(tmp_path / "policy.parquet", lists)
    with pytest.raises(InputError, match="'r1' stands again, after row 1"):
        read_target(path, logged())
