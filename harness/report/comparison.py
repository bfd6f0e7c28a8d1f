"""Comparison of finished studies: their data, quantities, scores, and consistent differences."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations, compress
from math import comb, nan
from pathlib import Path
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

import numpy as np

from analyses.intervals.data_sets import DataSetRanks
from analyses.intervals.resampling import percentiles, resample_means
from analyses.shared.estimate import Estimate
from analyses.shared.estimates import Estimates
from analyses.shared.figures import WRITERS, as_svg, draw_panels, figure_caption
from analyses.shared.number_format import Cell
from analyses.shared.publish import as_csv, map_texts
from analyses.shared.result import METRIC, FigureDeclaration, Result, title_of
from analyses.shared.sentences import join_pairs, listed
from analyses.shared.table import Table, escape_formula
from harness.readers.scores import SCORES_FILE, read_score_tables
from harness.report.mean_ranks import MeanRanks
from harness.report.page import image_source, render_page
from harness.report.publication import Publication
from harness.report.study_folder import FinishedStudy, Ledger
from harness.report.tables import estimates_of
from runs import InputError
from runs.shared.arrays import Floats
from runs.shared.errors import counted
from runs.shared.files import write_within

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


OF_RATINGS = {"ratings": "ratings", "items": "items", "density": "density", "gini": "Gini"}
"""What tables of data sets say of ratings, by the name that the manifest has for it."""

JUDGEMENTS = "qrels/test.qrels"


@dataclass(frozen=True)
class Comparison:
    """Finished studies, each with a label of its own.

    Their results are compared where at least two of them have them, over the report measures that
    all of these share; levels of systems, where all are judged by the same test part; ranks of
    systems and of measures, where each is judged by a test part of its own.
    """

    studies: Mapping[str, FinishedStudy]

    @classmethod
    def of(cls, studies: Sequence[FinishedStudy]) -> Comparison:
        """Label studies by their names, or by their folders where names are the same."""
        if len({study.folder.resolve() for study in studies}) < max(2, len(studies)):
            raise InputError("a comparison needs two or more different studies.")
        names = [study.name for study in studies]
        unique = len(set(names)) == len(names)
        labels = names if unique else [str(study.folder) for study in studies]
        made = cls(dict(zip(labels, studies, strict=True)))
        if not (made.quantities or made.levels or made.mean_ranks):
            raise InputError(
                f"{listed(labels)} have nothing to compare: they share no report measure of the "
                "same cut-off, or neither an analysis nor systems with the same judgements."
            )
        return made

    @cached_property
    def quantities(self) -> Mapping[str, Mapping[str, Estimates]]:
        """By name of what is estimated: the estimates of each study that has some."""
        found: dict[str, dict[str, Estimates]] = {}
        for label, study in self.studies.items():
            for _, estimates in estimates_of(study):
                found.setdefault(estimates.name, {})[label] = estimates
        return {n: some for n, some in found.items() if len(some) > 1 and _side_by_side(some)}

    @cached_property
    def _judgements(self) -> set[str | None]:
        """Checksums of the judgements of all studies."""
        entries = [Ledger(study.folder).entry("qrels") for study in self.studies.values()]
        return {None if entry is None else entry.files.get(JUDGEMENTS) for entry in entries}

    @cached_property
    def _means(self) -> Mapping[tuple[str, str], list[float]]:
        """Means by measure and system, study by study: of those that all studies have."""
        first, *others = [
            {
                (str(measure), system): float(means.values[means.measures.index(measure), s])
                for measure in means.measures.reported
                for s, system in enumerate(means.systems)
            }
            for means in (study.means for study in self.studies.values())
        ]
        return {
            key: [level, *(other[key] for other in others)]
            for key, level in first.items()
            if all(key in other for other in others)
        }

    @property
    def levels(self) -> Mapping[tuple[str, str], list[float]]:
        """The same, if the studies have the same judgements; else none."""
        return self._means if len(self._judgements) == 1 else {}

    @cached_property
    def mean_ranks(self) -> Sequence[MeanRanks]:
        """Mean ranks of systems and of measures, if every study has judgements of its own."""
        if len(self._judgements) < len(self.studies):
            return ()
        every = [study.means for study in self.studies.values()]
        systems = tuple(dict.fromkeys(system for _, system in self._means))
        lacking = {system for means in every for system in means.systems} - {*systems}
        by_measure = []
        for measure in every[0].measures.reported if len(systems) > 1 else ():
            found = [self._means.get((str(measure), system), [nan]) for system in systems]
            if not np.isnan(sum(map(sum, found))):
                sign = -1.0 if measure.metric in every[0].measures.lower_is_better_for else 1.0
                scores = sign * np.array(found).T
                by_measure.append(DataSetRanks(str(measure), (*self.studies,), systems, scores))
        by_quantity, poor = [], {}
        for name, by_study in self.quantities.items():
            beside = _side_by_side(by_study)
            if len(beside) > 1:
                sign = -1.0 if next(iter(by_study.values())).lower_is_better else 1.0
                scores = sign * np.array([[e.value for e in found] for found in beside.values()]).T
                by_quantity.append(DataSetRanks(name, (*by_study,), (*beside,), scores))
                poor[name] = [label for label in beside if _is_poor(label, by_study.values())]
        of_systems = MeanRanks("system", by_measure, sorted(lacking))
        of_measures = MeanRanks("measure", by_quantity, poor=poor)
        return [ranks for ranks in (of_systems, of_measures) if ranks.every]

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
        """Tabulate the data sets (Table 2 of Valcarce et al. 2018), quantities, then levels."""
        rows: list[list[Cell]] = []
        for label, study in self.studies.items():
            facts, ratings = study.manifest.collection, study.manifest.ratings
            users = facts["users"] if "users" in facts else facts.get("topics", nan)
            counts = [ratings.get(name, nan) for name in OF_RATINGS]
            n_judgements, n_systems = facts.get("judgements", nan), len(study.manifest.systems)
            rows.append([label, users, *counts, n_judgements, n_systems])
        headings = ["study", "users", *OF_RATINGS.values(), "judgements", "systems"]
        note = "Users (or topics) with judgements; Gini index of the ratings over the items."
        yield Table("data_sets", "The data sets", note, headings, rows)
        for ranks in self.mean_ranks:
            yield from ranks.tables()
        yield from self.quantity_tables()
        if self.levels:
            yield self._levels_table()

    def _levels_table(self) -> Table:
        """Tabulate mean scores, and differences from the first study over the same users."""
        first, *others = self.studies
        before, *after = (_scores(study, self.levels) for study in self.studies.values())
        limits = [percentiles(resample_means(a - before, replicates=1000, seed=0)) for a in after]
        rows: list[list[Cell]] = []
        for number, ((measure, system), (level, *levels)) in enumerate(self.levels.items()):
            gains = [Estimate(nan, *(float(limit[number]) for limit in each)) for each in limits]
            beside = [c for m, gain in zip(levels, gains, strict=True) for c in (m, gain.interval)]
            rows.append([f"{measure}, {system}", level, *beside])
        headings = ["", first, *(heading for o in others for heading in (o, "difference, 95 %"))]
        note = (
            f"Mean scores on the same judgements, and 95 % intervals over users of the difference "
            f"from {first}, each for itself."
        )
        return Table("levels", "Mean scores of the systems", note, headings, rows)

    def quantity_tables(self) -> Iterator[Table]:
        """Tabulate each quantity: measures down, studies across, with intervals."""
        for name, by_study in self.quantities.items():
            first, every = next(iter(by_study.values())), _side_by_side(by_study)
            rows: list[list[Cell]] = [
                [label, *(cell for e in found for cell in (e.value, e.interval))]
                for label, found in every.items()
            ]
            best = [[*map(str, e.in_order().significantly_best())] for e in by_study.values()]
            bold = {
                (row, 1 + 2 * column)
                for column, labels in enumerate(best)
                for row, label in enumerate(every)
                if label in labels
            }
            yield Table(
                name=re.sub(r"\W+", "_", name),
                title=f"{first.subject}: {first.quantity}",
                note=f"{'Lower' if first.lower_is_better else 'Higher'} is better. Intervals: over "
                "users.",
                headings=["measure", *(heading for s in by_study for heading in (s, "95 %"))],
                rows=rows,
                bold=bold,
            )

    def frame(self) -> pd.DataFrame:
        """Give the same as one tidy table: quantity, measure, study, value, low, high."""
        import pandas as pd

        rows = [
            (name, measure, study, estimate.value, estimate.low, estimate.high)
            for name, by_study in self.quantities.items()
            for measure, estimates in _side_by_side(by_study).items()
            for study, estimate in zip(by_study, estimates, strict=True)
        ]
        what = "level" if self.levels else "mean score"
        rows += [
            (f"{what} of {system}", measure, study, value, nan, nan)
            for (measure, system), means in self._means.items()
            for study, value in zip(self.studies, means, strict=True)
        ]
        rows += [row for ranks in self.mean_ranks for row in ranks.rows()]
        return pd.DataFrame(rows, columns=["quantity", "measure", "study", "value", "low", "high"])

    def findings(self) -> Iterator[str]:
        """Say what is best, and which differences hold on all data sets or reverse."""
        for ranks in self.mean_ranks:
            yield from ranks.findings()
        firsts = [next(iter(study.manifest.inputs), {}) for study in self.studies.values()]
        origins = [first.get("sha256", first.get("world")) for first in firsts]
        again = [
            label
            for label, own in zip(self.studies, origins, strict=True)
            if own is not None and origins.count(own) > 1
        ]
        if again and self.mean_ranks:
            yield (
                f"Not independent data sets, as some split the same ratings: {listed(again)}. "
                "Tests and intervals over data sets are too certain."
            )
        every = [study.means for study in self.studies.values()]
        if 1 < len(self._judgements) < len(self.studies):
            yield "Some studies have the same judgements: there are no mean ranks over data sets."
        elif len(set.intersection(*({*means.systems} for means in every))) < 2:
            yield "Fewer than two systems are in all studies: there are no mean ranks of systems."
        if not set.intersection(*({*map(str, means.measures.reported)} for means in every)):
            yield (
                "No report measure is in all studies with the same cut-off, so that not all can be "
                "compared: set the same `report` in [metrics] of each."
            )
        for by_study in self.quantities.values():
            of_both = any(e.has_further_sources for e in by_study.values())
            over = "users and systems" if of_both else "users"
            best = [
                f"{_best_of(e)} ({study}{', over users alone' * (e.has_further_sources < of_both)})"
                for study, e in by_study.items()
            ]
            estimates, n_measures = next(iter(by_study.values())), len(_side_by_side(by_study))
            found = directions(by_study)
            same, opposite = (f"{len(p)}{f' ({join_pairs(p)})' * bool(p)}" for p in found)
            pairs = counted(comb(n_measures, 2), "pair of measures")
            yield (
                f"May be the most {estimates.best}, over {over}: {'; '.join(best)}. Of {pairs}, "
                f"{same} differ significantly in the same direction in all studies (the better "
                f"first), {opposite} in opposite directions."
            )

    def figures(self) -> Iterator[tuple[FigureDeclaration, str, Figure]]:
        """Draw what at least two studies have a figure of: a panel for each study, (a), (b), ...

        Figures with a panel for each metric have a row for each metric that all of them share.
        """
        yield from (ranks.figure() for ranks in self.mean_ranks)
        faces: dict[str, FigureDeclaration] = {}
        results: dict[str, dict[str, Result]] = {}
        for label, study in self.studies.items():
            for key, face in study.figures():
                faces[face.name] = face
                results.setdefault(face.name, {})[label] = study.result(key)
        for face in sorted(faces.values(), key=lambda face: face.sort_key):
            of = results[face.name]
            rows = _rows(face, [*of.values()]) if len(of) > 1 else []
            if rows:
                first, result = next(iter(of.items()))
                titled = replace(face, title=title_of(face, result.unit))
                drawn = _figure(face, of, rows)
                yield titled, f"{first}: {figure_caption(drawn, face, result)}", drawn


def _scores(study: FinishedStudy, keys: Iterable[tuple[str, str]]) -> Floats:
    """Give users' scores by measures and systems; NaN where means are no plain means of them."""
    labels = [str(measure) for measure in study.means.measures]
    places = [(labels.index(m), study.means.systems.index(system)) for m, system in keys]
    chosen = tuple(np.array(places).T)
    scores = read_score_tables([study.path_of(SCORES_FILE)]).values[chosen]
    plain = np.isclose(scores.mean(axis=-1), study.means.values[chosen], atol=1e-9)
    return np.where(plain[:, np.newaxis], scores, np.nan)


