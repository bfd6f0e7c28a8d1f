"""Files of source code, and the definitions that imports name: of the project, and of users."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import NamedTuple

from runs.shared.user_modules import PACKAGES, find_top_level, is_users_file

ROOT = Path(__file__).parents[2]

SUFFIXES = (".py", *EXTENSION_SUFFIXES)
"""What the name of a module's file ends with: source, or compiled."""

INNER_SCOPES = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Lambda,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)
"""Syntax whose variables are not those of what is around it."""

WHOLE = "*"
"""In place of the name of a definition: the whole module."""


class Imported(NamedTuple):
    """An import: of a module, and of a name in it, if one is taken from it."""

    module: str
    name: str | None

    def within(self, package: Sequence[str]) -> Imported:
        """Make a relative import (leading dots) absolute; an absolute one stays as it is.

        ``self.module`` is "..shared.ids", or "numpy". ``package`` has the names of the packages
        around the import, the outermost first: one dot stands for the innermost of them, each
        further dot for the one around it.
        """
        relative_name = self.module.lstrip(".")
        level = len(self.module) - len(relative_name)
        if not level:
            return self
        n_packages = len(package) - level + 1
        names = [*package[:n_packages], relative_name]
        return self._replace(module=".".join(name for name in names if name))


@dataclass(frozen=True)
class SourceFile:
    """A file of code.

    Parameters
    ----------
    path
        Its path.
    root
        The folder that its modules are named from.
    plugin_folder
        The folder of the plug-in that imports it; None where no modules stand beside the plug-in:
        in the project, and where distributions are installed.
    """

    path: Path
    root: Path
    plugin_folder: Path | None = None

    @property
    def is_own(self) -> bool:
        """Whether it is in a package of the project."""
        return self.root == ROOT and self.path.relative_to(ROOT).parts[0] in PACKAGES

    @property
    def is_package(self) -> bool:
        """Whether it is the ``__init__.py`` of a package."""
        return self.path.name == "__init__.py"

    @property
    def package(self) -> tuple[str, ...]:
        """Names of the package that it is in, and of those around it, the outermost first."""
        return self.path.relative_to(self.root).parent.parts

    @property
    def module(self) -> str:
        """Name of the module."""
        names = self.package if self.is_package else (*self.package, self.path.stem)
        return ".".join(names)

    @property
    def top_level(self) -> str:
        """Name of the package or module that its distribution installs."""
        return (*self.package, self.path.name.partition(".")[0])[0]

    @property
    def label(self) -> str:
        """What it is called in digests: a user's file may be moved to another folder."""
        is_in_project = bool(self.package) and self.package[0] in PACKAGES
        return self.path.relative_to(self.root).as_posix() if is_in_project else self.path.name

    def packages(self) -> list[SourceFile]:
        """List the files of the packages that it is in."""
        folders = [*self.path.parents][: len(self.package)]
        files = [folder / "__init__.py" for folder in folders]
        return [replace(self, path=file) for file in files if file.is_file()]


class Place(NamedTuple):
    """Where a definition is: a file, and the name there; `WHOLE` for all of the file."""

    source: SourceFile
    name: str


def own_source(module: str) -> SourceFile:
    """Find the file of a module of the project; ModuleNotFoundError if there is none."""
    path = module_path(module, ROOT)
    if path is None:
        raise ModuleNotFoundError(module)
    return SourceFile(path, ROOT)


def users_source(path: Path) -> SourceFile:
    """Describe a file of a user: its modules are named from the outermost package around it.

    A package is a folder with ``__init__.py``. Modules that stand beside the file count with it,
    unless it is of the project or in a folder of installed distributions.
    """
    root = path.parent
    while (root / "__init__.py").is_file():
        root = root.parent
    source = SourceFile(path, root)
    # Where distributions are installed, others stand beside the file.
    is_alone = source.is_own or any(root.glob("*.dist-info"))
    return source if is_alone else replace(source, plugin_folder=path.parent)


def find_definition(imported: Imported, source: SourceFile) -> Place | None:
    """Find the definition that an import in a file names.

    None if its code counts by the version of its package, as that of installed distributions and of
    the standard library. An import of a whole module has the name `WHOLE`, as has a name that its
    module does not define. A name that a module imports itself is looked up in the module that
    defines it. ``source`` is the file of the import. Modules are looked up by their dotted names in
    root folders: that of the project, or those that a user's file imports from.
    """
    absolute = imported.within(source.package)
    module, name = absolute
    top_level = module.partition(".")[0]
    is_own = top_level in PACKAGES
    plugin_folder = None if is_own else source.plugin_folder
    roots = [ROOT] if is_own else _roots_of(top_level, source)
    for root in roots:
        path = module_path(module, root)
        if path is not None:
            home = SourceFile(path, root, plugin_folder)
            return Place(home, WHOLE) if name is None else _find_name(name, home)
        # A namespace package has no file.
        submodule = None if name is None else module_path(f"{module}.{name}", root)
        if submodule is not None:
            return Place(SourceFile(submodule, root, plugin_folder), WHOLE)
    return None


def _find_name(name: str, home: SourceFile) -> Place | None:
    """Find where a name of a module is defined; in a package it may be a submodule.

    ``home`` is the file of the module. None if it is imported from a package of others; the whole
    module if it is not found, or if the module is compiled.
    """
    if home.is_package:
        submodule = module_path(f"{home.module}.{name}", home.root)
        if submodule is not None:
            return Place(replace(home, path=submodule), WHOLE)
    if home.path.suffix != ".py":
        return Place(home, WHOLE)
    scope = module_scope(home.path.read_bytes())
    if name in scope.definitions or name not in scope.imports:
        return Place(home, name if name in scope.definitions else WHOLE)
    return find_definition(scope.imports[name], home)


