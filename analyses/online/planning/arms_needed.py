"""How many models an experiment needs: what fewer of them would have shown, their truth known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from analyses.intervals.resampling import percentiles
from analyses.online.agreement.spearman_null import SMALLEST_STEP, smallest_rho
from analyses.online.agreement.wording import (
    ADVISED_MODELS,
    ALPHA,
    FEWEST_MODELS,
    print_p,
    print_rho,
)
from analyses.ordering import spearman
from analyses.ordering.agreement import mean_of_defined
from analyses.shared.drawing import axes_or_new, categories, draw_band, legend_beside
from runs import InputError
from runs.shared.streams import random_words

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

WANTED_POWER: Final = 0.8


@dataclass(frozen=True, eq=False)
class ArmsNeeded:
    """Correlations that experiments with fewer models would have shown.

    Parameters
    ----------
    measures
        Label of the first axis.
    sizes
        Numbers of models (arms), label of the second axis.
    n_models
        Number of all models.
    true_rhos
        Spearman's rho with the true rates over all models, of shape (n_measures,).
    rhos
        With the observed rates over random subsets of the models, of shape (n_measures, n_sizes,
        n_subsets): for all 588 measures, take hundreds of subsets.
    smallest
        Smallest rho whose one-sided p is at most `ALPHA`, of shape (n_sizes,); NaN if none.
    n_observations
        Sets of observed rates that the subsets took in turn.
    seed
        Of the subsets.
    """

    measures: tuple[str, ...]
    sizes: tuple[int, ...]
    n_models: int
    true_rhos: Floats
    rhos: Floats
    smallest: Floats
    n_observations: int
    seed: int

    @property
    def shown(self) -> Floats:
        """Share of subsets whose rho reaches the smallest one, of shape (n_measures, n_sizes)."""
        return (self.rhos >= self.smallest[:, np.newaxis] - SMALLEST_STEP).mean(axis=-1)

    @property
    def shown_reversed(self) -> Floats:
        """Share of subsets whose rho is as far below 0."""
        return (self.rhos <= SMALLEST_STEP - self.smallest[:, np.newaxis]).mean(axis=-1)

    def to_frame(self) -> pd.DataFrame:
        """One row per measure and number of arms.

        Columns measure, arms, true_rho (over all models), mean, low, high (middle 95 %) and
        deviation of the subsets' rhos, positive (share above 0), smallest_rho, shown (share of at
        least that: the power, if true_rho is positive) and shown_reversed (share as far below 0).
        """
        import pandas as pd

        low, high = percentiles(self.rhos)
        mean = mean_of_defined(self.rhos)
        squares = (self.rhos - mean[..., np.newaxis]) ** 2
        measure, size = np.indices(low.shape).reshape(2, -1)
        return pd.DataFrame(
            {
                "measure": [self.measures[number] for number in measure],
                "arms": np.array(self.sizes)[size],
                "true_rho": self.true_rhos[measure],
                "mean": mean.ravel(),
                "low": low.ravel(),
                "high": high.ravel(),
                "deviation": np.sqrt(mean_of_defined(squares)).ravel(),
                "positive": (self.rhos > 0).mean(axis=-1).ravel(),
                "smallest_rho": self.smallest[size],
                "shown": self.shown.ravel(),
                "shown_reversed": self.shown_reversed.ravel(),
            }
        )

    def choices(self) -> pd.DataFrame:
        """What becomes of the measure that an experiment finds best.

        The best of many owes a part of its rho to chance, and the more the fewer arms there are.

        One row per number of arms. Columns arms, observed, observed_low, observed_high (largest rho
        of all measures: mean and middle 95 %), true, true_low, true_high (true rho of the measure
        that has it, the mean of those that tie), best_true (of the truly best measure) and
        mean_true (of all: a choice at random).
        """
        import pandas as pd

        observed, true = self._best_of_each()
        columns: dict[str, Any] = {"arms": self.sizes}
        for name, rhos in (("observed", observed), ("true", true)):
            low, high = percentiles(rhos)
            columns |= {name: mean_of_defined(rhos), f"{name}_low": low, f"{name}_high": high}
        defined = self.true_rhos[~np.isnan(self.true_rhos)]
        return pd.DataFrame(columns).assign(
            best_true=defined.max(initial=-1.0), mean_true=mean_of_defined(self.true_rhos)
        )

    def _best_of_each(self) -> tuple[Floats, Floats]:
        """Give the largest rho of each subset, and the true one of the measures that have it."""
        rhos = np.where(np.isnan(self.rhos), -np.inf, self.rhos)
        largest = rhos.max(axis=0)
        has_it = (rhos >= largest - SMALLEST_STEP) & np.isfinite(rhos)
        true = np.where(has_it, self.true_rhos[:, np.newaxis, np.newaxis], np.nan)
        chosen = mean_of_defined(np.moveaxis(true, 0, -1))
        return np.where(np.isfinite(largest), largest, np.nan), chosen

    def needed(self, measure: str) -> int | None:
        """Give the number of arms from which the true sign is shown often enough; None if never.

        Raises
        ------
        InputError
            If there is no such measure.
        """
        if measure not in self.measures:
            raise InputError(
                f"no measure is called {measure!r}; there are {', '.join(self.measures)}."
            )
        row = self.measures.index(measure)
        shown = self.shown[row] if self.true_rhos[row] >= 0 else self.shown_reversed[row]
        enough = np.logical_and.accumulate((shown >= WANTED_POWER)[::-1])[::-1]
        return self.sizes[int(enough.argmax())] if enough.any() else None

    def conclusion(self, measure: str, *, arms: int = 5) -> str:
        """Say what experiments with so many arms would have shown of a measure.

        Raises
        ------
        InputError
            If there is no such measure or size.
        """
        frame = self.to_frame()
        found = frame[(frame["measure"] == measure) & (frame["arms"] == arms)]
        if found.empty:
            raise InputError(f"nothing is known of {measure} with {arms} arms.")
        row = found.iloc[0]
        needed = self.needed(measure)
        from_where = "at no number tried" if needed is None else f"from {needed} arms on"
        return (
            f"{measure} has a true rho of {print_rho(row['true_rho'])} over {self.n_models} "
            f"models. Of {arms} of them, rho is {print_rho(row['mean'])} on average, "
            f"{print_rho(row['low'])} to {print_rho(row['high'])} in 95 % of experiments, and "
            f"positive in {_percent(row['positive'])}. {self._sign_shown(row)} "
            f"{_percent(WANTED_POWER)} of experiments show the true sign {from_where}."
        )

    def _sign_shown(self, row: pd.Series[Any]) -> str:
        if np.isnan(row["smallest_rho"]):
            return "No rho over so few models has a chance small enough to show its sign."
        return (
            f"{_percent(row['shown'])} reach {print_rho(row['smallest_rho'])}, which a random "
            f"order of the models does with a chance of at most {print_p(ALPHA)}, and "
            f"{_percent(row['shown_reversed'])} its opposite."
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw how often the sign of each measure's true rho is shown, over the number of arms."""
        ax = axes_or_new(ax)
        shown = np.where(self.true_rhos[:, np.newaxis] >= 0, self.shown, self.shown_reversed)
        for row, (label, style) in enumerate(categories(self.measures)):
            truth = f"{label}, true rho {print_rho(self.true_rhos[row])}"
            ax.plot(self.sizes, shown[row], label=truth, **style)
        ax.axhline(WANTED_POWER, color="0.6", linewidth=0.8, zorder=0)
        ax.axhline(ALPHA, color="0.6", linewidth=0.8, linestyle=":", zorder=0)
        ax.set_ylim(-0.02, 1.02)
        _label_arms(ax)
        ax.set_ylabel("experiments that show the sign")
        legend_beside(ax)
        return ax

    def plot_choices(self, ax: Axes | None = None) -> Axes:
        """Draw the rho of the measure found best, as observed and in truth: means, middle 95 %."""
        ax = axes_or_new(ax)
        frame = self.choices()
        arms = frame["arms"].to_numpy()
        for name, (label, style) in zip(
            ("observed", "true"), categories(["as observed", "in truth"]), strict=True
        ):
            limits = frame[f"{name}_low"].to_numpy(), frame[f"{name}_high"].to_numpy()
            draw_band(ax, arms, *limits, style)
            ax.plot(arms, frame[name], label=label, **style)
        ax.axhline(frame["best_true"][0], color="black", linewidth=0.8, label="truly best measure")
        ax.axhline(
            frame["mean_true"][0], color="0.6", linewidth=0.8, linestyle=":", label="random measure"
        )
        _label_arms(ax)
        ax.set_ylabel(f"rho of the best of {len(self.measures):,} measures")
        legend_beside(ax)
        return ax

    def caption(self) -> str:
        """Say what was drawn from what."""
        return (
            "Spearman's rho of offline measures with click-through rates in "
            f"{self.rhos.shape[2]:,} random subsets of {self.n_models} models whose true rates are "
            f"known ({self.n_observations:,} sets of observed rates; seed {self.seed}). The sign "
            "is shown where a random order of the models reaches rho with a chance of at most "
            f"{print_p(ALPHA)}. Subsets of most of the models are much alike. Fewer than "
            f"{FEWEST_MODELS} models can be described, not judged; take {ADVISED_MODELS} or more."
        )


