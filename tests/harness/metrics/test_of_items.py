"""Novelty, diversity and calibration against the formulas of their papers, written out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.metrics.shared.register import built_in_metrics, find_metric
from qrels import Catalogue, Judged, Qrels, judge
from runs import InputError, Run
from tests.conftest import examples
from tests.lists import N_ITEMS, asks_for_items, known_items, random_case, runs_and_qrels

METRICS = built_in_metrics()
KNOWN = known_items(N_ITEMS, 4)
Grades = Mapping[int, int]
Weight = Callable[[int], float]
ByHand = Callable[[Sequence[int], Grades, int, int], float]


def flat(rank: int) -> float:
    return 1.0


def log2(rank: int) -> float:
    return 1 / math.log2(rank + 1)


def steep(rank: int) -> float:
    return float(0.85 ** (rank - 1))


def is_relevant(grades: Grades, item: int, level: int) -> float:
    return float(grades.get(item, -1) >= level)


def satisfies(grades: Grades, item: int, level: int) -> float:
    highest = max([0, *grades.values()])
    return float((2 ** max(grades.get(item, 0), 0) - 1) / 2**highest)


def any_item(grades: Grades, item: int, level: int) -> float:
    return 1.0


Worth = Callable[[Grades, int, int], float]


def mean_novelty(novelty: Callable[[int], float], weight: Weight, worth: Worth) -> ByHand:
    def score(items: Sequence[int], grades: Grades, level: int, user: int) -> float:
        ranks = list(enumerate(items, start=1))
        total = sum(weight(k) * worth(grades, item, level) * novelty(item) for k, item in ranks)
        return total / sum(weight(k) for k, _ in ranks) if items else 0.0

    return score


def unknown(item: int) -> float:
    return 1 - KNOWN.require("popularity")[item] / KNOWN.require("n_raters")


def bits(item: int) -> float:
    counts = KNOWN.require("popularity")
    return -math.log2(max(counts[item], 1) / counts.sum())


def counted(item: int) -> float:
    return float(KNOWN.require("popularity")[item])


def distance(one: int, other: int) -> float:
    a, b = KNOWN.require("features")[[one, other]]
    lengths = math.sqrt(a @ a) * math.sqrt(b @ b)
    return 1 - (a @ b) / lengths if lengths else 1.0


def ild(items: Sequence[int], grades: Grades, level: int, user: int) -> float:
    pairs = [distance(i, j) for n, i in enumerate(items) for j in items[:n]]
    return sum(pairs) / len(pairs) if pairs else 0.0


def eild(weight: Weight, worth: Worth) -> ByHand:
    def score(items: Sequence[int], grades: Grades, level: int, user: int) -> float:
        total = 0.0
        for k, one in enumerate(items, start=1):
            others = [
                (weight(max(1, place - k)) * worth(grades, other, level), distance(one, other))
                for place, other in enumerate(items, start=1)
                if place != k
            ]
            norm = sum(w for w, _ in others)
            if norm > 0:
                mean = sum(w * d for w, d in others) / norm
                total += weight(k) * worth(grades, one, level) * mean
        return total / sum(map(weight, range(1, len(items) + 1))) if items else 0.0

    return score


def categories(grades: Grades, item: int, level: int) -> set[int]:
    if not is_relevant(grades, item, level):
        return set()
    return set(np.flatnonzero(KNOWN.require("features")[item]).tolist())


def liked(grades: Grades, level: int) -> set[int]:
    return set().union(*(categories(grades, item, level) for item in grades))


def alpha_gains(items: Sequence[int], grades: Grades, level: int, alpha: float) -> list[float]:
    times: dict[int, int] = {}
    gains = []
    for item in items:
        found = categories(grades, item, level)
        gains.append(sum((1 - alpha) ** times.get(c, 0) for c in found))
        times |= {c: times.get(c, 0) + 1 for c in found}
    return gains


def greedy(grades: Grades, level: int, alpha: float) -> list[int]:
    """Ndeval's ideal list: of items that earn the same the last."""
    taken: list[int] = []
    left = sorted(grades)
    while left:
        gains = [round(alpha_gains([*taken, i], grades, level, alpha)[-1], 9) for i in left]
        best = max(zip(gains, left, strict=True))[1]
        taken.append(best)
        left.remove(best)
    return taken


def alpha_ndcg(alpha: float, cutoff: int) -> ByHand:
    def dcg(items: Sequence[int], grades: Grades, level: int) -> float:
        gains = alpha_gains(items[:cutoff], grades, level, alpha)
        return sum(gain * log2(k) for k, gain in enumerate(gains, start=1))

    def score(items: Sequence[int], grades: Grades, level: int, user: int) -> float:
        ideal = dcg(greedy(grades, level, alpha), grades, level)
        return dcg(items, grades, level) / ideal if ideal else 0.0

    return score


def err_ia(alpha: float, cutoff: int) -> ByHand:
    def score(items: Sequence[int], grades: Grades, level: int, user: int) -> float:
        gains = alpha_gains(items, grades, level, alpha)
        most = sum((1 - alpha) ** (k - 1) / k for k in range(1, cutoff + 1))
        n_liked = len(liked(grades, level))
        total = sum(gain / k for k, gain in enumerate(gains, start=1))
        return total / (n_liked * most) if n_liked else 0.0

    return score


def s_recall(items: Sequence[int], grades: Grades, level: int, user: int) -> float:
    covered = set().union(*(categories(grades, item, level) for item in items))
    return len(covered) / max(len(liked(grades, level)), 1)


def genres(items: Sequence[int], weight: Weight) -> np.ndarray:
    total = np.zeros(KNOWN.require("features").shape[1])
    for k, item in enumerate(items, start=1):
        has = KNOWN.require("features")[item]
        total += weight(k) * has / max(has.sum(), 1)
    return total / total.sum() if total.any() else total


