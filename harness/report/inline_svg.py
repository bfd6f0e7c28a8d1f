"""Figures within a page: drawings of a study folder as SVG elements that hold nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from xml.etree import ElementTree

from runs import InputError

NAMESPACE = "{http://www.w3.org/2000/svg}"
HREF = "{http://www.w3.org/1999/xlink}href"

ELEMENTS = frozenset(
    {"g", "path", "rect", "circle", "text", "tspan", "use", "image", "defs", "clipPath", "title"}
)
"""Elements that are taken from a drawing, with their attributes of `ATTRIBUTES`."""

ATTRIBUTES = frozenset(
    {
        *("x", "y", "width", "height", "r", "cx", "cy", "d", "transform", "preserveAspectRatio"),
        *("fill", "fill-opacity", "fill-rule", "opacity", "clip-path", "clip-rule"),
        *("stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-dashoffset"),
        *("stroke-linecap", "stroke-linejoin", "stroke-miterlimit"),
        *("font-size", "font-weight", "font-style", "text-anchor"),
    }
)

INHERITED = frozenset(
    {
        *("fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray"),
        *("stroke-dashoffset", "stroke-linecap", "stroke-linejoin", "font-size", "text-anchor"),
    }
)
"""Attributes that the elements within a group take from it."""

SAFE_VALUE = re.compile(r"[-+#.,()\s\w]*|url\(#[-\w]+\)", flags=re.ASCII)
"""What the value of an attribute may be: numbers, names, colours, and places in the drawing."""

PICTURE = re.compile(r"data:image/png;base64,[A-Za-z0-9+/=\s]*")
"""The address of a picture that a drawing may hold: that of the picture itself."""

REFERENCE = re.compile(rb"""(?:href=["']|url\()#([-\w]+)""")
"""A reference to another element of a drawing."""

FONT = re.compile(r"(?P<style>italic|oblique)?\s*(?P<weight>bold|\d00)?\s*(?P<size>[\d.]+)px\b.*")
"""The font of a text as matplotlib writes it, such as "italic 700 8px 'DejaVu Sans'"."""

LONG_NUMBER = re.compile(r"-?\d+\.\d{2,}(?![\de])")
"""A number with more than one decimal, which a point of a page does not show."""

USUAL_TEXT = 10.0
"""Size of text without one, in points."""


@dataclass(frozen=True)
class InlineFigure:
    """A figure as an element of a page.

    Parameters
    ----------
    markup
        The element and all that it holds.
    width
        Its width in points.
    smallest_text
        The size of its smallest text, in points; infinite without a text.
    """

    markup: str
    width: float
    smallest_text: float


def inline_figure(
    svg: bytes, *, source: str, prefix: str, style: str, description: str
) -> InlineFigure:
    """Make a drawing the element of a page: its shapes, texts and titles, and nothing else.

    Styles become attributes, which the page's security policy allows. What a drawing of matplotlib
    does not have, such as scripts, links and styles of the page, is left out.

    Parameters
    ----------
    svg
        The file of the drawing.
    source
        Its name, for errors.
    prefix
        What ids within the drawing begin with; no other drawing of the page may have it.
    style
        Name of the element's class.
    description
        What the drawing shows, for those who do not see it.

    Raises
    ------
    InputError
        If the file is no SVG, or does not state its size in points.
    """
    try:
        root = ElementTree.fromstring(svg)
    except ElementTree.ParseError as error:
        raise InputError(f"{source}: no figure that can be shown: {error}.") from None
    view = re.fullmatch(r"0 0 ([\d.]+) ([\d.]+)", root.get("viewBox", ""))
    if root.tag != f"{NAMESPACE}svg" or view is None:
        raise InputError(f"{source}: not a figure as the harness draws it.")
    targets = sorted(set(REFERENCE.findall(svg)))
    new_ids = {target.decode(): f"{prefix}{number}" for number, target in enumerate(targets)}
    try:
        shapes = _shapes_in(root, new_ids)
        content = "".join(shape.markup({}) for shape in shapes)
        sizes = [float(text.attributes["font-size"]) for text in _texts_in(shapes)]
    except RecursionError:
        raise InputError(f"{source}: no figure that can be shown: too many groups.") from None
    markup = (
        f'<svg class="{style}" viewBox="0 0 {view[1]} {view[2]}" role="img" '
        f'aria-label="{escape(description)}">{content}</svg>'
    )
    return InlineFigure(markup, float(view[1]), min(sizes, default=float("inf")))


@dataclass(frozen=True)
class _Shape:
    """An element of a drawing, with what is kept of it.

    Parameters
    ----------
    name
        Its name, such as "path".
    attributes
        Its attributes by name.
    content
        The elements that it holds.
    text
        Its text.
    """

    name: str
    attributes: Mapping[str, str]
    content: tuple[_Shape, ...]
    text: str

    def markup(self, inherited: Mapping[str, str]) -> str:
        """Write the element without the attributes that it inherits from the groups around it.

        A group states what all of its elements have in common; a group without attributes is left
        out, and so is one that holds nothing.
        """
        shared = self._shared_by_content()
        attributes = {
            name: value
            for name, value in {**shared, **self.attributes}.items()
            if inherited.get(name) != value
        }
        within = {**inherited, **shared, **self._inherited_attributes()}
        if self.name == "defs":
            # What is defined here inherits from where it is used.
            within = {}
        content = "".join(shape.markup(within) for shape in self.content)
        is_group = self.name in ("g", "defs")
        if is_group and not content:
            return ""
        if self.name == "g" and not attributes:
            return content
        written = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())
        text = escape(self.text)
        if not content and not text:
            return f"<{self.name}{written}/>"
        return f"<{self.name}{written}>{text}{content}</{self.name}>"

    def _inherited_attributes(self) -> dict[str, str]:
        """Select the attributes that the elements within take from this one."""
        return {name: value for name, value in self.attributes.items() if name in INHERITED}

    def _shared_by_content(self) -> dict[str, str]:
        """Collect what all elements of a group state alike, where there are several."""
        if self.name != "g" or len(self.content) < 2:
            return {}
        first, *others = [shape._inherited_attributes() for shape in self.content]
        return {
            name: value
            for name, value in first.items()
            if all(other.get(name) == value for other in others)
        }


