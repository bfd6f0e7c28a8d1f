"""What a search for settings has found, and how to say it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analyses.shared.measure import Measure
from harness.tuning.trials import Trial, best_of


@dataclass(frozen=True)
class Tuned:
    """What a search has found: all its trials, in order, at least one; and where they are kept.

    Given settings are those that the study has and the search left as they are.
    """

    system: str
    measure: Measure
    trials: tuple[Trial, ...]
    table: Path
    given: Mapping[str, Any]
    higher_is_better: bool

    @property
    def best(self) -> Trial | None:
        """The best trial, the first of equals; None if all failed."""
        return best_of(self.trials, higher_is_better=self.higher_is_better)

    def best_settings(self) -> dict[str, Any]:
        """Give the best settings, and with them those that the study has and were not searched.

        Raises
        ------
        ValueError
            If all trials failed.
        """
        if self.best is None:
            raise ValueError("all trials failed: there are no best settings.")
        return {**self.best.settings, **self.given}

    def to_toml(self) -> str:
        """Write the best settings as a table for a study file, under what was found as comments.

        Raises
        ------
        ValueError
            If all trials failed.
        """
        import tomli_w

        table = {self.system: self.best_settings()}
        remarks = f"# {self.comparison()}\n# {self._trials_made()}\n"
        return remarks + tomli_w.dumps({"systems": {"settings": table}})

    def comparison(self) -> str:
        """Say what the best settings reach, and what the defaults."""
        default = self.trials[0].score
        other = "failed" if default is None else f"{default:.5f}"
        best = "failed" if self.best is None else self._level(self.best)
        return f"{self.measure} on the validation part: {best}; the defaults: {other}"

    @staticmethod
    def _level(trial: Trial) -> str:
        return f"{trial.score:.5f} (trial {trial.number})"

    def _trials_made(self) -> str:
        n_failed = sum(trial.score is None for trial in self.trials)
        return f"Trials: {len(self.trials)}, failed: {n_failed}; see {self.table}"
