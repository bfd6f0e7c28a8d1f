"""Swaps: how often two halves of the users order a pair of systems differently."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from analyses.ordering import DECIMALS
from analyses.shared.analysis import AnalysisSettings, analysis
from analyses.shared.drawing import category_styles, label_curves
from analyses.shared.measure import Measures, tidy
from analyses.shared.result import Result, figure, table
from analyses.shared.table import Table
from analyses.significance.permutation import pair_differences
from runs.shared.arrays import Floats
from runs.shared.errors import counted
from runs.shared.settings import Repeats
from runs.shared.streams import random_words

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.work import Work


class Settings(AnalysisSettings):
    """Random halves of the users."""

    repeats: Repeats = Field(
        200, ge=1, description="Number of times that the users are split into two random halves."
    )


@analysis(
    "swaps",
    source="Voorhees & Buckley (2002), section 3",
    on_request=True,
    question="How often do two halves of the {units} order a pair of systems differently?",
)
def swaps(work: Work, settings: Settings) -> Swaps:
    """Order the systems on two disjoint random halves of the users, and count the swapped pairs.

    A pair is swapped if the means over the two halves order its systems differently; a pair that
    ties on a half is not. Rates are shares of the pairs, in the mean over draws. Draw k depends on
    (seed, k) alone. Raises InputError if there are fewer than two systems or two users.
    """
    scores = work.scores
    scores.require("the analysis of swaps", users=2)
    repeats = settings.repeats
    draws = half_means(scores.weighted_values, repeats=repeats, seed=work.seed)
    sums_of_rates = np.zeros(len(scores.measures))
    for means in work.steps("Swaps", repeats, draws):
        sums_of_rates += swap_rates(means)
    return Swaps(
        measures=scores.measures,
        rates=sums_of_rates / repeats,
        n_systems=len(scores.systems),
        n_users=len(scores.users),
        repeats=repeats,
    )


@dataclass(frozen=True, eq=False)
class Swaps(Result):
    """Swap rates: how often two systems change their order on other users.

    Parameters
    ----------
    measures
        Label of ``rates``.
    rates
        Share of the pairs of systems that are swapped, in the mean over draws: float64 in [0, 1]
        of shape (n_measures,); 0.5 is chance.
    n_systems, n_users, repeats
        Facts for the caption.
    """

    measures: Measures
    rates: Floats
    n_systems: int
    n_users: int
    repeats: int

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Tabulate the rates in ``swaps``: columns metric, cutoff, swap_rate."""
        return {"swaps": tidy(self.measures, swap_rate=self.rates)}

    def caption(self) -> str:
        """Write what a swap rate is, and how halves are drawn."""
        return (
            f"Swap rate: share of the pairs of {self.n_systems} systems that two disjoint halves "
            f"of the {counted(self.n_users, self.unit)} order differently, mean of "
            f"{self.repeats:,} "
            "random splits. Lower is better; .5 is chance."
        )

    @table("swaps", "share of the pairs of systems that halves of the {units} order differently")
    def table(self) -> Table:
        """Tabulate the swap rates by metric and cut-off."""
        cells = self.measures.cells_by_cutoff(self.rates, heading="swap rate")
        return Table.from_cells("swaps", "Swap rates", self.caption(), "metric", cells)

    @figure("swaps", "Swap rate between halves of the {units}, by cut-off", over_cutoffs=True)
    def plot(self, ax: Axes) -> None:
        """Draw the rate of every metric against the cut-off.

        ``self.rates`` has a rate for each measure, (n_measures,). Metrics without several cut-offs,
        and measures of whole lists, are left out.
        """
        curves = self.measures.curves
        for metric, style in category_styles(list(curves)):
            measures = curves[metric]
            cutoffs = [measure.cutoff or 0 for measure in measures]
            rates = self.rates[self.measures.indices(measures)]
            ax.plot(cutoffs, rates, label=metric, **style)
        ax.set(ylim=(0, None), xlabel="cut-off", ylabel="swap rate")
        label_curves(ax)


def half_means(values: Floats, *, repeats: int, seed: int) -> Iterator[Floats]:
    """Average the scores over two random halves of the users, draw by draw.

    Draw k depends on (seed, k) alone. Of an odd number of users, one is in neither half.

    Parameters
    ----------
    values
        Scores of shape (n_measures, n_systems, n_users), of two users at least.
    repeats
        Number of draws.
    seed
        Random seed.

    Yields
    ------
    Means of one draw, of shape (2, n_measures, n_systems).
    """
    n_users = values.shape[2]
    half_size = n_users // 2
    for repeat in range(repeats):
        words = random_words(n_users, seed, "swaps", repeat)
        order = np.argsort(words, kind="stable")
        first_half = order[:half_size]
        second_half = order[-half_size:]
        first_means = values[:, :, first_half].mean(axis=2)
        second_means = values[:, :, second_half].mean(axis=2)
        yield np.stack([first_means, second_means])


def swap_rates(means: Floats) -> Floats:
    """Compute the share of the pairs of systems that two halves of the users order differently.

    Means are of shape (2, n_measures, n_systems), the shares of (n_measures,). A pair that ties on
    a half, to 12 decimals, is not swapped.
    """
    differences = np.round(pair_differences(means), DECIMALS)
    first_signs, second_signs = np.sign(differences)
    is_swapped = first_signs * second_signs < 0
    return np.asarray(is_swapped.mean(axis=1))
