"""What an online study finds: rates, offline values, how they agree, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from analyses.online.agreement.best_of_many import BestOfMany, best_of_many
from analyses.online.agreement.measure_names import Parametrisation
from analyses.online.agreement.measure_pairs import Comparison, compare_parametrisations
from analyses.online.agreement.rank_agreement import Agreement, study_agreement
from analyses.online.clicks.checks.crossing import Stickiness, stickiness
from analyses.online.clicks.checks.robots import Robots, robots
from analyses.online.clicks.checks.sample_ratio import SampleRatio, sample_ratio
from analyses.online.clicks.cycles.cycles import Periodicity, periodicity
from analyses.online.clicks.lists import accepted_lists
from analyses.online.clicks.poisson_bootstrap import replicate_sums
from analyses.online.clicks.rates import (
    ClickThrough,
    click_through,
    click_through_by_period,
    rates_of,
)
from analyses.online.clicks.tallies import Tallies, tally
from analyses.online.logs.slates import Slates, busy_users
from analyses.online.planning.arms_for_best import ArmsForBest, arms_for_best
from analyses.online.planning.arms_needed import ArmsNeeded, arms_needed
from analyses.online.tables.experiment import Experiment
from analyses.recall.recall import measure_recall
from harness.online.experiment.experiment_file import milliseconds
from harness.online.experiment.offline_values import (
    VALIDATIONS,
    Measured,
    Place,
    draw_periods,
    measure_arms,
    replicate_values,
)
from qrels.ranks.hidden_ranks import HiddenRanks

if TYPE_CHECKING:
    import pandas as pd

    from analyses.online.logs.read_log import Logs
    from harness.online.experiment.experiment_file import OnlineStudy, RatesSection
    from harness.online.simulation.truth import Truth

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

FEW_REPLICATES, FEW_SUBSETS = 20, 50
"""Resampled rates and subsets of arms for the test of the best measure, which is slow."""
DAY = 86_400_000
REACH = 1.96
"""Standard deviations to either side of a value that hold 95 %."""

SHOWN_BETAS, SHOWN_CUTOFF = (0.0, 0.5, 1.0), 5
"""The recall variants whose need of arms is looked at: low, middle and high exponents."""


@dataclass(frozen=True, eq=False)
class Clicks:
    """The online side.

    Parameters
    ----------
    slates
        The lists that count.
    accepted
        Whether each was accepted, of shape (n_slates,).
    period
        Of each list, from 0.
    stickiness, ratio, robots
        Who saw which arm, and in which numbers; rates with and without robots, if they are told.
    overall, by_period, cycles
        Rates of the arms: over all periods, in each, and by the hour, where the log is long enough.
    tallies
        Counts by user, arm and period.
    """

    slates: Slates
    accepted: Flags
    period: NDArray[np.int64]
    stickiness: Stickiness
    ratio: SampleRatio
    robots: Robots | None
    overall: ClickThrough
    by_period: Mapping[str, ClickThrough]
    cycles: Periodicity | None
    tallies: Tallies


@dataclass(frozen=True, eq=False)
class Findings:
    """All that an online study finds.

    Parameters
    ----------
    clicks
        The online side.
    measured
        The offline side.
    experiment
        Both, by arm.
    agreement, best, comparison
        How measures agree with rates; what the best of them would reach by chance; and differences
        of recall variants with intervals.
    resampled
        What these intervals are over.
    needed, for_best
        What fewer arms would show, where the truth is known; and how often their best measure
        would stand the test.
    truth
        Exact rates, of simulated worlds.
    recalls
        Recall of every arm at one exponent and cut-off (table 4.3), with intervals, and what
        leave last one out makes of first items.
    """

    clicks: Clicks
    measured: Measured
    experiment: Experiment
    agreement: Agreement
    best: BestOfMany
    comparison: Comparison
    resampled: str
    needed: ArmsNeeded | None
    for_best: ArmsForBest
    truth: Truth | None
    recalls: pd.DataFrame


def find(
    study: OnlineStudy,
    logs: Logs,
    ranks: Mapping[Place, HiddenRanks],
    counts: Mapping[Place, NDArray[np.integer]],
    *,
    shares: Mapping[str, float] | None,
    truth: Truth | None,
    off_policy: Sequence[Mapping[str, Any]] = (),
) -> Findings:
    """Analyse a log and the ranks of hidden items by the models that it served.

    Parameters
    ----------
    study
        What is asked.
    logs
        Lists, interactions and the models' versions.
    ranks, counts
        By arm and period: ranks of hidden items, and how popular items were.
    shares
        Planned shares of the arms, if they are known.
    truth
        Exact rates, if they are known.
    off_policy
        Estimates of the clicks of each arm from the log of another, which stand among the
        measures.
    """
    section, inference, seed = study.recall, study.inference, study.seed
    clicks = count_clicks(study, logs, shares=shares)
    measured = measure_arms(ranks, counts, section)
    numbers = [clicks.overall.arms.index(arm) for arm in measured.arms]
    estimates = _by_estimator(off_policy, measured.arms)
    experiment = Experiment(
        study.name,
        measured.arms,
        (*measured.measures, *estimates),
        np.stack([*measured.values, *estimates.values()]),
        clicks.overall.rates[numbers],
    )
    n_recalls = len(measured.parametrisations)
    recalls = replace(
        experiment,
        measures=experiment.measures[:n_recalls],
        values=experiment.values[:n_recalls],
    )
    periods = draw_periods(
        len(clicks.tallies.periods),
        replicates=inference.replicates,
        seed=seed,
        fixed=inference.resampled == "users",
    )
    again = replicate_values(ranks, counts, section, periods=periods, seed=seed)
    rates_again = _rates_again(study, clicks, periods)[:, numbers]
    return Findings(
        clicks=clicks,
        measured=measured,
        experiment=experiment,
        agreement=study_agreement([experiment], seed=seed),
        best=best_of_many([experiment], permutations=inference.permutations, seed=seed),
        comparison=compare_parametrisations(recalls, values=again, rates=rates_again),
        resampled=inference.resampled,
        needed=_arms_needed(study, recalls, rates_again, measured, truth),
        for_best=arms_for_best(
            recalls.values,
            rates=rates_again[:FEW_REPLICATES],
            subsets=min(inference.subsets, FEW_SUBSETS),
            seed=seed,
        ),
        truth=truth,
        recalls=recalls_of_arms(measured, ranks, counts, again),
    )


def _rates_again(study: OnlineStudy, clicks: Clicks, periods: NDArray[np.int64]) -> Floats:
    """Count rates again for resampled users and periods, of shape (n_replicates, n_arms)."""
    sums = replicate_sums(clicks.tallies, replicates=periods.shape[1], seed=study.seed)
    return rates_of(sums * periods, over_time=study.rates.over_time).T


def recalls_of_arms(
    measured: Measured,
    ranks: Mapping[Place, HiddenRanks],
    counts: Mapping[Place, NDArray[np.integer]],
    again: Floats,
) -> pd.DataFrame:
    """Tabulate recall at the highest of the shown exponents, by arm.

    Returns
    -------
    Columns arm, measure, recall; low and high, 1.96 standard deviations over resampled users to
    either side; ceiling, the most that the validation lets a model reach; and without_first, the
    recall if first items are not hidden, of leave last one out.
    """
    import pandas as pd

    shown = [n for n in shown_measures(measured) if measured.parametrisations[n].beta > 0]
    highest = max(measured.parametrisations[n].beta for n in shown) if shown else 0.0
    rows = []
    for number in shown:
        each = measured.parametrisations[number]
        if each.beta != highest:
            continue
        place = measured.section.betas.index(each.beta)
        side = VALIDATIONS.index(each.validation)
        for column, arm in enumerate(measured.arms):
            value = measured.of_arm(arm)[number]
            sd = again[:, number, column].std(ddof=1)
            grids = [grid for at, grid in measured.grids.items() if at[0] == arm]
            rows.append(
                {
                    "arm": arm,
                    "measure": str(each),
                    "recall": value,
                    "low": value - REACH * sd,
                    "high": value + REACH * sd,
                    "ceiling": np.mean([grid.ceilings[side, place] for grid in grids]),
                    "without_first": _without_first(measured, ranks, counts, each, arm),
                }
            )
    return pd.DataFrame(rows)


def _without_first(
    measured: Measured,
    ranks: Mapping[Place, HiddenRanks],
    counts: Mapping[Place, NDArray[np.integer]],
    asked: Parametrisation,
    arm: str,
) -> float:
    """Measure a recall under leave last one out without the items that no model can find."""
    if asked.validation == "LOO":
        return float("nan")
    skipping = replace(measured.section.stratification, first_item="skip")
    values = [
        measure_recall(
            ranks[place],
            counts[place],
            validations=["LLOO"],
            betas=[asked.beta],
            cutoffs=[asked.cutoff],
            stratification=skipping,
        ).values.item()
        for place in ranks
        if place[0] == arm
    ]
    return float(np.mean(values))


def _by_estimator(rows: Sequence[Mapping[str, Any]], arms: Sequence[str]) -> dict[str, Floats]:
    """Give off-policy estimates of the arms by estimator, where all arms have one."""
    values = {(row["estimator"], row["arm"]): float(row["clicks_per_slate"]) for row in rows}
    names = dict.fromkeys(name for name, _ in values)
    return {
        name: np.array([values[name, arm] for arm in arms])
        for name in names
        if all((name, arm) in values for arm in arms)
    }


def count_clicks(study: OnlineStudy, logs: Logs, *, shares: Mapping[str, float] | None) -> Clicks:
    """Count who was shown what by which arm, and what was accepted."""
    section = study.rates
    period = _periods_of(logs)
    live = period >= 0
    window = None if section.window is None else milliseconds(section.window)
    clicked = accepted_lists(
        logs, window=window, credit=section.credit, asked='`clicks = "explicit"`'
    )
    slates, period, accepted = logs.slates.select(live), period[live], clicked[live]
    told = section.robots_per_day
    of_robots = None if told is None else robots(slates, accepted, per_day=told)
    kept = np.ones(len(slates.user), dtype=np.bool_)
    if told is not None:
        busy = busy_users(slates.user, slates.time, per_day=told, n_users=len(slates.users))
        kept &= ~busy[slates.user]
    users = stickiness(slates.user[kept], slates.arm[kept], slates.time[kept])
    sticks, _ = users.settle(slates.user[kept], crossing="exclude")
    kept[kept] = sticks
    slates, accepted, period = slates.select(kept), accepted[kept], period[kept]
    n_periods = int(period.max()) + 1
    tallies = tally(
        accepted,
        user=slates.user,
        arm=slates.arm,
        arms=slates.arms,
        period=period,
        periods=[str(number + 1) for number in range(n_periods)],
    )
    replicates = study.inference.replicates
    return Clicks(
        slates=slates,
        accepted=accepted,
        period=period,
        stickiness=users,
        ratio=sample_ratio(users, arms=slates.arms, shares=shares, zone=section.zone),
        robots=of_robots,
        overall=click_through(
            tallies, over_time=section.over_time, replicates=replicates, seed=study.seed
        ),
        by_period=click_through_by_period(tallies),
        cycles=_cycles(slates, accepted, section, seed=study.seed),
        tallies=tallies,
    )


def _periods_of(logs: Logs) -> NDArray[np.int64]:
    """Number the live version of each list among those of its arm, from 0; -1 where none was."""
    slates = logs.slates
    if logs.models is None:
        return np.zeros(len(slates.user), dtype=np.int64)
    version = logs.models.at(slates.arm, slates.time)
    of_arm = [(logs.models.arm[:number] == arm).sum() for number, arm in enumerate(logs.models.arm)]
    return np.array([*of_arm, -1], dtype=np.int64)[version]


def _cycles(
    slates: Slates, accepted: Flags, section: RatesSection, *, seed: int
) -> Periodicity | None:
    """Fit cycles, if the log has three days at least."""
    if len(slates.time) == 0 or slates.time.max() - slates.time.min() < 3 * DAY:
        return None
    return periodicity(
        accepted,
        time=slates.time,
        arm=slates.arm,
        arms=slates.arms,
        zone=section.zone,
        seed=seed,
    )


def _arms_needed(
    study: OnlineStudy,
    recalls: Experiment,
    observed: Floats,
    measured: Measured,
    truth: Truth | None,
) -> ArmsNeeded | None:
    """Look what fewer arms would show of some measures, if the truth is known."""
    if truth is None:
        return None
    rates, _ = truth.over_time()
    chosen = shown_measures(measured)
    return arms_needed(
        recalls.values[chosen],
        true_rates=rates[[truth.arms.index(arm) for arm in measured.arms]],
        measures=[recalls.measures[number] for number in chosen],
        observed_rates=observed,
        subsets=study.inference.subsets,
        seed=study.seed,
    )


def shown_measures(measured: Measured) -> Sequence[int]:
    """Number the recall variants with low, middle and high exponents at a common cut-off."""
    section = measured.section
    cutoff = min(section.cutoffs, key=lambda k: abs(k - SHOWN_CUTOFF))
    betas = {min(section.betas, key=lambda beta: abs(beta - shown)) for shown in SHOWN_BETAS}
    return [
        number
        for number, each in enumerate(measured.parametrisations)
        if each.cutoff == cutoff and each.beta in betas
    ]
