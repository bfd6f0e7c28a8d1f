"""Other settings of a study's systems: from their ranges, or from good trials of a search."""

from __future__ import annotations

from collections.abc import Mapping
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


def good_trials(folder: Path, label: str, space: Mapping[str, Place]) -> list[dict[str, Value]]:
    """Read the settings of the trials of a system that score at least .9 of the best.

    Raises
    ------
    InputError
        If the folder has no table of the system, or one that cannot be read.
    """
    import pandas as pd

    paths = sorted(folder.glob(f"{file_stem(label)}-*.csv"), key=lambda path: path.stat().st_mtime)
    if not paths:
        raise InputError(
            f"{folder}: no table of trials of {label!r} is here; `harness tune` writes one, in the "
            "folder tuning of the study that is tuned."
        )
    try:
        rows = pd.read_csv(paths[-1], dtype=str, keep_default_na=False).to_dict("records")
        scored = [(float(row["score"]), row) for row in rows if row["score"]]
        least = GOOD * max(score for score, _ in scored)
        return [
            {name: place.read(row[name]) for name, place in space.items()}
            for score, row in scored
            if score >= least
        ]
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{paths[-1]}: no trials can be read from it ({error}).") from None
