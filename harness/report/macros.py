"""All numbers and sentences of a study as macros, for the text of a paper."""

from __future__ import annotations

from collections.abc import Iterator

from analyses.shared.sentences import best_of
from analyses.shared.table import MACROS, number, shown
from harness.report.page import summarise
from harness.report.study_folder import FinishedStudy
from harness.report.tables import estimates_of, tabulate, titles


def macros(study: FinishedStudy) -> str:
    r"""Write what LaTeX needs to ask for any cell of a study's tables, and for its sentences.

    Beside the tables there are ``\harness{study}{data}{sentence}``, what was found:
    ``\harness{study}{finding}{1}``, and of each analysis that compares the report measures, such as
    sparsity: ``\harness{answer}{sparsity}{sentence}``, ``{first}`` and ``{last}``, the names of the
    best and the worst, and their values: ``{first value}`` and ``{last value}``.
    """
    tables = (tabulate(study, name) for name in titles(study))
    cells = (table.to_macros().removeprefix(MACROS) for table in tables)
    return "".join([MACROS, *_sentences(study), *cells])


def _sentences(study: FinishedStudy) -> Iterator[str]:
    yield number("study", "data", "sentence", study.manifest["data"])
    for place, finding in enumerate(summarise(study).findings, start=1):
        yield number("study", "finding", str(place), finding)
    for key, estimates in estimates_of(study):
        ordered = estimates.in_order()
        labels = ordered.measures.reported.labels
        yield number("answer", key, "sentence", study.worded(best_of(estimates)))
        for name, place in (("first", 0), ("last", -1)) if labels else ():
            yield number("answer", key, name, labels[place])
            yield number("answer", key, f"{name} value", shown(float(ordered.values[place])))
