"""Comparison of results with published numbers: values, and orderings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from analyses.ordering import tau_b
from analyses.shared.number_format import Cell, rounded
from analyses.shared.result import FigureDeclaration
from analyses.shared.sentences import listed
from analyses.shared.table import Table, frame_table, unescape_formula
from harness.readers.scores import heading_and_rows, measure_at
from harness.report.study_folder import FinishedStudy
from harness.report.tables import estimates_of
from runs import InputError
from runs.shared.errors import suggestion

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

NEAR = 0.1
"""Largest relative difference of values that are counted as near."""

MOST_NAMED = 5
"""Missing numbers, and most distant ones, that are named at most."""

SIZE = "sample_set_size"
"""Column of the sample sizes, of which an estimator may have its own."""

LEAST_NAME = 3
"""Letters of a data set's name that is looked for in a study's name, at least."""

WHOLE = r"[1-9][0-9]{0,2}(?:,[0-9]{3})+|[0-9]*"
NUMBER = re.compile(rf"([-+]?(?=\.?[0-9])(?:{WHOLE})(?:\.([0-9]*))?(?:[eE]([-+]?[0-9]+))?)([km]?)")
RANGE = re.compile(r"[0-9.,km]+ ?[-–] ?[0-9.,km]+")
REMARK = re.compile(r" \([a-z][^()]*\)$")
FACTORS = {"": 1.0, "k": 1e3, "m": 1e6}

NO_LABELS = {"value", "sd", "unit", "note", "source", "repeats", "relation", "row", "where"}
NO_LABELS |= {"pair", "description", "dataset", "datasets", "panel"}
"""Columns that say nothing of which number it is; so do those that begin with ``paper_``."""


@dataclass(frozen=True)
class Publication:
    """Numbers that results and a publication both have.

    Parameters
    ----------
    name, data
        What the results are of.
    path
        The published table.
    joined
        A row for each number that both have: the labels, ours, published, step (the last printed
        digit), noise (two standard errors of the difference of two means; NaN where no deviation is
        published).
    labels
        The columns of labels.
    lacking
        Published numbers that the results lack, in words.
    are_ranks
        Whether ranks are published, of which 1 is the best.
    falling
        Subjects by which lower is better.
    """

    name: str
    data: Sequence[str]
    path: Path
    joined: pd.DataFrame
    labels: tuple[str, ...]
    lacking: tuple[str, ...]
    are_ranks: bool = False
    falling: frozenset[str] = frozenset()

    lead = "How close are the results to published numbers?"

    @classmethod
    def of(cls, folders: Sequence[Path], tables: Sequence[Path], plugins: Any = ()) -> Publication:
        """Set the table of that name in a study, or in a folder of results, beside the print."""
        import pandas as pd

        if len(folders) != 1 or len(tables) != 1:
            raise InputError(
                "a table of published numbers is compared with one study, got "
                f"{len(folders)} and {len(tables)}."
            )
        (folder,), (path,) = folders, tables
        printed, are_ranks = read_published(path)
        name, falling = folder.name, set[str]()
        data: Sequence[str] = ()
        if (folder / f"{path.stem}.csv").is_file():
            texts = pd.read_csv(folder / f"{path.stem}.csv", dtype=str, keep_default_na=False)
            own = texts.map(unescape_formula).assign(value=lambda frame: _number(frame["value"]))
        else:
            study = FinishedStudy.open(folder, plugins)
            own, name, data = _own(study, path, printed), study.name, (study.manifest.data,)
            if are_ranks:
                falling = set(study.means.measures.lower_is_better_for)
                falling |= {e.name for _, e in estimates_of(study) if e.lower_is_better}
        printed = _of_one_dataset(printed, name)
        labels = [
            label
            for label in map(str, printed)
            if label in own and label not in NO_LABELS and not label.startswith("paper_")
            if set(own[label]) != {""}
        ]
        theirs = printed.assign(key=_keys(printed, labels)).drop_duplicates("key")
        ours = own.assign(key=_keys(own, labels)).drop_duplicates("key").set_index("key")
        has = theirs["key"].isin(ours.index) & bool(labels)
        lacking = [" ".join(filter(None, row)) for row in theirs.loc[~has, labels].to_numpy()]
        if not has.any():
            hint = _hint(theirs, own, labels)
            raise InputError(f"{path}: {folder} has none of these numbers{hint}")
        both = theirs[has].reset_index(drop=True)
        found = ours.loc[both["key"]].reset_index(drop=True)
        percent = both["unit"].str.startswith("%") & ("unit" not in own)
        both["ours"] = found["value"].astype(float) * np.where(percent, 100, 1)
        variances = [
            _variances(frame, values, both["unit"])
            for frame, values in ((both, both["published"]), (found, both["ours"]))
        ]
        # Ours may be expected values, which nothing is drawn for.
        both["noise"] = 2 * np.sqrt(variances[0] + np.nan_to_num(variances[1]))
        joined = both[[*labels, "ours", "published", "step", "noise"]]
        falls = frozenset(falling)
        return cls(name, data, path, joined, tuple(labels), tuple(lacking), are_ranks, falls)

    @property
    def title(self) -> str:
        """Names of the results and of the table."""
        return f"{self.name} – {self.path.name}"

    @cached_property
    def _groups(self) -> list[str]:
        """Labels that are alike for numbers whose order is compared."""
        if {"estimator", "quantity"} <= {*self.labels}:
            return [label for label in self.labels if label not in ("estimator", SIZE)]
        if "system" in self.labels:
            return [label for label in self.labels if label != "system"]
        return [label for label in self.labels if label == "quantity"]

    def frame(self) -> pd.DataFrame:
        """Give a row for each number: the labels, ours, published, ratio, and how near it is."""
        made = self.joined.drop(columns=["step", "noise"])
        gap = (self.joined.ours - self.joined.published).abs()
        known = made.published.where((made.published != 0) & (not self.are_ranks))
        made["ratio"] = made.ours / known
        made["rounding"] = (gap <= self.joined.step / 2 * (1 + 1e-9)) & (not self.are_ranks)
        made["noise"] = gap <= self.joined.noise
        made["near"] = gap <= NEAR * made.published.abs()
        return made

    def orderings(self) -> pd.DataFrame:
        """Correlate the orderings of two numbers or more: of, numbers, within 10 %, tau-b."""
        import pandas as pd

        frame, rows = self.frame(), []
        frame["of"] = [" ".join(row) for row in frame[self._groups].astype(str).to_numpy()]
        for of, some in frame.groupby("of", sort=False):
            if len(some) == 1:
                continue
            rises = any(word in self.falling for word in str(of).split(" ")) or not self.are_ranks
            tau = float(tau_b(some.ours.to_numpy(), some.published.to_numpy()))
            rows.append((of or "all", len(some), int(some.near.sum()), tau if rises else -tau))
        return pd.DataFrame(rows, columns=["of", "numbers", "within 10 %", "tau-b"])

    def summary(self) -> dict[str, Cell]:
        """Count the numbers that agree, and average the orderings' tau-b over the numbers."""
        frame, orders = self.frame(), self.orderings().dropna()
        same_sign = int((np.sign(frame.ours) == np.sign(frame.published)).sum())
        weights = orders["numbers"] if len(orders) else None
        return {
            "table": self.path.stem,
            "printed": len(frame) + len(self.lacking),
            "compared": len(frame),
            "within rounding": "" if self.are_ranks else int(frame.rounding.sum()),
            "within noise": int(frame.noise.sum()) if self.joined.noise.notna().any() else "",
            "within 10 %": "" if self.are_ranks else int(frame.near.sum()),
            "same sign": same_sign if (frame.published < 0).any() else "",
            "tau-b": float(np.average(orders["tau-b"], weights=weights)) if len(orders) else np.nan,
        }

    def tables(self) -> Iterator[Table]:
        """Tabulate the counts, the orderings, the most distant numbers and all of them."""
        summary = self.summary()
        note = (
            "Within rounding: ours rounds to the print. Within noise: nearer than two standard "
            "errors of the difference, from the printed deviations. tau-b: of the orderings."
        )
        yield Table("summary", "Agreement", note, [*summary], [[*summary.values()]], decimals=2)
        if len(orderings := self.orderings()):
            title = "Agreement with the published orderings (Kendall's tau-b)"
            yield frame_table("orderings", title, orderings, "")
        frame = self.frame().drop(columns=["rounding", "noise", "near"])
        if frame["ratio"].notna().any():
            order = (frame["ratio"] - 1).abs().sort_values(ascending=False).index
            worst = frame.loc[order[:MOST_NAMED]]
            yield frame_table("worst", "The most distant numbers", worst, "")
        yield frame_table("levels", "Values", frame, "Ranks are published." * self.are_ranks)

    def findings(self) -> Iterator[str]:
        """Say how far values and orderings agree, and which numbers are missing."""
        found = self.summary()
        near = (
            f"{found['within 10 %']} of {found['compared']} values are within 10 % of the print; "
        )
        tau = rounded(float(found["tau-b"]), 2)
        yield f"{near * (not self.are_ranks)}the orderings agree with tau-b = {tau}."
        if self.lacking:
            named = [*self.lacking[:MOST_NAMED], f"{len(self.lacking) - MOST_NAMED} more"]
            yield f"Published numbers without a counterpart: {listed(named[: len(self.lacking)])}."

    def figures(self) -> Iterator[tuple[FigureDeclaration, str, Figure]]:
        """Draw nothing: what was published are numbers."""
        return iter(())


