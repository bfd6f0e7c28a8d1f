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
from harness.scoring.blocks import AllJudgements, Block, Needs, Samples, divide, needs_of
from qrels import Catalogue, Judged, Qrels
from runs import Run
from runs.replicates import Replicates
from runs.shared.arrays import Floats, Masks, Numbers

if TYPE_CHECKING:
    from harness.scoring.kernel import Hits


JUDGEMENTS_AT_ONCE = 1 << 20
"""Judgements of the users whose lists are scored together, by all runs: 8 MB of grades."""

SAMPLES_AT_ONCE: Mapping[Needs, int] = {"judged ranks": 64, "all ranks": 1}
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
    """Score every user by every measure for every run, by the readable definitions of metrics.

    The result has values of shape (n_measures, n_runs, n_users); lists that are shorter than the
    deepest cut-off end with empty ranks. Judgements of a block of users are prepared once for all
    runs. Beyond the result, memory is that of a block (see `divide`), with `JUDGEMENTS_AT_ONCE`
    judgements.

    Parameters
    ----------
    runs, qrels
        Lists and judgements of the same users.
    measures
        The measures.
    metrics
        The metric of each name in the measures.
    users
        Ids of the users, of shape (n_users,): labels of the scores.
    catalogue
        What metrics may know of items; None if nothing is known.
    advance
        Is called once for each run, whenever as many lists are scored as a run has.

    Raises
    ------
    ValueError
        If there is not one id for each user of the qrels.
    """
    if len(users) != qrels.n_users:
        raise ValueError(f"{len(users):,} ids do not fit the {qrels.n_users:,} users of the qrels.")
    values = np.empty((len(measures), len(runs), qrels.n_users))
    depth = depth_needed(runs, measures, metrics)
    catalogue = Catalogue(n_items=0) if catalogue is None else catalogue
    all_judgements = AllJudgements(qrels, catalogue)
    n_lists = 0
    for block in divide(runs, qrels, depth=depth, cells_at_once=JUDGEMENTS_AT_ONCE):
        block_users = users[block.users]
        for system, judged in enumerate(block.judge(all_judgements), start=block.first_system):
            with name_users_in_errors(block_users):
                values[:, system, block.users] = _scores(judged, measures, metrics)
        n_runs_before = n_lists // qrels.n_users
        n_lists += len(block.users) * len(block.systems)
        for _ in range(n_runs_before, n_lists // qrels.n_users):
            advance()
    lower_is_better = [name for name, metric in metrics.items() if not metric.higher_is_better]
    labels = measures.with_lower_is_better_for(lower_is_better)
    systems = tuple(run.system for run in runs)
    return Scores(values, labels, systems, users)


def _one_sample_of_all(n_judgements: int) -> Masks:
    """Mark all judgements as one sample: (n_judgements, 1)."""
    return np.ones((n_judgements, 1), dtype=np.bool_)


def deepest_rank(measures: Sequence[Measure], metrics: Mapping[str, Metric]) -> float:
    """Look up the deepest cut-off of measures; infinite if one needs whole lists.

    That is a measure without a cut-off, or of a metric of condensed lists (without unjudged items).
    0 without measures. ``metrics`` are by name.
    """
    if any(metrics[measure.metric].is_condensed for measure in measures):
        return inf
    return max(map(depth_of, measures), default=0)


def depth_needed(
    runs: Sequence[Run], measures: Sequence[Measure], metrics: Mapping[str, Metric]
) -> int:
    """Compute how many ranks count: down to the deepest cut-off, or all of them.

    All is the depth of the deepest run, for all runs; 0 without runs. ``metrics`` are by name.
    """
    longest = max((run.depth for run in runs), default=0)
    deepest = deepest_rank(measures, metrics)
    return int(min(longest, deepest))


def _scores(judged: Judged, measures: Sequence[Measure], metrics: Mapping[str, Metric]) -> Floats:
    """Score lists by their definitions, of shape (n_measures, n_lists); ``metrics`` are by name."""
    values = [metrics[measure.metric](judged, cutoff=measure.cutoff) for measure in measures]
    return np.array(values)


@dataclass(eq=False)
class SampleScorer:
    """Sums of the scores of all systems on samples of the judgements.

    The fused metrics go through their kernel, others through their definition. What it needs of the
    lists is tried out on some of them: judged ranks alone where that changes no score, many samples
    at once; all ranks, one sample at a time; or nothing, where scores do not depend on judgements.

    Parameters
    ----------
    runs, qrels, measures, metrics, catalogue
        As in `score`.
    weights
        Weights of the users, of shape (n_users,); None if all weigh the same.
    replicates
        The system of each run: then a run has what it adds to the mean over those of its system.
        None where each system has one run.
    """

    runs: Sequence[Run]
    qrels: Qrels
    measures: Sequence[Measure]
    metrics: Mapping[str, Metric]
    catalogue: Catalogue = field(default_factory=lambda: Catalogue(0))
    weights: Floats | None = None
    replicates: Replicates | None = None

    def __post_init__(self) -> None:
        """Compute the factor of each score in the sums, (n_runs, n_users), and the depth.

        It is the weight of the user, (n_users,), times that of the run in the mean of its system;
        both are 1 without weights and replicates.
        """
        self._are_factors_one = self.weights is None and self.replicates is None
        self._factors = np.ones((len(self.runs), self.qrels.n_users))
        if self.replicates is not None:
            self._factors = self.replicates.weights()
        if self.weights is not None:
            self._factors = self._factors * self.weights
        self._depth = depth_needed(self.runs, self.measures, self.metrics)

    def __call__(self, is_kept: Masks, *, blocks: Numbers) -> Floats:
        """Score all runs on samples of the judgements, in the sum over each block of users.

        ``is_kept``: which judgements each sample has, (n_judgements, n_samples); ``blocks``: the
        number of the block of each user, from 0, (n_users,). The sums, of shape (n_measures,
        n_blocks, n_runs, n_samples), are of scores times the weights of users and runs; of
        logarithms where the metric asks for a geometric mean. Measures that the kernel knows are
        scored by it, others by their definitions, from as few ranks as they need. Raises ValueError
        if there is not one row of masks for each judgement, or not one block for each user.
        """
        n_judgements = len(self.qrels.items)
        n_users = self.qrels.n_users
        if len(is_kept) != n_judgements or blocks.shape != (n_users,):
            raise ValueError(
                f"masks of shape {is_kept.shape} and blocks of shape {blocks.shape} do not fit "
                f"{n_judgements:,} judgements of {n_users:,} users."
            )
        n_blocks = int(blocks.max(initial=0)) + 1
        n_samples = is_kept.shape[1]
        shape = (len(self.measures), n_blocks, len(self.runs), n_samples)
        sums = np.zeros(shape)
        # Positions of measures: first those of the kernel, by relevance level and kind of mean.
        for (level, is_geometric), numbers in self._fused.items():
            hits = self._hits.at_level(level)
            if is_geometric or not self._are_factors_one:
                self._add_scores_of_users(
                    numbers, hits, is_kept, blocks, sums, is_geometric=is_geometric
                )
            else:
                self._set_sums(numbers, hits, is_kept, blocks, sums)
        for needs, samples_at_once in SAMPLES_AT_ONCE.items():
            numbers = self._numbers_that_need(needs)
            if not numbers:
                continue
            user_blocks = self._blocks_of_hits if needs == "judged ranks" else self._blocks
            for start in range(0, n_samples, samples_at_once):
                samples = slice(start, start + samples_at_once)
                masks = is_kept[:, samples]
                sums_of_samples = sums[..., samples]
                self._add(numbers, user_blocks, masks, blocks, sums_of_samples)
        # Scores that do not depend on judgements are computed once, and are those of all samples.
        constant = self._numbers_that_need("nothing")
        if constant:
            all_judgements = _one_sample_of_all(n_judgements)
            first_sums = sums[..., :1]
            self._add(constant, self._blocks, all_judgements, blocks, first_sums)
            sums[constant] = first_sums[constant]
        return sums

    def _set_sums(
        self, numbers: list[int], hits: Hits, is_kept: Masks, blocks: Numbers, sums: Floats
    ) -> None:
        """Score fused measures by the kernel, and write their sums over blocks of users.

        ``numbers`` are positions of the measures; ``is_kept`` has the shape (n_judgements,
        n_samples), blocks of users (n_users,), and ``sums``, which is written, (n_measures,
        n_blocks, n_runs, n_samples).
        """
        from harness.scoring.kernel import group_sums

        metric_rows, cutoff_rows = self._kernel_rows(numbers)
        rows = list(zip(numbers, metric_rows, cutoff_rows, strict=True))
        for groups, values in group_sums(hits, is_kept, cutoffs=self._cutoffs, groups=blocks):
            for number, metric_row, cutoff_row in rows:
                values_of_measure = values[metric_row, cutoff_row]
                sums[number, groups] = values_of_measure.swapaxes(0, 1)

    def _add_scores_of_users(
        self,
        numbers: list[int],
        hits: Hits,
        is_kept: Masks,
        blocks: Numbers,
        sums: Floats,
        *,
        is_geometric: bool,
    ) -> None:
        """Score every user by measures of the kernel, and add scores to the sums, in place.

        Scores, or their logarithms if ``is_geometric``, are multiplied by the factors of runs and
        users, (n_runs, n_users). ``numbers`` are positions of the measures; ``is_kept`` has the
        shape (n_judgements, n_samples), blocks of users (n_users,), and ``sums``, (n_measures,
        n_blocks, n_runs, n_samples).
        """
        from harness.scoring.kernel import group_sums

        metric_rows, cutoff_rows = self._kernel_rows(numbers)
        measure_rows = np.array(numbers)[:, np.newaxis]
        each_user = np.arange(len(blocks))
        for users, values in group_sums(hits, is_kept, cutoffs=self._cutoffs, groups=each_user):
            scores = values[metric_rows, cutoff_rows]
            if is_geometric:
                scores = logarithms(scores)
            scores = scores * self._factors[:, users, np.newaxis]
            scores_by_user = scores.swapaxes(1, 2)
            # Several users of a block are added to the same sum.
            np.add.at(sums, (measure_rows, blocks[users]), scores_by_user)

    def _kernel_rows(self, numbers: list[int]) -> tuple[list[int], list[int]]:
        """Look up the positions of fused measures in the results of the kernel.

        ``numbers`` are positions of the measures. The results, each of one entry a measure:
        positions on the axis of metrics, and on that of cut-offs.
        """
        from harness.scoring.kernel import FUSED

        metric_rows = []
        cutoff_rows = []
        for number in numbers:
            measure = self.measures[number]
            metric = self.metrics[measure.metric]
            cutoff = self._kernel_cutoff(measure)
            metric_rows.append(FUSED.index(metric.name))
            cutoff_rows.append(self._cutoffs.index(cutoff))
        return metric_rows, cutoff_rows

    @property
    def by_definition(self) -> tuple[str, ...]:
        """Names of the metrics that are scored over whole lists, one sample at a time."""
        numbers = self._numbers_that_need("all ranks")
        names = [self.measures[number].metric for number in numbers]
        # Every name once, in the order of the measures.
        return tuple(dict.fromkeys(names))

    def _add(
        self,
        numbers: list[int],
        user_blocks: list[Block],
        is_kept: Masks,
        blocks: Numbers,
        sums: Floats,
    ) -> None:
        """Add the scores by some measures, by their definitions, to the sums over blocks of users.

        ``numbers`` are positions of the measures. ``user_blocks`` hold the lists of all users, of
        those that are judged together at a time; ``blocks`` are the blocks of users in the sums,
        (n_users,). ``is_kept`` has the shape (n_judgements, n_samples), and ``sums``, changed in
        place, (n_measures, n_blocks, n_runs, n_samples). Scores are multiplied by the factors of
        runs and users.
        """
        samples = Samples.of_masks(self.qrels, self.catalogue, is_kept)
        measures = [self.measures[number] for number in numbers]
        measure_rows = np.array(numbers)[:, np.newaxis]
        for user_block in user_blocks:
            block_of_user = blocks[user_block.users]
            # Users of a block of the sums are put together, and added up.
            order = np.argsort(block_of_user, kind="stable")
            ordered_blocks = block_of_user[order]
            block_numbers, starts = np.unique(ordered_blocks, return_index=True)
            judged_lists = user_block.judge(samples)
            for run, judged in enumerate(judged_lists, start=user_block.first_system):
                # Of lists: the samples of a user, then those of the next.
                scores = _scores(judged, measures, self.metrics)
                by_user = scores.reshape(len(measures), len(block_of_user), -1)
                if not self._are_factors_one:
                    factors = self._factors[run, user_block.users, np.newaxis]
                    by_user = by_user * factors
                totals = np.add.reduceat(by_user[:, order], starts, axis=1)
                sums[measure_rows, block_numbers, run] += totals

    @cached_property
    def _cutoffs(self) -> list[int]:
        """Cut-offs of the kernel, rising: those of all measures that it knows."""
        cutoffs = set()
        for numbers in self._fused.values():
            for number in numbers:
                cutoff = self._kernel_cutoff(self.measures[number])
                cutoffs.add(cutoff)
        return sorted(cutoffs)

    def _kernel_cutoff(self, measure: Measure) -> int:
        """Look up a measure's cut-off; without one, a rank below which nothing counts.

        That is the end of the lists, or for nDCG that of the ideal list, if it is longer.
        """
        if measure.cutoff is not None:
            return measure.cutoff
        has_ideal = self.metrics[measure.metric].name == "nDCG"
        longest = int(np.diff(self.qrels.offsets).max(initial=0)) if has_ideal else 0
        return max(self._depth, longest, 1)

    @cached_property
    def _fused(self) -> dict[tuple[Any, bool], list[int]]:
        """Positions of the measures that the kernel knows, in lists.

        The keys: relevance level (by default that of the judgements), and whether means are
        geometric.
        """
        by_level_and_mean: dict[tuple[Any, bool], list[int]] = {}
        for number, measure in enumerate(self.measures):
            metric = self.metrics[measure.metric]
            if is_fused(metric):
                options = dict(metric.option_values)
                level = options.get(LEVEL_OPTION.name, self.qrels.relevance_level)
                key = (level, metric.is_geometric)
                by_level_and_mean.setdefault(key, []).append(number)
        return by_level_and_mean

    @cached_property
    def _not_fused(self) -> list[int]:
        """Positions of the measures that the kernel does not know."""
        fused = {number for numbers in self._fused.values() for number in numbers}
        return [number for number in range(len(self.measures)) if number not in fused]

    @cached_property
    def _needs(self) -> list[Needs]:
        """What the measures that the kernel does not know need of the lists, one by one.

        ``self._not_fused`` are the positions of these measures. Each needs "nothing" (its scores
        are the same in all samples), "judged ranks" or "all ranks".
        """
        if not self._not_fused:
            return []
        measures = [self.measures[number] for number in self._not_fused]
        return needs_of(
            self.runs, self.qrels, measures, self.metrics, self.catalogue, depth=self._depth
        )

    def _numbers_that_need(self, needs: Needs) -> list[int]:
        """List positions of the measures that need this of the lists when judgements are lost.

        Those that the kernel knows are not among them.
        """
        needs_by_number = zip(self._not_fused, self._needs, strict=True)
        return [number for number, needs_of_it in needs_by_number if needs_of_it == needs]

    @cached_property
    def _hits(self) -> Hits:
        """The judged items in all lists, down to the deepest cut-off of the kernel."""
        from harness.scoring.kernel import find_hits

        deepest_cutoff = self._cutoffs[-1]
        depth = min(self._depth, deepest_cutoff)
        return find_hits(self.runs, self.qrels, depth=depth)

    @cached_property
    def _blocks(self) -> list[Block]:
        """The lists of all users with all their ranks, to be judged in one sample at a time."""
        return list(divide(self.runs, self.qrels, depth=self._depth))

    @cached_property
    def _blocks_of_hits(self) -> list[Block]:
        """The lists of all users with their judged ranks, to be judged in many samples at once."""
        at_once = SAMPLES_AT_ONCE["judged ranks"]
        blocks = divide(self.runs, self.qrels, depth=self._depth, n_samples=at_once, hits_only=True)
        return list(blocks)


def is_fused(metric: Metric) -> bool:
    """Check that the kernel knows the metric: no options but level and mean are set."""
    from harness.scoring.kernel import FUSED

    options = {name for name, _ in metric.option_values}
    known_options = {LEVEL_OPTION.name, MEAN_OPTION.name}
    return metric.name in FUSED and options <= known_options
