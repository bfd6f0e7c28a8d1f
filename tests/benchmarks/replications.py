"""The tables of the page on replications, from finished studies.

Run with ``make replications FOLDER=...``: the folder has the studies of ``studies/`` as ``harness
run`` leaves them, and study-recsys2018-defaults, the first without its preset.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from analyses.sampled.papers import Example
from harness.report.publication import Publication
from harness.report.study_folder import FinishedStudy

ROOT = Path(__file__).parents[2]
STUDIES, TABLES = ROOT / "studies", ROOT / "docs/replications"
OF_CELLS = (7350, 6081)
"""Kasalický (2021), table 4.4: cells, and those that have a higher recall under LOO."""


def beside(folder: Path, name: str, published: str) -> Publication:
    """Set a study beside what was published."""
    finished = FinishedStudy.at(folder / f"study-{name}")
    return Publication.of([finished], [STUDIES / f"{published}.csv"])


def orders(folder: Path) -> pd.DataFrame:
    """Set our places of the systems, by the preset and by defaults, beside the printed ones."""
    made = {
        "preset": beside(folder, "recsys2018", "recsys2018"),
        "defaults": beside(folder, "recsys2018-defaults", "recsys2018"),
    }
    frames = {name: each.frame().set_index("name") for name, each in made.items()}
    joined = frames["preset"][["published"]].rename(columns={"published": "printed place"})
    last = {}
    for name, frame in frames.items():
        places = frame.ours.rank(ascending=False, method="min").astype(int)
        joined[f"P@10, {name}"], joined[f"place, {name}"] = frame.ours, places.astype(object)
        last[f"place, {name}"] = f"{made[name].orderings()['tau-b'].item():.4f}"
    joined = joined.astype({"printed place": "Int64"}).sort_values("printed place")
    return pd.concat([joined, pd.DataFrame(last, ["tau-b with the print"])])[joined.columns]


def lists() -> pd.DataFrame:
    """Set what is expected of the three lists beside the print."""
    table = Example()
    printed = pd.read_csv(STUDIES / "kdd2020-lists.csv")
    cells = [
        (table.names.index(metric), "ABC".index(name))
        for metric, name in zip(printed.metric, printed.list, strict=True)
    ]
    ours = [f"{table.expected[cell]:.3f} ± {table.sd[cell]:.3f}" for cell in cells]
    theirs = [
        f"{mean:.3f} ± {sd:.3f}" for mean, sd in zip(printed["mean"], printed.sd, strict=True)
    ]
    made = printed[["metric", "list"]].assign(ours=ours, printed=theirs)
    return made.set_index("metric")


def levels(folder: Path) -> pd.DataFrame:
    """Set exact Recall@10 of X, Y and Z beside the print."""
    made = beside(folder, "kdd2020", "kdd2020").frame().set_index("name")[["ours", "published"]]
    return made.rename(columns={"ours": "ours, other data", "published": "printed"})


def errors(folder: Path) -> pd.DataFrame:
    """Average over systems the relative error of whole curves, in %, by estimator."""
    found = pd.read_csv(folder / "study-aaai2023/tables/sampled.csv")
    keys = ["estimator", "m"]
    cost = found.groupby(keys, sort=False).scored.mean().rename("items scored for a user")
    error = found.pivot_table("error", keys, "metric", sort=False)
    return pd.concat([cost, error], axis=1).map("{:.1f}".format).reset_index("m")


def validations(folder: Path) -> pd.DataFrame:
    """Set the share of cells with a higher recall under LOO beside the print."""
    found = pd.read_csv(folder / "study-thesis2021/tables/thesis2021-table4.4.csv")
    larger, share = found["value"]
    rows = {
        "ours, one world": [round(100 * larger / share), int(larger), share / 100],
        "printed, five data sets": [*OF_CELLS, OF_CELLS[1] / OF_CELLS[0]],
    }
    return pd.DataFrame.from_dict(rows, "index", columns=["cells", "LOO larger", "share"])


def main() -> None:
    """Write every table."""
    folder = Path(sys.argv[1])
    made: Mapping[str, pd.DataFrame] = {
        "recsys2018": orders(folder),
        "kdd2020-lists": lists(),
        "kdd2020-levels": levels(folder),
        "aaai2023": errors(folder),
        "thesis2021": validations(folder),
    }
    TABLES.mkdir(exist_ok=True)
    for name, table in made.items():
        table.to_csv(TABLES / f"{name}.csv", index_label="", float_format="%.4f")


if __name__ == "__main__":
    main()
