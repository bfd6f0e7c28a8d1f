import math
import re

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from analyses.shared.table import Table, latex


def small(rows: list[list[str | float]]) -> Table:
    return Table("t", "Title", "Note.", ["system", "P"], rows, {1: max})


def test_what_is_equal_when_rounded_is_equally_bold() -> None:
    made = small([["a", 0.30001], ["b", 0.30002], ["c", 0.1]])
    assert made.to_markdown().count("**0.3000**") == 2


@pytest.mark.parametrize("scores", [[0.1], [0.1, 0.1], [0.1, math.nan]])
def test_without_a_difference_nothing_is_best(scores: list[float]) -> None:
    made = small([["system", score] for score in scores])
    assert not any(made.is_best(row, 1) for row in range(len(scores)))


@drawn(st.text(alphabet=st.characters(codec="ascii", exclude_categories=["C"]), max_size=20))
def test_latex_has_balanced_braces_and_no_bare_sign(text: str) -> None:
    escaped = latex(text)
    bare = re.sub(r"\\[&%$#_{}]", "", escaped)
    assert bare.count("{") == bare.count("}")
    assert not re.search(r"[&%#_~^]", bare)
    assert bare.count("$") % 2 == 0
