"""Settings of studies of sampled metrics, each declared once, and how they are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeVar

from pydantic import Field

from analyses.sampled.estimators import Estimator, find_estimator
from analyses.sampled.estimators.ht_plugin import HorvitzThompson
from analyses.sampled.expectation.crossings import refuse_whole_precision
from analyses.sampled.expectation.metrics import RankMetric, rank_metric
from analyses.sampled.samples.designs import SampleDesign, require_rising, sizes_suited
from analyses.shared.analysis import AnalysisSettings, Given, SettingError
from qrels import FullRanks
from runs import InputError
from runs.shared.members import Sizes, Whole, read_by

Value = TypeVar("Value")

METRICS = ("Recall@10", "nDCG@10", "AP", "AUC")
ESTIMATORS = (
    "uncorrected",
    "rank-estimate(denominator=m+1)",
    "cls(nonnegative=true)",
    "bv(gamma=0.1)",
    "mle(iters=100)",
)


def read_metrics(names: Sequence[str | RankMetric]) -> tuple[RankMetric, ...]:
    """Read metrics of ranks, each another, that tell systems apart."""
    read = distinct([rank_metric(name) for name in names], "metric")
    for metric in read:
        refuse_whole_precision(metric)
    return read


def read_estimators(names: Sequence[str | Estimator]) -> tuple[Estimator, ...]:
    """Read estimators for uniform samples, each another."""
    read = distinct([find_estimator(name) for name in names], "estimator")
    for estimator in read:
        if isinstance(estimator, HorvitzThompson):
            raise InputError(f"{estimator} is for samples of a proposal, and these are uniform.")
    return read


def distinct(values: Sequence[Value], what: str) -> tuple[Value, ...]:
    """Give values, of which there must be one, and each must be another."""
    if not values:
        raise InputError(f"there must be at least one {what}.")
    for number, value in enumerate(values):
        if value in values[:number]:
            raise InputError(f"the {what} {value} is duplicated.")
    return tuple(values)


MetricNames = Annotated[
    tuple[str, ...],
    read_by(read_metrics),
    Field(description="Metrics of ranks: AUC, AP, RR, nDCG, P, Recall, with a cut-off or not."),
]
Negatives = Annotated[Whole, Field(ge=1, description="Sampled for each user; no relevant items.")]
Replace = Annotated[bool, Field(strict=True, description="Whether an item may be sampled twice.")]
Largest = Annotated[
    Whole | None,
    Field(
        description="What adaptive samples grow to; by default 32 times the negatives, or to a "
        "third of the candidates."
    ),
]
EstimatorNames = Annotated[
    tuple[str, ...],
    read_by(read_estimators),
    Field(description="What the exact metrics are estimated by, with options."),
]
SampleSizes = Annotated[
    Sizes | None,
    Field(description="Negatives of the studies `sizes` and `cost`; by default some twelve."),
]


class RankSettings(AnalysisSettings):
    """What is asked of ranks among all candidates."""

    def check(self, given: Given) -> None:
        """Refuse to study ranks that runs do not have, and samples that the data do not have."""
        if not given.has_training:
            raise SettingError(
                "studies",
                "[analyses.sampled] needs ranks among all candidates, which runs do not have: "
                "begin with [ratings] and train systems, or give a table of ranks to "
                "`harness sampled`.",
            )
        try:
            self.designs(given.best_ranks())
        except InputError as error:
            raise SettingError("negatives", str(error)) from None

    def designs(self, ranks: FullRanks) -> object:
        """Give the ways in which users of these ranks are sampled, if they can be; here none."""
        return ()


class DrawnSettings(RankSettings):
    """How samples are drawn, and what is estimated from them."""

    metrics: MetricNames = METRICS
    replace: Replace = True


class SampleSettings(DrawnSettings):
    """Samples that are drawn again and again."""

    negatives: Negatives = 100
    repeats: Whole = Field(100, ge=2, description="Samples of each system.")

    def fixed(self, ranks: FullRanks) -> SampleDesign:
        """Give samples of one size, which these users must have."""
        design = SampleDesign((self.negatives,), self.replace)
        design.check(ranks)
        return design


class GrowingSettings(SampleSettings):
    """Samples of one size, and adaptive ones that grow from it."""

    n_max: Largest = None

    def growing(self, ranks: FullRanks) -> SampleDesign:
        """Give adaptive samples, whether these users can have them or not."""
        return SampleDesign.suited(ranks, n0=self.negatives + 1, n_max=self.n_max)


def checked_sizes(sizes: Sequence[int] | None, ranks: FullRanks) -> tuple[int, ...]:
    """Give rising numbers of negatives; by default 10, 20, 50, ... to a third of the candidates."""
    chosen = sizes_suited(ranks) if sizes is None else tuple(sizes)
    require_rising(chosen)
    return chosen
