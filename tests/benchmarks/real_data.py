"""The page on real data: one study of measures on data sets of different kinds, and all together.

Run with ``python -m tests.benchmarks.real_data DATA FOLDER SEEDS``: DATA has the files that
`DATA_SETS` names, as `docs/real-data.md` describes them, and FOLDER gets the studies. The tables
and the figure of the page are written to ``docs/real-data/``; nothing of the data is.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from harness import open_study
from harness.report.answer import MARKS, Answer
from harness.report.repeats import Repeats

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/real-data"
FIGURE = "mean_ranks_measures.svg"
"""The figure of the page: mean ranks of the measures over the independent data sets."""

SYSTEMS = (
    *("random", "popularity", "item-knn", "puresvd", "wrmf", "ease", "als-knn", "bprmf"),
    *("rm1", "chi2", "kld", "lm-wsr-ub"),
)
"""The systems of every study: twelve, of eight families."""

MEASURES = (
    *("P@10", "Recall@10", "AP@10", "nDCG@10", "RR@10"),
    *("P@100", "Recall@100", "AP@100", "nDCG@100", "bpref@100"),
)
"""The measures of every study; bpref only where items are judged non-relevant."""


@dataclass(frozen=True)
class DataSet:
    """A data set: its name on the page, its file, its kinds, and its part of the study file.

    ``threshold``: the lowest relevant rating; None if all items of a user are relevant.
    """

    title: str
    file: str
    kinds: tuple[str, ...]
    threshold: float | None = None
    split: str = "user-random"

    def study_file(self, name: str, data: Path, *, seeds: int) -> str:
        """Write the study file: the same systems, measures and analyses for every data set."""
        is_implicit = self.threshold is None
        relevance = "implicit = true" if is_implicit else f"threshold = {self.threshold}"
        measures = [
            measure for measure in MEASURES if not (is_implicit and measure.startswith("bpref"))
        ]
        lines = [
            f'name = "{name}"',
            "[ratings]",
            f'path = "{data / self.file}"',
            relevance,
            'duplicates = "last"',
            f"user_min = {K_CORE}",
            f"item_min = {K_CORE}",
            "[split]",
            f'method = "{self.split}"',
            "[systems]",
            f"names = {_list(SYSTEMS)}",
            "[metrics]",
            f"names = {_list(measures)}",
            "[repeat]",
            f"seeds = {seeds}",
        ]
        return "\n".join(lines) + "\n"


def _list(names: tuple[str, ...] | list[str]) -> str:
    """Write names as a list of TOML."""
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"


K_CORE = 5
"""Least number of ratings of every user and item."""

EXPLICIT, IMPLICIT, ONE_RELEVANT = "explicit", "implicit", "one relevant item"
DENSE, SPARSE = "dense", "sparse"

DATA_SETS = {
    "ml-1m": DataSet("MovieLens 1M", "ml-1m.csv", (EXPLICIT, DENSE), 4.0),
    "ml-latest-small": DataSet(
        "MovieLens latest, small", "ml-latest-small.csv", (EXPLICIT, DENSE), 4.0
    ),
    "filmtrust": DataSet("FilmTrust", "filmtrust.csv", (EXPLICIT, DENSE), 3.0),
    "douban": DataSet("Douban", "douban.csv", (EXPLICIT, DENSE), 4.0),
    "book-crossing": DataSet("Book-Crossing", "book-crossing.csv", (EXPLICIT, SPARSE), 8.0),
    "steam": DataSet("Steam", "steam-pairs.csv", (IMPLICIT, SPARSE)),
    "lastfm": DataSet("Last.fm", "lastfm-pairs.csv", (IMPLICIT, SPARSE)),
    "ml-latest-small-last": DataSet(
        "MovieLens latest, small, last",
        "ml-latest-small.csv",
        (IMPLICIT, DENSE, ONE_RELEVANT),
        split="leave-one-out-last",
    ),
}


def run_studies(data: Path, folder: Path, *, seeds: int) -> None:
    """Run the study of every data set, or what is left of it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data_set in DATA_SETS.items():
        study = folder / f"{name}.toml"
        study.write_text(data_set.study_file(name, data.resolve(), seeds=seeds), encoding="utf-8")
        harness("run", str(study), "--jobs", "1", "--output", str(folder / f"study-{name}"))


def harness(*arguments: str) -> None:
    """Run a command of the harness in a process of its own."""
    subprocess.run([sys.executable, "-m", "harness", *arguments], cwd=ROOT, check=True)


