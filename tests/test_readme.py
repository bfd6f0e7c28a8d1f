"""What the README and the guides show is what the harness does."""

import re
import tomllib
from pathlib import Path
from shlex import split
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click import Context
from click.testing import CliRunner

from harness.cli.main import main
from harness.laws.cards import cards_of
from harness.metrics.shared.register import plugin_metrics
from harness.online.experiment_file import ExperimentStudy
from harness.report.card import metric_card
from harness.report.study_folder import FinishedStudy
from harness.study.collection import collect
from harness.study.run import check, run_study
from harness.study.study import Study, read_study
from qrels import judge
from qrels.ratings.world import WorldSettings, make_world
from recommenders import SystemSpec, recommend
from runs.shared.progress import SilentProgress
from tests.conftest import figures_left_blank, figures_left_out
from tests.harness.small import write_collection
from tests.lists import known_items, random_case

ROOT = Path(__file__).parents[1]
GUIDES = ROOT / "docs" / "guides"
PAGES = (ROOT / "README.md", *sorted(GUIDES.glob("*.md")))
WORLD = {"n_users": 60, "n_items": 80, "n_ratings": 1500, "min_ratings": 10, "gini": 0.4}
ANALYSES: dict[str, Any] = {
    "names": [
        *("correlation", "sparsity", "popularity", "discrimination"),
        *("users", "swaps", "exposure"),
    ]
}
FEW: dict[str, Any] = {
    "users": {"sizes": [20], "repeats": 4, "permutations": 99},
    "swaps": {"repeats": 4},
}
OF_ITEMS = """
from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt, Le

from harness import metric, ratio


@metric("NovelRR", source="by hand")
def novel_reciprocal_rank(judged, *, cutoff=None, gamma: Annotated[float, Ge(0)] = 1.0):
    "Reciprocal rank of the first relevant item, the less the more popular the item is."
    found = judged.relevant[:, :cutoff]
    first = found & (found.cumsum(axis=1) == 1)
    popularity = judged.catalogue.require("popularity")
    rarity = np.append((1 - popularity / popularity.max()) ** gamma, 0.0)
    return (first * rarity[judged.items[:, :cutoff]] / judged.ranks[:cutoff]).sum(axis=1)


@metric("GenreP", source="by hand")
def genre_precision(judged, *, cutoff=None):
    "Share of the ranks with a relevant item of a category that no item above it has."
    features = judged.catalogue.require("features")
    of_items = np.vstack([features, np.zeros(features.shape[1])]) > 0
    cutoff = cutoff or judged.depth
    seen = np.zeros((judged.n_users, features.shape[1]), dtype=bool)
    found = np.zeros(judged.n_users)
    for column in range(min(cutoff, judged.depth)):
        categories = of_items[judged.items[:, column]]
        found += judged.relevant[:, column] & (categories & ~seen).any(axis=1)
        seen |= categories
    return found / cutoff


@metric("ClippedHit", source="by hand")
def clipped_hit(judged, *, cutoff=None, clip: Annotated[float, Gt(0), Le(1)] = 0.1):
    "What is relevant and found, each item over its propensity, of the most that could be."
    weights = np.append(1 / np.maximum(judged.catalogue.require("propensities"), clip), 0.0)
    found = (judged.relevant * weights[judged.items])[:, :cutoff].sum(axis=1)
    relevant = judged.judgements >= judged.relevance_level
    best = np.sort(relevant * weights[judged.judged_items], axis=1)[:, ::-1]
    return ratio(found, best[:, :cutoff].sum(axis=1))
"""
"""Metrics that ask for items, as a user writes them from the guide."""


def blocks(language: str) -> list[str]:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def block_with(language: str, word: str) -> str:
    (found,) = [block for block in blocks(language) if word in block]
    return found


def parsed(text: str, base: Path, **changes: Any) -> Study:
    return Study.parse(text, source="a page", base=base, changes=changes)


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_the_new_metric_stands_in_every_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = ["my_metric.py", "patience.py", "effort.py"]
    for file in files:
        Path(file).write_text(block_with("python", f"# {file}"))
    files.append("of_items.py")
    Path("of_items.py").write_text(OF_ITEMS)
    items = [f"i{n:02}" for n in range(1, 81)]
    pd.DataFrame({"item": items, "kind": ["a|b", "b"] * 40}).to_csv("kinds.csv", index=False)
    pd.DataFrame({"item": items, "chance": [0.5, 0.05] * 40}).to_csv("chances.csv", index=False)
    text = block_with("toml", "my_metric.py")
    options = "Patience(p=0.5,counts=first)"
    metrics = tomllib.loads(text)["metrics"]["names"] + ["Patience", options, "Effort"]
    metrics += [
        "NovelRR(gamma=0.5)",
        "GenreP",
        "ClippedHit(clip=0.2)",
        "ClippedHit(condensed=true)",
    ]
    study = parsed(
        text,
        tmp_path,
        metrics={"names": metrics, "cutoffs": [5, 20], "plugins": files},
        ratings={"format": "world", "world": WORLD},
        items={"features": "kinds.csv", "propensities": "chances.csv"},
        systems={"names": ["random", "puresvd"], "settings": {"puresvd": {"factors": 4}}},
        analyses={**ANALYSES, "sparsity": {"samples": 5, "replicates": 20}, **FEW},
    )
    run_study(study, n_jobs=1, progress=SilentProgress())
    for table in (
        *("means", "correlation_cutoffs", "sparsity", "popularity", "discrimination"),
        *("users", "swaps"),
    ):
        frame = pd.read_csv(f"study-my-metric/tables/{table}.csv")
        assert set(frame.metric) == {*metrics}
    finished = FinishedStudy.open(tmp_path / "study-my-metric")
    assert finished.means.measures.lower_is_better_for == {"Effort"}
    for name in ("R-weighted", options, "Effort"):
        page = metric_card(name, [finished], plugins=[*map(Path, files)], tries=2).decode()
        assert f"<h1>{name}@20</h1>" in page


