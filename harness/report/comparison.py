"""Several finished studies side by side: their data, tables, levels, and what holds on all."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations
from math import isnan, nan
from pathlib import Path
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from analyses.intervals.resampling import percentiles, resample_means
from analyses.shared.estimate import Estimate, Estimates
from analyses.shared.figures import PANEL, ROOMY_PANEL, as_pdf, as_svg, side_by_side
from analyses.shared.result import METRIC, FigureFace, Result
from analyses.shared.sentences import listed, paired
from analyses.shared.table import Cell, Table, shown
from harness.readers.scores import SCORES_FILE, read_score_tables
from harness.report.page import image_source, render_page
from harness.report.publication import Publication
from harness.report.study_folder import FinishedStudy, Ledger
from harness.report.tables import estimates_of
from runs import InputError
from runs.shared.files import write_whole

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


OF_RATINGS = {"ratings": "ratings", "items": "items", "density": "density", "gini": "Gini"}
"""What tables of data sets say of ratings, by the name that the manifest has for it."""


@dataclass(frozen=True)
class Comparison:
    """Finished studies, each with a label of its own.

    Their results are compared where at least two of them have them, over the report measures that
    all of these share; levels of systems, where all are judged by the same test part.
    """

    studies: Mapping[str, FinishedStudy]

    @classmethod
    def of(cls, studies: Sequence[FinishedStudy]) -> Comparison:
        """Label studies by their names, or by their folders where names are the same."""
        if len(studies) < 2:
            raise InputError(f"two studies at least are compared, got {len(studies)}.")
        for one, other in combinations(studies, 2):
            if one.folder.resolve() == other.folder.resolve():
                raise InputError(f"{one.folder} is given twice.")
        names = [study.name for study in studies]
        unique = len(set(names)) == len(names)
        labels = names if unique else [str(study.folder) for study in studies]
        made = cls(dict(zip(labels, studies, strict=True)))
        if not made.quantities and made.levels.table() is None:
            raise InputError(
                f"{listed(labels)} share no analysis that gives a number for each measure, with a "
                "report measure in common, and no systems that the same judgements judge."
            )
        return made

    @cached_property
    def quantities(self) -> Mapping[str, Mapping[str, Estimates]]:
        """By name of what is estimated: the estimates of each study that has some."""
        found: dict[str, dict[str, Estimates]] = {}
        for label, study in self.studies.items():
            for _, estimates in estimates_of(study):
                found.setdefault(estimates.name, {})[label] = estimates
        return {
            name: by_study
            for name, by_study in found.items()
            if len(by_study) > 1 and _side_by_side(by_study)
        }

    @cached_property
    def levels(self) -> Levels:
        """What systems reach in all studies, if these judge by the same."""
        return Levels(self.studies)

    def data_sets(self) -> Table:
        """Tabulate what the studies are of: Table 2 of Valcarce et al. (2018), and the systems."""
        rows: list[list[Cell]] = []
        for label, study in self.studies.items():
            facts = study.manifest["collection"]
            ratings = facts.get("ratings", {})
            rows.append(
                [
                    label,
                    facts.get("users", facts.get("topics", nan)),
                    *(ratings.get(name, nan) for name in OF_RATINGS),
                    facts.get("judgements", nan),
                    len(study.manifest["systems"]),
                ]
            )
        return Table(
            name="data_sets",
            title="The data sets",
            note="Users are those with judgements (of TREC collections: topics); the Gini "
            "coefficient is that of ratings over items.",
            headings=["study", "users", *OF_RATINGS.values(), "judgements", "systems"],
            rows=rows,
        )

    @property
    def title(self) -> str:
        """What stands beside what."""
        return " – ".join(self.studies)

    lead = "Which conclusions about metrics hold on all of these data sets?"

    @property
    def data(self) -> list[str]:
        """What the studies are of."""
        return [study.manifest["data"] for study in self.studies.values()]

    def tables(self) -> Iterator[Table]:
        """Tabulate the data sets, each quantity, then levels of systems."""
        yield self.data_sets()
        yield from self.quantity_tables()
        levels = self.levels.table()
        if levels is not None:
            yield levels

    def quantity_tables(self) -> Iterator[Table]:
        """Tabulate each quantity: measures down, studies across, with intervals."""
        for name, by_study in self.quantities.items():
            first = next(iter(by_study.values()))
            rows: list[list[Cell]] = [
                [label, *(cell for e in found for cell in (e.value, e.interval))]
                for label, found in _side_by_side(by_study).items()
            ]
            best = min if first.lower_is_better else max
            yield Table(
                name=re.sub(r"\W+", "_", name),
                title=f"{first.subject}: {first.quantity}",
                note="Intervals (95 %) come from resampling.",
                headings=["measure", *(heading for s in by_study for heading in (s, "95 %"))],
                rows=rows,
                best={1 + 2 * n: best for n in range(len(by_study))},
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
        rows += [
            (f"level of {system}", measure, study, value, nan, nan)
            for measure, system, levels in self.levels.rows()
            for study, value in zip(self.studies, levels, strict=True)
        ]
        columns = ["quantity", "measure", "study", "value", "low", "high"]
        return pd.DataFrame(rows, columns=columns)

    def findings(self) -> Iterator[str]:
        """Say which conclusions hold on all data sets, and which on one and not on another."""
        for by_study in self.quantities.values():
            first, labels = next(iter(by_study.values())), list(_side_by_side(by_study))
            agreement = _agreement(by_study, labels) if len(labels) > 1 else ""
            yield f"{first.subject} ({first.quantity}): {_leaders(by_study)} {agreement}".rstrip()

    def figures(self) -> Iterator[tuple[FigureFace, str, Figure]]:
        """Draw what at least two studies have a figure of: a panel for each study, (a), (b), ...

        Figures with a panel for each metric have a row for each metric that all of them share.
        """
        for face, of in self._shared_faces():
            rows = _rows(face, [*of.values()])
            if rows:
                captions = {label: face.caption(result) for label, result in of.items()}
                first, caption = next(iter(captions.items()))
                alike = len({*captions.values()}) == 1
                drawn = _figure(face, of, rows)
                yield face, caption if alike else f"Of {first}: {caption}", drawn

    def _shared_faces(self) -> Iterator[tuple[FigureFace, Mapping[str, Result]]]:
        faces: dict[str, FigureFace] = {}
        results: dict[str, dict[str, Result]] = {}
        for label, study in self.studies.items():
            for key, face in study.figures():
                faces[face.name] = face
                results.setdefault(face.name, {})[label] = study.result(key)
        for name in sorted(faces, key=lambda name: faces[name].place):
            if len(results[name]) > 1:
                yield faces[name], results[name]


def _rows(face: FigureFace, results: Sequence[Result]) -> list[dict[str, str]]:
    """Choose what each row of panels shows: nothing, or one of what all results have panels of."""
    if face.panels is None:
        return [{}]
    every = [face.panels_of(result) for result in results]
    shared = [name for name in every[0] if all(name in names for names in every)]
    return [{face.panels: name} for name in shared]


def _figure(face: FigureFace, of: Mapping[str, Result], rows: Sequence[dict[str, str]]) -> Figure:
    draws: dict[str, Callable[[Axes], Axes]] = {}
    for row in rows:
        for label, result in of.items():
            title = f"({_letter(len(draws))}) {', '.join([label, *row.values()])}"
            draws[title] = partial(_draw, face, result, row, title)
    return side_by_side(
        draws,
        most_columns=len(of),
        size=ROOMY_PANEL if face.panels is None else PANEL,
        alike=face.comparable,
        legend="cut-off" if face.panels == METRIC and face.comparable else None,
    )


def _letter(n: int) -> str:
    """Number panels as papers do: a, b, ..., z, aa, ab, ..."""
    before, last = divmod(n, len(ascii_lowercase))
    return (_letter(before - 1) if before else "") + ascii_lowercase[last]


def _draw(
    face: FigureFace, result: Result, chosen: Mapping[str, str], title: str, ax: Axes
) -> Axes:
    drawn = face.draw(result, ax, **chosen)
    drawn.set_title(title)
    return drawn


def _side_by_side(by_study: Mapping[str, Estimates]) -> dict[str, list[Estimate]]:
    """Give the estimates of each report measure that all studies have one for, study by study."""
    found = [each.of(each.measures.reported) for each in by_study.values()]
    shared = [label for label in found[0] if all(label in others for others in found)]
    return {label: [by_label[label] for by_label in found] for label in shared}


def _leaders(by_study: Mapping[str, Estimates]) -> str:
    """Say which measures are first in which studies."""
    side_by_side = _side_by_side(by_study)
    first: dict[str, list[str]] = {}
    for n, (study, estimates) in enumerate(by_study.items()):
        values = {label: found[n].value for label, found in side_by_side.items()}
        best = shown((min if estimates.lower_is_better else max)(values.values()))
        level = [label for label, value in values.items() if shown(value) == best]
        first.setdefault(listed(level), []).append(study)
    if len(first) == 1:
        return f"first in all {len(by_study)} studies: {next(iter(first))}."
    return f"first in {'; in '.join(f'{listed(s)}: {m}' for m, s in first.items())}."


def _agreement(by_study: Mapping[str, Estimates], labels: Sequence[str]) -> str:
    """Count the differences that are jointly beyond noise, and of one sign everywhere."""
    alike: list[tuple[str, str]] = []
    opposite: list[tuple[str, str]] = []
    for a, b in combinations(labels, 2):
        signs = [_sign(estimates, a, b) for estimates in by_study.values()]
        if abs(sum(signs)) == len(signs):
            alike.append((a, b) if signs[0] > 0 else (b, a))
        elif {-1, 1} <= {*signs}:
            opposite.append((a, b))
    n_pairs = len(labels) * (len(labels) - 1) // 2
    held = f" ({paired(alike)}; the better one first)" if alike else ""
    turned = f" ({paired(opposite)})" if opposite else ""
    return (
        f"Different beyond noise, and in the same direction in all studies: {len(alike)} of "
        f"{n_pairs} pairs of measures{held}; in opposite directions: {len(opposite)}{turned}."
    )


def _sign(estimates: Estimates, a: str, b: str) -> int:
    """Say which of two measures is better beyond noise: 1 the first, -1 the second, 0 neither."""
    reported = estimates.measures.reported
    difference = estimates.difference(
        reported.called(a), reported.called(b), among=estimates.every_two
    )
    if isnan(difference.low) or not difference.is_beyond_noise:
        return 0
    return (-1 if estimates.lower_is_better else 1) * (1 if difference.value > 0 else -1)


def write_comparison(compared: Comparison | Publication, folder: Path) -> Path:
    """Write page, figures and table of a comparison into a folder."""
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
        yield {"name": face.file, "title": title, "caption": caption, "source": image_source(svg)}


REPLICATES = 1000
JUDGEMENTS = "qrels/test.qrels"


@dataclass(frozen=True)
class Levels:
    """Means of the systems that all of some studies have, by the report measures they share.

    There are none unless the studies have the same judgements.
    """

    studies: Mapping[str, FinishedStudy]

    @cached_property
    def systems(self) -> list[str]:
        """Names of the systems that all studies have."""
        first, *others = [study.means.systems for study in self.studies.values()]
        return [name for name in first if all(name in names for names in others)]

    @cached_property
    def measures(self) -> list[str]:
        """Report measures that all studies have, if they have the same judgements."""
        if len({_judgements(study) for study in self.studies.values()}) > 1:
            return []
        first, *others = [study.means.measures for study in self.studies.values()]
        known = [{str(measure) for measure in measures} for measures in others]
        return [str(m) for m in first.reported if all(str(m) in labels for labels in known)]

    def rows(self) -> Iterator[tuple[str, str, list[float]]]:
        """Give measure, system and the level in each study."""
        levels = [self._of(study, study.means.values) for study in self.studies.values()]
        for m, measure in enumerate(self.measures):
            for s, system in enumerate(self.systems):
                yield measure, system, [float(values[m, s]) for values in levels]

    def table(self) -> Table | None:
        """Tabulate the levels, with what other studies have more than the first; None for none."""
        if not (self.measures and self.systems):
            return None
        first, *others = self.studies
        gains = [self._gains(other) for other in others]
        rows: list[list[Cell]] = [
            [
                f"{measure}, {system}",
                levels[0],
                *(
                    cell
                    for n, level in enumerate(levels[1:])
                    for cell in (level, gains[n][measure, system].interval)
                ),
            ]
            for measure, system, levels in self.rows()
        ]
        headings = [heading for other in others for heading in (other, "gain, 95 %")]
        note = (
            f"The same judgements. What a study gains over {first} stands behind it: an interval "
            "over users, each by itself."
        )
        return Table("levels", "Levels of the systems", note, ["", first, *headings], rows)

    def _gains(self, other: str) -> dict[tuple[str, str], Estimate]:
        """Resample what each user gains over the first study."""
        first, *_ = self.studies.values()
        before, after = (self._of(s, _scores(s)) for s in (first, self.studies[other]))
        gains = after - before
        # What is known of no user alone, as of a geometric mean, has no interval.
        known = ~np.isnan(gains).any(axis=-1)
        means = resample_means(np.nan_to_num(gains), replicates=REPLICATES, seed=0)
        limits = (np.where(known, limit, np.nan) for limit in percentiles(means))
        pairs = [(m, s) for m in self.measures for s in self.systems]
        found = zip(*(values.ravel() for values in (gains.mean(axis=-1), *limits)), strict=True)
        return {pair: Estimate(*map(float, e)) for pair, e in zip(pairs, found, strict=True)}

    def _of(self, study: FinishedStudy, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Choose the values of the measures and systems that all studies have."""
        labels = [str(measure) for measure in study.means.measures]
        names = list(study.means.systems)
        chosen = [labels.index(m) for m in self.measures], [names.index(s) for s in self.systems]
        return values[np.ix_(*chosen)]


def _judgements(study: FinishedStudy) -> str | None:
    """Give the checksum of what a study judges by."""
    entry = Ledger(study.folder).entry("qrels")
    return None if entry is None else entry.files.get(JUDGEMENTS)


def _scores(study: FinishedStudy) -> NDArray[np.float64]:
    """Read the scores of users; NaN if means are no plain means of them."""
    scores = read_score_tables([study.folder / SCORES_FILE]).values
    plain = np.isclose(scores.mean(axis=-1), study.means.values, atol=1e-9)
    return np.where(plain[..., np.newaxis], scores, np.nan)
