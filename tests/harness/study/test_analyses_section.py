"""The table of the analyses of a study file: which are made, and what is refused."""

from pathlib import Path

import pytest

from harness.study.analyses_section import AnalysesSection, usual_analyses
from harness.study.study import Study
from runs import InputError

RATINGS = 'name = "x"\n[ratings]\npath = "ratings.csv"\n'


def parse(text: str, base: Path = Path("/data")) -> Study:
    return Study.parse(text, source="study.toml", base=base, changes={})


def refusal(text: str, base: Path = Path("/data")) -> str:
    with pytest.raises(InputError) as caught:
        parse(text, base)
    return str(caught.value)


USUAL = ["correlation", "discrimination", "popularity", "sparsity", "systems", "users"]


def asked(table: str) -> list[str]:
    return [*parse(RATINGS + table).analyses.settings_by_key]


def test_the_usual_analyses_are_made_where_nothing_is_named() -> None:
    assert sorted(usual_analyses().settings_by_key) == USUAL
    assert sorted(asked("")) == USUAL
    assert sorted(AnalysesSection.model_validate({}).settings_by_key) == USUAL


def test_a_study_with_a_truth_has_the_analysis_of_validity() -> None:
    truth = '[truth]\npath = "true.csv"\n'
    assert sorted(asked(truth)) == [*USUAL, "validity"]
    assert sorted(asked(truth + "[analyses.swaps]\n")) == sorted([*USUAL, "validity", "swaps"])


def test_a_section_adds_its_analysis_to_the_usual_ones() -> None:
    assert sorted(asked("[analyses.swaps]\n")) == sorted([*USUAL, "swaps"])
    assert sorted(asked("[analyses.sparsity]\n")) == USUAL


def test_names_choose_the_analyses_in_their_order_and_sections_set_them() -> None:
    table = '[analyses]\nnames = ["users", "sparsity"]\n[analyses.sparsity]\nsamples = 3\n'
    section = parse(RATINGS + table + "[analyses.swaps]\n").analyses
    assert [*section.settings_by_key] == ["users", "sparsity"]
    assert section.settings_by_key["sparsity"].model_dump()["samples"] == 3
    assert section.settings_by_key["users"] == type(section.settings_by_key["users"])()


def test_what_is_asked_is_given_with_its_settings() -> None:
    section = parse(RATINGS + "[analyses]\nnames = ['swaps']\n[analyses.swaps]\nrepeats = 7\n")
    ((analysis, settings),) = section.analyses.chosen()
    assert analysis.key == "swaps"
    assert settings.repeats == 7


def test_an_analysis_that_is_read_is_not_read_again() -> None:
    section = usual_analyses()
    assert AnalysesSection.model_validate({"settings_by_key": section.settings_by_key}) == section
    assert AnalysesSection(plugins=(), settings_by_key={}).settings_by_key == {}


SAMPLED = ["sampled_estimates", "sampled_sizes", "sampled_ranks"]


def test_a_group_has_all_its_members_or_those_that_are_named() -> None:
    assert asked("[analyses]\nnames = ['sampled']\n") == SAMPLED
    table = "[analyses]\nnames = ['sampled']\n[analyses.sampled]\nstudies = ['ranks', 'sizes']\n"
    assert sorted(asked(table)) == ["sampled_ranks", "sampled_sizes"]


def test_a_member_of_a_group_that_is_on_request_is_made_if_it_is_named() -> None:
    assert "online_click_agreement" in asked("[analyses.online]\nrates = 'a.csv'\n")
    assert "online_arm_rates" not in asked("[analyses.online]\nrates = 'a.csv'\n")
    assert "online_arm_rates" in asked("[analyses.online]\nstudies = ['arm_rates']\n")


def test_a_key_of_a_group_sets_the_members_that_know_it() -> None:
    table = "[analyses.sampled]\nrepeats = 7\nreplace = false\n"
    settings = parse(RATINGS + table).analyses.settings_by_key
    assert settings["sampled_estimates"].model_dump()["repeats"] == 7
    assert settings["sampled_estimates"].model_dump()["replace"] is False
    assert settings["sampled_sizes"].model_dump()["replace"] is False
    assert settings["sampled_ranks"].model_dump() == {}


