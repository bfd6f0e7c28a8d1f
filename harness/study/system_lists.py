"""What systems recommend: trained here or made elsewhere, each a part of the study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import psutil
from numpy.typing import NDArray

from analyses.shared.evidence import to_evidence
from harness.study.collection import Collection
from harness.study.provenance import home_of, made_by
from harness.study.store import Store, content_key, digest, ratings_digest
from harness.study.study import Study
from harness.study.true_judgements import TrueJudgements, drawn_places
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
from qrels import Ratings, Split
from qrels.ranks.judged_ranks import Validation
from recommenders import (
    PROCESS_BYTES,
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
    def truth(self) -> TrueJudgements | None:
        """What the systems are truly judged by, if that is known."""
        return self.collection.judged_truly

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

    def replicates(self, runs: Sequence[Run]) -> Replicates | None:
        """Tell which runs are of which system; None if each is of its own."""
        return Replicates.of(self.system_of_runs, runs) if self.collection.replicated else None

    @property
    def ranked_in_full(self) -> tuple[str, ...]:
        """Names of the systems whose full ranks are kept: all, if an analysis needs them."""
        return self._trained_if("full_ranks")

    @property
    def ranked_whole(self) -> tuple[str, ...]:
        """Names of the systems whose ranks of all candidates are kept."""
        split, asked = self.collection.split, "all_candidate_ranks"
        if asked in self.needs and split is not None:
            whole = drawn_places(split.test_users, len(split.train.items), self.study.seed)
            if len(whole) == len(split.test_users):
                return self._trained_if(asked)
        return self._trained_if("candidate_ranks")

    def _trained_if(self, need: str) -> tuple[str, ...]:
        """Name all trained systems, if an analysis needs it."""
        return tuple(self.study.systems.labels) if need in self.needs else ()

    @property
    def ranked_hidden(self) -> tuple[str, ...]:
        """Names of the systems whose hidden ranks are kept: all, if a metric needs them."""
        return tuple(self.study.systems.labels) if self.hidden_under else ()

    @property
    def listed_truly(self) -> tuple[str, ...]:
        """Names of the runs of which other lists than the usual ones are truly judged."""
        return self.run_names if self.truth is not None and self.truth.has_own_lists else ()

    @property
    def parts(self) -> list[str]:
        """Names of the parts of the study in the ledger."""
        asked = {
            RUN: self.run_names,
            RANKS: self.ranked_in_full,
            HIDDEN: self.ranked_hidden,
            WHOLE: self.ranked_whole,
            TRUE_RUN: self.listed_truly,
        }
        return [part.of(system) for part, systems in asked.items() for system in systems]

    def make(self) -> list[Run]:
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
        by = self._made_by(system)
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
        for run in given.runs:
            self._write_given(RUN, run, given.judged_key)
        for run in given.true_lists:
            self._write_given(TRUE_RUN, run, given.truly_judged_key)

    def _write_given(self, part: SystemPart, run: Run, judged: str) -> None:
        key = content_key(judged, digest(run.items))
        self._write_part(part, run.system, Timed(run, Cost(0, 0)), key)

    def _write_part(self, part: SystemPart, system: str, made: Timed, key: str) -> None:
        files = {part.file(system): self._content(part, made.value)}
        by = self._made_by(system)
        self.store.write(part.of(system), key, files, cost=made.cost, made_by=by)

    def _content(self, part: SystemPart, made: Any) -> bytes:
        """Give what is in the file of a part: lists, or ranks as evidence."""
        if not isinstance(made, Run):
            return to_evidence(made)
        if not made.lengths.any():
            truly = "lists none of the truly judged items."
            lacks = truly if part == TRUE_RUN else "recommends nothing to any test user."
            raise InputError(f"the system {made.system!r} {lacks}")
        topics, items = self.collection.carried
        if part == TRUE_RUN and self.truth is not None:
            topics = self.truth.carried
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
        )

    def _made_by(self, system: str) -> dict[str, str]:
        """Say what trains a system and keeps its lists, or reads those that are given."""
        name = self.study.systems.labels.get(system)
        if name is None or self.collection.split is None:
            return made_by([__name__])
        return made_by([home_of(train_and_rank), home_of(run_to_parquet), home_of_system(name)])


def home_of_system(name: str) -> str | Path:
    """Give the module of a system, or the file of a user that declares it."""
    return file_of(name) if is_user_system(name) else home_of(find_system(name).make)