def compare(names: Sequence[str], folder: Path, output: Path) -> pd.DataFrame:
    """Compare the studies of some data sets: columns quantity, measure, study, value, low, high.

    The page of the comparison, with its figures, is written to ``output``.
    """
    studies = [str(folder / f"study-{name}") for name in names]
    harness("compare", *studies, "--output", str(output))
    return pd.read_csv(output / "tables/comparison.csv")


def mean_ranks(comparison: pd.DataFrame) -> pd.DataFrame:
    """Tabulate the mean ranks of the measures, a column for each respect: "1.9 [1.2, 2.6]".

    Without an interval the rank is the same in all data sets. Measures are in the order of
    `MEASURES`.
    """
    is_rank = comparison["quantity"].str.startswith(RANK_OF_ALL)
    rows = comparison[is_rank].copy()
    rows["respect"] = rows["quantity"].str.removeprefix(RANK_OF_ALL)
    rows["cell"] = [
        f"{value:.1f}" if pd.isna(low) else f"{value:.1f} [{low:.1f}, {high:.1f}]"
        for value, low, high in rows[["value", "low", "high"]].to_numpy()
    ]
    return _by_respect(rows, "cell")


RANK_OF_ALL = "mean rank by "
RANK_OF_ONE = "rank by "
"""Beginnings of quantities in a comparison: over all data sets, and in one."""


