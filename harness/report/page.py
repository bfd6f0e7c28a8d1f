"""The report: one page that holds its figures and opens from disk, made from the study folder."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib.resources import files
from typing import Any

from analyses.shared.analysis import register_with
from analyses.shared.result import FigureFace, Result, figures_of, tables_of
from analyses.shared.sentences import best_of, deeper_or_shallower, listed, plural
from analyses.shared.table import Cell, Table, excerpt, shown
from harness.report.checks import checks_of
from harness.report.study_folder import ANSWER, FinishedStudy
from harness.report.tables import estimates_of


def render_report(study: FinishedStudy) -> bytes:
    """Make the report of a finished study."""
    manifest = study.manifest
    sections = [_section(study, key, result) for key, result in study.results()]
    return render_page(
        "report.html",
        manifest=manifest,
        data=manifest["data"],
        summary=summarise(study),
        opening=[section for section in sections if section["key"] == ANSWER],
        sections=[section for section in sections if section["key"] != ANSWER],
        frames=study.frames,
        facts=_facts(manifest["collection"]),
        versions=_plain("Versions", list(manifest["versions"].items())),
        seconds=_plain(
            "CPU seconds", [[part, f"{c['cpu']:.1f}"] for part, c in manifest["seconds"].items()]
        ),
        inputs=json.dumps(manifest["inputs"], indent=1),
        study=(study.folder / "study.toml").read_text(encoding="utf-8"),
    )


def _section(study: FinishedStudy, key: str, result: Result) -> dict[str, Any]:
    """Give what the page shows of a result: its figures, then its tables."""
    figures = [
        _figure(study, result, face) for face in figures_of(type(result)) if face.is_of(result)
    ]
    caption = result.caption()
    tables = [face.make(result) for face in tables_of(type(result))]
    return {
        "key": key,
        "title": (plural(study.unit) if key == "users" else key.replace("_", " ")).capitalize(),
        "figures": sorted(figures, key=lambda figure: figure["place"]),
        # What the caption of a figure says stands below the figure alone.
        "tables": [
            replace(table, note="") if figures and table.note == caption else table
            for table in tables
            if table.rows
        ],
    }


def render_page(template: str, **content: Any) -> bytes:
    """Fill in a template of this package."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_text_of),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
    )
    environment.filters["shown"] = shown
    environment.tests["measured"] = lambda cell: isinstance(cell, int | float)
    page = environment.get_template(template).render(style=_text_of("page.css"), **content)
    return page.replace("<head>", f"<head>\n{_policy(page)}", 1).encode()


def _policy(page: str) -> str:
    """Allow a page its own style and script, and images that it holds, and nothing else."""
    allowed = {"style": "", "script": ""}
    for kind in allowed:
        own = re.findall(f"<{kind}>(.*?)</{kind}>", page, flags=re.DOTALL)
        digests = [base64.b64encode(sha256(text.encode()).digest()).decode() for text in own]
        allowed[kind] = " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"
    rules = f"style-src {allowed['style']}; script-src {allowed['script']}; img-src data:"
    content = f"default-src 'none'; {rules}; base-uri 'none'; form-action 'none'"
    return f'<meta http-equiv="Content-Security-Policy" content="{content}">'


def _text_of(name: str) -> str:
    """Read a file of this package."""
    return files("harness.report").joinpath(name).read_text(encoding="utf-8")


def image_source(svg: bytes) -> str:
    """Give an image as an address that holds it."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"


def _figure(study: FinishedStudy, result: Result, face: FigureFace) -> dict[str, Any]:
    svg = (study.folder / "figures" / f"{face.file}.svg").read_bytes()
    title = study.title(face)
    return {
        "name": face.file,
        "place": face.place,
        "title": title if face.number is None else f"Figure {face.number}. {title}",
        "caption": study.caption(face.caption(result)),
        "single": face.is_single(result),
        "source": image_source(svg),
    }


def _plain(title: str, rows: Sequence[Sequence[Cell]]) -> Table:
    return Table(name="", title=title, note="", headings=(), rows=rows)


def _facts(collection: dict[str, Any]) -> list[Table]:
    """Counts of the judgements first, then of what they were made from."""
    groups = {name: facts for name, facts in collection.items() if isinstance(facts, dict)}
    own = {name: fact for name, fact in collection.items() if not isinstance(fact, dict)}
    named = {"Judgements": own} | {name.capitalize(): facts for name, facts in groups.items()}
    return [
        _plain(name, [[key.replace("_", " "), _fact(value)] for key, value in facts.items()])
        for name, facts in named.items()
    ]


def _fact(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


@dataclass(frozen=True)
class Summary:
    """The findings and cautions of a study, in sentences."""

    findings: tuple[str, ...]
    cautions: tuple[str, ...]

    def __repr__(self) -> str:
        sizes = f"{len(self.findings)} findings, {len(self.cautions)} cautions"
        return "\n".join([f"Summary: {sizes}", *self.findings[:8], "Next: .findings, .cautions"])

    def _repr_html_(self) -> str:
        return excerpt("Findings and cautions:", None, [*self.findings, *self.cautions])


def summarise(study: FinishedStudy) -> Summary:
    """Say in plain words what the results of a study show."""
    every = [estimates for _, estimates in estimates_of(study)]
    results = [result for _, result in study.results()]
    found = (
        *map(best_of, every),
        *map(deeper_or_shallower, every),
        *(finding for result in results for finding in result.findings()),
    )
    findings = dict.fromkeys(found)
    register = register_with(study.plugins)
    truly = [key for key in study.kinds if key in register and "truth" in register[key].needs]
    cautions = (
        *(check.sentence for check in checks_of(study)),
        "Intervals (in brackets, 95 %) are of each number alone; what is called beyond noise holds "
        "for all that a sentence compares at once.",
        "Robust and discriminative is not the same as right: whether a measure orders the systems "
        f"rightly is shown by {listed(truly or ['none of these numbers'])}.",
    )
    return Summary(tuple(filter(None, findings)), cautions)
