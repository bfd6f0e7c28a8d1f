"""What an analysis may use, and what it contributes to the study folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from analyses.shared.evidence import to_evidence
from analyses.shared.figures import as_png, as_svg, settle
from analyses.shared.measure import Scores
from analyses.shared.publish import as_csv
from harness.catalogue import figures_of
from harness.metrics.shared.metric import Metric
from harness.scoring.score import SampleScorer
from harness.study.collection import Collection
from harness.study.study import Study
from qrels import FullRanks
from runs import Run
from runs.shared.progress import Progress

if TYPE_CHECKING:
    import pandas as pd

    from analyses.popularity import Popularity
    from analyses.sparsity import Sparsity
    from harness.catalogue import Result


@dataclass(frozen=True, eq=False)
class Work:
    """What an analysis may use.

    Parameters
    ----------
    study, collection
        What is studied, on what.
    runs, scores
        The systems' lists, and the scores of every user.
    metrics
        The metrics by name.
    n_jobs
        Workers; results do not depend on it.
    progress
        Shows what is being done.
    full_ranks
        By system: where the relevant items stand among all candidates, if an analysis asks.
    """

    study: Study
    collection: Collection
    runs: Sequence[Run]
    scores: Scores
    metrics: Mapping[str, Metric]
    n_jobs: int
    progress: Progress
    full_ranks: Mapping[str, FullRanks] = field(default_factory=dict)

    def sample_scorer(self) -> SampleScorer:
        """Give what scores the systems under changed judgements."""
        return SampleScorer(self.runs, self.collection.qrels, self.study.measures, self.metrics)


@dataclass
class Output:
    """Files of an analysis.

    Parameters
    ----------
    files
        Content by name, relative to the study folder.
    """

    files: dict[str, bytes] = field(default_factory=dict)

    def add_table(self, name: str, frame: pd.DataFrame) -> None:
        """Add a table: numbers in full, so that equal results are equal bytes."""
        self.files[f"tables/{name}.csv"] = as_csv(frame).encode()

    def add_areas(self, analysis: str, result: Sparsity | Popularity) -> None:
        """Add the areas under the curves of an analysis, and what sets them apart, as tables."""
        self.add_table(f"{analysis}_areas", result.areas())
        self.add_table(f"{analysis}_area_differences", result.area_differences())

    def add_result(self, work: Work, analysis: str, result: Result) -> None:
        """Keep a result as evidence, with the figures of the catalogue that show it."""
        self.files[evidence_name(analysis)] = to_evidence(result)
        drawings = figures_of(analysis)
        with work.progress("Drawing figures", len(drawings)) as bar:
            for name, drawing in drawings.items():
                figure = drawing.draw(result)
                self.files[f"figures/{name}.svg"] = as_svg(figure)
                settle(figure)
                self.files[f"figures/{name}.png"] = as_png(figure)
                self.files[f"figures/{name}.txt"] = (result.caption() + "\n").encode()
                bar.advance()


def evidence_name(analysis: str) -> str:
    """Name the file that keeps the result of an analysis."""
    return f"evidence/{analysis}.npz"
