"""What is compared with the truth, and the numbers that follow from it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from analyses.shared.drawing import chosen_panel
from analyses.shared.measure import Measures
from analyses.significance.permutation import pair_indices
from analyses.significance.question import Correction, Test
from analyses.verdicts.choice import put_first
from analyses.verdicts.pair_verdicts import RATES, PairVerdicts
from analyses.verdicts.truth_curves import TruthCurves
from analyses.verdicts.uncertain import Uncertain, between, limits_over_users

Floats = NDArray[np.float64]

ITSELF = "itself"
"""The name of the truth that is the same measure, on the true judgements."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """Measures beside the truth. All scores are such that more is better.

    Parameters
    ----------
    measures
        Label of the axis n_measures.
    systems
        Names of the systems; pairs are i < j, first by i, then by j.
    truths
        Label of the axis n_truths: the same measure on the truth, and the references.
    measured
        Mean scores, of shape (n_measures, n_systems).
    true
        True mean scores, of shape (n_truths, n_measures, n_systems).
    tau, tau_aps, regret
        Kendall's tau-b, tau_AP with the truth as reference, and the truth lost by choosing the
        system that the measure puts first; of shape (n_truths, n_measures).
    tau_replicates
        tau-b with resampled users, of shape (n_truths, n_measures, n_replicates).
    rates
        Power, type III and inverted, of shape (n_rates, n_truths, n_measures): see `PairVerdicts`.
        Limits over users are of the report measures alone.
    same_choice
        Share of the replicates in which a measure puts the same system first, of shape
        (n_measures,).
    p, true_p
        p-values of measured and true differences, corrected if that is asked for; of shapes
        (n_measures, n_pairs) and (n_truths, n_measures, n_pairs).
    attainable
        tau that is expected of a measure that is right, but for chance over users; of shape
        (n_truths, n_measures).
    sizes, user_taus
        Numbers of users, and tau-b with the truth of random subsets of them, of shape (n_truths,
        n_measures, n_sizes, n_repeats).
    kept, popular
        Curves over the share of judgements, and over that of items, that are kept; None where
        judgements are not known.
    n_users, n_true_users, n_shared
        Users of the study, of the truth, and of both.
    untold
        Names of measures that have no value on the truth.
    condensed
        Whether the truth is of lists that hold truly judged items alone.
    test, correction, alpha, seed, origin
        What was asked, and where the truth is from.
    """

    measures: Measures
    systems: tuple[str, ...]
    truths: tuple[str, ...]
    measured: Floats
    true: Floats
    tau: Uncertain
    tau_aps: Floats
    regret: Uncertain
    tau_replicates: Floats
    rates: Uncertain
    same_choice: Floats
    p: Floats
    true_p: Floats
    attainable: Floats
    sizes: tuple[int, ...]
    user_taus: Floats
    kept: TruthCurves | None
    popular: TruthCurves | None
    n_users: int
    n_true_users: int
    n_shared: int
    untold: tuple[str, ...]
    condensed: bool
    test: Test
    correction: Correction
    alpha: float
    seed: int
    origin: str

    @cached_property
    def verdicts(self) -> PairVerdicts:
        """What each measure says of every pair, marks of shape (n_truths, n_measures, n_pairs)."""
        return verdicts_of(self.measured, self.p, self.true, self.true_p, alpha=self.alpha)

    @property
    def robustness(self) -> Floats | None:
        """Mean tau-b with itself when judgements are lost, of shape (n_measures,)."""
        return None if self.kept is None else self.kept.robustness

    @property
    def main(self) -> str:
        """The truth that is told of where one is: the first reference."""
        return self.truths[1]

    def rate(self, name: str) -> Uncertain:
        """Give the power, the share of errors of type III, or that of inverted differences."""
        return self.rates.part(RATES.index(name))

    def place(self, truth: str | None = None) -> int:
        """Number a truth; by default the first reference."""
        return chosen_panel(self.truths, truth or self.main)

    def title(self, truth: str | None) -> str:
        """Name a truth, for titles."""
        return f"true {name}" if (name := truth or self.main) != ITSELF else "itself on the truth"

    def numbers(self, some: Measures) -> NDArray[np.intp]:
        """Number some measures."""
        return np.array(self.measures.numbers(some), dtype=np.intp)

    def best_first(self, some: Measures, truth: str | None = None) -> list[int]:
        """Number some measures, sorted by tau, falling; undefined ones last."""
        numbers = self.numbers(some)
        order = np.argsort(-self.tau.values[self.place(truth), numbers], kind="stable")
        return [int(number) for number in numbers[order]]

    def chosen(self, number: int) -> str:
        """Name the system that a measure puts first; several, if they tie."""
        return " = ".join(np.array(self.systems)[put_first(self.measured[number])])

    def behind(self, place: int, number: int, best: int) -> str:
        """Give the interval over users of how far one measure is behind another; paired."""
        if number == best:
            return ""
        taus, drawn = self.tau.values[place], self.tau_replicates[place]
        difference = taus[number] - taus[best]
        return between(limits_over_users(difference, drawn[number] - drawn[best]))


def verdicts_of(
    measured: Floats, p: Floats, true: Floats, true_p: Floats, *, alpha: float
) -> PairVerdicts:
    """Compare all pairs of systems, the last axis of means, by their differences and p-values."""
    first, second = pair_indices(measured.shape[-1])
    return PairVerdicts.of(
        measured[..., first] - measured[..., second],
        p,
        true[..., first] - true[..., second],
        true_p,
        alpha=alpha,
    )
