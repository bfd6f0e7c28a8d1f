"""Whether a higher offline measure goes with more clicks: rank correlation over models.

Tables 4.4 to 4.11 of Kasalický (2021), with what they lack: how many different orderings stand
behind hundreds of measures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from analyses.online.agreement.measure_names import (
    Pair,
    beta_pairs,
    label_columns,
    validation_pairs,
)
from analyses.online.agreement.model_ranks import distinct_orderings, rank_correlations, whole_ranks
from analyses.online.agreement.wording import caution
from analyses.online.tables.experiment import Experiment, check_experiments, numbers_of
from analyses.ordering import DECIMALS, tau_b

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

SIGNS: Final = {">": 1.0, "=": 0.0, "<": -1.0}
"""How the first of a pair compares with the second."""

BINS: Final = ("[-1, -.5]", "(-.5, 0]", "(0, .5]", "(.5, 1]")
"""Of rho, as in table 4.6."""


@dataclass(frozen=True, eq=False)
class Agreement:
    """Rank correlation of offline measures with click-through rates, in one or several data sets.

    The experiments have the same measures. Spearman's rho and Kendall's tau-b have the shape
    (n_measures, n_experiments); they are NaN where all models of a side are equal, and equal rhos
    within an experiment are equal to the last bit. Of models left out the values or the rate are
    unknown; only the caption names them.
    """

    data: tuple[Experiment, ...]
    rhos: Floats
    taus: Floats
    left_out: tuple[str, ...] = ()

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the offline measures."""
        return self.data[0].measures

    @property
    def experiments(self) -> tuple[str, ...]:
        """Names of the experiments."""
        return tuple(one.name for one in self.data)

    @property
    def n_models(self) -> int:
        """Number of models; of several experiments, the smallest."""
        return min(len(one.models) for one in self.data)

    def to_frame(self) -> pd.DataFrame:
        """One row per measure and experiment.

        Columns measure, validation, beta, cutoff, weights (see `label_columns`), experiment,
        models (their number), rho and tau_b.
        """
        import pandas as pd

        labels = pd.DataFrame(label_columns(self.measures))
        parts = [
            labels.assign(experiment=one.name, models=len(one.models), rho=rhos, tau_b=taus)
            for one, rhos, taus in zip(self.data, self.rhos.T, self.taus.T, strict=True)
        ]
        return pd.concat(parts, ignore_index=True)

    def over_experiments(self, chosen: Sequence[str] | None = None) -> pd.DataFrame:
        """Tables 4.5 and 4.7: each measure over the experiments, the best mean first.

        Of experiments chosen for their rhos no conclusion can be drawn but by `best_of_many`.

        Columns measure, validation, beta, cutoff, weights, min, mean, max (of rho; NaN where one is
        undefined), undefined (their number) and rank (1 is the best mean; equal means have
        the best of their ranks).
        """
        import pandas as pd

        rhos = self.rhos[:, numbers_of(chosen, self.experiments)]
        frame = pd.DataFrame(label_columns(self.measures)).assign(
            min=rhos.min(axis=1),
            mean=rhos.mean(axis=1).round(DECIMALS),
            max=rhos.max(axis=1),
            undefined=np.isnan(rhos).sum(axis=1),
        )
        frame["rank"] = frame["mean"].rank(ascending=False, method="min").astype("Int64")
        return frame.sort_values("mean", ascending=False, kind="stable", ignore_index=True)

    def best(self, n: int, *, chosen: Sequence[str] | None = None) -> pd.DataFrame:
        """Give the n best of `over_experiments` and all that tie with the last of them."""
        defined = self.over_experiments(chosen).dropna(subset=["mean"])
        return defined[defined["mean"] >= defined["mean"].iloc[:n].min()]

    def bins(self) -> pd.DataFrame:
        """Table 4.6: how many rhos are how large; columns experiment, bin and count.

        Measures are so alike that their counts move together.
        """
        import pandas as pd

        cells = list(product(self.experiments, BINS))
        places = np.digitize(self.rhos, [-0.5, 0.0, 0.5], right=True)
        defined = ~np.isnan(self.rhos)
        counts = [((places == n) & defined).sum(axis=0) for n in range(len(BINS))]
        return pd.DataFrame(cells, columns=["experiment", "bin"]).assign(
            count=np.transpose(counts).ravel()
        )

    def orderings(self) -> pd.DataFrame:
        """How many different orderings of the models the measures are.

        Columns experiment, models, measures, orderings (different weak orders of the models), most
        (measures that share the most frequent one) and undefined (measures without a rho).
        """
        import pandas as pd

        counts = [distinct_orderings(whole_ranks(one.values))[2] for one in self.data]
        return pd.DataFrame(
            {
                "experiment": self.experiments,
                "models": [len(one.models) for one in self.data],
                "measures": len(self.measures),
                "orderings": [len(some) for some in counts],
                "most": [int(some.max()) for some in counts],
                "undefined": np.isnan(self.rhos).sum(axis=0),
            }
        )

    def levels(self) -> pd.DataFrame:
        """Table 4.4: in how many cells (model, beta, cut-off) the LOO value is the larger.

        Columns experiment, cells, larger, share and orderings (different ones among all measures).
        The first item of a user cannot be hit under LLOO, which alone makes its values smaller.
        """
        lloo, loo = _sides(validation_pairs(self.measures))
        frame = self.orderings()[["experiment", "models", "orderings"]]
        frame.insert(1, "cells", len(loo) * frame.pop("models"))
        frame.insert(2, "larger", [int((o.values[loo] > o.values[lloo]).sum()) for o in self.data])
        frame.insert(3, "share", (frame["larger"] / frame["cells"]).astype(np.float64))
        return frame

    def validations(self) -> pd.DataFrame:
        """Table 4.8: whether LOO or LLOO follows the rates better, at the same beta and cut-off.

        Columns experiment, cells, ``>``, ``=``, ``<`` (LOO better, equal, LLOO better), undefined
        and orderings (different ones among all measures). Cells are no independent observations.
        """
        return self._compared([(loo, lloo) for lloo, loo in validation_pairs(self.measures)])

    def betas(self) -> pd.DataFrame:
        """Table 4.9, with the columns of `validations`: ``>`` where beta = 0 is better."""
        return self._compared([(zero, above) for above, zero in beta_pairs(self.measures)])

    def crossed(self, chosen: Sequence[str] | None = None) -> pd.DataFrame:
        """Tables 4.10 and 4.11: `validations` by `betas`.

        A cell is an experiment, a cut-off, a validation and a beta above 0; LOO and LLOO are
        compared at that beta, and beta = 0 with that beta under that validation. Given are counts
        with rows LOO ``>``, ``=``, ``<`` LLOO and columns beta = 0 ``>``, ``=``, ``<`` the beta
        above 0; cells with an undefined rho are in none.
        """
        import pandas as pd

        rhos = self.rhos[:, numbers_of(chosen, self.experiments)]
        partners = {number: pair for pair in validation_pairs(self.measures) for number in pair}
        cells = [
            (*partners[above], zero, above)
            for above, zero in beta_pairs(self.measures)
            if above in partners
        ]
        lloo, loo, zero, above = np.array(cells, dtype=np.intp).reshape(-1, 4).T
        rows, columns = np.sign(rhos[loo] - rhos[lloo]), np.sign(rhos[zero] - rhos[above])
        counts = [
            [int(((rows == row) & (columns == column)).sum()) for column in SIGNS.values()]
            for row in SIGNS.values()
        ]
        return pd.DataFrame(
            counts,
            index=pd.Index(SIGNS, name="LOO and LLOO"),
            columns=pd.Index(SIGNS, name="beta = 0 and beta > 0"),
        )

    def caption(self) -> str:
        """Say what was correlated with what, and how many different orderings there are."""
        several = [
            f"{row.experiment}: {row.models} models, {row.orderings} different orderings"
            for row in self.orderings().itertuples()
        ]
        n_undefined = int(np.isnan(self.rhos).sum())
        undefined = f" Undefined: {n_undefined:,} of {self.rhos.size:,} rhos." * (n_undefined > 0)
        names = ", ".join(self.left_out)
        left_out = f" Left out, as not known on all sides: {names}." if names else ""
        return (
            f"Spearman's rho between {len(self.measures):,} offline measures and the click-through "
            f"rate over models ({'; '.join(several)}). Values are compared to {DECIMALS} decimals, "
            f"tied models share their mean rank.{undefined} Counts of measures are no sample "
            f"sizes.{left_out}{caution(self.n_models)}"
        )

    def _compared(self, pairs: Sequence[Pair]) -> pd.DataFrame:
        """Count which side of the pairs has the larger rho, by experiment."""
        import pandas as pd

        first, second = _sides(pairs)
        signs = np.sign(self.rhos[first] - self.rhos[second])
        counts = {symbol: (signs == sign).sum(axis=0) for symbol, sign in SIGNS.items()}
        frame = pd.DataFrame({"experiment": self.experiments, "cells": len(pairs), **counts})
        undefined = np.isnan(signs).sum(axis=0)
        return frame.assign(undefined=undefined, orderings=self.orderings()["orderings"])


def study_agreement(
    experiments: Sequence[Experiment], *, left_out: Sequence[str] = ()
) -> Agreement:
    """Correlate every measure with the click-through rate (2.9), over each experiment's models.

    Models that are left out could not be compared, and only the caption names them.
    """
    check_experiments(experiments)
    return Agreement(
        tuple(experiments),
        np.stack([correlations(one) for one in experiments], axis=1),
        np.stack([tau_b(one.values, one.rates) for one in experiments], axis=1),
        tuple(left_out),
    )


def correlations(experiment: Experiment) -> Floats:
    """Give rho of every measure, of shape (n_measures,)."""
    return rank_correlations(whole_ranks(experiment.values), whole_ranks(experiment.rates))


def _sides(pairs: Sequence[Pair]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    first, second = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    return first, second
