"""Corrected metrics of systems among all candidates: intervals, differences, and cautions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, compress
from typing import TYPE_CHECKING

import numpy as np
import scipy
from scipy.special import ndtr, stdtrit

from analyses.intervals.percentile_intervals import symmetric_interval
from analyses.sampled.metrics import rank_metric
from analyses.sampled.samples import replacement
from analyses.shared.drawing import THICK, THIN, colours, explain, panel_index
from analyses.shared.families import CONFIDENCE
from analyses.shared.measure import Measures, pair_labels, tidy
from analyses.shared.number_format import MISSING, Cell, format_cell
from analyses.shared.result import Result, figure, table
from analyses.shared.sentences import MOST_LETTERS, MOST_NAMED, letters_by_system, listed
from analyses.shared.table import Table
from analyses.significance.permutation import pair_differences, pair_indices
from runs.shared.arrays import Floats, Integers, Longs, Masks

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


HALF_WIDTH = 1.96
"""Half-width of an interval of 95 %, in standard errors."""

USELESS = 1.0
"""A range that is wider than this share of the estimate tells nothing of the value."""

ROUNDING = 1e-6
"""Less bias than this is none."""

MIN_DIFFERING_USERS = 15
"""Users with another rank than the most common; of fewer there are no intervals and no tests."""

MANY_USERS = 20
"""With fewer users there is a caution."""

NUMBERS_AT_ONCE = 1 << 21
"""Differences of pairs of systems in replicates that are held at a time, in six arrays."""


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
        """Lower and upper limits of the estimates, 95 %, over users and samples.

        Bootstrap intervals, symmetric about the estimates, and widened from a normal quantile to
        that of Student's t for the number of users. Both limits are of shape (n_metrics,
        n_systems), in [0, 1]; NaN for systems of fewer than 15 users with another rank than the
        most common one, whose number is ``self.differing``, (n_systems,). ``self.values`` are the
        estimates, and ``self.replicates``, (n_metrics, n_systems, n_replicates), those of resampled
        users.
        """
        # Its half-width is taken for 1.96 (`HALF_WIDTH`) standard errors.
        _, high = symmetric_interval(self.values, self.replicates)
        quantile = students(HALF_WIDTH, self.n_users)
        normal_half_widths = high - self.values
        half_widths = normal_half_widths * quantile / HALF_WIDTH
        half_widths = np.where(self.differing >= MIN_DIFFERING_USERS, half_widths, np.nan)
        lower = self.values - half_widths
        upper = self.values + half_widths
        return lower.clip(0, 1), upper.clip(0, 1)

    @property
    def range(self) -> tuple[Floats, Floats]:
        """Limits of the estimates if the bias is as guessed, as guessed for steep ranks, or none.

        The lower `limits` less the largest of the three, and the upper ones less the smallest,
        clipped to [0, 1]. Both are of shape (n_metrics, n_systems); NaN where `limits` are.
        """
        lower, upper = self.limits
        smallest_bias, largest_bias = self._bias_limits
        return (lower - largest_bias).clip(0, 1), (upper - smallest_bias).clip(0, 1)

    @property
    def _bias_limits(self) -> tuple[Floats, Floats]:
        """Smallest and largest of 0 and both guesses of the bias, of (n_metrics, n_systems).

        A guess that is NaN counts as 0.
        """
        biases = np.stack([np.zeros_like(self.bias), self.bias, self.steep_bias])
        biases = np.nan_to_num(biases)
        return biases.min(axis=0), biases.max(axis=0)

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Tabulate estimates of systems, and differences of all pairs."""
        return {"corrected": self.to_frame(), "corrected_differences": self.differences_frame()}

    def to_frame(self) -> pd.DataFrame:
        """Tabulate the estimates, one row for each metric and system.

        Columns metric, system, estimator, uncorrected, estimate, standard_error, lower and upper
        (95 %), bias and steep_bias that may be left, range_low and range_high (see `range`), and
        groups: systems that share a letter do not differ significantly. Arrays are of shape
        (n_metrics, n_systems).
        """
        lower, upper = self.limits
        range_low, range_high = self.range
        frame = tidy(
            {"metric": self.measures.metrics},
            {"system": self.systems},
            estimator=self.estimator,
            uncorrected=self.uncorrected,
            estimate=self.values,
            standard_error=self.errors,
            lower=lower,
            upper=upper,
            bias=self.bias,
            steep_bias=self.steep_bias,
            range_low=range_low,
            range_high=range_high,
        )
        return frame.assign(groups=list(chain.from_iterable(self.groups())))

    def groups(self) -> list[tuple[str, ...]]:
        """Assign letters to the systems: two that share one do not differ significantly.

        A tuple for each metric, with a text for each system: "" for a system that is not tested, as
        fewer than 15 of its users have another rank than the most common one. Letters start from
        the system of the highest ``contrasted`` value, the estimate for tests, (n_metrics,
        n_systems); all are "" if there would be more than 12. A pair differs significantly if its
        p, adjusted for all pairs, is below .05.
        """
        tested = np.flatnonzero(self.differing >= MIN_DIFFERING_USERS)
        p_values = self.differences()["p"]
        groups = []
        for values, p in zip(self.contrasted, p_values, strict=True):
            is_significant = scipy.spatial.distance.squareform(p < 1 - CONFIDENCE)
            differs = is_significant[np.ix_(tested, tested)]
            falling = np.argsort(-values[tested], kind="stable")
            letters = [""] * len(self.systems)
            tested_letters = letters_by_system(differs, falling)
            for system, text in zip(tested, tested_letters, strict=True):
                letters[system] = text
            groups.append(tuple(letters))
        return groups

    def differences(self) -> dict[str, Floats]:
        """Compare all pairs of systems, the first less the second.

        Arrays by name, each (n_metrics, n_pairs): difference, standard_error, and the limits lower
        and upper of ``values`` (see `compare`); range_low and range_high, their limits if the bias
        of either system is any of the guesses, or none; tested, the signed difference of
        ``contrasted`` (by the estimator for tests), and p, its p-value, adjusted for all pairs of
        the metric. Limits and p are NaN if one of the systems has fewer than 15 users whose ranks
        are not the most common one.
        """
        a, b = pair_indices(len(self.systems))
        tested = compare(self.contrasted, self.contrasted_replicates, n_users=self.n_users)
        # Pairs that do not differ significantly get no shorter intervals than most of them have.
        alike = tested["p"] >= 1 - CONFIDENCE
        columns = compare(self.values, self.replicates, n_users=self.n_users, alike=alike)
        # Of 0 and the guesses, (n_metrics, n_systems).
        smallest_bias, largest_bias = self._bias_limits
        low = columns["lower"] - largest_bias[:, a] + smallest_bias[:, b]
        high = columns["upper"] - smallest_bias[:, a] + largest_bias[:, b]
        columns["range_low"] = low.clip(-1, 1)
        columns["range_high"] = high.clip(-1, 1)
        columns["tested"] = tested["difference"]
        columns["p"] = tested["p"]
        n_differing = np.minimum(self.differing[a], self.differing[b])
        has_too_few = n_differing < MIN_DIFFERING_USERS
        for name in ("lower", "upper", "range_low", "range_high", "p"):
            columns[name][:, has_too_few] = np.nan
        return columns

    def differences_frame(self) -> pd.DataFrame:
        """Tabulate the differences, one row for each metric and pair.

        Limits and p-values are adjusted for all pairs of a metric together. Columns: metric,
        system_a, system_b, those of `differences`, and told_apart: whether p < .05; None where the
        pair is not tested, as p is NaN.
        """
        pairs = pair_labels(self.systems, "system_a", "system_b")
        frame = tidy({"metric": self.measures.metrics}, pairs, **self.differences())
        is_significant = frame["p"] < 1 - CONFIDENCE
        return frame.assign(told_apart=is_significant.where(frame["p"].notna(), None))

    @table("corrected", "metrics corrected for sampling, with standard errors over users")
    def estimated(self) -> Table:
        """Tabulate sampled and corrected metrics, the range they may have, and letters.

        A row for each metric and system; see `to_frame`. The range is "" where it is NaN.
        """
        rows: list[list[Cell]] = []
        for row in self.to_frame().to_dict("records"):
            corrected = _with_error(row["estimate"], row["standard_error"])
            limits = _interval(row["range_low"], row["range_high"])
            name = f"{row['metric']}, {row['system']}"
            rows.append([name, row["uncorrected"], corrected, limits, row["groups"]])
        headings = ["metric, system", "sampled", "corrected", "range", "groups"]
        title = f"Metrics among all candidates, by {self.estimator}"
        return Table("corrected", title, self.caption(), headings, rows)

    @table("corrected_differences", "differences of all systems, corrected for sampling")
    def compared(self) -> Table:
        """Tabulate the differences of all pairs of systems, a row for each metric and pair.

        The range is "", and p NaN, for pairs that are not tested.
        """
        rows: list[list[Cell]] = []
        for row in self.differences_frame().to_dict("records"):
            difference = _with_error(row["difference"], row["standard_error"])
            limits = _interval(row["range_low"], row["range_high"])
            name = f"{row['metric']}, {row['system_a']} - {row['system_b']}"
            rows.append([name, difference, limits, row["p"]])
        headings = ["metric, pair", "difference", "range", "p"]
        title = "Differences of systems"
        return Table("corrected_differences", title, self.caption(), headings, rows)

    @figure(
        "corrected",
        "Metrics corrected for sampled negatives",
        panels="metric",
        comparable=False,
        wide=True,
    )
    def plot(self, ax: Axes, *, metric: str | None = None) -> None:
        """Draw the estimates of a metric, by default the first, with their intervals.

        A row for each system: the corrected value, its limits and range, and the sampled value in
        text at the right. Limits that are NaN are not drawn.
        """
        names = self.measures.reported.metrics
        name = names[panel_index(names, metric)]
        number = self.measures.metrics.index(name)
        rows = np.arange(len(self.systems))
        colour = colours()[0]
        lines = ((self.range, THIN), (self.limits, THICK))
        for (lower, upper), width in lines:
            ax.hlines(rows, lower[number], upper[number], colour, linewidth=width)
        explain(ax, "Thick lines: 95 % intervals over users. Thin lines: ranges.")
        ax.plot(self.values[number], rows, "o", color=colour, markersize=4)
        ax.set_yticks(rows, self.systems)
        ax.set(ylim=(len(rows) - 0.5, -1.5), title=name, xlabel="corrected value")
        transform = ax.get_yaxis_transform()
        ax.text(1.02, -1, "sampled", transform=transform, va="center")
        for row, value in enumerate(self.uncorrected[number]):
            ax.text(1.02, row, format_cell(value), transform=transform, va="center")

    def caption(self) -> str:
        """Describe what is estimated, from which samples, and what ranges and groups are.

        ``self.negatives`` are the smallest and the largest number of negatives, ``self.population``
        says in words whose ranks these are; ``self.bias`` is NaN where it is not guessed.
        """
        negatives = " to ".join(f"{m:,}" for m in dict.fromkeys(self.negatives))
        interval = "interval over users (bootstrap, as wide as Student's t)"
        has_bias = bool(np.isfinite(self.bias).any())
        if has_bias:
            interval += ", extended by the bias that the estimator may have, for ranks as MLE "
            interval += "finds them and for more relevant items at the top"
        return (
            f"Metrics among all candidates, estimated by {self.estimator} from {negatives} "
            f"negatives, sampled {replacement(self.replace)}. {self.population}. Range: the 95 % "
            f"{interval}. Groups: systems that share a letter do not differ significantly, for all "
            f"pairs at once, by {self.test_estimator}; none where there would be more than "
            f"{MOST_LETTERS} letters. Sampled: the metric of the sampled ranks."
        )

    def findings(self) -> Sequence[str]:
        """State for each metric how many pairs of systems differ significantly, and which.

        Only tested pairs count: those with p-values.
        """
        sentences = []
        for metric, differences in self.differences_frame().groupby("metric", sort=False):
            pairs = differences[differences["told_apart"].notna()]
            if len(pairs) == 0:
                sentences.append(f"By {metric}, no pair is tested.")
                continue
            orders = []
            for row in pairs.to_dict("records"):
                if not row["told_apart"]:
                    continue
                # "tested" is a signed difference: that of the first system less the second.
                if row["tested"] > 0:
                    orders.append(f"{row['system_a']} above {row['system_b']}")
                else:
                    orders.append(f"{row['system_b']} above {row['system_a']}")
            n_pairs = f"{len(orders):,} of {len(pairs):,} pairs of systems"
            examples = _examples(orders)
            sentences.append(f"By {metric}, {n_pairs} differ significantly{examples}.")
        return sentences

    def conclusion(self) -> str:
        """Join the findings and cautions, a line each."""
        return "\n".join([*self.findings(), *self.cautions(), ""])

    def _affected(self, mask: Masks) -> str:
        """List the metrics for which a mask (n_metrics, n_systems) is true; "" for none.

        A metric has the names of its systems, as in "AP of a and b", if not all are true.
        """
        names = []
        for metric, is_affected in zip(self.measures.metrics, mask, strict=True):
            if is_affected.all():
                names.append(metric)
            elif is_affected.any():
                systems = listed([*compress(self.systems, is_affected)])
                names.append(f"{metric} of {systems}")
        return listed(names)

    def cautions(self) -> Sequence[str]:
        """State which metrics the samples cannot tell, and where users or negatives are few.

        Empty if there is nothing to warn of. ``self.differing`` has the number of users of each
        system, (n_systems,), whose ranks are not the most common one.
        """
        sentences = []
        for text, mask in self._cautions_of_metrics().items():
            affected_metrics = self._affected(mask)
            if affected_metrics:
                sentences.append(text.format(affected_metrics))
        is_untested = self.differing < MIN_DIFFERING_USERS
        if is_untested.any():
            systems = listed([*compress(self.systems, is_untested)])
            sentences.append(
                f"Fewer than {MIN_DIFFERING_USERS} users have another rank than the most common "
                f"one under {systems}: too few for a range and for tests."
            )
        elif self.n_users < MANY_USERS:
            sentences.append(
                f"{self.n_users} users are few: ranges are wide, and few pairs differ."
            )
        return sentences

    def _cautions_of_metrics(self) -> dict[str, Masks]:
        """Map each caution, a text with {} for names of metrics, to a mask of where it applies.

        Masks are of shape (n_metrics, n_systems), as are estimates, errors and guesses of the bias.
        Intervals are useless if they are wider than their estimate. ``limits`` are over users
        alone; a ``range`` has the guessed bias, too. ``self.negatives`` are the smallest and the
        largest number of negatives, ``self.n_irrelevant`` the mean number of irrelevant candidates.
        """
        has_wide_limits = self._is_useless(*self.limits)
        has_wide_range = self._is_useless(*self.range)
        has_bias = np.abs(self.steep_bias) > np.maximum(self.errors, ROUNDING)
        is_useful = ~has_wide_range
        n_negatives = self.negatives[0]
        negatives = f"{n_negatives:,} negatives"
        cautions = {
            f"With {self.n_users:,} users and {negatives}, {{}} cannot be estimated well: the 95 % "
            "interval is wider than the estimate. More users narrow it.": has_wide_limits,
            f"From {negatives}, {{}} cannot be estimated well: the range is wider than the "
            "estimate, as the bias is not known. Draw more, or rank all candidates for some "
            "users.": has_wide_range & ~has_wide_limits,
            "Estimates of {} may be biased by more than their standard error: with m negatives "
            "among n candidates, the first n / m ranks look almost the same. More users do not "
            "reduce this bias.": has_bias & (has_wide_limits | is_useful),
        }
        # One column, (n_metrics, 1), against the axis of systems; 0 stands for no cut-off.
        cutoffs = np.array([[rank_metric(name).cutoff or 0] for name in self.measures.metrics])
        # Fewer than one negative is expected among the first `cutoff` irrelevant candidates.
        has_few_negatives = (cutoffs > 0) & (cutoffs * n_negatives < self.n_irrelevant)
        for cutoff in np.unique(cutoffs[has_few_negatives]).tolist():
            n_needed = -(-self.n_irrelevant // cutoff)  # rounded up
            caution = (
                f"For {{}}, draw {n_needed:,} negatives or more: on average, one of them is then "
                f"among the first {cutoff:,} candidates."
            )
            cautions[caution] = has_wide_range & (cutoffs == cutoff)
        is_deep = np.broadcast_to(cutoffs > n_negatives, self.values.shape)
        cautions[f"The cut-off of {{}} is larger than {negatives}."] = is_deep
        return cautions

    def _is_useless(self, lower: Floats, upper: Floats) -> Masks:
        """Check which intervals are wider than their estimate, of (n_metrics, n_systems).

        False for limits that are NaN.
        """
        return np.asarray(upper - lower > USELESS * self.values)


def students(quantile: float | Floats, n_users: int) -> Floats:
    """Convert normal quantiles (in bootstrap standard errors) to wider ones for few users.

    The quantile of Student's t with n - 1 degrees of freedom and the same tail probability, times
    sqrt(n / (n - 1)), as a bootstrap underestimates the variance of a mean of n users by (n - 1) /
    n. The result has the shape of the quantiles; one user counts as two.
    """
    n = max(n_users, 2)
    tail = ndtr(-np.asarray(quantile))
    t_quantile = -stdtrit(n - 1, tail)
    return np.asarray(t_quantile * np.sqrt(n / (n - 1)))


def compare(
    values: Floats, replicates: Floats, *, n_users: int, alike: Masks | bool = False
) -> dict[str, Floats]:
    r"""Compare pairs with intervals and p-values for all of a metric: (n_metrics, n_pairs) each.

    Values of systems are of shape (n_metrics, n_systems), replicates of (n_metrics, n_systems,
    n_replicates). A difference d is that of the first system of a pair less the second; s is its
    standard deviation over replicates, and :math:`d^*` the difference in a replicate. With t the
    largest :math:`|d^*_{ab} - d_{ab}| / s_{ab}` of all pairs of a replicate, widened for few users
    (see `students`), intervals are :math:`d \pm s t_{.95}`, and p is the share of replicates, the
    data among them, whose t is at least :math:`|d| / s` (Westfall & Young, 1993). As the data are
    no part of their s, the s of a replicate is that of the others (externally studentised). In the
    intervals of pairs that are ``alike`` (a mask of shape (n_metrics, n_pairs)), s is at least the
    median s of such pairs: estimates that are too low by chance have standard errors that are too
    small. Where s is 0, p is 1.

    Keys: difference, standard_error, lower, upper and p. Differences of about 2^21 replicates and
    pairs are held at a time.
    """
    n_replicates = replicates.shape[-1]
    differences = pair_differences(values)
    errors, largest_distances = _studentised(differences, replicates)
    largest = students(largest_distances, n_users)
    interval_errors = errors.copy()
    masks = np.broadcast_to(alike, errors.shape)
    for metric_errors, is_alike in zip(interval_errors, masks, strict=True):
        if is_alike.any():
            median = np.median(metric_errors[is_alike])
            metric_errors[is_alike] = metric_errors[is_alike].clip(median)
    quantiles = np.quantile(largest, CONFIDENCE, axis=1)
    half_widths = quantiles[:, np.newaxis] * interval_errors
    # A pair that does not vary has distance 0.
    scales = np.where(errors > 0, errors, np.inf)
    distances = np.abs(differences) / scales
    n_extreme = [
        _count_from(metric_largest, metric_distances)
        for metric_largest, metric_distances in zip(largest, distances, strict=True)
    ]
    p = (1 + np.reshape(n_extreme, distances.shape)) / (1 + n_replicates)
    return {
        "difference": differences,
        "standard_error": errors,
        "lower": differences - half_widths,
        "upper": differences + half_widths,
        "p": p,
    }


def _studentised(differences: Floats, replicates: Floats) -> tuple[Floats, Floats]:
    """Compute the standard errors of pairs, and the distance of each replicate's furthest pair.

    Differences of pairs are of shape (n_metrics, n_pairs), replicates of systems of (n_metrics,
    n_systems, n_replicates). Distances are in standard errors of the other replicates; 0 for a pair
    that does not vary.

    The result: errors of shape (n_metrics, n_pairs), and distances of (n_metrics, n_replicates).
    """
    n_metrics, n_systems, n = replicates.shape
    first, second = pair_indices(n_systems)
    errors = np.zeros(differences.shape)
    furthest = np.zeros((n_metrics, n))
    at_once = max(1, NUMBERS_AT_ONCE // max(1, n_metrics * n))
    for start in range(0, len(first), at_once):
        pairs = slice(start, start + at_once)
        first_replicates = replicates[:, first[pairs]]
        resampled = first_replicates - replicates[:, second[pairs]]
        pair_errors = resampled.std(axis=-1, ddof=1)
        errors[:, pairs] = pair_errors
        scales = np.where(pair_errors > 0, pair_errors, np.inf)
        deviations = np.abs(resampled - differences[:, pairs, np.newaxis])
        distances = deviations / scales[..., np.newaxis]
        # From errors of all replicates to those of the others, as for studentised residuals.
        # At least 1: a replicate may be the only one that differs.
        remainders = np.maximum(n - 1 - distances**2, 1.0)
        distances *= np.sqrt((n - 2) / remainders)
        furthest = np.maximum(furthest, distances.max(axis=1))
    return errors, furthest


def _count_from(values: Floats, limits: Floats) -> Longs:
    """Count the values, (n_values,), that are at least each limit, (n_limits,); NaN is below."""
    rising = np.sort(values[~np.isnan(values)])
    return len(rising) - np.searchsorted(rising, limits)


def _examples(orders: Sequence[str]) -> str:
    """List the first orders of pairs in brackets, for a sentence; "" for none."""
    if not orders:
        return ""
    names = listed(orders[:MOST_NAMED])
    return f" (among them {names})" if len(orders) > MOST_NAMED else f" ({names})"


def _with_error(value: Cell, error: Cell) -> str:
    """Format a number and its standard error."""
    return f"{format_cell(value)} ± {format_cell(error)}"


def _interval(lower: Cell, upper: Cell) -> str:
    """Format the limits of an interval; "" where they are NaN."""
    if format_cell(lower) == MISSING:
        return ""
    return f"[{format_cell(lower)}, {format_cell(upper)}]"
