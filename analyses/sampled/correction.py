"""Corrected metrics of systems from the ranks that they have among sampled negatives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field
from scipy.spatial.distance import squareform
from scipy.special import ndtr, stdtrit
from scipy.stats import mode

from analyses.intervals.percentile_intervals import symmetric_interval
from analyses.intervals.resampling import draw_weights
from analyses.sampled.estimators import Estimator, Fits, Metrics, find_estimator
from analyses.sampled.metrics import METRICS, MetricNames, rank_metric, read_metrics
from analyses.sampled.rank_distribution import Cells
from analyses.sampled.rank_tables import Sampled, sampled_of
from analyses.sampled.samples import SampledRanks, population_of, replacement, weighted_auc
from analyses.shared.analysis import AnalysisSettings
from analyses.shared.drawing import THICK, THIN, colours, explain, panel_index
from analyses.shared.families import CONFIDENCE
from analyses.shared.measure import Measure, Measures, pair_labels, tidy
from analyses.shared.number_format import MISSING, Cell, format_cell
from analyses.shared.result import Result, figure, table
from analyses.shared.sentences import MOST_NAMED, letters_by_system, listed
from analyses.shared.table import Table
from analyses.significance.permutation import pair_differences, pair_indices
from runs import InputError
from runs.shared.arrays import Floats, Integers, Longs, Masks
from runs.shared.errors import prefixed_errors, refuse_unknown_keywords
from runs.shared.progress import Progress, SilentProgress
from runs.shared.settings import Repeats, accepted_by, check_settings

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


HALF_WIDTH = 1.96
"""Of an interval of 95 %, in standard errors."""

USELESS = 1.0
"""A range that is wider than this share of the estimate tells nothing of the value."""

ROUNDING = 1e-6
"""Less bias than this is none."""

FEWEST = 15
"""Users with another rank than the most common; of fewer there are no intervals and no tests."""

FEW = 20
"""With fewer users there is a caution."""

NUMBERS_AT_ONCE = 1 << 21
"""Differences of pairs of systems in replicates that are held at a time, in six arrays."""

OF_TESTS = "bv(gamma=0.01)"
"""Tests differences, unless an estimator is chosen: it has less noise than MLE, and more bias."""


class Settings(AnalysisSettings):
    """How metrics are estimated from ranks among sampled negatives."""

    metrics: MetricNames = METRICS
    estimator: Annotated[str, accepted_by(find_estimator)] | None = Field(
        None,
        description="Estimator, with options; default: mle(iters=100), and bv(gamma=0.01) to test "
        "differences, or ht-plugin (for AUC) if negatives were drawn with probabilities.",
    )
    replicates: Repeats = Field(
        1000, ge=100, description="Number of bootstrap replicates of the users."
    )


@refuse_unknown_keywords
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
        Estimator, with its options. Default: ``mle(iters=100)``, with tests of differences by
        ``bv(gamma=0.01)``, or ``ht-plugin`` (of AUC) if negatives were drawn with given
        probabilities.
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
    chosen = check_settings("correct", Settings, given)
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
    sizes = np.concatenate([np.unique(one.n_negatives) for one in systems.values()])
    of_tests = estimator
    if settings.estimator is None and not any(known) and len(np.unique(sizes)) == 1:
        of_tests = find_estimator(OF_TESTS)
    is_weighted, names = estimator.name == "ht-plugin", settings.metrics
    metrics = read_metrics(["AUC"] if is_weighted and names == METRICS else names)
    others = [str(metric) for metric in metrics if metric.name != "AUC"]
    if is_weighted and others:
        raise InputError(
            f"from negatives drawn with probabilities only AUC is estimated, not {others[0]}: "
            "give AUC as the only metric, or draw negatives uniformly."
        )
    found, watched = [], progress or SilentProgress()
    with watched("Correcting", len(systems)) as bar:
        for name, sample in systems.items():
            with prefixed_errors(f"system {name!r}"):
                every = estimator, of_tests
                found.append(_of_system(sample, every, metrics, settings.replicates, seed))
            bar.advance()
    first = next(iter(systems.values()))
    return Corrected(
        Measures(Measure(str(metric)) for metric in metrics),
        tuple(systems),
        population_of(first),
        int(np.rint(first.n_irrelevant.mean())),
        first.replace,
        str(estimator),
        str(of_tests),
        min(len(np.unique(one.user)) for one in systems.values()),
        np.array([_differing(one) for one in systems.values()]),
        (int(sizes.min()), int(sizes.max())),
        *(np.stack(each, axis=1) for each in zip(*found, strict=True)),
    )


def _differing(sample: SampledRanks) -> int:
    """Count the users of whom an item has another rank than most items of its place have."""
    usual = [mode(sample.rank[sample.order == j]).mode for j in np.unique(sample.order)]
    return len(np.unique(sample.user[sample.rank != np.array(usual)[sample.order - 1]]))


def _of_system(
    sample: SampledRanks,
    every: tuple[Estimator, Estimator],
    metrics: Metrics,
    replicates: int,
    seed: int,
) -> tuple[Floats, ...]:
    """Give the arrays of `Corrected` of one system, by the estimators of levels and of tests."""
    estimator = every[0]
    plain = find_estimator("uncorrected").fit_cells(Cells.of([sample])).estimates(metrics)[0]
    if estimator.name == "ht-plugin":
        of_users, unknown = weighted_auc(sample), np.full(1, np.nan)
        draws = draw_weights(len(of_users), replicates=replicates, seed=seed)
        means = np.concatenate([times @ of_users for _, times in draws]) / len(of_users)
        found = of_users.mean(keepdims=True), means[np.newaxis]
        return plain, found[0], unknown, unknown, found[1], *found
    fits = estimator.fit(sample)
    again = fits.cells.resampled(replicates, seed=seed)
    levels, contrasted = (
        (one.fit_cells(fits.cells).estimates(metrics)[0], one.fit_cells(again).estimates(metrics).T)
        for one in every
    )
    return plain, levels[0], *bias_left(fits, metrics), levels[1], *contrasted


def bias_left(fits: Fits, metrics: Metrics) -> Floats:
    """Guess the bias of an estimator: what it makes of ranks like those that EM finds.

    (2, n_metrics): the estimate from expected samples of such ranks less their exact metric, for
    ranks that EM finds from a uniform start, as MLE does, and from a steep one.
    """
    guesses, cells = [], fits.cells.suited(metrics)
    for steep in (False, True):
        expected, exact = cells.refilled(metrics, steep=steep)
        guesses.append(fits.estimator.fit_cells(expected).estimates(metrics)[0] - exact)
    return np.array(guesses)


@dataclass(frozen=True, eq=False)
class Corrected(Result):
    """Metrics of systems among all candidates, estimated from one sample, and their differences.

    Arrays are of shape (n_metrics, n_systems), and replicates (the same resampled users for all
    systems, through the whole correction) have one more axis. ``bias`` is a guess of what estimates
    are too high, NaN where there is none, and ``steep_bias`` the same if many relevant items are at
    the very first ranks, which samples do not tell; ``negatives`` are the fewest and most, and
    ``n_irrelevant`` the mean number of irrelevant candidates of the first system; ``differing`` are
    the users of each system whose ranks are not all the most common one, below 15 of which there
    are no intervals and no tests (NaN): in simulations, intervals of 3 to 15 users held in 76 to
    97 %. Whether systems differ is tested by what is ``contrasted``: levels by an estimator of less
    noise.
    """

    measures: Measures
    systems: tuple[str, ...]
    population: str
    n_irrelevant: int
    replace: bool
    estimator: str
    test_estimator: str
    n_users: int
    differing: Integers
    negatives: tuple[int, int]
    uncorrected: Floats
    values: Floats
    bias: Floats
    steep_bias: Floats
    replicates: Floats
    contrasted: Floats
    contrasted_replicates: Floats

    @property
    def errors(self) -> Floats:
        """Standard errors over users and their samples: (n_metrics, n_systems)."""
        return np.asarray(self.replicates.std(axis=2, ddof=1))

    @property
    def limits(self) -> tuple[Floats, Floats]:
        """Lower and upper limits of the estimates, 95 %, over users and samples."""
        _, high = symmetric_interval(self.values, self.replicates)
        reach = (high - self.values) * students(HALF_WIDTH, self.n_users) / HALF_WIDTH
        reach = np.where(self.differing >= FEWEST, reach, np.nan)
        return (self.values - reach).clip(0, 1), (self.values + reach).clip(0, 1)

    @property
    def range(self) -> tuple[Floats, Floats]:
        """Limits of the estimates if the bias is as guessed, as guessed for steep ranks, or none.

        They hold the exact value more often than `limits`, whose bias is not known.
        """
        (low, high), (least, most) = self.limits, self._biases
        return (low - most).clip(0, 1), (high - least).clip(0, 1)

    @property
    def _biases(self) -> tuple[Floats, Floats]:
        """The least and the most of the guesses, and none."""
        every = np.nan_to_num(np.stack([np.zeros_like(self.bias), self.bias, self.steep_bias]))
        return every.min(axis=0), every.max(axis=0)

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give estimates of systems, and differences of all pairs."""
        return {"corrected": self.to_frame(), "corrected_differences": self.differences_frame()}

    def to_frame(self) -> pd.DataFrame:
        """Give one row for each metric and system.

        Columns metric, system, estimator, uncorrected, estimate, standard_error, lower and upper
        (95 %), bias and steep_bias that may be left, range_low and range_high (see `range`), and
        groups: systems that share a letter do not differ significantly.
        """
        lower, upper = self.limits
        range_low, range_high = self.range
        found = {"uncorrected": self.uncorrected, "estimate": self.values}
        found |= {"standard_error": self.errors, "lower": lower, "upper": upper}
        found |= {"bias": self.bias, "steep_bias": self.steep_bias}
        found |= {"range_low": range_low, "range_high": range_high}
        axes = {"metric": self.measures.metrics}, {"system": self.systems}
        frame = tidy(*axes, estimator=self.estimator, **found)
        return frame.assign(groups=[letters for own in self.groups() for letters in own])

    def groups(self) -> list[tuple[str, ...]]:
        """Give each system letters, by metric: two that share one do not differ significantly.

        Systems that are not tested have none.
        """
        tested, found = np.flatnonzero(self.differing >= FEWEST), []
        for own, p in zip(self.contrasted, self.differences()["p"], strict=True):
            differs = squareform(p < 1 - CONFIDENCE)[np.ix_(tested, tested)]
            letters = letters_by_system(differs, np.argsort(-own[tested], kind="stable"))
            of_tested = dict(zip(tested.tolist(), letters, strict=True))
            found.append(tuple(of_tested.get(n, "") for n in range(len(self.systems))))
        return found

    def differences(self) -> dict[str, Floats]:
        """Compare all pairs of systems, the first less the second; see `compare`.

        The limits range_low and range_high are those of differences if the bias of either system is
        any of the guesses, or none. What is ``tested`` is the difference of what is contrasted, and
        p its p-value.
        """
        a, b = pair_indices(len(self.systems))
        tested = compare(self.contrasted, self.contrasted_replicates, n_users=self.n_users)
        alike = tested["p"] >= 1 - CONFIDENCE
        found = compare(self.values, self.replicates, n_users=self.n_users, alike=alike)
        least, most = self._biases
        low = (found["lower"] - most[:, a] + least[:, b]).clip(-1, 1)
        high = (found["upper"] - least[:, a] + most[:, b]).clip(-1, 1)
        found |= {"range_low": low, "range_high": high}
        found |= {"tested": tested["difference"], "p": tested["p"]}
        too_few = np.minimum(self.differing[a], self.differing[b]) < FEWEST
        for name in ("lower", "upper", "range_low", "range_high", "p"):
            found[name][:, too_few] = np.nan
        return found

    def differences_frame(self) -> pd.DataFrame:
        """Give one row for each metric and pair; limits and p-values hold for all pairs."""
        axes = {"metric": self.measures.metrics}, pair_labels(self.systems, "system_a", "system_b")
        found = self.differences()
        frame = tidy(*axes, **found)
        apart = frame["p"] < 1 - CONFIDENCE
        return frame.assign(told_apart=apart.where(frame["p"].notna(), None))

    @table("corrected", "metrics corrected for sampling, with standard errors over users")
    def estimated(self) -> Table:
        """Tabulate sampled and corrected metrics, the range they may have, and letters."""
        rows = [
            [f"{metric}, {system}", plain, *_with_limits(value, error, *limits), letters]
            for metric, system, _, plain, value, error, _, _, _, _, *limits, letters in (
                self.to_frame().to_numpy()
            )
        ]
        numbers = ["sampled", "corrected", "range", "groups"]
        title = f"Metrics among all candidates, by {self.estimator}"
        return Table("corrected", title, self.caption(), ["metric, system", *numbers], rows)

    @table("corrected_differences", "differences of all systems, corrected for sampling")
    def compared(self) -> Table:
        """Tabulate the differences of all pairs of systems."""
        rows = [
            [f"{metric}, {a} - {b}", *_with_limits(difference, error, *limits), p]
            for metric, a, b, difference, error, _, _, p, *limits, _, _ in (
                self.differences_frame().to_numpy()
            )
        ]
        headings = ["metric, pair", "difference", "range", "p"]
        name, title = "corrected_differences", "Differences of systems"
        return Table(name, title, self.caption(), headings, rows)

    @figure(
        "corrected",
        "Metrics corrected for sampled negatives",
        panels="metric",
        comparable=False,
        wide=True,
    )
    def plot(self, ax: Axes, *, metric: str | None = None) -> None:
        """Draw the estimates of a metric, by default the first, with their intervals."""
        names = self.measures.reported.metrics
        name = names[panel_index(names, metric)]
        number, rows = self.measures.metrics.index(name), np.arange(len(self.systems))
        for limits, width in ((self.range, THIN), (self.limits, THICK)):
            low, high = (end[number] for end in limits)
            ax.hlines(rows, low, high, colours()[0], linewidth=width)
        explain(ax, "Thick lines: 95 % intervals over users. Thin lines: ranges.")
        ax.plot(self.values[number], rows, "o", color=colours()[0], markersize=4)
        ax.set_yticks(rows, self.systems)
        ax.set(ylim=(len(rows) - 0.5, -1.5), title=name, xlabel="corrected value")
        for row, text in ((-1, "sampled"), *enumerate(map(format_cell, self.uncorrected[number]))):
            ax.text(1.02, row, text, transform=ax.get_yaxis_transform(), va="center")

    def caption(self) -> str:
        """Say what is shown."""
        negatives = " to ".join(f"{m:,}" for m in dict.fromkeys(self.negatives))
        biased = ", extended by the bias that the estimator may have, for ranks as MLE finds them "
        biased += "and for more relevant items at the top"
        known = bool(np.isfinite(self.bias).any())
        return (
            f"Metrics among all candidates, estimated by {self.estimator} from {negatives} "
            f"negatives, sampled {replacement(self.replace)}. {self.population}. Range: the 95 % "
            f"interval over users (bootstrap, as wide as Student's t){biased * known}. Groups: "
            "systems that share a letter do not differ significantly, for all pairs at once, by "
            f"{self.test_estimator}. Sampled: the metric of the sampled ranks."
        )

    def findings(self) -> Sequence[str]:
        """Say for each metric how many pairs of systems differ, and which."""
        sentences = []
        for metric, own in self.differences_frame().groupby("metric", sort=False):
            of_pairs = own[["system_a", "system_b", "tested", "told_apart"]]
            pairs = of_pairs[of_pairs["told_apart"].notna()].to_numpy()
            apart = [(a, b) if value > 0 else (b, a) for a, b, value, differ in pairs if differ]
            named = listed([f"{a} above {b}" for a, b in apart[:MOST_NAMED]])
            named = f" ({'among them ' * (len(apart) > MOST_NAMED)}{named})" * bool(named)
            differ = f"{len(apart):,} of {len(pairs):,} pairs of systems differ significantly"
            found = f"{differ}{named}" if len(pairs) else "no pair is tested"
            sentences.append(f"By {metric}, {found}.")
        return sentences

    def conclusion(self) -> str:
        """Say what was found, with cautions."""
        return "\n".join([*self.findings(), *self.cautions(), ""])

    def _named(self, concerned: Masks) -> Iterator[str]:
        """Name the metrics that are concerned, and the systems if these are not all."""
        for metric, own in zip(self.measures.metrics, concerned, strict=True):
            systems = listed([*compress(self.systems, own)])
            if own.any():
                yield metric if own.all() else f"{metric} of {systems}"

    def cautions(self) -> Sequence[str]:
        """Say which metrics the samples cannot tell, and where users or negatives are few."""
        noisy, useless = (b - a > USELESS * self.values for a, b in (self.limits, self.range))
        unseen = np.abs(self.steep_bias) > np.maximum(self.errors, ROUNDING)
        cutoffs = np.array([[rank_metric(name).cutoff or 0] for name in self.measures.metrics])
        m, few = self.negatives[0], f"{self.negatives[0]:,} negatives"
        sentences = {
            f"With {self.n_users:,} users and {few}, {{}} cannot be estimated well: the 95 % "
            "interval is wider than the estimate. More users narrow it.": noisy,
            f"From {few}, {{}} cannot be estimated well: the range is wider than the estimate, as "
            "the bias is not known. Draw more, or rank all candidates for some "
            "users.": useless & ~noisy,
            "Estimates of {} may be biased by more than their standard error: with m negatives "
            "among n candidates, the first n / m ranks look almost the same. More users do not "
            "reduce this bias.": unseen & (noisy | ~useless),
        }
        for k in np.unique(cutoffs[(cutoffs > 0) & (cutoffs * m < self.n_irrelevant)]).tolist():
            enough = f"For {{}}, draw {-(-self.n_irrelevant // k):,} negatives or more: "
            reason = f"on average, one of them is then among the first {k:,} candidates."
            sentences[enough + reason] = useless & (cutoffs == k)
        sentences[f"The cut-off of {{}} is larger than {few}."] = cutoffs > m
        named = {text: listed([*self._named(own)]) for text, own in sentences.items()}
        found = [text.format(names) for text, names in named.items() if names]
        if unsure := listed([*compress(self.systems, self.differing < FEWEST)]):
            rule = f"Fewer than {FEWEST} users have another rank than the most common one under "
            found.append(f"{rule}{unsure}: too few for a range and for tests.")
        elif self.n_users < FEW:
            found.append(f"{self.n_users} users are few: ranges are wide, and few pairs differ.")
        return found


