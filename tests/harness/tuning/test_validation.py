from pathlib import Path

import numpy as np
import pytest

from harness.study.inputs import load_k_core, split_ratings
from harness.study.study import Study
from harness.tuning.validation import Validation, validation_of
from qrels import Ratings, k_core
from runs import InputError
from tests.harness.small import DRAWN, WORLD

CUT = 1000
BY_TIME = f"""
name = "by-time"
[ratings]
path = "ratings.csv"
[split]
method = "global-time"
cut = {CUT}
"""

Row = tuple[str, str, float, int]


def parsed(text: str, base: Path = Path()) -> Validation:
    return validation_of(Study.parse(text, source="study.toml", base=base, changes={}))


def rows_of(ratings: Ratings) -> list[Row]:
    times = np.zeros(len(ratings), np.int64) if ratings.time is None else ratings.time
    users, items = ratings.users.ids[ratings.user], ratings.items.ids[ratings.item]
    columns = (users, items, ratings.rating, times)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def training_rows(text: str, base: Path = Path()) -> list[Row]:
    study = Study.parse(text, source="study.toml", base=base, changes={})
    assert study.ratings is not None
    known = load_k_core(study.ratings, study.split)
    return rows_of(split_ratings(known, study.split, seed=study.seed).train)


def write_log(folder: Path, rows: list[Row]) -> None:
    lines = [f"{user},{item},{rating},{time}\n" for user, item, rating, time in rows]
    (folder / "ratings.csv").write_text("userId,movieId,rating,timestamp\n" + "".join(lines))


def log(*, first: int, last: int) -> list[Row]:
    """Ratings by 12 users of 15 items, whole stars, between two moments."""
    rng = np.random.default_rng(first)
    pairs = rng.permutation(12 * 15)[: 12 * 9]
    return [
        (f"u{pair % 12}", f"i{pair // 12}", float(rng.integers(1, 6)), int(time))
        for pair, time in zip(pairs, rng.integers(first, last, len(pairs)), strict=True)
    ]


def new_pairs(rows: list[Row], known: list[Row]) -> list[Row]:
    """Ratings of pairs that are not known."""
    pairs = {row[:2] for row in known}
    return [row for row in rows if row[:2] not in pairs]


@pytest.mark.parametrize("method", DRAWN)
def test_training_and_validation_are_the_training_part(method: str) -> None:
    text = WORLD + f'[split]\nmethod = "{method}"\n'
    split = parsed(text).split
    divided = rows_of(split.train) + rows_of(split.test)
    assert len(split.test) > 0
    # Of the one, validation ratings of users without earlier ones are dropped; of the other, those
    # of the percentiles that are not tested.
    if method in ("global-time", "popularity-percentile"):
        assert set(divided) <= set(training_rows(text))
    else:
        assert sorted(divided) == sorted(training_rows(text))


def test_nothing_of_the_test_part_is_seen(tmp_path: Path) -> None:
    """Other test ratings: half stars, other users and items, and other times after the cut."""
    training = log(first=1, last=CUT)
    found = []
    strangers: list[Row] = [("a0", "a1", 4.5, CUT), ("u1", "zz", 0.5, CUT + 7)]
    for tested in (log(first=CUT, last=2 * CUT), log(first=CUT + 1, last=CUT + 50) + strangers):
        write_log(tmp_path, training + new_pairs(tested, training))
        found.append(parsed(BY_TIME, tmp_path))
    one, other = found
    assert rows_of(one.split.train) == rows_of(other.split.train)
    assert rows_of(one.split.test) == rows_of(other.split.test)
    for field in ("users", "items"):
        numberings = [getattr(validation.split.train, field).ids for validation in found]
        np.testing.assert_array_equal(*numberings)
    assert one.qrels.relevance_level == other.qrels.relevance_level
    np.testing.assert_array_equal(one.qrels.grades, other.qrels.grades)


def test_a_cut_in_time_gives_way_to_the_latest_share(tmp_path: Path) -> None:
    write_log(tmp_path, [*log(first=1, last=CUT), ("u1", "new", 4.0, CUT)])
    split = parsed(BY_TIME, tmp_path).split
    assert len(split.test) == pytest.approx(0.2 * 12 * 9, abs=3)
    assert max(row[3] for row in rows_of(split.train)) < min(row[3] for row in rows_of(split.test))


def test_the_validation_part_is_drawn_with_a_seed_of_its_own() -> None:
    """With the seed of the study, of which the test part is drawn, it would be another."""
    text = WORLD + '[split]\nmethod = "user-random"\n'
    study = Study.parse(text, source="study.toml", base=Path(), changes={})
    assert study.ratings is not None
    known = load_k_core(study.ratings, study.split)
    train = k_core(split_ratings(known, study.split, seed=study.seed).train)
    section = study.split.within_training()
    by_seed_of_study = split_ratings(train, section, seed=study.seed).test
    one, again = (validation_of(study).split.test for _ in range(2))
    n_shared = len({*rows_of(one)} & {*rows_of(by_seed_of_study)})
    assert len(one) == len(by_seed_of_study)
    # Of two independent draws of a fifth of the ratings, a fifth is in both.
    assert n_shared / len(one) == pytest.approx(0.2, abs=0.08)
    assert rows_of(one) == rows_of(again)


def test_a_training_part_of_single_ratings_cannot_be_split_again(tmp_path: Path) -> None:
    write_log(tmp_path, [("u", "a", 4.0, 1), ("u", "b", 5.0, 2), ("v", "a", 4.0, 1)])
    text = 'name = "x"\n[ratings]\npath = "ratings.csv"\n[split]\nmethod = "leave-one-out-last"\n'
    with pytest.raises(InputError, match="cannot be split again for validation: the split 'leave"):
        parsed(text, tmp_path)
