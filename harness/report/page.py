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
from math import ceil
from typing import TYPE_CHECKING, Any

from analyses.shared.analysis import analyses_with_plugins, built_in_analyses
from analyses.shared.number_format import Cell, format_cell
from analyses.shared.result import FigureDeclaration, Result, figures_of, tables_of
from analyses.shared.table import Table, excerpt
from harness.report.answer import Answer
from harness.report.checks import Check, checks_of, input_checks
from harness.report.inline_svg import InlineFigure, inline_figure
from harness.report.study_folder import (
    ANSWER,
    FinishedStudy,
    caption_name,
    figure_name,
    panels_name,
)
from qrels.ratings.splitter import NEWER_TRAINING, OLDER_TESTS
from runs.shared.errors import counted

if TYPE_CHECKING:
    from jinja2 import Environment

FOLDED_RESULTS = ("systems", "means", "coverage")
"""Results whose tables stand at the end of the page, folded."""

MAX_OPEN_ROWS = 12
"""Maximum number of rows of a table that is not folded."""

USUAL_SCALE = 1.9
"""Pixels of a page for a point of a figure: one of both columns (504 points) fills the page."""

SMALLEST_TEXT = 9
SMALLEST_TEXT_WIDE = 11
"""Least height of letters in figures, in pixels; the second in windows of 62rem or more."""

INTERVALS = (
    "Intervals of measures in sentences hold for all report measures at once; those in tables and "
    "figures are for one number. Measures differ significantly if the 95 % interval of their "
    "difference, simultaneous for all that are compared, excludes 0."
)


def render_report(study: FinishedStudy) -> bytes:
    """Render the report of a finished study: one HTML page, as UTF-8, that holds its figures.

    Reads results, figures and the study file from the study folder. Raises InputError if one of
    them cannot be read.
    """
    manifest = study.manifest
    results = dict(study.results())
    answer = results.get(ANSWER)
    input_cautions = input_checks(manifest)
    cautions = [check for check in _cautions_of(study, answer) if check not in input_cautions]
    sections = {key: _section(study, key, result) for key, result in results.items()}
    opening = sections.pop(ANSWER, None)
    # The table of systems that opens the page: their tests if there are some, or their means.
    opening_table = "systems" if "systems" in results else "means"
    system_tables = [
        declaration.make(results[key])
        for key, declaration in study.tables()
        if declaration.name == opening_table
    ]
    methods = [
        [name, manifest.families.get(name, ""), method, source]
        for name, (method, source) in manifest.sources.items()
    ]
    open_sections = [section for key, section in sections.items() if key not in FOLDED_RESULTS]
    folded_sections = [section for key, section in sections.items() if key in FOLDED_RESULTS]
    cpu_seconds = [[part, f"{cost.cpu:.1f}"] for part, cost in manifest.seconds.items()]
    return render_page(
        "report.html",
        manifest=manifest,
        input_cautions=input_cautions,
        answer=_first_screen(answer),
        matrix=_matrix_of(answer),
        opening=opening,
        systems=system_tables,
        cautions=cautions,
        sections=open_sections,
        last=folded_sections,
        frames=study.list_frames(),
        methods=Table("", "Systems", "", ("system", "family", "method", "source"), methods),
        facts=_fact_tables(manifest.collection),
        versions=_plain_table("Versions", list(manifest.versions.items())),
        seconds=_plain_table("CPU seconds", cpu_seconds),
        inputs=json.dumps(manifest.inputs, indent=1),
        study=study.read("study.toml").decode(errors="replace"),
    )


def _first_screen(answer: Result | None) -> dict[str, Any]:
    """Collect what the page says first: the decision, and what explains it; empty without one.

    "poor" is the sentence that even the best measure is poor, or "".
    """
    if not isinstance(answer, Answer) or answer.shown is None:
        return {}
    poor = answer.poor_sentence()
    return {
        "poor": "" if poor is None else poor[0],
        "decision": answer.decision(),
        "key": answer.key_of_matrix(),
        "explanations": answer.leading_explanations(),
        "further_explanations": answer.further_explanations(),
    }


def _matrix_of(answer: Result | None) -> list[Table]:
    """Make the matrix of verdicts; none without an answer or without verdicts."""
    if not isinstance(answer, Answer) or answer.verdicts is None:
        return []
    return [answer.matrix()]


