"""Other settings of a study's systems: from their ranges, or from good trials of a search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.study.sections import RepeatSection
from harness.study.study import Study
from harness.study.workers import file_stem
from recommenders.shared.register import find_system
from recommenders.shared.system import SearchDomain, Value, search_space
from runs import InputError
from runs.shared.streams import random_uniforms

MIN_SHARE_OF_BEST = 0.9
"""Share of the best score from which a trial is good enough to be drawn."""


def with_other_settings(study: Study, number: int) -> Study:
    """Copy a study with drawn settings of all systems that have ranges to search.

    ``number`` is that of the repetition. Values are drawn from the ranges; if the study names a
    folder of trials, they are those of one of the good trials of each system. A draw depends on the
    study's seed, the number, and the system alone. The copy has a study folder of its own, in
    "settings", and is not repeated again. Raises InputError if trials are named and cannot be read.
    """
    settings = dict(study.systems.settings)
    for label, name in study.systems.labels.items():
        space = search_space(find_system(name).settings)
        if space:
            drawn_settings = _draw_settings(study, label, number, space)
            settings[name] = {**settings.get(name, {}), **drawn_settings}
    changes = {
        "systems": study.systems.model_copy(update={"settings": settings}),
        "output": study.folder / "settings" / str(number),
        "repeat": RepeatSection(),
    }
    return study.model_copy(update=changes)


def _draw_settings(
    study: Study, label: str, number: int, space: Mapping[str, SearchDomain]
) -> Mapping[str, Value]:
    """Draw the settings of a system: one of its good trials if a folder of trials is named.

    Else each setting is drawn from its range or choices, which ``space`` has by setting: a uniform
    number from 0 to 1 stands for a value. ``label`` is the system's in tables; ``number`` is that
    of the repetition. Raises InputError if the folder has no readable trial of the system.
    """
    uniforms = random_uniforms(np.arange(len(space)), study.seed, "settings", label, number)
    if study.repeat.trials is not None:
        trials = good_trials(study.repeat.trials, label, space)
        return trials[int(uniforms[0] * len(trials))]
    return {
        setting: domain.value_at(uniform)
        for (setting, domain), uniform in zip(space.items(), uniforms.tolist(), strict=True)
    }


@dataclass(frozen=True)
class Trial:
    """One set of settings and what came of it; number 0 has the defaults.

    The score is the mean of the metric over the validation users, None if the trial failed; seconds
    are wall time; the finding says why it failed.
    """

    number: int
    settings: Mapping[str, Value]
    score: float | None = None
    seconds: float = 0.0
    finding: str = ""


def read_trials(path: Path, space: Mapping[str, SearchDomain]) -> list[Trial]:
    """Read the table that `harness tune` writes of the trials of a system.

    ``space`` has the range or the choices of each setting, which is a column of the table. An empty
    score becomes None. Raises InputError if the table cannot be read or lacks a column.
    """
    import pandas as pd

    trials = []
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
        for row in table.to_dict("records"):
            number = int(row["trial"])
            settings = {name: domain.parse(row[name]) for name, domain in space.items()}
            score = float(row["score"]) if row["score"] else None
            seconds = float(row["seconds"])
            trials.append(Trial(number, settings, score, seconds, row["finding"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path}: no trials can be read from it ({error}); move the table away."
        ) from None
    return trials


def good_trials(
    folder: Path, label: str, space: Mapping[str, SearchDomain]
) -> list[Mapping[str, Value]]:
    """Read the settings of the trials of a system that score at least .9 of the best.

    Of several tables of the system (``label`` is its name in tables), the last that was written is
    read. Trials have the order of the table.

    Raises
    ------
    InputError
        If the folder has no table of the system, or one that cannot be read or has no score.
    """
    tables = folder.glob(f"{file_stem(label)}-*.csv")
    paths = sorted(tables, key=lambda path: path.stat().st_mtime)
    trials = read_trials(paths[-1], space) if paths else []
    scored = [(trial.score, trial.settings) for trial in trials if trial.score is not None]
    if not scored:
        raise InputError(
            f"{folder}: no table of trials of {label!r} with a score is here; `harness tune` "
            "writes one, in the folder tuning of the study that is tuned."
        )
    best_score = max(score for score, _ in scored)
    return [settings for score, settings in scored if score >= MIN_SHARE_OF_BEST * best_score]
