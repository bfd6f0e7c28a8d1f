"""The split of a study in the layouts of other libraries, which then train on the same ratings."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

from harness.report.study_folder import TEST_FILE, TRAIN_FILE
from qrels import Ratings
from qrels.ratings.datasets import read_ratings
from qrels.ratings.datasets.rating_tables import format_rating_lines, rating_table

ATOMIC_HEADER = ("user_id:token", "item_id:token", "rating:float", "timestamp:float")
LENSKIT_HEADER = ("user_id", "item_id", "rating", "timestamp")

RECBOLE_SETTINGS = """\
# Beside the folder {name}; say data_path where it is. RecBole wants three parts: the test part is
# named in the place of a validation part too, and eval_step: 0 keeps RecBole from choosing by it.
dataset: {name}
benchmark_filename: [part1, part3, part3]
load_col: {{inter: [{columns}]}}
eval_step: 0
"""


def split_layouts(study: Path, name: str) -> Iterator[tuple[Path, bytes]]:
    """Give training and test ratings as RecBole's atomic files and as LensKit's data frames.

    Parameters
    ----------
    study
        The folder of a study; one that does not begin with ratings has no split.
    name
        Name of the data set.
    """
    if not (study / TRAIN_FILE).exists():
        return
    train, test = (read_ratings(study / file, format="csv") for file in (TRAIN_FILE, TEST_FILE))
    folder = Path("recbole")
    for part, ratings in {"part1": train, "part3": test}.items():
        lines = format_rating_lines(ratings, header=ATOMIC_HEADER, separator="\t")
        yield folder / name / f"{name}.{part}.inter", lines
    columns = ", ".join(rating_table(train, header=LENSKIT_HEADER).column_names)
    yield folder / f"{name}.yaml", RECBOLE_SETTINGS.format(name=name, columns=columns).encode()
    for part, ratings in {"train": train, "test": test}.items():
        yield Path("lenskit") / f"{part}.parquet", _parquet(ratings)


def _parquet(ratings: Ratings) -> bytes:
    from pyarrow import parquet

    stream = BytesIO()
    parquet.write_table(rating_table(ratings, header=LENSKIT_HEADER), stream)
    return stream.getvalue()
