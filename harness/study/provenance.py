"""What parts of a study are made by: the code, the packages below it, and the machine."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from harness.metrics.shared.register import FOLDERS
from harness.version import __version__

RATINGS = ("runs", "qrels")
SYSTEMS = (*RATINGS, "recommenders")
SCORES = (*RATINGS, "analyses.shared", *FOLDERS, "harness.scoring")
ANALYSES = (
    *SCORES,
    *(f"analyses.{name}" for name in ("ordering", "significance", "intervals", "validity")),
)
"""Packages of the harness that parts of a study depend on."""

NUMBERS = ("numpy", "scipy", "numba", "llvmlite")
TRAINING = (*NUMBERS, "lenskit", "torch", "scikit-learn", "implicit")
DRAWING = (*NUMBERS, "pandas", "matplotlib")
"""Packages of others whose versions may change the bytes of a part."""

ROOT = Path(__file__).parents[2]


@cache
def code_digest(*names: str) -> str:
    """Hash the sources of packages and modules of the harness."""
    whole = sha256()
    for path in sorted({path for name in names for path in _sources(name)}):
        whole.update(path.relative_to(ROOT).as_posix().encode())
        whole.update(path.read_bytes())
    return whole.hexdigest()


def _sources(name: str) -> Iterable[Path]:
    place = ROOT.joinpath(*name.split("."))
    return place.rglob("*.py") if place.is_dir() else [place.with_suffix(".py")]


@cache
def versions_of(*packages: str) -> dict[str, str]:
    """Give the versions of packages that are installed."""
    found = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def made_by(sources: Iterable[str], packages: Iterable[str]) -> dict[str, str]:
    """Say what makes a part, as data: it is made again where this differs."""
    return {"code": code_digest(*sources), **versions_of(*packages)}


def machine() -> dict[str, Any]:
    """Say on what the study was made; nothing is made again where this differs."""
    from threadpoolctl import threadpool_info

    blas = [info for info in threadpool_info() if info["user_api"] == "blas"]
    return {
        "system": platform.platform(),
        "processor": platform.machine(),
        "blas": sorted(
            {
                f"{i['internal_api']} {i['version']} {i.get('architecture', '')}".strip()
                for i in blas
            }
        ),
    }


def versions() -> dict[str, str]:
    """Give the versions of Python, the harness, its commit, and what computes for it."""
    commit = _commit()
    return {
        "python": platform.python_version(),
        "harness": __version__,
        **({"commit": commit} if commit else {}),
        **versions_of(*dict.fromkeys((*TRAINING, *DRAWING, "joblib", "pyarrow"))),
    }


def _commit() -> str | None:
    """Give the git commit of the harness, marked if files differ from it; None outside of git."""
    spec = find_spec("harness")
    if spec is None or not (ROOT / ".git").exists():
        return None
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
