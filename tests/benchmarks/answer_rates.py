"""How often the rule of the answer errs, and how often it decides, as a table for the docs.

``python -m tests.benchmarks.answer_rates docs/answer-rates.csv`` draws lists and judgements of
simulated populations, in two to three hours of a processor; nothing is trained. A cell is a kind of
population with a number of systems and of users. It has several populations, each with systems of
its own, and studies of users that are drawn from each. A study is made again with two, and with
four, trivial baselines.

A verdict is wrong if a measure is confirmed that is truly outside the margin in some respect, or
ruled out that is truly inside in all. What is true is the mean over the studies of a population.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from analyses.discrimination import Settings as DiscriminationSettings
from analyses.discrimination import discrimination
from analyses.popularity import Settings as PopularitySettings
from analyses.popularity import popularity
from analyses.shared.measure import Measure, Measures
from analyses.shared.measure_estimates import Estimates
from analyses.shared.scores import Scores
from analyses.shared.work import SumSamples, Truth, WorkInMemory
from analyses.sparsity import Settings as SparsitySettings
from analyses.sparsity import sparsity
from analyses.validity.comparison import Comparison, JointUsers
from analyses.validity.truth_agreement import ResampledComparison
from analyses.validity.validity_result import FIRST_REFERENCE
from harness.report.verdicts import CONFIRMED, FEWEST_PAIRS, RULED_OUT, Verdicts, margin_of_pairs
from qrels import qrels_from_columns
from runs.shared.parallel import single_threaded

if TYPE_CHECKING:
    from analyses.shared.work import CountedIn
    from qrels import Qrels

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]
Masks = NDArray[np.bool_]

DEPTH = 10
N_ITEMS = 1000
"""Items of the catalogue, whose popularity falls as 1 / (rank + 20)."""

N_CANDIDATES = 60
"""Items that systems rank for a user; the first of them may be relevant."""

MOST_RELEVANT = 30

N_PEOPLE = 3_000
"""Users of a population."""

CANDIDATES = (
    Measure("P", 10),
    Measure("Recall", 10),
    Measure("nDCG", 10),
    Measure("AP", 10),
    Measure("RR", 10),
    Measure("P", 5),
)
MEASURES = Measures(CANDIDATES, reported=CANDIDATES)
REFERENCE = Measure("nDCG", 10)
SIZES = tuple(product((8, 12, 20), (100, 400)))
"""Numbers of systems and of users."""

N_POPULATIONS = 3
STUDIES = 20
"""Populations of a cell, and studies of each."""

BASELINES = (0, 2, 4)

RANDOM_LEVELS = (1.0, 0.8, 0.6, 0.4, 0.2)
POPULAR_LEVELS = (1.0, 0.95, 0.9, 0.8)
SAMPLES = 5
REPLICATES = 200
SHARE_JUDGED = 0.4
"""Of the relevant items, where the truth is all of them."""

RELEVANCE_OF_POPULARITY = 0.3
"""Exponent of popularity in the odds that a candidate item is relevant."""

POPULARITY_BIAS = 0.25
"""Weight of popularity in the scores of the choosiest systems; noise has a variance of 1.6."""

SEED = 4_000


@dataclass(frozen=True, eq=False)
class ListedRelevance(WorkInMemory):
    """Lists of users, of whose relevant items some are judged.

    Parameters
    ----------
    lists
        Which of a user's candidate items is at every rank, (n_users, n_systems, depth).
    items
        Item of the catalogue of each candidate that may be relevant, (n_users, MOST_RELEVANT).
    is_relevant, is_judged
        Which of these are truly relevant, and which are judged to be, of the same shape.
    popularity
        Training ratings of every item, (n_items,).
    """

    name = "lists"
    lists: Numbers = field()
    items: Numbers = field()
    is_relevant: Masks = field()
    is_judged: Masks = field()
    popularity: Numbers = field()

    def select(self, users: Numbers, *, n_systems: int, seed: int) -> ListedRelevance:
        """Take some users, and the first systems."""
        return replace(
            self,
            lists=self.lists[users, :n_systems],
            items=self.items[users],
            is_relevant=self.is_relevant[users],
            is_judged=self.is_judged[users],
            seed=seed,
        )

    @cached_property
    def scores(self) -> Scores:
        """Scores by the judgements."""
        return self._scores_by(self.is_judged)

    @cached_property
    def truth(self) -> Truth:
        """Scores by all relevant items."""
        return Truth(self._scores_by(self.is_relevant), (REFERENCE,), origin="of the simulation")

    def _scores_by(self, relevant: Masks) -> Scores:
        values = score_lists(self.lists, relevant[..., np.newaxis])[..., 0]
        systems = tuple(f"s{number}" for number in range(values.shape[1]))
        users = np.char.zfill(np.arange(values.shape[2]).astype(np.str_), 5)
        return Scores(values, MEASURES, systems, users)

    @cached_property
    def scales(self) -> Mapping[Measure, int]:
        """None is told: they are found."""
        return {}

    @cached_property
    def popularity_counts(self) -> Mapping[CountedIn, Numbers]:
        """Training ratings of every item."""
        return {"train": self.popularity}

    @cached_property
    def qrels(self) -> Qrels:
        """Judgements of the relevant items that are judged."""
        users, columns = np.nonzero(self.is_judged)
        items = self.items[users, columns]
        return qrels_from_columns(
            users, items, np.ones_like(items), n_users=len(self.lists), relevance_level=1
        )

    def rescorer(self, n_samples: int) -> SumSamples:
        """Give what scores these lists."""
        users, columns = np.nonzero(self.is_judged)
        # Judgements of the qrels are sorted by user and item.
        order = np.lexsort((self.items[users, columns], users))
        users, columns = users[order], columns[order]

        def sum_samples(is_kept: Masks, *, blocks: Numbers) -> Floats:
            relevant = np.zeros((*self.is_judged.shape, is_kept.shape[1]), dtype=np.bool_)
            relevant[users, columns] = is_kept
            values = score_lists(self.lists, relevant)
            n_blocks = int(blocks.max()) + 1
            by_block = np.argsort(blocks, kind="stable")
            starts = np.searchsorted(blocks[by_block], np.arange(n_blocks))
            # Users before systems: sums over the users of a block.
            sums = np.add.reduceat(values[:, :, by_block], starts, axis=2)
            return np.ascontiguousarray(sums.swapaxes(1, 2))

        return sum_samples


def score_lists(lists: Numbers, relevant: Masks) -> Floats:
    """Score lists by samples of the relevant items: (n_measures, n_systems, n_users, n_samples).

    ``lists``: candidates at ranks, (n_users, n_systems, depth); ``relevant``: (n_users,
    MOST_RELEVANT, n_samples).
    """
    n_users, n_systems, depth = lists.shape
    n_samples = relevant.shape[2]
    padded = np.zeros((n_users, N_CANDIDATES, n_samples))
    padded[:, :MOST_RELEVANT] = relevant
    n_relevant = relevant.sum(axis=1).astype(np.float64)
    divisor = np.maximum(n_relevant, 1)[:, np.newaxis]
    hits, precisions, gains, first, early = np.zeros((5, n_users, n_systems, n_samples))
    users = np.arange(n_users)[:, np.newaxis]
    discounts = 1 / np.log2(np.arange(2, depth + 2))
    for column in range(depth):
        rank = column + 1
        is_hit = padded[users, lists[:, :, column]]
        hits += is_hit
        precisions += is_hit * hits / rank
        gains += is_hit * discounts[column]
        np.maximum(first, is_hit / rank, out=first)
        if rank == 5:
            early[:] = hits / 5
    ideal = np.concatenate([[0.0], np.cumsum(discounts)])
    ideal_gains = ideal[np.minimum(n_relevant, depth).astype(np.intp)][:, np.newaxis]
    scores = [
        hits / depth,
        hits / divisor,
        gains / np.maximum(ideal_gains, discounts[0]),
        precisions / divisor,
        first,
        early,
    ]
    return np.stack(scores).swapaxes(1, 2)


KINDS = ("item response", "families", "one relevant item", "heavy tails")
"""Users of different skill and items of different difficulty; systems whose noise is shared; one
judged item of each user; numbers of relevant items that differ by a factor of fifteen."""


def everybody(
    kind: str, rng: np.random.Generator, *, n_systems: int, n_users: int
) -> ListedRelevance:
    """Draw systems, four baselines that come last, and the lists of all users of a population."""
    weights = 1 / (20.0 + np.arange(N_ITEMS))
    keys = np.log(weights) + rng.gumbel(size=(n_users, N_ITEMS))
    candidates = np.argsort(-keys, axis=1)[:, :N_CANDIDATES]
    # Relevant items come first: popular ones somewhat more often.
    chances = RELEVANCE_OF_POPULARITY * np.log(weights)[candidates]
    by_relevance = np.argsort(-chances - rng.gumbel(size=candidates.shape), axis=1)
    items = np.take_along_axis(candidates, by_relevance, axis=1)
    popularity = np.log(weights)[items]
    popularity -= popularity.mean()
    n_relevant = numbers_of_relevant(kind, rng, n_users)
    is_relevant = np.arange(MOST_RELEVANT) < n_relevant[:, np.newaxis]
    signal = np.zeros((n_users, N_CANDIDATES))
    signal[:, :MOST_RELEVANT] = is_relevant
    if kind == "item response":
        signal *= rng.uniform(0.3, 1.7, signal.shape)
    skills = rng.uniform(0, 2, (n_users, 1))
    qualities = rng.normal(1.0, 0.2, n_systems)
    choosy = rng.uniform(0, 1, n_systems)
    shared = rng.logistic(size=(n_users, N_CANDIDATES))
    families = np.arange(n_systems) % 4
    of_families = rng.logistic(size=(4, n_users, N_CANDIDATES))
    lists = []
    for system in range(n_systems):
        noise = rng.logistic(size=(n_users, N_CANDIDATES))
        if kind == "families":
            noise = 0.45 * noise + 0.9 * of_families[families[system]]
        suited = rng.uniform(-1, 1, (n_users, 1))
        tastes = skills * (qualities[system] + choosy[system] * suited / 2)
        bias = POPULARITY_BIAS * choosy[system] * popularity
        scores = 2.5 * tastes * signal + bias + (noise + shared) / 2
        lists.append(np.argsort(-scores, axis=1)[:, :DEPTH])
    for _ in range(max(BASELINES) // 2):
        at_random = rng.random((n_users, N_CANDIDATES))
        lists.append(np.argsort(-at_random, axis=1)[:, :DEPTH])
        by_popularity = popularity + 0.1 * rng.random((n_users, N_CANDIDATES))
        lists.append(np.argsort(-by_popularity, axis=1)[:, :DEPTH])
    return ListedRelevance(
        lists=np.stack(lists, axis=1),
        items=items[:, :MOST_RELEVANT],
        is_relevant=is_relevant,
        is_judged=judged_part(kind, rng, is_relevant, popularity[:, :MOST_RELEVANT]),
        popularity=np.rint(1e4 * weights).astype(np.intp),
    )


def numbers_of_relevant(kind: str, rng: np.random.Generator, n_users: int) -> Numbers:
    """Draw how many items are truly relevant to each user: (n_users,)."""
    if kind == "one relevant item":
        return np.full(n_users, 3)
    if kind == "heavy tails":
        return np.clip(np.rint(rng.lognormal(1.6, 0.9, n_users)), 2, MOST_RELEVANT).astype(np.intp)
    return np.full(n_users, 12)


def judged_part(
    kind: str, rng: np.random.Generator, is_relevant: Masks, popularity: Floats
) -> Masks:
    """Draw which relevant items are judged, popular ones more often: one at least of each user."""
    chances = SHARE_JUDGED * np.exp(0.3 * popularity)
    keys = np.where(is_relevant, rng.random(popularity.shape) / chances, np.inf)
    is_first = keys == keys.min(axis=1, keepdims=True)
    if kind == "one relevant item":
        return is_first
    return np.asarray(is_relevant & ((keys < 1) | is_first))


@dataclass(frozen=True, eq=False)
class Study:
    """What one study says: the shares of each respect, by measure, and the verdicts."""

    n_contested: int
    measures: tuple[str, ...]
    shares: dict[str, Floats]
    verdicts: dict[str, str]
    truth_verdicts: dict[str, str]


def study_of(work: ListedRelevance) -> Study:
    """Run the analyses that decide, and apply the rule."""
    random_loss = SparsitySettings(levels=RANDOM_LEVELS, samples=SAMPLES, replicates=REPLICATES)
    popular_loss = PopularitySettings(levels=POPULAR_LEVELS, orders=1, replicates=REPLICATES)
    tests = DiscriminationSettings(test="t", replicates=REPLICATES)
    results = {
        "sparsity": sparsity(work, random_loss),
        "popularity": popularity(work, popular_loss),
        "discrimination": discrimination(work, tests),
    }
    estimates: dict[str, Estimates] = {}
    for name, result in results.items():
        of_result = result.contested_estimates()
        assert of_result is not None
        estimates[name] = of_result
    truth = estimates_on_truth(work)
    shares = {name: of_result.values for name, of_result in estimates.items()}
    shares["validity"] = truth.values
    n_contested = work.contested.n_contested
    measures = tuple(map(str, work.contested.measures))
    if n_contested < FEWEST_PAIRS:
        return Study(n_contested, measures, shares, {}, {})
    margin = margin_of_pairs(n_contested)
    verdicts = Verdicts(estimates, margin).overall
    of_truth = Verdicts({"validity": truth}, margin).overall
    return Study(
        n_contested,
        measures,
        shares,
        {str(measure): verdict for measure, verdict in verdicts.items()},
        {str(measure): verdict for measure, verdict in of_truth.items()},
    )


def estimates_on_truth(work: ListedRelevance) -> Estimates:
    """Compute the shares of the contested pairs in the true order by the reference."""
    comparison = Comparison.of_work(work)
    users = JointUsers.of_scores(
        comparison.measured, comparison.true, replicates=REPLICATES, seed=work.seed
    )
    resampled = ResampledComparison(comparison, users, work.families)
    shares = resampled.contested_shares(work.contested, truth=FIRST_REFERENCE)
    assert shares is not None
    return shares.estimates("Validity", "valid")


def studies_of_population(
    kind: str, n_systems: int, n_users: int, population: int
) -> dict[int, list[Study]]:
    """Make all studies of one population, by the number of baselines."""
    rng = np.random.default_rng([SEED, KINDS.index(kind), n_systems, n_users, population])
    people = everybody(kind, rng, n_systems=n_systems, n_users=N_PEOPLE)
    by_baselines: dict[int, list[Study]] = {number: [] for number in BASELINES}
    with single_threaded("blas"):
        for number in range(STUDIES):
            users = rng.integers(0, N_PEOPLE, n_users)
            for n_baselines in BASELINES:
                work = people.select(users, n_systems=n_systems + n_baselines, seed=number)
                by_baselines[n_baselines].append(study_of(work))
    return by_baselines


@dataclass
class Tally:
    """Counts of a cell."""

    studies: int = 0
    decided: int = 0
    confirming: int = 0
    ruling_out: int = 0
    wrong: int = 0
    wrong_on_truth: int = 0
    confirming_on_truth: int = 0
    verdicts: dict[int, int] = field(default_factory=lambda: dict.fromkeys(BASELINES, 0))
    changed: dict[int, int] = field(default_factory=lambda: dict.fromkeys(BASELINES, 0))

    def add(self, by_baselines: Mapping[int, Sequence[Study]]) -> None:
        """Count the studies of a population."""
        studies = by_baselines[0]
        true_shares = {
            name: np.mean([study.shares[name] for study in studies], axis=0)
            for name in studies[0].shares
        }
        truth = {"validity": true_shares.pop("validity")}
        for number, study in enumerate(studies):
            self.studies += 1
            if study.n_contested < FEWEST_PAIRS:
                continue
            margin = margin_of_pairs(study.n_contested)
            self.decided += 1
            self.confirming += CONFIRMED in study.verdicts.values()
            self.ruling_out += RULED_OUT in study.verdicts.values()
            self.wrong += is_wrong(study, study.verdicts, true_shares, margin)
            self.confirming_on_truth += CONFIRMED in study.truth_verdicts.values()
            self.wrong_on_truth += is_wrong(study, study.truth_verdicts, truth, margin)
            for n_baselines in BASELINES:
                other = by_baselines[n_baselines][number]
                for measure, verdict in study.verdicts.items():
                    self.verdicts[n_baselines] += 1
                    self.changed[n_baselines] += other.verdicts.get(measure) != verdict


def is_wrong(
    study: Study, verdicts: Mapping[str, str], true_shares: Mapping[str, Floats], margin: float
) -> bool:
    """Check whether a confirmed measure is outside the margin, or one ruled out is inside."""
    for index, measure in enumerate(study.measures):
        is_outside = any(shares.max() - shares[index] > margin for shares in true_shares.values())
        verdict = verdicts[measure]
        if (verdict == CONFIRMED and is_outside) or (verdict == RULED_OUT and not is_outside):
            return True
    return False


HEADINGS = (
    "population",
    "systems",
    "users",
    "studies",
    "with 10 contested pairs",
    "confirm a measure",
    "rule one out",
    "wrong",
    "on truth: confirm",
    "on truth: wrong",
    "changed by 2 baselines",
    "changed by 4 baselines",
)


def rows() -> Iterator[list[str]]:
    """Make the table, a row for each cell; the populations of a cell in parallel."""
    cells = list(product(KINDS, SIZES))
    tasks = [(kind, *size, number) for kind, size in cells for number in range(N_POPULATIONS)]
    workers = Parallel(n_jobs=-1, return_as="generator")
    studies = workers(delayed(studies_of_population)(*task) for task in tasks)
    for kind, (n_systems, n_users) in cells:
        tally = Tally()
        for _ in range(N_POPULATIONS):
            tally.add(next(studies))
        decided = max(tally.decided, 1)
        yield [
            kind,
            str(n_systems),
            str(n_users),
            str(tally.studies),
            str(tally.decided),
            f"{tally.confirming / decided:.2f}",
            f"{tally.ruling_out / decided:.2f}",
            f"{tally.wrong / decided:.3f}",
            f"{tally.confirming_on_truth / decided:.2f}",
            f"{tally.wrong_on_truth / decided:.3f}",
            *(f"{tally.changed[n] / max(tally.verdicts[n], 1):.3f}" for n in BASELINES[1:]),
        ]


def main(path: Path) -> None:
    """Write the table, a row at a time."""
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(HEADINGS)
        for row in rows():
            table.writerow(row)
            file.flush()
            print(*row, file=sys.stderr, flush=True)


if __name__ == "__main__":
    # Workers know what they run by the name of its module, which is not that of a script.
    from tests.benchmarks import answer_rates

    answer_rates.main(Path(sys.argv[1]))
