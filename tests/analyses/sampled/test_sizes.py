"""Expected metrics against the number of negatives."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analyses.sampled.estimates import estimates
from analyses.sampled.example import LISTS
from analyses.sampled.expectation.crossings import consistency_crossings
from analyses.sampled.sizes import ESTIMATORS, Settings, Sizes, sizes
from analyses.shared.evidence import read_evidence, to_evidence
from analyses.shared.work import RanksAlone
from qrels import FullRanks
from runs import InputError
from tests.analyses.sampled.studied import study

SPREAD = {
    "near": FullRanks.of(range(1, 31), n_candidates=60),
    "far": FullRanks.of(range(3, 33), n_candidates=60),
}


def _expected(
    systems: Mapping[str, FullRanks],
    *,
    negatives: Sequence[int] | None = None,
    n_jobs: int = 1,
    **asked: Any,
) -> Sizes:
    work, settings = RanksAlone(systems, n_jobs=n_jobs), Settings.model_construct(**asked)
    settings = settings.model_copy(update={"sizes": negatives})
    return sizes(work, settings)


@pytest.mark.parametrize("metric", ["AP", "nDCG@10"])
def test_uncorrected_metrics_are_those_of_the_consistency(metric: str) -> None:
    found = _expected(SPREAD, negatives=[1, 7, 20], metrics=[metric])
    known = consistency_crossings(SPREAD, metric, negatives=20)
    places = [known.systems.index(system) for system in found.systems]
    values = found.by_size(found.expected)[:, 0, 0]
    np.testing.assert_allclose(values.T, known.values[places][:, [0, 6, 19]], atol=1e-9)


@pytest.mark.slow
def test_means_of_samples_are_near_the_expected_ones() -> None:
    asked: dict[str, Any] = {"estimators": ["uncorrected", "bv(gamma=0.1)"], "repeats": 300}
    drawn = study(estimates, SPREAD, negatives=20, seed=1, **asked)
    expected = _expected(SPREAD, negatives=[20]).expected
    assert (np.abs(drawn.mean - expected) < 4.5 * drawn.sd / np.sqrt(300) + 1e-3).all()


@pytest.mark.slow
def test_the_reversal_of_the_example_is_found() -> None:
    found = _expected(LISTS, negatives=[600, 691, 692], metrics=["nDCG"]).crossings()
    rows = found.query("estimator == 'Uncorrected'")
    assert rows[["m", "ordering"]].values.tolist() == [[600, "A > C > B"], [692, "C > A > B"]]


def test_sizes_are_about_evenly_spaced_factors_by_default() -> None:
    assert _expected(SPREAD, metrics=["AP"]).sizes == (1, 2, 5, 10, 20, 50)


def pairs_of_items(*, seed: int) -> FullRanks:
    """Forty users with two relevant items among 50 to 89 candidates."""
    rng = np.random.default_rng(seed)
    ranks = np.concatenate([rng.choice(50, 2, replace=False) + 1 for _ in range(40)])
    users = np.repeat(np.arange(40), 2)
    return FullRanks.of(ranks, n_candidates=50 + users, user=users)


SEVERAL = {"one": pairs_of_items(seed=1), "two": pairs_of_items(seed=2)}
ASKED: dict[str, Any] = {"metrics": ["AP", "nDCG@5", "RR"]}


@pytest.mark.slow
@pytest.mark.parametrize("replace", [True, False])
def test_samples_of_several_items_have_the_expected_mean(replace: bool) -> None:
    how: Any = {**ASKED, "replace": replace}
    names = [*map(str, ESTIMATORS)]
    drawn = study(estimates, SEVERAL, negatives=20, repeats=300, seed=1, estimators=names, **how)
    found = _expected(SEVERAL, negatives=[20], **how)
    assert np.isnan(found.expected_variance).all()
    off = np.abs(drawn.mean - found.expected)
    assert (off < 4.5 * drawn.sd / np.sqrt(300)).all()


@pytest.mark.slow
def test_threads_change_nothing() -> None:
    one, two = (_expected(SEVERAL, **ASKED, n_jobs=n_jobs) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.expected, two.expected)


def test_all_candidates_leave_nothing_to_chance() -> None:
    systems = {"a": FullRanks.of([2, 5, 1, 3], n_candidates=7, user=[0, 0, 1, 1])}
    found = _expected(systems, negatives=[5], metrics=["AP", "RR"], replace=False)
    np.testing.assert_allclose(found.expected, [found.exact, found.exact], atol=1e-12)


def test_a_result_is_read_back_from_evidence(tmp_path: Path) -> None:
    result = _expected(SPREAD, negatives=[1, 20])
    file = tmp_path / "sample_size.npz"
    file.write_bytes(to_evidence(result))
    assert to_evidence(read_evidence(file, Sizes)) == file.read_bytes()


@pytest.mark.slow
def test_rows_say_what_was_expected_of_whom() -> None:
    found = _expected(SPREAD, negatives=[1, 20])
    row = found.to_frame().query("metric == 'AP' and system == 'far' and m == 20").iloc[1]
    known = [found.expected[3, 2, 1], found.expected_variance[3, 2, 1] ** 0.5, found.exact[2, 1]]
    assert [row["expected"], row["expected_sd"], row["exact"]] == known


def test_the_legend_has_systems_estimators_and_the_exact_values() -> None:
    axes = _expected(SPREAD, negatives=[1, 20]).plot(metric="AUC")
    names = ["near", "far", "Uncorrected", "BV(gamma=0.1)", "exact"]
    assert axes.get_legend_handles_labels()[1] == names


def test_every_named_curve_with_marks_has_points() -> None:
    axes = _expected(SPREAD, negatives=[1, 20]).plot()
    named = [line for line in axes.lines if not str(line.get_label()).startswith("_")]
    marked = {
        line.get_label(): np.shape(line.get_xydata())[0]
        for line in named
        if line.get_marker() != "None"
    }
    assert marked == {"near": 2, "far": 2}


def test_many_systems_are_grey_but_for_the_best() -> None:
    many = {f"s{n}": FullRanks.of([9 - n, 10], n_candidates=20) for n in range(9)}
    axes = _expected(many, negatives=[1, 5], metrics=["AP"]).plot()
    assert axes.get_legend_handles_labels()[1][:3] == ["2 others", "s2", "s3"]


def test_only_what_was_estimated_can_be_drawn() -> None:
    with pytest.raises(InputError, match="there are AP to draw, got RR"):
        _expected(SPREAD, negatives=[1], metrics=["AP"]).plot(metric="RR")


@pytest.mark.parametrize(
    ("negatives", "sentence"),
    [
        ([], "`negatives` must rise"),
        ([5, 2], r"`negatives` must rise, got \[5, 2\]"),
        ([0, 2], "`m` must be at least 1 negative, got 0"),
        ([60], "must not be above the irrelevant candidates"),
    ],
)
def test_numbers_of_negatives_that_make_no_sense_are_refused(
    negatives: list[int], sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        _expected(SPREAD, negatives=negatives)


def test_users_must_be_the_same() -> None:
    with pytest.raises(InputError, match="'near' and 'other' have different users"):
        _expected({**SPREAD, "other": FullRanks.of([1], n_candidates=60)})
