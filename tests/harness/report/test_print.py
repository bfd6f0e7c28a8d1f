from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import AxLine, Line2D
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from analyses.popularity import Popularity
from analyses.sampled.papers import Example
from analyses.shared.analysis import built_in_analyses
from analyses.shared.drawing import OTHERS, SPREAD
from analyses.shared.figure_formats import figure_writer
from analyses.shared.figure_options import COLUMN_WIDTHS, FigureOptions
from analyses.shared.figures import draw_figure
from analyses.shared.result import FigureDeclaration, choices_of, figures_of
from analyses.shared.result import Result as ShownResult
from harness.cli.main import main
from harness.report.open_study import OpenStudy, open_study
from harness.report.print import caption_of, find_figure
from harness.report.study_folder import FinishedStudy
from runs import InputError
from tests.analyses.shared.test_figures import curves
from tests.conftest import figures_left_out
from tests.harness.small import METRICS, SYSTEMS, WORLD, contents, run_text


def figure(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["figure", *map(str, arguments)])


@pytest.fixture(scope="module")
def study(finished: Path) -> FinishedStudy:
    return FinishedStudy.open(finished)


@pytest.fixture(scope="module")
def opened(finished: Path) -> OpenStudy:
    return open_study(finished)


@pytest.mark.parametrize("name", ["fig6", "Fig. 6", "figure6", "6", "figure6_sparsity_metrics"])
def test_a_figure_has_many_names(study: FinishedStudy, name: str) -> None:
    key, face = find_figure(study, name)
    assert (key, face.file_stem) == ("sparsity", "figure6_sparsity_metrics")


def test_every_figure_is_found_by_its_full_name(study: FinishedStudy) -> None:
    figures = list(study.figures())
    assert len(figures) >= 8
    assert [find_figure(study, face.file_stem) for _, face in figures] == figures


@pytest.mark.parametrize(("width", "inches"), [*COLUMN_WIDTHS.items(), (4.5, 4.5)])
def test_the_width_is_that_of_the_columns(
    opened: OpenStudy, width: str | float, inches: float
) -> None:
    assert opened.figure("fig2", width=width, height=3).get_size_inches().tolist() == [inches, 3]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["svg", "pdf"])
def test_a_figure_printed_twice_is_the_same_bytes(opened: OpenStudy, kind: str) -> None:
    write = figure_writer(Path(f"a.{kind}"))
    first, second = (write(opened.figure("fig8")) for _ in range(2))
    assert first == second


def titles(printed: Figure) -> list[str]:
    return [axes.get_title() for axes in printed.axes]


@pytest.mark.parametrize(
    ("name", "chosen", "found"),
    [
        (
            "fig6",
            {"cutoffs": [5, 20], "bands": True},
            ["P@5", "P@20", "nDCG@5", "nDCG@20"],
        ),
        (
            "fig6",
            {"metric": ["nDCG@5", "P", "nDCG"], "bands": True},
            ["P@20", "nDCG@5", "nDCG@20"],
        ),
        ("fig2", {"measure": "nDCG"}, ["nDCG"]),
        ("fig21", {"truth": "P@10"}, ["true P@10"]),
    ],
)
def test_panels_are_of_chosen_measures_and_cutoffs(
    opened: OpenStudy, name: str, chosen: dict[str, Any], found: list[str]
) -> None:
    assert titles(opened.figure(name, **chosen)) == found


@pytest.mark.parametrize(
    ("chosen", "names"),
    [
        ({"cutoff": 5}, ["P@5", "nDCG@5"]),
        ({"cutoffs": [5, 20]}, ["P@5", "P@20", "nDCG@5", "nDCG@20"]),
        ({"metric": "nDCG@20"}, ["nDCG@20"]),
    ],
)
def test_curves_are_of_chosen_measures_and_cutoffs(
    opened: OpenStudy, chosen: dict[str, Any], names: list[str]
) -> None:
    (axes,) = opened.figure("fig6", **chosen).axes
    assert [str(line.get_label()) for line in axes.lines] == names


