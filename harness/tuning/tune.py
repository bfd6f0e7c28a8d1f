"""Tuning: a search for the settings of a system that do best on a validation part.

The validation part is taken from the training ratings; see `harness.tuning.validation`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from hashlib import sha256
from itertools import tee
from typing import Any, TypeAlias

import joblib
import psutil

from analyses.shared.measure import Measure, Measures
from harness.metrics.shared.metric import Metric
from harness.metrics.shared.names import parse_name
from harness.metrics.shared.register import available_metrics, find_metric
from harness.scoring.means import user_weights, weighted
from harness.scoring.score import score
from harness.study.digests import digest, ratings_digest
from harness.study.run import check, try_out
from harness.study.store import Store, content_key
from harness.study.study import Study
from harness.study.system_parts import file_stem
from harness.study.workers import learnt_from, restarts_in_silence, try_and_rank
from harness.tuning.result import Tuned
from harness.tuning.search import SEARCHES, Space, draw_new, import_optuna
from harness.tuning.trials import Trial, TrialTable, best_of
from harness.tuning.validation import Validation, validation_of
from harness.version import __version__
from recommenders import (
    PROCESS_BYTES,
    file_of,
    find_system,
    is_user_system,
    label_of,
    read_settings,
    search_space,
    workers_within,
)
from recommenders.shared.search_space import Value
from runs import InputError, Run
from runs.shared.clock import Clock, Cost
from runs.shared.cluster import cluster_in_use
from runs.shared.processes import processes
from runs.shared.progress import Progress

Outcome: TypeAlias = tuple[tuple[str, Trial], Run | str, Cost]


@dataclass(frozen=True)
class Budget:
    """When a search ends: with so many trials in all, or minutes, whichever comes first.

    Earlier trials and that of the defaults count. After the minutes no further trial begins, though
    one always does; None for no such end.
    """

    trials: int
    minutes: float | None = None

    def is_spent(self, clock: Clock) -> bool:
        """Tell whether the minutes are over."""
        return self.minutes is not None and clock.cost().seconds >= 60 * self.minutes


def tune(
    study: Study,
    systems: Sequence[str],
    *,
    metric: str,
    search: str,
    budget: Budget,
    n_jobs: int,
    progress: Progress,
) -> list[Tuned]:
    """Search the settings of systems on a validation part of the training ratings.

    Trial 0 has the defaults. Settings that are not searched stay as the study has them. The tables
    of trials in the study folder are written after every trial; a search that was stopped goes on
    from them, and draws what it would have drawn.

    Parameters
    ----------
    study
        Where ratings, split, threshold and seed come from.
    systems
        Their names, which the study need not have; a user's own, as ``my_system.py:MyScorer``, is
        the study's of that name, or in a file that counts from where the program runs.
    metric
        What to make best, say ``nDCG@10``; without a cut-off, at the depth of the study's lists.
    search
        One of `harness.tuning.search.SEARCHES`.
    budget
        When to end, for each system.
    n_jobs
        Trials at once in a random search, which draws the same settings for any number. Another
        learns from every trial, and makes one at a time.
    progress
        Shows what is being done.

    Raises
    ------
    InputError
        If the study breaks a rule or has no ratings, there is no such system or metric, or a
        system has nothing to search.
    """
    tunings = prepare(study, systems, metric=metric, search=search, progress=progress)
    store = Store(study.folder)
    with store.held():
        begun = [tuning.begin(store, budget) for tuning in tunings]
        _make_trials(begun, n_jobs=n_jobs if search == "random" else 1, progress=progress)
        return [each.tuned() for each in begun]


def searchable(study: Study) -> list[str]:
    """Name the systems of a study that have settings which are searched.

    Raises
    ------
    InputError
        If there is none.
    """
    check(study)
    names = [name for name in study.systems.names if search_space(find_system(name).settings)]
    if study.ratings is not None and not names:
        with study.errors_at("systems", "names"):
            raise InputError("no system of the study has a setting that is searched.")
    return names


def prepare(
    study: Study, systems: Sequence[str], *, metric: str, search: str, progress: Progress
) -> list[Tuning]:
    """Check everything, then hold the validation part out; `tune` says what is refused."""
    check(study)
    names = [full_name(study, system) for system in systems]
    found = find_metric(metric, available_metrics(study.metrics.plugins))
    cutoff = parse_name(metric).cutoff or study.systems.depth
    try_out(found, [cutoff])
    spaces = {name: _space_of(name) for name in names}
    if search == "tpe":
        import_optuna()
    with progress("Reading the training ratings", 1) as bar:
        validation = validation_of(study)
        bar.advance()
    return [
        Tuning(study, name, found, cutoff, search, space, validation)
        for name, space in spaces.items()
    ]


def _space_of(system: str) -> Space:
    space = search_space(find_system(system).settings)
    if not space:
        raise InputError(
            f"the system {system!r} has no setting that is searched; `harness systems` shows "
            "which systems have."
        )
    return space


def full_name(study: Study, system: str) -> str:
    """Find out which file holds a user's own system."""
    if not is_user_system(system):
        return system
    here = f"{file_of(system).resolve()}:{system.rpartition(':')[2]}"
    return study.systems.labels.get(system, here)


