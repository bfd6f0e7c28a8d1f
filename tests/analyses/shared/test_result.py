"""What every result has without a word of its own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analyses.shared.drawing import SPREAD
from analyses.shared.measure import Measure, Measures
from analyses.shared.measure_estimates import Estimates
from analyses.shared.result import (
    FigureDeclaration,
    Result,
    choices_of,
    figure,
    figures_of,
    measures_of,
    table,
    tables_of,
    title_of,
)
from analyses.shared.table import Table
from runs import InputError
from tests.harness.results import sparsity_of

MEASURES = Measures([Measure("P", 5), Measure("P", 20), Measure("AP", 20)])


class Counts(Result):
    """A result of two frames and two figures."""

    kinds = ("users", "items")

    def frames(self) -> Mapping[str, pd.DataFrame]:
        return {
            "counts": pd.DataFrame({"kind": [*"abcdefgh"], "n": [1 / 3] * 8}),
            "more": pd.DataFrame({"kind": ["z"]}),
        }

    def caption(self) -> str:
        return "Counts of <all> kinds."

    def cautions(self) -> Sequence[str]:
        return ["There are few."]

    @figure("counts", "Counts", number=30, panels="kind")
    def plot_counts(self, ax: Axes, *, kind: str) -> Axes:
        ax.set_title(kind)
        return ax

    @figure("others", "Others")
    def plot_others(self, ax: Axes, *, of: str = "all") -> Axes:
        ax.set_title(f"others of {of}")
        return ax


def test_a_figure_is_drawn_by_its_number() -> None:
    assert Counts().draw("fig30").get_title() == "users"


def test_a_figure_takes_what_a_reader_chooses() -> None:
    assert Counts().draw("others", of="users").get_title() == "others of users"


def test_a_figure_that_there_is_not_is_told() -> None:
    with pytest.raises(InputError, match="no figure is called 'count'; there are fig30, others"):
        Counts().draw("count")


def test_the_first_figure_is_the_main_one_and_the_first_frame_the_main_frame() -> None:
    assert Counts().plot(kind="items").get_title() == "items"
    assert Counts().frame().columns.tolist() == ["kind", "n"]
    with pytest.raises(InputError, match="a Lacking has no figure"):
        Lacking().plot()


class Lacking(Result):
    """A result that has nothing of its own."""


@pytest.mark.parametrize("method", ["frames", "caption"])
def test_what_every_result_needs_is_asked_for(method: str) -> None:
    with pytest.raises(InputError, match=rf"the class Lacking has no method `{method}`"):
        getattr(Lacking(), method)()


def test_a_result_without_estimates_has_no_findings_cautions_or_publications() -> None:
    nothing = Lacking()
    assert nothing.estimates() is None
    assert nothing.headline() is None
    assert nothing.findings() == ()
    assert nothing.cautions() == ()
    assert nothing.publications() == {}
    assert (nothing.unit, nothing.units, nothing.over_settings) == ("user", "users", None)
    assert Lacking(unit="topic").units == "topics"
    assert nothing.labels == ()
    assert measures_of(nothing) == ()


class Areas(Lacking):
    """A result with estimates, of two measures at two cut-offs."""

    measures = MEASURES

    def estimates(self) -> Estimates:
        return sparsity_of({("P", 5): 0.5, ("P", 20): 0.9, ("AP", 20): 0.7}).estimates()


def test_findings_are_those_of_the_estimates_and_printed_one_below_another() -> None:
    (finding,) = Areas().findings()
    assert finding.startswith("P@20 and AP@20 in this order are")
    assert Areas().conclusion() == f"{finding}\n"
    assert Areas().labels == ("P@20", "AP@20")
    settings = np.ones((3, 2))
    estimates = Areas(over_settings=settings).under_settings(Areas().estimates())
    assert estimates.over_settings is settings


def test_two_findings_have_a_line_between() -> None:
    class Two(Counts):
        def findings(self) -> Sequence[str]:
            return ["One.", "Two."]

    assert Two().conclusion() == "One.\n\nTwo.\n"


class Sized(Counts):
    """A result with sizes. And more words."""

    measures = Measures([Measure("P", 5)])
    systems = ("a", "b")
    n_users = 1234


def test_a_result_shows_its_sizes_its_first_frame_and_what_comes_next() -> None:
    lines = repr(Sized()).splitlines()
    assert lines[:2] == [
        "Sized: A result with sizes. And more words.",
        "1 measure, 2 systems, 1,234 users",
    ]
    assert sum("0.3333" in line for line in lines) == 6
    assert lines[-1] == "6 of 8 rows, 2 columns. Next: .frame(), .findings(), .caption()"
    assert repr(Counts()).endswith("Next: .frame(), .plot(), .findings(), .caption()")
    assert "users" not in repr(Counts())

    class Numbered(Sized):
        n_systems = 7

    assert "7 systems" in repr(Numbered())
    html = Sized()._repr_html_()
    assert html.index("Counts of &lt;all&gt; kinds.") < html.index("0.3333")
    assert html.index("0.3333") < html.index("There are few.")


def test_a_result_without_a_figure_does_not_offer_one() -> None:
    class Framed(Lacking):
        def frames(self) -> Mapping[str, pd.DataFrame]:
            return {"n": pd.DataFrame({"n": [1]})}

    assert ".plot()" not in repr(Framed())


# Faces


FACE = FigureDeclaration("curves", "Curves of {units}")


def test_a_face_is_called_by_its_name_and_its_number() -> None:
    numbered = FigureDeclaration("curves", "{Units}", number=6)
    assert (FACE.file_stem, FACE.short, FACE.sort_key) == ("curves", "curves", float("inf"))
    assert (numbered.file_stem, numbered.short, numbered.sort_key) == ("figure6_curves", "fig6", 6)
    assert numbered.names == ("fig6", "curves", "figure6_curves")
    assert (title_of(FACE), title_of(numbered, "topic")) == ("Curves of users", "Topics")


def test_by_default_panels_share_their_axes_and_are_not_wide() -> None:
    assert (FACE.panels, FACE.comparable, FACE.part, FACE.over_cutoffs, FACE.wide) == (
        *(None, True, None, False, False),
    )


class Parts(Counts):
    """A result with parts."""

    measures = MEASURES
    there = Counts()
    absent = None


def test_a_figure_is_of_results_that_have_its_part_and_its_cut_offs() -> None:
    parts = Parts()
    without_curves = Counts()
    over_cutoffs = FigureDeclaration("c", "C", over_cutoffs=True)
    assert FACE.applies_to(without_curves)
    assert FigureDeclaration("c", "C", part="there").applies_to(parts)
    assert not FigureDeclaration("c", "C", part="absent").applies_to(parts)
    assert over_cutoffs.applies_to(parts)
    assert not over_cutoffs.applies_to(without_curves)
    assert FigureDeclaration("c", "C", part="there").caption(parts) == "Counts of <all> kinds."


def test_panels_are_metrics_or_what_a_result_has_of_another_kind() -> None:
    parts = Parts()
    of_metrics = FigureDeclaration("c", "C", panels="metric")
    over_cutoffs = FigureDeclaration("c", "C", panels="metric", over_cutoffs=True)
    of_kinds = FigureDeclaration("c", "C", panels="kind")
    assert of_metrics.panels_of(parts) == over_cutoffs.panels_of(parts) == ("P", "AP")
    assert of_kinds.panels_of(parts) == ("users", "items")


@dataclass(frozen=True, eq=False)
class Chosen(Lacking):
    """A result whose figures and tables have choices."""

    measures: Measures = MEASURES
    systems: tuple[str, ...] = ("a", "b")

    def caption(self) -> str:
        return "Choices."

    @table("table", "Table", alias="table3")
    def tabulated(self, *, convention: Literal["dp", "ordered"] = "dp") -> Table:
        return Table(convention, "", "", [], [])

    @figure("first", "First", panels="metric")
    def plot_first(self, ax: Axes, *, metric: str | None = None) -> Axes:
        assert type(self) is Chosen
        ax.plot([0, 1], [0, 1], label="a")
        ax.plot([0, 1], [0, 2], label="b")
        ax.fill_between([0, 1], [0, 1], [1, 2], label=f"{SPREAD}a")
        ax.set_title(f"{metric} {','.join(self.labels)}")
        return ax

    @figure("second", "Second", number=7, panels="metric")
    def plot_second(self, ax: Axes, *, metric: str, scale: Literal["log"] | None = None) -> Axes:
        ax.set_title(f"{metric} {scale}")
        return ax

    @figure("third", "Third")
    @figure("fourth", "Fourth")
    def plot_twice(self, ax: Axes) -> Axes:
        return ax


def test_tables_and_figures_are_listed_in_the_order_in_which_they_are_declared() -> None:
    (face,) = tables_of(Chosen)
    assert (face.name, face.title, face.alias, face.method) == (
        *("table", "Table", "table3", "tabulated"),
    )
    assert face.make(Chosen(), convention="ordered").name == "ordered"
    assert face.make(Chosen()).name == "dp"
    assert [face.name for face in figures_of(Chosen)] == ["first", "second", "third", "fourth"]
    assert (figures_of(Lacking), tables_of(Lacking)) == ([], [])


def test_choices_are_keywords_with_their_values_if_these_are_few() -> None:
    (of_table,) = tables_of(Chosen)
    first, second, *_ = figures_of(Chosen)
    assert choices_of(Chosen, of_table) == {"convention": ("dp", "ordered")}
    assert choices_of(Chosen, first) == {"metric": ()}
    assert choices_of(Chosen, second) == {"metric": (), "scale": ("log",)}


def test_the_first_panel_is_drawn_where_a_figure_must_be_told_of_one() -> None:
    assert Chosen().draw("first").get_title() == "None P@20,AP@20"
    assert Chosen().draw("fig7").get_title() == "P None"
    assert Chosen().draw("second", metric="AP", scale="log").get_title() == "AP log"
    first, second, third, _ = figures_of(Chosen)
    assert first.first_panel(Chosen()) == third.first_panel(Chosen()) == {}
    assert second.first_panel(Chosen()) == {"metric": "P"}


def test_a_metric_chooses_a_panel_and_a_measure_what_is_shown() -> None:
    face, *_ = figures_of(Chosen)
    of_panel, own = face.split_options(Chosen(), {"metric": "AP", "width": 2.0})
    assert (own, of_panel.set_options) == ({"metric": "AP"}, {"width": 2.0})
    of_measure, own = face.split_options(Chosen(), {"metric": "P@5"})
    assert (own, of_measure.set_options) == ({}, {"measures": ("P@5",)})
    with pytest.raises(InputError, match="first has no 'colour' to choose; there are measures"):
        face.split_options(Chosen(), {"colour": "red"})
    titles = [Chosen().plot_first(**{key: value}).get_title() for key, value in CHOICES]
    assert titles == ["AP P@20,AP@20", "None P@5", "None P@20"]


CHOICES: list[tuple[str, Any]] = [("metric", "AP"), ("metric", "P@5"), ("measures", "P")]


def test_a_figure_in_a_notebook_has_5_by_3_6_inches_and_the_usual_look() -> None:
    ax = Chosen().plot_first()
    drawn = ax.get_figure(root=True)
    assert isinstance(drawn, Figure)
    assert drawn.get_size_inches().tolist() == [5, 3.6]
    assert not ax.spines["top"].get_visible()
    chosen = Chosen().plot_first(width=3.0, height=2.0, bands=False, title=False, system="b")
    figure_of_two = chosen.get_figure(root=True)
    assert isinstance(figure_of_two, Figure)
    assert figure_of_two.get_size_inches().tolist() == [3, 2]
    assert [len(chosen.collections), chosen.get_title()] == [0, ""]
    assert [line.get_label() for line in chosen.lines] == ["b"]


def test_axes_of_a_reader_keep_their_look() -> None:
    given = Figure().subplots()
    assert Chosen().plot_first(given) is given
    assert given.spines["top"].get_visible()
    assert len(given.lines) == 2
    with mpl.rc_context({"font.size": 17}):
        other = Figure().subplots()
        Chosen().plot_first(other, title=True)
        assert float(other.title.get_fontsize()) > 17
    assert other.get_title() == "None P@20,AP@20"


def test_keywords_that_a_method_takes_all_are_its_own() -> None:
    class Every(Lacking):
        @figure("any", "Any")
        def plot_any(self, ax: Axes, **chosen: Any) -> Axes:
            ax.set_title(str(sorted(chosen)))
            return ax

    assert Every().plot_any(width=2.0, colour="red").get_title() == "['colour', 'width']"
