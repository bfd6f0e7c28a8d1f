"""What results print and leave in folders, read back."""

import gc
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.layout_engine import ConstrainedLayoutEngine

from analyses.shared.figure_options import FigureOptions
from analyses.shared.publish import (
    PRINTED,
    as_csv,
    figure_files,
    map_texts,
    tables_of_results,
    write_results,
)
from analyses.shared.result import Result, figure, figures_of, table
from analyses.shared.table import Table
from runs import InputError


class Counts(Result):
    """A result of two frames, three tables and two figures."""

    nothing = None

    def frames(self) -> Mapping[str, pd.DataFrame]:
        return {
            "counts": pd.DataFrame({"kind": ["a", "ü"], "n": [1 / 3, np.nan]}),
            "more": pd.DataFrame({"kind": ["z"]}),
        }

    def caption(self) -> str:
        return "Counts."

    def findings(self) -> Sequence[str]:
        return ["One third.", "No more."]

    def cautions(self) -> Sequence[str]:
        return ["There are few."]

    @table("counts", "Counts of kinds")
    def counted(self) -> Table:
        return Table("counts", "Counts of kinds", "", ["kind", "n"], [["a", 0.25]])

    @table("others", "Others")
    def others(self) -> Table:
        return Table("others", "Others", "", ["kind"], [["b"]])

    @table("none", "None")
    def none(self) -> Table:
        return Table("none", "None", "", ["kind"], [])

    @figure("counts", "Counts", number=30)
    def plot_counts(self, ax: Axes) -> Axes:
        ax.plot([0, 1], [0, 1])
        return ax

    @figure("absent", "Absent", part="nothing")
    def plot_absent(self, ax: Axes) -> Axes:
        return ax


@pytest.fixture(autouse=True)
def without_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave axes where they are: finding places is most of what drawing costs."""
    monkeypatch.setattr(ConstrainedLayoutEngine, "execute", lambda *_: None)


def test_csv_has_all_digits_and_no_index() -> None:
    frame = pd.DataFrame({"a": [1 / 3], "b": ["x"]})
    assert as_csv(frame) == "a,b\n0.3333333333333333,x\n"


def test_texts_and_headings_are_written_in_another_way_and_numbers_stay() -> None:
    frame = pd.DataFrame({"a": ["x", None], "n": [1, 2], "mixed": ["y", 0.5]})
    written = map_texts(frame, str.upper)
    assert written.columns.tolist() == ["A", "N", "MIXED"]
    assert written["A"].tolist()[0] == "X"
    assert pd.isna(written["A"].tolist()[1])
    assert written["N"].tolist() == [1, 2]
    assert written["MIXED"].tolist() == ["Y", 0.5]


def test_tables_with_rows_are_printed_or_those_that_are_named() -> None:
    results = {"one": Counts(), "two": Counts()}
    assert [made.name for made in tables_of_results(results)] == ["counts", "others"] * 2
    assert [made.name for made in tables_of_results(results, ["others"])] == ["others"] * 2
    assert tables_of_results(results, ["none"]) == []


def test_text_has_titles_columns_and_conclusions() -> None:
    assert PRINTED["text"]({"one": Counts()}, ["counts"]) == (
        "Counts of kinds\nkind       n\na     0.2500\n\nOne third.\n\nNo more.\n"
    )
    assert "Others\nkind\nb\n" in PRINTED["text"]({"one": Counts()})


def test_csv_is_the_first_frame_of_one_result() -> None:
    assert PRINTED["csv"]({"one": Counts()}, []) == "kind,n\na,0.3333333333333333\nü,\n"
    with pytest.raises(InputError, match="csv is one table, and there are 2: one, two; choose"):
        PRINTED["csv"]({"one": Counts(), "two": Counts()}, [])


def test_json_has_all_frames_and_what_is_said_of_them() -> None:
    text = PRINTED["json"]({"one": Counts()}, [])
    assert text.startswith('{\n  "counts": [\n    {\n      "kind": "a"')
    assert "ü" in text
    assert json.loads(text) == {
        "counts": [{"kind": "a", "n": 1 / 3}, {"kind": "ü", "n": None}],
        "more": [{"kind": "z"}],
        "captions": {"one": "Counts."},
        "findings": ["One third.", "No more."],
        "cautions": ["There are few."],
    }


def test_papers_get_tables_alone() -> None:
    assert PRINTED["markdown"]({"one": Counts()}, ["others"]).startswith("**Others**\n")
    assert r"\caption{Others.}" in PRINTED["latex"]({"one": Counts()}, ["others"])


@pytest.mark.slow
def test_a_folder_has_frames_and_figures_with_their_captions(tmp_path: Path) -> None:
    write_results({"one": Counts()}, tmp_path)
    names = ["counts.csv", "counts.png", "counts.svg", "counts.txt", "more.csv"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    assert (tmp_path / "more.csv").read_text() == "kind\nz\n"
    assert (tmp_path / "counts.txt").read_text() == "Counts.\n"
    assert (tmp_path / "counts.png").read_bytes().startswith(b"\x89PNG")


def test_a_figure_is_of_the_kinds_and_the_look_that_are_asked_for() -> None:
    face, _ = figures_of(Counts)
    usual = FigureOptions(width=2.0)
    files = figure_files(Counts(), face, kinds=["svg"], usual=usual)
    assert {*files} == {"svg", "txt"}
    assert b'width="144pt"' in files["svg"]


@pytest.mark.parametrize("is_enabled", [True, False])
def test_garbage_is_looked_for_after_drawing_as_before(
    is_enabled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    during: list[bool] = []

    def draw(*_: Any, **__: Any) -> Any:
        during.append(gc.isenabled())
        raise InputError("no figure")

    monkeypatch.setattr("analyses.shared.publish.draw_figure", draw)
    face, _ = figures_of(Counts)
    if not is_enabled:
        gc.disable()
    try:
        with pytest.raises(InputError, match="no figure"):
            figure_files(Counts(), face)
        assert gc.isenabled() == is_enabled
        assert during == [False]
    finally:
        gc.enable()
