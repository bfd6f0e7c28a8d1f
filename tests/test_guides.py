"""A new user follows each guide from an empty folder, in its order: files and commands.

Only sizes are changed: worlds of 40 users, few systems and samples, two trials of each search.
"""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from shlex import split
from typing import Any

import numpy as np
import pandas as pd
import pytest
import tomli_w
from click import Context
from click.testing import CliRunner

from harness.cli.main import main
from qrels.ratings.world import WorldSettings, make_world
from tests.conftest import figures_left_blank, figures_left_out

ROOT = Path(__file__).parents[1]
STATIC = ROOT / "docs" / "static"
GUIDES = sorted((ROOT / "docs" / "guides").glob("*.md"))
SMALL_WORLD = {"n_users": 40, "n_items": 220, "n_ratings": 1800, "min_ratings": 10, "gini": 0.5}
SIZES_OF_WORLDS = ("n_users", "n_items", "n_ratings", "gini")
FAST_SYSTEMS = ("popularity", "random", "puresvd", "krichene-x", "krichene-y", "krichene-z", "ease")
N_SYSTEMS = 3
FEW: Mapping[str, Mapping[str, Any]] = {
    "correlation": {"replicates": 10},
    "sparsity": {"levels": [1.0, 0.5], "samples": 2, "replicates": 4},
    "popularity": {"levels": [1.0, 0.9], "replicates": 4},
    "users": {"sizes": [20], "repeats": 2, "permutations": 99},
    "discrimination": {"replicates": 20},
    "validity": {"levels": [0.5], "samples": 2, "replicates": 4},
    "validity_sweep": {"strengths": [1.0], "worlds": 2, "levels": [0.5], "samples": 2},
    "design": {"replicates": 20},
    "sampled": {"negatives": 10, "repeats": 2},
}
"""Settings that make the analyses of a study quick."""

DEFAULT_ANALYSES = ["discrimination", "systems"]
"""In place of six and validity, where a study names none."""

SLOW_ANALYSES = ("sparsity", "popularity", "users")
"""Left out where a study has others, too."""

DEMO = """
name = "demo"
[ratings]
format = "world"
[metrics]
names = ["P@10", "nDCG", "AP", "bpref"]
cutoffs = [10, 100]
[analyses]
names = ["sparsity", "popularity", "discrimination", "validity"]
"""
"""In place of the demo, a study of 20 systems that `harness run` makes without a study file."""

SIBLINGS = dict.fromkeys(("dense", "small", "movielens"), "steep")
"""Studies that differ from one that the guide shows in their ratings alone."""

NOT_RUN = {
    "--dask": "needs a cluster, or starts one",
    "recbole_run.py": "needs RecBole, which has an environment of its own",
    "beside": "needs the runs of RecBole",
    "sDCG": "needs a package that pip has installed",
}
"""Parts of commands whose options alone are checked, and why."""


@dataclass(frozen=True)
class Block:
    """A block of a guide: language, text, the file that it is ("" if none), files that it needs."""

    language: str
    text: str
    file: str
    needed: tuple[str, ...]

    @property
    def is_study(self) -> bool:
        """Whether it is a whole study file."""
        return self.language == "toml" and self.file != ""

    def commands(self) -> Iterator[str]:
        """Find the commands that the block shows, without comments and what output is piped to."""
        if self.language in ("toml", "csv", "python", "yaml"):
            return
        for line in self.text.replace("\\\n", " ").splitlines():
            command = re.match(r"(?:\$ )?((?:harness|python|for) [^-].*)", line)
            if command is None:
                continue
            if command[1].startswith("for "):
                yield command[1]
            else:
                yield re.split(r" +[#>]| 2>| \|", command[1])[0].strip()


def blocks_of(text: str) -> Iterator[Block]:
    """Find the blocks of a guide; a comment in the first line, or the line before, names a file."""
    for found in re.finditer(r"([^\n]*)\n+```([^\n]*)\n(.*?)```", text, flags=re.DOTALL):
        line_before, language, body = found.groups()
        comment = re.match(r"# ([\w./-]+\.(?:py|toml))\b", body)
        sentence = re.search(r"Save as `([^`]+)`:$", line_before)
        file = (comment or sentence or [""] * 2)[1]
        needed = re.match(r":files: (.*)", body)
        yield Block(language, body, file, tuple(needed[1].split()) if needed else ())


