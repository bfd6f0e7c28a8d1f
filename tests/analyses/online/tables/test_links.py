from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from analyses.online.click_agreement import Settings
from analyses.shared.measure import Measure, Measures, Scores
from runs import InputError
from tests.analyses.online.tables.tables import RATES, write

SYSTEMS = ("c", "b", "a")
SCORES = Scores(
    values=np.array([[[0.3], [0.2], [0.1]], [[0.7], [0.8], [0.9]]]),
    measures=Measures([Measure("P", 5), Measure("misses", 5)]),
    systems=SYSTEMS,
    users=np.array(["u"]),
)
OFFLINE = "model,LOO(beta=0)@5\na,1\nb,2\nc,3\n"


def settings(folder: Path, *, rates: str = RATES, offline: str = "") -> Settings:
    further = write(folder, "offline.csv", offline) if offline else None
    return Settings(rates=write(folder, "rates.csv", rates), offline=further)


def test_systems_keep_the_order_of_the_study(tmp_path: Path) -> None:
    experiment = settings(tmp_path).link(SYSTEMS).experiment("X", SCORES)
    assert experiment.models == SYSTEMS
    assert experiment.rates.tolist() == [0.03, 0.02, 0.01]


def test_measures_are_every_metric_at_every_cutoff(tmp_path: Path) -> None:
    experiment = settings(tmp_path).link(SYSTEMS).experiment("X", SCORES)
    assert experiment.measures == ("P@5", "misses@5")
    assert experiment.values[0].tolist() == [0.3, 0.2, 0.1]


def test_a_metric_of_which_less_is_better_is_turned_round(tmp_path: Path) -> None:
    falling = replace(SCORES, measures=Measures(SCORES.measures, falling=["misses"]))
    experiment = settings(tmp_path).link(SYSTEMS).experiment("X", falling)
    assert experiment.values.tolist() == [[0.3, 0.2, 0.1], [-0.7, -0.8, -0.9]]


def test_further_measures_stand_behind(tmp_path: Path) -> None:
    linked = settings(tmp_path, offline=OFFLINE).link(SYSTEMS)
    experiment = linked.experiment("X", SCORES)
    assert experiment.measures == ("P@5", "misses@5", "LOO(beta=0)@5")
    assert experiment.values[2].tolist() == [3.0, 2.0, 1.0]


def test_what_one_side_does_not_know_is_left_out(tmp_path: Path) -> None:
    further = settings(tmp_path, rates=RATES + "d,0.04\ne,0.05\n", offline=OFFLINE + "f,4\n")
    linked = further.link(("a", "b", "c", "d", "g"))
    assert linked.systems == ("a", "b", "c")
    assert linked.left_out == ("d", "g", "e", "f")


def test_a_further_measure_must_not_be_called_as_one_of_the_study(tmp_path: Path) -> None:
    linked = settings(tmp_path, offline=OFFLINE.replace("LOO(beta=0)@5", "P@5")).link(SYSTEMS)
    with pytest.raises(InputError, match=r"offline\.csv: the study measures P@5 itself"):
        linked.experiment("X", SCORES)


@pytest.mark.parametrize(
    ("rates", "offline", "sentence"),
    [
        ("model,rate\na,1\nb,2\n", "", r"at least 3 systems .* have a rate, found 2; .*: c\."),
        (RATES, "model,AUC\na,1\nb,2\n", r"have a rate, and values in .*offline\.csv, found 2"),
        ("model,rate\na,1\nb,1\nc,1\n", "", "all models of 'data' have the rate 1"),
        ("model,rate,experiment\na,1,X\na,2,Y\n", "", "one experiment, found 2: X, Y"),
    ],
)
def test_tables_that_do_not_fit_the_study_are_refused(
    tmp_path: Path, rates: str, offline: str, sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        settings(tmp_path, rates=rates, offline=offline).link(SYSTEMS)
