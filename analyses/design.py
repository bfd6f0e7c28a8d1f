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
from analyses.pilots import pilot_frames, pilot_sentences, pilot_tables
from analyses.pilots.pilot import Pilot
from analyses.shared.analysis import AnalysisSettings, analysis
from analyses.shared.drawing import axes_or_new, curves_of, label_curves, scale_by_factors
from analyses.shared.measure import Measure
from analyses.shared.result import Result, figure, table
from analyses.shared.table import Table, shown
from analyses.significance.equivalence import equivalence_of
from analyses.significance.in_words import count, percent
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
from analyses.significance.split_halves import agreement_of_halves
from analyses.significance.standardise import Standard, standardised
from analyses.significance.variance_components import variance_components
from runs import InputError
from runs.shared.members import Whole
from runs.shared.parallel import single_threaded

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
class Design(Pilot, Result):
    """Users needed, by report measure, and how reliable means are; its arrays are a `Pilot`'s."""

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give ``design`` (`summary`), ``design_pairs`` (`to_frame`) and ``design_curves``."""
        return {
            "design": self.summary(),
            "design_pairs": self.to_frame(),
            "design_curves": pilot_frames.by_size(self),
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
        return pilot_frames.by_measure(self)

    def to_frame(self) -> pd.DataFrame:
        """One row per measure and pair of systems.

        Returns
        -------
        Columns metric, cutoff, system_a, system_b, difference, deviation, users_observed,
        users_relative, detectable; with a bound that, p_different, p_equivalent and verdict; with
        the Bayesian test the chances that b is practically better, neither, and a.
        """
        return pilot_frames.by_pair(self)

    @table("design", "users that each measure needs")
    def users_needed(self) -> Table:
        """Tabulate the users that each measure needs, the fewest first."""
        return pilot_tables.users_needed(self, self.caption())

    @table("design_reliability", "variance components, and users for a reliable ordering")
    def reliability_table(self) -> Table:
        """Tabulate variance components and what comes of them."""
        return pilot_tables.reliability(self)

    @table("design_halves", "agreement of two halves of the users")
    def halves_table(self) -> Table:
        """Tabulate the agreement of halves."""
        return pilot_tables.halves(self)

    @table("design_equivalence", "pairs that differ, are equivalent, or neither")
    def equivalence_table(self) -> Table:
        """Tabulate verdicts; without a bound there are none."""
        return pilot_tables.equivalence(self)

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
        label_curves(ax)
        return ax

    def caption(self) -> str:
        """Say what is needed for what, and what is assumed."""
        return pilot_sentences.caption(self)

    def findings(self) -> Sequence[str]:
        """Say what the measures need, beside each other."""
        of = pilot_sentences
        said = (of.of_shares(self), of.of_difference(self), of.of_reliability(self))
        return (*filter(None, said), *of.of_equivalence(self))

    def cautions(self) -> Sequence[str]:
        """Say where the pilot is small, its differences noisy, or the test not what was planned."""
        of = pilot_sentences
        said = (of.curse(self), of.small(self), of.far(self), of.weaker(self))
        return tuple(filter(None, said))

    def about(self, measure: Measure) -> Mapping[str, str]:
        """Give the users that it needs."""
        if measure not in self.measures:
            return {}
        number = self.measures.index(measure)
        return {
            f"users for {percent(self.share)} of pairs": self.users_of(number),
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
