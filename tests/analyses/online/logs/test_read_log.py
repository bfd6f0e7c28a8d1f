import re
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyses.online.clicks.rates import click_through
from analyses.online.clicks.tallies import tally
from analyses.online.logs import read_logs
from analyses.online.logs.acceptance import implicit_clicks
from analyses.online.logs.interactions import Intake
from analyses.online.logs.slates import Slates
from runs import InputError
from tests.analyses.online.logs.writing import (
    CLICKS,
    LISTS,
    MODELS,
    read_csv,
    write_csv,
    write_parquet,
)

ONE_ROW_A_LIST: dict[str, Any] = {
    "rec_id": ["r1", "r2"],
    "time": [1000, 2000],
    "user": ["ann", "bob"],
    "arm": ["A", "B"],
    "items": [["x", "y"], ["x"]],
    "propensity": [[0.5, 0.25], [1.0]],
    "clicked": [[False, True], [False]],
}


def read_lists(folder: Path, **changed: Any) -> Any:
    """Read a Parquet file with one row a list, some columns of it changed."""
    path = write_parquet(folder / "lists.parquet", ONE_ROW_A_LIST | changed)
    return read_logs(path, write_csv(folder, clicks=CLICKS)["clicks"], intake=Intake(strict=True))


def refusal(folder: Path, *texts: str, **options: Any) -> str:
    """Read a log that breaks a rule; the message without the folder."""
    with pytest.raises(InputError) as error:
        read_csv(folder, *texts, **options)
    return str(error.value).replace(f"{folder}/", "")


def test_lists_are_read_from_one_row_an_item(tmp_path: Path) -> None:
    slates = read_csv(tmp_path).slates
    assert slates.ids.tolist() == ["r1", "r2"]
    assert slates.items.ids[slates.item].tolist() == ["x", "y", "x"]
    assert slates.lengths.tolist() == [2, 1]
    assert [slates.arms[arm] for arm in slates.arm] == ["A", "B"]


def test_rows_of_a_list_may_stand_in_any_order(tmp_path: Path) -> None:
    header, first, second, third = LISTS.splitlines()
    slates = read_csv(tmp_path, "\n".join([header, second, third, first])).slates
    assert slates.items.ids[slates.item].tolist() == ["x", "y", "x"]


def test_lists_are_read_from_one_row_a_list(tmp_path: Path) -> None:
    slates = read_lists(tmp_path).slates
    assert slates.items.ids[slates.item].tolist() == ["x", "y", "x"]
    assert slates.propensity.tolist() == [0.5, 0.25, 1.0]
    assert slates.clicked.tolist() == [False, True, False]


def test_chances_and_clicks_are_read_from_one_row_an_item(tmp_path: Path) -> None:
    header = "rec_id,time,user,arm,position,item,propensity,clicked"
    rows = "r,1,u,A,2,y,1e-3,1\nr,1,u,A,1,x,.5,false"
    slates = read_csv(tmp_path, f"{header}\n{rows}\n").slates
    assert slates.propensity is not None
    assert slates.clicked is not None
    assert slates.propensity.tolist() == [0.5, 0.001]
    assert slates.clicked.tolist() == [False, True]


def test_both_tables_share_numbers(tmp_path: Path) -> None:
    logs = read_csv(tmp_path)
    assert logs.events.items is logs.slates.items
    assert logs.events.items.ids[logs.events.item].tolist() == ["y", "z"]


def test_types_have_values(tmp_path: Path) -> None:
    assert read_csv(tmp_path).events.value.tolist() == [0.25, 1.0]


def test_any_type_is_welcome_if_types_are_not_valued(tmp_path: Path) -> None:
    text = "time,user,item,type\n1500,ann,y,click\n"
    assert read_csv(tmp_path, LISTS, text, values=None).events.value.tolist() == [1.0]


def test_a_column_of_values_goes_before(tmp_path: Path) -> None:
    text = "time,user,item,type,value\n1500,ann,y,view,3.5\n"
    assert read_csv(tmp_path, LISTS, text).events.value.tolist() == [3.5]


