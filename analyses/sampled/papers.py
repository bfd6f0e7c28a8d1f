"""Tables of Krichene & Rendle (2020) and Li et al. (2023) as they print them, and an example."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from analyses.sampled.estimators import Estimator, find_estimator
from analyses.sampled.metrics import rank_metric
from analyses.sampled.rank_distribution import sampled_rank_pmf
from analyses.sampled.samples import SampledRanks
from analyses.sampled.sizes import expected_by_size, orderings
from analyses.sampled.trials import moments
from analyses.shared.drawing import axes_or_new, categories, gradations, label_curves
from analyses.shared.result import Result, figure, table, tables_of
from analyses.shared.table import Cell, Table
from qrels import FullRanks

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]
Rows: TypeAlias = "Iterator[dict[str, Cell]]"
Estimates: TypeAlias = Any
"""`analyses.sampled.estimates.Estimates`, a module that imports this one."""

KDD_NAMES = {
    "uncorrected": ("uncorrected", "Sampled (uncorrected)"),
    "rank-estimate": ("rank estimate", "Rank Estimate"),
    "cls": ("CLS", "CLS"),
    "bv": ("BV", "BV"),
}
"""Estimators of Krichene & Rendle by our names, and as they print them."""

ADAPTIVE = "adaptive MLE"
BESIDE_ADAPTIVE = ("BV_MES", "BV_MLE", "MN_MES", "MN_MLE", ADAPTIVE)
"""Estimators of the tables with adaptive samples; the others have those of samples of one size."""


def paper_metric(name: str) -> dict[str, Cell]:
    """Give the columns of a paper's table that name a metric."""
    read = rank_metric(name)
    whole = "" if read.name == "AUC" else "none"
    printed = "NDCG" if read.name == "nDCG" else read.name
    return {"metric": read.name, "paper_metric": printed, "cutoff": read.cutoff or whole}


def _kdd_estimator(one: Estimator) -> dict[str, Cell]:
    """Give the columns that name an estimator of Krichene & Rendle; none for others."""
    if one.name not in KDD_NAMES or one.prior not in ("", "uniform"):
        return {}
    name, printed = KDD_NAMES[one.name]
    gamma = dict(one.options).get("gamma", "")
    text = f"{printed} {gamma:g}" if gamma else printed
    return {"estimator": name, "paper_estimator": text, "gamma": gamma}


def _aaai_estimator(one: Estimator) -> str:
    """Name an estimator as Li et al. print it; nothing if it is none of theirs."""
    prior = one.prior.removeprefix("pooled:").partition("@")[0].upper()
    if one.name in ("mes", "mle"):
        return one.name.upper()
    if one.name == "adaptive-mle":
        return ADAPTIVE
    if prior in ("MES", "MLE"):
        return f"{one.name.upper()}_{prior}"
    return "BV" if one.prior == "uniform" and dict(one.options).get("gamma") == 0.01 else ""


def _kdd_values(found: Estimates) -> Rows:
    mean, sd = 100 * found.estimated.mean(axis=3), 100 * found.sd
    no_sample: dict[str, Cell] = {"estimator": "exact", "paper_estimator": "Exact", "gamma": ""}
    no_sample |= {"m_negatives": "", "repeats": ""}
    for s, n in np.ndindex(len(found.systems), len(found.metrics)):
        labels = {"dataset": found.study, "system": found.systems[s]}
        labels |= paper_metric(found.metrics[n])
        yield labels | no_sample | {"value": 100 * found.exact[n, s], "sd": "", "unit": "%"}
        for way, one in enumerate(map(find_estimator, found.estimators)):
            names = _kdd_estimator(one)
            if names and found.drawings[way] == "uniform":
                sizes = {"m_negatives": found.negatives[way], "repeats": found.n_repeats}
                numbers = {"value": mean[way, n, s], "sd": sd[way, n, s], "unit": "%"}
                yield labels | names | sizes | numbers


def _kdd_orders(found: Estimates) -> Rows:
    columns = ["metric", "cutoff", "system_1", "system_2", "estimator", "m", "repeats", "correct"]
    orders = found.orders().query("drawing == 'uniform'")[columns].astype(object)
    for metric, k, one, other, estimator, *numbers in orders.to_numpy():
        if names := _kdd_estimator(find_estimator(estimator)):
            labels = {"dataset": found.study, "pair": f"{one} vs {other}"}
            labels |= {"system_1": one, "system_2": other}
            labels |= paper_metric(f"{metric}@{k}" if isinstance(k, int) else metric)
            counts = dict(zip(("m_negatives", "repeats", "value"), numbers, strict=True))
            yield (
                labels | names | counts | {"unit": f"correct orders out of {found.n_repeats} runs"}
            )