def _section(study: FinishedStudy, key: str, result: Result) -> dict[str, Any]:
    """Collect what the page shows of a result: its first figure and table, then all others, folded.

    ``key`` is that of the result. Curves over cut-offs are no first figure where there is another,
    and a table of more than `MAX_OPEN_ROWS` rows is folded. Returns the names that the template
    uses, such as "figures" (the first, if any) and "more_figures".
    """
    declarations = [
        declaration
        for declaration in figures_of(type(result))
        if declaration.on_page and declaration.applies_to(result)
    ]
    declarations.sort(key=lambda declaration: (declaration.over_cutoffs, declaration.sort_key))
    findings = _study_findings(result)
    figures = []
    for number, declaration in enumerate(declarations):
        # Figures after the first are described by their captions.
        described_by = findings if number == 0 else ()
        figures.append(_figure(study, key, declaration, described_by))
    tables = _tables_of(result, has_figures=bool(figures))
    is_first_table_open = bool(tables) and len(tables[0].rows) <= MAX_OPEN_ROWS
    n_open_tables = 1 if is_first_table_open else 0
    register = analyses_with_plugins(study.plugins)
    title = study.units if key == "users" else key.replace("_", " ")
    question = register[key].question.format(units=study.units) if key in register else ""
    return {
        "key": key,
        "title": title.capitalize(),
        "asked": question,
        "topic": key if key in built_in_analyses() else "",
        "figures": figures[:1],
        "findings": findings,
        "tables": tables[:n_open_tables],
        "more_figures": sorted(figures[1:], key=lambda figure: figure["place"]),
        "more_tables": tables[n_open_tables:],
    }


def _tables_of(result: Result, *, has_figures: bool) -> list[Table]:
    """Make the tables of a result that are not empty.

    The caption of the result stands below its figures alone, if there are some.
    """
    caption = result.caption()
    tables = []
    for declaration in tables_of(type(result)):
        table = declaration.make(result)
        if not table.rows:
            continue
        if has_figures and table.note == caption:
            table = replace(table, note="")
        tables.append(table)
    return tables


def render_page(template: str, **content: Any) -> bytes:
    """Render a template of this package with its style and a security policy, as UTF-8.

    ``template`` is the name of its file, ``content`` the values of its variables; the template
    must name no other variable.
    """
    page_template = _environment().get_template(template)
    page = page_template.render(style=_text_of("page.css"), **content)
    return page.replace("<head>", f"<head>\n{_security_policy(page)}").encode()


@cache
def _environment() -> Environment:
    """Make the environment that compiles the templates of this package and keeps them."""
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


def _security_policy(page: str) -> str:
    """Write the header that allows a page its own styles, scripts and images, and nothing else.

    Styles and scripts in the page are allowed by their sha256; images, if the page holds them.
    """
    sources = {}
    for tag in ("style", "script"):
        texts = re.findall(f"<{tag}>(.*?)</{tag}>", page, flags=re.DOTALL)
        digests = [base64.b64encode(sha256(text.encode()).digest()).decode() for text in texts]
        sources[tag] = " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"
    rules = f"style-src {sources['style']}; script-src {sources['script']}; img-src data:"
    content = f"default-src 'none'; {rules}; base-uri 'none'; form-action 'none'"
    return f'<meta http-equiv="Content-Security-Policy" content="{content}">'


def _text_of(name: str) -> str:
    """Read a file of this package."""
    return files("harness.report").joinpath(name).read_text(encoding="utf-8")


def _figure(
    study: FinishedStudy,
    key: str,
    declaration: FigureDeclaration,
    findings: Sequence[str],
) -> dict[str, Any]:
    """Collect what the page shows of a figure: drawing, title, caption, and files beside it.

    Drawings and caption are read from the study folder; there is a second drawing, "panels", with
    a panel for each curve, if the study has one. Findings describe the drawing for those who cannot
    see it; without any, the caption does. "data" is the name of the table with its numbers, or "".
    """
    title = study.title(declaration)
    # The caption as it was when the figure was drawn.
    caption = study.read(caption_name(declaration)).decode(errors="replace").rstrip()
    description = " ".join([f"{title}.", *(findings or [caption])])
    name = figure_name(declaration)
    drawing = drawing_on_page(
        study.read(name), source=name, prefix=declaration.short, description=description
    )
    panels = []
    name_of_panels = panels_name(declaration)
    if study.path_of(name_of_panels).exists():
        in_panels = drawing_on_page(
            study.read(name_of_panels),
            source=name_of_panels,
            prefix=f"{declaration.short}p",
            description=f"{title}: a panel for each curve",
        )
        panels.append(in_panels)
    return {
        "name": declaration.file_stem,
        "place": declaration.sort_key,
        "title": title,
        "caption": study.caption(caption),
        "drawing": drawing,
        "panels": panels,
        "data": _frame_of(study, key, declaration),
    }


