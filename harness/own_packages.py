"""The packages that the harness is made of, whose names others have, too."""

from importlib.util import find_spec
from pathlib import Path

OWN_PACKAGES = ("analyses", "qrels", "recommenders", "runs")


def require_own_packages() -> None:
    """Make sure that Python finds our packages, not others of the same name.

    Raises
    ------
    ImportError
        Naming the first that is hidden.
    """
    for name in OWN_PACKAGES:
        spec = find_spec(name)
        found = None if spec is None or spec.origin is None else Path(spec.origin).resolve()
        # Microsoft's recommenders, installed later, writes its files over those of ours.
        is_other = name == "recommenders" and b"recommenders.shared" not in _own(name).read_bytes()
        if found != _own(name) or is_other:
            raise ImportError(misplaced(name), name=name)


def misplaced(name: str) -> str:
    """Say that a package is not ours, because another hides or overwrites it, and what to do."""
    spec = find_spec(name)
    found = "none" if spec is None else spec.origin
    place = "another in its place" if found == str(_own(name)) else found
    remedy = "Install the harness again, in an environment of its own."
    if found not in ("none", str(_own(name))) and "site-packages" not in str(found):
        remedy = "Rename that file or folder, or start Python in another folder."
    needed = f"the harness needs its own package `{name}` ({_own(name)})"
    return f"{needed}, but Python finds {place}. {remedy}"


def _own(name: str) -> Path:
    return Path(__file__).resolve().parents[1] / name / "__init__.py"
