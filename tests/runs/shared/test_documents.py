"""JSON that others have written is read through a model, or refused in a sentence."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ConfigDict

from runs import InputError
from runs.shared import documents
from runs.shared.documents import (
    Count,
    Document,
    Duration,
    Fact,
    FileName,
    StudyName,
    Text,
    checked_document,
    read_document,
)


class Card(Document):
    """One value of each kind."""

    text: Text = ""
    name: StudyName = "a"
    file: FileName = "a"
    count: Count = 0
    seconds: Duration = 0.0
    fact: Fact = None


def read(folder: Path, content: str | bytes) -> Card:
    path = folder / "card.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_document(path, Card, description="a card")


def test_values_that_fit_are_read(tmp_path: Path) -> None:
    content = '{"text": "a\\tb", "name": "x-1.2_y", "count": 3, "seconds": 1, "other": [1]}'
    card = read(tmp_path, content)
    assert (card.text, card.name, card.count, card.seconds) == ("a\tb", "x-1.2_y", 3, 1.0)


def test_control_characters_and_marks_of_direction_become_escapes(tmp_path: Path) -> None:
    card = read(tmp_path, r'{"text": "a\u001b[2J\u202eb\ud800\n", "fact": {"k\u0007": "\u009b"}}')
    assert card.text == "a\\x1b[2J\\u202eb\\ud800\n"
    assert card.fact == {"k\\x07": "\\x9b"}


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        ('{"text": 1}', "`text` must be a text, got 1"),
        ('{"text": null}', "`text` must be a text"),
        ('{"text": "%s"}' % ("x" * 100_001), "`text` must have at most 100,000 characters"),
        ('{"name": "../x"}', "`name` must begin with a letter or digit"),
        ('{"name": "x\\n"}', "`name` must begin with a letter or digit"),
        ('{"name": "\\ud800"}', "`name` must be a valid string"),
        ('{"name": "%s"}' % ("x" * 201), "`name` must have at most 200 characters"),
        ('{"file": "a/b"}', "`file` must be the name of a file"),
        ('{"file": ".."}', "`file` must be the name of a file"),
        ('{"file": "%s"}' % ("é" * 101), "`file` must have at most 200 bytes"),
        ('{"file": "a\\n"}', "`file` must be the name of a file"),
        ('{"count": -1}', "`count` must be at least 0"),
        ('{"count": true}', "`count` must be a valid integer"),
        ('{"count": 1.5}', "`count` must be a valid integer"),
        ('{"count": 1%s}' % ("0" * 4000), "`count` must be less than"),
        ('{"seconds": NaN}', "`seconds` must be a finite number"),
        ('{"seconds": "1"}', "`seconds` must be a valid number"),
        ('{"fact": 1%s}' % ("0" * 30), "`fact` must be a number below 2 to the power of 63"),
        ('{"fact": 9223372036854775808}', "`fact` must be a number below 2 to the power of 63"),
        ('{"fact": -9223372036854775808}', "`fact` must be a number below 2 to the power of 63"),
        ('{"count": 9223372036854775808}', "`count` must be less than 9223372036854775808"),
        ('{"seconds": -0.5}', "`seconds` must be at least 0"),
        ('{"fact": [[[[]]]]}', "`fact` must be a text or a number, got \\[\\]"),
        ('{"file": ""}', "`file` must be the name of a file"),
        ('{"file": "a\\\\b"}', "`file` must be the name of a file"),
        ('{"fact": ' + "[" * 500 + "]" * 500 + "}", "`fact` must be a text or a number"),
        ('{"text": "a", "text": "b"}', "the key 'text' is duplicated"),
        ('{"x": 1, "name": "a", "y": 2, "name": "b"}', "the key 'name' is duplicated"),
        ("[" * 100_000, "nested too deeply"),
        ("1" * 5000, "Exceeds the limit"),
        ("[]", "it must be an object"),
        ("", "Expecting value"),
        (b"\xff", "can't decode"),
    ],
)
def test_what_does_not_fit_is_refused_with_file_key_and_rule(
    tmp_path: Path, content: str | bytes, rule: str
) -> None:
    with pytest.raises(InputError, match=rf"card\.json is not a card: .*({rule})") as refused:
        read(tmp_path, content)
    assert len(str(refused.value)) < 500


def test_values_may_reach_their_bounds(tmp_path: Path) -> None:
    text, name, largest = "x" * 100_000, "n" * 200, 2**63 - 1
    file = "é" * 100
    values = {"text": text, "name": name, "file": file, "count": largest, "seconds": 0.0}
    card = read(tmp_path, json.dumps(values))
    assert card.model_dump(exclude={"fact"}) == values


@pytest.mark.parametrize(
    "fact",
    [None, True, 1.5, 2**63 - 1, 1 - 2**63, "a", [[[1, "a"]]], {"a": {"b": {"c": 1}}}, [[[]]]],
)
def test_a_fact_is_a_number_or_a_text_or_holds_such_three_levels_deep(
    tmp_path: Path, fact: Any
) -> None:
    assert read(tmp_path, json.dumps({"fact": fact})).fact == fact


class Strict(Document):
    """A document whose key is required, and that has no other."""

    model_config = ConfigDict(extra="forbid")

    key: int


@pytest.mark.parametrize(
    ("value", "rule"),
    [({}, "`key` is missing"), ({"key": 1, "b": 2}, "there is no `b`"), ([1], "it must be an obj")],
)
def test_a_key_that_is_missing_or_unknown_is_named(value: Any, rule: str) -> None:
    with pytest.raises(InputError, match=rf"^a\.json is not a card: {rule}"):
        checked_document(Path("a.json"), value, Strict, description="a card")


def test_a_file_may_have_64_mebibytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert documents.LARGEST_FILE == 67_108_864
    content = '{"count": 3}'
    monkeypatch.setattr(documents, "LARGEST_FILE", len(content))
    assert read(tmp_path, content).count == 3
    with pytest.raises(InputError, match="it may have at most"):
        read(tmp_path, f"{content} ")


def test_a_file_of_many_megabytes_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "card.json"
    with path.open("wb") as stream:
        stream.truncate(1 << 40)
    with pytest.raises(InputError, match="it may have at most 67 MB, got 1,099,512"):
        read_document(path, Card, description="a card")


def test_a_folder_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "card.json").mkdir()
    with pytest.raises(InputError, match="cannot be read"):
        read_document(tmp_path / "card.json", Card, description="a card")
