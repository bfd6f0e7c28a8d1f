"""A search, by Optuna, for the settings of systems that do best on a validation part.

The validation part is held out of the training ratings; the test part is never touched.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

import pandas as pd
import psutil

from analyses.shared.measure import Measure, Measures
from harness.metrics.shared.metric import Metric
from harness.metrics.shared.names import parse_name
from harness.metrics.shared.register import available_metrics, find_metric
from harness.scoring.means import user_weights
from harness.scoring.score import score
from harness.study.other_settings import Trial, read_trials
from harness.study.parts import content_key, digest_of
from harness.study.reachable_code import place_of, reach
from harness.study.run import check, try_out
from harness.study.store import Store
from harness.study.study import Study
from harness.study.study_file import read_text
from harness.study.system_lists import maker_of_system, training_task
from harness.study.workers import file_stem, restarts_in_silence, training_ratings, try_and_rank
from harness.tuning.validation import Validation, validation_of
from harness.version import __version__
from recommenders import (
    PROCESS_BYTES,
    Choice,
    Range,
    find_system,
    label_of,
    read_settings,
    search_space,
    workers_within,
)
from recommenders.shared.system import SearchDomain, Value
from runs import InputError, Run
from runs.shared.errors import needed_by, require_known
from runs.shared.files import write_atomically
from runs.shared.parallel import delayed, process_pool
from runs.shared.progress import Cost, Progress

Sampler: TypeAlias = Literal["random", "tpe"]

MARK = "# Settings found by `harness tune`"
PATIENCE, LAST_ATTEMPT = 10, 200
"""Draws in a row that are not new until random ones replace TPE's, and until the search ends."""


def tune(
    study: Study,
    systems: Sequence[str] = (),
    *,
    metric: str,
    sampler: Sampler,
    n_trials: int,
    n_jobs: int,
    progress: Progress,
) -> list[Search]:
    """Search the settings of systems, by default all, on a part of the training ratings.

    The tables of trials in the study folder are written after every trial; a search that was
    stopped goes on from them, and draws what it would have drawn. Results do not depend on the
    number of workers.
    """
    check(study)
    found = find_metric(metric, available_metrics(study.metrics.plugins))
    cutoff = parse_name(metric).cutoff or study.systems.depth
    try_out(found, cutoff)
    spaces = _spaces(study, systems)
    _import_optuna()
    with progress("Reading the training ratings", 1) as bar:
        validation = validation_of(study)
        bar.advance()
    searches = {
        label: Search(study, label, found, cutoff, sampler, space, validation, n_trials)
        for label, space in spaces.items()
    }
    with Store(study.folder).locked():
        for search in searches.values():
            search.read()
        made = sum(min(len(search.trials), n_trials) for search in searches.values())
        with progress("Tuning", n_trials * len(searches)) as bar, restarts_in_silence():
            bar.advance(made)
            for (label, trial), outcome, cost in _outcomes([*searches.values()], n_jobs=n_jobs):
                finding = searches[label].add(trial, outcome, cost)
                if finding:
                    progress.note(f"{label}: trial {trial.number} failed: {finding}")
                bar.advance()
    return [*searches.values()]


def _spaces(study: Study, systems: Sequence[str]) -> dict[str, Mapping[str, SearchDomain]]:
    """Find where the settings of systems are searched, by the label of each."""
    labels = study.systems.labels
    require_known("the study has no system", systems, [*labels])
    spaces = {label: search_space(find_system(name).settings) for label, name in labels.items()}
    searched = {label: space for label, space in spaces.items() if space}
    for label in systems:
        if label not in searched:
            raise InputError(
                f"the system {label!r} has no setting to tune; `harness systems` shows "
                "which systems have."
            )
    if study.ratings is not None and not searched:
        with study.errors_at("systems", "names"):
            raise InputError("no system of the study has a setting to tune.")
    return {label: searched[label] for label in systems or searched}


