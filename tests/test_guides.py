"""Every command of the guides is one of the program, and runs on small data."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from shlex import split

import numpy as np
import pandas as pd
import pytest
from click import Context
from click.testing import CliRunner

from harness.cli.main import main
from harness.study.run import run_study
from harness.study.study import Study
from runs.shared.progress import SilentProgress
from tests.conftest import figures_left_blank
from tests.harness.small import SYSTEMS, WORLD

ROOT = Path(__file__).parents[1]
GUIDES = sorted((ROOT / "docs" / "guides").glob("*.md"))
ANALYSES = """
[analyses]
names = [
    "correlation", "sparsity", "popularity", "discrimination", "systems", "validity", "design",
    "residuals",
]
[analyses.sparsity]
levels = [1.0, 0.5]
samples = 3
replicates = 10
[analyses.popularity]
levels = [1.0, 0.9]
replicates = 10
[analyses.design]
replicates = 20
[analyses.validity]
levels = [0.5]
samples = 2
replicates = 4
[analyses.correlation]
replicates = 10
"""
METRICS_OF_GUIDES = '[metrics]\nnames = ["nDCG@10", "AP@10", "bpref@10", "P@10"]\n'
RUN = ("table", "figure", "export", "compare", "design", "discriminate", "correlate", "evaluate")
"""Commands that are run; the options of the others are checked: they train, simulate or search."""

MISSING = ("assessor", "true_means", "repeats", "spread", "online", "sampled_orders", "hidden")
"""Tables and figures of analyses that the small study does not make."""


def commands_of(guide: Path) -> Iterator[str]:
    """Find the commands in the blocks of a guide, without comments and where output goes."""
    text = guide.read_text(encoding="utf-8")
    for block in re.findall(r"```[^\n]*\n(.*?)```", text, flags=re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            command = re.match(r"(?:\$ )?(harness [a-z].*)", line)
            if command is not None:
                yield re.split(r" +[#>]| \|", command[1])[0].strip()


COMMANDS = [(guide.stem, command) for guide in GUIDES for command in commands_of(guide)]
IS_RUN = [
    (guide, command)
    for guide, command in COMMANDS
    if command.split()[1] in RUN and not any(name in command for name in MISSING)
]


def test_the_guides_have_commands() -> None:
    assert len(COMMANDS) > 60
    assert len(IS_RUN) > 20


@pytest.mark.parametrize(("guide", "command"), COMMANDS)
def test_a_command_of_a_guide_is_one_of_the_program(guide: str, command: str) -> None:
    _, name, *arguments = split(command)
    declared = main.get_command(Context(main), name)
    assert declared is not None
    declared.make_context(name, arguments, parent=Context(main))


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished study, and runs, qrels and tables of scores."""
    folder = tmp_path_factory.mktemp("guides")
    text = WORLD + SYSTEMS.replace('"popularity"', '"popularity", "svd"') + METRICS_OF_GUIDES
    study = Study.parse(
        text + ANALYSES, source="guides", base=folder, changes={"output": folder / "first"}
    )
    with figures_left_blank():
        run_study(study, n_jobs=1, progress=SilentProgress())
    other = study.model_copy(update={"seed": 4, "output": folder / "second"})
    with figures_left_blank():
        run_study(other, n_jobs=1, progress=SilentProgress())
    random = np.random.default_rng(1)
    users = [f"u{number}" for number in range(30)]
    for name in ("adhoc8_ap", "adhoc8_p10", "pilot_ap", "pilot_p10", "nDCG@10", "RR@10"):
        frame = pd.DataFrame(
            random.random((30, 3)), index=users, columns=["new", "production", "c"]
        )
        frame.to_csv(folder / f"{name}.csv", index_label="user")
    exported = CliRunner().invoke(
        main, ["export", str(folder / "first"), "--output", str(folder / "files"), "--quiet"]
    )
    assert exported.exit_code == 0, exported.output
    shutil.copy(folder / "files/qrels/test.qrels", folder / "test.qrels")
    for name, system in (("als", "svd"), ("slim", "puresvd")):
        shutil.copy(folder / f"files/runs/{system}.run", folder / f"{name}.run")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(("guide", "command"), IS_RUN)
def test_a_command_of_a_guide_runs(
    guide: str, command: str, collection: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for path in collection.iterdir():
        Path(path.name).symlink_to(path)
    _, *arguments = split(command)
    studies = [argument for argument in arguments if argument.startswith("study-")]
    for number, study in enumerate(studies):
        # Studies that are compared differ: a folder counts once.
        source = collection / ("second" if number else "first")
        shutil.copytree(source, study)
    with figures_left_blank():
        answer = CliRunner().invoke(main, arguments)
    # 3: a candidate that does not pass beside its baseline.
    assert answer.exit_code in (0, 3), answer.output
    assert answer.output
