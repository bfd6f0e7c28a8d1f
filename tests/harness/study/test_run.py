import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from harness.readers.score_parquet import scores_from_parquet
from harness.report.study_folder import FinishedStudy
from harness.study.store import Store
from runs import InputError
from tests.conftest import figures_left_out
from tests.harness.small import (
    ANALYSES,
    METRICS,
    NO_ANALYSES,
    ROOT,
    SYSTEMS,
    TREC,
    TREC_METRICS,
    WHOLE,
    WORLD,
    as_trec,
    contents,
    every_file,
    made_again,
    made_at,
    manifest_of,
    read_frame,
    run_text,
    start,
    undrawn,
    wait_for_parts,
    write_collection,
)

COLUMNS = {
    "means": "system,metric,cutoff,mean",
    "correlation_cutoffs": "metric,cutoff_a,cutoff_b,tau",
    "correlation_metrics": "metric_a,metric_b,cutoff,tau",
    "sparsity": "metric,cutoff,level,tau,sd,standard_error,low,high,samples",
    "sparsity_areas": "metric,cutoff,area,low,high,rank",
    "sparsity_area_differences": "metric_a,cutoff_a,metric_b,cutoff_b,difference,low,high",
    "popularity": "metric,cutoff,level,tau,sd,low,high,judgements,cut,removed,counted_in",
    "popularity_areas": "metric,cutoff,area,low,high,rank",
    "popularity_area_differences": "metric_a,cutoff_a,metric_b,cutoff_b,difference,low,high",
    "popularity_checks": "metric,cutoff,level,tau,sd,judgements,cut,removed,counted_in",
    "users": "metric,cutoff,users,repeats,tau,tau_low,tau_high,dp,dp_low,dp_high",
    "pvalues": "metric,cutoff,system_a,system_b,difference,lower,upper,relative,standardised",
    "discrimination": "metric,cutoff,dp,dp_ordered,significant_05,median_p",
    "power_differences": "metric_a,cutoff_a,metric_b,cutoff_b,difference,low,high",
}
PARTS = ("train", "test")
TABLES, SVGS = "tables/*.csv", "figures/*.svg"
SCORED = {"scores", "true-scores"}
ANALYSED = {
    "systems",
    "correlation",
    "sparsity",
    "popularity",
    "users",
    "discrimination",
    "validity",
}
SHOWN = {*SCORED, *ANALYSED, "answer"}


# What is in the folder


def test_the_means_are_those_of_the_scores(finished: Path) -> None:
    scores = scores_from_parquet((finished / "scores.parquet").read_bytes())
    assert read_frame(finished, "means")["mean"].tolist() == scores.mean_values().T.ravel().tolist()


# The same again


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_two_workers_make_the_same_tables_as_one(finished: Path, tmp_path: Path) -> None:
    folder = run_text(WHOLE, tmp_path, output=tmp_path / "study", n_jobs=2)
    assert contents(folder, TABLES) == contents(finished, TABLES)


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_the_study_as_run_makes_the_same_tables(given: Path, tmp_path: Path) -> None:
    text = (given / "study.toml").read_text()
    folder = run_text(text, given, output=tmp_path / "again")
    assert contents(folder, TABLES) == contents(given, TABLES)


@pytest.mark.slow
def test_the_study_as_run_makes_the_same_figures(tmp_path: Path) -> None:
    write_collection(tmp_path)
    text = TREC + TREC_METRICS + '[analyses]\nnames = ["correlation"]\n'
    first = run_text(text, tmp_path, output=tmp_path / "study")
    again = run_text((first / "study.toml").read_text(), first, output=tmp_path / "again")
    assert contents(first, SVGS)
    assert contents(again, SVGS) == contents(first, SVGS)


@pytest.mark.slow
@pytest.mark.usefixtures("blank_figures")
def test_a_study_killed_again_and_again_ends_as_an_undisturbed_one(
    finished: Path, tmp_path: Path
) -> None:
    (tmp_path / "study.toml").write_text(WHOLE)
    command = ("run", tmp_path / "study.toml", "--output", tmp_path / "study", "--jobs", "1")
    for n_parts in sorted(random.Random(7).sample(range(1, 9), 3)):
        killed = start(*command, "--quiet", blank_figures=True)
        wait_for_parts(n_parts, killed, tmp_path / "study")
        killed.kill()
        killed.join()
        assert len(made_at(tmp_path / "study")) >= n_parts
    run_text(WHOLE, tmp_path, output=tmp_path / "study")
    assert every_file(tmp_path / "study") == every_file(finished)


