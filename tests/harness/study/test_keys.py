"""Every setting is in the keys that it should be in: a changed study equals a fresh one."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from shutil import copytree

import pytest

from tests.harness.small import (
    NO_ANALYSES,
    SYSTEMS,
    TREC,
    TREC_METRICS,
    WORLD,
    contents,
    every_file,
    run_text,
    write_collection,
    write_ratings,
    write_run,
)

BASE = (
    WORLD
    + SYSTEMS
    + """
[split]
method = "user-random"
test_share = 0.2
[metrics]
names = ["P", "nDCG", "EPC"]
cutoffs = [5, 20]
"""
)
SPARSITY = """
[analyses]
names = ["sparsity"]
[analyses.sparsity]
levels = [1.0, 0.5]
samples = 3
replicates = 10
"""
DISCRIMINATION = """
[analyses]
names = ["discrimination"]
[analyses.discrimination]
permutations = 99
test = "monte-carlo"
"""
USERS = """
[analyses]
names = ["users"]
[analyses.users]
sizes = [20]
repeats = 2
permutations = 99
"""


def whole(folder: Path) -> dict[str, bytes]:
    """Give every file that a study wrote, by name, but for figures, which are left out here."""
    files = every_file(folder)
    return {name: files[name] for name in files if not name.startswith("figures")}


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Finished studies of the base with some analyses, each made once."""

    @cache
    def made(analyses: str) -> Path:
        base = tmp_path_factory.mktemp("before")
        return run_text(BASE + analyses, base, output=base / "study")

    return made


OF_ALL = [
    ("seed = 3", "seed = 4"),
    ("n_ratings = 1500", "n_ratings = 1400"),
    ("gini = 0.5", "gini = 0.6"),
    ("threshold = 4.0", "threshold = 3.0"),
    ("depth = 20", "depth = 30"),
    ("depth = 20", 'depth = 20\ncandidates = "test"'),
    ("depth = 20", "depth = 20\npositives = 4.0"),
    ("factors = 5", "factors = 6"),
    ("test_share = 0.2", "test_share = 0.3"),
    ('method = "user-random"\ntest_share = 0.2', 'method = "leave-one-out-random"'),
    ("cutoffs = [5, 20]", "cutoffs = [5, 10]"),
    ("cutoffs = [5, 20]", 'cutoffs = [5, 20]\naverage = "judgements"'),
    ('"P", "nDCG"', '"P", "nDCG(gains=exp)"'),
    ("levels = [1.0, 0.5]", "levels = [1.0, 0.4]"),
    ("samples = 3", "samples = 4"),
    ("replicates = 10", "replicates = 11"),
]
CHANGES = [
    *((SPARSITY, old, new) for old, new in OF_ALL),
    (DISCRIMINATION, "permutations = 99", "permutations = 199"),
    (DISCRIMINATION, 'test = "monte-carlo"', 'test = "t"'),
    (USERS, "repeats = 2", "repeats = 3"),
    (USERS, "sizes = [20]", "sizes = [25]"),
]


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
@pytest.mark.parametrize(("analyses", "old", "new"), CHANGES)
def test_a_changed_study_is_the_same_as_a_fresh_one(
    before: Callable[[str], Path], tmp_path: Path, analyses: str, old: str, new: str
) -> None:
    assert old in BASE + analyses
    changed = (BASE + analyses).replace(old, new)
    again = copytree(before(analyses), tmp_path / "again")
    run_text(changed, tmp_path, output=again)
    fresh = run_text(changed, tmp_path, output=tmp_path / "fresh")
    assert whole(again) == whole(fresh)
    assert whole(fresh) != whole(before(analyses))


GIVEN = (
    """
name = "given"
seed = 3
[ratings]
threshold = 4.0
[split]
method = "given"
folder = "."
[systems]
names = ["random", "popularity"]
depth = 5
[metrics]
names = ["P", "EPC"]
cutoffs = [5]
"""
    + NO_ANALYSES
)
"""Parts that no seed draws, so that what changes below changes no input."""


