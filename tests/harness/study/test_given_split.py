"""Studies of splits that are made elsewhere, in the layouts that people have."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.study.collection import Collection, collect
from harness.study.study import Study
from harness.trec_eval.export import export_study
from harness.tuning.validation import validation_of
from runs import InputError, InputWarning
from tests.harness.small import METRICS, NO_ANALYSES, SYSTEMS, contents, manifest_of, run_text

GIVEN = 'name = "x"\nseed = 3\n[ratings]\nthreshold = 4.0\n[split]\nmethod = "given"\n'
FILES = 'train = "train.csv"\ntest = "test.csv"\n'
ASKED = SYSTEMS + METRICS + NO_ANALYSES
HEADER = "user,item,rating\n"
TRAIN = [(user, item, 5 - (user + item) % 4) for user in range(6) for item in range(5)]
VALIDATION = [(user, 5, 4) for user in range(6)]
TEST = [(user, item, 5 - 2 * (item % 2)) for user in range(6) for item in (6, 7)]

Rows = Sequence[tuple[int, ...]]


def write(path: Path, rows: Rows, *, header: str = HEADER, separator: str = ",") -> None:
    lines = [separator.join(map(str, row)) + "\n" for row in rows]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(header + "".join(lines))


def known(rows: Rows = TEST) -> Rows:
    """Training ratings that make every item of the test part known, by a user of their own."""
    return [*TRAIN] + [(9, item, 3) for item in sorted({item for _, item, _ in rows})]


def collected(text: str, base: Path) -> Collection:
    return collect(Study.parse(text, source="study.toml", base=base, changes={}))


def pairs(collection: Collection) -> list[list[tuple[str, str]]]:
    assert collection.split is not None
    return [
        list(zip(p.users.ids[p.user].tolist(), p.items.ids[p.item].tolist(), strict=True))
        for p in (collection.split.train, collection.split.test)
    ]


def as_pairs(rows: Rows) -> list[tuple[str, str]]:
    return sorted((str(user), str(item)) for user, item, _ in rows)


def test_a_given_split_leads_to_a_report(tmp_path: Path) -> None:
    write(tmp_path / "train.csv", known())
    write(tmp_path / "test.csv", TEST)
    folder = run_text(GIVEN + FILES + ASKED, tmp_path, output=tmp_path / "study")
    assert "12 judgements" in (folder / "report.html").read_text(encoding="utf-8")
    inputs = json.loads((folder / "manifest.json").read_bytes())["inputs"]
    assert [Path(known["path"]).name for known in inputs] == ["train.csv", "test.csv"]
    warnings = manifest_of(folder)["warnings"]
    assert isinstance(warnings, list)
    (warning,) = warnings
    assert warning.startswith("lists down to rank 5 hold more than half of the 7 items")


@pytest.mark.filterwarnings("ignore::runs.InputWarning")
@pytest.mark.parametrize("layout", ["recbole", "ncf", "folds"])
def test_layouts_are_recognised(tmp_path: Path, layout: str) -> None:
    if layout == "recbole":
        header = "user_id:token\titem_id:token\trating:float\n"
        for part, rows in {"part1": TRAIN, "part2": VALIDATION, "part3": TEST}.items():
            write(tmp_path / f"x/x.{part}.inter", rows, header=header, separator="\t")
    elif layout == "ncf":
        for part, rows in {"train": TRAIN, "test": TEST}.items():
            timed = [(*row, 7) for row in rows]
            write(tmp_path / f"x/x.{part}.rating", timed, header="", separator="\t")
        (tmp_path / "x/x.test.negative").write_text("(0,6)\t1\t2\n")
    else:
        for fold in (1, 2):
            shift = [(user + fold - 2, item, rating) for user, item, rating in TRAIN]
            write(tmp_path / f"x/{fold}/train.csv", shift)
            write(
                tmp_path / f"x/{fold}/test.tsv",
                TEST,
                header=HEADER.replace(",", "\t"),
                separator="\t",
            )
    options = 'folder = "x"\n' + ("fold = 2\n" if layout == "folds" else "")
    assert pairs(collected(GIVEN + options, tmp_path)) == [as_pairs(TRAIN), as_pairs(TEST)]


def test_a_pair_in_both_parts_is_refused_with_both_places(tmp_path: Path) -> None:
    write(tmp_path / "train.csv", known())
    write(tmp_path / "test.csv", [*TEST, (2, 3, 5)])
    with pytest.raises(InputError) as caught:
        collected(GIVEN + FILES, tmp_path)
    assert str(caught.value).startswith(
        f"{tmp_path}/test.csv, line 14: user '2' and item '3' are in {tmp_path}/train.csv, line 15"
    )


def test_what_training_does_not_know_is_said_once_with_counts(tmp_path: Path) -> None:
    write(tmp_path / "train.csv", TRAIN)
    write(tmp_path / "test.csv", [*TEST, (8, 1, 5)])
    with pytest.warns(InputWarning) as caught:
        collected(GIVEN + FILES, tmp_path)
    (sentence,) = [str(w.message) for w in caught if "without training" in str(w.message)]
    assert "1 of 7 users and 2 of 3 items (6 relevant ratings)" in sentence


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            GIVEN.replace("threshold = 4.0", 'path = "a.csv"') + FILES,
            "line 3: `ratings`: a given split has its own ratings",
        ),
        (GIVEN.replace("threshold = 4.0", 'format = "world"') + FILES, "has its own ratings"),
        (GIVEN + 'folder = "nowhere"\n', "line 7: /data/nowhere: there is no such folder."),
        (GIVEN, "line 5: `split`: a given split needs `train` and `test`, or a `folder`."),
    ],
)
def test_a_given_split_that_cannot_be_is_answered_with_its_line(text: str, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        Study.parse(text, source="study.toml", base=Path("/data"), changes={})
    assert sentence in str(caught.value)


@pytest.mark.filterwarnings("ignore::runs.InputWarning")
@pytest.mark.parametrize("has_validation", [True, False])
def test_settings_are_chosen_by_the_validation_part_if_there_is_one(
    tmp_path: Path, has_validation: bool
) -> None:
    """Without one the usual split of the training part is made; the test part is not read."""
    write(tmp_path / "train.csv", known())
    write(tmp_path / "validation.csv", VALIDATION)
    write(tmp_path / "test.csv", TEST)
    option = 'validation = "validation.csv"\n' if has_validation else ""
    study = Study.parse(GIVEN + FILES + option, source="study.toml", base=tmp_path, changes={})
    split = validation_of(study).split
    items = set(split.test.items.ids[split.test.item].tolist())
    assert (items == {"5"}) == has_validation
    assert len(split.train) + len(split.test) == len(known()) + has_validation * len(VALIDATION)


@pytest.fixture(scope="module")
def exported(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("exported")
    export_study(finished, target)
    return target


@pytest.mark.parametrize("folder", ["recbole/small", "lenskit", "split"])
def test_a_study_of_an_exported_split_has_the_same_runs_and_scores(
    finished: Path, exported: Path, tmp_path: Path, folder: str
) -> None:
    place = finished / folder if folder == "split" else exported / folder
    text = GIVEN + f'folder = "{place}"\n' + ASKED
    again = run_text(text, tmp_path, output=tmp_path / "study")
    for pattern in ("runs/*", "qrels/*", "split/*", "tables/means.csv"):
        assert contents(again, pattern) == contents(finished, pattern)
