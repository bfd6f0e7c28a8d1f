"""From a file of ratings to a report, as a user goes: `harness init`, then `harness run`."""

import csv
import random
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from harness.cli.main import main
from tests.harness.small import NO_ANALYSES, as_trec, manifest_of, read_frame

MISUSED = 2
SYSTEMS = ("--system", "popularity", "--system", "random")


def harness(*arguments: str | Path) -> Result:
    return CliRunner(env={"COLUMNS": "80"}).invoke(main, [str(argument) for argument in arguments])


def pairs(*, users: int = 12, items: int = 15, each: int = 8) -> list[tuple[int, int]]:
    """Whom each of some users rates."""
    draws = random.Random(5)
    return [(user, item) for user in range(users) for item in draws.sample(range(items), each)]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: str, lines: list[str]) -> None:
    Path(path).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def report_of(data: str, *, analyses: str = "") -> Path:
    """Go from data to a report, and give the study folder; a section saves other analyses."""
    assert harness("init", data, *SYSTEMS).exit_code == 0
    with Path("study.toml").open("a") as stream:
        stream.write(analyses)
    answer = harness("run", "study.toml", "--quiet", "--jobs", "1")
    assert (answer.exit_code, answer.stderr) == (0, "")
    folder = Path(f"study-{data.partition('.')[0]}")
    assert (folder / "report.html").is_file()
    return folder


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_what_was_seen_comes_to_a_report_without_a_threshold() -> None:
    header = "user_id:token\titem_id:token\ttimestamp:float"
    write("seen.inter", [header, *(f"{user}\t{item}\t{user}.0" for user, item in pairs())])
    folder = report_of("seen.inter")
    manifest = manifest_of(folder)
    assert manifest["warnings"] == [
        "All items are relevant, so bpref and infAP would equal Recall: they are left out "
        "unless `names` in [metrics] has them.",
    ]
    assert list(read_frame(folder, "means").metric.unique()) == ["P", "Recall", "AP", "nDCG", "RR"]


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_ids_with_spaces_and_iso_dates_come_to_a_report_that_names_them() -> None:
    day = "2024-01-{:02} 09:30+02:00"
    lines = [
        f'"Zoë, {user}. 日本","book {item}",{1 + (user + item) % 10},{day.format(item + 1)}'
        for user, item in pairs()
    ]
    write("books.csv", ["reader,title,stars,when", *lines, lines[0], "Nobody,,3,2024-01-01"])
    folder = report_of("books.csv", analyses=NO_ANALYSES)
    text = Path("study.toml").read_text(encoding="utf-8")
    assert 'columns.user = "reader"\ncolumns.item = "title"' in text
    assert "# 1 of 98 ratings miss a value and are left out." in text
    assert 'duplicates = "last"' in text
    with (folder / "ids.csv").open(encoding="utf-8", newline="") as stream:
        named = {(row["kind"], row["number"]): row["id"] for row in csv.DictReader(stream)}
    user, _, item, *_ = as_trec(folder / "runs/popularity.parquet").split(maxsplit=6)
    assert named["user", user].startswith("Zoë, ")
    assert named["item", item].startswith("book ")


def test_a_folder_of_training_and_test_ratings_is_a_given_split() -> None:
    Path("folds").mkdir()
    rows = [f"{u}|{i}|{1 + (u * i) % 5}|{100 * u + i}" for u, i in pairs()]
    for fold in (1, 2):
        write(f"folds/u{fold}.base", [row for k, row in enumerate(rows) if k % 4 != fold])
        write(f"folds/u{fold}.test", rows[fold::4])
    answer = harness("init", "folds", *SYSTEMS)
    assert answer.exit_code == 0, answer.stderr
    assert "Test ratings, of the test file" in answer.stdout
    text = Path("study.toml").read_text()
    ratings, _, split = text.partition("[split]")
    assert 'separator = "|"' in ratings
    assert "path" not in ratings
    assert 'folder = "folds"' in split
    assert re.search("^fold = 1 +# the folder has several folds$", split, re.MULTILINE)
    Path("study.toml").write_text(text + NO_ANALYSES)
    assert harness("run", "study.toml", "--quiet", "--jobs", "1").exit_code == 0
    assert len(Path("study-folds/split/test.csv").read_text().splitlines()) == 1 + len(rows[1::4])


def test_init_prints_what_describe_prints() -> None:
    write("log.csv", ["user,item,rating", *(f"{u},{i},{1 + i % 10}" for u, i in pairs())])
    printed = harness("describe", "log.csv").stdout
    assert "lowest rating" in printed
    assert "threshold" in printed
    of_init = printed.replace("harness describe", "harness init")
    assert harness("init", "log.csv").stdout.startswith(of_init)


