"""Expected metrics against the number of negatives."""

from typing import Any

import numpy as np
import pytest

from analyses.sampled.consistency import consistency_crossings
from analyses.sampled.correction import study_correction
from analyses.sampled.sample_size import study_sample_size
from analyses.sampled.toy import LISTS
from qrels import FullRanks
from runs import InputError

SPREAD = {
    "near": FullRanks.of(range(1, 31), n_candidates=60),
    "far": FullRanks.of(range(3, 33), n_candidates=60),
}


@pytest.mark.parametrize("metric", ["AP", "nDCG@10"])
def test_uncorrected_metrics_are_those_of_the_consistency(metric: str) -> None:
    found = study_sample_size(SPREAD, negatives=[1, 7, 20], metrics=[metric])
    known = consistency_crossings(SPREAD, metric, negatives=20)
    places = [known.systems.index(system) for system in found.systems]
    np.testing.assert_allclose(found.expected[0, 0], known.values[places][:, [0, 6, 19]], atol=1e-9)


def test_means_of_samples_are_near_the_expected_ones() -> None:
    asked: dict[str, Any] = {"estimators": ["uncorrected", "bv(gamma=0.1)"], "repeats": 300}
    drawn = study_correction(SPREAD, negatives=20, seed=1, **asked)
    expected = study_sample_size(SPREAD, negatives=[20]).expected[..., 0]
    assert (np.abs(drawn.mean - expected) < 4.5 * drawn.sd / np.sqrt(300) + 1e-3).all()


def test_the_reversal_of_the_example_is_found() -> None:
    found = study_sample_size(LISTS, negatives=[600, 691, 692], metrics=["nDCG"]).crossings()
    rows = found.query("estimator == 'Uncorrected'")
    assert rows[["m", "ordering"]].values.tolist() == [[600, "A > C > B"], [692, "C > A > B"]]


def test_every_system_has_a_curve() -> None:
    axes = study_sample_size(SPREAD, negatives=[1, 20]).plot(metric="AUC")
    assert axes.get_legend_handles_labels()[1] == ["near", "far"]


@pytest.mark.parametrize(
    ("systems", "negatives", "sentence"),
    [
        (SPREAD, [], "`negatives` must rise"),
        (SPREAD, [5, 2], r"`negatives` must rise, got \[5, 2\]"),
        (SPREAD, [60], "must not be above the irrelevant candidates"),
        ({"a": FullRanks.of([1, 2], n_candidates=9, user=[0, 0])}, [2], "one relevant item"),
    ],
)
def test_what_makes_no_sense_is_refused(
    systems: dict[str, FullRanks], negatives: list[int], sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        study_sample_size(systems, negatives=negatives)
