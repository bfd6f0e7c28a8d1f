"""Other settings of a study's systems: from their ranges, or from good trials of a search."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.study.other_settings import Trial, good_trials, read_trials, with_other_settings
from harness.study.sections import RepeatSection
from harness.study.study import Study
from recommenders import find_system
from recommenders.shared.system import Choice, Range, SearchDomain, search_space
from runs import InputError
from runs.shared.streams import random_uniforms

SPACE: dict[str, SearchDomain] = {
    "factors": Range(low=5, high=200, log=True),
    "kind": Choice(("a", "b")),
}
HEADING = "trial,factors,kind,score,seconds,finding\n"


def study_of(systems: str, **changes: Any) -> Study:
    text = f'name = "x"\nseed = 5\n[ratings]\nformat = "world"\n[systems]\n{systems}\n'
    return Study.parse(text, source="study.toml", changes=changes)


PURESVD = 'names = ["random", "puresvd"]\n[systems.settings.puresvd]\nfactors = 5\n'


def factors_of(study: Study) -> Any:
    return study.systems.settings["puresvd"]["factors"]


# Draws from ranges


def test_settings_are_drawn_from_their_ranges_by_seed_number_and_system() -> None:
    """The first setting has the first number of the stream of the seed, the system, the number."""
    drawn = {n: factors_of(with_other_settings(study_of(PURESVD), n)) for n in (2, 3, 4)}
    for number, factors in drawn.items():
        (uniform,) = random_uniforms(np.arange(1), 5, "settings", "puresvd", number)
        assert factors == round(5 * (200 / 5) ** uniform)
    assert len(set(drawn.values())) == 3


def test_every_setting_has_a_number_of_its_own() -> None:
    found = with_other_settings(study_of('names = ["wrmf", "random"]'), 2).systems.settings
    places = search_space(find_system("wrmf").settings)
    uniforms = random_uniforms(np.arange(len(places)), 5, "settings", "wrmf", 2).tolist()
    assert len(places) > 1
    assert found["wrmf"] == {
        name: place.value_at(uniform)
        for (name, place), uniform in zip(places.items(), uniforms, strict=True)
    }


def test_settings_without_a_range_stay() -> None:
    text = 'names = ["popularity", "ease"]\n[systems.settings.ease]\nmax_gigabytes = 3.0\n'
    drawn = with_other_settings(study_of(text), 2).systems.settings
    assert {*drawn} == {"ease"}
    assert drawn["ease"]["max_gigabytes"] == 3.0
    assert 10 <= drawn["ease"]["regularization"] <= 5000


def test_a_study_with_other_settings_has_a_folder_of_its_own_and_is_not_repeated() -> None:
    study = study_of(PURESVD, repeat={"settings": 4})
    other = with_other_settings(study, 3)
    assert other.folder == Path("study-x/settings/3")
    assert other.repeat == RepeatSection()
    assert other.seed == 5
    # The study itself is left as it is.
    assert factors_of(study) == 5
    assert study.repeat.settings == 4


# Trials of a search


def trials_in(folder: Path, *rows: str, name: str = "puresvd-abc.csv") -> Path:
    (folder / name).write_text(HEADING + "".join(f"{row}\n" for row in rows))
    return folder / name


def test_trials_are_read_with_their_settings_scores_and_findings(tmp_path: Path) -> None:
    path = trials_in(tmp_path, "0,30,a,0.2,1.5,", "1,9,b,,0.25,no memory")
    assert read_trials(path, SPACE) == [
        Trial(0, {"factors": 30, "kind": "a"}, 0.2, 1.5, ""),
        Trial(1, {"factors": 9, "kind": "b"}, None, 0.25, "no memory"),
    ]


def test_a_trial_has_no_score_until_it_is_known() -> None:
    trial = Trial(3, {})
    assert (trial.score, trial.seconds, trial.finding) == (None, 0.0, "")


@pytest.mark.parametrize("row", ["x,30,a,0.2,1.5,", "0,30,c,0.2,1.5,", "0,30,a,good,1.5,", "0"])
def test_a_table_that_cannot_be_read_is_named(row: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"puresvd-abc\.csv: no trials can be read from it"):
        read_trials(trials_in(tmp_path, row), SPACE)
    with pytest.raises(InputError, match=r"none\.csv: no trials can be read from it"):
        read_trials(tmp_path / "none.csv", SPACE)


def test_a_table_without_the_columns_is_named(tmp_path: Path) -> None:
    (tmp_path / "puresvd-a.csv").write_text("trial,score\n1,2\n")
    with pytest.raises(InputError, match="no trials can be read from it"):
        read_trials(tmp_path / "puresvd-a.csv", SPACE)


def test_trials_from_nine_tenths_of_the_best_score_on_are_good(tmp_path: Path) -> None:
    rows = ["0,30,a,0.9,1,", "1,9,b,1.0,1,", "2,8,a,0.89,1,", "3,7,b,,1,failed"]
    trials_in(tmp_path, *rows)
    assert good_trials(tmp_path, "puresvd", SPACE) == [
        {"factors": 30, "kind": "a"},
        {"factors": 9, "kind": "b"},
    ]


def test_the_newest_table_of_the_system_is_read(tmp_path: Path) -> None:
    newest = trials_in(tmp_path, "0,30,a,0.9,1,", name="puresvd-b.csv")
    older = trials_in(tmp_path, "0,40,a,0.9,1,", name="puresvd-c.csv")
    trials_in(tmp_path, "0,50,a,0.9,1,", name="ease-a.csv")
    os.utime(older, (1, 1))
    os.utime(newest, (2, 2))
    assert good_trials(tmp_path, "puresvd", SPACE) == [{"factors": 30, "kind": "a"}]
    os.utime(older, (3, 3))
    assert good_trials(tmp_path, "puresvd", SPACE) == [{"factors": 40, "kind": "a"}]


def test_a_folder_without_a_score_of_the_system_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no table of trials of 'puresvd' with a score is here"):
        good_trials(tmp_path, "puresvd", SPACE)
    trials_in(tmp_path, "3,7,b,,1,failed")
    with pytest.raises(InputError, match="no table of trials of 'puresvd' with a score is here"):
        good_trials(tmp_path, "puresvd", SPACE)


def test_good_trials_are_drawn_in_place_of_ranges(tmp_path: Path) -> None:
    rows = "".join(f"{n},{5 + n},1.0,1,\n" for n in range(10)) + "10,100,0.5,1,\n"
    (tmp_path / "puresvd-a.csv").write_text("trial,factors,score,seconds,finding\n" + rows)
    study = study_of(PURESVD, repeat={"settings": 9, "trials": tmp_path})
    drawn = {n: factors_of(with_other_settings(study, n)) for n in range(2, 10)}
    for number, factors in drawn.items():
        (uniform,) = random_uniforms(np.arange(1), 5, "settings", "puresvd", number)
        assert factors == 5 + int(10 * uniform)
    assert len(set(drawn.values())) > 3
