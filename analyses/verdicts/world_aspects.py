"""What is asked of one world: validity, robustness and power of every report measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.ordering import tau_b
from analyses.ordering.agreement import mean_of_defined
from analyses.shared.measure import Measure, Measures
from analyses.significance.permutation import pair_indices
from analyses.significance.question import Question
from analyses.verdicts.losing import Loss
from analyses.verdicts.pair_verdicts import PairVerdicts, ratio_of
from analyses.verdicts.reliability import reliability, tau_within_noise
from analyses.verdicts.rulers import check_truth, known_to, oriented, p_values_of, rulers_of

if TYPE_CHECKING:
    from analyses.shared.work import Work

ITSELF, IDEAL, ROBUSTNESS, POWER, WRONG = "itself", "ideal", "robustness", "power", "wrong"


def aspects_of(references: Sequence[Measure]) -> tuple[str, ...]:
    """Name what is found: by each truth, validity; then the other aspects."""
    return ITSELF, *map(str, references), IDEAL, ROBUSTNESS, POWER, WRONG


@dataclass(frozen=True, eq=False)
class WorldAspects:
    """What measures are worth in one world.

    Parameters
    ----------
    measures
        Label of the second axis.
    aspects
        Label of the first: tau-b with the same measure on the truth and with each reference;
        ideal, tau-b with the first reference that is expected of a measure which is right, but for
        chance over users; robustness, the mean tau-b with itself when judgements are lost at
        random; power, the share of pairs of systems that differ significantly; wrong, the share of
        these that truly differ the other way round by the first reference.
    values
        Of shape (n_aspects, n_measures); NaN where undefined.
    """

    measures: Measures
    aspects: tuple[str, ...]
    values: NDArray[np.float64]


@dataclass(frozen=True)
class WorldQuestion:
    """What is asked of every world.

    Parameters
    ----------
    question
        How pairs of systems are tested.
    levels, samples
        Shares of the judgements that are kept, and random samples of each.
    """

    question: Question
    levels: tuple[float, ...]
    samples: int

    found = WorldAspects

    def __call__(self, work: Work) -> WorldAspects:
        """Compare the measures of a world with its truth, and with themselves."""
        truth, true = work.truth, oriented(work.truth.scores)
        measured = oriented(known_to(truth, work.scores))
        check_truth(measured, true)
        rulers = rulers_of(measured.measures, truth)
        means, worth = measured.means(), true.means()[rulers]
        p, true_p = (p_values_of(each, work, self.question) for each in (measured, true))
        verdicts = self._verdicts(means, p, worth, true_p[rulers])
        loss = Loss(work, measured, rulers, replicates=0)
        left = loss.at_random(self.levels, n_samples=self.samples).itself
        rows = [
            *tau_b(np.broadcast_to(means, worth.shape), worth),
            tau_within_noise(reliability(measured.values), reliability(true.values)[rulers])[1],
            mean_of_defined(left),
            verdicts.significant[0].mean(axis=-1),
            ratio_of(verdicts.wrong, verdicts.significant)[1],
        ]
        return WorldAspects(measured.measures, aspects_of(truth.references), np.array(rows))

    def _verdicts(
        self,
        means: NDArray[np.float64],
        p: NDArray[np.float64],
        worth: NDArray[np.float64],
        true_p: NDArray[np.float64],
    ) -> PairVerdicts:
        first, second = pair_indices(means.shape[-1])
        return PairVerdicts.of(
            means[:, first] - means[:, second],
            p,
            worth[..., first] - worth[..., second],
            true_p,
            alpha=self.question.alpha,
        )