def _rows(face: FigureDeclaration, results: Sequence[Result]) -> list[dict[str, str]]:
    """Choose what each row of panels shows: nothing, or one of what all results have panels of."""
    if face.panels is None:
        return [{}]
    every = [face.panels_of(result) for result in results]
    return [{face.panels: n} for n in every[0] if all(n in names for names in every)]


def _figure(
    face: FigureDeclaration, of: Mapping[str, Result], rows: Sequence[dict[str, str]]
) -> Figure:
    panels: dict[str, Callable[[Axes], Axes]] = {}
    for row in rows:
        for label, result in of.items():
            title = f"({ascii_lowercase[len(panels) % 26]}) {', '.join([label, *row.values()])}"
            panels[title] = partial(_draw, face, result, row, title)
    roomy, alike = face.panels is None, face.comparable
    legend = "cut-off" if face.panels == METRIC and alike else None
    return draw_panels(panels, most_columns=len(of), roomy=roomy, alike=alike, legend=legend)


def _draw(
    face: FigureDeclaration, result: Result, row: Mapping[str, str], title: str, ax: Axes
) -> Axes:
    drawn = face.draw(result, ax, **row)
    drawn.set_title(title)
    return drawn


def _side_by_side(by_study: Mapping[str, Estimates]) -> dict[str, list[Estimate]]:
    """Give the estimates of each report measure that all studies have one for, study by study."""
    found = []
    for each in by_study.values():
        reported = each.measures.reported
        found.append(
            {str(reported.with_label(label)): e for label, e in each.by_label(reported).items()}
        )
    shared = [name for name in found[0] if all(name in others for others in found)]
    return {name: [by_name[name] for by_name in found] for name in shared}


