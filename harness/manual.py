"""The manual: what explains a name, from the declarations of the code and from the pages."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from analyses.ordering import COEFFICIENTS
from analyses.shared.analysis import Analysis, built_in_analyses
from analyses.shared.result import figures_of, tables_of, title_of
from harness.metrics.shared.metric import Metric
from harness.metrics.shared.register import built_in_metrics, harness_name, translate_name
from harness.study.schema import study_schema
from harness.study.setting_descriptions import (
    SettingDescription,
    SettingsSection,
    describe_settings,
    settings_sections,
)
from harness.trec_eval.measures import LEFT_OUT, MEASURES, NICKNAMES, Column, TrecMeasure
from qrels import splits
from recommenders.shared.register import systems
from recommenders.shared.system import SystemSpec
from runs import InputError
from runs.shared.errors import suggestion

MAX_PAGES = 3
"""Maximum number of pages that are named below an explanation."""


@dataclass(frozen=True)
class Explanation:
    """What explains one name.

    Parameters
    ----------
    kind
        What it explains: "analysis", "metric", "page", ...
    title
        Its heading, such as "sparsity: an analysis".
    names
        Names by which it is found; the first one is its own.
    text
        Markdown without a title.
    """

    kind: str
    title: str
    names: tuple[str, ...]
    text: str


class ForeignName(NamedTuple):
    """A name of a measure in another tool: the name, the tool, and what the harness calls it."""

    name: str
    tool: str
    here: str


def explain(name: str) -> list[Explanation]:
    """Look up what explains a name: of a metric, an analysis, a setting, a section of a page.

    Case, blanks, hyphens, underscores, brackets and a plural do not count; the cut-off of a measure
    does not, either. Nothing is returned for a name that nothing has.
    """
    names = {_folded(name), _folded(_measure_without_depth(name))}
    return [
        explanation
        for explanation in all_explanations()
        if not names.isdisjoint(map(_folded, (explanation.title, *explanation.names)))
    ]


def find_mentions(phrase: str) -> list[Explanation]:
    """Look up the explanations whose names contain a phrase, or else those whose text does.

    Raises
    ------
    InputError
        If nothing contains the phrase; it suggests a similar name.
    """
    explanations = all_explanations()
    folded_phrase = _folded(phrase)
    in_names = [
        explanation
        for explanation in explanations
        if any(folded_phrase in _folded(name) for name in explanation.names)
    ]
    if in_names and folded_phrase:
        return in_names
    words = " ".join(phrase.split()).casefold()
    in_texts = [
        explanation
        for explanation in explanations
        if words in " ".join(explanation.text.split()).casefold()
    ]
    if in_texts and words:
        return in_texts
    known_names = [name for explanation in explanations for name in explanation.names]
    hint = suggestion(phrase, known_names)
    # The list of all names would be too long.
    if not hint.startswith("did you mean"):
        hint = "`harness docs` lists names."
    raise InputError(f"nothing explains {phrase!r}; {hint}")


def _measure_without_depth(name: str) -> str:
    """Translate the name of a measure, also that of another tool, into that of our metric.

    The cut-off is left out. A name of trec_eval that has no metric, and any other name, is returned
    as it is.
    """
    base = name.strip().partition(".")[0]
    measure = MEASURES.get(base)
    if isinstance(measure, TrecMeasure):
        return measure.metric
    try:
        translated = translate_name(name, built_in_metrics())
    except InputError:
        return name
    return re.split(r"[(@]", translated)[0]


def _folded(name: str) -> str:
    """Fold a name for comparisons: lower case, without blanks, hyphens, brackets, and a last s."""
    return re.sub(r"[\s_\-\[\]`]", "", name).casefold().removesuffix("s")


@cache
def all_explanations() -> tuple[Explanation, ...]:
    """List all explanations: of analyses, metrics, systems, splits, coefficients, pages, settings.

    Pages are the guides and the methods; each of their sections is explained by itself.
    """
    return tuple(_all_explanations())


def _all_explanations() -> Iterator[Explanation]:
    """Make the explanations one after the other; they do not change while the program runs."""
    pages = [Page.read(path) for path in _page_files()]
    for key, analysis in built_in_analyses().items():
        yield _explain_analysis(key, analysis, pages)
    for metric in built_in_metrics().values():
        yield _explain_metric(metric, pages)
    for spec in systems().values():
        yield _explain_system(spec)
    for name, splitter in splits().items():
        settings = describe_settings(splitter.settings.model_json_schema())
        text = _paragraphs(
            inspect.getdoc(splitter.make) or "", f"Source: {splitter.source}.", *_listed(settings)
        )
        yield Explanation("split", f"{name}: a split", (name,), text)
    for name, coefficient in COEFFICIENTS.items():
        text = f"{coefficient.label}. Ties: {coefficient.ties}."
        yield Explanation("coefficient", f"{name}: a coefficient", (name,), text)
    for page in pages:
        yield from page.explanations()
    yield from _explain_foreign_measures()
    yield from _explain_settings()


def _explain_analysis(key: str, analysis: Analysis[Any, Any], pages: Sequence[Page]) -> Explanation:
    """Explain an analysis: its question, what it does, its settings, tables and figures."""
    schema = analysis.settings.model_json_schema()
    tables = [
        f"`{declaration.name}`: {title_of(declaration)}"
        for declaration in tables_of(analysis.result)
    ]
    figures = [
        f"`{declaration.short}`: {title_of(declaration)}"
        for declaration in figures_of(analysis.result)
    ]
    text = _paragraphs(
        analysis.question.format(units="users"),
        analysis.summary,
        f"Source: {analysis.source}.",
        f"Settings are in the section `[analyses.{analysis.section}]`.",
        *_listed(describe_settings(schema)),
        *_titled_list("Tables (`harness table STUDY NAME`)", tables),
        *_titled_list("Figures (`harness figure STUDY NAME`)", figures),
        *_pages_about(f"`{key}`", pages),
    )
    return Explanation("analysis", f"{key}: an analysis", (key,), text)


def _explain_metric(metric: Metric, pages: Sequence[Page]) -> Explanation:
    """Explain a metric: its facts, its options and the documentation of its definition."""
    options = [f"`{option.name}`: {option.help}." for option in metric.all_options]
    sentences = metric.facts()
    if metric.aliases:
        sentences.append(f"Others call it {', '.join(metric.aliases)}.")
    text = _paragraphs(
        f"```text\n{metric.doc}\n```",
        *sentences,
        *_titled_list("Options", options),
        *_pages_about(metric.name, pages),
    )
    names = (metric.name, *metric.aliases)
    return Explanation("metric", f"{metric.name}: a metric", names, text)


def _explain_system(spec: SystemSpec) -> Explanation:
    """Explain a system: what it computes, its source and its settings."""
    settings = describe_settings({"properties": spec.facts()["settings"]})
    text = _paragraphs(
        f"```text\n{inspect.getdoc(spec.make) or ''}\n```",
        f"Family: {spec.family}. Source: {spec.source}.",
        *_listed(settings),
    )
    return Explanation("system", f"{spec.name}: a system", (spec.name,), text)


def _explain_foreign_measures() -> Iterator[Explanation]:
    """Explain the measures of trec_eval for which there is no metric."""
    for foreign in foreign_names():
        if foreign.tool == "trec_eval" and foreign.here.startswith("harness evaluate"):
            text = f"`{foreign.here}` prints it as trec_eval does."
            title = f"{foreign.name}: a measure of trec_eval"
            yield Explanation("measure of trec_eval", title, (foreign.name,), text)


def _explain_settings() -> Iterator[Explanation]:
    """Explain the settings of a study file: one explanation for all settings of one name."""
    lines_by_name: dict[str, list[str]] = {}
    for section in settings_sections(study_schema()):
        # Methods of splits are explained by themselves.
        if not section.variant:
            yield _explain_section(section)
        for setting in section.settings:
            line = f"`[{section.name}]` {_setting_line(setting)}"
            lines_by_name.setdefault(setting.name, []).append(line)
            lines_by_name.setdefault(f"{section.name}.{setting.name}", []).append(line)
    for name, lines in lines_by_name.items():
        text = "\n".join(f"- {line}" for line in lines)
        yield Explanation("setting", f"{name}: a setting", (name,), text)


def _explain_section(section: SettingsSection) -> Explanation:
    """Explain a section of the study file by its settings."""
    label = section.name or "top of the file"
    title = f"[{label}]: a section of the study file"
    text = _paragraphs(section.meaning, *_listed(section.settings))
    return Explanation("section of the study file", title, (f"[{label}]",), text)


def _setting_line(setting: SettingDescription) -> str:
    """Write a setting, what it may be, its default and what it does as one line."""
    default = "needed" if setting.is_required else f"default: {setting.default or 'none'}"
    return f"`{setting.name}` ({setting.values}; {default}): {setting.meaning}"


def _listed(settings: Iterable[SettingDescription]) -> list[str]:
    """Write settings as a list of Markdown; no text without any."""
    return _titled_list("Settings", [_setting_line(setting) for setting in settings])


def _titled_list(title: str, items: Sequence[str]) -> list[str]:
    """Write a list of Markdown below a title; no text without items."""
    return ["\n".join([f"{title}:", "", *(f"- {item}" for item in items)])] if items else []


def _paragraphs(*texts: str) -> str:
    """Join texts as paragraphs; empty ones are left out."""
    return "\n\n".join(filter(None, texts))


def _pages_about(text: str, pages: Sequence[Page]) -> list[str]:
    """Name the pages that mention a text most often; no text without any."""
    pattern = re.compile(rf"(?<![\w-]){re.escape(text)}(?![\w-])")
    counts = [(len(pattern.findall(page.text)), page) for page in pages]
    mentioning = [(count, page) for count, page in counts if count > 0]
    mentioning.sort(key=lambda count_and_page: -count_and_page[0])
    names = [f"`harness docs {page.path.stem}`" for _, page in mentioning[:MAX_PAGES]]
    return [f"Pages about it: {', '.join(names)}."] if names else []


def foreign_names() -> list[ForeignName]:
    """List the names of measures in other tools, with what the harness calls them.

    Those of trec_eval are all that it prints; those of ir_measures are the measures that it knows
    and that are called otherwise here; other names are aliases of metrics.
    """
    import ir_measures

    metrics = built_in_metrics()
    names: list[ForeignName] = []
    for name, measure in MEASURES.items():
        names.append(ForeignName(name, "trec_eval", _name_of_trec_measure(name, measure)))
    for name in NICKNAMES:
        names.append(ForeignName(name, "trec_eval", f"harness evaluate -m {name}"))
    for name, reason in LEFT_OUT.items():
        here = harness_name(name, metrics) or f"not offered: {reason}"
        names.append(ForeignName(name, "trec_eval", here))
    for name in sorted(ir_measures.measures.registry):
        if name.isascii():
            here = translate_name(name, metrics)
            is_known = here in metrics
            names.append(
                ForeignName(name, "ir_measures", here if is_known else f"ir_measures:{name}")
            )
    for metric in metrics.values():
        for alias in metric.aliases:
            names.append(ForeignName(alias, "papers and other tools", metric.name))
    return [foreign for foreign in names if foreign.name != foreign.here]


def _name_of_trec_measure(name: str, measure: Column | TrecMeasure) -> str:
    """Write what the harness calls a measure of trec_eval: our metric, or the command for it."""
    if isinstance(measure, Column):
        return f"harness evaluate -m {name}"
    if measure.option:
        return f"{measure.metric}({measure.option}=...)"
    if measure.parameters:
        return f"{measure.metric}@n"
    return f"{measure.metric}(mean=geometric)" if name.startswith("gm_") else measure.metric


@dataclass(frozen=True)
class Page:
    """A page of the documentation: where it is, and its Markdown."""

    path: Path
    text: str

    @classmethod
    def read(cls, path: Path) -> Page:
        """Read a page; links become their texts, commands that the build executes plain blocks."""
        text = path.read_text(encoding="utf-8")
        text = re.sub(r"```\{executed\}\n(?::[^\n]*\n)*", "```console\n", text)
        text = re.sub(r"\{download\}`([^`<]+) <[^`]*>`", r"`\1`", text)
        text = re.sub(r"!\[[^\]]*\]\([^)]*\)\n*", "", text)
        text = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", text)
        return cls(path, text)

    def explanations(self) -> Iterator[Explanation]:
        """Explain the page, its sections, and the terms that begin its paragraphs in bold.

        The page itself is the text before its first section, and a list of its sections.
        """
        (_, title, introduction), *sections = self._sections()
        headings = _titled_list("Sections", [heading for _, heading, _ in sections])
        stem = self.path.stem
        names = (stem, f"{self.path.parent.name}/{stem}", title, *title.split(" and "))
        text = _paragraphs(introduction, *headings)
        yield Explanation("page", f"{title} ({stem})", names, text)
        for number, (level, heading, body) in enumerate(sections):
            parts = [body]
            for inner_level, inner_heading, inner_body in sections[number + 1 :]:
                if inner_level <= level:
                    break
                parts += [f"{'#' * inner_level} {inner_heading}", inner_body]
            text = _paragraphs(*parts)
            yield Explanation("heading", f"{title}: {heading}", (heading,), text)
        for term, paragraph in self._terms():
            yield Explanation("term", f"{title}: {term}", (term,), paragraph)

    def _sections(self) -> list[tuple[int, str, str]]:
        """Split the page at its headings into level, heading and text; code has no headings."""
        sections: list[tuple[int, str, list[str]]] = []
        is_code = False
        for line in self.text.splitlines():
            if line.startswith("```"):
                is_code = not is_code
            heading = None if is_code else re.fullmatch(r"(#+) (.+)", line)
            if heading is None:
                sections[-1][2].append(line)
            else:
                sections.append((len(heading[1]), heading[2], []))
        return [(level, heading, "\n".join(lines).strip()) for level, heading, lines in sections]

    def _terms(self) -> Iterator[tuple[str, str]]:
        """Find the paragraphs and list items that begin with a term in bold."""
        for paragraph in re.split(r"\n\n|\n(?=- )", self.text):
            term = re.match(r"(?:- )?\*\*([^*]+?)\.?\*\*", paragraph)
            if term is not None:
                yield term[1], paragraph


def _page_files() -> list[Path]:
    """List the files of the guides and methods: in an installed package, or in the repository."""
    package = Path(__file__).parent
    installed = package / "pages"
    folder = installed if installed.is_dir() else package.parent / "docs"
    return [*sorted(folder.glob("guides/*.md")), *sorted(folder.glob("methods/*.md"))]
