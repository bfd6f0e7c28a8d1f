"""Agreement with the truth, regret and rates with intervals, and frames of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.intervals.resampling import interval, percentiles
from analyses.intervals.systems import over_systems, pairs_within, system_subsets, taus_within
from analyses.ordering import tau_ap_a, tau_b
from analyses.ordering.agreement import mean_of_defined
from analyses.shared.drawing import chosen_panel
from analyses.shared.estimate import Estimates, Limits, arcsine_around
from analyses.shared.measure import Measures, Scores
from analyses.shared.table import shown
from analyses.significance.question import Correction, Question, Test
from analyses.validity.comparison import (
    RATES,
    VERDICTS,
    Comparison,
    JointUsers,
    PairVerdicts,
    put_first,
    regret,
    regret_share,
    resampled_rates,
)
from analyses.validity.loss_curves import TruthCurves

if TYPE_CHECKING:
    import pandas as pd


Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]

TAUS, SHARES, REGRETS = (-1.0, 1.0), (0.0, 1.0), (0.0, np.inf)
"""The lowest and the highest value there is."""


@dataclass(frozen=True, eq=False)
class Uncertain:
    """Numbers of one kind with their 95 % limits over users and systems; arrays of one shape.

    Limits are NaN where they are not known; the extent holds the lowest and the highest value.
    """

    values: Floats
    users: tuple[Floats, ...]
    systems: tuple[Floats, ...]
    extent: tuple[float, float] = (-np.inf, np.inf)

    @property
    def both(self) -> Limits:
        """Limits over users and systems: both variances are added."""
        values = self.values
        sides = (self.users, self.systems)
        reach = np.hypot(*(np.maximum(high - values, values - low) for low, high in sides))
        return np.clip(values - reach, *self.extent), np.clip(values + reach, *self.extent)

    def columns(self, name: str, prefix: str = "") -> dict[str, Floats]:
        """Give columns of a frame: the numbers, and their limits over users, systems and both."""
        sides = {"": self.users, "systems_": self.systems, "both_": self.both}
        limits = {
            f"{prefix}{side}{end}": limit
            for side, pair in sides.items()
            for end, limit in zip(("low", "high"), pair, strict=True)
        }
        return {name: self.values, **limits}

    def part(self, number: int) -> Uncertain:
        """Take one of the first axis."""
        users, systems = (tuple(x[number] for x in pair) for pair in (self.users, self.systems))
        return Uncertain(self.values[number], users, systems, self.extent)


def limits_over_users(
    observed: Floats, replicates: Floats, extent: tuple[float, float] = (-np.inf, np.inf)
) -> Limits:
    """Give the interval of what has replicates, else NaN."""
    if replicates.size == 0:
        return np.full(observed.shape, np.nan), np.full(observed.shape, np.nan)
    return interval(observed, replicates, limits=extent)


def written_interval(limits: tuple[Floats, ...], *place: int, decimals: int = 2) -> str:
    """Write an interval, say 0.25 to 1.00; empty if it is not known."""
    low, high = (float(limit[place]) for limit in limits)
    if np.isnan(low + high):
        return ""
    return f"{shown(low, decimals=decimals)} to {shown(high, decimals=decimals)}"


@dataclass(frozen=True, eq=False)
class ResampledComparison:
    """A comparison, and the same over resampled users and subsets of the systems."""

    comparison: Comparison
    users: JointUsers

    @cached_property
    def means(self) -> Floats:
        """Mean scores, of shape (n_measures, n_systems)."""
        return self.comparison.means()[0]

    @cached_property
    def true_means(self) -> Floats:
        """True means, of shape (n_truths, n_measures, n_systems)."""
        return self.comparison.means()[1]

    @cached_property
    def resampled_means(self) -> Floats:
        """Means over resampled users, of shape (n_measures, n_replicates, n_systems)."""
        return self._resampled(self.comparison.measured)

    @cached_property
    def resampled_true_means(self) -> Floats:
        """True means of the same, of shape (n_truths, n_measures, n_replicates, n_systems)."""
        return np.asarray(self._resampled(self.comparison.true)[self.comparison.references])

    def _resampled(self, scores: Scores) -> Floats:
        return np.moveaxis(self.users.means(scores.values, scores.users, scores.runs), -1, 1)

    @cached_property
    def tau_replicates(self) -> Floats:
        """tau-b over resampled users, of shape (n_truths, n_measures, n_replicates)."""
        return _tau(self.resampled_means, self.resampled_true_means)

    def tau(self) -> Uncertain:
        """Compare orderings by tau-b."""
        taus = _tau(self.means, self.true_means)
        users = arcsine_around(taus, self.tau_replicates)

        def taus_of(some: Numbers) -> Floats:
            means = np.moveaxis(self.means[:, some], 0, -2)[..., np.newaxis, :, :]
            return _tau(means, np.moveaxis(self.true_means[..., some], (0, 1), (-3, -2)))

        return Uncertain(taus, users, self._over_systems(taus_of, TAUS), TAUS)

    def tau_aps(self) -> Floats:
        """Compare orderings by tau_AP, with the truth as reference."""
        return tau_ap_a(np.broadcast_to(self.means, self.true_means.shape), self.true_means)

    def regret(self) -> Uncertain:
        """Give the truth lost by choices; the best of others is no smooth function of systems.

        No more is lost than lies between the best and the worst system, in any resample.
        """
        lost = regret(self.means, self.true_means)
        resampled = regret(self.resampled_means, self.resampled_true_means)
        low, high = limits_over_users(lost, resampled, REGRETS)
        ranges = np.ptp(self.resampled_true_means, axis=-1)
        widest = np.fmax.reduce(ranges, axis=-1, initial=0.0)
        users = low, np.minimum(high, np.maximum(widest, np.ptp(self.true_means, axis=-1)))
        unknown = np.full(lost.shape, np.nan)
        return Uncertain(lost, users, (unknown, unknown), REGRETS)

    def same_choice(self) -> Floats:
        """Give the share of the replicates that put the same system first; NaN without any."""
        if self.users.replicates == 0:
            return np.full(len(self.means), np.nan)
        alike = put_first(self.resampled_means) & put_first(self.means)[:, np.newaxis]
        return np.asarray(alike.any(axis=2).mean(axis=1))

    def rates(self, p: Floats, true_p: Floats, question: Question) -> Uncertain:
        """Give power, type III and inverted; over users, those of the report measures alone."""
        verdicts = PairVerdicts.of_means(
            self.means, p, self.true_means, true_p, alpha=question.alpha
        )
        measures = self.comparison.measured.measures
        numbers = measures.numbers(measures.reported)
        resampled = resampled_rates(self.comparison, numbers, self.users, question)

        def rates_of(some: Numbers) -> Floats:
            every = some.ndim == 1
            return verdicts.rates(None if every else pairs_within(some, self.means.shape[1]))

        observed = verdicts.rates()
        users = _with_width(limits_over_users(observed, resampled, SHARES))
        systems = _with_width(self._over_systems(rates_of, SHARES))
        return Uncertain(observed, users, systems, SHARES)

    def _over_systems(
        self, statistic: Callable[[Numbers], Floats], extent: tuple[float, float]
    ) -> Limits:
        return over_systems(statistic, self.means.shape[1], seed=self.users.seed, limits=extent)


def _tau(means: Floats, true_means: Floats) -> Floats:
    return tau_b(np.broadcast_to(means, true_means.shape), true_means)


def _with_width(limits: Limits) -> Limits:
    """Set limits without width to NaN: a share of few pairs that never varied has no interval."""
    low, high = limits
    is_wide = high > low
    return np.where(is_wide, low, np.nan), np.where(is_wide, high, np.nan)


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

        The result: columns truth, metric, cutoff; tau with its 95 % limits over users (low, high),
        over systems and over both; tau_ap; attainable (tau within noise); true_differences (pairs
        beyond noise) and inversions among them; regret with its limits over users, regret_share of
        the true range; the shares of pairs by verdict; power, type_iii and inverted (the share of
        the true differences) with the same limits as tau; chosen (the systems put first) and
        same_choice.
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
