"""All studies of sampled metrics from one study file."""

from pathlib import Path

import pandas as pd
import pytest

from analyses.shared.analysis import members_of
from analyses.shared.result import tables_of
from harness.report.page import render_report
from harness.report.study_folder import FinishedStudy
from harness.report.tables import tabulate
from tests.harness.page import Page
from tests.harness.small import METRICS, SYSTEMS, WORLD, run_text

pytestmark = pytest.mark.slow

TEXT = (
    WORLD
    + SYSTEMS
    + METRICS
    + """
[split]
method = "leave-one-out-last"
[analyses]
names = ["sampled"]
[analyses.sampled]
studies = [
    "estimates", "ranks", "sizes", "cost", "adaptive", "iterations", "priors",
    "strategies",
]
metrics = ["Recall@5", "AP"]
estimators = ["uncorrected", "bv(gamma=0.1)", "mle", "adaptive-mle"]
negatives = 4
n_max = 10
repeats = 3
replicates = 20
draws = "shared"
lost = 0.3
sizes = [2, 4]
iterations = [1, 5]
priors = ["uniform", "mle", "true"]
"""
)


TABLES = [face.name for member in members_of("sampled") for face in tables_of(member.result)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("sampled")
    return run_text(TEXT, base, output=base / "study")


def test_every_study_draws_its_figure(folder: Path) -> None:
    names = ("estimates", "ranks", "sizes", "cost", "adaptive", "iterations", "priors")
    assert {path.stem for path in folder.glob("figures/*.svg")} == {
        *(f"figure{number}_sampled_{name}" for number, name in enumerate(names, start=11)),
        "figure27_sampled_strategies",
        "figure28_sampled_choose",
    }


@pytest.mark.parametrize("name", TABLES)
def test_every_table_is_made_again_from_the_folder(folder: Path, name: str) -> None:
    table = tabulate(FinishedStudy.at(folder), name)
    assert table.rows
    assert {len(row) for row in table.rows} == {len(table.headings)}
    assert table.note.endswith("study seed 3.")


def test_the_report_has_every_table_once(folder: Path) -> None:
    text = Page(render_report(FinishedStudy.at(folder)).decode()).text
    study = FinishedStudy.at(folder)
    for name in TABLES:
        assert text.count(tabulate(study, name).title) == 1, name


@pytest.mark.usefixtures("blank_figures")
def test_results_do_not_depend_on_the_workers(folder: Path, tmp_path: Path) -> None:
    other = run_text(TEXT, tmp_path, output=tmp_path / "study", n_jobs=2)
    for path in sorted(folder.glob("tables/*")) + sorted(folder.glob("evidence/*")):
        assert path.read_bytes() == (other / path.relative_to(folder)).read_bytes(), path.name


def test_adaptive_estimates_score_more_items(folder: Path) -> None:
    frame = pd.read_csv(folder / "tables/sampled.csv")
    scored = frame.groupby("estimator")["scored"].mean()
    assert scored["AdaptiveMLE(iters=50)"] > scored["MLE(iters=100)"] == 5


def test_studies_share_their_samples(folder: Path) -> None:
    """The error of MLE after so many iterations, and of the estimate that stops there."""
    estimated = pd.read_csv(folder / "tables/sampled.csv").query("metric == 'Recall'")
    one = estimated.query("estimator == 'BV(gamma=0.1,prior=uniform)'")["error"].to_numpy()
    priors = pd.read_csv(folder / "tables/sampled_priors.csv")
    other = priors.query("estimator == 'BV(gamma=0.1)' and prior == 'uniform' and metric=='Recall'")
    assert one.tolist() == other["error"].tolist()
