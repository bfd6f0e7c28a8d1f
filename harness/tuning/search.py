"""A search, by Optuna, for the settings of a system that do best on a validation part.

The validation part is held out of the training ratings; the test part is never touched.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from itertools import tee
from pathlib import Path
from typing import Any

import joblib
import psutil

from analyses.shared.measure import Measure, Measures
from analyses.shared.table import Cell, Table
from harness.metrics.shared.metric import Metric
from harness.metrics.shared.names import parse_name
from harness.metrics.shared.register import available_metrics, find_metric
from harness.scoring.means import user_weights, weighted
from harness.scoring.score import score
from harness.study.run import check, try_out
from harness.study.store import Store, content_key, digest, ratings_digest
from harness.study.study import Study
from harness.study.study_file import read_text
from harness.study.workers import file_stem, learnt_from, restarts_in_silence, try_and_rank
from harness.tuning.sampler import Sampler, draw_new, import_optuna
from harness.tuning.trials import Space, Trial, TrialTable, best_of
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
from recommenders.shared.system import Value
from runs import InputError, Run
from runs.shared.files import write_whole
from runs.shared.parallel import cluster_in_use, processes
from runs.shared.progress import Clock, Cost, Progress

MARK = "# Settings found by `harness tune`"


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
    sampler: Sampler,
    budget: Budget,
    n_jobs: int,
    progress: Progress,
) -> list[Search]:
    """Search the settings of systems on a validation part of the training ratings.

    The tables of trials in the study folder are written after every trial; a search that was
    stopped goes on from them, and draws what it would have drawn.
    """
    searches = prepare(
        study, systems, metric=metric, sampler=sampler, budget=budget, progress=progress
    )
    with Store(study.folder).held():
        for search in searches:
            search.trials = search.table.read()
        n_jobs = n_jobs if sampler == "random" else 1
        _make_trials(searches, n_jobs=n_jobs, progress=progress)
    return searches


def searchable(study: Study) -> list[str]:
    """Name the systems of a study that have settings to search; refuse a study without any."""
    check(study)
    names = [name for name in study.systems.names if search_space(find_system(name).settings)]
    if study.ratings is not None and not names:
        with study.errors_at("systems", "names"):
            raise InputError("no system of the study has a setting that is searched.")
    return names


def prepare(
    study: Study,
    systems: Sequence[str],
    *,
    metric: str,
    sampler: Sampler,
    budget: Budget,
    progress: Progress,
) -> list[Search]:
    """Check everything, then hold the validation part out; `tune` says what is refused."""
    check(study)
    names = [full_name(study, system) for system in systems]
    found = find_metric(metric, available_metrics(study.metrics.plugins))
    cutoff = parse_name(metric).cutoff or study.systems.depth
    try_out(found, [cutoff])
    spaces = {name: search_space(find_system(name).settings) for name in names}
    for name, space in spaces.items():
        if not space:
            raise InputError(
                f"the system {name!r} has no setting that is searched; `harness systems` shows "
                "which systems have."
            )
    import_optuna()
    with progress("Reading the training ratings", 1) as bar:
        validation = validation_of(study)
        bar.advance()
    return [
        Search(study, name, found, cutoff, sampler, space, validation, budget)
        for name, space in spaces.items()
    ]


def full_name(study: Study, system: str) -> str:
    """Find out which file holds a user's own system."""
    if not is_user_system(system):
        return system
    here = f"{file_of(system).resolve()}:{system.rpartition(':')[2]}"
    return study.systems.labels.get(system, here)