def _aaai_ways(found: Estimates, adaptive: bool, size: int) -> Rows:
    for way, one in enumerate(found.estimators):
        name = _aaai_estimator(find_estimator(one))
        of_table = name in BESIDE_ADAPTIVE if adaptive else name not in ("", ADAPTIVE)
        if of_table and (name == ADAPTIVE or found.negatives[way] == found.sizes[size]):
            items = "adaptive" if name == ADAPTIVE else found.negatives[way] + 1
            yield {"way": way, "estimator": name, "sample_set_size": items}


def _aaai_errors(
    metric: str, *, adaptive: bool = False, size: int = -1
) -> Callable[[Estimates], Rows]:
    def rows(found: Estimates) -> Rows:
        curves = [n for n, name in enumerate(found.metrics) if rank_metric(name).name == metric]
        names = paper_metric(metric) | {"cutoff": "1-50 (mean over K)"}
        for number, s in np.ndindex(len(curves[:1]), len(found.systems)):
            place = {"dataset": found.study, "system": found.systems[s]}
            for labels in _aaai_ways(found, adaptive, size):
                way = labels.pop("way")
                errors, scored = (
                    found.errors[way, curves[number], s],
                    found.scored_by_repeat[way, s],
                )
                yield (
                    place
                    | names
                    | labels
                    | {"quantity": "average relative error", **_spread(errors), "unit": "%"}
                )
                if labels["estimator"] == ADAPTIVE:
                    yield (
                        place
                        | dict.fromkeys(names, "")
                        | labels
                        | {
                            "quantity": "average sample set size",
                            **_spread(scored),
                            "unit": "items",
                        }
                    )

    return rows


def _spread(values: Floats) -> dict[str, Cell]:
    return {"value": values.mean(), "sd": values.std(ddof=1)}


def _aaai_winners(found: Estimates) -> Rows:
    unit = f"correct winners out of {found.n_repeats} repeats"
    for number, metric in enumerate(found.metrics):
        for labels in _aaai_ways(found, adaptive=True, size=-1):
            share = found.advice_numbers[5, labels.pop("way"), number]
            if rank_metric(metric).name != "AUC" and not np.isnan(share):
                count = {"value": round(share * found.n_repeats), "unit": unit}
                yield {"dataset": found.study} | paper_metric(metric) | labels | count


def paper_table(name: str, title: str, rows: Callable[..., Rows]) -> Any:
    """Declare a table of a paper, a method of a result; its rows are by heading."""

    def make(self: Any) -> Table:
        every = [*rows(self)]
        # Exact values and BV alone are no table: BV is an estimator of both papers.
        if {row.get("estimator") for row in every} <= {"exact", "BV"}:
            every = []
        headings, cells = [*(every[0] if every else ())], [[*row.values()] for row in every]
        return Table(name, f"{title[0].upper()}{title[1:]}", self.caption(), headings, cells)

    make.__name__ = name.replace("-", "_")
    return table(name, title)(make)


Kind = TypeVar("Kind")
TABLES = (
    ("kdd2020-table3", "exact metrics and all corrections, in per cent", _kdd_values),
    ("kdd2020-table4", "repeats that have pairs of systems in true order", _kdd_orders),
    ("aaai2023-table1", "errors of Recall", _aaai_errors("Recall", size=0)),
    ("aaai2023-table2", "errors of nDCG, adaptive", _aaai_errors("nDCG", adaptive=True)),
    ("aaai2023-table3", "repeats that find the best system", _aaai_winners),
    ("aaai2023-table6", "errors of Recall", _aaai_errors("Recall", size=0)),
    ("aaai2023-table7", "errors of nDCG, adaptive", _aaai_errors("nDCG", adaptive=True)),
    ("aaai2023-table8", "repeats that find the best system", _aaai_winners),
    ("aaai2023-table9", "errors of AP", _aaai_errors("AP", size=0)),
    ("aaai2023-table10", "errors of nDCG", _aaai_errors("nDCG")),
    ("aaai2023-table11", "errors of Recall, adaptive", _aaai_errors("Recall", adaptive=True)),
)
"""Tables by name, title and what gives their rows."""


def with_paper_tables(kind: type[Kind]) -> type[Kind]:
    """Give a class of results the tables of the papers."""
    for name, title, rows in TABLES:
        setattr(kind, name.replace("-", "_"), paper_table(name, title, rows))
    return kind


N_CANDIDATES = 10_000
LISTS: Mapping[str, FullRanks] = MappingProxyType(
    {
        name: FullRanks.of(ranks, n_candidates=N_CANDIDATES)
        for name, ranks in (
            ("A", (100, 100, 100, 100, 100)),
            ("B", (40, 40, 8437, 9266, 4482)),
            ("C", (212, 2, 743, 5342, 1548)),
        )
    }
)
"""Ranks of the relevant items of five users, by system; tables 1 and 2 of Krichene & Rendle."""

