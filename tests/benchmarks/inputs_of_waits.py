"""What the commands of `tests.benchmarks.waits` read: a study file, runs, ratings and scores."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import recommenders
from tests.benchmarks import large_log
from tests.benchmarks.test_evaluation_speed import write_collection

N_RATINGS, N_USERS, N_ITEMS = 10_000_054, 69_878, 20_919
"""As many ratings and users as MovieLens 10M has."""

N_TOPICS, DEPTH = 50, 1000
"""Topics, and documents that are retrieved for each, as in TREC."""

STUDY_OF_28 = """
name = "study-28"
[ratings]
format = "world"
preset = "ml-1m"
[systems]
names = [{systems}]
"""

NEURAL = ("multivae", "neumf")
"""Systems that take minutes to train, whoever trains them."""


def main(name: str) -> None:
    """Write the inputs to a folder."""
    folder = Path(name)
    names = [name for name in recommenders.systems() if name not in NEURAL]
    listed = ", ".join(f'"{name}"' for name in names)
    (folder / "study-28.toml").write_text(STUDY_OF_28.format(systems=listed))
    lines = [f"t1 Q0 d{rank} {rank} {4 - rank} system\n" for rank in (1, 2, 3)]
    (folder / "three.run").write_text("".join(lines))
    (folder / "three.qrels").write_text("t1 0 d2 1\n")
    runs = folder / "runs"
    runs.mkdir(exist_ok=True)
    write_collection(runs, kind="distinct scores", n_runs=200)
    write_ratings(folder / "ratings.csv")
    for millions in (10, 100):
        large_log.main(str(folder / f"log-{millions}"), f"{millions}000000")
    for n_systems in (50, 100):
        tables = folder / f"trec-{n_systems}"
        tables.mkdir(exist_ok=True)
        for name, scores in simulate_scores(n_systems):
            header = ",".join(f"run{system}" for system in range(n_systems))
            np.savetxt(
                tables / f"{name}.csv",
                scores.T,
                fmt="%.17g",
                delimiter=",",
                header=header,
                comments="",
            )


def write_ratings(path: Path) -> None:
    """Write 10 million ratings with times, sorted by user: few rate much, few are popular."""
    import pandas as pd

    rng = np.random.default_rng(1)
    activity = rng.lognormal(0.0, 1.0, N_USERS)
    popularity = rng.lognormal(0.0, 2.0, N_ITEMS)
    pairs = np.empty(0, dtype=np.int64)
    # Repeated pairs are drawn again.
    while len(pairs) < N_RATINGS:
        n_missing = N_RATINGS - len(pairs)
        users = rng.choice(N_USERS, 2 * n_missing, p=activity / activity.sum())
        items = rng.choice(N_ITEMS, 2 * n_missing, p=popularity / popularity.sum())
        pairs = np.unique(np.append(pairs, users * N_ITEMS + items))
    pairs = np.sort(rng.choice(pairs, N_RATINGS, replace=False))
    ratings = pd.DataFrame(
        {
            "userId": pairs // N_ITEMS + 1,
            "movieId": pairs % N_ITEMS + 1,
            "rating": rng.integers(1, 11, N_RATINGS) / 2,
            "timestamp": rng.integers(789_652_009, 1_231_131_736, N_RATINGS),
        }
    )
    ratings.to_csv(path, index=False)


def simulate_scores(n_systems: int) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Score systems on 50 topics by 18 measures: names, and scores of (n_systems, n_topics).

    Topics differ in how hard they are, and in how many documents are relevant to them (3 to 119):
    most scores are of full precision, and many systems tie on some topics.
    """
    rng = np.random.default_rng(3)
    difficulties = rng.normal(-2.2, 1.0, N_TOPICS)
    qualities = np.linspace(-0.6, 0.6, n_systems)[:, np.newaxis]
    n_relevant = rng.integers(3, 120, N_TOPICS)
    noise = rng.normal(0.0, 0.4, (n_systems, N_TOPICS))
    chances = 1 / (1 + np.exp(-(difficulties + qualities + noise)))
    ranks = np.arange(1, DEPTH + 1)
    rates = np.minimum(3 * chances[..., np.newaxis] / np.sqrt(ranks), 0.95)
    hits = rng.random(rates.shape) < rates
    hits &= hits.cumsum(axis=2) <= n_relevant[:, np.newaxis]
    n_hits = hits.cumsum(axis=2)
    for cutoff in (5, 10, 20, 100, 1000):
        yield f"P@{cutoff}", n_hits[..., cutoff - 1] / cutoff
        yield f"Recall@{cutoff}", n_hits[..., cutoff - 1] / n_relevant
    precisions = np.where(hits, n_hits / ranks, 0.0)
    discounts = 1 / np.log2(ranks + 1)
    for cutoff in (10, 100, 1000):
        yield f"AP@{cutoff}", precisions[..., :cutoff].sum(axis=2) / n_relevant
        best_gains = discounts.cumsum()[np.minimum(n_relevant, cutoff) - 1]
        gains = (hits[..., :cutoff] * discounts[:cutoff]).sum(axis=2)
        yield f"nDCG@{cutoff}", gains / best_gains
    first_ranks = np.where(hits.any(axis=2), hits.argmax(axis=2) + 1, DEPTH + 1)
    for cutoff in (10, 1000):
        yield f"RR@{cutoff}", np.where(first_ranks <= cutoff, 1 / first_ranks, 0.0)


if __name__ == "__main__":
    main(*sys.argv[1:])