def _by_respect(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Lay rows out: a measure in each row, in the order of `MEASURES`, a respect in each column."""
    table = rows.pivot_table(column, "measure", "respect", sort=False, aggfunc="first")
    measures = [measure for measure in MEASURES if measure in table.index]
    return table.loc[measures].reset_index()


def ranks_by_kind(comparison: pd.DataFrame) -> pd.DataFrame:
    """Average the ranks of the measures over the data sets of each kind.

    Columns measure, respect, and one for each kind, headed by its number of data sets.
    """
    rows = comparison[comparison["quantity"].str.startswith(RANK_OF_ONE)].copy()
    rows["respect"] = rows["quantity"].str.removeprefix(RANK_OF_ONE)
    columns = {}
    for kind in (EXPLICIT, IMPLICIT, ONE_RELEVANT, DENSE, SPARSE):
        names = _data_sets_of(kind)
        of_kind = rows[rows["study"].isin(names)]
        if len(of_kind):
            heading = f"{kind} ({of_kind['study'].nunique()})"
            columns[heading] = of_kind.groupby(["respect", "measure"], sort=False)["value"].mean()
    return pd.DataFrame(columns).reset_index()


def _data_sets_of(kind: str) -> list[str]:
    """List the data sets of a kind; one with one relevant item counts only as such."""
    return [
        name
        for name, data_set in DATA_SETS.items()
        if kind in data_set.kinds and (ONE_RELEVANT not in data_set.kinds or kind == ONE_RELEVANT)
    ]


def agreement_of_kinds(ranks: pd.DataFrame) -> pd.DataFrame:
    """Count, by respect, the pairs of measures that are ordered alike in all kinds, and reversed.

    ``ranks``: as of `ranks_by_kind`. A pair is reversed if one kind ranks the first measure above
    the second, and another kind below it; pairs that tie in some kind are neither.
    """
    kinds = [column for column in ranks if column not in ("respect", "measure")]
    rows = []
    for respect, of_respect in ranks.groupby("respect", sort=False):
        values = of_respect.set_index("measure")[kinds]
        n_alike = 0
        reversed_pairs = []
        for first, second in combinations(values.index, 2):
            signs = np.sign((values.loc[first] - values.loc[second]).round(9))
            n_alike += abs(signs.sum()) == len(kinds)
            if signs.min() < 0 < signs.max():
                reversed_pairs.append(f"{first}/{second}")
        n_pairs = len(values) * (len(values) - 1) // 2
        rows.append((respect, n_pairs, n_alike, len(reversed_pairs), ", ".join(reversed_pairs)))
    return pd.DataFrame(rows, columns=["respect", "pairs", "alike", "reversed", "reversed pairs"])


def verdicts(folder: Path) -> pd.DataFrame:
    """Tabulate the verdicts on each measure in each data set by marks; "" for no candidate.

    A cell has the verdict in all respects, and in each one in brackets. Rows are measures, in the
    order of `MEASURES`. A column is empty if nothing is to be decided: too few pairs of systems are
    contested.
    """
    columns: dict[str, dict[str, str]] = {}
    for name, data_set in DATA_SETS.items():
        marks: dict[str, str] = {}
        path = folder / f"study-{name}/tables/verdicts.csv"
        if path.exists():
            frame = pd.read_csv(path)
            for (metric, cutoff), rows in frame.groupby(["metric", "cutoff"], sort=False):
                by_respect = "".join(MARKS[verdict] for verdict in rows["verdict"])
                overall = MARKS[rows["overall"].iloc[0]]
                marks[f"{metric}@{cutoff}"] = f"{overall} ({by_respect})"
        columns[data_set.title] = marks
    table = pd.DataFrame(columns).reindex(MEASURES).fillna("")
    return table.rename_axis("measure").reset_index()


def decisions(folder: Path) -> pd.DataFrame:
    """Tabulate the decision of each study, after what is poor of all measures: data, answer."""
    rows = []
    for name, data_set in DATA_SETS.items():
        answer = open_study(folder / f"study-{name}").result("answer")
        assert isinstance(answer, Answer)
        sentences = [answer.decision()]
        poor = answer.poor_sentence()
        if poor is not None:
            sentences.insert(0, poor[0])
        rows.append((data_set.title, " ".join(sentences)))
    return pd.DataFrame(rows, columns=["data", "answer"])


def data_sets(folder: Path) -> pd.DataFrame:
    """Tabulate the data sets: kinds, counts after the k-core, and the users who are tested."""
    rows = []
    for name, data_set in DATA_SETS.items():
        manifest = json.loads((folder / f"study-{name}/manifest.json").read_text("utf-8"))
        facts = manifest["collection"]
        ratings = facts["ratings"]
        rows.append(
            {
                "data": data_set.title,
                "kind": ", ".join(data_set.kinds),
                "relevant": "all" if data_set.threshold is None else f"from {data_set.threshold:g}",
                "users": ratings["users"],
                "items": ratings["items"],
                "ratings": ratings["ratings"],
                "density": f"{ratings['density']:.4f}",
                "test users": facts["users"],
            }
        )
    return pd.DataFrame(rows)


def best_over_seeds(folder: Path) -> pd.DataFrame:
    """Count under how many seeds a measure is the best of each respect: "Recall@100 (3)".

    A row for each data set, a column for each respect. A seed is one of the split and of training.
    """
    rows = []
    for name, data_set in DATA_SETS.items():
        repeats = open_study(folder / f"study-{name}").result("repeats")
        assert isinstance(repeats, Repeats)
        row = {"data": data_set.title}
        for subject, values, sign in zip(
            repeats.subjects, repeats.values, repeats.signs, strict=True
        ):
            # Of shape (n_measures, n_seeds).
            comparable = np.where(np.isnan(values), -np.inf, sign * values)
            counts = Counter(comparable.argmax(axis=0).tolist()).most_common()
            row[subject] = ", ".join(f"{repeats.measures[best]} ({n})" for best, n in counts)
        rows.append(row)
    return pd.DataFrame(rows)


def main() -> None:
    """Run the studies, or what is left of them, compare them, and write what the page shows."""
    data, folder, seeds = Path(sys.argv[1]), Path(sys.argv[2]).resolve(), int(sys.argv[3])
    run_studies(data, folder, seeds=seeds)
    independent = [name for name in DATA_SETS if name != "ml-latest-small-last"]
    together = folder / "independent"
    comparison = compare(independent, folder, together)
    of_all = compare([*DATA_SETS], folder, folder / "all")
    PAGE.mkdir(exist_ok=True)
    data_sets(folder).to_csv(PAGE / "data-sets.csv", index=False)
    verdicts(folder).to_csv(PAGE / "verdicts.csv", index=False)
    decisions(folder).to_csv(PAGE / "decisions.csv", index=False)
    best_over_seeds(folder).to_csv(PAGE / "seeds.csv", index=False)
    mean_ranks(comparison).to_csv(PAGE / "mean-ranks.csv", index=False)
    by_kind = ranks_by_kind(of_all)
    by_kind.to_csv(PAGE / "ranks-by-kind.csv", index=False, float_format="%.2f")
    agreement_of_kinds(by_kind).to_csv(PAGE / "reversals.csv", index=False)
    comparison.to_csv(PAGE / "comparison.csv", index=False, float_format="%.5g")
    shutil.copy(together / "figures" / FIGURE, PAGE / FIGURE)


if __name__ == "__main__":
    main()
