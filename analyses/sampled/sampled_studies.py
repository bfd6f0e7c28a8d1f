"""The studies of sampled metrics: what each is told, makes, tabulates and draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from analyses.sampled import (
    SampleSize,
    study_adaptive_sizes,
    study_correction,
    study_cost,
    study_iterations,
    study_prior,
    study_ranks,
    study_sample_size,
)
from analyses.sampled import sampled_tables as others
from analyses.sampled.curve_points import CURVES
from analyses.sampled.expectation.metrics import rank_metric
from analyses.shared.table import Table
from harness.sampled import estimates
from qrels import FullRanks

if TYPE_CHECKING:
    import pandas as pd
    from harness.catalogue import Result

    from harness.study.study import SampledSection

Maker: TypeAlias = Callable[..., Any]


@dataclass(frozen=True)
class SampledStudy:
    """A study of sampled metrics.

    Parameters
    ----------
    progress
        What is being done.
    make
        Makes its result from full ranks by system, and settings.
    settings
        What a section of a study file says to it.
    frames
        Its tables by name, in full.
    tables
        Its tables for reading.
    is_random
        Whether it samples, and so has a seed.
    """

    progress: str
    make: Maker
    settings: Callable[[SampledSection], dict[str, Any]]
    frames: Callable[[Any], Mapping[str, pd.DataFrame]]
    tables: Sequence[Callable[[Any], Table]]
    is_random: bool = True

    def run(
        self,
        systems: Mapping[str, FullRanks],
        section: SampledSection,
        *,
        seed: int,
        n_jobs: int,
        advance: Callable[[], object],
    ) -> Result:
        """Make the result; ``advance`` is called when a system is done."""
        asked = self.settings(section)
        if self.is_random:
            asked |= {"seed": seed, "n_jobs": n_jobs, "advance": advance}
        return self.make(systems, **asked)


SHARED = ("negatives", "replace", "n_max", "corrected_for", "repeats")


def _chosen(section: SampledSection, *names: str) -> dict[str, Any]:
    return {name: getattr(section, name) for name in names}


def _curves(section: SampledSection) -> tuple[str, ...]:
    """Name the metrics that have a curve over cut-offs, each once."""
    read = (rank_metric(name) for name in section.metrics)
    names = (str(replace(metric, cutoff=None)) for metric in read if metric.name != "AUC")
    return tuple(dict.fromkeys(names)) or CURVES


def _of_estimates(section: SampledSection) -> dict[str, Any]:
    return _chosen(section, "metrics", "estimators", *SHARED)


def _of_sizes(section: SampledSection) -> dict[str, Any]:
    chosen = _chosen(section, "metrics", "replace", "corrected_for")
    return chosen | {"negatives": section.sizes}


def _expect_sizes(systems: Mapping[str, FullRanks], **asked: Any) -> SampleSize:
    """Leave deviations out where users have several relevant items: they would take minutes."""
    alone = all((ranks.n_relevant == 1).all() for ranks in systems.values())
    return study_sample_size(systems, spread=alone, **asked)


def _of_cost(section: SampledSection) -> dict[str, Any]:
    changed = {"metrics": _curves(section), "negatives": section.sizes}
    return _chosen(section, "estimators", *SHARED) | changed | {"n0": section.negatives + 1}


def _of_adaptive(section: SampledSection) -> dict[str, Any]:
    return {"n0": section.negatives + 1, "n_max": section.n_max}


def _of_iterations(section: SampledSection) -> dict[str, Any]:
    return _chosen(section, "iterations", *SHARED) | {"metrics": _curves(section)}


def _of_priors(section: SampledSection) -> dict[str, Any]:
    names = [name for name in SHARED if name != "n_max"]
    return _chosen(section, "priors", *names) | {"metrics": _curves(section)}


def evidence_of(study: str) -> str:
    """Name what a study keeps, and its analysis.

    Examples
    --------
    >>> evidence_of("estimates"), evidence_of("cost")
    ('sampled', 'sampled_cost')
    """
    return "sampled" if study == "estimates" else f"sampled_{study}"


def _own_frame(study: str) -> Callable[[Any], Mapping[str, pd.DataFrame]]:
    return lambda result: {evidence_of(study): result.to_frame()}


def _frames_of_sizes(result: SampleSize) -> Mapping[str, pd.DataFrame]:
    return {"sampled_sizes": result.to_frame(), "sampled_crossings": result.crossings()}


STUDIES: Mapping[str, SampledStudy] = {
    "estimates": SampledStudy(
        "Estimating from samples",
        study_correction,
        _of_estimates,
        estimates.frames_of,
        (
            estimates.estimates_table,
            estimates.orders_table,
            estimates.errors_table,
            estimates.winners_table,
        ),
    ),
    "ranks": SampledStudy(
        "Counting ranks",
        study_ranks,
        lambda _: {},
        _own_frame("ranks"),
        (others.ranks_table,),
        is_random=False,
    ),
    "sizes": SampledStudy(
        "Expecting sampled metrics",
        _expect_sizes,
        _of_sizes,
        _frames_of_sizes,
        (others.sizes_table,),
        is_random=False,
    ),
    "cost": SampledStudy(
        "Estimating at all costs", study_cost, _of_cost, _own_frame("cost"), (others.cost_table,)
    ),
    "adaptive": SampledStudy(
        "Expecting adaptive sizes",
        study_adaptive_sizes,
        _of_adaptive,
        _own_frame("adaptive"),
        (others.adaptive_table,),
        is_random=False,
    ),
    "iterations": SampledStudy(
        "Iterating",
        study_iterations,
        _of_iterations,
        _own_frame("iterations"),
        (others.iterations_table,),
    ),
    "priors": SampledStudy(
        "Comparing priors", study_prior, _of_priors, _own_frame("priors"), (others.priors_table,)
    ),
}
"""All studies by name, in the order in which they are read."""

PLACED = frozenset(map(evidence_of, STUDIES))
"""Analyses that are made from full ranks."""
