"""What metrics of samples are expected to be, by the number of negatives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.ordering import tau_b
from analyses.sampled.estimators import bv, uncorrected
from analyses.sampled.expectation.crossings import (
    DECIMALS,
    first_of,
    met,
    ordering_of,
    print_ordering,
)
from analyses.sampled.samples.designs import (
    SampleDesign,
    require_negatives,
    require_rising,
    round_numbers,
)
from analyses.sampled.shared.facts import best_in_colour
from analyses.sampled.shared.sampling_experiment import Experiment, experiment
from analyses.sampled.shared.settings import DrawnSettings, SampleSizes
from analyses.sampled.shared.trials import Way
from analyses.shared.analysis import analysis
from analyses.shared.drawing import COLOURS, DASHES, draw_band, label_curves, scale_by_factors
from analyses.shared.result import figure, table
from analyses.shared.table import Table
from qrels import FullRanks

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.work import Work

Floats = NDArray[np.float64]

ESTIMATORS = (uncorrected(), bv(0.1))
"""Linear ones that learn nothing from the sample: their expectation is known."""

WIDE = 2
"""Metrics further apart than by this factor are drawn on a logarithmic scale."""

MOST_COLOURS = len(COLOURS)
"""Systems that are told apart in a figure; the others are grey."""


class Settings(DrawnSettings):
    """Expected metrics by the number of negatives."""

    sizes: SampleSizes = None

    def designs(self, ranks: FullRanks) -> tuple[int, ...]:
        """Give the numbers of negatives; by default 1, 2, 5, 10, ... as far as all users go."""
        if self.sizes is None:
            return round_numbers(int(ranks.n_irrelevant.min()))
        require_rising(self.sizes)
        for m in (self.sizes[0], self.sizes[-1]):
            require_negatives(m, ranks.n_irrelevant)
        return tuple(self.sizes)


@analysis("sizes", source="Krichene & Rendle (2020), figure 6", needs=("full_ranks",))
def sizes(work: Work, settings: Settings) -> Sizes:
    """Expect metrics of systems from samples of several sizes, without simulation.

    Standard deviations are left out where users have several relevant items, which hang together.

    Examples
    --------
    All four negatives of five candidates give the exact metric:

    >>> from analyses.shared.work import RanksAlone
    >>> work = RanksAlone({"one": FullRanks.of([1, 4], n_candidates=5)})
    >>> found = sizes(work, Settings(metrics=("AP",), sizes=(1, 4), replace=False))
    >>> found.to_frame()[["expected", "expected_sd", "exact"]].head(2).round(4).values.tolist()
    [[0.8125, 0.1083, 0.625], [0.625, 0.0, 0.625]]
    """
    numbers = settings.designs(first_of(work.full_ranks))
    ways = [Way(one, SampleDesign((m,), settings.replace)) for m in numbers for one in ESTIMATORS]
    return experiment(Sizes, work, settings, ways)


@dataclass(frozen=True, eq=False)
class Sizes(Experiment):
    """Expected estimates of metrics, and their spread, for some numbers of negatives."""

    label, curves = "Expecting sampled metrics", False

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give what is expected, and where the order of systems changes."""
        return {"sampled_sizes": self.to_frame(), "sampled_crossings": self.crossings()}

    def crossings(self) -> pd.DataFrame:
        """Say from which number of negatives on, of those looked at, systems are ordered how.

        Returns
        -------
        Columns estimator, metric, m, ordering, and whether it is the exact one.
        """
        import pandas as pd

        exact = np.round(self.exact, DECIMALS)
        expected = np.moveaxis(self.by_size(np.round(self.expected, DECIMALS)), 0, -1)
        rows = [
            (estimator, metric, self.sizes[place], print_ordering(ordering), ordering == truth)
            for e, estimator in enumerate(self.distinct)
            for n, metric in enumerate(self.metrics)
            for truth in [ordering_of(self.systems, exact[n])]
            for place, ordering in met(self.systems, expected[e, n])
        ]
        return pd.DataFrame(rows, columns=["estimator", "metric", "m", "ordering", "exact"])

    @table("sampled_sizes", "agreement of expected with exact orders of the systems, by negatives")
    def agreement(self) -> Table:
        """Tabulate how well the expected order of the systems agrees with the exact one."""
        # (n_ways, n_metrics, n_systems) against (n_metrics, n_systems)
        taus = self.by_size(tau_b(self.expected, self.exact))
        return Table(
            name="sampled_sizes",
            title="Agreement (tau-b) of the expected with the exact order of the systems, "
            "by negatives",
            note=self.caption(),
            headings=["metric, estimator", *(f"{m:,}" for m in self.sizes)],
            rows=[
                [f"{metric}, {estimator}", *taus[:, e, n].tolist()]
                for n, metric in enumerate(self.metrics)
                for e, estimator in enumerate(dict.fromkeys(self.names))
            ],
        )

    @figure(
        "sampled_sizes",
        "Sampled negatives: expected metrics by their number",
        number=13,
        panels="metric",
        comparable=False,
    )
    def plot(self, ax: Axes | None = None, *, metric: str | None = None) -> Axes:
        """Draw one metric against the negatives, and the exact values at the right edge.

        The first metric by default, on new axes by default. Of many systems the best by the first
        metric have colours, and the others are grey.
        """
        ax, frame = self.panel(ax, metric)
        number = self.metrics.index(frame["measure"].iloc[0])
        # Both are (n_sizes, n_estimators, n_systems).
        expected, spreads = (
            self.by_size(of)[:, :, number]
            for of in (self.expected, np.sqrt(self.expected_variance))
        )
        order = self.exact[0].argsort(kind="stable")[::-1].tolist()
        for system, label, style in best_in_colour(self.systems, order, most=MOST_COLOURS):
            style |= {} if label is None else {"linewidth": 1, "markersize": 2.5}
            ends = {"color": style["color"], "marker": "<", "markersize": 4, "clip_on": False}
            ax.plot(1, self.exact[number, system], **ends, transform=ax.get_yaxis_transform())
            curves = expected[:, :, system].T, spreads[:, :, system].T
            for dash, curve, sd in zip(DASHES, *curves, strict=False):
                own = {**style, "linestyle": dash}
                ax.plot(self.sizes, curve, label=label if dash == DASHES[0] else None, **own)
                if len(self.systems) <= MOST_COLOURS:
                    limits = curve - sd, curve + sd
                    draw_band(ax, np.array(self.sizes), limits, own, label=None)
        for dash, estimator in zip(DASHES, dict.fromkeys(self.names), strict=False):
            ax.plot([], [], color="0.3", linestyle=dash, linewidth=1, label=estimator)
        ax.scatter([], [], s=16, color="0.3", marker="<", label="exact")
        self._scale_axes(ax, np.append(expected, self.exact[number]))
        label_curves(ax)
        return ax

    def _scale_axes(self, ax: Axes, drawn: Floats) -> None:
        """Scale so that all curves are seen, whatever their bands."""
        from matplotlib.ticker import LogLocator

        lowest, highest = drawn.min(), drawn.max()
        if lowest > 0 and highest > WIDE * lowest:
            scale_by_factors(ax, along="y")
            ax.set_ylim(lowest / 1.1, highest * 1.1)
        else:
            margin = 0.05 * (highest - lowest) or 0.05
            ax.set_ylim(lowest - margin, highest + margin)
        ax.set(xscale="log", xlabel="sampled negatives", ylabel="expected from samples")
        ax.xaxis.set_major_locator(LogLocator(numticks=9))
        ax.xaxis.set_major_formatter("{x:,.0f}")

    def caption(self) -> str:
        """Say what is shown."""
        curves = ""
        if len(self.systems) > MOST_COLOURS:
            curves = f"The {MOST_COLOURS} best systems by exact {self.metrics[0]} are in colour. "
        elif not np.isnan(self.expected_variance).all():
            curves = "Bands are one standard deviation over samples, not of the users. "
        return (
            f"Expected estimates of metrics of {self.counted} from m sampled "
            f"negatives, against m, not simulated, and the exact values (arrows). {curves}"
            f"{self.of_samples}"
        )
