"""How loops are compiled: in machine code that is kept for the next start where that is possible.

numba keeps it by the file of the loop alone, so compiled functions take the constants of other
modules as arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from multiprocessing import current_process
from typing import Any, TypeVar, cast

import numba

from runs.shared.errors import warn

Loop = TypeVar("Loop", bound=Callable[..., object])


def jit(**options: Any) -> Callable[[Loop], Loop]:
    """Compile a function for threads that run at once, with numba's options."""

    def compiled(function: Loop) -> Loop:
        try:
            return cast("Loop", numba.njit(function, nogil=True, cache=True, **options))
        except RuntimeError:
            # Workers are in the same place.
            if current_process().name == "MainProcess":
                warn_of_no_folder()
            return cast("Loop", numba.njit(function, nogil=True, **options))

    return compiled


jit_like_numpy = jit(error_model="numpy")
# Sums may be added in any order, so that loops vectorise.
jit_in_any_order = jit(error_model="numpy", fastmath={"reassoc"})


@cache
def warn_of_no_folder() -> None:
    """Warn once that every start compiles again."""
    warn(
        "compiled code cannot be kept, so that it is compiled at every start, which takes up to a "
        "minute: neither the installation nor the user's cache folder can be written to. Set the "
        "environment variable NUMBA_CACHE_DIR to a folder that can."
    )
