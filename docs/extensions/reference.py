"""The reference, made from the code when the documentation is built.

Every directive writes reStructuredText from what the code declares: metrics, systems, splits,
analyses, settings, commands and the faces of the packages. Nothing is listed here by hand.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar

import click
from docutils import nodes
from docutils.parsers.rst import directives
from numpydoc.docscrape_sphinx import SphinxDocString
from pydantic import BaseModel
from pygments.lexers.special import TextLexer
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import harness
from analyses.ordering import COEFFICIENTS
from analyses.shared.analysis import built_in_analyses
from analyses.shared.result import figures_of, tables_of, title_of
from harness.cli.main import main
from harness.manual import foreign_names
from harness.metrics.shared.metric import SHARED_OPTIONS, Metric
from harness.metrics.shared.names import print_value
from harness.metrics.shared.option import Option
from harness.metrics.shared.register import built_in_metrics
from harness.study.schema import study_schema
from harness.study.setting_descriptions import (
    SettingDescription,
    SettingsSection,
    describe_settings,
    settings_sections,
)
from harness.trec_eval.measures import MEASURES, TrecMeasure
from recommenders import SystemSpec, systems
from runs.shared.members import Member

GENERATED = "reference/generated"
"""The folder of pages that the build writes, in that of the sources."""


def metric_reference() -> Iterator[str]:
    """Write the table of all metrics, their common options, and the list of their pages."""
    metrics = sorted(built_in_metrics().values(), key=lambda metric: metric.name.casefold())
    pages = [f"/{GENERATED}/metrics/{metric.name}" for metric in metrics]
    rows = []
    for metric, page in zip(metrics, pages, strict=True):
        link = f":doc:`{metric.name} <{page}>`"
        aliases = plain(", ".join(metric.aliases))
        rows.append((link, plain(metric.summary), literal(metric.trec_eval), aliases))
    yield from table(("metric", "", "in trec_eval", "others call it"), rows)
    yield from heading("Options of all metrics", "-")
    yield from option_table(SHARED_OPTIONS)
    yield from page_list(pages)


def page_list(pages: Iterable[str]) -> Iterator[str]:
    """Write a list of pages for the sidebar, which the text does not show."""
    yield from (".. toctree::", "   :hidden:", "")
    for page in pages:
        yield f"   {page}"
    yield ""


def metric_page(metric: Metric) -> Iterator[str]:
    """Write the page of a metric: what it declares, its options, and its documentation.

    The search finds it by the names that other tools use.
    """
    for name in {**dict.fromkeys(metric.aliases), **dict.fromkeys(trec_eval_names(metric))}:
        yield f".. index:: single: {name} (here: {metric.name})"
    yield from heading(metric.name, "=")
    direction = "more" if metric.higher_is_better else "less"
    sentences = [f"From {metric.low:g} to {metric.high:g}, {direction} is better."]
    if metric.trec_eval:
        sentences.append(f"In trec_eval: {literal(metric.trec_eval)}.")
    if not metric.has_level:
        sentences.append("The relevance level plays no part.")
    if metric.aliases:
        sentences.append(f"Others call it {plain(', '.join(metric.aliases))}.")
    yield from (" ".join(sentences), "", f"Source: {plain(metric.source)}.", "")
    if metric.options:
        yield from option_table(metric.options)
    yield from str(SphinxDocString(metric.doc)).splitlines()
    yield ""


def trec_eval_names(metric: Metric) -> list[str]:
    """List the measures of trec_eval that a metric computes."""
    return [
        name
        for name, measure in MEASURES.items()
        if isinstance(measure, TrecMeasure) and measure.metric == metric.name
    ]


def name_reference() -> Iterator[str]:
    """Write the table of the names of measures in other tools."""
    rows = []
    for foreign in foreign_names():
        here = plain(foreign.here) if " offered" in foreign.here else literal(foreign.here)
        rows.append((literal(foreign.name), foreign.tool, here))
    yield from table(("name", "in", "here"), rows)


def option_table(options: Sequence[Option]) -> Iterator[str]:
    """Write options of metrics, as their names take them: ``P(rel=3)``."""
    rows = [
        (
            literal(option.name),
            literal("" if option.default is None else print_value(option.default)),
            plain(f"{option.allowed_values}. {option.description}"),
        )
        for option in options
    ]
    yield from table(("option", "default", "values"), rows)


def system_reference() -> Iterator[str]:
    """Write the table of all systems, and a section for each with its settings."""
    specs = list(systems().values())
    yield from table(
        ("system", "family", ""),
        [(f"`{spec.name}`_", plain(spec.family), plain(spec.summary)) for spec in specs],
    )
    for spec in specs:
        yield from system_section(spec)


def system_section(spec: SystemSpec) -> Iterator[str]:
    """Write where a system comes from, what it computes, and its settings."""
    yield from heading(spec.name, "-")
    trained = "a component of LensKit" if spec.lenskit else "the harness"
    yield f"Family: {plain(spec.family)}. Trained by {trained}. Source: {plain(spec.source)}."
    yield ""
    yield from str(SphinxDocString(inspect.getdoc(spec.make) or "")).splitlines()
    yield ""
    fields = spec.facts()["settings"]
    if fields:
        yield from settings_table(describe_settings({"properties": fields}))


def analysis_reference() -> Iterator[str]:
    """Write the table of all analyses, and what each has: settings, tables and figures."""
    analyses = built_in_analyses()
    rows = [(literal(key), plain(a.summary), plain(a.source)) for key, a in analyses.items()]
    yield from table(("analysis", "", "source"), rows)
    for key, analysis in analyses.items():
        yield from heading(key, "-")
        yield plain(analysis.summary)
        yield "Made by default." if analysis.runs_by_default() else "Made if the study names it."
        if analysis.needs:
            yield f"Needs: {', '.join(need.replace('_', ' ') for need in analysis.needs)}."
        section = analysis.section
        yield from (f"Settings: :ref:`[analyses.{section}] <section-{section}>`.", "")
        tables, figures = tables_of(analysis.result), figures_of(analysis.result)
        shown = [
            ("table", literal(t.name), literal(t.alias or ""), plain(title_of(t))) for t in tables
        ]
        shown += [
            ("figure", literal(f.name), literal(f.short if f.number else ""), plain(title_of(f)))
            for f in figures
        ]
        if shown:
            yield from table(("shown as", "name", "or", ""), shown)


def coefficient_reference() -> Iterator[str]:
    """Write the table of the coefficients that compare orderings."""
    rows = [
        (
            literal(coefficient.name),
            plain(coefficient.label),
            plain(coefficient.ties),
            "yes" if coefficient.symmetric else "no",
        )
        for coefficient in COEFFICIENTS.values()
    ]
    yield from table(("name", "", "ties", "symmetric"), rows)


def settings_reference(path: str, *, name: str = "") -> Iterator[str]:
    """Write the settings of a pydantic model, a section for each of its tables.

    Parameters
    ----------
    path
        Module and class of the model, such as ``harness.study.study.Study``.
    name
        The table of the study file that it is; empty for the whole file.
    """
    module, _, attribute = path.rpartition(".")
    model: type[BaseModel] = getattr(importlib.import_module(module), attribute)
    schema = model.model_json_schema(mode="validation") if name else study_schema(study_class=model)
    for section in settings_sections(schema, name=name):
        yield from section_of(section)


def section_of(section: SettingsSection) -> Iterator[str]:
    """Write the table of settings of a section, which the search finds by their names."""
    label = f"[{section.name}]" if section.name else "At the top of the file"
    for setting in section.settings:
        yield f".. index:: single: {setting.name} (setting of {label})"
    if section.name.startswith("analyses."):
        yield from ("", f".. _section-{section.name.partition('.')[2]}:", "")
    if section.variant:
        yield from heading(f"{label}: {section.variant}", "^")
    else:
        yield from heading(label, "-")
    yield from (plain(section.meaning), "")
    if section.settings:
        yield from settings_table(section.settings)


def settings_table(settings: Iterable[SettingDescription]) -> Iterator[str]:
    """Write settings with what they may be, their defaults, and what they do."""
    rows = []
    for setting in settings:
        default = "needed" if setting.is_required else literal(setting.default)
        rows.append((literal(setting.name), plain(setting.values), default, plain(setting.meaning)))
    yield from table(("setting", "values", "default", ""), rows)


def command_reference() -> Iterator[str]:
    """Write every command of ``harness``, with its options, from what ``--help`` prints."""
    for name, command in commands().items():
        context = click.Context(command, info_name=f"harness {name}")
        usage = " ".join((f"harness {name}", *command.collect_usage_pieces(context)))
        yield from heading(f"harness {name}", "-")
        yield from (".. code-block:: console", "", f"   {usage}", "")
        yield from help_text(command.help or "")
        records = [p.get_help_record(context) for p in command.get_params(context)]
        rows = [(literal(shown), plain(told)) for shown, told in filter(None, records)]
        yield from table(("option", ""), rows)


def commands() -> dict[str, click.Command]:
    """Give the commands of ``harness`` by name."""
    context = click.Context(main)
    found = {name: main.get_command(context, name) for name in main.list_commands(context)}
    return {name: command for name, command in found.items() if command is not None}


def help_text(text: str) -> Iterator[str]:
    """Write the paragraphs of a help text."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        yield from (plain(paragraph), "")


