"""What the answer says beside its verdicts: depth, whether the choice matters, and users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor, isfinite, isnan, log10
from typing import TYPE_CHECKING

import numpy as np

from analyses.shared.measure import Measure, Measures
from analyses.shared.measure_estimates import Estimates
from analyses.shared.number_format import rounded
from analyses.shared.sentences import listed, plural
from analyses.significance.permutation import pair_indices
from analyses.significance.power_samples import LEVEL
from runs.shared.arrays import Floats
from runs.shared.errors import counted

if TYPE_CHECKING:
    from analyses.discrimination import Discrimination

DEPTH_LOSS = 0.05
"""A cut-off is as good as the deepest one if it loses no more: of an area, a tau, a share."""


NOTABLE_TAU = 0.1
"""A difference of two taus that is worth a sentence."""


@dataclass(frozen=True, eq=False)
class Power:
    """Significant and detectable differences between systems, for each report measure.

    Parameters
    ----------
    measures
        The measures.
    n_significant
        Number of pairs of systems with a mid-p-value below .05, of shape (n_measures,).
    detectable
        The difference in means that is found with power .8 in the median pair, likewise.
    needed
        Users with whom 80 % of the pairs are expected to be significant, likewise; infinite where
        no number is enough, NaN where it is not known.
    n_pairs, n_users
        Numbers of pairs and users.
    """

    measures: Measures
    n_significant: Floats
    detectable: Floats
    needed: Floats
    n_pairs: int
    n_users: int

    @classmethod
    def of(cls, discrimination: Discrimination) -> Power:
        """Take the report measures of the tests of all pairs.

        ``discrimination`` has p-values and mid-p-values of shape (n_measures, n_pairs), and the
        difference that each measure can detect, (n_measures,).
        """
        measures = discrimination.measures.reported
        indices = discrimination.measures.indices(measures)
        is_significant = discrimination.mid_p[indices] < LEVEL
        n_significant = is_significant.sum(axis=1).astype(np.float64)
        detectable = discrimination.detectable()[indices]
        needed = discrimination.users_needed()[indices]
        n_pairs = discrimination.p.shape[1]
        return cls(
            measures=measures,
            n_significant=n_significant,
            detectable=detectable,
            needed=needed,
            n_pairs=n_pairs,
            n_users=discrimination.n_users,
        )

    def sentence(self, measure: Measure, unit: str) -> str:
        """Write whether the users are enough, how many are needed, and for what difference.

        ``unit`` is "user" or "topic".
        """
        index = self.measures.index(measure)
        difference = float(self.detectable[index])
        decimals = 3
        if 0 < difference < 1:
            decimals = max(3, 1 - floor(log10(difference)))
        users = counted(self.n_users, unit)
        n_significant = int(self.n_significant[index])
        pairs = f"{n_significant} of {counted(self.n_pairs, 'pair of systems')}"
        power = (
            f"With {users}, {measure} tells {pairs} apart; in a typical pair, it would find a "
            f"difference of {rounded(difference, decimals)} in means with a chance of 80 %"
        )
        needed = float(self.needed[index])
        if not isfinite(needed):
            return f"{power}."
        most_needed = counted(round(needed), unit)
        if needed <= self.n_users:
            return f"{power}. About {most_needed} are enough for 80 % of the pairs."
        return f"{power}. About {most_needed} are needed for 80 % of the pairs."


@dataclass(frozen=True, eq=False)
class Robustness:
    """Agreement of measures with themselves when judgements are lost, and what it is read beside.

    Numbers are mean taus over the levels of random loss, of shape (n_measures,); NaN where they are
    undefined.

    Parameters
    ----------
    measures
        The report measures.
    itself
        With the measure's own ordering on all judgements.
    reference
        With that by the truth, or by the other report measures.
    reference_in_words
        "the truth" or "the other measures".
    consistency
        Tau between the orderings on two halves of the users.
    """

    measures: Measures
    itself: Floats
    reference: Floats
    reference_in_words: str
    consistency: Floats

    def sentence(self, measure: Measure, unit: str) -> str:
        """Write with what a measure agrees when judgements are lost; "" where it matters little.

        It matters if a measure agrees more with itself than two halves of the users do, or by more
        than `NOTABLE_TAU` (.1) more than with the reference. ``unit`` is "user" or "topic".
        """
        index = self.measures.index(measure)
        itself = float(self.itself[index])
        reference = float(self.reference[index])
        consistency = float(self.consistency[index])
        if not (itself > consistency or itself - reference > NOTABLE_TAU):
            return ""
        sentence = (
            f"When judgements are lost at random, {measure} agrees with itself at tau = "
            f"{rounded(itself, 2)}"
        )
        if not isnan(reference):
            sentence += f", with {self.reference_in_words} at {rounded(reference, 2)}"
        if not isnan(consistency):
            sentence += f"; two halves of the {plural(unit)} agree at {rounded(consistency, 2)}"
        return f"{sentence}."


@dataclass(frozen=True, eq=False)
class Disagreement:
    """What depends on the choice among the candidate measures.

    Parameters
    ----------
    n_opposed
        Number of pairs of systems that one measure puts significantly in one order, and another in
        the other.
    n_pairs
        Number of pairs of systems.
    best_systems
        Name of the system with the highest mean, by the name of the measure.
    """

    n_opposed: int
    n_pairs: int
    best_systems: Mapping[str, str]

    @classmethod
    def of(cls, discrimination: Discrimination, candidates: Sequence[Measure]) -> Disagreement:
        """Compare the candidates, of which there is one at least, by the tests of all pairs.

        ``discrimination`` has differences, first system minus second, and mid-p-values, both of
        shape (n_measures, n_pairs). A pair differs significantly if its mid-p-value is below
        `LEVEL` (.05). Where lower scores are better, the sign of a measure is -1, else 1.
        """
        measures = discrimination.measures
        indices = measures.indices(candidates)
        signs = measures.signs[indices][:, np.newaxis]
        differences = signs * discrimination.differences[indices]
        is_significant = discrimination.mid_p[indices] < LEVEL
        says_first = (is_significant & (differences > 0)).any(axis=0)
        says_second = (is_significant & (differences < 0)).any(axis=0)
        n_systems = len(discrimination.systems)
        first, second = pair_indices(n_systems)
        # The sum of a system's differences from all others rises with its mean.
        totals = np.zeros((n_systems, len(indices)))
        np.add.at(totals, first, differences.T)
        np.subtract.at(totals, second, differences.T)
        best_systems = {}
        for measure, best in zip(candidates, totals.argmax(axis=0), strict=True):
            best_systems[str(measure)] = discrimination.systems[best]
        n_opposed = int(np.count_nonzero(says_first & says_second))
        n_pairs = discrimination.p.shape[1]
        return cls(n_opposed=n_opposed, n_pairs=n_pairs, best_systems=best_systems)

    def sentence(self) -> str:
        """Write whether the choice of a measure matters for the conclusions on systems."""
        names = list(dict.fromkeys(self.best_systems.values()))
        if len(names) == 1:
            best = f"all name {names[0]} the best system"
        else:
            best = f"they name {len(names)} systems as the best ({listed(names, 'or')})"
        opposed = "no pair of systems"
        if self.n_opposed:
            opposed = f"{self.n_opposed} of {counted(self.n_pairs, 'pair of systems')}"
        return f"The measures put {opposed} significantly in opposite orders, and {best}."


@dataclass(frozen=True, eq=False)
class Depth:
    """From which cut-off on a metric gets no better, and what shallower ones lose.

    Parameters
    ----------
    metric
        Name of the metric.
    sufficient, deepest
        The shallowest cut-off that loses at most `DEPTH_LOSS` in each respect, and the deepest.
    shallower
        The next cut-off above ``sufficient`` in a list: the deepest that loses more; None without.
    loss, subject
        What that one loses where it loses most, and in which respect.
    """

    metric: str
    sufficient: int
    deepest: int
    shallower: int | None = None
    loss: float = 0.0
    subject: str = ""

    @classmethod
    def of(cls, metric: str, respects: Sequence[Estimates]) -> Depth | None:
        """Compare the cut-offs of a metric in some respects; None without several cut-offs.

        ``respects`` are the numbers of each measure by an analysis. A cut-off suffices if neither
        it nor a deeper one loses more than `DEPTH_LOSS` (.05). A loss that is NaN does not suffice;
        None if that of the deepest cut-off is NaN.
        """
        if not respects:
            return None
        curve = respects[0].measures.curve(metric)
        if len(curve) < 2:
            return None
        # Losses against the deepest cut-off, of shape (n_respects, n_cutoffs).
        losses = np.array([_losses(respect, curve) for respect in respects])
        largest_losses = losses.max(axis=0)
        cutoffs = [int(measure.cutoff or 0) for measure in curve]
        # A cut-off suffices if neither it nor a deeper one loses more.
        loses_more = np.flatnonzero(~(largest_losses <= DEPTH_LOSS))
        if len(loses_more) == 0:
            return cls(metric, sufficient=cutoffs[0], deepest=cutoffs[-1])
        position = int(loses_more[-1])
        if position + 1 == len(cutoffs):
            return None
        worst = int(losses[:, position].argmax())
        sufficient = cutoffs[position + 1]
        deepest = cutoffs[-1]
        shallower = cutoffs[position]
        loss = float(losses[worst, position])
        subject = respects[worst].subject
        return cls(
            metric,
            sufficient=sufficient,
            deepest=deepest,
            shallower=shallower,
            loss=loss,
            subject=subject,
        )

    def sentence(self) -> str:
        """Write from which cut-off on a metric gets no better."""
        if self.shallower is None:
            return (
                f"Depth: {self.metric}@{self.sufficient} is as good as "
                f"{self.metric}@{self.deepest} (it loses at most {rounded(DEPTH_LOSS, 2)} in every "
                "respect)."
            )
        subject = self.subject[:1].lower() + self.subject[1:]
        if self.sufficient == self.deepest:
            return (
                f"Depth: a deeper list might be better still, as {self.metric}@{self.shallower} "
                f"loses {rounded(self.loss, 3)} against {self.metric}@{self.deepest} in {subject}."
            )
        return (
            f"Depth: {self.metric}@{self.sufficient} is as good as {self.metric}@{self.deepest} "
            f"(it loses at most {rounded(DEPTH_LOSS, 2)} in every respect); "
            f"{self.metric}@{self.shallower} loses {rounded(self.loss, 3)} in {subject}."
        )


def _losses(respect: Estimates, curve: Measures) -> Floats:
    """Compute what every cut-off of a curve loses against the deepest, the last: (n_cutoffs,).

    Of discriminative power it is the share of the pairs told apart, else the number itself. NaN
    where one is undefined.
    """
    values = respect.values if respect.shares is None else respect.shares
    of_curve = values[respect.measures.indices(curve)]
    return np.asarray(of_curve[-1] - of_curve)
