"""Paths as a study folder keeps them: they tell nobody how the user's machine is laid out."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def portable(path: str, folder: Path) -> str:
    """Write an absolute path as it counts from a folder, or from a home folder that it is in.

    Examples
    --------
    >>> portable("/data/ml/ratings.csv", Path("/data/study"))
    '../ml/ratings.csv'
    >>> portable(f"{Path.home()}/ratings.csv", Path("/srv/study"))
    '~/ratings.csv'
    """
    home = Path.home()
    if Path(path).is_relative_to(home) and not folder.resolve().is_relative_to(home):
        return f"~/{Path(path).relative_to(home)}"
    return os.path.relpath(path, folder.resolve())


def with_portable_paths(value: Any, folder: Path) -> Any:
    """Write every absolute path in a tree of values, keys among them, as `portable` does."""
    if isinstance(value, Mapping):
        return {
            with_portable_paths(key, folder): with_portable_paths(each, folder)
            for key, each in value.items()
        }
    if isinstance(value, list | tuple):
        return [with_portable_paths(each, folder) for each in value]
    if isinstance(value, str) and len(value) > 1 and Path(value).is_absolute():
        return portable(value, folder)
    return value
