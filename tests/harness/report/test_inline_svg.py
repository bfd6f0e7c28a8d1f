"""Drawings of a study folder within a page: what is kept of them, and that nothing else is."""

import re
from html import unescape
from xml.etree import ElementTree

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analyses.shared.drawing import label_curves
from analyses.shared.figure_formats import as_svg
from analyses.shared.figures import draw_panels
from harness.report.inline_svg import InlineFigure, inline_figure
from runs import InputError


def inlined(svg: str, *, prefix: str = "a") -> InlineFigure:
    return inline_figure(
        svg.encode(), source="figure.svg", prefix=prefix, style="wide", description='"<b>" & c'
    )


def drawing(content: str) -> str:
    return (
        '<svg xmlns:xlink="http://www.w3.org/1999/xlink" width="504pt" viewBox="0 0 504 200.5" '
        f'xmlns="http://www.w3.org/2000/svg">{content}</svg>'
    )


def drawn() -> Figure:
    def draw(ax: Axes) -> Axes:
        for name in ("<P>", "AP", "RR"):
            ax.plot([1, 2], [3, 4], "o-", label=name)
        label_curves(ax)
        ax.set_xlabel("users")
        return ax

    return draw_panels({"": draw})


def elements(markup: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(markup).iter())


@pytest.mark.slow
def test_a_figure_keeps_its_texts_marks_and_titles() -> None:
    svg = as_svg(drawn())
    figure = inline_figure(svg, source="", prefix="f", style="wide", description="Curves.")
    before = list(ElementTree.fromstring(svg).iter())
    after = elements(figure.markup)
    space = "{http://www.w3.org/2000/svg}"
    for name in ("path", "use", "text", "title"):
        texts = [element.text or "" for element in before if element.tag == f"{space}{name}"]
        assert len(texts) > 3
        assert [element.text or "" for element in after if element.tag == name] == texts
    assert figure.width == 504
    assert figure.smallest_text == 8
    assert len(figure.markup) < len(svg) / 2


@pytest.mark.slow
def test_what_is_used_is_defined_once_under_the_prefix() -> None:
    figure = inline_figure(as_svg(drawn()), source="", prefix="f", style="", description="")
    ids = [element.get("id", "") for element in elements(figure.markup) if element.get("id")]
    used = {element.get("href", "") for element in elements(figure.markup)} - {""}
    clips = set(re.findall(r"url\(#([^)]*)\)", figure.markup))
    assert len(ids) == len(set(ids))
    assert {f"#{name}" for name in ids} >= used
    assert set(ids) >= clips
    assert used
    assert all(name.startswith("f") for name in ids)


@pytest.mark.parametrize(
    "content",
    [
        "<script>alert(1)</script>",
        "<style>body { display: none }</style>",
        '<a href="https://example.org"><text>t</text></a>',
        "<foreignObject><p>t</p></foreignObject>",
        '<image href="https://example.org/a.png"/>',
        '<image href="data:image/svg+xml;base64,AAAA"/>',
        '<use href="https://example.org/a.svg#b"/>',
        '<path onclick="alert(1)" d="M 0 0"/>',
        '<path style="fill: url(https://example.org/a)"/>',
        '<path fill="expression(alert(1));"/>',
        '<h:script xmlns:h="http://www.w3.org/1999/xhtml">alert(1)</h:script>',
        '<animate attributeName="href" values="javascript:alert(1)"/>',
    ],
)
def test_nothing_but_shapes_and_texts_gets_into_the_page(content: str) -> None:
    markup = inlined(drawing(content)).markup
    assert not re.search(r"script|style|example|alert|onclick|foreign|<a|<p>|svg\+xml", markup)


def test_texts_cannot_smuggle_in_html() -> None:
    figure = inlined(drawing("<text>&lt;script&gt;</text><title>&lt;b&gt;</title>"))
    assert "<script" not in figure.markup
    assert "<b>" not in figure.markup
    root, text, title = elements(figure.markup)
    assert (text.text, title.text) == ("<script>", "<b>")
    assert root.get("aria-label") == '"<b>" & c'


def test_a_style_becomes_attributes() -> None:
    style = "font: italic 700 8.5px 'DejaVu Sans', sans-serif; text-anchor: middle; fill: #ff0000"
    _, text = elements(inlined(drawing(f'<text style="{style}">a</text>')).markup)
    assert text.attrib == {
        "text-anchor": "middle",
        "fill": "#ff0000",
        "font-size": "8.5",
        "font-weight": "700",
        "font-style": "italic",
    }


def test_what_the_elements_of_a_group_share_is_stated_once_and_inherited() -> None:
    both = '<path d="M 0 0" style="fill: red"/><path d="M 1 1" style="fill: red; stroke: blue"/>'
    _, group, first, second = elements(inlined(drawing(f"<g>{both}</g>")).markup)
    assert group.attrib == {"fill": "red"}
    assert first.attrib == {"d": "M 0 0"}
    assert second.attrib == {"d": "M 1 1", "stroke": "blue"}
    different = '<g><path style="fill: red"/><path style="fill: blue"/></g>'
    _, first, second = elements(inlined(drawing(different)).markup)
    assert [first.get("fill"), second.get("fill")] == ["red", "blue"]


def test_definitions_keep_what_they_state() -> None:
    """They inherit from where they are used, and not from the group around them."""
    content = (
        '<g style="fill: red"><defs><path id="m" style="fill: red"/></defs>'
        '<use xlink:href="#m"/></g><use xlink:href="#m"/>'
    )
    (path,) = [e for e in elements(inlined(drawing(content)).markup) if e.tag == "path"]
    assert path.get("fill") == "red"


def test_coordinates_have_two_decimals() -> None:
    figure = inlined(drawing('<path d="M 1.23456 -0.001 &#10;L 100.5 3e-07"/>'))
    _, path = elements(figure.markup)
    assert path.get("d") == "M 1.23 -0 L 100.5 3e-07"


@pytest.mark.parametrize(
    ("svg", "why"),
    [
        ("", "no figure that can be shown"),
        ("<svg>", "no figure that can be shown"),
        ("<html/>", "not a figure as the harness draws it"),
        ('<svg xmlns="http://www.w3.org/2000/svg"/>', "not a figure as the harness draws it"),
        (drawing("<g>" * 5000 + "</g>" * 5000), "too many groups"),
    ],
)
def test_what_is_no_figure_is_refused_by_name(svg: str, why: str) -> None:
    with pytest.raises(InputError, match=f"figure.svg: .*{why}"):
        inlined(svg)


def test_a_figure_without_text_has_none_that_is_small() -> None:
    assert inlined(drawing("<path/>")).smallest_text == float("inf")
    assert unescape(inlined(drawing("")).markup).endswith("></svg>")
