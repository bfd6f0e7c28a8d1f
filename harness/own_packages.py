"""The packages that the harness is made of, whose names others have, too."""

from importlib.util import find_spec
from pathlib import Path

OWN_PACKAGES = ("analyses", "qrels", "recommenders", "runs")


def require_own_packages() -> None:
    """Make sure that Python finds our packages, not others of the same name.

    Packages are looked for, not imported.

    Raises
    ------
    ImportError
        Naming the first that is hidden.
    """
    for name in OWN_PACKAGES:
        own_file = _init_file(name)
        spec = find_spec(name)
        imported_file = None
        if spec is not None and spec.origin is not None:
            imported_file = Path(spec.origin).resolve()
        # Microsoft's recommenders, installed later, writes its files over those of ours.
        is_overwritten = (
            name == "recommenders" and b"recommenders.shared" not in own_file.read_bytes()
        )
        if imported_file != own_file or is_overwritten:
            raise ImportError(misplaced(name), name=name)


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
