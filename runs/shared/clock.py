"""What work costs."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Cost:
    """Seconds that a piece of work took: of wall time, and of CPU time of its process."""

    seconds: float
    cpu_seconds: float


class Clock:
    """Measures from when it was made."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def cost(self) -> Cost:
        """Give the cost so far."""
        return Cost(time.perf_counter() - self._wall, time.process_time() - self._cpu)
