from pathlib import Path
from typing import Any

import pytest

from harness.study.run import check
from harness.study.study import Study, SystemsSection
from recommenders import system_set
from runs import InputError


def study_of(systems: str) -> Study:
    text = f'name = "x"\n[ratings]\nformat = "world"\n[systems]\n{systems}\n'
    return Study.parse(text, source="study.toml", base=Path(), changes={})


def section(**values: Any) -> SystemsSection:
    return SystemsSection.model_validate({"preset": "recsys2018", **values})


def test_a_preset_is_of_systems_and_settings_that_there_are() -> None:
    study = study_of('preset = "recsys2018"')
    assert study.systems.names == system_set("valcarce-2018")
    assert study.systems.settings["rm1"] == {"background_weight": 0.01}
    check(study)


def test_what_a_study_says_itself_holds() -> None:
    found = section(positives={"slim": 3.0}, settings={"rm1": {"background_weight": 0.5}})
    assert found.positives == {"slim": 3.0}
    assert found.settings["rm1"] == {"background_weight": 0.5}
    assert found.settings["nncosngbr-ib"] == {"denominator": True}
    assert section(positives=3.5).positives == 3.5


def test_systems_that_are_left_out_are_not_set() -> None:
    found = section(names=["rm1", "rw"])
    assert found.settings == {"rm1": {"background_weight": 0.01}}


@pytest.mark.parametrize(
    ("systems", "finding"),
    [
        (
            'preset = "recsys"',
            "study.toml, line 5: `preset` in [systems]: there is no preset 'recsys'; "
            "there are recsys2018.",
        ),
        (
            'preset = "recsys2018"\nnames = "some"',
            "study.toml, line 6: `names` in [systems]: there is no set of systems 'some'; "
            "there are valcarce-2018, all.",
        ),
        (
            'preset = "recsys2018"\n[systems.settings]\nrm1 = 3',
            "study.toml, line 7: `rm1` in [systems.settings] must be a table",
        ),
    ],
)
def test_what_is_no_preset_or_goes_with_none_is_refused(systems: str, finding: str) -> None:
    with pytest.raises(InputError) as caught:
        study_of(systems)
    assert str(caught.value).startswith(finding)
