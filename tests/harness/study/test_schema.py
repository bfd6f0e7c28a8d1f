"""The JSON schema of study files, with which editors complete and check them."""

from pathlib import Path
from typing import Any

import pytest

from analyses.shared.analysis import built_in_analyses
from harness.online.experiment_file import ExperimentStudy
from harness.study.schema import _split_schema, study_schema
from harness.study.study import Study
from qrels import Ratings, Split, splits
from qrels.ratings.splitter import SplitSettings, split
from recommenders import systems


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    return study_schema()


@pytest.fixture(scope="module")
def analyses(schema: dict[str, Any]) -> dict[str, Any]:
    """What the table [analyses] may have."""
    table: dict[str, Any] = schema["properties"]["analyses"]
    assert (table["type"], table["additionalProperties"]) == ("object", False)
    sections: dict[str, Any] = table["properties"]
    return sections


def test_every_section_of_a_study_is_described(schema: dict[str, Any]) -> None:
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["title"] == "Study"
    assert schema["type"] == "object"
    assert set(schema["properties"]) == set(Study.model_fields)


def references(tree: Any) -> set[str]:
    if isinstance(tree, dict):
        own = {tree["$ref"]} if "$ref" in tree else set()
        return own.union(*map(references, tree.values()))
    return set().union(*map(references, tree)) if isinstance(tree, list) else set()


def test_what_the_schema_refers_to_is_defined_in_it(schema: dict[str, Any]) -> None:
    assert references(schema) <= {f"#/$defs/{name}" for name in schema["$defs"]}
    assert "#/$defs/RatingsSection" in references(schema)
    assert "$defs" not in str(schema["$defs"].keys())


def test_every_system_has_its_settings(schema: dict[str, Any]) -> None:
    table = schema["$defs"]["SystemsSection"]["properties"]["settings"]
    assert set(table["properties"]) == set(systems())
    factors = table["properties"]["puresvd"]["properties"]["factors"]
    assert (factors["default"], factors["minimum"]) == (30, 1)


def test_the_schema_knows_the_options_of_every_method(schema: dict[str, Any]) -> None:
    tables = schema["properties"]["split"]["anyOf"]
    described = {table["properties"]["method"].get("const"): table for table in tables}
    assert set(described) == {None, *splits()}
    assert {"train", "test", "folder"} <= described["given"]["properties"].keys()
    assert "fold" in described["k-fold"]["properties"]
    assert described["k-fold"]["title"] == "k-fold"
    assert described["k-fold"]["description"] == splits()["k-fold"].summary


def test_a_split_names_its_method_unless_it_is_the_usual_one(schema: dict[str, Any]) -> None:
    tables = schema["properties"]["split"]["anyOf"]
    required = {table.get("title"): table.get("required") for table in tables}
    assert required == {None: ["method"]} | {
        name: None if name == "user-random" else ["method"] for name in splits()
    }


def test_a_split_of_a_file_may_have_any_option(schema: dict[str, Any]) -> None:
    of_file = schema["properties"]["split"]["anyOf"][0]
    assert "additionalProperties" not in of_file
    assert of_file["properties"] == {"method": {"type": "string", "pattern": r"\.py$"}}


def test_every_analysis_or_group_has_a_section(analyses: dict[str, Any]) -> None:
    sections = {analysis.section for analysis in built_in_analyses().values()}
    assert set(analyses) == {"plugins", "names", *sections}
    names = analyses["names"]
    assert sorted(names["items"]["enum"]) == sorted(sections)
    assert (names["type"], names["uniqueItems"]) == ("array", True)
    assert (analyses["plugins"]["type"], analyses["plugins"]["items"]) == (
        "array",
        {"type": "string"},
    )


def test_a_section_has_the_settings_of_its_analysis(analyses: dict[str, Any]) -> None:
    assert analyses["sparsity"]["properties"]["levels"]["minItems"] == 1
    assert analyses["swaps"]["properties"]["repeats"]["default"] == 200
    assert "description" in analyses["residuals"]


def test_a_group_has_the_settings_of_all_its_members(analyses: dict[str, Any]) -> None:
    group = analyses["sampled"]
    assert (group["type"], group["additionalProperties"]) == ("object", False)
    members = [a for a in built_in_analyses().values() if a.group == "sampled"]
    fields = {field for member in members for field in member.settings.model_fields}
    assert set(group["properties"]) == {"studies", *fields}
    studies = group["properties"]["studies"]
    assert studies["items"]["enum"] == [member.name for member in members]
    assert (studies["type"], studies["uniqueItems"]) == ("array", True)


MINE = '''
from dataclasses import dataclass

from analyses.shared.analysis import AnalysisSettings, analysis
from analyses.shared.result import Result


@dataclass(frozen=True, eq=False)
class Mine(Result):
    """Nothing."""


@analysis("mine", source="-")
def mine(work, settings: AnalysisSettings) -> Mine:
    """Find nothing."""
    return Mine()
'''


class SizedSettings(SplitSettings):
    """Settings of a split, of which one has no default."""

    size: int


@split("sized", source="-")
def sized(ratings: Ratings, settings: SizedSettings, *, seed: int) -> Split:
    """Hold out nothing."""
    return Split(ratings, ratings)


def test_an_option_without_a_default_is_required_beside_the_method() -> None:
    table = _split_schema({"sized": sized}, {})["anyOf"][-1]
    assert table["required"] == ["method", "size"]


def test_an_analysis_of_a_file_is_described(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    sections = study_schema([tmp_path / "mine.py"])["properties"]["analyses"]["properties"]
    assert "mine" in sections
    assert "mine" in sections["names"]["items"]["enum"]


def test_a_study_of_an_experiment_trains_nothing(analyses: dict[str, Any]) -> None:
    schema = study_schema(study_class=ExperimentStudy)
    assert set(schema["properties"]) == set(ExperimentStudy.model_fields)
    assert "SystemsSection" not in schema["$defs"]
    assert schema["properties"]["analyses"]["properties"] == analyses
