"""Settings that every test shares."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from matplotlib.backend_bases import RendererBase
    from matplotlib.figure import Figure

    from analyses.sampled.papers import Example

os.environ.setdefault("MPLBACKEND", "agg")
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("dev", deadline=None)
settings.register_profile("quick", derandomize=True, deadline=None, max_examples=10)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


def examples(number: int) -> settings:
    """Let hypothesis try at most so many examples, each of which is slow."""
    usual = settings.default
    assert usual is not None
    return settings(max_examples=min(number, usual.max_examples))


OURS = ("runs.", "qrels.", "recommenders.", "analyses.", "harness.")

SLOW = {"pd", "Axes", "Figure"}
"""Names from pandas and matplotlib, which modules import where they are needed."""


def pytest_configure() -> None:
    """Look for garbage seldom: most of what tests leave is freed as soon as nobody refers to it."""
    gc.set_threshold(20_000, 20, 50)


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


@contextmanager
def figures_left_blank() -> Iterator[None]:
    """Leave figures blank but for the names of their curves, where no test looks at them.

    Finding places of axes and drawing are most of what a small study costs.
    """

    def draw(figure: Figure, renderer: RendererBase) -> None:
        for line in (line for axes in figure.axes for line in axes.lines):
            renderer.open_group("line2d", gid=line.get_gid())
            renderer.open_group("blank")
            renderer.close_group("blank")
            renderer.close_group("line2d")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("matplotlib.figure.Figure.draw", draw)
        patch.setattr("matplotlib.layout_engine.ConstrainedLayoutEngine.execute", lambda *_: None)
        yield


@contextmanager
def figures_left_out(*, besides: str | None = None) -> Iterator[None]:
    """Let results have no figures, where no test asks for one, or none besides that of a name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "analyses.shared.result.FigureDeclaration.applies_to",
            lambda face, _: face.name == besides,
        )
        yield


@pytest.fixture
def blank_figures() -> Iterator[None]:
    """Leave figures blank, as `figures_left_blank` does."""
    with figures_left_blank():
        yield


@pytest.fixture
def no_figures() -> Iterator[None]:
    """Leave figures out, as `figures_left_out` does."""
    with figures_left_out():
        yield


@pytest.fixture(scope="session")
def example() -> Example:
    """The example of Krichene & Rendle (2020), which no test changes."""
    from analyses.sampled.papers import Example

    return Example()


class WrittenExample(NamedTuple):
    """What `harness sampled --example` wrote to a folder, and what it printed, as CSV."""

    folder: Path
    printed: str


@pytest.fixture(scope="session")
def written_example(tmp_path_factory: pytest.TempPathFactory) -> WrittenExample:
    """Run `harness sampled --example` once for all tests that read what it wrote."""
    from click.testing import CliRunner

    from harness.cli.main import main

    folder = tmp_path_factory.mktemp("example")
    options = ["sampled", "--example", "--format", "csv", "--quiet", "--output", str(folder)]
    with figures_left_blank():
        run = CliRunner().invoke(main, options, catch_exceptions=False)
    assert run.exit_code == 0, run.stderr
    return WrittenExample(folder, run.stdout)
