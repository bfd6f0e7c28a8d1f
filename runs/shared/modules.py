"""Python files of users, and where they fail."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from traceback import extract_tb
from types import ModuleType

from runs.shared.errors import InputError


def load_module(path: Path, *, what: str) -> ModuleType:
    """Run a Python file, which errors call a "metric plug-in" or so, and give it as a module.

    Raises
    ------
    InputError
        If the file is missing, no Python file, or fails.
    """
    if not path.is_file():
        raise InputError(f"{path}: the {what} does not exist.")
    spec = importlib.util.spec_from_file_location(f"harness_plugin_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path}: a {what} must be a Python file (.py).")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
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
