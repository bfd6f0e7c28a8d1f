import numpy as np
import pytest

from analyses.intervals.resampling import count_in_parts


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("part", [1, 3, 10, 100])
def test_every_draw_is_counted_once(n_jobs: int, part: int) -> None:
    squares = np.arange(10) ** 2
    counts = count_in_parts(
        lambda start, stop: squares[start:stop].sum(keepdims=True),
        10,
        part=part,
        n_jobs=n_jobs,
        advance=None,
    )
    np.testing.assert_array_equal(counts, [285])


def test_all_draws_are_reported() -> None:
    finished: list[int] = []
    count_in_parts(
        lambda start, stop: np.zeros(1, dtype=np.int64),
        10,
        part=4,
        n_jobs=1,
        advance=finished.append,
    )
    assert finished == [4, 4, 2]
