"""Scores: of every user under the full qrels, and means under changed judgements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from analyses.measure import Measure, Scores
from harness.metric import Metric
from qrels import Qrels, judge, match
from runs import Run


def score(
    runs: Sequence[Run],
    qrels: Qrels,
    measures: Sequence[Measure],
    metrics: Mapping[str, Metric],
    *,
    users: NDArray[np.str_],
    advance: Callable[[], None] = lambda: None,
) -> Scores:
    """Score every user by the readable definitions.

    Parameters
    ----------
    runs, qrels
        Runs and the judgements of the same users.
    measures
        Metrics at cut-offs.
    metrics
        The metrics by name.
    users
        User ids, for the labels.
    advance
        Called after every run.
    """
    values = np.empty((len(measures), len(runs), qrels.n_users))
    for position, run in enumerate(runs):
        judged = judge(run, qrels)
        for number, measure in enumerate(measures):
            values[number, position] = metrics[measure.metric](judged, cutoff=measure.cutoff)
        advance()
    return Scores(values, tuple(measures), tuple(run.system for run in runs), users)


class SampleScorer:
    """Mean scores of all systems on samples of the judgements.

    The built-in metrics go through the fused kernel, others through their definition, one
    sample at a time.

    Parameters
    ----------
    runs, qrels, measures, metrics
        As in `score`.
    """

    def __init__(
        self,
        runs: Sequence[Run],
        qrels: Qrels,
        measures: Sequence[Measure],
        metrics: Mapping[str, Metric],
    ) -> None:
        self._runs = runs
        self._qrels = qrels
        self._measures = measures
        self._metrics = metrics
        self._cutoffs = sorted({measure.cutoff for measure in measures})

    def __call__(self, kept: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Score the samples.

        Parameters
        ----------
        kept
            Mask of the judgements left in each sample, of shape (n_judgements, n_samples).

        Returns
        -------
        Means over all users, of shape (n_measures, n_systems, n_samples).
        """
        from harness.kernel import FUSED, sum_scores

        means = np.empty((len(self._measures), len(self._runs), kept.shape[1]))
        if any(measure.metric in FUSED for measure in self._measures):
            sums = sum_scores(self._hits, self._qrels, kept, cutoffs=self._cutoffs)
        for number, measure in enumerate(self._measures):
            if measure.metric in FUSED:
                cutoff = self._cutoffs.index(measure.cutoff)
                means[number] = sums[FUSED.index(measure.metric), cutoff] / self._qrels.n_users
        others = [n for n, measure in enumerate(self._measures) if measure.metric not in FUSED]
        if others:
            self._score_by_definition(kept, others, means)
        return means

    def _score_by_definition(
        self, kept: NDArray[np.bool_], numbers: Sequence[int], means: NDArray[np.float64]
    ) -> None:
        for sample in range(kept.shape[1]):
            for system, (run, matches) in enumerate(zip(self._runs, self._matches, strict=True)):
                judged = judge(run, self._qrels, matches=matches, kept=kept[:, sample])
                for number in numbers:
                    measure = self._measures[number]
                    scores = self._metrics[measure.metric](judged, cutoff=measure.cutoff)
                    means[number, system, sample] = scores.mean()

    @cached_property
    def _hits(self):  # type: ignore[no-untyped-def]
        from harness.kernel import find_hits

        return find_hits(self._runs, self._qrels, depth=self._cutoffs[-1])

    @cached_property
    def _matches(self) -> list[NDArray[np.int64]]:
        return [match(run, self._qrels) for run in self._runs]
