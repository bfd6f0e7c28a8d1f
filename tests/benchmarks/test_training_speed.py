"""Training WRMF, BPRMF and SLIM, against the fastest known implementations of the same objective.

Run with ``pytest tests/benchmarks/test_training_speed.py -s --benchmark-only``. Data are those of
``test_ranking_speed``; times are CPU time of one thread. That both reach the same minimum is
checked first, by the objective that is written in the system's documentation; for BPRMF, which
stops before a minimum, that P@10 of ours is not lower.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import fsum
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, csr_matrix
from threadpoolctl import threadpool_limits

import recommenders
from recommenders import BatchScorer
from recommenders.bprmf import BPRMFSettings
from recommenders.shared.scorers import FactorScorer
from recommenders.slim import SLIMSettings
from recommenders.wrmf import WRMFSettings
from tests.benchmarks.machine import cpu_seconds
from tests.benchmarks.table import report
from tests.benchmarks.test_ranking_speed import SEED, training_ratings, world_split

SAMPLED_ITEMS = 300


@cache
def rated() -> csr_array[Any]:
    """Who rated what, 0 or 1."""
    matrix = training_ratings().matrix().astype(np.float64)
    matrix.data[:] = 1
    return matrix


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Give what work gives, and its CPU time, of one thread."""
    made: list[Any] = []
    with threadpool_limits(1):
        seconds = cpu_seconds(lambda: made.append(work()))
    return made[0], seconds


@cache
def trained(name: str) -> tuple[Any, float]:
    """Train a system twice: the first time, its loops may be compiled."""
    recommenders.train(name, {}, training_ratings(), seed=SEED)
    return timed(lambda: recommenders.train(name, {}, training_ratings(), seed=SEED))


def weighted_loss(users: NDArray[Any], items: NDArray[Any], settings: WRMFSettings) -> float:
    """Give what WRMF minimises."""
    users, items = users.astype(np.float64), items.astype(np.float64)
    of_all = np.vdot(users.T @ users, items.T @ items)
    user, item = rated().nonzero()
    found = np.einsum("nf,nf->n", users[user], items[item])
    beyond = (1 + settings.weight) * (1 - found) ** 2 - found**2
    norms = np.vdot(users, users) + np.vdot(items, items)
    return float(of_all + beyond.sum() + settings.regularization * norms)


@pytest.mark.parametrize("conjugate", [False, True])
@pytest.mark.filterwarnings("ignore")
def test_wrmf_beside_implicit(benchmark: Any, conjugate: bool) -> None:
    pytest.importorskip("implicit", reason="compares with the package implicit")
    from implicit.cpu.als import AlternatingLeastSquares  # type: ignore[import-untyped]

    settings = WRMFSettings()
    ours, seconds = trained("wrmf")
    theirs = AlternatingLeastSquares(
        settings.factors,
        regularization=settings.regularization,
        iterations=settings.epochs,
        use_cg=conjugate,
        num_threads=1,
        random_state=SEED,
    )
    weights = csr_matrix((1 + settings.weight) * rated())
    _, of_implicit = timed(lambda: theirs.fit(weights, show_progress=False))
    loss = weighted_loss(theirs.user_factors, theirs.item_factors, settings)
    assert weighted_loss(ours.user_factors, ours.item_factors, settings) == pytest.approx(
        loss, 0.01
    )
    how = "three conjugate gradients" if conjugate else "exact solutions"
    report(
        benchmark,
        f"wrmf trained, beside implicit's ALS with {how}",
        seconds,
        beside=f"implicit takes {of_implicit / seconds:.1f} times that; both reach the same "
        "minimum within 1 %",
    )
    benchmark.pedantic(lambda: None)


def precision(scorer: BatchScorer) -> float:
    """Give P@10 over all users; relevant are test ratings of 4 and more."""
    train, test = training_ratings(), world_split().test
    everybody = np.arange(len(train.users), dtype=np.int32)
    run = recommenders.recommend(scorer, train, everybody, system="", depth=10)
    relevant = test.select(test.rating >= 4).matrix().toarray() > 0
    items = test.items.numbers(train.items.ids[run.items])
    return float(relevant[everybody[:, np.newaxis], items].mean())


