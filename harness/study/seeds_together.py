"""What a study found under several seeds, put together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from analyses.intervals.systems import deviation_over_systems
from analyses.shared.estimate import Estimates, deviations
from analyses.shared.measure import Measures
from harness.report.repeats import Repeats, root_mean_square
from harness.report.study_folder import FinishedStudy

Floats = NDArray[np.float64]


def gather(folders: Sequence[Path], seeds: Sequence[int], results: Sequence[str]) -> Repeats:
    """Put together what a study found under each seed."""
    studies = [FinishedStudy(f, {"study": f.name, "results": list(results)}) for f in folders]
    means = [study.means for study in studies]
    reported = means[0].measures.reported
    systems = means[0].systems
    found = [{each.name: each for each in _headlines(study)} for study in studies]
    names = [name for name in found[0] if all(name in others for others in found)]
    of_first = [found[0][name] for name in names]
    by_seed = [[each[name] for each in found] for name in names]

    def gathered(number: Callable[[Estimates], Floats | None]) -> Floats:
        every = [[_by_measure(number(e), e, reported) for e in of] for of in by_seed]
        return np.array(every).reshape(len(names), len(seeds), -1).swapaxes(1, 2)

    def over_systems(estimates: Estimates) -> Floats | None:
        within = estimates.within
        return None if within is None else deviation_over_systems(within, len(systems))

    return Repeats(
        measures=reported,
        systems=systems,
        seeds=tuple(seeds),
        quantities=tuple(names),
        subjects=tuple(each.subject for each in of_first),
        in_words=tuple(each.quantity for each in of_first),
        falling=np.array([each.lower_is_better for each in of_first], dtype=np.bool_),
        values=gathered(lambda each: each.values),
        users=root_mean_square(gathered(lambda each: deviations(each.replicates))),
        over_systems=root_mean_square(gathered(over_systems)),
        means=np.stack([each.values[each.measures.numbers(reported)] for each in means], axis=-1),
    )


def _headlines(study: FinishedStudy) -> Iterator[Estimates]:
    for _, result in study.results():
        headline = result.headline()
        if headline is not None:
            yield headline


def _by_measure(found: Floats | None, estimates: Estimates, reported: Measures) -> Floats:
    """Give what was found for each report measure, along the last axis; NaN where nothing was."""
    made, own = np.full(len(reported), np.nan), estimates.measures
    for place, measure in enumerate(reported):
        if found is not None and measure in own:
            made[place] = found[own.index(measure)]
    return made