def _make_trials(begun: Sequence[Begun], *, n_jobs: int, progress: Progress) -> None:
    """Make the trials that are missing, system by system, and note each when it is made."""
    by_system = {each.tuning.system: each for each in begun}
    several = len(begun) > 1
    title = "Tuning" if several else f"Tuning {label_of(begun[0].tuning.system)}"
    with progress(title, sum(each.budget.trials for each in begun)) as bar, restarts_in_silence():
        bar.advance(sum(each.n_known for each in begun))
        for (system, trial), outcome, cost in _outcomes(begun, n_jobs=n_jobs):
            remark = by_system[system].add(trial, outcome, cost)
            if remark:
                progress.note(f"{label_of(system)}: {remark}" if several else remark)
            bar.advance()


def _outcomes(begun: Sequence[Begun], *, n_jobs: int) -> Iterator[Outcome]:
    needs = [each.tuning.needed for each in begun for _ in range(each.budget.trials)]
    n_jobs = workers_within(psutil.virtual_memory().available, needs, n_jobs=n_jobs)
    # Drawn one by one, each with the bytes it needs.
    drawn, again = tee((each, trial) for each in begun for trial in each.drawn())
    tasks = (each.tuning.task(trial) for each, trial in drawn)
    is_random = all(each.tuning.search == "random" for each in begun)
    if n_jobs > 1 or (is_random and cluster_in_use() is not None):
        # No queue, so that what was not begun in time is not begun at all.
        yield from processes(
            n_jobs,
            return_as="generator_unordered",
            needs=(each.tuning.needed for each, _ in again),
            pre_dispatch=n_jobs,
            batch_size=1,
        )(tasks)
        return
    for function, args, options in tasks:
        yield function(*args, **options)


