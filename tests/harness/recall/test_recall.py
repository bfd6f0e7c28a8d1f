"""Recalls on the command line."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result
from harness.recall.user_shards import Training, UserShards
from recommenders.kernels.hidden import rank_hidden

from analyses.recall.recall import measure_recall
from harness.cli.main import main
from harness.online import write_history
from qrels.interactions.held_out_users import draw_test_users, split_users
from qrels.interactions.interaction_file import read_interactions
from qrels.ranks.hidden_ranks import MISS
from recommenders.kernels.neighbourhoods.item_cosines import ItemCosines
from runs import InputError, Numbering
from runs.shared import parallel
from tests.harness.online.worlds import small_world
from tests.hidden_example import PROFILES, RANK_LLOO, RANK_LOO, TRAIN_COUNTS

pytestmark = pytest.mark.slow

MISUSED = 2
FILES = {
    "values.csv", "hidden.parquet", "ranks.parquet",
    "recall_uniform.svg", "recall_uniform.png", "recall_uniform.txt",
    "recall_stratified.svg", "recall_stratified.png", "recall_stratified.txt",
}  # fmt: skip


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("log") / "history.parquet"
    write_history(path, small_world().settings)
    return path


@pytest.fixture(scope="module")
def output(log: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("output")
    assert recall(log, "--output", folder).exit_code == 0
    return folder


def recall(*arguments: str | Path) -> Result:
    given = ["recall", "--jobs", "1", "--quiet", *map(str, arguments)]
    return CliRunner().invoke(main, given)


def values(*arguments: str | Path) -> pd.DataFrame:
    answer = recall(*arguments, "--format", "csv")
    assert answer.exit_code == 0, answer.stderr
    return all_digits(io.StringIO(answer.stdout))


def all_digits(source: Any) -> pd.DataFrame:
    return pd.read_csv(source, float_precision="round_trip")


def sentence(*arguments: str | Path) -> str:
    answer = recall(*arguments)
    assert answer.exit_code == MISUSED
    return answer.stderr


def test_values_are_those_of_the_library(log: Path) -> None:
    events = read_interactions(log)
    train, test = split_users(events, draw_test_users(events, seed=3))
    ranks = rank_hidden(ItemCosines(neighbours=7)(train), test, n_jobs=1)
    grid = measure_recall(ranks, train.event_counts())
    found = values(log, "--seed", "3", "--set", "neighbours=7", "--weights", "uniform")
    np.testing.assert_array_equal(found["value"], grid.values.ravel())


def test_the_whole_grid_is_measured_both_ways(log: Path) -> None:
    counts = values(log).groupby("weights").size()
    assert counts.to_dict() == {"uniform": 588, "stratified": 588}


def test_the_table_shows_ceilings_and_effective_shares(log: Path) -> None:
    lines = recall(log).stdout.splitlines()
    assert lines[0].startswith("Recall, uniform weights: item-cosines(neighbours=50")
    assert lines[1].split() == ["@1", "@5", "@10", "@20", "@50", "ceiling", "effective", "share"]
    assert lines[2].startswith("LOO, beta 0 ")
    assert any(line.startswith("coverage of items") for line in lines[11:])


def test_an_own_grid_is_shown_whole(log: Path) -> None:
    answer = recall(log, "--beta", "1.5", "--beta", "0.1", "--cutoff", "7", "--weights", "uniform")
    _, headings, first, second, *_ = answer.stdout.splitlines()
    assert headings.split()[0] == "@7"
    assert first.startswith("LOO, beta 0.1 ")
    assert second.startswith("LOO, beta 1.5 ")


def test_json_has_all_that_is_said(log: Path) -> None:
    found = json.loads(recall(log, "--format", "json").stdout)
    assert len(found["values"]) == 2 * 588
    assert "test users" in found["cautions"][0]


def test_latex_has_a_table_for_each_weighting(log: Path) -> None:
    assert recall(log, "--format", "latex").stdout.count(r"\toprule") == 2


def test_all_files_are_written(output: Path) -> None:
    assert {path.name for path in output.iterdir()} == FILES


@pytest.fixture(scope="module")
def robots(log: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recalls of two models, without robots, of a log that is in memory."""
    folder = tmp_path_factory.mktemp("robots")
    assert recall(log, *OF_TWO_MODELS, "--output", folder).exit_code == 0
    return folder


