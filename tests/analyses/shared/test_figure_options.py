"""Options of figures: what is refused, and where a style file is looked for."""

from pathlib import Path
from typing import Any

import pytest

from analyses.shared.figure_options import FigureOptions
from runs import InputError


@pytest.mark.parametrize("option", ["width", "height", "font_size"])
@pytest.mark.parametrize("size", [0.0, -1.0, 101.0, 1e308, float("inf"), float("nan")])
def test_a_size_is_above_0_and_at_most_100(option: str, size: float) -> None:
    with pytest.raises(InputError, match=f"'{option}' must be"):
        FigureOptions.read({option: size})


@pytest.mark.parametrize("option", ["width", "height", "font_size"])
def test_a_size_of_100_is_taken(option: str) -> None:
    assert FigureOptions.read({option: 100}).given == {option: 100}


@pytest.mark.parametrize(
    ("style", "anchored"),
    [("mine", "FOLDER/mine"), ("mine.mplstyle", "FOLDER/mine.mplstyle"), ("ggplot", "ggplot")],
)
def test_a_style_file_counts_from_the_folder_of_the_study_with_and_without_a_suffix(
    style: str, anchored: str, tmp_path: Path
) -> None:
    for name in ("mine", "mine.mplstyle", "ggplot"):
        (tmp_path / name).touch()
    options: Any = FigureOptions(style=style).anchored(lambda path: tmp_path / path)
    assert options.style == anchored.replace("FOLDER", str(tmp_path))