def test_describe_takes_the_options_of_ratings() -> None:
    write("log.txt", [f"{i}|{u}|{1 + i % 7}" for u, i in pairs()])
    columns = ("--column", "user=1", "--column", "item=0", "--column", "rating=2")
    answer = harness("describe", "log.txt", *columns, "--separator", "|", "--threshold", "6.5")
    assert answer.stdout.count("named by you") == 3
    assert "\n  6.5 " in answer.stdout


def test_a_study_file_is_not_overwritten_unless_asked() -> None:
    write("log.csv", ["user,item", *(f"{u},{i}" for u, i in pairs())])
    write("study.toml", ["# mine"])
    answer = harness("init", "log.csv")
    assert answer.exit_code == MISUSED
    assert answer.stderr.startswith("Error: study.toml: the file exists; --overwrite replaces")
    assert Path("study.toml").read_text() == "# mine\n"
    assert harness("init", "log.csv", "--overwrite").exit_code == 0
    assert 'path = "log.csv"' in Path("study.toml").read_text()


def test_the_path_counts_from_the_folder_of_the_study() -> None:
    write("log.csv", ["user,item", *(f"{u},{i}" for u, i in pairs())])
    assert harness("init", "log.csv", "--output", "studies/first.toml").exit_code == 0
    assert f'path = "{Path("log.csv").resolve()}"' in Path("studies/first.toml").read_text()


@pytest.mark.parametrize(
    ("lines", "options", "sentence"),
    [
        (["a,b,c", "1,2,3"], (), "log.csv: No column is known to hold the users"),
        (["user,item,a,b", "1,2,3,4"], (), "cannot be told which column holds the ratings"),
        (["user,item,mark", "1,2,3"], (), "'mark' may be the rating: name it"),
        (["user,item", "1,2"], (), "leaves nothing to test: no user has two ratings"),
        (["user,item,rating", "1,2,good"], (), "log.csv, line 2: the rating must be a finite num"),
        (["user,item", "1,2"], ("--threshold", "3", "--implicit"), "there is no `threshold`."),
        (["user,item", "1,2"], ("--column", "user"), "'user' must have the form NAME=VALUE."),
        (["user,item", "1,2"], ("--system", "random"), "a study compares at least two systems"),
        (["user,item", "1,2"], ("--system", "eas"), "`--system`: no system is called 'eas'"),
        (["user,item,rating", "1,2,3", "1,3,5"], ("--threshold", "9"), "`--threshold` must be at"),
        (["user,item", "1,2"], (*SYSTEMS, "--system", "popularty"), "did you mean 'popularity'?"),
    ],
)
def test_a_mistake_is_answered_and_leaves_no_file(
    lines: list[str], options: tuple[str, ...], sentence: str
) -> None:
    write("log.csv", lines)
    answer = harness("init", "log.csv", *options)
    assert answer.exit_code == MISUSED
    assert sentence in answer.stderr
    assert not Path("study.toml").exists()


@pytest.mark.parametrize(
    ("command", "file", "lines", "finding"),
    [
        ("init", "sys.run", ["u Q0 i 1 2.5 x", "u Q0 j 2 1 x"], "this is a TREC run, not ratings"),
        ("init", "t.qrels", ["u 0 i 1", "u 0 j 0"], "this is a qrels file, not ratings"),
        ("run", "sys.run", ["u Q0 i 1 2.5 x"], "this is a TREC run, not a study file"),
        ("run", "r.csv", ["user,item", "u,i"], "`harness init r.csv` writes a study file"),
        ("evaluate", "b.run", ["\ufeffu Q0 i 1 x y"], "line 1: the score 'x' is not a number"),
    ],
)
def test_files_of_another_kind_are_recognised(
    command: str, file: str, lines: list[str], finding: str
) -> None:
    write(file, lines)
    write("q", ["u 0 i 1"])
    options = ("--qrels", "q") if command == "evaluate" else ()
    found = harness(command, file, *options)
    assert found.exit_code == MISUSED
    assert finding in " ".join(found.stderr.split())


def test_one_rating_that_is_no_number_hides_no_column() -> None:
    rated = [f"u{user}|i{item}|{1 + (user + item) % 5}" for user, item in pairs()]
    write("odd.csv", ["person|thing|mark", *rated, "u99|i3|NaN"])
    assert (
        "1 of 97 ratings miss a value and are left out"
        in harness("init", "odd.csv", "--yes").stdout
    )
    write("odd.csv", ["person|thing|mark", *rated, "u99|i3|abc"])
    assert "line 98: the rating must be" in harness("init", "odd.csv", "--overwrite").stderr
    write("bare.csv", [line.replace("|", ",") + ",881250949" for line in ["9,9,NaN", *rated]])
    assert "threshold" in harness("init", "bare.csv", "--overwrite").stdout
