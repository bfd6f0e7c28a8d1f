"""The report: one page that holds its figures and opens from disk, made from the study folder."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from analyses.online.agreement.agreement_study import ClickStudy
from analyses.online.agreement.agreement_tables import tables_of
from analyses.shared.table import Cell, Table, shown
from harness.catalogue import FIGURES, number_of
from harness.report.study_folder import FinishedStudy, number
from harness.report.summary import summarise
from harness.report.tables import SAMPLED, clicks_of, tabulate
from harness.sampled.estimates import OF_ORDERS
from runs import InputError

VIEW = re.compile(r'viewBox="([^"]*)"')
POINT = re.compile(r'<use [^>]*\bx="([0-9.-]+)" y="([0-9.-]+)"[^>]*><title>([^<]*)</title>')


@dataclass(frozen=True)
class Overlay:
    """What tells the values of a figure's points: where they are, and what they say.

    Parameters
    ----------
    view
        Coordinates of the figure, as SVG's viewBox.
    points
        x, y and text, which is escaped already.
    """

    view: str
    points: Sequence[tuple[str, str, str]]


def render_report(folder: Path) -> bytes:
    """Make the report of a study folder.

    Raises
    ------
    InputError
        If the folder holds no finished study.
    """
    study = FinishedStudy.at(folder)
    manifest = study.manifest
    clicks = clicks_of(study) if "online" in study.tables else None
    return render_page(
        "report.html",
        manifest=manifest,
        data=study.data(),
        summary=summarise(study),
        means=tabulate(study, "means"),
        coverage=tabulate(study, "coverage"),
        robustness=_present(study, ["areas", "users", "users_power"]),
        agreement=_present(study, ["correlation"]),
        power=_present(study, ["power"]),
        sampled=[_without_caption(table) for table in _present(study, SAMPLED)],
        clicks=clicks.in_words() if clicks else "",
        online=_of_clicks(clicks) if clicks else [],
        shares=_shares(study),
        figures=[_figure(study, figure) for figure in _in_order(manifest["figures"])],
        tables=study.tables,
        facts=_facts(manifest["collection"]),
        versions=_plain("Versions", list(manifest["versions"].items())),
        seconds=_seconds(manifest["seconds"]),
        inputs=json.dumps(manifest["inputs"], indent=1),
        study=(folder / "study.toml").read_text(encoding="utf-8"),
    )


def render_page(template: str, **content: Any) -> bytes:
    """Fill in a template of this package."""
    import jinja2

    text = files("harness").joinpath(template).read_text(encoding="utf-8")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    environment.filters["shown"] = shown
    environment.tests["measured"] = lambda cell: isinstance(cell, int | float)
    style = files("harness").joinpath("page.css").read_text(encoding="utf-8")
    return environment.from_string(text).render(style=style, **content).encode()


def image_source(svg: bytes) -> str:
    """Give an image as an address that holds it."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"


def overlay_of(svg: bytes) -> Overlay:
    """Find the points of a figure that have a value to tell."""
    text = svg.decode()
    view = VIEW.search(text)
    return Overlay(view[1] if view else "", POINT.findall(text))


def _in_order(figures: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """Put figures in the order of their numbers; 10 comes after 9."""
    known = [figure for figure in figures if figure["name"] in FIGURES]
    return sorted(known, key=lambda figure: number_of(figure["name"]))


def _figure(study: FinishedStudy, figure: dict[str, str]) -> dict[str, Any]:
    svg = (study.folder / "figures" / f"{figure['name']}.svg").read_bytes()
    drawing = FIGURES[figure["name"]]
    return {
        "name": figure["name"],
        "number": f"Figure {number_of(figure['name'])}",
        "title": drawing.title,
        "caption": study.caption(figure["caption"]),
        "single": drawing.single,
        "source": image_source(svg),
        "overlay": overlay_of(svg) if drawing.single else None,
    }


def _without_caption(table: Table) -> Table:
    """Leave out what the caption of the figure says already."""
    return replace(table, note=OF_ORDERS if table.name == "sampled_orders" else "")


def _of_clicks(clicks: ClickStudy) -> list[Table]:
    """Tabulate offline measures and clicks; the caption of the first stands below its figure."""
    first, *others = tables_of(clicks)
    return [replace(first, note=""), *others]


def _present(study: FinishedStudy, names: Iterable[str]) -> list[Table]:
    """Make those tables that the study has something for."""
    tables = []
    for name in names:
        with suppress(InputError):
            tables.append(tabulate(study, name))
    return tables


def _shares(study: FinishedStudy) -> Table | None:
    """Tabulate discriminative power in every convention, at the deepest cut-off."""
    headings = {
        "dp": "DP",
        "dp_low": "DP, low",
        "dp_high": "DP, high",
        "dp_ordered": "DP, ordered pairs",
        "significant_05": "p < .05",
        "significant_01": "p < .01",
        "median_p": "median p",
    }
    rows = study.rows("discrimination", cutoff=study.cutoff)
    if not rows:
        return None
    names = [name for name in headings if name in rows[0]]
    return Table(
        name="conventions",
        title=f"At cut-off {study.cutoff}",
        note=study.caption("Shares are of the pairs of systems."),
        headings=["metric", *(headings[name] for name in names)],
        rows=[[row["metric"], *(number(row, name) for name in names)] for row in rows],
        best={1 + names.index("dp"): min},
    )


def _plain(title: str, rows: Sequence[Sequence[Cell]], headings: Sequence[str] = ()) -> Table:
    return Table(name="", title=title, note="", headings=headings, rows=rows, best={})


def _facts(collection: dict[str, Any]) -> list[Table]:
    """Counts of the judgements first, then of what they were made from."""
    groups = {name: facts for name, facts in collection.items() if isinstance(facts, dict)}
    own = {name: fact for name, fact in collection.items() if not isinstance(fact, dict)}
    named = {"Judgements": own} | {name.capitalize(): facts for name, facts in groups.items()}
    return [
        _plain(name, [[key.replace("_", " "), _fact(value)] for key, value in facts.items()])
        for name, facts in named.items()
    ]


def _seconds(seconds: dict[str, dict[str, float]]) -> Table:
    cells = [[part, f"{cost['wall']:.1f}", f"{cost['cpu']:.1f}"] for part, cost in seconds.items()]
    return _plain("Seconds", cells, ["part", "wall", "CPU"])


def _fact(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
