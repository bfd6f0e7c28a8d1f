"""The stages of a study: recommend, judge, score, analyse; each a function with a key.

A stage is made again only if the key of what it is made from has changed (see
`harness.study.store`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import psutil
from numpy.typing import NDArray

from analyses.shared.analysis import Analysis, Given, SettingError
from analyses.shared.evidence import read_evidence, to_evidence
from analyses.shared.measure import Measures, Scores
from analyses.shared.run_deviations import RunDeviations
from analyses.shared.sentences import listed
from analyses.shared.truth import Truth
from harness.metrics.shared.kept_metric import keep_metrics
from harness.metrics.shared.metric import Metric
from harness.readers.scores import SCORES_FILE
from harness.readers.scores_parquet import scores_from_parquet, scores_to_parquet
from harness.report.study_folder import (
    KEPT_METRICS,
    REPEATS,
    TEST_FILE,
    TRAIN_FILE,
    evidence_name,
    of_topics,
)
from harness.scoring.coverage import Coverage
from harness.scoring.means import Means
from harness.scoring.replicated import averaged, deviations, spread
from harness.scoring.score import score
from harness.scoring.user_weights import user_weights, weighted
from harness.study.collection import Collection, checksum
from harness.study.known_items import effects_of_weights, read_catalogue, without_features
from harness.study.other_worlds import OtherWorlds, place_of, with_world
from harness.study.parts import result_files
from harness.study.pipeline import make_analysis, make_part
from harness.study.provenance import (
    DRAWING,
    NUMBERS,
    RATINGS,
    SCORES,
    SYSTEMS,
    TRAINING,
    made_by,
)
from harness.study.seeds_together import gather
from harness.study.store import Store, content_key
from harness.study.study import Study
from harness.study.system_parts import HIDDEN, RANKS, RUN, TRUE_RUN, WHOLE, SystemPart
from harness.study.true_judgements import TrueJudgements, drawn_places
from harness.study.true_scores import true_catalogue, true_measures, true_scores
from harness.study.work import OF_SINGLE_LISTS, StudyWork
from harness.study.workers import (
    Hidden,
    OwnLists,
    Timed,
    learnt_from,
    restarts_in_silence,
    train_and_rank,
)
from qrels import Catalogue, FullRanks, Ratings, Split
from qrels.ranks.judged_ranks import JudgedRanks, Validation
from qrels.ratings.datasets.rating_lines import format_rating_lines
from qrels.trec import format_qrels
from recommenders import (
    PROCESS_BYTES,
    file_of,
    is_user_system,
    rankable,
    read_settings,
    require_memory,
    workers_within,
)
from recommenders.kernels.hidden.hiding import VALIDATIONS
from runs import InputError, InputWarning, Run
from runs.replicates import Replicates
from runs.shared.carried_ids import id_table
from runs.shared.clock import Cost
from runs.shared.processes import processes
from runs.shared.progress import Progress
from runs.trec import format_run, read_run

INFAP = "infAP is the paper's, not trec_eval's."

WEIGHTED = (
    "Users are weighted by the number of their relevant items: in means, orderings, tests and "
    "intervals. scores.parquet has their scores unweighted."
)

REPLICATED = (
    "A user's score of a system is the mean over the runs of the system that rank for the user. "
    "Intervals cover other users and other runs of the systems, where runs rank for the same "
    "users. Tests cover other users, not other runs, whose spread stands beside the mean scores."
)

TRUE_QRELS, TRUE_SCORES = "true-qrels", "true-scores"
"""Names of the parts of the study that are the truth, and the scores by it."""

RUNS_FILE, TRUE_RUNS_FILE = "evidence/runs.npz", "truth/runs.npz"
"""What the runs of one system differ by, where there are several of one."""

TRUE_QRELS_FILE, TRUE_SCORES_FILE = "truth/true.qrels", "truth/scores.parquet"

TIES = (
    "Items are ordered by score (as float32), falling; equal scores by item number, rising, where "
    "items are numbered in the code-point order of their ids. Run files carry depth + 1 - rank."
)


@dataclass(frozen=True)
class Stages:
    """The stages of one study in its folder.

    Parameters
    ----------
    study, collection
        What is studied, on what.
    metrics
        The metrics by name.
    store
        The study folder.
    n_jobs
        Workers; results do not depend on it.
    progress
        Shows what is being done.
    references
        The metrics by name that say, on the truth, which system is better.
    repeats
        By other seed: what makes the whole study under it, and gives its folder.
    """

    study: Study
    collection: Collection
    metrics: Mapping[str, Metric]
    store: Store
    n_jobs: int
    progress: Progress
    references: Mapping[str, Metric] = field(default_factory=dict)
    repeats: Mapping[int, Callable[[], Path]] = field(default_factory=dict)

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems: those trained, in the order of the study, then the runs given."""
        return tuple(dict.fromkeys(self._system_of_runs))

    @property
    def run_names(self) -> tuple[str, ...]:
        """Names of the runs: those of the systems, but where several runs are of one."""
        return self._trained + tuple(run.system for run in self.collection.runs)

    @property
    def _system_of_runs(self) -> tuple[str, ...]:
        """Names of the systems, by run."""
        replicated = self.collection.replicated
        return self._trained + replicated if replicated else self.run_names

    @property
    def _trained(self) -> tuple[str, ...]:
        return () if self.collection.split is None else tuple(self.study.systems.labels)

    def _replicates(self, runs: Sequence[Run]) -> Replicates | None:
        """Tell which runs are of which system; None if each is of its own."""
        return Replicates.of(self._system_of_runs, runs) if self.collection.replicated else None

    @property
    def ranked_in_full(self) -> tuple[str, ...]:
        """Names of the systems whose full ranks are kept: all, if an analysis needs them."""
        return self._trained_for("full_ranks")

    @property
    def ranked_whole(self) -> tuple[str, ...]:
        """Names of the systems whose ranks of all candidates are kept."""
        return self._trained_for("candidate_ranks")

    def _trained_for(self, need: str) -> tuple[str, ...]:
        """Name all trained systems, if an analysis needs it."""
        needed = any(need in analysis.needs for analysis, _ in self.wanted)
        return tuple(self.study.systems.labels) if needed else ()

    @property
    def hidden_under(self) -> tuple[Validation, ...]:
        """Validations under which metrics ask where hidden items are ranked."""
        needed = {name for metric in self.metrics.values() for name in metric.needs}
        return tuple(name for name in VALIDATIONS if name in needed)

    @property
    def ranked_hidden(self) -> tuple[str, ...]:
        """Names of the systems whose hidden ranks are kept: all, if a metric needs them."""
        return tuple(self.study.systems.labels) if self.hidden_under else ()

    @property
    def truth(self) -> TrueJudgements | None:
        """What the systems are truly judged by, if that is known."""
        return self.collection.judged_truly

    @property
    def listed_truly(self) -> tuple[str, ...]:
        """Names of the runs of which other lists than the usual ones are truly judged."""
        return self.run_names if self.truth is not None and self.truth.has_own_lists else ()

    @cached_property
    def wanted(self) -> list[tuple[Analysis[Any, Any], Any]]:
        """The analyses of the study, with their settings."""
        return list(self.study.analyses.wanted())

    @property
    def measures(self) -> Measures:
        """What is measured."""
        falling = [name for name, metric in self.metrics.items() if not metric.higher_is_better]
        return self.study.measures.with_falling(falling)

    @cached_property
    def catalogue(self) -> Catalogue:
        """What metrics may know of items, before systems are trained."""
        return read_catalogue(self.study.items, self.collection)

    @property
    def trained_catalogue(self) -> Catalogue:
        """What metrics may know of items, with the hidden ranks of systems if any are kept."""
        if not self.ranked_hidden:
            return self.catalogue
        names = {system: HIDDEN.file(system) for system in self.ranked_hidden}
        ranks = {s: read_evidence(self.store.folder / n, JudgedRanks) for s, n in names.items()}
        return replace(self.catalogue, hidden_ranks=ranks)

    @property
    def parts(self) -> list[str]:
        """Names of the parts of the study in the ledger."""
        world = [] if self.collection.truth is None else ["world"]
        runs = [RUN.of(name) for name in self.run_names]
        ranks = [RANKS.of(system) for system in self.ranked_in_full]
        split = ["split"] if self._split_parts else []
        hidden = [HIDDEN.of(system) for system in self.ranked_hidden]
        hidden += [WHOLE.of(system) for system in self.ranked_whole]
        truth = [] if self.truth is None else [TRUE_QRELS, TRUE_SCORES]
        truth += [TRUE_RUN.of(system) for system in self.listed_truly]
        worlds = [
            place_of(world).part
            for _, settings in self.wanted
            for world in settings.other_worlds(self.study.seed)
        ]
        made = [*runs, *ranks, *hidden, "scores", *truth, *worlds, *self.analyses, *self._repeated]
        return ["qrels", *split, *world, *made]

    @property
    def analyses(self) -> list[str]:
        """Keys of the analyses."""
        return [analysis.key for analysis, _ in self.wanted]

    def check_settings(self) -> None:
        """Refuse tables and settings of analyses that do not fit, before anything is trained.

        Raises
        ------
        InputError
            If it is so.

        Warns
        -----
        InputWarning
            If something is left out.
        """
        with self.study.errors_at("items"):
            self._check_features()
        with self.study.errors_at("metrics", "names"):
            self._check_hidden()
        given = Given(
            systems=self.systems,
            measures=self.measures,
            has_training=self.collection.split is not None and bool(self.study.systems.names),
            has_truth=self.truth is not None,
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

    def _check_features(self) -> None:
        """Read the tables of items, and say how many items have no features."""
        every, judged = np.arange(len(self.collection.items)), self.collection.qrels.items
        unknown = without_features(self.catalogue, every)
        if unknown:
            finding = (
                f"{self.study.items.features}: no features of {unknown:,} of the {len(every):,} "
                f"items, {without_features(self.catalogue, np.unique(judged)):,} of them judged; "
                "to metrics they are like no other item."
            )
            warnings.warn(finding, InputWarning, stacklevel=2)

    def _check_hidden(self) -> None:
        """Refuse to hide items from runs, or in time where ratings have none."""
        split = self.collection.split
        if not self.hidden_under or split is None:
            return
        needing = [analysis.key for analysis, _ in self.wanted if "truth" in analysis.needs]
        if needing and all(metric.needs for metric in self.metrics.values()):
            raise InputError(
                f"LOO and LLOO have no value on a truth, which the analysis {needing[0]} compares "
                "with: measure something else, too, or leave it out of `names` in [analyses]."
            )
        if self.collection.runs:
            raise InputError(
                "LOO and LLOO hide items from systems that are trained here; the run "
                f"{self.collection.runs[0].system!r} was made elsewhere."
            )
        if "lloo" in self.hidden_under and split.train.time is None:
            raise InputError("LLOO hides what is later than an item, and the ratings have no time.")

    def _best_ranks(self) -> FullRanks:
        """Rank as a perfect system does."""
        split, relevant = self.collection.split, self.collection.relevant_ratings()
        if split is None or relevant is None:
            raise InputError("without training ratings there are no ranks among all candidates.")
        candidates = self.study.systems.candidates_in(split)
        return rankable(split.train, relevant, candidates=candidates).best_ranks()

    def as_run(self) -> bytes:
        """Write the study with all defaults spelled out; nothing of systems if none is trained."""
        study, threshold = spelled_out(self.study), self.collection.threshold
        if study.ratings is not None and not study.ratings.implicit:
            ratings = study.ratings.model_copy(update={"threshold": threshold})
            study = study.model_copy(update={"ratings": ratings})
        unused = ("split", "systems") if self.collection.split is None else ()
        return study.to_toml(without=unused, folder=self.store.folder)

    def make(self) -> None:
        """Make all parts, or what is left of them."""
        self.keep_input()
        runs = self.make_runs()
        self.analyse(runs, self.make_scores(runs), self.make_truth(runs))
        if self.repeats:
            self._put_together()

    @property
    def _repeated(self) -> list[str]:
        return [REPEATS] if self.repeats else []

    def _put_together(self) -> None:
        """Make the study under the other seeds, and put what was found under all together."""
        folders = [self.store.folder]
        for number, (seed, make) in enumerate(self.repeats.items(), start=2):
            self.progress.note(f"Seed {seed}, {number} of {1 + len(self.repeats)}:")
            folders.append(make())
        results = ["means", *self.analyses]
        names = [evidence_name(key) for key in results]
        files = [sha256((f / name).read_bytes()).hexdigest() for f in folders for name in names]

        def build() -> dict[str, bytes]:
            found = gather(folders, [self.study.seed, *self.repeats], results)
            return result_files(REPEATS, found, worded=self.worded)

        self._make(REPEATS, content_key(files), build, made_by(SCORES, DRAWING))

    def worded(self, text: str) -> str:
        """Say topics for users, which is what results say, where runs are given."""
        return of_topics(text) if self.collection.split is None else text

    def facts(self) -> dict[str, Any]:
        """Give what the manifest says of this source alone."""
        study, facts = self.study, self.collection.facts
        of_runs = self.collection.split is None
        compared, ranked_for = ("systems", "topics") if of_runs else ("recommenders", "users")
        n_systems = f"{len(self.systems)} {'runs' if of_runs else 'systems'}"
        if self.collection.replicated:
            n_runs = f"{len(self.run_names)} runs, taken as given"
            n_systems = f"{len(self.systems)} systems (means over {n_runs})"
        counts = f"{facts['users']:,} {ranked_for}"
        judgements = f"{facts['judgements']:,} judgements"
        return {
            "lead": f"Can these metrics be trusted to compare {compared}? {n_systems}, {counts}, "
            f"{judgements}, {_about_measures(study.measures)}; seed {study.seed}.",
            "data": f"Data: {study.name} ({counts} with {judgements}{_origin(self.collection)}); "
            f"{n_systems}; study seed {study.seed}.",
            "ranked for": ranked_for,
            "results": ["means", "coverage", *self.analyses, *self._repeated],
            "inputs": [*self.collection.inputs, *self.tables_read],
            "collection": {self.worded(name): fact for name, fact in facts.items()},
            "systems": list(self.systems),
            "notes": [
                INFAP,
                TIES,
                *([] if self.weights is None else [WEIGHTED]),
                *([REPLICATED] if self.collection.replicated else []),
                *_about_ids(self.collection),
                *effects_of_weights(self.metrics.values(), self.collection.qrels, self.catalogue),
            ],
        }

    @property
    def tables_read(self) -> list[dict[str, Any]]:
        """Paths and checksums of the tables that the analyses read."""
        of_analyses = [path for _, settings in self.wanted for path in settings.files()]
        return [checksum(path) for path in [*self.study.items.files, *of_analyses]]

    def keep_input(self) -> None:
        """Write qrels and split, and the log and the truth of a simulated world."""
        by = made_by(RATINGS, NUMBERS)
        self._make("qrels", content_key(self._qrels_key), self._qrels_files, by)
        if self._split_parts:
            key = content_key(*map(ratings_digest, self._split_parts.values()))
            self._make("split", key, self._split_files, made_by(RATINGS, (*NUMBERS, "pyarrow")))
        if self.collection.truth is not None:
            self._make("world", content_key(self.collection.inputs), self._world_files, by)
        if self.truth is not None:
            self._make(TRUE_QRELS, self._true_key, self._true_files, by)

    def make_runs(self) -> list[Run]:
        """Train the systems and rank for every topic; write the runs that were given.

        Where systems are trained, all runs are read back from their files, which may be those of
        an earlier call. What is scored is what is written.
        """
        self._write_given_runs()
        if self.collection.split is None:
            return list(self.collection.runs)
        self._train(self.collection.split)
        depth = self.study.systems.depth
        with self.progress("Reading the runs back", len(self.run_names)) as bar:
            runs = []
            for name in self.run_names:
                file = read_run(self.store.folder / RUN.file(name))
                runs.append(file.to_run(*self.collection.carried, depth=depth))
                bar.advance()
        return runs

    def make_scores(self, runs: Sequence[Run]) -> Scores:
        """Score every user, system and measure; write means and coverage.

        Scores are kept as the metrics give them, and returned weighted as means ask for it.
        """
        made: list[Scores] = []

        def build() -> dict[str, bytes]:
            by_run, replicates = self._score(runs), self._replicates(runs)
            made.append(averaged(by_run, replicates))
            return {
                SCORES_FILE: scores_to_parquet(made[0]),
                **_runs_file(RUNS_FILE, weighted(by_run, self.weights), replicates),
                **result_files("means", self._means(made[0], by_run, replicates)),
                **result_files("coverage", Coverage.of(runs, self.collection.qrels)),
                **self._kept_metrics(),
            }

        self._make("scores", self._scores_key, build, made_by(SCORES, (*DRAWING, "pyarrow")))
        scores = made[0] if made else scores_from_parquet(self.store.read(SCORES_FILE))
        return replace(weighted(scores, self.weights), runs=self._run_deviations(RUNS_FILE))

    def _run_deviations(self, name: str) -> RunDeviations | None:
        """Read what the runs of one system differ by; None if there are no replicates."""
        if not self.collection.replicated:
            return None
        return read_evidence(self.store.folder / name, RunDeviations)

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """Weights of the users; None if all weigh the same."""
        return user_weights(self.collection.qrels, self.study.metrics.average)

    def _means(self, scores: Scores, by_run: Scores, replicates: Replicates | None) -> Means:
        average = self.study.metrics.average
        means = Means.of(weighted(scores, self.weights), self.metrics, average=average)
        if replicates is None:
            return means
        spreads = spread(weighted(by_run, self.weights), replicates, self.metrics)
        return replace(means, sizes=replicates.sizes, spreads=spreads)

    def _kept_metrics(self) -> dict[str, bytes]:
        kept = keep_metrics(self.metrics.values(), self.study.cutoffs)
        return {} if kept is None else {KEPT_METRICS: kept}

    def _score(self, runs: Sequence[Run]) -> Scores:
        with self.progress("Scoring the runs", len(runs)) as bar:
            return score(
                runs,
                self.collection.qrels,
                self.study.measures,
                self.metrics,
                users=self.collection.topics.ids,
                catalogue=self.trained_catalogue,
                advance=bar.advance,
            )

    def make_truth(self, runs: Sequence[Run]) -> Truth | None:
        """Score every user of the truth by it; None if none is known."""
        if self.truth is None or self.study.truth is None:
            return None
        known, made = self.truth, list[Scores]()

        def build() -> dict[str, bytes]:
            lists = self._true_lists(runs, known)
            with self.progress("Scoring by the truth", len(lists)) as bar:
                by_run = self._score_truly(lists, known, advance=bar.advance)
            replicates = self._replicates(lists)
            made.append(averaged(by_run, replicates))
            weights = user_weights(known.qrels, self.study.metrics.average)
            return {
                TRUE_SCORES_FILE: scores_to_parquet(made[0]),
                **_runs_file(TRUE_RUNS_FILE, weighted(by_run, weights), replicates),
            }

        key = content_key(
            self._scores_key,
            self._true_key,
            self._files_of([TRUE_RUN.of(system) for system in self.listed_truly]),
            self.study.truth.references,
        )
        self._make(TRUE_SCORES, key, build, made_by(SCORES, (*DRAWING, "pyarrow")))
        scores = made[0] if made else scores_from_parquet(self.store.read(TRUE_SCORES_FILE))
        weights = user_weights(known.qrels, self.study.metrics.average)
        return Truth(
            replace(weighted(scores, weights), runs=self._run_deviations(TRUE_RUNS_FILE)),
            self.study.truth.measures,
            known.origin,
            condensed=known.candidates == "judged",
        )

    def _true_lists(self, runs: Sequence[Run], known: TrueJudgements) -> list[Run]:
        """Give the lists that the truth judges."""
        if not self.listed_truly:
            return [known.usual_lists(run) for run in runs]
        files = [read_run(self.store.folder / TRUE_RUN.file(name)) for name in self.run_names]
        return [file.to_run(known.carried, self.collection.carried[1]) for file in files]

    def _score_truly(
        self, lists: Sequence[Run], known: TrueJudgements, *, advance: Callable[[], None]
    ) -> Scores:
        metrics = {**self.references, **self.metrics}
        references = () if self.study.truth is None else self.study.truth.measures
        return true_scores(
            lists,
            known,
            true_measures(self.measures, metrics, references),
            metrics,
            true_catalogue(self.catalogue, known, self.collection.split),
            advance=advance,
        )

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
            ranks={
                system: self.store.folder / RANKS.file(system) for system in self.ranked_in_full
            },
            whole={system: self.store.folder / WHOLE.file(system) for system in self.ranked_whole},
            known_truth=truth,
            replicates=self._replicates(runs),
            worlds=self._worlds,
        )
        for analysis, settings in self.wanted:
            made_from = self._made_from(analysis)
            make_analysis(self, analysis, settings, work, made_from=made_from, worded=self.worded)

    def _made_from(self, analysis: Analysis[Any, Any]) -> str:
        """Give the key of what an analysis uses."""
        if "worlds" in analysis.needs:
            return self._worlds.key
        made_from = self._ranks_key if "full_ranks" in analysis.needs else self._scores_key
        if "candidate_ranks" in analysis.needs:
            parts = [*map(WHOLE.of, self.ranked_whole), TRUE_QRELS, TRUE_SCORES]
            return content_key(self._scores_key, self._files_of(parts))
        if "truth" in analysis.needs:
            return content_key(made_from, self._files_of([TRUE_QRELS, TRUE_SCORES]))
        return made_from

    @property
    def _worlds(self) -> OtherWorlds:
        return OtherWorlds(self.study, self.store, self.n_jobs, self.progress)

    def _make(
        self,
        part: str,
        key: str,
        build: Callable[[], Mapping[str, bytes]],
        made_by: Mapping[str, str],
    ) -> None:
        make_part(self.store, part, key, build, made_by)

    def _train(self, split: Split) -> None:
        names, settings = self.study.systems.labels, self.study.systems.settings
        relevant = self.collection.relevant_ratings() if self.ranked_in_full else None
        keys = self._keys_of_parts(split, relevant)
        pending = [s for s in names if any(self._lacks(part, s, keys) for part in keys)]
        if not pending:
            return
        positives = {s: self.study.systems.positives_of(names[s]) for s in names}
        needs = [
            PROCESS_BYTES
            + require_memory(
                names[s], settings.get(names[s], {}), learnt_from(split.train, positives[s])
            )
            for s in pending
        ]
        tasks = (
            joblib.delayed(train_and_rank)(
                names[system],
                dict(settings.get(names[system], {})),
                split.train,
                split.test_users,
                seed=self.study.seed,
                depth=self.study.systems.depth,
                candidates=self.study.systems.candidates_in(split),
                relevant=relevant,
                positives=positives[system],
                hidden=self._hidden(split),
                lists=self._own_lists(split),
                ranked_whole=self._whole(split),
            )
            for system in pending
        )
        available = psutil.virtual_memory().available
        n_jobs = workers_within(available, needs, n_jobs=min(self.n_jobs, len(pending)))
        workers = processes(n_jobs, return_as="generator_unordered", needs=needs)
        with self.progress("Training and ranking", len(pending)) as bar, restarts_in_silence():
            for made in workers(tasks):
                system = made[RUN].value.system
                for part, timed in made.items():
                    if self._lacks(part, system, keys):
                        self._write_part(part, system, timed, keys[part][system])
                seconds = sum(timed.cost.seconds for timed in made.values())
                bar.advance(done=f"{system}, {seconds:.1f} s")

    def _lacks(
        self, part: SystemPart, system: str, keys: Mapping[SystemPart, Mapping[str, str]]
    ) -> bool:
        """Tell whether a part of a system is asked for, and not kept."""
        key = keys[part].get(system)
        by = self._trained_by
        return key is not None and not self.store.is_complete(part.of(system), key, by)

    def _keys_of_parts(
        self, split: Split, relevant: Ratings | None
    ) -> dict[SystemPart, dict[str, str]]:
        """Give the keys of what is asked for, by part and system."""
        keys = {system: self._run_key(split, system) for system in self.study.systems.labels}
        marks = "" if relevant is None else ratings_digest(relevant)
        return {
            RUN: keys,
            RANKS: {system: content_key(keys[system], marks) for system in self.ranked_in_full},
            HIDDEN: self._hidden_keys(split, keys),
            TRUE_RUN: self._list_keys(keys),
            WHOLE: self._whole_keys(split, keys),
        }

    def _hidden(self, split: Split) -> Hidden | None:
        """Say what is hidden in turn: the relevant items; None if no hidden ranks are asked for."""
        if not self.ranked_hidden:
            return None
        # Test ratings and judgements have one order: by user, then item.
        return Hidden(split, self.collection.qrels.relevant, self.hidden_under)

    def _hidden_keys(self, split: Split, keys: Mapping[str, str]) -> dict[str, str]:
        if not self.ranked_hidden:
            return {}
        marks = (ratings_digest(split.test), digest(self.collection.qrels.relevant))
        return {s: content_key(keys[s], *marks, self.hidden_under) for s in self.ranked_hidden}

    def _whole(self, split: Split) -> NDArray[np.int64] | None:
        """Say whose candidates are all ranked: places of test users; None if nobody's are."""
        if not self.ranked_whole:
            return None
        return drawn_places(split.test_users, len(split.train.items), self.study.seed)

    def _whole_keys(self, split: Split, keys: Mapping[str, str]) -> dict[str, str]:
        whole = self._whole(split)
        return {} if whole is None else {s: content_key(keys[s], digest(whole)) for s in keys}

    def _own_lists(self, split: Split) -> OwnLists | None:
        """Say whom the truth asks other lists for; None if it judges the usual ones."""
        if self.truth is None or not self.listed_truly:
            return None
        return OwnLists(self.truth.users, self.truth.listed(len(split.train.items)))

    def _list_keys(self, keys: Mapping[str, str]) -> dict[str, str]:
        if self.truth is None or not self.listed_truly:
            return {}
        marks = self.truth.listed(len(self.collection.items))
        listed = "all" if marks is None else digest(marks.indptr, marks.indices)
        whose = digest(self.truth.users)
        return {system: content_key(key, whose, listed) for system, key in keys.items()}

    def _write_given_runs(self) -> None:
        given = self.collection
        for part, runs, judged in (
            (RUN, given.runs, self._qrels_key),
            (TRUE_RUN, given.true_lists, self._true_key),
        ):
            for run in runs:
                key = content_key(judged, digest(run.items))
                self._write_part(part, run.system, Timed(run, Cost(0, 0)), key)

    def _write_part(self, part: SystemPart, system: str, made: Timed, key: str) -> None:
        files = {part.file(system): self._content(part, made.value)}
        by = self._trained_by
        self.store.write(part.of(system), key, files, cost=made.cost, made_by=by)

    def _content(self, part: SystemPart, made: Any) -> bytes:
        """Give what is in the file of a part: lists in TREC's form, or ranks as evidence."""
        if not isinstance(made, Run):
            return to_evidence(made)
        if not made.lengths.any():
            truly = "lists none of the truly judged items."
            lacks = truly if part is TRUE_RUN else "recommends nothing to any test user."
            raise InputError(f"the system {made.system!r} {lacks}")
        topics, items = self.collection.carried
        if part is TRUE_RUN and self.truth is not None:
            topics = self.truth.carried
        return format_run(made, topics, items)

    def _run_key(self, split: Split, system: str) -> str:
        name = self.study.systems.labels[system]
        candidates = self.study.systems.candidates_in(split)
        settings = read_settings(name, self.study.systems.settings.get(name, {}))
        return content_key(
            sha256(file_of(name).read_bytes()).hexdigest() if is_user_system(name) else "",
            ratings_digest(split.train),
            digest(split.test_users),
            system,
            settings.model_dump(mode="json"),
            self.study.seed,
            self.study.systems.depth,
            "all" if candidates is None else digest(candidates),
            self.study.systems.positives_of(name),
        )

    @property
    def _trained_by(self) -> dict[str, str]:
        return made_by(SYSTEMS, TRAINING)

    @cached_property
    def _qrels_key(self) -> str:
        qrels = self.collection.qrels
        return content_key(
            digest(self.collection.topics.ids, self.collection.items.ids),
            digest(qrels.offsets, qrels.items, qrels.grades),
            qrels.relevance_level,
        )

    @cached_property
    def _true_key(self) -> str:
        known = self.truth
        if known is None:
            return ""
        qrels = known.qrels
        return content_key(
            digest(known.topics.ids, self.collection.items.ids),
            digest(qrels.offsets, qrels.items, qrels.grades),
            qrels.relevance_level,
        )

    @property
    def _scores_key(self) -> str:
        measures = self.measures
        return content_key(
            self._qrels_key,
            self._files_of(
                [
                    *(RUN.of(name) for name in self.run_names),
                    *(HIDDEN.of(system) for system in self.ranked_hidden),
                ]
            ),
            *([str(m) for m in some] for some in (measures, measures.reported, measures.grid)),
            self._system_of_runs,
            self.study.metrics.average,
            [sha256(path.read_bytes()).hexdigest() for path in self.study.metrics.plugins],
            [sha256(path.read_bytes()).hexdigest() for path in self.study.items.files],
            self.study.items.columns,
            None if self.collection.split is None else ratings_digest(self.collection.split.train),
        )

    @property
    def _ranks_key(self) -> str:
        return content_key(self._files_of([RANKS.of(s) for s in self.ranked_in_full]))

    def _files_of(self, parts: Sequence[str]) -> list[dict[str, str]]:
        """Give the files of parts that are made, with their checksums."""
        entries = [self.store.entry(part) for part in parts]
        return [entry.files for entry in entries if entry is not None]

    def _qrels_files(self) -> dict[str, bytes]:
        lines = format_qrels(self.collection.qrels, *self.collection.carried)
        table = self.collection.id_table()
        return {"qrels/test.qrels": lines} | ({} if table is None else {"ids.csv": table})

    def _true_files(self) -> dict[str, bytes]:
        known = self.truth
        if known is None:
            return {}
        lines = format_qrels(known.qrels, known.carried, self.collection.carried[1])
        if known.carried is known.topics:
            return {TRUE_QRELS_FILE: lines}
        table = id_table({"user": (known.carried, known.topics)})
        return {TRUE_QRELS_FILE: lines, "truth/ids.csv": table}

    @property
    def _split_parts(self) -> dict[str, Ratings]:
        split = self.collection.split
        return {} if split is None else {TRAIN_FILE: split.train, TEST_FILE: split.test}

    def _split_files(self) -> dict[str, bytes]:
        return {name: format_rating_lines(part) for name, part in self._split_parts.items()}

    def _world_files(self) -> dict[str, bytes]:
        split, truth = self.collection.split, self.collection.truth
        if split is None or truth is None:
            return {}
        return {"world/ratings.csv": format_ratings(split), "world/truth.npz": truth.to_bytes()}