def _outcomes(
    searches: Sequence[Search], *, n_jobs: int
) -> Iterator[tuple[tuple[str, Trial], Run | str, Cost]]:
    """Make the trials that are missing; those of TPE one by one, since each learns from others."""
    drawn = ((search, trial) for search in searches for trial in search.drawn())
    if searches[0].sampler == "tpe":
        tasks = (search.task(trial) for search, trial in drawn)
        yield from process_pool(1, return_as="generator", in_this_process=True)(tasks)
        return
    pending = [*drawn]
    needs = [search.needed for search, _ in pending]
    n_jobs = workers_within(psutil.virtual_memory().available, needs, n_jobs=n_jobs)
    tasks = (search.task(trial) for search, trial in pending)
    yield from process_pool(n_jobs, return_as="generator_unordered")(tasks)


@dataclass
class Search:
    """A search for the settings of one system: its trials so far, by number, and what is next."""

    study: Study
    label: str
    metric: Metric
    cutoff: int
    sampler: Sampler
    space: Mapping[str, SearchDomain]
    validation: Validation
    n_trials: int
    trials: dict[int, Trial] = field(default_factory=dict)

    @property
    def system(self) -> str:
        """Name of the system in the study."""
        return self.study.systems.labels[self.label]

    @property
    def measure(self) -> Measure:
        """The measure to optimise."""
        return Measure(self.metric.label, self.cutoff)

    @cached_property
    def needed(self) -> int:
        """Bytes that a trial takes, going by what the defaults need."""
        estimate = find_system(self.system).memory_need
        train = training_ratings(self.validation.split.train, self._positives, self.study.shift)
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
    def path(self) -> Path:
        """The table of its trials, named by all that they depend on."""
        makers = [place_of(maker_of_system(self.system)), place_of(self.metric.function)]
        users_files = [maker for maker in makers if not maker.source.is_own]
        key = digest_of(
            __version__,
            (str(self.measure), self.sampler, self.study.seed),
            self.system,
            self._defaults,
            self.space,
            self.validation.split.train,
            self.validation.qrels,
            self.study.systems.candidates,
            self.study.metrics.average,
            self._positives,
            self.study.shift,
            [reach([maker]).digest for maker in users_files],
        )
        return self.study.folder / "tuning" / f"{file_stem(self.label)}-{key[:12]}.csv"

    def read(self) -> None:
        """Read the trials that are made."""
        if self.path.exists():
            self.trials = {trial.number: trial for trial in read_trials(self.path, self.space)}

    def add(self, trial: Trial, outcome: Run | str, cost: Cost) -> str:
        """Score a trial and write the table; give why it failed, if it did."""
        seconds = round(cost.seconds, 3)
        if isinstance(outcome, str):
            trial = replace(trial, seconds=seconds, finding=outcome)
        else:
            trial = replace(trial, seconds=seconds, score=self._score(outcome))
        self.trials[trial.number] = trial
        rows = [
            {"trial": number, **made.settings, "score": made.score, "seconds": made.seconds}
            | {"finding": made.finding}
            for number, made in sorted(self.trials.items())
        ]
        write_atomically(self.path, pd.DataFrame(rows, dtype=object).to_csv(index=False).encode())
        return trial.finding

    def _score(self, run: Run) -> float:
        qrels, users = self.validation.qrels, self.validation.split.topics.ids
        measures, metrics = Measures([self.measure]), {self.measure.metric: self.metric}
        scores = score([run], qrels, measures, metrics, users=users)
        weights = user_weights(qrels, self.study.metrics.average)
        (values,) = replace(scores, weights=weights).weighted_values[0]
        return float(self.metric.average(values))

    def drawn(self) -> Iterator[Trial]:
        """Draw the settings of the trials that are missing; each draw sees what is made by then."""
        tried: list[Mapping[str, Value]] = []
        for number in range(self.n_trials):
            if number in self.trials:
                tried.append(self.trials[number].settings)
                continue
            defaults = {name: self._defaults[name] for name in self.space}
            settings = self.draw_new(tried) if tried else defaults
            if settings is None:
                return
            yield Trial(number, settings)
            tried.append(settings)

    def draw_new(self, tried: Sequence[Mapping[str, Value]]) -> dict[str, Value] | None:
        """Draw settings that were not tried before; None if the space is used up.

        ``random`` draws every setting by itself (Bergstra & Bengio 2012). ``tpe`` draws settings
        that are likelier among good trials than among bad ones (Bergstra et al. 2011); a failed
        trial counts as worse than all others. Each trial has a random stream of its own.
        """
        for attempt in range(LAST_ATTEMPT):
            stream = content_key("search", self.study.seed, len(tried), attempt)
            settings = self._draw(int(stream[:8], 16), learns=attempt < PATIENCE)
            if settings not in tried:
                return settings
        return None

    def _draw(self, seed: int, *, learns: bool) -> dict[str, Value]:
        optuna = _import_optuna()
        places = {name: _distribution(place, optuna) for name, place in self.space.items()}
        is_tpe = self.sampler == "tpe" and learns
        of = optuna.samplers.TPESampler if is_tpe else optuna.samplers.RandomSampler
        direction = "maximize" if self.metric.higher_is_better else "minimize"
        study = optuna.create_study(direction=direction, sampler=of(seed=seed))
        for trial in self.trials.values() if is_tpe else ():
            if all(trial.settings[name] in place for name, place in self.space.items()):
                states = optuna.trial.TrialState
                state = states.PRUNED if trial.score is None else states.COMPLETE
                known = {"params": dict(trial.settings), "distributions": places, "state": state}
                study.add_trial(optuna.trial.create_trial(value=trial.score, **known))
        drawn = study.ask(places).params
        return {
            name: place.rounded(drawn[name]) if isinstance(place, Range) else drawn[name]
            for name, place in self.space.items()
        }

    def task(self, trial: Trial) -> Any:
        """Make the task of training and ranking with the settings of a trial."""
        training = training_task(self.study, self.system, self.validation.split)
        settings = {**self.given, **trial.settings}
        return delayed(try_and_rank)(
            (self.label, trial), self.system, settings, replace(training, depth=self.cutoff)
        )

    @property
    def best(self) -> Trial | None:
        """The best trial, the first of equals; None if all failed."""
        scored = [trial for _, trial in sorted(self.trials.items()) if trial.score is not None]
        sign = 1 if self.metric.higher_is_better else -1
        return max(scored, key=lambda trial: sign * (trial.score or 0.0), default=None)


