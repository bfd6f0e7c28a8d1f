"""The trials of a search on disk: a table for people, and the evidence beside it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from harness.online.arm_search.trial_bench import Bench, Outcome
from harness.online.arm_search.trial_evidence import Evidence
from harness.tuning.search import Space
from harness.tuning.trials import Trial, TrialTable
from recommenders.kernels.embeddings import EmbeddingSettings


@dataclass(frozen=True, eq=False)
class TrialLedger:
    """Keeps trials: in a table, by number, and their evidence in a folder."""

    table: TrialTable
    known: dict[int, Trial]
    folder: Path

    @classmethod
    def of(cls, path: Path, space: Space, bench: Bench) -> TrialLedger:
        """Read the trials of a search from a table, which may hold those of others.

        Raises
        ------
        InputError
            If the table cannot be read.
        """
        key = bench.key(space)
        defaults = asdict(EmbeddingSettings())
        others = {name: value for name, value in defaults.items() if name not in space}
        named = {"metric": bench.metric, "search": "random", "seed": str(bench.seed), "key": key}
        table = TrialTable(path, space, others, named)
        return cls(table, table.read(), path.with_name(f"{path.stem}-evidence") / key[:16])

    def find(self, number: int) -> Outcome | None:
        """Give a trial that is in the table with its evidence, if it came to any."""
        trial = self.known.get(number)
        if trial is None:
            return None
        if trial.score is None:
            return trial, None
        evidence = Evidence.read(self._path(number))
        return (trial, evidence) if evidence else None

    def note(self, trial: Trial, evidence: Evidence | None) -> None:
        """Keep a trial: its evidence first, so that what is in the table has it."""
        if evidence:
            evidence.write(self._path(trial.number))
        self.known[trial.number] = trial
        self.table.write(self.known.values())

    def _path(self, number: int) -> Path:
        return self.folder / f"trial-{number}.npz"
