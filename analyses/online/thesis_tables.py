"""Tables 4.1 to 4.11 of Kasalický (2021), with the columns in which his numbers are kept.

Tables 4.3 to 4.11 are made of two tidy frames: values (dataset, system, measure, value) and rhos
(dataset, measure, rho), both with the columns of `label_measures`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from analyses.ordering import DECIMALS
from analyses.recall.parametrisations import PRINTED
from analyses.shared.result import Result, table
from analyses.shared.table import Table, frame_table

if TYPE_CHECKING:
    import pandas as pd

CELL_KEYS: Final = ["beta", "cutoff", "weights"]
BINS: Final = ("[-1.0, -0.5]", "(-0.5, 0.0]", "(0.0, 0.5]", "(0.5, 1.0]")
VALIDATIONS: Final = {1: "LOO > LLOO", 0: "LOO = LLOO", -1: "LOO < LLOO"}
BETAS: Final = {1: "beta=0 > beta>0", 0: "beta=0 = beta>0", -1: "beta=0 < beta>0"}
LEVELS = ("count of model x beta x K with LOO > LLOO recall", "portion with LOO > LLOO recall")
TOTAL: Final = {"All": "total"}
N_BEST: Final = 10


def thesis_table(number: str, title: str, note: str = "") -> Callable[[Any], Table]:
    """Declare a table that shows the frame of a result that has the table's name.

    For a class of results: the method is assigned to a name. By default the note is the caption.
    """
    name = f"thesis2021-table{number}"
    return frame_of(name, title, note, alias=f"table{number}")


def frame_of(
    name: str,
    title: str,
    note: str = "",
    *,
    frame: str | None = None,
    alias: str | None = None,
    decimals: int = 4,
    part: Callable[[pd.DataFrame], pd.DataFrame] = lambda frame: frame,
) -> Callable[[Any], Table]:
    """Declare a table that shows one of the frames of a result, or a part of it, if it has rows.

    For a class of results: the method is assigned to a name. By default the frame has the name of
    the table, and the note is the caption of the result. ``part`` selects rows and columns of the
    frame. The table is empty if the result does not have the frame.
    """

    def tabulate(self: Result) -> Table:
        """Make the table from the frames of the result."""
        import pandas as pd

        heading = title[0].upper() + title[1:]
        result_frame = self.frames().get(frame or name)
        rows = pd.DataFrame() if result_frame is None else part(result_frame)
        table_note = note or self.caption()
        return frame_table(name, heading, rows, table_note, decimals=decimals)

    return table(name, title, alias)(tabulate)


def label_measures(measures: Sequence[str]) -> pd.DataFrame:
    """Tabulate the parts of the names of measures: measure, validation, beta, cutoff and weights.

    A row for each name, in their order. All but the name are missing where the measure is no recall
    of hidden items, such as LLOO(beta=0.35)@5; weights that the name lacks are "uniform".
    """
    import pandas as pd

    names = pd.Series([*measures], dtype=object)
    parts = names.str.extract(f"^{PRINTED}$").astype(object)
    is_recall = parts["validation"].notna()
    validations = parts["validation"].where(is_recall, None)
    betas = parts["beta"].astype(float)
    cutoffs = pd.to_numeric(parts["cutoff"]).astype("Int64")
    weights = parts["weights"].fillna("uniform").where(is_recall, None)
    columns = {
        "measure": names,
        "validation": validations,
        "beta": betas,
        "cutoff": cutoffs,
        "weights": weights,
    }
    return pd.DataFrame(columns)


def thesis_tables(
    values: pd.DataFrame, rhos: pd.DataFrame, *, chosen: Sequence[str]
) -> dict[str, pd.DataFrame]:
    """Make tables 4.3 to 4.11, as far as they have rows, by name, such as "thesis2021-table4.3".

    ``values``: columns dataset, system and value; ``rhos``: columns dataset and rho; both also have
    measure, validation, beta, cutoff and weights, missing where a measure is no recall.

    Tables 4.7 and 4.11 are those of the chosen data sets, if these are not all. Cells of table 4.10
    are a data set, a cut-off, a validation and a beta above 0: LOO and LLOO are compared at that
    beta, and beta = 0 with that beta under that validation. Cells where a rho is undefined are not
    counted. Counts of cells are no sample sizes.
    """
    datasets = list(dict.fromkeys(rhos["dataset"]))
    subset = [name for name in datasets if name in chosen]
    has_subset = len(subset) < len(datasets)
    single_groups = {name: [name] for name in datasets}
    groups = dict(single_groups)
    if has_subset:
        groups[" + ".join(subset)] = subset
    if len(datasets) > 1:
        groups["total"] = datasets
    grid = rhos.dropna(subset=["validation"])
    validations = _compare_validations(grid)
    betas = _compare_betas(grid)
    both = betas.merge(validations, on=["dataset", *CELL_KEYS], suffixes=("", "_validation"))
    comparison = "comparison_of_correlation"
    tables = {"4.3": _recalls(values)}
    tables["4.4"] = _level_counts(values, single_groups)
    tables["4.5"] = _best_parametrisations(grid, datasets)
    tables["4.6"] = _bin_counts(rhos, single_groups)
    tables["4.8"] = _count_signs(validations, VALIDATIONS, groups, comparison)
    tables["4.9"] = _count_signs(betas, BETAS, groups, comparison)
    tables["4.10"] = _cross_comparisons(both, datasets)
    if has_subset:
        tables["4.7"] = _best_parametrisations(grid, subset)
        tables["4.11"] = _cross_comparisons(both, subset)
    by_name = {}
    for number, frame in tables.items():
        if len(frame):
            by_name[f"thesis2021-table{number}"] = frame
    return by_name


def _compare_validations(grid: pd.DataFrame) -> pd.DataFrame:
    """Compare the rhos of LOO and LLOO by data set, beta, cut-off and weights.

    ``grid``: rhos of recalls. The column sign is 1 where that of LOO is larger, -1 where smaller, 0
    where equal, and NaN where one is undefined.
    """
    wide = _by_validation(grid, ["dataset", *CELL_KEYS], "rho")
    return wide.assign(sign=np.sign(wide["LOO"] - wide["LLOO"]))


def _compare_betas(grid: pd.DataFrame) -> pd.DataFrame:
    """Compare the rho of beta = 0 with that of each larger beta, a row for each.

    ``grid``: rhos of recalls; both are of the same data set, validation, cut-off and weights. The
    column sign is 1 where that of beta = 0 is larger, -1 where smaller, 0 where equal, and NaN
    where one is undefined.
    """
    keys = ["dataset", "validation", "cutoff", "weights"]
    is_zero = grid["beta"] == 0
    is_positive = grid["beta"] > 0
    zero = grid.loc[is_zero, [*keys, "rho"]]
    betas = grid[is_positive].merge(zero, on=keys, suffixes=("", "_zero"))
    return betas.assign(sign=np.sign(betas["rho_zero"] - betas["rho"]))


def _level_counts(values: pd.DataFrame, groups: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Make table 4.4: in how many cells LOO recall is above LLOO recall.

    ``values``: of measures, by data set and system; ``groups``: data sets by the name of a group.
    A cell is a data set, system, beta, cut-off and weights, under which both are known.
    """
    levels = _by_validation(values, ["dataset", "system", *CELL_KEYS], "value")
    levels = levels.assign(sign=levels["LOO"] > levels["LLOO"])
    counts = _count_signs(levels, {True: ""}, groups, "", *LEVELS)
    return counts.drop(columns="")


