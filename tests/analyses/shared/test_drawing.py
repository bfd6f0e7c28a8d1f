"""Curves can be told apart: by their names, one by one, in grey, and by the colour-blind."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from analyses.shared.drawing import COLOURS, EndLabels, categories, draw_band, label_curves

# Machado, Oliveira & Fernandes (2009), Table 1, severity 1.0: of linear RGB.
DEUTERANOPIA = np.array(
    [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ]
)
# IEC 61966-2-1: linear sRGB to CIE XYZ under D65.
XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)
WHITE = XYZ.sum(axis=1)


def linear() -> np.ndarray:
    """The colours of curves as linear RGB."""
    rgb = np.array([to_rgb(colour) for colour in COLOURS])
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> np.ndarray:
    """CIELAB, whose distances are those that are seen: 2.3 are just noticed."""
    share = rgb @ XYZ.T / WHITE
    x, y, z = np.where(share > 0.008856, np.cbrt(share), 7.787 * share + 16 / 116).T
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


def to_the_next(seen: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.norm(seen - np.roll(seen, -1, axis=0), axis=-1))


def test_neighbouring_colours_differ_to_the_colour_blind() -> None:
    seen = lab(np.clip(linear() @ DEUTERANOPIA.T, 0, 1))
    assert to_the_next(seen).min() > 40


def test_curves_that_are_named_at_their_ends_have_marks_of_their_own() -> None:
    styles = [style for _, style in categories(range(9))]
    assert len({style["marker"] for style in styles}) == 9


def drawn(names: list[str], heights: list[float]) -> Axes:
    """Level curves with bands, named."""
    ax, places = Figure().subplots(), np.array([1.0, 2.0])
    for height, (label, style) in zip(heights, categories(names), strict=True):
        values = np.full(2, height)
        draw_band(ax, places, (values - 1, values + 1), style, label=label)
        ax.plot(places, values, label=label, **style)
    label_curves(ax)
    return ax


def heights_of_names(ax: Axes) -> dict[str, float]:
    """Heights of names, in sizes of their type, as they are drawn."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = ax.get_figure(root=True)
    assert figure is not None
    FigureCanvasAgg(figure).draw()  # type: ignore[no-untyped-call]
    (labels,) = (artist for artist in ax.artists if isinstance(artist, EndLabels))
    size = float(labels.names[0].get_fontsize()) * figure.dpi / 72
    return {name.get_text(): name.get_position()[1] / size for name in labels.names}


def test_names_stand_in_the_order_of_the_ends_of_their_curves() -> None:
    found = heights_of_names(drawn(["low", "high", "mid"], [1.0, 9.0, 5.0]))
    assert found["low"] < found["mid"] < found["high"]


def test_names_of_curves_that_end_together_do_not_cover_each_other() -> None:
    found = sorted(heights_of_names(drawn(["a", "b", "c"], [3.0, 3.0, 3.0])).values())
    assert np.diff(found).min() > 1
