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
from harness.scoring.score import SampleScorer
from harness.study.collection import Collection
from qrels import Catalogue, FullRanks, Judged, Qrels
from qrels.ranks.full_ranks import CandidateRanks
from runs import InputError, Run
from runs.replicates import Replicates
from runs.shared.arrays import Floats, Ints, Numbers
from runs.shared.progress import Progress, SilentProgress

OF_SINGLE_LISTS = "is of one list for each user and system; these have replicates."


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
        What they may know of items.
    ranks
        By system: the file that keeps its full ranks.
    whole
        By system: the file that keeps its ranks of all candidates.
    known_families
        The families of systems, by name, where they are known.
    known_truth
        What the systems are truly worth, if that is known.
    replicates
        Which runs are of which system, where several may be of one.
    worlds
        What runs the study in other worlds, if that can be done.
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
    ranks: Mapping[str, Path] = field(default_factory=dict)
    whole: Mapping[str, Path] = field(default_factory=dict)
    known_families: Mapping[str, str] = field(default_factory=dict)
    known_truth: Truth | None = None
    replicates: Replicates | None = None
    worlds: Callable[[Sequence[OtherWorld], StudyWorld], Iterator[Any]] | None = None

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
    def scales(self) -> Mapping[Measure, int]:
        """Scales of the measures whose scores are whole numbers over a common divisor.

        Weighted scores are not.
        """
        if self.scores.weights is not None:
            return {}
        divisor = 1 if self.replicates is None else self.replicates.common_denominator()
        scales = {
            measure: self.metrics[measure.metric].lattice(measure.cutoff)
            for measure in self.scores.measures
            if measure.cutoff is not None
        }
        return {measure: divisor * scale for measure, scale in scales.items() if scale is not None}

    @cached_property
    def activity(self) -> Numbers:
        """Training ratings of each scored user; judgements, where nothing is trained."""
        split = self.collection.split
        if split is None:
            return np.diff(self.qrels.offsets)
        return split.train.user_counts()[split.test_users]

    @cached_property
    def popularity_counts(self) -> Mapping[CountedIn, Numbers]:
        """Ratings of every item, by where they are counted."""
        return self.collection.popularity_counts()

    @cached_property
    def recommended(self) -> Mapping[str, Ints]:
        """By system: the items of its lists."""
        if self.replicates is not None:
            raise InputError(f"the analysis {OF_SINGLE_LISTS}")
        return {run.system: run.items for run in self.runs}

    @cached_property
    def full_ranks(self) -> Mapping[str, FullRanks]:
        """By system: where the relevant items stand among all candidates."""
        return {system: read_evidence(path, FullRanks) for system, path in self.ranks.items()}

    @cached_property
    def candidate_ranks(self) -> Mapping[str, CandidateRanks]:
        """By system: where all candidates of some users stand."""
        return {system: read_evidence(path, CandidateRanks) for system, path in self.whole.items()}

    def in_worlds(self, worlds: Sequence[OtherWorld], study: StudyWorld) -> Iterator[Any]:
        """Train the systems in other worlds, and give what is found in each, in their order."""
        if self.worlds is None:
            self._refuse("a simulated world")
        return self.worlds(worlds, study)

    @cached_property
    def judged_twice(self) -> tuple[Numbers, Numbers, Numbers]:
        """What both the qrels and the truth judge: numbers of users, and the grades of both."""
        truth = self.collection.judged_truly
        if truth is None:
            self._refuse("a truth")
        own, true, n_items = self.qrels, truth.qrels, len(self.collection.items)
        users = self.collection.topics.numbers(truth.topics.ids)[true.users].astype(np.int64)
        judged = own.grades >= 0
        truly_judged = (users >= 0) & (true.grades >= 0)
        keys = (own.users.astype(np.int64) * n_items + own.items)[judged]
        true_keys = (users * n_items + true.items)[truly_judged]
        both, one, other = np.intersect1d(keys, true_keys, return_indices=True)
        return (
            (both // n_items).astype(np.intp),
            own.grades[judged][one].astype(np.intp),
            true.grades[truly_judged][other].astype(np.intp),
        )

    def accumulation(self, measure: Measure) -> str:
        """Say how relevant items add up to the score."""
        return self.metrics[measure.metric].accumulation

    def score_lists(self, measure: Measure, grades: Floats) -> Floats:
        """Score lists of grades."""
        judged = Judged(grades, grades, self.qrels.relevance_level)
        return self.metrics[measure.metric](judged, cutoff=measure.cutoff)

    def rescorer(self, n_samples: int) -> SumSamples:
        """Give what scores the systems anew, and say what metrics outside the kernel will cost."""
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
            self.progress.note(
                f"{', '.join(scorer.by_definition)}: scored from all ranks of every list, "
                f"{n_samples:,} samples of the judgements one by one, which is slow."
            )
        return scorer
