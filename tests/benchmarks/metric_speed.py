"""How long each metric takes on samples of the judgements, as a table for the documentation.

Run with ``make speed``: 21 systems x 1,000 samples x 11 cut-offs of 6,040 users with lists of 100
items, as in `tests.benchmarks.test_scoring_speed`; CPU time of one thread, extrapolated from fewer
samples.
"""

import csv
import sys
from collections.abc import Sequence
from functools import partial
from typing import get_args

import numpy as np
from threadpoolctl import threadpool_limits

from analyses.shared.judgement_samples import sample_judgements
from analyses.shared.measure import Measure
from harness.metrics.shared.register import built_in_metrics
from harness.scoring.blocks import Needs
from harness.scoring.score import SampleScorer, is_fused
from qrels import Catalogue
from qrels.ranks.judged_ranks import JudgedRanks
from tests.benchmarks.machine import cpu_seconds
from tests.benchmarks.test_scoring_speed import CUTOFFS, N_ITEMS, N_SYSTEMS, N_USERS, simulate
from tests.lists import means_on

SAMPLES = 1_000


def main() -> None:
    """Print the table as CSV."""
    runs, qrels = simulate(N_USERS, n_systems=N_SYSTEMS)
    catalogue = known_items([run.system for run in runs], n_judgements=len(qrels.items))
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(["metric", "what it is", "scored from", "CPU-s"])
    for name, metric in sorted(built_in_metrics().items(), key=lambda pair: pair[0].casefold()):
        measures = [Measure(name, cutoff) for cutoff in CUTOFFS]
        scorer = SampleScorer(runs, qrels, measures, {name: metric}, catalogue)
        needs = max(scorer._needs, key=get_args(Needs).index, default="judged ranks")
        road = "judged ranks, fused" if is_fused(metric) else needs
        n_samples = 2 if road == "all ranks" else 64
        kept = sample_judgements(len(qrels.items), level=0.5, n_samples=n_samples, seed=0)
        with threadpool_limits(1):
            means_on(scorer, qrels, kept[:, :1])
            seconds = cpu_seconds(partial(means_on, scorer, qrels, kept))
        whole = seconds if road == "nothing" else seconds * SAMPLES / n_samples
        table.writerow(
            [name, metric.summary, road, f"{whole:.1f}" if whole < 10 else f"{whole:.0f}"]
        )
        sys.stdout.flush()


def known_items(systems: Sequence[str], *, n_judgements: int) -> Catalogue:
    """Make up what metrics may ask of items."""
    from scipy.sparse import random_array

    generator = np.random.default_rng(1)
    return Catalogue(
        N_ITEMS,
        popularity=generator.integers(1, 1000, N_ITEMS),
        n_raters=N_USERS,
        features=(generator.random((N_ITEMS, 18)) < 0.1).astype(float),
        feature_names=tuple(f"genre {number}" for number in range(18)),
        propensities=generator.uniform(0.01, 1, N_ITEMS),
        profiles=random_array((N_USERS, N_ITEMS), density=0.04, random_state=generator).tocsr(),
        hidden_ranks={
            system: JudgedRanks(*generator.integers(1, 999, (2, n_judgements), dtype=np.uint16))
            for system in systems
        },
    )


if __name__ == "__main__":
    main()
