"""Online studies from their file: a simulated experiment, and the same from its log."""

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from harness.cli.main import main
from harness.online.experiment import run_experiment_study
from harness.online.experiment_file import ExperimentStudy
from runs import InputError
from runs.shared.progress import Progress, SilentProgress
from tests.full import Full

pytestmark = pytest.mark.slow

WORLD = """
name = "small"
seed = 3
[experiment.world]
n_users = 500
n_items = 300
most_events = 60
[experiment]
periods = 2
period_days = 2.0
lists = 4.0
"""
ARMS = """
[experiment.arms.few]
settings = { neighbours = 2 }
[experiment.arms.many]
settings = { neighbours = 30 }
[experiment.arms.all]
settings = { neighbours = 200, shrinkage = 5 }
"""
ASKED = "[analyses.online]\n"
REST = """
[experiment.users]
share = 0.4
[analyses.online]
betas = [0.0, 0.5, 1.0]
cutoffs = [1, 5, 20]
permutations = 50
"""
THESIS = {f"table4.{number}" for number in (1, 2, 3, 4, 5, 6, 8, 9, 10)}
FIGURES = {"figure18_online_rhos", *(f"thesis2021-figure4.{number}" for number in (1, 6, 7))}


def _run(text: str, folder: Path, *, n_jobs: int = 1, progress: Progress | None = None) -> Path:
    study = ExperimentStudy.parse(text, source="o.toml", base=folder, changes={"output": folder})
    return run_experiment_study(study, n_jobs=n_jobs, progress=progress or SilentProgress()).parent


def test_every_bar_is_full_when_its_work_ends(bars: Full, finished: Path) -> None:
    # Two versions of three models.
    assert bars.work[:3] == [
        ("Making the world", 1),
        ("Running the experiment", 1),
        ("Ranking hidden items", 6),
    ]


def _contents(
    folder: Path, parts: Sequence[str] = ("tables", "figures", "ranks", "log")
) -> dict[str, bytes]:
    paths = [path for part in parts for path in sorted((folder / part).iterdir())]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


@pytest.fixture(scope="module")
def bars() -> Full:
    """The progress of `finished`, which fails where a bar is not full when its work ends."""
    return Full()


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, bars: Full) -> Path:
    folder = tmp_path_factory.mktemp("online") / "study"
    return _run(WORLD + ARMS + REST, folder, progress=bars)


def _table(folder: Path, name: str) -> pd.DataFrame:
    return pd.read_csv(folder / f"tables/{name}.csv")


def _values(folder: Path) -> pd.DataFrame:
    return _table(folder, "values").pivot(index="model", columns="measure", values="value")


def test_the_demo_is_an_experiment_with_twelve_models() -> None:
    assert len(ExperimentStudy.demo().experiment.arms) == 12


def test_tables_and_figures_of_the_thesis_are_made(finished: Path) -> None:
    assert {path.stem for path in (finished / "figures").glob("*.svg")} == FIGURES
    for name in THESIS:
        answer = CliRunner().invoke(main, ["table", str(finished), name, "--format", "csv"])
        assert answer.exit_code == 0, answer.stderr
    printed = CliRunner().invoke(main, ["table", str(finished), "table4.2", "--format", "csv"])
    frame = pd.read_csv(io.StringIO(printed.stdout))
    assert [*frame] == ["dataset", "system", "quantity", "value", "unit"]
    lists = frame[frame["quantity"] == "iCTR interactions"].set_index("system")["value"]
    rates = _table(finished, "arms").set_index("arm")["lists"]
    assert lists.astype(int).to_dict() == rates.to_dict()


def test_ranks_are_those_of_the_arm_that_they_are_named_after(finished: Path) -> None:
    """Two neighbours reach fewer hidden items than two hundred."""
    values = _values(finished)["LOO(beta=0)@20"]
    assert values["few"] < values["all"]


def test_the_truth_is_what_the_rates_estimate(finished: Path) -> None:
    """With the lists and users of the log, averaged over the periods as the rates are."""
    truth = _table(finished, "truth").set_index("arm")
    by_hand = (truth["expected_rate"] * truth["users"]).groupby("arm").sum()
    expected = by_hand / truth.groupby("arm")["users"].sum()
    rates = _table(finished, "arms").set_index("arm")
    assert (abs(rates["rate"] - expected) < 4 * rates["error"]).all()


