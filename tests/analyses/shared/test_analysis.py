"""What analyses declare, and their register."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import Field

from analyses.shared.analysis import (
    Analysis,
    AnalysisSettings,
    Need,
    StudyFacts,
    analyses_with_plugins,
    analysis,
    built_in_analyses,
    find_analysis,
    members_of,
    read_user_analysis,
)
from analyses.shared.measure import Measure, Measures
from analyses.shared.result import Result
from analyses.shared.work import OtherWorld, RanksWork
from runs import InputError


class Settings(AnalysisSettings):
    """Settings of which none is required."""

    path: Path | None = None
    n: int = 3


class Required(AnalysisSettings):
    """Settings of which one is required."""

    n: int = Field(description="A number.")


class Counts(Result):
    """A result."""


@analysis("mine", source="by hand")
def mine(work: Any, settings: Settings) -> Counts:
    """Count."""
    assert settings.n > 0
    return Counts()


@analysis("asked", source="by hand", needs=["truth"], on_request=True, question="Which?")
def asked(work: Any, settings: Required) -> Counts:
    """Count what is asked for."""
    assert settings.n == 7
    return Counts()


def test_what_is_declared_is_known() -> None:
    assert (mine.name, mine.source, mine.needs, mine.on_request, mine.question) == (
        *("mine", "by hand", (), False, ""),
    )
    assert (asked.needs, asked.on_request, asked.question) == (("truth",), True, "Which?")
    assert (mine.settings, mine.result, mine.group) == (Settings, Counts, None)


def test_a_result_is_made_with_defaults_or_what_is_set_and_has_the_unit_of_the_work() -> None:
    class OfTopics(RanksWork):
        unit = "topic"

    assert mine(RanksWork(full_ranks={})).unit == "user"
    assert mine(OfTopics(full_ranks={})).unit == "topic"
    assert isinstance(asked(RanksWork(full_ranks={}), Required(n=7)), Counts)


def test_a_member_of_a_group_has_its_section() -> None:
    member: Analysis[Any, Any] = Analysis("one", "by hand", mine.make, group="many")
    assert (member.section, member.key) == ("many", "many_one")
    assert (mine.section, mine.key) == ("mine", "mine")


def test_an_analysis_is_usual_whose_needs_are_made_and_that_requires_nothing() -> None:
    of_truth = analysis("x", source="by hand", needs=["truth"])(mine.make)
    on_request = analysis("x", source="by hand", on_request=True)(mine.make)
    required = analysis("x", source="by hand")(asked.make)
    assert mine.runs_by_default()
    assert mine.runs_by_default([Need.TRUTH])
    assert not of_truth.runs_by_default()
    assert of_truth.runs_by_default([Need.TRUTH, Need.WORLDS])
    assert not on_request.runs_by_default()
    assert not required.runs_by_default()


def test_settings_have_no_needs_worlds_or_files_but_those_that_are_given() -> None:
    settings = Settings(path=Path("a.csv"))
    assert (settings.files(), Settings().files()) == ([Path("a.csv")], [])
    assert (settings.needs, settings.other_worlds(3)) == ((), [])


def test_a_study_of_which_nothing_is_known_has_no_truth_ranks_or_worlds() -> None:
    facts = StudyFacts(("a",), Measures([Measure("P")]), has_training=False)
    facts_with_truth = StudyFacts(("a",), Measures([Measure("P")]), True, True)
    assert (facts.has_truth, facts_with_truth.has_truth) == (False, True)
    with pytest.raises(InputError, match="need training ratings"):
        facts.best_ranks()
    with pytest.raises(InputError, match="begins with a simulated world"):
        facts.require_world(OtherWorld(1.0, 1.0, 3))


@pytest.mark.slow
def test_analyses_are_members_of_the_folder_and_of_its_groups() -> None:
    register = built_in_analyses()
    assert {"sparsity", "validity", "online_arm_rates", "sampled_ranks"} <= register.keys()
    assert register["sparsity"].group is None
    assert register["online_arm_rates"].group == "online"
    assert all(key == member.key for key, member in register.items())
    assert {member.key for member in members_of("sampled")} == {
        key for key, member in register.items() if member.group == "sampled"
    }


def test_an_analysis_is_found_by_its_name() -> None:
    assert find_analysis("sparsity") is built_in_analyses()["sparsity"]
    for name in ("sparsty", "shared", "online_arm_rates", "online"):
        with pytest.raises(InputError, match=f"no analysis is called '{name}'"):
            find_analysis(name)


OF_A_USER = """
from analyses.shared.analysis import AnalysisSettings, analysis
from analyses.shared.result import Result

class Settings(AnalysisSettings):
    pass
"""
DECLARED = """
@analysis("{name}", source="by hand")
def {name}(work, settings: Settings) -> Result:
    return Result()
"""


def written(folder: Path, *names: str) -> Path:
    path = folder / "mine.py"
    path.write_text(OF_A_USER + "".join(DECLARED.format(name=name) for name in names))
    return path


@pytest.mark.slow
def test_analyses_of_a_users_file_are_in_the_register(tmp_path: Path) -> None:
    path = written(tmp_path, "own")
    assert read_user_analysis(path).name == "own"
    assert {*analyses_with_plugins([path])} == {*built_in_analyses(), "own"}
    assert analyses_with_plugins([]) == built_in_analyses()
    assert analyses_with_plugins([], ["nowhere", "sparsity"]) == built_in_analyses()


@pytest.mark.parametrize("names", [(), ("one", "two")])
def test_a_users_file_declares_one_analysis(names: tuple[str, ...], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="one function must be declared with @analysis"):
        read_user_analysis(written(tmp_path, *names))


@pytest.mark.parametrize("name", ["sparsity", "online", "online_arm_rates"])
def test_names_of_analyses_and_groups_are_taken(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"an analysis called '{name}' exists already"):
        read_user_analysis(written(tmp_path, name))


def test_an_installed_analysis_is_asked_for_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "analyses.shared.analysis.load_installed",
        lambda kind, name, of: mine if (kind, name, of) == ("analyses", "mine", Analysis) else None,
    )
    assert analyses_with_plugins([], ["mine"])["mine"] is mine
    assert "mine" not in analyses_with_plugins([])
    assert "other" not in analyses_with_plugins([], ["other"])
