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

PROJECT_FOLDER = Path(__file__).parents[2]

PACKAGES = ("runs", "qrels", "recommenders", "analyses", "harness")
"""The packages of the project."""

PLUGIN_PREFIX = "harness_plugin_"
"""What the names of the modules of plug-in files begin with."""

INSTALLATION_FOLDERS = frozenset({"site-packages", "dist-packages"})
"""Names of folders of installed distributions."""

_plugin_folders: list[str] = []
"""Folders of the plug-ins of this process, that of the last one first; they end the path."""

_checksums: dict[str, str] = {}
"""Checksums of the modules of users as they were imported, by file."""

_imported_by_plugins: set[str] = set()
"""Names of the modules of users that were not there before a plug-in was loaded."""

_n_changes = 0
"""How often modules of users were found changed."""

_last_look = 0.0
"""When checksums were last taken, in seconds since the epoch."""


@lru_cache(maxsize=10_000)
def is_users_file(file: str) -> bool:
    """Test whether a Python file is one of the user, which may change between two runs.

    False for files of installed distributions, the standard library and the packages of the
    project, which are identified by their version.

    Examples
    --------
    >>> import click
    >>> is_users_file("/home/me/gains.py"), is_users_file(str(click.__file__))
    (True, False)
    """
    path = Path(file).resolve()
    if not INSTALLATION_FOLDERS.isdisjoint(path.parts):
        return False
    standard_library = Path(sysconfig.get_path("stdlib")).resolve()
    project_packages = [(PROJECT_FOLDER / package).resolve() for package in PACKAGES]
    known_folders = [standard_library, *project_packages]
    return not any(path.is_relative_to(folder) for folder in known_folders)


def put_on_path(folder: Path) -> None:
    """Put a plug-in's folder on `sys.path`, behind all others, so that its modules are found.

    Where another plug-in has a module of the same name in its folder, that module is taken out of
    ``sys.modules``, so that each plug-in imports its own.
    """
    name = str(folder.resolve())
    other_folders = [entry for entry in _plugin_folders if entry != name]
    is_users_entry = name in sys.path and name not in _plugin_folders
    if not is_users_entry:
        _plugin_folders[:] = [name, *other_folders]
        other_entries = [entry for entry in sys.path if entry not in _plugin_folders]
        sys.path[:] = other_entries + _plugin_folders
    for module, file in _users_modules().items():
        is_of_another_plugin = str(_folder_of_top_level(module, Path(file))) in other_folders
        if is_of_another_plugin and _has_module(folder, module.partition(".")[0]):
            sys.modules.pop(module, None)


def find_top_level(name: str, *, plugin_folder: Path | None) -> ModuleSpec | None:
    """Find which module a plug-in's import means, without importing anything.

    Parameters
    ----------
    name
        Name of the module or package, without a dot.
    plugin_folder
        Folder of the plug-in; None if it is installed.

    Returns
    -------
    None for modules that are built into Python, or that cannot be found.
    """
    other_entries = [entry for entry in sys.path if entry not in _plugin_folders]
    folders = list(_plugin_folders)
    if plugin_folder is not None:
        folders.insert(0, str(plugin_folder))
    for finder in sys.meta_path:
        # Editable installations have finders of their own.
        if finder in (BuiltinImporter, FrozenImporter):
            continue
        path = [*other_entries, *folders] if finder is PathFinder else None
        spec = finder.find_spec(name, path)
        if spec is not None:
            return spec
    return None


@contextmanager
def fresh_modules() -> Iterator[int]:
    """Import modules of users within as their files are now, and not as they were earlier.

    If one of them has changed, all that plug-ins imported are imported again, as they may hold
    what the changed one defined. Bytecode is not kept: Python's caches miss a change within a
    second. Yields how often modules of users were found changed until now.
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
    """Take modules out of ``sys.modules`` if a user's module has changed since it was imported.

    These are the changed ones, and all users' modules that plug-ins imported; their bytecode is
    removed from disk, and their checksums are forgotten. Counts the change in ``_n_changes``.
    """
    global _n_changes
    modules = _users_modules()
    changed_names = {name for name, file in modules.items() if _has_changed(file)}
    if not changed_names:
        return
    _n_changes += 1
    for name in changed_names | _imported_by_plugins.intersection(modules):
        sys.modules.pop(name, None)
        _checksums.pop(modules[name], None)
        with suppress(OSError):
            Path(cache_from_source(modules[name])).unlink()


def _has_changed(file: str) -> bool:
    """Test whether a file differs from what was imported from it; False if the file is gone.

    Files are compared by checksum. A file without one is taken to have changed if it was modified
    after the modules were last looked at.
    """
    path = Path(file)
    if not path.is_file():
        return False
    if file in _checksums:
        return _checksums[file] != _checksum(path)
    # Imported inside a function, since modules were last looked at.
    return 0 < _last_look <= path.stat().st_mtime


def _look_at_modules(names_before: set[str]) -> None:
    """Take checksums of the files of users' modules that have none, and note the new modules.

    ``names_before``: names of the modules that were imported before a plug-in was loaded; others
    are noted as imported by plug-ins. The time is noted, too.
    """
    global _last_look
    for name, file in _users_modules().items():
        if name not in names_before:
            _imported_by_plugins.add(name)
        if file not in _checksums and Path(file).is_file():
            _checksums[file] = _checksum(Path(file))
    _last_look = time.time()


def _users_modules() -> dict[str, str]:
    """List the files of the imported modules of users by the name of the module.

    Files of plug-ins themselves, and the main program, are left out.
    """
    files: dict[str, str] = {}
    for name, module in list(sys.modules.items()):
        # Asking some modules for an attribute imports others.
        file = getattr(module, "__dict__", {}).get("__file__")
        is_plugin = name.startswith(PLUGIN_PREFIX)
        if name == "__main__" or is_plugin or not isinstance(file, str):
            continue
        # Some modules that are made by code have a file that is no path.
        is_source = file.endswith(".py") and os.path.isabs(file)
        if is_source and is_users_file(file):
            files[name] = file
    return files


def _folder_of_top_level(module: str, path: Path) -> Path:
    """Find the folder on the path that a module, or the package it is in, was found in.

    ``module`` is its full name, such as "gains.linear", ``path`` its file.
    """
    is_package = path.name == "__init__.py"
    n_levels = module.count(".") + is_package
    folders = list(path.parents)
    return folders[min(n_levels, len(folders) - 1)]


def _has_module(folder: Path, name: str) -> bool:
    """Test whether a folder has a module or a package of a name."""
    return (folder / f"{name}.py").is_file() or (folder / name).is_dir()


def _checksum(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()
