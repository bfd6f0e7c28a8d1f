"""What metrics of samples are expected to be, by the number of negatives, without simulation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from analyses.ordering import tau_b
from analyses.sampled.estimates import RankSettings
from analyses.sampled.estimators import find_estimator, path_for
from analyses.sampled.expectation import (
    empty_cells,
    expected_estimates,
    first_of,
    ordering_of,
    orderings,
    print_ordering,
)
from analyses.sampled.labels import Ranked, how_drawn, round_numbers, tidy, with_cutoffs
from analyses.sampled.metrics import METRICS, MetricNames, read_metrics
from analyses.sampled.samples import require_negatives
from analyses.shared.analysis import analysis
from analyses.shared.drawing import (
    DASHES,
    axes_or_new,
    categories,
    chosen_panel,
    label_curves,
    scale_by_factors,
)
from analyses.shared.measure import Measure, Measures
from analyses.shared.result import Result, figure, table
from analyses.shared.table import Table
from qrels import FullRanks
from runs import InputError
from runs.shared.settings import Sizes as Numbers
from runs.shared.threads import single_threaded

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.work import Work

Floats = NDArray[np.float64]

ESTIMATORS = ("uncorrected", "bv(gamma=0.1)")


class Settings(RankSettings):
    """Expected metrics by the number of negatives."""

    metrics: MetricNames = METRICS
    replace: bool = Field(True, strict=True, description="Whether an item may be sampled twice.")
    sizes: Numbers | None = Field(
        None,
        description="Numbers of negatives of the study sizes; default: 1, 2, 5, 10, ... up to all.",
    )

    def check_ranks(self, ranks: FullRanks) -> None:
        """Refuse samples that these users lack."""
        self.numbers(ranks)

    def numbers(self, ranks: FullRanks) -> tuple[int, ...]:
        """Give the numbers of negatives."""
        if self.sizes is None:
            return round_numbers(int(ranks.n_irrelevant.min()))
        if not self.sizes or sorted(self.sizes) != list(self.sizes):
            raise InputError(f"`sizes` must rise, got {list(self.sizes)}.")
        require_negatives(self.sizes[-1], ranks.n_irrelevant, name="sizes")
        return self.sizes


@analysis("sizes", source="Krichene & Rendle (2020), figure 6", needs=("full_ranks",))
def sizes(work: Work, settings: Settings) -> Sizes:
    """Expect metrics of systems, uncorrected and by BV(0.1), from samples of several sizes.

    Examples
    --------
    All four negatives of five candidates give the exact metric:

    >>> from analyses.shared.work import RanksAlone
    >>> work = RanksAlone({"one": FullRanks.of([1, 4], n_candidates=5)})
    >>> found = sizes(work, Settings(metrics=("AP",), sizes=(1, 4), replace=False))
    >>> found.expected[:, 0].round(4).ravel().tolist(), found.exact.tolist()
    ([0.8125, 0.625], [[0.625]])
    """
    systems, metrics = work.full_ranks, read_metrics(settings.metrics)
    first = first_of(systems)
    numbers, estimators = settings.numbers(first), [find_estimator(name) for name in ESTIMATORS]
    found = np.empty((2, len(numbers), len(estimators), len(metrics), len(systems)))
    with work.progress("Expecting sampled metrics", len(numbers)) as bar, single_threaded("blas"):
        for n, m in enumerate(numbers):
            for s, ranks in enumerate(systems.values()):
                empty = empty_cells(ranks, m, replace=settings.replace, path=path_for(metrics))
                for e, one in enumerate(estimators):
                    found[:, n, e, :, s] = expected_estimates(
                        one,
                        ranks,
                        metrics,
                        empty=empty,
                        filled=lambda empty=empty, ranks=ranks: empty.expected(ranks),  # type: ignore[misc]
                    )
            bar.advance()
    return Sizes(
        measures=Measures(Measure(str(metric)) for metric in metrics),
        systems=tuple(systems),
        estimators=tuple(map(str, estimators)),
        negatives=numbers,
        exact=np.array([[one.exact(ranks) for ranks in systems.values()] for one in metrics]),
        expected=found[0],
        variance=found[1],
        ranked=Ranked.of(first),
        replace=settings.replace,
    )


@dataclass(frozen=True, eq=False)
class Sizes(Result):
    """Expected estimates of metrics, and their spread over samples, by number of negatives.

    Parameters
    ----------
    measures, systems, estimators, negatives
        Labels of axes.
    exact
        Metrics among all candidates: (n_metrics, n_systems).
    expected, variance
        Of shape (n_sizes, n_estimators, n_metrics, n_systems); the variance is NaN where users have
        several relevant items.
    ranked, replace
        Of whom the ranks are, and how samples are drawn.
    """

    measures: Measures
    systems: tuple[str, ...]
    estimators: tuple[str, ...]
    negatives: tuple[int, ...]
    exact: Floats
    expected: Floats
    variance: Floats
    ranked: Ranked
    replace: bool

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics."""
        return self.measures.metrics

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give expectations, and from which number of negatives on systems are ordered how."""
        import pandas as pd

        axes = {"m": self.negatives, "estimator": self.estimators, "metric": self.metrics}
        numbers = {"expected": self.expected, "expected_sd": np.sqrt(self.variance)}
        frame = tidy({**axes, "system": self.systems}, **numbers, exact=self.exact)
        rows = [
            (estimator, metric, self.negatives[place], print_ordering(ordering), ordering == exact)
            for e, estimator in enumerate(self.estimators)
            for n, metric in enumerate(self.metrics)
            for exact in [ordering_of(self.systems, self.exact[n].round(12))]
            for place, ordering in orderings(self.systems, self.expected[:, e, n].T)
        ]
        headings = ["estimator", "metric", "m", "ordering", "exact"]
        return {
            "sampled_sizes": with_cutoffs(frame),
            "sampled_crossings": pd.DataFrame(rows, columns=headings),
        }

    @table("sampled_sizes", "agreement of expected with exact orders of the systems, by negatives")
    def agreement(self) -> Table:
        """Tabulate how well the expected order of the systems agrees with the exact one."""
        taus = tau_b(self.expected, self.exact)
        return Table(
            name="sampled_sizes",
            title="Agreement (tau-b) of the expected with the exact order, by negatives",
            note=self.caption(),
            headings=["metric, estimator", *(f"{m:,}" for m in self.negatives)],
            rows=[
                [f"{metric}, {name}", *taus[:, e, n].tolist()]
                for n, metric in enumerate(self.metrics)
                for e, name in enumerate(self.estimators)
            ],
        )

    @figure(
        "kdd2020-figure6",
        "Sampled negatives: expected metrics by their number",
        panels="metric",
        comparable=False,
    )
    def plot(self, ax: Axes | None = None, *, metric: str | None = None) -> Axes:
        """Draw one metric, by default the first, by number of negatives, and exact values."""
        number, ax = chosen_panel(self.metrics, metric), axes_or_new(ax)
        expected = self.expected[:, :, number]
        for system, (label, style) in enumerate(categories(self.systems)):
            ends = {"color": style["color"], "marker": "<", "markersize": 4, "clip_on": False}
            ax.plot(1, self.exact[number, system], **ends, transform=ax.get_yaxis_transform())
            for e, dash in zip(range(len(self.estimators)), DASHES, strict=False):
                own = style | {"linestyle": dash, "linewidth": 1, "markersize": 2.5}
                curve = expected[:, e, system]
                ax.plot(self.negatives, curve, label=None if e else label, **own)
        for dash, name in zip(DASHES, self.estimators, strict=False):
            ax.plot([], [], color="0.3", linestyle=dash, linewidth=1, label=name)
        ax.scatter([], [], s=16, color="0.3", marker="<", label="exact")
        if min(expected.min(), self.exact[number].min()) > 0:
            scale_by_factors(ax, along="y")
        ax.set(xscale="log", xlabel="sampled negatives", ylabel="expected from samples")
        ax.set_title(self.metrics[number])
        ax.xaxis.set_major_formatter("{x:,.0f}")
        label_curves(ax)
        return ax

    def caption(self) -> str:
        """Say what is shown."""
        return (
            f"Expected estimates of metrics of {len(self.systems):,} systems from m sampled "
            "negatives, not simulated, and the exact values (arrows). "
            f"{self.ranked} among n = {self.ranked.n} "
            f"candidates; negatives are drawn {how_drawn(self.replace)}."
        )