def kullback_leibler(alpha: float, weight: Weight) -> ByHand:
    def score(items: Sequence[int], grades: Grades, level: int, user: int) -> float:
        rated = np.flatnonzero(KNOWN.require("profiles").toarray()[user]).tolist()
        wanted, listed = genres(rated, flat), genres(items, weight)
        mixed = (1 - alpha) * listed + alpha * wanted
        return sum(p * math.log(p / q) for p, q in zip(wanted, mixed, strict=True) if p > 0)

    return score


def by_hand(cutoff: int) -> dict[str, ByHand]:
    return {
        "EPC": mean_novelty(unknown, flat, any_item),
        "EPC(discount=0.85,relevance=graded)": mean_novelty(unknown, steep, satisfies),
        "MSI": mean_novelty(bits, flat, any_item),
        "MSI(discount=log2,relevance=binary)": mean_novelty(bits, log2, is_relevant),
        "ARP": mean_novelty(counted, flat, any_item),
        "ILD": ild,
        "EILD": eild(log2, is_relevant),
        "EILD(discount=none,relevance=none)": ild,
        "EILD(discount=0.85,relevance=graded)": eild(steep, satisfies),
        "alpha-nDCG": alpha_ndcg(0.5, cutoff),
        "alpha-nDCG(alpha=0.3)": alpha_ndcg(0.3, cutoff),
        "ERR-IA": err_ia(0.5, cutoff),
        "ERR-IA(alpha=0.3)": err_ia(0.3, cutoff),
        "S-Recall": s_recall,
        "Calibration": kullback_leibler(0.01, flat),
        "Calibration(alpha=0.2,discount=log2)": kullback_leibler(0.2, log2),
    }


def test_every_metric_of_items_is_written_out() -> None:
    written_out = {find_metric(label, METRICS).name for label in by_hand(1)}
    scored = {name: metric for name, metric in METRICS.items() if not metric.needs}
    assert written_out == {name for name, metric in scored.items() if asks_for_items(metric)}


@pytest.mark.parametrize("name", by_hand(1))
@examples(30)
@given(case=runs_and_qrels(lowest=-2), cutoff=st.integers(1, 10))
def test_a_metric_of_items_is_what_its_paper_says(
    name: str, case: tuple[Run, Qrels], cutoff: int
) -> None:
    run, qrels = case
    expected = []
    for user, row in enumerate(run.items[:, :cutoff].tolist()):
        own = slice(*qrels.offsets[user : user + 2])
        grades = dict(zip(qrels.items[own].tolist(), qrels.grades[own].tolist(), strict=True))
        listed = [item for item in row if item >= 0]
        score = by_hand(cutoff)[name]
        expected.append(score(listed, grades, int(qrels.relevance_level), user))
    found = find_metric(name, METRICS)(judge(run, qrels, KNOWN), cutoff=cutoff)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def on_long_lists(name: str, catalogue: Catalogue, cutoff: int | None = None) -> np.ndarray:
    run, qrels = random_case(3, n_users=30, n_items=80, depth=40, n_judged=30)
    return find_metric(name, METRICS)(judge(run, qrels, catalogue), cutoff=cutoff)


LONG = known_items(80, 30)


@pytest.mark.parametrize("name", ["alpha-nDCG", "ERR-IA", "S-Recall", "Calibration"])
def test_features_that_are_no_categories_are_refused(name: str) -> None:
    years = replace(LONG, features=np.full((80, 1), 1995.0), feature_names=("year",))
    with pytest.raises(InputError, match=rf"'{name}': the features must be .* 'year' is 1995 of"):
        on_long_lists(name, years)


@pytest.mark.parametrize(
    ("name", "finding"),
    [
        ("EPC", "item popularity is unknown|number of training users is unknown"),
        ("MSI", "item popularity is unknown: .* popularity ="),
        ("ILD", 'item features are unknown: write features = "features.csv" in'),
        ("S-Recall", "item features are unknown"),
    ],
)
def test_what_is_not_known_is_asked_for(name: str, finding: str) -> None:
    with pytest.raises(InputError, match=finding):
        on_long_lists(name, Catalogue(80))


def test_an_empty_list_is_as_far_from_calibrated_as_can_be() -> None:
    run, qrels = random_case(3, n_users=30, n_items=80, depth=40, n_judged=30)
    empty = Run("empty", np.full_like(run.items, -1))
    scores = METRICS["Calibration"](judge(empty, qrels, LONG))
    np.testing.assert_allclose(scores, -math.log(0.01), rtol=0, atol=1e-12)


def all_relevant(ranked: list[int], n_relevant: int, catalogue: Catalogue) -> Judged:
    """One list of a user who likes the first items."""
    items = np.arange(n_relevant, dtype=np.int32)
    qrels = Qrels(np.array([0, n_relevant]), items, np.ones_like(items), relevance_level=1)
    return judge(Run("one", np.array([ranked], dtype=np.int32)), qrels, catalogue)


def test_a_list_can_beat_the_greedy_one() -> None:
    # All have three categories. The last, which greedy takes, shares one with each of the others.
    of_items = [[0, 1, 2], [3, 4, 5], [0, 3, 6]]
    features = np.array([np.isin(np.arange(7), own) for own in of_items], dtype=np.float64)
    judged = all_relevant([0, 1, 2], 3, Catalogue(3, features=features))
    (score,) = find_metric("alpha-nDCG(alpha=1)", METRICS)(judged)
    assert score == pytest.approx((3 + 3 * log2(2) + 1 / 2) / (3 + 2 * log2(2) + 2 / 2))
    assert 1 < score < METRICS["alpha-nDCG"].high
