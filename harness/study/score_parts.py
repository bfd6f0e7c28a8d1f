"""The parts of a study that are scores, by its judgements and by the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import inf
from pathlib import Path

from analyses.shared.evidence import read_evidence, to_evidence
from analyses.shared.measure import Measure, Measures, depth_of
from analyses.shared.scores import RunDeviations, Scores
from analyses.shared.work import Truth
from harness.metrics.shared.metric import Metric
from harness.readers.score_parquet import SCORES_FILE, scores_from_parquet, scores_to_parquet
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
from harness.scoring.tied_items import warn_of_ties
from harness.study.parts import Files
from harness.study.system_lists import KeptLists, SystemLists
from harness.study.systems_run import SystemsRun
from harness.study.true_judgements import TrueJudgements
from harness.study.workers import HIDDEN_RANKS
from qrels import Catalogue, Qrels, Ratings
from qrels.ranks.judged_ranks import JudgedRanks
from runs import Numbering, Run
from runs.shared.arrays import Floats
from runs.shared.progress import Progress

SCORES = "scores"
TRUE_SCORES = "true-scores"
"""Names of the parts of the study that are its scores, by the judgements and by the truth."""

RUNS_FILE = "evidence/runs.npz"
TRUE_RUNS_FILE = "truth/runs.npz"
"""What the runs of one system differ by, where there are several of one."""

TRUE_SCORES_FILE = "truth/scores.parquet"


@dataclass(frozen=True)
class ScoreParts:
    """Scores of the systems of a study, and the files that keep them.

    Parameters
    ----------
    run
        The run of the study.
    lists
        What its systems recommend.
    """

    run: SystemsRun
    lists: SystemLists

    def keep(self) -> None:
        """Score the systems by the judgements, and by the truth if it is known; write the files.

        These are scores, means and coverage (with tables and figures), and true scores. Parts of
        the study folder that are complete are not made again.
        """
        self._keep_scores()
        self.run.keep_tables_and_figures("means", Means, part=SCORES)
        self.run.keep_tables_and_figures("coverage", Coverage, part=SCORES)
        true_judgements = self.run.collection.true_judgements
        truth_section = self.run.study.truth
        if true_judgements is not None and truth_section is not None:
            self._keep_true_scores(true_judgements, truth_section.measures)

    def _keep_scores(self) -> None:
        """Score the systems by the judgements; write scores, means and coverage, unless complete.

        The part `SCORES` of the study folder has the files.
        """
        run = self.run
        collection = run.collection
        make = partial(
            score_files,
            lists=self.lists.recommended,
            qrels=collection.qrels,
            topics=collection.topics,
            measures=run.study.measures,
            metrics=run.metrics,
            catalogue=run.catalogue,
            hidden_files=self.lists.files_of(HIDDEN_RANKS),
            average=run.study.metrics.average,
            unit=collection.unit,
        )
        run.parts.build(SCORES, run.parts.key(make), lambda: make(progress=run.progress))

    def _keep_true_scores(
        self, true_judgements: TrueJudgements, references: Sequence[Measure]
    ) -> None:
        """Score the systems by the truth, under the measures of the study and the references.

        Writes the part `TRUE_SCORES` of the study folder, unless it is complete. ``references`` are
        the measures that order the systems truly. Truly judged items that trained systems do not
        rank are appended to the lists if lists hold judged items alone (`true_score_files`).
        """
        run = self.run
        collection = run.collection
        make = partial(
            true_score_files,
            lists=self.lists.truly_judged,
            # Where the truth was read from changes no score.
            true_judgements=replace(true_judgements, facts={}, inputs=()),
            measures=run.study.measures,
            references=references,
            metrics={**run.references, **run.metrics},
            catalogue=run.catalogue,
            train=None if collection.split is None else collection.split.train,
            average=run.study.metrics.average,
            completing_seed=None if collection.runs else run.study.seed,
        )
        run.parts.build(TRUE_SCORES, run.parts.key(make), lambda: make(progress=run.progress))

    @cached_property
    def catalogue(self) -> Catalogue:
        """What metrics may know of items, with the hidden ranks of systems if any are kept."""
        return with_hidden_ranks(self.run.catalogue, self.lists.files_of(HIDDEN_RANKS))

    @cached_property
    def true_runs(self) -> list[Run]:
        """The lists that the truth judges; none if no truth is known."""
        true_judgements = self.run.collection.true_judgements
        if true_judgements is None:
            return []
        return truly_judged_runs(self.lists.truly_judged, true_judgements)

    @cached_property
    def scores(self) -> Scores:
        """The scores of every system, measure and user by the judgements."""
        return self._read_scores(SCORES_FILE, RUNS_FILE, self._weights(self.run.collection.qrels))

    @cached_property
    def truth(self) -> Truth | None:
        """The scores by the truth, with notes of what condensed lists cannot show; None without it.

        Lists are condensed where they hold the truly judged items alone. Reads the files of scores.
        """
        true_judgements = self.run.collection.true_judgements
        truth_section = self.run.study.truth
        if true_judgements is None or truth_section is None:
            return None
        is_condensed = true_judgements.candidates == "judged"
        notes: tuple[str, ...] = ()
        if is_condensed:
            is_trained = not self.run.collection.runs
            reported = self.run.study.measures.reported
            notes = tuple(true_judgements.notes(self.true_runs, reported, trained=is_trained))
        weights = self._weights(true_judgements.qrels)
        return Truth(
            scores=self._read_scores(TRUE_SCORES_FILE, TRUE_RUNS_FILE, weights),
            references=truth_section.measures,
            origin=true_judgements.origin,
            condensed=is_condensed,
            notes=notes,
        )

    def _weights(self, qrels: Qrels) -> Floats | None:
        """Compute the weights of the users of qrels, (n_users,); None if all weigh the same."""
        return user_weights(qrels, self.run.study.metrics.average)

    def _read_scores(self, scores_file: str, runs_file: str, weights: Floats | None) -> Scores:
        """Read scores from the study folder; the second file only where runs are replicated."""
        folder = self.run.folder
        is_replicated = bool(self.run.collection.systems_of_runs)
        runs_path = folder / runs_file if is_replicated else None
        return read_scores(folder / scores_file, runs_path, weights)

    def warn_of_ties(self) -> None:
        """Warn of each given run with many lists whose ties let means depend on their order.

        Ties are equal scores of a run in a list. Means are by the reported measures, and lists go
        down to the deepest of their cut-offs. Runs of trained systems have no ties to warn of.
        """
        collection = self.run.collection
        reported = self.run.study.measures.reported
        deepest = max(map(depth_of, reported))
        depth = None if deepest == inf else int(deepest)

        def means_of(runs: Sequence[Run]) -> Floats:
            """Compute the means of runs by the reported measures, (n_measures, n_runs)."""
            scores = score(
                runs,
                collection.qrels,
                Measures(reported, reported=reported),
                self.run.metrics,
                users=collection.topics.ids,
                catalogue=self.run.catalogue,
            )
            return replace(scores, weights=self._weights(collection.qrels)).mean_values()

        for run in collection.runs:
            warn_of_ties(
                run,
                collection.qrels,
                depth=depth,
                measures=[str(measure) for measure in reported],
                means_of=means_of,
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
    """Score every user, run and measure by the judgements; write scores, means and coverage.

    Returns the contents of files by their names in the study folder. Scores of several runs of one
    system are averaged; what its runs differ by is one more file.

    Parameters
    ----------
    lists
        The lists of all runs, read from files.
    catalogue
        What metrics may know of items.
    topics
        The users of the qrels, in their order.
    metrics
        The metrics by name.
    hidden_files
        By system, the file of the ranks of its hidden items; empty if no metric needs them.
    average
        Whether users or judgements weigh the same in means.
    unit
        What scores are of: "user" or "topic".
    """
    with progress("Scoring the runs", len(lists.files)) as bar:
        run_scores = score(
            lists.runs,
            qrels,
            measures,
            metrics,
            users=topics.ids,
            catalogue=with_hidden_ranks(catalogue, hidden_files),
            advance=bar.advance,
        )
    run_scores = replace(run_scores, unit=unit, weights=user_weights(qrels, average))
    replicates = lists.replicates_of(lists.runs)
    scores = averaged(run_scores, replicates)
    means = replace(Means.of_scores(scores, metrics, average=average), unit=unit)
    files = {SCORES_FILE: scores_to_parquet(scores)}
    if replicates is not None:
        spreads = spread(run_scores, replicates, metrics)
        means = replace(means, sizes=replicates.runs_per_system(), spreads=spreads)
        files[RUNS_FILE] = to_evidence(deviations(run_scores, replicates))
    coverage = replace(Coverage.of_runs(lists.runs, qrels), unit=unit)
    files[evidence_name("means")] = to_evidence(means)
    files[evidence_name("coverage")] = to_evidence(coverage)
    return files


def with_hidden_ranks(catalogue: Catalogue, files: Mapping[str, Path]) -> Catalogue:
    """Add to a catalogue where each system ranks its hidden items, read from a file by system.

    Without files, returns the catalogue as it is.
    """
    if not files:
        return catalogue
    ranks = {system: read_evidence(path, JudgedRanks) for system, path in files.items()}
    return replace(catalogue, hidden_ranks=ranks)


def true_score_files(
    lists: KeptLists,
    true_judgements: TrueJudgements,
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
    """Score every user of the truth by the true judgements; write the scores.

    Measures are those of the study, then other references, without those of hidden items: nothing
    is hidden by a truth. Scores of several runs of one system are averaged; what its runs differ by
    is one more file.

    Parameters
    ----------
    lists
        The lists that the truth judges, or the usual lists of the study.
    measures
        The measures of the study: all, those that are reported, and the grid of metrics and
        cut-offs.
    references
        Measures that order the systems truly.
    metrics
        The metrics by name, those of the references too.
    train
        Training ratings, None without a split: profiles are rows of their users.
    average
        Whether users or judgements weigh the same in means.
    completing_seed
        Random seed of the order of truly judged items that a trained system does not rank, which
        are appended to lists of judged items alone; None for runs by other programs.
    """
    runs = truly_judged_runs(lists, true_judgements)
    replicates = lists.replicates_of(runs)
    if true_judgements.candidates == "judged" and completing_seed is not None:
        depth = max(run.items.shape[1] for run in runs)
        runs = [
            true_judgements.with_unranked_items(run, depth, seed=completing_seed) for run in runs
        ]
    truly_scored = [measure for measure in measures if not metrics[measure.metric].needs]
    study_measures = measures.restricted_to(truly_scored)
    other_references = [reference for reference in references if reference not in study_measures]
    all_measures = Measures(
        [*study_measures, *other_references],
        reported=study_measures.reported,
        grid=study_measures.grid,
    )
    profiles = None if train is None else train.matrix()[true_judgements.users]
    with progress("Scoring by the truth", len(runs)) as bar:
        run_scores = score(
            runs,
            true_judgements.qrels,
            all_measures,
            metrics,
            users=true_judgements.topics.ids,
            catalogue=replace(catalogue, profiles=profiles),
            advance=bar.advance,
        )
    weights = user_weights(true_judgements.qrels, average)
    run_scores = replace(run_scores, weights=weights)
    scores = averaged(run_scores, replicates)
    files = {TRUE_SCORES_FILE: scores_to_parquet(scores)}
    if replicates is not None:
        files[TRUE_RUNS_FILE] = to_evidence(deviations(run_scores, replicates))
    return files


def truly_judged_runs(lists: KeptLists, true_judgements: TrueJudgements) -> list[Run]:
    """Select the lists that the truth judges, of its users.

    They are made for the truth, or the usual lists of these users.
    """
    if true_judgements.has_separate_lists:
        return lists.runs
    return [true_judgements.select_users(run) for run in lists.runs]


def read_scores(path: Path, runs_path: Path | None, weights: Floats | None) -> Scores:
    """Read scores, and what the runs of one system differ by if a path of that is given.

    ``weights`` of the users have shape (n_users,); None if all weigh the same.
    """
    scores = scores_from_parquet(path.read_bytes())
    runs = None if runs_path is None else read_evidence(runs_path, RunDeviations)
    return replace(scores, weights=weights, runs=runs)
