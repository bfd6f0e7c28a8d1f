"""What systems recommend: trained here or made elsewhere, each a part of the study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
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
from harness.study.true_judgements import sample_user_indices
from harness.study.workers import (
    CANDIDATE_RANKS,
    HIDDEN_RANKS,
    RELEVANT_RANKS,
    RUN,
    TRUE_RUN,
    HiddenItems,
    SystemPart,
    TrainingTask,
    UserCandidates,
    restarts_in_silence,
    train_and_rank,
    training_ratings,
)
from qrels import Ratings, Split
from recommenders.shared.register import find_system, read_settings
from recommenders.shared.system import PROCESS_BYTES, workers_within
from recommenders.shared.train_and_rank import require_memory, train_checked
from recommenders.shared.user_system import UNKNOWN_FAMILY, file_of, is_user_system
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
        Topics and items as the files write them.
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
        """Group these runs, one for each file, by system; None if systems have one run each."""
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
        return self.trained_systems + tuple(run.system for run in self.run.collection.runs)

    @cached_property
    def system_of_runs(self) -> tuple[str, ...]:
        """Names of the systems, by run."""
        systems_of_runs = self.run.collection.systems_of_runs
        if not systems_of_runs:
            return self.run_names
        return self.trained_systems + systems_of_runs

    @cached_property
    def trained_systems(self) -> tuple[str, ...]:
        """Names of the systems that are trained here."""
        is_trained = self.run.collection.split is not None
        return tuple(self.run.study.systems.labels) if is_trained else ()

    def sources(self) -> dict[str, tuple[str, str]]:
        """Look up the summary and the publication of each system that is trained, by its name."""
        labels = self.run.study.systems.labels
        members = {label: find_system(labels[label]) for label in self.trained_systems}
        return {label: (member.summary, member.source) for label, member in members.items()}

    @cached_property
    def families(self) -> dict[str, str]:
        """By system: its family, if it is trained here or the study file names the family.

        A baseline is a family of its own, with the system's name; a user's system without a
        declared family (`UNKNOWN_FAMILY`) is left out. Systems are named by their labels in tables;
        ``labels`` has their names in the study file. Raises InputError if the file names an unknown
        run.
        """
        study = self.run.study
        families = {}
        for label in self.trained_systems:
            family = find_system(study.systems.labels[label]).family
            if family != UNKNOWN_FAMILY:
                families[label] = label if family == "baseline" else family
        families_of_runs = {} if study.runs is None else study.runs.families
        for system in families_of_runs:
            with study.errors_at("runs", "families", system):
                require_known("there is no run", [system], self.systems)
        return families | families_of_runs

    @cached_property
    def names_by_part(self) -> Mapping[SystemPart, tuple[str, ...]]:
        """By part that systems may have: names of the runs or systems of which it is kept.

        Lists are kept of all runs; ranks, of trained systems alone, if an analysis or a metric
        needs them. Names are empty where nothing is kept.
        """
        truth = self.run.collection.true_judgements
        has_true_runs = truth is not None and truth.has_separate_lists
        has_relevant_ranks = Need.FULL_RANKS in self.run.needs
        has_hidden_ranks = bool(self.run.hidden_validations)
        return {
            RUN: self.run_names,
            RELEVANT_RANKS: self.trained_systems if has_relevant_ranks else (),
            HIDDEN_RANKS: self.trained_systems if has_hidden_ranks else (),
            CANDIDATE_RANKS: self.trained_systems if self._ranks_all_candidates() else (),
            TRUE_RUN: self.run_names if has_true_runs else (),
        }

    def _ranks_all_candidates(self) -> bool:
        """Check whether ranks of all candidates are kept: whether an analysis needs them.

        Some analyses need them of all test users or not at all: for these alone they are kept only
        if users are few enough that all are ranked. False without a split.
        """
        split = self.run.collection.split
        if split is None:
            return False
        if Need.CANDIDATE_RANKS in self.run.needs:
            return True
        ranks_all_users = len(self._ranked_rows(split)) == len(split.test_users)
        return Need.ALL_CANDIDATE_RANKS in self.run.needs and ranks_all_users

    def _ranked_rows(self, split: Split) -> Longs:
        """Draw the rows of the test users whose candidates are all ranked: rising, from 0.

        All rows where users and items are few enough; else a random sample by the study's seed.
        """
        return sample_user_indices(split.test_users, len(split.train.items), self.run.study.seed)

    def part_names(self, *parts: SystemPart) -> list[str]:
        """List the names in the ledger of parts that systems may have, for all their systems."""
        return [part.part_name(system) for part in parts for system in self.names_by_part[part]]

    def files_of(self, part: SystemPart) -> dict[str, Path]:
        """List the files of a part that systems may have, by system."""
        folder = self.run.folder
        return {system: folder / part.file_name(system) for system in self.names_by_part[part]}

    def keep(self) -> None:
        """Train the systems and rank for every topic; write the runs that were made elsewhere.

        Parts of the study folder that are complete are not made again.
        """
        collection = self.run.collection
        for run in collection.runs:
            self._keep_run(RUN, run)
        for run in collection.true_runs:
            self._keep_run(TRUE_RUN, run)
        if collection.split is not None:
            self._train(collection.split)

    def _keep_run(self, part: SystemPart, run: Run) -> None:
        """Write the lists of a run that was made elsewhere, unless they are complete."""
        write = partial(
            list_files,
            run,
            topics=self._trec_topics(part),
            items=self.run.collection.trec_items,
            file=part.file_name(run.system),
            is_true=part == TRUE_RUN,
        )
        self.run.parts.keep(part.part_name(run.system), write)

    def _trec_topics(self, part: SystemPart) -> Numbering:
        """Look up the topics of lists as TREC files write them: those of the truth, or the usual.

        Lists that the truth judges are of the users of the truth.
        """
        truth = self.run.collection.true_judgements
        if part == TRUE_RUN and truth is not None:
            return truth.trec_topics
        return self.run.collection.trec_topics

    @cached_property
    def recommended(self) -> KeptLists:
        """The lists that the judgements judge."""
        collection = self.run.collection
        return KeptLists(
            files=tuple(self.files_of(RUN).values()),
            system_of_runs=self.system_of_runs,
            are_replicated=bool(collection.systems_of_runs),
            topics=collection.trec_topics,
            items=collection.trec_items,
            depth=None if collection.split is None else self.run.study.systems.depth,
        )

    @cached_property
    def truly_judged(self) -> KeptLists:
        """The lists that the truth judges: those made for it, or the usual ones."""
        files = tuple(self.files_of(TRUE_RUN).values())
        if not files:
            return self.recommended
        topics = self._trec_topics(TRUE_RUN)
        return replace(self.recommended, files=files, topics=topics, depth=None)

    def _train(self, split: Split) -> None:
        """Train the systems of which a part is missing, in worker processes; write these parts.

        A part is missing if the study folder lacks it under the key of its settings, ratings and
        code. Systems are named by their labels in tables; ``labels`` has their names in the study
        file. Parts are written as the systems are done, in any order, with their cost: seconds of
        wall time and of CPU. Raises InputError before the training if a system cannot learn from
        the ratings, or needs more memory than there is; later, if it fails or recommends nothing.
        """
        parts = self.run.parts
        arguments = self._arguments_by_part(split)
        keys = {
            system: self._keys_by_part(system, split, arguments)
            for system in self.run.study.systems.labels
        }
        missing: dict[str, list[SystemPart]] = {}
        for system, key_by_part in keys.items():
            missing_parts = [
                part
                for part, key in key_by_part.items()
                if parts.lacks(part.part_name(system), key)
            ]
            if missing_parts:
                missing[system] = missing_parts
        if not missing:
            return
        self._check_nonnegative(split)
        n_workers = self._count_workers(list(missing), split)
        tasks = []
        for system, missing_parts in missing.items():
            name = self.run.study.systems.labels[system]
            settings = self.run.study.systems.settings.get(name, {})
            task = training_task(self.run.study, name, split)
            missing_arguments = {part: arguments[part] for part in missing_parts}
            tasks.append(delayed(train_and_rank)(name, settings, task, missing_arguments))
        # Each process loads the libraries when it trains its first system.
        started_first = list(missing)[:n_workers]
        workers = process_pool(n_workers, return_as="generator_unordered")
        with self.run.progress("Training and ranking", len(tasks)) as bar, restarts_in_silence():
            for system, values in workers(iter(tasks)):
                for part, timed in values.items():
                    files = self._files(part, system, timed.value)
                    parts.write(part.part_name(system), keys[system][part], files, timed.cost)
                seconds = sum(timed.cost.seconds for timed in values.values())
                start_up = " with the start of its process" if system in started_first else ""
                bar.advance(done=f"{system}, {seconds:.1f} s{start_up}")

    def _keys_by_part(
        self, system: str, split: Split, arguments: Mapping[SystemPart, tuple[Any, ...]]
    ) -> dict[SystemPart, Key]:
        """Derive the keys of the parts of a system from its settings, its task, and its code.

        ``system`` is its name in tables. ``arguments`` are what each part needs beside the trained
        system.
        """
        study = self.run.study
        name = study.systems.labels[system]
        settings = read_settings(name, study.systems.settings.get(name, {}))
        task = training_task(study, name, split)
        makers = [train_checked, training_ratings, list_files, to_evidence, maker_of_system(name)]
        return {
            part: self.run.parts.key(
                part.make, system, settings, task, part_arguments, makers=makers
            )
            for part, part_arguments in arguments.items()
        }

    def _count_workers(self, systems: Sequence[str], split: Split) -> int:
        """Compute how many systems may be trained at a time in the memory that is available.

        ``systems`` are those to train, by their names in tables. Each needs bytes for its process
        (`PROCESS_BYTES`) and for its training. At most the number of jobs of the run, at least 1.
        Raises InputError if one of them needs more memory than there is.
        """
        section = self.run.study.systems
        bytes_needed = []
        for system in systems:
            name = section.labels[system]
            task = training_task(self.run.study, name, split)
            ratings = training_ratings(split.train, task.positives, task.shift)
            n_bytes = require_memory(name, section.settings.get(name, {}), ratings)
            bytes_needed.append(PROCESS_BYTES + n_bytes)
        available = psutil.virtual_memory().available
        n_jobs = min(self.run.n_jobs, len(systems))
        return workers_within(available, bytes_needed, n_jobs=n_jobs)

    def _arguments_by_part(self, split: Split) -> dict[SystemPart, tuple[Any, ...]]:
        """Collect what each part of a trained system needs beside the system.

        Parts that the study does not keep are left out. Ranks of relevant items need test ratings;
        those of hidden items, test ratings with marks of the relevant; lists for the truth, its
        users and their allowed items; ranks of all candidates, rows of test users.
        """
        collection = self.run.collection
        truth = collection.true_judgements
        relevant = collection.relevant_ratings()
        arguments: dict[SystemPart, tuple[Any, ...]] = {RUN: ()}
        if self.names_by_part[RELEVANT_RANKS] and relevant is not None:
            arguments[RELEVANT_RANKS] = (relevant,)
        if self.names_by_part[HIDDEN_RANKS]:
            # Test ratings and judgements have one order: by user, then item.
            is_relevant = collection.qrels.relevant
            hidden_items = HiddenItems(split.test, is_relevant, self.run.hidden_validations)
            arguments[HIDDEN_RANKS] = (hidden_items,)
        if self.names_by_part[TRUE_RUN] and truth is not None:
            allowed_items = truth.allowed_items(len(split.train.items))
            arguments[TRUE_RUN] = (UserCandidates(truth.users, allowed_items),)
        if self.names_by_part[CANDIDATE_RANKS]:
            arguments[CANDIDATE_RANKS] = (self._ranked_rows(split),)
        return arguments

    def _files(self, part: SystemPart, system: str, value: Any) -> Files:
        """Write a part of a trained system: lists as a run, ranks as evidence."""
        file = part.file_name(system)
        if not isinstance(value, Run):
            return {file: to_evidence(value)}
        topics = self._trec_topics(part)
        return list_files(
            value, topics, self.run.collection.trec_items, file, is_true=part == TRUE_RUN
        )

    def _check_nonnegative(self, split: Split) -> None:
        """Refuse ratings below 0, after the shift, for all systems that require none below 0.

        Ratings are those of training and test of at least the system's ``positives``; the shift is
        added for training. Raises an InputError that names the systems and the shift that helps.
        """
        section = self.run.study.systems
        shift = self.run.study.shift
        lowest_by_system: dict[str, float] = {}
        for label, name in section.labels.items():
            if find_system(name).requires_nonnegative:
                positives = section.positives_of(name)
                lowest_in_train = _lowest_rating(split.train, positives)
                lowest_in_test = _lowest_rating(split.test, positives)
                lowest_by_system[label] = min(lowest_in_train, lowest_in_test)
        below = [label for label, lowest in lowest_by_system.items() if lowest + shift < 0]
        if below:
            lowest = min(lowest_by_system.values())
            raise InputError(
                f"{', '.join(below)} cannot learn from ratings below 0, and the lowest is "
                f"{lowest:g}: set `shift = {-np.floor(lowest):g}` in [ratings], which is added for "
                "training alone, or leave these systems out."
            )


def _lowest_rating(ratings: Ratings, positives: float | None) -> float:
    """Compute the lowest rating from ``positives`` on (None: of all); infinite without one."""
    return float(training_ratings(ratings, positives).rating.min(initial=np.inf))


def list_files(run: Run, topics: Numbering, items: Numbering, file: str, is_true: bool) -> Files:
    """Write the lists of a run as Parquet, with ids as TREC files write them.

    Returns the content by ``file``, its name in the study folder. Raises InputError if all lists
    are empty; ``is_true`` says that they are judged by the truth.
    """
    if not run.lengths.any():
        reason = "recommends nothing to any test user."
        if is_true:
            reason = "lists none of the truly judged items."
        raise InputError(f"the system {run.system!r} {reason}")
    return {file: run_to_parquet(run, topics, items)}


def training_task(study: Study, name: str, split: Split) -> TrainingTask:
    """Describe what a system of a study, by name, learns from, and for whom it ranks."""
    section = study.systems
    return TrainingTask(
        ratings=split.train,
        users=split.test_users,
        seed=study.seed,
        depth=section.depth,
        candidates=section.candidates_in(split),
        positives=section.positives_of(name),
        shift=study.shift,
    )


def maker_of_system(name: str) -> Maker:
    """Look up the function of a system, or the file of a user that declares it."""
    return file_of(name) if is_user_system(name) else find_system(name).make
