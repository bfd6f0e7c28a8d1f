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

CELL: Final = ["beta", "cutoff", "weights"]
BINS: Final = ("[-1.0, -0.5]", "(-0.5, 0.0]", "(0.0, 0.5]", "(0.5, 1.0]")
VALIDATIONS: Final = {1: "LOO > LLOO", 0: "LOO = LLOO", -1: "LOO < LLOO"}
BETAS: Final = {1: "beta=0 > beta>0", 0: "beta=0 = beta>0", -1: "beta=0 < beta>0"}
LEVELS = ("count of model x beta x K with LOO > LLOO recall", "portion with LOO > LLOO recall")
TOTAL: Final = {"All": "total"}
N_BEST: Final = 10


def thesis_table(number: str, title: str, note: str = "") -> Callable[[Any], Table]:
    """Declare a table that shows the frame of a result that has the table's name."""
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

    By default the frame has the name of the table, and the note is the caption of the result.
    """

    def tabulate(self: Result) -> Table:
        import pandas as pd

        found, heading = self.frames().get(frame or name), title[0].upper() + title[1:]
        rows = pd.DataFrame() if found is None else part(found)
        return frame_table(name, heading, rows, note or self.caption(), decimals=decimals)

    return table(name, title, alias)(tabulate)


def label_measures(measures: Sequence[str]) -> pd.DataFrame:
    """Give columns measure, validation, beta, cutoff and weights.

    All but the first are missing where the measure is no recall of hidden items.
    """
    import pandas as pd

    names = pd.Series([*measures], dtype=object)
    parts = names.str.extract(f"^{PRINTED}$").astype(object)
    is_recall = parts["validation"].notna()
    return pd.DataFrame(
        {
            "measure": names,
            "validation": parts["validation"].where(is_recall, None),
            "beta": parts["beta"].astype(float),
            "cutoff": pd.to_numeric(parts["cutoff"]).astype("Int64"),
            "weights": parts["weights"].fillna("uniform").where(is_recall, None),
        }
    )


def thesis_tables(
    values: pd.DataFrame, rhos: pd.DataFrame, *, chosen: Sequence[str]
) -> dict[str, pd.DataFrame]:
    """Give tables 4.3 to 4.11, as far as they have rows, by name.

    Tables 4.7 and 4.11 are those of the chosen data sets, if these are not all. Cells of table 4.10
    are a data set, a cut-off, a validation and a beta above 0: LOO and LLOO are compared at that
    beta, and beta = 0 with that beta under that validation. Cells where a rho is undefined are not
    counted. Counts of cells are no sample sizes.
    """
    import pandas as pd

    every = list(dict.fromkeys(rhos["dataset"]))
    subset = [name for name in every if name in chosen]
    alone = {name: [name] for name in every}
    groups = alone | ({" + ".join(subset): subset} if len(subset) < len(every) else {})
    groups |= {"total": every} if len(every) > 1 else {}
    grid = rhos.dropna(subset=["validation"])
    wide = _by_validation(grid, ["dataset", *CELL], "rho")
    validations = wide.assign(sign=np.sign(wide["LOO"] - wide["LLOO"]))
    keys = ["dataset", "validation", "cutoff", "weights"]
    zero = grid.loc[grid["beta"] == 0, [*keys, "rho"]]
    betas = grid[grid["beta"] > 0].merge(zero, on=keys, suffixes=("", "_zero"))
    betas = betas.assign(sign=np.sign(betas["rho_zero"] - betas["rho"]))
    both = betas.merge(validations, on=["dataset", *CELL], suffixes=("", "_validation"))
    levels = _by_validation(values, ["dataset", "system", *CELL], "value")
    levels = levels.assign(sign=levels["LOO"] > levels["LLOO"])
    edges = [-1.0, -0.5, 0.0, 0.5, 1.0]
    bins = pd.cut(rhos["rho"], edges, labels=BINS, include_lowest=True).astype(object)
    comparison = "comparison_of_correlation"
    tables = {
        "4.3": _recalls(values),
        "4.4": _counts(levels, {True: ""}, alone, "", *LEVELS).drop(columns=""),
        "4.5": _best(grid, every),
        "4.6": _counts(rhos.assign(sign=bins), dict.fromkeys(BINS), alone, "spearman_interval"),
        "4.8": _counts(validations, VALIDATIONS, groups, comparison),
        "4.9": _counts(betas, BETAS, groups, comparison),
        "4.10": _crossed(both, every),
    }
    if len(subset) < len(every):
        tables |= {"4.7": _best(grid, subset), "4.11": _crossed(both, subset)}
    return {f"thesis2021-table{n}": frame for n, frame in tables.items() if len(frame)}


def _recalls(values: pd.DataFrame) -> pd.DataFrame:
    """Table 4.3: recall at cut-off 5 with beta = 1."""
    some = values[(values["beta"] == 1) & (values["cutoff"] == 5)]
    names = dict.fromkeys([*some["dataset"], *some["system"]])
    places = {name: place for place, name in enumerate(names)}
    some = some.sort_values(["dataset", "system"], kind="stable", key=lambda c: c.map(places))
    some = some.assign(
        metric="Recall",
        paper_metric="PS-UN-" + some["validation"] + " recall",
        value=100 * some["value"],
        unit="%",
        note=some["weights"] + " weights",
    )
    first = ["dataset", "system", "metric", "paper_metric", "validation", "beta", "cutoff"]
    return some[[*first, "value", "unit", "note"]].reset_index(drop=True)


def _by_validation(frame: pd.DataFrame, keys: Sequence[str], value: str) -> pd.DataFrame:
    """Give columns LOO and LLOO beside the keys, of cells that both have."""
    sides = [frame[frame["validation"] == name] for name in ("LOO", "LLOO")]
    loo, lloo = (side[[*keys, value]] for side in sides)
    return loo.rename(columns={value: "LOO"}).merge(
        lloo.rename(columns={value: "LLOO"}), on=[*keys], how="inner"
    )


def _best(grid: pd.DataFrame, datasets: Sequence[str]) -> pd.DataFrame:
    """Tables 4.5 and 4.7: the ten parametrisations of the largest mean rho over data sets."""
    some = grid[grid["dataset"].isin(datasets)]
    keys = ["measure", "validation", *CELL]
    ranked = some.groupby(keys, sort=False)["rho"].agg(
        minimal="min", average="mean", maximum="max", defined="count"
    )
    ranked = ranked[ranked["defined"] == len(datasets)].drop(columns="defined").round(DECIMALS)
    ranked = ranked.sort_values("average", ascending=False, kind="stable").head(N_BEST)
    ranked = ranked.reset_index().assign(row=range(1, len(ranked) + 1))
    long = ranked.melt(["row", *keys], var_name="statistic").sort_values("row", kind="stable")
    long["datasets"] = ", ".join(datasets)
    long["quantity"] = "Spearman rho of Recall and CTR"
    long["note"] = long["weights"] + " weights"
    first = ["row", "datasets", "validation", "beta", "cutoff", "quantity", "statistic"]
    return long[[*first, "value", "note"]].reset_index(drop=True)


def _counts(
    cells: pd.DataFrame,
    labels: Mapping[Any, str | None],
    groups: Mapping[str, Sequence[str]],
    column: str,
    counted: str = "parametrizations",
    shared: str = "share of parametrizations",
) -> pd.DataFrame:
    """Tables 4.4, 4.6, 4.8 and 4.9: how many cells of some data sets have which sign."""
    import pandas as pd

    rows: list[tuple[Any, ...]] = []
    for name, members in groups.items():
        own = cells.loc[cells["dataset"].isin(members), "sign"]
        for sign, label in labels.items() if len(own) else ():
            count, note = int((own == sign).sum()), f"out of {len(own)}"
            first, share = (name, sign if label is None else label), 100 * count / len(own)
            rows.append((*first, counted, count, "", note))
            rows.append((*first, shared, share, "%", note))
    columns = ["dataset", column, "quantity", "value", "unit", "note"]
    # Counts stay whole numbers beside percentages.
    return pd.DataFrame(rows, columns=columns, dtype=object)


def _crossed(cells: pd.DataFrame, datasets: Sequence[str]) -> pd.DataFrame:
    """Tables 4.10 and 4.11: both comparisons crossed, in percent of the cells."""
    import pandas as pd

    known = cells[cells["dataset"].isin(datasets)].dropna(subset=["sign", "sign_validation"])
    if known.empty:
        return known
    penalisations, validations = BETAS | TOTAL, VALIDATIONS | TOTAL
    counts = pd.crosstab(known["sign"], known["sign_validation"], margins=True)
    counts = counts.reindex(index=[*penalisations], columns=[*validations], fill_value=0)
    rows = [
        (", ".join(datasets), beta, validation, 100 * n / len(known), "%", n)
        for beta, row in zip(penalisations.values(), counts.to_numpy(), strict=True)
        for validation, n in zip(validations.values(), row, strict=True)
    ]
    columns = ["datasets", "penalisation_comparison", "validation_comparison"]
    frame = pd.DataFrame(rows, columns=[*columns, "value", "unit", "note"], dtype=object)
    return frame.assign(note=[f"{n} of {len(known)} cells" for n in frame["note"]])
