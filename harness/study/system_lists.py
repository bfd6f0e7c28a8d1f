"""What systems recommend: trained here or made elsewhere, each a part of the study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import psutil

from analyses.shared.evidence import to_evidence
from harness.study.collection import Collection
from harness.study.provenance import home_of, made_by
from harness.study.store import Store, content_key, digest, ratings_digest
from harness.study.study import Study
from harness.study.true_judgements import drawn_places
from harness.study.workers import (
    HIDDEN,
    RANKS,
    RUN,
    TRUE_RUN,
    WHOLE,
    Hidden,
    OwnLists,
    SystemPart,
    Timed,
    learnt_from,
    restarts_in_silence,
    train_and_rank,
)
from qrels import Split
from qrels.ranks.judged_ranks import Validation
from recommenders import (
    PROCESS_BYTES,
    UNKNOWN_FAMILY,
    file_of,
    find_system,
    is_user_system,
    read_settings,
    require_memory,
    workers_within,
)
from runs import InputError, Run
from runs.formats import read_run, run_to_parquet
from runs.replicates import Replicates
from runs.shared.arrays import Longs
from runs.shared.errors import require_known
from runs.shared.parallel import processes
from runs.shared.progress import Cost, Progress


@dataclass(frozen=True)
class SystemLists:
    """The lists and ranks of every system of a study, in its folder.

    Parameters
    ----------
    study, collection, store, n_jobs, progress
        See `harness.study.stages.Stages`.
    needs
        What the analyses need beside the lists.
    hidden_under
        Validations under which metrics ask where hidden items are ranked.
    """

    study: Study
    collection: Collection
    store: Store
    n_jobs: int
    progress: Progress
    needs: Set[str]
    hidden_under: tuple[Validation, ...]

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems: those trained, in the order of the study, then the runs given."""
        return tuple(dict.fromkeys(self.system_of_runs))

    @property
    def run_names(self) -> tuple[str, ...]:
        """Names of the runs: those of the systems, but where several runs are of one."""
        return self._trained + tuple(run.system for run in self.collection.runs)

    @property
    def system_of_runs(self) -> tuple[str, ...]:
        """Names of the systems, by run."""
        replicated = self.collection.replicated
        return self._trained + replicated if replicated else self.run_names

    @property
    def _trained(self) -> tuple[str, ...]:
        return () if self.collection.split is None else tuple(self.study.systems.labels)

    @property
    def sources(self) -> dict[str, tuple[str, str]]:
        """Summary and source of each system that is trained."""
        specs = {label: find_system(self.study.systems.labels[label]) for label in self._trained}
        return {label: (spec.summary, spec.source) for label, spec in specs.items()}

    @property
    def families(self) -> dict[str, str]:
        """Families of the systems that are trained here, and of the runs of which one is named.

        A baseline is a family of its own; of a user's system it is known if it is declared.
        """
        found = {
            label: label if spec.family == "baseline" else spec.family
            for label in self._trained
            for spec in [find_system(self.study.systems.labels[label])]
            if spec.family != UNKNOWN_FAMILY
        }
        given = {} if self.study.runs is None else self.study.runs.families
        for system in given:
            with self.study.errors_at("runs", "families", system):
                require_known("there is no run", [system], self.systems)
        return found | given

    def replicates(self, runs: Sequence[Run]) -> Replicates | None:
        """Tell which runs are of which system; None if each is of its own."""
        return Replicates.of(self.system_of_runs, runs) if self.collection.replicated else None

    @cached_property
    def asked(self) -> Mapping[SystemPart, tuple[str, ...]]:
        """Names of the runs or systems of which each part is kept."""
        trained = self._trained
        truth = self.collection.judged_truly
        return {
            RUN: self.run_names,
            RANKS: trained if "full_ranks" in self.needs else (),
            HIDDEN: trained if self.hidden_under else (),
            WHOLE: trained if self._ranks_all_candidates else (),
            TRUE_RUN: self.run_names if truth is not None and truth.has_own_lists else (),
        }

    @property
    def _ranks_all_candidates(self) -> bool:
        split = self.collection.split
        if "candidate_ranks" in self.needs or split is None:
            return split is not None
        asked = "all_candidate_ranks" in self.needs
        return asked and len(self._places(split)) == len(split.test_users)

    def _places(self, split: Split) -> Longs:
        """Draw the places of the test users whose candidates are all ranked."""
        return drawn_places(split.test_users, len(split.train.items), self.study.seed)

    @property
    def parts(self) -> list[str]:
        """Names of the parts of the study in the ledger."""
        return [part.of(system) for part, systems in self.asked.items() for system in systems]

    def make(self) -> list[Run]:
        """Train the systems and rank for every topic; write the runs that were given.

        Where systems are trained, all runs are read back from their files, which may be those of
        an earlier call. What is scored is what is written.
        """
        known = self.collection
        given = [(RUN, run, known.judged_key) for run in known.runs]
        given += [(TRUE_RUN, run, known.truly_judged_key) for run in known.true_lists]
        for part, run, judged in given:
            key = content_key(judged, digest(run.items))
            self._write_part(part, run.system, Timed(run, Cost(0, 0)), key)
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

    def _train(self, split: Split) -> None:
        names = self.study.systems.labels
        options, marks = self._asked_of_systems(split)
        run_keys = {system: self._run_key(split, system) for system in names}
        keys = {
            part: {system: content_key(key, *own) for system, key in run_keys.items()}
            for part, own in marks.items()
        }
        missing = {s: [part for part in keys if self._lacks(part, s, keys[part][s])] for s in names}
        pending = [system for system, parts in missing.items() if parts]
        if not pending:
            return
        self._check_amounts(split)
        asked = [training_of(self.study, names[system], split) for system in pending]
        needs = []
        for each in asked:
            learnt = learnt_from(split.train, each["positives"], each["shift"])
            needs.append(PROCESS_BYTES + require_memory(each["system"], each["settings"], learnt))
        tasks = (joblib.delayed(train_and_rank)(**each, **options) for each in asked)
        available = psutil.virtual_memory().available
        n_jobs = workers_within(available, needs, n_jobs=min(self.n_jobs, len(pending)))
        workers = processes(n_jobs, return_as="generator_unordered")
        with self.progress("Training and ranking", len(pending)) as bar, restarts_in_silence():
            for made in workers(tasks):
                system = made[RUN].value.system
                for part in missing[system]:
                    self._write_part(part, system, made[part], keys[part][system])
                seconds = sum(timed.cost.seconds for timed in made.values())
                bar.advance(done=f"{system}, {seconds:.1f} s")

    def _lacks(self, part: SystemPart, system: str, key: str) -> bool:
        return not self.store.is_complete(part.of(system), key, self._made_by(system))

    def _asked_of_systems(
        self, split: Split
    ) -> tuple[dict[str, Any], dict[SystemPart, tuple[Any, ...]]]:
        """Give what `train_and_rank` is asked for beside lists, and what keys of its parts add."""
        options: dict[str, Any] = {}
        marks: dict[SystemPart, tuple[Any, ...]] = {RUN: ()}
        relevant, truth = self.collection.relevant_ratings(), self.collection.judged_truly
        if self.asked[RANKS] and relevant is not None:
            options["relevant"] = relevant
            marks[RANKS] = (ratings_digest(relevant),)
        if self.asked[HIDDEN]:
            # Test ratings and judgements have one order: by user, then item.
            hidden = Hidden(split, self.collection.qrels.relevant, self.hidden_under)
            options["hidden"] = hidden
            marks[HIDDEN] = ratings_digest(split.test), digest(hidden.relevant), self.hidden_under
        if self.asked[TRUE_RUN] and truth is not None:
            listed = truth.listed(len(split.train.items))
            options["lists"] = OwnLists(truth.users, listed)
            marked = "all" if listed is None else digest(listed.indptr, listed.indices)
            marks[TRUE_RUN] = digest(truth.users), marked
        if self.asked[WHOLE]:
            options["ranked_whole"] = self._places(split)
            marks[WHOLE] = (digest(options["ranked_whole"]),)
        return options, marks

    def _write_part(self, part: SystemPart, system: str, made: Timed, key: str) -> None:
        files = {part.file(system): self._content(part, made.value)}
        self.store.write(part.of(system), key, files, cost=made.cost, made_by=self._made_by(system))

    def _content(self, part: SystemPart, made: Any) -> bytes:
        """Give what is in the file of a part: lists, or ranks as evidence."""
        if not isinstance(made, Run):
            return to_evidence(made)
        if not made.lengths.any():
            truly = "lists none of the truly judged items."
            lacks = truly if part == TRUE_RUN else "recommends nothing to any test user."
            raise InputError(f"the system {made.system!r} {lacks}")
        topics, items = self.collection.carried
        truth = self.collection.judged_truly
        if part == TRUE_RUN and truth is not None:
            topics = truth.carried
        return run_to_parquet(made, topics, items)

    def _run_key(self, split: Split, system: str) -> str:
        name = self.study.systems.labels[system]
        candidates = self.study.systems.candidates_in(split)
        settings = read_settings(name, self.study.systems.settings.get(name, {}))
        return content_key(
            sha256(file_of(name).read_bytes()).hexdigest() if is_user_system(name) else "",
            self.collection.trained_key,
            digest(split.test_users),
            system,
            settings.model_dump(mode="json"),
            self.study.seed,
            self.study.systems.depth,
            "all" if candidates is None else digest(candidates),
            self.study.systems.positives_of(name),
            *([self.study.shift] if self.study.shift else []),
        )

    def _check_amounts(self, split: Split) -> None:
        """Refuse ratings below 0 for all systems that take them for amounts."""
        section, shift = self.study.systems, self.study.shift
        least = {
            label: min(
                float(learnt_from(part, section.positives_of(name)).rating.min(initial=0.0))
                for part in (split.train, split.test)
            )
            for label, name in section.labels.items()
            if find_system(name).amounts
        }
        below = [label for label, lowest in least.items() if lowest + shift < 0]
        if below:
            lowest = min(least.values())
            raise InputError(
                f"{', '.join(below)} cannot learn from ratings below 0, and the lowest is "
                f"{lowest:g}: set `shift = {-np.floor(lowest):g}` in [ratings], which is added for "
                "training alone, or leave these systems out."
            )

    def _made_by(self, system: str) -> dict[str, str]:
        """Say what trains a system and keeps its lists, or reads those that are given."""
        name = self.study.systems.labels.get(system)
        if name is None or self.collection.split is None:
            return made_by([__name__])
        return made_by([home_of(train_and_rank), home_of(run_to_parquet), home_of_system(name)])


def training_of(study: Study, name: str, split: Split) -> dict[str, Any]:
    """Give what a study asks of `train_and_rank` for the lists of a system."""
    section = study.systems
    return {
        "system": name,
        "settings": section.settings.get(name, {}),
        "ratings": split.train,
        "users": split.test_users,
        "seed": study.seed,
        "depth": section.depth,
        "candidates": section.candidates_in(split),
        "positives": section.positives_of(name),
        "shift": study.shift,
    }


def home_of_system(name: str) -> str | Path:
    """Give the module of a system, or the file of a user that declares it."""
    return file_of(name) if is_user_system(name) else home_of(find_system(name).make)
