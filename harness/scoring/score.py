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
        self._cutoffs = rising_cutoffs(measures)

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
        Means over all users, of shape (n_measures, n_systems, n_samples), of logarithms where
        the metric asks for a geometric mean; or the scores, of shape
        (n_measures, n_systems, n_users, n_samples).
        """
        from harness.scoring.kernel import mean_scores

        users = (self._qrels.n_users,) if per_user else ()
        scores = np.empty((len(self._measures), len(self._runs), *users, kept.shape[1]))
        for (level, is_geometric), numbers in self._fused.items():
            hits = self._hits.at_level(level)
            if is_geometric or per_user:
                self._score_users(hits, kept, numbers, scores, is_geometric=is_geometric)
            else:
                means = mean_scores(hits, kept, cutoffs=self._cutoffs)
                scores[numbers] = means[*self._places(numbers)]
        if self._others:
            self._score_by_definition(self._blocks, kept, scores, per_user=per_user)
        return scores

    def block_sums(
        self, kept: NDArray[np.bool_], *, blocks: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Score the samples, in the sum over each block of users, as `SumSamples` says.

        Sums are of logarithms where the metric asks for a geometric mean.
        """
        from harness.scoring.kernel import group_sums

        n_blocks = int(blocks.max(initial=0)) + 1
        sums = np.zeros((len(self._measures), n_blocks, len(self._runs), kept.shape[1]))
        for (level, is_geometric), numbers in self._fused.items():
            hits = self._hits.at_level(level)
            if is_geometric:
                self._sum_logarithms(hits, kept, blocks, numbers, sums)
                continue
            for some, values in group_sums(hits, kept, cutoffs=self._cutoffs, groups=blocks):
                places = zip(numbers, *self._places(numbers), strict=True)
                for number, metric, cutoff in places:
                    sums[number, some] = values[metric, cutoff].swapaxes(0, 1)
        if self._others:
            self._sum_by_definition(kept, blocks, sums)
        return sums

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

    def _score_users(
        self,
        hits: Hits,
        kept: NDArray[np.bool_],
        numbers: Sequence[int],
        scores: NDArray[np.float64],
        *,
        is_geometric: bool,
    ) -> None:
        """Write users' scores by the kernel, or their means where scores has no axis of users."""
        from harness.scoring.kernel import user_scores

        per_user = scores.ndim == 4
        scores[numbers] = 0.0
        for users, values in user_scores(hits, kept, cutoffs=self._cutoffs):
            part = values[*self._places(numbers)]
            if is_geometric:
                part = logarithms(part)
            if per_user:
                scores[numbers, :, users] = part
            else:
                scores[numbers] += part.sum(axis=2) / self._qrels.n_users

    def _sum_logarithms(
        self,
        hits: Hits,
        kept: NDArray[np.bool_],
        blocks: NDArray[np.intp],
        numbers: Sequence[int],
        sums: NDArray[np.float64],
    ) -> None:
        """Add the logarithms of users' scores by the kernel to the sums of their blocks."""
        from harness.scoring.kernel import user_scores

        for users, values in user_scores(hits, kept, cutoffs=self._cutoffs):
            for number, metric, cutoff in zip(numbers, *self._places(numbers), strict=True):
                by_user = logarithms(values[metric, cutoff]).swapaxes(0, 1)
                np.add.at(sums[number], blocks[users], by_user)

    def _sum_by_definition(
        self, kept: NDArray[np.bool_], blocks: NDArray[np.intp], sums: NDArray[np.float64]
    ) -> None:
        """Write sums over blocks of users, one sample at a time."""
        order = np.argsort(blocks, kind="stable")
        firsts = np.searchsorted(blocks[order], np.arange(sums.shape[1]))
        values = np.empty((len(self._measures), len(self._runs), self._qrels.n_users, 1))
        for sample in range(kept.shape[1]):
            mask = kept[:, sample : sample + 1]
            self._score_by_definition(self._blocks, mask, values, per_user=True)
            by_user = values[self._others][:, :, order, 0]
            by_block = np.add.reduceat(by_user, firsts, axis=2)
            sums[self._others, :, :, sample] = by_block.swapaxes(1, 2)

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
