"""What every result has without a word of its own."""

from collections.abc import Mapping, Sequence

import pandas as pd
import pytest
from matplotlib.axes import Axes

from analyses.shared.result import Result, figure
from runs import InputError


class Counts(Result):
    """A result of two frames and two figures."""

    kinds = ("users", "items")

    def frames(self) -> Mapping[str, pd.DataFrame]:
        return {
            "counts": pd.DataFrame({"kind": [*"abcdefgh"], "n": [1 / 3] * 8}),
            "more": pd.DataFrame({"kind": ["z"]}),
        }

    def caption(self) -> str:
        return "Counts of <all> kinds."

    def cautions(self) -> Sequence[str]:
        return ["There are few."]

    @figure("counts", "Counts", number=30, panels="kind")
    def plot_counts(self, ax: Axes, *, kind: str) -> Axes:
        ax.set_title(kind)
        return ax

    @figure("others", "Others")
    def plot_others(self, ax: Axes, *, of: str = "all") -> Axes:
        ax.set_title(f"others of {of}")
        return ax


def test_a_figure_is_drawn_by_its_number() -> None:
    assert Counts().draw("fig30").get_title() == "users"


def test_a_figure_takes_what_a_reader_chooses() -> None:
    assert Counts().draw("others", of="users").get_title() == "others of users"


def test_a_figure_that_there_is_not_is_told() -> None:
    with pytest.raises(InputError, match="no figure is called 'count'; there are fig30, others"):
        Counts().draw("count")
