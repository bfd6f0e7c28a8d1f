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

from analyses.online.experiments import read_experiments
from analyses.recall.recall import measure_recall
from harness.cli.main import main
from harness.recall import (
    MAX_PRINTED,
    SHOWN_BETAS,
    SHOWN_CUTOFFS,
    MeasuredRecalls,
    RecallQuestion,
    measure_models,
    measure_ranks,
    model_settings,
)
from qrels.interactions.held_out_users import draw_test_users, split_users
from qrels.interactions.interaction_file import read_interactions
from qrels.ranks.hidden_ranks import MISS
from recommenders.kernels.hidden_ranks import rank_hidden
from recommenders.kernels.neighbours import ItemCosines
from runs import InputError
from runs.shared import parallel
from runs.shared.progress import SilentProgress
from tests.described import described
from tests.exact_csv import read_exactly
from tests.full import Full
from tests.hidden_example import PROFILES, RANK_LLOO, RANK_LOO, TRAIN_COUNTS

pytestmark = pytest.mark.slow

MISUSED = 2
START = 1_600_000_000_000
FILES = {
    "values.csv", "recalls.csv", "hidden.parquet", "ranks.parquet",
    "recall.svg", "recall.png", "recall.txt",
}  # fmt: skip


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two kinds of users, each with a taste for half of the items."""
    rng = np.random.default_rng(1)
    user = rng.integers(0, 400, 6000)
    item = rng.geometric(0.06, 6000) % 40 + 40 * (user % 2)
    columns = {
        "user": np.char.add("u", user.astype(str)),
        "item": np.char.add("i", item.astype(str)),
        "time": START + rng.integers(0, 30 * 86_400_000, 6000),
        "type": rng.choice(["view", "cart", "purchase"], 6000),
    }
    path = tmp_path_factory.mktemp("log") / "history.parquet"
    pd.DataFrame(columns).to_parquet(path)
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


def recalls(*arguments: str | Path) -> pd.DataFrame:
    answer = recall(*arguments, "--format", "json")
    assert answer.exit_code == 0, answer.stderr
    return pd.DataFrame(json.loads(answer.stdout)["recalls"])


def all_digits(source: Any) -> pd.DataFrame:
    return read_exactly(source)


def sentence(*arguments: str | Path) -> str:
    answer = recall(*arguments)
    assert answer.exit_code == MISUSED
    return answer.stderr


def test_values_are_those_of_the_library(log: Path) -> None:
    events = read_interactions(log)
    train, test = split_users(events, draw_test_users(events, seed=3))
    ranks = rank_hidden(ItemCosines(neighbours=7)(train), test, n_jobs=1)
    grid = measure_recall(ranks, train.event_counts())
    found = values(
        log, "--seed", "3", "--model", "item-cosines:neighbours=7", "--weights", "uniform"
    )
    np.testing.assert_array_equal(found["value"], grid["value"])


def test_the_whole_grid_is_measured_both_ways(log: Path) -> None:
    counts = recalls(log).groupby("weights").size()
    assert counts.to_dict() == {"uniform": 588, "stratified": 588}


def test_all_files_are_written(output: Path) -> None:
    assert {path.name for path in output.iterdir()} == FILES


def test_the_number_of_threads_changes_nothing(log: Path, output: Path, tmp_path: Path) -> None:
    assert recall(log, "--output", tmp_path, "--jobs", "2").exit_code == 0
    for name in FILES:
        assert (tmp_path / name).read_bytes() == (output / name).read_bytes()


def test_kept_ranks_have_the_same_recalls(log: Path, output: Path) -> None:
    again = values(log, "--ranks", output / "ranks.parquet").drop(columns="model")
    before = all_digits(output / "values.csv").drop(columns="model")
    pd.testing.assert_frame_equal(again, before)


def test_several_models_are_measured_in_one_reading(log: Path) -> None:
    models = ("--model", "few=item-cosines:neighbours=2", "--model", "item-cosines")
    grid = ("--beta", "0", "--beta", "0.5", "--cutoff", "5")
    both = values(log, *models, *grid)
    assert [*both] == ["model", "measure", "value", "error"]
    assert both["measure"].tolist()[:3] == ["LOO(beta=0)@5", "LOO(beta=0.5)@5", "LLOO(beta=0)@5"]
    for name, neighbours in (("few", "2"), ("item-cosines", "50")):
        alone = values(
            log, "--model", f"item-cosines:neighbours={neighbours}", "--weights", "uniform", *grid
        )
        assert both[both["model"] == name]["value"].tolist() == alone["value"].tolist()
    assert both["error"].between(0.0, 0.1, inclusive="neither").all()


def test_values_are_read_by_online(log: Path, tmp_path: Path) -> None:
    """What several models write is one experiment, and best of many counts one value each."""
    models = [f"--model=m{n}=item-cosines:neighbours={n}" for n in (1, 5, 20)]
    assert recall(log, *models, "--output", tmp_path).exit_code == 0
    rates = tmp_path / "rates.csv"
    rates.write_text("model,rate\nm1,0.01\nm5,0.03\nm20,0.02\n")
    (one,) = read_experiments(tmp_path / "values.csv", rates)
    assert (one.models, len(one.measures)) == (("m1", "m5", "m20"), 588)
    assert one.value_errors is not None


@pytest.mark.parametrize(("year", "refused"), [((), True), (("--first-year", "1970"), False)])
def test_times_in_seconds_are_refused_unless_they_are_said_to_be_right(
    log: Path, tmp_path: Path, year: tuple[str, ...], refused: bool
) -> None:
    table = pd.read_parquet(log)
    table.assign(time=table["time"] // 1000).to_parquet(tmp_path / "seconds.parquet")
    answer = recall(tmp_path / "seconds.parquet", *year)
    assert (answer.exit_code, "seconds?" in answer.stderr) == (2 * refused, refused)


def test_an_unknown_model_is_named(log: Path) -> None:
    assert "must be one of item-cosines, als-knn, got 'als'" in sentence(log, "--model", "x=als")


@pytest.fixture
def golden(tmp_path: Path) -> tuple[Path, Path]:
    """Ranks of the hand-made example, and events that make its items as popular as there."""
    n_events = int(TRAIN_COUNTS.sum())
    items = [str(item) for item in np.repeat(np.arange(6), TRAIN_COUNTS)]
    events = {"user": ["other"] * n_events, "item": items, "time": START + np.arange(n_events)}
    hidden = [
        {"user": f"u{user}", "item": item, "time": START + time}
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
    golden: tuple[Path, Path], weights: str, validation: str, beta: float, cutoff: int, value: float
) -> None:
    events, ranks = golden
    grid = ("--beta", str(beta), "--cutoff", str(cutoff), "--weights", weights)
    found = recalls(events, "--ranks", ranks, *grid).set_index("validation")
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
    found, expected = (values(events, "--ranks", each)["value"] for each in (path, ranks))
    pd.testing.assert_series_equal(found, expected)


def test_popularity_needs_users_without_ranks(golden: tuple[Path, Path]) -> None:
    _, ranks = golden
    assert "all users have ranks in" in sentence(ranks, "--ranks", ranks)


def test_ranks_deeper_than_kept_are_refused(log: Path, output: Path) -> None:
    said = sentence(log, "--ranks", output / "ranks.parquet", "--cutoff", "60")
    assert "ranks are known up to 50" in said


def test_ranks_of_other_hidden_items_are_refused(log: Path, output: Path, tmp_path: Path) -> None:
    ranks = pd.read_parquet(output / "ranks.parquet")
    ranks[1:].to_parquet(tmp_path / "ranks.parquet")
    (tmp_path / "hidden.parquet").write_bytes((output / "hidden.parquet").read_bytes())
    n_rows = f"has {len(ranks) - 1:,} rows"
    assert n_rows in sentence(log, "--ranks", tmp_path / "ranks.parquet")


@pytest.mark.parametrize(
    ("arguments", "finding"),
    [
        (
            ["--model", "item-cosines:neighbors=3"],
            "no setting 'neighbors'; did you mean 'neighbours'?",
        ),
        (
            ["--model", "item-cosines:neighbours=many"],
            "item-cosines: the setting 'neighbours' must be a valid integer",
        ),
        (
            ["--model", "item-cosines:shrinkage=nan"],
            "the setting 'shrinkage' must be a finite number, got 'nan'.",
        ),
        (["--model", "als-knn:factors=0"], "the setting 'factors' must be at least 1, got '0'."),
        (["--ranks", "ranks.csv", "--model", "als-knn"], "--model does not apply to --ranks"),
        (
            ["--share", "1", "--min-items", "1"],
            "all users are test users; nobody is left to learn from.",
        ),
        (["--model", "a=als-knn", "--model", "a=item-cosines"], "two models are called 'a'"),
        (["--beta", "-1"], "`--beta` must be at least 0, got -1.0."),
        (["--cutoff", "70000"], "`--cutoff` must be less than 65535, got 70000."),
    ],
)
def test_what_makes_no_sense_is_answered_with_a_sentence(
    log: Path, arguments: list[str], finding: str
) -> None:
    assert finding in sentence(log, *arguments)


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


def test_a_question_has_the_grid_of_the_thesis_and_a_tenth_of_the_users() -> None:
    found = described(RecallQuestion)
    assert {name: found[name] for name in [*found][4:]} == {
        "share": "0.1; > 0; <= 1",
        "most": "100000; >= 1",
        "weights": "['uniform', 'stratified']",
        "min_items": "2; >= 1",
        "seed": "0; >= 0; < 9223372036854775808",
        "first_year": "None",
    }


SMALL: dict[str, Any] = {"betas": (0.0, 0.5), "cutoffs": (1, 5), "share": 0.3, "seed": 3}


def measured(log: Path, *models: str, **options: Any) -> MeasuredRecalls:
    question = RecallQuestion(**SMALL | options)
    return measure_models(log, question, models=models, n_jobs=1, progress=SilentProgress())


def test_a_model_is_called_by_its_name_as_it_was_written_or_by_its_settings(log: Path) -> None:
    few = "item-cosines:neighbours=2"
    assert [*measured(log, few).ranks] == [str(model_settings("item-cosines", {"neighbours": 2}))]
    assert [*measured(log, f"x={few}").ranks] == ["x"]
    assert [*measured(log, few, f"y={few},shrinkage=1").ranks] == [few, "y"]
    with pytest.raises(InputError, match=r"two models are called 'item-cos.*: NAME=item-cos"):
        measured(log, few, few)


def test_facts_count_the_users_and_events_of_both_parts(log: Path) -> None:
    events = read_interactions(log)
    train, test = split_users(events, draw_test_users(events, share=0.3, seed=3))
    (fact,) = measured(log, "item-cosines").cautions()
    n_test, n_train = len(np.unique(test.user)), len(np.unique(train.user))
    assert fact == (
        f"{n_test:,} test users with {len(test):,} events, {n_train:,} training users with "
        f"{len(train):,}."
    )
    assert n_test == pytest.approx(0.3 * 400, abs=30)


def test_values_are_of_uniform_weights_where_these_are_asked_for(log: Path) -> None:
    both = measured(log, "item-cosines")
    uniform = both.recalls[both.recalls["weights"] == "uniform"]
    assert both.values["value"].tolist() == uniform["value"].tolist()
    assert both.values["measure"].tolist() == [
        f"{row.validation}(beta={row.beta:g})@{row.cutoff}" for row in uniform.itertuples()
    ]
    one = measured(log, "item-cosines", weights=("stratified",))
    assert set(one.recalls["weights"]) == {"stratified"}
    assert one.values["measure"].str.contains("weights='stratified'").all()


def test_rows_stand_model_by_model_in_the_order_given(log: Path) -> None:
    found = measured(log, "b=item-cosines", "a=item-cosines:neighbours=2")
    assert found.values["model"].drop_duplicates().tolist() == ["b", "a"]
    assert (
        found.recalls.groupby("model", sort=False)["weights"].unique().map(list).tolist()
        == [["uniform", "stratified"]] * 2
    )
    assert found.panels == tuple(
        f"{model}, {weights}, {validation}"
        for model in "ba"
        for weights in ("uniform", "stratified")
        for validation in ("LOO", "LLOO")
    )
    assert len(found.findings()) == 1
    assert measured(log, "item-cosines").findings() == []


def test_a_table_has_cut_offs_beside_each_other_or_models(log: Path, tmp_path: Path) -> None:
    assert (MAX_PRINTED, SHOWN_BETAS, SHOWN_CUTOFFS) == (
        8,
        (0, 0.25, 0.5, 0.75, 1),
        (1, 5, 10, 20, 50),
    )
    one = measured(log, "item-cosines").recall_table()
    head = ["weights", "validation", "beta", "ceiling", "effective_share"]
    assert list(one.headings) == [*head, "@1", "@5"]
    assert len(one.rows) == 2 * 2 * 2
    grid = measured(log, "item-cosines", betas=[n / 20 for n in range(9)], cutoffs=[*range(1, 10)])
    assert list(grid.recall_table().headings) == [*head, "@1", "@5"]
    assert {row[2] for row in grid.recall_table().rows} == {0.0, 0.25}
    eight = measured(log, "item-cosines", betas=[n / 20 for n in range(8)], cutoffs=range(1, 9))
    assert len(eight.recall_table().headings) == len(head) + 8
    assert len({row[2] for row in eight.recall_table().rows}) == 8
    models = ("a=item-cosines", "b=item-cosines:neighbours=2")
    nearer = measured(log, *models, cutoffs=(1, 7, 12)).recall_table()
    assert nearer.rows != measured(log, *models, cutoffs=(7,)).recall_table().rows
    several = measured(log, *models, cutoffs=(1, 8, 13))
    assert list(several.recall_table().headings) == [*head[:3], "a", "b"]
    eights = several.recalls[several.recalls["cutoff"] == 8]
    assert [row[3] for row in several.recall_table().rows] == eights[eights["model"] == "a"][
        "value"
    ].tolist()
    several.write_ranks(tmp_path)
    assert [*tmp_path.iterdir()] == []
    grid.write_ranks(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"hidden.parquet", "ranks.parquet"}


def test_a_caption_counts_hidden_items_and_users(log: Path) -> None:
    found = measured(log, "m=item-cosines")
    first = found.recalls.iloc[0]
    assert found.caption().startswith(
        f"m. Recall by popularity to the power of -beta: {first['hidden_items']:,} hidden items of "
        f"{first['users']:,} users."
    )


def test_ranks_are_as_deep_as_the_deepest_cut_off_and_at_least_50(log: Path) -> None:
    for cutoffs, deepest in (((1, 5), 50), ((1, 80), 80)):
        (ranks,) = measured(log, "item-cosines:neighbours=200", cutoffs=cutoffs).ranks.values()
        assert ranks.deepest == deepest


def test_test_users_are_numbered_from_0_whoever_they_are(log: Path) -> None:
    events = read_interactions(log)
    for share in (0.1, 0.95):
        ids = draw_test_users(events, share=share, seed=3)
        _, test = split_users(events, ids)
        (ranks,) = measured(log, "item-cosines", share=share).ranks.values()
        hidden = ranks.hidden
        assert hidden.users.ids.tolist() == ids.ids.tolist()
        assert hidden.user.min() == 0
        found = {*zip(hidden.users.ids[hidden.user], hidden.item.tolist(), strict=True)}
        assert found == {*zip(test.users.ids[test.user], test.item.tolist(), strict=True)}
    # The first of all users is among the tested.
    assert test.user.min() == 0


def test_every_bar_is_full_when_its_work_ends(golden: tuple[Path, Path], log: Path) -> None:
    progress, question = Full(), RecallQuestion(**SMALL)
    models = ("a=item-cosines", "b=item-cosines:neighbours=2")
    measure_models(log, question, models=models, n_jobs=1, progress=progress)
    assert progress.work == [("Reading", 1), ("Training and ranking", 2), ("Measuring recall", 2)]
    again = Full()
    measure_ranks(*golden, question, n_jobs=1, progress=again)
    assert again.work == [("Reading", 1), ("Measuring recall", 2)]
