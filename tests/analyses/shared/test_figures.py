import re
from collections.abc import Callable
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.pyplot import subplots

from analyses.popularity import Popularity, Removal
from analyses.shared.drawing import label_curves, write_plain_numbers
from analyses.shared.families import Families, WithinSubsets
from analyses.shared.figure_options import FigureOptions
from analyses.shared.figures import WRITERS, as_svg, draw_figure, write_texts_for_latex
from analyses.shared.measure import Measure, Measures
from analyses.shared.result import Result, figure, figures_of


def curves(
    metrics: list[str], cutoffs: list[int], levels: tuple[float, ...], replicates: int = 0
) -> Popularity:
    """A result whose curves fall."""
    measures = Measures(Measure(metric, cutoff) for metric in metrics for cutoff in cutoffs)
    return Popularity(
        measures=measures,
        levels=levels,
        orders=1,
        chosen=Removal(
            cut="items",
            removed="most popular",
            counted_in="test",
            taus=np.tile(np.linspace(1.0, 0.5, len(levels)), (len(measures), 1)),
            deviations=np.zeros((len(measures), len(levels))),
            coefficients={},
            replicates=np.full((len(measures), len(levels), replicates), 0.5),
            within=WithinSubsets(3, np.empty((len(measures), 0))),
            n_kept=np.arange(len(levels), dtype=np.float64),
        ),
        checks=(),
        n_items=9,
        families=Families(np.arange(3)),
        n_users=2,
    )


def by_metric(metrics: list[str], cutoffs: list[int], levels: tuple[float, ...]) -> Figure:
    per_metric, _ = sorted(figures_of(Popularity), key=lambda face: face.number or 0)
    return draw_figure(curves(metrics, cutoffs, levels), per_metric)


def shown(figure: Figure) -> list[str]:
    """Titles of the panels that are drawn."""
    return [axes.get_title() for axes in figure.axes if axes.get_title()]


@pytest.mark.slow
@pytest.mark.parametrize("render", [as_svg, WRITERS["png"]])
def test_a_figure_drawn_twice_is_the_same_bytes(render: Callable[[Figure], bytes]) -> None:
    first, second = (by_metric(["P", "AP"], [5, 10], (1.0, 0.5)) for _ in range(2))
    assert render(first) == render(second)


@pytest.mark.slow
@pytest.mark.parametrize("n_metrics", [1, 7])
def test_every_metric_has_its_panel(n_metrics: int) -> None:
    metrics = ["P", "Recall", "AP", "nDCG", "RR", "bpref", "infAP"][:n_metrics]
    assert shown(by_metric(metrics, [5, 10], (1.0, 0.5))) == metrics


class Labelled(Result):
    """A result whose panels have an x-axis each."""

    measures = Measures(Measure(metric, 5) for metric in ("P", "Recall", "AP", "nDCG"))
    kinds = ("observed", "by chance")

    def caption(self) -> str:
        return "Labels."

    @figure("labelled", "Labels", panels="metric")
    def plot(self, ax: Axes, *, metric: str | None = None) -> Axes:
        ax.set_xlabel(f"pairs by {metric}")
        return ax

    @figure("kinds", "Kinds", panels="kind")
    def plot_kind(self, ax: Axes, *, kind: str) -> Axes:
        ax.set_title(kind)
        return ax


def test_a_figure_may_have_a_panel_for_each_value_of_another_keyword() -> None:
    assert shown(draw_figure(Labelled(), figures_of(Labelled)[1])) == ["observed", "by chance"]


FORMULAS = (r"$\frac{$", "$x_2$", r"a\_$5")
"""Names from data, of which the first is no formula that can be parsed."""


class Named(Result):
    """A result whose names stand wherever a figure has text."""

    names = FORMULAS

    def caption(self) -> str:
        return "Names."

    @figure("names", "Names", panels="name", roomy=True)
    def plot_names(self, ax: Axes, *, name: str) -> Axes:
        for place, label in enumerate(FORMULAS):
            ax.plot([1, 2, 300], [place, place + 1, place], label=label)
        label_curves(ax)
        ax.set_xscale("log")
        ax.set_yticks(range(3), FORMULAS)
        ax.set(title=name, xlabel=name, ylabel=name)
        ax.annotate(name, (1, 1))
        return ax


def texts_of(svg: bytes) -> list[str]:
    return [unescape(text) for text in re.findall(r">([^<>]+)</text>", svg.decode())]


@pytest.mark.slow
def test_names_from_data_are_not_parsed_as_formulas() -> None:
    (face,) = figures_of(Named)
    texts = texts_of(as_svg(draw_figure(Named(), face)))
    assert {*FORMULAS, "100"} <= {*texts}


@pytest.mark.slow
def test_no_style_has_text_set_by_latex(tmp_path: Path) -> None:
    style = tmp_path / "latex.mplstyle"
    style.write_text("text.usetex: True\n")
    (face,) = figures_of(Named)
    drawn = draw_figure(Named(), face, FigureOptions(style=str(style)))
    assert {*FORMULAS} <= {*texts_of(as_svg(drawn))}


@pytest.mark.slow
def test_names_in_a_figure_of_a_notebook_are_not_parsed_and_a_readers_formula_is() -> None:
    ax = Named().plot_names(name=FORMULAS[0])
    figure = ax.get_figure(root=True)
    assert figure is not None
    texts = texts_of(as_svg(figure))
    assert {*FORMULAS} <= {*texts}
    later = Named().plot_names(name="usual")
    later.set_xlabel(r"$\tau$")
    figure = later.get_figure(root=True)
    assert figure is not None
    assert r"$\tau$" not in texts_of(as_svg(figure))


def test_powers_beside_a_logarithmic_axis_are_plain_numbers() -> None:
    _, ax = subplots()
    ax.set(xscale="log", yscale="log", xlim=(1e-6, 1e6), ylim=(2, 8))
    write_plain_numbers(ax)
    labels = [text.get_text() for text in ax.get_xticklabels()]
    assert {"1e-06", "1", "10000"} <= {*labels}
    minor = [text.get_text() for text in ax.get_yticklabels(minor=True)]
    assert {"2", "3", "4", "6"} <= {*minor}
    assert not any("$" in label for label in (*labels, *minor))


class Commands(Result):
    """A result whose names would be commands of LaTeX."""

    def caption(self) -> str:
        return "Commands."

    @figure("commands", "Commands")
    def plot_commands(self, ax: Axes) -> Axes:
        command = "\\input{x}%"
        ax.plot([0, 1], [0, 1], label=command)
        label_curves(ax)
        ax.set_yticks([0, 1], [command, "a_b"])
        ax.set(title=command, xlabel=command, ylabel=command)
        ax.annotate(command, (0, 0))
        return ax


@pytest.mark.slow
def test_names_are_no_commands_in_files_whose_text_latex_sets() -> None:
    (face,) = figures_of(Commands)
    drawn = draw_figure(Commands(), face)
    write_texts_for_latex(drawn)
    texts = {*texts_of(as_svg(drawn))}
    assert {r"\textbackslash{}input\{x\}\%", r"a\_b"} <= texts
    assert not any("\\input" in text for text in texts)
