"""Decorators that compile loops with numba, and keep the machine code for the next start.

numba compiles again only if the file of the loop changes, so compiled functions take the constants
of other modules as arguments.
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
    """Make a decorator that compiles a function, with numba's options.

    Compiled functions release the global interpreter lock, so that several threads run them at the
    same time. The machine code is kept on disk for the next start. Where no folder can be written
    to, every start compiles again, and a warning says so.
    """

    def compiled(function: Loop) -> Loop:
        """Compile a function, kept for the next start if a folder can be written to."""
        try:
            return cast("Loop", numba.njit(function, nogil=True, cache=True, **options))
        except RuntimeError:
            # Worker processes would warn of the same folder again.
            if current_process().name == "MainProcess":
                warn_of_no_folder()
            return cast("Loop", numba.njit(function, nogil=True, **options))

    return compiled


jit_like_numpy = jit(error_model="numpy")
"""Compiles a loop in which division by zero gives infinity or NaN, as in numpy."""

jit_in_any_order = jit(error_model="numpy", fastmath={"reassoc"})
"""Compiles a loop in which sums may be added in any order, so that it vectorises."""


@cache
def warn_of_no_folder() -> None:
    """Warn once that every start compiles again."""
    warn(
        "Compiled code cannot be kept, so that it is compiled at every start, which takes up to a "
        "minute: neither the installation nor the user's cache folder can be written to. Set the "
        "environment variable NUMBA_CACHE_DIR to a folder that can."
    )