def _roots_of(top_level: str, source: SourceFile) -> list[Path]:
    """Find the folders that a package or module is imported from, if its code counts by content.

    ``top_level`` is its name without those of submodules; ``source`` is the file that imports it.
    Empty for files of the project, for the standard library, for what is not found, and for
    installed distributions.
    """
    if source.is_own or not top_level or top_level in sys.stdlib_module_names:
        return []
    if source.package and top_level == source.package[0]:
        return [source.root]
    spec = find_top_level(top_level, plugin_folder=source.plugin_folder)
    if spec is None:
        return []
    paths: list[str] = []
    if spec.submodule_search_locations is not None:
        paths += spec.submodule_search_locations
    elif spec.has_location and spec.origin:
        paths.append(spec.origin)
    return [Path(path).parent for path in paths if is_users_file(path)]


def module_path(name: str, folder: Path) -> Path | None:
    """Find the file of a module, by its name in the project or from a folder; None without one."""
    # Files of users may come and go while the program runs.
    return _own_module_path(name, folder) if folder == ROOT else _module_path(name, folder)


def _module_path(name: str, folder: Path) -> Path | None:
    """Find the file of a module: of a package its ``__init__.py``; None if there is no file.

    ``name`` has dots ("pkg.module"), and counts from the folder. Compiled modules are found, too.
    """
    stem = folder.joinpath(*name.split("."))
    paths = [stem / "__init__.py"]
    paths += [stem.with_name(stem.name + suffix) for suffix in SUFFIXES]
    return next((path for path in paths if path.is_file()), None)


_own_module_path = cache(_module_path)


@dataclass(frozen=True)
class Scope:
    """What the names of a module stand for.

    Parameters
    ----------
    definitions
        By name: the statements that define it.
    imports
        By name: what it is imported from, for type checkers alone, too.
    effects
        The other statements, which run when the module is imported.
    """

    definitions: dict[str, list[ast.stmt]]
    imports: dict[str, Imported]
    effects: list[ast.stmt]


@cache
def module_scope(content: bytes) -> Scope:
    """Read the statements of a module."""
    scope = Scope({}, {}, [])
    for statement in parsed(content).body:
        _add_statement(statement, scope)
    return scope


def _add_statement(statement: ast.stmt, scope: Scope) -> None:
    """Add a statement of a module to its scope, under the names that it defines or imports.

    What is neither an import, a definition nor an assignment to names is an effect, which runs at
    import; compound statements, such as ``try``, are effects and may define names, too. A block for
    type checkers alone counts by the statements in it; a constant, such as a docstring, is left
    out.
    """
    match statement:
        case ast.Import() | ast.ImportFrom():
            scope.imports.update(imports_of(statement))
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            scope.definitions.setdefault(name, []).append(statement)
        case ast.If(test=ast.Name(id="TYPE_CHECKING"), body=body):
            for inner in body:
                _add_statement(inner, scope)
        case ast.Expr(value=ast.Constant()):
            pass
        case _:
            names = _names_defined_in(statement)
            for name in names:
                scope.definitions.setdefault(name, []).append(statement)
            for node in ast.walk(statement):
                scope.imports.update(imports_of(node))
            is_assignment = isinstance(statement, ast.Assign | ast.AnnAssign)
            if not (is_assignment and names):
                scope.effects.append(statement)


def _names_defined_in(statement: ast.stmt) -> list[str]:
    """List the names that a compound statement or an assignment defines.

    Variables in functions, classes and comprehensions are left out. A name may be listed twice.
    """
    names = []
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                names.append(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names.append(name)
        if not isinstance(node, INNER_SCOPES):
            pending += ast.iter_child_nodes(node)
    return names


def imports_of(node: ast.AST) -> dict[str, Imported]:
    """Read an import statement: what each name stands for, by name; empty for another node."""
    imports = {}
    match node:
        case ast.Import(names=aliases):
            for alias in aliases:
                top_level = alias.name.partition(".")[0]
                name = alias.asname or top_level
                imports[name] = Imported(alias.name if alias.asname else top_level, None)
        case ast.ImportFrom(module=module, names=aliases, level=level):
            home = "." * level + (module or "")
            for alias in aliases:
                imports[alias.asname or alias.name] = Imported(home, alias.name)
    return imports


def modules_imported(node: ast.AST) -> Iterator[Imported]:
    """List the imports in a tree of syntax, those by a constant name too.

    Imports for type checkers alone are left out.
    """
    match node:
        case ast.If(test=ast.Name(id="TYPE_CHECKING"), orelse=otherwise):
            for statement in otherwise:
                yield from modules_imported(statement)
            return
        case ast.Import(names=aliases):
            for alias in aliases:
                yield Imported(alias.name, None)
        case ast.ImportFrom():
            yield from imports_of(node).values()
        case ast.Call():
            module = imported_by_name(node)
            if module is not None:
                yield Imported(module, None)
    for child in ast.iter_child_nodes(node):
        yield from modules_imported(child)


def imported_by_name(call: ast.Call) -> str | None:
    """Read the module that a call imports: ``import_module("name")``; None for another call."""
    match call:
        case ast.Call(
            func=ast.Name(id=function) | ast.Attribute(attr=function),
            args=[ast.Constant(value=str(module)), *_],
        ) if function in ("import_module", "__import__"):
            return module
    return None


@cache
def parsed(content: bytes) -> ast.Module:
    """Parse a module; one that cannot be parsed is empty."""
    try:
        return ast.parse(content)
    except (SyntaxError, ValueError):
        # What cannot be run imports nothing; a plug-in may try to import it.
        return ast.Module(body=[], type_ignores=[])
