"""Other settings of a study's systems: from their ranges, or from good trials of a search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.study.sections import RepeatSection
from harness.study.study import Study
from harness.study.workers import file_stem
from recommenders import find_system
from recommenders.shared.system import Place, Value, search_space
from runs import InputError
from runs.shared.streams import random_uniforms

GOOD = 0.9
"""Share of the best score from which a trial is good enough to be drawn."""


def with_other_settings(study: Study, number: int) -> Study:
    """Draw settings of all systems that have ranges to search; the study has a folder of its own.

    A draw depends on the study's seed, the number, and the system alone.
    """
    drawn, trials = dict(study.systems.settings), study.repeat.trials
    for label, name in study.systems.labels.items():
        space = search_space(find_system(name).settings)
        key = study.seed, "settings", label, number
        uniforms = random_uniforms(np.arange(max(len(space), 1)), *key).tolist()
        if space and trials is not None:
            tried = good_trials(trials, label, space)
            found = tried[int(uniforms[0] * len(tried))]
        else:
            each = zip(space.items(), uniforms, strict=False)
            found = {setting: place.at(uniform) for (setting, place), uniform in each}
        if found:
            drawn[name] = {**drawn.get(name, {}), **found}
    update = {
        "systems": study.systems.model_copy(update={"settings": drawn}),
        "output": study.folder / "settings" / str(number),
        "repeat": RepeatSection(),
    }
    return study.model_copy(update=update)


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


def read_trials(path: Path, space: Mapping[str, Place]) -> list[Trial]:
    """Read the table that `harness tune` writes of the trials of a system."""
    import pandas as pd

    try:
        return [
            Trial(
                int(row["trial"]),
                {name: place.read(row[name]) for name, place in space.items()},
                float(row["score"]) if row["score"] else None,
                float(row["seconds"]),
                row["finding"],
            )
            for row in pd.read_csv(path, dtype=str, keep_default_na=False).to_dict("records")
        ]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path}: no trials can be read from it ({error}); move the table away."
        ) from None


def good_trials(folder: Path, label: str, space: Mapping[str, Place]) -> list[Mapping[str, Value]]:
    """Read the settings of the trials of a system that score at least .9 of the best.

    Raises
    ------
    InputError
        If the folder has no table of the system, or one that cannot be read or has no score.
    """
    paths = sorted(folder.glob(f"{file_stem(label)}-*.csv"), key=lambda path: path.stat().st_mtime)
    trials = read_trials(paths[-1], space) if paths else []
    scored = [(trial.score, trial.settings) for trial in trials if trial.score is not None]
    if not scored:
        raise InputError(
            f"{folder}: no table of trials of {label!r} with a score is here; `harness tune` "
            "writes one, in the folder tuning of the study that is tuned."
        )
    least = GOOD * max(score for score, _ in scored)
    return [settings for score, settings in scored if score >= least]
