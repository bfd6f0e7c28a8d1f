"""The analyses of a study, one per file: what each makes of runs and scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from analyses.sampled.sampled_studies import STUDIES, evidence_of
from harness.analysing.correlation import analyse_correlation
from harness.analysing.discrimination import analyse_discrimination
from harness.analysing.online import analyse_online
from harness.analysing.popularity import analyse_popularity
from harness.analysing.sampled import analyse_sampled
from harness.analysing.sparsity import analyse_sparsity
from harness.analysing.users import analyse_users
from harness.analysing.work import Output, Work
from harness.study.study import Study

__all__ = ["ANALYSES", "Output", "Work", "wanted"]

ANALYSES: Mapping[str, Callable[[Work], Output]] = {
    "correlation": analyse_correlation,
    "sparsity": analyse_sparsity,
    "popularity": analyse_popularity,
    "users": analyse_users,
    "discrimination": analyse_discrimination,
    "online": analyse_online,
} | {evidence_of(study): partial(analyse_sampled, study=study) for study in STUDIES}


def wanted(study: Study) -> list[tuple[str, dict[str, Any]]]:
    """Name the analyses of a study, with their settings."""
    section = study.analyses.sampled
    sections = study.analyses.model_dump(mode="json", exclude={"sampled"})
    if section is not None:
        sections |= {evidence_of(name): STUDIES[name].settings(section) for name in section.studies}
    return [(name, sections[name]) for name in ANALYSES if sections.get(name) is not None]
