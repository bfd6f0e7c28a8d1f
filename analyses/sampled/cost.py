"""How far estimates are off, against what their samples cost: scores computed for a user."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from analyses.sampled.expectation.crossings import first_of
from analyses.sampled.samples.designs import Design, FixedSize
from analyses.sampled.shared.facts import crossed
from analyses.sampled.shared.settings import (
    ESTIMATORS,
    EstimatorNames,
    GrowingSettings,
    SampleSizes,
    checked_sizes,
    read_estimators,
)
from analyses.sampled.shared.trials import Experiment, Way, experiment, takes
from analyses.shared.analysis import analysis
from analyses.shared.drawing import categories, label_curves, scale_by_factors
from analyses.shared.result import figure, table
from analyses.shared.table import Table
from qrels import FullRanks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from analyses.shared.work import Work


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
        largest = self.growing(ranks)
        sizes = checked_sizes(self.sizes, ranks)
        designs: list[Design] = [FixedSize(m, self.replace) for m in sizes]
        for design in designs:
            design.check(ranks)
        if any(takes(each, largest) for each in read_estimators(self.estimators)):
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

    Examples
    --------
    Two negatives, or all four; those, without replacement, leave no error:

    >>> from analyses.shared.work import RanksAlone
    >>> work = RanksAlone({"one": FullRanks.of([1, 4], n_candidates=5)}, seed=1)
    >>> asked = {"metrics": ("Recall@1",), "estimators": ("uncorrected",), "replace": False}
    >>> found = cost(work, Settings(**asked, sizes=(2, 4), repeats=2)).to_frame()
    >>> found["sample"].tolist(), found["scored"].tolist(), found["error"].iloc[1].item()
    (['m = 2', 'm = 4'], [3.0, 5.0], 0.0)
    """
    designs, every = settings.designs(first_of(work.full_ranks)), settings.estimators
    ways = [Way(one, d) for one in read_estimators(every) for d in designs if takes(one, d)]
    return experiment(Cost, work, settings, ways)


@dataclass(frozen=True, eq=False)
class Cost(Experiment):
    """Errors of estimates from samples of several sizes, and the items scored for them."""

    label = "Estimating at all costs"
    columns = (
        "system", "metric", "estimator", "sample", "scored", "share", "error", "error_sd",
        "zero_cutoffs",
    )  # fmt: skip

    @table("sampled_cost", "relative errors, by sample")
    def by_sample(self) -> Table:
        """Tabulate mean errors by metric and sample, beside what the samples cost."""
        frame = self.every_column()
        scored = frame.groupby("sample")["scored"].mean().map("{:,.1f}".format)
        found = crossed(
            frame,
            ["metric", "sample"],
            ["estimator"],
            "error",
            name="sampled_cost",
            title="Relative error in per cent, by sample; mean over the systems",
            note=self.caption(),
        )
        samples = frame.drop_duplicates(["metric", "sample"])["sample"]
        pairs = zip(found.rows, samples, strict=True)
        rows = [[row[0], scored[sample], *row[1:]] for row, sample in pairs]
        corner, *names = found.headings
        return replace(found, headings=[corner, "items scored", *names], rows=rows)

    @figure(
        "sampled_cost",
        "Sampled negatives: error against cost",
        number=14,
        panels="metric",
        comparable=False,
    )
    def plot(self, ax: Axes | None = None, *, metric: str | None = None) -> Axes:
        """Draw errors of a metric's curve against items scored, a curve for each estimator."""
        ax, frame = self.panel(ax, metric)
        # No error at all has no place on a logarithmic axis.
        frame["error"] = frame["error"].where(frame["error"] > 0)
        estimators = frame.groupby("estimator", sort=False)
        for (label, style), (_, own) in zip(categories(self.distinct), estimators, strict=True):
            means = own.groupby("way")[["scored", "error"]].mean()
            ax.plot(means["scored"], means["error"], label=label, **style)
        scale_by_factors(ax, along="x")
        scale_by_factors(ax, along="y")
        ax.set(xlabel="items scored for a user", ylabel="relative error, %")
        label_curves(ax)
        return ax

    def caption(self) -> str:
        """Say what is shown."""
        zeros = f"Cut-offs where the truth is 0, up to {self.zero_cutoffs.max()} of a curve, are "
        return (
            f"Relative error of estimated curves of {', '.join(self.metrics)} at cut-offs 1 to 50, "
            f"in per cent, against the items scored for a user, the relevant ones included: mean "
            f"over {len(self.systems)} systems. Exact metrics score in the mean "
            f"{self.mean_candidates:,.0f} candidates. {self.of_samples} "
            f"{f'{zeros}left out. ' if self.zero_cutoffs.any() else ''}"
            f"Estimators: {'; '.join(self.distinct)}."
        )