def public_reference() -> Iterator[str]:
    """Write the table of the public names of `harness`, and the list of their pages."""
    pages = [f"/{GENERATED}/harness/{name}" for name in harness.__all__]
    rows = []
    for name, page in zip(harness.__all__, pages, strict=True):
        summary = first_sentence(inspect.getdoc(getattr(harness, name)) or "")
        rows.append((f":doc:`{name} <{page}>`", plain(summary)))
    yield from table(("name", ""), rows)
    yield from page_list(pages)


def public_page(name: str) -> Iterator[str]:
    """Write the page of a public name of `harness`."""
    yield from heading(f"harness.{name}", "=")
    yield from documented("harness", name, getattr(harness, name))


def package_reference(name: str) -> Iterator[str]:
    """Write the face of a package: every public name, with its documentation."""
    module = importlib.import_module(name)
    yield from heading(name, "-")
    yield from (plain(first_sentence(inspect.getdoc(module) or "")), "")
    own = [public for public, value in vars(module).items() if is_own(module, public, value)]
    for public in getattr(module, "__all__", own):
        yield from documented(name, public, getattr(module, public))


def analysis_modules_reference() -> Iterator[str]:
    """Write the faces of the modules that declare an analysis, but for those of groups."""
    for analysis in built_in_analyses().values():
        if analysis.group is None:
            yield from package_reference(analysis.make.__module__)


