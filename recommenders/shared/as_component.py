"""Systems as LensKit components."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from recommenders.shared.register import find_system, read_settings, systems
from runs.shared.errors import needed_by

if TYPE_CHECKING:
    from lenskit.pipeline import Component


def component(name: str, settings: Mapping[str, Any] | None = None) -> Component[Any]:
    """Give a system as a LensKit component, for a LensKit pipeline.

    Parameters
    ----------
    name, settings
        As of :func:`recommenders.train`.

    Returns
    -------
    LensKit's own component where the system is one, else ours, as ``RM2Scorer``; not trained.
    """
    spec, checked = find_system(name), read_settings(name, settings or {})
    with needed_by(f"system {name!r}", extra="recommenders"):
        if spec.lenskit is not None:
            return spec.lenskit(checked)
        from recommenders.shared.component import scorer_class

        return scorer_class(name)(checked)


def imported_from_recommenders(name: str) -> Any:
    """Give a class by which a system is a LensKit component, or that of its configuration."""
    is_class = name.endswith(("Scorer", "Config"))  # Looked for, and not any attribute at all.
    specs = {spec.stem: spec for spec in systems().values()} if is_class else {}
    spec = specs.get(name[:-6])
    if spec is None:
        raise AttributeError(f"module 'recommenders' has no attribute {name!r}")
    if name.endswith("Config"):
        return spec.settings
    from recommenders.shared.component import scorer_class

    return scorer_class(spec.name)
