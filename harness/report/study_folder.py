"""A finished study, read back from its folder: its manifest and its results."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from pathlib import Path
from typing import Any, TypeVar

from analyses.shared.analysis import Analysis, Need, find_analyses, read_user_analysis
from analyses.shared.evidence import read_evidence
from analyses.shared.figure_options import FigureOptions
from analyses.shared.result import (
    FigureDeclaration,
    Result,
    TableDeclaration,
    figures_of,
    tables_of,
    title_of,
)
from analyses.shared.sentences import TOPIC, USER, plural
from harness.report.answer import Answer
from harness.report.kept_result import KeptResult, read_kept_result
from harness.report.ledger import Ledger
from harness.report.manifest import Manifest, read_manifest
from harness.report.repeats import Repeats
from harness.scoring.means import Coverage, Means
from runs import InputError
from runs.shared.errors import as_input_error, require_known, warn
from runs.shared.files import path_within

ANSWER = "answer"
REPEATS = "repeats"
RESULTS_BESIDE_ANALYSES = {
    ANSWER: Answer,
    "means": Means,
    "coverage": Coverage,
    REPEATS: Repeats,
}
"""Results that studies of systems have beside those of their analyses, by key."""

SUBTOPICS_FILE = "qrels/subtopics.qrels"
TRUE_SUBTOPICS_FILE = "truth/subtopics.qrels"
"""Grades of items for each subtopic, where judgements are of subtopics."""

TRAIN_FILE = "split/train.csv"
TEST_FILE = "split/test.csv"
"""The ratings that systems learn from, and those that they are judged by."""

ResultT = TypeVar("ResultT", bound=Result)


def evidence_name(key: str) -> str:
    """Compose the name of the file that keeps a result."""
    return f"evidence/{key}.npz"


def kept_name(key: str) -> str:
    """Compose the name of the file that keeps what a user's analysis showed."""
    return f"evidence/{key}.shown.npz"


def figure_name(declaration: FigureDeclaration) -> str:
    """Compose the name of the file of a figure."""
    return f"figures/{declaration.file_stem}.svg"


def panels_name(declaration: FigureDeclaration) -> str:
    """Compose the name of the file of a figure with a panel for each curve."""
    return f"figures/{declaration.file_stem}.panels.svg"


def caption_name(declaration: FigureDeclaration) -> str:
    """Compose the name of the file of the caption of a figure."""
    return f"figures/{declaration.file_stem}.txt"


def in_report_order(
    result_classes: Mapping[str, type[Result]], *, by_truth: Collection[str]
) -> dict[str, type[Result]]:
    """Order results as the report does: scores, what a truth says, then by their first figures.

    ``result_classes`` are by key; ``by_truth`` are the keys of results that need a truth.
    """

    def rank(key: str) -> tuple[bool, bool, float]:
        """Make the sort key of a result; one without figures comes last of its group."""
        figures = figures_of(result_classes[key])
        first_figure = min((figure.sort_key for figure in figures), default=inf)
        return key not in RESULTS_BESIDE_ANALYSES, key not in by_truth, first_figure

    return {key: result_classes[key] for key in sorted(result_classes, key=rank)}


def under_repeats(result: ResultT, repeats: Repeats) -> ResultT:
    """Add to a result its estimates under all settings of the systems, if these were repeated."""
    return replace(result, over_settings=repeats.of_settings(result.estimates()))


RESULT_FOLDERS = ("evidence/", "figures/", "tables/")
"""Folders of what a study found."""


def warn_of_changes(folder: Path, subfolders: Sequence[str]) -> None:
    """Warn of each file, in some folders of a study, that is not as the study wrote it."""
    for name in Ledger(folder).changed_files(subfolders):
        warn(
            f"{folder / name}: not as the study wrote it; `harness run` makes it again, and "
            "`harness verify` checks all files."
        )


