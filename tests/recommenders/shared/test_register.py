import subprocess
import sys

import pytest

import recommenders
from recommenders import SystemSpec, read_settings, systems
from runs import InputError

every_system = pytest.mark.parametrize("spec", systems().values(), ids=lambda spec: spec.name)


@pytest.mark.slow
def test_listing_and_checking_imports_nothing_slow() -> None:
    code = """
import sys
import recommenders
recommenders.systems()
recommenders.read_settings("ease", {"regularization": 100.0})
print({"lenskit", "torch", "sklearn", "scipy.sparse", "pandas"} & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_the_register_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        systems()["mine"] = systems()["ease"]  # type: ignore[index]


@every_system
def test_every_setting_is_described_and_has_a_default(spec: SystemSpec) -> None:
    for name, field in spec.settings.model_fields.items():
        assert field.description, name
        assert not field.is_required(), name


@every_system
def test_every_system_says_what_it_is(spec: SystemSpec) -> None:
    assert spec.summary.endswith(".")
    assert spec.family
    assert spec.source


def test_an_unknown_system_is_told_the_nearest_name() -> None:
    with pytest.raises(InputError, match="'popularty'; did you mean 'popularity'"):
        recommenders.find_system("popularty")


def test_where_no_name_is_near_all_are_listed() -> None:
    with pytest.raises(InputError, match=r"'zzz'; there are .*ease, .*wrmf\."):
        recommenders.find_system("zzz")


@pytest.mark.parametrize(
    ("name", "settings", "sentence"),
    [
        (
            "ease",
            {"regularisation": 1.0},
            "system 'ease' has no setting 'regularisation'; did you mean 'regularization'?",
        ),
        (
            "ease",
            {"qqq": 1.0},
            "system 'ease' has no setting 'qqq'; there are regularization, max_gigabytes.",
        ),
        ("random", {"seed": 1}, "system 'random' has no setting 'seed'; it has none."),
        (
            "wrmf",
            {"weight": -1},
            "system 'wrmf': the setting 'weight' must be greater than 0, got -1.",
        ),
        (
            "wrmf",
            {"epochs": "ten"},
            "system 'wrmf': the setting 'epochs' must be a valid integer, got 'ten'.",
        ),
        (
            "wrmf",
            {"factors": True},
            "system 'wrmf': the setting 'factors' must be a valid integer, got True.",
        ),
        (
            "svd",
            {"damping": float("nan")},
            "system 'svd': the setting 'damping' must be a finite number, got nan.",
        ),
    ],
)
def test_a_wrong_setting_is_a_sentence(
    name: str, settings: dict[str, object], sentence: str
) -> None:
    with pytest.raises(InputError) as caught:
        read_settings(name, settings)
    assert str(caught.value) == sentence


def test_a_whole_number_may_stand_for_a_real_one() -> None:
    assert read_settings("ease", {"regularization": 100}).model_dump()["regularization"] == 100.0
