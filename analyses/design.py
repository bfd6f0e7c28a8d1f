"""How many users it takes: power, users needed and reliability, from a pilot's scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from pydantic import Field, model_validator

from analyses.intervals.resampling import draw_weights
from analyses.shared.analysis import AnalysisSettings, analysis
from analyses.shared.drawing import axes_or_new, curves_of, legend_beside, scale_by_factors
from analyses.shared.measure import Measure, Measures
from analyses.shared.result import Result, figure, table
from analyses.shared.spreads import CONFIDENCE, joint_reach
from analyses.shared.table import Table, shown
from analyses.significance.equivalence import Equivalence, equivalence_of
from analyses.significance.in_words import between, count, percent, times
from analyses.significance.needed_users import (
    detectable_effect,
    effects_of,
    expected_share,
    needed_users,
    possible_effects,
    resampled_effects,
    shrunk_effects,
    users_for_share,
)
from analyses.significance.paired.user_differences import pair_means_and_deviations
from analyses.significance.permutation import pair_indices
from analyses.significance.simulated_power import simulated_power
from analyses.significance.split_halves import Agreement, agreement_of_halves
from analyses.significance.standardise import Standard, standardised
from analyses.significance.variance_components import Components, variance_components
from runs import InputError
from runs.shared.settings import Whole
from runs.shared.threads import single_threaded

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.measure import Scores
    from analyses.shared.work import Work

N_SIZES = 60
SMALLEST = 10
"""Users with which curves begin."""

MOST_SIMULATED = 5000
"""Beyond so many users, sums are so nearly normal that nothing is learnt by drawing them."""

FEW_USERS = 200
"""From fewer, a variance is good to 10 % at best."""

FAR = 10
"""So many times the pilot's users are far away."""

NOISY = 0.1
"""From this part of noise in the effects on, the winner's curse is worth a word."""

OFF = 3
"""A simulated power so many standard errors below what was asked for is said."""

VERDICTS = ("different", "equivalent", "undecided")


class Settings(AnalysisSettings):
    """What is to be found, and how surely."""

    difference: float = Field(
        0.05, gt=0, description="A difference to be found, as a share of a measure's mean score."
    )
    power: float = Field(
        0.8, gt=0, lt=1, description="Chance with which a difference is to be found."
    )
    alpha: float = Field(0.05, ge=1e-9, lt=1, description="Level of the tests.")
    share: float = Field(
        0.8, gt=0, lt=1, description="Share of the pairs of systems to become significant."
    )
    reliability: float = Field(
        0.95, gt=0, lt=1, description="Generalizability coefficient to be reached."
    )
    standardised: Standard | None = Field(
        None, description="Standardise scores user by user, over the systems."
    )
    bound: float | None = Field(
        None,
        gt=0,
        description="Test equivalence: differences up to this share of a measure's mean score "
        "count as none.",
    )
    bayes: bool = Field(
        False, description="Add the Bayesian signed-rank test, with the bound as its region."
    )
    draws: Whole = Field(1000, ge=1, description="Draws of the Bayesian test.")
    halves: Whole = Field(200, ge=0, description="Random halves of the users.")
    simulations: Whole = Field(
        200, ge=0, description="Sets of users in which the permutation test is tried."
    )
    replicates: Whole = Field(200, ge=0, description="Resamples of the users for intervals.")

    @model_validator(mode="after")
    def _bounded(self) -> Settings:
        if self.bayes and self.bound is None:
            raise ValueError("`bayes` needs a `bound`: what counts as no difference")
        return self


