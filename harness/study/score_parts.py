"""The parts of a study that are scores, by its judgements and by the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from analyses.shared.evidence import to_evidence
from analyses.shared.measure import Measures, Scores
from analyses.shared.sentences import listed
from analyses.shared.table import rounded
from harness.metrics.shared.metric import Metric
from harness.readers.item_tables import read_features, read_item_values
from harness.readers.scores import SCORES_FILE, scores_to_parquet
from harness.scoring.means import (
    Coverage,
    Means,
    averaged,
    deviations,
    spread,
    user_weights,
    weighted,
)
from harness.scoring.score import score
from harness.study.collection import Collection
from harness.study.sections import ItemsSection
from harness.study.store import result_files
from harness.study.study import Study
from harness.study.true_judgements import TrueJudgements
from qrels import Catalogue, Qrels, judge
from qrels.ranks.hidden_ranks import MISS
from qrels.ranks.judged_ranks import JudgedRanks, Validation
from qrels.ratings.world.truth import item_propensities
from runs import InputError, Run
from runs.replicates import Replicates
from runs.shared.arrays import Floats
from runs.shared.errors import warn
from runs.shared.progress import Progress, Silent

LEAST_TIED, LEAST_SPAN = 0.05, 0.001
"""Share of lists with equal scores, and range of a mean, from which a caution is worth it."""

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

    def weights(self, qrels: Qrels) -> Floats | None:
        """Weights of the users of judgements; None if all weigh the same."""
        return user_weights(qrels, self.study.metrics.average)

    def judged(self, runs: Sequence[Run], catalogue: Catalogue) -> Scores:
        """Score every user, run and measure by the judgements, unweighted."""
        scored = runs, self.collection.qrels, self.measures, self.metrics
        users = self.collection.topics.ids
        with self.progress("Scoring the runs", len(runs)) as bar:
            return score(*scored, users=users, catalogue=catalogue, advance=bar.advance)

    def warn_of_ties(self, catalogue: Catalogue) -> None:
        """Warn of given runs of which many lists have equal scores, and by how much they matter."""
        reported = self.measures.reported
        deepest = max((measure.cutoff or 0 for measure in reported), default=0) or None
        for run in self.collection.runs:
            share = 0.0 if run.tied is None else run.tied[:, :deepest].any(axis=1).mean()
            if share < LEAST_TIED:
                continue
            qrels = self.collection.qrels
            grades = judge(run, qrels).grades
            # An unjudged item is worth less than a relevant one, and more than a non-relevant one.
            worth = np.where(np.isnan(grades), qrels.relevance_level - 0.5, grades)
            ways = [run, run.with_ties_by(-worth), run.with_ties_by(worth)]
            quiet = replace(self, measures=Measures(reported, reported=reported), progress=Silent())
            named = [replace(each, system=str(n)) for n, each in enumerate(ways)]
            scores = quiet.judged(named, catalogue)
            values = weighted(scores, self.weights(qrels)).mean_values()
            spans = [
                f"{measure} {rounded(value)} ({rounded(low)} to {rounded(high)})"
                for measure, (value, *ends) in zip(reported, values.tolist(), strict=True)
                if (high := max(value, *ends)) - (low := min(value, *ends)) >= LEAST_SPAN
            ]
            if spans:
                lists = f"{share:.0%} of the lists of {run.system}".replace("%", " %")
                warn(
                    f"{lists} have items with equal scores, which are ordered by item id. With "
                    f"other orders of these items, its means could be: {listed(spans)}."
                )

    def truly_judged(self, lists: list[Run], known: TrueJudgements, catalogue: Catalogue) -> Scores:
        """Score every user of the truth by it, unweighted.

        Lists of trained systems that hold truly judged items alone are completed. Measures are what
        the study measures, then other references, without those of hidden items: nothing is hidden
        by a truth.
        """
        if known.candidates == "judged" and not self.collection.runs:
            depth = max(run.items.shape[1] for run in lists)
            lists = [known.completed(run, depth, seed=self.study.seed) for run in lists]
        metrics, split = {**self.references, **self.metrics}, self.collection.split
        own = self.measures.among(m for m in self.measures if not metrics[m.metric].needs)
        references = () if self.study.truth is None else self.study.truth.measures
        every = [*own, *(reference for reference in references if reference not in own)]
        profiles = None if split is None else split.train.matrix()[known.users]
        measures = Measures(every, reported=own.reported, grid=own.grid)
        seen = replace(catalogue, profiles=profiles, hidden_ranks=None)
        qrels, users = known.qrels, known.topics.ids
        with self.progress("Scoring by the truth", len(lists)) as bar:
            return score(
                lists, qrels, measures, metrics, users=users, catalogue=seen, advance=bar.advance
            )

    def files(
        self, runs: Sequence[Run], by_run: Scores, replicates: Replicates | None
    ) -> dict[str, bytes]:
        """Give the files of the scores by the judgements: scores, means, coverage, metrics."""
        scores = replace(averaged(by_run, replicates), unit=self.collection.unit)
        weights = self.weights(self.collection.qrels)
        average = self.study.metrics.average
        means = Means.of(weighted(scores, weights), self.metrics, average=average)
        if replicates is not None:
            spreads = spread(weighted(by_run, weights), replicates, self.metrics)
            means = replace(means, sizes=replicates.sizes, spreads=spreads)
        coverage, unit = Coverage.of(runs, self.collection.qrels), self.collection.unit
        return {
            SCORES_FILE: scores_to_parquet(scores),
            **runs_file(RUNS_FILE, weighted(by_run, weights), replicates),
            **result_files("means", replace(means, unit=unit)),
            **result_files("coverage", replace(coverage, unit=unit)),
        }


def runs_file(name: str, by_run: Scores, replicates: Replicates | None) -> dict[str, bytes]:
    """Keep what the runs of one system differ by, if there are several of one."""
    return {} if replicates is None else {name: to_evidence(deviations(by_run, replicates))}


EXAMPLE_SYSTEM = "example"
EXAMPLE_RANKS = np.array([1, 3, MISS, 2], dtype=np.uint16)

LOWEST = np.finfo(np.float64).tiny


def read_catalogue(section: ItemsSection, collection: Collection) -> Catalogue:
    """Read the tables of items, and count the training ratings."""
    items, split = collection.items, collection.split
    known: dict[str, Any] = {}
    if split is not None:
        known["popularity"] = split.train.item_counts().astype(np.int64)
        known["n_raters"] = int(np.count_nonzero(split.train.user_counts()))
        known["profiles"] = split.train.matrix()[split.test_users]
    if (path := section.popularity) is not None:
        counts = np.nan_to_num(read_item_values(path, items, what="count"))
        for part in counts[counts != np.floor(counts)][:1]:
            raise InputError(f"{path}: the count of an item must be a whole number, got {part:g}.")
        known["popularity"] = counts.astype(np.int64)
    if section.propensities == "world":
        known["propensities"] = _of_world(collection)
    elif (path := section.propensities) is not None:
        values = read_item_values(path, items, what="propensity", low=LOWEST, high=1.0)
        known["propensities"] = _of_all(path, values, collection)
    if section.features is not None:
        features = read_features(section.features, items, columns=section.columns)
        known |= {"features": features.values, "feature_names": features.names}
    return Catalogue(len(items), **known)


def _of_world(collection: Collection) -> Floats:
    """Give the chances of items in the world that the study begins with."""
    split, truth, observation = collection.split, collection.truth, collection.observation
    if split is None or truth is None or observation is None or collection.threshold is None:
        raise InputError(
            '`propensities` in [items] may be "world" only in a study of a simulated world; '
            "otherwise it must name a table."
        )
    every = np.concatenate([split.train.user, split.test.user])
    counts = np.bincount(every, minlength=len(split.train.users))
    ids = split.train.users.ids, split.train.items.ids
    return item_propensities(truth, observation, *ids, counts, threshold=collection.threshold)


def _of_all(path: Path, propensities: Floats, collection: Collection) -> Floats:
    """Require a propensity of every judged item; what is not judged is never weighed."""
    missing = collection.qrels.items[np.isnan(propensities[collection.qrels.items])]
    if len(missing):
        name = str(collection.items.ids[missing[0]])
        raise InputError(
            f"{path}: {len(np.unique(missing)):,} judged items have no propensity, the first is "
            f"{name!r}."
        )
    return np.nan_to_num(propensities, nan=1.0)


def example_catalogue(study: Study, needs: Sequence[Validation]) -> Catalogue:
    """Give a catalogue of three items and four judgements.

    What will be known in the study is known of them: of hidden items what a metric needs.
    """
    known: dict[str, Any] = {}
    if study.ratings is not None:
        known = {"n_raters": 3, "profiles": csr_array(np.eye(3))}
        if needs:
            ranks = JudgedRanks(**dict.fromkeys(needs, EXAMPLE_RANKS))
            known["hidden_ranks"] = {EXAMPLE_SYSTEM: ranks}
    if study.ratings is not None or study.items.popularity is not None:
        known["popularity"] = np.ones(3, dtype=np.int64)
    if study.items.propensities is not None:
        known["propensities"] = np.ones(3)
    if study.items.features is not None:
        known |= {"features": np.eye(3), "feature_names": ("a", "b", "c")}
    return Catalogue(3, **known)
