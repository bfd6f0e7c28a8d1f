"""Overlap of lists: against sets and prefixes written out, and where it names systems."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from analyses.overlap import Settings, overlap, overlap_of


def some_lists(seed: int, *, n_users: int = 20, k: int = 6) -> np.ndarray:
    draw = np.random.default_rng(seed)
    lists = np.stack([draw.permutation(9)[:k] for _ in range(n_users)]).astype(np.int32)
    for user, length in enumerate(draw.integers(1, k + 1, n_users)):
        lists[user, length:] = -1
    return lists


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("p", [0.5, 0.9])
def test_it_is_the_sum_over_prefixes(seed: int, p: float) -> None:
    one, other = some_lists(seed), some_lists(seed + 100)
    common, rbo = overlap_of(one, other, persistence=p)
    for user in range(len(one)):
        a, b = ([int(n) for n in row if n >= 0] for row in (one[user], other[user]))
        longer = max(len(a), len(b))
        agreement = [len({*a[:d]} & {*b[:d]}) / min(d, longer) for d in range(1, 7)]
        wanted = sum((1 - p) * p ** (d - 1) * x for d, x in enumerate(agreement, start=1))
        assert common[user] == pytest.approx(agreement[-1])
        assert rbo[user] == pytest.approx(wanted + p**6 * agreement[-1])


def test_equal_lists_have_all_in_common() -> None:
    common, rbo = overlap_of(some_lists(1), some_lists(1), persistence=0.9)
    assert common == pytest.approx(np.ones(20))
    assert rbo == pytest.approx(np.ones(20))


def test_systems_with_nearly_the_same_lists_are_named() -> None:
    lists = {"a": some_lists(1), "b": some_lists(1), "c": some_lists(2)}
    work: Any = SimpleNamespace(
        recommended=lists, unit="user", steps=lambda label, total, items: items
    )
    found = overlap(work, Settings(cutoff=6))
    assert found.shared[0, 1] == found.rbo[0, 1] == pytest.approx(1.0)
    (sentence,) = found.findings()
    assert "a and b" in sentence
    assert "c" not in sentence.split(":")[1]
