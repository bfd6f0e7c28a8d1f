"""The gate of ``discriminate``: whether a candidate is good enough beside a baseline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from analyses.discrimination import TESTS_IN_WORDS
from analyses.shared.measure import Measures
from analyses.shared.number_format import rounded
from analyses.shared.sentences import format_p_value
from runs import InputError
from runs.shared.arrays import Floats, Masks
from runs.shared.errors import counted, require_known

if TYPE_CHECKING:
    from analyses.discrimination import Discrimination

DECIMALS = 4
"""Decimals of differences in sentences."""


@dataclass(frozen=True, eq=False)
class Gate:
    """Whether a candidate is good enough beside a baseline, by each measure.

    Without a margin, a measure fails the candidate whose mean is significantly worse. With one, it
    fails a candidate that is not shown to be less than the margin worse: a one-sided t-test of
    non-inferiority, which few users fail, too. The candidate passes if no measure fails it.

    Parameters
    ----------
    candidate, baseline
        Names of the two systems.
    measures
        The measures.
    losses
        By how much the candidate's mean is worse, in the units of each measure, of shape
        (n_measures,); below 0 where it is better.
    largest_losses
        One-sided upper confidence limits of the losses, at 1 - alpha, by Student's t, of shape
        (n_measures,); NaN for a single user.
    p_values
        Two-sided p-values of the differences, adjusted if that was asked for: (n_measures,).
    test
        The test of these p-values, in words.
    alpha
        Significance level of either test.
    margin
        The smallest loss that matters, in the units of the measure; None for no such test.
    """

    candidate: str
    baseline: str
    measures: Measures
    losses: Floats
    largest_losses: Floats
    p_values: Floats
    test: str
    alpha: float
    margin: float | None

    @property
    def passes(self) -> Masks:
        """Marks of the measures by which the candidate is good enough, of shape (n_measures,)."""
        if self.margin is not None:
            # A limit that is NaN shows nothing.
            return self.largest_losses < self.margin
        is_worse = (self.losses > 0) & (self.p_values <= self.alpha)
        return ~is_worse

    def sentences(self) -> list[str]:
        """Write for each measure what was found, and then whether the candidate passes."""
        sentences = []
        for number, measure in enumerate(self.measures):
            verdict = "passed" if self.passes[number] else "failed"
            if self.margin is None:
                finding = self._difference_sentence(number)
            else:
                finding = self._margin_sentence(number, self.margin)
            sentences.append(f"{measure}: {verdict}. {finding}")
        n_failed = int(np.count_nonzero(~self.passes))
        verdict = "passes: no measure fails it"
        if self.margin is None:
            verdict += ", which does not show that it is as good (--margin would)"
        if n_failed:
            n_measures = counted(len(self.measures), "measure")
            verb = "fails" if n_failed == 1 else "fail"
            verdict = f"does not pass: {n_failed} of {n_measures} {verb} it"
        sentences.append(f"Beside {self.baseline}, {self.candidate} {verdict}.")
        return sentences

    def _difference_sentence(self, number: int) -> str:
        """Write whether the candidate is significantly worse by the measure of this position."""
        loss = float(self.losses[number])
        comparison = "is not significantly worse than"
        if not self.passes[number]:
            comparison = "is significantly worse than"
        direction = "worse" if loss > 0 else "better"
        size = rounded(abs(loss), DECIMALS)
        p_value = format_p_value(float(self.p_values[number]))
        return (
            f"{self.candidate} {comparison} {self.baseline}: its mean is {size} {direction} "
            f"({p_value}, two-sided {self.test}, level {rounded(self.alpha, 2)})."
        )

    def _margin_sentence(self, number: int, margin: float) -> str:
        """Write whether the candidate is shown to be within the margin by a measure."""
        limit = float(self.largest_losses[number])
        confidence = f"{100 * (1 - self.alpha):g} %"
        shown = "is shown" if self.passes[number] else "is not shown"
        bound = f"at most {rounded(limit, DECIMALS)} worse"
        if limit < 0:
            bound = f"at least {rounded(-limit, DECIMALS)} better"
        if np.isnan(limit):
            bound = "of unknown distance, as there is one user alone"
        return (
            f"{self.candidate} {shown} to be less than {margin:g} worse than {self.baseline}: with "
            f"{confidence} confidence it is {bound} (one-sided t-test of non-inferiority)."
        )


def require_candidate(candidate: str, baselines: Sequence[str], systems: Sequence[str]) -> None:
    """Refuse, with InputError, a candidate that is no system, or is itself a baseline."""
    require_known("no system is called", [candidate], list(systems))
    if candidate in baselines:
        raise InputError(f"the candidate {candidate!r} cannot be its own baseline.")


def gates_of(result: Discrimination, candidate: str) -> list[Gate]:
    """Compare a candidate with each baseline of the tests of pairs.

    ``result`` has a baseline at least. Its arrays are of shape (n_measures, n_pairs); differences
    are those of the first system of a pair less the second.
    """
    p_values = result.p if result.p_adjusted is None else result.p_adjusted
    reach = result.one_sided_reach()
    first_is_better_by = result.measures.signs[:, np.newaxis] * result.differences
    gates = []
    for baseline in result.baseline:
        if (candidate, baseline) in result.pairs:
            pair = result.pairs.index((candidate, baseline))
            losses = -first_is_better_by[:, pair]
        else:
            pair = result.pairs.index((baseline, candidate))
            losses = first_is_better_by[:, pair]
        gates.append(
            Gate(
                candidate=candidate,
                baseline=baseline,
                measures=result.measures,
                losses=losses,
                largest_losses=losses + reach[:, pair],
                p_values=p_values[:, pair],
                test=TESTS_IN_WORDS[result.test],
                alpha=result.alpha,
                margin=result.margin,
            )
        )
    return gates
