"""Correlation: whether cut-offs, and metrics, order the systems alike.

Figures 1 and 5 of Valcarce et al. (2018).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.drawing import axes_or_new, curves_of
from analyses.measure import Measure, Scores
from analyses.ordering import DECIMALS, tau_b

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class Correlation:
    """Kendall's tau-b between the orderings of the systems by any two measures.

    Parameters
    ----------
    measures
        Labels of both axes.
    systems
        The systems ordered.
    taus
        float64 of shape (n_measures, n_measures); NaN where a measure ties all systems.
    """

    measures: tuple[Measure, ...]
    systems: tuple[str, ...]
    taus: NDArray[np.float64]

    def among_cutoffs(self) -> pd.DataFrame:
        """Pairs of cut-offs of one metric: columns metric, cutoff_a, cutoff_b, tau."""
        import pandas as pd

        rows = [
            (a.metric, a.cutoff, b.cutoff, self.taus[i, j])
            for i, a in enumerate(self.measures)
            for j, b in enumerate(self.measures)
            if a.metric == b.metric
        ]
        return pd.DataFrame(rows, columns=["metric", "cutoff_a", "cutoff_b", "tau"])

    def among_metrics(self) -> pd.DataFrame:
        """Pairs of metrics at one cut-off: columns metric_a, metric_b, cutoff, tau."""
        import pandas as pd

        rows = [
            (a.metric, b.metric, a.cutoff, self.taus[i, j])
            for i, a in enumerate(self.measures)
            for j, b in enumerate(self.measures)
            if a.cutoff == b.cutoff
        ]
        frame = pd.DataFrame(rows, columns=["metric_a", "metric_b", "cutoff", "tau"])
        return frame.sort_values("cutoff", kind="stable", ignore_index=True)

    def to_frame(self) -> pd.DataFrame:
        """All pairs of measures: columns metric_a, cutoff_a, metric_b, cutoff_b, tau."""
        import pandas as pd

        rows = [
            (a.metric, a.cutoff, b.metric, b.cutoff, self.taus[i, j])
            for i, a in enumerate(self.measures)
            for j, b in enumerate(self.measures)
        ]
        columns = ["metric_a", "cutoff_a", "metric_b", "cutoff_b", "tau"]
        return pd.DataFrame(rows, columns=columns)

    def plot(
        self, ax: Axes | None = None, *, metric: str | None = None, cutoff: int | None = None
    ) -> Axes:
        """Draw a table of taus: cut-offs of one metric, or metrics at one cut-off.

        Parameters
        ----------
        ax
            Axes to draw on; new ones by default.
        metric, cutoff
            Exactly one of them.
        """
        ax = axes_or_new(ax)
        chosen = [n for n, _, _ in curves_of(self.measures, metric=metric, cutoff=cutoff)]
        labels = [self._label(n, metric) for n in chosen]
        _draw_table(ax, self.taus[np.ix_(chosen, chosen)], labels)
        ax.set_title(metric if metric is not None else f"cut-off {cutoff}")
        return ax

    def caption(self) -> str:
        """Say what the numbers are."""
        return (
            f"Kendall's tau-b between the orderings of {len(self.systems)} systems by mean "
            f"score. Means are compared to {DECIMALS} decimals; a dash marks an ordering in which "
            "all systems tie."
        )

    def _label(self, number: int, metric: str | None) -> str:
        measure = self.measures[number]
        return str(measure.cutoff) if metric is not None else measure.metric


def correlate(scores: Scores) -> Correlation:
    """Compare the orderings of the systems by all measures.

    Parameters
    ----------
    scores
        Scores of the systems; their means order them.
    """
    means = scores.means()
    taus = tau_b(means[:, None, :], means[None, :, :])
    return Correlation(scores.measures, scores.systems, taus)


def _draw_table(ax: Axes, taus: NDArray[np.float64], labels: list[str]) -> None:
    """Print every tau in a cell whose shade, from 0 or the lowest to 1, repeats it."""
    lowest = float(np.nanmin(taus, initial=0.0))
    ax.imshow(taus, cmap="Blues", vmin=lowest, vmax=1.0, aspect="auto")
    ax.set_xticks(range(len(labels)), labels, rotation=90)
    ax.set_yticks(range(len(labels)), labels)
    ax.tick_params(length=0)
    dark = lowest + 0.6 * (1.0 - lowest)
    for (row, column), tau in np.ndenumerate(taus):
        colour = "white" if tau > dark else "black"
        size = 8 if len(labels) < 9 else 6
        text = _in_cell(tau)
        ax.text(column, row, text, ha="center", va="center", color=colour, fontsize=size)


def _in_cell(tau: float) -> str:
    """Print a tau shortly.

    Examples
    --------
    >>> [_in_cell(tau) for tau in (1.0, 0.905, -0.2, np.nan)]
    ['1', '.91', '-.20', '–']
    """
    if np.isnan(tau):
        return "–"
    return "1" if tau == 1.0 else f"{tau:.2f}".replace("0.", ".")