def _distribution(place: SearchDomain, optuna: Any) -> Any:
    of = optuna.distributions
    if isinstance(place, Choice):
        return of.CategoricalDistribution(place.values)
    kind = of.IntDistribution if place.is_whole else of.FloatDistribution
    return kind(place.low, place.high, log=place.log)


def _import_optuna() -> Any:
    """Import Optuna, and keep its log off the console; or say how it is installed."""
    with needed_by("`harness tune`", extra="tune"):
        import optuna
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def require_free(path: Path) -> None:
    """Refuse to write over a file that no search has written."""
    if path.exists() and not read_text(path).startswith(MARK):
        raise InputError(f"{path} exists, and was not written by `harness tune`: move it away.")


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
        best = {} if search.best is None else search.best.settings
        settings[names.get(search.label, search.label)] = {**best, **search.given}
    remark = f"{MARK} for {source.name}, by {found[0].measure} on the validation part.\n\n"
    write_atomically(target, (remark + tomli_w.dumps(values)).encode())


def comparison(found: Sequence[Search]) -> str:
    """Tabulate what defaults and best settings reach on the validation part."""
    rows = []
    for search in found:
        scores = (trial and trial.score for trial in (search.trials[0], search.best))
        failed = sum(trial.score is None for trial in search.trials.values())
        rows.append((search.label, *scores, len(search.trials), failed))
    frame = pd.DataFrame(rows, columns=["system", "defaults", "best", "trials", "failed"])
    return (
        f"Tuning: {found[0].measure} on the validation part\n\n"
        f"{frame.to_string(index=False, float_format='{:.4f}'.format)}\n\n"
        "The best of many trials looks better than it is; levels on the test part are for "
        "`harness compare`.\n"
    )