def test_the_same_study_leaves_the_same_bytes_whatever_the_workers(
    finished: Path, tmp_path: Path
) -> None:
    other = _run(WORLD + ARMS + REST, tmp_path / "again", n_jobs=2)
    assert _contents(other) == _contents(finished)


def test_a_finished_experiment_is_not_simulated_again(
    finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("simulated again")

    before = _contents(finished)
    monkeypatch.setattr("harness.online.experiment.simulate", refuse)
    _run(WORLD + ARMS + REST, finished)
    assert _contents(finished) == before


@pytest.mark.usefixtures("no_figures")
def test_the_log_of_an_experiment_can_be_studied_alone(finished: Path, tmp_path: Path) -> None:
    logs = f"""
name = "logged"
seed = 3
[experiment.logs]
recommendations = "{finished}/log/recommendations.parquet"
interactions = "{finished}/log/interactions.parquet"
models = "{finished}/log/models.parquet"
"""
    folder = _run(logs + ARMS + REST, tmp_path / "logged")
    assert _table(folder, "rates")["rate"].tolist() == _table(finished, "rates")["rate"].tolist()
    columns = [n for n in map(str, _values(folder)) if n.startswith(("LOO", "LLOO"))]
    ours, theirs = (_values(each)[columns].to_numpy() for each in (folder, finished))
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (WORLD + ARMS + '[experiment.arms.x]\nmodel = "eas"', "did you mean 'ease'?"),
        (
            WORLD + ARMS + '[experiment.arms.x]\nmodel = "ease"\nsettings = { factors = 3 }',
            "system 'ease'",
        ),
        ('name = "a"\n' + ARMS, "needs [experiment.world] or [experiment.logs]"),
        (WORLD + "[experiment.arms.a]\n", "at least 3 models, got 1"),
        (WORLD + ARMS + "[experiment.arms.x]\nsettings = { neighbors = 3 }", "no setting"),
        (WORLD + ARMS + ASKED + 'window = "30"', "a number with a unit"),
        (WORLD + ARMS + ASKED + "betaz = [0.5]", "there is no `betaz` in [analyses.online]; did"),
        (WORLD + ARMS + ASKED + 'studies = ["arms"]', "no study is called 'arms'"),
        (WORLD + ARMS + "[analyses.users]", "an experiment has no scores, which 'users' needs"),
        (WORLD.replace("n_users = 500", "n_users = 1"), "at least 2, got 1"),
    ],
)
def test_a_wrong_file_is_answered_with_its_line(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "o.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=rf"o\.toml.*: .*({_escaped(sentence)})"):
        ExperimentStudy.read(path)


def _escaped(sentence: str) -> str:
    return sentence.replace("[", r"\[").replace("]", r"\]").replace("(p", r"\(p")


@pytest.mark.usefixtures("no_figures")
def test_the_command_runs_a_study(tmp_path: Path) -> None:
    (tmp_path / "o.toml").write_text(WORLD + ARMS + REST)
    output = ("--output", str(tmp_path / "out"), "--jobs", "1", "--quiet")
    answer = CliRunner().invoke(main, ["run", str(tmp_path / "o.toml"), *output])
    assert answer.exit_code == 0, answer.stderr
    assert (tmp_path / "out/report.html").exists()


@pytest.mark.usefixtures("no_figures")
def test_clicks_may_be_what_users_do_soon_after_and_robots_left_out(tmp_path: Path) -> None:
    rates = 'window = "2 min"\nrobots = 4\n'
    folder = _run(WORLD + ARMS + REST + rates, tmp_path / "implicit")
    n_lists = float(_table(folder, "facts").set_index("fact")["value"]["lists"])
    counted = _table(folder, "arms")["lists"].sum()
    assert counted < n_lists
    assert _table(folder, "rates")["recommendations"].sum() == counted


@pytest.mark.usefixtures("no_figures")
def test_systems_of_the_harness_are_arms(tmp_path: Path) -> None:
    arms = ARMS + '[experiment.arms.ease]\nmodel = "ease"\n[experiment.arms.top]\nmodel = '
    folder = _run(WORLD + arms + '"popularity"\n' + REST, tmp_path / "systems")
    values = _values(folder)["LOO(beta=0)@20"]
    assert set(values.index) == {"few", "many", "all", "ease", "top"}
    assert values["top"] < values["ease"]
