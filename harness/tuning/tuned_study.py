"""A study file with the settings that a search has found."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from math import nan
from pathlib import Path

from analyses.shared.table import Cell, Table
from harness.study.study_file import read_text
from harness.tuning.result import Tuned
from harness.tuning.trials import Trial
from recommenders import label_of
from runs import InputError
from runs.shared.files import write_whole

MARK = "# Settings found by `harness tune`"


def require_free(path: Path) -> None:
    """Refuse to write over a file that no search has written.

    Raises
    ------
    InputError
        If there is one.
    """
    if path.exists() and not read_text(path).startswith(MARK):
        raise InputError(f"{path}: there is such a file, which `harness tune` did not write.")


def write_tuned_study(source: Path, target: Path, found: Sequence[Tuned]) -> None:
    """Write a study again under the name NAME-tuned, with the best settings of its systems.

    Both files are in one folder, from which paths count.

    Raises
    ------
    ValueError
        If all trials of a system failed; nothing is written then.
    """
    import tomli_w

    values = tomllib.loads(read_text(source))
    values["name"] += "-tuned"
    values.pop("output", None)
    systems = values.setdefault("systems", {})
    given = systems.get("names", ())
    names = {} if isinstance(given, str) else {label_of(name): name for name in given}
    settings = systems.setdefault("settings", {})
    for tuned in found:
        label = label_of(tuned.system)
        settings[names.get(label, label)] = tuned.best_settings()
    remarks = [f"{MARK} for {source.name}, and by what:"]
    remarks += [f"# {label_of(tuned.system)}: {tuned.comparison()}" for tuned in found]
    write_whole(target, ("\n".join([*remarks, "", ""]) + tomli_w.dumps(values)).encode())


def comparison(found: Sequence[Tuned]) -> Table:
    """Tabulate what defaults and best settings reach on the validation part."""
    rows: list[list[Cell]] = [
        [
            label_of(tuned.system),
            *(_score(trial) for trial in (tuned.trials[0], tuned.best)),
            len(tuned.trials),
            sum(trial.score is None for trial in tuned.trials),
        ]
        for tuned in found
    ]
    return Table(
        name="tuned",
        title=f"Tuning: {found[0].measure} on the validation part",
        note="The best of many trials looks better than it is; levels on the test part are for "
        "`harness compare`.",
        headings=["system", "defaults", "best", "trials", "failed"],
        rows=rows,
    )


def _score(trial: Trial | None) -> float:
    return nan if trial is None or trial.score is None else trial.score