def is_own(module: Any, name: str, value: Any) -> bool:
    """Say whether a module, or one below it, defines a public name; packages have constants."""
    if name.startswith("_"):
        return False
    if not (inspect.isroutine(value) or inspect.isclass(value) or isinstance(value, Member)):
        return name.isupper() and hasattr(module, "__path__")
    return f"{getattr(value, 'make', value).__module__}.".startswith(f"{module.__name__}.")


def documented(module: str, name: str, value: Any) -> Iterator[str]:
    """Write the directive of autodoc that suits a value."""
    if inspect.isclass(value):
        yield from (f".. autoclass:: {module}.{name}", "   :members:")
        if issubclass(value, BaseModel):
            yield "   :exclude-members: model_config, model_post_init"
        yield ""
    elif inspect.isroutine(value):
        yield from (f".. autofunction:: {module}.{name}", "")
    elif isinstance(value, Member):
        text = str(SphinxDocString(inspect.getdoc(value.make) or ""))
        arguments = ", ".join(inspect.signature(value.make).parameters)
        yield from (f".. py:function:: {module}.{name}({arguments})", "")
        yield from (f"   {line}".rstrip() for line in text.splitlines())
        yield ""
    else:
        yield from (f".. autodata:: {module}.{name}", "   :no-value:", "")


