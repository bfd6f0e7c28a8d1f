"""Searches: which settings to try next, given those tried before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from itertools import chain, repeat
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias

import numpy as np

from harness.study.store import content_key
from harness.tuning.trials import Trial
from recommenders import Choice, Range
from recommenders.shared.system import Place, Value
from runs.shared.errors import missing_package

Space: TypeAlias = Mapping[str, Place]

PATIENCE = 10
"""Draws of a search in a row that were tried before; random draws then take their place."""

EXHAUSTION = 1000
"""Random draws in a row that were tried before: a space that gives these is used up."""


class Search(Protocol):
    """Draws settings; the same for the same trials and seed."""

    def __call__(
        self, space: Space, trials: Sequence[Trial], *, higher_is_better: bool, seed: int
    ) -> dict[str, Value]:
        """Draw settings of the space."""


def random_search(
    space: Space, trials: Sequence[Trial], *, higher_is_better: bool, seed: int
) -> dict[str, Value]:
    """Draw every setting uniformly, whatever was found before.

    Bergstra & Bengio (2012), Random search for hyper-parameter optimization, JMLR 13: with few
    settings that matter, a better use of trials than a grid.

    Examples
    --------
    >>> space = {"factors": Range(5, 200, log=True)}
    >>> random_search(space, [], higher_is_better=True, seed=1)
    {'factors': 31}
    """
    positions = np.random.default_rng(seed).random(len(space)).tolist()
    return {name: place.at(at) for (name, place), at in zip(space.items(), positions, strict=True)}


def tpe_search(
    space: Space, trials: Sequence[Trial], *, higher_is_better: bool, seed: int
) -> dict[str, Value]:
    """Draw settings that are likelier among good trials than among bad ones, by Optuna.

    Bergstra, Bardenet, Bengio & Kégl (2011), Algorithms for hyper-parameter optimization, NIPS:
    the tree-structured Parzen estimator. The first ten draws are random; a failed trial counts
    as worse than all others. One outside the space, as defaults may be, teaches nothing.

    Raises
    ------
    InputError
        If Optuna is not installed.
    """
    optuna = import_optuna()
    distributions = {name: _distribution(place, optuna) for name, place in space.items()}
    direction = "maximize" if higher_is_better else "minimize"
    study = optuna.create_study(
        direction=direction, sampler=optuna.samplers.TPESampler(seed=seed % 2**32)
    )
    inside = [trial for trial in trials if _is_inside(trial, space)]
    study.add_trials([_as_optuna(trial, distributions, optuna) for trial in inside])
    drawn = study.ask(distributions).params
    return {name: _tidy(place, drawn[name]) for name, place in space.items()}


SEARCHES: Mapping[str, Search] = MappingProxyType({"random": random_search, "tpe": tpe_search})


def draw_new(
    search: Search,
    space: Space,
    tried: Sequence[Mapping[str, Value]],
    trials: Sequence[Trial],
    *,
    higher_is_better: bool,
    seed: int,
) -> dict[str, Value] | None:
    """Draw settings that were not tried before; None if the space is used up.

    A search sees those of the trials before that are finished. The seed is that of all trials: each
    has a stream of its own, whatever became of the others.

    Examples
    --------
    >>> space, tried = {"factors": Range(1, 2)}, [{"factors": 1}]
    >>> draw_new(random_search, space, tried, [], higher_is_better=True, seed=1)
    {'factors': 2}
    """
    draws = chain(repeat(search, PATIENCE), repeat(random_search, EXHAUSTION))
    for attempt, draw in enumerate(draws):
        stream = int(content_key("search", seed, len(tried), attempt)[:15], 16)
        drawn = draw(space, trials, higher_is_better=higher_is_better, seed=stream)
        if drawn not in tried:
            return drawn
    return None


def import_optuna() -> Any:
    """Import Optuna, and keep its log off the console; or say that it is missing."""
    try:
        optuna = import_module("optuna")
    except ModuleNotFoundError:
        raise missing_package("optuna", needed_by="the search 'tpe'", extra="tune") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def _distribution(place: Place, optuna: Any) -> Any:
    of = optuna.distributions
    if isinstance(place, Choice):
        return of.CategoricalDistribution(place.values)
    kind = of.IntDistribution if place.is_whole else of.FloatDistribution
    return kind(place.low, place.high, log=place.log)


def _is_inside(trial: Trial, space: Space) -> bool:
    return all(trial.settings[name] in place for name, place in space.items())


def _as_optuna(trial: Trial, distributions: Mapping[str, Any], optuna: Any) -> Any:
    """Write a trial as Optuna's: one that failed as pruned before it gave anything."""
    states = optuna.trial.TrialState
    return optuna.trial.create_trial(
        params=dict(trial.settings),
        distributions=distributions,
        value=trial.score,
        state=states.PRUNED if trial.score is None else states.COMPLETE,
    )


def _tidy(place: Place, value: Any) -> Value:
    return place.tidy(value) if isinstance(place, Range) else value
