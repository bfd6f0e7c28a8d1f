"""The report: one page that holds its figures and opens from disk, made from the study folder."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from analyses.shared.analysis import analyses_with_plugins
from analyses.shared.result import FigureDeclaration, Result, figures_of, tables_of
from analyses.shared.table import Cell, Table, excerpt, format_cell
from harness.report.answer import Answer
from harness.report.checks import checks_of
from harness.report.study_folder import ANSWER, FinishedStudy, caption_name, figure_name
from qrels.ratings.splitter import NEWER_TRAINING, OLDER_TESTS
from runs.shared.errors import counted

if TYPE_CHECKING:
    from jinja2 import Environment

LAST = ("systems", "means", "coverage")
"""Results whose tables stand at the end of the page, folded."""

MOST_ROWS = 12
"""Rows of a table that is not folded."""

LEAST_SCALE = 0.83
"""Pixels of a page for a point of a figure, at least: text of 8.5 points then has 7 pixels."""

INTERVALS = (
    "Intervals of measures in sentences hold for all report measures at once; those in tables and "
    "figures are for one number. Measures differ significantly if the 95 % interval of their "
    "difference, simultaneous for all that are compared, excludes 0."
)


def render_report(study: FinishedStudy) -> bytes:
    """Make the report of a finished study."""
    manifest, results = study.manifest, dict(study.results())
    summary = summarise(study)
    answered = results.get(ANSWER)
    sections = {key: _section(study, key, result) for key, result in results.items()}
    compared = "systems" if "systems" in results else "means"
    sources = [
        [name, manifest.families.get(name, ""), method, source]
        for name, (method, source) in manifest.sources.items()
    ]
    return render_page(
        "report.html",
        manifest=manifest,
        answer=answered.sentences() if isinstance(answered, Answer) else [],
        opening=sections.pop(ANSWER, None),
        systems=[face.make(results[key]) for key, face in study.tables() if face.name == compared],
        cautions=summary.cautions,
        sections=[section for key, section in sections.items() if key not in LAST],
        last=[section for key, section in sections.items() if key in LAST],
        frames=study.frames,
        methods=Table("", "Systems", "", ("system", "family", "method", "source"), sources),
        facts=_facts(manifest.collection),
        versions=_plain("Versions", list(manifest.versions.items())),
        seconds=_plain(
            "CPU seconds", [[part, f"{cost.cpu:.1f}"] for part, cost in manifest.seconds.items()]
        ),
        inputs=json.dumps(manifest.inputs, indent=1),
        study=study.read("study.toml").decode(errors="replace"),
    )


def _section(study: FinishedStudy, key: str, result: Result) -> dict[str, Any]:
    """Give what the page shows of a result: its first figure and table, then all others, folded.

    Curves over cut-offs are no first figure where there is another, and a long table is folded.
    """
    faces = sorted(
        (face for face in figures_of(type(result)) if face.applies_to(result)),
        key=lambda face: (face.over_cutoffs, face.sort_key),
    )
    findings = _study_findings(result)
    # Others than the first are described by their captions.
    figures = [_figure(study, result, face, () if n else findings) for n, face in enumerate(faces)]
    caption = result.caption()
    tables = [
        # What the caption of a figure says stands below the figure alone.
        replace(table, note="") if figures and table.note == caption else table
        for table in (face.make(result) for face in tables_of(type(result)))
        if table.rows
    ]
    n_open = int(bool(tables) and len(tables[0].rows) <= MOST_ROWS)
    register = analyses_with_plugins(study.plugins)
    return {
        "key": key,
        "title": (study.units if key == "users" else key.replace("_", " ")).capitalize(),
        "asked": register[key].question.format(units=study.units) if key in register else "",
        "figures": figures[:1],
        "findings": findings,
        "tables": tables[:n_open],
        "more_figures": sorted(figures[1:], key=lambda figure: figure["place"]),
        "more_tables": tables[n_open:],
    }


def render_page(template: str, **content: Any) -> bytes:
    """Fill in a template of this package."""
    page = _environment().get_template(template).render(style=_text_of("page.css"), **content)
    return page.replace("<head>", f"<head>\n{_policy(page)}").encode()


@cache
def _environment() -> Environment:
    """Make what keeps the templates of this package, once compiled."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_text_of),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
    )
    environment.filters["shown"] = format_cell
    environment.filters["code"] = lambda text: re.sub("`([^`]+)`", r"<code>\1</code>", escape(text))
    environment.tests["measured"] = lambda cell: isinstance(cell, int | float)
    return environment


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


def _figure(
    study: FinishedStudy, result: Result, face: FigureDeclaration, findings: Sequence[str]
) -> dict[str, Any]:
    svg = study.read(figure_name(face))
    title = study.title(face)
    # What is drawn is known where it was drawn.
    caption = study.read(caption_name(face)).decode(errors="replace").rstrip()
    width = re.search(rb'<svg[^>]{,9999} width="([0-9]{1,6}(?:[.][0-9]{,9})?)pt"', svg)
    return {
        "name": face.file_stem,
        "place": face.sort_key,
        "title": title,
        "alt": " ".join([f"{title}.", *(findings or [caption])]),
        "caption": study.caption(caption),
        "single": face.is_single(result),
        "width": round(float(width[1]) * LEAST_SCALE) if width else 0,
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
        _plain(name, [[IN_WORDS.get(k, k.replace("_", " ")), _fact(v)] for k, v in facts.items()])
        for name, facts in named.items()
    ]


IN_WORDS = {
    "threshold": "lowest relevant rating",
    "relevance level": "lowest relevant grade",
    "first": "first rating",
    "last": "last rating",
    "gini": "Gini index of the items' ratings",
    "cold_users": "test users without training ratings",
    "cold_items": "test items without training ratings",
    OLDER_TESTS: "share of test ratings older than the user's newest training rating",
    NEWER_TRAINING: "share of training ratings newer than a test rating, on average",
}


def _fact(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


@dataclass(frozen=True)
class Summary:
    """The answer of a study, what was found, and what to bear in mind: sentences."""

    answer: tuple[str, ...]
    findings: tuple[str, ...]
    cautions: tuple[str, ...]

    def __repr__(self) -> str:
        sizes = (
            f"{counted(len(self.findings), 'finding')}, {counted(len(self.cautions), 'caution')}"
        )
        texts = self.answer or self.findings[:8]
        return "\n".join([f"Summary: {sizes}", *texts, "Next: .answer, .findings, .cautions"])

    def _repr_html_(self) -> str:
        found = [*self.answer, *self.findings, *self.cautions]
        return excerpt("Answer, findings, and what to bear in mind:", None, found)


def _study_findings(result: Result) -> tuple[str, ...]:
    """Give what a result says of itself, each sentence once."""
    return tuple(dict.fromkeys(filter(None, result.findings())))


def summarise(study: FinishedStudy) -> Summary:
    """Say in plain words what the results of a study show."""
    results = dict(study.results())
    answered = results.pop(ANSWER, None)
    found = (finding for result in results.values() for finding in _study_findings(result))
    answer = tuple(answered.findings()) if answered else ()
    # The answer says what its intervals are.
    cautions = (*(check.sentence for check in checks_of(study)), *[INTERVALS] * (not answer))
    return Summary(answer, tuple(dict.fromkeys(found)), cautions)