@pytest.mark.parametrize(
    "time",
    ["1970-01-01T00:00:02.0005Z", "1970-01-01 01:00:02+01:00", "1970-01-01T00:00:02.000999999Z"],
)
def test_timestamps_with_a_zone_are_milliseconds_of_utc(tmp_path: Path, time: str) -> None:
    logs = read_csv(tmp_path, LISTS, f"time,user,item,type\n{time},ann,y,view\n")
    assert logs.events.time.tolist() == [2000]


def test_timestamps_of_parquet_are_rounded_down(tmp_path: Path) -> None:
    times = pa.array([-1, 1999], type=pa.timestamp("us", tz="UTC"))
    assert read_lists(tmp_path, time=times).slates.time.tolist() == [-1, 1]


def test_times_with_a_zone_in_parquet_are_taken(tmp_path: Path) -> None:
    moment = datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)
    assert read_lists(tmp_path, time=[moment, moment]).slates.time.tolist() == [1000, 1000]


def test_local_times_in_text_are_refused(tmp_path: Path) -> None:
    text = CLICKS.replace("2500", "1970-01-01T00:00:02").replace("1500", "1970-01-01T00:00:02Z")
    assert refusal(tmp_path, LISTS, text) == (
        "interactions.csv, row 2, column 'time': a time must be whole milliseconds since 1970 in "
        "UTC, or a timestamp with its time zone such as 2026-01-31T20:15:00Z, got "
        "'1970-01-01T00:00:02'."
    )


@pytest.mark.parametrize(
    ("time", "finding"),
    [
        ("1970-02-31T00:00:00Z", "got '1970-02-31T00:00:00Z'."),
        ("soon", "got 'soon'."),
        ("2000.5", "got '2000.5'."),
        ("2000", "the times of a column must be of one kind, got '2000' beside others."),
    ],
)
def test_times_that_are_none_are_refused(tmp_path: Path, time: str, finding: str) -> None:
    text = CLICKS.replace("1500", "1970-01-01T00:00:02Z").replace("2500", time)
    message = refusal(tmp_path, LISTS, text)
    assert message.startswith("interactions.csv, row 2, column 'time': ")
    assert message.endswith(finding)


def test_local_times_in_parquet_are_refused(tmp_path: Path) -> None:
    times = pa.array([0, 1], type=pa.timestamp("ms"))
    with pytest.raises(InputError, match=r"row 1, column 'time': .* has timestamps without one"):
        read_lists(tmp_path, time=times)


@pytest.mark.parametrize("texts", [["bob", "cid", "ann"], ["ann", "bob", "ann"]])
def test_ids_may_be_kept_in_a_dictionary_in_any_order(tmp_path: Path, texts: list[str]) -> None:
    """An unused id is not one of the log, and the same id may stand there twice."""
    user = pa.DictionaryArray.from_arrays(pa.array([2, texts.index("bob")]), pa.array(texts))
    slates = read_lists(tmp_path, user=user).slates
    assert slates.users.ids[slates.user].tolist() == ["ann", "bob"]
    assert slates.users.ids.tolist() == ["ann", "bob"]


def test_ids_that_are_numbers_are_text_inside(tmp_path: Path) -> None:
    slates = read_lists(tmp_path, user=[10, 9]).slates
    assert slates.users.ids[slates.user].tolist() == ["10", "9"]


BROKEN_LISTS = {
    "unknown position": (
        LISTS.replace("A,2,y", "A,3,y"),
        "row 2, column 'position': the positions of a list must be 1, 2, 3 and so on, each once, "
        "but list 'r1' has 3 where 2 should be.",
    ),
    "position twice": (
        LISTS.replace("A,2,y", "A,1,y"),
        "row 2, column 'position': the positions of a list must be 1, 2, 3 and so on, each once, "
        "but list 'r1' has 1 where 2 should be.",
    ),
    "position from 0": (
        LISTS.replace("B,1,x", "B,0,x"),
        "row 3, column 'position': the positions of a list must be 1, 2, 3 and so on, each once, "
        "but list 'r2' has 0 where 1 should be.",
    ),
    "no position": (
        LISTS.replace("B,1,x", "B,one,x"),
        "row 3, column 'position': a position must be a whole number, got 'one'.",
    ),
    "item twice": (
        LISTS.replace("2,y", "2,x"),
        "row 2, column 'item': a list must not repeat an item, but has 'x' twice.",
    ),
    "two users": (
        LISTS.replace("ann,A,2", "bob,A,2"),
        "row 2, column 'user': list 'r1' has another user here than in row 1.",
    ),
    "two times": (
        LISTS.replace("1000,ann,A,2", "1001,ann,A,2"),
        "row 2, column 'time': list 'r1' has another time here than in row 1.",
    ),
    "no user": (LISTS.replace("bob", ""), "row 3, column 'user': an id must not be empty."),
    "no time": (LISTS.replace("2000", ""), "row 3, column 'time': a time must be given."),
}


