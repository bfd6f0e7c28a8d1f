"""Distributions of full ranks."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyses.sampled.ranks import (
    CUMULATIVE,
    MOST_CURVES,
    SHARE,
    RankDistributions,
    equal_bins,
    ranks,
)
from analyses.shared.evidence import read_evidence, to_evidence
from qrels import FullRanks
from runs import InputError
from tests.analyses.sampled.studied import study

SYSTEMS = {
    "near": FullRanks.of([1, 2, 3, 20], n_candidates=200),
    "far": FullRanks.of([1, 50, 150, 200], n_candidates=200),
}
ranks_of_users = st.lists(st.integers(1, 700), min_size=1, max_size=30)


@pytest.fixture(scope="module")
def result() -> RankDistributions:
    return study(ranks, SYSTEMS)


@given(ranks_of_users)
def test_cumulative_shares_are_those_of_the_ranks(drawn: list[int]) -> None:
    frame = study(ranks, {"one": FullRanks.of(drawn, n_candidates=700)}).frame()
    expected = [np.mean(np.array(drawn) <= last) for last in frame["last"]]
    np.testing.assert_allclose(frame["cumulative"], expected, atol=1e-12)


@given(st.integers(1, 20_000))
def test_bins_are_equal_to_a_rank_and_hold_all_ranks(n_candidates: int) -> None:
    ends = equal_bins(n_candidates)
    widths = np.diff(ends, prepend=0)
    assert ends[-1] == n_candidates
    assert len(ends) == min(50, n_candidates)
    assert 0 < widths.min() <= widths.max() <= widths.min() + 1


def test_the_top_is_looked_at_closely(result: RankDistributions) -> None:
    tops = np.array([1, 2, 5, 10, 20, 50, 100, 200])
    assert result.up_to(tops)[0].tolist() == [0.25, 0.5, 0.75, 0.75, 1, 1, 1, 1]


def test_rows_of_the_frame_carry_their_own_numbers(result: RankDistributions) -> None:
    row = result.frame().query("system == 'far' and last == 50")
    assert row["cumulative"].tolist() == [0.5]


def test_ranks_reach_the_largest_number_of_candidates() -> None:
    unequal = FullRanks.of([1, 2], n_candidates=[10, 70])
    assert study(ranks, {"one": unequal}).ends[-1] == 70


def test_few_candidates_have_no_hundred_first() -> None:
    few = {"one": FullRanks.of([1, 4], n_candidates=8)}
    found = study(ranks, few).at_the_top()
    assert (list(found.headings[2:]), found.rows[0][2:]) == (["in the first 1"], (0.5,))


def test_the_result_survives_being_kept(result: RankDistributions, tmp_path: Path) -> None:
    (tmp_path / "ranks.npz").write_bytes(to_evidence(result))
    back = read_evidence(tmp_path / "ranks.npz", RankDistributions)
    assert back.frame().equals(result.frame())
    assert back.caption() == result.caption()


@pytest.mark.parametrize("view", [SHARE, CUMULATIVE])
def test_a_few_systems_have_a_curve_each(result: RankDistributions, view: str) -> None:
    axes = result.plot(view=view)
    assert axes.get_legend_handles_labels()[1] == ["near", "far"]
    assert axes.get_ylabel() == view


@pytest.mark.parametrize("view", [SHARE, CUMULATIVE])
def test_many_systems_are_grey_but_for_the_best_medians(view: str) -> None:
    places = range(MOST_CURVES + 2, 0, -1)
    many = {f"median {rank}": FullRanks.of([rank], n_candidates=90) for rank in places}
    axes = study(ranks, many).plot(view=view)
    assert axes.get_legend_handles_labels()[1][:2] == ["2 others", f"median {MOST_CURVES}"]


def test_other_views_are_refused(result: RankDistributions) -> None:
    with pytest.raises(InputError, match="cumulative share to draw, got AP"):
        result.plot(view="AP")


def test_the_caption_has_the_medians(result: RankDistributions) -> None:
    for fact in ("4 users", "n = 200 ", "near 2.5; far 100"):
        assert fact in result.caption()


@pytest.mark.parametrize(
    ("systems", "sentence"),
    [
        ({"a": FullRanks.of([], n_candidates=9)}, "no ranks"),
        (SYSTEMS | {"other": FullRanks.of([1], n_candidates=9)}, "different users"),
    ],
)
def test_what_makes_no_sense_is_refused(systems: dict[str, FullRanks], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        study(ranks, systems)
