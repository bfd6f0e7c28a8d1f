"""The report: one page that holds its figures and opens from disk, made from the study folder."""

from __future__ import annotations

import base64
import csv
import io
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from runs import InputError

MOST_ROWS = 60


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

    manifest = _manifest(folder)
    template = files("harness").joinpath("report.html").read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    page = environment.from_string(template).render(
        manifest=manifest,
        figures=[_figure(folder, figure) for figure in manifest["figures"]],
        means=_means(folder, manifest["report cut-off"]),
        discrimination=_discrimination(folder, manifest["report cut-off"]),
        facts=_facts(manifest),
    )
    return page.encode()


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / "manifest.json"
    try:
        manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{folder}: no finished study is here (manifest.json is missing).") from None
    except ValueError as error:
        raise InputError(f"{path}: not the manifest of a study ({error}).") from None
    return manifest


def _figure(folder: Path, figure: dict[str, str]) -> dict[str, str]:
    image = (folder / "figures" / f"{figure['name']}.svg").read_bytes()
    data = base64.b64encode(image).decode()
    return {**figure, "source": f"data:image/svg+xml;base64,{data}"}


def _means(folder: Path, cutoff: int) -> Table:
    """Systems by metrics at one cut-off, the best system first."""
    rows = [row for row in _read(folder, "means") if int(row["cutoff"]) == cutoff]
    metrics = list(dict.fromkeys(row["metric"] for row in rows))
    means: dict[str, dict[str, float]] = {}
    for row in rows:
        means.setdefault(row["system"], {})[row["metric"]] = float(row["mean"])
    ranked = sorted(means, key=lambda system: -means[system][metrics[-1]])
    ranked = sorted(means, key=lambda system: -means[system].get("nDCG", means[system][metrics[0]]))
    cells = [[system, *(_number(means[system][name]) for name in metrics)] for system in ranked]
    return Table(f"Mean scores at cut-off {cutoff}", ["system", *metrics], cells)


def _discrimination(folder: Path, cutoff: int) -> Table | None:
    if not (folder / "tables" / "discrimination.csv").is_file():
        return None
    rows = [row for row in _read(folder, "discrimination") if int(row["cutoff"]) == cutoff]
    rows.sort(key=lambda row: float(row["dp"]))
    headings = ["metric", "dp", "dp_ordered", "significant_05", "median_p"]
    cells = [[row["metric"], *(_number(float(row[name])) for name in headings[1:])] for row in rows]
    title = f"Discriminative power at cut-off {cutoff}, the most discriminative first"
    return Table(title, headings, cells)


def _facts(manifest: dict[str, Any]) -> list[Table]:
    tables = []
    for title, facts in manifest["collection"].items():
        if isinstance(facts, dict):
            tables.append(Table(title, ["", ""], [[k, _fact(v)] for k, v in facts.items()]))
    plain = {k: v for k, v in manifest["collection"].items() if not isinstance(v, dict)}
    tables.insert(0, Table("judgements", ["", ""], [[k, _fact(v)] for k, v in plain.items()]))
    return tables


def _read(folder: Path, table: str) -> list[dict[str, str]]:
    text = (folder / "tables" / f"{table}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(io.StringIO(text)))


def _number(value: float) -> str:
    if math.isnan(value):
        return "–"
    return f"{value:.4f}" if value == 0 or abs(value) >= 5e-5 else f"{value:.1e}"


def _fact(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