def test_analyses_are_written_as_the_sections_that_they_are_read_from() -> None:
    table = "[analyses]\nnames = ['sampled', 'swaps']\n[analyses.sampled]\nrepeats = 7\n"
    section = parse(RATINGS + table).analyses
    written = section.model_dump()
    assert written["names"] == ["sampled", "swaps"]
    assert written["swaps"] == {"repeats": 200}
    assert written["sampled"]["studies"] == ["estimates", "sizes", "ranks"]
    assert written["sampled"]["repeats"] == 7
    # Settings that are not set are left out.
    assert "n_max" not in written["sampled"]
    assert "plugins" not in written
    assert AnalysesSection.model_validate(written) == section


MY_ANALYSIS = """
from dataclasses import dataclass
from pathlib import Path
from analyses.shared.analysis import AnalysisSettings, analysis
from analyses.shared.result import Result
from pydantic import Field

class Settings(AnalysisSettings):
    table: Path | None = Field(None, description="A table.")
    best: int = Field(2, ge=2, description="A number.")

@dataclass(frozen=True, eq=False)
class Mine(Result):
    pass

@analysis("mine", source="-")
def mine(work, settings: Settings) -> Mine:
    \"\"\"Make nothing.\"\"\"
    return Mine()
"""


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(MY_ANALYSIS)
    return tmp_path


def test_an_analysis_of_a_file_is_usual_and_its_paths_count_from_the_study(plugin: Path) -> None:
    table = "[analyses]\nplugins = ['mine.py']\n[analyses.mine]\ntable = 'a.csv'\n"
    section = parse(RATINGS + table, plugin).analyses
    assert sorted(section.settings_by_key) == sorted([*USUAL, "mine"])
    assert section.plugins == (plugin / "mine.py",)
    assert section.settings_by_key["mine"].files() == [plugin / "a.csv"]
    written = section.model_dump()
    assert written["plugins"] == [str(plugin / "mine.py")]
    assert "plugins" not in written["names"]
    assert AnalysesSection.model_validate(written) == section


def test_a_setting_of_a_file_that_breaks_its_rule_is_answered_with_its_line(plugin: Path) -> None:
    table = "[analyses]\nplugins = ['mine.py']\n[analyses.mine]\nbest = 1\n"
    finding = "study.toml, line 7: `best` in [analyses.mine] must be at least 2, got 1."
    assert refusal(RATINGS + table, plugin) == finding


@pytest.mark.parametrize(
    ("table", "finding"),
    [
        ("[analyses]\nplugins = ['no.py']\n", "line 5: /data/no.py: the analysis does not exist."),
        ("[analyses]\nsparsity = 3\n", "line 5: `sparsity` in [analyses] must be a table, got 3."),
        (
            "[analyses.sparsty]\n",
            "line 4: there is no `sparsty` in [analyses]; did you mean 'sparsity'?",
        ),
        (
            "[analyses]\nnames = ['sparsty']\n",
            "line 5: `names` in [analyses]: no analysis is called 'sparsty'; did you mean "
            "'sparsity'?",
        ),
        (
            "[analyses]\nnames = 'sparsity'\n",
            "line 5: `names` in [analyses] must be a list of names, got 'sparsity'.",
        ),
        (
            "[analyses]\nnames = ['users', 'swaps', 'users']\n",
            "line 5: `names` in [analyses]: 'users' is duplicated.",
        ),
        (
            "[analyses.sampled]\nstudies = []\n",
            "line 5: `studies` in [analyses.sampled] must not be empty, got [].",
        ),
        (
            "[analyses.sampled]\nstudies = ['rank']\n",
            "line 5: `studies` in [analyses.sampled]: no study is called 'rank'; did you mean "
            "'ranks'?",
        ),
        (
            "[analyses.sampled]\nrepeat = 3\n",
            "line 5: there is no `repeat` in [analyses.sampled]; did you mean 'repeats'?",
        ),
        (
            "[analyses.sparsity]\nsample = 3\n",
            "line 5: there is no `sample` in [analyses.sparsity]; did you mean `samples`?",
        ),
        (
            "[analyses.sparsity]\nsamples = 0\n",
            "line 5: `samples` in [analyses.sparsity] must be at least 1, got 0.",
        ),
    ],
)
def test_a_wrong_table_of_analyses_is_answered_with_its_line(table: str, finding: str) -> None:
    assert refusal(RATINGS + table) == f"study.toml, {finding}"


def test_paths_of_settings_become_absolute(plugin: Path) -> None:
    table = "[analyses]\nplugins = ['mine.py']\nnames = ['mine']\n[analyses.mine]\ntable = 'a'\n"
    section = parse(RATINGS + table, plugin).analyses
    moved = section.with_absolute_paths(lambda path: Path("/elsewhere") / path.name)
    assert moved.settings_by_key["mine"].files() == [Path("/elsewhere/a")]
