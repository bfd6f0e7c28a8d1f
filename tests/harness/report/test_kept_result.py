"""What a result showed is read back without the code that made it."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from analyses.shared.evidence import to_evidence
from analyses.shared.figures import draw_figure
from analyses.shared.number_format import Cell
from analyses.shared.result import (
    FigureDeclaration,
    Result,
    TableDeclaration,
    figures_of,
    table,
    tables_of,
)
from analyses.shared.table import Table
from harness.report.kept_result import (
    KeptFigure,
    KeptResult,
    KeptTable,
    keep_result,
    read_kept_result,
)
from runs import InputError
from tests.harness.results import sparsity_of

MADE = sparsity_of({("P", 20): 0.8, ("nDCG", 20): 0.6, ("AP", 5): 0.5}, margin=0.05, apart=0.02)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Result:
    path = tmp_path_factory.mktemp("kept") / "sparsity.shown.npz"
    path.write_bytes(keep_result(MADE))
    return read_kept_result(path)


def test_sentences_are_kept(kept: Result) -> None:
    assert kept.caption() == MADE.caption()
    assert tuple(kept.findings()) == tuple(MADE.findings())
    assert tuple(kept.cautions()) == tuple(MADE.cautions())


def test_tables_are_kept(kept: Result) -> None:
    mine, theirs = tables_of(type(kept)), tables_of(type(MADE))
    assert [(f.name, f.title, f.alias) for f in mine] == [
        (f.name, f.title, f.alias) for f in theirs
    ]
    for own, other in zip(mine, theirs, strict=True):
        assert own.make(kept).to_latex() == other.make(MADE).to_latex()


def test_faces_and_captions_of_figures_are_kept(kept: Result) -> None:
    theirs = [face for face in figures_of(type(MADE)) if face.applies_to(MADE)]
    mine = figures_of(type(kept))
    assert [(f.file_stem, f.title, f.panels) for f in mine] == [
        (f.file_stem, f.title, f.panels) for f in theirs
    ]
    assert [f.caption(kept) for f in mine] == [f.caption(MADE) for f in theirs]
    assert all(face.applies_to(kept) for face in mine)


def test_no_figure_is_drawn(kept: Result) -> None:
    for face in figures_of(type(kept)):
        with pytest.raises(InputError, match="name it with --plugin"):
            draw_figure(kept, face)


def test_estimates_and_their_differences_are_kept(kept: Result) -> None:
    mine, theirs = kept.estimates(), MADE.estimates()
    assert mine is not None
    assert theirs is not None
    at_20 = theirs.measures.at_cutoff(20)
    assert mine.by_label(at_20) == theirs.by_label(at_20) != {}
    pd.testing.assert_frame_equal(mine.differences(), theirs.differences())


def test_the_tables_in_full_are_files(kept: Result) -> None:
    with pytest.raises(InputError, match="its tables in full are in tables/"):
        kept.frames()


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the study has no such result"):
        read_kept_result(tmp_path / "none.shown.npz")


TABLE = KeptTable(
    face=TableDeclaration("t", "Title"),
    name="t",
    title="Title",
    note="",
    headings=("", "P"),
    rows=(("a", 1.0),),
    bold=(),
    decimals=3,
)
FIGURE = KeptFigure(face=FigureDeclaration("f", "Title", panels="panel"), panels=("a",), caption="")


def kept_of(kept_table: KeptTable, figure: KeptFigure, path: Path) -> Path:
    """Write what a result showed: one table and one figure."""
    made = KeptResult(
        measures=MADE.measures,
        text="",
        told=(),
        beware=(),
        tables=(kept_table,),
        figures=(figure,),
        numbers=None,
    )
    path.write_bytes(to_evidence(made))
    return path


def test_a_table_and_a_figure_are_read_back(tmp_path: Path) -> None:
    read = read_kept_result(kept_of(TABLE, FIGURE, tmp_path / "kept.npz"))
    (table_face,), (figure,) = tables_of(type(read)), figures_of(type(read))
    assert table_face.make(read).rows == (("a", 1.0),)
    assert figure.panels_of(read) == ("a",)


@pytest.mark.parametrize("panels", [None, "metric", "panel"])
def test_panels_are_of_metrics_or_of_a_word_of_its_own(tmp_path: Path, panels: str | None) -> None:
    figure = replace(FIGURE, face=replace(FIGURE.face, panels=panels))
    read = read_kept_result(kept_of(TABLE, figure, tmp_path / "kept.npz"))
    (face,) = figures_of(type(read))
    assert face.panels == panels
    assert face.number is None


@pytest.mark.parametrize("panels", ["finding", "table", "a b", ""])
def test_panels_do_not_replace_what_every_result_has(tmp_path: Path, panels: str) -> None:
    figure = replace(FIGURE, face=replace(FIGURE.face, panels=panels))
    path = kept_of(TABLE, figure, tmp_path / "kept.npz")
    with pytest.raises(InputError, match="not a result of this analysis, or damaged"):
        read_kept_result(path)


@pytest.mark.parametrize(
    "kept_table",
    [
        replace(TABLE, decimals=-1),
        replace(TABLE, decimals=21),
        replace(TABLE, decimals=10**9),
        replace(TABLE, rows=(("a", 1.0), ("b",))),
        replace(TABLE, decimals_of_columns=((1, 21),)),
        replace(TABLE, rows=(("a",),)),
        replace(TABLE, headings=(), rows=(("a", 1.0), ("b",))),
    ],
)
def test_a_table_that_cannot_be_printed_is_refused(tmp_path: Path, kept_table: KeptTable) -> None:
    path = kept_of(kept_table, FIGURE, tmp_path / "kept.npz")
    with pytest.raises(InputError, match="not a result of this analysis, or damaged"):
        read_kept_result(path)


@pytest.mark.parametrize(
    "kept_table",
    [
        replace(TABLE, decimals=0),
        replace(TABLE, decimals=20),
        replace(TABLE, rows=()),
        replace(TABLE, headings=()),
        replace(TABLE, headings=(), rows=()),
    ],
)
def test_a_table_has_up_to_twenty_decimals_and_may_have_no_headings_or_rows(
    tmp_path: Path, kept_table: KeptTable
) -> None:
    read = read_kept_result(kept_of(kept_table, FIGURE, tmp_path / "kept.npz"))
    (face,) = tables_of(type(read))
    made = face.make(read)
    assert (made.headings, made.rows) == (kept_table.headings, kept_table.rows)
    assert made.decimals == kept_table.decimals


class Areas(Result):
    """A result of one table, whose second column has two decimals."""

    def caption(self) -> str:
        return "Areas."

    @table("areas", "Areas")
    def tabulated(self) -> Table:
        rows: list[list[Cell]] = [["a", 0.25, 0.125]]
        return Table(
            "areas", "Areas", "", ["", "P", "AP"], rows, decimals=3, decimals_of_columns={1: 2}
        )


def test_columns_keep_their_own_decimals(tmp_path: Path) -> None:
    path = tmp_path / "areas.shown.npz"
    path.write_bytes(keep_result(Areas(unit="topic")))
    read = read_kept_result(path)
    (face,) = tables_of(type(read))
    assert "a  0.25  0.125" in face.make(read).to_text()
    assert read.units == "topics"
