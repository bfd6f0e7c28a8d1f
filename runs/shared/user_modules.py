"""Modules of users: what plug-ins import from beside them, or from elsewhere on the path.

They are all modules outside `site-packages`, the standard library and the packages of the project.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from hashlib import sha256
from importlib import invalidate_caches
from importlib.machinery import BuiltinImporter, FrozenImporter, ModuleSpec, PathFinder
from importlib.util import cache_from_source
from pathlib import Path

PROJECT = Path(__file__).parents[2]

PACKAGES = ("runs", "qrels", "recommenders", "analyses", "harness")
"""The packages of the project."""

PLUGIN = "harness_plugin_"
"""What the names of the modules of plug-in files begin with."""

INSTALLED = frozenset({"site-packages", "dist-packages"})
"""Folders of installed distributions."""

_folders: list[str] = []
"""Folders of the plug-ins of this process, that of the last one first; they end the path."""

_contents: dict[str, str] = {}
"""Checksums of the modules of users as they were imported, by file."""

_imported_by_plugins: set[str] = set()
"""Names of the modules of users that were not there before a plug-in was loaded."""

_n_changes = 0
"""How often modules of users were found changed."""

_last_look = 0.0
"""When checksums were last taken, in seconds since the epoch."""


@lru_cache(maxsize=10_000)
def is_users_file(file: str) -> bool:
    """Tell whether a file counts by its content, and not by the version of its distribution.

    Examples
    --------
    >>> import click
    >>> is_users_file("/home/me/gains.py"), is_users_file(str(click.__file__))
    (True, False)
    """
    path = Path(file).resolve()
    if not INSTALLED.isdisjoint(path.parts):
        return False
    standard_library = Path(sysconfig.get_path("stdlib")).resolve()
    own = [(PROJECT / package).resolve() for package in PACKAGES]
    return not any(path.is_relative_to(folder) for folder in (standard_library, *own))


def put_on_path(folder: Path) -> None:
    """Let modules of a plug-in's folder be imported, if Python finds no other of their name.

    Where another plug-in has a module of the same name beside it, each imports its own.
    """
    name = str(folder.resolve())
    other_folders = [entry for entry in _folders if entry != name]
    is_users_entry = name in sys.path and name not in _folders
    if not is_users_entry:
        _folders[:] = [name, *other_folders]
        sys.path[:] = [entry for entry in sys.path if entry not in _folders] + _folders
    for module, file in _users_modules().items():
        is_beside_another = str(_folder_of_top_level(module, Path(file))) in other_folders
        if is_beside_another and _has_module(folder, module.partition(".")[0]):
            sys.modules.pop(module, None)


def find_top_level(name: str, *, beside: Path | None) -> ModuleSpec | None:
    """Find what a plug-in's import of a top-level module is of, without importing anything.

    Parameters
    ----------
    name
        Name of the module or package, without a dot.
    beside
        Folder of the plug-in; None if it is installed.
    """
    others = [entry for entry in sys.path if entry not in _folders]
    folders = _folders if beside is None else [str(beside), *_folders]
    for finder in sys.meta_path:
        # Editable installations have finders of their own.
        if finder in (BuiltinImporter, FrozenImporter):
            continue
        path = [*others, *folders] if finder is PathFinder else None
        spec = finder.find_spec(name, path)
        if spec is not None:
            return spec
    return None


@contextmanager
def modules_as_they_are() -> Iterator[int]:
    """Import modules of users as their files are now, and not as they were earlier.

    If one of them has changed, all that plug-ins imported are imported again, as they may hold
    what the changed one defined. Bytecode is not kept: Python's caches miss a change within a
    second. Given is how often modules of users were found changed until now.
    """
    _forget_changed_modules()
    invalidate_caches()
    names_before = set(sys.modules)
    writes_no_bytecode = sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    try:
        yield _n_changes
    finally:
        sys.dont_write_bytecode = writes_no_bytecode
        _look_at_modules(names_before)


def _forget_changed_modules() -> None:
    global _n_changes
    modules = _users_modules()
    changed = {name for name, file in modules.items() if _has_changed(file)}
    if not changed:
        return
    _n_changes += 1
    for name in changed | _imported_by_plugins.intersection(modules):
        sys.modules.pop(name, None)
        _contents.pop(modules[name], None)
        with suppress(OSError):
            Path(cache_from_source(modules[name])).unlink()


def _has_changed(file: str) -> bool:
    """Tell whether a file differs from what was imported; one that is gone does not."""
    path = Path(file)
    if not path.is_file():
        return False
    if file in _contents:
        return _contents[file] != _checksum(path)
    # Imported inside a function, since modules were last looked at.
    return 0 < _last_look <= path.stat().st_mtime


def _look_at_modules(names_before: set[str]) -> None:
    """Take checksums of the modules of users that have none, and note those that are new."""
    global _last_look
    for name, file in _users_modules().items():
        if name not in names_before:
            _imported_by_plugins.add(name)
        if file not in _contents and Path(file).is_file():
            _contents[file] = _checksum(Path(file))
    _last_look = time.time()


def _users_modules() -> dict[str, str]:
    """Give the files of the modules of users that are imported, by name."""
    files: dict[str, str] = {}
    for name, module in list(sys.modules.items()):
        # Asking some modules for an attribute imports others.
        file = getattr(module, "__dict__", {}).get("__file__")
        is_plugin = name.startswith(PLUGIN)
        if name == "__main__" or is_plugin or not isinstance(file, str):
            continue
        # Some modules that are made by code have a file that is no path.
        is_source = file.endswith(".py") and os.path.isabs(file)
        if is_source and is_users_file(file):
            files[name] = file
    return files


def _folder_of_top_level(module: str, path: Path) -> Path:
    """Give the folder on the path that a module was found in."""
    n_levels = module.count(".") + (path.name == "__init__.py")
    folders = [*path.parents]
    return folders[min(n_levels, len(folders) - 1)]


def _has_module(folder: Path, name: str) -> bool:
    return (folder / f"{name}.py").is_file() or (folder / name).is_dir()


def _checksum(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()
