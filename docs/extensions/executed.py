"""Commands on pages, executed when the documentation is built, with what they print.

A block of a page::

    ```{executed}
    $ harness evaluate --qrels test.qrels a.run
    ```

All blocks of a page are run one after the other in one folder. It has the files that the option
``files`` names, relative to the page, and the blocks of TOML and Python on the page whose first
line is a comment with a name, such as ``# sweep.toml``. A command that fails stops the build. Lines
beyond the option ``lines`` are left out, and so is what is written to standard error.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

PROMPT = "$ "
SECONDS = 900
"""Time that a command may take."""


class ExecutedDirective(SphinxDirective):
    """A block of commands, shown with what they print."""

    has_content = True
    option_spec: ClassVar = {
        "files": directives.unchanged,
        "lines": directives.positive_int,
    }

    def run(self) -> list[nodes.Node]:
        """Run the commands in the folder of the page, and show them with their output."""
        page = Path(self.env.doc2path(self.env.docname))
        folder = page_folder(self.env.temp_data, page)
        for name in self.options.get("files", "").split():
            shutil.copy(page.parent / name, folder)
        shown_lines = []
        for line in self.content:
            shown_lines.append(line)
            if line.startswith(PROMPT):
                printed = execute(line.removeprefix(PROMPT), folder)
                shown_lines += first_lines(printed, self.options.get("lines"))
        text = "\n".join(shown_lines)
        return [nodes.literal_block(text, text, language="console")]


def page_folder(page_data: dict[str, Any], page: Path) -> Path:
    """Look up the folder of a page among what is kept of it; make it for its first block."""
    if "executed_folder" not in page_data:
        page_data["executed_folder"] = mkdtemp()
        for name, text in shown_files(page.read_text(encoding="utf-8")).items():
            Path(page_data["executed_folder"], name).write_text(text, encoding="utf-8")
    return Path(page_data["executed_folder"])


def shown_files(markdown: str) -> dict[str, str]:
    r"""Find the files that a page shows: blocks that begin with a comment of their name.

    Examples
    --------
    >>> shown_files('```toml\n# a.toml\nname = "a"\n```\n')
    {'a.toml': '# a.toml\nname = "a"\n'}
    >>> shown_files('```toml\nname = "a"\n```\n')
    {}
    """
    blocks = re.findall(r"^```(?:toml|python)\n(.*?)^```", markdown, re.DOTALL | re.MULTILINE)
    texts_by_name: dict[str, str] = {}
    for text in blocks:
        name = re.match(r"# ([\w.-]+\.(?:toml|py))\b", text)
        if name is not None:
            texts_by_name[name[1]] = text
    return texts_by_name


def execute(command: str, folder: Path) -> str:
    """Run a command of the shell in a folder, and return what it prints.

    ``harness`` is that of this environment. What is written to standard error is left out.
    Raises ExtensionError if the command fails.
    """
    programs = str(Path(sys.executable).parent)
    environment = os.environ | {
        "PATH": programs + os.pathsep + os.environ["PATH"],
        "COLUMNS": "88",
        "NO_COLOR": "1",
    }
    finished = subprocess.run(
        # Without pipefail, only the last command of a pipe can fail.
        ["bash", "-o", "pipefail", "-c", command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    if finished.returncode != 0:
        raise ExtensionError(f"{command!r} exits with {finished.returncode}: {finished.stderr}")
    # Where the page was built is nobody's business.
    return finished.stdout.replace(f"{folder.resolve()}{os.sep}", "").rstrip()


def first_lines(text: str, n_lines: int | None) -> list[str]:
    r"""Split a text into lines; beyond a number of lines, one of dots stands for the others.

    Examples
    --------
    >>> first_lines("a\nb\nc", 2)
    ['a', 'b', '...']
    >>> first_lines("a\nb", None)
    ['a', 'b']
    """
    lines = [line.rstrip() for line in text.splitlines()]
    if n_lines is None or len(lines) <= n_lines:
        return lines
    return [*lines[:n_lines], "..."]


def remove_folder(app: Sphinx, doctree: nodes.document) -> None:
    """Remove the folder of a page that has been read."""
    folder = app.env.temp_data.pop("executed_folder", None)
    if folder is not None:
        shutil.rmtree(folder)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("executed", ExecutedDirective)
    app.connect("doctree-read", remove_folder)
    return {"parallel_read_safe": True}