def read_published(path: Path) -> tuple[pd.DataFrame, bool]:
    """Read a table of published numbers, a number a row, and tell whether they are ranks.

    The columns ``value`` (a number as it is printed, such as ``1,463`` or ``2.8m``), or ``rank``
    where only the order is known; labels, such as ``system`` and ``measure``; and, if published,
    ``sd``, ``repeats`` and ``unit``. Rows whose value is empty, or a range, are left out.

    Returns
    -------
    The texts of the columns, with ``measure`` taken apart into ``metric`` and ``cutoff``, and the
    columns published, step, sd and repeats as numbers.
    """
    import pandas as pd

    (line, heading), rows = heading_and_rows(path)
    kinds = [name for name in ("value", "rank") if name in heading]
    if len(kinds) != 1:
        finding = f"one column `value` or `rank` expected, found {', '.join(heading)}."
        raise InputError.at_line(path, line, finding)
    frame = pd.DataFrame([row for _, row in rows], columns=heading)
    if "measure" in heading:
        texts = zip(rows, frame["measure"], strict=True)
        measures = [measure_at(path, line, text) for (line, _), text in texts]
        frame = frame.drop(columns="measure").assign(
            metric=[m.metric for m in measures], cutoff=[str(m.cutoff or "") for m in measures]
        )
    frame["unit"] = frame.get("unit", "")
    # The step that stays is that of the last, which is what was published.
    for name in ("sd", "repeats", *kinds):
        column = zip(rows, frame.get(name, [""] * len(rows)), strict=True)
        read = [_printed(path, line, name, text) for (line, _), text in column]
        frame[name], frame["step"] = np.array(read).reshape(-1, 2).T
    frame = frame.rename(columns={kinds[0]: "published"})
    known = frame.dropna(subset="published").reset_index(drop=True)
    if known.empty:
        raise InputError.at_line(path, line, f"the column {kinds[0]} has no number.")
    for place in np.flatnonzero(frame["published"] < 1)[:1] if kinds == ["rank"] else ():
        value = frame["published"][place]
        raise InputError.at_line(path, rows[place][0], f"a rank is 1 or more, got {value:g}.")
    return known, kinds == ["rank"]


