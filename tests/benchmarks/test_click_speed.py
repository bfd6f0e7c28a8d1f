"""Clicks of a log of 10 million interactions: ``pytest tests/benchmarks -s --benchmark-only``."""

from pathlib import Path
from typing import Any

from analyses.online.clicks import Question, count_clicks
from runs.shared.progress import SilentProgress
from tests.benchmarks.large_log import main
from tests.benchmarks.machine import cpu_seconds
from tests.benchmarks.table import report


def test_counting_clicks(benchmark: Any, tmp_path: Path) -> None:
    main(str(tmp_path), "10000000")
    paths = {name: tmp_path / name for name in ("recommendations", "interactions")}
    question = Question(**paths, window="30 min", robots=200)

    def count() -> None:
        count_clicks(question, progress=SilentProgress(), folder=tmp_path)

    seconds = cpu_seconds(count)
    benchmark.pedantic(count)
    report(benchmark, "clicks of a log of 10 million interactions", seconds)
