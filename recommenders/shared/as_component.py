"""Systems as LensKit components: looked up by the name of a system or of a component class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from recommenders.shared.register import find_system, read_settings, systems
from runs.shared.errors import needed_by

if TYPE_CHECKING:
    from lenskit.pipeline import Component


def component(name: str, settings: Mapping[str, Any] | None = None) -> Component[Any]:
    """Make an untrained LensKit component of a system, for a LensKit pipeline.

    Parameters
    ----------
    name
        Name of the system.
    settings
        Settings that differ from the defaults.

    Returns
    -------
    LensKit's own component if the system is one of LensKit's, else one of ours, such as
    ``RM2Scorer``.

    Raises
    ------
    InputError
        If the system or a setting is unknown, a value is not allowed, or LensKit is not installed.
    """
    spec = find_system(name)
    checked_settings = read_settings(name, settings or {})
    with needed_by(f"system {name!r}", extra="recommenders"):
        if spec.lenskit is not None:
            return spec.lenskit(checked_settings)
        from recommenders.shared.component import scorer_class

        return scorer_class(name)(checked_settings)


def component_attribute(name: str) -> Any:
    """Look up an attribute of the package ``recommenders``: ``RM2Scorer`` or ``RM2Config``.

    The first is the class of the LensKit components of a system, the second the class of its
    settings. Raises AttributeError if the name is neither of a system in the register.
    """
    # Other names are refused without importing all systems.
    is_class = name.endswith(("Scorer", "Config"))
    # Stems are names such as RM2.
    spec_by_stem = {spec.stem: spec for spec in systems().values()} if is_class else {}
    stem = name.removesuffix("Scorer").removesuffix("Config")
    spec = spec_by_stem.get(stem)
    if spec is None:
        raise AttributeError(f"module 'recommenders' has no attribute {name!r}")
    if name.endswith("Config"):
        return spec.settings
    from recommenders.shared.component import scorer_class

    return scorer_class(spec.name)
