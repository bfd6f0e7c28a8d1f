"""Every setting is in the keys that it should be in: a changed study equals a fresh one."""

from pathlib import Path
from shutil import copytree

import pytest

from harness.report.ledger import LEDGER
from tests.harness.small import NO_ANALYSES, SYSTEMS, WORLD, run_text, write_ratings

NAMED_LATE = {"manifest.json", "report.html", "study.toml"}
"""Files that hold times, or the name of the folder."""

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
[analyses]
names = ["correlation", "sparsity", "popularity", "discrimination", "users"]
[analyses.sparsity]
levels = [1.0, 0.5]
samples = 3
replicates = 10
[analyses.popularity]
levels = [1.0, 0.5]
[analyses.discrimination]
permutations = 99
test = "monte-carlo"
[analyses.users]
sizes = [20]
repeats = 2
permutations = 99
"""
)


def whole(folder: Path) -> dict[str, bytes]:
    """Give every file that a study wrote, by name, but for figures, which are left blank here."""
    files = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    own = {name for name in files if not name.startswith((LEDGER, "figures"))} - NAMED_LATE
    return {name: files[name].read_bytes() for name in sorted(own)}


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("before")
    return run_text(BASE, base, output=base / "study")


CHANGES = [
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
    ("levels = [1.0, 0.5]\nsamples = 3", "levels = [1.0, 0.4]\nsamples = 3"),
    ("samples = 3", "samples = 4"),
    ("replicates = 10", "replicates = 11"),
    ("permutations = 99\ntest", "permutations = 199\ntest"),
    ('test = "monte-carlo"', 'test = "t"'),
    ("repeats = 2", "repeats = 3"),
    ("sizes = [20]", "sizes = [25]"),
]


@pytest.mark.slow
@pytest.mark.usefixtures("blank_figures")
@pytest.mark.parametrize(("old", "new"), CHANGES)
def test_a_changed_study_is_the_same_as_a_fresh_one(
    before: Path, tmp_path: Path, old: str, new: str
) -> None:
    assert old in BASE
    changed = BASE.replace(old, new)
    again = copytree(before, tmp_path / "again")
    run_text(changed, tmp_path, output=again)
    fresh = run_text(changed, tmp_path, output=tmp_path / "fresh")
    assert whole(again) == whole(fresh)
    assert whole(fresh) != whole(before)


@pytest.mark.slow
@pytest.mark.usefixtures("blank_figures")
def test_other_training_ratings_under_the_same_judgements_change_what_is_known_of_items(
    tmp_path: Path,
) -> None:
    """EPC counts training ratings: the judgements stay, and the scores may not."""
    train = write_ratings(tmp_path / "train.csv", n_users=6)
    heading, *lines = train.read_text().splitlines(keepends=True)
    learnt = [line for line in lines if ",i9," not in line]
    train.write_text(heading + "".join(learnt))
    (tmp_path / "test.csv").write_text(heading + "".join(f"u{n},i9,5,1\n" for n in range(6)))
    text = (
        'name = "given"\n[ratings]\nthreshold = 4.0\n[split]\nmethod = "given"\nfolder = "."\n'
        '[systems]\nnames = ["random", "popularity"]\ndepth = 5\n'
        '[metrics]\nnames = ["P", "EPC"]\ncutoffs = [5]\n' + NO_ANALYSES
    )
    kept = run_text(text, tmp_path, output=tmp_path / "kept")
    first = whole(kept)
    train.write_text(heading + "".join(learnt[:-1]))
    run_text(text, tmp_path, output=kept)
    assert whole(kept) == whole(run_text(text, tmp_path, output=tmp_path / "fresh"))
    assert whole(kept) != first
