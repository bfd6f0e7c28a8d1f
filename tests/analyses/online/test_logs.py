"""Logs read from files, and lists matched with clicks."""

import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from analyses.online.logs import Logs, MatchedLog, match_lists, model_starts
from runs import InputError
from tests.analyses.online.click_logs import CLICKS, LISTS, MODELS, write_csv, write_parquet

ONE_ROW_A_LIST: dict[str, Any] = {
    "rec_id": ["r1", "r2"],
    "time": [1000, 2000],
    "user": ["ann", "bob"],
    "arm": ["A", "B"],
    "items": [["x", "y"], ["x"]],
    "clicked": [[False, True], [False]],
}
HALF_A_SECOND = 500
NAMING = "time,user,item,type,rec_id\n1500,ann,y,view,r1\n1600,ann,z,view,\n"


def matched(
    folder: Path,
    lists: str = LISTS,
    clicks: str = CLICKS,
    *,
    window: int | None = HALF_A_SECOND,
    arms: list[str] | None = None,
    models: str | None = None,
    **options: Any,
) -> MatchedLog:
    """Match a log whose tables are given as text."""
    tables = {} if models is None else {"models": models}
    paths = write_csv(folder, lists=lists, clicks=clicks, **tables)
    return match_lists(
        Logs(
            recommendations=paths["lists"],
            interactions=paths["clicks"],
            models=paths.get("models"),
            **options,
        ),
        window,
        arms=arms,
    )


def match_parquet(folder: Path, window: int | None, **changed: Any) -> MatchedLog:
    """Match a Parquet file with one row a list, some columns of it changed."""
    path = write_parquet(folder / "lists.parquet", ONE_ROW_A_LIST | changed)
    clicks = write_csv(folder, clicks=CLICKS)["clicks"]
    return match_lists(Logs(recommendations=path, interactions=clicks), window)


def refusal(folder: Path, *texts: str, **options: Any) -> str:
    """Give what is said of a log that breaks a rule, without the folder."""
    with pytest.raises(InputError) as error:
        matched(folder, *texts, **options)
    return str(error.value).replace(f"{folder}/", "")


def by_loops(lists: list[Any], events: list[Any], window: int) -> list[bool]:
    """Walk over interactions and, for each, over all lists that show its item to its user."""
    shown: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, (user, _, items) in enumerate(lists):
        for item in items:
            shown[user, item].append(number)
    accepted = [False] * len(lists)
    for user, time, item in events:
        near = [n for n in shown[user, item] if lists[n][1] <= time <= lists[n][1] + window]
        for number in near:
            accepted[number] = True
    return accepted


@pytest.mark.parametrize(("window", "origin"), [(0, 0), (1, 0), (7, -20), (7, 2**40), (100, 0)])
def test_accepted_lists_are_those_of_the_definition(
    tmp_path: Path, window: int, origin: int
) -> None:
    """Few users, items and times, so that much coincides."""
    rng = np.random.default_rng(window)
    lists = [
        (str(rng.integers(5)), int(rng.integers(40)) + origin, rng.permutation(list("abcdef"))[:3])
        for _ in range(80)
    ]
    events = [
        (str(rng.integers(6)), int(rng.integers(60)) + origin, str(rng.choice(list("abcdefg"))))
        for _ in range(60)
    ]
    columns = dict(zip(("user", "time", "items"), map(list, zip(*lists, strict=True)), strict=True))
    shown = write_parquet(
        tmp_path / "lists.parquet", columns | {"rec_id": [*map(str, range(80))], "arm": ["A"] * 80}
    )
    done = dict(zip(("user", "time", "item"), map(list, zip(*events, strict=True)), strict=True))
    clicks = write_parquet(tmp_path / "clicks.parquet", done | {"type": ["view"] * 60})
    logs = Logs(recommendations=shown, interactions=clicks, first_year=1)
    expected = by_loops(lists, events, window)
    assert match_lists(logs, window).lists.accepted.tolist() == expected


def test_a_log_is_read_from_one_row_an_item_or_a_list(tmp_path: Path) -> None:
    header, first, second, third = LISTS.splitlines()
    shuffled = "\n".join([header, second, third, first])
    for log in (
        matched(tmp_path),
        matched(tmp_path, shuffled),
        match_parquet(tmp_path, HALF_A_SECOND),
        match_parquet(tmp_path, HALF_A_SECOND, user=pa.array(["ann", "bob"]).dictionary_encode()),
    ):
        assert log.arms == ("A", "B")
        columns = log.lists[["user", "arm", "time", "accepted"]].to_numpy().tolist()
        assert columns == [[0, 0, 1000, True], [1, 1, 2000, False]]


