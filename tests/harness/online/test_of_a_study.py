"""Metrics of a study against click-through rates of its systems."""

import json
from pathlib import Path
from shutil import copytree

import pandas as pd
import pytest

from analyses.online.click_agreement import ClickStudy
from analyses.online.experiments import read_values
from analyses.shared.evidence import to_evidence
from analyses.shared.result import figures_of
from harness.report.study_folder import FinishedStudy
from harness.report.tables import tabulate
from runs import InputError
from tests.analyses.online.examples import write
from tests.exact_csv import read_exactly
from tests.harness.small import METRICS, SYSTEMS, WORLD, made_at, run_text

pytestmark = pytest.mark.slow

FOUR = SYSTEMS.replace('"puresvd"]', '"puresvd", "item-knn"]')
ONLINE = """
[analyses]
names = ["online"]
[analyses.online]
rates = "rates.csv"
"""
TEXT = WORLD + FOUR + METRICS + ONLINE
RATES = "model,rate\nrandom,0.01\npopularity,0.03\npuresvd,0.02\nelsewhere,0.5\n"
KEY = "online_click_agreement"
DRAWN = [face.file_stem for face in figures_of(ClickStudy)]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rates of three of four systems."""
    folder = tmp_path_factory.mktemp("online")
    write(folder, "rates.csv", RATES)
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
    means = read_exactly(study / "tables/means.csv")
    frame = means[(means["metric"] == "nDCG") & (means["cutoff"] == 20)].set_index("system")
    rates = {"random": 0.01, "popularity": 0.03, "puresvd": 0.02}
    rhos = pd.read_csv(study / "tables/online.csv").set_index("measure")["mean"]
    expected = frame["mean"][[*rates]].rank().corr(pd.Series(rates).rank())
    assert rhos["nDCG@20"] == pytest.approx(expected)


def test_systems_without_a_rate_are_left_out_and_named(study: Path) -> None:
    manifest = json.loads((study / "manifest.json").read_bytes())
    assert "item-knn, elsewhere" in str(manifest["warnings"])
    caption = (study / f"figures/{DRAWN[0]}.txt").read_text(encoding="utf-8")
    assert "they have no rate: item-knn, elsewhere." in caption


def test_what_was_found_is_read_back_to_the_last_bit(study: Path) -> None:
    kept = (study / f"evidence/{KEY}.npz").read_bytes()
    assert to_evidence(FinishedStudy.open(study).result(KEY)) == kept


@pytest.mark.parametrize("name", ["online", "thesis2021-table4.6", "table4.6"])
def test_tables_are_printed_with_the_data(study: Path, name: str) -> None:
    finished = FinishedStudy.open(study)
    made = tabulate(finished, name)
    assert made.note.endswith(finished.manifest.data)
    assert name in made.name


@pytest.mark.usefixtures("no_figures")
def test_a_finished_study_does_nothing_again(again: tuple[Path, Path]) -> None:
    base, folder = again
    run_text(TEXT, base, output=folder)
    before = made_at(folder)
    run_text(TEXT, base, output=folder)
    assert made_at(folder) == before


@pytest.mark.usefixtures("no_figures")
def test_a_changed_table_makes_the_analysis_alone_again(again: tuple[Path, Path]) -> None:
    base, folder = again
    before = made_at(folder)
    path = base / "rates.csv"
    path.write_text(path.read_text().replace("elsewhere,0.5", "elsewhere,0.6"))
    run_text(TEXT, base, output=folder)
    assert {part for part, at in made_at(folder).items() if before[part] != at} == {KEY}


def test_rates_that_do_not_fit_are_refused_before_training(tmp_path: Path) -> None:
    write(tmp_path, "rates.csv", "model,rate\nrandom,0.01\npopularity,0.03\n")
    text = WORLD + FOUR + METRICS + '[analyses.online]\nrates = "rates.csv"\n'
    with pytest.raises(InputError, match=r"study\.toml, line \d+: .*at least 3 systems"):
        run_text(text, tmp_path, output=tmp_path / "study")
    assert not (tmp_path / "study" / "runs").exists()


def test_the_folder_of_a_study_stands_for_its_means(study: Path) -> None:
    found = read_values(study)
    assert set(found["model"]) == {"random", "popularity", "puresvd", "item-knn"}
    assert found["measure"].drop_duplicates().tolist() == ["P@5", "P@20", "nDCG@5", "nDCG@20"]
