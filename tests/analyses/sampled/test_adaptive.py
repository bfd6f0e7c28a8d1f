"""Where adaptive samples end, and what that costs."""

from pathlib import Path

import numpy as np
import pytest

from analyses.sampled.adaptive import AdaptiveSizes, adaptive
from analyses.sampled.samples.designs import SampleDesign
from analyses.shared.evidence import read_evidence, to_evidence
from qrels import FullRanks
from runs import InputError
from tests.analyses.sampled.references import cost_per_size, mean_adaptive_size
from tests.analyses.sampled.studied import study

SPREAD = FullRanks.of(range(1, 201), n_candidates=900)
TOP, LAST = (FullRanks.of([rank] * 200, n_candidates=900) for rank in (1, 900))
SEVERAL = FullRanks.of([1, 9], n_candidates=50, user=[0, 0])


@pytest.fixture(scope="module")
def result() -> AdaptiveSizes:
    return study(adaptive, {"spread": SPREAD, "last": LAST}, negatives=9, n_max=80)


@pytest.mark.slow
def test_costs_are_those_of_many_samples(result: AdaptiveSizes) -> None:
    design = SampleDesign.growing(10, 80)
    drawn = [design.draw(SPREAD, seed=1, repeat=r).n_negatives + 1 for r in range(200)]
    costs = cost_per_size(np.concatenate(drawn), n0=10, n_max=80)
    assert tuple(costs) == result.sizes[:-1]
    np.testing.assert_allclose(result.costs[0, :-1], list(costs.values()), rtol=0.03)


def test_mean_sizes_are_those_of_the_formula(result: AdaptiveSizes) -> None:
    sizes = mean_adaptive_size(SPREAD.rank, n_candidates=900, n0=10, n_max=80)
    assert result.mean_sizes[0] == pytest.approx(sizes.mean(), rel=1e-12)


@pytest.mark.parametrize(
    ("rank", "size"), [(1, 3200), (10, 1398.5095), (100, 171.73883), (1000, 100.00272)]
)
def test_the_mean_size_of_the_samples_of_a_rank_is_known(rank: int, size: float) -> None:
    one = FullRanks.of([rank], n_candidates=9916)
    found = study(adaptive, {"one": one}, negatives=99, n_max=3200)
    np.testing.assert_allclose(found.mean_sizes, [size], rtol=1e-7)


def test_every_user_ends_somewhere(result: AdaptiveSizes) -> None:
    np.testing.assert_allclose(result.ended.sum(axis=1), 1, rtol=1e-12)


def test_users_whose_item_is_last_end_at_once(result: AdaptiveSizes) -> None:
    assert result.ended[1].tolist() == [1, 0, 0, 0]
    assert result.costs[1, 0] == 10


def test_where_nobody_ends_costs_are_infinite() -> None:
    found = study(adaptive, {"top": TOP}, negatives=9, n_max=40)
    assert found.costs[0, :-1].tolist() == [np.inf, np.inf]


def test_the_last_size_has_no_cost(result: AdaptiveSizes) -> None:
    assert np.isnan(result.costs[:, -1]).all()


def test_sizes_suit_the_candidates_by_default() -> None:
    assert study(adaptive, {"spread": SPREAD}, negatives=99).sizes == (100, 200)


def test_rows_of_the_frame_carry_their_own_numbers(result: AdaptiveSizes) -> None:
    row = result.to_frame().query("system == 'spread' and size == 20")
    numbers = [result.reached[0, 1], result.ended[0, 1], result.costs[0, 1]]
    assert row[["reached", "ended", "cost"]].to_numpy().tolist() == [numbers]


def test_the_result_survives_being_kept(result: AdaptiveSizes, tmp_path: Path) -> None:
    (tmp_path / "sizes.npz").write_bytes(to_evidence(result))
    back = read_evidence(tmp_path / "sizes.npz", AdaptiveSizes)
    assert back.to_frame().equals(result.to_frame())
    assert back.caption() == result.caption()


def test_every_system_has_a_curve(result: AdaptiveSizes) -> None:
    assert result.plot().get_legend_handles_labels()[1] == ["spread", "last"]


@pytest.mark.parametrize("n_max", [10, 40])
def test_costs_that_a_logarithmic_axis_lacks_are_drawn_without_a_warning(n_max: int) -> None:
    study(adaptive, {"top": TOP}, negatives=9, n_max=n_max).plot().figure.canvas.draw()


@pytest.mark.parametrize(
    ("ranks", "n_max", "sentence"),
    [
        (FullRanks.of([], n_candidates=9), None, "no ranks"),
        (SEVERAL, None, "one relevant item each"),
        (SPREAD, 150, "`n0`, 100, times a power of 2, got 150"),
        (SPREAD, 1600, "must not be above the irrelevant candidates"),
    ],
)
def test_what_makes_no_sense_is_refused(ranks: FullRanks, n_max: int | None, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        study(adaptive, {"one": ranks}, negatives=99, n_max=n_max)
