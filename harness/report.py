"""The report: one page that holds its figures and opens from disk, made from the study folder."""

from __future__ import annotations

import base64
import csv
import io
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from harness.catalogue import FIGURES
from runs import InputError

SMALLEST = 1e-12


@dataclass(frozen=True)
class Table:
    """A table as it is shown: headings and cells, numbers rounded."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]


def render_report(folder: Path) -> bytes:
    """Make the report of a study folder.

    Raises
    ------
    InputError
        If the folder holds no finished study.
    """
    import jinja2

    manifest = read_manifest(folder)
    template = files("harness").joinpath("report.html").read_text(encoding="utf-8")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    cutoff = manifest["report cut-off"]
    page = environment.from_string(template).render(
        manifest=manifest,
        means=_means(folder, cutoff),
        coverage=_coverage(folder),
        figures=[_figure(folder, figure) for figure in manifest["figures"]],
        power=_power(folder),
        shares=_shares(folder, cutoff),
        facts=_facts(manifest["collection"]),
        versions=Table("Versions", [], list(manifest["versions"].items())),
        seconds=_seconds(manifest["seconds"]),
        inputs=json.dumps(manifest["inputs"], indent=1),
        study=(folder / "study.toml").read_text(encoding="utf-8"),
    )
    return page.encode()


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


def _figure(folder: Path, figure: dict[str, str]) -> dict[str, Any]:
    image = (folder / "figures" / f"{figure['name']}.svg").read_bytes()
    number, drawing = figure["name"].partition("_")[0], FIGURES[figure["name"]]
    return {
        **figure,
        "number": re.sub(r"figure(\d+)", r"Figure \1", number),
        "title": drawing.title,
        "single": drawing.single,
        "source": f"data:image/svg+xml;base64,{base64.b64encode(image).decode()}",
    }


def _means(folder: Path, cutoff: int) -> Table:
    """Systems by metrics at one cut-off, in the order of the study."""
    rows = [row for row in _read(folder, "means") if int(row["cutoff"]) == cutoff]
    metrics = list(dict.fromkeys(row["metric"] for row in rows))
    means = {(row["system"], row["metric"]): float(row["mean"]) for row in rows}
    systems = dict.fromkeys(row["system"] for row in rows)
    cells = [[s, *(_number(means[s, metric]) for metric in metrics)] for s in systems]
    return Table(f"Mean scores at cut-off {cutoff}", ["system", *metrics], cells)


def _coverage(folder: Path) -> Table:
    headings = ["system", "users without list", "users with short list", "items recommended"]
    names = ["users_without_recommendations", "users_with_short_lists", "items_recommended"]
    cells = [
        [row["system"], *(row[name] for name in names), f"{100 * float(row['judged_share']):.1f} %"]
        for row in _read(folder, "coverage")
    ]
    return Table("What the systems recommend", [*headings, "recommendations judged"], cells)


def _power(folder: Path) -> Table | None:
    """Discriminative power, metrics by cut-offs: Table 3 of the paper."""
    if not (folder / "tables" / "discrimination.csv").is_file():
        return None
    rows = _read(folder, "discrimination")
    cutoffs = sorted({int(row["cutoff"]) for row in rows})
    power = {(row["metric"], int(row["cutoff"])): float(row["dp"]) for row in rows}
    metrics = dict.fromkeys(row["metric"] for row in rows)
    cells = [
        [metric, *(_number(power.get((metric, cutoff), math.nan)) for cutoff in cutoffs)]
        for metric in metrics
    ]
    headings = ["metric", *(f"@{cutoff}" for cutoff in cutoffs)]
    return Table("Discriminative power (DP, unordered pairs)", headings, cells)


def _shares(folder: Path, cutoff: int) -> Table | None:
    if not (folder / "tables" / "discrimination.csv").is_file():
        return None
    rows = [row for row in _read(folder, "discrimination") if int(row["cutoff"]) == cutoff]
    names = ["dp", "dp_ordered", "significant_05", "significant_01", "median_p"]
    cells = [[row["metric"], *(_number(float(row[name])) for name in names)] for row in rows]
    headings = ["metric", "DP", "DP, ordered pairs", "p < .05", "p < .01", "median p"]
    return Table(f"At cut-off {cutoff}", headings, cells)


def _facts(collection: dict[str, Any]) -> list[Table]:
    """Counts of the judgements first, then of what they were made from."""
    groups = {name: facts for name, facts in collection.items() if isinstance(facts, dict)}
    own = {name: fact for name, fact in collection.items() if not isinstance(fact, dict)}
    named = {"Judgements": own} | {name.capitalize(): facts for name, facts in groups.items()}
    return [
        Table(name, [], [[key.replace("_", " "), _fact(value)] for key, value in facts.items()])
        for name, facts in named.items()
    ]


def _seconds(seconds: dict[str, dict[str, float]]) -> Table:
    cells = [[part, f"{cost['wall']:.1f}", f"{cost['cpu']:.1f}"] for part, cost in seconds.items()]
    return Table("Seconds", ["part", "wall", "CPU"], cells)


def _read(folder: Path, table: str) -> list[dict[str, str]]:
    text = (folder / "tables" / f"{table}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(io.StringIO(text)))


def _number(value: float) -> str:
    """Print a score or p-value; exact p-values are good to about 1e-13.

    Examples
    --------
    >>> [_number(value) for value in (0.12345, 0.0, 2e-6, 3e-40, math.nan)]
    ['0.1235', '0.0000', '2.0e-06', '< 1e-12', '–']
    """
    if math.isnan(value):
        return "–"
    if 0 < value < SMALLEST:
        return f"< {SMALLEST:.0e}"
    return f"{value:.4f}" if value == 0 or abs(value) >= 5e-5 else f"{value:.1e}"


def _fact(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
