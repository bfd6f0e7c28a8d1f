"""The harness: a study of ranking metrics, from its definition to its report.

Raises
------
ImportError
    If another package called ``recommenders`` hides the harness's own.
"""

from importlib.util import find_spec
from pathlib import Path

__version__ = "0.3.0"


def _check_neighbour() -> None:
    """Make sure that ``recommenders`` is ours: a well-known library has the same import name."""
    spec = find_spec("recommenders")
    own = Path(__file__).resolve().parents[1] / "recommenders" / "__init__.py"
    if spec is None or spec.origin is None or Path(spec.origin).resolve() != own:
        found = "none" if spec is None else spec.origin
        raise ImportError(
            f"the harness needs its own package `recommenders` ({own}), but Python finds {found}. "
            "Install the harness in an environment of its own."
        )


_check_neighbour()
