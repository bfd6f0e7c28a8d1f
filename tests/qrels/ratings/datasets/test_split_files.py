from pathlib import Path

import pytest

from qrels.ratings.datasets.split_files import find_split_files
from runs import InputError

RECBOLE = ["x.part1.inter", "x.part2.inter", "x.part3.inter", "x.item"]
NCF = ["x.train.rating", "x.test.rating", "x.test.negative"]
MOVIELENS = [*(f"u{fold}.{part}" for fold in range(1, 6) for part in ("base", "test")), "ua.base"]
FOLDERS = [f"fold{fold}/{part}.csv" for fold in (1, 2, 12) for part in ("train", "test")]
PADDED = [f"{fold}/{part}.tsv.gz" for fold in ("01", "02") for part in ("Train", "valid", "Test")]


def found(folder: Path, names: list[str], *, fold: int | None = None) -> list[str]:
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).touch()
    files = find_split_files(folder, fold=fold)
    chosen = [files.train, files.validation, files.test]
    return [path.relative_to(folder).as_posix() for path in chosen if path is not None]


@pytest.mark.parametrize(
    ("names", "fold", "expected"),
    [
        (RECBOLE, None, RECBOLE[:3]),
        (NCF, None, NCF[:2]),
        (["train.csv", "test.csv", ".train.csv.swp", "items.csv"], None, ["train.csv", "test.csv"]),
        (MOVIELENS, 3, ["u3.base", "u3.test"]),
        (FOLDERS, 2, ["fold2/train.csv", "fold2/test.csv"]),
        (FOLDERS, 12, ["fold12/train.csv", "fold12/test.csv"]),
        (PADDED, 2, ["02/Train.tsv.gz", "02/valid.tsv.gz", "02/Test.tsv.gz"]),
    ],
)
def test_names_tell_what_files_hold(
    tmp_path: Path, names: list[str], fold: int | None, expected: list[str]
) -> None:
    assert found(tmp_path, names, fold=fold) == expected


@pytest.mark.parametrize(
    ("names", "fold", "sentence"),
    [
        (["train.csv"], None, r"no file of test ratings; no name has the word test or testing or"),
        (FOLDERS, None, r"several files of train ratings, .* or a `fold`: .*fold1"),
        (FOLDERS, 3, r", fold 3: no file of train ratings"),
    ],
)
def test_a_folder_without_one_split_is_refused(
    tmp_path: Path, names: list[str], fold: int | None, sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        found(tmp_path, names, fold=fold)
