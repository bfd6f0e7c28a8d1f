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
from analyses.shared.sentences import listed, plural
from analyses.shared.work import StudyWorld
from harness.report.answer import Answer
from harness.report.repeats import Repeats, Varied, gather
from harness.report.study_folder import (
    ANSWER,
    REPEATS,
    evidence_name,
    in_report_order,
    under_repeats,
)
from harness.report.tables import answer_of
from harness.scoring.means import Means
from harness.study.collection import collect
from harness.study.input_files import TRUE_QRELS, keep_input
from harness.study.inputs import checksum
from harness.study.other_worlds import OtherWorlds, with_world
from harness.study.parts import KeptPart
from harness.study.reachable_code import Maker
from harness.study.score_parts import (
    SCORES,
    TRUE_SCORES,
    ScoreParts,
    lists_to_judge,
    read_scores,
    score_files,
    true_score_files,
    with_hidden_ranks,
)
from harness.study.study import Study
from harness.study.study_run import run_to_report
from harness.study.system_lists import KeptLists, SystemLists, maker_of_system
from harness.study.systems_run import SystemsRun
from harness.study.true_judgements import TrueJudgements
from harness.study.work import OF_SINGLE_LISTS, StudyWork
from harness.study.workers import RANKS, RUN, WHOLE, recommended_lists
from qrels import FullRanks
from recommenders import rankable, read_settings, train_by
from runs import InputError
from runs.shared.errors import counted, warn

TIES = (
    "Items are ordered by score (as float32), falling; equal scores by item number, rising, where "
    "items are numbered in the code-point order of their ids. Run files carry depth + 1 - rank."
)

WEIGHTED = (
    "Users are weighted by the number of their relevant items: in means, orderings, tests and "
    "intervals. scores.parquet has their scores unweighted."
)

REPLICATED = (
    "A user's score of a system is the mean over the runs of the system that rank for the user. "
    "Intervals cover other users and other runs; tests cover other users alone."
)

RENAMED = (
    "TREC files cannot carry some of the ids: in run and qrels files numbers stand in their "
    "place, and ids.csv says for which."
)


