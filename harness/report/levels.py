"""Levels of the same systems in studies that judge them by the same test part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from analyses.intervals.resampling import percentiles, resample_means
from analyses.shared.estimate import Estimate
from analyses.shared.table import Cell, Table
from harness.readers.scores import SCORES_FILE, read_score_tables
from harness.report.ledger import Ledger
from harness.report.study_folder import FinishedStudy

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
