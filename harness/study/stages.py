"""The stages of a study: recommend, judge, score, analyse; each a function with a key.

A stage is made again only if the key of what it is made from has changed (see
`harness.study.store`).
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import sha256
from typing import Any
from urllib.parse import quote

import joblib
import numpy as np
import psutil
from numpy.typing import NDArray

from analyses.online.tables.links import link, paths_of
from analyses.sampled.sampled_studies import PLACED
from analyses.shared.evidence import read_evidence, to_evidence
from analyses.shared.measure import Scores
from harness import __version__
from harness.analysing import ANALYSES, Output, Work, wanted
from harness.metrics.shared.metric import Metric
from harness.readers.scores import SCORES_FILE
from harness.readers.scores_parquet import scores_from_parquet, scores_to_parquet
from harness.scoring.score import score
from harness.study.collection import Collection, checksum
from harness.study.store import Store, content_key
from harness.study.study import Study, SystemsSection
from harness.study.system_tables import coverage_table, means_table
from harness.study.workers import restarts_in_silence, train_and_place
from qrels import FullRanks, Ratings, Split
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
from runs import InputError, InputWarning, Run
from runs.shared.clock import Clock, Cost
from runs.shared.progress import Progress
from runs.trec import format_run, read_run


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
    """

    study: Study
    collection: Collection
    metrics: Mapping[str, Metric]
    store: Store
    n_jobs: int
    progress: Progress

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems: those trained, in the order of the study, then the runs given."""
        given = tuple(run.system for run in self.collection.runs)
        return given if self.collection.split is None else (*self.study.systems.labels, *given)

    @property
    def placed(self) -> tuple[str, ...]:
        """Names of the systems whose full ranks are kept."""
        return () if self.study.analyses.sampled is None else tuple(self.study.systems.labels)

    @property
    def parts(self) -> list[str]:
        """Names of the parts of the study in the ledger."""
        world = [] if self.collection.truth is None else ["world"]
        runs = [run_part(system) for system in self.systems]
        ranks = [ranks_part(system) for system in self.placed]
        return ["qrels", *world, *runs, *ranks, "scores", *(name for name, _ in wanted(self.study))]

    def check_ranks(self) -> None:
        """Refuse to sample what the data do not have, before any system is trained.

        Raises
        ------
        InputError
            If it is so.
        """
        section, split = self.study.analyses.sampled, self.collection.split
        relevant = None if split is None else self._relevant(split)
        if section is None or split is None or relevant is None:
            return
        candidates = candidates_of(self.study.systems, split)
        ranked = rankable(split.train, relevant, candidates=candidates).best_ranks()
        with self.study.placed("analyses", "sampled", "negatives"):
            section.check(ranked)

    def check_rates(self) -> None:
        """Refuse tables of rates that do not fit the systems, before any system is trained.

        Raises
        ------
        InputError
            If it is so.

        Warns
        -----
        InputWarning
            If some systems or models cannot be compared.
        """
        section = self.study.analyses.online
        if section is None:
            return
        with self.study.placed("analyses", "online", "rates"):
            left_out = link(section, self.systems).left_out
        if left_out:
            finding = (
                f"[analyses.online] leaves out what is not known on all sides: "
                f"{', '.join(left_out)}."
            )
            warnings.warn(finding, InputWarning, stacklevel=2)

    @property
    def tables_read(self) -> list[dict[str, Any]]:
        """Paths and checksums of the tables that the analyses read."""
        section = self.study.analyses.online
        return [] if section is None else [checksum(path) for path in paths_of(section)]

    def keep_input(self) -> None:
        """Write the qrels, and the log and the truth of a simulated world."""
        self._make("qrels", content_key(self._qrels_key), self._qrels_files)
        if self.collection.truth is not None:
            self._make("world", content_key(__version__, self.collection.inputs), self._world_files)

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
        with self.progress("Reading the runs back", len(self.systems)) as bar:
            runs = []
            for system in self.systems:
                file = read_run(self.store.folder / run_name(system))
                runs.append(file.to_run(self.collection.topics, self.collection.items, depth=depth))
                bar.advance()
        return runs

    def make_scores(self, runs: Sequence[Run]) -> Scores:
        """Score every user, system and measure; write means and coverage."""
        made: list[Scores] = []

        def build() -> dict[str, bytes]:
            made.append(self._score(runs))
            output = Output({SCORES_FILE: scores_to_parquet(made[0])})
            output.add_table("means", means_table(made[0], self.metrics))
            output.add_table("coverage", coverage_table(runs, self.collection))
            return output.files

        self._make("scores", self._scores_key, build)
        return made[0] if made else scores_from_parquet(self.store.read(SCORES_FILE))

    def _score(self, runs: Sequence[Run]) -> Scores:
        with self.progress("Scoring the runs", len(runs)) as bar:
            return score(
                runs,
                self.collection.qrels,
                self.study.measures,
                self.metrics,
                users=self.collection.topics.ids,
                advance=bar.advance,
            )

    def analyse(self, runs: Sequence[Run], scores: Scores) -> None:
        """Make every analysis of the study."""
        work = Work(
            study=self.study,
            collection=self.collection,
            runs=runs,
            scores=scores,
            metrics=self.metrics,
            n_jobs=self.n_jobs,
            progress=self.progress,
            full_ranks={
                system: read_evidence(self.store.folder / ranks_name(system), FullRanks)
                for system in self.placed
            },
        )
        for name, settings in wanted(self.study):
            made_from = self._ranks_key if name in PLACED else self._scores_key
            read = [table["sha256"] for table in self.tables_read] if name == "online" else []
            key = content_key(made_from, name, settings, self.study.seed, *read)
            self._make(name, key, partial(analysis_files, name, work))

    def _make(self, part: str, key: str, build: Callable[[], Mapping[str, bytes]]) -> None:
        """Build and write a part, unless it is complete."""
        if self.store.is_complete(part, key):
            return
        clock = Clock()
        files = build()
        self.store.write(part, key, files, cost=clock.cost())

    def _train(self, split: Split) -> None:
        names, settings = self.study.systems.labels, self.study.systems.settings
        keys = {system: self._run_key(split, system) for system in names}
        relevant = self._relevant(split)
        marks = "" if relevant is None else ratings_digest(relevant)
        ranks_keys = {system: content_key(keys[system], marks) for system in self.placed}
        pending = [
            system
            for system in names
            if not self.store.is_complete(run_part(system), keys[system])
            or not self._is_placed(system, ranks_keys)
        ]
        if not pending:
            return
        needs = [
            PROCESS_BYTES + require_memory(names[s], settings.get(names[s], {}), split.train)
            for s in pending
        ]
        tasks = (
            joblib.delayed(train_and_place)(
                names[system],
                dict(settings.get(names[system], {})),
                split.train,
                split.test_users,
                seed=self.study.seed,
                depth=self.study.systems.depth,
                candidates=candidates_of(self.study.systems, split),
                relevant=relevant,
                main_process=os.getpid(),
            )
            for system in pending
        )
        available = psutil.virtual_memory().available
        n_jobs = workers_within(available, needs, n_jobs=min(self.n_jobs, len(pending)))
        workers = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered")
        with self.progress("Training and ranking", len(pending)) as bar, restarts_in_silence():
            for run, cost, ranks, ranks_cost in workers(tasks):
                if not self.store.is_complete(run_part(run.system), keys[run.system]):
                    self._write_run(run, keys[run.system], cost)
                if ranks is not None and not self._is_placed(run.system, ranks_keys):
                    files = {ranks_name(run.system): to_evidence(ranks)}
                    key = ranks_keys[run.system]
                    self.store.write(ranks_part(run.system), key, files, cost=ranks_cost)
                bar.advance()

    def _is_placed(self, system: str, keys: Mapping[str, str]) -> bool:
        """Tell whether the full ranks of a system are kept, or not asked for."""
        return not keys or self.store.is_complete(ranks_part(system), keys[system])

    def _relevant(self, split: Split) -> Ratings | None:
        """Give the held-out ratings of relevant items; None if no full ranks are asked for."""
        if self.study.ratings is None or not self.placed:
            return None
        return split.test.select(split.test.rating >= self.study.ratings.threshold)

    def _write_given_runs(self) -> None:
        for run in self.collection.runs:
            self._write_run(
                run, content_key(__version__, self._qrels_key, digest(run.items)), Cost(0, 0)
            )

    def _write_run(self, run: Run, key: str, cost: Cost) -> None:
        if not run.lengths.any():
            raise InputError(f"the system {run.system!r} recommends nothing to any test user.")
        content = format_run(run, self.collection.topics, self.collection.items)
        self.store.write(
            run_part(run.system),
            key,
            {run_name(run.system): content},
            cost=cost,
        )

    def _run_key(self, split: Split, system: str) -> str:
        name = self.study.systems.labels[system]
        candidates = candidates_of(self.study.systems, split)
        settings = read_settings(name, self.study.systems.settings.get(name, {}))
        return content_key(
            __version__,
            sha256(file_of(name).read_bytes()).hexdigest() if is_user_system(name) else "",
            ratings_digest(split.train),
            digest(split.test_users),
            system,
            settings.model_dump(mode="json"),
            self.study.seed,
            self.study.systems.depth,
            "all" if candidates is None else digest(candidates),
        )

    @cached_property
    def _qrels_key(self) -> str:
        qrels = self.collection.qrels
        return content_key(
            __version__,
            digest(self.collection.topics.ids, self.collection.items.ids),
            digest(qrels.offsets, qrels.items, qrels.grades),
            qrels.relevance_level,
        )

    @property
    def _scores_key(self) -> str:
        return content_key(
            self._qrels_key,
            self._files_of([run_part(system) for system in self.systems]),
            [str(measure) for measure in self.study.measures],
            [sha256(path.read_bytes()).hexdigest() for path in self.study.metrics.plugins],
            None if self.collection.split is None else ratings_digest(self.collection.split.train),
        )

    @property
    def _ranks_key(self) -> str:
        return content_key(__version__, self._files_of([ranks_part(s) for s in self.placed]))

    def _files_of(self, parts: Sequence[str]) -> list[dict[str, str]]:
        """Give the files of parts that are made, with their checksums."""
        entries = [self.store.entry(part) for part in parts]
        return [entry.files for entry in entries if entry is not None]

    def _qrels_files(self) -> dict[str, bytes]:
        lines = format_qrels(self.collection.qrels, self.collection.topics, self.collection.items)
        return {"qrels/test.qrels": lines}

    def _world_files(self) -> dict[str, bytes]:
        split, truth = self.collection.split, self.collection.truth
        if split is None or truth is None:
            return {}
        return {"world/ratings.csv": format_ratings(split), "world/truth.npz": truth.to_bytes()}


def candidates_of(section: SystemsSection, split: Split) -> NDArray[np.bool_] | None:
    """Mark the items that may be recommended; None for all that have training ratings."""
    return None if section.candidates == "trained" else split.test.item_counts() > 0


def run_name(system: str) -> str:
    """Name the run file of a system.

    Examples
    --------
    >>> run_name("bm25/tuned")
    'runs/bm25%2Ftuned.run'
    """
    return f"runs/{file_stem(system)}.run"


def run_part(system: str) -> str:
    """Name the part of the study that is the run of a system."""
    return f"run-{file_stem(system)}"


def ranks_name(system: str) -> str:
    """Name the file that keeps the full ranks of a system."""
    return f"ranks/{file_stem(system)}.npz"


def ranks_part(system: str) -> str:
    """Name the part of the study that is the full ranks of a system."""
    return f"ranks-{file_stem(system)}"


def file_stem(system: str) -> str:
    """Write what a file name may not hold in the manner of URLs: two systems never share a file."""
    return re.sub(r"[^\w+=@.-]", lambda match: quote(match[0], safe=""), system)


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


def analysis_files(name: str, work: Work) -> dict[str, bytes]:
    """Make an analysis and give its files."""
    return ANALYSES[name](work).files
