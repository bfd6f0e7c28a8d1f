"""Reading a run of 6,040 users x 100 items, as text and as Parquet, against pytrec_eval's parser.

And describing a million ratings, against pandas, which only parses them.

Run with ``pytest tests/benchmarks -s --benchmark-only``.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import pytrec_eval

from harness.study.first_study import describe_data
from harness.study.study import RatingsSection
from runs import Run
from runs.formats import format_run, read_run, run_to_parquet, runs_from_parquet
from tests.benchmarks.machine import cpu_seconds
from tests.benchmarks.table import report

N_USERS, N_ITEMS, DEPTH = 6040, 3706, 100
ROUNDS = 5
N_RATERS, N_RATED, N_RATINGS_EACH = 10_000, 4000, 100
MOST_OF_PARSING = 2.5
"""Times that describing ratings may take as long as pandas parses them; measured: 1.5."""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Users in the order of their numbers, scores of 16 digits: as recommenders write them."""
    generator = np.random.default_rng(0)
    scores = -np.sort(-generator.random((N_USERS, DEPTH)), axis=1)
    items = np.argsort(generator.random((N_USERS, N_ITEMS)), axis=1)[:, :DEPTH]
    path = tmp_path_factory.mktemp("runs") / "als.run"
    with path.open("w") as stream:
        for user in range(N_USERS):
            ranked = zip(items[user].tolist(), scores[user].tolist(), strict=True)
            for rank, (item, score) in enumerate(ranked, start=1):
                stream.write(f"{user + 1} Q0 {item + 1} {rank} {score} als\n")
    return path


def ours(path: Path) -> Run:
    """Read, and put in order."""
    file = read_run(path)
    return file.to_run(file.users, file.items)


def theirs(path: Path) -> dict[str, dict[str, float]]:
    """Read; pytrec_eval sorts later."""
    with path.open() as stream:
        parsed: dict[str, dict[str, float]] = pytrec_eval.parse_run(stream)
    return parsed


@pytest.mark.filterwarnings("ignore::runs.InputWarning")
def test_reading(benchmark: Any, path: Path) -> None:
    run, parsed, file = ours(path), theirs(path), read_run(path)
    for user in range(0, N_USERS, 500):
        scores = parsed[str(file.users.ids[user])]
        best_first = sorted(scores, key=scores.__getitem__, reverse=True)
        assert file.items.ids[run.items[user]].tolist() == best_first
    reading = min(cpu_seconds(lambda: read_run(path)) for _ in range(ROUNDS))
    whole = min(cpu_seconds(lambda: ours(path)) for _ in range(ROUNDS))
    parsing = min(cpu_seconds(lambda: theirs(path)) for _ in range(ROUNDS))
    named = run, file.users, file.items
    text, content = format_run(*named), run_to_parquet(*named)
    read_back = runs_from_parquet("", content)[0].to_run(file.users, file.items)
    assert np.array_equal(read_back.items, run.items)
    formatting = min(cpu_seconds(lambda: format_run(*named)) for _ in range(ROUNDS))
    encoding = min(cpu_seconds(lambda: run_to_parquet(*named)) for _ in range(ROUNDS))
    decoding = min(cpu_seconds(lambda: runs_from_parquet("", content)[0]) for _ in range(ROUNDS))
    benchmark.pedantic(read_run, args=(path,))
    size = f"{N_USERS:,} x {DEPTH:,}"
    peer = "pytrec_eval.parse_run, which leaves lists as they are, takes"
    report(
        benchmark,
        f"a run of {size} read, as text",
        reading,
        beside=f"{peer} {parsing / reading:.1f} times that",
    )
    report(
        benchmark,
        "... with its lists in order",
        whole,
        beside=f"{peer} {parsing / whole:.1f} times that",
    )
    report(benchmark, "... read, as Parquet", decoding)
    report(benchmark, "... written as text", formatting, beside=f"{len(text) / 1e6:.1f} MB")
    report(benchmark, "... written as Parquet", encoding, beside=f"{len(content) / 1e6:.1f} MB")


@pytest.fixture(scope="module")
def ratings_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Users and items in the order of their numbers, as MovieLens has them: not that of texts."""
    generator = np.random.default_rng(0)
    n_ratings = N_RATERS * N_RATINGS_EACH
    users = np.repeat(np.arange(1, N_RATERS + 1), N_RATINGS_EACH)
    steps = generator.integers(1, N_RATED // N_RATINGS_EACH + 1, (N_RATERS, N_RATINGS_EACH))
    columns = {
        "userId": users,
        "movieId": np.cumsum(steps, axis=1).ravel(),
        "rating": generator.integers(1, 11, n_ratings) / 2,
        "timestamp": generator.integers(789_652_009, 1_231_131_736, n_ratings),
    }
    path = tmp_path_factory.mktemp("ratings") / "ratings.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


def test_describing_ratings(benchmark: Any, ratings_path: Path) -> None:
    """Reading, sorting, splitting and counting take at most so many times the CPU of parsing."""
    section = RatingsSection(path=ratings_path)
    frame = pd.read_csv(ratings_path)
    facts = describe_data(section).facts()
    assert facts["ratings"] == len(frame)
    assert facts["users"] == frame["userId"].nunique()
    assert facts["items"] == frame["movieId"].nunique()
    describing = min(cpu_seconds(lambda: describe_data(section).facts()) for _ in range(ROUNDS))
    parsing = min(cpu_seconds(lambda: pd.read_csv(ratings_path)) for _ in range(ROUNDS))
    benchmark.pedantic(describe_data, args=(section,))
    ratio = describing / parsing
    report(
        benchmark,
        f"{len(frame):,} ratings described",
        describing,
        beside=f"{ratio:.1f} times what pandas.read_csv takes",
    )
    assert ratio < MOST_OF_PARSING