BLOCKS = {guide.stem: [*blocks_of(guide.read_text(encoding="utf-8"))] for guide in GUIDES}
COMMANDS = [
    (guide, command)
    for guide, blocks in BLOCKS.items()
    for block in blocks
    for command in block.commands()
]
OF_HARNESS = [(guide, command) for guide, command in COMMANDS if command.startswith("harness ")]
FOLLOWED = sorted({guide for guide, _ in COMMANDS})


def test_the_guides_have_commands() -> None:
    assert len(OF_HARNESS) > 60
    assert len(FOLLOWED) > 20


def test_every_study_that_is_run_is_shown_or_written() -> None:
    for guide, command in OF_HARNESS:
        files = {block.file for block in BLOCKS[guide]}
        (name, *_) = re.findall(r"^harness (?:run|tune) ([\w-]+)\.toml", command) or [""]
        shown = SIBLINGS.get(name.removesuffix("-tuned"), name.removesuffix("-tuned"))
        is_written = shown == "study" and (guide, "harness init ratings.csv") in COMMANDS
        is_looped = any(f"{name[:-1]}$k" in loop for _, loop in COMMANDS if loop.startswith("for"))
        is_left_out = any(part in command for part in NOT_RUN)
        is_there = is_written or is_looped or is_left_out or f"{shown}.toml" in files
        assert not name or is_there, (guide, command)


@pytest.mark.parametrize(("guide", "command"), OF_HARNESS)
def test_a_command_of_a_guide_is_one_of_the_program(guide: str, command: str) -> None:
    _, name, *arguments = split(command)
    declared = main.get_command(Context(main), name)
    assert declared is not None
    declared.make_context(name, arguments, parent=Context(main))


def small_study(text: str, *, is_demo: bool = False) -> str:
    """Make a study small: its world, systems, analyses (not those of the demo) and samples."""
    study = tomllib.loads(text)
    ratings = study.get("ratings", {})
    if ratings.get("format") == "world" and "like" not in ratings:
        ratings.pop("preset", None)
        world = {k: v for k, v in ratings.get("world", {}).items() if k not in SIZES_OF_WORLDS}
        ratings["world"] = SMALL_WORLD | world
    if "ratings" in study:
        study["systems"] = small_systems(study.get("systems", {}))
    if "experiment" not in study:
        metrics = {"names": ["P", "nDCG"], "cutoffs": [100]} | study.get("metrics", {})
        study["metrics"] = metrics | {"cutoffs": metrics["cutoffs"][-1:]}
    if "experiment" in study:
        study["experiment"]["world"] |= {"n_users": 200, "n_items": 100}
        study["experiment"]["periods"] = 1
        study["analyses"]["online"] = {"cutoffs": [5]}
    else:
        analyses = study.setdefault("analyses", {})
        of_truth = ["validity"] if "truth" in study else []
        names = analyses.get("names", DEFAULT_ANALYSES + of_truth)
        fast = [name for name in names if name not in SLOW_ANALYSES]
        analyses["names"] = fast if fast and not is_demo else names
        for name in analyses["names"]:
            if name in FEW:
                analyses[name] = analyses.get(name, {}) | FEW[name]
    for key in study.get("repeat", {}):
        study["repeat"][key] = 2
    return tomli_w.dumps(study)


def small_systems(systems: Mapping[str, Any]) -> dict[str, Any]:
    """Take a few fast systems of a study, and those of files."""
    names = systems.get("names", FAST_SYSTEMS)
    few = [name for name in names if name in FAST_SYSTEMS][:N_SYSTEMS]
    few += [name for name in names if ".py" in name]
    settings = {k: v for k, v in systems.get("settings", {}).items() if k in few}
    if "puresvd" in few:
        settings["puresvd"] = {"factors": 5}
    return {**systems, "names": few, "settings": settings}


