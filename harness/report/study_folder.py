"""A finished study, read back from its folder: its manifest, tables and results."""

from __future__ import annotations

import csv
import io
import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from analyses.ordering import find_coefficient
from analyses.shared.evidence import read_evidence
from harness.metrics.shared.metric import Metric
from harness.metrics.shared.names import parse_name
from harness.metrics.shared.register import available_metrics, built_in_metrics
from runs import InputError

if TYPE_CHECKING:
    from harness.catalogue import Result

Row: TypeAlias = Mapping[str, str]

RESULTS: Mapping[str, str] = {
    "correlation": "correlation:Correlation",
    "sparsity": "sparsity:Sparsity",
    "popularity": "popularity:Popularity",
    "users": "users:Users",
    "discrimination": "discrimination:Discrimination",
    "sampled": "sampled:Sampled",
    "sampled_ranks": "sampled:RankDistributions",
    "sampled_sizes": "sampled:SampleSize",
    "sampled_cost": "sampled:Cost",
    "sampled_adaptive": "sampled:AdaptiveSizes",
    "sampled_iterations": "sampled:Iterations",
    "sampled_priors": "sampled:Priors",
    "online": "online.agreement:Agreement",
    "online_best": "online.best_of_many:BestOfMany",
}
"""Module and class of what each analysis finds, imported when it is read."""


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a finished study.

    Raises
    ------
    InputError
        If there is none.
    """
    path = folder / "manifest.json"
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"{folder}: no finished study is here (no manifest.json).") from None
    except ValueError as error:
        raise InputError(f"{path}: not the manifest of a study ({error}).") from None
    if not isinstance(manifest, dict) or "report cut-off" not in manifest:
        raise InputError(f"{path}: not the manifest of a study.")
    return manifest


@dataclass(frozen=True)
class FinishedStudy:
    """The folder of a finished study.

    Parameters
    ----------
    folder
        Where it is.
    manifest
        What its manifest says.
    """

    folder: Path
    manifest: Mapping[str, Any]

    @classmethod
    def at(cls, folder: Path) -> FinishedStudy:
        """Open a study folder.

        Raises
        ------
        InputError
            If no finished study is there.
        """
        return cls(folder, read_manifest(folder))

    @property
    def cutoff(self) -> int:
        """The deepest cut-off, at which metrics are compared."""
        return int(self.manifest["report cut-off"])

    @property
    def cutoffs(self) -> list[int]:
        """All cut-offs of the study."""
        return list(self.manifest["cut-offs"])

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics, with their options."""
        return list(self.manifest["metrics"])

    @property
    def systems(self) -> list[str]:
        """Names of the systems."""
        return list(self.manifest["systems"])

    @property
    def tables(self) -> list[str]:
        """Names of the tables that the study has."""
        return sorted(path.stem for path in (self.folder / "tables").glob("*.csv"))

    def rows(self, table: str, *, cutoff: int | None = None) -> list[Row]:
        """Read a table, or what it says of one cut-off; nothing if the study lacks it."""
        path = self.folder / "tables" / f"{table}.csv"
        if not path.is_file():
            return []
        rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))
        return [row for row in rows if cutoff is None or number(row, "cutoff") == cutoff]

    @property
    def name(self) -> str:
        """Name of the study."""
        return str(self.manifest["study"])

    @property
    def plugins(self) -> list[Path]:
        """Files of metrics that the study uses."""
        study = tomllib.loads((self.folder / "study.toml").read_text(encoding="utf-8"))
        return [Path(path) for path in study.get("metrics", {}).get("plugins", [])]

    def available_metrics(self) -> dict[str, Metric]:
        """Give the built-in metrics and those of the study's plug-ins.

        Raises
        ------
        InputError
            If a plug-in is no longer where it was.
        """
        return available_metrics(self.plugins)

    def falling_metrics(self) -> set[str]:
        """Name the metrics of which less is better; a plug-in that is lost cannot say so."""
        try:
            known = self.available_metrics()
        except InputError:
            known = built_in_metrics()
        found = {name: known.get(parse_name(name).name) for name in self.metrics}
        return {name for name, metric in found.items() if metric and not metric.higher_is_better}

    def result(self, analysis: str) -> Result:
        """Read what an analysis found.

        Raises
        ------
        InputError
            If the study did not make the analysis.
        """
        module, _, kind = RESULTS[analysis].partition(":")
        path = self.folder / "evidence" / f"{analysis}.npz"
        result: Result = read_evidence(path, getattr(import_module(f"analyses.{module}"), kind))
        return result

    @property
    def coefficient(self) -> str:
        """Label of the coefficient in which the study says how metrics agree.

        Raises
        ------
        InputError
            If the study did not ask.
        """
        from analyses.correlation import Correlation

        path = self.folder / "evidence" / "correlation.npz"
        return find_coefficient(read_evidence(path, Correlation).coefficient).label

    def data(self) -> str:
        """Say in a sentence which study this is, and what its data are."""
        facts = self.manifest["collection"]
        counts = f"{facts['users']:,} users with {facts['judgements']:,} judgements"
        simulated = " of a simulated world" if "world" in self.manifest["inputs"][0] else ""
        ratings = facts.get("ratings")
        origin = f", from {ratings['ratings']:,} ratings{simulated}" if ratings else ""
        return (
            f"Data: {self.name} ({counts}{origin}); {len(self.systems)} systems; "
            f"study seed {self.manifest['seed']}."
        )

    def caption(self, of_result: str) -> str:
        """Complete the caption of a result, which knows neither study nor data."""
        return f"{of_result} {self.data()}"


def number(row: Row, column: str) -> float:
    """Read a number; NaN where the table has no such column, or nothing in it.

    Examples
    --------
    >>> number({"tau": "0.5", "low": ""}, "tau"), number({"low": ""}, "low"), number({}, "low")
    (0.5, nan, nan)
    """
    return float(row.get(column) or math.nan)