@pytest.mark.parametrize(("text", "message"), BROKEN_LISTS.values(), ids=BROKEN_LISTS.keys())
def test_broken_lists_are_refused(tmp_path: Path, text: str, message: str) -> None:
    assert refusal(tmp_path, text) == f"recommendations.csv, {message}"


def test_an_unknown_arm_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path, arms=["A", "C"]) == (
        "recommendations.csv, row 3, column 'arm': the arms are A, C, got 'B'."
    )


BROKEN_COLUMNS: dict[str, tuple[dict[str, Any], str]] = {
    "list twice": (
        {"rec_id": ["r1", "r1"]},
        "row 2, column 'rec_id': 'r1' stands again, after row 1",
    ),
    "empty list": ({"items": [["x", "y"], []]}, "row 2, column 'items': a list must hold an item"),
    "no list": ({"items": [["x", "y"], None]}, "row 2, column 'items': a list must be given"),
    "item twice": ({"items": [["x", "x"], ["y"]]}, "row 1, column 'items': a list must not repeat"),
    "empty item": ({"items": [["x", "y"], [""]]}, "row 2, column 'items': an id must not be empty"),
    "chance of 0": (
        {"propensity": [[0.5, 0.5], [0.0]]},
        "row 2, column 'propensity': a propensity must be in (0, 1], got 0.0",
    ),
    "too few chances": (
        {"propensity": [[0.5], [0.5]]},
        "row 1, column 'propensity': 2 values expected, one an item, got 1",
    ),
    "no lists": (
        {"items": ["x", "y"]},
        "row 1, column 'items': a list must be given, found text",
    ),
    "times in float": ({"time": [0.5, 1.5]}, "row 1, column 'time': a time must be whole milli"),
}


