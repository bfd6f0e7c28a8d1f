"""A study folder for notebooks: its results as data frames, tables and figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analyses.shared.figures import draw_figure
from analyses.shared.publish import map_texts
from analyses.shared.result import Result
from analyses.shared.table import Table, excerpt, listing, unescape_formula
from harness.report.page import Summary, summarise
from harness.report.print import find_figure
from harness.report.study_folder import FinishedStudy
from harness.report.tables import table_titles, tabulate
from runs.shared.errors import require_known

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def open_study(
    folder: str | PathLike[str], *, plugins: Sequence[str | PathLike[str]] = ()
) -> OpenStudy:
    """Open the folder of a finished study.

    Parameters
    ----------
    folder
        The study folder that `harness run` wrote.
    plugins
        Python files of your own analyses. They are run, so that their results are objects again;
        no other code that the study names is run.

    Returns
    -------
    OpenStudy
        Its results, data frames, tables and figures.

    Raises
    ------
    InputError
        If the folder holds no finished study.

    Examples
    --------
    `harness.run_study` has an example with a number; without a study there is none:

    >>> open_study("study-of-nothing")
    Traceback (most recent call last):
    runs.InputError: study-of-nothing: no finished study is here (no manifest.json).
    """
    return OpenStudy(FinishedStudy.open(Path(folder), [Path(plugin) for plugin in plugins]))


@dataclass(frozen=True)
class OpenStudy:
    """A finished study: its results, data frames, tables and figures by name."""

    finished: FinishedStudy

    def __repr__(self) -> str:
        title = f"Study in {self.finished.folder}\n{self.finished.manifest.lead}"
        contents = {"results": self.results, "tables": self.tables, "figures": self.figures}
        calls = ".summary(), .result(name), .frame(name), .table(name), .figure(name)"
        return listing(title, contents, calls)

    @property
    def results(self) -> tuple[str, ...]:
        """Names of the results; see `result`."""
        return tuple(self.finished.result_classes)

    @property
    def frames(self) -> tuple[str, ...]:
        """Names of the data frames; see `frame`."""
        return tuple(self.finished.list_frames())

    @property
    def tables(self) -> dict[str, str]:
        """Names of the tables, with what they show; see `table`."""
        return table_titles(self.finished)

    @property
    def figures(self) -> dict[str, str]:
        """Names of the figures, with what they show; see `figure`."""
        return {
            declaration.short: self.finished.title(declaration)
            for _, declaration in self.finished.figures()
        }

    def result(self, name: str) -> Result:
        """Read the result of an analysis by its name, which `results` lists.

        Raises
        ------
        InputError
            If the study has no such result.
        """
        return self.finished.result(name)

    def frame(self, name: str) -> pd.DataFrame:
        """Read a data frame: one row for each observation, unrounded.

        Raises
        ------
        InputError
            If the study has no such table.
        """
        import pandas as pd

        require_known(f"{self.finished.folder}: the study has no", [name], self.frames)
        frame = pd.read_csv(self.finished.path_of(f"tables/{name}.csv"))
        return map_texts(frame, unescape_formula)

    def table(self, name: str, **choices: Any) -> Table:
        """Make a table for reading; it is rounded when it is printed.

        Parameters
        ----------
        name
            Its name (see `tables`), or its number in the paper, such as ``table3``.
        choices
            Choices of the table, such as ``cutoff`` or ``convention``.

        Raises
        ------
        InputError
            If the study has no such table, or the table no such choice.
        """
        return tabulate(self.finished, name, **choices)

    def figure(self, name: str, **choices: Any) -> Figure:
        """Draw a figure again; see `figures`. Its label is its caption: ``figure.get_label()``.

        Parameters
        ----------
        name
            Its name or number, such as ``fig6``.
        choices
            Options of all figures, as `harness figure` has them: ``measures``, ``cutoffs``,
            ``systems`` (one or several), ``width`` ("single", "double" or inches), ``height``,
            ``palette``, ``style``, ``font_size``, ``bands``, ``title``; by default those of the
            study. And what the figure alone lets a reader choose, such as ``axes`` of p-values.

        Raises
        ------
        InputError
            If there is no such figure, or it cannot vary what is chosen.
        """
        key, declaration = find_figure(self.finished, name)
        result = self.finished.result(key)
        options, choices_of_figure = declaration.split_options(result, choices)
        return draw_figure(
            result,
            declaration,
            options,
            usual=self.finished.figure_options,
            chosen=choices_of_figure,
        )

    def _repr_html_(self) -> str:
        """Show the question of the study, its findings and cautions in a notebook, as HTML."""
        summary = self.summary()
        return excerpt(self.finished.manifest.lead, None, [*summary.findings, *summary.cautions])

    def summary(self) -> Summary:
        """Collect the answer, the findings and the cautions of the study, in sentences."""
        return summarise(self.finished)
