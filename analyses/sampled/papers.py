"""Tables of Krichene & Rendle (2020) and Li et al. (2023) as they print them, and an example."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from itertools import groupby
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
    return PRINTED_SYSTEMS.get(system, system)


def paper_metric(name: str) -> Labels:
    """Give the columns of a paper's table that name a metric."""
    read = rank_metric(name)
    whole = "" if read.name == "AUC" else "none"
    printed = "NDCG" if read.name == "nDCG" else read.name
    return {"metric": read.name, "paper_metric": printed, "cutoff": read.cutoff or whole}


def _kdd_estimator(one: Estimator) -> Labels:
    """Give the columns that name an estimator of Krichene & Rendle; none for others."""
    if one.name not in KDD_NAMES or one.option("prior") not in ("", "uniform"):
        return {}
    name, printed = KDD_NAMES[one.name]
    gamma = one.option("gamma")
    text = f"{printed} {gamma:g}" if gamma else printed
    return {"estimator": name, "paper_estimator": text, "gamma": gamma}


def _aaai_estimator(one: Estimator) -> str:
    """Name an estimator as Li et al. print it; nothing if it is none of theirs."""
    prior = one.option("prior").removeprefix("pooled:").partition("@")[0].upper()
    if one.name in ("mes", "mle"):
        return one.name.upper()
    if one.name == "adaptive-mle":
        return ADAPTIVE
    if prior in ("MES", "MLE"):
        return f"{one.name.upper()}_{prior}"
    return "BV" if one.option("prior") == "uniform" and one.option("gamma") == 0.01 else ""


def kdd_values(found: Estimates) -> Rows:
    """Give exact and corrected metrics of all systems."""
    mean, sd = 100 * found.estimated.mean(axis=3), 100 * found.sd
    ways = found.ways[["estimator", "drawing", "m"]].to_numpy()
    for s, n in np.ndindex(len(found.systems), len(found.measures.metrics)):
        place: Labels = {"dataset": found.study, "system": _printed(found.systems[s])}
        place |= paper_metric(found.measures.metrics[n])
        names: Labels = {"estimator": "exact", "paper_estimator": "Exact", "gamma": ""}
        numbers = {"m_negatives": "", "repeats": "", "value": 100 * found.exact[n, s], "sd": ""}
        yield place | names | numbers | {"unit": "%"}
        for way, (one, drawing, m) in enumerate(ways):
            numbers = {"m_negatives": m, "repeats": found.repeats}
            numbers |= {"value": mean[way, n, s], "sd": sd[way, n, s]}
            if (names := _kdd_estimator(find_estimator(one))) and drawing == "uniform":
                yield place | names | numbers | {"unit": "%"}


def kdd_orders(found: Estimates) -> Rows:
    """Count the repeats that have pairs of systems in their true order."""
    unit: Labels = {"unit": f"correct orders out of {found.repeats} runs"}
    for row in found.orders().query("drawing == 'uniform'").fillna({"cutoff": 0}).itertuples():
        one, other = _printed(row.system_1), _printed(row.system_2)
        pair: Labels = {"dataset": found.study, "pair": f"{one} vs {other}"}
        pair |= {"system_1": one, "system_2": other}
        counts = {"m_negatives": row.m, "repeats": row.repeats, "value": row.correct}
        if names := _kdd_estimator(find_estimator(row.estimator)):
            metric = paper_metric(f"{row.metric}@{row.cutoff}" if row.cutoff else row.metric)
            yield pair | metric | names | counts | unit


def _aaai_ways(found: Estimates, adaptive: bool) -> Iterator[tuple[int, Labels]]:
    """Give the estimators of a table, with a pooled prior if there is one, as they have.

    Beside adaptive samples are those of one size but the smallest, if there are several.
    """
    every = [find_estimator(one) for one in found.ways["estimator"]]
    names = map(_aaai_estimator, every)
    sizes = sorted({m for m, name in zip(found.ways["m"], names, strict=True) if name != ADAPTIVE})
    chosen = sizes[1:] or sizes if adaptive else sizes
    pooled = {_aaai_estimator(one) for one in every if "pooled" in one.option("prior")}
    for (way, m), one in zip(found.ways["m"].items(), every, strict=True):
        name = _aaai_estimator(one)
        if name in pooled and "pooled" not in one.option("prior"):
            continue
        of_table = name in BESIDE_ADAPTIVE if adaptive else name not in ("", ADAPTIVE)
        if of_table and (name == ADAPTIVE or m in chosen):
            items = "adaptive" if name == ADAPTIVE else m + 1
            yield way, {"estimator": name, "sample_set_size": items}


