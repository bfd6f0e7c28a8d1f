"""Corrected metrics of systems from the ranks that they have among sampled negatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from analyses.intervals.resampling import CONFIDENCE, draw_weights, interval
from analyses.sampled.estimators import Estimator, Fits, Metrics, find_estimator
from analyses.sampled.metrics import METRICS, MetricNames, rank_metric, read_metrics, tidy
from analyses.sampled.rank_distribution import Cells
from analyses.sampled.rank_tables import Sampled, sampled_of
from analyses.sampled.samples import (
    RanksResult,
    SampledRanks,
    pairs_of,
    population_of,
    replacement,
    weighted_auc,
)
from analyses.shared.analysis import AnalysisSettings
from analyses.shared.drawing import chosen_panel, colours
from analyses.shared.measure import Measure, Measures
from analyses.shared.result import figure, table
from analyses.shared.sentences import MOST_NAMED, listed
from analyses.shared.table import Cell, Table, shown
from analyses.significance.permutation import pair_indices
from runs import InputError
from runs.shared.arrays import Floats
from runs.shared.errors import with_known_keywords
from runs.shared.progress import Progress, Silent
from runs.shared.settings import Whole, read_by, read_settings_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


HALF_WIDTH = 1.96
"""Of an interval of 95 %, in standard errors."""

WORTH_SAYING = 0.5
"""Bias in standard errors, from which on an interval holds the truth less than 93 of 100 times."""


class Settings(AnalysisSettings):
    """How metrics are estimated from ranks among sampled negatives."""

    removed: ClassVar[Mapping[str, str]] = {"drawn": "a table that has probabilities says so"}

    metrics: MetricNames = METRICS
    estimator: Annotated[str, read_by(find_estimator)] | None = Field(
        None,
        description="Estimator of the exact metrics, with options; default: mle(iters=100), or "
        "ht-plugin (for AUC) if negatives were drawn with probabilities.",
    )
    replicates: Whole = Field(
        1000, ge=100, description="Number of bootstrap replicates of the users."
    )


@with_known_keywords
def correct(
    sampled: Sampled,
    *,
    negatives: int | None = None,
    candidates: int | None = None,
    replace: bool = True,
    metrics: Sequence[str] = METRICS,
    estimator: str | None = None,
    replicates: int = 1000,
    seed: int = 0,
) -> Corrected:
    """Estimate metrics among all candidates from ranks among sampled negatives.

    Parameters
    ----------
    sampled
        Ranks by system; or a table, as a data frame or a file; or several files. A file that names
        no system holds one system, with the name of the file. A table of ranks is long, with the
        columns system, user and rank, or wide, with a column for each system. It may have the
        columns n_negatives and n_candidates. A table of scores has the columns user, score and
        label: 1 for a relevant item, 0 for a negative. It may have the columns system, item and
        probability, the probability of drawing each negative. RecBole's names of columns, such as
        ``user_id:token``, are understood. In NCF's layout a line has no heading: ``(user,item)``,
        the score of that item, and the scores of its negatives, separated by tabs.
    negatives
        Number of sampled negatives of each user, without the relevant items, if the table has no
        such column.
    candidates
        Number of candidates of each user, with the relevant items, likewise.
    replace
        Whether negatives were drawn with replacement.
    metrics
        Metrics to estimate.
    estimator
        Estimator of the exact metrics, with its options. Default: ``mle(iters=100)``, or
        ``ht-plugin`` (of AUC) if negatives were drawn with given probabilities.
    replicates
        Number of resamples of the users for the intervals, at least 100.
    seed
        Random seed of the resamples, which all systems share.

    Returns
    -------
    Corrected
        Estimates of shape (n_metrics, n_systems), with 95 % intervals.

    Raises
    ------
    InputError
        If a table or an argument breaks a rule.

    Examples
    --------
    >>> ranks = {"a": SampledRanks.of([1, 2, 4] * 9, n_negatives=9, n_candidates=90)}
    >>> correct(ranks, metrics=["AUC"], estimator="uncorrected").values.round(4)
    array([[0.8519]])
    """
    given = {"metrics": metrics, "estimator": estimator, "replicates": replicates}
    chosen = read_settings_of("correct", Settings, given)
    systems = sampled_of(sampled, negatives=negatives, candidates=candidates, replace=replace)
    return corrected_systems(systems, chosen, seed=seed)


def corrected_systems(
    systems: Mapping[str, SampledRanks],
    settings: Settings,
    *,
    seed: int,
    progress: Progress | None = None,
) -> Corrected:
    """Do as `correct` with ranks that were read."""
    known = [one.inverse_mass_above is not None for one in systems.values()]
    if any(known) and not (all(known) and all(one.replace for one in systems.values())):
        raise InputError(
            "negatives drawn with probabilities must be drawn with replacement, for all systems."
        )
    estimator = find_estimator(settings.estimator or ("ht-plugin" if any(known) else "mle"))
    is_weighted, names = estimator.name == "ht-plugin", settings.metrics
    metrics = read_metrics(["AUC"] if is_weighted and names == METRICS else names)
    others = [str(metric) for metric in metrics if metric.name != "AUC"]
    if is_weighted and others:
        raise InputError(
            f"from negatives drawn with probabilities only AUC is estimated, not {others[0]}: "
            "give AUC as the only metric, or draw negatives uniformly."
        )
    found, watched = [], progress or Silent()
    with watched("Correcting", len(systems)) as bar:
        for name, sample in systems.items():
            try:
                found.append(_of_system(sample, estimator, metrics, settings.replicates, seed))
            except InputError as error:
                raise InputError(f"system {name!r}: {error}") from None
            bar.advance()
    first = next(iter(systems.values()))
    return Corrected(
        Measures(Measure(str(metric)) for metric in metrics),
        tuple(systems),
        population_of(first),
        first.replace,
        str(estimator),
        (int(first.n_negatives.min()), int(first.n_negatives.max())),
        *(np.stack(each, axis=1) for each in zip(*found, strict=True)),
    )


def _of_system(
    sample: SampledRanks, estimator: Estimator, metrics: Metrics, replicates: int, seed: int
) -> tuple[Floats, ...]:
    """Give the arrays of `Corrected`, of one system."""
    plain = find_estimator("uncorrected").fit_cells(Cells.of([sample])).estimates(metrics)[0]
    if estimator.name == "ht-plugin":
        of_users, unknown = weighted_auc(sample), np.full(1, np.nan)
        draws = draw_weights(len(of_users), replicates=replicates, seed=seed)
        means = np.concatenate([times @ of_users for _, times in draws]) / len(of_users)
        return plain, of_users.mean(keepdims=True), unknown, unknown, means[np.newaxis]
    fits = estimator.fit(sample)
    again = estimator.fit_cells(fits.cells.resampled(replicates, seed=seed)).estimates(metrics).T
    return plain, fits.estimates(metrics)[0], *bias_left(fits, metrics), again


def bias_left(fits: Fits, metrics: Metrics) -> Floats:
    """Guess the bias of an estimator: what it makes of ranks like those that EM finds.

    (2, n_metrics): the estimate from expected samples of such ranks less their exact metric, for
    ranks that EM finds from a uniform start, as MLE does, and from a steep one.
    """
    guesses, cells = [], fits.cells.suited(metrics)
    for steep in (False, True):
        masses = cells.most_likely(100, steep=steep)
        expected, exact = cells.refilled(masses, metrics)
        guesses.append(fits.estimator.fit_cells(expected).estimates(metrics)[0] - exact)
    return np.array(guesses)


@dataclass(frozen=True, eq=False)
class Corrected(RanksResult):
    """Metrics of systems among all candidates, estimated from one sample, and their differences.

    Arrays are of shape (n_metrics, n_systems), and replicates (the same resampled users for all
    systems, through the whole correction) have one more axis. ``bias`` is a guess of what estimates
    are too high, NaN where there is none, and ``steep_bias`` the same if many relevant items are at
    the very first ranks, which samples do not tell; ``negatives`` are the fewest and most.
    """

    measures: Measures
    systems: tuple[str, ...]
    population: str
    replace: bool
    estimator: str
    negatives: tuple[int, int]
    uncorrected: Floats
    values: Floats
    bias: Floats
    steep_bias: Floats
    replicates: Floats

    @property
    def errors(self) -> Floats:
        """Standard errors over users and their samples: (n_metrics, n_systems)."""
        return np.asarray(self.replicates.std(axis=2, ddof=1))

    @property
    def limits(self) -> tuple[Floats, Floats]:
        """Lower and upper limits of the estimates, 95 %."""
        return interval(self.values, self.replicates, limits=(0.0, 1.0))

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give estimates of systems, and differences of all pairs."""
        return {"corrected": self.to_frame(), "corrected_differences": self.differences_frame()}

    def to_frame(self) -> pd.DataFrame:
        """Give one row for each metric and system: estimates, limits, and bias that may be left."""
        lower, upper = self.limits
        found = {"uncorrected": self.uncorrected, "estimate": self.values}
        found |= {"standard_error": self.errors, "lower": lower, "upper": upper}
        found |= {"bias": self.bias, "steep_bias": self.steep_bias}
        axes = {"metric": self.metrics}, {"system": self.systems}
        return tidy(*axes, estimator=self.estimator, **found)

    def differences(self) -> dict[str, Floats]:
        """Compare all pairs of systems, the first less the second; see `compare`."""
        a, b = pair_indices(len(self.systems))
        values, replicates = (of[:, a] - of[:, b] for of in (self.values, self.replicates))
        return compare(values, replicates)

    def differences_frame(self) -> pd.DataFrame:
        """Give one row for each metric and pair; limits and p-values hold for all pairs."""
        axes = {"metric": self.metrics}, pairs_of(self.systems, "system_a", "system_b")
        found = self.differences()
        return tidy(*axes, **found, told_apart=found["p"] < 1 - CONFIDENCE)

    @table("corrected", "metrics corrected for sampling, with standard errors over users")
    def estimated(self) -> Table:
        """Tabulate sampled and corrected metrics, intervals, and the bias that may be left."""
        rows = [
            [f"{metric}, {system}", plain, *_with_limits(*estimate), bias, steep]
            for metric, system, _, plain, *estimate, bias, steep in self.to_frame().to_numpy()
        ]
        numbers = ["sampled", "corrected", "95 % interval", "bias", "steep bias"]
        title = f"Metrics among all candidates, by {self.estimator}"
        return Table("corrected", title, self.caption(), ["metric, system", *numbers], rows)

    @table("corrected_differences", "differences of all systems, corrected for sampling")
    def compared(self) -> Table:
        """Tabulate the differences of all pairs of systems."""
        rows = [
            [f"{metric}, {a} - {b}", *_with_limits(*difference), p]
            for metric, a, b, *difference, p, _ in self.differences_frame().to_numpy()
        ]
        headings = ["metric, pair", "difference", "95 % interval", "p"]
        name, title = "corrected_differences", "Differences of systems"
        return Table(name, title, self.caption(), headings, rows)

    @figure(
        "corrected",
        "Metrics corrected for sampled negatives",
        panels="metric",
        comparable=False,
        roomy=True,
    )
    def plot(self, ax: Axes, *, metric: str | None = None) -> Axes:
        """Draw the estimates of a metric, by default the first, with their intervals."""
        shown = self.measures.reported.metrics
        name = shown[chosen_panel(shown, metric)]
        number, rows = self.metrics.index(name), np.arange(len(self.systems))
        low, high = (each[number] for each in self.limits)
        ax.hlines(rows, low, high, colours()[0], linewidth=1.2)
        ax.plot(self.values[number], rows, "o", color=colours()[0], markersize=4)
        ax.set_yticks(rows, self.systems)
        ax.invert_yaxis()
        ax.set(title=name, xlabel="corrected value")
        return ax

    def caption(self) -> str:
        """Say what is shown."""
        negatives = " to ".join(f"{m:,}" for m in dict.fromkeys(self.negatives))
        return (
            f"Metrics among all candidates, estimated by {self.estimator} from {negatives} "
            f"negatives, sampled {replacement(self.replace)}. {self.population}. Intervals: 95 % "
            "bootstrap over users, for differences jointly for all pairs. Bias: of the estimator "
            "for ranks as MLE finds them; steep bias: if more relevant items are at the top."
        )

    def findings(self) -> Sequence[str]:
        """Say for each metric how many pairs of systems differ, and which."""
        sentences = []
        for metric, own in self.differences_frame().groupby("metric", sort=False):
            pairs = own[["system_a", "system_b", "difference", "told_apart"]].to_numpy()
            apart = [(a, b) if value > 0 else (b, a) for a, b, value, differ in pairs if differ]
            named = listed([f"{a} above {b}" for a, b in apart[:MOST_NAMED]] or [""])
            differ = f"{len(apart):,} of {len(pairs):,} pairs of systems differ significantly"
            sentences.append(f"By {metric}, {differ}{f' ({named})' * bool(named)}.")
        return sentences

    def conclusion(self) -> str:
        """Say what was found, with cautions."""
        return "\n".join([*self.findings(), *self.cautions(), ""])

    def cautions(self) -> Sequence[str]:
        """Say where bias may be larger than intervals show."""
        biased = np.abs(self.bias) > WORTH_SAYING * self.errors
        least = np.maximum(np.abs(self.bias), HALF_WIDTH * self.errors)
        unseen = np.abs(self.steep_bias) > least
        cutoffs = np.array([rank_metric(name).cutoff or 0 for name in self.metrics])
        sentences = {
            "Intervals of {} are too narrow: the estimator may be biased.": biased.any(axis=1),
            "Estimates of {} may be wrong by more than their intervals: with m negatives among n "
            "candidates, the first n / m ranks look almost the same.": unseen.any(axis=1),
            "The cut-off of {} is larger than the number of negatives.": cutoffs
            > self.negatives[0],
        }
        return [
            sentence.format(listed([self.metrics[n] for n in np.flatnonzero(concerned)]))
            for sentence, concerned in sentences.items()
            if concerned.any()
        ]


