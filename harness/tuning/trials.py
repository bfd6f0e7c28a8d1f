"""Trials of settings, and the table that keeps them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from recommenders.shared.system import Place, Value
from runs import InputError
from runs.shared.files import write_whole

Space: TypeAlias = Mapping[str, Place]

DONE, FAILED = "done", "failed"
COLUMNS = ("trial", "score", "seconds", "state", "finding", "metric", "search", "seed", "key")
MEND = "Mend it, or move the table away."


@dataclass(frozen=True)
class Trial:
    """One set of settings and what came of it.

    Number 0 has the defaults. The score is the mean of the metric over the validation users, None
    if the trial failed; seconds are wall time; the finding says why it failed.
    """

    number: int
    settings: Mapping[str, Value]
    score: float | None
    seconds: float
    finding: str = ""


def best_of(trials: Iterable[Trial], *, higher_is_better: bool) -> Trial | None:
    """Find the trial with the best score, the first of equals; None if all failed."""
    scored = [(trial.score, trial) for trial in trials if trial.score is not None]
    choose = max if higher_is_better else min
    return choose(scored, key=lambda pair: pair[0])[1] if scored else None


@dataclass(frozen=True)
class TrialTable:
    """The trials of one search in a csv file, which may hold those of others.

    A line is a trial: its number, every setting, searched (``space``) or not (``fixed``), score,
    seconds, state, why it failed, and what tells the search from others; under ``key`` a hash of
    all that its trials depend on.
    """

    path: Path
    space: Space
    fixed: Mapping[str, object]
    search: Mapping[str, str]

    def read(self) -> dict[int, Trial]:
        """Read the trials of this search, by number."""
        trials = (self._trial(line, row) for line, row in self._rows() if self._is_own(row))
        return {trial.number: trial for trial in trials}

    def write(self, trials: Iterable[Trial]) -> None:
        """Write the whole table, the trials of this search in the order of their numbers."""
        kept = [row for _, row in self._rows() if not self._is_own(row)]
        own = [self._row(trial) for trial in sorted(trials, key=lambda trial: trial.number)]
        columns = dict.fromkeys(name for row in [*own, *kept] for name in row)
        stream = io.StringIO()
        writer = csv.DictWriter(stream, list(columns), lineterminator="\n")
        writer.writeheader()
        writer.writerows([*kept, *own])
        write_whole(self.path, stream.getvalue().encode())

    def _rows(self) -> list[tuple[int, dict[str, str]]]:
        """Read the lines of the table, with their numbers in the file."""
        if not self.path.exists():
            return []
        try:
            reader = csv.DictReader(io.StringIO(self.path.read_text(encoding="utf-8")))
            rows = [(reader.line_num, row) for row in reader]
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise InputError(f"{self.path}: the table cannot be read ({error}).") from None
        for line, row in rows:
            if None in row or None in row.values():  # csv's way to say too many, or too few.
                raise InputError.at(self.path, line, f"not as many fields as in line 1. {MEND}")
        return rows

    def _is_own(self, row: Mapping[str, str]) -> bool:
        return row.get("key") == self.search["key"]

    def _trial(self, line: int, row: Mapping[str, str]) -> Trial:
        try:
            return Trial(
                number=int(row["trial"]),
                settings={n: place.read(row[_column(n)]) for n, place in self.space.items()},
                score=None if row["state"] == FAILED else float(row["score"]),
                seconds=float(row["seconds"]),
                finding=row["finding"],
            )
        except (KeyError, TypeError, ValueError):
            raise InputError.at(self.path, line, f"no trial can be read from it. {MEND}") from None

    def _row(self, trial: Trial) -> dict[str, str]:
        settings = {**trial.settings, **self.fixed}
        return {
            "trial": str(trial.number),
            **{_column(name): str(value) for name, value in settings.items()},
            "score": "" if trial.score is None else repr(trial.score),
            "seconds": f"{trial.seconds:.3f}",
            "state": FAILED if trial.score is None else DONE,
            "finding": trial.finding,
            **self.search,
        }


def _column(setting: str) -> str:
    """Name the column of a setting, which may be called as another column is."""
    return f"{setting} (setting)" if setting in COLUMNS else setting
