"""Members of a list, such as metrics: functions that a file declares by a decorator; plug-ins."""

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
from runs.shared.user_modules import PLUGIN_PREFIX, fresh_modules, put_on_path

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from runs.shared.settings import Section

SettingsT = TypeVar("SettingsT", bound="Section")
MemberT = TypeVar("MemberT")

GROUP = "metric_robustness."
"""Plug-ins are entry points of the group of this name and a kind, such as "metrics"."""


@dataclass(frozen=True)
class Member(Generic[SettingsT]):
    """A member of a list, as its file declares it.

    ``name``: what a study calls it; ``source``: its publication, as a short citation; ``make``: the
    function that does the work, whose annotations name the class of its settings.
    """

    name: str
    source: str
    make: Callable[..., Any]

    @property
    def settings(self) -> type[SettingsT]:
        """Class of its settings."""
        return self._annotated("settings")

    @property
    def summary(self) -> str:
        """First line of the documentation."""
        return (inspect.getdoc(self.make) or "").partition("\n")[0]

    @classmethod
    def declared_in(cls, module: ModuleType) -> list[Self]:
        """List the members declared in a module, or in the modules of a package.

        Members that the module imports from elsewhere are left out.
        """
        members = [value for value in vars(module).values() if isinstance(value, cls)]
        prefix = f"{module.__name__}."
        return [member for member in members if f"{member.make.__module__}.".startswith(prefix)]

    @classmethod
    def declared_below(cls, package: str) -> Mapping[str, Self]:
        """Import the modules of a package, and list the members declared in them by name, sorted.

        The package is named as in an import.
        """
        members = [
            member for module in import_modules(package) for member in cls.declared_in(module)
        ]
        members.sort(key=lambda member: member.name)
        return MappingProxyType({member.name: member for member in members})

    def _annotated(self, argument: str) -> Any:
        """Look up the annotated type of one argument of the function ``self.make``, or of "return".

        An annotation that is a text is evaluated. The others are not: they may use names that are
        imported for type checkers only. Raises KeyError if the argument has no annotation.
        """
        annotation = self.make.__annotations__[argument]
        if not isinstance(annotation, str):
            return annotation
        return eval(annotation, inspect.unwrap(self.make).__globals__)


def import_modules(package: str) -> Iterator[ModuleType]:
    """Import the modules of a package, one after the other; packages in it are left out.

    The package is named as in an import, so that a register in it need not import its own package.
    """
    for module_info in iter_modules(import_module(package).__path__):
        if not module_info.ispkg:
            yield import_module(f"{package}.{module_info.name}")


@cache
def installed_entry_points(kind: str) -> Mapping[str, tuple[EntryPoint, ...]]:
    """List what installed distributions declare of a kind, such as "metrics", by name.

    These are entry points of the group ``metric_robustness.KIND``; nothing is imported. A name has
    several entry points if several distributions declare it; of each distribution one is listed.
    """
    from importlib.metadata import entry_points

    points_by_name: dict[str, tuple[EntryPoint, ...]] = {}
    for point in sorted(entry_points(group=GROUP + kind), key=_distribution_of):
        earlier_points = points_by_name.get(point.name, ())
        earlier_distributions = [_distribution_of(earlier) for earlier in earlier_points]
        if _distribution_of(point) not in earlier_distributions:
            points_by_name[point.name] = (*earlier_points, point)
    return points_by_name


def load_installed(kind: str, name: str, member_type: type[MemberT]) -> MemberT | None:
    """Import what an installed distribution declares under a name; None if none does.

    Parameters
    ----------
    kind
        Such as "metrics".
    name
        The name, which the member must have, too.
    member_type
        Class that it must be of.

    Raises
    ------
    InputError
        If two distributions declare the name, the import fails, or what is imported is of another
        class or name.
    """
    points = installed_entry_points(kind).get(name, ())
    if not points:
        return None
    distributions = [_distribution_of(point) for point in points]
    if len(distributions) > 1:
        raise InputError(
            f"{name!r} in the {kind} is claimed by two distributions, {distributions[0]} and "
            f"{distributions[1]}: uninstall one."
        )
    point = points[0]
    source = f"{point.value}, which {distributions[0]} installs as {name!r},"
    try:
        with _one_at_a_time, fresh_modules():
            member = point.load()
    except Exception as error:
        raise InputError(f"{source} fails with {type(error).__name__}: {error}") from error
    if not isinstance(member, member_type) or getattr(member, "name", name) != name:
        raise InputError(
            f"{source} must be declared with a decorator of this program, under this name."
        )
    return member


