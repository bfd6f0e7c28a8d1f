import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from analyses.shared.work import OtherWorld
from harness.cli.console import EXIT_MISUSED
from harness.cli.main import main
from harness.readers.score_parquet import scores_from_parquet
from harness.study.collection import collect
from harness.study.other_worlds import with_world
from harness.study.run import run_study
from harness.study.study import Study
from qrels.ratings.datasets.rating_lines import format_rating_lines
from qrels.ratings.world import Truth, WorldSettings, make_world
from runs import InputError

pytestmark = pytest.mark.slow

STUDY = """
name = "like"
[ratings]
format = "world"
like = "ratings.csv"
"""


def world(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["world", "--quiet", *map(str, arguments)])


@pytest.fixture(scope="module")
def like(tmp_path_factory: pytest.TempPathFactory) -> Path:
    settings = WorldSettings(n_users=100, n_items=150, n_ratings=3000, min_ratings=10, gini=0.5)
    path = tmp_path_factory.mktemp("like") / "ratings.csv"
    path.write_bytes(format_rating_lines(make_world(settings).ratings))
    return path


def test_distributions_stand_beside_the_real_ones(like: Path, tmp_path: Path) -> None:
    answer = world("--like", like, "--output", tmp_path / "made")
    assert answer.exit_code == 0, answer.output
    assert re.search(r"^ +ratings +3,000 +3,000 *$", answer.stdout, re.MULTILINE)
    assert re.search(r"^ +interest +0\.\d+", answer.stdout, re.MULTILINE)
    assert (tmp_path / "made" / "world.csv").read_text().count("\n") == 3001
    assert len(Truth.load(tmp_path / "made" / "truth.npz").users) == 100


def test_a_folder_that_is_there_is_refused_before_anything_is_fitted(
    like: Path, tmp_path: Path
) -> None:
    answer = world("--like", like, "--output", tmp_path)
    assert answer.exit_code == EXIT_MISUSED
    assert "--output must name a new folder" in answer.stderr


def test_a_setting_out_of_range_is_refused(like: Path) -> None:
    answer = world("--like", like, "--liking", "9")
    assert answer.exit_code == EXIT_MISUSED
    assert "--liking" in answer.stderr


def test_a_study_of_a_world_like_ratings_knows_its_truth(like: Path) -> None:
    made = collect(Study.parse(STUDY, source="study.toml", base=like.parent, changes={}))
    assert made.truth is not None
    assert len(made.truth.users) == 100
    assert [*made.inputs[0]] == ["path", "sha256"]
    assert made.inputs[1]["world"]["liking"] == 1.0


def test_what_the_ratings_do_not_tell_is_a_setting_of_the_world(like: Path) -> None:
    text = STUDY + "[ratings.world]\nliking = 0.0\nseed = 3\n"
    one, other = (
        collect(Study.parse(t, source="study.toml", base=like.parent, changes={}))
        for t in (STUDY, text)
    )
    assert one.truth is not None
    assert other.truth is not None
    assert not np.array_equal(one.truth.popularity, other.truth.popularity)


def test_the_systems_are_trained_in_other_worlds_like_the_ratings(
    like: Path, tmp_path: Path
) -> None:
    text = (
        STUDY
        + '[systems]\nnames = ["random", "popularity"]\n[metrics]\nnames = ["P"]\ncutoffs = [10]\n'
    )
    changes = {"output": tmp_path / "study"}
    study = Study.parse(text, source="study.toml", base=like.parent, changes=changes)
    biased = []
    for strength in (0.0, 1.0):
        report = run_study(with_world(study, OtherWorld(strength, 1.0, 7)))
        scores = scores_from_parquet(report.with_name("scores.parquet").read_bytes())
        biased.append(scores.mean_values()[0])
    assert biased[1][1] > 2 * biased[1][0]
    assert biased[0][1] < 1.5 * biased[0][0]


def test_a_world_that_cannot_be_fitted_names_the_file(tmp_path: Path) -> None:
    lines = [f"{user},{item},{1 + item % 5},0\n" for user in range(5) for item in range(9)]
    text = "userId,movieId,rating,timestamp\n" + "".join(lines)
    (tmp_path / "ratings.csv").write_text(text)
    with pytest.raises(InputError, match=r"ratings\.csv: a world can only be fitted to 20 users"):
        collect(Study.parse(STUDY, source="study.toml", base=tmp_path, changes={}))
