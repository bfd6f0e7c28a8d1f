"""The page of a comparison, with its figures and its table, in a folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from analyses.shared.figures import as_pdf, as_svg
from harness.report.comparison import Comparison
from harness.report.page import image_source, render_page
from harness.report.publication import Publication
from runs.shared.files import write_whole


def write_comparison(compared: Comparison | Publication, folder: Path) -> Path:
    """Write page, figures and table of a comparison into a folder.

    Returns
    -------
    Path of the page, which is written last.
    """
    figures = list(_write_figures(compared, folder))
    numbers = compared.frame().to_csv(index=False, lineterminator="\n")
    write_whole(folder / "tables/comparison.csv", numbers.encode())
    page = render_page(
        "comparison.html",
        title=compared.title,
        lead=compared.lead,
        findings=list(compared.findings()),
        tables=[*compared.tables()],
        figures=figures,
        data=compared.data,
    )
    write_whole(folder / "comparison.html", page)
    return folder / "comparison.html"


def _write_figures(compared: Comparison | Publication, folder: Path) -> Iterator[dict[str, Any]]:
    for face, caption, drawn in compared.figures():
        svg = as_svg(drawn)
        write_whole(folder / f"figures/{face.file}.svg", svg)
        write_whole(folder / f"figures/{face.file}.pdf", as_pdf(drawn))
        title = face.title if face.number is None else f"Figure {face.number}. {face.title}"
        yield {
            "name": face.file,
            "title": title,
            "caption": caption,
            "source": image_source(svg),
        }