def students(reach: float | Floats, n_users: int) -> Floats:
    """Say how far of few users reaches as far as this of many, both in standard errors.

    A bootstrap takes the variance of a mean of n users for (n - 1) / n of what it is, and for
    known: normal quantiles become those of Student's t.
    """
    n = max(n_users, 2)
    return np.asarray(-stdtrit(n - 1, ndtr(-np.asarray(reach))) * np.sqrt(n / (n - 1)))


def compare(
    values: Floats, replicates: Floats, *, n_users: int, alike: Masks | bool = False
) -> dict[str, Floats]:
    r"""Compare pairs with intervals and p-values for all of a metric: (n_metrics, n_pairs) each.

    Values of systems are of shape (n_metrics, n_systems), replicates of (n_metrics, n_systems,
    n_replicates). With t the largest :math:`|d^*_{ab} - d_{ab}| / s_{ab}` of all pairs of a
    replicate, widened for few users (see `students`), intervals are :math:`d \pm s t_{.95}`, and p
    is the share of replicates, the data among them, whose t is at least :math:`|d| / s` (Westfall &
    Young, 1993). As the data are no part of their s, the s of a replicate is that of the others
    (externally studentised). In the intervals of pairs that are alike, s is at least the median of
    these: estimates that are too low by chance have standard errors that are too small.

    Differences of about 2^21 replicates and pairs are held at a time.
    """
    differences, n = pair_differences(values), replicates.shape[-1]
    errors, furthest = _studentised(differences, replicates)
    scales = np.where(errors > 0, errors, np.inf)
    largest = students(furthest, n_users)
    least = errors.copy()
    for own, some in zip(least, np.broadcast_to(alike, errors.shape), strict=True):
        if some.any():
            own[some] = own[some].clip(np.median(own[some]))
    reach = np.quantile(largest, CONFIDENCE, axis=1)[:, np.newaxis] * least
    far = np.abs(differences) / scales
    n_as_far = [_count_from(row, far_row) for row, far_row in zip(largest, far, strict=True)]
    p = (1 + np.reshape(n_as_far, far.shape)) / (1 + n)
    limits = {"lower": differences - reach, "upper": differences + reach}
    return {"difference": differences, "standard_error": errors, **limits, "p": p}