@dataclass(frozen=True)
class Stages:
    """The stages of one study in its folder.

    Parameters
    ----------
    run
        The run of the study.
    find_in_world
        Runs a study of another world, and finds in it what is asked.
    repeats
        By other seed, or number of settings: runs the whole study under it, and returns the path of
        its report.
    """

    run: SystemsRun
    find_in_world: Callable[[Study, StudyWorld], Any]
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
        """Refuse tables and settings of analyses that do not fit, before anything is trained."""
        run, study = self.run, self.run.study
        with study.errors_at("items"):
            features = run.catalogue.features
        n_unknown = 0 if features is None else np.count_nonzero(~features.any(axis=1))
        if n_unknown:
            items = counted(int(n_unknown), "item")
            warn(f"{study.items.features}: {items} without features.")
        with study.errors_at("metrics", "names"):
            self._check_hidden()
        facts = StudyFacts(
            systems=self.lists.systems,
            measures=study.measures,
            has_training=run.collection.split is not None and bool(study.systems.names),
            has_truth=run.collection.judged_truly is not None,
            best_ranks=self._best_ranks,
            require_world=partial(with_world, study),
        )
        for analysis, settings in run.analyses:
            if Need.SINGLE_LISTS in analysis.needs and run.collection.replicated:
                with study.errors_at("analyses", analysis.section):
                    raise InputError(f"{analysis.key} {OF_SINGLE_LISTS}")
            try:
                settings.check(facts)
            except SettingError as error:
                with study.errors_at("analyses", analysis.section, error.key):
                    raise InputError(str(error)) from error

    def _check_hidden(self) -> None:
        """Refuse to hide items from runs, or in time where ratings have none."""
        run, split = self.run, self.run.collection.split
        if not run.hidden_under or split is None:
            return
        needing = [analysis.key for analysis, _ in run.analyses if Need.TRUTH in analysis.needs]
        if needing and all(metric.needs for metric in run.metrics.values()):
            raise InputError(
                f"LOO and LLOO are undefined against ground truth, which the analysis {needing[0]} "
                "needs: add other metrics, or leave it out of `names` in [analyses]."
            )
        if run.collection.runs:
            raise InputError(
                "LOO and LLOO need systems that the study trains; the run "
                f"{run.collection.runs[0].system!r} is by another program."
            )
        if "lloo" in run.hidden_under and split.train.time is None:
            raise InputError("LLOO hides items rated later, but the ratings have no time.")

    def _best_ranks(self) -> FullRanks:
        """Rank as a perfect system does."""
        collection = self.run.collection
        split, relevant = collection.split, collection.relevant_ratings()
        if split is None or relevant is None:
            raise InputError("ranks among all candidates need training ratings.")
        candidates = self.run.study.systems.candidates_in(split)
        return rankable(split.train, relevant, candidates=candidates).best_ranks()

    def to_report(self, remarks: Sequence[str]) -> Path:
        """Make the parts of the study, or what is left of them, and its report."""
        return run_to_report(
            self.run, make=self.make, facts=self.facts, as_run=self.as_run, remarks=remarks
        )

    def as_run(self) -> bytes:
        """Write the study with all defaults spelled out; nothing of systems if none is trained."""
        study, ratings, systems = self.run.study, self.run.study.ratings, self.run.study.systems
        if ratings is None:
            return study.to_toml(without=("split", "systems"), folder=self.run.folder)
        if not ratings.implicit:
            ratings = ratings.model_copy(update={"threshold": self.run.collection.threshold})
        settings = {
            name: read_settings(name, systems.settings.get(name, {})).model_dump(mode="json")
            for name in systems.names
        }
        systems = systems.model_copy(update={"settings": settings})
        study = study.model_copy(update={"ratings": ratings, "systems": systems})
        return study.to_toml(folder=self.run.folder)

    def make(self) -> None:
        """Make all parts, or what is left of them."""
        keep_input(self.run.parts, self.run.collection)
        self.lists.keep()
        self.scores.keep()
        for analysis, settings in self.run.analyses:
            self.run.keep_analysis(
                analysis,
                settings,
                lambda: self.work,
                *self._used_by(analysis, settings),
                makers=self._makers_for(analysis),
            )
        if self.repeats:
            self._keep_repeats()
        if self._compared:
            self._keep_answer()

    @cached_property
    def work(self) -> StudyWork:
        """What analyses may use, read from the parts."""
        run = self.run
        return StudyWork(
            name=run.study.name,
            seed=run.study.seed,
            n_jobs=run.n_jobs,
            progress=run.progress,
            collection=run.collection,
            runs=self.lists.recommended.runs,
            scores=self.scores.scores,
            metrics=run.metrics,
            catalogue=self.scores.catalogue,
            known_families=self.lists.families,
            ranks=self.lists.files_of(RANKS),
            whole=self.lists.files_of(WHOLE),
            known_truth=self.scores.truth,
            replicates=self.lists.recommended.replicates_of(self.lists.recommended.runs),
            worlds=OtherWorlds(run, self.find_in_world),
        )

    def _used_by(self, analysis: Analysis[Any, Any], settings: AnalysisSettings) -> list[Any]:
        """Name what an analysis is made from: what its needs bring, and scores and judgements."""
        run, parts, needs = self.run, self.run.parts, analysis.all_needs(settings)
        if Need.WORLDS in needs:
            study = run.study
            sections = (study.ratings, study.split, study.systems, study.items, study.truth)
            return [*sections, study.metrics, run.metrics, run.references]
        used: list[KeptPart] = []
        if {Need.CANDIDATE_RANKS, Need.ALL_CANDIDATE_RANKS} & needs:
            used += parts.kept(*self.lists.parts_of(WHOLE))
        if Need.TRUTH in needs:
            used += parts.kept(TRUE_QRELS, TRUE_SCORES)
        if Need.FULL_RANKS in needs:
            used += parts.kept(*self.lists.parts_of(RANKS))
            return [used, self.lists.families]
        used += parts.kept(SCORES, "qrels", "split", *self.lists.parts_of(RUN))
        known = (run.collection.qrels.relevance_level, run.collection.trained)
        return [used, run.metrics, run.catalogue, self.lists.families, known]

    def _makers_for(self, analysis: Analysis[Any, Any]) -> list[Maker]:
        """List what makes an analysis beside its own code; of other worlds, what studies them."""
        if Need.WORLDS not in analysis.needs:
            reading: list[Maker] = [read_scores, lists_to_judge, with_hidden_ranks]
            return [StudyWork, KeptLists, TrueJudgements.notes, *reading]
        study = self.run.study
        systems = [maker_of_system(name) for name in study.systems.names]
        stages: list[Maker] = [
            study.split.splitter.make,
            collect,
            train_by,
            recommended_lists,
            score_files,
            true_score_files,
        ]
        return [StudyWork, *systems, *stages]

    @property
    def _compared(self) -> list[str]:
        """Keys of the analyses that have a number for each measure."""
        return [a.key for a, _ in self.run.analyses if a.result.estimates is not Result.estimates]

    @property
    def _varied(self) -> Varied:
        """What repetitions of the study differ by."""
        return "settings" if self.run.study.repeat.settings > 1 else "splits"

    def _keep_repeats(self) -> None:
        """Run the study under other seeds, or with other settings, and put the results together."""
        varied = self._varied
        is_of_settings = varied == "settings"
        numbers = [1 if is_of_settings else self.run.study.seed, *self.repeats]
        folders = [self.run.folder]
        for place, (number, make) in enumerate(self.repeats.items(), start=2):
            which = "Settings" if is_of_settings else "Seed"
            self.run.progress.note(f"{which} {number}, {place} of {len(numbers)}:")
            folders.append(make().parent)
        kinds = {key: kind for key, kind in self._kinds.items() if key not in (ANSWER, REPEATS)}
        files = [evidence_files(folder, ["means", *kinds]) for folder in folders]
        made_from = (files, list(kinds.items()), numbers, varied)
        key = self.run.parts.key(repeats_in, *made_from)
        unit = self.run.collection.unit
        self.run.keep_result(
            REPEATS, key, Repeats, lambda: replace(repeats_in(*made_from), unit=unit)
        )

    def _keep_answer(self) -> None:
        """Answer which measure can be trusted, by what the analyses found."""
        kinds = {key: kind for key, kind in self._kinds.items() if key in self._compared}
        files = evidence_files(self.run.folder, kinds)
        repeats = None
        if self.repeats and self._varied == "settings":
            repeats = self.run.folder / evidence_name(REPEATS)
        made_from = (files, list(kinds.items()), repeats)
        key = self.run.parts.key(answer_in, *made_from)
        unit = self.run.collection.unit
        self.run.keep_result(ANSWER, key, Answer, lambda: replace(answer_in(*made_from), unit=unit))

    @cached_property
    def _kinds(self) -> dict[str, type[Result]]:
        """Classes of the results of the analyses, in the order of the report."""
        kinds = {analysis.key: analysis.result for analysis, _ in self.run.analyses}
        by_truth = [a.key for a, _ in self.run.analyses if Need.TRUTH in a.needs]
        return in_report_order(kinds, by_truth=by_truth)

    @property
    def _results(self) -> list[str]:
        """Keys of all results, in the order of the report."""
        results = ["means", "coverage", *self.analyses]
        if self._compared:
            results.insert(0, ANSWER)
        if self.repeats:
            results.append(REPEATS)
        return results

    def facts(self) -> dict[str, Any]:
        """Describe the study for the manifest, as far as its kind alone knows it."""
        study, collection = self.run.study, self.run.collection
        units = plural(collection.unit)
        is_of_runs = collection.split is None
        if collection.replicated:
            n_systems = f"{counted(len(self.lists.systems), 'system')} (means over their runs)"
        else:
            n_systems = counted(len(self.lists.systems), "run" if is_of_runs else "system")
        n_units = counted(collection.facts[units], collection.unit)
        counts = f"{n_units}, {counted(collection.facts['judgements'], 'judgement')}"
        simulated = "" if collection.truth is None else " of a simulated world"
        measures = listed([*map(str, study.measures.reported)])
        compared = "systems" if is_of_runs else "recommenders"
        trained = "" if is_of_runs else " (the test ratings)"
        notes = {
            **{metric.note: True for metric in self.run.metrics.values() if metric.note},
            TIES: True,
            WEIGHTED: study.metrics.average == "judgements",
            REPLICATED: bool(collection.replicated),
            RENAMED: any(written is not named for written, named in collection.names),
        }
        tables = [path for _, settings in self.run.analyses for path in settings.files()]
        read = [checksum(path) for path in [*study.items.files, *tables]]
        return {
            "lead": f"Can these measures be trusted to compare {compared}? {n_systems}, {counts}"
            f"{trained}{simulated}; the measures {measures}.{self._about_truth()}",
            "data": f"Data: {study.name}{simulated} ({counts}); {n_systems}; study seed "
            f"{study.seed}.",
            "ranked for": units,
            "results": self._results,
            "inputs": [*collection.inputs, *read],
            "collection": collection.facts,
            "systems": list(self.lists.systems),
            "sources": self.lists.sources,
            "families": self.lists.families,
            "notes": [note for note, holds in notes.items() if holds],
        }

    def _about_truth(self) -> str:
        """Describe what orders the systems truly, where a world is known and validity is asked."""
        truth = self.run.study.truth
        is_of_world = self.run.collection.truth is not None
        if truth is None or not is_of_world or "validity" not in self.analyses:
            return ""
        first, *others = truth.references
        references = listed([f"{first} (in the answer)", *others], "or")
        return f" True orderings are by {references}, from the true preferences of all items."


Kinds: TypeAlias = Sequence[tuple[str, type[Result]]]
"""Keys and classes of results, in the order of the report."""


def evidence_files(folder: Path, keys: Iterable[str]) -> dict[str, Path]:
    """Name the files of results in the folder of a study."""
    return {key: folder / evidence_name(key) for key in keys}


def answer_in(files: Mapping[str, Path], kinds: Kinds, repeats: Path | None) -> Answer:
    """Answer by results in files, under all settings of the systems if these were repeated."""
    results = {key: read_evidence(files[key], kind) for key, kind in kinds}
    if repeats is not None:
        over_settings = read_evidence(repeats, Repeats)
        results = {key: under_repeats(found, over_settings) for key, found in results.items()}
    return answer_of(results)


def repeats_in(
    files: Sequence[Mapping[str, Path]], kinds: Kinds, numbers: Sequence[int], varied: Varied
) -> Repeats:
    """Put the results of several studies together, each in files of its own."""
    means = [read_evidence(of_study["means"], Means) for of_study in files]
    results: list[list[Result]] = [
        [read_evidence(of_study[key], kind) for key, kind in kinds] for of_study in files
    ]
    return gather(means, results, numbers, varied)