def heading(text: str, line: str) -> Iterator[str]:
    """Write a heading, with empty lines around it."""
    yield from ("", text, line * max(3, len(text)), "")


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Write a table whose cells are reStructuredText of one line each."""
    yield from (".. list-table::", "   :header-rows: 1", "   :widths: auto", "")
    for row in (headings, *rows):
        for number, cell in enumerate(row):
            yield f"   {'* -' if number == 0 else '  -'} {cell}".rstrip()
    yield ""


def plain(text: str) -> str:
    r"""Protect text from being read as markup; words in backticks stay code.

    Examples
    --------
    >>> plain("grades * 2, see `a_b` and x_")
    'grades \\* 2, see ``a_b`` and x\\_'
    """
    parts = re.split(r"`+([^`]+)`+", " ".join(text.split()))
    escaped = [re.sub(r"([*|_\\])", r"\\\1", part) for part in parts[::2]]
    coded = [*(f"``{part}``" for part in parts[1::2]), ""]
    return "".join(before + code for before, code in zip(escaped, coded, strict=True))


def literal(text: str) -> str:
    """Write text as code; nothing stays nothing."""
    return f"``{text}``" if text else ""


def first_sentence(text: str) -> str:
    """Take the first paragraph of a docstring."""
    return text.partition("\n\n")[0]


def without_mail(app: Sphinx, tree: nodes.document) -> None:
    """Take back the links that docutils makes of ``nDCG@10``, which looks like an address."""
    for link in list(tree.findall(nodes.reference)):
        if link.get("refuri", "").startswith("mailto:"):
            link.replace_self(nodes.Text(link.astext()))


class Generated(SphinxDirective):
    """A directive whose content is written by a function, parsed as if it stood on the page."""

    has_content = False
    optional_arguments = 1
    final_argument_whitespace = True
    writer: ClassVar[Callable[..., Iterator[str]]]

    def run(self) -> list[nodes.Node]:
        """Write and parse."""
        text = "\n".join(type(self).writer(*self.arguments, **self.options))
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def directive(writer: Callable[..., Iterator[str]], *options: str) -> type[Generated]:
    """Make a directive of a function that writes."""
    own = dict.fromkeys(options, directives.unchanged)
    facts = {"writer": staticmethod(writer), "option_spec": own}
    return type(writer.__name__, (Generated,), facts)


def with_whole_names(app: Sphinx, doctree: nodes.document) -> None:
    """Refer to types of signatures by the names that ``autodoc_type_aliases`` has for them.

    autodoc applies these itself only where it can evaluate all annotations of a function, and it
    cannot where a type is imported for type checkers alone.
    """
    aliases = app.config.autodoc_type_aliases
    for reference in doctree.findall(pending_xref):
        target = reference["reftarget"]
        if reference["refdomain"] == "py" and target in aliases:
            reference["reftarget"] = aliases[target]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives."""
    for writer in (
        *(metric_reference, system_reference, analysis_reference, analysis_modules_reference),
        *(command_reference, package_reference, coefficient_reference),
        *(name_reference, public_reference),
    ):
        app.add_directive(writer.__name__.replace("_", "-"), directive(writer))
    app.add_directive("settings-reference", directive(settings_reference, "name"))
    app.add_lexer("csv", TextLexer)
    app.connect("doctree-read", without_mail)
    app.connect("doctree-read", with_whole_names)
    return {"parallel_read_safe": True}
