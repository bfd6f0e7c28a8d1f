import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from analyses.measure import Measure
from analyses.sparsity import (
    Sparsity,
    _lowest,
    _without_relevant,
    sample_judgements,
    sparsity,
)
from qrels import Qrels, qrels_from_columns

N_JUDGEMENTS = 400
MEASURES = [Measure("sum", 5), Measure("constant", 5)]


def judgements() -> Qrels:
    """20 users with 20 judgements each, one in four relevant."""
    grades = np.where(np.arange(N_JUDGEMENTS) % 4 == 0, 5, 1)
    users, items = np.divmod(np.arange(N_JUDGEMENTS), 20)
    return qrels_from_columns(users, items, grades, n_users=20, relevance_level=4)


def score_samples(kept: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Four systems, each with hits of its own; a second measure that ties them all."""
    hits = np.random.default_rng(1).random((4, N_JUDGEMENTS)) < np.array(
        [[0.2], [0.25], [0.3], [0.35]]
    )
    return np.stack([hits @ kept.astype(np.float64), np.ones((4, kept.shape[1]))])


def study(n_jobs: int = 1, levels: tuple[float, ...] = (1.0, 0.5, 0.05)) -> Sparsity:
    return sparsity(
        score_samples,
        judgements(),
        measures=MEASURES,
        levels=levels,
        n_samples=30,
        seed=7,
        n_jobs=n_jobs,
    )


def test_with_all_judgements_every_sample_agrees() -> None:
    assert (study().taus[0, 0] == 1.0).all()


def test_agreement_falls_as_judgements_are_lost() -> None:
    curve = study().means()[0]
    assert curve[0] > curve[1] > curve[2]


def test_undefined_taus_are_counted_and_left_out_of_the_mean() -> None:
    result = study()
    assert result.undefined.tolist() == [[0, 0, 0], [30, 30, 30]]
    assert np.isnan(result.means()[1]).all()
    assert f"In {result.undefined.sum()} samples" in result.caption()


def test_the_number_of_workers_changes_nothing() -> None:
    np.testing.assert_array_equal(study(n_jobs=1).taus, study(n_jobs=2).taus)


def test_a_level_does_not_depend_on_the_others() -> None:
    np.testing.assert_array_equal(study().taus[:, 2], study(levels=(0.05,)).taus[:, 0])


def test_users_left_without_a_relevant_item_are_counted() -> None:
    result = study()
    assert result.without_relevant[0] == 0.0
    assert 10 < result.without_relevant[2] < 20


def test_the_table_is_tidy() -> None:
    frame = study().to_frame()
    assert list(frame.columns[:4]) == ["metric", "cutoff", "level", "tau"]
    assert len(frame) == 6


@given(st.integers(1, 60), st.floats(0.05, 1.0), st.integers(0, 99))
def test_a_sample_keeps_the_share_it_says(n_judgements: int, level: float, seed: int) -> None:
    kept = sample_judgements(n_judgements, level=level, n_samples=4, seed=seed)
    assert (kept.sum(axis=0) == max(1, round(level * n_judgements))).all()


def test_every_judgement_is_as_likely_to_be_kept() -> None:
    kept = sample_judgements(50, level=0.4, n_samples=2000, seed=3)
    np.testing.assert_allclose(kept.mean(axis=1), 0.4, atol=5 * np.sqrt(0.24 / 2000))


def test_other_seeds_give_other_samples() -> None:
    first, second = (sample_judgements(50, level=0.4, n_samples=2, seed=s) for s in (1, 2))
    assert (first != second).any()


@pytest.mark.parametrize("choice", [{"metric": "sum"}, {"cutoff": 5}])
def test_curves_run_from_all_judgements_to_few(choice: dict[str, object]) -> None:
    ax = study().plot(**choice)  # type: ignore[arg-type]
    assert ax.get_xlim() == (100.0, 5.0)
    assert len(ax.lines) == (1 if "metric" in choice else 2)


def test_equal_keys_do_not_change_how_many_are_kept() -> None:
    keys = np.array([7, 2, 7, 7, 9], dtype=np.uint32)
    assert _lowest(keys, 3).tolist() == [True, True, True, False, False]


def test_users_without_relevant_judgements_are_counted_even_if_none_has_one() -> None:
    qrels = qrels_from_columns(
        np.arange(3), np.zeros(3, dtype=int), np.zeros(3, dtype=int), n_users=4, relevance_level=1
    )
    assert _without_relevant(qrels, np.ones((3, 2), dtype=np.bool_)) == 4.0
