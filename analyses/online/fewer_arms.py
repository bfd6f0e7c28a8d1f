"""What an experiment with fewer arms would have shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from analyses.intervals.resampling import percentiles
from analyses.online.agreement.spearman_null import SMALLEST_STEP, smallest_rho
from analyses.online.agreement.wording import ADVISED_MODELS, ALPHA, print_p, print_rho
from analyses.online.arms.arm_settings import ArmSettings
from analyses.online.arms.both_sides import ExperimentWork
from analyses.online.arms.frame_tables import frame_table
from analyses.ordering import spearman
from analyses.ordering.agreement import mean_of_defined
from analyses.shared.analysis import analysis
from analyses.shared.result import Result
from runs.shared.streams import random_words

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

WANTED_POWER: Final = 0.8


@analysis("fewer_arms", source="Westfall & Young (1993)", needs=["experiment"], on_request=True)
def fewer_arms(work: ExperimentWork, settings: ArmSettings) -> FewerArms:
    """Take arms away at random, and look how often the sign of rho is still shown."""
    with work.progress("Taking arms away", 1) as bar:
        sides = work.sides(settings)
        recalls, chosen = sides.recalls, list(sides.shown)
        found = take_away(
            recalls.values[chosen],
            recalls.rates if sides.true_rates is None else sides.true_rates,
            measures=[recalls.measures[number] for number in chosen],
            observed=sides.rates_again,
            subsets=settings.subsets,
            is_true=sides.true_rates is not None,
            seed=work.seed,
        )
        bar.advance()
    return found


@dataclass(frozen=True, eq=False)
class FewerArms(Result):
    """Correlations that experiments with fewer models would have shown.

    Parameters
    ----------
    names, sizes
        Labels of the first two axes: offline measures, and numbers of models (arms).
    n_models
        Number of all models.
    true_rhos
        Spearman's rho with the expected rates over all models, of shape (n_measures,); with those
        observed, if it `is_true` not that these are known.
    rhos
        With observed rates over random subsets, of shape (n_measures, n_sizes, n_subsets).
    smallest
        Smallest rho whose one-sided p is at most `ALPHA`, of shape (n_sizes,); NaN if none.
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    n_models: int
    is_true: bool
    true_rhos: Floats
    rhos: Floats
    smallest: Floats

    @property
    def shown(self) -> Floats:
        """Share of subsets whose rho is as large as needed, with the sign of the true one."""
        turned = np.where(self.true_rhos < 0, -1.0, 1.0)[:, np.newaxis, np.newaxis] * self.rhos
        return (turned >= self.smallest[:, np.newaxis] - SMALLEST_STEP).mean(axis=-1)

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give ``fewer_arms``, a row for each measure and number of arms.

        Columns measure, arms, true_rho (over all models), mean, low and high (middle 95 %) of the
        subsets' rhos, positive (share above 0), smallest_rho and shown.
        """
        import pandas as pd

        cells = list(product(self.names, self.sizes))
        low, high = percentiles(self.rhos)
        frame = pd.DataFrame(cells, columns=["measure", "arms"]).assign(
            true_rho=self.true_rhos.repeat(len(self.sizes)),
            mean=mean_of_defined(self.rhos).ravel(),
            low=low.ravel(),
            high=high.ravel(),
            positive=(self.rhos > 0).mean(axis=-1).ravel(),
            smallest_rho=np.tile(self.smallest, len(self.names)),
            shown=self.shown.ravel(),
        )
        return {"fewer_arms": frame}

    def caption(self) -> str:
        """Say what was drawn from what."""
        rates = "expected rates are known" if self.is_true else "rates were observed"
        return (
            "Spearman's rho of offline measures with resampled click-through rates in "
            f"{self.rhos.shape[2]:,} random subsets of {self.n_models} models whose {rates}. The "
            "sign is shown where a random order of the models reaches rho with a chance of at most "
            f"{print_p(ALPHA)}. Subsets of most of the models are much alike; take "
            f"{ADVISED_MODELS} models or more."
        )

    def findings(self) -> Sequence[str]:
        """Say how many arms it takes to show the sign of each measure's rho."""
        said = []
        for measure, true, shown in zip(self.names, self.true_rhos, self.shown, strict=True):
            enough = np.logical_and.accumulate((shown >= WANTED_POWER)[::-1])[::-1]
            where = (
                f"from {self.sizes[int(enough.argmax())]} arms on"
                if enough.any()
                else ("at no number tried")
            )
            said.append(f"{measure} ({print_rho(true)}) {where}")
        return [
            f"{100 * WANTED_POWER:.0f} % of experiments show the sign of rho: {'; '.join(said)}."
        ]

    fewer_arms_table = frame_table("fewer_arms", "what experiments with fewer arms would show")


def take_away(
    values: Floats,
    true_rates: Floats,
    *,
    measures: Sequence[str],
    observed: Floats,
    subsets: int,
    is_true: bool = True,
    seed: int,
) -> FewerArms:
    """Correlate values, (n_measures, n_models), with rates in random subsets of the models.

    Rates as observed with noise, of shape (n_observations, n_models), are taken in turn by the
    subsets; the same models are drawn first for every size: 5, 8, 10, 15, 20, 30, .. and all.
    """
    n_models = values.shape[1]
    sizes = tuple(s for s in (5, 8, 10, 15, *range(20, n_models, 10)) if s < n_models)
    sizes = (*sizes, n_models)
    words = random_words(subsets * n_models, seed, "arms", n_models)
    orders = words.reshape(subsets, n_models).argsort(axis=1, kind="stable")
    rates = observed[np.arange(subsets) % len(observed)]
    rhos = np.empty((len(values), len(sizes), subsets))
    for column, size in enumerate(sizes):
        models = orders[:, :size]
        drawn = np.take_along_axis(rates, models, axis=1)
        for row, of_measure in enumerate(values):
            rhos[row, column] = spearman(of_measure[models], drawn)
    smallest = np.array([smallest_rho(size, alpha=ALPHA) for size in sizes])
    true_rhos = spearman(values, true_rates)
    return FewerArms(tuple(measures), sizes, n_models, is_true, true_rhos, rhos, smallest)
