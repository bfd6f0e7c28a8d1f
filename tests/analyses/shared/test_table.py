import re

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from analyses.shared.table import Table, guarded, latex, unguarded


def small(rows: list[list[str | float]]) -> Table:
    return Table("t", "Title", "Note.", ["system", "P"], rows, {(0, 1)})


def test_marked_cells_are_bold() -> None:
    made = small([["a", 0.3], ["b", 0.2]])
    assert "| a | **0.3000** |\n| b | 0.2000 |" in made.to_markdown()
    assert made.to_latex().count("textbf") == 1


@pytest.mark.parametrize("text", ["=1+cmd|' /C calc'!A0", "+a", "-1+cmd|x", "@SUM(A1)", "'=a"])
def test_a_text_that_a_spreadsheet_would_run_has_an_apostrophe_in_csv(text: str) -> None:
    table = Table("t", "Title", "Note.", [text, "P"], [[text, -0.5]])
    assert table.to_csv() == f"'{text},P\n'{text},-0.5\n"


@pytest.mark.parametrize("text", ["-1", "-.5 [-.75, .25]", "-1e-05", "+3 %", "–", "a=b", "'a'"])
def test_numbers_and_other_texts_are_as_they_were_in_csv(text: str) -> None:
    assert guarded(text) == text


@drawn(st.text(alphabet="'=+-@1a"))
def test_a_guarded_text_is_read_as_it_was(text: str) -> None:
    assert unguarded(guarded(text)) == text


@drawn(st.text(alphabet=st.characters(codec="ascii", exclude_categories=["C"]), max_size=20))
def test_latex_has_balanced_braces_and_no_bare_sign(text: str) -> None:
    escaped = latex(text)
    bare = re.sub(r"\\[&%$#_{}]", "", escaped)
    assert bare.count("{") == bare.count("}")
    assert not re.search(r"[&%#_~^]", bare)
    assert bare.count("$") % 2 == 0


@pytest.mark.parametrize("name", [r"a}\input{/etc/passwd", "a\nb", "a%b"])
def test_the_name_of_a_table_cannot_leave_its_label(name: str) -> None:
    written = Table(name, "Title", "", ["", "P"], [["a", 0.5]]).to_latex()
    assert re.findall(r"\\label\{tab:[\w:.-]*\}$", written, re.MULTILINE) != []
    assert "/etc" not in written
    assert r"\input" not in written


@pytest.mark.parametrize("line_break", ["\n", "\r", "\r\n"])
def test_a_text_of_two_lines_stays_in_its_cell(line_break: str) -> None:
    table = small([[f"a{line_break}b", 0.5]])
    assert "| a<br>b |" in table.to_markdown()
    assert r"\shortstack[r]{a \\ b}" in table.to_latex()


def test_dollar_signs_begin_no_formula_in_markdown_and_in_notebooks() -> None:
    table = small([["$x_2$", 0.5]])
    assert r"| \$x\_2\$ |" in table.to_markdown()
    assert table._repr_html_().startswith('<div class="tex2jax_ignore mathjax_ignore">')