EXAMPLE_METRICS = ("AUC", "AP", "nDCG", "Recall@10")
EVERY = np.arange(1, N_CANDIDATES + 1)
SAMPLED = 99
"""Negatives of tables 1 and 2."""

EXACT = "exact metrics of the lists"
MOMENTS = "means and deviations of sampled metrics of the lists"
TOP, CLOSE, SHOWN = 100, 1000, 20
"""Last ranks of figure 1 (right), figures 3 and 4, and ranks in the sample of figure 4."""

FIGURE_SIZES = (10, 50, 100, 500, 1000)
"""Negatives of figure 3."""

CORRECTED, NEGATIVES = "AP", 100
"""What figure 4 corrects, from how many negatives."""

CORRECTIONS = (
    *(f"bv(gamma={gamma:g})" for gamma in (1, 0.1, 0.01, 0.001)),
    "cls(nonnegative=true)",
)


def _example_rows(found: Example, *, sampled: bool) -> Rows:
    """Give the rows of table 1 or 2: ranks and metrics of each list."""
    how: dict[str, Cell] = {"estimator": "", "m_negatives": "", "repeats": ""} if sampled else {}
    of_samples: dict[str, Cell] = {"estimator": "uncorrected", "m_negatives": SAMPLED}
    of_samples["repeats"] = "exact"
    of_ranks = {"metric": "predicted rank", "paper_metric": "Predicted Ranks", "cutoff": ""}
    values = found.expected if sampled else found.exact
    for s, (system, ranks) in enumerate(LISTS.items()):
        place = {"dataset": f"toy (n={N_CANDIDATES})", "system": system}
        for n, rank in enumerate(ranks.rank.tolist(), start=1):
            row = place | of_ranks | {"instance": n} | how | {"value": rank}
            yield row | {"sd": ""} if sampled else row
        for m, metric in enumerate(found.names):
            row = place | paper_metric(metric) | {"instance": ""}
            row |= (of_samples if sampled else {}) | {"value": float(values[m, s])}
            yield row | {"sd": float(found.sd[m, s])} if sampled else row


