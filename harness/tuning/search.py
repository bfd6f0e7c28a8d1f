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
from harness.study.metric_checks import try_out
from harness.study.other_settings import Trial, read_trials
from harness.study.parts import content_key, digest_of
from harness.study.reachable_code import place_of, reach
from harness.study.run import check
from harness.study.store import Store
from harness.study.study import Study
from harness.study.study_file import read_text
from harness.study.system_lists import maker_of_system, training_task
from harness.study.workers import file_stem, restarts_in_silence, training_ratings, try_and_rank
from harness.tuning.validation import Validation, validation_of
from harness.version import __version__
from recommenders.shared.register import find_system, read_settings
from recommenders.shared.system import (
    PROCESS_BYTES,
    Choice,
    Range,
    SearchDomain,
    Value,
    search_space,
    workers_within,
)
from recommenders.shared.user_system import label_of
from runs import InputError, Run
from runs.shared.errors import needed_by, require_known
from runs.shared.files import write_atomically
from runs.shared.parallel import delayed, process_pool
from runs.shared.progress import Cost, Progress

Sampler: TypeAlias = Literal["random", "tpe"]

MARK = "# Settings found by `harness tune`"
TPE_DRAWS = 10
MAX_DRAWS = 200
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

    Parameters
    ----------
    study
        A study of ratings.
    systems
        Labels of systems of the study; by default all that have a setting to tune.
    metric
        Measure to optimise, such as "nDCG@10"; without a cut-off, at the depth of the study.
    sampler
        How settings are drawn; see `Search.draw_new_settings`.
    n_trials
        Number of trials of each system, including those of earlier searches.
    n_jobs
        Number of processes; "tpe" uses one.
    progress
        Shows progress, and notes trials that fail.

    Returns
    -------
    The searches, one for each system, with their trials.

    Raises
    ------
    InputError
        If the study has no ratings, a system is unknown, or a system has no setting to tune.
    """
    check(study)
    metric_to_optimise = find_metric(metric, available_metrics(study.metrics.plugins))
    cutoff = parse_name(metric).cutoff or study.systems.depth
    # A metric that fails is refused before anything slow.
    try_out(metric_to_optimise, cutoff)
    spaces = _search_spaces(study, systems)
    _import_optuna()
    with progress("Reading the training ratings", 1) as bar:
        validation = validation_of(study)
        bar.advance()
    searches = [
        Search(
            study=study,
            label=label,
            metric=metric_to_optimise,
            cutoff=cutoff,
            sampler=sampler,
            space=space,
            validation=validation,
            n_trials=n_trials,
        )
        for label, space in spaces.items()
    ]
    search_by_label = {search.label: search for search in searches}
    with Store(study.folder).locked():
        for search in searches:
            search.read()  # The trials of earlier searches.
        n_earlier_trials = sum(min(len(search.trials), n_trials) for search in searches)
        with progress("Tuning", n_trials * len(searches)) as bar, restarts_in_silence():
            bar.advance(n_earlier_trials)
            for (label, trial), outcome, cost in _outcomes(searches, n_jobs=n_jobs):
                finding = search_by_label[label].add(trial, outcome, cost)
                if finding:
                    progress.note(f"{label}: trial {trial.number} failed: {finding}")
                bar.advance()
    return searches


def _search_spaces(study: Study, systems: Sequence[str]) -> dict[str, Mapping[str, SearchDomain]]:
    """Look up the range or the choices of each setting that is searched, by label of the system.

    ``systems`` are labels, names in tables; if empty, all systems that have a setting to tune are
    taken. Raises InputError if the study has no system of a label, a system has no setting to tune,
    or none of a study of ratings has one.
    """
    names_by_label = study.systems.labels
    require_known("the study has no system", systems, [*names_by_label])
    spaces: dict[str, Mapping[str, SearchDomain]] = {}
    for label, name in names_by_label.items():
        space = search_space(find_system(name).settings)
        if space:
            spaces[label] = space
    for label in systems:
        if label not in spaces:
            raise InputError(
                f"the system {label!r} has no setting to tune; `harness systems` shows "
                "which systems have."
            )
    if study.ratings is not None and not spaces:
        with study.errors_at("systems", "names"):
            raise InputError("no system of the study has a setting to tune.")
    return {label: spaces[label] for label in systems or spaces}


def _outcomes(
    searches: Sequence[Search], *, n_jobs: int
) -> Iterator[tuple[tuple[str, Trial], Run | str, Cost]]:
    """Train and rank with the settings of the trials that are missing, in processes.

    Yields label and trial, the run or why it failed, and the cost. Trials of TPE are made one by
    one, since each learns from the others; at random, as many at a time as memory allows.
    """
    missing = ((search, trial) for search in searches for trial in search.missing_trials())
    if searches[0].sampler == "tpe":
        # A trial is drawn when the one before it is yielded and added to the search.
        tasks = (search.task(trial) for search, trial in missing)
        yield from process_pool(1, return_as="generator", in_this_process=True)(tasks)
        return
    pending = [*missing]
    bytes_needed = [search.bytes_needed for search, _ in pending]
    available_bytes = psutil.virtual_memory().available
    n_processes = workers_within(available_bytes, bytes_needed, n_jobs=n_jobs)
    tasks = (search.task(trial) for search, trial in pending)
    yield from process_pool(n_processes, return_as="generator_unordered")(tasks)


@dataclass
class Search:
    """A search for the settings of one system: its trials so far, by number, and what is next.

    Parameters
    ----------
    study
        A study of ratings.
    label
        What the study calls the system in tables.
    metric, cutoff
        The measure to optimise.
    sampler
        How settings are drawn.
    space
        Range or choices of each setting that is searched.
    validation
        Ratings to learn from, and judgements to score by.
    n_trials
        Number of trials to make, earlier ones included.
    trials
        The trials that are made, by number; failed ones, too.
    """

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
    def bytes_needed(self) -> int:
        """Memory of the process that makes a trial, in bytes, estimated with the defaults.

        Without an estimate for the system it is that of an empty process.
        """
        estimate_need = find_system(self.system).memory_need
        if estimate_need is None:
            return PROCESS_BYTES
        train = training_ratings(self.validation.split.train, self._positives, self.study.shift)
        settings = read_settings(self.system, self.fixed_settings)
        return PROCESS_BYTES + estimate_need(train, settings).n_bytes

    @property
    def _positives(self) -> float | None:
        """Lowest rating that the system learns from; None for all."""
        return self.study.systems.positives_of(self.system)

    @cached_property
    def fixed_settings(self) -> dict[str, Any]:
        """Settings that the study has and the search leaves as they are."""
        settings = self.study.systems.settings.get(self.system, {})
        return {name: value for name, value in settings.items() if name not in self.space}

    @cached_property
    def _defaults(self) -> dict[str, Any]:
        """All settings of the system, with those of the study; searched ones have their default."""
        return read_settings(self.system, self.fixed_settings).model_dump(mode="json")

    @cached_property
    def path(self) -> Path:
        """Path of the table of its trials, in the study folder, named by a digest of its input.

        The digest is of all that trials depend on: version, measure, sampler, seed, system and
        settings, ratings and judgements, and the code of a user's system and metric.
        """
        system_maker = place_of(maker_of_system(self.system))
        metric_maker = place_of(self.metric.function)
        makers = [system_maker, metric_maker]
        users_makers = [maker for maker in makers if not maker.source.is_own]
        digests_of_users_code = [reach([maker]).digest for maker in users_makers]
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
            digests_of_users_code,
        )
        stem = file_stem(self.label)
        return self.study.folder / "tuning" / f"{stem}-{key[:12]}.csv"

    def read(self) -> None:
        """Read the trials of earlier searches, if their table exists."""
        if self.path.exists():
            trials = read_trials(self.path, self.space)
            self.trials = {trial.number: trial for trial in trials}

    def add(self, trial: Trial, outcome: Run | str, cost: Cost) -> str:
        """Score a trial, and write the table of all trials; return why it failed, or "".

        ``outcome`` is the run of the validation users, or why training failed. A copy of the trial,
        with score and wall time in seconds, is added to ``self.trials``. The score is the mean of
        the measure over the validation users; a failed trial has none.
        """
        seconds = round(cost.seconds, 3)
        if isinstance(outcome, str):
            trial = replace(trial, seconds=seconds, finding=outcome)
        else:
            trial = replace(trial, seconds=seconds, score=self._mean_score(outcome))
        self.trials[trial.number] = trial
        rows = []
        for number, recorded_trial in sorted(self.trials.items()):
            row: dict[str, Any] = {"trial": number, **recorded_trial.settings}
            row["score"] = recorded_trial.score
            row["seconds"] = recorded_trial.seconds
            row["finding"] = recorded_trial.finding
            rows.append(row)
        table = pd.DataFrame(rows, dtype=object).to_csv(index=False)
        write_atomically(self.path, table.encode())
        return trial.finding

    def _mean_score(self, run: Run) -> float:
        """Average the measure of a run over the validation users, with the weights of the study.

        The mean is that of the metric: arithmetic or geometric.
        """
        qrels = self.validation.qrels
        users = self.validation.split.topics.ids
        measures = Measures([self.measure])
        metrics = {self.measure.metric: self.metric}
        scores = score([run], qrels, measures, metrics, users=users)
        weights = user_weights(qrels, self.study.metrics.average)
        scores = replace(scores, weights=weights)
        user_values = scores.weighted_values[0, 0]
        return float(self.metric.average(user_values))

    def missing_trials(self) -> Iterator[Trial]:
        """Draw the settings of the trials that are missing; the first trial has the defaults.

        Trials have numbers from 0; those in ``self.trials`` are made. Each draw knows the trials
        that were added before it is asked for. Ends early if the space has no new settings.
        """
        earlier_settings: list[Mapping[str, Value]] = []
        for number in range(self.n_trials):
            if number in self.trials:
                earlier_settings.append(self.trials[number].settings)
                continue
            settings: dict[str, Value] | None
            if earlier_settings:
                settings = self.draw_new_settings(earlier_settings)
            else:
                settings = {name: self._defaults[name] for name in self.space}
            if settings is None:
                return
            yield Trial(number, settings)
            earlier_settings.append(settings)

    def draw_new_settings(
        self, earlier_settings: Sequence[Mapping[str, Value]]
    ) -> dict[str, Value] | None:
        """Draw settings that are not among those of earlier trials; None if all draws are.

        ``random`` draws every setting by itself (Bergstra & Bengio 2012). ``tpe`` draws settings
        that are likelier among good trials than among bad ones (Bergstra et al. 2011); a failed
        trial counts as worse than all others. Each draw has a random seed of its own, by the seed
        of the study and the number of earlier trials. After `TPE_DRAWS` (10) draws that are not
        new, TPE gives way to random draws; after `MAX_DRAWS` (200), the result is None.
        """
        for attempt in range(MAX_DRAWS):
            stream = content_key("search", self.study.seed, len(earlier_settings), attempt)
            seed = int(stream[:8], 16)
            settings = self._draw_settings(seed, learns=attempt < TPE_DRAWS)
            if settings not in earlier_settings:
                return settings
        return None

    def _draw_settings(self, seed: int, *, learns: bool) -> dict[str, Value]:
        """Draw a value of each setting in the space, within its range or among its choices.

        With the sampler "tpe" and ``learns``, TPE learns from the earlier trials whose settings lie
        in the space; otherwise the draw is at random. Values in a range are rounded to whole
        numbers, or to three significant digits.
        """
        optuna = _import_optuna()
        distributions = {
            name: _optuna_distribution(domain, optuna) for name, domain in self.space.items()
        }
        direction = "maximize" if self.metric.higher_is_better else "minimize"
        if self.sampler == "tpe" and learns:
            sampler = optuna.samplers.TPESampler(seed=seed)
            study = optuna.create_study(direction=direction, sampler=sampler)
            for trial in self.trials.values():
                if self._is_in_space(trial):
                    study.add_trial(_optuna_trial(trial, distributions, optuna))
        else:
            sampler = optuna.samplers.RandomSampler(seed=seed)
            study = optuna.create_study(direction=direction, sampler=sampler)
        settings: dict[str, Any] = dict(study.ask(distributions).params)
        for name, domain in self.space.items():
            if isinstance(domain, Range):
                settings[name] = domain.rounded(settings[name])
        return settings

    def _is_in_space(self, trial: Trial) -> bool:
        """Return whether all settings of a trial lie in their ranges, or among their choices."""
        return all(trial.settings[name] in domain for name, domain in self.space.items())

    def task(self, trial: Trial) -> Any:
        """Make the delayed call that trains and ranks with the settings of a trial.

        Its result is label and trial, the run of the validation users or why it failed, and the
        cost; see `try_and_rank`.
        """
        training = training_task(self.study, self.system, self.validation.split)
        training = replace(training, depth=self.cutoff)
        settings = {**self.fixed_settings, **trial.settings}
        return delayed(try_and_rank)((self.label, trial), self.system, settings, training)

    @property
    def best(self) -> Trial | None:
        """The trial with the best score, the first of equals; None if there is none or all failed.

        The best score is the lowest where the metric is better if it is lower.
        """
        trials = [self.trials[number] for number in sorted(self.trials)]
        scored_trials = [trial for trial in trials if trial.score is not None]
        sign = 1 if self.metric.higher_is_better else -1
        return max(scored_trials, key=lambda trial: sign * (trial.score or 0.0), default=None)


def _optuna_distribution(domain: SearchDomain, optuna: Any) -> Any:
    """Make the distribution of Optuna for a range or for choices; ``optuna`` is the module."""
    if isinstance(domain, Choice):
        return optuna.distributions.CategoricalDistribution(domain.values)
    if domain.is_whole:
        return optuna.distributions.IntDistribution(domain.low, domain.high, log=domain.log)
    return optuna.distributions.FloatDistribution(domain.low, domain.high, log=domain.log)


def _optuna_trial(trial: Trial, distributions: Mapping[str, Any], optuna: Any) -> Any:
    """Make the trial of Optuna that it learns from; one that failed, without a score, is pruned."""
    states = optuna.trial.TrialState
    state = states.PRUNED if trial.score is None else states.COMPLETE
    return optuna.trial.create_trial(
        value=trial.score,
        params=dict(trial.settings),
        distributions=distributions,
        state=state,
    )


def _import_optuna() -> Any:
    """Import Optuna, and keep its log off the console.

    Raises InputError, which says how to install it, if it is missing.
    """
    with needed_by("`harness tune`", extra="tune"):
        import optuna
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def require_free(path: Path) -> None:
    """Raise InputError if a file exists that `harness tune` has not written."""
    if path.exists() and not read_text(path).startswith(MARK):
        raise InputError(f"{path} exists, and was not written by `harness tune`: move it away.")


def write_tuned_study(source: Path, target: Path, searches: Sequence[Search]) -> None:
    """Write a study again under the name NAME-tuned, with the best settings of its systems.

    Both files are in one folder, from which paths count. The study folder is the default one. A
    system all of whose trials failed has the settings of the study. The target is replaced if it
    exists.
    """
    import tomli_w

    values = tomllib.loads(read_text(source))
    values["name"] += "-tuned"
    values.pop("output", None)
    systems = values.setdefault("systems", {})
    system_names = systems.get("names", ())
    names_by_label: dict[str, str] = {}
    if not isinstance(system_names, str):
        names_by_label = {label_of(name): name for name in system_names}
    settings_by_name = systems.setdefault("settings", {})
    for search in searches:
        best_settings = {} if search.best is None else search.best.settings
        name = names_by_label.get(search.label, search.label)
        settings_by_name[name] = {**best_settings, **search.fixed_settings}
    measure = searches[0].measure
    remark = f"{MARK} for {source.name}, by {measure} on the validation part.\n\n"
    text = remark + tomli_w.dumps(values)
    write_atomically(target, text.encode())


def comparison(searches: Sequence[Search]) -> str:
    """Tabulate, as text, the scores of defaults and best settings on the validation part.

    Each search has its trial 0, with the defaults. A score of trials that failed is printed as NaN
    or None. Columns: system, score of the defaults, best score, numbers of trials and of failed
    ones.
    """
    rows = []
    for search in searches:
        default_score = search.trials[0].score
        best_score = None if search.best is None else search.best.score
        n_failed = sum(trial.score is None for trial in search.trials.values())
        rows.append((search.label, default_score, best_score, len(search.trials), n_failed))
    frame = pd.DataFrame(rows, columns=["system", "defaults", "best", "trials", "failed"])
    table = frame.to_string(index=False, float_format="{:.4f}".format)
    return (
        f"Tuning: {searches[0].measure} on the validation part\n\n"
        f"{table}\n\n"
        "The best of many trials looks better than it is; levels on the test part are for "
        "`harness compare`.\n"
    )