def test_robustness_and_validity_have_axes_of_one_range(opened: OpenStudy) -> None:
    for panel in opened.figure("fig22").axes:
        assert panel.get_xlim() == pytest.approx(panel.get_ylim())


def test_a_figure_without_room_for_its_panels_is_refused(opened: OpenStudy) -> None:
    with pytest.raises(InputError, match="choose a larger width or height"):
        opened.figure("fig22", width="single", height=0.3)


def test_curves_with_bands_have_a_panel_each_on_one_grid_if_asked_for(opened: OpenStudy) -> None:
    printed = opened.figure("fig6", cutoffs=[5, 20], bands=True)
    places = [axes.get_position() for axes in printed.axes]
    sizes = {(round(place.width, 9), round(place.height, 9)) for place in places}
    assert len(printed.axes) > 2
    assert len(sizes) == 1


def test_a_palette_a_style_and_a_size_of_text_are_used(opened: OpenStudy, tmp_path: Path) -> None:
    style = tmp_path / "mine.mplstyle"
    style.write_text("axes.facecolor: 123456\n")
    printed = opened.figure("fig6", palette="tab10", style=str(style), font_size=6, bands=False)
    (axes,) = printed.axes
    assert axes.get_facecolor()[:3] == pytest.approx([0x12 / 255, 0x34 / 255, 0x56 / 255])
    assert axes.lines[0].get_color() == "#1f77b4"
    assert {text.get_fontsize() for text in texts_of(printed)} == {6.0}


def texts_of(printed: Figure) -> list[Text]:
    """Texts of a figure that are drawn."""
    found: list[Text] = []
    draw = Text.draw

    def noted(self: Text, *arguments: Any, **options: Any) -> None:
        if self.get_visible() and self.get_text().strip():
            found.append(self)
        draw(self, *arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Text, "draw", noted)
        printed.draw_without_rendering()
    return found


def misplaced(printed: Figure) -> list[str]:
    """Texts that are outside of the page, or overlap."""
    boxes = {text: text.get_window_extent() for text in texts_of(printed)}
    page = printed.bbox.padded(1)
    inside = {t: page.contains(*box.min) and page.contains(*box.max) for t, box in boxes.items()}
    found = [text.get_text() for text, is_inside in inside.items() if not is_inside]
    for (one, first), (other, second) in combinations(boxes.items(), 2):
        shared = Bbox.intersection(first, second)
        if shared is not None and shared.width > 1 and shared.height > 1:
            found.append(f"{one.get_text()} on {other.get_text()}")
    return found


def many_curves() -> Popularity:
    """A result of as many measures as a usual study, with bands."""
    metrics = ["P", "Recall", "AP", "nDCG", "RR", "bpref", "infAP"]
    return curves(metrics, [*range(10, 101, 10)], (1.0, 0.75, 0.5), replicates=2)


@pytest.fixture(scope="module")
def of_samples(tmp_path_factory: pytest.TempPathFactory) -> list[ShownResult]:
    """What `harness sampled` and `harness correct` find in a small table of ranks."""
    found: list[ShownResult] = []
    base = tmp_path_factory.mktemp("samples")
    table, folder = base / "ranks.csv", base / "out"
    ranks = np.random.default_rng(1).integers(1, 20, (40, 3))
    pd.DataFrame(ranks, columns=["a", "b", "a system of a long name"]).to_csv(table, index=False)
    usual = [str(table), "--negatives", "20", "--candidates", "300", "--output", str(folder)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "analyses.shared.publish.write_results",
            lambda results, _: found.extend(results.values()),
        )
        for asked in (["sampled", "--study", "all", "--repeats", "2", "--jobs", "1"], ["correct"]):
            answer = CliRunner().invoke(main, [*asked, "--quiet", *usual])
            assert answer.exit_code == 0, answer.output
    return found


