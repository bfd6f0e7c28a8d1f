"""What makes the parts of a study: the code that their makers import, packages, the machine.

A part is made again if the code that it depends on differs. That code is computed: it is the import
closure of the modules that make the part, which are named where the part is made. Members of a
register (metrics, systems, splits, analyses) are imported by name when a study asks for them, so
the parts that use a member name its module, or the user's file, too.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]

OWN = ("runs", "qrels", "recommenders", "analyses", "harness")
"""The packages of the project, whose code counts by its content."""

WITHOUT_EFFECT = frozenset(
    {"click", "cloudpickle", "dask", "distributed", "filelock", "jinja2", "joblib", "psutil"}
    | {"annotated_types", "pydantic", "pydantic_core", "rich", "structlog", "threadpoolctl"}
    | {"tomli_w"}
)
"""Packages of others that show, check or distribute work: no number depends on their version."""

BELOW = {"numba": ("llvmlite",), "lenskit": ("torch",)}
"""Packages that others compute with, by what imports them."""


class Imported(NamedTuple):
    """An import: of a module, and of a name in it, if one is taken from it."""

    module: str
    name: str | None

    def within(self, package: Sequence[str]) -> Imported:
        """Name the module from the outermost package, if it is named from the one it is used in."""
        level = len(self.module) - len(self.module.lstrip("."))
        if not level:
            return self
        names = [*package[: len(package) - level + 1], self.module[level:]]
        return self._replace(module=".".join(filter(None, names)))


@dataclass(frozen=True)
class Closure:
    """Source files that some modules import, directly or not, and the packages of others."""

    files: frozenset[Path]
    packages: frozenset[str]

    def digest(self) -> str:
        """Hash the content of the files; that of a user's file stands under its bare name."""
        whole = sha256()
        own = {p: p.relative_to(ROOT).as_posix() for p in self.files if p.is_relative_to(ROOT)}
        for name, path in sorted((own.get(path, path.name), path) for path in self.files):
            whole.update(name.encode())
            whole.update(path.read_bytes())
        return whole.hexdigest()

    def versions(self) -> dict[str, str]:
        """Give the versions of the packages, by distribution."""
        every = {below for name in self.packages for below in (name, *BELOW.get(name, ()))}
        names = {d for name in every - WITHOUT_EFFECT for d in distributions().get(name, ())}
        return versions_of(*sorted(names))


def made_by(makers: Iterable[str | Path]) -> dict[str, str]:
    """Say what makes a part, as data: it is made again where this differs."""
    named = frozenset(makers)
    # Files of users may change while the program runs.
    is_own = all(isinstance(maker, str) for maker in named)
    return (made_by_code if is_own else made_by_code.__wrapped__)(named)


def home_of(function: Callable[..., Any]) -> str | Path:
    """Give the module of a member's function, or the file of a user that declares it."""
    module = function.__module__
    if module.partition(".")[0] in OWN:
        return module
    # A decorator of the project may wrap it.
    return Path(inspect.getfile(inspect.unwrap(function)))


@cache
def made_by_code(makers: frozenset[str | Path]) -> dict[str, str]:
    """Say what makes a part: its code, and the versions of packages."""
    found = import_closure(makers)
    return {"code": found.digest(), **found.versions()}


def import_closure(makers: Iterable[str | Path]) -> Closure:
    """Find what modules import, directly or not, inside functions too.

    Imports for type checkers alone do not count. A name that a package hands on counts as an import
    of the module that defines it. The modules beside a file of a user, and those of an installed
    plug-in's package, count by their content.
    """
    pending = [m if isinstance(m, Path) else module_path(m, ROOT) for m in makers]
    files: set[Path] = set()
    packages: set[str] = set()
    while pending:
        path = pending.pop()
        if path is None or path in files:
            continue
        files.add(path)
        folder, package = _package_of(path)
        beside = None
        if not _is_own(path):
            packages.update(package[:1] or [path.stem])
            pending += [parent / "__init__.py" for parent in [*path.parents][: len(package)]]
            # Where distributions are installed, others stand beside the file.
            beside = None if any(path.parent.glob("*.dist-info")) else path.parent
        for relative in _imports(path.read_bytes()):
            imported = relative.within(package)
            is_inside = imported.module.partition(".")[0] in package[:1]
            home = _home(imported, beside=folder if is_inside else beside)
            pending.append(home)
            if home is None:
                packages.add(imported.module.partition(".")[0])
    return Closure(frozenset(files), frozenset(packages - sys.stdlib_module_names))


def _is_own(path: Path) -> bool:
    """Tell whether a file is in a package of the project."""
    return path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] in OWN


def _package_of(path: Path) -> tuple[Path, tuple[str, ...]]:
    """Give the folder that a file's package is in, and the names of the package and those in it."""
    folder, names = path.parent, tuple[str, ...]()
    while (folder / "__init__.py").is_file():
        folder, names = folder.parent, (folder.name, *names)
    return folder, names


def _home(imported: Imported, *, beside: Path | None) -> Path | None:
    """Find the file that an import is of; None if it is neither in the project nor beside."""
    module, name = imported
    folder = ROOT if module.partition(".")[0] in OWN else beside
    if folder is None:
        return None
    path = module_path(module, folder)
    if path is None or name is None or path.name != "__init__.py":
        return path
    return module_path(f"{module}.{name}", folder) or _home_in_package(path, name)


def _home_in_package(path: Path, name: str) -> Path | None:
    """Find the file of a name that a package hands on; the package's own if it defines it."""
    folder, package = _package_of(path)
    for node in ast.walk(_parsed(path.read_bytes())):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    named = Imported("." * node.level + (node.module or ""), alias.name)
                    return _home(named.within(package), beside=None if _is_own(path) else folder)
    return path


@cache
def module_path(name: str, folder: Path) -> Path | None:
    """Find the file of a module of the project, or of one in a folder of a user."""
    place = folder.joinpath(*name.split("."))
    found = (place.with_suffix(".py"), place / "__init__.py")
    return next((path for path in found if path.is_file()), None)


@cache
def _parsed(content: bytes) -> ast.Module:
    return ast.parse(content)


@cache
def _imports(content: bytes) -> tuple[Imported, ...]:
    """Give the imports of a file, but those for type checkers alone."""
    return tuple(_imports_in(_parsed(content)))


def _imports_in(node: ast.AST) -> Iterator[Imported]:
    match node:
        case ast.If(test=ast.Name(id="TYPE_CHECKING"), orelse=others):
            for other in others:
                yield from _imports_in(other)
            return
        case ast.Import(names=names):
            yield from (Imported(alias.name, None) for alias in names)
        case ast.ImportFrom(module=module, names=names, level=level):
            named = "." * level + (module or "")
            yield from (Imported(named, alias.name) for alias in names)
        case ast.Call(
            func=ast.Name(id="import_module"), args=[ast.Constant(value=str(module)), *_]
        ):
            yield Imported(module, None)
    for child in ast.iter_child_nodes(node):
        yield from _imports_in(child)


@cache
def distributions() -> dict[str, list[str]]:
    """Give the names of distributions by the package that they install."""
    return dict(packages_distributions())


@cache
def versions_of(*packages: str) -> dict[str, str]:
    """Give the versions of packages that are installed."""
    found = {}
    for package in packages:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found
