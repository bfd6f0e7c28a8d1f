"""Which of two measures follows the click-through rate better, with intervals over users.

Users are resampled jointly: the same weight for a user in the offline measures and in the rates.
The models stay as they are, and so do the conclusions: they are about these models.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from numpy.typing import NDArray

from analyses.intervals.resampling import CONFIDENCE, interval
from analyses.online.agreement.measure_names import (
    Pair,
    beta_pairs,
    label_columns,
    validation_pairs,
)
from analyses.online.agreement.rank_agreement import correlations
from analyses.online.agreement.wording import caution
from analyses.online.tables.experiment import Experiment
from analyses.ordering import spearman
from analyses.ordering.agreement import mean_of_defined
from analyses.shared.drawing import axes_or_new, categories, draw_whiskers, legend_beside
from runs import InputError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]
Family = Literal["validations", "betas"]

FAMILIES: Final[Mapping[Family, tuple[str, Callable[[Sequence[str]], list[Pair]]]]] = {
    "validations": ("LLOO less LOO", validation_pairs),
    "betas": ("beta > 0 less beta = 0", beta_pairs),
}
"""What is compared with what."""

BETWEEN_WHISKERS: Final = 0.008
"""Of beta."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """Correlations of measures with click-through rates among resampled users.

    Parameters
    ----------
    experiment, measures, models
        What was compared.
    rhos
        Spearman's rho of each measure as observed, of shape (n_measures,).
    replicates
        The same for resampled users, of shape (n_measures, n_replicates).
    variance_by_values
        Variance of each rho if users are resampled for the offline values alone.
    variance_by_rates
        ... for the click-through rates alone.
    """

    experiment: str
    measures: tuple[str, ...]
    models: tuple[str, ...]
    rhos: Floats
    replicates: Floats
    variance_by_values: Floats
    variance_by_rates: Floats

    def to_frame(self) -> pd.DataFrame:
        """One row per measure.

        Columns measure, validation, beta, cutoff, weights (see `label_columns`), rho, low, high
        (95 %), error (standard, both sides resampled), share_by_values and share_by_rates: what
        resampling either side alone contributes to the sum of their variances.
        """
        import pandas as pd

        low, high = interval(self.rhos, self.replicates, limits=(-1.0, 1.0))
        both = self.variance_by_values + self.variance_by_rates
        nothing = np.full(both.shape, np.nan)
        share = np.divide(self.variance_by_values, both, out=nothing, where=both > 0)
        return pd.DataFrame(label_columns(self.measures)).assign(
            rho=self.rhos,
            low=low,
            high=high,
            error=np.sqrt(_variance(self.replicates)),
            share_by_values=share,
            share_by_rates=1 - share,
        )

    def differences(self, pairs: Sequence[Pair]) -> pd.DataFrame:
        """Compare any pairs of measures, by their numbers.

        No correction is made for the number of pairs.

        Columns first, second, difference (of rho, the first less the second), low, high (95 %) and
        beyond_noise: whether the interval excludes 0.
        """
        import pandas as pd

        first, second = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
        difference = self.rhos[first] - self.rhos[second]
        replicates = self.replicates[first] - self.replicates[second]
        low, high = interval(difference, replicates, limits=(-2.0, 2.0))
        return pd.DataFrame(
            {
                "first": [self.measures[number] for number in first],
                "second": [self.measures[number] for number in second],
                "difference": difference,
                "low": low,
                "high": high,
                "beyond_noise": (low > 0) | (high < 0),
            }
        )

    def family(self, family: Family) -> pd.DataFrame:
        """Compare LLOO with LOO (``"validations"``), or beta > 0 with beta = 0 (``"betas"``).

        Columns measure, validation, beta, cutoff and weights of the first, then those of
        `differences`.

        Raises
        ------
        InputError
            If there is no such family.
        """
        import pandas as pd

        pairs = _pairs(family, self.measures)
        labels = pd.DataFrame(label_columns([self.measures[first] for first, _ in pairs]))
        return pd.concat([labels, self.differences(pairs)], axis=1)

    def summary(self) -> pd.DataFrame:
        """Average the differences of a family over its pairs: its one overall answer.

        Columns family, compared, pairs, difference, low, high (95 %) and beyond_noise. Pairs with
        an undefined rho are left out. Families without a pair are not listed.
        """
        import pandas as pd

        rows = []
        for family, (compared, _) in FAMILIES.items():
            pairs = np.array(_pairs(family, self.measures), dtype=np.intp).reshape(-1, 2)
            first, second = pairs[np.isfinite(self.rhos[pairs].sum(axis=1))].T
            if len(first):
                difference = (self.rhos[first] - self.rhos[second]).mean()
                replicates = (self.replicates[first] - self.replicates[second]).mean(axis=0)
                low, high = map(float, interval(difference, replicates, limits=(-2.0, 2.0)))
                is_beyond = low > 0 or high < 0
                rows.append((family, compared, len(first), difference, low, high, is_beyond))
        columns = ["family", "compared", "pairs", "difference", "low", "high", "beyond_noise"]
        return pd.DataFrame(rows, columns=columns)

    def plot(
        self, ax: Axes | None = None, *, family: Family = "validations", cutoff: int = 5
    ) -> Axes:
        """Draw the differences of a family at one cut-off over beta, with their intervals.

        Raises
        ------
        InputError
            If there is no such family, or no pair of it at this cut-off.
        """
        ax = axes_or_new(ax)
        frame = self.family(family)
        frame = frame[frame["cutoff"] == cutoff]
        if frame.empty:
            raise InputError(f"no {family} were compared at cut-off {cutoff}.")
        curves = [curve for _, curve in frame.groupby(["validation", "weights"], sort=False)]
        labels = [f"{curve['validation'].iloc[0]}, {curve['weights'].iloc[0]}" for curve in curves]
        for number, (label, style) in enumerate(categories(labels)):
            curve = curves[number]
            # Side by side, so that whiskers do not cover each other.
            places = curve["beta"].to_numpy() + BETWEEN_WHISKERS * number
            limits = curve["low"].to_numpy(), curve["high"].to_numpy()
            draw_whiskers(ax, places, curve["difference"].to_numpy(), limits, style, label=label)
        ax.axhline(0, color="0.6", linewidth=0.8, zorder=0)
        ax.set_xlabel("beta")
        ax.set_ylabel(f"rho at {cutoff}: {FAMILIES[family][0]}")
        if len(curves) > 1:
            legend_beside(ax)
        return ax

    def caption(self) -> str:
        """Say what was resampled, and what the intervals are about."""
        undefined = int(np.isnan(self.replicates).sum())
        left_out = f" They leave out {undefined:,} undefined rhos." if undefined else ""
        return (
            f"Spearman's rho with the click-through rate over the {len(self.models)} models of "
            f"{self.experiment}, and differences of it. Intervals: {100 * CONFIDENCE:.0f} % "
            f"bootstrap over users, {self.replicates.shape[1]:,} replicates, in which a user has "
            "one weight in the offline measures and in the rates. They are conditional on these "
            f"models: others may differ by more.{left_out}{caution(len(self.models))}"
        )


def compare_parametrisations(
    experiment: Experiment, *, values: Floats, rates: Floats
) -> Comparison:
    """Correlate measures with click-through rates again for resampled users.

    Their offline values have the shape (n_replicates, n_measures, n_models), see
    `analyses.online.agreement.replicated_means`, and their rates (n_replicates, n_models).

    Raises
    ------
    InputError
        If replicates and experiment do not fit, or there are fewer than 2 replicates.

    Notes
    -----
    Resampling adds noise, and noise moves a rho towards 0. Intervals are symmetric about what was
    observed, and hold the percentiles (see `analyses.intervals.resampling.interval`).
    """
    n_replicates = len(rates)
    shape = (n_replicates, len(experiment.measures), len(experiment.models))
    if n_replicates < 2 or values.shape != shape or rates.shape != (shape[0], shape[2]):
        raise InputError(
            f"{experiment.name}: at least 2 replicates are needed, of shapes {shape} and "
            f"{(shape[0], shape[2])}; got {values.shape} and {rates.shape}."
        )
    return Comparison(
        experiment=experiment.name,
        measures=experiment.measures,
        models=experiment.models,
        rhos=correlations(experiment),
        replicates=spearman(values, rates[:, np.newaxis]).T,
        variance_by_values=_variance(spearman(values, experiment.rates).T),
        variance_by_rates=_variance(spearman(experiment.values[:, np.newaxis], rates)),
    )


def _variance(replicates: Floats) -> Floats:
    """Give the variance along the last axis of what is defined; NaN of fewer than two."""
    # From the smallest, so that what does not vary has a variance of exactly 0.
    above = replicates - np.fmin.reduce(replicates, axis=-1, keepdims=True)
    squares = (above - mean_of_defined(above)[..., np.newaxis]) ** 2
    n_defined = np.isfinite(replicates).sum(axis=-1)
    return mean_of_defined(squares) * n_defined / np.where(n_defined > 1, n_defined - 1, np.nan)


def _pairs(family: Family, measures: Sequence[str]) -> list[Pair]:
    if family not in FAMILIES:
        raise InputError(f"`family` must be one of {', '.join(FAMILIES)}, got {family!r}.")
    return FAMILIES[family][1](measures)
