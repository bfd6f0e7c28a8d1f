"""The gallery: figures of small studies, which are run when the documentation is built.

A block of commands that make the studies, with the files that they need::

    ```{gallery-studies} static/gallery/world.toml
    $ harness run world.toml
    ```

and a block for figures of one study folder, with a sentence on each::

    ```{gallery} study-world
    fig6: Higher is better.
    ```

Studies are kept in `build/gallery`, and made again where `harness run` does so. The names are those
of the command ``harness figure``. Figures of commands that print results, which are no study, have
the command in the option ``command``, and are files of the folder.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from executed import PROMPT, execute
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import harness

FOLDER = "build/gallery"
"""Where the studies are kept, in the folder of the sources."""

PICTURES = "pictures"
"""Folder of the pictures, in that of the studies."""


class StudiesDirective(SphinxDirective):
    """Commands that make the studies of the gallery, which are run and shown without output."""

    has_content = True
    optional_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Run the commands in the folder of the studies."""
        folder = studies_folder(self.env.srcdir)
        for argument in self.arguments:
            for name in argument.split():
                _, path = self.env.relfn2path(name)
                shutil.copy(path, folder)
        for line in self.content:
            execute(line.removeprefix(PROMPT), folder)
        text = "\n".join(self.content)
        return [nodes.literal_block(text, text, language="console")]


class GalleryDirective(SphinxDirective):
    """Figures of a folder: picture, sentence, command and line of Python."""

    has_content = True
    required_arguments = 1
    option_spec: ClassVar = {"command": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Copy or draw the pictures, and write what stands below each."""
        sentences = dict(line.split(": ", maxsplit=1) for line in self.content)
        folder = studies_folder(self.env.srcdir)
        (name,) = self.arguments
        command = self.options.get("command")
        text = "\n".join(
            written_figures(folder, name, sentences, command)
            if command
            else study_figures(folder, name, sentences)
        )
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def studies_folder(sources: str | os.PathLike[str]) -> Path:
    """Return the folder of the studies, which is made if there is none."""
    folder = Path(sources) / FOLDER
    (folder / PICTURES).mkdir(parents=True, exist_ok=True)
    return folder


def study_figures(folder: Path, name: str, sentences: dict[str, str]) -> Iterator[str]:
    """Draw figures of a study, by their names, and write their entries as Markdown."""
    study = harness.open_study(folder / name)
    for figure_name, sentence in sentences.items():
        picture = f"{name}-{figure_name}.svg"
        study.figure(figure_name).savefig(folder / PICTURES / picture)
        yield from entry(
            study.figures[figure_name],
            picture,
            sentence,
            command=f"harness figure {name} {figure_name} --output {figure_name}.pdf",
            python=f'harness.open_study("{name}").figure("{figure_name}").savefig("{figure_name}.pdf")',
        )


def written_figures(
    folder: Path, name: str, sentences: dict[str, str], command: str
) -> Iterator[str]:
    """Write figures that a command has written into a folder, by the names of their files."""
    for figure_name, sentence in sentences.items():
        (path,) = (folder / name).rglob(f"{figure_name}.svg")
        picture = f"{name}-{figure_name}.svg"
        shutil.copy(path, folder / PICTURES / picture)
        title = figure_name.replace("_", " ").capitalize()
        yield from entry(title, picture, sentence, command=command, python="")


def entry(title: str, picture: str, sentence: str, *, command: str, python: str) -> Iterator[str]:
    """Write an entry of the gallery as Markdown.

    Examples
    --------
    >>> lines = entry("Areas", "a.svg", "Higher is better.", command="harness a", python="")
    >>> [line for line in lines if line][1:3]
    ['![Areas](/build/gallery/pictures/a.svg)', 'Higher is better.']
    """
    yield from (f"### {title}", "", f"![{title}](/{FOLDER}/{PICTURES}/{picture})", "")
    yield from (sentence, "")
    yield from ("```console", f"{PROMPT}{command}", "```", "")
    if python:
        yield from ("```python", python, "```", "")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives."""
    app.add_directive("gallery-studies", StudiesDirective)
    app.add_directive("gallery", GalleryDirective)
    return {"parallel_read_safe": True}
