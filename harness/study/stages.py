"""The stages of a study: recommend, judge, score, analyse; each a function with a key.

A stage is made again only if the key of what it is made from has changed (see
`harness.study.store`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from analyses.shared.analysis import Analysis, AnalysisSettings, SettingError, StudyFacts
from analyses.shared.evidence import read_evidence
from analyses.shared.measure import RunDeviations, Scores
from analyses.shared.result import Result
from analyses.shared.sentences import listed, plural
from analyses.shared.work import Truth
from harness.metrics.shared.metric import Metric
from harness.readers.scores import SCORES_FILE, scores_from_parquet, scores_to_parquet
from harness.report.answer import Answer
from harness.report.manifest import Manifest
from harness.report.repeats import Repeats, Varied, gather
from harness.report.study_folder import ANSWER, REPEATS, FinishedStudy, evidence_name
from harness.report.tables import answer_of
from harness.scoring.means import averaged, weighted
from harness.study.collection import TRUE_QRELS, Collection, input_parts
from harness.study.inputs import checksum
from harness.study.other_worlds import OtherWorlds, place_of, with_world
from harness.study.pipeline import Source
from harness.study.provenance import home_of
from harness.study.score_parts import (
    RUNS_FILE,
    TRUE_RUNS_FILE,
    TRUE_SCORES,
    TRUE_SCORES_FILE,
    ScoreParts,
    read_catalogue,
    runs_file,
)
from harness.study.store import Build, content_key, result_files
from harness.study.study import Study
from harness.study.system_lists import SystemLists
from harness.study.true_judgements import TrueJudgements
from harness.study.work import OF_SINGLE_LISTS, StudyWork
from harness.study.workers import HIDDEN, RANKS, RUN, TRUE_RUN, WHOLE, SystemPart
from qrels import Catalogue, FullRanks
from qrels.ranks.judged_ranks import VALIDATIONS, JudgedRanks, Validation
from recommenders import rankable, read_settings
from runs import InputError, Run
from runs.formats import read_run
from runs.shared.arrays import Floats
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
class Stages(Source):
    """The stages of one study in its folder.

    Parameters
    ----------
    study, store, n_jobs, progress
        See `Source`.
    collection
        On what systems are studied.
    metrics
        The metrics by name.
    references
        The metrics by name that say, on the truth, which system is better.
    repeats
        By other seed: what makes the whole study under it, and gives its report.
    """

    study: Study
    collection: Collection
    metrics: Mapping[str, Metric]
    references: Mapping[str, Metric] = field(default_factory=dict)
    repeats: Mapping[int, Callable[[], Path]] = field(default_factory=dict)

    @property
    def hidden_under(self) -> tuple[Validation, ...]:
        """Validations under which metrics ask where hidden items are ranked."""
        needed = {name for metric in self.metrics.values() for name in metric.needs}
        return tuple(name for name in VALIDATIONS if name in needed)

    @cached_property
    def wanted(self) -> list[tuple[Analysis[Any, Any], Any]]:
        """The analyses of the study, with their settings."""
        return list(self.study.analyses.wanted())

    @cached_property
    def catalogue(self) -> Catalogue:
        """What metrics may know of items, before systems are trained."""
        return read_catalogue(self.study.items, self.collection)

    @property
    def trained_catalogue(self) -> Catalogue:
        """What metrics may know of items, with the hidden ranks of systems if any are kept."""
        if not self.lists.asked[HIDDEN]:
            return self.catalogue
        files = self._files_by_system(HIDDEN)
        ranks = {system: read_evidence(path, JudgedRanks) for system, path in files.items()}
        return replace(self.catalogue, hidden_ranks=ranks)

    @cached_property
    def lists(self) -> SystemLists:
        """What the systems recommend."""
        needs = frozenset(
            need for analysis, asked in self.wanted for need in (*analysis.needs, *asked.needs)
        )
        of_all = self.study, self.collection, self.store, self.n_jobs, self.progress
        return SystemLists(*of_all, needs, self.hidden_under)

    @cached_property
    def input(self) -> dict[str, tuple[str, Build]]:
        """What the study begins with, as parts of it."""
        return input_parts(self.collection)

    @property
    def parts(self) -> list[str]:
        """Names of the parts of the study in the ledger."""
        truth = [] if self.collection.judged_truly is None else [TRUE_SCORES]
        worlds = [
            place_of(world)[0]
            for _, settings in self.wanted
            for world in settings.other_worlds(self.study.seed)
        ]
        results = [name for name in self._results if name not in ("means", "coverage")]
        return [*self.input, *self.lists.parts, "scores", *truth, *worlds, *results]

    @property
    def analyses(self) -> list[str]:
        """Keys of the analyses."""
        return [analysis.key for analysis, _ in self.wanted]

    def check_settings(self) -> None:
        """Refuse tables and settings of analyses that do not fit, before anything is trained."""
        with self.study.errors_at("items"):
            features = self.catalogue.features
        unknown = 0 if features is None else np.count_nonzero(~features.any(axis=1))
        if unknown:
            warn(f"{self.study.items.features}: {counted(int(unknown), 'item')} without features.")
        with self.study.errors_at("metrics", "names"):
            self._check_hidden()
        given = StudyFacts(
            systems=self.lists.systems,
            measures=self.study.measures,
            has_training=self.collection.split is not None and bool(self.study.systems.names),
            has_truth=self.collection.judged_truly is not None,
            best_ranks=self._best_ranks,
            require_world=partial(with_world, self.study),
        )
        for analysis, settings in self.wanted:
            if "single lists" in analysis.needs and self.collection.replicated:
                with self.study.errors_at("analyses", analysis.section):
                    raise InputError(f"{analysis.key} {OF_SINGLE_LISTS}")
            try:
                settings.check(given)
            except SettingError as error:
                with self.study.errors_at("analyses", analysis.section, error.key):
                    raise InputError(str(error)) from error

    def _check_hidden(self) -> None:
        """Refuse to hide items from runs, or in time where ratings have none."""
        split = self.collection.split
        if not self.hidden_under or split is None:
            return
        needing = [analysis.key for analysis, _ in self.wanted if "truth" in analysis.needs]
        if needing and all(metric.needs for metric in self.metrics.values()):
            raise InputError(
                f"LOO and LLOO are undefined against ground truth, which the analysis {needing[0]} "
                "needs: add other metrics, or leave it out of `names` in [analyses]."
            )
        if self.collection.runs:
            raise InputError(
                "LOO and LLOO need systems that the study trains; the run "
                f"{self.collection.runs[0].system!r} is by another program."
            )
        if "lloo" in self.hidden_under and split.train.time is None:
            raise InputError("LLOO hides items rated later, but the ratings have no time.")

    def _best_ranks(self) -> FullRanks:
        """Rank as a perfect system does."""
        split, relevant = self.collection.split, self.collection.relevant_ratings()
        if split is None or relevant is None:
            raise InputError("ranks among all candidates need training ratings.")
        candidates = self.study.systems.candidates_in(split)
        return rankable(split.train, relevant, candidates=candidates).best_ranks()

    def as_run(self) -> bytes:
        """Write the study with all defaults spelled out; nothing of systems if none is trained."""
        study, ratings, systems = self.study, self.study.ratings, self.study.systems
        if ratings is None:
            return study.to_toml(without=("split", "systems"), folder=self.store.folder)
        if not ratings.implicit:
            ratings = ratings.model_copy(update={"threshold": self.collection.threshold})
        settings = {
            name: read_settings(name, systems.settings.get(name, {})).model_dump(mode="json")
            for name in systems.names
        }
        systems = systems.model_copy(update={"settings": settings})
        study = study.model_copy(update={"ratings": ratings, "systems": systems})
        return study.to_toml(folder=self.store.folder)

    def make(self) -> None:
        """Make all parts, or what is left of them."""
        splits = [] if self.study.ratings is None else [home_of(self.study.split.splitter.make)]
        for name, (key, build) in self.input.items():
            self.make_part(name, key, build, [home_of(input_parts), *splits])
        runs = self.lists.make()
        self.analyse(runs, self.make_scores(runs), self.make_truth(runs))
        folder, results = self.store.folder, ["means", *self.analyses]
        if self.repeats:
            self._repeat(results)
        if self._compared:
            compared = [*self._compared, *[REPEATS] * (self._varied == "settings")]
            manifest = Manifest.of_unfinished(study=self.study.name, results=compared)
            study = FinishedStudy(folder, manifest)
            homes = [home_of(Answer), home_of(answer_of)]
            self._put_together(ANSWER, [folder], compared, lambda: answer_of(study), homes)

    @property
    def _varied(self) -> Varied:
        """What repetitions of the study differ by."""
        return "settings" if self.study.repeat.settings > 1 else "splits"

    def _repeat(self, results: Sequence[str]) -> None:
        """Run the study under other seeds, or with other settings, and put the results together."""
        folders, varied = [self.store.folder], self._varied
        numbers = [1 if varied == "settings" else self.study.seed, *self.repeats]
        for place, (number, make) in enumerate(self.repeats.items(), start=2):
            which = "Settings" if varied == "settings" else "Seed"
            self.progress.note(f"{which} {number}, {place} of {len(numbers)}:")
            folders.append(make().parent)
        manifest = Manifest.of_unfinished(study=self.study.name, results=results)
        studies = [FinishedStudy(folder, manifest) for folder in folders]

        def found() -> Repeats:
            every = [[result for _, result in study.results()] for study in studies]
            return gather([study.means for study in studies], every, numbers, varied)

        makers = [home_of(gather), home_of(FinishedStudy)]
        self._put_together(REPEATS, folders, results, found, makers)

    @property
    def _compared(self) -> list[str]:
        """Keys of the analyses that have a number for each measure."""
        return [a.key for a, _ in self.wanted if a.result.estimates is not Result.estimates]

    def _put_together(
        self,
        name: str,
        folders: Sequence[Path],
        results: Sequence[str],
        gathered: Callable[[], Result],
        makers: Sequence[str | Path],
    ) -> None:
        """Make a result of other results, which are in one or more folders."""
        paths = [folder / evidence_name(key) for folder in folders for key in results]
        files = [sha256(path.read_bytes()).hexdigest() for path in paths]
        analyses = [home_of(a.make) for a, _ in self.wanted if a.key in results]

        def build() -> dict[str, bytes]:
            result = replace(gathered(), unit=self.collection.unit)
            return result_files(name, result, self.study.figures)

        makers = [*makers, home_of(result_files), *analyses]
        self.make_part(name, content_key(files), build, makers, drawn=True)

    @property
    def _results(self) -> list[str]:
        """Keys of all results, in the order of the report."""
        answer, repeated = [ANSWER] * bool(self._compared), [REPEATS] * bool(self.repeats)
        return [*answer, "means", "coverage", *self.analyses, *repeated]

    def facts(self) -> dict[str, Any]:
        """Give what the manifest says of this source alone."""
        study, facts = self.study, self.collection.facts
        of_runs = self.collection.split is None
        units, compared = plural(self.collection.unit), "systems" if of_runs else "recommenders"
        n_systems = counted(len(self.lists.systems), "run" if of_runs else "system")
        if self.collection.replicated:
            n_systems = f"{counted(len(self.lists.systems), 'system')} (means over their runs)"
        n_units = counted(facts[units], self.collection.unit)
        counts = f"{n_units}, {counted(facts['judgements'], 'judgement')}"
        simulated = "" if self.collection.truth is None else " of a simulated world"
        measures = listed([*map(str, study.measures.reported)])
        trained = "" if of_runs else " (the test ratings)"
        known = ""
        if study.truth is not None and simulated and "validity" in self.analyses:
            first, *others = study.truth.references
            of = listed([f"{first} (in the answer)", *others], "or")
            known = f" True orderings are by {of}, from the true preferences of all items."
        notes = {
            **{metric.note: True for metric in self.metrics.values() if metric.note},
            TIES: True,
            WEIGHTED: self.weights is not None,
            REPLICATED: bool(self.collection.replicated),
            RENAMED: any(written is not named for written, named in self.collection.names),
        }
        tables = [path for _, settings in self.wanted for path in settings.files()]
        read = [checksum(path) for path in [*study.items.files, *tables]]
        return {
            "lead": f"Can these measures be trusted to compare {compared}? {n_systems}, {counts}"
            f"{trained}{simulated}; the measures {measures}.{known}",
            "data": f"Data: {study.name}{simulated} ({counts}); {n_systems}; study seed "
            f"{study.seed}.",
            "ranked for": units,
            "results": self._results,
            "inputs": [*self.collection.inputs, *read],
            "collection": facts,
            "systems": list(self.lists.systems),
            "sources": self.lists.sources,
            "families": self.lists.families,
            "notes": [note for note, holds in notes.items() if holds],
        }

    def make_scores(self, runs: Sequence[Run]) -> Scores:
        """Score every user, system and measure; write means and coverage.

        Scores are kept as the metrics give them, and returned weighted as means ask for it.
        """
        parts, replicates = self.score_parts, self.lists.replicates(runs)

        def build() -> dict[str, bytes]:
            return parts.files(runs, parts.judged(runs, self.trained_catalogue), replicates)

        homes = [home_of(ScoreParts), *self._metric_homes]
        self.make_part("scores", self._scores_key, build, homes)
        return self._kept_scores(SCORES_FILE, RUNS_FILE, self.weights)

    def _kept_scores(self, file: str, differences: str, weights: Floats | None) -> Scores:
        """Read scores, and what the runs of one system differ by, if there are several of one."""
        scores = weighted(scores_from_parquet(self.store.read(file)), weights)
        if not self.collection.replicated:
            return scores
        return replace(scores, runs=read_evidence(self.store.folder / differences, RunDeviations))

    @property
    def score_parts(self) -> ScoreParts:
        """What scores the runs."""
        study, collection = self.study, self.collection
        measured = self.metrics, self.references, study.measures
        return ScoreParts(study, collection, *measured, self.progress)

    @property
    def _metric_homes(self) -> list[str | Path]:
        every = [*self.metrics.values(), *self.references.values()]
        return [home_of(metric.function) for metric in every]

    @property
    def weights(self) -> Floats | None:
        """Weights of the users; None if all weigh the same."""
        return self.score_parts.weights(self.collection.qrels)

    def make_truth(self, runs: Sequence[Run]) -> Truth | None:
        """Score every user of the truth by it; None if none is known."""
        known, parts = self.collection.judged_truly, self.score_parts
        if known is None or self.study.truth is None:
            return None
        weights = parts.weights(known.qrels)

        def build() -> dict[str, bytes]:
            lists = self._true_lists(runs, known)
            replicates = self.lists.replicates(lists)
            by_run = parts.truly_judged(lists, known, self.catalogue)
            differences = runs_file(TRUE_RUNS_FILE, weighted(by_run, weights), replicates)
            scores = averaged(by_run, replicates)
            return {TRUE_SCORES_FILE: scores_to_parquet(scores), **differences}

        condensed, notes = known.candidates == "judged", tuple[str, ...]()
        if condensed:
            trained, lists = not self.collection.runs, self._true_lists(runs, known)
            notes = tuple(known.notes(lists, self.study.measures.reported, trained=trained))
        judged, files = self.collection.truly_judged_key, self._files_of(TRUE_RUN)
        key = content_key(self._scores_key, judged, files, self.study.truth.references)
        self.make_part(TRUE_SCORES, key, build, [home_of(ScoreParts), *self._metric_homes])
        scores = self._kept_scores(TRUE_SCORES_FILE, TRUE_RUNS_FILE, weights)
        references = self.study.truth.measures
        return Truth(scores, references, known.origin, condensed=condensed, notes=notes)

    def _true_lists(self, runs: Sequence[Run], known: TrueJudgements) -> list[Run]:
        """Give the lists that the truth judges."""
        if not self.lists.asked[TRUE_RUN]:
            return [known.usual_lists(run) for run in runs]
        files = [read_run(self.store.folder / TRUE_RUN.file(name)) for name in self.lists.run_names]
        return [file.to_run(known.carried, self.collection.carried[1]) for file in files]

    def analyse(self, runs: Sequence[Run], scores: Scores, truth: Truth | None = None) -> None:
        """Make every analysis of the study."""
        work = StudyWork(
            name=self.study.name,
            seed=self.study.seed,
            n_jobs=self.n_jobs,
            progress=self.progress,
            collection=self.collection,
            runs=runs,
            scores=scores,
            metrics=self.metrics,
            catalogue=self.trained_catalogue,
            weights=self.weights,
            known_families=self.lists.families,
            ranks=self._files_by_system(RANKS),
            whole=self._files_by_system(WHOLE),
            known_truth=truth,
            replicates=self.lists.replicates(runs),
            worlds=self._worlds,
        )
        for analysis, settings in self.wanted:
            made_from, makers = self._made_from(analysis, settings)
            self.make_analysis(analysis, settings, work, made_from=made_from, makers=makers)

    def _made_from(
        self, analysis: Analysis[Any, Any], settings: AnalysisSettings
    ) -> tuple[str, list[str | Path]]:
        """Give the key of what an analysis uses, other worlds or scores, and the homes of both."""
        if "worlds" in analysis.needs:
            return self._worlds.key, [home_of(OtherWorlds), *self._worlds.makers]
        needs = {*analysis.needs}
        is_of_ranks = "full_ranks" in needs and "candidate_ranks" not in needs
        made_from = content_key(self._files_of(RANKS)) if is_of_ranks else self._scores_key
        uses_truth = {"candidate_ranks", "truth"} & needs
        uses_whole = settings.needs or "candidate_ranks" in needs
        used = [WHOLE] * bool(uses_whole) + [TRUE_QRELS, TRUE_SCORES] * bool(uses_truth)
        key = content_key(made_from, self._files_of(*used), self.lists.families)
        return key, [home_of(StudyWork), *self._metric_homes]

    def _files_by_system(self, part: SystemPart) -> dict[str, Path]:
        """Name the files of a part, by system."""
        return {s: self.store.folder / part.file(s) for s in self.lists.asked[part]}

    @property
    def _worlds(self) -> OtherWorlds:
        return OtherWorlds(self.study, self.store, self.n_jobs, self.progress)

    @property
    def _scores_key(self) -> str:
        measures = self.study.measures
        return content_key(
            self.collection.judged_key,
            self._files_of(RUN, HIDDEN),
            *([str(m) for m in some] for some in (measures, measures.reported, measures.grid)),
            self.lists.system_of_runs,
            self.study.metrics.average,
            [sha256(path.read_bytes()).hexdigest() for path in self.study.metrics.plugins],
            [sha256(path.read_bytes()).hexdigest() for path in self.study.items.files],
            self.study.items.columns,
            self.collection.trained_key,
        )

    def _files_of(self, *parts: SystemPart | str) -> list[dict[str, str]]:
        """Give the files of parts that are made, with their checksums."""
        names = [
            name
            for part in parts
            for name in ([part] if isinstance(part, str) else map(part.of, self.lists.asked[part]))
        ]
        entries = [self.store.ledger.entry(name) for name in names]
        return [entry.files for entry in entries if entry is not None]
