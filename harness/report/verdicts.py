"""Which measures the contested pairs of systems confirm, and which they rule out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

import numpy as np

from analyses.shared.families import CONFIDENCE
from analyses.shared.limits import ONE_SIDED_QUANTILE
from analyses.shared.measure import Measure
from analyses.shared.measure_estimates import Estimates

Verdict = Literal["confirmed", "open", "ruled out"]

CONFIRMED: Final = "confirmed"
OPEN: Final = "open"
RULED_OUT: Final = "ruled out"

SMALLEST_MARGIN = 0.10
"""Share of the contested pairs within which measures are equally good; see `margin_of_pairs`."""

PAIRS_OF_MARGIN = 3
"""The margin is so many pairs at least."""

FEWEST_PAIRS = 10
"""With fewer contested pairs, the choice of a measure hardly matters."""


def margin_of_pairs(n_contested: int) -> float:
    """Compute the margin within which measures are equally good: a share of the contested pairs.

    It is 10 %, and three pairs at least. Raises ZeroDivisionError for 0 pairs.
    """
    return max(SMALLEST_MARGIN, PAIRS_OF_MARGIN / n_contested)


@dataclass(frozen=True, eq=False)
class Verdicts:
    """What the shares of the contested pairs say of each candidate, in some respects.

    A candidate is confirmed in a respect if, with a confidence of 95 %, no other is better by more
    than the margin. It is ruled out if some other is better by more than the margin, with a
    confidence of 95 % over all respects. It is confirmed if it is so in all respects, and ruled out
    if it is so in one.

    Parameters
    ----------
    respects
        The shares of the contested pairs, by the analysis that has them. All have replicates of the
        same users.
    margin
        Share of the contested pairs within which measures are equally good.
    all_sources
        Whether verdicts are for other systems and settings too, and not for these alone.
    """

    respects: Mapping[str, Estimates]
    margin: float
    all_sources: bool = False

    @cached_property
    def measures(self) -> tuple[Measure, ...]:
        """The candidates that have a share in every respect, in the order of the first."""
        if not self.respects:
            return ()
        first, *others = self.respects.values()
        return tuple(
            measure
            for measure in first.measures
            if all(measure in respect.measures for respect in others)
        )

    @cached_property
    def by_respect(self) -> dict[str, dict[Measure, Verdict]]:
        """The verdict on each candidate in each respect, by analysis."""
        return {
            key: {measure: self._verdict(respect, measure) for measure in self.measures}
            for key, respect in self.respects.items()
        }

    @cached_property
    def overall(self) -> dict[Measure, Verdict]:
        """The verdict on each candidate in all respects."""
        return {
            measure: overall_verdict(verdicts[measure] for verdicts in self.by_respect.values())
            for measure in self.measures
        }

    def with_verdict(self, verdict: Verdict) -> list[Measure]:
        """List the candidates with this verdict in all respects."""
        return [measure for measure, overall in self.overall.items() if overall == verdict]

    def _verdict(self, respect: Estimates, measure: Measure) -> Verdict:
        """Decide on a candidate in one respect, by its distance from every other candidate.

        ``respect`` has the shares of the contested pairs, (n_measures,). Advantages are the shares
        of the others less that of the candidate, (n_others,), with standard deviations. The
        candidate is confirmed if all one-sided 95 % limits above (1.645 deviations) are at most the
        margin; ruled out if a limit below, for all others at once, is above the margin, with a
        confidence of 95 % over all respects. A single candidate is confirmed.
        """
        others = [other for other in self.measures if other != measure]
        if not others:
            return CONFIRMED
        first = np.array(respect.measures.indices(others))
        second = np.full(len(others), respect.measures.index(measure))
        advantages = respect.values[first] - respect.values[second]
        deviations = respect.deviations_of_differences(first, second, all_sources=self.all_sources)
        # Limits that are NaN decide nothing.
        upper_limits = advantages + ONE_SIDED_QUANTILE * deviations
        if (upper_limits <= self.margin).all():
            return CONFIRMED
        confidence = 1 - (1 - CONFIDENCE) / len(self.respects)
        quantile = respect.quantile_of_differences(first, second, confidence=confidence)
        lower_limits = advantages - quantile * deviations
        return RULED_OUT if (lower_limits > self.margin).any() else OPEN


def overall_verdict(verdicts: Iterable[Verdict]) -> Verdict:
    """Join the verdicts of several respects: ruled out by one, confirmed by all, else open."""
    collected: Sequence[Verdict] = list(verdicts)
    if RULED_OUT in collected:
        return RULED_OUT
    return CONFIRMED if all(verdict == CONFIRMED for verdict in collected) else OPEN