def test_a_folder_of_partitions_is_one_table(tmp_path: Path) -> None:
    """The second day has other columns, and another kind of whole numbers."""
    for number, day in enumerate(("2026-01-05", "2026-01-06")):
        (tmp_path / f"lists/day={day}").mkdir(parents=True)
        rows = {name: values[number : number + 1] for name, values in ONE_ROW_A_LIST.items()}
        if number:
            rows |= {"time": pa.array(rows["time"], pa.int32()), "page": ["home"]}
        write_parquet(tmp_path / f"lists/day={day}/part-0.parquet", rows)
    clicks = write_csv(tmp_path, clicks=CLICKS)["clicks"]
    logs = Logs(recommendations=tmp_path / "lists", interactions=clicks)
    log = match_lists(logs, HALF_A_SECOND).lists
    assert (log.time.tolist(), log.accepted.tolist()) == ([1000, 2000], [True, False])
    bad = tmp_path / "lists/day=2026-01-06/part-0.parquet"
    write_parquet(
        bad, {name: values[1:] for name, values in (ONE_ROW_A_LIST | {"user": ["", ""]}).items()}
    )
    with pytest.raises(InputError, match=r"day=2026-01-06/part-0\.parquet, row 1, column 'user'"):
        match_lists(logs, HALF_A_SECOND)


@pytest.mark.parametrize(
    "time",
    ["1970-01-01T00:00:02.0005Z", "1970-01-01 01:00:02+01:00", "1970-01-01T00:00:02.000999999Z"],
)
def test_timestamps_have_a_zone(tmp_path: Path, time: str) -> None:
    clicks = f"time,user,item,type\n{time},bob,x,view\n"
    assert matched(tmp_path, LISTS, clicks, window=0).lists.accepted.tolist() == [0, 1]


BROKEN_LISTS = {
    "position left out": (
        LISTS.replace("A,2,y", "A,3,y"),
        "row 2, column 'position': the positions of a list must be 1, 2, 3 and so on, each once, "
        "but list 'r1' has 3 where 2 should be.",
    ),
    "position twice": (LISTS.replace("A,2,y", "A,1,y"), "row 2, column 'position': the positions"),
    "no position": (LISTS.replace("B,1,x", "B,1.5,x"), "row 3, column 'position': the positions"),
    "item twice": (
        LISTS.replace("2,y", "2,x"),
        "row 2, column 'item': a list must not repeat an item, but has 'x' twice.",
    ),
    "two users": (
        LISTS.replace("ann,A,2", "bob,A,2"),
        "row 2, column 'rec_id': a list has one user, arm, time, but list 'r1' has others in row 1",
    ),
    "no user": (LISTS.replace("bob", ""), "row 3, column 'user': an id must not be empty."),
    "no time": (LISTS.replace("2000", ""), "row 3, column 'time': a time must be given."),
    "no lists": (LISTS.splitlines()[0] + "\n", "there are no recommendations in the file."),
    "no items": ("rec_id,time,user,arm\nr1,1,u,A\n", "recommendations need a column 'items' with"),
}


@pytest.mark.parametrize(("text", "message"), BROKEN_LISTS.values(), ids=BROKEN_LISTS.keys())
def test_broken_lists_are_refused(tmp_path: Path, text: str, message: str) -> None:
    assert re.match(f"lists.csv[,:] {re.escape(message)}", refusal(tmp_path, text))


BROKEN_COLUMNS: dict[str, tuple[dict[str, Any], str]] = {
    "empty list": ({"items": [["x", "y"], []]}, "row 2, column 'items': a list must hold an item"),
    "item twice": (
        {"items": [["x", "y", "y"], ["y"]]},
        "row 1, column 'items': a list must not repeat an item, but has 'y' twice.",
    ),
    "empty item": ({"items": [["x", "y"], [""]]}, "row 2, column 'items': an id must not be empty"),
    "no lists": ({"items": ["x", "y"]}, "row 1, column 'items': a list must be given, found text"),
    "times in float": ({"time": [0.5, 1.5]}, "row 1, column 'time': a time must be whole milli"),
    "local times": (
        {"time": pa.array([0, 1], pa.timestamp("ms"))},
        "the column has timestamps without one.",
    ),
}


