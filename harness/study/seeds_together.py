"""What a study found under several seeds, put together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

from analyses.shared.estimate import Estimates
from analyses.shared.measure import Measures
from harness.report.repeats import Repeats
from harness.report.study_folder import FinishedStudy
from harness.report.tables import estimates_of

NORMAL_WIDTH = 2 * 1.959963984540054
"""Standard errors in a 95 % interval."""


def gather(folders: Sequence[Path], seeds: Sequence[int], results: Sequence[str]) -> Repeats:
    """Put together what a study found under each seed.

    Parameters
    ----------
    folders, seeds
        Where each is, that of the study first.
    results
        Keys of the results.
    """
    studies = [FinishedStudy(f, {"study": f.name, "results": list(results)}) for f in folders]
    means = [study.means for study in studies]
    reported = means[0].measures.reported
    found = [{each.name: each for _, each in estimates_of(study)} for study in studies]
    names = [name for name in found[0] if all(name in others for others in found)]
    of_first = [found[0][name] for name in names]
    by_seed = [[each[name] for each in found] for name in names]
    shape = (len(names), len(reported))
    return Repeats(
        measures=Measures(reported, falling=reported.falling),
        systems=means[0].systems,
        seeds=tuple(seeds),
        quantities=tuple(names),
        subjects=tuple(each.subject for each in of_first),
        falling=np.array([each.lower_is_better for each in of_first], dtype=np.bool_),
        values=np.array([[_values(e, reported) for e in every] for every in by_seed])
        .reshape(len(names), len(seeds), -1)
        .swapaxes(1, 2),
        errors=np.array([list(_errors(each, reported)) for each in of_first]).reshape(shape),
        signs=np.array(
            [[list(_signs(e, reported)) for e in every] for every in by_seed], dtype=np.int8
        )
        .reshape(len(names), len(seeds), -1)
        .swapaxes(1, 2),
        means=np.stack([each.values[each.measures.numbers(reported)] for each in means], axis=-1),
    )


def _values(estimates: Estimates, reported: Measures) -> list[float]:
    found = estimates.of(reported)
    return [found[label].value if label in found else math.nan for label in reported.labels]


def _errors(estimates: Estimates, reported: Measures) -> Iterator[float]:
    found = estimates.of(reported)
    for label in reported.labels:
        known = found.get(label)
        yield math.nan if known is None else (known.high - known.low) / NORMAL_WIDTH


def _signs(estimates: Estimates, reported: Measures) -> Iterator[int]:
    for a, b in combinations(reported, 2):
        if a not in estimates.measures or b not in estimates.measures:
            yield 0
            continue
        difference = estimates.difference(a, b, among=estimates.every_two)
        sign = -1 if estimates.lower_is_better else 1
        yield int(difference.is_beyond_noise) * sign * (1 if difference.value > 0 else -1)