OF_TWO_MODELS = ("--robots", "5", "--model", "item-cosines", "--model", "als-knn:factors=4")


@pytest.mark.parametrize("how", [("--shards", "7"), ("--shards", "3", "--dask", "local")])
def test_the_number_of_shards_changes_nothing(
    log: Path, output: Path, robots: Path, tmp_path: Path, how: tuple[str, ...]
) -> None:
    for expected, asked in ((output, ()), (robots, OF_TWO_MODELS)):
        scratch, found = tmp_path / "scratch", tmp_path / expected.name
        scratch.mkdir(exist_ok=True)
        answer = recall(log, *asked, *how, "--scratch", scratch, "--output", found)
        assert answer.exit_code == 0, answer.stderr
        assert not [*scratch.iterdir()]
        for path in expected.iterdir():
            assert (found / path.name).read_bytes() == path.read_bytes(), path.name


def test_a_model_of_all_events_says_what_memory_it_needs() -> None:
    nothing = Numbering.of([])
    counts = np.zeros(0, dtype=np.intp)
    shards = [Path("one"), Path("two")]
    training = Training(counts, 1, 10**12, shards, UserShards([]), nothing, nothing)
    with pytest.raises(InputError, match=r"1,000,000,000,000 training events.*150000\.0 GB"):
        training.events()


def test_an_error_in_a_shard_names_the_row_of_the_log(log: Path, tmp_path: Path) -> None:
    table = pd.read_parquet(log)
    table.loc[1234, "type"] = "dance"
    table[:1000].to_parquet(tmp_path / "a.parquet")
    table[1000:].to_parquet(tmp_path / "b.parquet")
    whole, cut = (sentence(tmp_path, "--shards", shards) for shards in ("1", "7"))
    assert "b.parquet, row 235, column 'type': values are set for" in whole
    assert cut == whole


def test_the_number_of_threads_changes_nothing(log: Path, output: Path, tmp_path: Path) -> None:
    assert recall(log, "--output", tmp_path, "--jobs", "2").exit_code == 0
    for name in FILES:
        assert (tmp_path / name).read_bytes() == (output / name).read_bytes()


def test_kept_ranks_have_the_same_recalls(log: Path, output: Path) -> None:
    again = values(log, "--ranks", output / "ranks.parquet")
    before = all_digits(output / "values.csv")
    pd.testing.assert_frame_equal(again, before.drop(columns="coverage"))


def test_several_models_are_measured_in_one_reading(log: Path) -> None:
    models = ("--model", "few=item-cosines:neighbours=2", "--model", "item-cosines")
    grid = ("--beta", "0", "--beta", "0.5", "--cutoff", "5")
    both = values(log, *models, *grid)
    assert [*both] == ["model", "measure", "value", "error"]
    assert both["measure"].tolist()[:3] == ["LOO(beta=0)@5", "LOO(beta=0.5)@5", "LLOO(beta=0)@5"]
    for name, neighbours in (("few", "2"), ("item-cosines", "50")):
        alone = values(log, "--set", f"neighbours={neighbours}", "--weights", "uniform", *grid)
        assert both[both["model"] == name]["value"].tolist() == alone["value"].tolist()
    assert both["error"].between(0.0, 0.1, inclusive="neither").all()


def test_an_unknown_model_is_named(log: Path) -> None:
    assert "a model is item-cosines or als-knn, got 'als' in 'x=als:factors=4'." in sentence(
        log, "--model", "x=als:factors=4"
    )


