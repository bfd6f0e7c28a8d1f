"""What a truth refuses."""

import numpy as np
import pytest

from analyses.shared.measure import Measure, Measures, Scores
from analyses.shared.work import Truth
from runs import InputError

SCORES = Scores(np.ones((1, 1, 1)), Measures([Measure("P", 10)]), ("a",), np.array(["1"]))


def test_a_reference_must_have_been_measured() -> None:
    with pytest.raises(InputError, match="no scores of nDCG@10, but of P@10"):
        Truth(SCORES, (Measure("nDCG", 10),), "of a world")


def test_a_truth_without_references_is_refused() -> None:
    with pytest.raises(InputError, match="needs a reference"):
        Truth(SCORES, (), "of a world")