@pytest.mark.slow
@pytest.mark.parametrize("width", COLUMN_WIDTHS)
def test_no_text_is_outside_of_the_page_or_on_another(
    study: FinishedStudy, of_samples: list[ShownResult], example: Example, width: str
) -> None:
    results = [*(result for _, result in study.results()), *of_samples, example, many_curves()]
    for result in results:
        for face in figures_of(type(result)):
            if face.applies_to(result):
                printed = draw_figure(result, face, FigureOptions.from_keywords({"width": width}))
                assert (face.name, misplaced(printed)) == (face.name, [])


def test_the_caption_says_what_the_data_are(study: FinishedStudy) -> None:
    key, face = find_figure(study, "fig6")
    caption = caption_of(study, face, draw_figure(study.result(key), face))
    assert caption.endswith(study.manifest.data)


@pytest.mark.slow
def test_the_command_prints_caption_and_path(finished: Path, tmp_path: Path) -> None:
    answer = figure(finished, "fig5", "--output", tmp_path / "a.pdf")
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
        (["fig6", "--cutoff", "7"], "nothing was measured at cut-off 7"),
        (["fig2", "--measure", "nDGC"], "no measure is called 'nDGC'; did you mean 'nDCG'?"),
        (["fig6", "--system", "ease"], "fig6 does not show single systems"),
        (["fig6", "--axes", "pairs"], "fig6 has no 'axes' to choose"),
        (["fig6", "--width", "triple"], "must be single, double or inches, got 'triple'"),
        (["fig6", "--palette", "tab11"], "no colormap 'tab11'; did you mean 'tab10'?"),
        (["fig6", "--output", "a.gf"], "a.gf: the name must end in one of ."),
    ],
)
def test_a_mistake_is_answered_with_a_sentence(
    finished: Path, arguments: list[str], finding: str
) -> None:
    answer = figure(finished, *arguments)
    assert answer.exit_code == 2
    assert finding in answer.output


def test_the_look_of_a_study_makes_figures_again_and_no_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    analyses = '[analyses]\nnames = ["sparsity"]\n[analyses.sparsity]\nsamples = 2\n'
    text, folder = WORLD + SYSTEMS + METRICS + analyses, tmp_path / "study"
    run_text(text, tmp_path, output=folder)
    before = contents(folder, "evidence/*") | contents(folder, "tables/*")
    monkeypatch.setattr("analyses.shared.analysis.Analysis.__call__", None)
    look = '[figures]\nmeasures = ["nDCG"]\npalette = "tab10"\n'
    run_text(text + look, tmp_path, output=folder)
    assert contents(folder, "evidence/*") | contents(folder, "tables/*") == before
    drawn = (folder / "figures/figure6_sparsity_metrics.svg").read_text(encoding="utf-8")
    assert "#1f77b4" in drawn
    assert open_study(folder).figure("fig6").axes[0].lines[0].get_color() == "#1f77b4"


def test_measures_of_the_look_are_checked_before_the_work(tmp_path: Path) -> None:
    text = WORLD + SYSTEMS + METRICS + '[figures]\nmeasures = ["nDGC"]\n'
    with pytest.raises(InputError, match=r"no measure is called 'nDGC'; did you mean 'nDCG'\?"):
        run_text(text, tmp_path, output=tmp_path / "study")


EVERY_ANALYSIS = """
[analyses]
names = [{names}]
[analyses.validity_sweep]
worlds = 2
strengths = [0.0, 1.0]
[analyses.graded_loss]
samples = 2
levels = [1.0, 0.5]
replicates = 20
[analyses.sampled]
negatives = 10
repeats = 4
estimators = ["uncorrected", "bv(gamma=0.1)"]
"""

ASKED = {"single lists", "worlds", "full_ranks"}
"""What analyses need that a study of a simulated world gives on request."""


