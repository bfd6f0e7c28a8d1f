"""Notebooks as pages: their texts, and their code in blocks."""

from __future__ import annotations

import json
from typing import Any

from docutils import nodes
from myst_parser.parsers.sphinx_ import MystParser
from sphinx.application import Sphinx


class NotebookParser(MystParser):
    """Reads a notebook as the Markdown that it holds."""

    supported = ("notebook",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        """Parse the cells of a notebook."""
        super().parse(as_markdown(inputstring), document)


def as_markdown(notebook: str) -> str:
    r"""Write the cells of a notebook one after the other.

    Examples
    --------
    >>> print(as_markdown('{"cells": [{"cell_type": "code", "source": ["a = 1\\n", "a"]}]}'))
    ```python
    a = 1
    a
    ```
    """
    texts = ((cell["cell_type"], "".join(cell["source"])) for cell in json.loads(notebook)["cells"])
    return "\n\n".join(f"```python\n{t}\n```" if kind == "code" else t for kind, t in texts)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the files that are notebooks."""
    app.add_source_suffix(".ipynb", "notebook")
    app.add_source_parser(NotebookParser)
    return {"parallel_read_safe": True}
