"""Scores: of every user under the full qrels, and means under changed judgements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from time import thread_time
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from analyses.shared.measure import Measure, Measures, Scores, rising_cutoffs
from harness.metrics.shared.averages import logarithms
from harness.metrics.shared.metric import LEVEL, MEAN, Metric
from harness.scoring.blocks import Block, divide
from qrels import Judged, Qrels
from runs import Run

if TYPE_CHECKING:
    from harness.scoring.kernel import Hits


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

    Runs and judgements are of the same users, whose ids are the labels; ``advance`` is called after
    every run.
    """
    values = np.empty((len(measures), len(runs), qrels.n_users))
    depth = max(rising_cutoffs(measures), default=0)
    for system, run in enumerate(runs):
        for block in divide([run], qrels, depth=depth):
            _score_block(
                block, block.judge(qrels), measures, metrics, values[:, system : system + 1]
            )
        advance()
    falling = [name for name, metric in metrics.items() if not metric.higher_is_better]
    return Scores(
        values, Measures(measures, falling=falling), tuple(run.system for run in runs), users
    )


def _score_block(
    block: Block,
    lists: Iterable[Judged],
    measures: Sequence[Measure],
    metrics: Mapping[str, Metric],
    values: NDArray[np.float64],
) -> None:
    """Write the scores of the block's users into values (n_measures, n_systems, n_users)."""
    for system, judged in enumerate(lists):
        values[:, system, block.users] = [
            metrics[measure.metric](judged, cutoff=measure.cutoff) for measure in measures
        ]


class SampleScorer:
    """Sums of the scores of all systems on samples of the judgements.

    The built-in metrics go through the fused kernel, others through their definition, one sample at
    a time. Runs, qrels, measures and metrics are as in `score`.
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
        self._cutoffs = rising_cutoffs(measures)

    def __call__(self, kept: NDArray[np.bool_], *, blocks: NDArray[np.intp]) -> NDArray[np.float64]:
        """Score the samples, in the sum over each block of users, as `SumSamples` says.

        Sums are of logarithms where the metric asks for a geometric mean.
        """
        from harness.scoring.kernel import group_sums

        n_blocks = int(blocks.max(initial=0)) + 1
        sums = np.zeros((len(self._measures), n_blocks, len(self._runs), kept.shape[1]))
        for (level, is_geometric), numbers in self._fused.items():
            hits = self._hits.at_level(level)
            groups = np.arange(len(blocks)) if is_geometric else blocks
            for some, values in group_sums(hits, kept, cutoffs=self._cutoffs, groups=groups):
                for number, metric, cutoff in zip(numbers, *self._places(numbers), strict=True):
                    found = values[metric, cutoff].swapaxes(0, 1)
                    if is_geometric:
                        np.add.at(sums[number], blocks[some], logarithms(found))
                    else:
                        sums[number, some] = found
        if self._others:
            self._sum_by_definition(kept, blocks, sums)
        return sums

    @property
    def by_definition(self) -> tuple[str, ...]:
        """Names of the metrics that the kernel does not know."""
        return tuple(dict.fromkeys(self._measures[number].metric for number in self._others))

    def seconds_by_definition(self) -> float:
        """Measure the CPU time that these metrics take for one sample: all judgements."""
        everything, _ = np.ones(len(self._qrels.items), dtype=np.bool_), self._blocks
        start = thread_time()
        self._score_by_definition(everything)
        return thread_time() - start

    def _sum_by_definition(
        self, kept: NDArray[np.bool_], blocks: NDArray[np.intp], sums: NDArray[np.float64]
    ) -> None:
        """Write sums over blocks of users, one sample at a time."""
        order = np.argsort(blocks, kind="stable")
        firsts = np.searchsorted(blocks[order], np.arange(sums.shape[1]))
        for sample, mask in enumerate(np.ascontiguousarray(kept.T)):
            by_user = self._score_by_definition(mask)[:, :, order]
            by_block = np.add.reduceat(by_user, firsts, axis=2)
            sums[self._others, :, :, sample] = by_block.swapaxes(1, 2)

    def _score_by_definition(self, kept: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Score every user on one sample: (n_others, n_systems, n_users)."""
        measures = [self._measures[number] for number in self._others]
        values = np.empty((len(measures), len(self._runs), self._qrels.n_users))
        for block in self._blocks:
            _score_block(block, block.judge(self._qrels, kept), measures, self._metrics, values)
        return values

    def _places(self, numbers: Sequence[int]) -> NDArray[np.intp]:
        """Find measures on the first two axes of what the kernel returns; of shape (2, n)."""
        from harness.scoring.kernel import FUSED

        measures = [self._measures[number] for number in numbers]
        names = [FUSED.index(self._metrics[measure.metric].name) for measure in measures]
        return np.array([names, [self._cutoffs.index(measure.cutoff) for measure in measures]])

    @cached_property
    def _fused(self) -> dict[tuple[Any, bool], list[int]]:
        """Number the measures that the kernel knows, by relevance level and kind of mean."""
        alike: dict[tuple[Any, bool], list[int]] = {}
        for number, measure in enumerate(self._measures):
            metric = self._metrics[measure.metric]
            if is_fused(metric):
                level = dict(metric.given).get(LEVEL.name, self._qrels.relevance_level)
                alike.setdefault((level, metric.is_geometric), []).append(number)
        return alike

    @cached_property
    def _others(self) -> list[int]:
        """Number the measures that go by their definition."""
        fused = {number for numbers in self._fused.values() for number in numbers}
        return [number for number in range(len(self._measures)) if number not in fused]

    @cached_property
    def _hits(self) -> Hits:
        from harness.scoring.kernel import find_hits

        return find_hits(self._runs, self._qrels, depth=self._cutoffs[-1])

    @cached_property
    def _blocks(self) -> list[Block]:
        return divide(self._runs, self._qrels, depth=self._cutoffs[-1])


def is_fused(metric: Metric) -> bool:
    """Tell whether the kernel knows the metric: only level and mean are set of its options."""
    from harness.scoring.kernel import FUSED

    options = {name for name, _ in metric.given}
    return metric.name in FUSED and options <= {LEVEL.name, MEAN.name}
