"""A run of a study of systems: what they are judged on, and what the analyses of it need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from analyses.shared.analysis import Analysis, Need
from harness.metrics.shared.metric import Metric
from harness.study.collection import Collection
from harness.study.item_catalogue import read_catalogue
from harness.study.study import Study
from harness.study.study_run import StudyRun
from qrels import Catalogue
from qrels.ranks.judged_ranks import VALIDATIONS, Validation


@dataclass(frozen=True)
class SystemsRun(StudyRun):
    """A run of a study of systems; see `StudyRun`.

    Parameters
    ----------
    collection
        What the systems are judged on.
    metrics
        The metrics by name.
    references
        By name, the metrics of the reference measures, which order the systems by the truth.
    """

    study: Study
    collection: Collection
    metrics: Mapping[str, Metric]
    references: Mapping[str, Metric]

    @cached_property
    def analyses(self) -> list[tuple[Analysis[Any, Any], Any]]:
        """The analyses of the study, with their settings."""
        return list(self.study.analyses.chosen())

    @cached_property
    def needs(self) -> frozenset[Need]:
        """What the analyses need beside the lists."""
        needs: set[Need] = set()
        for analysis, settings in self.analyses:
            needs |= analysis.all_needs(settings)
        return frozenset(needs)

    @cached_property
    def hidden_validations(self) -> tuple[Validation, ...]:
        """Validations under which metrics need ranks of hidden items; empty if none does."""
        needs: set[Validation] = set()
        for metric in self.metrics.values():
            needs.update(metric.needs)
        return tuple(validation for validation in VALIDATIONS if validation in needs)

    @cached_property
    def catalogue(self) -> Catalogue:
        """What metrics may know of items, before systems are trained."""
        return read_catalogue(self.study.items, self.collection)
