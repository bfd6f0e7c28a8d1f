"""Many random draws, in parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from runs.shared.parallel import single_threaded


def count_in_parts(
    count: Callable[[int, int], NDArray[np.int64]],
    n_draws: int,
    *,
    part: int,
    n_jobs: int,
    advance: Callable[[int], object] | None,
) -> NDArray[np.int64]:
    """Add up the counts of draws 0 to n_draws, a part of them at a time.

    The sum must not depend on how draws are parted. Parts are counted in threads, each with one of
    BLAS; ``advance`` is called with the number of draws finished since the last call.

    Examples
    --------
    >>> lengths = lambda start, stop: np.array([stop - start])
    >>> count_in_parts(lengths, 10, part=4, n_jobs=1, advance=None)
    array([10])
    """
    parts = list(ranges(n_draws, part))
    tasks = (delayed(count)(start, stop) for start, stop in parts)
    workers = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
    total = np.int64(0)
    with single_threaded("blas"):
        for (start, stop), some in zip(parts, workers(tasks), strict=True):
            total = total + some
            if advance is not None:
                advance(stop - start)
    return np.asarray(total)


def ranges(n_draws: int, part: int) -> Iterator[tuple[int, int]]:
    """Part the draws 0 to n_draws.

    Examples
    --------
    >>> list(ranges(10, 4))
    [(0, 4), (4, 8), (8, 10)]
    """
    for start in range(0, n_draws, part):
        yield start, min(start + part, n_draws)
