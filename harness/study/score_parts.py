"""The parts of a study that are scores: by its judgements, and by the truth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from analyses.shared.evidence import to_evidence
from analyses.shared.measure import Measure, Measures, Scores
from harness.metrics.shared.kept_metric import keep_metrics
from harness.metrics.shared.metric import Metric
from harness.readers.scores import SCORES_FILE
from harness.readers.scores_parquet import scores_to_parquet
from harness.report.study_folder import KEPT_METRICS
from harness.scoring.coverage import Coverage
from harness.scoring.means import Means
from harness.scoring.replicated import averaged, deviations, spread
from harness.scoring.score import score
from harness.scoring.user_weights import user_weights, weighted
from harness.study.collection import Collection
from harness.study.known_items import read_catalogue
from harness.study.parts import result_files
from harness.study.study import Study
from harness.study.true_judgements import TrueJudgements
from qrels import Catalogue, Split
from runs import Run
from runs.replicates import Replicates
from runs.shared.progress import Progress

TRUE_SCORES = "true-scores"
"""Name of the part of the study that is the scores by the truth."""

RUNS_FILE, TRUE_RUNS_FILE = "evidence/runs.npz", "truth/runs.npz"
"""What the runs of one system differ by, where there are several of one."""

TRUE_SCORES_FILE = "truth/scores.parquet"


@dataclass(frozen=True)
class ScoreParts:
    """Scores of the systems of a study, and the files that keep them.

    See `harness.study.stages.Stages` for what it is made from.
    """

    study: Study
    collection: Collection
    metrics: Mapping[str, Metric]
    references: Mapping[str, Metric]
    measures: Measures
    progress: Progress

    def catalogue(self) -> Catalogue:
        """Read what metrics may know of items, before systems are trained."""
        return read_catalogue(self.study.items, self.collection)

    def weights(self) -> NDArray[np.float64] | None:
        """Weights of the users; None if all weigh the same."""
        return user_weights(self.collection.qrels, self.study.metrics.average)

    def judged(
        self, runs: Sequence[Run], replicates: Replicates | None, catalogue: Catalogue
    ) -> tuple[Scores, dict[str, bytes]]:
        """Score every user, system and measure by the judgements, unweighted; with the files."""
        with self.progress("Scoring the runs", len(runs)) as bar:
            by_run = score(
                runs,
                self.collection.qrels,
                self.study.measures,
                self.metrics,
                users=self.collection.topics.ids,
                catalogue=catalogue,
                advance=bar.advance,
            )
        scores = averaged(by_run, replicates)
        kept = keep_metrics(self.metrics.values(), self.study.cutoffs)
        return scores, {
            SCORES_FILE: scores_to_parquet(scores),
            **_runs_file(RUNS_FILE, weighted(by_run, self.weights()), replicates),
            **result_files("means", self._means(scores, by_run, replicates)),
            **result_files("coverage", Coverage.of(runs, self.collection.qrels)),
            **({} if kept is None else {KEPT_METRICS: kept}),
        }

    def _means(self, scores: Scores, by_run: Scores, replicates: Replicates | None) -> Means:
        average, weights = self.study.metrics.average, self.weights()
        means = Means.of(weighted(scores, weights), self.metrics, average=average)
        if replicates is None:
            return means
        spreads = spread(weighted(by_run, weights), replicates, self.metrics)
        return replace(means, sizes=replicates.sizes, spreads=spreads)

    def true(
        self,
        lists: Sequence[Run],
        replicates: Replicates | None,
        known: TrueJudgements,
        catalogue: Catalogue,
    ) -> tuple[Scores, dict[str, bytes]]:
        """Score every user of the truth by it, unweighted; with the files."""
        metrics = {**self.references, **self.metrics}
        references = () if self.study.truth is None else self.study.truth.measures
        with self.progress("Scoring by the truth", len(lists)) as bar:
            by_run = true_scores(
                lists,
                known,
                true_measures(self.measures, metrics, references),
                metrics,
                true_catalogue(catalogue, known, self.collection.split),
                advance=bar.advance,
            )
        scores = averaged(by_run, replicates)
        weights = user_weights(known.qrels, self.study.metrics.average)
        return scores, {
            TRUE_SCORES_FILE: scores_to_parquet(scores),
            **_runs_file(TRUE_RUNS_FILE, weighted(by_run, weights), replicates),
        }


def _runs_file(name: str, by_run: Scores, replicates: Replicates | None) -> dict[str, bytes]:
    """Keep what the runs of one system differ by, if there are several of one."""
    return {} if replicates is None else {name: to_evidence(deviations(by_run, replicates))}


def true_measures(
    measures: Measures, metrics: Mapping[str, Metric], references: Sequence[Measure]
) -> Measures:
    """Give what the truth is measured by: what the study measures, then other references.

    What is measured where systems rank items that are hidden from them is left out: nothing is
    hidden by a truth.
    """
    own = measures.among(m for m in measures if not metrics[m.metric].needs)
    every = [*own, *(reference for reference in references if reference not in own)]
    return Measures(
        every,
        falling={name for name, metric in metrics.items() if not metric.higher_is_better},
        reported=own.reported,
        grid=own.grid,
    )


def true_catalogue(
    catalogue: Catalogue, judgements: TrueJudgements, split: Split | None
) -> Catalogue:
    """Know of the users of the truth what is known of those of the study."""
    profiles = None if split is None else split.train.matrix()[judgements.users]
    return replace(catalogue, profiles=profiles, hidden_ranks=None)


def true_scores(
    lists: Sequence[Run],
    judgements: TrueJudgements,
    measures: Measures,
    metrics: Mapping[str, Metric],
    catalogue: Catalogue,
    *,
    advance: Callable[[], None] = lambda: None,
) -> Scores:
    """Score lists of the users of the truth by their true judgements."""
    return score(
        lists,
        judgements.qrels,
        measures,
        metrics,
        users=judgements.topics.ids,
        catalogue=catalogue,
        advance=advance,
    )
