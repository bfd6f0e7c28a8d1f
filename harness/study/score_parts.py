"""The parts of a study that are scores, by its judgements and by the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from pathlib import Path

import numpy as np

from analyses.shared.evidence import read_evidence, to_evidence
from analyses.shared.measure import Measure, Measures, depth_of
from analyses.shared.scores import RunDeviations, Scores
from analyses.shared.sentences import listed
from analyses.shared.table import rounded
from analyses.shared.work import Truth
from harness.metrics.shared.metric import Metric
from harness.readers.scores import SCORES_FILE, scores_from_parquet, scores_to_parquet
from harness.report.study_folder import evidence_name
from harness.scoring.means import (
    Average,
    Coverage,
    Means,
    averaged,
    deviations,
    spread,
    user_weights,
)
from harness.scoring.score import score
from harness.study.parts import Files
from harness.study.system_lists import KeptLists, SystemLists
from harness.study.systems_run import SystemsRun
from harness.study.true_judgements import TrueJudgements
from harness.study.workers import HIDDEN
from qrels import Catalogue, Qrels, Ratings, judge
from qrels.ranks.judged_ranks import JudgedRanks
from runs import Numbering, Run
from runs.shared.arrays import Floats
from runs.shared.errors import warn
from runs.shared.progress import Progress

LEAST_TIED_SHARE = 0.05
"""Share of lists with equal scores from which a caution is worth it."""

LEAST_RANGE = 0.001
"""Range of a mean over the orders of equal scores from which a caution is worth it."""

SCORES = "scores"
TRUE_SCORES = "true-scores"
"""Names of the parts of the study that are its scores, by the judgements and by the truth."""

RUNS_FILE = "evidence/runs.npz"
TRUE_RUNS_FILE = "truth/runs.npz"
"""What the runs of one system differ by, where there are several of one."""

TRUE_SCORES_FILE = "truth/scores.parquet"


@dataclass(frozen=True)
class ScoreParts:
    """Scores of the systems of a study, and the files that keep them."""

    run: SystemsRun
    lists: SystemLists

    def keep(self) -> None:
        """Keep the scores, means and coverage by the judgements, and the scores by the truth."""
        run, parts = self.run, self.run.parts
        study, collection = run.study, run.collection
        scored = (
            self.lists.recommended,
            collection.qrels,
            collection.topics,
            study.measures,
            run.metrics,
            run.catalogue,
            self.lists.files_of(HIDDEN),
            study.metrics.average,
            collection.unit,
        )
        key = parts.key(score_files, *scored)
        parts.build(SCORES, key, lambda: score_files(*scored, progress=run.progress))
        run.keep_drawn("means", Means, of=SCORES)
        run.keep_drawn("coverage", Coverage, of=SCORES)
        known = collection.judged_truly
        if known is None or study.truth is None:
            return
        truly_scored = (
            self.lists.truly_judged,
            # Where the truth was read from changes no score.
            replace(known, facts={}, inputs=()),
            study.measures,
            study.truth.measures,
            {**run.references, **run.metrics},
            run.catalogue,
            None if collection.split is None else collection.split.train,
            study.metrics.average,
            None if collection.runs else study.seed,
        )
        true_key = parts.key(true_score_files, *truly_scored)
        parts.build(
            TRUE_SCORES, true_key, lambda: true_score_files(*truly_scored, progress=run.progress)
        )

    @cached_property
    def catalogue(self) -> Catalogue:
        """What metrics may know of items, with the hidden ranks of systems if any are kept."""
        return with_hidden_ranks(self.run.catalogue, self.lists.files_of(HIDDEN))

    @cached_property
    def true_runs(self) -> list[Run]:
        """The lists that the truth judges."""
        known = self.run.collection.judged_truly
        return [] if known is None else lists_to_judge(self.lists.truly_judged, known)

    @cached_property
    def scores(self) -> Scores:
        """The scores of every system, measure and user by the judgements."""
        return self._read(SCORES_FILE, RUNS_FILE, self._weights)

    @cached_property
    def truth(self) -> Truth | None:
        """The scores by the truth; None if none is known."""
        known, section = self.run.collection.judged_truly, self.run.study.truth
        if known is None or section is None:
            return None
        is_condensed = known.candidates == "judged"
        notes: tuple[str, ...] = ()
        if is_condensed:
            is_trained = not self.run.collection.runs
            reported = self.run.study.measures.reported
            notes = tuple(known.notes(self.true_runs, reported, trained=is_trained))
        return Truth(
            scores=self._read(TRUE_SCORES_FILE, TRUE_RUNS_FILE, self._true_weights(known)),
            references=section.measures,
            origin=known.origin,
            condensed=is_condensed,
            notes=notes,
        )

    @property
    def _weights(self) -> Floats | None:
        """Weights of the users; None if all weigh the same."""
        return user_weights(self.run.collection.qrels, self.run.study.metrics.average)

    def _true_weights(self, known: TrueJudgements) -> Floats | None:
        return user_weights(known.qrels, self.run.study.metrics.average)

    def _read(self, scores_file: str, runs_file: str, weights: Floats | None) -> Scores:
        folder = self.run.folder
        is_replicated = bool(self.run.collection.replicated)
        runs_path = folder / runs_file if is_replicated else None
        return read_scores(folder / scores_file, runs_path, weights)

    def warn_of_ties(self) -> None:
        """Warn of given runs of which many lists have equal scores, and by how much they matter."""
        reported = self.run.study.measures.reported
        depth = max(map(depth_of, reported))
        deepest = None if depth == inf else int(depth)
        qrels = self.run.collection.qrels
        for run in self.run.collection.runs:
            share = 0.0 if run.tied is None else run.tied[:, :deepest].any(axis=1).mean()
            if share < LEAST_TIED_SHARE:
                continue
            grades = judge(run, qrels).grades
            # An unjudged item is worth less than a relevant one, and more than a non-relevant one.
            worth = np.where(np.isnan(grades), qrels.relevance_level - 0.5, grades)
            orders = [run, run.with_ties_by(-worth), run.with_ties_by(worth)]
            renamed = [replace(each, system=str(number)) for number, each in enumerate(orders)]
            scores = score(
                renamed,
                qrels,
                Measures(reported, reported=reported),
                self.run.metrics,
                users=self.run.collection.topics.ids,
                catalogue=self.run.catalogue,
            )
            means = replace(scores, weights=self._weights).mean_values()
            ranges = []
            for measure, (mean, *ends) in zip(reported, means.tolist(), strict=True):
                low, high = min(mean, *ends), max(mean, *ends)
                if high - low >= LEAST_RANGE:
                    ranges.append(f"{measure} {rounded(mean)} ({rounded(low)} to {rounded(high)})")
            if ranges:
                lists = f"{share:.0%} of the lists of {run.system}".replace("%", " %")
                warn(
                    f"{lists} have items with equal scores, which are ordered by item id. With "
                    f"other orders of these items, its means could be: {listed(ranges)}."
                )


def score_files(
    lists: KeptLists,
    qrels: Qrels,
    topics: Numbering,
    measures: Measures,
    metrics: Mapping[str, Metric],
    catalogue: Catalogue,
    hidden_files: Mapping[str, Path],
    average: Average,
    unit: str,
    *,
    progress: Progress,
) -> Files:
    """Score every user, run and measure by the judgements; write scores, means and coverage."""
    with progress("Scoring the runs", len(lists.files)) as bar:
        by_run = score(
            lists.runs,
            qrels,
            measures,
            metrics,
            users=topics.ids,
            catalogue=with_hidden_ranks(catalogue, hidden_files),
            advance=bar.advance,
        )
    by_run = replace(by_run, unit=unit, weights=user_weights(qrels, average))
    replicates = lists.replicates_of(lists.runs)
    scores = averaged(by_run, replicates)
    means = replace(Means.of(scores, metrics, average=average), unit=unit)
    files = {SCORES_FILE: scores_to_parquet(scores)}
    if replicates is not None:
        spreads = spread(by_run, replicates, metrics)
        means = replace(means, sizes=replicates.runs_per_system(), spreads=spreads)
        files[RUNS_FILE] = to_evidence(deviations(by_run, replicates))
    coverage = replace(Coverage.of(lists.runs, qrels), unit=unit)
    files[evidence_name("means")] = to_evidence(means)
    files[evidence_name("coverage")] = to_evidence(coverage)
    return files


def with_hidden_ranks(catalogue: Catalogue, files: Mapping[str, Path]) -> Catalogue:
    """Add to what is known of items where each system ranks hidden ones, if that is kept."""
    if not files:
        return catalogue
    ranks = {system: read_evidence(path, JudgedRanks) for system, path in files.items()}
    return replace(catalogue, hidden_ranks=ranks)


def true_score_files(
    lists: KeptLists,
    known: TrueJudgements,
    measures: Measures,
    references: Sequence[Measure],
    metrics: Mapping[str, Metric],
    catalogue: Catalogue,
    train: Ratings | None,
    average: Average,
    completing_seed: int | None,
    *,
    progress: Progress,
) -> Files:
    """Score every user of the truth by it.

    Lists of trained systems that hold truly judged items alone are completed, by a seed. Measures
    are what the study measures, then other references, without those of hidden items: nothing is
    hidden by a truth.
    """
    runs = lists_to_judge(lists, known)
    replicates = lists.replicates_of(runs)
    if known.candidates == "judged" and completing_seed is not None:
        depth = max(run.items.shape[1] for run in runs)
        runs = [known.completed(run, depth, seed=completing_seed) for run in runs]
    own = measures.restricted_to(m for m in measures if not metrics[m.metric].needs)
    others = [reference for reference in references if reference not in own]
    profiles = None if train is None else train.matrix()[known.users]
    with progress("Scoring by the truth", len(runs)) as bar:
        by_run = score(
            runs,
            known.qrels,
            Measures([*own, *others], reported=own.reported, grid=own.grid),
            metrics,
            users=known.topics.ids,
            catalogue=replace(catalogue, profiles=profiles),
            advance=bar.advance,
        )
    by_run = replace(by_run, weights=user_weights(known.qrels, average))
    files = {TRUE_SCORES_FILE: scores_to_parquet(averaged(by_run, replicates))}
    if replicates is not None:
        files[TRUE_RUNS_FILE] = to_evidence(deviations(by_run, replicates))
    return files


def lists_to_judge(lists: KeptLists, known: TrueJudgements) -> list[Run]:
    """Take the lists that the truth judges: of its users, from the usual ones if it has no own."""
    return lists.runs if known.has_own_lists else [known.usual_lists(run) for run in lists.runs]


def read_scores(path: Path, runs_path: Path | None, weights: Floats | None) -> Scores:
    """Read scores, and what the runs of one system differ by, if there are several of one."""
    scores = scores_from_parquet(path.read_bytes())
    runs = None if runs_path is None else read_evidence(runs_path, RunDeviations)
    return replace(scores, weights=weights, runs=runs)
