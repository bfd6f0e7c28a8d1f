"""Tables 4.3 to 4.11 of Kasalický (2021), with the columns in which his numbers are kept.

They are made of two tidy frames: values (dataset, system, measure, value) and rhos (dataset,
measure, rho), both with the columns of `label_measures`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from analyses.ordering import DECIMALS
from analyses.recall.parametrisations import find_parametrisation

if TYPE_CHECKING:
    import pandas as pd

CELL: Final = ["beta", "cutoff", "weights"]
BINS: Final = ("[-1.0, -0.5]", "(-0.5, 0.0]", "(0.0, 0.5]", "(0.5, 1.0]")
VALIDATIONS: Final = {1: "LOO > LLOO", 0: "LOO = LLOO", -1: "LOO < LLOO"}
BETAS: Final = {1: "beta=0 > beta>0", 0: "beta=0 = beta>0", -1: "beta=0 < beta>0"}
N_BEST: Final = 10


def label_measures(measures: Sequence[str]) -> pd.DataFrame:
    """Give columns measure, validation, beta, cutoff and weights.

    All but the first are missing where the measure is no recall of hidden items.
    """
    import pandas as pd

    found = [find_parametrisation(name) for name in measures]
    columns = {
        "measure": list(measures),
        "validation": [one.validation if one else None for one in found],
        "beta": [one.beta if one else float("nan") for one in found],
        "cutoff": pd.array([one.cutoff if one else None for one in found], dtype="Int64"),
        "weights": [one.weights if one else None for one in found],
    }
    return pd.DataFrame(columns)


def thesis_tables(
    values: pd.DataFrame, rhos: pd.DataFrame, *, chosen: Sequence[str]
) -> dict[str, pd.DataFrame]:
    """Give all tables that have rows, by name.

    Tables 4.7 and 4.11 are those of the chosen data sets, if these are not all. Cells of table 4.10
    are a data set, a cut-off, a validation and a beta above 0: LOO and LLOO are compared at that
    beta, and beta = 0 with that beta under that validation. Cells where a rho is undefined are not
    counted. Counts of cells are no sample sizes.
    """
    every = list(dict.fromkeys(rhos["dataset"]))
    subset = [name for name in every if name in chosen]
    grid = rhos.dropna(subset=["validation"])
    validations, betas = _validation_signs(grid), _beta_signs(grid)
    sums = {" + ".join(subset): subset} if len(subset) < len(every) else {}
    sums |= {"total": every} if len(every) > 1 else {}
    tables = {
        "4.3": _recalls(values),
        "4.4": _levels(values),
        "4.5": _best(grid, every),
        "4.6": _bins(rhos),
        "4.7": _best(grid, subset),
        "4.8": _comparison(validations, VALIDATIONS, every, sums),
        "4.9": _comparison(betas["sign"], BETAS, every, sums),
        "4.10": _crossed(validations, betas, every),
        "4.11": _crossed(validations, betas, subset),
    }
    if len(subset) == len(every):
        del tables["4.7"], tables["4.11"]
    return {f"thesis2021-table{n}": frame for n, frame in tables.items() if len(frame)}


def _recalls(values: pd.DataFrame) -> pd.DataFrame:
    """Table 4.3: recall at cut-off 5 with beta = 1."""
    some = values[(values["beta"] == 1) & (values["cutoff"] == 5)]
    some = some.sort_values(["dataset", "system"], kind="stable", key=_in_order)
    some = some.assign(
        metric="Recall",
        paper_metric="PS-UN-" + some["validation"] + " recall",
        value=100 * some["value"],
        unit="%",
        note=some["weights"] + " weights",
    )
    first = ["dataset", "system", "metric", "paper_metric", "validation", "beta", "cutoff"]
    return some[[*first, "value", "unit", "note"]].reset_index(drop=True)


def _in_order(names: pd.Series[Any]) -> pd.Series[Any]:
    """Number names by their first appearance, to sort by."""
    return names.map({name: place for place, name in enumerate(names.unique())})


def _levels(values: pd.DataFrame) -> pd.DataFrame:
    """Table 4.4: in how many cells (model, beta, cut-off) the LOO value is the larger."""
    wide = _by_validation(values, ["dataset", "system", *CELL], "value")
    larger = (wide["LOO"] > wide["LLOO"]).groupby("dataset", sort=False)
    rows = []
    for name, own in larger:
        common = {"dataset": name, "note": f"out of {len(own)} cells (model, beta, cut-off)"}
        count = {"quantity": "count of model x beta x K with LOO > LLOO recall", "unit": ""}
        share = {"quantity": "portion with LOO > LLOO recall", "unit": "%"}
        rows += [
            common | count | {"value": int(own.sum())},
            common | share | {"value": 100 * own.mean()},
        ]
    return _frame(rows, ["dataset", "quantity", "value", "unit", "note"])


def _best(grid: pd.DataFrame, datasets: Sequence[str]) -> pd.DataFrame:
    """Tables 4.5 and 4.7: the ten parametrisations of the largest mean rho over data sets."""
    some = grid[grid["dataset"].isin(datasets)]
    keys = ["measure", "validation", *CELL]
    groups = some.groupby(keys, sort=False)["rho"]
    ranked = groups.agg(minimal="min", average="mean", maximum="max", defined="count")
    ranked = ranked[ranked["defined"] == len(datasets)].round(DECIMALS)
    ranked = ranked.sort_values("average", ascending=False, kind="stable").head(N_BEST)
    rows = [
        {
            "row": place,
            "datasets": ", ".join(datasets),
            "validation": validation,
            "beta": beta,
            "cutoff": cutoff,
            "quantity": "Spearman rho of Recall and CTR",
            "statistic": statistic,
            "value": own[statistic],
            "note": f"{weights} weights",
        }
        for place, ((_, validation, beta, cutoff, weights), own) in enumerate(ranked.iterrows(), 1)
        for statistic in ("minimal", "average", "maximum")
    ]
    first = ["row", "datasets", "validation", "beta", "cutoff", "quantity", "statistic"]
    return _frame(rows, [*first, "value", "note"])


def _bins(rhos: pd.DataFrame) -> pd.DataFrame:
    """Table 4.6: how many rhos are how large."""
    import pandas as pd

    bins = pd.cut(rhos["rho"], [-1.0, -0.5, 0.0, 0.5, 1.0], labels=BINS, include_lowest=True)
    counts = pd.crosstab(rhos["dataset"], bins, dropna=False)
    rows = []
    for name in dict.fromkeys(rhos["dataset"]):
        n_measures = int((rhos["dataset"] == name).sum())
        for label in BINS:
            count = int(counts.loc[name, label].item()) if label in counts else 0
            rows += _counted({"dataset": name, "spearman_interval": label}, count, n_measures)
    columns = ["dataset", "spearman_interval", "quantity", "value", "unit", "note"]
    return _frame(rows, columns)


def _validation_signs(grid: pd.DataFrame) -> pd.Series[Any]:
    """Give 1 where LOO has the larger rho than LLOO, 0 or -1, by data set and cell."""
    wide = _by_validation(grid, ["dataset", *CELL], "rho")
    return (wide["LOO"] - wide["LLOO"]).map(np.sign)


def _by_validation(frame: pd.DataFrame, keys: Sequence[str], value: str) -> pd.DataFrame:
    """Give columns LOO and LLOO, of cells that both have."""
    some = frame.dropna(subset=["validation"])
    sides = (some[some["validation"] == name] for name in ("LOO", "LLOO"))
    loo, lloo = (side.set_index([*keys])[value] for side in sides)
    return loo.to_frame("LOO").join(lloo.rename("LLOO"), how="inner")


def _beta_signs(grid: pd.DataFrame) -> pd.DataFrame:
    """Give 1 where beta = 0 has the larger rho than a beta above, 0 or -1, in a column sign."""
    keys = ["dataset", "validation", "cutoff", "weights"]
    zero = grid.loc[grid["beta"] == 0, [*keys, "rho"]]
    pairs = grid[grid["beta"] > 0].merge(zero, on=keys, suffixes=("", "_zero"))
    signs = pairs.assign(sign=np.sign(pairs["rho_zero"] - pairs["rho"]))
    return signs.set_index(["dataset", *CELL, "validation"])[["sign"]]


def _comparison(
    signs: pd.Series[Any],
    names: Mapping[int, str],
    datasets: Sequence[str],
    sums: Mapping[str, Sequence[str]],
) -> pd.DataFrame:
    """Tables 4.8 and 4.9: how often each side has the larger rho, by data set and over several."""
    rows = []
    places = signs.index.get_level_values("dataset")
    for name, members in {**{each: [each] for each in datasets}, **sums}.items():
        own = signs[places.isin(members)]
        for sign, comparison in names.items() if len(own) else ():
            first = {"dataset": name, "comparison_of_correlation": comparison}
            rows += _counted(first, int((own == sign).sum()), len(own))
    columns = ["dataset", "comparison_of_correlation", "quantity", "value", "unit", "note"]
    return _frame(rows, columns)


def _crossed(
    validations: pd.Series[Any], betas: pd.DataFrame, datasets: Sequence[str]
) -> pd.DataFrame:
    """Tables 4.10 and 4.11: both comparisons crossed, in percent of the cells."""
    cells = betas.reset_index("validation").join(validations.rename("other"), how="inner").dropna()
    cells = cells[cells.index.get_level_values("dataset").isin(datasets)]
    rows = []
    for beta, of_beta in [*BETAS.items(), (None, "total")] if len(cells) else ():
        for validation, of_validation in [*VALIDATIONS.items(), (None, "total")]:
            hit = np.ones(len(cells), dtype=np.bool_)
            hit &= True if beta is None else (cells["sign"] == beta).to_numpy()
            hit &= True if validation is None else (cells["other"] == validation).to_numpy()
            row = {
                "datasets": ", ".join(datasets),
                "penalisation_comparison": of_beta,
                "validation_comparison": of_validation,
                "value": 100 * hit.mean(),
                "unit": "%",
                "note": f"{hit.sum()} of {len(cells)} cells",
            }
            rows.append(row)
    first = ["datasets", "penalisation_comparison", "validation_comparison"]
    return _frame(rows, [*first, "value", "unit", "note"])


def _counted(first: Mapping[str, str], count: int, total: int) -> list[dict[str, Any]]:
    """Give a row with a count, and one with its percentage."""
    rest = {"note": f"out of {total}"}
    share = {"quantity": "share of parametrizations", "value": 100 * count / total, "unit": "%"}
    number = {"quantity": "parametrizations", "value": count, "unit": ""}
    return [{**first, **number, **rest}, {**first, **share, **rest}]


def _frame(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    # Counts stay whole numbers beside percentages.
    return pd.DataFrame(rows, columns=[*columns], dtype=object)
