"""Halves: whether two groups that were treated alike differ no more than the intervals say."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from analyses.online.clicks.rates import REACH, click_through, with_limits
from analyses.online.clicks.tallies import Tallies
from analyses.shared.drawing import axes_or_new
from runs import InputError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

N_SPLITS: Final = 64
"""Bits of a hash, each of which splits the users another way."""


@dataclass(frozen=True, eq=False)
class Halves:
    """Differences between the halves of one arm's users, who all had the same model.

    Parameters
    ----------
    arm
        Its name.
    n_users
        Users of both halves.
    differences, errors
        Rate of one half less that of the other, and its standard error over users, of shape
        (n_splits,).
    """

    arm: str
    n_users: int
    differences: Floats
    errors: Floats

    @property
    def covered(self) -> NDArray[np.bool_]:
        """Whether the 95 % interval of each difference covers 0, of shape (n_splits,)."""
        return np.abs(self.differences) <= REACH * self.errors

    def to_frame(self) -> pd.DataFrame:
        """One row per split: split (from 1), difference, error, low, high (95 %), covers_zero."""
        import pandas as pd

        return pd.DataFrame(
            {
                "split": np.arange(len(self.differences)) + 1,
                "difference": self.differences,
                **with_limits(self.differences, self.errors),
                "covers_zero": self.covered,
            }
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the interval of every split, by its difference; those beside 0 in another colour."""
        axes = axes_or_new(ax)
        order = np.argsort(self.differences)
        places = np.arange(len(order))
        for covers, colour in ((True, "#0072B2"), (False, "#D55E00")):
            rows = self.covered[order] == covers
            axes.errorbar(
                places[rows],
                self.differences[order][rows],
                yerr=REACH * self.errors[order][rows],
                fmt="o",
                markersize=2.5,
                linewidth=0.9,
                color=colour,
                label="covers 0" if covers else "does not",
            )
        axes.axhline(0.0, color="#999999", linewidth=0.8, zorder=0)
        axes.set_xlabel("split, by its difference")
        axes.set_ylabel("difference of the halves' rates")
        axes.legend(loc="upper left", frameon=False, fontsize="small")
        return axes

    def caption(self) -> str:
        """Say what was split, and how many intervals cover 0."""
        n_splits = len(self.differences)
        return (
            f"The {self.n_users:,} users of arm {self.arm} in halves, by each of {n_splits} bits "
            f"of a hash of their ids: the 95 % interval of the difference covers 0, the truth, in "
            f"{int(self.covered.sum())} of {n_splits} splits; about {0.95 * n_splits:.0f} are due."
        )


def halves(tallies: Tallies, hashes: NDArray[np.uint64]) -> Halves:
    """Split the users of one arm in halves, again and again, and compare their rates.

    All were treated alike, so that the true difference is 0; where the intervals miss it more
    often than they promise, those of the differences between arms cannot be trusted either.

    The hashes of the users' ids have the shape (n_users,): bit after bit splits the users.

    Raises
    ------
    InputError
        If there are several arms, or too few users for two in each half.
    """
    if len(tallies.arms) != 1:
        raise InputError(f"halves are made of one arm, got {len(tallies.arms)}.")
    pairs = [_difference(tallies, hashes, bit) for bit in range(N_SPLITS)]
    differences, errors = np.array(pairs).T
    n_users = len(np.unique(tallies.user))
    if not np.isfinite(errors).all():
        raise InputError(
            f"{n_users} users of arm {tallies.arms[0]!r} are too few for two in each half."
        )
    return Halves(tallies.arms[0], n_users, differences, errors)


def _difference(tallies: Tallies, hashes: NDArray[np.uint64], bit: int) -> tuple[float, float]:
    """Give the difference of the halves that one bit makes, and its standard error."""
    half = (hashes >> np.uint64(bit)) & np.uint64(1)
    split = replace(tallies, arms=("one", "other"), arm=half[tallies.user].astype(np.int64))
    found = click_through(split)
    return float(found.rates[1] - found.rates[0]), float(np.sqrt(found.covariances.trace()))
