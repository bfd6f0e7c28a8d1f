"""Generated runs and qrels, and what pytrec_eval says of them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pytrec_eval
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array

from analyses.shared.work import SumSamples
from harness.metrics.shared.metric import Metric
from qrels import Catalogue, Judged, Qrels, match, qrels_from_columns
from runs import InputError, Run

N_ITEMS = 12
LEVEL = 3


@st.composite
def runs_and_qrels(draw: st.DrawFn, *, lowest: int = 0) -> tuple[Run, Qrels]:
    """Lists of 0 to 8 items; users with and without relevant or non-relevant judgements.

    Grades from ``lowest`` on; every user has one that is not negative, as trec_eval needs.
    """
    graded = st.dictionaries(
        st.integers(0, N_ITEMS - 1), st.integers(lowest, 5), min_size=1, max_size=9
    ).filter(lambda grades: max(grades.values()) >= 0)
    n_users = draw(st.integers(1, 4))
    items = np.full((n_users, 8), -1, dtype=np.int32)
    judgements = []
    for user in range(n_users):
        ranked = draw(st.lists(st.integers(0, N_ITEMS - 1), max_size=8, unique=True))
        items[user, : len(ranked)] = ranked
        judgements += [(user, item, grade) for item, grade in draw(graded).items()]
    users, judged_items, grades = np.array(judgements).T
    qrels = qrels_from_columns(users, judged_items, grades, n_users=n_users, relevance_level=LEVEL)
    return Run("generated", items), qrels


def random_case(
    seed: int, *, n_users: int, n_items: int, depth: int, n_judged: int
) -> tuple[Run, Qrels]:
    """A larger case: full lists, judgements at random, grades 1 to 5, level 4."""
    generator = np.random.default_rng(seed)
    keys = generator.random((n_users, n_items))
    items = np.argsort(keys, axis=1)[:, :depth].astype(np.int32)
    judged = np.argsort(generator.random((n_users, n_items)), axis=1)[:, :n_judged]
    qrels = qrels_from_columns(
        np.repeat(np.arange(n_users), n_judged),
        judged.ravel(),
        generator.integers(1, 6, judged.size),
        n_users=n_users,
        relevance_level=4,
    )
    return Run(f"random-{seed}", items), qrels


def _random_profiles(generator: np.random.Generator, n_users: int, n_items: int) -> csr_array[Any]:
    """Make ratings from 1 to 5 of a few items of each user."""
    rated = generator.random((n_users, n_items)) < 0.05
    return csr_array(rated * generator.integers(1, 6, rated.shape).astype(np.float64))


@lru_cache
def known_items(n_items: int = 400, n_users: int = 2000) -> Catalogue:
    """All that metrics may know of items: random counts, categories, profiles, propensities."""
    generator = np.random.default_rng(12)
    popularity = generator.integers(0, 30, n_items)
    return Catalogue(
        n_items,
        popularity=popularity,
        n_raters=30,
        features=(generator.random((n_items, 6)) < 0.3).astype(np.float64),
        feature_names=tuple("abcdef"),
        propensities=(popularity + 1) / 31,
        profiles=_random_profiles(generator, n_users, n_items),
    )


def asks_for_items(metric: Metric) -> bool:
    """Whether a metric looks at which items are ranked: lists of grades alone do not do for it."""
    of_grades = Judged(np.array([[1.0, 0.0]]), np.ones((1, 1)))
    try:
        metric(of_grades, cutoff=2)
    except InputError:
        return True
    return False


def qrels_as_dicts(qrels: Qrels) -> dict[str, dict[str, int]]:
    """The form pytrec_eval and ir_measures take."""
    nested: dict[str, dict[str, int]] = {}
    for user, item, grade in zip(qrels.users, qrels.items, qrels.grades, strict=True):
        nested.setdefault(f"u{user}", {})[f"i{item}"] = int(grade)
    return nested


def run_as_dicts(run: Run, *, cutoff: int | None = None) -> dict[str, dict[str, float]]:
    """The same, of a run cut to some depth."""
    ranked = run.items[:, :cutoff]
    return {
        f"u{user}": {
            f"i{item}": float(run.depth - column) for column, item in enumerate(row) if item >= 0
        }
        for user, row in enumerate(ranked)
    }


def pooled(qrels: Qrels, run: Run) -> dict[str, dict[str, int]]:
    """Qrels in which every unjudged item of the run has grade -1."""
    nested = qrels_as_dicts(qrels)
    for user, column in np.argwhere((match(run, qrels) < 0) & (run.items >= 0)):
        if f"u{user}" in nested:
            nested[f"u{user}"][f"i{run.items[user, column]}"] = -1
    return nested


def pytrec_eval_scores(
    run: Run, qrels: Qrels, measure: str, *, cutoff: int | None = None, pool: bool = False
) -> NDArray[np.float64]:
    """Per-user scores by pytrec_eval, 0 for users that it leaves out or divides 0 by 0 for."""
    judgements = pooled(qrels, run) if pool else qrels_as_dicts(qrels)
    evaluator = pytrec_eval.RelevanceEvaluator(
        judgements, {measure}, relevance_level=qrels.relevance_level
    )
    scored = evaluator.evaluate(run_as_dicts(run, cutoff=cutoff))
    values = [
        next(iter(scored[f"u{user}"].values())) if f"u{user}" in scored else 0.0
        for user in range(run.n_users)
    ]
    return np.nan_to_num(np.array(values))


def means_on(
    scorer: SumSamples, qrels: Qrels, kept: NDArray[np.bool_] | None = None
) -> NDArray[np.float64]:
    """Means over the users, (n_measures, n_systems, n_samples); on all judgements by default."""
    kept = np.ones((len(qrels.items), 1), dtype=np.bool_) if kept is None else kept
    together = np.zeros(qrels.n_users, dtype=np.intp)
    return scorer(kept, blocks=together)[:, 0] / qrels.n_users


def users_on(
    scorer: SumSamples, qrels: Qrels, kept: NDArray[np.bool_] | None = None
) -> NDArray[np.float64]:
    """Scores of the users, (n_measures, n_systems, n_users, n_samples)."""
    kept = np.ones((len(qrels.items), 1), dtype=np.bool_) if kept is None else kept
    return scorer(kept, blocks=np.arange(qrels.n_users)).swapaxes(1, 2)