def arms_needed(
    values: Floats,
    *,
    true_rates: Floats,
    measures: Sequence[str],
    observed_rates: Floats | None = None,
    sizes: Sequence[int] | None = None,
    subsets: int = 2000,
    seed: int,
) -> ArmsNeeded:
    """Take many models with known true rates, and look what experiments with fewer would show.

    Offline values have the shape (n_measures, n_models), true rates (n_models,), and rates as
    observed with noise (n_observations, n_models); by default they are the true ones. Sizes are
    numbers of models, rising, from 3 to n_models; see `chosen_sizes`. The same models are drawn
    first for every size of a subset.

    Raises
    ------
    InputError
        If shapes or sizes do not fit.
    """
    n_measures, n_models = values.shape
    observed = true_rates[np.newaxis] if observed_rates is None else observed_rates
    shapes = ((len(measures), len(true_rates)), (len(observed), len(true_rates)))
    if (values.shape, observed.shape) != shapes or not len(observed):
        raise InputError(
            f"{len(measures)} measures and {len(true_rates)} true rates do not fit values of shape "
            f"{values.shape} and observed rates of shape {observed.shape}."
        )
    chosen = chosen_sizes(sizes, n_models)
    orders = random_models(subsets, n_models, seed)
    rates = observed[np.arange(subsets) % len(observed)]
    rhos = np.empty((n_measures, len(chosen), subsets))
    for column, size in enumerate(chosen):
        models = orders[:, :size]
        drawn = np.take_along_axis(rates, models, axis=1)
        for row in range(n_measures):
            rhos[row, column] = spearman(values[row][models], drawn)
    return ArmsNeeded(
        measures=tuple(measures),
        sizes=chosen,
        n_models=n_models,
        true_rhos=spearman(values, true_rates),
        rhos=rhos,
        smallest=np.array([smallest_rho(size, alpha=ALPHA) for size in chosen]),
        n_observations=len(observed),
        seed=seed,
    )


