"""How far estimates are off, against what their samples cost: scores computed for a user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from analyses.sampled.expectation.crossings import first_of
from analyses.sampled.expectation.designs import (
    Adaptive,
    Design,
    FixedSize,
    require_rising,
    sizes_suited,
)
from analyses.sampled.shared.curve_points import CUTOFFS, CurvePoints, mean_of_known
from analyses.sampled.shared.facts import Drawn, Ranked
from analyses.sampled.shared.repeated_samples import SampledSystem, each_system, takes
from analyses.sampled.shared.rows import tidy
from analyses.sampled.shared.sampled_result import RepeatedResult
from analyses.sampled.shared.settings import (
    ESTIMATORS,
    EstimatorNames,
    GrowingSettings,
    SampleSizes,
    read_estimators,
)
from analyses.shared.analysis import analysis
from analyses.shared.drawing import categories, legend_beside, scale_by_factors
from analyses.shared.result import figure, table
from analyses.shared.table import Cell, Table
from qrels import FullRanks

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.work import Work

Floats = NDArray[np.float64]


class Settings(GrowingSettings):
    """Errors of estimated curves from samples of several sizes."""

    estimators: EstimatorNames = ESTIMATORS
    sizes: SampleSizes = None

    def designs(self, ranks: FullRanks) -> list[Design]:
        """Give the samples of all sizes that some estimator takes, those of fixed size first.

        By default these are 10, 20, 50, 100, ... negatives up to a third of the fewest candidates.
        Adaptive samples grow from the relevant item and `negatives`, and smaller ends on the way
        are studied, too.
        """
        estimators = read_estimators(self.estimators)
        sizes = sizes_suited(ranks) if self.sizes is None else self.sizes
        require_rising(sizes)
        fixed = [FixedSize(m, self.replace) for m in sizes]
        for design in fixed:
            design.check(ranks)
        largest = self.growing(ranks)
        designs: list[Design] = []
        if any(takes(each, fixed[0]) for each in estimators):
            designs += fixed
        if any(takes(each, largest) for each in estimators):
            largest.check(ranks)
            designs += largest.on_the_way()
        return designs


@analysis("cost", source="Li et al. (2023), tables 1 and 2", needs=("full_ranks",))
def cost(work: Work, settings: Settings) -> Cost:
    r"""Sample negatives, few and many, and compare estimated curves with the exact ones.

    The error of a curve is

    .. math:: 100 \cdot \mathrm{mean}_{K = 1 .. 50} \frac{|\hat M@K - M@K|}{M@K}

    Curves of the metrics are looked at, whatever their cut-off. With thousands of negatives ``mn``
    takes much longer than the other estimators, a quarter of a minute for a system.

    Raises
    ------
    InputError
        If a name or number makes no sense, systems have different users, an estimator is not for
        uniform samples, or one for adaptive samples is asked for users with several relevant items.

    Examples
    --------
    Two negatives, or all four; those, without replacement, leave no error:

    >>> from analyses.shared.work import RanksAlone
    >>> work = RanksAlone({"one": FullRanks.of([1, 4], n_candidates=5)}, seed=1)
    >>> asked = {"metrics": ("Recall@1",), "estimators": ("uncorrected",), "replace": False}
    >>> found = cost(work, Settings(**asked, sizes=(2, 4), repeats=2))
    >>> found.samples, found.scored.ravel(), found.mean_errors()[0, 1]
    (('m = 2', 'm = 4'), array([3., 5.]), array([0.]))
    """
    first = first_of(work.full_ranks)
    points = CurvePoints.of_curves(settings.metrics)
    estimators = read_estimators(settings.estimators)
    designs = settings.designs(first)

    def find(system: SampledSystem) -> tuple[Any, ...]:
        shape = (len(estimators), len(designs), len(points.metrics), system.repeats)
        scored, errors = [], np.full(shape, np.nan)
        for place, design in enumerate(designs):
            samples = system.sample(design)
            scored.append(samples.scored)
            for number, each in enumerate(estimators):
                if takes(each, design):
                    values = points.estimates(each, samples.counted)
                    errors[number, place] = system.errors(values).T
        return scored, errors, system.zero_cutoffs

    scored, errors, zeros = each_system(work, "Estimating at all costs", settings, points, find)
    return Cost(
        measures=points.measures,
        systems=tuple(work.full_ranks),
        estimators=tuple(map(str, estimators)),
        samples=tuple(map(str, designs)),
        takes=np.array([[takes(each, design) for design in designs] for each in estimators]),
        scored=np.stack(scored, axis=-1),
        errors=np.stack(errors, axis=-2),
        zero_cutoffs=np.stack(zeros, axis=-1),
        ranked=Ranked.of(first),
        mean_candidates=_mean_candidates(first),
        drawn=Drawn(settings.replace, settings.corrected_for, work.seed, settings.draws),
        n_max=max((each.n_max for each in designs if isinstance(each, Adaptive)), default=0),
    )


def _mean_candidates(ranks: FullRanks) -> float:
    """Give the mean over the users, whatever the number of their relevant items."""
    return float(np.average(ranks.n_candidates, weights=1 / ranks.n_relevant))


@dataclass(frozen=True, eq=False)
class Cost(RepeatedResult):
    """Errors of estimates from samples of several sizes, and the items scored for them.

    Parameters
    ----------
    estimators, samples
        Labels of axes; measures are curves over cut-offs and have none in their name.
    takes
        Whether an estimator is for such samples, of shape (n_estimators, n_samples).
    scored
        Mean number of items scored for a user, the relevant ones included, of shape
        (n_samples, n_systems).
    errors
        Of shape (n_estimators, n_samples, n_metrics, n_systems, n_repeats); NaN also where the
        estimator is not for such samples.
    zero_cutoffs
        Cut-offs that were left out, because the truth is 0, of shape (n_metrics, n_systems).
    mean_candidates
        Mean number of candidates over the users: what an exact metric scores.
    n_max
        Largest adaptive sample; 0 if there are none.
    """

    estimators: tuple[str, ...]
    samples: tuple[str, ...]
    takes: NDArray[np.bool_]
    scored: Floats
    zero_cutoffs: NDArray[np.int64]
    mean_candidates: float
    n_max: int

    def to_frame(self) -> pd.DataFrame:
        """Give one row for each system, metric, estimator and sample that it is for.

        Returns
        -------
        Columns system, metric, estimator, sample; scored, the mean number of items scored for a
        user, and share, that of the candidates; error and error_sd over the repeats, in per cent;
        zero_cutoffs, the cut-offs left out.
        """
        scored = self.scored[:, np.newaxis]
        labels = {"estimator": self.estimators, "sample": self.samples, "metric": self.metrics}
        frame = tidy(
            {**labels, "system": self.systems},
            takes=self.takes[:, :, np.newaxis, np.newaxis],
            scored=scored,
            share=scored / self.mean_candidates,
            error=self.mean,
            error_sd=self.sd,
            zero_cutoffs=self.zero_cutoffs,
        )
        columns = ["system", "metric", "estimator", "sample", *frame.columns[5:]]
        return frame.loc[frame["takes"], columns].reset_index(drop=True)

    def mean_errors(self) -> Floats:
        """Mean over systems and repeats, of shape (n_estimators, n_samples, n_metrics).

        Systems whose truth is 0 at all cut-offs have no error and do not count; NaN if all are so.
        """
        return mean_of_known(self.mean)

    @table("sampled_cost", "relative errors, by sample")
    def by_sample(self) -> Table:
        """Tabulate mean errors by metric and sample, beside what the samples cost."""
        means, scored = self.mean_errors(), self.scored.mean(axis=1)
        rows: list[list[Cell]] = [
            [f"{metric}, {sample}", f"{scored[place]:,.1f}", *means[:, place, number].tolist()]
            for number, metric in enumerate(self.metrics)
            for place, sample in enumerate(self.samples)
        ]
        return Table(
            name="sampled_cost",
            title="Relative error in per cent, by sample; mean over the systems",
            note=self.caption(),
            headings=["metric, sample", "items scored", *self.estimators],
            rows=rows,
        )

    @figure(
        "sampled_cost",
        "Sampled negatives: error against cost",
        number=14,
        panels="metric",
        comparable=False,
    )
    def plot(self, ax: Axes | None = None, *, metric: str | None = None) -> Axes:
        """Draw errors of a metric's curve against items scored, a curve for each estimator.

        The first metric by default, on new axes by default.
        """
        ax, number = self.panel(ax, metric)
        errors, scored = self.mean_errors()[..., number], self.scored.mean(axis=1)
        # No error at all has no place on a logarithmic axis.
        errors = np.where(errors > 0, errors, np.nan)
        for (label, style), of_estimator, taken in zip(
            categories(self.estimators), errors, self.takes, strict=True
        ):
            ax.plot(scored[taken], of_estimator[taken], label=label, **style)
        scale_by_factors(ax, along="x")
        scale_by_factors(ax, along="y")
        ax.set_xlabel("items scored for a user")
        ax.set_ylabel("relative error, %")
        legend_beside(ax)
        return ax

    def caption(self) -> str:
        """Say what is shown."""
        return (
            f"Relative error of estimated curves of {', '.join(self.metrics)} at cut-offs "
            f"{CUTOFFS[0]} to {CUTOFFS[-1]}, in per cent, against the items scored for a user, the "
            f"relevant ones included: mean over {len(self.systems)} systems and {self.n_repeats:,} "
            f"samples of each size, seed {self.drawn.seed}, for {self.ranked}. "
            f"Exact metrics score all n = {self.ranked.n} candidates, in the mean "
            f"{self.mean_candidates:,.0f}. Samples: {'; '.join(self.samples)}. Those of m "
            f"negatives are drawn uniformly {self.drawn.how}. {self._of_adaptive()}"
            f"{self._of_zeros()}Corrections use {self.drawn.whose}. "
            f"Estimators: {'; '.join(self.estimators)}."
        )

    def _of_adaptive(self) -> str:
        if self.ranked.n_relevant > self.ranked.n_users:
            return "Adaptive samples are left out: they are for users with one relevant item each. "
        if not self.n_max:
            return ""
        return (
            "Adaptive ones, drawn with replacement, double from their first size up to their last "
            f"({self.n_max:,} items at most) while the relevant item is the first. "
        )

    def _of_zeros(self) -> str:
        if not self.zero_cutoffs.any():
            return ""
        return (
            f"Cut-offs where the truth is 0, up to {self.zero_cutoffs.max()} of a curve, are left "
            "out. "
        )