@dataclass(frozen=True)
class FinishedStudy:
    """The folder of a finished study, and its manifest.

    Nothing that the study names is run: what users' analyses showed is kept in the folder. Users'
    files that are given as plug-ins are run, and show their results again.
    """

    folder: Path
    manifest: Manifest
    plugins: tuple[Path, ...] = ()
    _results: dict[str, Result] = field(default_factory=dict)

    @classmethod
    def open(cls, folder: Path, plugins: Sequence[Path] = ()) -> FinishedStudy:
        """Read the manifest of a study folder; warn of changed files of results.

        Raises InputError if the folder holds no finished study.
        """
        manifest = read_manifest(folder)
        warn_of_changes(folder, RESULT_FOLDERS)
        return cls(folder, manifest, tuple(plugins))

    @property
    def name(self) -> str:
        """Name of the study."""
        return self.manifest.study

    @property
    def unit(self) -> str:
        """What scores are of: a topic in a study of TREC's files, else a user."""
        return TOPIC if self.manifest.ranked_for == plural(TOPIC) else USER

    @property
    def units(self) -> str:
        """The plural of the unit."""
        return plural(self.unit)

    @property
    def figure_options(self) -> FigureOptions:
        """How the study has its figures drawn; the folder cannot name a file of a style."""
        return self.manifest.figures.without_style_file(found_in=self.folder)

    def path_of(self, name: str) -> Path:
        """Compose the path of a file of the study; one outside of its folder is refused."""
        return path_within(self.folder, name)

    def read(self, name: str) -> bytes:
        """Read a file of the study; InputError if it cannot be read."""
        path = self.path_of(name)
        with as_input_error(f"{path}: the file of the study cannot be read", OSError):
            return path.read_bytes()

    @cached_property
    def means(self) -> Means:
        """Mean scores of the systems."""
        return self.read_result("means", Means)

    def list_frames(self) -> list[str]:
        """List the names of the tables in full that are files of the study."""
        return sorted(path.stem for path in (self.folder / "tables").glob("*.csv"))

    @cached_property
    def built_in_analyses(self) -> Mapping[str, Analysis[Any, Any]]:
        """The analyses of the program that the study has, by key; others are not imported."""
        return find_analyses(
            key for key in self.manifest.results if key not in RESULTS_BESIDE_ANALYSES
        )

    @cached_property
    def result_classes(self) -> Mapping[str, type[Result]]:
        """Classes of the results that the study has, by key, in the order of the report.

        What a truth says comes first: robust is not right.
        """
        register = dict(self.built_in_analyses)
        for path in self.plugins:
            user_analysis = read_user_analysis(path)
            register[user_analysis.key] = user_analysis
        classes: dict[str, type[Result]] = {}
        for key in self.manifest.results:
            if key in register:
                classes[key] = register[key].result
            elif key in RESULTS_BESIDE_ANALYSES:
                classes[key] = RESULTS_BESIDE_ANALYSES[key]
            elif key in self._kept_results:
                classes[key] = type(self._kept_results[key])
        by_truth = [key for key in classes if key in register and Need.TRUTH in register[key].needs]
        return in_report_order(classes, by_truth=by_truth)

    @cached_property
    def _kept_results(self) -> Mapping[str, KeptResult]:
        """What users' analyses showed, by key."""
        paths = {key: self.path_of(kept_name(key)) for key in self.manifest.results}
        return {key: read_kept_result(path) for key, path in paths.items() if path.exists()}

    def result(self, key: str) -> Result:
        """Read the result of an analysis, or of scoring, once; InputError if there is none.

        Read results are kept in memory. If the study is repeated with other settings of the
        systems, results of analyses are over all of these settings.
        """
        require_known(f"{self.folder}: the study has no", [key], list(self.result_classes))
        if key not in self._results:
            result = self._kept_or_read(key)
            if REPEATS in self.result_classes and key not in RESULTS_BESIDE_ANALYSES:
                repeats: Any = self.result(REPEATS)
                result = under_repeats(result, repeats)
            self._results[key] = result
        return self._results[key]

    def _kept_or_read(self, key: str) -> Result:
        """Read a result; of a user's analysis that is no plug-in, take what it showed."""
        result_class = self.result_classes[key]
        kept_result = self._kept_results.get(key)
        if kept_result is not None and type(kept_result) is result_class:
            return kept_result
        return self.read_result(key, result_class)

    def read_result(self, key: str, result_class: type[ResultT]) -> ResultT:
        """Read a result whose class is known; InputError if its file is of another version."""
        try:
            return read_evidence(self.path_of(evidence_name(key)), result_class)
        except InputError as error:
            raise InputError(
                f"{error} The harness {self.manifest.versions['harness']} made this study; "
                "`harness run` with its study file makes again what this version reads otherwise."
            ) from None

    def results(self) -> Iterator[tuple[str, Result]]:
        """Read all results, in the order of the report."""
        for key in self.result_classes:
            yield key, self.result(key)

    def tables(self) -> Iterator[tuple[str, TableDeclaration]]:
        """List the tables that results of the study declare, each with the key of its result."""
        for key, result_class in self.result_classes.items():
            for declaration in tables_of(result_class):
                yield key, declaration

    def figures(self) -> Iterator[tuple[str, FigureDeclaration]]:
        """List the figures by number, each with the key of its result.

        These are the figures that were drawn, and those that are drawn only when asked for.
        """
        figures = []
        for key, result_class in self.result_classes.items():
            for declaration in figures_of(result_class):
                if declaration.on_page:
                    is_there = self.path_of(figure_name(declaration)).exists()
                else:
                    is_there = declaration.applies_to(self.result(key))
                if is_there:
                    figures.append((key, declaration))
        yield from sorted(figures, key=lambda figure: figure[1].sort_key)

    def caption(self, result_caption: str) -> str:
        """Append to the caption of a result what the data of the study are."""
        return f"{result_caption} {self.manifest.data}"

    def title(self, declaration: TableDeclaration | FigureDeclaration) -> str:
        """Word the title of a table or figure, with "users" or "topics" as the study has."""
        return title_of(declaration, self.unit)