def _label_arms(ax: Axes) -> None:
    ax.locator_params(axis="x", integer=True)
    ax.set_xlabel("arms (models)")


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def chosen_sizes(sizes: Sequence[int] | None, n_models: int) -> tuple[int, ...]:
    """Give numbers of models; by default 5, 8, 10, 15, 20, 30, .. below n_models, and n_models.

    Raises
    ------
    InputError
        If there is none, or one is not from 3 to n_models.

    Examples
    --------
    >>> chosen_sizes(None, 24)
    (5, 8, 10, 15, 20, 24)
    """
    rising = (5, 8, 10, 15, *range(20, n_models, 10))
    usual = (*(size for size in rising if size < n_models), n_models)
    chosen = usual if sizes is None else tuple(sizes)
    if not chosen or not all(3 <= size <= n_models for size in chosen):
        raise InputError(f"`sizes` must be from 3 to {n_models}, got {chosen}.")
    return chosen


def random_models(n_subsets: int, n_models: int, seed: int) -> NDArray[np.intp]:
    """Draw models at random: the first of a row are a subset of any size.

    Returns
    -------
    Numbers below n_models, each once in a row, of shape (n_subsets, n_models).
    """
    words = random_words(n_subsets * n_models, seed, "arms", n_models)
    return words.reshape(n_subsets, n_models).argsort(axis=1, kind="stable")