def _runs_file(name: str, by_run: Scores, replicates: Replicates | None) -> dict[str, bytes]:
    """Keep what the runs of one system differ by, if there are several of one."""
    return {} if replicates is None else {name: to_evidence(deviations(by_run, replicates))}


def format_ratings(split: Split) -> bytes:
    """Write all ratings of a split as a MovieLens csv file."""
    lines = []
    for ratings in (split.train, split.test):
        times = np.zeros(len(ratings), np.int64) if ratings.time is None else ratings.time
        users, items = ratings.users.ids[ratings.user], ratings.items.ids[ratings.item]
        columns = (column.tolist() for column in (users, items, ratings.rating, times))
        lines += [
            f"{user},{item},{rating:g},{time}\n"
            for user, item, rating, time in zip(*columns, strict=True)
        ]
    return ("userId,movieId,rating,timestamp\n" + "".join(sorted(lines))).encode()


def digest(*arrays: NDArray[Any]) -> str:
    """Hash the contents of arrays."""
    whole = sha256()
    for array in arrays:
        whole.update(f"{array.dtype}{array.shape}".encode())
        whole.update(np.ascontiguousarray(array).data)
    return whole.hexdigest()


def ratings_digest(ratings: Ratings) -> str:
    """Hash ratings and their ids."""
    columns = [ratings.users.ids, ratings.items.ids, ratings.user, ratings.item, ratings.rating]
    return digest(*columns, *([] if ratings.time is None else [ratings.time]))