@analysis("design", source="Sakai (2016), section 3; Urbano et al. (2013)", on_request=True)
def design(work: Work, settings: Settings) -> Design:
    """Work out, from a pilot's scores, how many users make differences significant.

    Raises
    ------
    InputError
        If there are fewer than two systems or three users.

    Examples
    --------
    One system is better by .2, with a standard deviation of .08: four users will do.

    >>> from analyses.shared.measure import Scores
    >>> from analyses.shared.work import ScoresAlone
    >>> values = np.array([[[0.7, 0.6, 0.5, 0.4], [0.4, 0.4, 0.3, 0.3]]])
    >>> measures = Measures([Measure("P", 5)])
    >>> scores = Scores(values, measures, ("a", "b"), np.array(["1", "2", "3", "4"]))
    >>> found = design(ScoresAlone(scores), Settings(simulations=0))
    >>> found.observed
    array([[4.]])
    """
    work = standardised(work, settings.standardised)
    scores = work.scores
    _check(scores)
    measures = scores.measures.reported
    values = scores.values[scores.measures.numbers(measures)]
    n_users = len(scores.users)
    means, deviations = pair_means_and_deviations(values)
    pairs = _distinct(means, deviations)
    means, deviations = means[:, pairs], deviations[:, pairs]
    effects = effects_of(means, deviations)
    shrunk, variance = shrunk_effects(effects, n_pilot=n_users)
    level = np.abs(values.mean(axis=(1, 2)))
    relative = _users(settings.difference * level[:, None], deviations, settings)
    needed = users_for_share(shrunk, share=settings.share, alpha=settings.alpha, variance=variance)
    sizes = _sizes(needed, n_users)
    return Design(
        measures=measures,
        systems=scores.systems,
        pairs=pairs,
        n_users=n_users,
        means=level,
        differences=means,
        deviations=deviations,
        observed=_users(np.abs(means), deviations, settings),
        relative=relative,
        detectable=detectable_effect(n_users, alpha=settings.alpha, power=settings.power)
        * deviations,
        simulated=_simulated(work, values, pairs, relative, level, settings),
        needed=needed,
        replicates=users_for_share(
            _possible(values, pairs, effects, settings, work.seed),
            share=settings.share,
            alpha=settings.alpha,
        ),
        noise=1 - variance * n_users,
        sizes=sizes,
        shares=expected_share(
            shrunk[:, None], sizes, alpha=settings.alpha, variance=variance[:, None]
        ),
        components=variance_components(values),
        halves=agreement_of_halves(values, repeats=settings.halves, seed=work.seed),
        equivalence=None
        if settings.bound is None
        else equivalence_of(
            values,
            pairs,
            settings.bound * level,
            draws=settings.draws if settings.bayes else 0,
            seed=work.seed,
        ),
        **{name: getattr(settings, name) for name in FACTS},
        seed=work.seed,
    )


FACTS = (
    "difference",
    "power",
    "alpha",
    "share",
    "reliability",
    "standardised",
    "bound",
    "simulations",
)


