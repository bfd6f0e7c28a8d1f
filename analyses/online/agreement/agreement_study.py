"""The study of offline measures and clicks: every measure, and the best against chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from analyses.online.agreement.best_of_many import BestOfMany, best_of_many
from analyses.online.agreement.rank_agreement import Agreement, study_agreement
from analyses.online.agreement.spearman_null import smallest_rho
from analyses.online.agreement.wording import ALPHA, caution, print_p, print_rho
from analyses.online.tables.experiment import Experiment

if TYPE_CHECKING:
    import pandas as pd

PERMUTATIONS = 10_000
N_BEST = 10


@dataclass(frozen=True, eq=False)
class ClickStudy:
    """What was found about offline measures and click-through rates.

    Parameters
    ----------
    agreement
        Every measure with the rates, in every experiment.
    best
        The best measure against the best by chance.
    """

    agreement: Agreement
    best: BestOfMany

    @property
    def evidence(self) -> Mapping[str, Any]:
        """The results by the name under which they are kept and drawn."""
        return {"online": self.agreement, "online_best": self.best}

    def ranking(self) -> pd.DataFrame:
        """Give one row per measure, the best first.

        Columns measure, validation, beta, cutoff, weights, min, mean, max (of rho over the
        experiments, or those chosen), undefined, rank, tau_b (mean), p_alone and p_adjusted.
        """
        chosen = [self.agreement.experiments.index(name) for name in self.best.chosen]
        frame = self.agreement.over_experiments(self.best.chosen)
        numbers = [self.agreement.measures.index(name) for name in frame["measure"]]
        return frame.assign(
            tau_b=self.agreement.taus[:, chosen].mean(axis=1)[numbers],
            p_alone=self.best.p_alone[numbers],
            p_adjusted=self.best.p_adjusted[numbers],
        )

    def frames(self) -> dict[str, pd.DataFrame]:
        """Give all tables by name, in full; those of the grid of betas only if it was measured."""
        whole = {
            "online": self.ranking(),
            "online_models": self._models(),
            "online_rhos": self.agreement.to_frame(),
            "online_orderings": self.agreement.orderings(),
            "online_bins": self.agreement.bins(),
            "online_null": self.best.null_frame(),
        }
        compared = {
            "online_levels": self.agreement.levels(),
            "online_validations": self.agreement.validations(),
            "online_betas": self.agreement.betas(),
        }
        some = {name: frame for name, frame in compared.items() if frame["cells"].any()}
        return whole | some | self._crossed()

    def in_words(self) -> str:
        """Say what the best measure amounts to, and what so few models can show."""
        return " ".join([self.best.conclusion(), self._of_ties(), self.of_few()])

    def of_few(self) -> str:
        """Say which rho so few models can show at all."""
        n_models = self.agreement.n_models
        smallest = smallest_rho(n_models, alpha=ALPHA)
        chance = f"that random orders reach with a chance of {print_p(ALPHA)} or less"
        finding = (
            f"there is no rho {chance}"
            if np.isnan(smallest)
            else f"the smallest rho {chance} is {print_rho(smallest)}"
        )
        where = " of one data set" if len(self.best.chosen) > 1 else ""
        before = f"With {n_models} models{where} and one measure, named beforehand"
        return f"{before}, {finding}.{caution(n_models)}"

    def _of_ties(self) -> str:
        n_measures = len(self.agreement.measures)
        others = self.agreement.tied_with(N_BEST, chosen=self.best.chosen) - 1
        level = f"; {others:,} others tie with the tenth" if n_measures > N_BEST and others else ""
        return (
            f"The {n_measures:,} measures are {self.best.n_orderings:,} different orderings of the "
            f"models{level}."
        )

    def _models(self) -> pd.DataFrame:
        import pandas as pd

        found = self.agreement
        parts = zip(found.experiments, found.models, found.rates, strict=True)
        return pd.concat(
            [
                pd.DataFrame({"experiment": name, "model": models, "rate": rates})
                for name, models, rates in parts
            ],
            ignore_index=True,
        )

    def _crossed(self) -> dict[str, pd.DataFrame]:
        """Cross the two comparisons, over all experiments and over those chosen."""
        asked = {"online_crossed": self.agreement.experiments}
        if self.best.chosen != self.agreement.experiments:
            asked["online_crossed_chosen"] = self.best.chosen
        found = {name: self.agreement.crossed(chosen) for name, chosen in asked.items()}
        return {
            name: counts.rename_axis(columns=None).reset_index()
            for name, counts in found.items()
            if counts.to_numpy().any()
        }


def study_clicks(
    experiments: Sequence[Experiment],
    *,
    permutations: int = PERMUTATIONS,
    seed: int,
    chosen: Sequence[str] | None = None,
    left_out: Sequence[str] = (),
) -> ClickStudy:
    """Study whether offline measures follow click-through rates.

    Parameters
    ----------
    experiments
        One or several, with the same measures.
    permutations
        Random orders of the rates behind p-values, where there are too many to go through.
    seed
        Of all draws.
    chosen
        Experiments that were chosen after looking at the rhos.
    left_out
        Models that could not be compared.

    Raises
    ------
    InputError
        If the experiments do not fit each other, or no measure has a rho.
    """
    best = best_of_many(experiments, permutations=permutations, seed=seed, chosen=chosen)
    agreement = study_agreement(experiments, seed=seed, left_out=left_out)
    return ClickStudy(agreement, best)