@pytest.mark.parametrize("name", ["R-weighted", "Patience", "Effort"])
def test_what_the_metrics_of_the_guide_declare_holds(name: str, tmp_path: Path) -> None:
    for file in ("my_metric.py", "patience.py", "effort.py"):
        (tmp_path / file).write_text(block_with("python", f"# {file}"))
    own = {n: m for path in tmp_path.iterdir() for n, m in plugin_metrics(path).items()}
    (card,) = cards_of([(own[name], (5,))], tries=20)
    broken = {outcome.law for outcome in card.broken}
    assert broken <= {"top"}  # Patience cannot reach 1, nor R-weighted with two relevant items
    assert not {"direction"} & {outcome.law for outcome in card.outcomes}


def test_the_metric_of_items_sees_them(tmp_path: Path) -> None:
    path = tmp_path / "tail.py"
    path.write_text(block_with("python", "# tail.py"))
    run, qrels = random_case(3, n_users=20, n_items=60, depth=20, n_judged=20)
    rare = known_items().require("popularity") <= 10
    found = plugin_metrics(path)["Tail"](judge(run, qrels, known_items()), cutoff=5)
    np.testing.assert_allclose(found, rare[run.items[:, :5]].mean(axis=1))


def test_the_new_system_ranks_items() -> None:
    names: dict[str, Any] = {}
    exec(block_with("python", "mean_rating.py"), names)
    spec = names["mean_rating"]
    assert isinstance(spec, SystemSpec)
    ratings = make_world(WorldSettings(**WORLD)).ratings
    scorer = spec.make(ratings, spec.settings(), seed=1)
    run = recommend(scorer, ratings, np.arange(60, dtype=np.int32), system=spec.name, depth=5)
    unrated = (ratings.item_counts() > 0).sum() - ratings.user_counts()
    assert run.lengths.tolist() == np.minimum(unrated, 5).tolist()


@pytest.mark.slow
def test_a_component_in_a_file_is_a_system(tmp_path: Path) -> None:
    (tmp_path / "my_system.py").write_text(block_with("python", "# my_system.py"))
    text = block_with("toml", "my_system.py").replace('"ease", ', "")
    world = {"format": "world", "world": WORLD}
    study = parsed(text, tmp_path, ratings=world, output=tmp_path / "study", analyses={"names": []})
    run_study(study, n_jobs=1, progress=SilentProgress())
    means = pd.read_csv(tmp_path / "study/tables/means.csv")
    assert set(means.system) == {"popularity", "my_system.py:MyScorer"}


@pytest.mark.slow
@pytest.mark.usefixtures("blank_figures")
def test_logs_lead_to_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code = block_with("python", "# logs.py")
    exec(code.replace("3_000", "400").replace("600,", "400, most_events=60,"), {})
    commands = block_with("bash", "harness recall history.parquet").replace("\\\n", " ")
    for line in commands.splitlines():
        small = ["--share", "0.4"] if "recall history" in line else []
        answer = CliRunner().invoke(main, [*split(line)[1:], *small, "--quiet"])
        assert answer.exit_code == 0, answer.output
    found = pd.read_csv("answer/online_intervals.csv")
    assert found["low"].le(found["rho"]).all()
    assert set(pd.read_csv("answer/online_rhos.csv")["models"]) == {4}


def test_the_command_for_logs_prints_those_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(block_with("python", "# experiment_log.py"), {})
    command, _, printed = block_with("text", "harness clicks").partition("\n")
    answer = CliRunner().invoke(main, [*split(command)[2:], "--quiet"])
    assert answer.stdout == printed


def test_the_command_for_clicks_prints_those_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("values.csv").write_text(block_with("csv", "als-512,0"))
    Path("rates.csv").write_text(block_with("csv", "als-512,May"))
    command, printed = block_with("text", "harness online").split("\n", maxsplit=1)
    answer = CliRunner().invoke(main, [*command.split()[2:], "--quiet"])
    assert answer.stdout == printed


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_the_analysis_of_a_users_own_prints_that_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my_analysis.py").write_text(block_with("python", "class Spread"))
    run_study(
        parsed(block_with("toml", "my_analysis.py"), tmp_path), n_jobs=1, progress=SilentProgress()
    )
    command, _, printed = block_with("text", "study-my-analysis").partition("\n")
    assert CliRunner().invoke(main, command.split()[2:]).stdout == printed


