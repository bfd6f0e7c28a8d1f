"""How loops are compiled, and where that is kept."""

import errno
import tempfile
from types import SimpleNamespace

import numpy as np
import pytest

from runs import InputWarning
from runs.shared import compiled


def doubled(value: int) -> int:
    return 2 * value


def divided(value: float) -> float:
    return 1 / value


def divided_strictly(value: float) -> float:
    return 1 / value


def test_loops_are_compiled_where_no_folder_can_be_written_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    compiled.warn_of_no_folder.cache_clear()
    with pytest.warns(InputWarning, match="NUMBA_CACHE_DIR") as caught:
        loops = [compiled.jit()(doubled) for _ in range(2)]
    assert [loop(3) for loop in loops] == [6, 6]
    assert len(caught) == 1
    monkeypatch.setattr(compiled, "current_process", lambda: SimpleNamespace(name="LokyProcess-1"))
    compiled.warn_of_no_folder.cache_clear()
    assert compiled.jit()(doubled)(3) == 6


@pytest.mark.slow
def test_a_loop_may_divide_by_zero_as_numpy_does() -> None:
    assert compiled.jit_like_numpy(divided)(0.0) == np.inf
    with pytest.raises(ZeroDivisionError):
        compiled.jit()(divided_strictly)(0.0)


def test_loops_let_other_threads_work() -> None:
    for loop in (compiled.jit()(doubled), compiled.jit_like_numpy(doubled)):
        assert loop.targetoptions["nogil"] is True  # type: ignore[attr-defined]