def _printed(path: Path, line: int, column: str, text: str) -> tuple[float, float]:
    """Read a number, and the size of its last digit; NaN where none, or a range, is printed."""
    if not text or RANGE.fullmatch(text):
        return np.nan, np.nan
    found = NUMBER.fullmatch(text)
    if found is None:
        finding = f"column {column!r}: a number expected, such as 0.216, 1,463 or 2.8m, found "
        finding += f"{text!r}; % is written in a column `unit`."
        raise InputError.at_line(path, line, finding)
    factor = FACTORS[found[4]]
    step = 10.0 ** (int(found[3] or 0) - len(found[2] or ""))
    return float(found[1].replace(",", "")) * factor, step * factor


def _own(study: FinishedStudy, path: Path, printed: pd.DataFrame) -> pd.DataFrame:
    """Give a study's numbers under the name of a published table, or those with its columns."""
    import pandas as pd

    for key, face in study.tables():
        if face.name == path.stem and (made := face.make(study.result(key))).rows:
            return _texts(pd.DataFrame([*made.rows], columns=[*made.headings]))
    for _, result in study.results():
        if path.stem in (frames := result.publications()):
            return _texts(frames[path.stem])
    if {"system", "metric"} <= set(printed) and "means" in study.result_classes:
        return _texts(study.means.frames()["means"].rename(columns={"mean": "value"}))
    if {"quantity", "metric"} <= set(printed) and "means" in study.result_classes:
        values = [
            (each.name, measure.metric, measure.cutoff, value)
            for _, each in estimates_of(study)
            for measure, value in zip(each.measures, each.values, strict=True)
        ]
        return _texts(pd.DataFrame(values, columns=["quantity", "metric", "cutoff", "value"]))
    facts = {**study.manifest.collection, **study.manifest.ratings}
    facts["interactions"] = facts.get("ratings")
    numbers = {k: v for k, v in facts.items() if isinstance(v, int | float)}
    return _texts(pd.DataFrame({"quantity": list(numbers), "value": list(numbers.values())}))


