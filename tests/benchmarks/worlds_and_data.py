"""What studies conclude from data and from worlds that stand for them, as a table for the docs.

Usage: ``python -m tests.benchmarks.worlds_and_data FOLDER > docs/worlds-and-data.csv``. The folder
holds finished studies called study-data-1, study-drawn-1, study-fitted-1 and so on: of the data, of
worlds by a preset, and of worlds like the data, with one cut-off that is reported.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import kendalltau, t

KINDS = {"data": "data", "drawn": "preset", "fitted": "like"}


def conclusions(study: Path) -> pd.Series:
    """Give the numbers of the report measures: areas, DP, agreement, and means over systems."""
    answer = pd.read_csv(study / "tables/answer.csv")
    (cutoff,) = answer["cutoff"].unique()
    taus = pd.read_csv(study / "tables/correlation_metrics.csv")
    taus = taus[(taus["cutoff"] == cutoff) & (taus["metric_a"] != taus["metric_b"])]
    means = pd.read_csv(study / "tables/means.csv")
    parts = {
        quantity: own.set_index("metric")["value"] for quantity, own in answer.groupby("quantity")
    }
    parts["mean tau with the others"] = taus.groupby("metric_a")["tau"].mean()
    parts["mean over systems"] = means[means["cutoff"] == cutoff].groupby("metric")["mean"].mean()
    return pd.concat(parts, names=["quantity", "measure"])


def main(folder: Path) -> None:
    """Print means over studies with 95 % intervals, and how far the orders of measures agree."""
    found = {}
    for name, kind in KINDS.items():
        every = [conclusions(path) for path in sorted(folder.glob(f"study-{name}-*"))]
        frame = pd.concat(every, axis=1)
        reach = t.ppf(0.975, len(every) - 1) * frame.std(axis=1) / np.sqrt(len(every))
        found[kind] = (frame.mean(axis=1), reach)
    rows = []
    for key in found["data"][0].index:
        cells = {kind: (mean[key], reach[key]) for kind, (mean, reach) in found.items()}
        (value, width) = cells.pop("data")
        row = [*key, f"{value:.3f} ± {width:.3f}"]
        for other, reach in cells.values():
            apart = abs(other - value) > width + reach
            row.append(f"{other:.3f} ± {reach:.3f}{' *' * bool(apart)}")
        rows.append(row)
    for quantity in found["data"][0].index.unique("quantity"):
        own, *others = (mean[quantity] for mean, _ in found.values())
        taus = [kendalltau(own, other[own.index]).statistic for other in others]
        rows.append([quantity, "order of the measures: tau-b", "", *(f"{x:.2f}" for x in taus)])
    columns = ["quantity", "measure", *found]
    pd.DataFrame(rows, columns=columns).to_csv(sys.stdout, index=False, lineterminator="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
