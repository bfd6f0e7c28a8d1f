"""Members of a list: functions that a file declares by a decorator; files of users."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.machinery import SourceFileLoader
from pathlib import Path
from pkgutil import iter_modules
from threading import RLock
from traceback import extract_tb
from types import CodeType, MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Self, TypeVar

from runs.shared.errors import InputError, suggestion, with_article
from runs.shared.user_modules import PLUGIN, modules_as_they_are, put_on_path

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from runs.shared.settings import Section

SettingsT = TypeVar("SettingsT", bound="Section")
MemberT = TypeVar("MemberT")

GROUP = "metric_robustness."
"""Entry points of installed plug-ins are in the groups of this name with a kind behind."""


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
        own = module.__name__
        members = [value for value in vars(module).values() if isinstance(value, cls)]
        return [m for m in members if f"{m.make.__module__}.".startswith(f"{own}.")]

    @classmethod
    def declared_below(cls, folder: str) -> Mapping[str, Self]:
        """Give the members declared in the modules of a folder, by name."""
        found = [member for module in import_modules(folder) for member in cls.declared_in(module)]
        return MappingProxyType({m.name: m for m in sorted(found, key=lambda m: m.name)})

    def _annotated(self, name: str) -> Any:
        """Resolve one annotation alone: others may be imported for type checkers only."""
        annotation = self.make.__annotations__[name]
        if not isinstance(annotation, str):
            return annotation
        return eval(annotation, inspect.unwrap(self.make).__globals__)


def import_modules(folder: str) -> Iterator[ModuleType]:
    """Import the modules of a folder, one after the other; folders in it are passed over.

    The folder is named as in an import, so that a register in it need not import its own package.
    """
    for found in iter_modules(import_module(folder).__path__):
        if not found.ispkg:
            yield import_module(f"{folder}.{found.name}")


@cache
def installed_entry_points(kind: str) -> Mapping[str, tuple[EntryPoint, ...]]:
    """Give what installed distributions declare of a kind, such as "metrics", by name.

    These are entry points of the group ``metric_robustness.KIND``; nothing is imported.
    """
    from importlib.metadata import entry_points

    found: dict[str, tuple[EntryPoint, ...]] = {}
    for point in sorted(entry_points(group=GROUP + kind), key=_claimed_by):
        others = found.get(point.name, ())
        if _claimed_by(point) not in map(_claimed_by, others):
            found[point.name] = (*others, point)
    return found


def load_installed(kind: str, name: str, of: type[MemberT]) -> MemberT | None:
    """Import what an installed distribution declares under a name; None if none does."""
    points = installed_entry_points(kind).get(name, ())
    if not points:
        return None
    owners = [*map(_claimed_by, points)]
    if len(owners) > 1:
        raise InputError(
            f"{name!r} in the {kind} is claimed by two distributions, {owners[0]} and {owners[1]}: "
            "uninstall one."
        )
    source = f"{points[0].value}, which {owners[0]} installs as {name!r},"
    try:
        with _one_at_a_time, modules_as_they_are():
            found = points[0].load()
    except Exception as error:
        raise InputError(f"{source} fails with {type(error).__name__}: {error}") from error
    if not isinstance(found, of) or getattr(found, "name", name) != name:
        raise InputError(
            f"{source} must be declared with a decorator of this program, under this name."
        )
    return found


def find_member(
    kind: str, name: str, declared: Mapping[str, MemberT], of: type[MemberT]
) -> MemberT:
    """Look a member up among those of a folder, then in installed distributions."""
    found = declared.get(name) or load_installed(kind, name, of)
    if found is None:
        known = suggestion(name, [*declared, *installed_entry_points(kind)])
        raise InputError(f"no {kind.removesuffix('s')} is called {name!r}; {known}")
    return found


def _claimed_by(point: EntryPoint) -> str:
    return point.value if point.dist is None else f"{point.dist.name} {point.dist.version}"


class _AsItIs(SourceFileLoader):
    """Runs a file as it is now: Python's caches miss a change within a second."""

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


class _Loaded(NamedTuple):
    """A module of a plug-in file, the content of the file, and how often others had changed."""

    module: ModuleType
    content: bytes
    n_changes: int


_loaded: dict[Path, _Loaded] = {}
_one_at_a_time = RLock()


def load_module(path: Path, *, what: str) -> ModuleType:
    """Run a Python file, which errors call a "metric plug-in" or so, and give it as a module."""
    if not path.is_file():
        raise InputError(f"{path}: the {what} does not exist.")
    if path.suffix != ".py":
        raise InputError(f"{path}: {with_article(what)} must be a Python file (.py).")
    name = f"{PLUGIN}{path.stem}"
    with _one_at_a_time, modules_as_they_are() as n_changes:
        put_on_path(path.parent)
        content = path.read_bytes()
        loaded = _loaded.get(path.resolve())
        if loaded is None or (loaded.content, loaded.n_changes) != (content, n_changes):
            loaded = _Loaded(_run(path, name, what=what), content, n_changes)
            _loaded[path.resolve()] = loaded
        sys.modules[name] = loaded.module
    return loaded.module


def _run(path: Path, name: str, *, what: str) -> ModuleType:
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module
    try:
        _AsItIs(name, str(path)).exec_module(module)
    except (Exception, SystemExit) as error:
        frames = extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == str(path)]
        if isinstance(error, SyntaxError) and error.filename == str(path):
            lines.append(error.lineno)
        line = (lines[-1] if lines else None) or 1
        finding = f"the {what} fails with {type(error).__name__}: {error}"
        raise InputError.at_line(path, line, finding) from error
    return module


@contextmanager
def user_code(what: str) -> Iterator[None]:
    """Say where and how a user's function fails, in the file where it does, with notes on it."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        frame = extract_tb(error.__traceback__)[-1]
        place = f"in {frame.filename}, line {frame.lineno}"
        remarks = "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
        finding = f"{what} fails {place}: {type(error).__name__}: {error}{remarks}"
        raise InputError(finding) from error
