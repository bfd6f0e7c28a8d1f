"""Settings to try next, drawn by samplers of Optuna."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from harness.study.store import content_key
from harness.tuning.trials import Space, Trial
from recommenders import Choice, Range
from recommenders.shared.system import Place, Value
from runs.shared.errors import missing_package

Sampler: TypeAlias = Literal["random", "tpe"]

PATIENCE = 10
"""Draws of TPE in a row that were tried before; random draws then take their place."""


def draw_new(
    sampler: Sampler,
    space: Space,
    tried: Sequence[Mapping[str, Value]],
    trials: Sequence[Trial],
    *,
    higher_is_better: bool,
    seed: int,
) -> dict[str, Value] | None:
    """Draw settings that were not tried before; None if the space is used up.

    ``random`` draws every setting by itself, whatever was found before (Bergstra & Bengio 2012).
    ``tpe`` draws settings that are likelier among good trials than among bad ones (Bergstra et al.
    2011); a failed trial counts as worse than all others. The seed is that of all trials: each has
    a stream of its own, whatever became of the others.
    """
    within = [settings for settings in tried if _is_inside(settings, space)]
    if len(within) >= math.prod(map(_n_values, space.values())):
        return None
    attempt = 0
    while True:
        stream = int(content_key("search", seed, len(tried), attempt)[:8], 16)
        used: Sampler = sampler if attempt < PATIENCE else "random"
        drawn = _draw(used, space, trials, higher_is_better=higher_is_better, seed=stream)
        if drawn not in tried:
            return drawn
        attempt += 1


def _draw(
    sampler: Sampler, space: Space, trials: Sequence[Trial], *, higher_is_better: bool, seed: int
) -> dict[str, Value]:
    optuna = import_optuna()
    distributions = {name: _distribution(place, optuna) for name, place in space.items()}
    samplers = {"random": optuna.samplers.RandomSampler, "tpe": optuna.samplers.TPESampler}
    direction = "maximize" if higher_is_better else "minimize"
    study = optuna.create_study(direction=direction, sampler=samplers[sampler](seed=seed))
    if sampler == "tpe":
        inside = [trial for trial in trials if _is_inside(trial.settings, space)]
        study.add_trials([_as_optuna(trial, distributions, optuna) for trial in inside])
    drawn = study.ask(distributions).params
    return {
        name: place.tidy(drawn[name]) if isinstance(place, Range) else drawn[name]
        for name, place in space.items()
    }


def import_optuna() -> Any:
    """Import Optuna, and keep its log off the console; or say how it is installed."""
    try:
        import optuna
    except ModuleNotFoundError:
        raise missing_package("optuna", needed_by="`harness tune`", extra="tune") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def _distribution(place: Place, optuna: Any) -> Any:
    of = optuna.distributions
    if isinstance(place, Choice):
        return of.CategoricalDistribution(place.values)
    kind = of.IntDistribution if place.is_whole else of.FloatDistribution
    return kind(place.low, place.high, log=place.log)


def _n_values(place: Place) -> float:
    if isinstance(place, Choice):
        return len(place.values)
    return place.high - place.low + 1 if place.is_whole else math.inf


def _is_inside(settings: Mapping[str, Value], space: Space) -> bool:
    return all(settings[name] in place for name, place in space.items())


def _as_optuna(trial: Trial, distributions: Mapping[str, Any], optuna: Any) -> Any:
    """Write a trial as Optuna's: one that failed as pruned before it gave anything."""
    states = optuna.trial.TrialState
    return optuna.trial.create_trial(
        params=dict(trial.settings),
        distributions=distributions,
        value=trial.score,
        state=states.PRUNED if trial.score is None else states.COMPLETE,
    )
