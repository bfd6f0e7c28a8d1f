"""How the ranks of the relevant items are distributed, for each system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.sampled.estimates import first_of
from analyses.sampled.expectation.candidates import in_words
from analyses.sampled.expectation.round_numbers import round_numbers
from analyses.shared.drawing import axes_or_new, categories, legend_beside, scale_by_factors
from analyses.shared.measure import Measure
from qrels import FullRanks
from runs import InputError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

SHARE, CUMULATIVE = "share of the items", "cumulative share"
N_BINS = 50
"""Equal bins of the histogram."""

MOST_CURVES = 12
"""More systems than these are drawn as rows of shades, since their curves cover each other."""

HEIGHT = 150
"""Points that the names of all rows have above each other."""


@dataclass(frozen=True, eq=False)
class RankDistributions:
    """Shares of the relevant items in bins of ranks: equal ones, and narrow ones at the top.

    Parameters
    ----------
    systems
        Names, label of the first axis of the shares.
    equal_ends, top_ends
        Last rank of each bin, which begins after the one before: bins of equal width (to a rank),
        and those that end at 1, 2, 5, 10, 20, 50, ... and the last rank; of shapes (n_bins,).
    equal_shares, top_shares
        Of shapes (n_systems, n_bins).
    medians
        Median rank of each system, of shape (n_systems,).
    n_users, n_relevant
        Users, and their relevant items.
    candidates
        Smallest and largest number of candidates of a user.
    """

    systems: tuple[str, ...]
    equal_ends: Integers
    equal_shares: Floats
    top_ends: Integers
    top_shares: Floats
    medians: Floats
    n_users: int
    n_relevant: int
    candidates: tuple[int, int]

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The two views, each a panel of the figure."""
        return (Measure(SHARE), Measure(CUMULATIVE))

    def to_frame(self) -> pd.DataFrame:
        """Give one row for each system and bin.

        Returns
        -------
        Columns system; bins, ``equal`` or ``top``; first and last rank of the bin; share of the
        items in it; cumulative, the share of those up to its last rank.
        """
        import pandas as pd

        return pd.concat(
            [
                self._rows("equal", self.equal_ends, self.equal_shares),
                self._rows("top", self.top_ends, self.top_shares),
            ],
            ignore_index=True,
        )

    def _rows(self, bins: str, ends: Integers, shares: Floats) -> pd.DataFrame:
        import pandas as pd

        n_systems = len(self.systems)
        return pd.DataFrame(
            {
                "system": np.repeat(self.systems, len(ends)),
                "bins": bins,
                "first": np.tile(_starts(ends), n_systems),
                "last": np.tile(ends, n_systems),
                "share": shares.ravel(),
                "cumulative": shares.cumsum(axis=1).ravel(),
            }
        )

    def plot(
        self, ax: Axes | None = None, *, metric: str | None = None, cutoff: int | None = None
    ) -> Axes:
        """Draw one of the views, a curve for each system, or a row of shades if they are many.

        Parameters
        ----------
        ax
            Axes to draw on; new ones by default.
        metric
            ``"share of the items"`` in equal bins, the default, or ``"cumulative share"`` against
            ranks on a logarithmic axis, where the top is wide.
        cutoff
            None: all ranks are shown.
        """
        if cutoff is not None or metric not in (None, SHARE, CUMULATIVE):
            raise InputError(f"there are {SHARE} and {CUMULATIVE} to draw, got {metric}.")
        ax = axes_or_new(ax)
        view = metric or SHARE
        if len(self.systems) > MOST_CURVES:
            self._draw_rows(ax, view)
        else:
            self._draw_curves(ax, view)
        ax.set_xlabel("rank of the relevant item")
        return ax

    def _draw_curves(self, ax: Axes, view: str) -> None:
        for place, (label, style) in enumerate(categories(self.systems)):
            if view == SHARE:
                # Outlines cover each other less than bars do.
                line = {"color": style["color"], "linestyle": style["linestyle"]}
                edges, shares = _edges(self.equal_ends), self.equal_shares[place]
                ax.stairs(shares, edges, baseline=None, label=label, linewidth=1.1, **line)
            else:
                ax.plot(self.top_ends, self.top_shares[place].cumsum(), label=label, **style)
        if view == SHARE:
            ax.set_yscale("log")
            ax.yaxis.set_major_formatter("{x:g}")
        else:
            scale_by_factors(ax, along="x")
            ax.set_ylim(0, 1.02)
        ax.set_ylabel(view)
        legend_beside(ax)

    def _draw_rows(self, ax: Axes, view: str) -> None:
        """Draw many systems as rows of shades, those with the better median above."""
        from matplotlib.colors import LogNorm, Normalize, PowerNorm

        order = self.medians.argsort(kind="stable")
        rows = np.arange(len(order) + 1)
        if view == SHARE:
            ends, shares = self.equal_ends, self.equal_shares
            norm: Normalize = LogNorm(vmin=shares[shares > 0].min(), vmax=shares.max())
        else:
            ends, shares = self.top_ends, self.top_shares.cumsum(axis=1)
            # The small shares of the top are told apart.
            norm = PowerNorm(0.5, vmin=0, vmax=1)
        shades = np.ma.masked_equal(shares[order], 0)
        mesh = ax.pcolormesh(_edges(ends), rows, shades, norm=norm, cmap="viridis_r")
        if view == CUMULATIVE:
            scale_by_factors(ax, along="x")
        ax.set_yticks(rows[:-1] + 0.5, [self.systems[place] for place in order])
        ax.tick_params(axis="y", length=0, labelsize=min(8.0, HEIGHT / len(order)))
        ax.invert_yaxis()
        ax.figure.colorbar(mesh, ax=ax, label=view)

    def caption(self) -> str:
        """Say what is shown."""
        n = in_words(self.candidates)
        medians = zip(self.systems, self.medians, strict=True)
        return (
            f"Full ranks of {self.n_relevant:,} relevant items of {self.n_users:,} users among "
            f"n = {n} candidates: shares in {len(self.equal_ends)} bins of equal width, and "
            "cumulative shares up to ranks on a logarithmic axis, which shows the top; up to rank "
            f"K they are Recall@K where users have one relevant item each. {self._of_rows()}Median "
            f"ranks: {'; '.join(f'{system} {median:,.10g}' for system, median in medians)}."
        )

    def _of_rows(self) -> str:
        if len(self.systems) <= MOST_CURVES:
            return ""
        return "Systems are rows, the better median above; where a row is white there are none. "