def _is_poor(name: str, among: Iterable[Estimates]) -> bool:
    """Say whether a measure, named with its cut-off, does not pass the threshold somewhere."""
    return not all(e.acceptable()[[*map(str, e.measures)].index(name)] for e in among)


def _best_of(estimates: Estimates) -> str:
    """Name the measures than which no other is significantly better, if any is acceptable."""
    ordered = estimates.in_order()
    if not ordered.acceptable().any():
        return "no measure"
    marked = ordered.may_be_best(all_sources=ordered.has_further_sources)
    unbeaten = [*map(str, compress(ordered.measures, marked))]
    all_may = 1 < len(unbeaten) == len(ordered.measures)
    return "any measure" if all_may else listed(unbeaten, "or")


def directions(
    by_study: Mapping[str, Estimates],
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Give pairs of measures that differ significantly in all studies alike, or in opposite ways.

    Of the former the better comes first.
    """
    every = [_signs(each) for each in by_study.values()]
    pairs = combinations(_side_by_side(by_study), 2)
    signs = {pair: {own[pair] for own in every} for pair in pairs}
    alike = [(a, b) if s == {1} else (b, a) for (a, b), s in signs.items() if s < {-1, 1}]
    return alike, [pair for pair, found in signs.items() if found >= {-1, 1}]


def _signs(estimates: Estimates) -> dict[tuple[str, str], int]:
    """Say which of two measures is better beyond noise: 1 the first, -1 the second, 0 neither."""
    pairs, side = estimates.reported_pairs, -1 if estimates.lower_is_better else 1
    found: dict[tuple[str, str], int] = {}
    every = estimates.simultaneous_differences(pairs, all_sources=estimates.has_further_sources)
    for (one, other), difference in zip(pairs, every, strict=True):
        sign = side * (int(difference.low > 0) - int(difference.high < 0))
        found |= {(str(one), str(other)): sign, (str(other), str(one)): -sign}
    return found


def write_comparison(compared: Comparison | Publication, folder: Path) -> Path:
    """Write page, figures and table of a comparison into a folder."""
    figures: list[dict[str, Any]] = []
    for face, caption, drawn in compared.figures():
        svg = as_svg(drawn)
        write_within(folder, f"figures/{face.file_stem}.svg", svg)
        write_within(folder, f"figures/{face.file_stem}.pdf", WRITERS["pdf"](drawn))
        figures.append({"face": face, "caption": caption, "source": image_source(svg)})
    numbers = as_csv(map_texts(compared.frame(), escape_formula))
    write_within(folder, "tables/comparison.csv", numbers.encode())
    page = render_page("comparison.html", compared=compared, figures=figures)
    return write_within(folder, "comparison.html", page)
