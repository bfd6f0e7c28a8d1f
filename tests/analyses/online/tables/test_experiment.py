import numpy as np
import pytest

from analyses.online.tables.experiment import Experiment, check_experiments
from runs import InputError
from tests.analyses.online.examples import experiment


@pytest.mark.parametrize(
    ("values", "rates", "said"),
    [
        (np.ones((1, 2)), [0.1, 0.2], "A: from 3 to 79 models can be compared, got 2"),
        (np.ones((1, 3)), [0.1, np.nan, 0.2], "must be finite, got nan for b"),
    ],
)
def test_what_does_not_fit_is_refused(values: np.ndarray, rates: list[float], said: str) -> None:
    with pytest.raises(InputError, match=said):
        experiment(values, rates)


def test_a_model_may_not_occur_twice() -> None:
    with pytest.raises(InputError, match="A: the model 'a' occurs twice"):
        Experiment("A", ("a", "b", "a"), ("AP",), np.ones((1, 3)), np.ones(3))


def test_experiments_have_the_same_measures() -> None:
    first = experiment(np.ones((1, 3)), np.ones(3), measures=["AP"])
    second = experiment(np.ones((1, 3)), np.ones(3), measures=["RR"], name="B")
    with pytest.raises(InputError, match="A and B must have the same measures"):
        check_experiments([first, second])


def test_two_experiments_have_two_names() -> None:
    one = experiment(np.ones((1, 3)), np.ones(3))
    with pytest.raises(InputError, match="the experiment 'A' occurs twice"):
        check_experiments([one, one])


def test_no_experiment_is_too_few() -> None:
    with pytest.raises(InputError, match="at least one experiment is needed, got none"):
        check_experiments([])
