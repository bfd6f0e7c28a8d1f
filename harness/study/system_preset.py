"""Sets of settings by which systems replicate a paper: a file of `presets` each."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from harness.study.study_file import refused
from recommenders import system_set
from runs import InputError

FOLDER = files("harness.study").joinpath("presets")


def with_preset(section: Mapping[str, Any]) -> dict[str, Any]:
    """Complete a section of systems by the preset that it names; what it says itself holds.

    Settings of systems that are not among its names are left out.

    Examples
    --------
    >>> given = {"preset": "recsys2018", "names": ["rm1"], "settings": {"rm1": {"neighbours": 5}}}
    >>> with_preset(given)["settings"]
    {'rm1': {'background_weight': 0.01, 'neighbours': 5}}
    """
    preset = _read(section["preset"])
    names = section.get("names", preset["names"])
    settings, positives = section.get("settings", {}), section.get("positives", {})
    made = {**section, "names": names}
    if isinstance(settings, dict):
        own = _of_systems(preset["settings"], names)
        given = {name: _over(own.get(name, {}), value) for name, value in settings.items()}
        made["settings"] = own | given
    if isinstance(positives, dict):
        made["positives"] = _of_systems(preset["positives"], names) | positives
    return made


def _over(preset: Mapping[str, Any], given: Any) -> Any:
    """Put given settings over those of a preset; what is no table is refused elsewhere."""
    return {**preset, **given} if isinstance(given, dict) else given


def _read(name: Any) -> dict[str, Any]:
    known = sorted(file.name.removesuffix(".toml") for file in FOLDER.iterdir())
    if name not in known:
        raise refused(f"there is no preset {name!r}; there are {', '.join(known)}", "preset")
    return tomllib.loads(FOLDER.joinpath(f"{name}.toml").read_text(encoding="utf-8"))


def _of_systems(by_name: Mapping[str, Any], names: Any) -> dict[str, Any]:
    """Keep what is said of some systems; of none, if these are nothing that has names."""
    try:
        chosen = system_set(names) if isinstance(names, str) else tuple(names)
    except (InputError, TypeError):
        return {}
    return {name: value for name, value in by_name.items() if name in chosen}
