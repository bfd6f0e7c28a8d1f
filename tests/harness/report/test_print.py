from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from matplotlib.figure import Figure
from matplotlib.text import Text

from harness.cli.main import main
from harness.report.print import FORMATS, INCHES, TYPE, Width, caption_of, find_figure, print_figure
from harness.report.study_folder import FinishedStudy


def figure(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["figure", *map(str, arguments)])


@pytest.fixture(scope="module")
def study(finished: Path) -> FinishedStudy:
    return FinishedStudy.at(finished)


def drawn(study: FinishedStudy, name: str, **options: Any) -> Figure:
    key, face = find_figure(study, name)
    return print_figure(study.result(key), face, **options)


@pytest.mark.parametrize("name", ["fig6", "Fig. 6", "figure6", "6", "figure6_sparsity_metrics"])
def test_a_figure_has_many_names(study: FinishedStudy, name: str) -> None:
    key, face = find_figure(study, name)
    assert (key, face.file) == ("sparsity", "figure6_sparsity_metrics")


def test_every_figure_is_found_by_its_full_name(study: FinishedStudy) -> None:
    figures = list(study.figures())
    assert len(figures) >= 8
    assert [find_figure(study, face.file) for _, face in figures] == figures


@pytest.mark.parametrize("width", ["single", "double"])
def test_the_width_is_that_of_the_columns(study: FinishedStudy, width: Width) -> None:
    printed = drawn(study, "fig2", width=width)
    assert printed.get_size_inches()[0] == INCHES[width]


@pytest.mark.slow
def test_all_type_has_one_size(study: FinishedStudy) -> None:
    printed = drawn(study, "fig6")
    FORMATS["svg"](printed)
    texts = printed.findobj(lambda artist: isinstance(artist, Text) and bool(artist.get_text()))
    assert {text.get_fontsize() for text in texts if isinstance(text, Text)} == {TYPE}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["svg", "pdf"])
def test_a_figure_printed_twice_is_the_same_bytes(study: FinishedStudy, kind: str) -> None:
    first, second = (FORMATS[kind](drawn(study, "fig8")) for _ in range(2))
    assert first == second


def test_a_cutoff_chooses_the_panel(study: FinishedStudy) -> None:
    (panel,) = drawn(study, "fig6", cutoff=5).axes
    assert panel.get_title() == "cut-off 5"


def test_metrics_choose_the_panels(study: FinishedStudy) -> None:
    printed = drawn(study, "fig2", metrics=["nDCG"])
    assert [axes.get_title() for axes in printed.axes] == ["nDCG"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fig2", "fig4"])
@pytest.mark.parametrize("width", ["single", "double"])
def test_the_legend_lies_within_the_page(study: FinishedStudy, name: str, width: Width) -> None:
    printed = drawn(study, name, width=width)
    FORMATS["png"](printed)
    (legend,) = printed.legends
    box = legend.get_window_extent()
    assert box.x0 >= 0
    assert box.y0 >= 0
    assert box.x1 <= printed.bbox.x1
    assert box.y1 <= printed.bbox.y1


def test_the_caption_says_what_the_data_are(study: FinishedStudy) -> None:
    key, face = find_figure(study, "fig6")
    caption = caption_of(study, study.result(key), face)
    assert caption.endswith(study.manifest["data"])


@pytest.mark.slow
def test_the_command_prints_caption_and_path(finished: Path, tmp_path: Path) -> None:
    answer = figure(finished, "fig5", "--to", tmp_path / "a.pdf")
    assert answer.exit_code == 0
    assert "study seed 3." in answer.output
    assert answer.output.endswith(f"The figure is {tmp_path / 'a.pdf'}\n")
    assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")


def test_without_a_file_name_the_figure_lies_here(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert figure(finished, "fig5").exit_code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["figure5_correlation_metrics.svg"]


@pytest.mark.parametrize(
    ("arguments", "finding"),
    [
        (["fig66"], "no figure is called 'fig66'"),
        (["fig6", "--cutoff", "7"], "nothing was measured for cut-off 7"),
        (["fig2", "--metric", "nDGC"], "no metric 'nDGC'; did you mean 'nDCG'?"),
        (["fig6", "--metric", "P"], "fig6 has no metric to choose."),
        (["fig2", "--cutoff", "5"], "fig2 has no cut-off to choose."),
        (["fig6", "--to", "a.gif"], "a.gif: the name must end in .svg, .png or .pdf."),
        (["fig6", "--format", "pdf"], "the name behind --to ends in .svg"),
    ],
)
def test_a_mistake_is_answered_with_a_sentence(
    finished: Path, arguments: list[str], finding: str
) -> None:
    answer = figure(finished, *arguments)
    assert answer.exit_code == 2
    assert finding in answer.output
