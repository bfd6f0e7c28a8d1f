"""The worlds of the thesis, and its tables in the mean over data sets."""

import tomllib
from pathlib import Path

import pandas as pd
import pytest

from tests.benchmarks.replications import write_means
from tests.benchmarks.thesis_worlds import STUDY, click_rates, world_study


def test_worlds_differ_from_the_study_file_in_name_and_seeds_alone() -> None:
    tables = tomllib.loads(world_study(7))
    seeds = [tables.pop("seed"), tables["experiment"].pop("seed")]
    assert [*seeds, tables["experiment"]["world"].pop("seed"), tables.pop("name")] == [
        *(7, 7, 7),
        "world-7",
    ]
    shipped = tomllib.loads(STUDY.read_text(encoding="utf-8"))
    assert tables == {"experiment": shipped["experiment"]}


def test_arms_next_to_each_other_are_apart_in_standard_errors_of_their_difference() -> None:
    """From .06 to .05 are .01, of errors .003 and .004; from .05 to .02 are .03."""
    arms = pd.DataFrame(
        {"arm": ["a", "b", "c"], "rate": [0.05, 0.02, 0.06], "error": [0.004, 0.003, 0.003]}
    )
    rates = click_rates(arms)
    assert rates.pop("least distance") == pytest.approx(0.01 / 0.005)
    assert rates == {"a": 0.05, "b": 0.02, "c": 0.06, "largest error": 0.004}


def test_percentages_are_averaged_over_data_sets_without_their_totals(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    rows = ["A,more,10,%", "B,more,30,%", "A,more,7,", "A + B,more,99,%", "total,more,99,%"]
    path.write_text("\n".join(["dataset,sign,ours,unit", *rows, "A,less,90,%", "B,less,70,%"]))
    means = pd.read_csv(write_means(path, tmp_path / "means"))
    assert means[["sign", "value", "unit"]].values.tolist() == [
        ["more", 20, "%"],
        ["less", 80, "%"],
    ]
