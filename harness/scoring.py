"""Scores: of every user under the full qrels, and means under changed judgements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from time import thread_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analyses.measure import Measure, Scores
from harness.judging import Block, divide
from harness.metric import LEVEL, Metric
from qrels import Judged, Qrels
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
    depth = max((measure.cutoff for measure in measures), default=0)
    for system, run in enumerate(runs):
        for block in divide([run], qrels, depth=depth):
            _score_block(
                block, block.judge(qrels), measures, metrics, values[:, system : system + 1]
            )
        advance()
    return Scores(values, tuple(measures), tuple(run.system for run in runs), users)


def _score_block(
    block: Block,
    lists: Iterable[Judged],
    measures: Sequence[Measure],
    metrics: Mapping[str, Metric],
    values: NDArray[np.float64],
) -> None:
    """Write the scores of the block's users into values (n_measures, n_systems, n_users)."""
    for system, judged in enumerate(lists):
        for number, measure in enumerate(measures):
            scores = metrics[measure.metric](judged, cutoff=measure.cutoff)
            values[number, system, block.users] = scores


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
            self._score_by_definition(self._blocks, kept, scores, per_user=per_user)
        return scores

    @property
    def by_definition(self) -> tuple[str, ...]:
        """Names of the metrics that the kernel does not know."""
        return tuple(dict.fromkeys(self._measures[number].metric for number in self._others))

    def seconds_by_definition(self) -> float:
        """Measure the CPU time that these metrics take for one sample: all judgements."""
        everything = np.ones((len(self._qrels.items), 1), dtype=np.bool_)
        scores = np.empty((len(self._measures), len(self._runs), 1))
        blocks = self._blocks
        start = thread_time()
        self._score_by_definition(blocks, everything, scores, per_user=False)
        return thread_time() - start

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
        self,
        blocks: Sequence[Block],
        kept: NDArray[np.bool_],
        scores: NDArray[np.float64],
        *,
        per_user: bool,
    ) -> None:
        measures = [self._measures[number] for number in self._others]
        values = np.empty((len(measures), len(self._runs), self._qrels.n_users))
        for sample, mask in enumerate(np.ascontiguousarray(kept.T)):
            for block in blocks:
                lists = block.judge(self._qrels, mask)
                _score_block(block, lists, measures, self._metrics, values)
            scores[self._others, ..., sample] = values if per_user else values.mean(axis=2)

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
    def _blocks(self) -> list[Block]:
        return divide(self._runs, self._qrels, depth=self._cutoffs[-1])


def is_fused(metric: Metric) -> bool:
    """Tell whether the kernel knows the metric: no option of it but the level is set."""
    from harness.kernel import FUSED

    return metric.name in FUSED and {name for name, _ in metric.given} <= {LEVEL.name}
