"""Qrels of subtopics, as the diversity tracks have them."""

from pathlib import Path

import pytest

from qrels.trec import parse_qrels
from runs import InputError, InputWarning


def test_an_item_has_its_highest_grade_over_the_subtopics() -> None:
    content = b"t1 1 a 1\nt1 2 a 2\nt1 1 b 0\nt2 1 a 0\n"
    with pytest.warns(InputWarning, match="the second field holds 2 subtopics, such as '1'"):
        file = parse_qrels(Path("q"), content)
    pairs = zip(file.users.ids[file.user], file.items.ids[file.item], file.grade, strict=True)
    assert [(str(u), str(i), int(g)) for u, i, g in pairs] == [
        ("t1", "a", 2),
        ("t1", "b", 0),
        ("t2", "a", 0),
    ]


def test_an_item_that_is_judged_twice_for_a_subtopic_is_refused() -> None:
    with pytest.raises(InputError, match="line 2: item a is duplicated for user t1"):
        parse_qrels(Path("q"), b"t1 0 a 1\nt1 0 a 2\n")
