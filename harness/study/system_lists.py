"""What systems recommend: trained here or made elsewhere, each a part of the study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from analyses.shared.analysis import Need
from analyses.shared.evidence import to_evidence
from harness.study.parts import Files, Key
from harness.study.reachable_code import Maker
from harness.study.study import Study
from harness.study.systems_run import SystemsRun
from harness.study.true_judgements import drawn_places
from harness.study.workers import (
    HIDDEN,
    RANKS,
    RUN,
    TRUE_RUN,
    WHOLE,
    Hidden,
    Learning,
    OwnLists,
    SystemPart,
    learnt_from,
    restarts_in_silence,
    train_and_rank,
)
from qrels import Split
from recommenders import (
    PROCESS_BYTES,
    UNKNOWN_FAMILY,
    file_of,
    find_system,
    is_user_system,
    read_settings,
    require_memory,
    train_by,
    workers_within,
)
from runs import InputError, Numbering, Run
from runs.formats import read_run, run_to_parquet
from runs.replicates import Replicates
from runs.shared.arrays import Longs
from runs.shared.errors import require_known
from runs.shared.parallel import delayed, process_pool


@dataclass(frozen=True, eq=False)
class KeptLists:
    """Ranked lists that are kept in files, and read when they are first asked for.

    Parameters
    ----------
    files
        The files, one for each run.
    system_of_runs
        Name of the system of each run.
    are_replicated
        Whether several runs may be of one system.
    topics, items
        Topics and items as the files carry them.
    depth
        Depth of the lists; None for that of the longest in a file.
    """

    files: tuple[Path, ...]
    system_of_runs: tuple[str, ...]
    are_replicated: bool
    topics: Numbering
    items: Numbering
    depth: int | None

    @cached_property
    def runs(self) -> list[Run]:
        """The lists: what is scored is what is written."""
        return [
            read_run(file).to_run(self.topics, self.items, depth=self.depth) for file in self.files
        ]

    def replicates_of(self, runs: Sequence[Run]) -> Replicates | None:
        """Tell which of these runs are of which system; None if each is of its own."""
        return (
            Replicates.group_by_system(self.system_of_runs, runs) if self.are_replicated else None
        )


@dataclass(frozen=True)
class SystemLists:
    """The lists and ranks of every system of a study, in its folder."""

    run: SystemsRun

    @cached_property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems: those trained, in the order of the study, then the runs given."""
        return tuple(dict.fromkeys(self.system_of_runs))

    @cached_property
    def run_names(self) -> tuple[str, ...]:
        """Names of the runs: those of the systems, but where several runs are of one."""
        return self.trained + tuple(run.system for run in self.run.collection.runs)

    @cached_property
    def system_of_runs(self) -> tuple[str, ...]:
        """Names of the systems, by run."""
        replicated = self.run.collection.replicated
        return self.trained + replicated if replicated else self.run_names

    @cached_property
    def trained(self) -> tuple[str, ...]:
        """Names of the systems that are trained here."""
        is_trained = self.run.collection.split is not None
        return tuple(self.run.study.systems.labels) if is_trained else ()

    @property
    def sources(self) -> dict[str, tuple[str, str]]:
        """Summary and source of each system that is trained."""
        labels = self.run.study.systems.labels
        specs = {label: find_system(labels[label]) for label in self.trained}
        return {label: (spec.summary, spec.source) for label, spec in specs.items()}

    @cached_property
    def families(self) -> dict[str, str]:
        """Families of the systems that are trained here, and of the runs of which one is named.

        A baseline is a family of its own; of a user's system it is known if it is declared.
        """
        study = self.run.study
        families = {}
        for label in self.trained:
            family = find_system(study.systems.labels[label]).family
            if family != UNKNOWN_FAMILY:
                families[label] = label if family == "baseline" else family
        named = {} if study.runs is None else study.runs.families
        for system in named:
            with study.errors_at("runs", "families", system):
                require_known("there is no run", [system], self.systems)
        return families | named

    @cached_property
    def names(self) -> Mapping[SystemPart, tuple[str, ...]]:
        """Names of the runs or systems of which each part is kept."""
        truth = self.run.collection.judged_truly
        has_true_lists = truth is not None and truth.has_own_lists
        return {
            RUN: self.run_names,
            RANKS: self.trained if Need.FULL_RANKS in self.run.needs else (),
            HIDDEN: self.trained if self.run.hidden_under else (),
            WHOLE: self.trained if self._ranks_all_candidates else (),
            TRUE_RUN: self.run_names if has_true_lists else (),
        }

    @property
    def _ranks_all_candidates(self) -> bool:
        split = self.run.collection.split
        if split is None:
            return False
        if Need.CANDIDATE_RANKS in self.run.needs:
            return True
        all_fit = len(self._ranked_rows(split)) == len(split.test_users)
        return Need.ALL_CANDIDATE_RANKS in self.run.needs and all_fit

    def _ranked_rows(self, split: Split) -> Longs:
        """Draw the rows of the test users whose candidates are all ranked."""
        return drawn_places(split.test_users, len(split.train.items), self.run.study.seed)

    def parts_of(self, *kinds: SystemPart) -> list[str]:
        """Name the parts of some kinds in the ledger."""
        return [kind.of(system) for kind in kinds for system in self.names[kind]]

    def files_of(self, kind: SystemPart) -> dict[str, Path]:
        """List the files of a kind of part, by system."""
        return {system: self.run.folder / kind.file(system) for system in self.names[kind]}

    def keep(self) -> None:
        """Train the systems and rank for every topic; write the runs that were made elsewhere."""
        collection = self.run.collection
        topics, items = collection.trec_ids
        for run in collection.runs:
            self._keep_lists(RUN, run, topics, items)
        truth = collection.judged_truly
        if truth is not None:
            for run in collection.true_lists:
                self._keep_lists(TRUE_RUN, run, truth.trec_ids, items)
        if collection.split is not None:
            self._train(collection.split)

    def _keep_lists(self, kind: SystemPart, run: Run, topics: Numbering, items: Numbering) -> None:
        name = kind.of(run.system)
        file = kind.file(run.system)
        self.run.parts.keep(name, list_files, run, topics, items, file, kind == TRUE_RUN)

    @cached_property
    def recommended(self) -> KeptLists:
        """The lists that the judgements judge."""
        collection = self.run.collection
        topics, items = collection.trec_ids
        return KeptLists(
            files=tuple(self.files_of(RUN).values()),
            system_of_runs=self.system_of_runs,
            are_replicated=bool(collection.replicated),
            topics=topics,
            items=items,
            depth=None if collection.split is None else self.run.study.systems.depth,
        )

    @cached_property
    def truly_judged(self) -> KeptLists:
        """The lists that the truth judges, if these are others."""
        truth = self.run.collection.judged_truly
        files = self.files_of(TRUE_RUN)
        if truth is None or not files:
            return self.recommended
        topics = truth.trec_ids
        return replace(self.recommended, files=tuple(files.values()), topics=topics, depth=None)

    def _train(self, split: Split) -> None:
        """Train the systems of which a part is missing."""
        study, parts = self.run.study, self.run.parts
        needed = self._needed_by_parts(split)
        keys: dict[str, dict[SystemPart, Key]] = {}
        for system, name in study.systems.labels.items():
            settings = read_settings(name, study.systems.settings.get(name, {}))
            made_from = (system, settings, learning_of(study, name, split))
            makers = [train_by, learnt_from, list_files, to_evidence, maker_of_system(name)]
            keys[system] = {
                kind: parts.key(kind.make, *made_from, arguments, makers=makers)
                for kind, arguments in needed.items()
            }
        missing = {
            system: [kind for kind, key in of_system.items() if parts.lacks(kind.of(system), key)]
            for system, of_system in keys.items()
        }
        pending = [system for system, kinds in missing.items() if kinds]
        if not pending:
            return
        self._check_amounts(split)
        tasks = []
        bytes_needed = []
        for system in pending:
            name = study.systems.labels[system]
            given_settings = study.systems.settings.get(name, {})
            learning = learning_of(study, name, split)
            learnt = learnt_from(split.train, learning.positives, learning.shift)
            bytes_needed.append(PROCESS_BYTES + require_memory(name, given_settings, learnt))
            needed_here = {kind: needed[kind] for kind in missing[system]}
            tasks.append(delayed(train_and_rank)(name, given_settings, learning, needed_here))
        available = psutil.virtual_memory().available
        n_jobs = min(self.run.n_jobs, len(pending))
        n_workers = workers_within(available, bytes_needed, n_jobs=n_jobs)
        workers = process_pool(n_workers, return_as="generator_unordered")
        with self.run.progress("Training and ranking", len(pending)) as bar, restarts_in_silence():
            for system, made in workers(iter(tasks)):
                for kind, timed in made.items():
                    files = self._files(kind, system, timed.value)
                    parts.write(kind.of(system), keys[system][kind], files, timed.cost)
                seconds = sum(timed.cost.seconds for timed in made.values())
                bar.advance(done=f"{system}, {seconds:.1f} s")

    def _needed_by_parts(self, split: Split) -> dict[SystemPart, tuple[Any, ...]]:
        """Name what each part of a trained system needs beside the system."""
        collection = self.run.collection
        relevant, truth = collection.relevant_ratings(), collection.judged_truly
        needed: dict[SystemPart, tuple[Any, ...]] = {RUN: ()}
        if self.names[RANKS] and relevant is not None:
            needed[RANKS] = (relevant,)
        if self.names[HIDDEN]:
            # Test ratings and judgements have one order: by user, then item.
            relevant_marks = collection.qrels.relevant
            needed[HIDDEN] = (Hidden(split.test, relevant_marks, self.run.hidden_under),)
        if self.names[TRUE_RUN] and truth is not None:
            listed = truth.listed(len(split.train.items))
            needed[TRUE_RUN] = (OwnLists(truth.users, listed),)
        if self.names[WHOLE]:
            needed[WHOLE] = (self._ranked_rows(split),)
        return needed

    def _files(self, kind: SystemPart, system: str, made: Any) -> Files:
        """Write a part of a trained system: lists, or ranks as evidence."""
        file = kind.file(system)
        if not isinstance(made, Run):
            return {file: to_evidence(made)}
        topics, items = self.run.collection.trec_ids
        truth = self.run.collection.judged_truly
        is_true = kind == TRUE_RUN
        if is_true and truth is not None:
            topics = truth.trec_ids
        return list_files(made, topics, items, file, is_true)

    def _check_amounts(self, split: Split) -> None:
        """Refuse ratings below 0 for all systems that take them for amounts."""
        section, shift = self.run.study.systems, self.run.study.shift
        lowest_learnt = {
            label: min(
                float(learnt_from(part, section.positives_of(name)).rating.min(initial=0.0))
                for part in (split.train, split.test)
            )
            for label, name in section.labels.items()
            if find_system(name).amounts
        }
        below = [label for label, lowest in lowest_learnt.items() if lowest + shift < 0]
        if below:
            lowest = min(lowest_learnt.values())
            raise InputError(
                f"{', '.join(below)} cannot learn from ratings below 0, and the lowest is "
                f"{lowest:g}: set `shift = {-np.floor(lowest):g}` in [ratings], which is added for "
                "training alone, or leave these systems out."
            )


def list_files(run: Run, topics: Numbering, items: Numbering, file: str, is_true: bool) -> Files:
    """Write the lists of a system, which are not all empty."""
    if not run.lengths.any():
        truly = "lists none of the truly judged items."
        lacks = truly if is_true else "recommends nothing to any test user."
        raise InputError(f"the system {run.system!r} {lacks}")
    return {file: run_to_parquet(run, topics, items)}


def learning_of(study: Study, name: str, split: Split) -> Learning:
    """Describe what a system of a study learns from, and for whom it ranks."""
    section = study.systems
    return Learning(
        ratings=split.train,
        users=split.test_users,
        seed=study.seed,
        depth=section.depth,
        candidates=section.candidates_in(split),
        positives=section.positives_of(name),
        shift=study.shift,
    )


def maker_of_system(name: str) -> Maker:
    """Find the function of a system, or the file of a user that declares it."""
    return file_of(name) if is_user_system(name) else find_system(name).make
