"""How many models it takes to show that the best of many measures is no accident."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.online.agreement.best_of_many import MOST_ENUMERATED, best_of_many
from analyses.online.agreement.wording import ALPHA, print_p
from analyses.online.planning.arms_needed import WANTED_POWER, chosen_sizes, random_models
from analyses.online.tables.experiment import Experiment
from analyses.shared.drawing import axes_or_new
from runs import InputError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ArmsForBest:
    """The max-T test of the best measure, in experiments with fewer models.

    Parameters
    ----------
    sizes
        Numbers of models (arms), label of the first axis.
    p_adjusted
        Smallest adjusted p of each experiment, of shape (n_sizes, n_subsets).
    n_models, n_measures
        Number of all models and measures.
    permutations
        Of each test, where not all orders are gone through.
    seed
        Of subsets and permutations.
    """

    sizes: tuple[int, ...]
    p_adjusted: Floats
    n_models: int
    n_measures: int
    permutations: int
    seed: int

    @property
    def shown(self) -> Floats:
        """Share of experiments whose best measure passes the test, of shape (n_sizes,)."""
        return (self.p_adjusted <= ALPHA).mean(axis=1)

    def to_frame(self) -> pd.DataFrame:
        """One row per number of arms: columns arms, shown, and median_p of the best measure."""
        import pandas as pd

        medians = np.median(self.p_adjusted, axis=1)
        return pd.DataFrame({"arms": self.sizes, "shown": self.shown, "median_p": medians})

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw how often the best measure passes the test, over the number of arms."""
        ax = axes_or_new(ax)
        ax.plot(self.sizes, self.shown, "o-", color="#0072B2")
        ax.axhline(WANTED_POWER, color="0.6", linewidth=0.8, zorder=0)
        ax.axhline(ALPHA, color="0.6", linewidth=0.8, linestyle=":", zorder=0)
        ax.set_ylim(-0.02, 1.02)
        ax.locator_params(axis="x", integer=True)
        ax.set_xlabel("arms (models)")
        ax.set_ylabel(f"experiments that tell the best\nof {self.n_measures:,} from chance")
        return ax

    def caption(self) -> str:
        """Say what passes which test."""
        return (
            f"Share of {self.p_adjusted.shape[1]:,} random subsets of {self.n_models} models in "
            f"which the largest rho of {self.n_measures:,} measures with the click-through rate is "
            "so large that rates dealt out among the models at random give one with a chance of "
            f"at most {print_p(ALPHA)} (max-T, {self.permutations:,} permutations, all orders "
            f"of up to {MOST_ENUMERATED} models; seed {self.seed})."
        )


def arms_for_best(
    values: Floats,
    *,
    rates: Floats,
    sizes: Sequence[int] | None = None,
    subsets: int = 200,
    permutations: int = 999,
    seed: int,
) -> ArmsForBest:
    """Test the best of all measures in random subsets of many models.

    Offline values have the shape (n_measures, n_models), and click-through rates as observed, which
    the subsets take in turn, (n_observations, n_models). Subsets and sizes are those of
    `arms_needed` with this seed.

    Raises
    ------
    InputError
        If values, rates and sizes do not fit, or no measure has a rho in a subset.

    Notes
    -----
    It costs up to 10 CPU-ms per subset for 588 measures of 24 models, but 150 for 8 models and 2 s
    for 9, whose orders are all gone through.
    """
    n_measures, n_models = values.shape
    if rates.ndim != 2 or rates.shape[1] != n_models or not len(rates):
        raise InputError(
            f"rates must have the shape (n_observations, {n_models}), got {rates.shape}."
        )
    chosen = chosen_sizes(sizes, n_models)
    models = random_models(subsets, n_models, seed)
    p_adjusted = np.empty((len(chosen), subsets))
    for row, size in enumerate(chosen):
        for subset in range(subsets):
            drawn = models[subset, :size]
            observed = rates[subset % len(rates), drawn]
            one = _unnamed(values[:, drawn], observed)
            found = best_of_many([one], permutations=permutations, seed=seed)
            p_adjusted[row, subset] = found.p_adjusted[found.best]
    return ArmsForBest(
        sizes=chosen,
        p_adjusted=p_adjusted,
        n_models=n_models,
        n_measures=n_measures,
        permutations=permutations,
        seed=seed,
    )


def _unnamed(values: Floats, rates: Floats) -> Experiment:
    """Give an experiment whose models and measures are numbered."""
    measures, models = (tuple(map(str, range(length))) for length in values.shape)
    return Experiment("subset", models, measures, values, rates)
