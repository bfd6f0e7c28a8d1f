"""Members of a list: what a file declares of a function by a decorator."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

if TYPE_CHECKING:
    from runs.shared.settings import Section

SettingsT = TypeVar("SettingsT", bound="Section")


@dataclass(frozen=True)
class Member(Generic[SettingsT]):
    """A member of a list, as its file declares it.

    The name is what a study calls it, the source its publication, as a short citation; ``make``
    does the work, and its annotations name the class of its settings.
    """

    name: str
    source: str
    make: Callable[..., Any]

    @property
    def settings(self) -> type[SettingsT]:
        """Class of what it is told."""
        return self._annotated("settings")

    @property
    def summary(self) -> str:
        """First line of the documentation."""
        return (inspect.getdoc(self.make) or "").partition("\n")[0]

    @classmethod
    def declared_in(cls, module: ModuleType) -> list[Self]:
        """Give the members declared in a module, or in a package's modules; not other imports."""
        places = (module.__name__, f"{module.__name__}.")
        return [
            value
            for value in vars(module).values()
            if isinstance(value, cls)
            and (value.make.__module__ == places[0] or value.make.__module__.startswith(places[1]))
        ]

    @classmethod
    def declared_below(cls, folder: str) -> Mapping[str, Self]:
        """Give the members declared in the modules of a folder, by name."""
        found = [member for module in modules_of(folder) for member in cls.declared_in(module)]
        return MappingProxyType({m.name: m for m in sorted(found, key=lambda m: m.name)})

    def _annotated(self, name: str) -> Any:
        """Resolve one annotation alone: others may be imported for type checkers only."""
        annotation = self.make.__annotations__[name]
        if not isinstance(annotation, str):
            return annotation
        return eval(annotation, inspect.unwrap(self.make).__globals__)


def modules_of(folder: str) -> Iterator[ModuleType]:
    """Import the modules of a folder, one after the other; folders in it are passed over.

    The folder is named as in an import, so that a register in it need not import its own package.
    """
    for found in iter_modules(import_module(folder).__path__):
        if not found.ispkg:
            yield import_module(f"{folder}.{found.name}")
