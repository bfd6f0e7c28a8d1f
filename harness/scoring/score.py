"""Scores: of every user under the full qrels, and means under changed judgements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from analyses.shared.measure import Measure, Measures, depth_of
from analyses.shared.scores import Scores
from harness.metrics.shared.metric import (
    LEVEL_OPTION,
    MEAN_OPTION,
    Metric,
    logarithms,
    name_users_in_errors,
)
from harness.scoring.blocks import Block, Needs, Samples, divide, needs_of
from qrels import Catalogue, Judged, Qrels
from runs import Run
from runs.replicates import Replicates
from runs.shared.arrays import Floats, Masks, Numbers

if TYPE_CHECKING:
    from harness.scoring.kernel import Hits


AT_ONCE: Mapping[Needs, int] = {"judged ranks": 64, "all ranks": 1}
"""Samples of the judgements that are scored together, by definitions over these ranks."""


def score(
    runs: Sequence[Run],
    qrels: Qrels,
    measures: Measures,
    metrics: Mapping[str, Metric],
    *,
    users: NDArray[np.str_],
    catalogue: Catalogue | None = None,
    advance: Callable[[], None] = lambda: None,
) -> Scores:
    """Score every user by the readable definitions.

    Runs and judgements are of the same users, whose ids are the labels; the catalogue is what
    metrics may know of items; ``advance`` is called after every run.
    """
    values = np.empty((len(measures), len(runs), qrels.n_users))
    depth = depth_needed(runs, measures, metrics)
    catalogue = Catalogue(0) if catalogue is None else catalogue
    everything = Samples.of(qrels, catalogue, np.ones((len(qrels.items), 1), dtype=np.bool_))
    for system, run in enumerate(runs):
        for block in divide([run], qrels, depth=depth):
            for judged in block.judge(everything):
                with name_users_in_errors(users[block.users]):
                    values[:, system, block.users] = _scores(judged, measures, metrics)
        advance()
    falling = [name for name, metric in metrics.items() if not metric.higher_is_better]
    return Scores(
        values, measures.with_lower_is_better_for(falling), tuple(run.system for run in runs), users
    )


def deepest_rank(measures: Sequence[Measure], metrics: Mapping[str, Metric]) -> float:
    """Look up the deepest cut-off; infinite if a measure is of whole or of condensed lists."""
    if any(metrics[measure.metric].is_condensed for measure in measures):
        return inf
    return max(map(depth_of, measures), default=0)


def depth_needed(
    runs: Sequence[Run], measures: Sequence[Measure], metrics: Mapping[str, Metric]
) -> int:
    """Tell which ranks count: down to the deepest cut-off, or all of them.

    Measures of whole lists see all runs equally deep.
    """
    longest = max((run.depth for run in runs), default=0)
    return int(min(longest, deepest_rank(measures, metrics)))


def _scores(judged: Judged, measures: Sequence[Measure], metrics: Mapping[str, Metric]) -> Floats:
    """Score lists by their definitions, of shape (n_measures, n_lists)."""
    return np.array([metrics[m.metric](judged, cutoff=m.cutoff) for m in measures])


@dataclass(eq=False)
class SampleScorer:
    """Sums of the scores of all systems on samples of the judgements.

    The fused metrics go through their kernel, others through their definition. What it needs of the
    lists is tried out on some of them: judged ranks alone where that changes no score, many samples
    at once; all ranks, one sample at a time; or nothing, where scores do not depend on judgements.
    Runs, qrels, measures, metrics and catalogue are as in `score`; weights are of the users, of
    shape (n_users,). With replicates, a run has what it adds to the mean over those of its system.
    """

    runs: Sequence[Run]
    qrels: Qrels
    measures: Sequence[Measure]
    metrics: Mapping[str, Metric]
    catalogue: Catalogue = field(default_factory=lambda: Catalogue(0))
    weights: Floats | None = None
    replicates: Replicates | None = None

    def __post_init__(self) -> None:
        shares = np.ones((len(self.runs), self.qrels.n_users))
        self._factors = shares if self.replicates is None else self.replicates.weights()
        if self.weights is not None:
            self._factors = self._factors * self.weights
        self._are_equal = self.weights is None and self.replicates is None
        self._depth = depth_needed(self.runs, self.measures, self.metrics)

    def __call__(self, kept: Masks, *, blocks: Numbers) -> Floats:
        """Score the samples, in the sum over each block of users, as `SumSamples` says.

        Sums are of logarithms where the metric asks for a geometric mean.
        """
        from harness.scoring.kernel import FUSED, group_sums

        n_blocks = int(blocks.max(initial=0)) + 1
        sums = np.zeros((len(self.measures), n_blocks, len(self.runs), kept.shape[1]))
        for (level, is_geometric), numbers in self._fused.items():
            measures = [self.measures[number] for number in numbers]
            names = [FUSED.index(self.metrics[measure.metric].name) for measure in measures]
            places = [self._cutoffs.index(self._rank(measure)) for measure in measures]
            by_user = is_geometric or not self._are_equal
            groups = np.arange(len(blocks)) if by_user else blocks
            hits = self._hits.at_level(level)
            for some, values in group_sums(hits, kept, cutoffs=self._cutoffs, groups=groups):
                if by_user:
                    found = values[names, places]
                    scores = logarithms(found) if is_geometric else found
                    scores = scores * self._factors[:, some, np.newaxis]
                    at = np.array(numbers)[:, np.newaxis], blocks[some]
                    np.add.at(sums, at, scores.swapaxes(1, 2))
                else:
                    for number, name, place in zip(numbers, names, places, strict=True):
                        sums[number, some] = values[name, place].swapaxes(0, 1)
        for what, at_once in AT_ONCE.items():
            numbers = self._that_need(what)
            for first in range(0, kept.shape[1] if numbers else 0, at_once):
                divided = self._blocks if at_once == 1 else self._blocks_of_hits
                some = slice(first, first + at_once)
                self._add(numbers, divided, kept[:, some], blocks, sums[..., some])
        unmoved = self._that_need("nothing")
        if unmoved:
            everything = np.ones((len(kept), 1), dtype=np.bool_)
            self._add(unmoved, self._blocks, everything, blocks, sums[..., :1])
            sums[unmoved] = sums[unmoved][..., :1]
        return sums

    @property
    def by_definition(self) -> tuple[str, ...]:
        """Names of the metrics that are scored over whole lists, one sample at a time."""
        return tuple(dict.fromkeys(self.measures[n].metric for n in self._that_need("all ranks")))

    def _add(
        self, numbers: list[int], divided: list[Block], kept: Masks, blocks: Numbers, sums: Floats
    ) -> None:
        """Add the scores by some measures to the sums over blocks of users."""
        samples = Samples.of(self.qrels, self.catalogue, kept)
        measures = [self.measures[number] for number in numbers]
        for block in divided:
            own = blocks[block.users]
            order = np.argsort(own, kind="stable")
            groups, firsts = np.unique(own[order], return_index=True)
            for run, judged in enumerate(block.judge(samples)):
                scores = _scores(judged, measures, self.metrics)
                by_user = scores.reshape(len(measures), len(own), -1)
                if not self._are_equal:
                    by_user = by_user * self._factors[run, block.users, np.newaxis]
                totals = np.add.reduceat(by_user[:, order], firsts, axis=1)
                sums[np.array(numbers)[:, np.newaxis], groups, run] += totals

    @cached_property
    def _cutoffs(self) -> list[int]:
        """Cut-offs of the kernel, rising: those of all measures that it knows."""
        numbers = (number for alike in self._fused.values() for number in alike)
        return sorted({self._rank(self.measures[number]) for number in numbers})

    def _rank(self, measure: Measure) -> int:
        """Give the cut-off, or a rank below which nothing counts: the end of lists and ideals."""
        if measure.cutoff is not None:
            return measure.cutoff
        has_ideal = self.metrics[measure.metric].name == "nDCG"
        longest = int(np.diff(self.qrels.offsets).max(initial=0)) if has_ideal else 0
        return max(self._depth, longest, 1)

    @cached_property
    def _fused(self) -> dict[tuple[Any, bool], list[int]]:
        """Number the measures that the kernel knows, by relevance level and kind of mean."""
        alike: dict[tuple[Any, bool], list[int]] = {}
        for number, measure in enumerate(self.measures):
            metric = self.metrics[measure.metric]
            if is_fused(metric):
                level = dict(metric.option_values).get(
                    LEVEL_OPTION.name, self.qrels.relevance_level
                )
                alike.setdefault((level, metric.is_geometric), []).append(number)
        return alike

    @cached_property
    def _others(self) -> list[int]:
        """Number the measures that the kernel does not know."""
        fused = {number for numbers in self._fused.values() for number in numbers}
        return [number for number in range(len(self.measures)) if number not in fused]

    @cached_property
    def _needs(self) -> list[Needs]:
        """Find out what the measures that the kernel does not know need of the lists."""
        if not self._others:
            return []
        own = [self.measures[number] for number in self._others]
        return needs_of(self.runs, self.qrels, own, self.metrics, self.catalogue, depth=self._depth)

    def _that_need(self, what: Needs) -> list[int]:
        """Number the measures that need this of the lists when judgements are lost."""
        return [n for n, needs in zip(self._others, self._needs, strict=True) if needs == what]

    @cached_property
    def _hits(self) -> Hits:
        from harness.scoring.kernel import find_hits

        return find_hits(self.runs, self.qrels, depth=min(self._depth, self._cutoffs[-1]))

    @cached_property
    def _blocks(self) -> list[Block]:
        return divide(self.runs, self.qrels, depth=self._depth)

    @cached_property
    def _blocks_of_hits(self) -> list[Block]:
        at_once = AT_ONCE["judged ranks"]
        return divide(self.runs, self.qrels, depth=self._depth, n_samples=at_once, hits_only=True)


def is_fused(metric: Metric) -> bool:
    """Tell whether the kernel knows the metric: only level and mean are set of its options."""
    from harness.scoring.kernel import FUSED

    return metric.name in FUSED and {name for name, _ in metric.option_values} <= {
        LEVEL_OPTION.name,
        MEAN_OPTION.name,
    }
