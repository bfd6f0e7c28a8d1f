"""What is known of measures beside the truth: arrays, numbers that follow from them, frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.intervals.resampling import percentiles
from analyses.intervals.systems import system_subsets, taus_within
from analyses.ordering.correlations import mean_of_defined
from analyses.shared.drawing import chosen_panel
from analyses.shared.estimate import Estimates, Limits
from analyses.shared.measure import Measures
from analyses.significance.question import Correction, Test
from analyses.validity.comparison import put_first, regret_share
from analyses.validity.loss_curves import TruthCurves
from analyses.validity.pair_verdicts import RATES, VERDICTS, PairVerdicts
from analyses.validity.uncertainty import Uncertain

if TYPE_CHECKING:
    import pandas as pd


Floats = NDArray[np.float64]

ITSELF = "itself"
"""The name of the truth that is the same measure, on the true judgements."""

SUBSETS = 0.9
"""Intervals of subsets of the users run from the 5 % to the 95 % quantile."""


@dataclass(frozen=True, eq=False)
class TruthAgreement:
    """Agreement of every measure with the truth. All scores are such that more is better.

    Axes: n_truths is the same measure on the truth (itself) and the references, named in `truths`;
    pairs of systems are i < j, first by i, then by j; replicates are resamples of the users.

    Parameters
    ----------
    measured, true
        Mean scores, (n_measures, n_systems), and true ones, (n_truths, n_measures, n_systems).
    tau, tau_aps, regret
        Kendall's tau-b, tau_AP with the truth as reference, and the truth lost by choosing the
        system that the measure puts first; of shape (n_truths, n_measures).
    tau_replicates
        tau-b with resampled users, of shape (n_truths, n_measures, n_replicates).
    rates
        Power, type III and inverted, of shape (n_rates, n_truths, n_measures): see `PairVerdicts`.
        Limits over users are of the report measures alone.
    same_choice
        Share of the replicates in which a measure puts the same system first, (n_measures,).
    p, true_p
        p-values of measured and true differences, corrected if that is asked for; of shapes
        (n_measures, n_pairs) and (n_truths, n_measures, n_pairs).
    attainable
        tau that is expected of a measure that is right, but for chance over users; of shape
        (n_truths, n_measures).
    sizes, user_taus
        Numbers of users, and tau-b with the truth of random subsets of them, of shape (n_truths,
        n_measures, n_sizes, n_repeats).
    kept, popular
        Curves over the share of judgements, and over that of items, that are kept; None where
        judgements are not known.
    n_users, n_true_users, n_shared
        Users of the study, of the truth, and of both.
    unmeasured, condensed
        Measures that have no value on the truth; whether its lists hold truly judged items alone.
    """

    measures: Measures
    systems: tuple[str, ...]
    truths: tuple[str, ...]
    measured: Floats
    true: Floats
    tau: Uncertain
    tau_aps: Floats
    regret: Uncertain
    tau_replicates: Floats
    rates: Uncertain
    same_choice: Floats
    p: Floats
    true_p: Floats
    attainable: Floats
    sizes: tuple[int, ...]
    user_taus: Floats
    kept: TruthCurves | None
    popular: TruthCurves | None
    n_users: int
    n_true_users: int
    n_shared: int
    unmeasured: tuple[str, ...]
    condensed: bool
    test: Test
    correction: Correction
    alpha: float
    seed: int
    origin: str

    @cached_property
    def verdicts(self) -> PairVerdicts:
        """What each measure says of every pair, marks of shape (n_truths, n_measures, n_pairs)."""
        return PairVerdicts.of_means(
            self.measured, self.p, self.true, self.true_p, alpha=self.alpha
        )

    @property
    def robustness(self) -> Floats | None:
        """Mean tau-b with itself when judgements are lost, of shape (n_measures,)."""
        return None if self.kept is None else self.kept.robustness

    @property
    def main(self) -> str:
        """The truth of tables and sentences that take one: the first reference."""
        return self.truths[1]

    def rate(self, name: str) -> Uncertain:
        """Give the power, the share of errors of type III, or that of inverted differences."""
        return self.rates.part(RATES.index(name))

    def place(self, truth: str | None = None) -> int:
        """Number a truth; by default the first reference."""
        return chosen_panel(self.truths, truth or self.main)

    def title(self, truth: str | None) -> str:
        """Name a truth, for titles."""
        return f"true {name}" if (name := truth or self.main) != ITSELF else "itself on the truth"

    def numbers(self, some: Measures) -> NDArray[np.intp]:
        """Number some measures."""
        return np.array(self.measures.numbers(some), dtype=np.intp)

    def best_first(self, some: Measures, truth: str | None = None) -> list[int]:
        """Number some measures, sorted by decreasing tau; undefined ones last."""
        numbers = self.numbers(some)
        order = np.argsort(-self.tau.values[self.place(truth), numbers], kind="stable")
        return [int(number) for number in numbers[order]]

    def chosen(self, number: int) -> str:
        """Name the system that a measure puts first; several, if they tie."""
        return " = ".join(np.array(self.systems)[put_first(self.measured[number])])

    def estimates(self) -> Estimates:
        """tau-b with the first reference, with intervals over users, and in subsets of systems."""
        place, n_systems = self.place(), len(self.systems)
        subsets = system_subsets(n_systems, seed=self.seed)
        means, true_means = (each[:, np.newaxis] for each in (self.measured, self.true[place]))
        low, high = (limit[place] for limit in self.tau.users)
        return Estimates(
            name=f"tau with true {self.main}",
            quantity=f"tau-b with true {self.main}",
            subject="Validity",
            best="valid",
            more="valid",
            measures=self.measures,
            values=self.tau.values[place],
            low=low,
            high=high,
            replicates=self.tau_replicates[place],
            within=taus_within(means, true_means, subsets)[..., 0],
        )

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give ``validity`` (see `to_frame`), ``validity_differences`` and ``validity_curves``."""
        return {
            "validity": self.to_frame(),
            "validity_differences": self.estimates().differences(),
            "validity_curves": self._curves(),
        }

    def to_frame(self) -> pd.DataFrame:
        """One row per truth and measure.

        Returns
        -------
        Columns truth, metric, cutoff; tau with its 95 % limits over users (low, high), over systems
        and over both; tau_ap; attainable (tau within noise); true_differences (pairs beyond noise)
        and inversions among them; regret with its limits over users, regret_share of the true
        range; the shares of pairs by verdict; power, type_iii and inverted (the share of the true
        differences) with the same limits as tau; chosen (the systems put first) and same_choice.
        """
        import pandas as pd

        n_truths, n_measures = self.tau.values.shape
        shares = self.verdicts.shares()
        columns = {
            **self.tau.columns("tau"),
            "tau_ap": self.tau_aps,
            "attainable": self.attainable,
            "true_differences": self.verdicts.sure.sum(axis=-1),
            "inversions": self.verdicts.inverted.sum(axis=-1),
            "regret": self.regret.values,
            "regret_low": self.regret.users[0],
            "regret_high": self.regret.users[1],
            "regret_share": regret_share(self.regret.values, self.true),
            **{_column(name): shares[..., n] for n, name in enumerate(VERDICTS)},
        }
        for name in RATES:
            columns |= self.rate(name).columns(_column(name), f"{_column(name)}_")
        labels = {
            "truth": np.repeat(self.truths, n_measures),
            "metric": [measure.metric for measure in self.measures] * n_truths,
            "cutoff": np.tile(self.measures.column, n_truths),
        }
        values = {name: values.ravel() for name, values in columns.items()}
        return pd.DataFrame(labels | values).assign(
            chosen=[self.chosen(number) for number in range(n_measures)] * n_truths,
            same_choice=np.tile(self.same_choice, n_truths),
        )

    def _curves(self) -> pd.DataFrame:
        """One row per truth, measure and level of what is kept."""
        import pandas as pd

        limits = percentiles(self.user_taus, confidence=SUBSETS)
        parts = [self._curve("users", self.sizes, mean_of_defined(self.user_taus), limits)]
        for name, lost in (("judgements", self.kept), ("items", self.popular)):
            if lost is not None:
                bands = [lost.curves(n, self.measures).band() for n in range(len(self.truths))]
                low, high = (np.stack(side) for side in zip(*bands, strict=True))
                part = self._curve(name, lost.levels, lost.taus, (low, high))
                parts.append(part.assign(itself=np.tile(lost.itself.ravel(), len(self.truths))))
        return pd.concat(parts, ignore_index=True)

    def _curve(
        self, kept: str, levels: Sequence[float], taus: Floats, limits: Limits
    ) -> pd.DataFrame:
        import pandas as pd

        labels = product(self.truths, self.measures, levels)
        rows = [(t, m.metric, m.cutoff, kept, level) for t, m, level in labels]
        frame = pd.DataFrame(rows, columns=["truth", "metric", "cutoff", "kept", "level"])
        frame["cutoff"] = frame["cutoff"].astype("Int64")
        low, high = limits
        return frame.assign(tau=taus.ravel(), low=low.ravel(), high=high.ravel())


def _column(name: str) -> str:
    return name.replace(" ", "_").lower()
