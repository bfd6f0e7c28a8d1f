"""The tables of a finished study, by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from analyses.online.agreement.agreement_study import ClickStudy
from analyses.online.agreement.agreement_tables import TABLES as ONLINE
from analyses.sampled.sampled_tables import (
    adaptive_table,
    cost_table,
    iterations_table,
    priors_table,
    ranks_table,
    sizes_table,
)
from analyses.shared.table import Best, Cell, Table
from harness.report.study_folder import FinishedStudy, Row, number
from harness.sampled.estimates import (
    errors_table,
    estimates_table,
    orders_table,
    winners_table,
)
from runs import InputError
from runs.shared.errors import nearest


@dataclass(frozen=True)
class Convention:
    """A way to add up p-values: what it is called, and whether more is better."""

    words: str
    best: Best


CONVENTIONS: Mapping[str, Convention] = {
    "dp": Convention(
        "DP, the sum of p over unordered pairs of systems (Valcarce et al. 2018 print that over "
        "ordered pairs, twice as much): lower is better",
        min,
    ),
    "dp_ordered": Convention(
        "DP, the sum of p over ordered pairs of systems, twice that over unordered pairs, as "
        "Valcarce et al. (2018) print it: lower is better",
        min,
    ),
    "dp_mean": Convention("the mean p over pairs of systems: lower is better", min),
    "significant_05": Convention("the share of pairs with p < .05: higher is better", max),
    "median_p": Convention("the median p over pairs of systems: lower is better", min),
}


def means(study: FinishedStudy, *, cutoff: int) -> Table:
    """Tabulate the mean score of every system by every metric: Table 2."""
    cells = {
        (row["system"], row["metric"]): number(row, "mean") for row in _rows(study, "means", cutoff)
    }
    headings, rows = _crossed("system", cells)
    falling = study.falling_metrics()
    return Table(
        name="means",
        title=f"Mean scores at cut-off {cutoff}",
        note=study.caption("Means over all users in the qrels, as with trec_eval -c."),
        headings=headings,
        rows=rows,
        best={n: min if metric in falling else max for n, metric in enumerate(headings) if n},
    )


def power(study: FinishedStudy, *, cutoff: int | None = None, convention: str = "dp") -> Table:
    """Tabulate discriminative power by metric and cut-off, or at one cut-off: Table 3."""
    summed = CONVENTIONS[convention]
    cells = {
        (row["metric"], f"@{number(row, 'cutoff'):g}"): number(row, convention)
        for row in _rows(study, "discrimination", cutoff)
    }
    headings, rows = _crossed("metric", cells)
    return Table(
        name="power",
        title="Discriminative power by metric and cut-off",
        note=study.caption(f"The numbers are {summed.words}."),
        headings=headings,
        rows=rows,
        best=dict.fromkeys(range(1, len(headings)), summed.best),
    )


def areas(study: FinishedStudy, *, cutoff: int) -> Table:
    """Tabulate the areas under the curves of all analyses that have them, with intervals."""
    parts = [(name, study.rows(f"{name}_areas", cutoff=cutoff)) for name in ROBUSTNESS]
    found = {name: {row["metric"]: row for row in rows} for name, rows in parts if rows}
    if not found:
        raise _lacking(study, "areas", cutoff)
    headings = [h for name in found for h in (name, f"{name}, low", f"{name}, high")]
    rows: list[list[Cell]] = [
        [
            metric,
            *(
                number(by_metric.get(metric, {}), column)
                for by_metric in found.values()
                for column in ("area", "low", "high")
            ),
        ]
        for metric in dict.fromkeys(metric for by_metric in found.values() for metric in by_metric)
    ]
    return Table(
        name="areas",
        title=f"Robustness at cut-off {cutoff}: areas under the curves",
        note=study.caption(
            "An area is the mean of a curve over its range: 1 where the ordering of the systems "
            "never changes. Intervals (95 %) come from resampling."
        ),
        headings=["metric", *headings],
        rows=rows,
        best={1 + 3 * n: max for n in range(len(found))},
    )


def correlation(study: FinishedStudy, *, cutoff: int) -> Table:
    """Tabulate the agreement of the metrics' orderings of the systems."""
    cells = {
        (row["metric_a"], row["metric_b"]): number(row, "tau")
        for row in _rows(study, "correlation_metrics", cutoff)
    }
    headings, rows = _crossed("metric", cells)
    return Table(
        name="correlation",
        title=f"Agreement among metrics at cut-off {cutoff}",
        note=study.caption(f"Orderings of the systems by mean, compared by {study.coefficient}."),
        headings=headings,
        rows=rows,
        best={},
    )


