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
    """Find a figure by its number, as ``fig6``, or its name; and the key of its result."""
    every = list(study.figures())
    named = re.fullmatch(r"(?:fig(?:ure)?[ .]*)?([0-9]+)", text.strip(), re.IGNORECASE)

    def is_meant(face: FigureDeclaration) -> bool:
        by_number = named is not None and int(named[1]) == face.number
        return by_number or text in (face.name, face.file_stem)

    for key, face in every:
        if is_meant(face):
            return key, face
    for kind in study.kinds.values():
        if any(is_meant(face) and face.over_cutoffs for face in figures_of(kind)):
            raise InputError(
                f"{study.folder}: {text!r} shows curves over cut-offs, and no metric of the study "
                "is measured at several of its `cutoffs`."
            )
    known = [face.short for _, face in every]
    raise InputError(f"no figure is called {text!r}; {suggestion(text, known)}")


def caption_of(study: FinishedStudy, face: FigureDeclaration, figure: Figure) -> str:
    """Give title and caption of a figure as it is drawn, and what the data are."""
    return study.caption(f"{study.title(face)}. {figure.get_label()}")
