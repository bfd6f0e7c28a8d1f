"""A system as a LensKit component, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from recommenders.shared.register import find_system, read_settings
from recommenders.shared.system import not_installed

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
    LensKit's own component where the system is one, else
    :class:`recommenders.shared.component.SystemScorer`; not trained.

    Raises
    ------
    InputError
        If the name or a setting is wrong, or LensKit is not installed.
    """
    spec, checked = find_system(name), read_settings(name, settings or {})
    try:
        if spec.lenskit is not None:
            return spec.lenskit(checked)
        from recommenders.shared.component import SystemScorer

        return SystemScorer(system=name, settings=checked.model_dump())
    except ModuleNotFoundError as error:
        raise not_installed(name, error) from error
