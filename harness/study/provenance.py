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
from dataclasses import dataclass, replace
from functools import cache, cached_property
from hashlib import sha256
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path
from typing import Any, NamedTuple

from runs.shared.user_modules import PACKAGES, find_top_level, is_users_file

ROOT = Path(__file__).parents[2]

OWN = PACKAGES
"""The packages of the project, whose code counts by its content."""

WITHOUT_EFFECT = frozenset(
    {"click", "cloudpickle", "dask", "distributed", "filelock", "jinja2", "joblib", "psutil"}
    | {"annotated_types", "pydantic", "pydantic_core", "rich", "structlog", "threadpoolctl"}
    | {"tomli_w"}
)
"""Packages of others that show, check or distribute work: no number depends on their version."""

BELOW = {"numba": ("llvmlite",), "lenskit": ("torch",)}
"""Packages that others compute with, by what imports them."""


SUFFIXES = (".py", *EXTENSION_SUFFIXES)
"""What the name of a module's file ends with: source, or compiled."""


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
        for name, content in sorted((own.get(p, p.name), p.read_bytes()) for p in self.files):
            whole.update(name.encode())
            whole.update(content)
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
    of the module that defines it. What a file of a user imports from outside `site-packages` and
    the standard library counts by its content, as do the modules of an installed plug-in's package.
    """
    pending = [_source_of(maker) for maker in makers]
    sources: set[Source] = set()
    packages: set[str] = set()
    while pending:
        source = pending.pop()
        if source is None or source in sources:
            continue
        sources.add(source)
        if not source.is_own:
            packages.add(source.top_level)
            pending += source.packages()
        if source.path.suffix != ".py":
            continue
        for relative in _imports(source.path.read_bytes()):
            imported = relative.within(source.package)
            home = _home(imported, source)
            pending.append(home)
            if home is None:
                packages.add(imported.module.partition(".")[0])
    files = frozenset(source.path for source in sources)
    return Closure(files, frozenset(packages - sys.stdlib_module_names))


@dataclass(frozen=True)
class Source:
    """A file of code: the folder that its modules are named from, and that of the plug-in.

    The latter is None where no modules stand beside the plug-in: in the project, and where
    distributions are installed.
    """

    path: Path
    root: Path
    beside: Path | None

    @cached_property
    def is_own(self) -> bool:
        """Whether it is in a package of the project."""
        return self.root == ROOT and self.path.relative_to(ROOT).parts[0] in OWN

    @cached_property
    def package(self) -> tuple[str, ...]:
        """Names of the package that it is in, and of those around it, the outermost first."""
        return self.path.relative_to(self.root).parent.parts

    @property
    def top_level(self) -> str:
        """Name of the package or module that its distribution installs."""
        return (*self.package, self.path.name.partition(".")[0])[0]

    def packages(self) -> list[Source]:
        """Give the files of the packages that it is in."""
        folders = [*self.path.parents][: len(self.package)]
        files = [folder / "__init__.py" for folder in folders]
        return [replace(self, path=file) for file in files if file.is_file()]


def _source_of(maker: str | Path) -> Source | None:
    """Give the file of a module of the project, or that of a user."""
    path = maker if isinstance(maker, Path) else module_path(maker, ROOT)
    if path is None:
        return None
    root = path.parent
    while (root / "__init__.py").is_file():
        root = root.parent
    source = Source(path, root, beside=None)
    # Where distributions are installed, others stand beside the file.
    is_alone = source.is_own or any(root.glob("*.dist-info"))
    return source if is_alone else replace(source, beside=path.parent)


def _home(imported: Imported, source: Source) -> Source | None:
    """Find the file that an import is of; None if it counts by the version of its package."""
    module, name = imported
    top_level = module.partition(".")[0]
    is_own = top_level in OWN
    beside = None if is_own else source.beside
    for root in [ROOT] if is_own else _roots_of(top_level, source):
        path = module_path(module, root)
        if path is not None and (name is None or path.name != "__init__.py"):
            return Source(path, root, beside)
        if path is not None and name is not None:
            return _home_in_package(name, Source(path, root, beside))
        # A namespace package has no file.
        submodule = None if name is None else module_path(f"{module}.{name}", root)
        if submodule is not None:
            return Source(submodule, root, beside)
    return None


def _roots_of(top_level: str, source: Source) -> list[Path]:
    """Find the folders that a module is named from, if its code counts by its content."""
    if source.is_own or not top_level or top_level in sys.stdlib_module_names:
        return []
    if source.package and top_level == source.package[0]:
        return [source.root]
    spec = find_top_level(top_level, beside=source.beside)
    if spec is None:
        return []
    if spec.submodule_search_locations is not None:
        places = [*spec.submodule_search_locations]
    else:
        places = [spec.origin] if spec.has_location and spec.origin else []
    return [Path(place).parent for place in places if is_users_file(place)]


def _home_in_package(name: str, package: Source) -> Source:
    """Find the file of a name that a package hands on; the package's own if it defines it."""
    module = ".".join(package.package)
    submodule = module_path(f"{module}.{name}", package.root)
    if submodule is not None:
        return replace(package, path=submodule)
    for node in ast.walk(_parsed(package.path.read_bytes())):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    named = Imported("." * node.level + (node.module or ""), alias.name)
                    return _home(named.within(package.package), package) or package
    return package


def module_path(name: str, folder: Path) -> Path | None:
    """Find the file of a module of the project, or of one in a folder of a user."""
    # Files of users may come and go while the program runs.
    return _own_module_path(name, folder) if folder == ROOT else _module_path(name, folder)


def _module_path(name: str, folder: Path) -> Path | None:
    place = folder.joinpath(*name.split("."))
    files = (place / "__init__.py", *(place.with_name(place.name + end) for end in SUFFIXES))
    return next((path for path in files if path.is_file()), None)


_own_module_path = cache(_module_path)


@cache
def _parsed(content: bytes) -> ast.Module:
    try:
        return ast.parse(content)
    except (SyntaxError, ValueError):
        # What cannot be run imports nothing; a plug-in may try to import it.
        return ast.Module(body=[], type_ignores=[])


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
        case ast.Call(func=function, args=[ast.Constant(value=str(module)), *_]):
            if _imports_by_name(function):
                yield Imported(module, None)
    for child in ast.iter_child_nodes(node):
        yield from _imports_in(child)


def _imports_by_name(function: ast.expr) -> bool:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in ("import_module", "__import__")
    return False


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