def _aaai_errors(found: Estimates, *, metric: str, adaptive: bool = False) -> Rows:
    every = enumerate(map(rank_metric, found.measures.metrics))
    curves = [n for n, one in every if one.name == metric]
    names = paper_metric(metric) | {"cutoff": "1-50 (mean over K)"}
    for number, s in np.ndindex(len(curves[:1]), len(found.systems)):
        place = {"dataset": found.study, "system": _printed(found.systems[s])}
        for way, labels in _aaai_ways(found, adaptive):
            rows = [(names, "average relative error", found.errors[way, curves[number], s], "%")]
            if labels["estimator"] == ADAPTIVE:
                scored = "average sample set size", found.scored[way, 0, s], "items"
                rows.append((dict.fromkeys(names, ""), *scored))
            for of_row, quantity, values, unit in rows:
                numbers = {"value": values.mean(), "sd": values.std(ddof=1), "unit": unit}
                yield place | of_row | labels | {"quantity": quantity} | numbers


def aaai_winners(found: Estimates) -> Rows:
    """Count the repeats that find the best system."""
    unit = f"correct winners out of {found.repeats} repeats"
    for number, metric in enumerate(found.measures.metrics):
        for way, labels in _aaai_ways(found, adaptive=True):
            share = found.advice["winner"][way, number]
            if rank_metric(metric).name != "AUC" and not np.isnan(share):
                count = {"value": round(share * found.repeats), "unit": unit}
                yield {"dataset": found.study} | paper_metric(metric) | labels | count


RECALL = partial(_aaai_errors, metric="Recall")
AP, NDCG = partial(RECALL, metric="AP"), partial(_aaai_errors, metric="nDCG", adaptive=True)
FIXED_NDCG, LARGE_RECALL = partial(NDCG, adaptive=False), partial(NDCG, metric="Recall")


def paper_table(title: str, rows: Callable[..., Rows], *names: str) -> Any:
    """Declare a table of a paper, a method of a result called as the first of its names."""

    def make(self: Any) -> Table:
        every = [*rows(self)]
        # Exact values and BV alone are no table: BV is an estimator of both papers.
        if {row.get("estimator") for row in every} <= {"exact", "BV"}:
            every = []
        headings, cells = [*(every[0] if every else ())], [[*row.values()] for row in every]
        return Table(names[0], f"{title[0].upper()}{title[1:]}", self.caption(), headings, cells)

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

EVERY = np.arange(1, N_CANDIDATES + 1)
SAMPLED = 99
"""Negatives of tables 1 and 2."""

TOP, CLOSE, SHOWN = 100, 1000, 20
"""Last ranks of figure 1 (right), figures 3 and 4, and ranks in the sample of figure 4."""

FIGURE_SIZES = (10, 50, 100, 500, 1000)
"""Negatives of figure 3."""

NEGATIVES = 100
CORRECTIONS = (*(f"bv(gamma={gamma:g})" for gamma in (1, 0.1, 0.01, 0.001)), "cls")
"""Corrections of figure 4, from so many negatives."""


def expected_by_size(metric: RankMetric, ranks: FullRanks, replace: bool) -> Floats:
    r"""Give the expected sampled metric of users with one relevant item each: (n_irrelevant,).

    Leaving out one of m negatives at random gives a sample of m - 1, so that

    .. math:: c_{m-1}(x) = \frac{m - x}{m} c_m(x) + \frac{x + 1}{m} c_m(x + 1)

    leads from the shares c of items with x of all negatives above to those of 1, 2, ... negatives.
    """
    largest = int(ranks.n_irrelevant.min())
    if metric.name == "AUC":
        return np.full(largest, metric.exact(ranks))  # unbiased from any sample
    shares = expected_counts(ranks, np.zeros_like(ranks.rank), m=largest, replace=replace)[0]
    values, rising = metric(np.arange(1, largest + 2), n=largest + 1), np.arange(largest + 1.0)
    total = np.empty(largest)
    for m in range(largest, 0, -1):
        total[m - 1] = (shares * values[: m + 1]).sum()
        shares = (shares[:-1] * rising[m:0:-1] + shares[1:] * rising[1 : m + 1]) / m
    return total / len(ranks)


