"""Scores by true judgements: what the systems are truly worth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from analyses.shared.measure import Measure, Measures, Scores
from harness.metrics.shared.metric import Metric
from harness.scoring.score import score
from harness.study.true_judgements import TrueJudgements
from qrels import Catalogue, Split
from runs import Run


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