@pytest.mark.parametrize(("changed", "message"), BROKEN_COLUMNS.values(), ids=BROKEN_COLUMNS.keys())
def test_broken_columns_of_lists_are_refused(
    tmp_path: Path, changed: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        match_parquet(tmp_path, HALF_A_SECOND, **changed)


def test_an_arm_outside_the_experiment_is_refused(tmp_path: Path) -> None:
    found = refusal(tmp_path, arms=["A", "C"])
    assert found == "lists.csv, row 3, column 'arm': the arms are A, C, got 'B'."


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    found = refusal(tmp_path, LISTS, CLICKS.replace("type", "typ"))
    assert found.endswith("no column 'type' among time, user, item, typ. Did you mean 'typ'?")


@pytest.mark.usefixtures("times_as_they_are")
def test_times_in_seconds_are_refused_unless_their_year_is_given(tmp_path: Path) -> None:
    assert "row 1, column 'time': a time must be of the year 2000" in refusal(tmp_path)
    assert matched(tmp_path, first_year=1970).lists.accepted.tolist() == [True, False]


def test_types_may_have_other_names_or_be_left_out(tmp_path: Path) -> None:
    log = matched(tmp_path, types={"purchase": "order", "view": ""})
    assert log.facts["events"] == 1
    assert log.set_aside["interactions of a type without a name do not count"] == 1


@pytest.mark.parametrize(("before", "after"), [("r1", "r9"), ("r1", "r2"), ("ann,y", "ann,z")])
def test_clicks_without_their_list_are_set_aside(tmp_path: Path, before: str, after: str) -> None:
    assert matched(tmp_path, LISTS, NAMING, window=None).lists.accepted.tolist() == [True, False]
    log = matched(tmp_path, LISTS, NAMING.replace(before, after), window=None)
    assert log.set_aside["clicks do not fit their list and do not count"] == 1
    assert not log.lists.accepted.any()


def test_clicks_may_be_marked_in_the_lists(tmp_path: Path) -> None:
    assert match_parquet(tmp_path, None).lists.accepted.tolist() == [True, False]
    header, *rows = LISTS.splitlines()
    marked = "\n".join([f"{header},clicked", f"{rows[0]},0", f"{rows[1]},0", f"{rows[2]},true"])
    assert matched(tmp_path, marked, window=None).lists.accepted.tolist() == [False, True]
    assert "(--explicit) must name their list" in refusal(tmp_path, window=None)


def test_a_duplicate_list_is_left_out_and_counted(tmp_path: Path) -> None:
    again = {name: [*values, values[0]] for name, values in ONE_ROW_A_LIST.items()}
    again["clicked"] = [[False, False], [False], [True, True]]
    path = write_parquet(tmp_path / "lists.parquet", again)
    clicks = write_csv(tmp_path, clicks=CLICKS)["clicks"]
    log = match_lists(Logs(recommendations=path, interactions=clicks), None)
    assert log.lists.accepted.tolist() == [False, False]
    assert log.set_aside["lists with a duplicate id do not count"] == 1


def test_facts_say_how_the_tables_fit(tmp_path: Path) -> None:
    log = matched(tmp_path, LISTS, CLICKS + "1500,ann,y,view\n")
    facts = {"lists": 2, "users": 2, "events": 3, "first_time": 1000, "last_time": 2000}
    assert log.facts == facts | {"known_users": 1.0}


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("1500", "2001", ", row 1, column 'valid_from': version 'v2' begins before another"),
        (
            "0,1500",
            "1500,1500",
            ", row 2, column 'valid_to': version 'v1' must end after it begins",
        ),
        ("B,", "C,", ", row 3, column 'arm': the arms are A, B, got 'C'."),
        ("model_version", "v", ": there is no column 'model_version' among arm, v, "),
    ],
)
def test_versions_that_overlap_or_have_no_arm_are_refused(
    tmp_path: Path, before: str, after: str, message: str
) -> None:
    found = refusal(tmp_path, models=MODELS.replace(before, after))
    assert found.startswith(f"models.csv{message}")


# Numbers that are stated by hand


def logs_of(folder: Path, lists: str = LISTS, *, models: str | None = None) -> Logs:
    tables = {} if models is None else {"models": models}
    paths = write_csv(folder, lists=lists, clicks=CLICKS, **tables)
    return Logs(
        recommendations=paths["lists"], interactions=paths["clicks"], models=paths.get("models")
    )


def test_without_a_table_of_models_each_arm_is_live_from_the_first_list_on(tmp_path: Path) -> None:
    header, *rows = LISTS.splitlines()
    names, first, starts = model_starts(logs_of(tmp_path, "\n".join([header, *rows[::-1]])))
    assert (names, first) == (("A", "B"), 1000)
    assert starts == {("A", 0): 1000, ("B", 0): 1000}


def test_versions_are_periods_of_their_arm_by_their_start(tmp_path: Path) -> None:
    names, first, starts = model_starts(logs_of(tmp_path, models=MODELS))
    assert (names, first) == (("A", "B"), 1000)
    assert starts == {("A", 0): 0, ("A", 1): 2000, ("B", 0): 0}