def users(study: FinishedStudy, *, cutoff: int) -> Table:
    """Tabulate how subsets of the users order the systems, compared with all users."""
    return _by_users(
        study,
        cutoff,
        column="tau",
        title=f"Agreement of subsets of the users with all users at cut-off {cutoff}",
        note="Mean Kendall's tau-b between the ordering of the systems by as many users, drawn at "
        "random, and by all.",
        best=max,
    )


def users_power(study: FinishedStudy, *, cutoff: int) -> Table:
    """Tabulate the discriminative power that subsets of the users have."""
    return _by_users(
        study,
        cutoff,
        column="dp",
        title=f"Discriminative power with fewer users at cut-off {cutoff}",
        note=f"Means over random subsets of the users of {CONVENTIONS['dp'].words}.",
        best=min,
    )


def coverage(study: FinishedStudy) -> Table:
    """Tabulate what the systems recommend."""
    counts = {
        "users_without_recommendations": "users without list",
        "users_with_short_lists": "users with short list",
        "items_recommended": "items recommended",
    }
    rows: list[list[Cell]] = [
        [
            row["system"],
            *(int(row[count]) for count in counts),
            number(row, "judged_share"),
        ]
        for row in _rows(study, "coverage", None)
    ]
    return Table(
        name="coverage",
        title="What the systems recommend",
        note=study.caption("The last column is the share of the recommendations with a judgement."),
        headings=["system", *counts.values(), "judged"],
        rows=rows,
        best={},
    )


def sampled(study: FinishedStudy, *, evidence: str, make: Callable[..., Table]) -> Table:
    """Tabulate what a study of sampled metrics found."""
    result = study.result(evidence)
    return make(result, note=study.caption(result.caption()))


def online(study: FinishedStudy, *, make: Callable[..., Table]) -> Table:
    """Tabulate what was found about metrics and click-through rates."""
    table = make(clicks_of(study))
    return replace(table, note=study.caption(table.note))


def clicks_of(study: FinishedStudy) -> ClickStudy:
    """Read what was found about metrics and click-through rates.

    Raises
    ------
    InputError
        If the study did not ask.
    """
    agreement: Any = study.result("online")
    best: Any = study.result("online_best")
    return ClickStudy(agreement, best)


ROBUSTNESS = ("sparsity", "popularity")
"""The analyses whose curves have areas."""

ALIASES = {"table2": "means", "table3": "power"}
"""Numbers that tables have in Valcarce et al. (2018)."""

TITLES: Mapping[str, str] = {
    "means": "mean score of every system by every metric (table2)",
    "power": "discriminative power by metric and cut-off (table3)",
    "areas": "robustness: areas under the curves, with intervals",
    "correlation": "agreement among metrics",
    "users": "agreement of subsets of the users with all users",
    "users_power": "discriminative power with fewer users",
    "coverage": "what the systems recommend",
    "sampled": "exact metrics, and estimates from sampled negatives",
    "sampled_orders": "distance of those estimates, and pairs of systems in the true order",
    "sampled_errors": "relative errors of their curves, and items scored",
    "sampled_winners": "share of the samples that find the best system",
    "sampled_ranks": "where the relevant items stand",
    "sampled_sizes": "agreement of expected with exact orders of the systems, by negatives",
    "sampled_cost": "relative errors, by sample",
    "sampled_adaptive": "mean size of adaptive samples, and what larger ones cost",
    "sampled_iterations": "relative errors of MLE, by iterations of EM",
    "sampled_priors": "relative errors of BV and MN, by prior",
    "online": "the measures that follow click-through rates best",
    "online_orderings": "different orderings of the models behind the measures",
    "online_bins": "how many measures have how large a rho, and by chance",
    "online_levels": "how often recall under LOO is above that under LLOO",
    "online_validations": "whether LOO or LLOO follows click-through rates better",
    "online_betas": "whether beta = 0 or a larger beta follows click-through rates better",
    "online_crossed": "the last two, crossed",
}

