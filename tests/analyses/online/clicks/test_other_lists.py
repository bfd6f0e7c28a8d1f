from pathlib import Path
from typing import Any

import pytest

from runs import InputError
from tests.analyses.online.clicks.experiments import experiment, studied
from tests.analyses.online.logs.writing import write_csv, write_parquet

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


def test_a_placebo_is_accepted_by_views_alone(tmp_path: Path) -> None:
    """The one view is of x, which u was shown and v would have been shown."""
    path = policy(tmp_path, items=[["y"], ["x"]])
    found = studied(tmp_path, LOG, placebo=path).placebo
    assert found is not None
    assert (found.shown.rates[0], found.placebo.rates[0], found.excess.rates[0]) == (0.5, 0.0, 0.5)


def test_a_placebo_of_the_same_lists_has_no_excess(tmp_path: Path) -> None:
    found = studied(tmp_path, LOG, placebo=policy(tmp_path)).placebo
    assert found is not None
    assert (found.placebo.rates[0], found.excess.rates[0]) == (0.5, 0.0)


def test_a_placebo_is_of_the_lists_that_count_in_the_arms_for_which_they_do(tmp_path: Path) -> None:
    log = experiment({"A": (2, 1.0), "B": (2, 0.0)})
    log["lists"]["user"][-1] = "A0"
    path = write_parquet(tmp_path / "placebo.parquet", log["lists"])
    found = studied(tmp_path, log, placebo=path)
    assert found.placebo is not None
    assert found.placebo.placebo.rates.tolist() == found.chosen.rates.rates.tolist()
    assert found.placebo.placebo.n_slates.tolist() == found.chosen.rates.n_slates.tolist()


@pytest.mark.parametrize("crossing", ["exclude", "first"])
def test_views_are_credited_alike_to_lists_and_placebo(tmp_path: Path, crossing: str) -> None:
    """Both of u's lists have the one view in their windows; the last, of no version, counts not."""
    shown = {"user": ["u", "u", "v", "v"], "arm": ["A", "A", "A", "B"], "items": [["x"]] * 4}
    lists = shown | {"rec_id": ["r1", "r2", "r3", "r4"], "time": [0, 2, 0, 2]}
    log: dict[str, Any] = LOG | {"lists": lists, "clicks": LOG["clicks"] | {"time": [3]}}
    live = "arm,model_version,valid_from,valid_to\nA,v,0,1\nB,v,0,9\n"
    asked = {"credit": "last", "models": write_csv(tmp_path, models=live)["models"]}
    path = write_parquet(tmp_path / "placebo.parquet", lists)
    found = studied(tmp_path, log, **asked, crossing=crossing, placebo=path)
    assert found.placebo is not None
    assert found.chosen.rates.rates[0] == found.placebo.shown.rates[0] == 0.0
    assert found.placebo.placebo.rates[0] == 0.0


def test_explicit_clicks_have_no_placebo(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--placebo needs a --window"):
        studied(tmp_path, LOG, placebo=policy(tmp_path), explicit=True)


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