def _make_trials(searches: Sequence[Search], *, n_jobs: int, progress: Progress) -> None:
    """Make the trials that are missing, system by system, and note each when it is made."""
    by_system = {search.system: search for search in searches}
    several = len(searches) > 1
    title = "Tuning" if several else f"Tuning {label_of(searches[0].system)}"
    with progress(title, sum(s.budget.trials for s in searches)) as bar, restarts_in_silence():
        bar.advance(sum(search.n_made for search in searches))
        for (system, trial), outcome, cost in _outcomes(searches, n_jobs=n_jobs):
            remark = by_system[system].add(trial, outcome, cost)
            if remark:
                progress.note(f"{label_of(system)}: {remark}" if several else remark)
            bar.advance()


def _outcomes(
    searches: Sequence[Search], *, n_jobs: int
) -> Iterator[tuple[tuple[str, Trial], Run | str, Cost]]:
    needs = [search.needed for search in searches for _ in range(search.budget.trials)]
    n_jobs = workers_within(psutil.virtual_memory().available, needs, n_jobs=n_jobs)
    # Drawn one by one, each with the bytes it needs.
    drawn, again = tee((search, trial) for search in searches for trial in search.drawn())
    tasks = (search.task(trial) for search, trial in drawn)
    is_random = all(search.sampler == "random" for search in searches)
    if n_jobs > 1 or (is_random and cluster_in_use() is not None):
        # No queue, so that what was not begun in time is not begun at all.
        yield from processes(
            n_jobs,
            return_as="generator_unordered",
            needs=(search.needed for search, _ in again),
            pre_dispatch=n_jobs,
            batch_size=1,
        )(tasks)
        return
    for function, args, options in tasks:
        yield function(*args, **options)


