"""Tables that a study folder is given for a test."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from analyses.correlation import Correlation
from analyses.shared.evidence import read_evidence, to_evidence


def write_table(folder: Path, name: str, columns: Mapping[str, Sequence[object]]) -> None:
    """Write a table into a study folder, in place of the one there."""
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
    (folder / "tables" / f"{name}.csv").write_text("\n".join(lines) + "\n")


def write_areas(
    folder: Path,
    analysis: str,
    areas: Mapping[str, float],
    *,
    margin: float | str = "",
    cutoff: int = 20,
) -> None:
    """Write areas of metrics, with intervals of plus and minus a margin, or without."""

    def limit(area: float, sign: int) -> object:
        return margin if isinstance(margin, str) else area + sign * margin

    columns: dict[str, list[object]] = {
        "metric": list(areas),
        "cutoff": [cutoff] * len(areas),
        "area": list(areas.values()),
        "low": [limit(area, -1) for area in areas.values()],
        "high": [limit(area, 1) for area in areas.values()],
    }
    write_table(folder, f"{analysis}_areas", columns)


def choose_coefficient(folder: Path, name: str) -> None:
    """Let a study have chosen another coefficient for the agreement of its metrics."""
    path = folder / "evidence" / "correlation.npz"
    path.write_bytes(to_evidence(replace(read_evidence(path, Correlation), coefficient=name)))
