"""What a study found, in plain words: every sentence is computed from its results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from analyses.shared.analysis import register_with
from analyses.shared.sentences import best_of, deeper_or_shallower, listed
from harness.report.checks import checks_of
from harness.report.study_folder import FinishedStudy
from harness.report.tables import estimates_of


@dataclass(frozen=True)
class Summary:
    """What was found, and what to bear in mind: sentences."""

    findings: tuple[str, ...]
    cautions: tuple[str, ...]


def summarise(study: FinishedStudy) -> Summary:
    """Say in plain words what the results of a study show."""
    every = [estimates for _, estimates in estimates_of(study)]
    results = [result for _, result in study.results()]
    found = (
        *map(best_of, every),
        *map(deeper_or_shallower, every),
        *(finding for result in results for finding in result.findings()),
    )
    findings = dict.fromkeys(map(study.worded, found))
    known = [np.isfinite(estimates.low).any() for estimates in every]
    cautions = (
        *(check.sentence for check in checks_of(study)),
        *_intervals(any(known)),
        f"Robust and discriminative is not the same as right: {_of_right(study)}.",
    )
    return Summary(tuple(filter(None, findings)), cautions)


def _of_right(study: FinishedStudy) -> str:
    register = register_with(study.plugins)
    truly = [key for key in study.kinds if key in register and "truth" in register[key].needs]
    if not truly:
        return "none of these numbers says whether a metric measures what users want"
    return (
        f"what says whether a metric measures what users want is {listed(truly)} alone, as far as "
        "the truth is what they want"
    )


def _intervals(are_known: bool) -> Iterator[str]:
    if are_known:
        yield (
            "Intervals (in brackets, 95 %) of numbers are of each alone; those of differences, and "
            "what is called beyond noise, hold for all that a sentence compares at once."
        )
