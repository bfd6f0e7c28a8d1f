"""How many negatives, which estimator, and at which cost, beside fewer users ranked in full."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from scipy.special import ndtr

from analyses.sampled import estimates as repeated
from analyses.sampled.expectation.crossings import first_of
from analyses.sampled.expectation.metrics import rank_metric
from analyses.sampled.shared.facts import mean_of_users, tidy
from analyses.sampled.shared.settings import SampleSizes, checked_sizes
from analyses.sampled.shared.trials import Sampled
from analyses.shared.analysis import Given, SettingError, analysis
from analyses.shared.drawing import (
    axes_or_new,
    categories,
    chosen_panel,
    label_curves,
    scale_by_factors,
)
from analyses.shared.measure import Measures
from analyses.shared.result import Result, figure, table
from analyses.shared.table import Cell, Table, shown
from analyses.significance.permutation.pairs import pair_indices
from runs import InputError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.work import Work

Floats = NDArray[np.float64]

NUMBERS = ("bias", "noise", "in_expectation", "in_samples", "covered")
"""Of every estimator; see `analyses.sampled.estimates.Estimates`."""

USERS = tuple(size * 10**power for power in range(2, 7) for size in (1, 2, 5))
"""Numbers of users that are tried."""


class Settings(repeated.Settings):
    """Which samples order systems well enough, and what they cost."""

    sizes: SampleSizes = None
    in_order: float = Field(
        0.9, gt=0.5, lt=1, description="Share of the pairs of systems to be in the true order."
    )

    def check(self, given: Given) -> None:
        """Refuse what estimates refuse, for any number of negatives."""
        super().check(given)
        try:
            for negatives in checked_sizes(self.sizes, given.best_ranks()):
                self.at(negatives).designs(given.best_ranks())
        except InputError as error:
            raise SettingError("sizes", str(error)) from None

    def at(self, negatives: int) -> repeated.Settings:
        """Ask for estimates from so many negatives; adaptive samples grow as they do by default."""
        return self.model_copy(update={"negatives": negatives, "n_max": None})


@analysis("choose", source="Krichene & Rendle (2020)", needs=("full_ranks",), on_request=True)
def choose(work: Work, settings: Settings) -> Choice:
    r"""Compare numbers of negatives and estimators with full ranking of fewer users.

    What m negatives of U users cost ranks :math:`k = U (m + q) / n` users in full, of n candidates
    and q relevant items each. Their difference of two systems, in the mean d over all users, is
    taken for normal with the variance of k of them, :math:`s_d^2 (1/k - 1/U)`.
    """
    systems = Sampled.of(work, settings.draws).systems
    first = first_of(systems)
    sizes = checked_sizes(settings.sizes, first)
    found = [repeated.estimates(work, settings.at(m)) for m in sizes]
    one, n_users = found[0], found[0].users
    metrics = [rank_metric(name) for name in one.metrics]
    of_users = np.array([[m.of_users(ranks) for ranks in systems.values()] for m in metrics])
    scored = np.array(sizes) + mean_of_users(first.n_relevant, first)
    full = np.clip(np.round(n_users * scored / one.mean_candidates), 1, n_users)
    return Choice(
        measures=one.measures,
        systems=tuple(systems),
        estimators=one.estimators,
        sizes=np.array(sizes),
        numbers=np.stack([each.numbers for each in found], axis=1),
        needed=np.stack([_needed(each, settings.in_order) for each in found]),
        scored=scored,
        full_users=full.astype(np.int64),
        full=np.stack([_of_fewer(of_users, k, n_users) for k in full], axis=1),
        candidates=one.mean_candidates,
        in_order=settings.in_order,
        users=n_users,
        note=f"{one.n_repeats:,} samples of {one.ranked}, drawn uniformly "
        f"{one.drawn.how}, seed {work.seed}.",
    )


def _needed(found: repeated.Estimates, share: float) -> Floats:
    """Give the least number of users tried whose pairs are in order: (n_estimators, n_metrics)."""
    needed = np.full(found.bias.shape, np.nan)
    for users in reversed(USERS):
        needed[replace(found, users=users).ordered()[1] >= share] = users
    return needed


def _of_fewer(of_users: Floats, k: float, n_users: int) -> Floats:
    """Give noise of levels, and pairs in order, of k of so many users: (2, n_metrics)."""
    a, b = pair_indices(of_users.shape[1])
    apart, scale = of_users[:, a] - of_users[:, b], np.sqrt(max(1 / k - 1 / n_users, 0.0))
    true, noise = np.abs(apart.mean(axis=2)), scale * apart.std(axis=2, ddof=1)
    surely = np.where(true > 0, np.inf, 0.0)
    right = ndtr(np.divide(true, noise, out=surely, where=noise > 0))
    level = scale * np.sqrt(of_users.var(axis=2, ddof=1).mean(axis=1))
    return np.stack([level, repeated.shares_in_order(right, true)])


@dataclass(frozen=True, eq=False)
class Choice(Result):
    """What samples of several sizes tell, and full ranking of fewer users at the same cost.

    Parameters
    ----------
    measures, systems, estimators
        Labels of axes.
    sizes, scored
        Negatives of a user, and the items that are scored for one: (n_sizes,).
    numbers
        Bias, noise, shares of the pairs in order, in expectation and in samples, and intervals of
        100 that cover: (5, n_sizes, n_estimators, n_metrics).
    needed
        The least number of users tried for whom the share of pairs is in order, NaN if none is:
        (n_sizes, n_estimators, n_metrics).
    full_users, full
        Users who are ranked in full at the cost of each size, (n_sizes,), noise of their levels
        and pairs in order, (2, n_sizes, n_metrics).
    candidates, in_order, users
        Mean number of candidates, the share asked for, and users that advice is for.
    note
        How samples were drawn.
    """

    measures: Measures
    systems: tuple[str, ...]
    estimators: tuple[str, ...]
    sizes: NDArray[np.int64]
    numbers: Floats
    needed: Floats
    scored: Floats
    full_users: NDArray[np.int64]
    full: Floats
    candidates: float
    in_order: float
    users: int
    note: str

    @property
    def best(self) -> NDArray[np.intp]:
        """Number of the estimator that has most pairs in order: (n_sizes, n_metrics)."""
        return np.asarray(np.round(np.nan_to_num(self.numbers[3]), 4).argmax(axis=1))

    @property
    def nearest(self) -> NDArray[np.intp]:
        """Number of the estimator to report levels by, with intervals that cover if any do."""
        return repeated.nearest(self.numbers)

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give ``sampled_choose``: a row for each metric, size and estimator.

        Returns
        -------
        Columns metric, m, estimator; users, scored, the items scored for each; bias, noise,
        in_expectation, in_samples, covered; users_needed. Estimator "full" has fewer users.
        """
        n_sizes, n_metrics = len(self.sizes), len(self.measures)
        in_full = np.full((6, n_sizes, 1, n_metrics), np.nan)
        in_full[0], in_full[2], in_full[[1, 3], :, 0] = 0, 1, self.full
        every = np.concatenate([[*self.numbers, self.needed], in_full], axis=2)
        columns = zip((*NUMBERS, "users_needed"), every, strict=True)
        axes = {
            "metric": self.measures.metrics,
            "m": self.sizes,
            "estimator": [*self.estimators, "full"],
        }
        frame = tidy(axes, **{name: np.moveaxis(of, -1, 0) for name, of in columns})
        full = frame["estimator"] == "full"
        place = np.searchsorted(self.sizes, frame["m"])
        users = np.where(full, self.full_users[place], self.users)
        scored = np.where(full, self.candidates, self.scored[place])
        frame.insert(3, "users", users)
        frame.insert(4, "scored", scored)
        return {"sampled_choose": frame}

    @table("sampled_choose", "negatives and estimators to choose, and fewer users in full")
    def advised(self) -> Table:
        """Tabulate what to compare and to report by for each number of negatives."""
        places = np.ndindex(len(self.measures), len(self.sizes))
        return Table(
            name="sampled_choose",
            title=f"What to choose for {self.users:,} users",
            note=self.caption(),
            headings=[
                "metric, negatives",
                "to compare",
                "in order",
                f"users for {self.in_order:g}",
                "to report",
                "error",
                "in full",
                "in order",
            ],
            rows=[self._row(place, number) for place, number in places],
        )

    def _row(self, place: int, number: int) -> list[Cell]:
        """Give the row of a metric and a number of negatives."""
        best, near = self.best[number, place], self.nearest[number, place]
        needed, numbers = self.needed[number, best, place], self.numbers[:, number, :, place]
        return [
            f"{self.measures.metrics[place]}, m = {self.sizes[number]:,}",
            "-" if self._ties(place) else _short(self.estimators[best]),
            float(numbers[3, best]),
            "-" if np.isnan(needed) else f"{needed:,.0f}",
            _short(self.estimators[near]),
            float(np.hypot(*numbers[:2, near])),
            f"{self.full_users[number]:,}",
            float(self.full[1, number, place]),
        ]

    @figure(
        "sampled_choose",
        "Sampled negatives: pairs in order against cost",
        number=28,
        panels="metric",
        comparable=False,
    )
    def plot(self, ax: Axes | None = None, *, metric: str | None = None) -> Axes:
        """Draw the pairs in order against items scored, with fewer users in full."""
        number = chosen_panel(self.measures.metrics, metric)
        ax = axes_or_new(ax)
        curves = [*self.numbers[3, :, :, number].T, self.full[1, :, number]]
        labels = [*self.estimators, "fewer users in full"]
        for (label, style), curve in zip(categories(labels), curves, strict=True):
            ax.plot(self.scored, curve, label=label, **style)
        ax.axhline(self.in_order, color="0.6", linewidth=0.8, zorder=0)
        scale_by_factors(ax, along="x")
        ax.set_title(self.measures.metrics[number])
        ax.set_xlabel("items scored for a user, in the mean")
        ax.set_ylabel("pairs of systems in order")
        label_curves(ax)
        return ax

    def caption(self) -> str:
        """Say what is shown."""
        return (
            f"For m negatives of each of {self.users:,} users: the estimator that has most of the "
            f"pairs of {len(self.systems)} systems in the order of full ranking, and the least "
            f"number of users ({USERS[0]:,}, {USERS[1]:,}, {USERS[2]:,}, ...) for whom it has "
            f"{self.in_order:g} of them; the one whose level is nearest among those whose "
            "intervals cover, with the root of its squared bias and noise; and how many users are "
            f"ranked in full, {self.candidates:,.0f} candidates each, at the cost of m and the "
            f"relevant items for all, with their pairs in order. {self.note}"
        )

    def findings(self) -> Sequence[str]:
        """Say for each metric the cheapest samples that order systems well enough."""
        return [
            f"{metric} of {self.users:,} users: {self._said(place)}"
            for place, metric in enumerate(self.measures.metrics)
        ]

    def _ties(self, place: int) -> bool:
        """Tell whether all systems are exactly equal by a metric: there is no order."""
        return bool(np.isnan(self.full[1, :, place]).all())

    def _said(self, place: int) -> str:
        if self._ties(place):
            return "all systems tie, and there is no order to find."
        right = np.take_along_axis(self.numbers[3, :, :, place], self.best[:, place, None], axis=1)
        enough = np.flatnonzero(right[:, 0] >= self.in_order)
        number = int(enough[0]) if len(enough) else int(right[:, 0].argmax())
        best, near = self.best[number, place], self.nearest[number, place]
        bias, noise = self.numbers[:2, number, near, place].tolist()
        start = "" if len(enough) else f"no samples have {100 * self.in_order:.0f} % in order; "
        return (
            f"{start}{100 * right[number, 0]:.0f} % of the pairs of systems are in order from "
            f"{self.sizes[number]:,} negatives by {self.estimators[best]}, "
            f"{100 * self.scored[number] / self.candidates:.1f} % of the cost of full ranking. At "
            f"that cost {self.full_users[number]:,} users ranked in full have "
            f"{100 * self.full[1, number, place]:.0f} %. To report a level: "
            f"{self.estimators[near]}, bias {shown(bias)}, noise {shown(noise)}; in full: noise "
            f"{shown(float(self.full[0, number, place]))}."
        )


def _short(estimator: str) -> str:
    """Leave out options that are as they are by default, and the number of iterations."""
    return estimator.replace(",prior=uniform", "").replace("mode=floor,", "")