def made_twice(old: str, new: str, base: Path) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """Make a study, then another in its folder and in one of its own; these are given."""
    kept, fresh = base / "kept", base / "fresh"
    first = whole(run_text(old, base, output=kept))
    run_text(new, base, output=kept)
    run_text(new, base, output=fresh)
    assert whole(fresh) != first
    return whole(kept), whole(fresh)


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("seed = 3", "seed = 4"),
        ("depth = 5", "depth = 6"),
        ("depth = 5", 'depth = 5\ncandidates = "test"'),
        ("depth = 5", "depth = 5\n[systems.positives]\npopularity = 4.0"),
    ],
)
def test_a_changed_study_of_given_parts_is_the_same_as_a_fresh_one(
    tmp_path: Path, old: str, new: str
) -> None:
    heading, *lines = write_ratings(tmp_path / "train.csv").read_text().splitlines(keepends=True)
    tested = [line for line in lines if line.split(",")[1] in {"i7", "i8"} and line[1] < "6"]
    learnt = [line for line in lines if line not in tested]
    (tmp_path / "train.csv").write_text(heading + "".join(learnt))
    (tmp_path / "test.csv").write_text(heading + "".join(tested))
    kept, fresh = made_twice(GIVEN, GIVEN.replace(old, new), tmp_path)
    assert kept == fresh


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
@pytest.mark.parametrize(
    ("metric", "table"),
    [("ARP", "popularity"), ("S-Recall", "features"), ("Recall(propensity=table)", "propensities")],
)
def test_an_edited_table_of_items_makes_the_scores_of_given_runs_again(
    tmp_path: Path, metric: str, table: str
) -> None:
    write_collection(tmp_path)
    items = tmp_path / "items.csv"
    items.write_text("item,x\na,1\nb,1\nc,1\nd,1\nz,1\n")
    metrics = f'[metrics]\nnames = ["P", "{metric}"]\ncutoffs = [1]\n'
    text = TREC + metrics + f'[items]\n{table} = "items.csv"\n' + NO_ANALYSES
    kept = run_text(text, tmp_path, output=tmp_path / "kept")
    first = (kept / "scores.parquet").read_bytes()
    changed = "a,0.5" if table == "propensities" else "a,0"
    items.write_text(items.read_text().replace("a,1", changed))
    run_text(text, tmp_path, output=kept)
    fresh = run_text(text, tmp_path, output=tmp_path / "fresh")
    assert whole(kept) == whole(fresh)
    assert (kept / "scores.parquet").read_bytes() != first


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_other_columns_of_the_features_make_the_scores_of_given_runs_again(tmp_path: Path) -> None:
    write_collection(tmp_path)
    (tmp_path / "items.csv").write_text("item,x,y\na,1,1\nb,1,0\nc,1,0\nd,1,0\nz,1,1\n")
    metrics = '[metrics]\nnames = ["P", "S-Recall"]\ncutoffs = [1]\n'
    items = '[items]\nfeatures = "items.csv"\ncolumns = ["x"]\n'
    text = TREC + metrics + items + NO_ANALYSES
    kept, fresh = made_twice(text, text.replace('["x"]', '["y"]'), tmp_path)
    assert kept == fresh


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_other_references_make_the_true_scores_of_given_runs_again(tmp_path: Path) -> None:
    write_collection(tmp_path)
    (tmp_path / "true.qrels").write_text("u1 0 a 1\nu1 0 x 1\nu2 0 d 1\nu3 0 y 1\n")
    truth = '[truth]\npath = "true.qrels"\nreferences = ["P@1"]\n'
    text = TREC + TREC_METRICS + truth + '[analyses]\nnames = ["validity"]\n'
    kept, fresh = made_twice(text, text.replace("P@1", "P@3"), tmp_path)
    assert kept == fresh


RATES = "model,rate\nfull,0.03\npartial,0.02\nthird,0.01\n"


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_another_seed_makes_the_analyses_of_given_runs_again(tmp_path: Path) -> None:
    write_collection(tmp_path)
    text = TREC + TREC_METRICS + '[analyses]\nnames = ["discrimination"]\n'
    kept, fresh = made_twice("seed = 3" + text, "seed = 4" + text, tmp_path)
    assert kept == fresh


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_another_relevance_level_makes_the_scores_of_given_runs_again(tmp_path: Path) -> None:
    write_collection(tmp_path)
    text = TREC + "relevance_level = 1\n" + TREC_METRICS + NO_ANALYSES
    kept, fresh = made_twice(text, text.replace("level = 1", "level = 2"), tmp_path)
    assert kept == fresh


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_an_analysis_is_made_again_when_a_table_that_it_reads_is_another(tmp_path: Path) -> None:
    write_collection(tmp_path)
    write_run(tmp_path, "third", {"u1": ["c"], "u2": ["d"], "u3": ["z"]})
    rates = tmp_path / "rates.csv"
    rates.write_text(RATES)
    text = (
        TREC
        + TREC_METRICS
        + '[analyses]\nnames = ["online"]\n[analyses.online]\nrates = "rates.csv"\n'
    )
    kept = run_text(text, tmp_path, output=tmp_path / "kept")
    first = whole(kept)
    rates.write_text(RATES.replace("0.01", "0.04"))
    run_text(text, tmp_path, output=kept)
    fresh = run_text(text, tmp_path, output=tmp_path / "fresh")
    assert whole(kept) == whole(fresh) != first


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_other_training_ratings_under_the_same_judgements_change_what_is_known_of_items(
    tmp_path: Path,
) -> None:
    """EPC counts training ratings: judgements and lists stay, and the scores may not."""
    train = write_ratings(tmp_path / "train.csv", n_users=6)
    heading, *lines = train.read_text().splitlines(keepends=True)
    learnt = [line for line in lines if ",i9," not in line]
    train.write_text(heading + "".join(learnt) + "u9,i0,5,1\n")
    (tmp_path / "test.csv").write_text(heading + "".join(f"u{n},i9,5,1\n" for n in range(6)))
    kept = run_text(GIVEN, tmp_path, output=tmp_path / "kept")
    first = whole(kept)
    lists = contents(kept, "runs/*")
    train.write_text(heading + "".join(learnt) + "u9,i0,5,1\nu9,i1,5,1\n")
    run_text(GIVEN, tmp_path, output=kept)
    assert contents(kept, "runs/*") == lists
    assert whole(kept) == whole(run_text(GIVEN, tmp_path, output=tmp_path / "fresh"))
    assert whole(kept) != first
