"""Overlap of lists: against sets and prefixes written out, and where it names systems."""

import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from analyses.overlap import Overlap, Settings, list_overlap, order_by_similarity, overlap


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
    common, rbo = list_overlap(one, other, persistence=p)
    for user in range(len(one)):
        a, b = ([int(n) for n in row if n >= 0] for row in (one[user], other[user]))
        longer = max(len(a), len(b))
        agreement = [len({*a[:d]} & {*b[:d]}) / min(d, longer) for d in range(1, 7)]
        wanted = sum((1 - p) * p ** (d - 1) * x for d, x in enumerate(agreement, start=1))
        assert common[user] == pytest.approx(agreement[-1])
        assert rbo[user] == pytest.approx(wanted + p**6 * agreement[-1])


def test_equal_lists_have_all_in_common() -> None:
    common, rbo = list_overlap(some_lists(1), some_lists(1), persistence=0.9)
    assert common == pytest.approx(np.ones(20))
    assert rbo == pytest.approx(np.ones(20))


def test_lists_of_different_depths_have_the_same_overlap_either_way() -> None:
    """Three of five items are in common, or two, the second of them at rank 5 of the other."""
    short = np.array([[1, 2, 3], [1, 2, 3]], dtype=np.int32)
    deep = np.array([[3, 1, 2, 4, 5], [4, 5, 6, 1, 2]], dtype=np.int32)
    shares, overlaps = list_overlap(short, deep, persistence=0.5)
    assert shares.tolist() == [0.6, 0.4]
    # Agreement at ranks 1 to 5: 0, 1/2, 1, 3/4, 3/5; and 0, 0, 0, 1/4, 2/5.
    assert overlaps == pytest.approx([0.334375, 0.040625])
    shares_of_deep, overlaps_of_deep = list_overlap(deep, short, persistence=0.5)
    assert shares_of_deep.tolist() == shares.tolist()
    assert overlaps_of_deep.tolist() == overlaps.tolist()


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


def compared(lists: dict[str, list[list[int]]], **settings: Any) -> Overlap:
    work: Any = SimpleNamespace(
        recommended={name: np.array(rows, dtype=np.int32) for name, rows in lists.items()},
        unit="user",
        steps=lambda label, total, items: items,
    )
    return overlap(work, Settings(**settings))


THREE = {
    "a": [[0, 1, 2], [3, 4, 5], [-1, -1, -1]],
    "b": [[1, 0, 7], [3, 4, -1], [-1, -1, -1]],
    "c": [[7, 8, 9], [6, 7, 8], [0, 1, 2]],
}
"""The first two have 2 of 3 items in common for two users; no list of either for the third."""


def test_overlap_is_the_mean_over_the_users_of_whom_either_has_a_list() -> None:
    found = compared(THREE, persistence=0.5)
    # c and a have nothing in common, and a third of a list with b.
    assert found.shared == pytest.approx(
        np.array([[1, 2 / 3, 0], [2 / 3, 1, 1 / 9], [0, 1 / 9, 1]])
    )
    # At depths 1, 2, 3: 0, 1, 2/3, and 1, 1, 2/3; weights .5, .25 and .125 + .125.
    first, second = 0.25 + 0.25 * 2 / 3, 0.5 + 0.25 + 0.25 * 2 / 3
    assert found.rbo[0, 1] == found.rbo[1, 0] == pytest.approx((first + second) / 2)
    assert np.diag(found.rbo).tolist() == [1, 1, 1]
    assert (found.n_users, found.cutoff) == (3, 10)


def test_items_below_the_cutoff_are_not_compared() -> None:
    found = compared(THREE, cutoff=2, persistence=0.5)
    assert found.shared[0, 1] == pytest.approx(1)
    # 0 and 1, and 1 and 1, at depths 1 and 2 of weights .5 and .25 + .25.
    assert found.rbo[0, 1] == pytest.approx((0.5 + 1) / 2)


def test_the_frame_has_a_row_for_each_pair_and_the_table_the_most_similar_first() -> None:
    found = compared(THREE)
    frame = found.frame()
    assert frame[["first", "second"]].to_numpy().tolist() == [["a", "b"], ["a", "c"], ["b", "c"]]
    assert frame["shared"].tolist() == pytest.approx([2 / 3, 0, 1 / 9])
    assert frame["rbo"].tolist() == [found.rbo[0, 1], found.rbo[0, 2], found.rbo[1, 2]]
    assert [row[:2] for row in found.table().frame().to_numpy().tolist()] == [
        ["a", "b"],
        ["b", "c"],
        ["a", "c"],
    ]