@dataclass
class Search:
    """A search for the settings of one system: its trials so far, by number, and what is next."""

    study: Study
    system: str
    metric: Metric
    cutoff: int
    sampler: Sampler
    space: Space
    validation: Validation
    budget: Budget
    trials: dict[int, Trial] = field(default_factory=dict)

    @property
    def measure(self) -> Measure:
        """The measure to optimise."""
        return Measure(self.metric.label, self.cutoff)

    @property
    def table(self) -> TrialTable:
        """The table of its trials, in the study folder."""
        path = self.study.folder / "tuning" / f"{file_stem(label_of(self.system))}.csv"
        fixed = {n: value for n, value in self._defaults.items() if n not in self.space}
        return TrialTable(path, self.space, fixed, self._identity)

    @cached_property
    def needed(self) -> int:
        """Bytes that a trial takes, going by what the defaults need."""
        estimate = find_system(self.system).need
        train = learnt_from(self.validation.split.train, self._positives)
        settings = read_settings(self.system, self.given)
        return PROCESS_BYTES + (estimate(train, settings).n_bytes if estimate else 0)

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

    @cached_property
    def _identity(self) -> dict[str, str]:
        """Tell this search from others in one table."""
        named = {"metric": str(self.measure), "search": self.sampler, "seed": str(self.study.seed)}
        qrels = self.validation.qrels
        key = content_key(
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
        return named | {"key": key[:12]}

    @property
    def n_made(self) -> int:
        """Number of trials within the budget that are made."""
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
            settings = self._next(tried)
            if settings is None:
                return
            begun = True
            yield Trial(number, settings, None, 0.0)
            tried.append(settings)

    def _next(self, tried: Sequence[Mapping[str, Value]]) -> Mapping[str, Value] | None:
        """Give the defaults first, then draw; None if the space is used up."""
        if not tried:
            return {name: self._defaults[name] for name in self.space}
        return draw_new(
            self.sampler,
            self.space,
            tried,
            [self.trials[number] for number in range(len(tried)) if number in self.trials],
            higher_is_better=self.metric.higher_is_better,
            seed=self.study.seed,
        )

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

    def add(self, trial: Trial, outcome: Run | str, cost: Cost) -> str:
        """Score a trial, keep it, and say what is remarkable about it, if anything."""
        if isinstance(outcome, str):
            trial = replace(trial, seconds=cost.seconds, finding=outcome)
        else:
            trial = replace(trial, seconds=cost.seconds, score=self._score(outcome))
        self.trials[trial.number] = trial
        self.table.write(self.trials.values())
        if trial.score is None:
            return f"Trial {trial.number} failed: {trial.finding}"
        if trial is not self.best:
            return ""
        settings = ", ".join(f"{name} = {value}" for name, value in trial.settings.items())
        return (
            f"Trial {trial.number}: {self.measure} {trial.score:.5f}, the best so far; {settings}"
        )

    def _score(self, run: Run) -> float:
        scores = score(
            [run],
            self.validation.qrels,
            Measures([self.measure]),
            {self.measure.metric: self.metric},
            users=self.validation.split.topics.ids,
        )
        weights = user_weights(self.validation.qrels, self.study.metrics.average)
        (values,) = weighted(scores, weights).values[0]
        return float(self.metric.average(values))

    @property
    def best(self) -> Trial | None:
        """The best trial, the first of equals; None if all failed."""
        return best_of(self.trials.values(), higher_is_better=self.metric.higher_is_better)

    def best_settings(self) -> dict[str, Any]:
        """Give the best settings, and those that the study has and were not searched."""
        if self.best is None:
            raise ValueError("all trials failed: there are no best settings.")
        return {**self.best.settings, **self.given}

    def to_toml(self) -> str:
        """Write the best settings as a table for a study file, below what was found."""
        import tomli_w

        n_failed = sum(trial.score is None for trial in self.trials.values())
        made = f"Trials: {len(self.trials)}, failed: {n_failed}; see {self.table.path}"
        table = {"systems": {"settings": {self.system: self.best_settings()}}}
        return f"# {self.comparison()}\n# {made}\n{tomli_w.dumps(table)}"

    def comparison(self) -> str:
        """Say what the best settings reach, and what the defaults."""
        default, best = self.trials[0].score, self.best
        reached = "failed" if best is None else f"{best.score:.5f} (trial {best.number})"
        other = "failed" if default is None else f"{default:.5f}"
        return f"{self.measure} on the validation part: {reached}; the defaults: {other}"


def require_free(path: Path) -> None:
    """Refuse to write over a file that no search has written."""
    if path.exists() and not read_text(path).startswith(MARK):
        raise InputError(f"{path}: there is such a file, which `harness tune` did not write.")


def write_tuned_study(source: Path, target: Path, found: Sequence[Search]) -> None:
    """Write a study again under the name NAME-tuned, with the best settings of its systems.

    Both files are in one folder, from which paths count.
    """
    import tomli_w

    values = tomllib.loads(read_text(source))
    values["name"] += "-tuned"
    values.pop("output", None)
    systems = values.setdefault("systems", {})
    given = systems.get("names", ())
    names = {} if isinstance(given, str) else {label_of(name): name for name in given}
    settings = systems.setdefault("settings", {})
    for search in found:
        label = label_of(search.system)
        settings[names.get(label, label)] = search.best_settings()
    remarks = [f"{MARK} for {source.name}, and by what:"]
    remarks += [f"# {label_of(search.system)}: {search.comparison()}" for search in found]
    write_whole(target, ("\n".join([*remarks, "", ""]) + tomli_w.dumps(values)).encode())


def comparison(found: Sequence[Search]) -> Table:
    """Tabulate what defaults and best settings reach on the validation part."""
    rows: list[list[Cell]] = [
        [
            label_of(search.system),
            *(_shown(trial) for trial in (search.trials[0], search.best)),
            len(search.trials),
            sum(trial.score is None for trial in search.trials.values()),
        ]
        for search in found
    ]
    return Table(
        name="tuned",
        title=f"Tuning: {found[0].measure} on the validation part",
        note="The best of many trials looks better than it is; levels on the test part are for "
        "`harness compare`.",
        headings=["system", "defaults", "best", "trials", "failed"],
        rows=rows,
    )


def _shown(trial: Trial | None) -> float:
    return math.nan if trial is None or trial.score is None else trial.score