def orderings(values: Floats) -> list[tuple[int, str]]:
    """Give the orderings of the lists, as ``B > A = C``, each with the place at which it starts.

    Values are of shape (n_systems, n_sizes), and are rounded before they are compared.
    """
    texts = [""]
    for column in np.round(-values, DECIMALS).T.tolist():
        groups = groupby(sorted(zip(column, LISTS, strict=True)), key=itemgetter(0))
        texts.append(" > ".join(" = ".join(name for _, name in own) for _, own in groups))
    return [(n, text) for n, text in enumerate(texts[1:]) if text != texts[n]]


def _exact_rows(found: Example) -> Rows:
    """Give the rows of table 1: ranks and metrics of each list."""
    for s, (system, ranks) in enumerate(LISTS.items()):
        place: Labels = {"dataset": f"toy (n={N_CANDIDATES})", "system": system}
        for n, rank in enumerate(ranks.rank.tolist(), start=1):
            names: Labels = {"metric": "predicted rank", "paper_metric": "Predicted Ranks"}
            yield place | names | {"cutoff": "", "instance": n, "value": rank}
        for metric, values in zip(found.names, found.exact, strict=True):
            yield place | paper_metric(metric) | {"instance": "", "value": float(values[s])}


def _sampled_rows(found: Example) -> Rows:
    """Give the rows of table 2, those of table 1 with what is sampled and its deviation."""
    how: Labels = {"estimator": "uncorrected", "m_negatives": SAMPLED, "repeats": "exact"}
    of_metrics = zip(found.expected.T.flat, found.sd.T.flat, strict=True)
    for row in _exact_rows(found):
        rank, is_rank = row.pop("value"), bool(row["instance"])
        value, sd = (rank, "") if is_rank else map(float, next(of_metrics))
        yield row | (dict.fromkeys(how, "") if is_rank else how) | {"value": value, "sd": sd}


