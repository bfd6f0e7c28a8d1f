"""Data that come split: which files hold training, validation and test ratings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from qrels.ratings.datasets.rating_file import place_of, read_ratings
from qrels.ratings.ratings import Ratings
from runs import InputError, Numbering
from runs.tables.source import Source


def read_two_parts(
    train: str | Path | Source, test: str | Path | Source, **options: Any
) -> Ratings:
    """Read training and test ratings as one set, which knows what is held out.

    Times are kept if both parts have them.
    """
    parts = [read_ratings(path, **options) for path in (train, test)]
    users = Numbering.of(np.concatenate([part.users.ids for part in parts]))
    items = Numbering.of(np.concatenate([part.items.ids for part in parts]))
    user = np.concatenate([users.numbers(part.users.ids)[part.user] for part in parts])
    item = np.concatenate([items.numbers(part.items.ids)[part.item] for part in parts])
    pairs = user * np.int64(len(items)) + item
    order = np.argsort(pairs, kind="stable")
    repeated = order[1:][pairs[order][1:] == pairs[order][:-1]]
    if len(repeated):
        first = repeated.min()
        ids = str(users.ids[user[first]]), str(items.ids[item[first]])
        known, found = (place_of(path, *ids, **options) for path in (train, test))
        raise InputError(
            f"{found}: user {ids[0]!r} and item {ids[1]!r} are in {known}, too. Training and "
            "test ratings must be disjoint: items that a user rated in training are no candidates, "
            f"so no system could find them. Test ratings of this kind: {len(repeated):,}."
        )
    times = [part.time for part in parts if part.time is not None]
    return Ratings(
        users,
        items,
        user[order],
        item[order],
        np.concatenate([part.rating for part in parts])[order],
        np.concatenate(times)[order] if len(times) == len(parts) else None,
        np.repeat([False, True], [len(part) for part in parts])[order],
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
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: there is no such folder.")
    inside = [path for pattern in ("*", "*/*") for path in sorted(folder.glob(pattern))]
    files = [path for path in inside if path.is_file() and not path.name.startswith(".")]
    chosen = [path for path in files if fold is None or fold in _folds_of(path, folder)]
    found = {part: [path for path in chosen if _part_of(path) == part] for part in PARTS}
    place = str(folder) if fold is None else f"{folder}, fold {fold}"
    return SplitFiles(
        train=_the_one(place, "train", found["train"]),
        test=_the_one(place, "test", found["test"]),
        validation=_the_one(place, "validation", v) if (v := found["validation"]) else None,
    )


def _words(name: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", name.lower())


def _part_of(path: Path) -> str | None:
    """Tell what a file holds; None if its name does not say."""
    words = _words(path.name)
    if any(word in NO_RATINGS for word in words):
        return None
    return next((part for part, known in PARTS.items() if set(known) & set(words)), None)


def _folds_of(path: Path, folder: Path) -> set[int]:
    """Read the numbers of folds in the name of a file, or of the folder in the folder."""
    place = path.parent.name if path.parent != folder else path.name
    parts = {word for known in PARTS.values() for word in known}
    words = (re.fullmatch(r"[a-z]*([0-9]+)", word) for word in _words(place) if word not in parts)
    return {int(word[1]) for word in words if word is not None}


def _the_one(place: str, part: str, found: Sequence[Path]) -> Path:
    if not found:
        words = " or ".join(PARTS[part])
        raise InputError(f"{place}: no file of {part} ratings; no name has the word {words}.")
    if len(found) > 1:
        names = ", ".join(str(path) for path in found)
        raise InputError(
            f"{place}: several files of {part} ratings; give `{part}` or `fold`: {names}."
        )
    return found[0]