class Example(Result):
    """Tables 1 and 2 and figures 1 to 4 of Krichene & Rendle (2020), and of Rendle (2019).

    Three lists of ranks that sampling orders wrongly. ``exact``, ``expected`` and ``sd`` (over
    samples, of the mean over the users) are of shape (n_metrics, n_lists). The printed table 2 was
    simulated; means and deviations here are the exact ones.
    """

    names = EXAMPLE_METRICS
    views = ("all ranks", f"the first {TOP}")
    sides = (f"the first {SHOWN} ranks in the sample", "true ranks")

    def __init__(self) -> None:
        metrics = [*map(rank_metric, self.names)]
        values = np.array([one(np.arange(1, SAMPLED + 2), n=SAMPLED + 1) for one in metrics]).T
        known = np.array([moments(some, values, replace=True) for some in LISTS.values()]).T
        self.exact = np.array([[one.exact(some) for some in LISTS.values()] for one in metrics])
        self.expected, self.sd = known[:, 0], np.sqrt(known[:, 1])

    @cached_property
    def by_size(self) -> Mapping[str, Floats]:
        """Expected metrics, of 1, 2, ... all negatives: (n_lists, n_sizes), by metric."""
        return {
            name: np.array(
                [expected_by_size(rank_metric(name), one, True) for one in LISTS.values()]
            )
            for name in self.names
        }

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give the tables of both papers, and the orders by number of negatives."""
        import pandas as pd

        tables = [face.make(self) for face in tables_of(Example)]
        return {one.name: pd.DataFrame(one.rows, columns=list(one.headings)) for one in tables}

    kdd2020_table1 = paper_table("kdd2020-table1", EXACT, partial(_example_rows, sampled=False))
    kdd2020_table2 = paper_table("kdd2020-table2", MOMENTS, partial(_example_rows, sampled=True))
    rendle2019_table1 = paper_table(
        "rendle2019-table1", EXACT, partial(_example_rows, sampled=False)
    )
    rendle2019_table2 = paper_table(
        "rendle2019-table2", MOMENTS, partial(_example_rows, sampled=True)
    )

    @table("example_orders", "orders of the lists by the number of negatives")
    def orders(self) -> Table:
        """Tabulate from how many negatives on each metric is expected to order the lists how."""
        rows: list[list[Cell]] = [
            [metric, ordering, start + 1]
            for metric, values in self.by_size.items()
            for start, ordering in orderings([*LISTS], values)
        ]
        title = "From how many negatives on the metric is expected to order the lists how"
        note = "The last order of each metric is the exact one."
        return Table("example_orders", title, note, ["metric", "order", "from m ="], rows)

    @figure("kdd2020-figure1", "Metrics by rank", panels="view", comparable=False, roomy=True)
    def plot_metrics(self, ax: Axes | None = None, *, view: str) -> Axes:
        """Draw the metrics against all ranks, or the first."""
        ranks = EVERY if view == self.views[0] else EVERY[:TOP]
        curves = {name: rank_metric(name)(ranks, n=N_CANDIDATES) for name in self.names}
        return draw_curves(ax, curves, title=view, xlabel="rank", ylabel="metric")

    @figure("kdd2020-figure2", "Metrics by negatives", panels="name", comparable=False, roomy=True)
    def plot_sizes(self, ax: Axes | None = None, *, name: str) -> Axes:
        """Draw an expected metric of the lists against the number of negatives (Rendle: 2)."""
        curves = dict(zip(LISTS, self.by_size[name], strict=True))
        labels: dict[str, Any] = {
            "title": name,
            "xlabel": "sampled negatives",
            "ylabel": f"expected {name}",
        }
        ax = draw_curves(ax, curves, **labels)
        for start, _ in orderings([*LISTS], self.by_size[name])[1:]:
            ax.axvline(start + 1, color="0.6", linewidth=0.6, zorder=0)
        ax.set_xscale("log")
        return ax

    @figure(
        "kdd2020-figure3", "Expected metrics by rank", panels="name", comparable=False, roomy=True
    )
    def plot_expectations(self, ax: Axes | None = None, *, name: str) -> Axes:
        """Draw an expected metric against the rank, by number of negatives (Rendle: 3)."""
        one = rank_metric(name)
        curves = {
            f"m = {m:,}": _expected_by_rank(one(np.arange(1, m + 2), n=m + 1)) for m in FIGURE_SIZES
        }
        curves["exact"] = one(EVERY[:CLOSE], n=N_CANDIDATES)
        labels: dict[str, Any] = {"title": name, "xlabel": "rank", "ylabel": f"expected {name}"}
        return draw_curves(ax, curves, ordered=True, **labels)

    @figure("kdd2020-figure4", "Corrected AP by rank", panels="side", comparable=False, roomy=True)
    def plot_corrections(self, ax: Axes | None = None, *, side: str) -> Axes:
        """Draw corrected values against the rank in the sample, or what is expected of them."""
        sample = SampledRanks.of([1], n_negatives=NEGATIVES, n_candidates=N_CANDIDATES)
        every = map(find_estimator, CORRECTIONS)
        values = {str(one): one.fit(sample).corrected([CORRECTED])[:, 0] for one in every}
        if side == self.sides[0]:
            first = {name: own[:SHOWN] for name, own in values.items()}
            labels: dict[str, Any] = {
                "xlabel": "rank in the sample",
                "ylabel": f"corrected {CORRECTED}",
            }
            return draw_curves(ax, first, title=side, **labels)
        curves = {name: _expected_by_rank(own) for name, own in values.items()}
        curves["exact"] = rank_metric(CORRECTED)(EVERY[:CLOSE], n=N_CANDIDATES)
        labels = {"xlabel": "rank", "ylabel": f"expected corrected {CORRECTED}"}
        ax = draw_curves(ax, curves, title=side, **labels)
        ax.set_xscale("log")
        return ax

    def caption(self) -> str:
        """Say what is shown."""
        return (
            f"Ranks of five users among {N_CANDIDATES:,} candidates, exact metrics, and those "
            f"among negatives drawn with replacement ({SAMPLED} in the tables, "
            f"{NEGATIVES} for corrections): means and standard deviations are exact, not simulated."
        )


def _expected_by_rank(values: Floats) -> Floats:
    """Expect values, of each rank among m negatives and the item, by true rank: (CLOSE,)."""
    pmf = sampled_rank_pmf(EVERY[:CLOSE], n=N_CANDIDATES, m=len(values) - 1, replace=True)
    return np.asarray(pmf @ values)


def draw_curves(
    ax: Axes | None, curves: Mapping[str, Floats], *, ordered: bool = False, **labels: Any
) -> Axes:
    """Draw curves of values by rank or cut-off, from 1, with labels of the axes."""
    ax, styles = axes_or_new(ax), (gradations if ordered else categories)([*curves])
    for (label, style), curve in zip(styles, curves.values(), strict=True):
        if not np.isnan(curve).all():
            own: dict[str, Any] = style | {"marker": ""}
            ax.plot(np.arange(1, len(curve) + 1), curve, label=label, **own)
    ax.set(**labels)
    label_curves(ax, ordered=ordered)
    return ax
