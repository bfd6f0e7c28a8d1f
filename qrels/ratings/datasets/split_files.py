"""Data that come split: which files hold training, validation and test ratings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from qrels.ratings.datasets.rating_file import place_of, read_ratings, read_without_doubts
from qrels.ratings.ratings import Ratings
from runs import InputError, Numbering
from runs.tables.source import Source


def read_two_parts(
    train: str | Path | Source, test: str | Path | Source, **options: Any
) -> Ratings:
    """Read training and test ratings as one set, with a mask of the test ratings.

    ``options`` are those of `read_ratings`, for both files. Times are kept if both parts have them.
    Raises InputError if a file cannot be read, or a pair of user and item is in both.
    """
    test_ratings, _ = read_without_doubts(test, **options)
    parts = [read_ratings(train, **options), test_ratings]
    users = Numbering.of(np.concatenate([part.users.ids for part in parts]))
    items = Numbering.of(np.concatenate([part.items.ids for part in parts]))
    user = np.concatenate([users.numbers(part.users.ids)[part.user] for part in parts])
    item = np.concatenate([items.numbers(part.items.ids)[part.item] for part in parts])
    pairs = user * np.int64(len(items)) + item
    order = np.argsort(pairs, kind="stable")
    sorted_pairs = pairs[order]
    is_repeated = sorted_pairs[1:] == sorted_pairs[:-1]
    repeated_ratings = order[1:][is_repeated]
    if len(repeated_ratings):
        first = repeated_ratings.min()
        user_id = str(users.ids[user[first]])
        item_id = str(items.ids[item[first]])
        place_in_train = place_of(train, user_id, item_id, **options)
        place_in_test = place_of(test, user_id, item_id, **options)
        raise InputError(
            f"{place_in_test}: user {user_id!r} and item {item_id!r} are in {place_in_train}, too. "
            "Training and test ratings must be disjoint: items that a user rated in training are "
            "no candidates, so no system could find them. Test ratings of this kind: "
            f"{len(repeated_ratings):,}."
        )
    rating = np.concatenate([part.rating for part in parts])
    is_test = np.repeat([False, True], [len(part) for part in parts])
    times = [part.time for part in parts if part.time is not None]
    time = np.concatenate(times)[order] if len(times) == len(parts) else None
    return Ratings(
        users=users,
        items=items,
        user=user[order],
        item=item[order],
        rating=rating[order],
        time=time,
        held_out=is_test[order],
    )


PARTS: Final[Mapping[str, tuple[str, ...]]] = {
    "train": ("train", "training", "base", "part1"),
    "validation": ("validation", "valid", "val", "dev", "part2"),
    "test": ("test", "testing", "part3"),
}
"""Words in the names of files that tell what they hold: RecBole's parts, MovieLens' u1.base."""

NO_RATINGS: Final = ("negative", "negatives")
"""Words in the names of files of sampled items, as beside NCF's ratings."""


@dataclass(frozen=True)
class SplitFiles:
    """Files of ratings, by what they are for."""

    train: Path
    test: Path
    validation: Path | None = None


def find_split_files(folder: Path, *, fold: int | None = None) -> SplitFiles:
    """Find the files of a split in a folder, by the words in their names.

    A file holds training ratings if a word of its name is train, training, base or part1,
    validation ratings if it is valid, validation, val, dev or part2, test ratings if it is test,
    testing or part3; words end where letters and digits do. Of several folds, fold 2 is what
    stands in a folder, or in files, with a word that is 2, or letters followed by 2:
    ``2/test.csv``, ``fold-2/test.csv``, ``u2.test``.

    Raises InputError if there is no such folder, or not exactly one file of training and one of
    test ratings, or several of validation ratings. Without the latter the path is None.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: there is no such folder.")
    paths = [path for pattern in ("*", "*/*") for path in sorted(folder.glob(pattern))]
    files = [path for path in paths if path.is_file() and not path.name.startswith(".")]
    place = str(folder)
    if fold is not None:
        files = [path for path in files if fold in _folds_of(path, folder)]
        place = f"{folder}, fold {fold}"
    files_of_part = {part: [path for path in files if _part_of(path) == part] for part in PARTS}
    validation = None
    if files_of_part["validation"]:
        validation = _require_one(place, "validation", files_of_part["validation"])
    return SplitFiles(
        train=_require_one(place, "train", files_of_part["train"]),
        test=_require_one(place, "test", files_of_part["test"]),
        validation=validation,
    )


def _words(name: str) -> list[str]:
    """Part a name into runs of letters and digits, in lower case."""
    return re.findall(r"[a-z0-9]+", name.lower())


def _part_of(path: Path) -> str | None:
    """Look up the part of a split that a file holds, by the words of its name.

    It is "train", "validation" or "test"; None if no word says so, or one says that the file holds
    no ratings.
    """
    words = set(_words(path.name))
    if words & set(NO_RATINGS):
        return None
    parts = (part for part, words_of_part in PARTS.items() if words & set(words_of_part))
    return next(parts, None)


def _folds_of(path: Path, folder: Path) -> set[int]:
    """Read the numbers of folds in the name of a file.

    If the file is in a subfolder of ``folder``, they are those in the name of the subfolder. Words
    that name a part of a split, such as "part1", do not count.
    """
    name = path.parent.name if path.parent != folder else path.name
    words_of_parts = {word for words in PARTS.values() for word in words}
    folds = set()
    for word in _words(name):
        match = re.fullmatch(r"[a-z]*([0-9]+)", word)
        if match is not None and word not in words_of_parts:
            folds.add(int(match[1]))
    return folds


def _require_one(place: str, part: str, files: Sequence[Path]) -> Path:
    """Return the one file of a part of a split; raise InputError if there is none, or several.

    Parameters
    ----------
    place
        Where files were looked for.
    part
        What the file holds, a key of `PARTS`.
    files
        The files of the part.
    """
    if not files:
        words = " or ".join(PARTS[part])
        raise InputError(f"{place}: no file of {part} ratings; no name has the word {words}.")
    if len(files) > 1:
        names = ", ".join(str(path) for path in files)
        raise InputError(
            f"{place}: several files of {part} ratings; give `{part}` or `fold`: {names}."
        )
    return files[0]