def _shapes_in(element: ElementTree.Element, new_ids: Mapping[str, str]) -> tuple[_Shape, ...]:
    """Take what is kept of the elements within an element, with all that they hold.

    ``new_ids`` has the id in the page by that in the drawing, of elements that are referred to.
    """
    shapes = []
    for child in element:
        name = child.tag.removeprefix(NAMESPACE)
        if name in ELEMENTS:
            text = child.text or ""
            shape = _Shape(
                name,
                attributes=_attributes_of(child, name, new_ids),
                content=_shapes_in(child, new_ids),
                text=text if name in ("text", "tspan", "title") else "",
            )
            shapes.append(shape)
    return tuple(shapes)


def _attributes_of(
    element: ElementTree.Element, name: str, new_ids: Mapping[str, str]
) -> dict[str, str]:
    """Collect the attributes of an element that are kept, those of its style among them."""
    attributes: dict[str, str] = {}
    identifier = element.get("id", "")
    if identifier in new_ids:
        attributes["id"] = new_ids[identifier]
    stated = {**element.attrib, **_declarations(element.get("style", ""))}
    for key, value in stated.items():
        if key in ATTRIBUTES and SAFE_VALUE.fullmatch(value):
            in_one_line = " ".join(value.split())
            attributes[key] = LONG_NUMBER.sub(_shorter, _renamed(in_one_line, new_ids))
    # A turn by no angle is no turn.
    if re.match(r"rotate\(-?0[ ,)]", attributes.get("transform", "")):
        del attributes["transform"]
    address = element.get(HREF, "") or element.get("href", "")
    target = new_ids.get(address.removeprefix("#"))
    if name == "use" and target is not None:
        attributes["href"] = f"#{target}"
    if name == "image" and PICTURE.fullmatch(address):
        attributes["href"] = re.sub(r"\s", "", address)
    if name == "text":
        attributes.setdefault("font-size", f"{USUAL_TEXT:g}")
    return attributes


def _declarations(style: str) -> dict[str, str]:
    """Split a style into its declarations by name; a font into size, weight and slant."""
    declarations = {}
    for declaration in style.split(";"):
        name, _, value = declaration.partition(":")
        declarations[name.strip()] = value.strip()
    font = FONT.fullmatch(declarations.pop("font", ""))
    if font is not None:
        declarations["font-size"] = font["size"]
        if font["weight"]:
            declarations["font-weight"] = font["weight"]
        if font["style"]:
            declarations["font-style"] = font["style"]
    size = declarations.get("font-size", "").removesuffix("px")
    if size:
        declarations["font-size"] = size
    return declarations


def _renamed(value: str, new_ids: Mapping[str, str]) -> str:
    """Replace the id in a reference, such as ``url(#p1)``, by that in the page."""
    reference = re.fullmatch(r"url\(#([-\w]+)\)", value)
    return value if reference is None else f"url(#{new_ids.get(reference[1], '')})"


def _shorter(number: re.Match[str]) -> str:
    """Round a number to a hundredth of a point."""
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


def _texts_in(shapes: Iterable[_Shape]) -> Iterator[_Shape]:
    """Go through all texts in shapes."""
    for shape in shapes:
        if shape.name == "text":
            yield shape
        yield from _texts_in(shape.content)