@dataclass(frozen=True)
class Tuning:
    """A search for the settings of one system, ready to begin or to go on."""

    study: Study
    system: str
    metric: Metric
    cutoff: int
    search: str
    space: Space
    validation: Validation

    def begin(self, store: Store, budget: Budget) -> Begun:
        """Read the trials that were made before."""
        path = store.folder / "tuning" / f"{file_stem(label_of(self.system))}.csv"
        table = TrialTable(path, self.space, self._unsearched, self._identity)
        return Begun(self, budget, table, table.read())

    def task(self, trial: Trial) -> Any:
        """Make the task of training and ranking with the settings of a trial."""
        split = self.validation.split
        return joblib.delayed(try_and_rank)(
            (self.system, trial),
            self.system,
            {**self.given, **trial.settings},
            split.train,
            split.test_users,
            seed=self.study.seed,
            depth=self.cutoff,
            candidates=self.study.systems.candidates_in(split),
            positives=self._positives,
        )

    @cached_property
    def needed(self) -> int:
        """Give the bytes that a trial takes, going by what the defaults need."""
        estimate = find_system(self.system).need
        train = learnt_from(self.validation.split.train, self._positives)
        settings = read_settings(self.system, self.given)
        return PROCESS_BYTES + (estimate(train, settings).n_bytes if estimate else 0)

    def draw(
        self, tried: list[Mapping[str, Value]], trials: Mapping[int, Trial]
    ) -> Mapping[str, Value] | None:
        """Draw the settings of the next trial; None if the space is used up."""
        if not tried:
            return {name: self._defaults[name] for name in self.space}
        return draw_new(
            SEARCHES[self.search],
            self.space,
            tried,
            [trials[number] for number in range(len(tried)) if number in trials],
            higher_is_better=self.metric.higher_is_better,
            seed=self.study.seed,
        )

    def judged(self, trial: Trial, outcome: Run | str, cost: Cost) -> Trial:
        """Score the run of a trial, or note why there is none."""
        if isinstance(outcome, str):
            return replace(trial, seconds=cost.seconds, finding=outcome)
        scores = score(
            [outcome],
            self.validation.qrels,
            Measures([self.measure]),
            {self.measure.metric: self.metric},
            users=self.validation.split.topics.ids,
        )
        weights = user_weights(self.validation.qrels, self.study.metrics.average)
        (values,) = weighted(scores, weights).values[0]
        return replace(trial, score=float(self.metric.average(values)), seconds=cost.seconds)

    @property
    def measure(self) -> Measure:
        """What is made best."""
        return Measure(self.metric.label, self.cutoff)

    @property
    def _positives(self) -> float | None:
        return self.study.systems.positives_of(self.system)

    @cached_property
    def given(self) -> dict[str, Any]:
        """Settings that the study has and the search leaves as they are."""
        given = self.study.systems.settings.get(self.system, {})
        return {name: value for name, value in given.items() if name not in self.space}

    @cached_property
    def _defaults(self) -> dict[str, Any]:
        return read_settings(self.system, self.given).model_dump(mode="json")

    @property
    def _unsearched(self) -> dict[str, Any]:
        return {name: value for name, value in self._defaults.items() if name not in self.space}

    @property
    def _identity(self) -> dict[str, str]:
        """Tell this search from others in one table."""
        named = {
            "metric": str(self.measure),
            "search": self.search,
            "seed": str(self.study.seed),
        }
        return named | {"key": self._key(named)[:12]}

    def _key(self, named: Mapping[str, str]) -> str:
        qrels = self.validation.qrels
        return content_key(
            __version__,
            named,
            self.system,
            self._defaults,
            {name: asdict(place) for name, place in self.space.items()},
            ratings_digest(self.validation.split.train),
            digest(qrels.offsets, qrels.items, qrels.grades),
            qrels.relevance_level,
            self.study.systems.candidates,
            self.study.metrics.average,
            self._positives,
            file_of(self.system).read_text() if is_user_system(self.system) else "",
            [sha256(path.read_bytes()).hexdigest() for path in self.study.metrics.plugins],
        )


@dataclass(frozen=True)
class Begun:
    """A search under way: its budget, its table, and its trials so far, by number."""

    tuning: Tuning
    budget: Budget
    table: TrialTable
    trials: dict[int, Trial]

    @property
    def n_known(self) -> int:
        """How many trials within the budget are made."""
        return sum(number < self.budget.trials for number in self.trials)

    def drawn(self) -> Iterator[Trial]:
        """Draw the settings of the trials that are missing, until budget or space are used up.

        Each draw sees the trials before it that are there by then.
        """
        clock, begun = Clock(), False
        tried: list[Mapping[str, Value]] = []
        for number in range(self.budget.trials):
            if number in self.trials:
                tried.append(self.trials[number].settings)
                continue
            if begun and self.budget.is_spent(clock):
                return
            settings = self.tuning.draw(tried, self.trials)
            if settings is None:
                return
            begun = True
            yield Trial(number, settings, None, 0.0)
            tried.append(settings)

    def add(self, trial: Trial, outcome: Run | str, cost: Cost) -> str:
        """Judge a trial, keep it, and say what is remarkable about it, if anything."""
        trial = self.trials[trial.number] = self.tuning.judged(trial, outcome, cost)
        self.table.write(self.trials.values())
        if trial.score is None:
            return f"Trial {trial.number} failed: {trial.finding}"
        higher = self.tuning.metric.higher_is_better
        if trial is not best_of(self.trials.values(), higher_is_better=higher):
            return ""
        settings = ", ".join(f"{name} = {value}" for name, value in trial.settings.items())
        measure = self.tuning.measure
        return f"Trial {trial.number}: {measure} {trial.score:.5f}, the best so far; {settings}"

    def tuned(self) -> Tuned:
        """Give what was found."""
        return Tuned(
            system=self.tuning.system,
            measure=self.tuning.measure,
            trials=tuple(self.trials[number] for number in sorted(self.trials)),
            table=self.table.path,
            given=self.tuning.given,
            higher_is_better=self.tuning.metric.higher_is_better,
        )
