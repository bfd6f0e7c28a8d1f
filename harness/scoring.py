"""Scores: of every user under the full qrels, and means under changed judgements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analyses.measure import Measure, Scores
from harness.metric import LEVEL, Metric
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
    """Scores of all systems on samples of the judgements.

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

    def __call__(self, kept: NDArray[np.bool_], *, per_user: bool = False) -> NDArray[np.float64]:
        """Score the samples.

        Parameters
        ----------
        kept
            Mask of the judgements left in each sample, of shape (n_judgements, n_samples).
        per_user
            Whether every user's scores are wanted: eight bytes for each measure, system, user
            and sample, 78 MB for one sample of 77 measures, 21 systems and 6,040 users.

        Returns
        -------
        Means over all users, of shape (n_measures, n_systems, n_samples); or the scores, of
        shape (n_measures, n_systems, n_users, n_samples).
        """
        users = (self._qrels.n_users,) if per_user else ()
        scores = np.empty((len(self._measures), len(self._runs), *users, kept.shape[1]))
        for level, numbers in self._fused.items():
            self._score_by_kernel(kept, level, numbers, scores, per_user=per_user)
        if self._others:
            self._score_by_definition(kept, scores, per_user=per_user)
        return scores

    def _score_by_kernel(
        self,
        kept: NDArray[np.bool_],
        level: int,
        numbers: Sequence[int],
        scores: NDArray[np.float64],
        *,
        per_user: bool,
    ) -> None:
        from harness.kernel import mean_scores, user_scores

        hits = self._hits.at_level(level)
        places = np.array([self._place(self._measures[number]) for number in numbers]).T
        if per_user:
            for users, part in user_scores(hits, kept, cutoffs=self._cutoffs):
                scores[numbers, :, users] = part[*places]
        else:
            scores[numbers] = mean_scores(hits, kept, cutoffs=self._cutoffs)[*places]

    def _score_by_definition(
        self, kept: NDArray[np.bool_], scores: NDArray[np.float64], *, per_user: bool
    ) -> None:
        for sample in range(kept.shape[1]):
            for system, (run, matches) in enumerate(zip(self._runs, self._matches, strict=True)):
                judged = judge(run, self._qrels, matches=matches, kept=kept[:, sample])
                for number in self._others:
                    measure = self._measures[number]
                    values = self._metrics[measure.metric](judged, cutoff=measure.cutoff)
                    scores[number, system, ..., sample] = values if per_user else values.mean()

    def _place(self, measure: Measure) -> tuple[int, int]:
        """Find a measure on the first two axes of what the kernel returns."""
        from harness.kernel import FUSED

        metric = self._metrics[measure.metric]
        return FUSED.index(metric.name), self._cutoffs.index(measure.cutoff)

    @cached_property
    def _fused(self) -> dict[Any, list[int]]:
        """Number the measures that the kernel knows, by relevance level."""
        by_level: dict[Any, list[int]] = {}
        for number, measure in enumerate(self._measures):
            metric = self._metrics[measure.metric]
            if is_fused(metric):
                level = dict(metric.given).get(LEVEL.name, self._qrels.relevance_level)
                by_level.setdefault(level, []).append(number)
        return by_level

    @cached_property
    def _others(self) -> list[int]:
        """Number the measures that go by their definition."""
        fused = {number for numbers in self._fused.values() for number in numbers}
        return [number for number in range(len(self._measures)) if number not in fused]

    @cached_property
    def _hits(self):  # type: ignore[no-untyped-def]
        from harness.kernel import find_hits

        return find_hits(self._runs, self._qrels, depth=self._cutoffs[-1])

    @cached_property
    def _matches(self) -> list[NDArray[np.int64]]:
        return [match(run, self._qrels) for run in self._runs]


def is_fused(metric: Metric) -> bool:
    """Tell whether the kernel knows the metric: no option of it but the level is set."""
    from harness.kernel import FUSED

    return metric.name in FUSED and {name for name, _ in metric.given} <= {LEVEL.name}
