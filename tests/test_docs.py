"""The pages of the documentation: what they link to, and what the reference takes from the code."""

import doctest
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import harness
from analyses.shared.analysis import built_in_analyses
from analyses.shared.result import figures_of, tables_of
from harness.metrics.shared.metric import Metric
from harness.metrics.shared.register import built_in_metrics
from harness.study.study import Study
from qrels import splits
from recommenders import systems
from runs.shared.members import load_module

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
DEVELOPMENT = (DOCS / "development.md").read_text(encoding="utf-8")
PAGES = [
    ROOT / "README.md",
    *(page for page in sorted(DOCS.rglob("*.md")) if "build" not in page.parts),
]


@pytest.fixture(scope="module")
def reference() -> Any:
    return extension("reference")


def extension(name: str) -> ModuleType:
    for package in ("sphinx", "numpydoc", "myst_parser"):
        pytest.importorskip(package, reason="needs the extra docs", exc_type=ImportError)
    return load_module(DOCS / "extensions" / f"{name}.py", description="extension")


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_links_to_is_there(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text)
    assert [link for link in links if "://" not in link and not (page.parent / link).exists()] == []


def test_every_version_is_cited_and_told_of() -> None:
    cited = re.search(r"(?m)^version: (.*)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    told = re.search(r"(?m)^## ([0-9.]+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert cited is not None
    assert told is not None
    assert cited[1] == told[1]


@pytest.mark.parametrize(
    "name", ["executed", "gallery", "mathml", "notebooks", "pages", "reference"]
)
def test_the_examples_of_an_extension_are_right(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(DOCS / "extensions")
    tried = doctest.testmod(extension(name))
    assert tried.attempted > 0
    assert tried.failed == 0


def test_the_reference_has_every_metric_and_its_options(reference: Any) -> None:
    lines = list(reference.metric_reference())
    for metric in built_in_metrics().values():
        assert f"   /reference/generated/metrics/{metric.name}" in lines
        page = list(reference.metric_page(metric))
        assert metric.name in page
        rows = [*lines, *page]
        assert all(f"   * - ``{option.name}``" in rows for option in metric.all_options)


def test_the_search_finds_a_metric_by_its_names_in_other_tools(reference: Any) -> None:
    page = list(reference.metric_page(built_in_metrics()["AP"]))
    assert {f".. index:: single: {name} (here: AP)" for name in ("map", "map_cut", "MAP")} <= {
        *page
    }


@pytest.mark.parametrize("metric", built_in_metrics().values(), ids=str)
def test_every_metric_has_a_formula_and_an_example(metric: Metric) -> None:
    assert ".. math::" in metric.doc
    assert ">>> " in metric.doc


@pytest.mark.parametrize("name", harness.__all__)
def test_every_public_name_has_a_page_and_an_example(name: str, reference: Any) -> None:
    assert f"   /reference/generated/harness/{name}" in list(reference.public_reference())
    assert ">>> " in (getattr(harness, name).__doc__ or "")


def test_the_reference_has_every_system_and_its_settings(reference: Any) -> None:
    lines = list(reference.system_reference())
    for spec in systems().values():
        assert spec.name in lines
        assert all(f"   * - ``{name}``" in lines for name in spec.settings.model_fields)


def test_the_reference_has_every_section_and_setting_of_the_study_file(reference: Any) -> None:
    lines = list(reference.settings_reference("harness.study.study.Study"))
    assert {"[ratings]", "[analyses.sparsity]", "[analyses.sampled]"} <= set(lines)
    named = set(Study.model_fields) - {"analyses", "split"}
    assert all(f"   * - ``{name}``" in lines or f"[{name}]" in lines for name in named)
    for name, splitter in splits().items():
        assert f"[split]: {name}" in lines
        assert all(f"   * - ``{option}``" in lines for option in splitter.settings.model_fields)
    for analysis in built_in_analyses().values():
        assert f"[analyses.{analysis.section}]" in lines
        assert all(f"   * - ``{name}``" in lines for name in analysis.settings.model_fields)


def test_the_reference_has_every_table_and_figure(reference: Any) -> None:
    lines = list(reference.analysis_reference())
    for analysis in built_in_analyses().values():
        names = [face.name for face in tables_of(analysis.result)]
        names += [face.name for face in figures_of(analysis.result)]
        assert all(f"     - ``{name}``" in lines for name in names)


def test_the_gallery_has_every_figure() -> None:
    page = (DOCS / "gallery.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"(?m)^([\w.-]+): ", page))
    declared = {
        face.short
        for analysis in built_in_analyses().values()
        for face in figures_of(analysis.result)
    }
    others = {"fig0", "repeats", "recall", "mean_ranks_systems", "mean_ranks_measures"}
    assert shown == declared | others


def test_the_reference_has_every_command_and_its_options(reference: Any) -> None:
    text = "\n".join(reference.command_reference())
    for name, command in reference.commands().items():
        assert f"\nharness {name}\n" in text
        shown = [one for one in command.params if not getattr(one, "hidden", False)]
        options = [one.opts[0] for one in shown if one.param_type_name == "option"]
        assert [option for option in options if option not in text] == []


def test_the_page_on_the_code_names_modules_that_are_there() -> None:
    paths = re.findall(r"`((?:analyses|harness|qrels|recommenders|runs)/[\w/]+\.py)`", DEVELOPMENT)
    assert paths
    assert [path for path in paths if not (ROOT / path).is_file()] == []


FOLDERS = re.findall(r"^`([\w/]+)`: ", DEVELOPMENT, re.MULTILINE)


def test_the_page_on_the_code_lists_the_modules_of_folders() -> None:
    assert len(FOLDERS) > 10


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_page_on_the_code_has_a_line_for_every_module_of(folder: str) -> None:
    _, _, section = DEVELOPMENT.partition(f"\n`{folder}`: ")
    table = re.split(r"\n`|\n## ", section)[0]
    modules = {path.name for path in (ROOT / folder).glob("*.py")} - {"__init__.py"}
    rows = [line for line in table.splitlines() if line.startswith("| `")]
    named = [name for row in rows for name in re.findall(r"`(\w+\.py)`", row.split("|")[1])]
    assert sorted(named) == sorted(modules)