@pytest.fixture(scope="module")
def further(tmp_path_factory: pytest.TempPathFactory) -> FinishedStudy:
    """A study of the analyses that a study of a world makes on request."""
    base = tmp_path_factory.mktemp("further")
    sections = {
        f'"{member.section}"'
        for member in built_in_analyses().values()
        if {*member.needs} <= ASKED
        and not (member.runs_by_default() or member.settings.model_fields.get("rates"))
    }
    text = WORLD + SYSTEMS + METRICS + EVERY_ANALYSIS.format(names=", ".join(sorted(sections)))
    with figures_left_out():
        return FinishedStudy.open(run_text(text, base, output=base / "study"))


@pytest.fixture(scope="module")
def drawable(
    study: FinishedStudy, further: FinishedStudy
) -> list[tuple[ShownResult, FigureDeclaration]]:
    """Every figure of studies with its result, and curves of many measures."""
    results = [result for each in (study, further) for _, result in each.results()]
    results.append(many_curves())
    return [(r, face) for r in results for face in figures_of(type(r)) if face.applies_to(r)]


def test_the_figures_drawn_are_those_of_the_register(
    drawable: list[tuple[ShownResult, FigureDeclaration]],
) -> None:
    drawn = {face.name for _, face in drawable}
    lacking = {
        member.key
        for member in built_in_analyses().values()
        for face in figures_of(member.result)
        if face.name not in drawn
    }
    # Of logs, of a second assessor, and of adaptive samples.
    online = {key for key in built_in_analyses() if key.startswith("online")}
    assert lacking == {*online, "assessors", "sampled_estimates"}


OPTIONS: list[dict[str, Any]] = [
    {"bands": True, "systems": ("popularity",)},
    {"bands": False, "measures": ("P",), "cutoffs": (5,)},
    {
        "width": "single",
        "height": 2.0,
        "palette": "Dark2",
        "style": "grayscale",
        "font_size": 7.0,
        "title": False,
    },
]


def test_every_option_of_figures_is_tried() -> None:
    assert {name for options in OPTIONS for name in options} == {*FigureOptions.model_fields}


def drawn_with(
    result: ShownResult, face: FigureDeclaration, options: dict[str, Any]
) -> list[Figure]:
    """Draw a figure with options, as far as it can vary them, for each of its own choices."""
    choices: list[dict[str, Any]] = [{}]
    for keyword, values in choices_of(type(result), face).items():
        choices += [{keyword: value} for value in values]
    usual = FigureOptions.from_keywords(options)
    return [draw_figure(result, face, usual=usual, chosen=chosen) for chosen in choices]


def marks_of(printed: Figure) -> dict[str, bool]:
    """What captions call a kind of mark, and whether the figure shows such marks."""
    artists = [a for axes in printed.axes for a in axes.get_children() if a.get_visible()]
    spreads = [a for a in artists if str(a.get_label()).startswith(SPREAD)]
    lines = [a for a in artists if isinstance(a, Line2D)]
    across = [a for a in lines if a.axes is not None and a.get_transform() != a.axes.transData]
    labels = " ".join(axes.get_ylabel() for axes in printed.axes) + printed.get_supylabel()
    return {
        "Bands: ": any(isinstance(a, PolyCollection) for a in spreads),
        "Vertical lines: ": any(is_upright(a) for a in artists if isinstance(a, LineCollection)),
        "Grey: ": any(a.get_color() == OTHERS for a in lines if not isinstance(a, AxLine)),
        "Dotted line": any(line.get_linestyle() == ":" for line in across),
        "Diagonal: ": any(isinstance(line, AxLine) for line in lines),
        "A lower curve": "p-value (dotted" in labels,
        "A higher curve": "with at most this p-value" in labels,
    }


def is_upright(lines: LineCollection) -> bool:
    """Tell whether lines that have a length are vertical."""
    segments = [np.asarray(path.vertices) for path in lines.get_paths()]
    sizes = [np.ptp(segment, axis=0) for segment in segments if len(segment)]
    return any(width == 0 and height > 0 for width, height in sizes)


