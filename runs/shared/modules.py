"""Python files of users, and where they fail."""

from __future__ import annotations

import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from traceback import extract_tb
from types import CodeType, ModuleType

from runs.shared.errors import InputError


class _AsItIs(SourceFileLoader):
    """Runs a file as it is now: Python's caches miss a change within a second."""

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


def load_module(path: Path, *, what: str) -> ModuleType:
    """Run a Python file, which errors call a "metric plug-in" or so, and give it as a module.

    Raises
    ------
    InputError
        If the file is missing, no Python file, or fails.
    """
    if not path.is_file():
        raise InputError(f"{path}: the {what} does not exist.")
    if path.suffix != ".py":
        raise InputError(f"{path}: a {what} must be a Python file (.py).")
    name = f"harness_plugin_{path.stem}"
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module
    try:
        _AsItIs(name, str(path)).exec_module(module)
    except Exception as error:
        raise InputError(
            f"{path}: the {what} fails with {type(error).__name__}: {error}"
        ) from error
    return module


def failure_of(error: Exception) -> str:
    """Say where and how a function failed, in the file where it did, with the notes on it."""
    frame = extract_tb(error.__traceback__)[-1]
    place = f"in {frame.filename}, line {frame.lineno}"
    remarks = "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
    return f"{place}: {type(error).__name__}: {error}{remarks}"
