import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from analyses.shared.latex import latex_size, latex_text, split_caption
from analyses.shared.number_format import Cell
from analyses.shared.table import (
    FORMATS,
    Table,
    align_columns,
    escape_formula,
    excerpt,
    fit_to_width,
    frame_table,
    listing,
    overview,
    unescape_formula,
)


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
    assert escape_formula(text) == text


@drawn(st.text(alphabet="'=+-@1a"))
def test_a_guarded_text_is_read_as_it_was(text: str) -> None:
    assert unescape_formula(escape_formula(text)) == text


@drawn(st.text(alphabet=st.characters(codec="ascii", exclude_categories=["C"]), max_size=20))
def test_latex_has_balanced_braces_and_no_bare_sign(text: str) -> None:
    escaped = latex_text(text)
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


# Tables


def test_plain_text_has_the_first_column_left_and_the_others_right() -> None:
    rows: list[list[str | float]] = [["a", 0.5], ["long", -12.25]]
    assert Table("t", "Title", "Note.", ["system", "P"], rows).to_text() == (
        "Title\n\nsystem         P\na         0.5000\nlong    -12.2500\n\nNote.\n"
    )


def test_a_cell_of_several_lines_stands_on_several_rows() -> None:
    table = Table("t", "", "", ["", "P"], [["a\nbc", 1], ["d", "2\n34"]])
    assert table.to_columns() == "     P\na    1\nbc\nd    2\n    34\n"


def test_columns_may_have_decimals_of_their_own() -> None:
    table = Table(
        "t", "", "", ["", "P", "n"], [["a", 0.25, 0.25]], decimals=3, decimals_of_columns={1: 1}
    )
    assert table.to_columns() == "     P      n\na  0.2  0.250\n"
    assert table.format(0.25) == "0.250"
    assert table.typeset_cell(0.25, 1) == ".2"
    assert table.typeset_cell("0.25", 1) == "0.25"
    assert table.typeset_cell(0, 1) == "0"


def test_columns_are_laid_out_by_their_headings() -> None:
    columns: dict[str, Any] = {"name": ["a", "b"], "value": np.array([0.5, 1.5])}
    table = Table.from_columns("t", "Title", "Note.", columns)
    assert (table.headings, table.rows) == (["name", "value"], [("a", 0.5), ("b", 1.5)])
    assert table.decimals == 4
    assert Table.from_columns("t", "Title", "Note.", columns, decimals=1).decimals == 1


def test_crossed_numbers_have_rows_and_columns_in_order_and_nothing_where_there_is_none() -> None:
    cells = {("b", "x"): 1.0, ("a", "x"): 2.0, ("a", "y"): 3.0}
    table = Table.from_cells("t", "Title", "Note.", "corner", cells, bold=[("a", "y"), ("b", "x")])
    assert table.headings == ["corner", "x", "y"]
    first, second = table.rows
    assert first[:2] == ["b", 1.0]
    assert np.isnan(float(first[2]))
    assert second == ["a", 2.0, 3.0]
    assert table.bold == {(1, 2), (0, 1)}
    assert table.decimals == 4
    assert Table.from_cells("t", "", "", "", cells, decimals=2).decimals == 2


def test_a_note_explains_bold_numbers_where_there_are_some() -> None:
    assert small([["a", 0.3]]).typeset_note.startswith("Note. Bold: ")
    assert Table("t", "Title", "Note.", [], []).typeset_note == "Note."


def test_markdown_has_names_left_and_numbers_right() -> None:
    table = Table("t", "Title", "Note.", ["", "P", "AP"], [["a", 0.5, 1]])
    assert table.to_markdown() == (
        "**Title**\n\n|  | P | AP |\n| --- | ---: | ---: |\n| a | 0.5000 | 1 |\n\nNote.\n"
    )


def test_latex_has_names_left_and_numbers_right_without_0() -> None:
    table = Table("a b", "Title", "Note.", ["", "P", "AP"], [["a", 0.5, -0.25], ["b", 0.2, 2e-9]])
    assert table.to_latex().splitlines()[1:] == [
        r"\begin{table}",
        r"  \caption{Title. Note.}",
        r"  \label{tab:a-b}",
        r"  \centering",
        r"  \begin{tabular}{@{}lrr@{}}",
        r"    \toprule",
        r"     & P & AP \\",
        r"    \midrule",
        r"    a & .5000 & $-$.2500 \\",
        r"    b & .2000 & $2.0 \times 10^{-9}$ \\",
        r"    \bottomrule",
        r"  \end{tabular}",
        r"\end{table}",
    ]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("< 1e-12", "$< 10^{-12}$"),
        ("1.5e+03", r"$1.5 \times 10^{3}$"),
        ("1e-05", "$10^{-5}$"),
        ("-0.5", "$-$0.5"),
        ("[-.75, .25]", "{[}$-$.75, .25]"),
        ("a-1", "a-1"),
        ("1–2", "1--2"),
    ],
)
def test_powers_and_signs_are_formulas_in_latex(text: str, written: str) -> None:
    assert latex_text(text) == written