def with_shares(shares: list[float]) -> Overlap:
    """Three systems whose pairs have such shares in common."""
    matrix = np.eye(3)
    matrix[np.triu_indices(3, k=1)] = shares
    return replace(compared(THREE), shared=np.maximum(matrix, matrix.T))


@pytest.mark.parametrize(
    ("shares", "named"),
    [
        ([0.9, 0.1, 0.95], "Nearly the same lists.*: b and c .95 %. and a and b .90 %.[.]"),
        ([0.89, 0.1, 0.2], "The most similar lists.*: a and b .89 %.[.]"),
    ],
)
def test_pairs_with_nine_of_ten_items_in_common_are_named_or_else_the_most_similar(
    shares: list[float], named: str
) -> None:
    (finding,) = with_shares(shares).findings()
    assert re.fullmatch(named, finding)


def test_the_figure_has_similar_systems_beside_each_other() -> None:
    ax = with_shares([0.1, 0.9, 0.2]).plot()
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert abs(names.index("a") - names.index("c")) == 1
    values = np.asarray(ax.images[0].get_array())
    place = {name: row for row, name in enumerate(names)}
    assert values[place["a"], place["b"]] == pytest.approx(0.1)
    assert values[place["c"], place["b"]] == pytest.approx(0.2)


def test_overlaps_of_users_are_averaged() -> None:
    """Two users have nothing in common, the third all."""
    lists = {"a": [[0, 1], [2, 3], [4, 5]], "b": [[6, 7], [8, 9], [4, 5]]}
    found = compared(lists)
    assert found.shared[0, 1] == pytest.approx(1 / 3)
    assert found.rbo[0, 1] == pytest.approx(1 / 3)


def test_settings_have_their_defaults_and_bounds() -> None:
    settings = Settings()
    assert (settings.cutoff, settings.persistence) == (10, 0.9)
    Settings(cutoff=1, persistence=0.01)
    Settings(persistence=0.99)
    for refused in ({"persistence": 0.0}, {"persistence": 1.0}, {"cutoff": 0}):
        with pytest.raises(ValidationError):
            Settings.model_validate(refused)


def test_the_caption_and_the_finding_have_the_cutoff() -> None:
    found = compared(THREE, cutoff=2, persistence=0.5)
    assert found.caption() == (
        "Share of the first 2 items that two systems have in common, and rank-biased overlap (RBO, "
        "p = 0.5): mean over 3 users."
    )
    assert "by the share of the first 2 items" in found.findings()[0]
    assert found.table().decimals == 3
    assert found.table().headings[2] == "in common at 2"


def test_shades_begin_at_nothing_in_common() -> None:
    assert with_shares([0.1, 0.9, 0.2]).plot().images[0].get_clim() == (0.0, 1.0)


def test_lists_of_different_users_do_not_match() -> None:
    with pytest.raises(ValueError, match="lists of 20 and of 19 users do not match"):
        list_overlap(some_lists(1), some_lists(1)[1:], persistence=0.5)


def test_neighbours_in_the_figure_agree_most() -> None:
    """Of all orders that join 0 with 3, and 1 with 2, that with 0.5 in the middle begins at 0."""
    taus = np.eye(4)
    for (row, column), tau in {
        (0, 3): 0.9,
        (1, 2): 0.8,
        (1, 3): 0.5,
        (0, 1): 0.2,
        (0, 2): 0.1,
        (2, 3): 0.3,
    }.items():
        taus[row, column] = taus[column, row] = tau
    assert order_by_similarity(taus, [0, 1, 2, 3]) == [0, 3, 1, 2]
    assert order_by_similarity(taus, [1, 0]) == [1, 0]
    assert order_by_similarity(taus, [2, 1, 0]) == [2, 1, 0]
    chain = np.array([[1.0, 0.1, 0.9], [0.1, 1.0, 0.8], [0.9, 0.8, 1.0]])
    assert order_by_similarity(chain, [0, 1, 2]) == [0, 2, 1]