def test_learned_factors_are_a_model(log: Path) -> None:
    pytest.importorskip("implicit", reason="needs the package implicit")
    answer = recall(log, "--model", "als-knn", "--set", "factors=4", "--set", "sweeps=1")
    assert answer.stdout.startswith("Recall, uniform weights: als-knn(factors=4,regularization=1")


def test_robots_are_taken_away_before(log: Path) -> None:
    answer = recall(log, "--robots", "5")
    assert "robots with" in answer.stderr.splitlines()[0]


@pytest.fixture
def golden(tmp_path: Path) -> tuple[Path, Path]:
    """Ranks of the hand-made example, and events that make its items as popular as there."""
    n_events = int(TRAIN_COUNTS.sum())
    items = [str(item) for item in np.repeat(np.arange(6), TRAIN_COUNTS)]
    events = {"user": ["other"] * n_events, "item": items, "time": range(n_events)}
    hidden = [
        {"user": f"u{user}", "item": item, "time": time}
        for user, profile in enumerate(PROFILES)
        for time, item in enumerate(profile)
    ]
    ranks = pd.DataFrame(hidden).assign(rank_loo=RANK_LOO, rank_lloo=RANK_LLOO)
    pd.DataFrame(events).to_csv(tmp_path / "events.csv", index=False)
    whole = ranks.astype({"rank_loo": "Int64", "rank_lloo": "Int64"}).replace(MISS, pd.NA)
    # The order of the rows is of no account.
    whole[::-1].to_csv(tmp_path / "ranks.csv", index=False)
    return tmp_path / "events.csv", tmp_path / "ranks.csv"


@pytest.mark.parametrize(
    ("weights", "validation", "beta", "cutoff", "value"),
    [
        ("uniform", "LOO", 0.5, 2, 0.7294573788),
        ("stratified", "LOO", 1, 3, 0.8660714286),
        ("uniform", "LLOO", 2, 1, 0.2709146077),
        ("stratified", "LLOO", 0.5, 2, 0.3190462804),
    ],
)
def test_a_table_of_ranks_has_the_recalls_of_the_reference(
    golden: tuple[Path, Path],
    weights: str,
    validation: str,
    beta: float,
    cutoff: int,
    value: float,
) -> None:
    events, ranks = golden
    grid = ("--beta", str(beta), "--cutoff", str(cutoff), "--weights", weights)
    found = values(events, "--ranks", ranks, *grid).set_index("validation")
    assert found.loc[validation, "value"] == pytest.approx(value, abs=1e-10)


@pytest.mark.parametrize(
    ("wrong", "finding"),
    [
        ("0", "a rank must be a whole number from 1, or empty for a miss, got 0."),
        ("1.5", "a rank must be a whole number from 1, or empty for a miss, got 1.5."),
        ("first", "a number must be given, got 'first'."),
        ("inf", "a number must be finite."),
    ],
)
def test_a_rank_is_a_whole_number_from_one(
    golden: tuple[Path, Path], wrong: str, finding: str
) -> None:
    events, ranks = golden
    lines = ranks.read_text().splitlines()
    lines[3] = ",".join([*lines[3].split(",")[:-1], wrong])
    ranks.write_text("\n".join(lines) + "\n")
    assert f"row 3, column 'rank_lloo': {finding}" in sentence(events, "--ranks", ranks)


@pytest.mark.parametrize("kind", ["Int8", "UInt16", "float64"])
def test_ranks_may_be_numbers_of_any_type(golden: tuple[Path, Path], kind: str) -> None:
    events, ranks = golden
    path = ranks.with_suffix(".parquet")
    table = pd.read_csv(ranks)
    table.astype({"rank_loo": kind, "rank_lloo": kind}).to_parquet(path)
    pd.testing.assert_frame_equal(values(events, "--ranks", path), values(events, "--ranks", ranks))