@pytest.mark.parametrize(("changed", "message"), BROKEN_COLUMNS.values(), ids=BROKEN_COLUMNS.keys())
def test_broken_columns_of_lists_are_refused(
    tmp_path: Path, changed: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        read_lists(tmp_path, **changed)


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    text = CLICKS.replace("type", "typ")
    assert refusal(tmp_path, LISTS, text) == (
        "interactions.csv: there is no column 'type' among time, user, item, typ. "
        "Did you mean 'typ'?"
    )


def test_a_table_without_items_is_refused(tmp_path: Path) -> None:
    text = "rec_id,time,user,arm\nr1,1,u,A\n"
    assert refusal(tmp_path, text) == (
        "recommendations.csv: recommendations need a column 'items' with lists, or the columns "
        "'position' and 'item'; found rec_id, time, user, arm."
    )


def test_lists_have_versions(tmp_path: Path) -> None:
    slates = read_lists(tmp_path, model_version=["v2", "v1"]).slates
    assert [slates.versions[number] for number in slates.version] == ["v2", "v1"]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.csv: cannot be read"):
        read_logs(tmp_path / "absent.csv", tmp_path / "absent.csv")


def test_a_row_with_too_few_fields_is_named(tmp_path: Path) -> None:
    message = refusal(tmp_path, LISTS, CLICKS[:-13])
    assert message == "interactions.csv, row 2: 4 fields expected, found 2."


def test_a_late_row_with_too_few_fields_is_named(tmp_path: Path) -> None:
    # More than the block that is read for the header.
    rows = "1500,ann,y,view\n" * 200_000
    message = refusal(tmp_path, LISTS, f"time,user,item,type\n{rows}1500,ann\n")
    assert message == "interactions.csv, row 200001: 4 fields expected, found 2."


def test_a_type_without_a_value_is_set_aside_or_refused(tmp_path: Path) -> None:
    text = CLICKS.replace("purchase", "rental")
    logs = read_csv(tmp_path, LISTS, text)
    assert (len(logs.events), logs.facts.set_aside["interactions of an unknown type"]) == (1, 1)
    assert refusal(tmp_path, LISTS, text, strict=True) == (
        "interactions.csv, row 2, column 'type': unknown: 'rental'."
    )


def test_types_may_be_called_otherwise_or_left_out(tmp_path: Path) -> None:
    text = CLICKS.replace("purchase", "order") + "2600,bob,x,impression\n"
    logs = read_csv(tmp_path, LISTS, text, types={"order": "purchase", "impression": ""})
    assert logs.events.types == ("purchase", "view")
    assert logs.events.value.tolist() == [0.25, 1.0]


NAMING = "time,user,item,type,rec_id\n1500,ann,y,view,r1\n1600,ann,z,view,\n"


def test_clicks_name_lists(tmp_path: Path) -> None:
    named = read_csv(tmp_path, LISTS, NAMING).events.slate
    assert named is not None
    assert named.tolist() == [0, -1]


def test_clicks_name_lists_in_any_order(tmp_path: Path) -> None:
    named = read_csv(tmp_path, LISTS.replace("r1", "r3"), NAMING.replace("r1", "r3")).events.slate
    assert named is not None
    assert named.tolist() == [0, -1]


@pytest.mark.parametrize(
    ("before", "after", "what", "message"),
    [
        (
            "r1",
            "r9",
            "clicks that name a list outside the file",
            "a click must name a list that was shown to its user; 'r9' never was.",
        ),
        ("r1", "r2", "clicks on a list of another user", "list 'r2' was shown to another user."),
        (
            "ann,y",
            "ann,z",
            "clicks on an item that their list lacks",
            "list 'r1' does not hold the item of this row.",
        ),
    ],
)
def test_clicks_without_their_list_are_set_aside_or_refused(
    tmp_path: Path, before: str, after: str, what: str, message: str
) -> None:
    text = NAMING.replace(before, after)
    logs = read_csv(tmp_path, LISTS, text)
    assert logs.facts.set_aside[what] == 1
    assert logs.events.slate is not None
    assert logs.events.slate.tolist() == [-1, -1]
    found = refusal(tmp_path, LISTS, text, strict=True)
    assert found == f"interactions.csv, row 1, column 'rec_id': {message}"


@pytest.mark.usefixtures("times_as_they_are")
def test_times_before_2000_are_taken_for_seconds(tmp_path: Path) -> None:
    lists, clicks = (
        re.sub(r"\b([12])([05])00\b", r"1767571\g<1>\g<2>0", text) for text in (LISTS, CLICKS)
    )
    assert refusal(tmp_path, lists, clicks) == (
        "recommendations.csv, row 1, column 'time': a time must be of the year 2000 or later, got "
        "1767571100 ms, 1970-01-21: seconds?"
    )


def test_times_far_from_all_lists_are_refused(tmp_path: Path) -> None:
    lists = LISTS.replace("1000", "1760000001000").replace("2000", "1760000002000")
    message = refusal(tmp_path, lists, CLICKS.replace("1500", "1760000001"))
    assert "row 1, column 'time': an interaction must be within 3,660 days" in message


def test_a_list_that_stands_again_is_left_out_and_counted(tmp_path: Path) -> None:
    again = {name: [*values, values[0]] for name, values in ONE_ROW_A_LIST.items()}
    again["items"][2] = ["x"]
    again["propensity"][2], again["clicked"][2] = [0.5], [True]
    path = write_parquet(tmp_path / "lists.parquet", again)
    logs = read_logs(path, write_csv(tmp_path, clicks=CLICKS)["clicks"])
    assert logs.slates.item.tolist() == [0, 1, 0]
    assert logs.slates.clicked is not None
    assert logs.slates.clicked.tolist() == [False, True, False]
    assert logs.facts.set_aside["lists whose id stands before"] == 1


def test_ids_of_one_person_are_one_user(tmp_path: Path) -> None:
    merged = write_csv(tmp_path, merged="user,person\nbob,ann\n")["merged"]
    logs = read_csv(tmp_path, merged=merged)
    assert logs.slates.users.ids.tolist() == ["ann"]
    assert logs.facts.users == 1


def in_parts(folder: Path) -> Path:
    """Two days of lists, each in a folder of its own; the second does not know clicks yet."""
    for number, day in enumerate(("2026-01-05", "2026-01-06")):
        part = folder / "lists" / f"day={day}"
        part.mkdir(parents=True)
        rows = {name: values[number : number + 1] for name, values in ONE_ROW_A_LIST.items()}
        write_parquet(part / "part-0.parquet", rows | {"time": pa.array(rows["time"], pa.int32())})
    return folder / "lists"


def test_a_folder_of_partitions_is_one_table(tmp_path: Path) -> None:
    clicks = write_csv(tmp_path, clicks=CLICKS)["clicks"]
    whole = write_parquet(tmp_path / "lists.parquet", ONE_ROW_A_LIST)
    one, other = (read_logs(path, clicks).slates for path in (whole, in_parts(tmp_path)))
    for name in ("ids", "user", "arm", "time", "first", "item", "clicked", "propensity"):
        assert getattr(one, name).tolist() == getattr(other, name).tolist()


def test_a_bad_row_of_a_folder_is_named_in_its_file(tmp_path: Path) -> None:
    folder = in_parts(tmp_path)
    rows = {name: values[:1] for name, values in ONE_ROW_A_LIST.items()}
    write_parquet(folder / "day=2026-01-06/part-0.parquet", rows | {"rec_id": ["r3"], "user": [""]})
    with pytest.raises(InputError, match=r"day=2026-01-06/part-0\.parquet, row 1, column 'user'"):
        read_logs(folder, write_csv(tmp_path, clicks=CLICKS)["clicks"])


def test_a_folder_without_parquet_is_refused(tmp_path: Path) -> None:
    clicks = write_csv(tmp_path, clicks=CLICKS)["clicks"]
    with pytest.raises(InputError, match=r"the folder has no file \*\.parquet"):
        read_logs(tmp_path, clicks)


def test_facts_say_how_the_tables_fit(tmp_path: Path) -> None:
    facts = read_csv(tmp_path, LISTS, CLICKS + "1500,ann,y,view\n").facts
    assert (facts.slates, facts.places, facts.users, facts.events) == (2, 3, 2, 3)
    assert (facts.first_time, facts.last_time) == (1000, 2000)
    assert (facts.known_users, facts.known_items) == (1.0, 0.5)
    assert facts.events_in_span == 2 / 3
    assert facts.repeated_events == 1
    assert facts.to_frame().set_index("fact").loc["known_items", "value"] == 0.5


def test_facts_say_how_lists_fit_versions_and_assignment(tmp_path: Path) -> None:
    models = MODELS.replace("A,v1,0,1500", "A,v1,0,900")
    clicks = CLICKS + "1500,eve,y,view\n"
    facts = read_csv(tmp_path, LISTS, clicks, models=models, assignment="user,arm\nbob,A\n").facts
    assert facts.gaps == 1
    assert facts.without_version == 0.5
    assert facts.without_arm == 0.5
    assert facts.against_assignment == 0.5


def test_unknown_columns_are_named(tmp_path: Path) -> None:
    text = CLICKS.replace("type", "type,device").replace("view", "view,phone")
    logs = read_csv(tmp_path, LISTS, text.replace("purchase", "purchase,desk"))
    assert logs.facts.further["interactions"] == ("device",)


def test_versions_are_live_between_their_times(tmp_path: Path) -> None:
    models = read_csv(tmp_path, models=MODELS).models
    assert models is not None
    live = models.at(np.array([0, 0, 0, 1]), np.array([0, 1500, 2000, 2999]))
    assert [models.names[number] if number >= 0 else None for number in live] == [
        *("v1", None, "v2", "v1")
    ]


def test_gaps_between_versions_are_reported(tmp_path: Path) -> None:
    models = read_csv(tmp_path, models=MODELS).models
    assert models is not None
    assert models.n_gaps == 1


def test_versions_of_an_arm_may_not_overlap(tmp_path: Path) -> None:
    assert refusal(tmp_path, models=MODELS.replace("1500", "2001")) == (
        "models.csv, row 1, column 'valid_from': version 'v2' begins before version 'v1' of the "
        "same arm ends, in row 2."
    )


def test_a_version_must_end_after_it_begins(tmp_path: Path) -> None:
    assert refusal(tmp_path, models=MODELS.replace("0,1500", "1500,1500")) == (
        "models.csv, row 2, column 'valid_to': version 'v1' must end after it begins."
    )


def test_a_version_may_begin_when_another_ends(tmp_path: Path) -> None:
    models = read_csv(tmp_path, models=MODELS.replace("A,v2,2000", "A,v2,1500")).models
    assert models is not None
    assert models.n_gaps == 0


def test_versions_of_an_unknown_arm_are_refused(tmp_path: Path) -> None:
    message = refusal(tmp_path, models=MODELS.replace("B,", "C,"))
    assert message == "models.csv, row 3, column 'arm': the arms are A, B, got 'C'."


def test_users_are_assigned_to_arms(tmp_path: Path) -> None:
    logs = read_csv(tmp_path, assignment="user,arm\nbob,B\neve,A\n")
    assert logs.assigned is not None
    assert dict(zip(logs.slates.users.ids, logs.assigned, strict=True)) == {"ann": -1, "bob": 1}


def test_a_user_is_assigned_once(tmp_path: Path) -> None:
    assert refusal(tmp_path, assignment="user,arm\nbob,B\nann,A\nbob,B\n") == (
        "assignment.csv, row 3, column 'user': 'bob' stands again, after row 1."
    )


@given(
    st.lists(st.lists(st.sampled_from("abcd"), min_size=1, unique=True), min_size=1, max_size=5),
    st.randoms(use_true_random=False),
)
def test_both_layouts_say_the_same(lists: list[list[str]], random: Random) -> None:
    of_list = [(f"r{n}", 1000 * n, f"u{n % 2}", "AB"[n % 2]) for n in range(len(lists))]
    rows = [
        (*of_list[n], position, item)
        for n, items in enumerate(lists)
        for position, item in enumerate(items, start=1)
    ]
    random.shuffle(rows)
    with TemporaryDirectory() as name:
        folder = Path(name)
        columns = dict(
            zip(("rec_id", "time", "user", "arm"), zip(*of_list, strict=True), strict=True)
        )
        one_row_a_list = write_parquet(folder / "lists.parquet", columns | {"items": lists})
        text = "\n".join(",".join(map(str, row)) for row in rows)
        paths = write_csv(folder, places=f"{LISTS.splitlines()[0]}\n{text}\n", clicks=CLICKS)
        first, second = (
            read_logs(path, paths["clicks"]).slates for path in (one_row_a_list, paths["places"])
        )
    assert as_lists(first) == as_lists(second)


def as_lists(slates: Slates) -> dict[str, tuple[int, str, str, list[str]]]:
    """What each list says, by its id."""
    return {
        str(id): (
            int(slates.time[n]),
            str(slates.users.ids[slates.user[n]]),
            slates.arms[slates.arm[n]],
            slates.items.ids[slates.item[slates.slate == n]].tolist(),
        )
        for n, id in enumerate(slates.ids)
    }


def test_ids_may_be_numbers_or_categories(tmp_path: Path) -> None:
    users = pa.array(["eve", "bob", "ann"]).dictionary_encode().take(pa.array([2, 1]))
    slates = read_lists(tmp_path, rec_id=[7, 8], user=users).slates
    assert slates.ids.tolist() == ["7", "8"]
    assert slates.users.ids[slates.user].tolist() == ["ann", "bob"]
    assert "eve" not in slates.users.ids


def test_nobody_may_have_done_anything(tmp_path: Path) -> None:
    logs = read_csv(tmp_path, LISTS, CLICKS.splitlines()[0] + "\n")
    assert len(logs.events) == 0
    assert logs.facts.known_users == 0.0


def test_a_log_without_lists_is_refused(tmp_path: Path) -> None:
    message = refusal(tmp_path, LISTS.splitlines()[0] + "\n")
    assert message == "recommendations.csv: there are no recommendations in the file."


def test_a_log_is_all_that_a_click_through_rate_needs(tmp_path: Path) -> None:
    slates, events = (logs := read_csv(tmp_path)).slates, logs.events
    clicked = implicit_clicks(
        slates, user=events.user, item=events.item, time=events.time, window=500
    )
    accepted = slates.any_place(clicked)
    counts = tally(accepted, user=slates.user, arm=slates.arm, arms=slates.arms)
    assert click_through(counts).rates.tolist() == [1.0, 0.0]
