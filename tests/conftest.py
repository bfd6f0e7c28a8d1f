"""Settings that every test shares."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from matplotlib.backend_bases import RendererBase
    from matplotlib.figure import Figure

os.environ.setdefault("MPLBACKEND", "agg")
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("dev", deadline=None)
settings.register_profile("quick", derandomize=True, deadline=None, max_examples=10)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


OURS = ("runs.", "qrels.", "recommenders.", "analyses.", "harness.")

SLOW = {"pd", "Axes", "Figure"}
"""Names from pandas and matplotlib, which modules import where they are needed."""


def pytest_collection_finish() -> None:
    """Refuse modules that are slow to import.

    And spare the garbage collector walking all tests and modules, which live to the end.
    """
    modules = [(name, module) for name, module in sys.modules.items() if name.startswith(OURS)]
    slow = [name for name, module in modules if not SLOW.isdisjoint(vars(module))]
    if slow := [name for name in slow if name != "harness.tuning.search"]:
        raise pytest.UsageError(f"{slow} import pandas or matplotlib before it is needed.")
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def closed_figures() -> Iterator[None]:
    """Close the figures that results draw for notebooks: pyplot keeps them."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def logs_of_1970(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the times of logs be small numbers, which are taken for seconds else."""
    monkeypatch.setattr("qrels.interactions.log_table.FIRST_YEAR", 1)


@pytest.fixture
def blank_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave figures blank but for the names of their curves, where no test looks at them.

    Drawing is most of what a small study costs.
    """

    def draw(figure: Figure, renderer: RendererBase) -> None:
        for line in (line for axes in figure.axes for line in axes.lines):
            renderer.open_group("line2d", gid=line.get_gid())
            renderer.open_group("blank")
            renderer.close_group("blank")
            renderer.close_group("line2d")

    monkeypatch.setattr("matplotlib.figure.Figure.draw", draw)