@dataclass(frozen=True, eq=False)
class Design(Result):
    """Users needed, by report measure, and how reliable means are.

    Numbers of users are whole float64, infinite where no number is enough.

    Parameters
    ----------
    measures
        Label of the first axis.
    systems, pairs
        Names, and numbers of the pairs that are not alike by every measure: the second axis of
        arrays (n_measures, n_pairs).
    n_users
        Of the pilot.
    means
        Absolute mean score of all systems and users, of shape (n_measures,).
    differences, deviations
        Mean difference of each pair, and its standard deviation over users: (n_measures, n_pairs).
    observed, relative
        Users with which the t-test finds the observed difference, and the relative one that was
        asked for: (n_measures, n_pairs).
    detectable
        Least mean difference that as many users as the pilot's find, (n_measures, n_pairs).
    simulated
        Power of the exact permutation test with the users of ``relative`` in the median pair, over
        users drawn from the pilot's; NaN where it was not tried: (n_measures,).
    needed
        Users with which the share of the pairs is expected to be significant, (n_measures,).
    replicates
        The same for effects that are possible given the pilot's, (n_measures, n_replicates).
    noise
        Part of the mean squared standardised difference that is the pilot's noise, (n_measures,).
    sizes, shares
        Numbers of users, and the expected share of significant pairs, (n_measures, n_sizes).
    components, halves
        Variance components, and agreement of random halves of the users.
    equivalence
        Of pairs, if a bound was named.
    difference, power, alpha, share, reliability, standardised, bound, simulations, seed
        What was asked: see `Settings`.
    """

    measures: Measures
    systems: tuple[str, ...]
    pairs: NDArray[np.intp]
    n_users: int
    means: NDArray[np.float64]
    differences: NDArray[np.float64]
    deviations: NDArray[np.float64]
    observed: NDArray[np.float64]
    relative: NDArray[np.float64]
    detectable: NDArray[np.float64]
    simulated: NDArray[np.float64]
    needed: NDArray[np.float64]
    replicates: NDArray[np.float64]
    noise: NDArray[np.float64]
    sizes: NDArray[np.float64]
    shares: NDArray[np.float64]
    components: Components
    halves: Agreement
    equivalence: Equivalence | None
    difference: float
    power: float
    alpha: float
    share: float
    reliability: float
    standardised: str | None
    bound: float | None
    simulations: int
    seed: int

    @property
    def interval(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """95 % interval of ``needed``, each end of shape (n_measures,); NaN if unknown."""
        return _limits(self.replicates)

    def ratio(self, more: int, fewer: int) -> tuple[float, float, float]:
        """How many times the users of one measure another needs, with its 95 % interval.

        The measures, given by their numbers, see the same possible effects. Intervals are
        simultaneous: all ratios of two measures are within theirs in 95 % of the replicates (max-t
        on a logarithmic scale). NaN where nothing is known.
        """
        with np.errstate(invalid="ignore"):
            observed = float(self.needed[more] / self.needed[fewer])
        known = np.asarray(np.isfinite(self.replicates).all(axis=1))
        if self.replicates.shape[1] < 2 or not (known[more] and known[fewer]):
            return observed, np.nan, np.nan
        logs = np.log(self.replicates[known])
        first, second = pair_indices(len(logs))
        chosen = np.log(self.replicates[more]) - np.log(self.replicates[fewer])
        reach = joint_reach(logs[first] - logs[second]) * chosen.std(ddof=1)
        low, high = np.exp(chosen.mean() - reach), np.exp(chosen.mean() + reach)
        return observed, float(low), float(high)

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give ``design`` (`summary`), ``design_pairs`` (`to_frame`) and ``design_curves``."""
        import pandas as pd

        curves = self._labels(len(self.sizes)) | {
            "users": np.tile(self.sizes, len(self.measures)),
            "significant": self.shares.ravel(),
        }
        return {
            "design": self.summary(),
            "design_pairs": self.to_frame(),
            "design_curves": pd.DataFrame(curves),
        }

    def summary(self) -> pd.DataFrame:
        """One row per measure.

        Returns
        -------
        Columns metric, cutoff, ``needed`` (users for the share of pairs) with its interval
        ``needed_low``, ``needed_high``; ``observed_median`` and ``relative_median`` over pairs of
        the users for a power, and ``found_now``, the share of pairs in which the pilot's users find
        the relative difference; ``detectable_median``; ``simulated_power``; ``noise``; variances
        ``var_systems``, ``var_users``, ``var_interaction``; ``e_rho2`` with its interval
        ``e_rho2_low``, ``e_rho2_high``, and ``phi``, with the users for the reliability asked for,
        ``e_rho2_users`` and ``phi_users``; of halves ``split_half``, ``half_tau``, ``swap_rate``.
        """
        import pandas as pd

        low, high = self.interval
        parts, halves = self.components, self.halves
        relative_users, absolute_users = parts.users_for(self.reliability)
        return pd.DataFrame(
            self._labels(1)
            | {
                "needed": self.needed,
                "needed_low": low,
                "needed_high": high,
                "observed_median": _median(self.observed),
                "relative_median": _median(self.relative),
                "found_now": (self.relative <= self.n_users).mean(axis=1),
                "detectable_median": np.median(self.detectable, axis=1),
                "simulated_power": self.simulated,
                "noise": self.noise,
                "var_systems": parts.systems,
                "var_users": parts.users,
                "var_interaction": parts.interaction,
                "e_rho2": parts.relative,
                "e_rho2_low": parts.relative_low,
                "e_rho2_high": parts.relative_high,
                "e_rho2_users": relative_users,
                "phi": parts.absolute,
                "phi_users": absolute_users,
                "split_half": halves.reliability,
                "half_tau": halves.tau,
                "swap_rate": halves.swap_rate,
            }
        )

    def to_frame(self) -> pd.DataFrame:
        """One row per measure and pair of systems.

        Returns
        -------
        Columns metric, cutoff, system_a, system_b, difference, deviation, users_observed,
        users_relative, detectable; with a bound that, p_different, p_equivalent and verdict; with
        the Bayesian test the chances that b is practically better, neither, and a.
        """
        import pandas as pd

        first, second = (side[self.pairs] for side in pair_indices(len(self.systems)))
        names = np.array(self.systems, dtype=object)
        columns = self._labels(len(self.pairs)) | {
            "system_a": np.tile(names[first], len(self.measures)),
            "system_b": np.tile(names[second], len(self.measures)),
            "difference": self.differences.ravel(),
            "deviation": self.deviations.ravel(),
            "users_observed": self.observed.ravel(),
            "users_relative": self.relative.ravel(),
            "detectable": self.detectable.ravel(),
        }
        if self.equivalence is not None:
            columns |= self.equivalence.columns(self.alpha)
        return pd.DataFrame(columns)

    def _labels(self, n_rows: int) -> dict[str, NDArray[np.generic]]:
        """Name the measure of every row, for so many rows a measure."""
        metrics = np.array([measure.metric for measure in self.measures], dtype=object)
        return {
            "metric": metrics.repeat(n_rows),
            "cutoff": self.measures.column.repeat(n_rows),
        }

    @table("design", "users that each measure needs")
    def users_needed(self) -> Table:
        """Tabulate the users that each measure needs, the fewest first."""
        low, high = self.interval
        with np.errstate(divide="ignore", invalid="ignore"):
            detectable = np.median(self.detectable, axis=1) / self.means
        columns = {
            f"{percent(self.share)} of pairs": [count(n) for n in self.needed],
            "interval": [between(*ends) for ends in zip(low, high, strict=True)],
            "as seen": [count(n) for n in _median(self.observed)],
            f"{percent(self.difference)} apart": [count(n) for n in _median(self.relative)],
            "tried": [shown(power, decimals=2) for power in self.simulated],
            "seen now": [percent(part) for part in detectable],
        }
        order = np.argsort(self.needed, kind="stable")
        return self._by_measure("design", "Users needed", columns, note=self.caption(), order=order)

    @table("design_reliability", "variance components, and users for a reliable ordering")
    def reliability_table(self) -> Table:
        """Tabulate variance components and what comes of them."""
        parts = self.components
        relative_users, absolute_users = parts.users_for(self.reliability)
        shares = {
            name: [percent(share) for share in column]
            for name, column in zip(("systems", "users", "rest"), parts.shares.T, strict=True)
        }
        limits = zip(parts.relative_low, parts.relative_high, strict=True)
        columns = shares | {
            "E rho²": [shown(value, decimals=3) for value in parts.relative],
            "interval": [" to ".join(shown(e, decimals=3) for e in ends) for ends in limits],
            f"for {self.reliability:g}": [count(n) for n in relative_users],
            "Phi": [shown(value, decimals=3) for value in parts.absolute],
            f"Phi {self.reliability:g}": [count(n) for n in absolute_users],
        }
        note = (
            "Variance of scores by systems, users and the rest, by analysis of variance, in "
            f"per cent; the generalizability coefficient of {self.n_users:,} users for differences "
            "between systems (E rho², with its 95 % interval; Feldt 1965) and for means as such "
            f"(Phi); and users with which they reach {self.reliability:g}. Systems count as a "
            "sample of many."
        )
        return self._by_measure("design_reliability", "Reliability", columns, note=note)

    @table("design_halves", "agreement of two halves of the users")
    def halves_table(self) -> Table:
        """Tabulate the agreement of halves."""
        columns = {
            "split-half": [shown(value) for value in self.halves.reliability],
            "tau of halves": [shown(value) for value in self.halves.tau],
            "swap rate": [shown(value) for value in self.halves.swap_rate],
        }
        note = (
            "Two disjoint random halves of the users: the correlation of the systems' means, "
            "stepped up to all users (Spearman and Brown); Kendall's tau-b, and the share of pairs "
            "that are swapped, between halves."
        )
        return self._by_measure("design_halves", "Agreement of halves", columns, note=note)

    @table("design_equivalence", "pairs that differ, are equivalent, or neither")
    def equivalence_table(self) -> Table:
        """Tabulate verdicts; without a bound there are none."""
        found = self.equivalence
        if found is None:
            return Table("design_equivalence", "Equivalence", "", [], [])
        verdicts = found.verdicts(self.alpha)
        columns: dict[str, list[str]] = {"bound": [shown(bound) for bound in found.bounds]} | {
            verdict: [f"{n:,}" for n in (verdicts == verdict).sum(axis=1)] for verdict in VERDICTS
        }
        if found.posterior is not None:
            sure = (found.posterior > CONFIDENCE).sum(axis=1)
            columns["P > .95: better"] = [f"{n:,}" for n in sure[:, 0] + sure[:, 2]]
            columns["P > .95: none"] = [f"{n:,}" for n in sure[:, 1]]
        note = (
            f"Of {len(self.pairs):,} pairs of systems at {self.alpha:g}: equivalent are those "
            "whose difference is surely within the bound, by two one-sided t-tests (even if it is "
            "surely not 0); different are others whose difference is surely not 0. No correction "
            "is made for many pairs."
        )
        return self._by_measure("design_equivalence", "Equivalence", columns, note=note)

    def _by_measure(
        self,
        name: str,
        title: str,
        columns: Mapping[str, Sequence[str]],
        *,
        note: str,
        order: NDArray[np.intp] | None = None,
    ) -> Table:
        """Lay columns out with a row for each measure."""
        rows = list(zip(map(str, self.measures), *columns.values(), strict=True))
        chosen = rows if order is None else [rows[n] for n in order]
        return Table(name, title, note, ["measure", *columns], chosen)

    @figure("design", "Users: share of the pairs of systems that become significant")
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the expected share of significant pairs against the number of users."""
        ax = axes_or_new(ax)
        for number, label, style in curves_of(self.measures):
            users = count(self.needed[number])
            line = {**style, "marker": ""}
            ax.plot(self.sizes, self.shares[number], label=f"{label} ({users})", **line)
        scale_by_factors(ax, along="x")
        ax.axhline(self.share, color="0.6", linewidth=0.8, zorder=0)
        ax.axvline(self.n_users, color="0.6", linewidth=0.8, linestyle=":", zorder=0)
        ax.set_ylim(0, 1.02)
        ax.set_xlabel(f"users (dotted: the pilot's {self.n_users:,})")
        ax.set_ylabel(f"pairs significant at {self.alpha:g}")
        ax.xaxis.set_major_formatter("{x:,.0f}")
        legend_beside(ax)
        return ax

    def caption(self) -> str:
        """Say what is needed for what, and what is assumed."""
        scores = (
            ""
            if self.standardised is None
            else (f" Scores are standardised user by user ({self.standardised}).")
        )
        return (
            f"Users of a new sample with whom {percent(self.share)} of the {len(self.pairs):,} "
            f"pairs of {len(self.systems)} systems are expected to differ at p < {self.alpha:g}, "
            f"from a pilot of {self.n_users:,} users whose differences are shrunk by what is noise "
            "in them, with 95 % intervals; users with whom the paired t-test finds, with a power "
            f"of {self.power:g}, the difference of the median pair as the pilot has it (as seen), "
            f"and one of {percent(self.difference)} of the mean score; the power of the "
            f"permutation test with the latter over {self.simulations:,} sets of users drawn from "
            "the pilot (tried); and the least difference, in per cent of the mean, that as many "
            f"users as the pilot's find in the median pair (seen now).{scores}"
        )

    def findings(self) -> Sequence[str]:
        """Say what the measures need, beside each other."""
        return (
            tuple(filter(None, (self._of_shares(), self._of_difference(), self._of_reliability())))
            + self._of_equivalence()
        )

    def _of_shares(self) -> str:
        order = np.argsort(self.needed, kind="stable")
        fewest, most = int(order[0]), int(order[-1])
        wanted = (
            f"For {percent(self.share)} of the pairs of systems to differ at p < {self.alpha:g}"
        )
        if np.isinf(self.needed[fewest]):
            return f"{wanted}, no number of users is enough, as far as this pilot tells."
        told = f"{wanted}, {self.measures[fewest]} needs {self._users_of(fewest)} users"
        if len(order) == 1:
            return f"{told}; the pilot has {self.n_users:,}."
        told = f"{told} where {self.measures[most]} needs {self._users_of(most)}"
        ratio, low, high = self.ratio(most, fewest)
        if np.isnan(low):
            return f"{told}."
        place = "beyond" if low > 1 else "within"
        return f"{told}: {times(ratio)} times as many [{times(low)}, {times(high)}], {place} noise."

    def _users_of(self, number: int) -> str:
        low, high = (end[number] for end in self.interval)
        limits = "" if np.isnan(low) else f" [{count(low)}, {count(high)}]"
        return f"{count(self.needed[number])}{limits}"

    def _of_difference(self) -> str:
        known = np.flatnonzero(self.means > 0)
        if len(known) == 0:
            return ""
        users = _median(self.relative)[known]
        least = (np.median(self.detectable, axis=1)[known] / self.means[known]).tolist()
        names = [str(self.measures[number]) for number in known]
        fewest, most = int(np.argmin(users)), int(np.argmax(users))
        finest, coarsest = least.index(min(least)), least.index(max(least))
        return (
            f"A difference of {percent(self.difference)} of the mean score is found with a power "
            f"of {self.power:g}, in the median pair, with {count(users[fewest])} users by "
            f"{names[fewest]} and {count(users[most])} by {names[most]}; the pilot's "
            f"{self.n_users:,} users find {percent(least[finest])} by {names[finest]}, "
            f"{percent(least[coarsest])} by {names[coarsest]}."
        )

    def _of_reliability(self) -> str:
        users, _ = self.components.users_for(self.reliability)
        fewest, most = int(np.argmin(users)), int(np.argmax(users))
        return (
            f"The ordering of such systems has a reliability of {self.reliability:g} (E rho²) with "
            f"{count(users[fewest])} users by {self.measures[fewest]} and {count(users[most])} "
            f"by {self.measures[most]}."
        )

    def _of_equivalence(self) -> tuple[str, ...]:
        if self.equivalence is None:
            return ()
        verdicts = self.equivalence.verdicts(self.alpha)
        equivalent, undecided = (
            (verdicts == verdict).sum(axis=1) for verdict in ("equivalent", "undecided")
        )
        fewest, most = int(np.argmin(undecided)), int(np.argmax(undecided))
        found = f"up to {equivalent.max():,}" if equivalent.any() else "none"
        bound, n_pairs = percent(self.bound or 0.0), len(self.pairs)
        return (
            f"Within {bound} of the mean score, {found} of {n_pairs:,} pairs of systems are "
            f"equivalent; {undecided[fewest]:,} ({self.measures[fewest]}) to "
            f"{undecided[most]:,} ({self.measures[most]}) are neither that nor different.",
        )

    def cautions(self) -> Sequence[str]:
        """Say where the pilot is small, its differences noisy, or the test not what was planned."""
        return tuple(filter(None, (self._curse(), self._small(), self._far(), self._weaker())))

    def _curse(self) -> str:
        worst = int(np.argmax(self.noise))
        if self.noise[worst] < NOISY:
            return ""
        return (
            "Differences that a pilot observes are too large on average: up to "
            f"{percent(self.noise[worst])} ({self.measures[worst]}) of their squares is noise. "
            "Users for a share of the pairs allow for that; users for single pairs as observed do "
            "not, and are too few."
        )

    def _small(self) -> str:
        if self.n_users >= FEW_USERS:
            return ""
        off = np.sqrt(2 / (self.n_users - 1))
        return (
            f"From {self.n_users:,} users a variance is known to {percent(off)} at best (one "
            "standard error), and all numbers of users with it."
        )

    def _far(self) -> str:
        far = [
            str(m)
            for m, n in zip(self.measures, self.needed, strict=True)
            if n > FAR * self.n_users
        ]
        if not far:
            return ""
        return (
            f"By {', '.join(far)}, more than {FAR} times the pilot's users are needed: how many "
            "rests on what is assumed of the differences too small to be seen."
        )

    def _weaker(self) -> str:
        error = np.sqrt(self.power * (1 - self.power) / max(self.simulations, 1))
        weak = [
            f"{measure} {shown(power, decimals=2)}"
            for measure, power in zip(self.measures, self.simulated, strict=True)
            if power < self.power - OFF * error
        ]
        if not weak:
            return ""
        return (
            f"The permutation test has less than the power of {self.power:g} that the t-test "
            f"promises, over users drawn from the pilot: {', '.join(weak)}."
        )

    def about(self, measure: Measure) -> Mapping[str, str]:
        """Give the users that it needs."""
        if measure not in self.measures:
            return {}
        number = self.measures.index(measure)
        return {
            f"users for {percent(self.share)} of pairs": self._users_of(number),
            "E rho²": shown(float(self.components.relative[number]), decimals=3),
        }


def _check(scores: Scores) -> None:
    if len(scores.systems) < 2 or len(scores.users) < 3:
        raise InputError(
            "a design needs a pilot of at least two systems and three users, got "
            f"{len(scores.systems)} and {len(scores.users)}."
        )


def _distinct(means: NDArray[np.float64], deviations: NDArray[np.float64]) -> NDArray[np.intp]:
    """Number the pairs that differ by some measure; all if none does."""
    differ = ((means != 0) | (deviations > 0)).any(axis=0)
    return np.flatnonzero(differ if differ.any() else ~differ)


def _users(
    differences: NDArray[np.float64], deviations: NDArray[np.float64], settings: Settings
) -> NDArray[np.float64]:
    """Give the users with whom differences, not negative, are found."""
    effects = effects_of(np.broadcast_to(differences, deviations.shape), deviations)
    return needed_users(effects, alpha=settings.alpha, power=settings.power)


def _simulated(
    work: Work,
    values: NDArray[np.float64],
    pairs: NDArray[np.intp],
    users: NDArray[np.float64],
    level: NDArray[np.float64],
    settings: Settings,
) -> NDArray[np.float64]:
    """Try the permutation test in the median pair of each measure."""
    first, second = (side[pairs] for side in pair_indices(values.shape[1]))
    medians = np.argsort(users, axis=1, kind="stable")[:, (len(pairs) - 1) // 2]
    tasks = (
        delayed(_try)(
            scores[first[pair]] - scores[second[pair]],
            settings.difference * mean,
            row[pair],
            settings,
            work.seed,
        )
        for scores, pair, mean, row in zip(values, medians, level, users, strict=True)
    )
    powers = []
    with work.progress("Trying the permutation test", len(values)) as bar:
        run = Parallel(n_jobs=work.n_jobs, prefer="threads", return_as="generator")
        for power in run(tasks):
            powers.append(power)
            bar.advance()
    return np.array(powers)


def _try(
    differences: NDArray[np.float64], mean: float, users: float, settings: Settings, seed: int
) -> float:
    """Count how often the test finds a mean, unless there are too many users to learn from."""
    if settings.simulations == 0 or users > MOST_SIMULATED:
        return float("nan")
    return simulated_power(
        differences,
        mean=-mean if differences.mean() < 0 else mean,
        n_users=int(users),
        alpha=settings.alpha,
        draws=settings.simulations,
        seed=seed,
    )


def _possible(
    values: NDArray[np.float64],
    pairs: NDArray[np.intp],
    effects: NDArray[np.float64],
    settings: Settings,
    seed: int,
) -> NDArray[np.float64]:
    """Draw effects that may be behind those observed, (n_measures, n_draws, n_pairs)."""
    _, n_systems, n_users = values.shape
    drawn = draw_weights(n_users, replicates=settings.replicates, seed=seed)
    weights = np.concatenate([np.empty((0, n_users)), *(some for _, some in drawn)])
    with single_threaded("blas"):
        resampled = resampled_effects(values, weights)[:, pairs]
    return possible_effects(effects, resampled, n_systems=n_systems, n_pilot=n_users, seed=seed)


def _sizes(needed: NDArray[np.float64], n_users: int) -> NDArray[np.float64]:
    """Give numbers of users to draw curves over, up to some more than are needed."""
    known = needed[np.isfinite(needed)]
    last = max(2 * n_users, 1.5 * known.max(initial=0.0))
    return np.unique(np.rint(np.geomspace(SMALLEST, max(last, 2 * SMALLEST), N_SIZES)))


def _limits(replicates: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give the middle 95 % of replicates (..., n_replicates); NaN from fewer than two."""
    if replicates.shape[-1] < 2:
        return np.full(replicates.shape[:-1], np.nan), np.full(replicates.shape[:-1], np.nan)
    tails = [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]
    low, high = np.quantile(replicates, tails, axis=-1, method="inverted_cdf")
    return low, high


def _median(users: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give the users of the median pair, the lower of two."""
    return np.asarray(np.quantile(users, 0.5, axis=1, method="inverted_cdf"))
