"""The register of systems: one system for each module of the folder; and sets of systems."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel

from recommenders.shared.system import SystemSpec
from recommenders.shared.user_system import is_user_system, load_system
from runs.shared.errors import InputError, require_known
from runs.shared.members import find_member
from runs.shared.settings import check_settings


@cache
def systems() -> Mapping[str, SystemSpec]:
    """Return every system that a module of the folder ``recommenders`` declares, by name."""
    return SystemSpec.declared_below("recommenders")


def find_system(name: str) -> SystemSpec:
    """Look up a system by name.

    A name such as ``my_system.py:MyScorer`` is an object in a file of the user. Other names are
    looked up in the folder ``recommenders``, then among the installed plug-ins.

    Raises
    ------
    InputError
        If a file is named without an object, or no system has the name.
    """
    if is_user_system(name):
        return load_system(name)
    if name.endswith(".py"):
        raise InputError(
            f"the system {name!r} must be named with the object in the file: {name}:NAME."
        )
    return find_member("systems", name, systems(), SystemSpec)


def read_settings(name: str, settings: Mapping[str, Any]) -> BaseModel:
    """Check the settings of a system, and complete them with the defaults.

    Raises InputError for an unknown system, an unknown setting, or a value that is not allowed.
    """
    return check_settings(f"system {name!r}", find_system(name).settings, settings)


VALCARCE_2018 = (
    *("random", "popularity", "chi2", "kld", "rsv", "rw", "rm1", "rm2", "lm-wsr-ub", "lm-wsr-ib"),
    *("nncosngbr-ub", "nncosngbr-ib", "slim", "ht", "svd", "puresvd", "bprmf", "wrmf", "lda"),
    *("plsa", "uir-item"),
)
"""The 21 systems of Valcarce, Bellogín, Parapar & Castells (RecSys 2018), section 5."""


def system_set(name: str) -> tuple[str, ...]:
    """Return the names of the systems of a set: "valcarce-2018", or "all" of the register.

    Raises InputError for any other name.
    """
    sets = {"valcarce-2018": VALCARCE_2018, "all": tuple(systems())}
    require_known("there is no set of systems", [name], [*sets])
    return sets[name]