@pytest.mark.slow
def test_runs_become_an_answer_in_one_command_and_in_five_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_collection(tmp_path)
    Path("study.toml").write_text(block_with("toml", '"their-runs"'))
    with figures_left_blank(), figures_left_out(besides="sparsity_metrics"):
        answer = CliRunner().invoke(main, ["run", "study.toml", "--quiet", "--jobs", "1"])
    assert answer.exit_code == 0
    assert "discriminative" in Path("study-their-runs/report.html").read_text()
    lines = block_with("python", "harness.robustness(")
    assert len(list(filter(None, lines.splitlines()[1:]))) == 5
    with figures_left_blank():
        exec(lines, {})
    assert "DP over unordered pairs" in capsys.readouterr().out
    assert Path("fig6.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.slow
def test_the_command_for_recall_prints_that_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(block_with("python", "history.py"), {})
    command, _, printed = block_with("text", "harness recall").partition("\n")
    answer = CliRunner().invoke(main, [*command.split()[2:], "--quiet", "--jobs", "1"])
    assert answer.stdout == printed


def test_a_corrected_estimate_has_a_standard_error() -> None:
    names: dict[str, Any] = {}
    exec(block_with("python", "SampledRanks"), names)
    found = names["corrected"].frame()
    assert (found["standard_error"] > 0).all()
    assert (found["estimate"] < found["uncorrected"]).all()


def test_the_data_with_columns_of_its_own_is_read(tmp_path: Path) -> None:
    lines = [f"ann;book{n};{2 + n % 4};{n}" for n in range(40)]
    (tmp_path / "log.txt").write_text("reader;book;stars;when\n" + "\n".join(lines) + "\n")
    collection = collect(parsed(block_with("toml", "my-data"), tmp_path))
    assert collection.facts["ratings"]["ratings"] == 40


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_the_experiment_of_krichene_and_rendle_is_one_study(tmp_path: Path) -> None:
    """On a world in place of MovieLens 1M, in files like those of the given split."""
    world = WORLD | {"n_items": 200, "gini": 0.6}
    ratings = make_world(WorldSettings.model_validate(world)).ratings
    (tmp_path / "ncf").mkdir()
    last = {user: row for row, user in enumerate(ratings.user.tolist())}
    for part, kept in (("train", False), ("test", True)):
        lines = [
            f"{user}\t{ratings.item[row]}\t{ratings.rating[row]:g}\t{row}\n"
            for row, user in enumerate(ratings.user.tolist())
            if (last[user] == row) is kept
        ]
        (tmp_path / "ncf" / f"ml-1m.{part}.rating").write_text("".join(lines))
    (tmp_path / "ncf" / "ml-1m.test.negative").write_text("(0,1)\t2\n")
    check(parsed((ROOT / "studies/aaai2023.toml").read_text(encoding="utf-8"), tmp_path))
    text = (ROOT / "studies/kdd2020.toml").read_text(encoding="utf-8")
    text = text.replace("negatives = 100", "negatives = 10")
    few = {"krichene-x": {"epochs": 1, "factors": 4}}
    systems = {"names": list(parsed(text, tmp_path).systems.names), "settings": few}
    text = text.replace("repeats = 100", "repeats = 2")
    study = parsed(text, tmp_path, systems=systems, output=tmp_path / "study")
    folder = run_study(study, n_jobs=1, progress=SilentProgress()).parent
    frame = pd.read_csv(folder / "tables/sampled.csv")
    assert frame.estimator.nunique() == 7
    assert len((folder / "split/test.csv").read_text().splitlines()) == 1 + WORLD["n_users"]


NAMED = [block for block in blocks("toml") if re.match(r'(?:#.*\n|\s)*name = "', block)]


@pytest.mark.parametrize("text", NAMED, ids=lambda text: str(tomllib.loads(text)["name"]))
def test_the_studies_that_are_shown_are_studies(text: str, tmp_path: Path) -> None:
    (tmp_path / "my_analysis.py").write_text(block_with("python", "class Spread"))
    if "experiment" in tomllib.loads(text):
        assert ExperimentStudy.parse(text, source="a page", base=tmp_path).experiment.arms
    else:
        assert parsed(text, tmp_path).name == tomllib.loads(text)["name"]


def test_the_study_of_valcarce_and_others_is_a_study() -> None:
    study = read_study(ROOT / "studies/recsys2018.toml")
    assert study.name == "recsys2018"
    check(study)


def test_the_commands_that_are_named_exist() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert set(re.findall(r"(?m)(?:`|^|\$ )harness ([a-z]+)", text)) <= {
        *main.list_commands(Context(main))
    }
