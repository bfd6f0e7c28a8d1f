"""The reference, made from the code when the documentation is built.

Every directive writes reStructuredText from what the code declares: metrics, systems, splits,
analyses, settings, commands and the faces of the packages. Nothing is listed here by hand.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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

from analyses.ordering import COEFFICIENTS
from analyses.shared.analysis import built_in_analyses
from analyses.shared.result import figures_of, tables_of, title_of
from harness.cli.main import main
from harness.metrics.shared.metric import SHARED_OPTIONS, Metric
from harness.metrics.shared.names import print_value
from harness.metrics.shared.option import Option
from harness.metrics.shared.register import built_in_metrics
from harness.study.schema import study_schema
from recommenders import SystemSpec, systems
from runs.shared.members import Member

Schema = Mapping[str, Any]


def metric_reference() -> Iterator[str]:
    """Write the table of all metrics, their common options, and a section for each."""
    metrics = sorted(built_in_metrics().values(), key=lambda metric: metric.name.casefold())
    yield from table(
        ("metric", "", "in trec_eval"),
        [(f"`{m.name}`_", plain(m.summary), literal(m.trec_eval)) for m in metrics],
    )
    yield from heading("Options of all metrics", "-")
    yield from option_table(SHARED_OPTIONS)
    for metric in metrics:
        yield from metric_section(metric)


def metric_section(metric: Metric) -> Iterator[str]:
    """Write what a metric declares, its options, and the documentation of its definition."""
    yield from heading(metric.name, "-")
    better = "more" if metric.higher_is_better else "less"
    told = f"From {metric.low:g} to {metric.high:g}, {better} is better."
    same = f" In trec_eval: {literal(metric.trec_eval)}." if metric.trec_eval else ""
    level = "" if metric.has_level else " The relevance level plays no part."
    others = f" Others call it {plain(', '.join(metric.aliases))}." if metric.aliases else ""
    yield from (f"{told}{same}{level}{others}", "", f"Source: {plain(metric.source)}.", "")
    if metric.options:
        yield from option_table(metric.options)
    yield from str(SphinxDocString(metric.doc)).splitlines()
    yield ""


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
        yield from settings_table({"properties": fields})


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
    yield from section_of(schema, schema.get("$defs", {}), name)


def section_of(schema: Schema, known: Mapping[str, Schema], name: str) -> Iterator[str]:
    """Write a table of settings and, below it, those nested in it, or its variants."""
    fields = schema.get("properties", {})
    found = {key: table_in(field, known) for key, field in fields.items()}
    # The settings of each system are on the page of systems.
    nested = {k: inner for k, inner in found.items() if inner is not None and k != "settings"}
    if name.startswith("analyses."):
        yield from (f".. _section-{name.partition('.')[2]}:", "")
    yield from heading(f"[{name}]" if name else "At the top of the file", "-")
    yield from (plain(first_sentence(schema.get("description", ""))), "")
    simple = {key: field for key, field in fields.items() if key not in nested}
    if simple:
        required = schema.get("required", ())
        yield from settings_table({"properties": simple, "required": required}, known)
    for key, (inner, has_names) in nested.items():
        label = f"{name}.{key}" if name else key
        variants = [one for one in inner.get("anyOf", ()) if "title" in one]
        for variant in variants:
            yield from heading(f"[{label}]: {variant['title']}", "^")
            yield from (plain(variant["description"]), "")
            yield from settings_table(variant, known)
        if not variants:
            yield from section_of(inner, known, f"{label}.NAME" if has_names else label)


def table_in(field: Schema, known: Mapping[str, Schema]) -> tuple[Schema, bool] | None:
    """Find the table of settings that a field holds, and whether there is one for every name."""
    choices = [resolved(one, known) for one in field.get("anyOf", field.get("allOf", (field,)))]
    if sum("properties" in inner for inner in choices) > 1:
        return field, False
    for inner in choices:
        if "properties" in inner:
            return inner, False
        named = inner.get("additionalProperties")
        if isinstance(named, Mapping) and "properties" in resolved(named, known):
            return resolved(named, known), True
    return None


def resolved(schema: Schema, known: Mapping[str, Schema]) -> Schema:
    """Follow a reference to where a schema is defined."""
    return known[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def settings_table(schema: Schema, known: Mapping[str, Schema] | None = None) -> Iterator[str]:
    """Write settings with what they may be, their defaults, and what they do."""
    required = schema.get("required", ())
    rows = [
        (
            literal(name),
            plain(kind(field, known or {})),
            "needed" if name in required else default_of(field),
            plain(field.get("description", "")),
        )
        for name, field in schema["properties"].items()
    ]
    yield from table(("setting", "values", "default", ""), rows)


def default_of(field: Schema) -> str:
    """Write a default as a study file would; nothing where there is none.

    Examples
    --------
    >>> default_of({"default": True}), default_of({"default": [1, 2]}), default_of({})
    ('``true``', '``[1, 2]``', '')
    """
    value = field.get("default")
    text = "" if value is None else json.dumps(value)
    return literal(text if len(text) < LONGEST else f"{text[:LONGEST]} ...")


LONGEST = 60
"""Characters of a default that are shown."""

MOST = 2**40
"""A bound that says no more than what a number can hold."""

BOUNDS = {
    "minimum": "from {}",
    "exclusiveMinimum": "above {}",
    "maximum": "to {}",
    "exclusiveMaximum": "below {}",
}


def kind(field: Schema, known: Mapping[str, Schema]) -> str:
    """Say in words what a field may be.

    Examples
    --------
    >>> kind({"type": "integer", "minimum": 1, "maximum": 5}, {})
    'integer from 1 to 5'
    >>> kind({"anyOf": [{"enum": ["drop", "keep"]}, {"type": "null"}]}, {})
    '`drop` or `keep`'
    >>> kind({"type": "array", "items": {"type": "number", "exclusiveMinimum": 0}}, {})
    'array, each: number above 0'
    """
    field = {**resolved(field, known), **field}
    if "anyOf" in field:
        choices = [choice for choice in field["anyOf"] if choice.get("type") != "null"]
        return " or ".join(kind(choice, known) for choice in choices)
    if "const" in field or "enum" in field:
        choices = [f"`{choice}`" for choice in field.get("enum", [field.get("const")])]
        return " or ".join(filter(None, (", ".join(choices[:-1]), choices[-1])))
    words = "path" if field.get("format") == "path" else field.get("type", "text")
    given = {key: field[key] for key in BOUNDS if abs(field.get(key, MOST)) < MOST}
    bounds = [BOUNDS[key].format(f"{bound:g}") for key, bound in given.items()]
    whole = " ".join((words, *bounds))
    each = kind(field["items"], known) if field.get("items") else ""
    return f"{whole}, each: {each}" if each not in ("", "string") else whole


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
    ):
        app.add_directive(writer.__name__.replace("_", "-"), directive(writer))
    app.add_directive("settings-reference", directive(settings_reference, "name"))
    app.add_lexer("csv", TextLexer)
    app.connect("doctree-read", without_mail)
    app.connect("doctree-read", with_whole_names)
    return {"parallel_read_safe": True}
