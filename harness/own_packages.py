"""The packages that the harness is made of, whose names others have, too."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

OWN_PACKAGES = ("analyses", "qrels", "recommenders", "runs")

ALWAYS_NEEDED = ("analyses", "qrels", "runs")
"""Packages without which nothing works; `recommenders` is needed where systems are trained."""


def require_own_packages() -> None:
    """Make sure that Python finds the packages that are always needed, not others of these names.

    Packages are looked for, not imported.

    Raises
    ------
    ImportError
        Naming the first that is hidden.
    """
    for name in ALWAYS_NEEDED:
        spec = find_spec(name)
        imported_file = None
        if spec is not None and spec.origin is not None:
            imported_file = Path(spec.origin).resolve()
        if imported_file != _init_file(name):
            raise ImportError(misplaced(name), name=name)


@contextmanager
def explained_imports() -> Iterator[None]:
    """Explain errors of imports from our packages in the block: another package has the place.

    Microsoft's recommenders, for one, hides ours, or was installed later and overwrote its files.
    Raises ImportError with what to do; other errors are left as they are.
    """
    try:
        yield
    except ImportError as error:
        package = own_package_of(error)
        if package is None:
            raise
        raise ImportError(misplaced(package), name=package) from error


def own_package_of(error: ImportError) -> str | None:
    """Tell which of our packages could not be imported from; None for other packages."""
    package = (error.name or "").partition(".")[0]
    return package if package in OWN_PACKAGES else None


def misplaced(name: str) -> str:
    """Word that another package hides or overwrites ours of this name, and what to do.

    The user renames a file or folder of theirs; for an installed package, or if none is found, the
    harness is to be installed again.
    """
    own_file = str(_init_file(name))
    spec = find_spec(name)
    imported_file = "none" if spec is None else str(spec.origin)
    place = "another in its place" if imported_file == own_file else imported_file
    is_users_file = imported_file not in ("none", own_file) and "site-packages" not in imported_file
    if is_users_file:
        remedy = "Rename that file or folder, or start Python in another folder."
    else:
        remedy = "Install the harness again, in an environment of its own."
    return (
        f"the harness needs its own package `{name}` ({own_file}), but Python finds {place}. "
        f"{remedy}"
    )


def _init_file(name: str) -> Path:
    """Compose the path of the file ``__init__.py`` of one of our packages."""
    own_folder = Path(__file__).resolve().parents[1]
    return own_folder / name / "__init__.py"