def small_script(text: str) -> str:
    """Let a program of a guide simulate few users, items and ranked items."""
    for large, small in (("3_000, n_items=600", "400, n_items=300"), ("100))", "10))")):
        text = text.replace(large, small)
    return text


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What readers of the guides have: ratings, features of items, runs, and judgements."""
    folder = tmp_path_factory.mktemp("inputs")
    ratings = make_world(WorldSettings.model_validate(SMALL_WORLD)).ratings
    columns = {
        "userId": ratings.user,
        "movieId": ratings.item,
        "rating": ratings.rating,
        "timestamp": 1_000_000_000 + np.arange(len(ratings.user)),
    }
    pd.DataFrame(columns).to_csv(folder / "ratings.csv", index=False)
    movies = pd.DataFrame({"movieId": np.arange(len(ratings.items))})
    movies["genres"] = np.resize(["Comedy", "Drama", "Comedy|Drama", "Western"], len(movies))
    movies.to_csv(folder / "movies.csv", index=False)
    (folder / "runs").mkdir()
    for run in STATIC.glob("*.run"):
        shutil.copy(run, folder / "runs")
    judgements = (STATIC / "test.qrels").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "llm.qrels").write_text("".join(judgements))
    few = [line for line in judgements if line < "u060"]
    (folder / "people.qrels").write_text("".join(few))
    random = np.random.default_rng(1)
    (folder / "coat").mkdir()
    for name, share in (("train", 0.2), ("test", 0.1)):
        stars = random.integers(1, 6, (60, 80)) * (random.random((60, 80)) < share)
        np.savetxt(folder / "coat" / f"{name}.ascii", stars, fmt="%d")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("guide", FOLLOWED)
def test_a_guide_can_be_followed(
    guide: str, inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(inputs, tmp_path, dirs_exist_ok=True)
    asks_for_figures = any(
        name == guide and command.startswith("harness figure") for name, command in COMMANDS
    )
    with figures_left_blank() if asks_for_figures else figures_left_out():
        for block in BLOCKS[guide]:
            write_files(block, tmp_path)
            for command in block.commands():
                if not any(part in command for part in NOT_RUN):
                    follow(command)


def write_files(block: Block, folder: Path) -> None:
    """Write the file that a block of a guide is, and those that it needs."""
    if block.file:
        text = small_study(block.text) if block.is_study else block.text
        Path(block.file).parent.mkdir(parents=True, exist_ok=True)
        Path(block.file).write_text(text, encoding="utf-8")
    for name in block.needed:
        if Path(name).name != "ratings.csv":
            shutil.copy(ROOT / "docs" / "guides" / name, folder)


def follow(command: str) -> None:
    """Run a command of a guide in this folder, with few trials and one worker."""
    program, *arguments = split(command)
    if program == "for":
        subprocess.run(["bash", "-c", command], check=True)
    elif program == "python":
        script = Path(arguments[0])
        script.write_text(small_script(script.read_text(encoding="utf-8")), encoding="utf-8")
        runpy.run_path(str(script))
    else:
        call_harness(arguments)


def call_harness(arguments: list[str]) -> None:
    """Call the program with the arguments of a guide, and demand that it succeeds and prints."""
    command, *others = arguments
    if command == "run" and others[0] == "--output":
        Path("demo.toml").write_text(small_study(DEMO, is_demo=True), encoding="utf-8")
        arguments = [command, "demo.toml", *others]
    if command == "run" and (shown := SIBLINGS.get(Path(others[0]).stem)):
        text = Path(f"{shown}.toml").read_text(encoding="utf-8")
        text = text.replace(f'"{shown}"', f'"{Path(others[0]).stem}"')
        Path(others[0]).write_text(text.replace("seed = 4", f"seed = {len(others[0])}"))
    if "--trials" in arguments:
        arguments[arguments.index("--trials") + 1] = "2"
    if command == "check":
        arguments = [*arguments, "--tries", "5"]
    if command in ("run", "tune"):
        arguments = [*arguments, "--jobs", "1"]
    answer = CliRunner().invoke(main, arguments)
    # 1: a metric that breaks a law; 3: a candidate that does not pass beside its baseline.
    succeeded = {"check": (0, 1), "discriminate": (0, 3)}.get(command, (0,))
    assert answer.exit_code in succeeded, f"{arguments}: {answer.output}"
    if command == "init":
        text = Path("study.toml").read_text(encoding="utf-8")
        Path("study.toml").write_text(small_study(text), encoding="utf-8")