def cut_by_axes(printed: Figure) -> list[str]:
    """Name the curves, bands and lines beyond the limits of their axes."""
    return [
        f"{artist.get_label()} in {axes.get_title()!r}"
        for axes in printed.axes
        for artist in (*axes.lines, *axes.collections)
        if artist.get_visible() and not isinstance(artist, AxLine) and is_cut(artist, axes)
    ]


def off_the_canvas(printed: Figure) -> list[str]:
    """Name the titles, labels and legends that are not on the canvas as a whole."""
    texts: list[Any] = [*printed.texts, *printed.legends]
    above = [child for panel in printed.axes for child in panel.child_axes]
    for axes in (*printed.axes, *above):
        texts += [axes.title, axes.xaxis.label, axes.yaxis.label, *axes.artists]
        texts += [axes.get_legend()] if axes.get_legend() else []
    canvas: Any = FigureCanvasAgg(printed)
    page, renderer = printed.bbox.padded(1), canvas.get_renderer()
    for axes in printed.axes:
        # Labels stand beside those of ticks.
        axes.get_tightbbox(renderer)
    boxes = [(text, text.get_window_extent(renderer)) for text in texts]
    return [
        str(text)
        for text, box in boxes
        if box.width and not (page.contains(*box.min) and page.contains(*box.max))
    ]


def is_cut(artist: Any, axes: Axes) -> bool:
    """Tell whether points of an artist lie outside of the view of its axes."""
    if artist.get_transform() != axes.transData and isinstance(artist, Line2D):
        return False
    if isinstance(artist, Line2D):
        points = np.asarray(artist.get_xydata(), dtype=np.float64)
    else:
        points = np.concatenate([np.empty((0, 2)), *(p.vertices for p in artist.get_paths())])
    defined = points[np.isfinite(points).all(axis=1)]
    for values, limits in zip(defined.T, (axes.get_xlim(), axes.get_ylim()), strict=True):
        low, high = sorted(limits)
        room = 1e-9 * (high - low)
        if len(values) and (values.min() < low - room or values.max() > high + room):
            return True
    return False


@pytest.fixture
def without_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave axes where they are: finding places is most of what drawing costs."""
    monkeypatch.setattr(ConstrainedLayoutEngine, "execute", lambda *_: None)


def untrue(face: FigureDeclaration, printed: Figure) -> list[str]:
    """Say where the caption names what is not drawn, or the reverse, and what axes cut."""
    caption = str(printed.get_label())
    wrong = [
        f"{face.name}: {name!r} is {'not ' * is_drawn}in the caption"
        for name, is_drawn in marks_of(printed).items()
        if is_drawn != (name in caption)
    ]
    return [*wrong, *(f"{face.name} cuts {name}" for name in cut_by_axes(printed))]


def is_low(options: dict[str, Any]) -> bool:
    return "height" in options


@pytest.mark.slow
@pytest.mark.usefixtures("without_places")
@pytest.mark.parametrize("options", [options for options in OPTIONS if not is_low(options)])
def test_captions_say_what_is_drawn_and_axes_cut_nothing(
    drawable: list[tuple[ShownResult, FigureDeclaration]], options: dict[str, Any]
) -> None:
    wrong = []
    for result, face in drawable:
        for printed in drawn_with(result, face, options):
            wrong += untrue(face, printed)
    assert wrong == []


@pytest.mark.slow
@pytest.mark.parametrize("options", [options for options in OPTIONS if is_low(options)])
def test_captions_of_low_figures_are_true_and_no_label_leaves_the_canvas(
    drawable: list[tuple[ShownResult, FigureDeclaration]], options: dict[str, Any]
) -> None:
    wrong = []
    for result, face in drawable:
        for printed in drawn_with(result, face, options):
            wrong += untrue(face, printed)
            wrong += [f"{face.name}: {text}" for text in off_the_canvas(printed)]
    assert wrong == []