def compare(values: Floats, replicates: Floats) -> dict[str, Floats]:
    r"""Compare pairs with intervals and p-values for all of a metric: (n_metrics, n_pairs) each.

    Replicates are of shape (n_metrics, n_pairs, n_replicates). With t the largest
    :math:`|d^*_{ab} - d_{ab}| / s_{ab}` of all pairs of a replicate, intervals are
    :math:`d \pm s t_{.95}`, and p is the share of replicates, the data among them, whose t is at
    least :math:`|d| / s` (Westfall & Young, 1993).
    """
    errors = replicates.std(axis=-1, ddof=1)
    scales = np.where(errors > 0, errors, np.inf)
    off = np.abs(replicates - values[..., np.newaxis]) / scales[..., np.newaxis]
    largest = off.max(axis=1, initial=0.0)
    reach = np.quantile(largest, CONFIDENCE, axis=1)[:, np.newaxis] * errors
    far = (np.abs(values) / scales)[..., np.newaxis]
    p = (1 + (largest[:, np.newaxis] >= far).sum(axis=-1)) / (1 + replicates.shape[-1])
    limits = {"lower": values - reach, "upper": values + reach}
    return {"difference": values, "standard_error": errors, **limits, "p": p}


def _with_limits(*numbers: Cell) -> tuple[str, str]:
    value, error, lower, upper = map(shown, numbers)
    return f"{value} ± {error}", f"[{lower}, {upper}]"
