"""Notebooks as pages: their texts, their code, and what the code prints and draws.

A notebook is kept without outputs; its cells are executed when the documentation is built.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from tempfile import TemporaryDirectory
from typing import Any

from docutils import nodes
from myst_parser.parsers.sphinx_ import MystParser
from sphinx.application import Sphinx

SECONDS = 600
"""Time that a cell may take."""


class NotebookParser(MystParser):
    """Reads a notebook as the Markdown that it holds, with its outputs."""

    supported = ("notebook",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        """Execute a notebook, and parse its cells and their outputs."""
        super().parse(as_markdown(executed(inputstring)), document)


def executed(notebook: str) -> str:
    """Execute a notebook in a new kernel and an empty folder; give it with its outputs."""
    import nbformat
    from nbclient import NotebookClient

    node = nbformat.reads(notebook, as_version=4)
    with TemporaryDirectory() as folder:
        client = NotebookClient(node, timeout=SECONDS, resources={"metadata": {"path": folder}})
        client.execute()
    return str(nbformat.writes(node))


def as_markdown(notebook: str) -> str:
    r"""Write the cells of a notebook one after the other, each with its outputs.

    Examples
    --------
    >>> code = '{"cell_type": "code", "source": ["a = 1\\n", "a"], "outputs": [%s]}'
    >>> output = '{"output_type": "execute_result", "data": {"text/plain": ["1"]}}'
    >>> print(as_markdown('{"cells": [%s]}' % (code % output)))
    ```python
    a = 1
    a
    ```
    <BLANKLINE>
    ```text
    1
    ```
    """
    blocks: list[str] = []
    for cell in json.loads(notebook)["cells"]:
        source = "".join(cell["source"])
        is_code = cell["cell_type"] == "code"
        blocks.append(f"```python\n{source}\n```" if is_code else source)
        for output in cell.get("outputs", ()):
            blocks.extend(output_blocks(output))
    return "\n\n".join(blocks)


def output_blocks(output: Mapping[str, Any]) -> Iterator[str]:
    """Write an output: as a picture or HTML if it is one, else as text."""
    data = output.get("data", {})
    if "image/png" in data:
        picture = "".join(data["image/png"]).replace("\n", "")
        yield f"![Output of the cell](data:image/png;base64,{picture})"
    elif "text/html" in data:
        yield "```{raw} html\n" + "".join(data["text/html"]) + "\n```"
    else:
        text = "".join(output.get("text", data.get("text/plain", "")))
        if text:
            yield f"```text\n{text.rstrip()}\n```"


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the files that are notebooks."""
    app.add_source_suffix(".ipynb", "notebook")
    app.add_source_parser(NotebookParser)
    return {"parallel_read_safe": True}