def test_popularity_needs_users_without_ranks(golden: tuple[Path, Path]) -> None:
    _, ranks = golden
    assert "all users have ranks in" in sentence(ranks, "--ranks", ranks)


def test_ranks_deeper_than_kept_are_refused(log: Path, output: Path) -> None:
    said = sentence(log, "--ranks", output / "ranks.parquet", "--cutoff", "60")
    assert "cut-off 60 is deeper than ranks are known, 50" in said


def test_ranks_of_other_hidden_items_are_refused(log: Path, output: Path, tmp_path: Path) -> None:
    ranks = pd.read_parquet(output / "ranks.parquet")
    ranks[1:].to_parquet(tmp_path / "ranks.parquet")
    (tmp_path / "hidden.parquet").write_bytes((output / "hidden.parquet").read_bytes())
    n_rows = f"has {len(ranks) - 1:,} rows"
    assert n_rows in sentence(log, "--ranks", tmp_path / "ranks.parquet")


@pytest.mark.parametrize(
    ("arguments", "finding"),
    [
        (["--set", "neighbors=3"], "no setting 'neighbors'; there are: neighbours, shrinkage"),
        (["--set", "neighbours=many"], "`neighbours` must be a whole number, got 'many'."),
        (["--set", "neighbours=0"], "`neighbours` must be at least 1, got 0."),
        (["--set", "shrinkage=nan"], "`shrinkage` must be at least 0, got nan."),
        (["--set", "neighbours"], "a setting is written NAME=VALUE, got 'neighbours'."),
        (["--model", "als-knn", "--set", "factors=0"], "`factors` must be at least 1, got 0."),
        (["--ranks", "ranks.csv", "--set", "neighbours=3"], "leave out --set and --dask."),
        (
            ["--share", "1", "--min-items", "1"],
            "all users are test users; nobody is left to learn from.",
        ),
        (["--beta", "-1"], "exponents (beta) must be finite and at least 0, got -1.0."),
        (["--cutoff", "70000"], "`deepest` must be from 1 to 65534, got 70000."),
    ],
)
def test_what_makes_no_sense_is_answered_with_a_sentence(
    log: Path, arguments: list[str], finding: str
) -> None:
    assert finding in sentence(log, *arguments)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    assert "absent.parquet" in sentence(tmp_path / "absent.parquet")


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    ) as two:
        yield two.scheduler_address


def test_a_cluster_finds_the_same_bytes(
    log: Path, output: Path, tmp_path: Path, scheduler: str
) -> None:
    answer = recall(log, "--dask", scheduler, "--output", tmp_path)
    assert answer.exit_code == 0, answer.stderr
    for name in FILES:
        assert (tmp_path / name).read_bytes() == (output / name).read_bytes()


def test_the_work_goes_to_the_cluster(scheduler: str) -> None:
    import os

    import joblib

    with parallel.on_cluster(scheduler):
        processes = joblib.Parallel(n_jobs=2)([joblib.delayed(os.getpid)()])
    assert processes != [os.getpid()]


def test_a_scheduler_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="distributed is not installed")
    monkeypatch.setattr(parallel, "SECONDS_TO_ANSWER", 0.3)
    with (
        pytest.raises(InputError, match="no Dask scheduler answers at 'tcp:"),
        parallel.on_cluster("tcp://127.0.0.1:9"),
    ):
        pass


def test_a_cluster_without_workers_is_refused() -> None:
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")
    with (
        distributed.LocalCluster(n_workers=0, processes=True, dashboard_address=":0") as none,
        pytest.raises(InputError, match="has no workers"),
        parallel.on_cluster(none.scheduler_address),
    ):
        pass


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr(parallel, "import_module", missing)
    with (
        pytest.raises(InputError, match="needs the package 'distributed'"),
        parallel.on_cluster("x"),
    ):
        pass