def test_bold_formulas_are_bold_in_latex() -> None:
    written = small([["a", 2e-9]]).to_latex()
    assert r"\textbf{\boldmath$2.0 \times 10^{-9}$}" in written


@pytest.mark.parametrize(
    ("widths", "room"),
    [
        ([41], ("table", "", 12)),
        ([42], ("table", r"\small", 12)),
        ([46], ("table", r"\small", 12)),
        ([47], ("table", r"\footnotesize", 12)),
        ([52], ("table", r"\footnotesize", 12)),
        ([53], ("table*", "", 12)),
        ([85], ("table*", "", 12)),
        ([86], ("table*", r"\small", 12)),
        ([94], ("table*", r"\small", 12)),
        ([95], ("table*", r"\footnotesize", 12)),
        ([106], ("table*", r"\footnotesize", 12)),
        ([107], ("table*", r"\scriptsize", 6)),
        ([200], ("table*", r"\scriptsize", 6)),
        ([20, 21], ("table", r"\small", 12)),
        ([10, 10, 17], ("table", "", 12)),
        ([10, 10, 5, 10], ("table", "", 12)),
        ([10, 10, 5, 4, 4], ("table", r"\small", 12)),
        ([10, 10, 10, 10, 5], ("table", r"\footnotesize", 6)),
        ([10, 10, 10, 10, 7], ("table*", "", 12)),
        ([40, 43], ("table*", "", 12)),
        ([40, 40, 1], ("table*", r"\small", 12)),
        ([40, 40, 16, 4], ("table*", r"\footnotesize", 6)),
    ],
)
def test_a_table_takes_one_column_of_an_article_if_it_can(
    widths: list[float], room: tuple[str, str, float]
) -> None:
    """One has 229 points, both 469; a character .55 of its size, and a gap 12 points or else 6."""
    assert latex_size(widths) == room


LINES = [["name", "abc", "def"], ["a", "1", "2"]]
"""Columns of 4, 3 and 3 characters: 14 with gaps of two spaces, 12 with gaps of one."""


@pytest.mark.parametrize(
    ("width", "text"),
    [
        (80, "name  abc  def\na       1    2\n"),
        (14, "name  abc  def\na       1    2\n"),
        (13, "name abc def\na      1   2\n"),
        (12, "name abc def\na      1   2\n"),
        (11, "name  abc\na       1\n\nname  def\na       2\n"),
        (5, "name  abc\na       1\n\nname  def\na       2\n"),
    ],
)
def test_columns_are_fitted_by_narrow_gaps_or_in_blocks(width: int, text: str) -> None:
    assert fit_to_width(LINES, width=width) == text


def test_a_block_has_as_many_columns_as_fit() -> None:
    """Two columns beside the names take 4 + 2 x 5 = 14 characters."""
    line = ["name", "abc", "def", "ghi", "jkl", "mno"]
    assert fit_to_width([line], width=14).splitlines() == [
        *("name  abc  def", "", "name  ghi  jkl", "", "name  mno")
    ]
    assert fit_to_width([line], width=15).splitlines()[0] == "name  abc  def"
    assert fit_to_width([line], width=13).splitlines()[0] == "name  abc"


def test_a_terminal_has_80_columns() -> None:
    """Names of 20 characters, and columns of 18: three fit with gaps of 2, to 80 exactly."""
    line = ["n" * 20, *["c" * 18] * 4]
    assert [*map(len, fit_to_width([line]).splitlines())] == [80, 0, 40]
    assert [*map(len, fit_to_width([["n" * 21, *line[1:]]]).splitlines())] == [61, 0, 61]


def test_names_are_left_and_numbers_right() -> None:
    lines = [["a", "b", "c"], ["long", "long", "long"]]
    assert align_columns(lines) == "a        b     c\nlong  long  long\n"
    assert align_columns(lines, n_names=2, gap=1) == "a    b       c\nlong long long\n"


def test_json_is_indented_and_has_all_signs() -> None:
    table = Table("t", "", "", ["ü", "value"], [("a", 0.5)])
    written = FORMATS["json"]([table])
    assert written == '{\n  "t": [\n    {\n      "ü": "a",\n      "value": 0.5\n    }\n  ]\n}\n'
    assert json.loads(FORMATS["json"]([table, Table("s", "", "", [], [])]))["s"] == []


def test_tables_are_printed_one_below_another() -> None:
    table = Table("t", "Title", "Note.", ["", "P"], [["a", 1]])
    for name in ("text", "csv", "latex", "markdown"):
        assert FORMATS[name]([table, table]) == "\n".join([FORMATS[name]([table])] * 2)


# Views of frames


def frame_of(n_rows: int, n_columns: int) -> pd.DataFrame:
    columns = [f"c{number}" for number in range(n_columns)]
    return pd.DataFrame(np.full((n_rows, n_columns), 0.12345), columns=columns)


