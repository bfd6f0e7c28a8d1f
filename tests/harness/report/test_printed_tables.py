"""Every printed table beside small studies, read through the command: ``shared/print``."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli.main import main
from harness.online.experiment import run_experiment_study
from harness.online.experiment_file import ExperimentStudy
from harness.report.publication import Publication
from runs.shared.progress import SilentProgress
from tests.conftest import WrittenExample, figures_left_out
from tests.harness.online.test_online_study import ARMS, ASKED, WORLD
from tests.harness.small import run_text

pytestmark = pytest.mark.slow

PRINT = Path(__file__).parents[3].parent / "shared/print"
FILES = sorted(PRINT.glob("*.csv"))

NOT_COMPARED = {
    "thesis2021-figure1.1": "an illustration",
    "thesis2021-table4.1": "settings of his models",
    "thesis2021-table4.2": "private data",
    "thesis2021-table4.3": "private data",
    "thesis2021-table4.5": "settings that are the best on private data",
    "thesis2021-table4.7": "needs several experiments",
    "thesis2021-table4.11": "needs several experiments",
    **dict.fromkeys([path.stem for path in FILES if path.stem.endswith("-text")], "no table"),
}
"""Why nothing is compared."""

STUDY = """
name = "papers"
[ratings]
format = "world"
[ratings.world]
n_users = 100
n_items = 900
n_ratings = 2400
gini = 0.7
[split]
method = "leave-one-out-random"
[systems]
names = ["popularity", "krichene-x", "krichene-y", "ease"]
[systems.settings.krichene-x]
epochs = 2
factors = 4
[metrics]
names = ["P", "Recall", "AP", "nDCG", "RR", "bpref", "infAP"]
cutoffs = [10, 100]
[analyses]
names = ["correlation", "discrimination", "sampled"]
[analyses.discrimination]
permutations = 99
[analyses.sampled]
metrics = ["Recall@10", "nDCG@10", "AP@10", "AP", "AUC"]
negatives = [99, 100, 499]
n_max = 200
repeats = 2
estimators = [
    "uncorrected", "rank-estimate(denominator=m+1)", "cls", "bv(gamma=1)", "bv(gamma=0.1)",
    "bv(gamma=0.01)", "bv(gamma=0.001)", "mes", "mle", "bv(gamma=0.01,prior=mes)",
    "bv(gamma=0.01,prior=mle)", "mn(prior=mes)", "mn(prior=mle)", "adaptive-mle",
]
"""


@pytest.fixture(scope="module")
def results(
    tmp_path_factory: pytest.TempPathFactory, written_example: WrittenExample
) -> dict[str, Path]:
    """Folders with small results, by the papers whose tables they have."""
    base = tmp_path_factory.mktemp("papers")
    with figures_left_out():
        study = run_text(STUDY, base, output=base / "study")
        experiment = ExperimentStudy.parse(WORLD + ARMS + ASKED, source="a test", base=base)
        online = run_experiment_study(experiment, n_jobs=1, progress=SilentProgress()).parent
    of_example = {f"{paper}-table{n}" for paper in ("kdd2020", "rendle2019") for n in (1, 2)}
    places = dict.fromkeys(of_example, written_example.folder)
    return {
        path.stem: places.get(path.stem, online if path.stem.startswith("thesis") else study)
        for path in FILES
    }


@pytest.mark.skipif(not FILES, reason="the printed numbers (shared/print) are not here")
def test_every_printed_table_is_compared_or_named(results: dict[str, Path]) -> None:
    compared = {}
    for path in FILES:
        done = CliRunner().invoke(main, ["compare", str(results[path.stem]), str(path)])
        assert done.exit_code in (0, 2), (path, done.output, done.exception)
        compared[path.stem] = done.exit_code == 0
    assert {name for name, found in compared.items() if not found} == {*NOT_COMPARED}


@pytest.mark.skipif(not FILES, reason="the printed numbers (shared/print) are not here")
def test_the_toy_example_is_the_printed_one(results: dict[str, Path]) -> None:
    made = Publication.of_tables([results["kdd2020-table1"]], [PRINT / "kdd2020-table1.csv"])
    assert made.frame()["rounding"].all()
    assert not made.missing
