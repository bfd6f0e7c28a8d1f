"""Every setting is in the keys that it should be in: a changed study equals a fresh one."""

from pathlib import Path
from shutil import copytree

import pytest

from tests.harness.small import NO_ANALYSES, SYSTEMS, WORLD, contents, run_text, write_ratings

ALL_FILES = "**/*.*"
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
names = ["P", "nDCG", "Novelty"]
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
test = "permutation"
[analyses.users]
sizes = [20]
repeats = 2
permutations = 99
"""
)


def whole(folder: Path) -> dict[str, bytes]:
    found = contents(folder, ALL_FILES)
    return {
        name: content
        for name, content in found.items()
        if name not in NAMED_LATE and not name.startswith(".ledger")
    }


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
    ("depth = 20", 'depth = 20\ncandidates = "all"'),
    ("depth = 20", "depth = 20\npositives = 4.0"),
    ("factors = 5", "factors = 6"),
    ("test_share = 0.2", "test_share = 0.3"),
    ('method = "user-random"', 'method = "global-random"'),
    ("cutoffs = [5, 20]", "cutoffs = [5, 10]"),
    ("cutoffs = [5, 20]", 'cutoffs = [5, 20]\naverage = "judgements"'),
    ('"P", "nDCG"', '"P", "nDCG(gain=exponential)"'),
    ("levels = [1.0, 0.5]\nsamples = 3", "levels = [1.0, 0.4]\nsamples = 3"),
    ("samples = 3", "samples = 4"),
    ("replicates = 10", "replicates = 11"),
    ("permutations = 99\ntest", "permutations = 49\ntest"),
    ('test = "permutation"', 'test = "t"'),
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
    """Novelty counts training ratings: the runs may stay, and the scores may not."""
    rated = {f"u{n}": {f"i{(n * k) % 13}": 5.0 for k in range(1, 8)} for n in range(1, 9)}
    write_ratings(tmp_path / "train.csv", rated)
    write_ratings(tmp_path / "test.csv", {f"u{n}": {f"j{n % 3}": 5.0} for n in range(1, 9)})
    text = (
        'name = "given"\n[ratings]\nthreshold = 4.0\n[split]\nmethod = "given"\nfolder = "."\n'
        '[systems]\nnames = ["random", "popularity"]\ndepth = 5\n'
        '[metrics]\nnames = ["P", "Novelty"]\ncutoffs = [5]\n' + NO_ANALYSES
    )
    kept = run_text(text, tmp_path, output=tmp_path / "kept")
    first = whole(kept)
    rated["u1"] |= {"i0": 5.0, "i5": 5.0}
    write_ratings(tmp_path / "train.csv", rated)
    run_text(text, tmp_path, output=kept)
    assert whole(kept) == whole(run_text(text, tmp_path, output=tmp_path / "fresh"))
    assert whole(kept) != first