def drawing_on_page(svg: bytes, *, source: str, prefix: str, description: str) -> dict[str, Any]:
    """Make a drawing an element of a page, and choose its widths, in pixels.

    Returns its "markup", and "style", the name of its class, with three widths: that on a page
    which has room, and the least ones by which its smallest text has 9 pixels (`SMALLEST_TEXT`),
    and 11 in a wide window (`SMALLEST_TEXT_WIDE`). ``source`` is the name of its file, ``prefix``
    what ids within begin with, and ``description`` what it shows, for those who do not see it.
    """
    style = f"w-{prefix}"
    figure: InlineFigure = inline_figure(
        svg, source=source, prefix=f"{prefix}-", style=style, description=description
    )
    # Without a text, any width will do.
    points = figure.width / figure.smallest_text
    return {
        "style": style,
        "markup": figure.markup,
        "width": round(figure.width * USUAL_SCALE),
        "least": ceil(points * SMALLEST_TEXT),
        "least_wide": ceil(points * SMALLEST_TEXT_WIDE),
    }


def _frame_of(study: FinishedStudy, key: str, declaration: FigureDeclaration) -> str:
    """Name the table in full with the numbers of a figure; "" if the study has none.

    It is the one with whose name that of the figure begins, or else that of the result, ``key``.
    """
    frames = study.list_frames()
    beginnings = [
        frame
        for frame in frames
        if declaration.name == frame or declaration.name.startswith(f"{frame}_")
    ]
    if beginnings:
        return max(beginnings, key=len)
    return key if key in frames else ""


def _plain_table(title: str, rows: Sequence[Sequence[Cell]]) -> Table:
    return Table(name="", title=title, note="", headings=(), rows=rows)


def _fact_tables(collection: dict[str, Any]) -> list[Table]:
    """Tabulate counts of the judgements, then of the ratings, split and truth.

    ``collection`` has facts of the judgements by name, and dictionaries of the other facts. Each
    table has rows of a fact in words and its value, and no headings.
    """
    facts_by_title: dict[str, dict[str, Any]] = {"Judgements": {}}
    for name, fact in collection.items():
        if isinstance(fact, dict):
            facts_by_title[name.capitalize()] = fact
        else:
            facts_by_title["Judgements"][name] = fact
    tables = []
    for title, facts in facts_by_title.items():
        rows = [
            [FACTS_IN_WORDS.get(name, name.replace("_", " ")), _format_fact(fact)]
            for name, fact in facts.items()
        ]
        tables.append(_plain_table(title, rows))
    return tables


FACTS_IN_WORDS = {
    "threshold": "lowest relevant rating",
    "relevance level": "lowest relevant grade",
    "first": "first rating",
    "last": "last rating",
    "lowest_rating": "lowest rating, or amount",
    "highest_rating": "highest rating, or amount",
    "distinct_ratings": "distinct ratings, or amounts",
    "train_ratings": "pairs of user and item in the training set",
    "test_ratings": "pairs of user and item in the test set",
    "dropped_ratings": "pairs of user and item in neither",
    "gini": "Gini index of the items",
    "cold_users": "test users without training ratings",
    "cold_items": "test items without training ratings",
    OLDER_TESTS: "share of test ratings older than the user's newest training rating",
    NEWER_TRAINING: "share of training ratings newer than a test rating, on average",
}


def _format_fact(value: Any) -> str:
    """Format a fact: whole numbers in full, others with four significant digits."""
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
        """List the answer, or without one the first eight findings."""
        n_findings = counted(len(self.findings), "finding")
        n_cautions = counted(len(self.cautions), "caution")
        title = f"Summary: {n_findings}, {n_cautions}"
        sentences = self.answer or self.findings[:8]
        return "\n".join([title, *sentences, "Next: .answer, .findings, .cautions"])

    def _repr_html_(self) -> str:
        sentences = [*self.answer, *self.findings, *self.cautions]
        return excerpt("Answer, findings, and what to bear in mind:", None, sentences)


def _study_findings(result: Result) -> tuple[str, ...]:
    """List the findings of a result, each once."""
    findings = [finding for finding in result.findings() if finding]
    return tuple(dict.fromkeys(findings))


def summarise(study: FinishedStudy) -> Summary:
    """Collect answer, findings and cautions of a study, each sentence once."""
    results = dict(study.results())
    answer_result = results.pop(ANSWER, None)
    answer = tuple(answer_result.findings()) if answer_result else ()
    findings: dict[str, None] = {}
    for result in results.values():
        findings |= dict.fromkeys(_study_findings(result))
    cautions = [check.sentence for check in _cautions_of(study, answer_result)]
    return Summary(answer, tuple(findings), tuple(cautions))


def _cautions_of(study: FinishedStudy, answer: Result | None) -> list[Check]:
    """Collect the cautions; without an answer, which states its intervals, a note on them."""
    cautions = checks_of(study)
    if answer is None or not answer.findings():
        cautions.append(Check(INTERVALS, topic="intervals"))
    return cautions
