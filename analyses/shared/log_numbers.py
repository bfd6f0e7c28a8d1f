"""Numbers beside logarithmic axes; imported where figures are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.ticker import LogFormatterMathtext

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class _PlainLogNumbers(LogFormatterMathtext):
    """Numbers beside a logarithmic axis where matplotlib's formulas stand, such as 100 or 1e-05."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Write the number of a tick, if matplotlib writes one there, else nothing."""
        is_labelled = bool(super().__call__(x, pos))
        return f"{x:g}" if is_labelled else ""


def write_plain_numbers(ax: Axes) -> None:
    """Write powers beside logarithmic axes as plain numbers: no text is parsed as a formula."""
    for axis in (ax.xaxis, ax.yaxis):
        base = getattr(axis.get_transform(), "base", 10.0)
        if isinstance(axis.get_major_formatter(), LogFormatterMathtext):
            axis.set_major_formatter(_PlainLogNumbers(base=base))
        if isinstance(axis.get_minor_formatter(), LogFormatterMathtext):
            axis.set_minor_formatter(_PlainLogNumbers(base=base, labelOnlyBase=False))
