from pathlib import Path
from typing import Any

import pytest

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
