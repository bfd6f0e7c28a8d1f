"""Tables of Krichene & Rendle (2020) and Li et al. (2023) as they print them, and an example."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from itertools import compress, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from analyses.ordering import DECIMALS
from analyses.sampled.estimators import Estimator, find_estimator
from analyses.sampled.metrics import RankMetric, rank_metric
from analyses.sampled.rank_distribution import expected_counts, sampled_rank_pmf
from analyses.sampled.samples import SampledRanks
from analyses.shared.drawing import category_styles, explain, gradation_styles, label_curves
from analyses.shared.number_format import Cell
from analyses.shared.result import Result, figure, table, tables_of
from analyses.shared.table import Table
from qrels import FullRanks
from runs.shared.arrays import Floats

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Labels: TypeAlias = "dict[str, Cell]"
Rows: TypeAlias = "Iterator[Labels]"
Estimates: TypeAlias = Any
"""`analyses.sampled.estimates.Estimates`, a module that imports this one."""

KDD_NAMES = {
    "uncorrected": ("uncorrected", "Sampled (uncorrected)"),
    "rank-estimate": ("rank estimate", "Rank Estimate"),
    "cls": ("CLS", "CLS"),
    "bv": ("BV", "BV"),
}
"""Estimators of Krichene & Rendle by our names, and as they print them."""

PRINTED_SYSTEMS = {
    **{f"krichene-{name}": name.upper() for name in "xyz"},
    **{"ease": "EASE", "item-knn": "itemKNN", "wrmf": "ALS"},
}
"""Systems by our names, as the papers print them."""

ADAPTIVE = "adaptive MLE"
BESIDE_ADAPTIVE = ("BV_MES", "BV_MLE", "MN_MES", "MN_MLE", ADAPTIVE)
"""Estimators of the tables with adaptive samples; the others have those of samples of one size."""


def _printed(system: str) -> str:
    """Look up the name of a system as the papers print it, by default ours."""
    return PRINTED_SYSTEMS.get(system, system)


def paper_metric(name: str) -> Labels:
    """Make the columns of a paper's table that name a metric, from its name, as "nDCG@10".

    Columns metric, paper_metric (as papers print it), and cutoff: "none" without one, "" for AUC.
    InputError for what is no metric.
    """
    metric = rank_metric(name)
    no_cutoff = "" if metric.name == "AUC" else "none"
    printed = "NDCG" if metric.name == "nDCG" else metric.name
    cutoff = metric.cutoff or no_cutoff
    return {"metric": metric.name, "paper_metric": printed, "cutoff": cutoff}


def _kdd_estimator(estimator: Estimator) -> Labels:
    """Make the columns that name an estimator of Krichene & Rendle: {} for other estimators.

    Others are those of other names or with a prior that is not uniform. Columns estimator,
    paper_estimator (as they print it) and gamma ("" if it has none).
    """
    if estimator.name not in KDD_NAMES or estimator.option("prior") not in ("", "uniform"):
        return {}
    name, printed = KDD_NAMES[estimator.name]
    gamma = estimator.option("gamma")
    text = f"{printed} {gamma:g}" if gamma else printed
    return {"estimator": name, "paper_estimator": text, "gamma": gamma}


def _aaai_estimator(estimator: Estimator) -> str:
    """Name an estimator as Li et al. (2023) print it; "" if it is none of theirs.

    Such as BV_MES for BV with a prior of MES; pooling and iterations of the prior do not matter. BV
    with a uniform prior is theirs only if gamma is .01.
    """
    prior, _, _ = estimator.option("prior").removeprefix("pooled:").partition("@")
    prior_name = prior.upper()
    if estimator.name in ("mes", "mle"):
        return estimator.name.upper()
    if estimator.name == "adaptive-mle":
        return ADAPTIVE
    if prior_name in ("MES", "MLE"):
        return f"{estimator.name.upper()}_{prior_name}"
    if prior == "uniform" and estimator.option("gamma") == 0.01:
        return "BV"
    return ""


def kdd_values(result: Estimates) -> Rows:
    """Yield rows of exact and corrected metrics of all systems, in per cent.

    Each row maps columns to cells. For each system and metric the exact value comes first, then the
    mean and standard deviation over repeats by each estimator of Krichene & Rendle, from uniform
    samples.
    """
    means = 100 * result.estimated.mean(axis=3)
    deviations = 100 * result.sd
    for system, system_name in enumerate(result.systems):
        for metric, metric_name in enumerate(result.measures.metrics):
            place: Labels = {"dataset": result.study, "system": _printed(system_name)}
            place |= paper_metric(metric_name)
            yield place | {
                "estimator": "exact",
                "paper_estimator": "Exact",
                "gamma": "",
                "m_negatives": "",
                "repeats": "",
                "value": 100 * result.exact[metric, system],
                "sd": "",
                "unit": "%",
            }
            for way in result.ways.itertuples():
                names = _kdd_estimator(find_estimator(way.estimator))
                if names and way.drawing == "uniform":
                    moments: Labels = {
                        "m_negatives": way.m,
                        "repeats": result.repeats,
                        "value": means[way.Index, metric, system],
                        "sd": deviations[way.Index, metric, system],
                        "unit": "%",
                    }
                    yield place | names | moments


def kdd_orders(result: Estimates) -> Rows:
    """Count the repeats that have a pair of systems in its true order.

    Yields a row, a map of columns to cells, for each estimator of Krichene & Rendle from uniform
    samples, metric and pair; 0 for a pair that truly ties.
    """
    orders = result.orders().query("drawing == 'uniform'").fillna({"cutoff": 0})
    for row in orders.itertuples():
        names = _kdd_estimator(find_estimator(row.estimator))
        if not names:
            continue
        system_1 = _printed(row.system_1)
        system_2 = _printed(row.system_2)
        pair: Labels = {
            "dataset": result.study,
            "pair": f"{system_1} vs {system_2}",
            "system_1": system_1,
            "system_2": system_2,
        }
        metric = paper_metric(f"{row.metric}@{row.cutoff}" if row.cutoff else row.metric)
        correct_orders: Labels = {
            "m_negatives": row.m,
            "repeats": row.repeats,
            "value": row.correct,
            "unit": f"correct orders out of {result.repeats} runs",
        }
        yield pair | metric | names | correct_orders


def _aaai_ways(result: Estimates, *, adaptive: bool) -> Iterator[tuple[int, Labels]]:
    """Yield the ways in a table of Li et al.: the row number in ``result.ways``, and labels.

    Labels are the columns estimator and sample_set_size (negatives and the relevant item, or
    "adaptive"). Of estimators that occur with and without a pooled prior, only the pooled are
    taken. A table with adaptive samples (``adaptive``) has, beside them, BV and MN with learned
    priors, from samples of all sizes but the smallest, if there are several; other tables have all
    their estimators but the adaptive one, from all sizes.
    """
    estimators = [find_estimator(text) for text in result.ways["estimator"]]
    names = [_aaai_estimator(estimator) for estimator in estimators]
    named_sizes = zip(result.ways["m"], names, strict=True)
    sizes = sorted({m for m, name in named_sizes if name != ADAPTIVE})
    larger_sizes = sizes[1:] or sizes
    table_sizes = larger_sizes if adaptive else sizes
    is_pooled = ["pooled" in estimator.option("prior") for estimator in estimators]
    pooled_names = set(compress(names, is_pooled))
    for (way, m), name, has_pooled_prior in zip(
        result.ways["m"].items(), names, is_pooled, strict=True
    ):
        if name in pooled_names and not has_pooled_prior:
            continue
        is_in_table = name in BESIDE_ADAPTIVE if adaptive else name not in ("", ADAPTIVE)
        if not is_in_table:
            continue
        if name == ADAPTIVE:
            yield way, {"estimator": name, "sample_set_size": "adaptive"}
        elif m in table_sizes:
            yield way, {"estimator": name, "sample_set_size": m + 1}


def _aaai_errors(result: Estimates, *, metric: str, adaptive: bool = False) -> Rows:
    """Yield rows of the mean relative errors (%) of a metric's curve, by system and way.

    ``metric``: a name without cut-off; its first occurrence in the result is used. A curve has the
    cut-offs 1 to 50. ``adaptive``: whether the table has adaptive samples, whose rows are followed
    by those of their mean size, ``result.scored`` (the same for all metrics). Nothing if the result
    does not have the metric. Errors are of shape (n_ways, n_metrics, n_systems, n_repeats), sizes
    likewise, for one metric.
    """
    metrics = [rank_metric(name) for name in result.measures.metrics]
    with_name = [number for number, read in enumerate(metrics) if read.name == metric]
    if not with_name:
        return
    curve = with_name[0]
    names = paper_metric(metric) | {"cutoff": "1-50 (mean over K)"}
    no_names = dict.fromkeys(names, "")
    for system, system_name in enumerate(result.systems):
        place: Labels = {"dataset": result.study, "system": _printed(system_name)}
        for way, labels in _aaai_ways(result, adaptive=adaptive):
            errors = result.errors[way, curve, system]
            yield place | names | labels | _moments("average relative error", errors, "%")
            if labels["estimator"] == ADAPTIVE:
                scored = result.scored[way, 0, system]
                size = _moments("average sample set size", scored, "items")
                yield place | no_names | labels | size


def _moments(quantity: str, values: Floats, unit: str) -> Labels:
    """Make columns of a quantity: its mean and standard deviation over repeats, and its unit."""
    return {
        "quantity": quantity,
        "value": values.mean(),
        "sd": values.std(ddof=1),
        "unit": unit,
    }


def aaai_winners(result: Estimates) -> Rows:
    """Count the repeats in which the best system is first, by metric but AUC, and by way.

    Yields rows, maps of columns to cells, of the ways in a table with adaptive samples. No row
    where several systems are truly best.
    """
    unit = f"correct winners out of {result.repeats} repeats"
    for number, metric in enumerate(result.measures.metrics):
        if rank_metric(metric).name == "AUC":
            continue
        names = {"dataset": result.study} | paper_metric(metric)
        for way, labels in _aaai_ways(result, adaptive=True):
            share = result.advice["winner"][way, number]
            if not np.isnan(share):
                n_correct = round(share * result.repeats)
                yield names | labels | {"value": n_correct, "unit": unit}


RECALL = partial(_aaai_errors, metric="Recall")
AP = partial(_aaai_errors, metric="AP")
NDCG = partial(_aaai_errors, metric="nDCG", adaptive=True)
FIXED_NDCG = partial(_aaai_errors, metric="nDCG")
LARGE_RECALL = partial(_aaai_errors, metric="Recall", adaptive=True)


def paper_table(title: str, make_rows: Callable[..., Rows], *names: str) -> Any:
    """Declare a table of a paper: a method of a result, to be assigned in its class.

    ``make_rows`` yields rows, maps of columns to cells, for the result. The names are those by
    which the table is asked for; the first stands in the table. The table is empty if there are no
    rows, or those of exact values and BV alone.
    """

    def make(self: Any) -> Table:
        """Make the table of the rows; its headings are the columns of the first row."""
        rows = list(make_rows(self))
        estimators = {row.get("estimator") for row in rows}
        # Exact values and BV alone are no table: BV is an estimator of both papers.
        if estimators <= {"exact", "BV"}:
            rows = []
        headings = list(rows[0]) if rows else []
        cells = [list(row.values()) for row in rows]
        capitalised = f"{title[0].upper()}{title[1:]}"
        return Table(names[0], capitalised, self.caption(), headings, cells)

    for name in reversed(names):
        make = table(name, title)(make)
    return make


N_CANDIDATES = 10_000
RANKS = {
    "A": (100, 100, 100, 100, 100),
    "B": (40, 40, 8437, 9266, 4482),
    "C": (212, 2, 743, 5342, 1548),
}
LISTS = {name: FullRanks.of(ranks, n_candidates=N_CANDIDATES) for name, ranks in RANKS.items()}
"""Ranks of the relevant items of five users, by system; tables 1 and 2 of Krichene & Rendle."""

ALL_RANKS = np.arange(1, N_CANDIDATES + 1)
TABLE_NEGATIVES = 99
"""Negatives of tables 1 and 2."""

LAST_METRIC_RANK = 100
"""Last rank of figure 1 (right)."""

LAST_EXPECTED_RANK = 1000
"""Last rank of figures 3 and 4."""

LAST_SAMPLED_RANK = 20
"""Last rank in the sample in figure 4."""

FIGURE_SIZES = (10, 50, 100, 500, 1000)
"""Negatives of figure 3."""

CORRECTION_NEGATIVES = 100
CORRECTIONS = ("bv(gamma=1)", "bv(gamma=0.1)", "bv(gamma=0.01)", "bv(gamma=0.001)", "cls")
"""Corrections of figure 4, from so many negatives."""


def expected_by_size(metric: RankMetric, ranks: FullRanks, replace: bool) -> Floats:
    r"""Compute the expected sampled metric of users with one relevant item: (n_irrelevant,).

    From 1, 2, ... negatives. Leaving out one of m negatives at random gives a sample of m - 1, so
    that

    .. math:: c_{m-1}(x) = \frac{m - x}{m} c_m(x) + \frac{x + 1}{m} c_m(x + 1)

    leads from the shares c of items with x of all negatives above to those of 1, 2, ... negatives.
    """
    largest = int(ranks.n_irrelevant.min())
    if metric.name == "AUC":
        return np.full(largest, metric.exact(ranks))  # unbiased from any sample
    one_group = np.zeros_like(ranks.rank)
    (shares,) = expected_counts(ranks, one_group, m=largest, replace=replace)
    values = metric(np.arange(1, largest + 2), n=largest + 1)
    numbers = np.arange(largest + 1.0)
    totals = np.empty(largest)
    for m in range(largest, 0, -1):
        totals[m - 1] = (shares * values[: m + 1]).sum()
        without_below = shares[:-1] * numbers[m:0:-1]
        without_above = shares[1:] * numbers[1 : m + 1]
        shares = (without_below + without_above) / m
    return totals / len(ranks)


def orderings(values: Floats) -> list[tuple[int, str]]:
    """List the changes of the ordering of the lists A, B and C by their values at rising sizes.

    Each with the column at which it starts, from 0, and as text, ``B > A = C``, the highest value
    first. Values are of shape (n_systems, n_sizes), and are rounded before they are compared.
    """
    previous = ""
    starts = []
    for place, column in enumerate(np.round(-values, DECIMALS).T.tolist()):
        by_value = sorted(zip(column, LISTS, strict=True))
        groups = []
        for _, tied in groupby(by_value, key=itemgetter(0)):
            groups.append(" = ".join(name for _, name in tied))
        text = " > ".join(groups)
        if text != previous:
            starts.append((place, text))
        previous = text
    return starts


def _exact_rows(example: Example) -> Rows:
    """Yield the rows of table 1: ranks and metrics of each list.

    `LISTS` are the full ranks by the name of the list; exact metrics are of shape (n_metrics,
    n_lists).
    """
    for number, (system, ranks) in enumerate(LISTS.items()):
        place: Labels = {"dataset": f"toy (n={N_CANDIDATES})", "system": system}
        for user, rank in enumerate(ranks.rank.tolist(), start=1):
            yield place | {
                "metric": "predicted rank",
                "paper_metric": "Predicted Ranks",
                "cutoff": "",
                "instance": user,
                "value": rank,
            }
        for metric, values in zip(example.names, example.exact, strict=True):
            value = float(values[number])
            yield place | paper_metric(metric) | {"instance": "", "value": value}


def _sampled_rows(example: Example) -> Rows:
    """Yield the rows of table 2: those of table 1, with sampled metrics and their deviation.

    Expected metrics and standard deviations are of shape (n_metrics, n_lists). Rows of ranks, which
    name a user (instance), have no deviation.
    """
    sampling: Labels = {
        "estimator": "uncorrected",
        "m_negatives": TABLE_NEGATIVES,
        "repeats": "exact",
    }
    no_sampling = dict.fromkeys(sampling, "")
    moments = zip(example.expected.T.flat, example.sd.T.flat, strict=True)
    for row in _exact_rows(example):
        exact = row.pop("value")
        if row["instance"]:
            yield row | no_sampling | {"value": exact, "sd": ""}
        else:
            expected, deviation = next(moments)
            yield row | sampling | {"value": float(expected), "sd": float(deviation)}


class Example(Result):
    """Tables 1 and 2 and figures 1 to 4 of Krichene & Rendle (2020), and of Rendle (2019).

    Three lists of ranks that sampling orders wrongly. ``exact``, ``expected`` and ``sd`` (over
    samples, of the mean over the users) are of shape (n_metrics, n_lists). The printed table 2 was
    simulated; means and deviations here are the exact ones.
    """

    names = ("AUC", "AP", "nDCG", "Recall@10")
    views = ("all ranks", f"the first {LAST_METRIC_RANK}")
    sides = (f"the first {LAST_SAMPLED_RANK} ranks in the sample", "true ranks")

    def __init__(self) -> None:
        """Compute exact and expected metrics of the lists, and standard deviations.

        ``exact``, ``expected`` and ``sd`` are of shape (n_metrics, n_lists): means over users, and
        the standard deviation of such a mean over samples of 99 negatives, of 10,000 candidates.
        """
        metrics = [rank_metric(name) for name in self.names]
        lists = list(LISTS.values())
        n_sampled = TABLE_NEGATIVES + 1
        sampled_ranks = np.arange(1, n_sampled + 1)
        values = np.array([metric(sampled_ranks, n=n_sampled) for metric in metrics]).T
        pmf = np.array(
            [sampled_rank_pmf(ranks.rank, n=N_CANDIDATES, m=TABLE_NEGATIVES) for ranks in lists]
        )
        pmf /= pmf.sum(axis=2, keepdims=True)
        means = pmf @ values
        variances = np.maximum(pmf @ values**2 - means**2, 0.0)
        n_users = means.shape[1]
        self.exact = np.array([[metric.exact(ranks) for ranks in lists] for metric in metrics])
        self.expected = means.mean(axis=1).T
        self.sd = np.sqrt(variances.sum(axis=1)).T / n_users

    @cached_property
    def by_size(self) -> Mapping[str, Floats]:
        """Expected metrics, of 1, 2, ... all negatives: (n_lists, n_sizes), by metric."""
        by_metric = {}
        for name in self.names:
            metric = rank_metric(name)
            curves = [expected_by_size(metric, ranks, replace=True) for ranks in LISTS.values()]
            by_metric[name] = np.array(curves)
        return by_metric

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Tabulate all tables of this result, by the name of the table."""
        import pandas as pd

        frames = {}
        for declaration in tables_of(Example):
            table = declaration.make(self)
            frames[declaration.name] = pd.DataFrame(table.rows, columns=[*table.headings])
        return frames

    kdd2020_table1 = paper_table(
        "exact metrics of the lists", _exact_rows, "kdd2020-table1", "rendle2019-table1"
    )
    kdd2020_table2 = paper_table(
        "moments of sampled metrics", _sampled_rows, "kdd2020-table2", "rendle2019-table2"
    )

    @table("example_orders", "orders of the lists by the number of negatives")
    def orders(self) -> Table:
        """Tabulate the expected orders of the lists by each metric, as ``B > A = C``.

        A row for each order, with the least number of negatives from which on it holds, until the
        next row. ``self.by_size`` has values from 1, 2, ... negatives by metric, (n_lists,
        n_sizes).
        """
        rows: list[list[Cell]] = []
        for metric, values in self.by_size.items():
            for place, order in orderings(values):
                rows.append([metric, order, place + 1])
        title = "Expected orders of the lists by the least number of negatives"
        return Table("example_orders", title, self.caption(), ["metric", "order", "from m ="], rows)

    @figure("kdd2020-figure1", "Metrics by rank", panels="view", comparable=False, wide=True)
    def plot_metrics(self, ax: Axes, *, view: str) -> None:
        """Draw the metrics against all ranks, or the first 100; ``view`` is one of `views`."""
        all_ranks, _ = self.views
        ranks = ALL_RANKS if view == all_ranks else ALL_RANKS[:LAST_METRIC_RANK]
        curves = {name: rank_metric(name)(ranks, n=N_CANDIDATES) for name in self.names}
        draw_curves(ax, curves, title=view, xlabel="rank", ylabel="metric")

    @figure("kdd2020-figure2", "Metrics by negatives", panels="name", comparable=False, wide=True)
    def plot_sizes(self, ax: Axes, *, name: str) -> None:
        """Draw an expected metric of the lists against the number of negatives (Rendle: 2).

        ``name``: that of the metric. Vertical lines are where the order of the lists changes.
        Values from 1, 2, ... negatives are of shape (n_lists, n_sizes).
        """
        values = self.by_size[name]
        curves = dict(zip(LISTS, values, strict=True))
        draw_curves(
            ax,
            curves,
            title=name,
            xscale="log",
            xlabel="negatives",
            ylabel=f"expected {name}",
        )
        _, *changes = orderings(values)
        for start, _ in changes:
            line = ax.axvline(start + 1, color="0.6", linewidth=0.6, zorder=0)
            explain(line, "Vertical lines: here the order of the lists changes.")

    @figure("kdd2020-figure3", "Expected metrics", panels="name", comparable=False, wide=True)
    def plot_expectations(self, ax: Axes, *, name: str) -> None:
        """Draw an expected sampled metric against the true rank, 1 to 1,000 (Rendle: 3).

        A curve for each number of negatives, and the exact metric; ``name``: that of the metric.
        """
        metric = rank_metric(name)
        curves: dict[str, Floats] = {}
        for m in FIGURE_SIZES:
            values = metric(np.arange(1, m + 2), n=m + 1)
            curves[f"m = {m:,}"] = _expected_by_rank(values)
        curves["exact"] = metric(ALL_RANKS[:LAST_EXPECTED_RANK], n=N_CANDIDATES)
        draw_curves(ax, curves, ordered=True, title=name, xlabel="rank", ylabel=f"expected {name}")

    @figure("kdd2020-figure4", "Corrected AP by rank", panels="side", comparable=False, wide=True)
    def plot_corrections(self, ax: Axes, *, side: str) -> None:
        """Draw corrected values of AP by some estimators, from 100 negatives.

        Against the rank in the sample, 1 to 20; or, on the other side, their expectation against
        the true rank, with exact AP. ``side``: one of `sides`.
        """
        sample = SampledRanks.of([1], n_negatives=CORRECTION_NEGATIVES, n_candidates=N_CANDIDATES)
        values = {}
        for text in CORRECTIONS:
            estimator = find_estimator(text)
            values[str(estimator)] = estimator.fit(sample).corrected(["AP"])[:, 0]
        sampled_side, _ = self.sides
        if side == sampled_side:
            curves = {name: curve[:LAST_SAMPLED_RANK] for name, curve in values.items()}
            draw_curves(ax, curves, title=side, xlabel="rank", ylabel="corrected AP")
        else:
            curves = {name: _expected_by_rank(curve) for name, curve in values.items()}
            curves["exact"] = rank_metric("AP")(ALL_RANKS[:LAST_EXPECTED_RANK], n=N_CANDIDATES)
            draw_curves(
                ax,
                curves,
                title=side,
                xlabel="rank",
                ylabel="expected corrected AP",
                xscale="log",
            )

    def caption(self) -> str:
        """Describe the users, the candidates and the negatives."""
        return (
            f"Metrics of five users among {N_CANDIDATES:,} candidates: exact, and expected from "
            f"{TABLE_NEGATIVES} sampled negatives ({CORRECTION_NEGATIVES} for corrections)."
        )


def _expected_by_rank(values: Floats) -> Floats:
    """Expect values of sampled ranks by true rank from 1 to 1,000, with replacement: (1000,).

    ``values``: those of each rank among m negatives and the item, (m + 1,).
    """
    ranks = ALL_RANKS[:LAST_EXPECTED_RANK]
    pmf = sampled_rank_pmf(ranks, n=N_CANDIDATES, m=len(values) - 1, replace=True)
    return np.asarray(pmf @ values)


def draw_curves(
    ax: Axes, curves: Mapping[str, Floats], *, ordered: bool = False, **labels: Any
) -> None:
    """Draw curves of values by rank or cut-off, from 1, with labels and scales of the axes.

    Ordered curves have a gradation of colours. A curve that is all NaN is left out.
    """
    make_styles = gradation_styles if ordered else category_styles
    for (label, style), curve in zip(make_styles([*curves]), curves.values(), strict=True):
        if not np.isnan(curve).all():
            ranks = np.arange(1, len(curve) + 1)
            line_style: dict[str, Any] = {**style, "marker": ""}
            ax.plot(ranks, curve, label=label, **line_style)
    ax.set(**labels)
    label_curves(ax, ordered=ordered)
