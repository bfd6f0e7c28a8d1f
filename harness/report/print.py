"""Figures of a finished study: found by name or number, drawn with options, and captioned."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from analyses.shared.result import FigureDeclaration, figures_of
from harness.report.study_folder import FinishedStudy
from runs import InputError
from runs.shared.errors import suggestion

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def find_figure(study: FinishedStudy, text: str) -> tuple[str, FigureDeclaration]:
    """Find a figure by its number, such as ``fig6``, or its name, with the key of its result.

    Raises InputError if the study has no such figure.
    """
    figures = list(study.figures())
    match = re.fullmatch(r"(?:fig(?:ure)?[ .]*)?([0-9]+)", text.strip(), re.IGNORECASE)
    number = None if match is None else int(match[1])

    def is_meant(declaration: FigureDeclaration) -> bool:
        has_number = number is not None and number == declaration.number
        return has_number or text in (declaration.name, declaration.file_stem)

    for key, declaration in figures:
        if is_meant(declaration):
            return key, declaration
    for result_class in study.result_classes.values():
        for declaration in figures_of(result_class):
            if is_meant(declaration) and declaration.over_cutoffs:
                raise InputError(
                    f"{study.folder}: {text!r} shows curves over cut-offs, and no metric of the "
                    "study is measured at several of its `cutoffs`."
                )
    names = [declaration.short for _, declaration in figures]
    raise InputError(f"no figure is called {text!r}; {suggestion(text, names)}")


def caption_of(study: FinishedStudy, declaration: FigureDeclaration, figure: Figure) -> str:
    """Compose title and caption of a figure as it is drawn, and what the data are."""
    return study.caption(f"{study.title(declaration)}. {figure.get_label()}")
