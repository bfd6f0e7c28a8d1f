"""What the analyses of a study may use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from analyses.shared.evidence import read_evidence
from analyses.shared.families import Families, families_by_similarity
from analyses.shared.measure import Measure
from analyses.shared.scores import Scores
from analyses.shared.work import CountedIn, OtherWorld, StudyWorld, SumSamples, Truth, Work
from harness.metrics.shared.metric import Metric
from harness.scoring.judgement_use import measures_that_use_judgements
from harness.scoring.score import SampleScorer
from harness.study.collection import Collection
from qrels import Catalogue, FullRanks, Judged, Qrels
from qrels.ranks.full_ranks import CandidateRanks
from runs import InputError, Run
from runs.replicates import Replicates
from runs.shared.arrays import Floats, Ints, Numbers
from runs.shared.progress import Progress, SilentProgress

NEEDS_SINGLE_LISTS = "is of one list for each user and system; these have replicates."
"""Ends a sentence that refuses an analysis of a study with several runs of one system."""


@dataclass(frozen=True, eq=False, kw_only=True)
class StudyWork(Work):
    """The work of a study.

    Parameters
    ----------
    name, seed, n_jobs, progress
        See `Work`.
    collection, runs, scores
        What systems are judged on, their lists, and the scores of every user.
    metrics
        The metrics by name.
    catalogue
        What metrics may know of items.
    relevant_rank_files
        By system: the file of the ranks of its relevant items among all candidates.
    candidate_rank_files
        By system: the file of its ranks of all candidates of some users.
    known_families
        The families of systems, by name, where they are known.
    known_truth
        What the systems are truly worth, if that is known.
    replicates
        Which runs are of which system, where several may be of one.
    run_in_worlds
        Runs the study in other worlds, if that can be done.
    """

    name: str
    seed: int
    n_jobs: int = 1
    progress: Progress = field(default_factory=SilentProgress)
    collection: Collection
    runs: Sequence[Run]
    scores: Scores = field()
    metrics: Mapping[str, Metric] = field()
    catalogue: Catalogue = field()
    relevant_rank_files: Mapping[str, Path] = field(default_factory=dict)
    candidate_rank_files: Mapping[str, Path] = field(default_factory=dict)
    known_families: Mapping[str, str] = field(default_factory=dict)
    known_truth: Truth | None = None
    replicates: Replicates | None = None
    run_in_worlds: Callable[[Sequence[OtherWorld], StudyWorld], Iterator[Any]] | None = None

    @property
    def unit(self) -> str:
        """What scores are of."""
        return self.collection.unit

    @cached_property
    def qrels(self) -> Qrels:
        """The judgements."""
        return self.collection.qrels

    @cached_property
    def families(self) -> Families:
        """The families of the systems, found by likeness where they are not known."""
        return families_by_similarity(self.scores, self.known_families)

    @cached_property
    def _measures_that_use_judgements(self) -> list[Measure]:
        """The report measures that are better with a relevant item in place of another one."""
        return measures_that_use_judgements(
            self.runs, self.qrels, self.scores.measures.reported, self.metrics, self.catalogue
        )

    def uses_judgements(self, measure: Measure) -> bool:
        """Tell whether a report measure is better with a relevant item in place of another one."""
        return measure in self._measures_that_use_judgements

    @cached_property
    def scales(self) -> Mapping[Measure, int]:
        """By measure: the number by which all its scores become whole numbers, where there is one.

        Measures without it, or without a cut-off, are left out. Empty if users are weighted, as
        weighted scores are no such fractions. Where a score is the mean over runs of a system, the
        number is a multiple of the numbers of runs.
        """
        if self.scores.weights is not None:
            return {}
        divisor = 1 if self.replicates is None else self.replicates.common_denominator()
        scales = {}
        for measure in self.scores.measures:
            if measure.cutoff is not None:
                scale = self.metrics[measure.metric].lattice(measure.cutoff)
                if scale is not None:
                    scales[measure] = divisor * scale
        return scales

    @cached_property
    def activity(self) -> Numbers:
        """Number of training ratings of each scored user; of judgements, without training."""
        split = self.collection.split
        if split is None:
            return np.diff(self.qrels.offsets)
        return split.train.user_counts()[split.test_users]

    @cached_property
    def popularity_counts(self) -> Mapping[CountedIn, Numbers]:
        """Number of ratings of every item, (n_items,), by where they are counted."""
        return self.collection.popularity_counts()

    @cached_property
    def recommended(self) -> Mapping[str, Ints]:
        """By system: the items of its lists, (n_users, depth).

        Raises InputError if there are several runs of a system.
        """
        if self.replicates is not None:
            raise InputError(f"the analysis {NEEDS_SINGLE_LISTS}")
        return {run.system: run.items for run in self.runs}

    @cached_property
    def full_ranks(self) -> Mapping[str, FullRanks]:
        """By system: where the relevant items stand among all candidates."""
        return {
            system: read_evidence(path, FullRanks)
            for system, path in self.relevant_rank_files.items()
        }

    @cached_property
    def candidate_ranks(self) -> Mapping[str, CandidateRanks]:
        """By system: where all candidates of some users stand."""
        return {
            system: read_evidence(path, CandidateRanks)
            for system, path in self.candidate_rank_files.items()
        }

    def in_worlds(self, worlds: Sequence[OtherWorld], study: StudyWorld) -> Iterator[Any]:
        """Run the study in other worlds; yield what ``study`` computes in each, in their order.

        Refuses a study of real ratings, which cannot be simulated again.
        """
        if self.run_in_worlds is None:
            self._refuse("a simulated world")
        return self.run_in_worlds(worlds, study)

    @cached_property
    def judged_twice(self) -> tuple[Numbers, Numbers, Numbers]:
        """Pairs of user and item that both the qrels and the truth judge.

        Three arrays of shape (n_pairs,): the number of the user among the topics of the study, the
        grade in the qrels, and the true grade. Pairs are ordered by user, then item. Grades below 0
        are no judgements. Raises InputError for a study without a truth.
        """
        truth = self.collection.true_judgements
        if truth is None:
            self._refuse("a truth")
        n_items = len(self.collection.items)
        qrels = self.qrels
        true_qrels = truth.qrels
        user_numbers = self.collection.topics.numbers(truth.topics.ids)
        true_users = user_numbers[true_qrels.users].astype(np.int64)
        is_judged = qrels.grades >= 0
        is_truly_judged = (true_users >= 0) & (true_qrels.grades >= 0)
        # A number for each pair of user and item.
        pairs = qrels.users.astype(np.int64) * n_items + qrels.items
        true_pairs = true_users * n_items + true_qrels.items
        common_pairs, rows, true_rows = np.intersect1d(
            pairs[is_judged], true_pairs[is_truly_judged], return_indices=True
        )
        users = common_pairs // n_items
        grades = qrels.grades[is_judged][rows]
        true_grades = true_qrels.grades[is_truly_judged][true_rows]
        return users.astype(np.intp), grades.astype(np.intp), true_grades.astype(np.intp)

    def accumulation(self, measure: Measure) -> str:
        """Look up how relevant items add up to the score of a measure."""
        return self.metrics[measure.metric].accumulation

    def score_lists(self, measure: Measure, grades: Floats) -> Floats:
        """Score lists of grades, (n_lists, depth) from rank 1 on, NaN where nothing is judged.

        No items are judged beside those of the list. Grades of at least the relevance level of the
        qrels are relevant. Returns scores by the measure, of shape (n_lists,).
        """
        judged = Judged(grades, grades, self.qrels.relevance_level)
        return self.metrics[measure.metric](judged, cutoff=measure.cutoff)

    def rescorer(self, n_samples: int) -> SumSamples:
        """Make a function that scores the systems on samples of the judgements.

        The function takes marks of the judgements that samples keep, (n_judgements, n_samples), and
        the block of each user, (n_users,). It returns the sums of the scores over blocks, of shape
        (n_measures, n_blocks, n_runs, n_samples). Prints a note if a metric is outside the fast
        kernel: then ``n_samples`` samples, the number that the caller will draw, are slow.
        """
        scorer = SampleScorer(
            self.runs,
            self.qrels,
            self.scores.measures,
            self.metrics,
            self.catalogue,
            self.scores.weights,
            self.replicates,
        )
        if scorer.by_definition:
            names = ", ".join(scorer.by_definition)
            self.progress.note(
                f"{names}: scored from all ranks of every list, "
                f"{n_samples:,} samples of the judgements one by one, which is slow."
            )
        return scorer
