"""Workers in processes of their own, and signals that come while they are started."""

import signal
from collections.abc import Iterator
from typing import Any

import joblib
import pytest

from runs.shared.parallel import processes


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_comes_while_workers_are_started_is_heard_afterwards(
    n_jobs: int, sent: signal.Signals
) -> None:
    passed = []

    def tasks() -> Iterator[Any]:
        signal.raise_signal(sent)
        passed.append(n_jobs)
        yield joblib.delayed(abs)(-1)

    former = signal.signal(sent, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            next(processes(n_jobs, return_as="generator")(tasks()))
        assert signal.getsignal(sent) is signal.default_int_handler
    finally:
        signal.signal(sent, former)
    assert passed == [n_jobs] * (n_jobs > 1)
