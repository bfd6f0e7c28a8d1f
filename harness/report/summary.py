"""What a study found, in plain words: every sentence is computed from the study's tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, cast

from analyses.shared.table import shown
from harness.report.study_folder import FinishedStudy, number
from harness.report.tables import clicks_of
from harness.sampled.estimates import in_short

if TYPE_CHECKING:
    from analyses.sampled import Sampled

FEW_SYSTEMS = 10
MOST = 0.9
"""From this share of significant pairs on, significance tells little."""


@dataclass(frozen=True)
class ByCutoff:
    """A number of every measure: its table and column, the table of differences, what is good."""

    table: str
    column: str
    differences: str
    sign: int


POWER = ByCutoff("discrimination", "dp", "power_differences", sign=-1)
SPARSITY = ByCutoff("sparsity_areas", "area", "sparsity_area_differences", sign=1)
POPULARITY = ByCutoff("popularity_areas", "area", "popularity_area_differences", sign=1)


@dataclass(frozen=True)
class Estimate:
    """A number of a metric, with its interval; NaN where a limit is not known."""

    metric: str
    value: float
    low: float = math.nan
    high: float = math.nan

    @property
    def has_interval(self) -> bool:
        """Whether both limits are known."""
        return not math.isnan(self.low + self.high)

    def __str__(self) -> str:
        interval = f" [{shown(self.low)}, {shown(self.high)}]" if self.has_interval else ""
        return f"{shown(self.value)}{interval}"


@dataclass(frozen=True)
class Summary:
    """What was found, and what to bear in mind: sentences."""

    findings: tuple[str, ...]
    cautions: tuple[str, ...]


def summarise(study: FinishedStudy) -> Summary:
    """Say in plain words what the tables of a study show.

    Analyses that the study lacks are passed over.
    """
    findings = (
        _robustest(study, "sparsity", "random loss of judgements"),
        _robustest(study, "popularity", "loss of the judgements of popular items"),
        _most_discriminative(study),
        _deeper(study, POWER, "discriminative"),
        _deeper(study, SPARSITY, "robust to random loss of judgements"),
        _deeper(study, POPULARITY, "robust to loss of popular items"),
        _agreement(study),
        _sampled(study),
        _clicks(study),
    )
    cautions = (
        _all_significant(study),
        _few_systems(study),
        _intervals(study),
        _not_validity(study),
    )
    return Summary(tuple(filter(None, findings)), tuple(filter(None, cautions)))


def areas_of(study: FinishedStudy, analysis: str, *, cutoff: int) -> list[Estimate]:
    """Give the areas under the curves of an analysis, of the metrics that have one."""
    rows = study.rows(f"{analysis}_areas", cutoff=cutoff)
    return _defined(
        Estimate(row["metric"], *(number(row, name) for name in ("area", "low", "high")))
        for row in rows
    )


def powers_of(study: FinishedStudy, *, cutoff: int) -> list[Estimate]:
    """Give the discriminative power of the metrics."""
    rows = study.rows("discrimination", cutoff=cutoff)
    return _defined(
        Estimate(row["metric"], *(number(row, name) for name in ("dp", "dp_low", "dp_high")))
        for row in rows
    )


def comparison(
    estimates: Sequence[Estimate],
    quality: str,
    *,
    fewer_is_more: bool = False,
    difference_of: Callable[[str, str], Estimate | None] = lambda first, second: None,
) -> str:
    """Say which metric is best, which comes next, and whether the two can be told apart.

    Parameters
    ----------
    estimates
        One for each metric.
    quality
        What the best has most of.
    fewer_is_more
        Whether low numbers are better.
    difference_of
        Gives the difference of two metrics, with the interval of the difference itself, where
        it is known: it says more than two intervals that overlap.

    Examples
    --------
    >>> print(comparison([Estimate("P", 0.9), Estimate("AP", 0.9)], "robust"))
    P and AP were level as the most robust: 0.9000.
    >>> print(comparison([Estimate("P", 0.9, 0.8, 1.0)], "robust"))
    The only metric, P, has 0.9000 [0.8000, 1.0000].
    """
    if len(estimates) < 2:
        return "".join(f"The only metric, {e.metric}, has {e}." for e in estimates)
    ordered = sorted(estimates, key=lambda e: e.value if fewer_is_more else -e.value)
    level = [e for e in ordered if shown(e.value) == shown(ordered[0].value)]
    if len(level) > 1:
        names = listed([e.metric for e in level])
        return f"{names} were level as the most {quality}: {shown(level[0].value)}."
    first, second = ordered[:2]
    return (
        f"{first.metric} was the most {quality}: {first}. Next came {second.metric}: {second}. "
        f"{_told_apart(first, second, difference_of(first.metric, second.metric))}"
    )


def listed(names: Sequence[str]) -> str:
    """Join names as a sentence does.

    Examples
    --------
    >>> listed(["P"]), listed(["P", "AP"]), listed(["P", "AP", "RR"])
    ('P', 'P and AP', 'P, AP and RR')
    """
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _told_apart(first: Estimate, second: Estimate, difference: Estimate | None) -> str:
    if difference is not None and difference.has_interval:
        place = "within" if difference.low <= 0 <= difference.high else "beyond"
        return f"Their difference, {difference}, is {place} noise."
    if not (first.has_interval and second.has_interval):
        return "Without intervals it is not known whether that difference is noise."
    if first.low <= second.high and second.low <= first.high:
        return "The intervals overlap, so the order of these two may be noise."
    return "The intervals do not overlap."


def _defined(estimates: Iterable[Estimate]) -> list[Estimate]:
    return [estimate for estimate in estimates if not math.isnan(estimate.value)]


def _robustest(study: FinishedStudy, analysis: str, loss: str) -> str:
    estimates = areas_of(study, analysis, cutoff=study.cutoff)
    if not estimates:
        return ""
    told = comparison(
        estimates, "robust", difference_of=partial(_difference, study, f"{analysis}_area")
    )
    return f"Robustness to {loss} (area under the curve of tau at cut-off {study.cutoff}): {told}"


def _most_discriminative(study: FinishedStudy) -> str:
    estimates = powers_of(study, cutoff=study.cutoff)
    if not estimates:
        return ""
    told = comparison(
        estimates,
        "discriminative",
        fewer_is_more=True,
        difference_of=partial(_difference, study, "power"),
    )
    return f"Discriminative power (DP at cut-off {study.cutoff}, lower is better): {told}"


def _difference(study: FinishedStudy, table: str, first: str, second: str) -> Estimate | None:
    """Give the difference of two metrics at the deepest cut-off; None if the study lacks it."""
    for row in study.rows(f"{table}_differences"):
        at_deepest = number(row, "cutoff_a") == study.cutoff == number(row, "cutoff_b")
        limits = [number(row, name) for name in ("difference", "low", "high")]
        if at_deepest and (row["metric_a"], row["metric_b"]) == (first, second):
            return Estimate(first, *limits)
        if at_deepest and (row["metric_a"], row["metric_b"]) == (second, first):
            value, low, high = (-limit for limit in limits)
            return Estimate(first, value, high, low)
    return None


def _told_apart_by_cutoff(study: FinishedStudy, table: str, shallow: int) -> dict[str, bool]:
    """Tell of each metric whether its deepest and its shallowest cut-off differ beyond noise."""
    return {
        row["metric_a"]: row["beyond_noise"] == "True"
        for row in study.rows(table)
        if row["metric_a"] == row["metric_b"]
        and {number(row, "cutoff_a"), number(row, "cutoff_b")} == {shallow, study.cutoff}
        and not math.isnan(number(row, "low"))
    }


def _deeper(study: FinishedStudy, what: ByCutoff, quality: str) -> str:
    """Compare the deepest cut-off with the shallowest, metric by metric."""
    shallow, deep = min(study.cutoffs), study.cutoff
    at_shallow, at_deep = (
        {row["metric"]: number(row, what.column) for row in study.rows(what.table, cutoff=cutoff)}
        for cutoff in (shallow, deep)
    )
    gains = {
        metric: what.sign * (at_deep.get(metric, math.nan) - value)
        for metric, value in at_shallow.items()
    }
    known = {metric: gain for metric, gain in gains.items() if not math.isnan(gain)}
    if shallow == deep or not known:
        return ""
    answers = {
        "more": [metric for metric, gain in known.items() if gain > 0],
        "less": [metric for metric, gain in known.items() if gain < 0],
        "as much": [metric for metric, gain in known.items() if gain == 0],
    }
    sure = _told_apart_by_cutoff(study, what.differences, shallow)
    parts = [
        f"{answer} by {listed([metric + '*' * sure.get(metric, False) for metric in metrics])}"
        for answer, metrics in answers.items()
        if metrics
    ]
    return (
        f"Is cut-off {deep} more {quality} than {shallow}? {_capitalised('; '.join(parts))}"
        f"{_of_noise(sure)}."
    )


def _of_noise(sure: Mapping[str, bool]) -> str:
    if not sure:
        return ""
    return " (* beyond noise)" if any(sure.values()) else ", all within noise"


def _agreement(study: FinishedStudy) -> str:
    order = {metric: n for n, metric in enumerate(study.metrics)}
    taus = {
        (row["metric_a"], row["metric_b"]): number(row, "tau")
        for row in study.rows("correlation_metrics", cutoff=study.cutoff)
    }
    pairs = {
        pair: tau
        for pair, tau in taus.items()
        if order.get(pair[0], 0) < order.get(pair[1], 0) and not math.isnan(tau)
    }
    if not pairs:
        return ""
    opening = f"Agreement of the metrics at cut-off {study.cutoff} by {study.coefficient}: "
    if len(pairs) == 1:
        ((first, second),) = pairs
        return f"{opening}{first} and {second} agree with {shown(pairs[first, second])}."
    mean = sum(pairs.values()) / len(pairs)
    if shown(min(pairs.values())) == shown(max(pairs.values())):
        return f"{opening}{shown(mean)} in each of {len(pairs)} pairs of metrics."
    return f"{opening}on average {mean:.2f}; {_extreme(pairs, max)}, {_extreme(pairs, min)}."


def _sampled(study: FinishedStudy) -> str:
    """Say which estimator undoes sampling best; nothing if negatives were not sampled."""
    if "sampled" not in study.tables:
        return ""
    result = cast("Sampled", study.result("sampled"))
    return f"Metrics estimated from {result.negatives:,} sampled negatives: {in_short(result)}"


def _clicks(study: FinishedStudy) -> str:
    """Say which measure follows click-through rates best; nothing if there were no rates."""
    if "online" not in study.tables:
        return ""
    found = clicks_of(study)
    return f"Metrics against click-through rates: {found.best.conclusion()} {found.of_few()}"


def _extreme(
    pairs: Mapping[tuple[str, str], float], choose: Callable[[Iterable[float]], float]
) -> str:
    chosen = choose(pairs.values())
    found = [pair for pair, tau in pairs.items() if tau == chosen]
    place = "highest" if choose is max else "lowest"
    who = f"between {listed(found[0])}" if len(found) == 1 else f"in {len(found)} pairs of metrics"
    return f"{place} {who} ({chosen:.2f})"


def _all_significant(study: FinishedStudy) -> str:
    rows = study.rows("discrimination", cutoff=study.cutoff)
    shares = [number(row, "significant_05") for row in rows]
    if not shares or not min(shares) >= MOST:
        return ""
    users = study.manifest["collection"]["users"]
    share = "all" if min(shares) == 1 else f"at least {math.floor(100 * min(shares))} % of"
    return (
        f"With {users:,} users, each metric finds {share} pairs of systems different at p < .05: "
        "significance alone says little here; look at the size of the differences too."
    )


def _few_systems(study: FinishedStudy) -> str:
    n_systems = len(study.systems)
    n_pairs = n_systems * (n_systems - 1) // 2
    if n_systems > FEW_SYSTEMS:
        return ""
    return f"With {n_systems} systems, one pair that is swapped lowers tau by {2 / n_pairs:.2f}."


def _intervals(study: FinishedStudy) -> str:
    estimates = [
        *areas_of(study, "sparsity", cutoff=study.cutoff),
        *powers_of(study, cutoff=study.cutoff),
    ]
    if not any(estimate.has_interval for estimate in estimates):
        return ""
    return (
        "Intervals (in brackets, 95 %) are not corrected for the number of comparisons: of many "
        "differences, some lie beyond noise by chance."
    )


def _not_validity(study: FinishedStudy) -> str:
    if "online" in study.tables:
        return (
            "Robust and discriminative is not the same as right, and clicks are not all that users "
            "want."
        )
    return (
        "Robust and discriminative is not the same as right: none of these numbers says whether "
        "a metric measures what users want."
    )


def _capitalised(text: str) -> str:
    return text[0].upper() + text[1:]
