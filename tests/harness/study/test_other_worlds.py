"""Other worlds in whole studies: each a study in a folder of its own."""

from pathlib import Path
from shutil import copytree

import numpy as np
import pytest

from analyses.shared.evidence import read_evidence
from analyses.shared.work import OtherWorld, Work
from analyses.validity import ValiditySweep
from harness.readers.score_parquet import scores_from_parquet
from harness.study.other_worlds import with_world
from harness.study.run import compute_in_world
from harness.study.study import Study
from qrels.ratings.world import PRESETS
from runs import InputError
from tests.conftest import figures_left_out
from tests.harness.small import (
    METRICS,
    NO_ANALYSES,
    SYSTEMS,
    TREC,
    WORLD,
    contents,
    made_again,
    made_at,
    run_text,
    write_collection,
    write_ratings,
)

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::runs.InputWarning")]

SWEEP = """
[analyses]
names = ["validity_sweep"]
[analyses.validity_sweep]
strengths = [0.0, 2.0]
worlds = 2
samples = 2
"""
BASE = WORLD + SYSTEMS + METRICS
SWEPT = BASE + SWEEP
FOUND = ("worlds/*/scores.parquet", "tables/*.csv", "evidence/validity_sweep.npz")


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("swept")
    with figures_left_out():
        return run_text(SWEPT, base, output=base / "study")


@pytest.fixture
def copied(swept: Path, tmp_path: Path) -> Path:
    return copytree(swept, tmp_path / "study")


def test_the_study_of_a_world_is_what_it_is_when_it_is_run_by_itself(
    swept: Path, tmp_path: Path
) -> None:
    """In the world itself, of strength 1, a study of its own scores the same."""
    world = OtherWorld(strength=0.0, density=1.0, seed=5)
    study = Study.parse(BASE, source="study.toml", base=tmp_path, changes={"output": tmp_path})
    work = compute_in_world(with_world(study, world), WorkItself())
    world_text = BASE.replace("seed = 3", "seed = 5").replace(
        "gini = 0.5", "gini = 0.5\nstrength = 0.0\nseed = 5"
    )
    alone = run_text(world_text + NO_ANALYSES, tmp_path, output=tmp_path / "alone")
    for scores, file in (
        (work.scores, "scores.parquet"),
        (work.truth.scores, "truth/scores.parquet"),
    ):
        expected = scores_from_parquet((alone / file).read_bytes())
        assert scores.systems == expected.systems
        np.testing.assert_array_equal(scores.values, expected.values)


class WorkItself:
    """Asks of a world for all that an analysis may use."""

    result_class = Work

    def __call__(self, work: Work) -> Work:
        return work


@pytest.mark.usefixtures("no_figures")
def test_two_workers_find_the_same_as_one(swept: Path, tmp_path: Path) -> None:
    folder = run_text(SWEPT, tmp_path, output=tmp_path / "study", n_jobs=2)
    for pattern in FOUND:
        assert contents(folder, pattern) == contents(swept, pattern)


@pytest.mark.usefixtures("no_figures")
def test_another_strength_leaves_the_other_worlds_as_they_are(copied: Path) -> None:
    before = made_at(copied)
    worlds = {folder.name: made_at(folder) for folder in (copied / "worlds").iterdir()}
    run_text(SWEPT.replace("[0.0, 2.0]", "[0.0, 1.0]"), copied, output=copied)
    assert made_again(copied, before) == {"validity_sweep", "drawn-validity_sweep"}
    for name, before_in_world in worlds.items():
        assert not made_again(copied / "worlds" / name, before_in_world)
    strengths = [folder.name.partition("-")[0] for folder in (copied / "worlds").iterdir()]
    assert sorted(strengths) == ["0", "0", "1", "1", "2", "2"]


@pytest.mark.validity
@pytest.mark.usefixtures("no_figures")
def test_where_many_are_observed_at_random_every_measure_orders_as_the_truth_does(
    tmp_path: Path,
) -> None:
    """The systems differ: what learns from stars, what from who rated what, and chance."""
    text = (WORLD + SYSTEMS + SWEEP).replace("[0.0, 2.0]", "[0.0]").replace("popularity", "svd")
    text = text.replace("= 1500", "= 45000").replace("n_users = 60", "n_users = 1500")
    metrics = "[metrics]\ncutoffs = [20]\n"
    folder = run_text(text + metrics, tmp_path, output=tmp_path / "study")
    found = read_evidence(folder / "evidence/validity_sweep.npz", ValiditySweep)
    valid = found.values[[found.aspects.index(name) for name in ("itself", "nDCG@10", "P@10")]]
    assert (valid == 1).all()


@pytest.mark.parametrize("source", ["ratings", "runs"])
def test_a_study_without_a_world_is_refused_before_any_work(source: str, tmp_path: Path) -> None:
    write_ratings(tmp_path / "ratings.csv")
    write_collection(tmp_path)
    text = {
        "ratings": 'name = "own"\n[ratings]\npath = "ratings.csv"\n' + SYSTEMS + METRICS,
        "runs": TREC + METRICS,
    }[source]
    with pytest.raises(InputError, match="other worlds need a study of a simulated world"):
        run_text(text + SWEEP, tmp_path, output=tmp_path / "study")
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize(
    ("given", "finding"),
    [
        ('[runs]\npaths = ["*.run"]\n', "no runs by other programs"),
        (
            '[ratings.world]\nstrength = 2\nbias = "liking"\n',
            "differs from the bias 'both' of the worlds",
        ),
    ],
)
def test_what_cannot_be_had_in_another_world_is_refused(given: str, finding: str) -> None:
    text = f'name = "w"\n[ratings]\nformat = "world"\n{given}' + NO_ANALYSES
    study = Study.parse(text, source="study.toml", base=Path(), changes={})
    with pytest.raises(InputError, match=finding):
        with_world(study, OtherWorld(1.0, 1.0, 7))


def test_worlds_that_cannot_be_are_refused_with_the_line(tmp_path: Path) -> None:
    text = SWEPT + "densities = [100.0]\n"
    with pytest.raises(InputError, match=r"study.toml, line \d+: .*`n_ratings` times `fill`"):
        run_text(text, tmp_path, output=tmp_path / "study")


def test_a_world_of_strength_1_and_density_1_is_the_studys_under_another_seed() -> None:
    text = 'name = "w"\n[ratings]\nformat = "world"\n' + NO_ANALYSES
    study = Study.parse(text, source="study.toml", base=Path(), changes={})
    other = with_world(study, OtherWorld(1.0, 1.0, 7))
    assert other.ratings is not None
    assert PRESETS["small"].model_copy(update=other.ratings.world) == PRESETS["small"].model_copy(
        update={"seed": 7}
    )


def test_strength_and_density_multiply_those_of_the_studys_world() -> None:
    world = "[ratings.world]\nstrength = 0.5\nfill = 0.8\n"
    text = f'name = "w"\n[ratings]\nformat = "world"\n{world}{NO_ANALYSES}'
    study = Study.parse(text, source="study.toml", base=Path(), changes={"output": Path("out")})
    other = with_world(study, OtherWorld(strength=3.0, density=0.5, seed=7))
    assert other.ratings is not None
    assert other.ratings.world["strength"] == pytest.approx(1.5)
    assert other.ratings.world["fill"] == pytest.approx(0.4)
    assert (other.seed, other.ratings.world["seed"]) == (7, 7)
    assert other.folder == Path("out/worlds/3-0.5-7")
