"""Comparison of finished studies: their data, quantities, scores, and consistent differences."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import ceil, nan
from pathlib import Path
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

import numpy as np

from analyses.intervals.data_sets import DataSetRanks
from analyses.intervals.percentile_intervals import percentiles
from analyses.intervals.resampling import resample_means
from analyses.shared.estimate import Estimate
from analyses.shared.figure_formats import WRITERS, as_svg
from analyses.shared.figures import draw_panels, figure_caption
from analyses.shared.measure_estimates import Estimates
from analyses.shared.number_format import Cell
from analyses.shared.publish import as_csv, map_texts
from analyses.shared.result import METRIC, FigureDeclaration, Result, title_of
from analyses.shared.sentences import listed
from analyses.shared.table import Table, escape_formula
from harness.readers.score_files import read_score_tables
from harness.readers.score_parquet import SCORES_FILE
from harness.report.ledger import Ledger
from harness.report.mean_ranks import MeanRanks
from harness.report.page import drawing_on_page, render_page
from harness.report.publication import Publication
from harness.report.shared_estimates import (
    by_shared_measure,
    first_estimates,
    is_unacceptable,
    sentence_of_quantity,
)
from harness.report.study_folder import SUBTOPICS_FILE, FinishedStudy
from harness.report.tables import estimates_of
from runs import InputError
from runs.shared.arrays import Floats
from runs.shared.files import write_within

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


MOST_ACROSS = 3
"""Maximum number of studies beside each other in a figure."""

RATING_COLUMNS = {"ratings": "ratings", "items": "items", "density": "density", "gini": "Gini"}
"""Headings of the facts of ratings in the table of data sets, by their names in the manifest."""

QRELS_FILE = "qrels/test.qrels"


@dataclass(frozen=True)
class Comparison:
    """Finished studies, each with a label of its own.

    Their results are compared where at least two of them have them, over the report measures that
    all of these share; levels of systems, where all are judged by the same test part; ranks of
    systems and of measures, where each is judged by a test part of its own.
    """

    studies: Mapping[str, FinishedStudy]

    @classmethod
    def of_studies(cls, studies: Sequence[FinishedStudy]) -> Comparison:
        """Label studies by their names, or by their folders where names are the same.

        Raises InputError if there are fewer than two studies, one is named twice, or there is
        nothing that two of them have in common.
        """
        n_folders = len({study.folder.resolve() for study in studies})
        if n_folders < max(2, len(studies)):
            raise InputError("a comparison needs two or more different studies.")
        names = [study.name for study in studies]
        are_unique = len(set(names)) == len(names)
        labels = names if are_unique else [str(study.folder) for study in studies]
        comparison = cls(dict(zip(labels, studies, strict=True)))
        if not (comparison.quantities or comparison.mean_scores or comparison.mean_ranks):
            raise InputError(
                f"{listed(labels)} have nothing to compare: they share no report measure of the "
                "same cut-off, or neither an analysis nor systems with the same judgements."
            )
        return comparison

    @cached_property
    def quantities(self) -> Mapping[str, Mapping[str, Estimates]]:
        """By name of what is estimated, then by study: the estimates.

        Quantities that only one study has, or without a shared measure, are left out.
        """
        estimates_by_quantity: dict[str, dict[str, Estimates]] = {}
        for label, study in self.studies.items():
            for _, estimates in estimates_of(study):
                estimates_by_quantity.setdefault(estimates.name, {})[label] = estimates
        return {
            quantity: by_study
            for quantity, by_study in estimates_by_quantity.items()
            if len(by_study) > 1 and by_shared_measure(by_study)
        }

    @cached_property
    def _qrels_checksums(self) -> set[tuple[str | None, str | None]]:
        """Different checksums of the judgements of the studies: of whole topics, and of subtopics.

        None stands for a file that a study does not have.
        """
        checksums = set()
        for study in self.studies.values():
            entry = Ledger(study.folder).entry("qrels")
            files = {} if entry is None else entry.files
            checksums.add((files.get(QRELS_FILE), files.get(SUBTOPICS_FILE)))
        return checksums

    @cached_property
    def _shared_means(self) -> Mapping[tuple[str, str], list[float]]:
        """Mean scores by measure and system that all studies have: one for each study."""
        means_by_study = [_means_by_measure_and_system(study) for study in self.studies.values()]
        shared_keys = [
            key for key in means_by_study[0] if all(key in means for means in means_by_study)
        ]
        return {key: [means[key] for means in means_by_study] for key in shared_keys}

    @property
    def mean_scores(self) -> Mapping[tuple[str, str], list[float]]:
        """Mean scores by measure and system, study by study, if all have the same judgements."""
        return self._shared_means if len(self._qrels_checksums) == 1 else {}

    @cached_property
    def mean_ranks(self) -> Sequence[MeanRanks]:
        """Mean ranks of systems and of measures, if every study has judgements of its own."""
        if len(self._qrels_checksums) < len(self.studies):
            return ()
        mean_ranks = (self._mean_ranks_of_systems(), self._mean_ranks_of_measures())
        return [ranks for ranks in mean_ranks if ranks.rankings]

    def _mean_ranks_of_systems(self) -> MeanRanks:
        """Rank the systems that all studies have under each report measure that all have.

        Report measures are those of the first study. A measure without a mean score of a system in
        some study is left out. There are no rankings of fewer than two systems. Names of systems
        that some study lacks go into the result.
        """
        means = [study.means for study in self.studies.values()]
        systems = tuple(dict.fromkeys(system for _, system in self._shared_means))
        all_systems = {system for means_of_study in means for system in means_of_study.systems}
        measures = means[0].measures
        rankings = []
        reported = measures.reported if len(systems) > 1 else ()
        for measure in reported:
            undefined = [nan] * len(self.studies)
            means_of_systems = [
                self._shared_means.get((str(measure), system), undefined) for system in systems
            ]
            # Of shape (n_systems, n_studies).
            scores = np.array(means_of_systems)
            if not np.isnan(scores).any():
                sign = -1.0 if measure.metric in measures.lower_is_better_for else 1.0
                rankings.append(
                    DataSetRanks(str(measure), tuple(self.studies), systems, sign * scores.T)
                )
        return MeanRanks("system", rankings, sorted(all_systems - set(systems)))

    def _mean_ranks_of_measures(self) -> MeanRanks:
        """Rank the report measures that studies share by each quantity that several estimate.

        A quantity with a single shared measure is left out. Measures that fail the threshold of a
        quantity in some study are named as unacceptable.
        """
        rankings = []
        unacceptable = {}
        for quantity, by_study in self.quantities.items():
            by_measure = by_shared_measure(by_study)
            if len(by_measure) > 1:
                values = [[estimate.value for estimate in row] for row in by_measure.values()]
                sign = -1.0 if first_estimates(by_study).lower_is_better else 1.0
                scores = sign * np.array(values).T
                rankings.append(DataSetRanks(quantity, tuple(by_study), tuple(by_measure), scores))
                unacceptable[quantity] = [
                    label for label in by_measure if is_unacceptable(label, by_study.values())
                ]
        return MeanRanks("measure", rankings, unacceptable=unacceptable)

    @property
    def title(self) -> str:
        """Names of the studies."""
        return " – ".join(self.studies)

    lead = "Which conclusions about measures hold in all of these studies?"

    @property
    def data(self) -> list[str]:
        """What the studies are of."""
        return [study.manifest.data for study in self.studies.values()]

    def tables(self) -> Iterator[Table]:
        """Tabulate the data sets (Table 2 of Valcarce et al. 2018), ranks, quantities, means.

        Ranks are yielded if every study has judgements of its own, means if all have the same.
        """
        yield self._data_sets_table()
        for ranks in self.mean_ranks:
            yield from ranks.tables()
        yield from self.quantity_tables()
        if self.mean_scores:
            yield self._mean_scores_table()

    def _data_sets_table(self) -> Table:
        """Tabulate counts of the data sets, a study in each row; NaN for unknown counts."""
        rows: list[list[Cell]] = []
        for label, study in self.studies.items():
            facts = study.manifest.collection
            ratings = study.manifest.ratings
            n_users = facts["users"] if "users" in facts else facts.get("topics", nan)
            counts = [ratings.get(name, nan) for name in RATING_COLUMNS]
            n_judgements = facts.get("judgements", nan)
            n_systems = len(study.manifest.systems)
            rows.append([label, n_users, *counts, n_judgements, n_systems])
        headings = ["study", "users", *RATING_COLUMNS.values(), "judgements", "systems"]
        note = "Users (or topics) with judgements; Gini index of the ratings over the items."
        return Table("data_sets", "The data sets", note, headings, rows)

    def _mean_scores_table(self) -> Table:
        """Tabulate mean scores, and intervals of differences from the first study.

        A row for each measure and system; a column of means for each study. Intervals are from
        1,000 resamples of the users, whom all studies share; empty where means are not plain means
        of users' scores (scores that are NaN). Scores have the shape (n_rows, n_users), limits
        (n_rows,) each.
        """
        first_label, *other_labels = self.studies
        first_scores, *other_scores = [
            _user_scores(study, self.mean_scores) for study in self.studies.values()
        ]
        limits = [
            percentiles(resample_means(scores - first_scores, replicates=1000, seed=0))
            for scores in other_scores
        ]
        rows: list[list[Cell]] = []
        for number, ((measure, system), means) in enumerate(self.mean_scores.items()):
            first_mean, *other_means = means
            row: list[Cell] = [f"{measure}, {system}", first_mean]
            for mean, (low, high) in zip(other_means, limits, strict=True):
                difference = Estimate(nan, float(low[number]), float(high[number]))
                row += [mean, difference.interval]
            rows.append(row)
        headings = ["", first_label]
        for label in other_labels:
            headings += [label, "difference, 95 %"]
        note = (
            f"Mean scores on the same judgements, and 95 % intervals over users of the difference "
            f"from {first_label}, each for itself."
        )
        return Table("levels", "Mean scores of the systems", note, headings, rows)

    def quantity_tables(self) -> Iterator[Table]:
        """Tabulate each quantity: measures down, studies across, with intervals.

        The values of the significantly best measures of a study are bold: those than which no other
        of the study is better. Yields a table for each quantity that at least two studies estimate.
        """
        for name, by_study in self.quantities.items():
            by_measure = by_shared_measure(by_study)
            rows: list[list[Cell]] = []
            for label, estimates_of_measure in by_measure.items():
                row: list[Cell] = [label]
                for estimate in estimates_of_measure:
                    row += [estimate.value, estimate.interval]
                rows.append(row)
            headings = ["measure"]
            bold = set()
            for column, (study, estimates) in enumerate(by_study.items()):
                headings += [study, "95 %"]
                best_labels = [str(best) for best in estimates.in_order().significantly_best()]
                for row_number, label in enumerate(by_measure):
                    if label in best_labels:
                        bold.add((row_number, 1 + 2 * column))
            described = first_estimates(by_study)
            direction = "Lower" if described.lower_is_better else "Higher"
            yield Table(
                name=re.sub(r"\W+", "_", name),
                title=f"{described.subject}: {described.quantity}",
                note=f"{direction} is better. Intervals: over users.",
                headings=headings,
                rows=rows,
                bold=bold,
            )

    def frame(self) -> pd.DataFrame:
        """Collect all numbers in one tidy table: quantity, measure, study, value, low, high.

        Limits are those of 95 % intervals, NaN where there are none, as for mean scores.
        """
        import pandas as pd

        rows: list[tuple[Any, ...]] = []
        for quantity, by_study in self.quantities.items():
            for measure, estimates in by_shared_measure(by_study).items():
                for study, estimate in zip(by_study, estimates, strict=True):
                    rows.append(
                        (quantity, measure, study, estimate.value, estimate.low, estimate.high)
                    )
        noun = "level" if self.mean_scores else "mean score"
        for (measure, system), means in self._shared_means.items():
            for study, mean in zip(self.studies, means, strict=True):
                rows.append((f"{noun} of {system}", measure, study, mean, nan, nan))
        for ranks in self.mean_ranks:
            rows += ranks.rows()
        return pd.DataFrame(rows, columns=["quantity", "measure", "study", "value", "low", "high"])

    def findings(self) -> Iterator[str]:
        """Word what is best, and which differences hold on all data sets or reverse."""
        for ranks in self.mean_ranks:
            yield from ranks.findings()
        yield from self._cautions()
        for by_study in self.quantities.values():
            yield sentence_of_quantity(by_study)

    def _cautions(self) -> Iterator[str]:
        """Caution of dependent data sets, and word why mean ranks or measures are not compared.

        Data sets depend on each other if they split the same ratings. Yields nothing if none of
        this applies.
        """
        dependent = self._studies_of_the_same_ratings()
        if dependent and self.mean_ranks:
            yield (
                f"Not independent data sets, as some split the same ratings: {listed(dependent)}. "
                "Tests and intervals over data sets are too certain."
            )
        means = [study.means for study in self.studies.values()]
        systems_by_study = [set(study_means.systems) for study_means in means]
        measures_by_study = [
            {str(measure) for measure in study_means.measures.reported} for study_means in means
        ]
        shared_systems = set.intersection(*systems_by_study)
        shared_measures = set.intersection(*measures_by_study)
        if 1 < len(self._qrels_checksums) < len(self.studies):
            yield "Some studies have the same judgements: there are no mean ranks over data sets."
        elif len(shared_systems) < 2:
            yield "Fewer than two systems are in all studies: there are no mean ranks of systems."
        if not shared_measures:
            yield (
                "No report measure is in all studies with the same cut-off, so that not all can be "
                "compared: set the same `report` in [metrics] of each."
            )

    def _studies_of_the_same_ratings(self) -> list[str]:
        """List the labels of studies whose first input, a file or world, another study has, too.

        Files are known by their checksum, worlds by their settings.
        """
        origins = []
        for study in self.studies.values():
            first_input = study.manifest.inputs[0] if study.manifest.inputs else {}
            origins.append(first_input.get("sha256", first_input.get("world")))
        return [
            label
            for label, origin in zip(self.studies, origins, strict=True)
            if origin is not None and origins.count(origin) > 1
        ]

    def figures(self) -> Iterator[tuple[FigureDeclaration, str, Figure]]:
        """Draw what at least two studies have a figure of: a panel for each study, (a), (b), ...

        Figures with a panel for each metric have a row for each metric that all of them share.
        Yields the declaration of each figure, its caption, and the figure.
        """
        for ranks in self.mean_ranks:
            yield ranks.figure()
        declarations: dict[str, FigureDeclaration] = {}
        results: dict[str, dict[str, Result]] = {}
        for label, study in self.studies.items():
            for key, declaration in study.figures():
                declarations[declaration.name] = declaration
                results.setdefault(declaration.name, {})[label] = study.result(key)
        for declaration in sorted(declarations.values(), key=lambda figure: figure.sort_key):
            by_study = results[declaration.name]
            rows = _panel_rows(declaration, list(by_study.values())) if len(by_study) > 1 else []
            if rows:
                label, result = next(iter(by_study.items()))
                titled = replace(declaration, title=title_of(declaration, result.unit))
                figure = _draw_figure(declaration, by_study, rows)
                yield titled, f"{label}: {figure_caption(figure, declaration, result)}", figure


def _means_by_measure_and_system(study: FinishedStudy) -> dict[tuple[str, str], float]:
    """Look up the mean scores of all systems under the report measures of a study.

    Keys are names of a measure and a system.
    """
    means = study.means
    mean_by_key = {}
    for measure in means.measures.reported:
        values = means.values[means.measures.index(measure)]
        for system, value in zip(means.systems, values.tolist(), strict=True):
            mean_by_key[str(measure), system] = value
    return mean_by_key


def _user_scores(study: FinishedStudy, keys: Iterable[tuple[str, str]]) -> Floats:
    """Read users' scores by measures and systems, of shape (n_keys, n_users).

    ``keys`` are names of a measure and a system that the study has. A row is NaN where the mean of
    the study is not the plain mean of its users' scores, as with weights. The file has scores of
    shape (n_measures, n_systems, n_users); the means are (n_measures, n_systems).
    """
    means = study.means
    labels = [str(measure) for measure in means.measures]
    measure_indices = []
    system_indices = []
    for measure, system in keys:
        measure_indices.append(labels.index(measure))
        system_indices.append(means.systems.index(system))
    all_scores = read_score_tables([study.path_of(SCORES_FILE)])
    scores = all_scores.values[measure_indices, system_indices]
    study_means = means.values[measure_indices, system_indices]
    is_plain_mean = np.isclose(scores.mean(axis=-1), study_means, atol=1e-9)
    return np.where(is_plain_mean[:, np.newaxis], scores, np.nan)


def _panel_rows(declaration: FigureDeclaration, results: Sequence[Result]) -> list[dict[str, str]]:
    """Choose what each row of panels shows, as keywords of the figure: {"metric": "nDCG"}.

    ``results`` are the result of each study. A figure without panels has one row, without keywords;
    another has a row for each panel that all results have.
    """
    if declaration.panels is None:
        return [{}]
    first_names, *other_names = [declaration.panels_of(result) for result in results]
    return [
        {declaration.panels: name}
        for name in first_names
        if all(name in names for names in other_names)
    ]


def _draw_figure(
    declaration: FigureDeclaration,
    by_study: Mapping[str, Result],
    rows: Sequence[dict[str, str]],
) -> Figure:
    """Draw a figure of several studies: for each of ``rows`` a panel for each study.

    Up to three studies (`MOST_ACROSS`) are a row of panels, more have several.

    Each of ``rows`` has the keywords of its panels, such as {"metric": "nDCG"}. Panels are titled
    "(a) study, nDCG", with letters that begin again after (z).
    """
    panels: dict[str, Callable[[Axes], Axes]] = {}
    for row in rows:
        for label, result in by_study.items():
            letter = ascii_lowercase[len(panels) % 26]
            title = f"({letter}) {', '.join([label, *row.values()])}"
            panels[title] = partial(_draw_panel, declaration, result, row, title)
    is_of_cutoffs = declaration.panels == METRIC and declaration.comparable
    return draw_panels(
        panels,
        most_columns=_columns_for(len(by_study)),
        wide=declaration.panels is None,
        share_scales=declaration.comparable,
        legend_title="cut-off" if is_of_cutoffs else None,
    )


def _columns_for(n_studies: int) -> int:
    """Choose how many studies stand beside each other: up to `MOST_ACROSS`, in rows as equal.

    Examples
    --------
    >>> [_columns_for(n_studies) for n_studies in (1, 3, 4, 5, 6, 9)]
    [1, 3, 2, 3, 3, 3]
    """
    n_rows = ceil(n_studies / MOST_ACROSS)
    return ceil(n_studies / n_rows)


def _draw_panel(
    declaration: FigureDeclaration, result: Result, row: Mapping[str, str], title: str, ax: Axes
) -> Axes:
    axes = declaration.draw(result, ax, **row)
    axes.set_title(title)
    return axes


def write_comparison(compared: Comparison | Publication, folder: Path) -> Path:
    """Write page, figures (SVG, PDF) and table of a comparison into a folder.

    Returns the path of the page, ``comparison.html``. Files of the same names are replaced.
    """
    figures: list[dict[str, Any]] = []
    for declaration, caption, figure in compared.figures():
        svg = as_svg(figure)
        name = f"figures/{declaration.file_stem}.svg"
        write_within(folder, name, svg)
        write_within(folder, f"figures/{declaration.file_stem}.pdf", WRITERS["pdf"](figure))
        description = f"{declaration.title}. {caption}"
        drawing = drawing_on_page(
            svg, source=name, prefix=declaration.short, description=description
        )
        figures.append({"face": declaration, "caption": caption, "drawing": drawing})
    numbers = as_csv(map_texts(compared.frame(), escape_formula))
    write_within(folder, "tables/comparison.csv", numbers.encode())
    page = render_page("comparison.html", compared=compared, figures=figures)
    return write_within(folder, "comparison.html", page)