@pytest.mark.slow
def test_a_finished_study_is_not_made_again(copied: Path) -> None:
    before = made_at(copied)
    run_text(WHOLE, copied, output=copied)
    assert made_again(copied, before) == set()


@pytest.mark.slow
@pytest.mark.usefixtures("blank_figures")
@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("tables/pvalues.csv", "drawn-discrimination"),
        ("evidence/discrimination.npz", "discrimination"),
        ("figures/figure5_correlation_metrics.svg", "drawn-correlation"),
        ("runs/popularity.parquet", "run-popularity"),
        ("qrels/test.qrels", "qrels"),
        ("world/truth.npz", "world"),
        ("truth/true.qrels", "true-qrels"),
        ("truth/scores.parquet", "true-scores"),
    ],
)
@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(b"damaged")])
def test_a_damaged_part_alone_is_made_again(
    finished: Path, copied: Path, name: str, part: str, damage: Any
) -> None:
    before = made_at(copied)
    damage(copied / name)
    run_text(WHOLE, copied, output=copied)
    assert made_again(copied, before) == {part}
    assert (copied / name).read_bytes() == (finished / name).read_bytes()


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ("samples = 5", "samples = 6", {"sparsity", "answer"}),
        ("levels = [1.0, 0.9, 0.5]", "levels = [1.0, 0.9]", {"popularity", "answer"}),
        ('name = "small"', 'name = "renamed"', set()),
        ("cutoffs = [5, 20]", "cutoffs = [20]", SHOWN),
        ("factors = 5", "factors = 6", {"run-puresvd", *SHOWN}),
        ("threshold = 4.0", "threshold = 3.0", {"qrels", "true-qrels", *SHOWN}),
    ],
)
def test_a_change_makes_again_what_depends_on_it(
    copied: Path, old: str, new: str, parts: set[str]
) -> None:
    before = made_at(copied)
    run_text(WHOLE.replace(old, new), copied, output=copied)
    assert undrawn(made_again(copied, before)) == parts


@pytest.mark.usefixtures("blank_figures")
def test_an_analysis_that_left_the_study_leaves_no_figure(copied: Path) -> None:
    left = '[analyses]\nnames = ["correlation", "sparsity"]\n'
    run_text(WORLD + SYSTEMS + METRICS + left, copied, output=copied)
    figures = [face.file_stem for _, face in FinishedStudy.open(copied).figures()]
    assert figures
    assert [name for name in figures if "pvalues" in name] == []
    assert list(copied.glob("*/*pvalues*")) == []


