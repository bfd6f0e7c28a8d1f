"""The register of systems, and sets of them."""

import pytest

from recommenders import find_system, read_settings, system_set, systems
from runs import InputError


def test_the_set_of_valcarce_has_21_systems_and_all_is_all() -> None:
    assert len(set(system_set("valcarce-2018"))) == 21
    assert set(system_set("valcarce-2018")) < set(system_set("all")) == set(systems())
    with pytest.raises(InputError, match="there is no set of systems 'valcarce'; did you mean"):
        system_set("valcarce")


def test_a_system_is_found_by_its_name() -> None:
    assert find_system("ease").name == "ease"
    with pytest.raises(InputError, match="no system is called 'eas'; did you mean 'ease'"):
        find_system("eas")
    with pytest.raises(InputError, match=r"must be named with the object in the file: a\.py:NAME"):
        find_system("a.py")


def test_settings_that_are_not_given_have_their_defaults() -> None:
    assert read_settings("bprmf", {"factors": 3}).model_dump() == {
        "factors": 3,
        "regularization": 0.01,
        "learning_rate": 0.1,
        "epochs": 60,
    }
    with pytest.raises(InputError, match="system 'bprmf': the setting 'factors' must be at least"):
        read_settings("bprmf", {"factors": 0})
