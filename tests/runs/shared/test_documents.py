"""JSON that others have written is read through a model, or refused in a sentence."""

from pathlib import Path

import pytest

from runs import InputError
from runs.shared.documents import (
    Count,
    Document,
    Duration,
    Fact,
    FileName,
    StudyName,
    Text,
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
    return read_document(path, Card, what="a card")


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
        ('{"fact": ' + "[" * 500 + "]" * 500 + "}", "`fact` must be a text or a number"),
        ('{"text": "a", "text": "b"}', "the key 'text' is duplicated"),
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


def test_a_file_of_many_megabytes_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "card.json"
    with path.open("wb") as stream:
        stream.truncate(1 << 40)
    with pytest.raises(InputError, match="it may have at most 67 MB"):
        read_document(path, Card, what="a card")


def test_a_folder_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "card.json").mkdir()
    with pytest.raises(InputError, match="cannot be read"):
        read_document(tmp_path / "card.json", Card, what="a card")
