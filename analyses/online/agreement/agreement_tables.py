"""Tables of offline measures and clicks, for reading."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pandas as pd

from analyses.online.agreement.agreement_study import N_BEST, ClickStudy
from analyses.online.agreement.rho_bins import BINS
from analyses.online.agreement.spearman_null import smallest_rho
from analyses.online.agreement.wording import ALPHA, print_p
from analyses.shared.table import Cell, Table
from runs import InputError

CROSSED = (
    "Cells are experiments, cut-offs, validations and betas above 0. Rows compare the rho of LOO "
    "with that of LLOO at that beta, columns that of beta = 0 with that beta's. Cells are no "
    "independent observations."
)


def best_table(study: ClickStudy) -> Table:
    """Tabulate the ten measures with the largest rho: tables 4.5 and 4.7."""
    frame = study.ranking().dropna(subset=["mean"]).head(N_BEST)
    several = len(study.best.chosen) > 1
    columns = {
        "mean": "mean rho" if several else "rho",
        **({"min": "min", "max": "max"} if several else {}),
        "tau_b": "mean tau-b" if several else "tau-b",
        "p_alone": "p alone",
        "p_adjusted": "p as best of all",
    }
    return Table(
        name="online",
        title="The best measures by their agreement with click-through rates",
        note=study.agreement.caption(),
        headings=["measure", *columns.values()],
        rows=_rows(frame, ["measure", *columns]),
        best={},
    )


def orderings_table(study: ClickStudy) -> Table:
    """Tabulate how many different orderings the measures are, and what so many models can show."""
    frame = study.agreement.orderings()
    smallest = [smallest_rho(n_models, alpha=ALPHA) for n_models in frame["models"]]
    names = ["experiment", "models", "measures", "orderings", "most", "undefined"]
    rows = _rows(frame, names)
    return Table(
        name="online_orderings",
        title="Different orderings of the models",
        note="Most: measures that share the most frequent ordering. The last column is the "
        "smallest rho of one measure, named beforehand, that so few random orders reach.",
        headings=[*names, f"rho of chance {print_p(ALPHA)}"],
        rows=[[*row, rho] for row, rho in zip(rows, smallest, strict=True)],
        best={},
    )


def bins_table(study: ClickStudy) -> Table:
    """Tabulate how many measures have how large a rho, observed and by chance: table 4.6."""
    rows: list[list[Cell]] = []
    for experiment, frame in study.agreement.bins().groupby("experiment", sort=False):
        rows.append([f"{experiment}, observed", *frame["count"].tolist()])
        parts = zip(frame["random_mean"], frame["random_low"], frame["random_high"], strict=True)
        by_chance = [f"{mean:,.1f} [{low:,.0f}, {high:,.0f}]" for mean, low, high in parts]
        rows.append([f"{experiment}, random rates", *by_chance])
    return Table(
        name="online_bins",
        title="Measures by their rho",
        note="Random rates: mean and middle 95 % of random orders of the rates. Measures are so "
        "alike that they move together.",
        headings=["experiment", *BINS],
        rows=rows,
        best={},
    )


def levels_table(study: ClickStudy) -> Table:
    """Tabulate in how many cells the LOO value is the larger: table 4.4."""
    frame = _compared(study.agreement.levels())
    return Table(
        name="online_levels",
        title="Cells (model, beta, cut-off) where recall under LOO is above that under LLOO",
        note="The first item of a user cannot be hit under LLOO, which alone makes it smaller.",
        headings=["experiment", "cells", "LOO larger", "share", "orderings"],
        rows=_rows(frame, ["experiment", "cells", "larger", "share", "orderings"]),
        best={},
    )


def validations_table(study: ClickStudy) -> Table:
    """Tabulate whether LOO or LLOO follows the rates better: table 4.8."""
    return _signs_table(
        study.agreement.validations(),
        name="online_validations",
        title="Rho under LOO and under LLOO, at the same beta and cut-off",
        headings=("LOO better", "equal", "LLOO better"),
    )


def betas_table(study: ClickStudy) -> Table:
    """Tabulate whether beta = 0 follows the rates better than a beta above: table 4.9."""
    return _signs_table(
        study.agreement.betas(),
        name="online_betas",
        title="Rho of beta = 0 and of betas above 0, at the same validation and cut-off",
        headings=("beta = 0 better", "equal", "beta > 0 better"),
    )


def crossed_table(study: ClickStudy) -> Table:
    """Cross the two comparisons, over all experiments: table 4.10."""
    return _crossed(study, "online_crossed", ", ".join(study.agreement.experiments))


def crossed_chosen_table(study: ClickStudy) -> Table:
    """Cross the two comparisons, over the experiments that were chosen: table 4.11."""
    return _crossed(study, "online_crossed_chosen", ", ".join(study.best.chosen))


TABLES: Mapping[str, Callable[[ClickStudy], Table]] = {
    "online": best_table,
    "online_orderings": orderings_table,
    "online_bins": bins_table,
    "online_levels": levels_table,
    "online_validations": validations_table,
    "online_betas": betas_table,
    "online_crossed": crossed_table,
    "online_crossed_chosen": crossed_chosen_table,
}
"""All tables by name, in the order in which they are read; what lacks data raises InputError."""


def tables_of(study: ClickStudy) -> list[Table]:
    """Make those tables that the study has something for."""
    known = study.frames()
    return [make(study) for name, make in TABLES.items() if name in known]


def _crossed(study: ClickStudy, name: str, where: str) -> Table:
    frame = study.frames().get(name)
    if frame is None:
        raise InputError(f"no cells were compared for the table {name}.")
    first = ["LOO better", "equal", "LLOO better"]
    rows = _rows(frame, [str(sign) for sign in frame.columns[1:]])
    return Table(
        name=name,
        title=f"LOO and LLOO by beta = 0 and beta > 0: {where}",
        note=CROSSED,
        headings=["rho", "beta = 0 better", "equal", "beta > 0 better"],
        rows=[[heading, *row] for heading, row in zip(first, rows, strict=True)],
        best={},
    )


def _signs_table(frame: pd.DataFrame, *, name: str, title: str, headings: Sequence[str]) -> Table:
    columns = ["experiment", "cells", ">", "=", "<", "undefined", "orderings"]
    return Table(
        name=name,
        title=title,
        note="Counts of cells are no sample sizes: mind the number of orderings.",
        headings=["experiment", "cells", *headings, "undefined", "orderings"],
        rows=_rows(_compared(frame), columns),
        best={},
    )


def _compared(frame: pd.DataFrame) -> pd.DataFrame:
    """Give the frame back, if it has any cell.

    Raises
    ------
    InputError
        If it has none.
    """
    if not frame["cells"].any():
        raise InputError("the measures have no pairs of LOO and LLOO, or of beta = 0 and above.")
    return frame


def _rows(frame: pd.DataFrame, columns: Sequence[str]) -> list[list[Cell]]:
    return [list(row) for row in frame[list(columns)].astype(object).itertuples(index=False)]
