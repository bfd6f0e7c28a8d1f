"""Metrics of a study against click-through rates of its systems."""

import json
from pathlib import Path
from shutil import copytree

import numpy as np
import pandas as pd
import pytest

from analyses.online.click_agreement import ClickStudy
from analyses.online.experiments import read_values
from analyses.recall.parametrisations import recall_grid
from analyses.shared.evidence import to_evidence
from analyses.shared.result import figures_of
from harness.report.study_folder import FinishedStudy
from harness.report.tables import tabulate
from runs import InputError
from tests.analyses.online.examples import write
from tests.harness.small import (
    JUDGEMENTS,
    METRICS,
    SYSTEMS,
    TREC,
    TREC_METRICS,
    WORLD,
    contents,
    made_at,
    run_text,
    write_qrels,
    write_run,
)

pytestmark = pytest.mark.slow

FOUR = SYSTEMS.replace('"puresvd"]', '"puresvd", "item-knn"]')
ONLINE = """
[analyses]
names = ["online"]
[analyses.online]
rates = "rates.csv"
offline = "offline.csv"
"""
TEXT = WORLD + FOUR + METRICS + ONLINE
RATES = "model,rate\nrandom,0.01\npopularity,0.03\npuresvd,0.02\nelsewhere,0.5\n"
KEY = "online_click_agreement"
DRAWN = [face.file for face in figures_of(ClickStudy)]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rates of three of four systems, and a small grid of recalls."""
    folder = tmp_path_factory.mktemp("online")
    write(folder, "rates.csv", RATES)
    names = [str(recall) for recall in recall_grid(betas=[0, 1], cutoffs=[5, 10])]
    systems = ["random", "popularity", "puresvd", "item-knn"]
    values = np.arange(len(systems) * len(names)).reshape(len(systems), -1) % 7
    frame = pd.DataFrame(values, columns=names)
    frame.insert(0, "model", systems)
    frame.to_csv(folder / "offline.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def study(base: Path) -> Path:
    """A finished study whose one analysis is that of clicks."""
    return run_text(TEXT, base, output=base / "study")


@pytest.fixture
def again(base: Path, study: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Copies of the tables' folder and of the study in it, to be changed."""
    return tmp_path / "copy", copytree(base, tmp_path / "copy") / study.name


def test_the_means_of_the_study_are_what_is_correlated(study: Path) -> None:
    means = pd.read_csv(study / "tables/means.csv", float_precision="round_trip")
    frame = means[(means["metric"] == "nDCG") & (means["cutoff"] == 20)].set_index("system")
    found = FinishedStudy.at(study).result_of(KEY, ClickStudy)
    (one,) = found.data
    values = one.values[one.measures.index("nDCG@20")]
    assert values.tolist() == frame.loc[list(one.models), "mean"].tolist()


def test_systems_without_a_rate_are_left_out_and_named(study: Path) -> None:
    manifest = json.loads((study / "manifest.json").read_bytes())
    assert "leaves out what is not known on all sides: item-knn, elsewhere." in str(
        manifest["warnings"]
    )
    caption = (study / f"figures/{DRAWN[0]}.txt").read_text(encoding="utf-8")
    assert "not known on all sides: item-knn, elsewhere." in caption


def test_what_was_found_is_read_back_to_the_last_bit(study: Path) -> None:
    kept = (study / f"evidence/{KEY}.npz").read_bytes()
    assert to_evidence(FinishedStudy.at(study).result(KEY)) == kept


@pytest.mark.parametrize("name", ["online", "thesis2021-table4.6", "table4.6", "table4.9"])
def test_tables_are_printed_with_the_data(study: Path, name: str) -> None:
    finished = FinishedStudy.at(study)
    made = tabulate(finished, name)
    assert made.note.endswith(finished.manifest["data"])
    assert name in made.name


@pytest.mark.usefixtures("blank_figures")
def test_a_finished_study_does_nothing_again(again: tuple[Path, Path]) -> None:
    base, folder = again
    run_text(TEXT, base, output=folder)
    before = made_at(folder)
    run_text(TEXT, base, output=folder)
    assert made_at(folder) == before


@pytest.mark.usefixtures("blank_figures")
@pytest.mark.parametrize("name", ["rates.csv", "offline.csv"])
def test_a_changed_table_makes_the_analysis_alone_again(
    again: tuple[Path, Path], name: str
) -> None:
    base, folder = again
    before = made_at(folder)
    path = base / name
    path.write_text(path.read_text().replace("elsewhere,0.5", "elsewhere,0.6").replace(",6", ",5"))
    run_text(TEXT, base, output=folder)
    assert {part for part, at in made_at(folder).items() if before[part] != at} == {KEY}


def test_tables_and_figures_are_the_same_bytes_for_any_workers(study: Path, base: Path) -> None:
    other = run_text(TEXT, base, output=base / "other", n_jobs=2)
    for pattern in ("tables/*.csv", "figures/*.svg", "evidence/*"):
        assert contents(other, pattern) == contents(study, pattern)


def test_rates_that_do_not_fit_are_refused_before_training(tmp_path: Path) -> None:
    write(tmp_path, "rates.csv", "model,rate\nrandom,0.01\npopularity,0.03\n")
    text = WORLD + FOUR + METRICS + '[analyses.online]\nrates = "rates.csv"\n'
    with pytest.raises(InputError, match=r"study\.toml, line \d+: .*at least 3 systems"):
        run_text(text, tmp_path, output=tmp_path / "study")
    assert not (tmp_path / "study" / "runs").exists()


@pytest.mark.usefixtures("blank_figures")
def test_runs_made_elsewhere_have_rates_too(tmp_path: Path) -> None:
    lists = {"good": ["a", "c", "b"], "fair": ["b", "a", "c"], "poor": ["x", "b", "y"]}
    for tag, items in lists.items():
        write_run(tmp_path, tag, dict.fromkeys(JUDGEMENTS, items))
    write_qrels(tmp_path, JUDGEMENTS)
    write(tmp_path, "rates.csv", "model,rate\npoor,0.01\nfair,0.02\ngood,0.03\n")
    text = TREC + TREC_METRICS + ONLINE.replace('offline = "offline.csv"\n', "")
    folder = run_text(text, tmp_path, output=tmp_path / "study")
    rhos = pd.read_csv(folder / "tables/online.csv").set_index("measure")["mean"].to_dict()
    # Only the good one ever has a hit at rank 1; the two others tie.
    assert rhos["P@1"] == pytest.approx(np.sqrt(3) / 2)


def test_the_folder_of_a_study_stands_for_its_means(study: Path) -> None:
    found = read_values(study)
    assert set(found["model"]) == {"random", "popularity", "puresvd", "item-knn"}
    assert found["measure"].drop_duplicates().tolist() == ["P@5", "P@20", "nDCG@5", "nDCG@20"]