SAMPLED: Mapping[str, tuple[str, Callable[..., Table]]] = {
    "sampled": ("sampled", estimates_table),
    "sampled_orders": ("sampled", orders_table),
    "sampled_errors": ("sampled", errors_table),
    "sampled_winners": ("sampled", winners_table),
    "sampled_ranks": ("sampled_ranks", ranks_table),
    "sampled_sizes": ("sampled_sizes", sizes_table),
    "sampled_cost": ("sampled_cost", cost_table),
    "sampled_adaptive": ("sampled_adaptive", adaptive_table),
    "sampled_iterations": ("sampled_iterations", iterations_table),
    "sampled_priors": ("sampled_priors", priors_table),
}
"""Tables of sampled metrics: the evidence that each is made from, and what makes it."""

WHOLE: Mapping[str, Callable[[FinishedStudy], Table]] = (
    {
        "coverage": coverage,
    }
    | {
        name: partial(sampled, evidence=evidence, make=make)
        for name, (evidence, make) in SAMPLED.items()
    }
    | {name: partial(online, make=make) for name, make in ONLINE.items() if name in TITLES}
)
"""Tables without a cut-off to choose."""


AT_CUTOFF: Mapping[str, Callable[..., Table]] = {
    "means": means,
    "areas": areas,
    "correlation": correlation,
    "users": users,
    "users_power": users_power,
}


def tabulate(
    study: FinishedStudy, name: str, *, cutoff: int | None = None, convention: str | None = None
) -> Table:
    """Make a table by name.

    Parameters
    ----------
    study
        The finished study.
    name
        One of ``TITLES``, or ``table2``, ``table3``.
    cutoff
        The deepest by default; of ``power``, all.
    convention
        Of ``power``: one of ``CONVENTIONS``; the sum over unordered pairs by default.

    Raises
    ------
    InputError
        If there is no such table, or the study lacks what it shows.
    """
    chosen = ALIASES.get(name, name)
    if chosen not in TITLES:
        raise InputError(f"no table is called {name!r}; {nearest(name, [*ALIASES, *TITLES])}")
    if convention is not None and chosen != "power":
        raise InputError(f"the table {name!r} adds up no p-values: --convention is for table3.")
    if chosen in WHOLE:
        if cutoff is not None:
            raise InputError(f"the table {chosen!r} has no cut-off to choose.")
        return WHOLE[chosen](study)
    if cutoff is not None and cutoff not in study.cutoffs:
        known = ", ".join(map(str, study.cutoffs))
        raise InputError(f"the study has no cut-off {cutoff}; there are {known}.")
    if chosen == "power":
        return power(study, cutoff=cutoff, convention=convention or "dp")
    return AT_CUTOFF[chosen](study, cutoff=cutoff or study.cutoff)


def _by_users(
    study: FinishedStudy, cutoff: int, *, column: str, title: str, note: str, best: Best
) -> Table:
    cells = {
        (row["metric"], f"{row['users']} users"): number(row, column)
        for row in _rows(study, "users", cutoff)
    }
    headings, rows = _crossed("metric", cells)
    return Table(
        name="users" if column == "tau" else f"users_{column}",
        title=title,
        note=study.caption(note),
        headings=headings,
        rows=rows,
        best=dict.fromkeys(range(1, len(headings)), best),
    )


def _rows(study: FinishedStudy, table: str, cutoff: int | None) -> list[Row]:
    rows = study.rows(table, cutoff=cutoff)
    if not rows:
        raise _lacking(study, table, cutoff)
    return rows


def _lacking(study: FinishedStudy, table: str, cutoff: int | None) -> InputError:
    where = "" if cutoff is None else f" at cut-off {cutoff}"
    return InputError(
        f"{study.folder}: the study has no {table}{where}; its tables are "
        f"{', '.join(study.tables)}."
    )


def _crossed(
    corner: str, cells: Mapping[tuple[str, str], float]
) -> tuple[list[str], list[list[Cell]]]:
    """Lay numbers out by row and column, in order of appearance: headings and rows."""
    rows = dict.fromkeys(row for row, _ in cells)
    columns = dict.fromkeys(column for _, column in cells)
    laid_out: list[list[Cell]] = [
        [row, *(cells.get((row, column), math.nan) for column in columns)] for row in rows
    ]
    return [corner, *columns], laid_out