def _bin_counts(rhos: pd.DataFrame, groups: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Make table 4.6: how many measures have a rho in each of four intervals.

    ``rhos``: columns dataset and rho, of all measures; ``groups``: data sets by the name of a
    group. Shares are of all measures, also those whose rho is undefined.
    """
    import pandas as pd

    edges = [-1.0, -0.5, 0.0, 0.5, 1.0]
    bins = pd.cut(rhos["rho"], edges, labels=BINS, include_lowest=True).astype(object)
    labels = {name: name for name in BINS}
    return _count_signs(rhos.assign(sign=bins), labels, groups, "spearman_interval")


def _recalls(values: pd.DataFrame) -> pd.DataFrame:
    """Make table 4.3: recall at cut-off 5 with beta = 1, in per cent.

    A row for each data set, system and validation, in the order of their first appearance.
    """
    is_shown = (values["beta"] == 1) & (values["cutoff"] == 5)
    rows = values[is_shown]
    # Data sets and systems are sorted by the row in which they first stand.
    names = dict.fromkeys([*rows["dataset"], *rows["system"]])
    positions = {name: position for position, name in enumerate(names)}
    by = ["dataset", "system"]
    rows = rows.sort_values(by, kind="stable", key=lambda column: column.map(positions))
    paper_metric = "PS-UN-" + rows["validation"] + " recall"
    percentages = 100 * rows["value"]
    note = rows["weights"] + " weights"
    rows = rows.assign(
        metric="Recall", paper_metric=paper_metric, value=percentages, unit="%", note=note
    )
    labels = ["dataset", "system", "metric", "paper_metric", "validation", "beta", "cutoff"]
    return rows[[*labels, "value", "unit", "note"]].reset_index(drop=True)


def _by_validation(frame: pd.DataFrame, keys: Sequence[str], value: str) -> pd.DataFrame:
    """Put the values of LOO and LLOO into columns beside the keys, for cells that both have.

    ``value`` is the name of the column of values, ``keys`` those of the columns that form a cell.
    """
    columns = [*keys, value]
    is_loo = frame["validation"] == "LOO"
    is_lloo = frame["validation"] == "LLOO"
    loo = frame.loc[is_loo, columns].rename(columns={value: "LOO"})
    lloo = frame.loc[is_lloo, columns].rename(columns={value: "LLOO"})
    return loo.merge(lloo, on=[*keys], how="inner")


def _best_parametrisations(grid: pd.DataFrame, datasets: Sequence[str]) -> pd.DataFrame:
    """Make tables 4.5 and 4.7: the ten parametrisations of the largest mean rho over data sets.

    ``grid``: rhos of recalls, by data set, measure and its parameters. Each has three rows: the
    smallest, mean and largest rho. Those whose rho is undefined in a data set are left out; there
    are no rows if all are.
    """
    rows = grid[grid["dataset"].isin(datasets)]
    keys = ["measure", "validation", *CELL_KEYS]
    ranked = rows.groupby(keys, sort=False)["rho"].agg(
        minimal="min", average="mean", maximum="max", defined="count"
    )
    is_defined = ranked["defined"] == len(datasets)
    ranked = ranked[is_defined].drop(columns="defined").round(DECIMALS)
    ranked = ranked.sort_values("average", ascending=False, kind="stable").head(N_BEST)
    ranked = ranked.reset_index().assign(row=range(1, len(ranked) + 1))
    long = ranked.melt(["row", *keys], var_name="statistic").sort_values("row", kind="stable")
    long["datasets"] = ", ".join(datasets)
    long["quantity"] = "Spearman rho of Recall and CTR"
    long["note"] = long["weights"] + " weights"
    labels = ["row", "datasets", "validation", "beta", "cutoff", "quantity", "statistic"]
    return long[[*labels, "value", "note"]].reset_index(drop=True)


def _count_signs(
    cells: pd.DataFrame,
    labels: Mapping[Any, str],
    groups: Mapping[str, Sequence[str]],
    column: str,
    count_name: str = "parametrizations",
    share_name: str = "share of parametrizations",
) -> pd.DataFrame:
    """Make tables 4.4, 4.6, 4.8 and 4.9: count the cells of some data sets that have each sign.

    ``cells``: columns dataset and sign (any value to be counted); ``labels``: the text of each sign
    that is counted, which stands in the column of the name ``column``. ``groups``: data sets by the
    name of a group. Two rows for each group and sign: the count, and the share in per cent of all
    cells of the group, also those whose sign has no label. A group without cells has no rows.
    """
    import pandas as pd

    rows: list[tuple[Any, ...]] = []
    for name, datasets in groups.items():
        signs = cells.loc[cells["dataset"].isin(datasets), "sign"]
        n_cells = len(signs)
        if n_cells == 0:
            continue
        note = f"out of {n_cells}"
        for sign, label in labels.items():
            count = int((signs == sign).sum())
            share = 100 * count / n_cells
            rows.append((name, label, count_name, count, "", note))
            rows.append((name, label, share_name, share, "%", note))
    columns = ["dataset", column, "quantity", "value", "unit", "note"]
    # Counts stay whole numbers beside percentages.
    return pd.DataFrame(rows, columns=columns, dtype=object)


def _cross_comparisons(cells: pd.DataFrame, datasets: Sequence[str]) -> pd.DataFrame:
    """Make tables 4.10 and 4.11: both comparisons crossed, in percent of the cells.

    ``cells``: columns dataset, sign (1, 0 or -1: rho of beta = 0 against a larger beta) and
    sign_validation (the same: LOO against LLOO). Cells where one is NaN are left out; no rows if
    none is left. Else a row for each pair of signs, with rows of totals.
    """
    import pandas as pd

    is_chosen = cells["dataset"].isin(datasets)
    defined = cells[is_chosen].dropna(subset=["sign", "sign_validation"])
    if defined.empty:
        return defined
    n_cells = len(defined)
    group_name = ", ".join(datasets)
    beta_labels = BETAS | TOTAL
    validation_labels = VALIDATIONS | TOTAL
    counts = pd.crosstab(defined["sign"], defined["sign_validation"], margins=True)
    counts = counts.reindex(index=[*beta_labels], columns=[*validation_labels], fill_value=0)
    rows: list[tuple[Any, ...]] = []
    for beta, row in zip(beta_labels.values(), counts.to_numpy(), strict=True):
        for validation, count in zip(validation_labels.values(), row, strict=True):
            share = 100 * count / n_cells
            note = f"{count} of {n_cells} cells"
            rows.append((group_name, beta, validation, share, "%", note))
    columns = ["datasets", "penalisation_comparison", "validation_comparison"]
    return pd.DataFrame(rows, columns=[*columns, "value", "unit", "note"], dtype=object)