def find_member(
    kind: str, name: str, declared: Mapping[str, MemberT], member_type: type[MemberT]
) -> MemberT:
    """Look up a member, such as a metric, by its name.

    It is one of ``declared``, the members of this program by name, or else of an installed
    distribution; that is imported, and must be of the class ``member_type``. ``kind`` is the plural
    for messages and entry points, such as "metrics". Raises InputError with a suggestion if there
    is none, if two distributions declare the name, or if the import fails.
    """
    member = declared.get(name) or load_installed(kind, name, member_type)
    if member is None:
        hint = suggestion(name, [*declared, *installed_entry_points(kind)])
        raise InputError(f"no {kind.removesuffix('s')} is called {name!r}; {hint}")
    return member


def _distribution_of(point: EntryPoint) -> str:
    """Name the distribution of an entry point with its version; the point itself if it has none."""
    return point.value if point.dist is None else f"{point.dist.name} {point.dist.version}"


class _UncachedLoader(SourceFileLoader):
    """Runs a file as it is now: Python's caches miss a change within a second."""

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


class _LoadedPlugin(NamedTuple):
    """A module of a plug-in file, the bytes of the file, and the count of changed modules then."""

    module: ModuleType
    content: bytes
    n_changes: int


_loaded: dict[Path, _LoadedPlugin] = {}
_one_at_a_time = RLock()


def load_module(path: Path, *, description: str) -> ModuleType:
    """Run a Python file, and return it as a module; errors call it a "metric plug-in" or so.

    A file that was run before is run again only if it, or a module of the user that it may import,
    has changed.

    Raises
    ------
    InputError
        If the file does not exist, is no Python file, or fails.
    """
    if not path.is_file():
        raise InputError(f"{path}: the {description} does not exist.")
    if path.suffix != ".py":
        raise InputError(f"{path}: {with_article(description)} must be a Python file (.py).")
    name = f"{PLUGIN_PREFIX}{path.stem}"
    with _one_at_a_time, fresh_modules() as n_changes:
        put_on_path(path.parent)
        content = path.read_bytes()
        plugin = _loaded.get(path.resolve())
        if plugin is None or plugin.content != content or plugin.n_changes != n_changes:
            plugin = _LoadedPlugin(_run(path, name, description=description), content, n_changes)
            _loaded[path.resolve()] = plugin
        sys.modules[name] = plugin.module
    return plugin.module


def _run(path: Path, name: str, *, description: str) -> ModuleType:
    """Run a Python file as a module called ``name``, which is put into ``sys.modules``.

    ``description`` is what errors call the file. If it fails, or exits, raises InputError at the
    line of the file that was last run.
    """
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module
    try:
        _UncachedLoader(name, str(path)).exec_module(module)
    except (Exception, SystemExit) as error:
        frames = extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == str(path)]
        if isinstance(error, SyntaxError) and error.filename == str(path):
            lines.append(error.lineno)
        last_line = lines[-1] if lines else None
        finding = f"the {description} fails with {type(error).__name__}: {error}"
        raise InputError.at_line(path, last_line or 1, finding) from error
    return module


@contextmanager
def user_code(description: str) -> Iterator[None]:
    """Turn an exception raised within into an InputError that says where and how it fails.

    Used around calls of a user's function, which ``description`` names, as in "metric 'mine'". The
    place is the file and line where the exception was raised; its notes are added. An InputError
    passes unchanged.
    """
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        innermost_frame = extract_tb(error.__traceback__)[-1]
        place = f"in {innermost_frame.filename}, line {innermost_frame.lineno}"
        notes = "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
        reason = f"{type(error).__name__}: {error}{notes}"
        raise InputError(f"{description} fails {place}: {reason}") from error