class Example(Result):
    """Tables 1 and 2 and figures 1 to 4 of Krichene & Rendle (2020), and of Rendle (2019).

    Three lists of ranks that sampling orders wrongly. ``exact``, ``expected`` and ``sd`` (over
    samples, of the mean over the users) are of shape (n_metrics, n_lists). The printed table 2 was
    simulated; means and deviations here are the exact ones.
    """

    names = ("AUC", "AP", "nDCG", "Recall@10")
    views = ("all ranks", f"the first {TOP}")
    sides = (f"the first {SHOWN} ranks in the sample", "true ranks")

    def __init__(self) -> None:
        metrics, lists = [*map(rank_metric, self.names)], [*LISTS.values()]
        values = np.array([one(np.arange(1, SAMPLED + 2), n=SAMPLED + 1) for one in metrics]).T
        pmf = np.array([sampled_rank_pmf(of.rank, n=N_CANDIDATES, m=SAMPLED) for of in lists])
        pmf /= pmf.sum(axis=2, keepdims=True)
        means = pmf @ values
        variances = np.maximum(pmf @ values**2 - means**2, 0.0)
        self.exact = np.array([[one.exact(some) for some in lists] for one in metrics])
        self.expected = means.mean(axis=1).T
        self.sd = np.sqrt(variances.sum(axis=1)).T / means.shape[1]

    @cached_property
    def by_size(self) -> Mapping[str, Floats]:
        """Expected metrics, of 1, 2, ... all negatives: (n_lists, n_sizes), by metric."""
        return {
            name: np.array([expected_by_size(rank_metric(name), of, True) for of in LISTS.values()])
            for name in self.names
        }

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give the tables of both papers, and the orders by number of negatives."""
        import pandas as pd

        tables = {face.name: face.make(self) for face in tables_of(Example)}
        return {name: pd.DataFrame(of.rows, columns=[*of.headings]) for name, of in tables.items()}

    kdd2020_table1 = paper_table(
        "exact metrics of the lists", _exact_rows, "kdd2020-table1", "rendle2019-table1"
    )
    kdd2020_table2 = paper_table(
        "moments of sampled metrics", _sampled_rows, "kdd2020-table2", "rendle2019-table2"
    )

    @table("example_orders", "orders of the lists by the number of negatives")
    def orders(self) -> Table:
        """Tabulate from how many negatives on each metric is expected to order the lists how."""
        rows: list[list[Cell]] = [
            [metric, order, n + 1]
            for metric, of in self.by_size.items()
            for n, order in orderings(of)
        ]
        title = "Expected orders of the lists by the least number of negatives"
        return Table("example_orders", title, self.caption(), ["metric", "order", "from m ="], rows)

    @figure("kdd2020-figure1", "Metrics by rank", panels="view", comparable=False, wide=True)
    def plot_metrics(self, ax: Axes, *, view: str) -> None:
        """Draw the metrics against all ranks, or the first."""
        ranks = EVERY if view == self.views[0] else EVERY[:TOP]
        curves = {name: rank_metric(name)(ranks, n=N_CANDIDATES) for name in self.names}
        draw_curves(ax, curves, title=view, xlabel="rank", ylabel="metric")

    @figure("kdd2020-figure2", "Metrics by negatives", panels="name", comparable=False, wide=True)
    def plot_sizes(self, ax: Axes, *, name: str) -> None:
        """Draw an expected metric of the lists against the number of negatives (Rendle: 2)."""
        curves = dict(zip(LISTS, self.by_size[name], strict=True))
        labels: dict[str, Any] = {"xlabel": "negatives", "ylabel": f"expected {name}"}
        draw_curves(ax, curves, title=name, xscale="log", **labels)
        for start, _ in orderings(self.by_size[name])[1:]:
            line = ax.axvline(start + 1, color="0.6", linewidth=0.6, zorder=0)
            explain(line, "Vertical lines: here the order of the lists changes.")

    @figure("kdd2020-figure3", "Expected metrics", panels="name", comparable=False, wide=True)
    def plot_expectations(self, ax: Axes, *, name: str) -> None:
        """Draw an expected metric against the rank, by number of negatives (Rendle: 3)."""
        one, curves = rank_metric(name), dict[str, Floats]()
        for m in FIGURE_SIZES:
            curves[f"m = {m:,}"] = _expected_by_rank(one(np.arange(1, m + 2), n=m + 1))
        curves["exact"] = one(EVERY[:CLOSE], n=N_CANDIDATES)
        labels = {"title": name, "xlabel": "rank", "ylabel": f"expected {name}"}
        draw_curves(ax, curves, ordered=True, **labels)

    @figure("kdd2020-figure4", "Corrected AP by rank", panels="side", comparable=False, wide=True)
    def plot_corrections(self, ax: Axes, *, side: str) -> None:
        """Draw corrected values against the rank in the sample, or what is expected of them."""
        sample = SampledRanks.of([1], n_negatives=NEGATIVES, n_candidates=N_CANDIDATES)
        every = map(find_estimator, CORRECTIONS)
        values = {str(one): one.fit(sample).corrected(["AP"])[:, 0] for one in every}
        labels: dict[str, Any] = {"title": side, "xlabel": "rank", "ylabel": "corrected AP"}
        if side == self.sides[0]:
            curves = {name: own[:SHOWN] for name, own in values.items()}
        else:
            curves = {name: _expected_by_rank(own) for name, own in values.items()}
            curves["exact"] = rank_metric("AP")(EVERY[:CLOSE], n=N_CANDIDATES)
            labels |= {"ylabel": "expected corrected AP", "xscale": "log"}
        draw_curves(ax, curves, **labels)

    def caption(self) -> str:
        """Say what is shown."""
        return (
            f"Metrics of five users among {N_CANDIDATES:,} candidates: exact, and expected from "
            f"{SAMPLED} sampled negatives ({NEGATIVES} for corrections)."
        )


def _expected_by_rank(values: Floats) -> Floats:
    """Expect values, of each rank among m negatives and the item, by true rank: (CLOSE,)."""
    pmf = sampled_rank_pmf(EVERY[:CLOSE], n=N_CANDIDATES, m=len(values) - 1, replace=True)
    return np.asarray(pmf @ values)


def draw_curves(
    ax: Axes, curves: Mapping[str, Floats], *, ordered: bool = False, **labels: Any
) -> None:
    """Draw curves of values by rank or cut-off, from 1, with labels of the axes."""
    styles = (gradation_styles if ordered else category_styles)([*curves])
    for (label, style), curve in zip(styles, curves.values(), strict=True):
        if not np.isnan(curve).all():
            own: dict[str, Any] = style | {"marker": ""}
            ax.plot(np.arange(1, len(curve) + 1), curve, label=label, **own)
    ax.set(**labels)
    label_curves(ax, ordered=ordered)
