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
from analyses.verdicts.losing import validity_of_shares
from analyses.verdicts.pair_verdicts import PairVerdicts, ratio_of
from analyses.verdicts.reliability import reliability, tau_within_noise
from analyses.verdicts.rulers import check_truth, oriented, p_values_of, rulers_of

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
        scores, truth = work.scores, work.truth
        check_truth(scores, truth.scores)
        rulers = rulers_of(scores.measures, truth)
        means, worth = oriented(scores).means(), oriented(truth.scores).means()[rulers]
        verdicts = self._verdicts(work, rulers, means, worth)
        left = validity_of_shares(
            work, rulers, self.levels, n_samples=self.samples, replicates=0
        ).itself
        rows = [
            *tau_b(np.broadcast_to(means, worth.shape), worth),
            tau_within_noise(reliability(scores.values), reliability(truth.scores.values)[rulers])[
                1
            ],
            mean_of_defined(left),
            verdicts.significant[0].mean(axis=-1),
            ratio_of(verdicts.wrong, verdicts.significant)[1],
        ]
        return WorldAspects(scores.measures, aspects_of(truth.references), np.array(rows))

    def _verdicts(
        self,
        work: Work,
        rulers: NDArray[np.intp],
        means: NDArray[np.float64],
        worth: NDArray[np.float64],
    ) -> PairVerdicts:
        p, true_p = (
            p_values_of(each, work, self.question) for each in (work.scores, work.truth.scores)
        )
        first, second = pair_indices(means.shape[-1])
        return PairVerdicts.of(
            means[:, first] - means[:, second],
            p,
            worth[..., first] - worth[..., second],
            true_p[rulers],
            alpha=self.question.alpha,
        )