@pytest.mark.parametrize(
    ("n_rows", "n_columns", "size"),
    [
        (6, 12, None),
        (7, 12, "6 of 7 rows, 12 columns."),
        (6, 13, "6 of 6 rows, 13 columns."),
        (5, 1, None),
        (1, 14, "1 of 1 row, 14 columns."),
        (12345, 1, "6 of 12,345 rows, 1 column."),
    ],
)
def test_a_view_has_six_rows_and_twelve_columns_and_says_if_there_are_more(
    n_rows: int, n_columns: int, size: str | None
) -> None:
    html = excerpt("<caption>", frame_of(n_rows, n_columns), ["<finding>"])
    assert html.count("<td>0.1235</td>") == min(n_rows, 6) * min(n_columns, 12)
    paragraphs = ["&lt;caption&gt;", *([] if size is None else [size]), "&lt;finding&gt;"]
    assert re.findall("<p>(.*?)</p>", html) == paragraphs
    assert html.index("&lt;caption") < html.index("<table") < html.index("&lt;finding")


def test_a_view_may_have_other_numbers_of_rows_and_no_frame() -> None:
    assert excerpt("", frame_of(9, 1), [], rows=8).count("0.1235") == 8
    assert "<table" not in excerpt("", None, [])
    table = small([["a", 0.3]] * 9)
    assert table._repr_html_().count("<td>0.3000</td>") == 9


def test_the_text_of_a_view_has_six_rows_and_says_what_comes_next() -> None:
    text = overview("Title", frame_of(7, 2), ".call()")
    assert text.startswith("Title\n\n")
    assert text.count("0.1235") == 12
    assert text.endswith("6 of 7 rows, 2 columns. Next: .call()")
    assert "index" not in text
    assert repr(small([["a", 0.3]])).startswith("Table 't': Title\n\n")


def test_a_line_of_names_has_240_characters_at_most() -> None:
    names = ["abcd"] * 60
    title, line, short, calls = listing("Title", {"key": names[:39], "keys": names}, ".x").split(
        "\n"
    )
    assert (title, calls) == ("Title", "Next: .x")
    assert line == "key: " + ", ".join(names[:39])
    assert len(line) == 237
    assert short == "keys: " + ", ".join(names[:38]) + ", ..."
    exact = "a" * 239
    assert listing("", {"": [exact[:-1]]}, "").split("\n")[1] == f": {exact[:-1]}"
    assert listing("", {"": [exact]}, "").split("\n")[1] == ": ..."


def test_a_frame_is_shown_with_its_headings_as_texts() -> None:
    table = frame_table("t", "Title", pd.DataFrame({5: [0.5], "x": ["a"]}), "Note.")
    assert (table.headings, table.rows, table.decimals) == (["5", "x"], [(0.5, "a")], 4)
    assert frame_table("t", "", pd.DataFrame({"x": [1.0]}), "", decimals=2).decimals == 2


def test_captions_in_latex_have_40_words_at_most_and_a_note_has_the_rest() -> None:
    """The title has one word, the first two sentences 39, the third one word more."""
    first = f"First{' word' * 18}."
    second = f"Second{' word' * 19}."
    written = Table("t", "Title", f"{first} {second} Third.", ["", "P"], [["a", 0.5]]).to_latex()
    caption, note = written.split(r"\begin{tabular}")
    assert f"Title. {first} {second}}}" in caption
    assert "Third." in note


def test_a_sentence_that_is_too_long_for_a_caption_is_in_the_note() -> None:
    note = f"Long{' word' * 40}. Short."
    assert split_caption("Title", note) == ("Title.", note)
    assert split_caption("Title", "") == ("Title.", "")
    long_title = "word " * 50
    assert split_caption(long_title.strip(), "Note.") == (f"{long_title.strip()}.", "Note.")


def lettered() -> Table:
    """Means of two systems by two measures; no letters by the second."""
    headings = ["system", "P@5", "P@5, letters", "P@5, ranks", "AP"]
    rows: list[list[Cell]] = [["a", 0.5, "a", "1", 0.25], ["b", 0.25, "", "2", 0.125]]
    return Table("t", "Title", "Note.", headings, rows, decimals=3, superscripts=[2])


def test_letters_are_superscripts_in_latex_and_a_column_elsewhere() -> None:
    written = lettered().to_latex()
    assert r"a & .500 & \textsuperscript{a} & 1 & .250 \\" in written
    assert r"b & .250 &  & 2 & .125 \\" in written
    assert r"{@{}lr@{}lrr@{}}" in written
    assert r"system & \multicolumn{2}{c}{P@5} & ranks & AP \\" in written
    assert lettered().to_csv().splitlines()[1] == "a,0.5,a,1,0.25"


def test_latex_prints_the_form_in_print_with_its_note() -> None:
    on_screen = replace(small([["a", 0.5]]), in_print=lettered())
    assert on_screen.to_latex() == lettered().to_latex()
    assert "Title. Note. Data." in on_screen.with_note("Data.").to_latex()
    assert on_screen.with_note("Data.").note.endswith(" Data.")
    assert small([["a", 0.5]]).with_note("Data.").in_print is None