def study_ranks(systems: Mapping[str, FullRanks]) -> RankDistributions:
    """Count the relevant items in bins of ranks.

    Parameters
    ----------
    systems
        Full ranks by system, of the same users and relevant items.

    Raises
    ------
    InputError
        If systems have different users, or there are no ranks.

    Notes
    -----
    Krichene & Rendle (2020), figure 5.

    Examples
    --------
    Ranks 1, 2 and 4 in bins that end at 1, 2, 5 and 8:

    >>> found = study_ranks({"one": FullRanks.of([1, 2, 4, 4], n_candidates=8)})
    >>> found.top_ends.tolist(), found.top_shares.tolist(), found.medians.tolist()
    ([1, 2, 5, 8], [[0.25, 0.25, 0.5, 0.0]], [3.0])
    """
    first = first_of(systems)
    last = int(first.n_candidates.max())
    equal, top = _equal_ends(last), np.unique([*round_numbers(last), last])
    return RankDistributions(
        systems=tuple(systems),
        equal_ends=equal,
        equal_shares=np.array([_shares(ranks, equal) for ranks in systems.values()]),
        top_ends=top,
        top_shares=np.array([_shares(ranks, top) for ranks in systems.values()]),
        medians=np.array([np.median(ranks.rank) for ranks in systems.values()]),
        n_users=len(np.unique(first.user)),
        n_relevant=len(first),
        candidates=(int(first.n_candidates.min()), last),
    )


def _equal_ends(last: int) -> Integers:
    """Give the last ranks of equal bins, each of one rank at least.

    Examples
    --------
    >>> _equal_ends(3), _equal_ends(5000)[:3]
    (array([1, 2, 3]), array([100, 200, 300]))
    """
    n_bins = min(N_BINS, last)
    return np.arange(1, n_bins + 1) * last // n_bins


def _edges(ends: Integers) -> Floats:
    """Give the places between the last rank of each bin and the first of the next."""
    return np.concatenate([[0.5], ends + 0.5])


def _starts(ends: Integers) -> Integers:
    return np.concatenate([[1], ends[:-1] + 1])


def _shares(ranks: FullRanks, ends: Integers) -> Floats:
    bins = np.searchsorted(ends, ranks.rank)
    return np.bincount(bins, minlength=len(ends)) / len(ranks)
