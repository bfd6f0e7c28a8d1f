"""A package with a metric, a system, a split and an analysis, built and installed as users do."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.harness.small import run_apart

pytest.importorskip("setuptools", reason="a package is built with setuptools")
pytestmark = pytest.mark.slow

FILES = {
    "pyproject.toml": """
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"
[project]
name = "my-metric"
version = "1.0"
[tool.setuptools]
packages = ["my_metric"]
[project.entry-points."metric_robustness.metrics"]
sDCG = "my_metric.members:sdcg"
[project.entry-points."metric_robustness.systems"]
by-id = "my_metric.members:by_id"
[project.entry-points."metric_robustness.splits"]
every-fifth = "my_metric.members:every_fifth"
[project.entry-points."metric_robustness.analyses"]
spread = "my_metric.members:spread"
""",
    "my_metric/__init__.py": "",
    "my_metric/helper.py": "import numpy as np\n\nBASE = 2.0\n\n\ndef discount(ranks):\n"
    "    return 1 / np.log(ranks + 1) * np.log(BASE)\n",
    "my_metric/members.py": '''
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analyses.shared.analysis import AnalysisSettings, analysis
from analyses.shared.result import Result
from harness.metrics.shared.metric import metric
from qrels import Split
from qrels.ratings.splitter import SplitSettings, split
from recommenders.popularity import popularity
from recommenders.shared.system import Settings, system

from .helper import discount


@metric("sDCG", source="me", high=float("inf"))
def sdcg(judged, cutoff):
    """Sum discounts of relevant items."""
    relevant = judged.relevant[:, :cutoff]
    return relevant @ discount(np.arange(1, relevant.shape[1] + 1))


@system("by-id", family="baseline", source="me")
def by_id(ratings, settings: Settings, *, seed):
    """Rank by popularity, under another name."""
    return popularity.make(ratings, popularity.settings(), seed=seed)


@split("every-fifth", source="me")
def every_fifth(ratings, settings: SplitSettings, *, seed):
    """Test every fifth rating."""
    tested = np.arange(len(ratings)) % 5 == 0
    return Split(ratings.select(~tested), ratings.select(tested))


@dataclass(frozen=True)
class Spread(Result):
    """Standard deviation of the means."""

    value: float

    def frames(self):
        return {"spread": pd.DataFrame({"spread": [self.value]})}

    def caption(self):
        return "Standard deviation of the means."

    def findings(self):
        return [f"The means have a standard deviation of {self.value:.3f}."]


@analysis("spread", source="me")
def spread(work, settings: AnalysisSettings) -> Spread:
    """Spread the means."""
    return Spread(float(work.scores.mean_values().std()))
''',
}
STUDY = """
name = "installed"
[ratings]
format = "world"
threshold = 4.0
[ratings.world]
n_users = 60
n_items = 80
n_ratings = 1500
gini = 0.5
[split]
method = "every-fifth"
[systems]
names = ["random", "popularity", "by-id"]
depth = 10
[metrics]
names = ["sDCG", "P"]
cutoffs = [10]
[analyses]
names = ["spread"]
"""


def build(folder: Path, name: str = "my-metric") -> Path:
    """Write a package, and install it into a folder of its own."""
    source, target = folder / f"{name}-source", folder / name
    for path, text in FILES.items():
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        (source / path).write_text(text.replace('"my-metric"', f'"{name}"'), encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    how = ["--no-build-isolation", "--target", str(target), str(source)]
    subprocess.run([*pip, *how], check=True, capture_output=True)
    return target


def harness(folder: Path, *arguments: str, paths: Sequence[Path] = ()) -> tuple[int, str]:
    """Run the program with further folders to import from; what it prints is on one line."""
    code, printed = run_apart(*arguments, folder=folder, paths=paths)
    return code, " ".join(printed.split())


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a study that names every member of an installed package."""
    folder = tmp_path_factory.mktemp("installed")
    build(folder)
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    code, output = harness(
        folder, "run", "study.toml", "--jobs", "1", paths=(folder / "my-metric",)
    )
    assert code == 0, output
    return folder


def test_a_study_names_members_of_an_installed_package(installed: Path) -> None:
    report = (installed / "study-installed/report.html").read_text(encoding="utf-8")
    means = (installed / "study-installed/tables/means.csv").read_text(encoding="utf-8")
    assert "sDCG,10," in means
    assert "The means have a standard deviation of" in report


def test_a_finished_study_is_read_without_its_package(installed: Path) -> None:
    study = str(installed / "study-installed")
    for command in ("report", "verify"):
        code, output = harness(installed, command, study)
        assert code == 0, output
    code, output = harness(installed, "table", study, "means")
    assert code == 0, output
    assert "by-id" in output


def test_a_changed_module_of_the_package_makes_again_what_imports_it(installed: Path) -> None:
    package = installed / "my-metric"
    before = (installed / "study-installed/scores.parquet").read_bytes()
    helper = package / "my_metric/helper.py"
    helper.write_text(helper.read_text().replace("BASE = 2.0", "BASE = 10.0"))
    code, output = harness(installed, "run", "study.toml", "--jobs", "1", paths=(package,))
    assert code == 0, output
    assert (installed / "study-installed/scores.parquet").read_bytes() != before


def test_lists_have_what_is_installed(installed: Path) -> None:
    for command, name in (("metrics", "sDCG"), ("systems", "by-id")):
        code, output = harness(installed, command, paths=(installed / "my-metric",))
        assert code == 0, output
        assert name in output


def test_a_name_that_two_packages_claim_is_refused(installed: Path) -> None:
    other = build(installed, "other-metric")
    paths = (installed / "my-metric", other)
    code, output = harness(installed, "run", "study.toml", "--output", "other", paths=paths)
    assert code == 2
    assert "claimed by two distributions, my-metric 1.0 and other-metric 1.0" in output
