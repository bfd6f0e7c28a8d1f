"""The conclusions of the papers as statements that are computed from tables, the print's and ours.

A statement is a number of comparisons, and how many of them come out as the paper says. It holds if
all do, and in part if at least half do. A statement on a majority holds if more than half do, and
is open if fewer than `MIN_MAJORITY` are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TypeAlias

import pandas as pd

from analyses.shared.table import unescape_formula

Tables: TypeAlias = Callable[[str], pd.DataFrame]
"""Reads a table by name: columns of labels, as texts, and the column value."""

Count: TypeAlias = tuple[int, int]
"""How many comparisons come out as the paper says, and how many there are."""

MIN_MAJORITY = 6
"""Least number of comparisons of which a sign test could find a majority at the level .05."""

METRICS = ("P", "Recall", "AP", "nDCG", "RR", "bpref", "infAP")
DEEPEST = 100
"""Cut-off at which RecSys 2018 compares metrics."""

TOP_METRICS = ("Recall", "nDCG", "AP")
EXACT, UNCORRECTED = "exact", "uncorrected"
SYSTEMS = ["dataset", "system"]


@dataclass(frozen=True)
class Conclusion:
    """A conclusion of a paper, with the function that counts the comparisons behind it."""

    paper: str
    statement: str
    count: Callable[[Tables], Count]
    is_majority: bool = False
    is_printed: bool = True
    """Whether the paper prints the numbers behind it, not only a picture of them."""

    def verdict(self, n_as_said: int, n: int) -> str:
        """Word whether it holds: "holds", "in part", "does not hold" or "open"."""
        if self.is_majority and n < MIN_MAJORITY:
            return "open"
        if n_as_said == n or (self.is_majority and 2 * n_as_said > n):
            return "holds"
        if 2 * n_as_said >= n and not self.is_majority:
            return "in part"
        return "does not hold"


def cutoffs_agree(tables: Tables) -> Count:
    """Count the pairs of cut-offs of nDCG with a tau of at least .9, by two decimals."""
    frame = tables("recsys2018-figure1")
    pairs = frame[frame["cutoff_row"].astype(float) < frame["cutoff_column"].astype(float)]
    return int((pairs["value"].round(2) >= 0.9).sum()), len(pairs)


def _taus(tables: Tables) -> pd.DataFrame:
    """Tabulate the correlations of measures: both labels are names of metrics."""
    frame = tables("recsys2018-figure5")
    different = frame[frame["metric_row"] != frame["metric_column"]]
    return different.pivot(index="metric_row", columns="metric_column", values="value")


def rr_stands_apart(tables: Tables) -> Count:
    """Count the other metrics with a larger mean correlation than RR."""
    means = _taus(tables).mean()
    return int((means.drop("RR") > means["RR"]).sum()), len(METRICS) - 1


def ap_is_nearest_to_ndcg(tables: Tables) -> Count:
    """Check whether AP correlates most with nDCG."""
    return int(_taus(tables)["AP"].idxmax() == "nDCG"), 1


def _dps(tables: Tables) -> pd.Series[float]:
    """Read DP, the sum of p-values, by metric: lower is better."""
    return tables("recsys2018-table3").set_index("metric")["value"]


def ndcg_and_p_discriminate_best(tables: Tables) -> Count:
    """Count the pairs of nDCG or P and another metric that the former discriminates better in."""
    dps = _dps(tables)
    others = dps.drop(["nDCG", "P"])
    return int((dps["nDCG"] < others).sum() + (dps["P"] < others).sum()), 2 * len(others)


def bpref_discriminates_badly(tables: Tables) -> Count:
    """Count the metrics but RR that discriminate better than bpref."""
    dps = _dps(tables)
    others = dps.drop(["RR", "bpref"])
    return int((others < dps["bpref"]).sum()), len(others)


def _mean_taus(tables: Tables, name: str) -> pd.Series[float]:
    """Average the curves of a table over their levels, by metric and cut-off."""
    frame = tables(name).drop(columns="dataset").astype({"cutoff": int})
    return frame.set_index(["metric", "cutoff"]).astype(float).mean(axis=1)


def _powers(tables: Tables) -> pd.Series[float]:
    """Read DP, the sum of p-values, by metric and cut-off: lower is better."""
    frame = tables("recsys2018-discrimination").astype({"cutoff": int})
    return frame.set_index(["metric", "cutoff"])["value"]


def _count_rising(values: pd.Series[float]) -> Count:
    """Count the pairs of cut-offs of a metric whose deeper one has the larger value."""
    n_rising = 0
    n_pairs = 0
    for metric in METRICS:
        by_cutoff = values.xs(metric, level="metric").sort_index()
        for shallow, deep in combinations(by_cutoff, 2):
            n_rising += deep > shallow
            n_pairs += 1
    return n_rising, n_pairs


def deeper_is_robust_to_random_loss(tables: Tables) -> Count:
    """Count the pairs of cut-offs whose deeper one has the larger mean tau under random loss."""
    return _count_rising(_mean_taus(tables, "recsys2018-sparsity"))


def deeper_is_robust_to_loss_of_popular_items(tables: Tables) -> Count:
    """Count the pairs of cut-offs whose deeper one has the larger mean tau, as popular items go."""
    return _count_rising(_mean_taus(tables, "recsys2018-popularity"))


def deeper_is_discriminative(tables: Tables) -> Count:
    """Count the pairs of cut-offs whose deeper one has the lower DP."""
    return _count_rising(-_powers(tables))


def all_keep_their_order_at_half(tables: Tables) -> Count:
    """Count the metrics whose tau exceeds .9 on half of the judgements, at the deepest cut-off."""
    frame = tables("recsys2018-sparsity")
    taus = frame.loc[frame["cutoff"].astype(int) == DEEPEST, "50"].astype(float)
    return int((taus > 0.9).sum()), len(taus)


def ndcg_and_p_are_most_robust_to_random_loss(tables: Tables) -> Count:
    """Count the pairs of nDCG or P and another metric whose former has the larger mean tau."""
    means = _mean_taus(tables, "recsys2018-sparsity").xs(DEEPEST, level="cutoff")
    others = means.drop(["nDCG", "P"])
    n_larger = sum(int((means[metric] > others).sum()) for metric in ("nDCG", "P"))
    return n_larger, 2 * len(others)


def p_is_most_robust_to_loss_of_popular_items(tables: Tables) -> Count:
    """Count the other metrics with a smaller mean tau than P."""
    means = _mean_taus(tables, "recsys2018-popularity").xs(DEEPEST, level="cutoff")
    return int((means.drop("P") < means["P"]).sum()), len(METRICS) - 1


def rr_is_least_robust_to_loss_of_popular_items(tables: Tables) -> Count:
    """Count the other metrics with a larger mean tau than RR."""
    means = _mean_taus(tables, "recsys2018-popularity").xs(DEEPEST, level="cutoff")
    return int((means.drop("RR") > means["RR"]).sum()), len(METRICS) - 1


def _orders(tables: Tables, metrics: tuple[str, ...]) -> Iterator[tuple[str, str, str, str]]:
    """Yield metric, estimator with gamma, and the systems in exact and in estimated order."""
    frame = tables("kdd2020-table3")
    gammas = [f" {float(gamma):g}" if gamma else "" for gamma in frame["gamma"]]
    frame = frame.assign(way=frame["estimator"] + gammas)
    for metric in metrics:
        values = frame[frame["metric"] == metric].pivot(
            index="system", columns="way", values="value"
        )
        orders = {way: "".join(values[way].sort_values().index) for way in map(str, values)}
        for way, order in orders.items():
            yield metric, way, orders[EXACT], order


def sampling_changes_the_order(tables: Tables) -> Count:
    """Count the metrics of top ranks whose uncorrected values order the systems wrongly."""
    changed = [
        exact != order
        for _, way, exact, order in _orders(tables, TOP_METRICS)
        if way == UNCORRECTED
    ]
    return sum(changed), len(changed)


def auc_keeps_the_order(tables: Tables) -> Count:
    """Check whether uncorrected AUC orders the systems rightly."""
    kept = [
        exact == order for _, way, exact, order in _orders(tables, ("AUC",)) if way == UNCORRECTED
    ]
    return sum(kept), len(kept)


def small_gammas_order_rightly(tables: Tables) -> Count:
    """Count metrics and gammas of at most .1 by which BV orders the systems rightly."""
    ways = ("BV 0.1", "BV 0.01", "BV 0.001")
    right = [exact == order for _, way, exact, order in _orders(tables, TOP_METRICS) if way in ways]
    return sum(right), len(right)


def others_order_wrongly(tables: Tables) -> Count:
    """Count metrics for which the rank estimate, CLS and BV(1) order the systems wrongly."""
    ways = ("rank estimate", "CLS", "BV 1")
    wrong = [exact != order for _, way, exact, order in _orders(tables, TOP_METRICS) if way in ways]
    return sum(wrong), len(wrong)


def corrections_are_nearer(tables: Tables, metrics: tuple[str, ...] = TOP_METRICS) -> Count:
    """Count corrected values that are nearer to the exact ones than the uncorrected."""
    frame = tables("kdd2020-table3")
    n_nearer = n_corrected = 0
    for _, values in frame[frame["metric"].isin(metrics)].groupby(["system", "metric"]):
        exact = values.loc[values["estimator"] == EXACT, "value"].item()
        error = abs(values.loc[values["estimator"] == UNCORRECTED, "value"].item() - exact)
        corrected = values.loc[~values["estimator"].isin([EXACT, UNCORRECTED]), "value"]
        n_nearer += int(((corrected - exact).abs() < error).sum())
        n_corrected += len(corrected)
    return n_nearer, n_corrected


def corrections_of_auc_are_nearer(tables: Tables) -> Count:
    """Count corrected AUCs that are nearer to the exact ones than the uncorrected."""
    return corrections_are_nearer(tables, ("AUC",))


def bv_is_right_in_nine_of_ten(tables: Tables) -> Count:
    """Count pairs of systems and metrics that BV(.1) orders rightly in more than 90 samples."""
    frame = tables("kdd2020-table4")
    is_bv = (frame["estimator"] == "BV") & (frame["gamma"] == "0.1")
    values = frame.loc[is_bv, "value"]
    return int((values > 90).sum()), len(values)


def _least(table: str, estimator: str) -> Callable[[Tables], Count]:
    """Make a function that counts the data sets and systems of which an estimator errs least."""

    def count(tables: Tables) -> Count:
        """Count cases in which the estimator has the smallest mean error of the table."""
        frame = tables(table)
        errors = frame[frame["quantity"] == "average relative error"]
        best = errors.loc[errors.groupby(SYSTEMS)["value"].idxmin(), "estimator"]
        return int((best == estimator).sum()), len(best)

    return count


def adaptive_samples_are_small(tables: Tables) -> Count:
    """Count the systems whose adaptive samples have fewer items in the mean than the fixed ones."""
    frame = tables("aaai2023-table11")
    sizes = frame[frame["quantity"] == "average sample set size"].set_index(SYSTEMS)["value"]
    fixed = frame[frame["estimator"] == "MN_MES"].set_index(SYSTEMS)["sample_set_size"]
    fixed_sizes = fixed.str.replace(",", "").astype(float)
    return int((sizes < fixed_sizes[sizes.index]).sum()), len(sizes)


def _majority(table: str, label: str, more: str, fewer: str) -> Callable[[Tables], Count]:
    """Make a function that counts the parametrisations of which one kind has the larger rho."""

    def count(tables: Tables) -> Count:
        """Count those of the text ``more``, among those of both texts; ties are left out."""
        frame = tables(table)
        totals = frame[frame["dataset"].isin(["total", ""])]
        counts = totals[totals["quantity"] == "parametrizations"].set_index(label)["value"]
        return int(counts[more]), int(counts[more] + counts[fewer])

    return count


RECSYS, KDD = "RecSys 2018", "KDD 2020"
AAAI, THESIS = "AAAI 2023", "Thesis 2021"

CONCLUSIONS = (
    Conclusion(RECSYS, "All cut-offs of nDCG agree with a tau of at least .9", cutoffs_agree),
    Conclusion(RECSYS, "RR stands apart from the other measures", rr_stands_apart),
    Conclusion(RECSYS, "AP is nearest to nDCG", ap_is_nearest_to_ndcg),
    Conclusion(RECSYS, "nDCG and P are most discriminative", ndcg_and_p_discriminate_best),
    Conclusion(RECSYS, "bpref is among the least discriminative", bpref_discriminates_badly),
    Conclusion(
        RECSYS,
        "Deeper cut-offs are more robust to random loss",
        deeper_is_robust_to_random_loss,
        is_printed=False,
    ),
    Conclusion(
        RECSYS,
        "Deeper cut-offs are more robust to loss of popular items",
        deeper_is_robust_to_loss_of_popular_items,
        is_printed=False,
    ),
    Conclusion(
        RECSYS,
        "Deeper cut-offs are more discriminative",
        deeper_is_discriminative,
        is_printed=False,
    ),
    Conclusion(
        RECSYS,
        "Under random loss of half of the test set, tau is above .9",
        all_keep_their_order_at_half,
        is_printed=False,
    ),
    Conclusion(
        RECSYS,
        "nDCG and P are most robust to random loss",
        ndcg_and_p_are_most_robust_to_random_loss,
        is_printed=False,
    ),
    Conclusion(
        RECSYS,
        "P is most robust to loss of popular items",
        p_is_most_robust_to_loss_of_popular_items,
        is_printed=False,
    ),
    Conclusion(
        RECSYS,
        "RR is least robust to loss of popular items",
        rr_is_least_robust_to_loss_of_popular_items,
        is_printed=False,
    ),
    Conclusion(
        KDD, "Sampled Recall, nDCG and AP order systems wrongly", sampling_changes_the_order
    ),
    Conclusion(KDD, "Sampled AUC orders them rightly", auc_keeps_the_order),
    Conclusion(KDD, "Corrections are nearer to exact Recall, nDCG, AP", corrections_are_nearer),
    Conclusion(KDD, "Corrections are nearer to exact AUC", corrections_of_auc_are_nearer),
    Conclusion(KDD, "BV with gamma up to .1 orders systems rightly", small_gammas_order_rightly),
    Conclusion(KDD, "Rank estimate, CLS and BV(1) order them wrongly", others_order_wrongly),
    Conclusion(KDD, "BV(.1) orders a pair rightly in over 90 %", bv_is_right_in_nine_of_ten),
    Conclusion(AAAI, "MN_MES errs least: Recall, 100 items", _least("aaai2023-table6", "MN_MES")),
    Conclusion(AAAI, "MN_MES errs least: AP, 100 items", _least("aaai2023-table9", "MN_MES")),
    Conclusion(AAAI, "MN_MES errs least: nDCG, 500 items", _least("aaai2023-table10", "MN_MES")),
    Conclusion(AAAI, "Adaptive errs least: nDCG", _least("aaai2023-table7", "adaptive MLE")),
    Conclusion(AAAI, "Adaptive errs least: Recall", _least("aaai2023-table11", "adaptive MLE")),
    Conclusion(AAAI, "Adaptive samples are smaller than fixed ones", adaptive_samples_are_small),
    Conclusion(
        THESIS,
        "LLOO recall follows clicks better than LOO (unequal rhos)",
        _majority("thesis2021-table4.8", "comparison_of_correlation", "LOO < LLOO", "LOO > LLOO"),
        is_majority=True,
    ),
    Conclusion(
        THESIS,
        "Recall with beta > 0 follows clicks better than with beta = 0 (unequal rhos)",
        _majority(
            "thesis2021-table4.9",
            "comparison_of_correlation",
            "beta=0 < beta>0",
            "beta=0 > beta>0",
        ),
        is_majority=True,
    ),
)


def read_tables(folder: Path, *, dataset: Mapping[str, str] | None = None) -> Tables:
    """Make a function that reads tables from a folder of CSV files, the page's or the printed ones.

    ``dataset``: by the name of a paper, the only data set whose rows are read.
    """

    def read(name: str) -> pd.DataFrame:
        """Read a table by name."""
        texts = pd.read_csv(folder / f"{name}.csv", dtype=str, keep_default_na=False)
        frame = texts.map(unescape_formula).rename(columns={"ours": "value"})
        if "dataset" not in frame:
            frame["dataset"] = ""
        chosen = (dataset or {}).get(name.partition("-")[0])
        if chosen is not None:
            frame = frame[frame["dataset"] == chosen]
        if "value" in frame:
            frame = frame.assign(value=frame["value"].astype(float))
        return frame.reset_index(drop=True)

    return read


def tabulate(tables: Tables, who: str, *, printed_only: bool = False) -> pd.DataFrame:
    """Tabulate all conclusions: how many comparisons come out as said, and whether they hold.

    Columns paper, conclusion, the name ``who`` (such as "7 of 10") and ``who`` + " verdict". If
    ``printed_only``, conclusions from pictures are not computed: their numbers are empty.
    """
    rows = []
    for conclusion in CONCLUSIONS:
        if printed_only and not conclusion.is_printed:
            rows.append((conclusion.paper, conclusion.statement, "", "picture only"))
            continue
        n_as_said, n = conclusion.count(tables)
        verdict = conclusion.verdict(n_as_said, n)
        rows.append((conclusion.paper, conclusion.statement, f"{n_as_said} of {n}", verdict))
    return pd.DataFrame(rows, columns=["paper", "conclusion", who, f"{who} verdict"])


def write_conclusions(page: Path, printed: Path) -> None:
    """Write the table of all conclusions, by the printed tables and by ours."""
    print_tables = read_tables(printed, dataset={"recsys2018": "MovieLens 1M"})
    by_print = tabulate(print_tables, "print", printed_only=True)[["print", "print verdict"]]
    ours = tabulate(read_tables(page), "ours")
    columns = ["paper", "conclusion", "print", "print verdict", "ours", "ours verdict"]
    table = pd.concat([ours, by_print], axis=1)[columns]
    table.to_csv(page / "conclusions.csv", index=False)
