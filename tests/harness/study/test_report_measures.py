"""Which is more robust on my runs, nDCG@10 or bpref? Measures at the depths they are used at."""

from pathlib import Path

import numpy as np
import pytest

from analyses.shared.result import measures_of
from harness import open_study
from runs import InputError
from tests.conftest import figures_left_out
from tests.harness.small import TREC, manifest_of, read_frame, run_text, write_qrels, write_run

N_RUNS, N_TOPICS, N_DOCUMENTS, DEPTH, POOLED = 17, 12, 120, 40, 15
ANALYSES = """
[analyses.sparsity]
levels = [1.0, 0.5, 0.2]
samples = 3
replicates = 20
[analyses.popularity]
levels = [1.0, 0.9]
replicates = 20
[analyses.users]
sizes = [6]
repeats = 3
permutations = 99
[analyses.discrimination]
test = "t"
replicates = 20
[analyses.swaps]
repeats = 5
"""
TWO = '[metrics]\nnames = ["nDCG@10", "bpref@all"]\n'
BOTH = {"nDCG@10", "bpref"}


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of more and more noise, and judgements of the documents at their tops."""
    folder = tmp_path_factory.mktemp("trec")
    rng = np.random.default_rng(14)
    worth = rng.normal(size=(N_TOPICS, N_DOCUMENTS))
    pools: dict[str, dict[str, int]] = {f"t{topic}": {} for topic in range(N_TOPICS)}
    for run in range(N_RUNS):
        noise = rng.normal(size=worth.shape) * (1 + 0.2 * run)
        order = np.argsort(-(worth + noise), axis=1)[:, :DEPTH]
        lists = {f"t{topic}": [f"d{d}" for d in order[topic]] for topic in range(N_TOPICS)}
        write_run(folder, f"run{run:02}", lists)
        for topic, first in enumerate(order[:, :POOLED]):
            pools[f"t{topic}"] |= {f"d{d}": int(worth[topic, d] > 1) for d in first}
    write_qrels(folder, pools)
    return folder


@pytest.fixture(scope="module")
def compared(collection: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of nDCG@10 and bpref of whole lists, with every analysis of runs."""
    output = tmp_path_factory.mktemp("compared") / "study"
    with figures_left_out():
        return run_text(TREC + TWO + ANALYSES, collection, output=output)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["sparsity_area_differences", "popularity_area_differences", "power_differences"]
)
def test_their_difference_is_paired(compared: Path, name: str) -> None:
    (row,) = read_frame(compared, name).to_dict("records")
    assert (row["metric_a"], row["cutoff_a"], row["metric_b"]) == ("nDCG", 10, "bpref")
    value = row["ratio" if name == "power_differences" else "difference"]
    assert row["low"] < value < row["high"]


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_what_is_reported_need_not_be_of_the_grid(collection: Path, tmp_path: Path) -> None:
    metrics = (
        '[metrics]\nnames = ["P", "nDCG"]\ncutoffs = [5, 10]\n'
        'report = ["P(rel=1)@7", "bpref@all", "nDCG"]\n'
    )
    some = '[analyses]\nnames = ["correlation", "discrimination"]\n'
    folder = run_text(TREC + metrics + some + ANALYSES, collection, output=tmp_path / "study")
    found = open_study(folder)
    assert found.table("conventions").title == "Discriminative power"
    assert {row[0] for row in found.table("conventions").rows} == {"P(rel=1)@7", "bpref", "nDCG@10"}
    assert set(read_frame(folder, "correlation_cutoffs").query("cutoff_a < cutoff_b").metric) == {
        "P",
        "nDCG",
    }
    assert set(measures_of(found.result("discrimination")).curves) == {"P", "nDCG"}
    assert set(found.results) == {"answer", "means", "coverage", "correlation", "discrimination"}


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_depths_below_all_lists_are_said_once(collection: Path, tmp_path: Path) -> None:
    metrics = '[metrics]\nnames = ["P@41", "AP@1000", "RR@10"]\n[analyses]\nnames = []\n'
    folder = run_text(TREC + metrics, collection, output=tmp_path / "study")
    assert manifest_of(folder)["warnings"] == [
        "The longest ranking ends at rank 40, but P@41 and AP@1000 are deeper: missing items "
        "count as not relevant."
    ]


def test_a_report_measure_that_there_is_not_is_refused_with_its_line(
    collection: Path, tmp_path: Path
) -> None:
    metrics = '[metrics]\nnames = ["P"]\nreport = ["nDGC@10"]\n'
    with pytest.raises(InputError, match=r"study\.toml, line 9: no metric is called 'nDGC'; did y"):
        run_text(TREC + metrics, collection, output=tmp_path / "study")
