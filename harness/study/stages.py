"""The stages of a study of systems: recommend, judge, score, analyse, in this order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from analyses.shared.analysis import Analysis, AnalysisSettings, Need, SettingError, StudyFacts
from analyses.shared.evidence import read_evidence
from analyses.shared.result import Result
from analyses.shared.work import StudyWorld
from harness.report.answer import Answer, answer_of
from harness.report.repeats import Repeats, Varied, combine_repeats
from harness.report.study_folder import (
    ANSWER,
    REPEATS,
    evidence_name,
    in_report_order,
    under_repeats,
)
from harness.scoring.means import Means
from harness.study.collection import collect
from harness.study.input_files import TRUE_QRELS, keep_input
from harness.study.manifest_facts import describe_systems_study
from harness.study.other_worlds import OtherWorlds, with_world
from harness.study.parts import KeptPart
from harness.study.reachable_code import Maker
from harness.study.score_parts import (
    SCORES,
    TRUE_SCORES,
    ScoreParts,
    read_scores,
    score_files,
    true_score_files,
    truly_judged_runs,
    with_hidden_ranks,
)
from harness.study.study import Study
from harness.study.study_run import run_to_report
from harness.study.system_lists import KeptLists, SystemLists, maker_of_system
from harness.study.systems_run import SystemsRun
from harness.study.true_judgements import TrueJudgements
from harness.study.work import NEEDS_SINGLE_LISTS, StudyWork
from harness.study.workers import CANDIDATE_RANKS, RELEVANT_RANKS, RUN, recommended_lists
from qrels import FullRanks
from recommenders.shared.full_ranks import held_out_items
from recommenders.shared.register import read_settings
from recommenders.shared.train_and_rank import train_checked
from runs import InputError
from runs.shared.errors import counted, warn

ResultClasses: TypeAlias = Sequence[tuple[str, type[Result]]]
"""Keys and classes of results, in the order of the report."""


@dataclass(frozen=True)
class Stages:
    """The stages of one study in its folder.

    Parameters
    ----------
    run
        The run of the study.
    compute_in_world
        Runs a study of another world, and computes in it what an analysis asks for.
    repeats
        By other seed, or number of settings: runs the whole study under it, and returns the path of
        its report.
    """

    run: SystemsRun
    compute_in_world: Callable[[Study, StudyWorld], Any]
    repeats: Mapping[int, Callable[[], Path]] = field(default_factory=dict)

    @cached_property
    def lists(self) -> SystemLists:
        """What the systems recommend."""
        return SystemLists(self.run)

    @cached_property
    def scores(self) -> ScoreParts:
        """What the systems score."""
        return ScoreParts(self.run, self.lists)

    @property
    def analyses(self) -> list[str]:
        """Keys of the analyses."""
        return [analysis.key for analysis, _ in self.run.analyses]

    def check_settings(self) -> None:
        """Refuse settings of the study that do not fit its input, before anything is trained.

        These are tables of items, metrics of hidden items, analyses of single lists where a system
        has several runs, and settings of analyses. Raises InputError with file and line; warns of
        items without features.
        """
        run = self.run
        study = run.study
        with study.errors_at("items"):
            features = run.catalogue.features
        # A row without any feature is that of an item that the table lacks.
        n_unknown = 0 if features is None else np.count_nonzero(~features.any(axis=1))
        if n_unknown:
            items = counted(int(n_unknown), "item")
            warn(f"{study.items.features}: {items} without features.")
        with study.errors_at("metrics", "names"):
            self._check_hidden_items()
        facts = StudyFacts(
            systems=self.lists.systems,
            measures=study.measures,
            has_training=run.collection.split is not None and bool(study.systems.names),
            has_truth=run.collection.true_judgements is not None,
            best_ranks=self._best_ranks,
            require_world=partial(with_world, study),
        )
        for analysis, settings in run.analyses:
            if Need.SINGLE_LISTS in analysis.needs and run.collection.systems_of_runs:
                with study.errors_at("analyses", analysis.section):
                    raise InputError(f"{analysis.key} {NEEDS_SINGLE_LISTS}")
            try:
                settings.check(facts)
            except SettingError as error:
                with study.errors_at("analyses", analysis.section, error.key):
                    raise InputError(str(error)) from error

    def _check_hidden_items(self) -> None:
        """Refuse metrics of hidden items (LOO, LLOO) where they have no value.

        That is if an analysis needs a truth and no metric else is measured, if there are runs by
        other programs, or for LLOO if ratings have no time. Raises InputError for the first.
        """
        run = self.run
        split = run.collection.split
        if not run.hidden_validations or split is None:
            return
        needing_truth = [
            analysis.key for analysis, _ in run.analyses if Need.TRUTH in analysis.needs
        ]
        if needing_truth and all(metric.needs for metric in run.metrics.values()):
            raise InputError(
                f"LOO and LLOO are undefined against ground truth, which the analysis "
                f"{needing_truth[0]} needs: add other metrics, or leave it out of `names` in "
                "[analyses]."
            )
        if run.collection.runs:
            raise InputError(
                "LOO and LLOO need systems that the study trains; the run "
                f"{run.collection.runs[0].system!r} is by another program."
            )
        if "lloo" in run.hidden_validations and split.train.time is None:
            raise InputError("LLOO hides items rated later, but the ratings have no time.")

    def _best_ranks(self) -> FullRanks:
        """Compute the ranks that a perfect system gives the relevant items, among all candidates.

        These are 1, 2, ... for the relevant items of each user. Raises InputError if the study does
        not begin with ratings.
        """
        collection = self.run.collection
        split = collection.split
        relevant = collection.relevant_ratings()
        if split is None or relevant is None:
            raise InputError("ranks among all candidates need training ratings.")
        candidates = self.run.study.systems.candidates_in(split)
        return held_out_items(split.train, relevant, candidates=candidates).ideal_ranks()

    def to_report(self, remarks: Sequence[str]) -> Path:
        """Make the parts of the study that are missing, and write its report.

        ``remarks`` are warnings about the input. Returns the path of the report.
        """
        return run_to_report(
            self.run,
            make=self.make,
            facts=self.facts,
            completed_study=self.completed_study,
            remarks=remarks,
        )

    def completed_study(self) -> bytes:
        """Write the study as TOML with all defaults spelled out, and paths from the study folder.

        The threshold is the one that was used. Without ratings, nothing is trained: the tables
        [split] and [systems] are left out.
        """
        study = self.run.study
        ratings = study.ratings
        if ratings is None:
            return study.to_toml(without=("split", "systems"), folder=self.run.folder)
        if not ratings.implicit:
            ratings = ratings.model_copy(update={"threshold": self.run.collection.threshold})
        settings = {}
        for name in study.systems.names:
            system_settings = read_settings(name, study.systems.settings.get(name, {}))
            settings[name] = system_settings.model_dump(mode="json")
        systems = study.systems.model_copy(update={"settings": settings})
        study = study.model_copy(update={"ratings": ratings, "systems": systems})
        return study.to_toml(folder=self.run.folder)

    def make(self) -> None:
        """Make all parts that are missing from the study folder, and write them there.

        The order is: input, lists, scores, analyses, repetitions of the study, answer. There is an
        answer if an analysis has a number for each measure.
        """
        keep_input(self.run.parts, self.run.collection)
        self.lists.keep()
        self.scores.keep()
        for analysis, settings in self.run.analyses:
            self.run.keep_analysis(
                analysis,
                settings,
                lambda: self.work,
                *self._input_of(analysis, settings),
                makers=self._makers_for(analysis),
            )
        if self.repeats:
            self._keep_repeats()
        if self._estimating_analyses():
            self._keep_answer()

    @cached_property
    def work(self) -> StudyWork:
        """What analyses may use, read from the parts."""
        run = self.run
        runs = self.lists.recommended.runs
        replicates = self.lists.recommended.replicates_of(runs)
        return StudyWork(
            name=run.study.name,
            seed=run.study.seed,
            n_jobs=run.n_jobs,
            progress=run.progress,
            collection=run.collection,
            runs=runs,
            scores=self.scores.scores,
            metrics=run.metrics,
            catalogue=self.scores.catalogue,
            known_families=self.lists.families,
            relevant_rank_files=self.lists.files_of(RELEVANT_RANKS),
            candidate_rank_files=self.lists.files_of(CANDIDATE_RANKS),
            known_truth=self.scores.truth,
            replicates=replicates,
            run_in_worlds=OtherWorlds(run, self.compute_in_world),
        )

    def _input_of(self, analysis: Analysis[Any, Any], settings: AnalysisSettings) -> list[Any]:
        """List what an analysis is computed from, for its key.

        An analysis of other worlds: the sections that describe them. One of full ranks: ranks and
        families. Any other: also lists, judgements, scores, metrics and the catalogue. Ranks of
        candidates and the truth are added where it needs them. Files of the study folder are
        listed with their checksums (`KeptPart`), by the names of their parts; a part that is not
        there is left out.
        """
        run = self.run
        parts = run.parts
        needs = analysis.all_needs(settings)
        if Need.WORLDS in needs:
            study = run.study
            return [
                study.ratings,
                study.split,
                study.systems,
                study.items,
                study.truth,
                study.metrics,
                run.metrics,
                run.references,
            ]
        kept_parts: list[KeptPart] = []
        if needs & {Need.CANDIDATE_RANKS, Need.ALL_CANDIDATE_RANKS}:
            kept_parts += parts.kept_parts(*self.lists.part_names(CANDIDATE_RANKS))
        if Need.TRUTH in needs:
            kept_parts += parts.kept_parts(TRUE_QRELS, TRUE_SCORES)
        if Need.FULL_RANKS in needs:
            kept_parts += parts.kept_parts(*self.lists.part_names(RELEVANT_RANKS))
            return [kept_parts, self.lists.families]
        kept_parts += parts.kept_parts(SCORES, "qrels", "split", *self.lists.part_names(RUN))
        return [
            kept_parts,
            run.metrics,
            run.catalogue,
            self.lists.families,
            run.collection.qrels.relevance_level,
            run.collection.training_counts,
        ]

    def _makers_for(self, analysis: Analysis[Any, Any]) -> list[Maker]:
        """List the code that an analysis uses beside its own.

        For other worlds this is the code of all stages of a study.
        """
        if Need.WORLDS not in analysis.needs:
            return [
                StudyWork,
                KeptLists,
                TrueJudgements.notes,
                read_scores,
                truly_judged_runs,
                with_hidden_ranks,
            ]
        study = self.run.study
        return [
            StudyWork,
            *(maker_of_system(name) for name in study.systems.names),
            study.split.find_splitter().make,
            collect,
            train_checked,
            recommended_lists,
            score_files,
            true_score_files,
        ]

    def _estimating_analyses(self) -> list[str]:
        """List the keys of the analyses that have a number for each measure.

        These are the ones whose class of results defines the method ``estimates`` itself.
        """
        return [
            analysis.key
            for analysis, _ in self.run.analyses
            if analysis.result.estimates is not Result.estimates
        ]

    @property
    def _varied(self) -> Varied:
        """What repetitions of the study differ by."""
        return "settings" if self.run.study.repeat.settings > 1 else "splits"

    def _keep_repeats(self) -> None:
        """Run the study under other seeds, or with other settings, and combine the results.

        Each repetition has a study folder of its own; the combined means and results become the
        result `REPEATS` of this study. Parts that are complete are not made again.
        """
        varied = self._varied
        noun = "Settings" if varied == "settings" else "Seed"
        first_number = 1 if varied == "settings" else self.run.study.seed
        numbers = [first_number, *self.repeats]
        folders = [self.run.folder]
        for position, (number, run_repetition) in enumerate(self.repeats.items(), start=2):
            self.run.progress.note(f"{noun} {number}, {position} of {len(numbers)}:")
            report = run_repetition()
            folders.append(report.parent)
        classes = {
            key: result_class
            for key, result_class in self._result_classes.items()
            if key not in (ANSWER, REPEATS)
        }
        files = [evidence_files(folder, ["means", *classes]) for folder in folders]
        combine = partial(
            repeats_from_files,
            files=files,
            result_classes=list(classes.items()),
            numbers=numbers,
            varied=varied,
        )

        def compute() -> Repeats:
            """Combine the results; their unit is that of the study."""
            return replace(combine(), unit=self.run.collection.unit)

        self.run.keep_result(REPEATS, self.run.parts.key(combine), Repeats, compute)

    def _keep_answer(self) -> None:
        """Answer which measures can be trusted, from the results of the analyses; write the answer.

        Analyses that have a number for each measure count. If the study is repeated with other
        settings of the systems, their results are those over all settings. An answer that is
        complete in the study folder is not made again.
        """
        estimating = self._estimating_analyses()
        classes = {
            key: result_class
            for key, result_class in self._result_classes.items()
            if key in estimating
        }
        repeats = None
        if self.repeats and self._varied == "settings":
            repeats = self.run.folder / evidence_name(REPEATS)
        answer = partial(
            answer_from_files,
            files=evidence_files(self.run.folder, classes),
            result_classes=list(classes.items()),
            repeats=repeats,
        )

        def compute() -> Answer:
            """Compute the answer; its unit is that of the study."""
            return replace(answer(), unit=self.run.collection.unit)

        self.run.keep_result(ANSWER, self.run.parts.key(answer), Answer, compute)

    @cached_property
    def _result_classes(self) -> dict[str, type[Result]]:
        """Classes of the results of the analyses, by key, in the order of the report."""
        classes = {analysis.key: analysis.result for analysis, _ in self.run.analyses}
        by_truth = [
            analysis.key for analysis, _ in self.run.analyses if Need.TRUTH in analysis.needs
        ]
        return in_report_order(classes, by_truth=by_truth)

    def _results(self) -> list[str]:
        """List the keys of all results, in the order of the report.

        There is an answer if an analysis has a number for each measure.
        """
        results = ["means", "coverage", *self.analyses]
        if self._estimating_analyses():
            results.insert(0, ANSWER)
        if self.repeats:
            results.append(REPEATS)
        return results

    def facts(self) -> dict[str, Any]:
        """Describe the study for the manifest, as far as only a study of systems knows it."""
        return describe_systems_study(self.run, self.lists, results=self._results())


def evidence_files(folder: Path, keys: Iterable[str]) -> dict[str, Path]:
    """Compose the paths of the files of results in the folder of a study, by key."""
    return {key: folder / evidence_name(key) for key in keys}


def answer_from_files(
    files: Mapping[str, Path], result_classes: ResultClasses, repeats: Path | None
) -> Answer:
    """Compute the answer from results of analyses in files.

    ``files`` has the paths by key of the result, ``result_classes`` the keys and their classes in
    the order of the report. ``repeats`` is the file of repetitions with other settings of the
    systems, so that results are over all of these settings; None without these. Raises InputError
    if a file cannot be read.
    """
    results = {key: read_evidence(files[key], result_class) for key, result_class in result_classes}
    if repeats is not None:
        over_settings = read_evidence(repeats, Repeats)
        results = {key: under_repeats(result, over_settings) for key, result in results.items()}
    return answer_of(results)


def repeats_from_files(
    files: Sequence[Mapping[str, Path]],
    result_classes: ResultClasses,
    numbers: Sequence[int],
    varied: Varied,
) -> Repeats:
    """Combine the results of several studies, which differ by seed or by settings.

    Parameters
    ----------
    files
        By study: the files of its means (under "means") and results, by key.
    result_classes
        Keys and classes of the results, without the means.
    numbers
        The seed of each study, or the number of its settings.
    varied
        What the studies differ by.
    """
    means = []
    results: list[list[Result]] = []
    for files_of_study in files:
        means.append(read_evidence(files_of_study["means"], Means))
        results.append(
            [
                read_evidence(files_of_study[key], result_class)
                for key, result_class in result_classes
            ]
        )
    return combine_repeats(means, results, numbers, varied)