def _texts(frame: pd.DataFrame) -> pd.DataFrame:
    """Write labels as they are printed."""
    labels = frame.drop(columns="value").astype(object)
    texts = labels.where(labels.notna(), "").map(_text)
    return texts.assign(value=_number(frame["value"])).dropna(subset="value")


def _text(label: Any) -> str:
    return f"{label:g}" if isinstance(label, float) else str(label)


def _folded(text: str) -> str:
    """Write a label so that spellings of the same are equal, without a remark in brackets."""
    if NUMBER.fullmatch(text):
        return text.replace(",", "")
    text = REMARK.sub("", text.lower())
    return "" if text == "none" else re.sub(r"[^a-z0-9><=@.+]", "", text) or text


def _keys(frame: pd.DataFrame, labels: Sequence[str]) -> pd.Series[str]:
    """Give the labels of each row in one text."""
    return frame[labels].map(_folded).agg("\t".join, axis=1)


def _number(texts: pd.Series) -> Any:
    import pandas as pd

    return pd.to_numeric(texts, errors="coerce")


def _variances(frame: pd.DataFrame, values: pd.Series[float], units: pd.Series[str]) -> Any:
    """Give squared standard errors of means and of counts of repeats; NaN where unknown."""
    unknown = np.full(len(frame), np.nan)
    sd, repeats = (_number(frame[c]) if c in frame else unknown for c in ("sd", "repeats"))
    counted = units.str.extract(r"out of ([0-9]+) (?:runs|repeats)")[0].astype(float)
    of_counts = values * (counted - values) / counted
    return np.where(counted.notna(), of_counts, sd**2 / repeats)


def _of_one_dataset(printed: pd.DataFrame, name: str) -> pd.DataFrame:
    """Keep the rows of the data set that the study is named for, or of the first."""
    if "dataset" not in printed or printed["dataset"].nunique() < 2:
        return printed
    sets = printed["dataset"].unique()
    named = [d for d in sets if len(d) >= LEAST_NAME and _folded(d) in _folded(name)]
    chosen = max(named, key=len) if named else printed["dataset"].iloc[0]
    return printed[printed["dataset"] == chosen].reset_index(drop=True)


def _hint(theirs: pd.DataFrame, own: pd.DataFrame, labels: Sequence[str]) -> str:
    """Say which label the results do not have."""
    for label in labels:
        known = {_folded(text) for text in own[label]}
        unknown = [text for text in theirs[label] if _folded(text) not in known]
        if len(unknown) == len(theirs):
            known_names = sorted(set(own[label]))
            return f", for example no {unknown[0]!r}; {suggestion(unknown[0], known_names)}"
    return "." if labels else ": no table of its has this name, or these columns."