def _studentised(differences: Floats, replicates: Floats) -> tuple[Floats, Floats]:
    """Give the standard errors of pairs, and how far the furthest pair of a replicate is.

    Differences of pairs are of shape (n_metrics, n_pairs), replicates of systems of (n_metrics,
    n_systems, n_replicates). Distances are in standard errors of the other replicates.

    The result: errors of shape (n_metrics, n_pairs), and distances of (n_metrics, n_replicates).
    """
    n_metrics, n_systems, n = replicates.shape
    first, second = pair_indices(n_systems)
    errors = np.zeros(differences.shape)
    furthest = np.zeros((n_metrics, n))
    at_once = max(1, NUMBERS_AT_ONCE // max(1, n_metrics * n))
    for start in range(0, len(first), at_once):
        pairs = slice(start, start + at_once)
        resampled = replicates[:, first[pairs]] - replicates[:, second[pairs]]
        errors[:, pairs] = resampled.std(axis=-1, ddof=1)
        scales = np.where(errors[:, pairs] > 0, errors[:, pairs], np.inf)
        off = np.abs(resampled - differences[:, pairs, np.newaxis]) / scales[..., np.newaxis]
        # At least 1: a replicate may be the only one that differs.
        off *= np.sqrt((n - 2) / np.maximum(n - 1 - off**2, 1.0))
        furthest = np.maximum(furthest, off.max(axis=1))
    return errors, furthest


def _count_from(values: Floats, limits: Floats) -> Longs:
    """Count the values, (n_values,), that are at least each limit, (n_limits,); NaN is below."""
    rising = np.sort(values[~np.isnan(values)])
    return len(rising) - np.searchsorted(rising, limits)


def _with_limits(*numbers: Cell) -> tuple[str, str]:
    value, error, lower, upper = map(format_cell, numbers)
    return f"{value} ± {error}", "" if lower == MISSING else f"[{lower}, {upper}]"