def test_a_study_that_was_interrupted_is_not_finished(
    copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.study.study_run.StudyRun.keep_analysis", _interrupt)
    with pytest.raises(KeyboardInterrupt):
        run_text(WHOLE.replace("cutoffs = [5, 20]", "cutoffs = [20]"), copied, output=copied)
    assert not (copied / "manifest.json").exists()


def _interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_a_held_folder_is_refused(copied: Path) -> None:
    with Store(copied).locked(), pytest.raises(InputError, match="another process is using"):
        run_text(WHOLE, copied, output=copied)


# Before any work


def test_memory_above_the_limit_is_refused_before_anything_is_trained(tmp_path: Path) -> None:
    text = WHOLE.replace('"puresvd"', '"ease"').replace("[systems.settings.puresvd]", "")
    text = text.replace("factors = 5", "[systems.settings.ease]\nmax_gigabytes = 1e-9")
    with pytest.raises(InputError, match=r"system 'ease' needs about .* GB"):
        run_text(text, tmp_path, output=tmp_path / "study")
    assert not list(tmp_path.glob("study/runs/*"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "line", "sentence"),
    [
        (
            WORLD + SYSTEMS + METRICS,
            '[analyses.discrimination]\nbaseline = "nobody"\n',
            "`baseline` in [analyses.discrimination]: the study has no system 'nobody'.",
        ),
        (
            TREC + TREC_METRICS,
            '[analyses.popularity]\ncounted_in = "all"\n',
            "without training ratings, `counted_in` in [analyses.popularity] must be 'test', got "
            "'all'.",
        ),
    ],
)
def test_a_setting_that_does_not_fit_is_refused_with_its_line_before_anything_is_trained(
    tmp_path: Path, text: str, line: str, sentence: str
) -> None:
    write_collection(tmp_path)
    with pytest.raises(InputError) as caught:
        run_text(text + line, tmp_path, output=tmp_path / "study")
    n_lines = len((text + line).splitlines())
    assert str(caught.value) == f"study.toml, line {n_lines}: {sentence}"
    assert not (tmp_path / "study" / "runs").exists()


def test_all_of_the_tested_and_trained_items_that_a_user_has_not_rated_are_candidates(
    tmp_path: Path,
) -> None:
    wide = WORLD.replace("n_items = 80", "n_items = 400").replace("gini = 0.5", "gini = 0.7")
    systems = SYSTEMS.replace("depth = 20", 'candidates = "test"\ndepth = 400')
    folder = run_text(wide + systems + METRICS + NO_ANALYSES, tmp_path, output=tmp_path / "study")
    train, test = (pd.read_csv(folder / f"split/{part}.csv", dtype=str) for part in PARTS)
    candidates = {*test.item} & {*train.item}
    assert len(candidates) < len({*test.item}) < len({*train.item})
    lists = pd.read_parquet(folder / "runs/random.parquet").astype(str)
    for user, listed in lists.groupby("user")["item"]:
        assert {*listed} == candidates - {*train.item[train.user == user]}


# Runs made elsewhere


@pytest.mark.slow
def test_given_runs_need_neither_lenskit_nor_torch(tmp_path: Path) -> None:
    write_collection(tmp_path)
    (tmp_path / "study.toml").write_text(TREC + TREC_METRICS + ANALYSES)
    code = (
        "import sys; from tests.conftest import figures_left_out\n"
        "from harness.cli.main import main\n"
        "with figures_left_out(): "
        f"main(['run', r'{tmp_path}/study.toml', '--output', r'{tmp_path}/study', '--jobs', '1'], "
        "standalone_mode=False)\n"
        "print({'lenskit', 'torch', 'sklearn'} & set(sys.modules))"
    )
    answer = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert answer.stdout.splitlines()[-1] == "set()", answer.stderr


def test_a_user_without_a_list_scores_0_and_stays_in_the_mean(given: Path) -> None:
    means = read_frame(given, "means").set_index(["system", "metric", "cutoff"])["mean"]
    assert means["full", "P", 1] == pytest.approx(2 / 3)
    assert means["partial", "P", 2] == pytest.approx(0.5 / 3)


@pytest.mark.slow
def test_given_runs_stand_beside_trained_systems(tmp_path: Path, finished: Path) -> None:
    own = as_trec(finished / "runs/random.parquet").replace(" random\n", " theirs\n")
    (tmp_path / "theirs.run").write_text(own)
    text = WORLD + SYSTEMS + METRICS + NO_ANALYSES + '[runs]\npaths = ["theirs.run"]\n'
    means = read_frame(run_text(text, tmp_path, output=tmp_path / "study"), "means")
    by_system = means.groupby("system")["mean"].apply(list)
    assert list(dict.fromkeys(means["system"]))[-1] == "theirs"
    assert by_system["theirs"] == by_system["random"]


@pytest.mark.parametrize(
    ("line", "finding"),
    [
        ("{user} Q0 no-such-item 1 1 theirs\n", "the item 'no-such-item' has no rating"),
        ("{user} Q0 {item} 1 1 random\n", "'random' is the name of a trained system, too"),
    ],
)
def test_a_given_run_that_does_not_fit_is_refused(
    tmp_path: Path, finished: Path, line: str, finding: str
) -> None:
    user, _, item = as_trec(finished / "runs/random.parquet").split()[:3]
    (tmp_path / "theirs.run").write_text(line.format(user=user, item=item))
    text = WORLD + SYSTEMS + METRICS + NO_ANALYSES + '[runs]\npaths = ["theirs.run"]\n'
    with pytest.raises(InputError, match=finding):
        run_text(text, tmp_path, output=tmp_path / "study")


@pytest.mark.slow
def test_what_a_given_run_recommends_again_is_counted(tmp_path: Path, finished: Path) -> None:
    log = pd.read_csv(finished / "split/train.csv")
    user, item = min(zip(log["user"], log["item"], strict=True))
    (tmp_path / "theirs.run").write_text(f"{user} Q0 {item} 1 1 theirs\n")
    text = WORLD + SYSTEMS + METRICS + NO_ANALYSES + '[runs]\npaths = ["theirs.run"]\n'
    folder = run_text(text, tmp_path, output=tmp_path / "study")
    assert "1 of its recommendations are items that the user rated" in str(manifest_of(folder))


def test_paths_may_have_spaces_and_letters_of_any_script(tmp_path: Path) -> None:
    base = tmp_path / "Größe [1] и more"
    write_collection(base)
    folder = run_text(TREC + TREC_METRICS + NO_ANALYSES, base, output=base / "the study")
    assert (folder / "report.html").is_file()


# Ratings


def test_a_system_that_recommends_nothing_at_all_is_named(tmp_path: Path) -> None:
    rows = ["old,a,5,1", "old,b,4,1", "new,a,5,9", "new,b,1,9"]
    (tmp_path / "r.csv").write_text("userId,movieId,rating,timestamp\n" + "\n".join(rows) + "\n")
    text = 'name = "x"\n[ratings]\npath = "r.csv"\n'
    split = '[split]\nmethod = "global-time"\ncut = 5\ncold_users = "keep"\n'
    systems = '[systems]\nnames = ["popularity", "ease"]\ndepth = 20\n'
    with pytest.raises(InputError, match="the system 'ease' recommends nothing to any test user"):
        run_text(text + split + systems + METRICS, tmp_path, output=tmp_path / "study")


@pytest.mark.parametrize(
    ("positives", "sentence"),
    [
        ("[systems.positives]\nsvd = 4.0\n", "line 19: the study has no system 'svd' to set."),
        ("[systems.positives]\npuresvd = 6\n", "no training rating reaches 6: puresvd cannot"),
        ("[systems.positives]\npuresvd = nan\n", "no training rating reaches nan"),
    ],
)
def test_positives_that_cannot_be_are_answered(
    tmp_path: Path, positives: str, sentence: str
) -> None:
    with pytest.raises(InputError) as caught:
        run_text(WORLD + SYSTEMS + positives + METRICS, tmp_path, output=tmp_path / "study")
    assert sentence in str(caught.value)


# Tables of items

GENRES = "item,year,genres\na,1990,war|drama\nc,1991,war\nd,1992,noir\nz,1993,drama\n"
ITEMS = '[items]\nfeatures = "items.csv"\ncolumns = ["genres"]\n'


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("described")
    write_collection(base)
    (base / "items.csv").write_text(GENRES)
    metrics = '[metrics]\nnames = ["P", "S-Recall"]\ncutoffs = [2]\n'
    return run_text(TREC + metrics + ITEMS + NO_ANALYSES, base, output=base / "study")


@pytest.mark.slow
def test_categories_of_a_table_reach_the_scores(described: Path) -> None:
    means = read_frame(described, "means")
    found = means[means.metric == "S-Recall"].set_index("system")["mean"]
    assert found["full"] == pytest.approx(1.0)  # a has both genres of u1, d and z the others'
    assert found["partial"] == pytest.approx(1 / 3)


@pytest.mark.slow
def test_items_without_features_are_counted_and_said(described: Path) -> None:
    warned = " ".join(manifest_of(described)["warnings"])  # type: ignore[arg-type]
    assert "items.csv: 3 items without features." in warned


# Metrics of the user

PLUGIN = '''
from harness.metrics.shared.metric import metric

@metric("Hits", source="by hand")
def hits(judged, *, cutoff=None):
    """Share of users with a relevant item."""
    return judged.relevant[:, :cutoff].any(axis=1).astype(float)
'''
PLUGGED = '[metrics]\nnames = ["nDCG", "Hits"]\ncutoffs = [1, 2]\nplugins = ["mine.py"]\n'


@pytest.fixture(scope="module")
def plugged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("plugged")
    write_collection(base)
    (base / "mine.py").write_text(PLUGIN)
    with figures_left_out():
        return run_text(TREC + PLUGGED + ANALYSES, base, output=base / "study")


@pytest.mark.slow
@pytest.mark.parametrize("name", COLUMNS)
def test_a_metric_of_the_user_is_in_every_table(plugged: Path, name: str) -> None:
    frame = read_frame(plugged, name)
    columns = [column for column in frame.columns if column in ("metric", "metric_a", "metric_b")]
    named = {str(metric) for column in columns for metric in frame[column]}
    assert named == {"nDCG", "Hits"}


def test_a_plugin_that_fails_is_answered_before_any_work(tmp_path: Path) -> None:
    write_collection(tmp_path)
    (tmp_path / "mine.py").write_text("1 / 0\n")
    with pytest.raises(
        InputError, match=r"mine\.py, line \d+: .*plug-in fails with ZeroDivisionError"
    ):
        run_text(TREC + PLUGGED, tmp_path, output=tmp_path / "study")
    assert not (tmp_path / "study").exists()


def test_a_metric_that_compares_users_is_refused(tmp_path: Path) -> None:
    write_collection(tmp_path)
    compared = PLUGIN.replace(".astype(float)", " / judged.n_users")
    (tmp_path / "mine.py").write_text(compared)
    with pytest.raises(InputError, match="must score every user by that user's lists alone"):
        run_text(TREC + PLUGGED, tmp_path, output=tmp_path / "study")