@pytest.mark.slow
def test_versions_of_a_matched_log_are_in_the_order_of_arm_and_time(tmp_path: Path) -> None:
    """Versions may begin where the one before ends."""
    models = matched(tmp_path, models=MODELS.replace("2000,3000", "1500,3000")).models
    assert models is not None
    columns = ["arm", "version", "valid_from", "valid_to", "period"]
    assert models[columns].to_numpy().tolist() == [
        [0, "v1", 0, 1500, 0], [0, "v2", 1500, 3000, 1], [1, "v1", 0, 3000, 0]
    ]  # fmt: skip
    assert models.index.tolist() == [0, 1, 2]
    assert {*models.columns} == {*columns}
    assert matched(tmp_path).models is None


def test_a_log_without_lists_has_no_start(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there are no recommendations in the file"):
        model_starts(logs_of(tmp_path, LISTS.splitlines()[0] + "\n"))


@pytest.mark.slow
def test_arms_of_the_plan_are_those_of_the_log(tmp_path: Path) -> None:
    """An arm without a list is there, too."""
    log = matched(tmp_path, arms=["C", "A", "B"])
    assert log.arms == ("A", "B", "C")
    assert log.lists["arm"].tolist() == [0, 1]


@pytest.mark.slow
def test_versions_that_lists_name_are_numbered_and_others_are_minus_1(tmp_path: Path) -> None:
    named = match_parquet(tmp_path, None, model_version=["v2", "v1"])
    assert named.versions == ("v1", "v2")
    assert named.lists["version"].tolist() == [1, 0]
    without = match_parquet(tmp_path, None)
    assert without.versions == ()
    assert without.lists["version"].tolist() == [-1, -1]


def test_a_click_in_a_row_of_a_list_is_one_of_the_list(tmp_path: Path) -> None:
    """Clicks that the interactions name and those that are marked count both."""
    header, *rows = LISTS.splitlines()
    marked = "\n".join([f"{header},clicked", f"{rows[0]},0", f"{rows[1]},0", f"{rows[2]},1"])
    log = matched(tmp_path, marked, NAMING, window=None)
    assert log.lists.accepted.tolist() == [True, True]


@pytest.mark.slow
def test_known_users_are_a_share_of_those_who_were_shown_lists(tmp_path: Path) -> None:
    log = matched(tmp_path, LISTS, "time,user,item,type\n1500,ann,y,view\n1500,eve,y,view\n")
    assert log.facts["known_users"] == 0.5
    assert log.set_aside == {
        "lists with a duplicate id do not count": 0,
        "interactions of a type without a name do not count": 0,
    }


@pytest.mark.slow
def test_a_click_must_be_true_or_false(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a click must be true or false, got"):
        match_parquet(tmp_path, None, clicked=["yes", "maybe"])
    header, *rows = LISTS.splitlines()
    bad = "\n".join([f"{header},clicked", f"{rows[0]},0", f"{rows[1]},2x", f"{rows[2]},1"])
    assert "row 2, column 'clicked': a click must be true or false, got '2x'" in refusal(
        tmp_path, bad, window=None
    )


@pytest.mark.slow
def test_items_may_be_numbers_in_lists(tmp_path: Path) -> None:
    other = match_parquet(tmp_path, None, items=[[1, 2], [3]])
    assert other.lists.accepted.tolist() == [True, False]
    with pytest.raises(InputError, match="a list must be given, found BIGINT"):
        match_parquet(tmp_path, None, items=[1, 2])


def test_a_position_without_items_is_no_list(tmp_path: Path) -> None:
    for columns in ("position", "item"):
        text = f"rec_id,time,user,arm,{columns}\nr1,1,u,A,1\n"
        assert "need a column 'items' with lists, or the columns" in refusal(tmp_path, text)


def test_a_position_must_be_a_number(tmp_path: Path) -> None:
    found = refusal(tmp_path, LISTS.replace("A,2,y", "A,last,y"))
    assert "row 2, column 'position': a position must be a number, got 'last'." in found


def test_files_of_a_log_are_those_that_are_given(tmp_path: Path) -> None:
    assert [*logs_of(tmp_path).files] == ["recommendations", "interactions"]
    assert [*logs_of(tmp_path, models=MODELS).files] == [
        *("recommendations", "interactions", "models")
    ]
    for year in (0, 10_000):
        with pytest.raises(ValueError, match="than or equal to"):
            Logs(recommendations=Path("x"), interactions=Path("y"), first_year=year)
    assert Logs(recommendations=Path("x"), interactions=Path("y"), first_year=9999).first_year
    assert Logs(recommendations=Path("x"), interactions=Path("y"), first_year=1).first_year == 1
