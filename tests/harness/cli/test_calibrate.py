from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from analyses.shared.measure import Measure, Measures, Scores
from harness.cli.calibrate import populations, studies
from harness.cli.main import main
from harness.readers.scores import read_score_tables, scores_to_parquet
from runs import InputError

BROKEN, MISUSED = 1, 2


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A folder with the scores of 3 systems and 40 users, for two measures."""
    values = np.random.default_rng(5).random((2, 3, 40))
    measures = Measures((Measure("AP", 10), Measure("nDCG", 10)))
    scores = Scores(values, measures, ("a", "b", "c"), np.arange(40).astype(str))
    (tmp_path / "scores.parquet").write_bytes(scores_to_parquet(scores))
    return tmp_path


def calibrate(*arguments: str | Path) -> Result:
    quick = ("calibrate", "--sets", "3", "--studies", "2", "--jobs", "1", "--quiet")
    return CliRunner(env={"COLUMNS": "200"}).invoke(main, [*quick, *map(str, arguments)])


def test_without_a_file_scores_are_simulated() -> None:
    found = populations([], seed=1)
    assert [(one.label, one.continuous) for one in found] == [
        ("continuous", True),
        ("lattice", False),
    ]


def test_every_measure_of_a_file_is_a_population(study: Path) -> None:
    found = populations([study], seed=1)
    assert [one.label for one in found] == ["AP@10", "nDCG@10"]
    np.testing.assert_array_equal([one.scores for one in found], read_score_tables([study]).values)


def test_measures_of_a_file_are_studied_together(study: Path) -> None:
    (found,) = studies([study], seed=1)
    assert [str(one) for one in found.everybody.scores.measures] == ["AP@10", "nDCG@10"]
    (found,) = studies([study], measures=["AP@10"], seed=1)
    assert [str(one) for one in found.everybody.scores.measures] == ["AP@10"]


def test_a_measure_can_be_chosen(study: Path) -> None:
    assert [one.label for one in populations([study], measures=["AP@10"], seed=1)] == ["AP@10"]


def test_a_table_of_scores_is_a_population(tmp_path: Path) -> None:
    path = tmp_path / "ap.csv"
    path.write_text("topic,a,b\n301,0.1,0.2\n302,0.3,0.4\n303,0.5,0.6\n")
    (found,) = populations([path], seed=1)
    assert (found.label, found.n_users) == ("ap", 3)
    np.testing.assert_array_equal(found.scores, [[0.1, 0.3, 0.5], [0.2, 0.4, 0.6]])


def test_measures_of_several_files_are_named_with_theirs(study: Path) -> None:
    file = study / "scores.parquet"
    found = populations([study, file], measures=["AP@10"], seed=1)
    assert [one.label for one in found] == [f"{study} AP@10", f"{file} AP@10"]


def test_a_measure_that_a_file_lacks_is_named(study: Path) -> None:
    with pytest.raises(InputError, match="has no scores of 'P@5'; it has AP@10, nDCG@10"):
        populations([study], measures=["P@5"], seed=1)


def test_measures_need_a_file() -> None:
    with pytest.raises(InputError, match="needs a file"):
        populations([], measures=["P@5"], seed=1)


def test_a_file_that_holds_no_scores_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("no scores")
    with pytest.raises(InputError, match=r"notes.txt, line 1: the table has a heading but no"):
        populations([path], seed=1)


@pytest.mark.slow
def test_the_command_prints_a_table_for_each_kind_of_procedure(study: Path) -> None:
    answer = calibrate(study)
    assert answer.exit_code == 0, answer.output
    assert [part.partition("\n")[0] for part in answer.stdout.split("\n\n")] == [
        "Type-I error",
        "Error at equal means",
        "Error at equal margins",
        "Power",
        "Error of sign, by half the level",
        "Family-wise error",
        "False discovery rate",
        "Coverage",
        "False differences",
        answer.stdout.splitlines()[-1],
    ]
    assert "Broken promises: 0 of" in answer.stdout
    assert "Rates in 3 sets of 40 users of AP@10, 3 sets of 40 users of nDCG@10, 2 sets" in (
        answer.stdout
    )


@pytest.mark.slow
@pytest.mark.parametrize("asked", [["--csv"], ["--format", "csv"]])
def test_the_command_prints_all_digits_as_csv(study: Path, asked: list[str]) -> None:
    answer = calibrate(study, "--measure", "AP@10", "--users", "20", *asked)
    header, first, *_ = answer.stdout.splitlines()
    assert header.startswith("quantity,procedure,scores,nominal,observed,n_sets,n_users")
    assert first.startswith("type-I error,exact permutation,AP@10,0.01,")


@pytest.mark.slow
def test_the_seed_decides_everything(study: Path) -> None:
    one, same, other = (
        calibrate(study, "--users", "9", "--csv", "--seed", seed).stdout for seed in "112"
    )
    assert one == same
    assert one != other


@pytest.mark.slow
def test_a_broken_promise_is_told_by_the_exit_code(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "analyses.calibration.procedures.sign_test", lambda scores: np.array([[0.001]])
    )
    answer = calibrate(study, "--measure", "AP@10")
    assert answer.exit_code == BROKEN
    assert "TOO OFTEN" in answer.stdout
    assert "Caution: sign breaks its promise on AP@10" in answer.stderr


def test_wrong_usage_is_told_by_the_exit_code() -> None:
    assert calibrate("--measure", "P@5").exit_code == MISUSED
