"""How many negatives, and which estimator: errors and orders against items scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from scipy.special import ndtr

from analyses.sampled import estimates
from analyses.sampled.expectation.crossings import first_of
from analyses.sampled.expectation.metrics import rank_metric
from analyses.sampled.shared.sampling_experiment import (
    Experiment,
    experiment,
    nearest,
    shares_in_order,
)
from analyses.sampled.shared.settings import SampleSizes, checked_sizes
from analyses.sampled.shared.trials import SampledSystems, Way
from analyses.shared.analysis import analysis
from analyses.shared.drawing import categories, chosen_panel, label_curves, scale_by_factors
from analyses.shared.result import figure, table
from analyses.shared.table import Cell, Table, shown
from analyses.significance.permutation.pairs import pair_indices
from qrels import FullRanks

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.work import Work

Floats = NDArray[np.float64]

USERS = tuple(size * 10**power for power in range(2, 7) for size in (1, 2, 5))
"""Numbers of users that are tried."""


class Settings(estimates.Settings):
    """Which samples err little and order systems well enough, and what they cost."""

    sizes: SampleSizes = None
    in_order: float = Field(
        0.9, gt=0.5, lt=1, description="Share of the pairs of systems to be in the true order."
    )

    def designs(self, ranks: FullRanks) -> list[Way]:
        """Give all estimators for each number of negatives, from which adaptive samples grow.

        By default these are 10, 20, 50, 100, ... up to a third of the fewest candidates.
        """
        every = checked_sizes(self.sizes, ranks)
        asked = [self.model_copy(update={"negatives": m, "n_max": None}) for m in every]
        return [way for one in asked for way in estimates.Settings.designs(one, ranks)]


@analysis(
    "cost",
    source="Krichene & Rendle (2020); Li et al. (2023), tables 1 and 2",
    needs=("full_ranks",),
)
def cost(work: Work, settings: Settings) -> Cost:
    r"""Sample negatives, few and many, beside full ranking of fewer users.

    What m negatives of U users cost ranks :math:`k = U (m + q) / n` users in full, of n candidates
    and q relevant items each. Their difference of two systems, in the mean d over all users, is
    taken for normal with the variance of k of them, :math:`s_d^2 (1/k - 1/U)`. With thousands of
    negatives ``mn`` takes a quarter of a minute for a system, much longer than the others.

    Examples
    --------
    Two negatives, or all four; those, without replacement, leave no error:

    >>> from analyses.shared.work import RanksAlone
    >>> work = RanksAlone({"one": FullRanks.of([1, 4], n_candidates=5)}, seed=1)
    >>> asked = {"metrics": ("Recall@1",), "estimators": ("uncorrected",), "replace": False}
    >>> found = cost(work, Settings(**asked, sizes=(2, 4), repeats=2)).to_frame()
    >>> found["sample"].tolist(), found["scored"].tolist(), found["error"].iloc[1].item()
    (['m = 2', 'm = 4'], [3.0, 5.0], 0.0)
    """
    systems = SampledSystems.of(work, settings.draws).systems
    first, (a, b) = first_of(systems), pair_indices(len(systems))
    every = [rank_metric(name) for name in settings.metrics]
    of_users = np.array([[one.of_users(ranks) for ranks in systems.values()] for one in every])
    apart = of_users[:, a] - of_users[:, b]
    return experiment(
        Cost,
        work,
        settings,
        settings.designs(first),
        apart=np.abs(apart.mean(axis=2)),
        apart_spread=apart.std(axis=2),
        in_order=settings.in_order,
    )


@dataclass(frozen=True, eq=False)
class Cost(Experiment):
    """What samples of several sizes tell, and full ranking of fewer users at the same cost.

    Parameters
    ----------
    apart, apart_spread
        How far pairs of systems are apart by full ranking, and the standard deviation of that over
        users: (n_metrics, n_pairs).
    in_order
        The share of the pairs asked for.
    """

    apart: Floats
    apart_spread: Floats
    in_order: float

    label, curves = "Estimating at all costs", False

    @property
    def parts(self) -> tuple[str, ...]:
        """Panels of the figure of errors: metrics that have curves over cut-offs."""
        return tuple(name for name in self.metrics if name != "AUC")

    @property
    def items(self) -> Floats:
        """Items scored for a user, in the mean over systems: (n_ways,)."""
        return np.asarray(self.scored.mean(axis=1))

    @property
    def full_users(self) -> NDArray[np.int64]:
        """Users who are ranked in full at the cost of each way: (n_ways,)."""
        users = np.round(self.users * self.items / self.mean_candidates)
        return np.clip(users, 1, self.users).astype(np.int64)

    @cached_property
    def full(self) -> Floats:
        """Noise of their levels, and pairs in order: (2, n_ways, n_metrics)."""
        scale = np.sqrt(1 / self.full_users - 1 / self.users)[:, np.newaxis]
        noise = scale[..., np.newaxis] * self.apart_spread
        surely = np.broadcast_to(np.where(self.apart > 0, np.inf, 0.0), noise.shape).copy()
        right = ndtr(np.divide(self.apart, noise, out=surely, where=noise > 0))
        level = scale * np.sqrt((self.spread**2).mean(axis=1))
        return np.stack([level, shares_in_order(right, self.apart)])

    @cached_property
    def needed(self) -> Floats:
        """Least number of users tried who have the pairs in order, or NaN: (n_ways, n_metrics)."""
        needed = np.full(self.expected.shape[:2], np.nan)
        for users in reversed(USERS):
            needed[self.in_samples(users) >= self.in_order] = users
        return needed

    @cached_property
    def chosen(self) -> NDArray[np.intp]:
        """Ways to compare systems by, with most pairs in order, and to report levels by.

        Of each size: (2, n_sizes, n_metrics).
        """
        numbers = np.stack([*map(self.by_size, self.numbers)])
        best = np.round(np.nan_to_num(numbers[3]), 4).argmax(axis=1)
        starts = np.arange(len(self.sizes))[:, np.newaxis] * numbers.shape[2]
        return np.stack([best, nearest(numbers)]) + starts

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give errors by system, and what to choose from."""
        return {"sampled_cost": self.to_frame(), "sampled_choose": self.choices()}

    def choices(self) -> pd.DataFrame:
        """Add to `advice` what is chosen by.

        Returns
        -------
        Its columns; scored, the items scored for a user; users_needed; full_users, those ranked in
        full at that cost, with full_noise and full_in_order.
        """
        n_metrics = len(self.metrics)
        names = ("users_needed", "full_noise", "full_in_order")
        every = zip(names, (self.needed, *self.full), strict=True)
        return self.advice().assign(
            scored=np.tile(self.items, n_metrics),
            full_users=np.tile(self.full_users, n_metrics),
            **{name: of.T.ravel() for name, of in every},
        )

    @table("sampled_choose", "negatives and estimators to choose, and fewer users in full")
    def advised(self) -> Table:
        """Tabulate what to compare and to report by for each number of negatives."""
        places = np.ndindex(len(self.metrics), len(self.sizes))
        return Table(
            name="sampled_choose",
            title=f"What to choose for {self.users:,} users",
            note=self.caption(),
            headings=[
                *("metric, negatives", "to compare", "in order", f"users for {self.in_order:g}"),
                *("to report", "error", "in full", "in order"),
            ],
            rows=[self._row(place, number) for place, number in places],
        )

    def _row(self, place: int, number: int) -> list[Cell]:
        """Give the row of a metric and a number of negatives."""
        best, near = self.chosen[:, number, place]
        needed, numbers = self.needed[best, place], self.numbers[..., place]
        return [
            f"{self.metrics[place]}, m = {self.sizes[number]:,}",
            "-" if self._ties(place) else self.names[best],
            float(numbers[3, best]),
            "-" if np.isnan(needed) else f"{needed:,.0f}",
            self.names[near],
            float(np.hypot(*numbers[:2, near])),
            f"{self.full_users[best]:,}",
            float(self.full[1, best, place]),
        ]

    @figure(
        "sampled_cost",
        "Sampled negatives: error against cost",
        number=14,
        panels="part",
        comparable=False,
    )
    def plot(self, ax: Axes | None = None, *, part: str | None = None) -> Axes:
        """Draw errors of a metric's curve against items scored, a curve for each estimator."""
        ax, frame = self.panel(ax, self.parts[chosen_panel(self.parts, part)])
        errors = frame.groupby("way")["error"].mean()
        # No error at all has no place on a logarithmic axis.
        self._against_cost(ax, errors.where(errors > 0).to_numpy())
        scale_by_factors(ax, along="y")
        ax.set_ylabel("relative error of the curve, %")
        return ax

    @figure(
        "sampled_choose",
        "Sampled negatives: pairs in order against cost",
        number=28,
        panels="metric",
        comparable=False,
    )
    def plot_orders(self, ax: Axes | None = None, *, metric: str | None = None) -> Axes:
        """Draw the pairs in order against items scored, with fewer users in full."""
        ax, frame = self.panel(ax, metric)
        number = self.metrics.index(frame["measure"].iloc[0])
        self._against_cost(ax, self.numbers[3, :, number], self.full[1, :, number])
        ax.axhline(self.in_order, color="0.6", linewidth=0.8, zorder=0)
        ax.set_ylabel("pairs of systems in order")
        return ax

    def _against_cost(self, ax: Axes, values: Floats, full: Floats | None = None) -> None:
        """Draw values of the ways, (n_ways,), a curve for each estimator, and of full ranking."""
        curves = [*zip(self.by_size(self.items).T, self.by_size(values).T, strict=True)]
        labels, order = [*dict.fromkeys(self.names)], self.items.argsort(kind="stable")
        if full is not None:
            labels, curves = (
                [*labels, "fewer users in full"],
                [*curves, (self.items[order], full[order])],
            )
        for (label, style), (items, curve) in zip(categories(labels), curves, strict=True):
            ax.plot(items, curve, label=label, **style)
        scale_by_factors(ax, along="x")
        ax.set_xlabel("items scored for a user")
        label_curves(ax)

    def caption(self) -> str:
        """Say what is shown."""
        zeros = f"Cut-offs where the truth is 0, up to {self.zero_cutoffs.max()} of a curve, are "
        return (
            f"For samples of each of {self.users:,} users: the estimator that has most of the "
            f"pairs of {len(self.systems)} systems in the order of full ranking, and the least "
            f"number of users ({USERS[0]:,}, {USERS[1]:,}, {USERS[2]:,}, ...) for whom it has "
            f"{self.in_order:g} of them; the one whose level is nearest among those whose "
            "intervals cover, with the root of its squared bias and noise; how many users are "
            f"ranked in full, {self.mean_candidates:,.0f} candidates each, at the cost of the "
            "first, with their pairs in order. Relative errors are of curves at cut-offs 1 to 50, "
            f"in per cent, in the mean over systems; items scored include the relevant ones. "
            f"{f'{zeros}left out. ' if self.zero_cutoffs.any() else ''}{self.of_samples}"
        )

    def findings(self) -> Sequence[str]:
        """Say for each metric the cheapest samples that order systems well enough."""
        return [
            f"{metric} of {self.users:,} users: {self._said(place)}"
            for place, metric in enumerate(self.metrics)
        ]

    def _ties(self, place: int) -> bool:
        """Tell whether all systems are exactly equal by a metric: there is no order."""
        return bool(np.isnan(self.full[1, :, place]).all())

    def _said(self, place: int) -> str:
        if self._ties(place):
            return "all systems tie, and there is no order to find."
        numbers, (best, near) = self.numbers[..., place], self.chosen[..., place]
        right = numbers[3, best]
        enough = np.flatnonzero(right >= self.in_order)
        number = int(enough[0]) if len(enough) else int(right.argmax())
        way, level = best[number], near[number]
        bias, noise = numbers[:2, level].tolist()
        start = "" if len(enough) else f"no samples have {100 * self.in_order:.0f} % in order; "
        return (
            f"{start}{100 * right[number]:.1f} % of the pairs of systems are in order from "
            f"{self.sizes[number]:,} negatives by {self.names[way]}, "
            f"{100 * self.items[way] / self.mean_candidates:.1f} % of the cost of full ranking. At "
            f"that cost {self.full_users[way]:,} users ranked in full have "
            f"{100 * self.full[1, way, place]:.0f} %. To report a level: "
            f"{self.names[level]}, bias {shown(bias)}, noise {shown(noise)}; in full: noise "
            f"{shown(float(self.full[0, way, place]))}."
        )
