from pathlib import Path

import pytest

from analyses.online.tables.links import read_experiments
from runs import InputError
from tests.analyses.online.tables.tables import RATES, VALUES, write, write_grid


def test_rates_are_put_in_the_order_of_the_values(tmp_path: Path) -> None:
    values = write(tmp_path, "values.csv", VALUES)
    rates = write(tmp_path, "rates.csv", "model,rate\nc,0.03\na,0.01\nb,0.02\n")
    (experiment,) = read_experiments(values, rates)
    assert experiment.models == ("a", "b", "c")
    assert experiment.rates.tolist() == [0.01, 0.02, 0.03]


def test_every_experiment_has_its_own_models(tmp_path: Path) -> None:
    first, second = read_experiments(*write_grid(tmp_path))
    assert (first.name, second.name) == ("X", "Y")
    assert first.rates.tolist() == second.rates.tolist()


@pytest.mark.parametrize(
    ("values", "rates", "sentence"),
    [
        (VALUES + "d,1,1\n", RATES, "values.csv, line 5: model 'd' has no rate in"),
        (VALUES, RATES + "d,0.04\n", "rates.csv, line 5: model 'd' has no offline values in"),
        (VALUES[:26], RATES[:18], "values.csv: data: from 3 to 79 models can be compared, got 1."),
        (VALUES, "model,rate\na,0.1\nb,0.1\nc,0.1\n", "all models of 'data' have the rate 0.1"),
        (
            VALUES,
            "model,rate,experiment\na,1,X\nb,2,X\nc,3,X\n",
            "must have the same experiments: 'data' is in the first alone.",
        ),
    ],
)
def test_tables_that_do_not_fit_are_refused(
    tmp_path: Path, values: str, rates: str, sentence: str
) -> None:
    paths = write(tmp_path, "values.csv", values), write(tmp_path, "rates.csv", rates)
    with pytest.raises(InputError) as error:
        read_experiments(*paths)
    assert sentence in str(error.value)