@pytest.mark.filterwarnings("ignore")
def test_bprmf_beside_implicit(benchmark: Any) -> None:
    pytest.importorskip("implicit", reason="compares with the package implicit")
    from implicit.cpu.bpr import BayesianPersonalizedRanking  # type: ignore[import-untyped]

    settings = BPRMFSettings()
    ours, seconds = trained("bprmf")
    theirs = BayesianPersonalizedRanking(
        settings.factors, iterations=settings.epochs, num_threads=1, random_state=SEED
    )
    _, of_implicit = timed(lambda: theirs.fit(csr_matrix(rated()), show_progress=False))
    found = precision(ours)
    known = precision(FactorScorer(training_ratings(), theirs.user_factors, theirs.item_factors))
    assert found >= known
    report(
        benchmark,
        "bprmf trained, beside implicit's BPR with as many factors and epochs",
        seconds,
        beside=f"implicit takes {of_implicit / seconds:.1f} times that; P@10 is {found:.3f}, "
        f"implicit's, not tuned, {known:.3f}",
    )
    benchmark.pedantic(lambda: None)


def elastic_net(
    item: int, near: NDArray[np.intp], gram: NDArray[np.float64], settings: SLIMSettings
) -> NDArray[np.float64]:
    """Fit one item by the others with scikit-learn, to the same number of sweeps."""
    from sklearn.linear_model import ElasticNet

    columns, n_users = _columns(), rated().shape[0]
    penalty = settings.l1_regularization + settings.l2_regularization
    model = ElasticNet(
        alpha=penalty / n_users,
        l1_ratio=settings.l1_regularization / penalty,
        fit_intercept=False,
        precompute=gram[np.ix_(near, near)],
        positive=True,
        max_iter=settings.iterations,
    )
    found: NDArray[np.float64] = model.fit(
        columns[:, near].toarray(), columns[:, [item]].toarray()[:, 0]
    ).coef_
    return found


@cache
def _columns() -> csc_array[Any]:
    return rated().tocsc()


def net_loss(
    weights: NDArray[np.float64], near: NDArray[np.intp], item: int, gram: Any, settings: Any
) -> float:
    """Give what SLIM minimises for an item, less half its number of ratings."""
    fit = weights @ gram[np.ix_(near, near)] @ weights / 2 - weights @ gram[near, item]
    ridge = settings.l2_regularization / 2 * weights @ weights
    return float(fit + ridge + settings.l1_regularization * weights.sum())


@pytest.mark.filterwarnings("ignore")
def test_slim_beside_scikit_learn(benchmark: Any) -> None:
    settings = SLIMSettings()
    ours, seconds = trained("slim")
    gram = (rated().T @ rated()).toarray()
    lengths = np.sqrt(gram.diagonal())
    step = max(1, len(lengths) // SAMPLED_ITEMS)
    items = range(0, len(lengths), step)
    found, nearest = {}, {}
    for item in items:
        cosines = gram[item] / (lengths[item] * lengths)
        cosines[item] = -1
        nearest[item] = np.argsort(-cosines, kind="stable")[: settings.neighbours]

    def fit() -> None:
        for item, near in nearest.items():
            found[item] = elastic_net(item, near, gram, settings)

    _columns()
    _, of_sample = timed(fit)
    everywhere = np.arange(len(lengths))
    weights = ours.weights.toarray()
    mine = fsum(net_loss(weights[:, i], everywhere, i, gram, settings) for i in items)
    theirs = fsum(net_loss(found[i], near, i, gram, settings) for i, near in nearest.items())
    assert mine == pytest.approx(theirs, 0.01)
    of_all = of_sample * len(lengths) / len(items)
    report(
        benchmark,
        "slim trained, beside scikit-learn's coordinate descent",
        seconds,
        beside=f"scikit-learn takes {of_all / seconds:.1f} times that (extrapolated from "
        f"{len(items)} items); both reach the same minimum within 1 %",
    )
    benchmark.pedantic(lambda: None)
