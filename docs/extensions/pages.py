"""Pages that the build writes: one for each metric, and one for each public name of `harness`.

They are written before the sources are read, into the folder `reference.GENERATED`.
"""

from __future__ import annotations

from inspect import Parameter, isclass, signature
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from reference import GENERATED, metric_page, public_page
from sphinx.application import Sphinx

import harness
from harness.metrics.shared.register import built_in_metrics

LONGEST_DEFAULT = 24
"""Characters of a default that a short signature shows."""


def short_signature(model: type[BaseModel]) -> str:
    """Write the signature of a model of settings: names and short defaults, without types.

    Examples
    --------
    >>> class Settings(BaseModel):
    ...     name: str
    ...     seed: int = 1
    ...     sizes: tuple[int, ...] = tuple(range(20))
    >>> short_signature(Settings)
    '(*, name, seed=1, sizes=...)'
    """
    parts = ["*"]
    for parameter in signature(model).parameters.values():
        default = repr(parameter.default)
        if parameter.default is Parameter.empty:
            parts.append(parameter.name)
        elif len(default) <= LONGEST_DEFAULT and not default.startswith("<"):
            parts.append(f"{parameter.name}={default}")
        else:
            parts.append(f"{parameter.name}=...")
    return f"({', '.join(parts)})"


def shorten_signature(
    app: Sphinx, what: str, name: str, value: Any, *_: Any
) -> tuple[str, str] | None:
    """Replace the signature of a model of settings, whose types hold all its rules."""
    if isclass(value) and issubclass(value, BaseModel):
        return short_signature(value), ""
    return None


def write_pages(app: Sphinx) -> None:
    """Write the pages whose text has changed, and remove those that are no more."""
    folder = Path(app.srcdir) / GENERATED
    texts: dict[Path, str] = {}
    for metric in built_in_metrics().values():
        texts[folder / "metrics" / f"{metric.name}.rst"] = "\n".join(metric_page(metric))
    for name in harness.__all__:
        texts[folder / "harness" / f"{name}.rst"] = "\n".join(public_page(name))
    for path in folder.rglob("*.rst"):
        if path not in texts:
            path.unlink()
    for path, text in texts.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register what writes the pages."""
    app.connect("builder-inited", write_pages)
    app.connect("autodoc-process-signature", shorten_signature)
    return {"parallel_read_safe": True}