def spelled_out(study: Study) -> Study:
    """Fill in the defaults that depend on the systems."""
    if study.ratings is None:
        return study
    given = study.systems.settings
    settings = {
        name: read_settings(name, given.get(name, {})).model_dump(mode="json")
        for name in study.systems.names
    }
    systems = study.systems.model_copy(update={"settings": settings})
    return study.model_copy(update={"systems": systems})


def _origin(collection: Collection) -> str:
    ratings = collection.facts.get("ratings")
    if not ratings:
        return ""
    simulated = "" if collection.truth is None else " of a simulated world"
    return f", from {ratings['ratings']:,} ratings{simulated}"


def _about_measures(measures: Measures) -> str:
    """Count metrics and cut-offs; name what is compared where that is something else."""
    if not measures.reported.place:
        return f"the measures {listed(measures.reported.labels)}"
    n_metrics = f"{len(measures.metrics)} metrics"
    return f"{n_metrics} {f'at {n} cut-offs' if (n := len(measures.cutoffs)) else 'of whole lists'}"


def _about_ids(collection: Collection) -> list[str]:
    if all(written is named for written, named in collection.names):
        return []
    return [
        "TREC files cannot carry some of the ids: in run and qrels files numbers stand in their "
        "place, and ids.csv says for which."
    ]
