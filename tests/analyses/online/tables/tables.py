"""Tables of values and rates that the tests of this folder read."""

from pathlib import Path

import pandas as pd

from analyses.recall.parametrisations import recall_grid

MODELS = ("a", "b", "c", "d", "e")
VALUES = "model,nDCG@5,P@5\na,0.1,0.3\nb,0.2,0.1\nc,0.3,0.2\n"
RATES = "model,rate\na,0.01\nb,0.02\nc,0.03\n"


def write(folder: Path, name: str, text: str) -> Path:
    """Write a file; give its path."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def write_grid(folder: Path) -> tuple[Path, Path]:
    """Write a small grid of recalls, and rates, in two experiments.

    In X, beta = 0 orders the models as the rates do and beta = 1 the other way round; in Y it is
    beta = 1 that agrees.
    """
    values, rates = [], []
    for experiment, agreeing in (("X", 0.0), ("Y", 1.0)):
        for place, model in enumerate(MODELS):
            row: dict[str, object] = {"model": model, "experiment": experiment}
            for recall in recall_grid(betas=[0, 1], cutoffs=[5, 10]):
                rising = recall.beta == agreeing
                row[str(recall)] = 0.1 + 0.01 * (place if rising else -place)
            row["nDCG@5"], row["nDCG@10"], row["AUC"] = place % 3, place % 2, place // 2
            values.append(row)
            rates.append({"model": model, "experiment": experiment, "rate": 0.02 + 0.001 * place})
    paths = folder / "values.csv", folder / "rates.csv"
    for path, rows in zip(paths, (values, rates), strict=True):
        pd.DataFrame(rows).to_csv(path, index=False)
    return paths
