"""Comparison of results with published numbers: values, and orderings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from analyses.ordering import tau_b
from analyses.shared.number_format import Cell, rounded
from analyses.shared.result import FigureDeclaration
from analyses.shared.sentences import listed
from analyses.shared.table import Table, frame_table, unescape_formula
from harness.report.published_table import NUMBER, read_published
from harness.report.study_folder import FinishedStudy
from harness.report.tables import estimates_of
from runs import InputError
from runs.shared.errors import suggestion

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

MAX_NEAR_DIFFERENCE = 0.1
"""Largest relative difference of values that are counted as near."""

MAX_LISTED = 5
"""Maximum number of missing numbers, and of most distant ones, that are listed."""

SIZE_COLUMN = "sample_set_size"
"""Column of the sample sizes, of which an estimator may have its own."""

MIN_NAME_LENGTH = 3
"""Minimum length of the name of a data set that is searched in the name of a study."""

REMARK = re.compile(r" \([a-z][^()]*\)$")
"""A remark in brackets at the end of a label."""

NO_LABELS = {"value", "sd", "unit", "note", "source", "repeats", "relation", "row", "where"}
NO_LABELS |= {"pair", "description", "dataset", "datasets", "panel"}
"""Columns that do not identify a number; nor do those that begin with ``paper_``."""


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
    missing
        Published numbers that the results lack, by their labels.
    are_ranks
        Whether ranks are published, of which 1 is the best.
    lower_is_better_for
        Names of metrics and quantities by which lower is better.
    """

    name: str
    data: Sequence[str]
    path: Path
    joined: pd.DataFrame
    labels: tuple[str, ...]
    missing: tuple[str, ...]
    are_ranks: bool = False
    lower_is_better_for: frozenset[str] = frozenset()

    lead = "How close are the results to published numbers?"

    @classmethod
    def of_tables(
        cls, folders: Sequence[Path], tables: Sequence[Path], plugins: Sequence[Path] = ()
    ) -> Publication:
        """Compare a published table with the numbers of a study, or of a folder of CSV tables.

        Parameters
        ----------
        folders, tables
            One folder and one table. A folder with a table of the same name is read as it is;
            another is a study.
        plugins
            Files of users' analyses.

        Raises
        ------
        InputError
            If there are several, a table cannot be read, or no number is in both.
        """
        if len(folders) != 1 or len(tables) != 1:
            raise InputError(
                "a table of published numbers is compared with one study, got "
                f"{len(folders)} and {len(tables)}."
            )
        folder = folders[0]
        path = tables[0]
        published, are_ranks = read_published(path)
        results = _read_results(folder, path, published, plugins, are_ranks=are_ranks)
        ours = results.frame
        published = _of_one_data_set(published, results.name)
        labels = _shared_labels(published, ours)
        published = published.assign(key=_keys(published, labels)).drop_duplicates("key")
        ours_by_key = ours.assign(key=_keys(ours, labels)).drop_duplicates("key").set_index("key")
        is_in_both = published["key"].isin(ours_by_key.index) & bool(labels)
        if not is_in_both.any():
            hint = _hint(published, ours, labels)
            raise InputError(f"{path}: {folder} has none of these numbers{hint}")
        missing = []
        for texts in published.loc[~is_in_both, labels].to_numpy():
            missing.append(" ".join(text for text in texts if text))
        matched_published = published[is_in_both].reset_index(drop=True)
        matched_ours = ours_by_key.loc[matched_published["key"]].reset_index(drop=True)
        joined = _join(matched_published, matched_ours, labels)
        return cls(
            name=results.name,
            data=results.data,
            path=path,
            joined=joined,
            labels=tuple(labels),
            missing=tuple(missing),
            are_ranks=are_ranks,
            lower_is_better_for=results.lower_is_better_for,
        )

    @property
    def title(self) -> str:
        """Names of the results and of the table."""
        return f"{self.name} – {self.path.name}"

    @cached_property
    def _groups(self) -> list[str]:
        """Labels that are the same for numbers whose order is compared.

        The order is that of estimators if there are some, else of systems, else of all numbers of a
        quantity.
        """
        if "estimator" in self.labels and "quantity" in self.labels:
            return [label for label in self.labels if label not in ("estimator", SIZE_COLUMN)]
        if "system" in self.labels:
            return [label for label in self.labels if label != "system"]
        return [label for label in self.labels if label == "quantity"]

    def frame(self) -> pd.DataFrame:
        """Tabulate each number: labels, ours, published, ratio, and whether ours is near.

        ``rounding``, ``noise`` and ``near`` are true if ours rounds to the published number, is
        within its noise (two standard errors of the difference; false where these are not known),
        and within 10 % of it. Ranks have no ratio, and no rounding; the ratio to 0 is NaN.
        """
        frame = self.joined.drop(columns=["step", "noise"])
        difference = (self.joined.ours - self.joined.published).abs()
        has_ratio = (frame.published != 0) & (not self.are_ranks)
        frame["ratio"] = frame.ours / frame.published.where(has_ratio)
        # A little more, so that a number half-way counts in spite of errors of rounding.
        half_step = self.joined.step / 2 * (1 + 1e-9)
        frame["rounding"] = (difference <= half_step) & (not self.are_ranks)
        frame["noise"] = difference <= self.joined.noise
        frame["near"] = difference <= MAX_NEAR_DIFFERENCE * frame.published.abs()
        return frame

    def orderings(self) -> pd.DataFrame:
        """Correlate our and the published ordering in each group of two numbers or more.

        A group has all labels the same but the one that is ordered, such as the system. Columns: of
        (the labels of the group), numbers, within 10 % (how many), and tau-b, which is NaN where
        all numbers of one side are equal. If ranks are published, a tau-b of 1 means that the best
        has rank 1 in both.
        """
        import pandas as pd

        frame = self.frame()
        group_labels = frame[self._groups].astype(str).to_numpy()
        frame["of"] = [" ".join(labels) for labels in group_labels]
        rows = []
        for group, numbers in frame.groupby("of", sort=False):
            if len(numbers) == 1:
                continue
            tau = float(tau_b(numbers.ours.to_numpy(), numbers.published.to_numpy()))
            # Ranks rise as numbers fall, unless lower is better by the metric or the quantity.
            words = str(group).split(" ")
            lower_is_better = any(word in self.lower_is_better_for for word in words)
            if self.are_ranks and not lower_is_better:
                tau = -tau
            rows.append((group or "all", len(numbers), int(numbers.near.sum()), tau))
        return pd.DataFrame(rows, columns=["of", "numbers", "within 10 %", "tau-b"])

    def summary(self) -> dict[str, Cell]:
        """Count the numbers that agree, and average the orderings' tau-b over the numbers.

        "printed" counts all published numbers, "compared" those that we have, too. Counts that do
        not apply are "", such as those of values where ranks are published; tau-b is NaN if there
        are no orderings.
        """
        frame = self.frame()
        n_within_noise = int(frame.noise.sum())
        has_noise = bool(self.joined.noise.notna().any())
        has_same_sign = np.sign(frame.ours) == np.sign(frame.published)
        n_same_sign = int(has_same_sign.sum())
        has_negative = bool((frame.published < 0).any())
        orderings = self.orderings().dropna()
        tau = np.nan
        if len(orderings):
            tau = float(np.average(orderings["tau-b"], weights=orderings["numbers"]))
        return {
            "table": self.path.stem,
            "printed": len(frame) + len(self.missing),
            "compared": len(frame),
            "within rounding": "" if self.are_ranks else int(frame.rounding.sum()),
            "within noise": n_within_noise if has_noise else "",
            "within 10 %": "" if self.are_ranks else int(frame.near.sum()),
            "same sign": n_same_sign if has_negative else "",
            "tau-b": tau,
        }

    def tables(self) -> Iterator[Table]:
        """Tabulate the counts, the orderings, the most distant numbers and all of them.

        A number is distant if the ratio of ours to the published one is far from 1; at most
        `MAX_LISTED` (5) are listed. Orderings and distant numbers are left out where there are
        none.
        """
        summary = self.summary()
        note = (
            "Within rounding: ours rounds to the print. Within noise: nearer than two standard "
            "errors of the difference, from the printed deviations. tau-b: of the orderings."
        )
        row = list(summary.values())
        yield Table("summary", "Agreement", note, list(summary), [row], decimals=2)
        orderings = self.orderings()
        if len(orderings):
            title = "Agreement with the published orderings (Kendall's tau-b)"
            yield frame_table("orderings", title, orderings, "")
        frame = self.frame().drop(columns=["rounding", "noise", "near"])
        if frame["ratio"].notna().any():
            distance = (frame["ratio"] - 1).abs()
            most_distant = distance.sort_values(ascending=False).index[:MAX_LISTED]
            yield frame_table("worst", "The most distant numbers", frame.loc[most_distant], "")
        note = "Ranks are published." if self.are_ranks else ""
        yield frame_table("levels", "Values", frame, note)

    def findings(self) -> Iterator[str]:
        """Word how far values and orderings agree, and which numbers are missing.

        Values are not counted if ranks are published; at most five missing numbers are named.
        """
        summary = self.summary()
        tau = rounded(float(summary["tau-b"]), 2)
        sentence = f"the orderings agree with tau-b = {tau}."
        if not self.are_ranks:
            n_near = summary["within 10 %"]
            n_compared = summary["compared"]
            sentence = f"{n_near} of {n_compared} values are within 10 % of the print; {sentence}"
        yield sentence
        if self.missing:
            names = list(self.missing[:MAX_LISTED])
            n_more = len(self.missing) - MAX_LISTED
            if n_more > 0:
                names.append(f"{n_more} more")
            yield f"Published numbers without a counterpart: {listed(names)}."

    def figures(self) -> Iterator[tuple[FigureDeclaration, str, Figure]]:
        """Draw nothing: published numbers are compared in tables."""
        return iter(())


class _OwnResults(NamedTuple):
    """Numbers to compare with a published table, and what they are of.

    ``frame`` has texts of labels, and numbers in the column value; ``lower_is_better_for`` are
    metrics and quantities.
    """

    name: str
    data: Sequence[str]
    frame: pd.DataFrame
    lower_is_better_for: frozenset[str] = frozenset()


def _read_results(
    folder: Path,
    path: Path,
    published: pd.DataFrame,
    plugins: Sequence[Path],
    *,
    are_ranks: bool,
) -> _OwnResults:
    """Read the numbers of a folder of tables, or of a study, to compare with a published table.

    ``path`` is the published table, ``published`` its content. A folder with a table of the same
    name is no study. Where lower is better is looked up if ranks are published. Raises InputError
    if the folder holds no finished study either.
    """
    own_table = folder / f"{path.stem}.csv"
    if own_table.is_file():
        return _OwnResults(folder.name, (), _read_own_table(own_table))
    study = FinishedStudy.open(folder, plugins)
    frame = _numbers_of_study(study, path, published)
    lower_is_better_for: set[str] = set()
    if are_ranks:
        lower_is_better_for |= set(study.means.measures.lower_is_better_for)
        for _, estimates in estimates_of(study):
            if estimates.lower_is_better:
                lower_is_better_for.add(estimates.name)
    data = (study.manifest.data,)
    return _OwnResults(study.name, data, frame, frozenset(lower_is_better_for))


def _read_own_table(path: Path) -> pd.DataFrame:
    """Read a CSV table of results: texts of labels, and the column value as numbers."""
    import pandas as pd

    texts = pd.read_csv(path, dtype=str, keep_default_na=False).map(unescape_formula)
    return texts.assign(value=_to_numbers(texts["value"]))


def _numbers_of_study(study: FinishedStudy, path: Path, published: pd.DataFrame) -> pd.DataFrame:
    """Collect the numbers of a study that a published table may have, in a column value.

    These are the table of the study, or the numbers of a result, that have the name of the file at
    ``path``; else means of systems or estimates if the published columns are theirs; else counts of
    the data, with the column quantity. The other columns are labels, as texts.
    """
    import pandas as pd

    for key, declaration in study.tables():
        if declaration.name == path.stem:
            table = declaration.make(study.result(key))
            if table.rows:
                frame = pd.DataFrame(list(table.rows), columns=list(table.headings))
                return _with_text_labels(frame)
    for _, result in study.results():
        frames = result.publications()
        if path.stem in frames:
            return _with_text_labels(frames[path.stem])
    has_means = "means" in study.result_classes
    if has_means and {"system", "metric"} <= set(published):
        means = study.means.frames()["means"].rename(columns={"mean": "value"})
        return _with_text_labels(means)
    if has_means and {"quantity", "metric"} <= set(published):
        return _with_text_labels(_frame_of_estimates(study))
    facts = {**study.manifest.collection, **study.manifest.ratings}
    facts["interactions"] = facts.get("ratings")
    numbers = {name: fact for name, fact in facts.items() if isinstance(fact, int | float)}
    counts = pd.DataFrame({"quantity": list(numbers), "value": list(numbers.values())})
    return _with_text_labels(counts)


def _frame_of_estimates(study: FinishedStudy) -> pd.DataFrame:
    """Tabulate the estimates of a study: quantity, metric, cutoff, value."""
    import pandas as pd

    rows = []
    for _, estimates in estimates_of(study):
        for measure, value in zip(estimates.measures, estimates.values, strict=True):
            rows.append((estimates.name, measure.metric, measure.cutoff, value))
    return pd.DataFrame(rows, columns=["quantity", "metric", "cutoff", "value"])


def _with_text_labels(frame: pd.DataFrame) -> pd.DataFrame:
    """Write labels as they are printed; leave out rows without a number in the column value."""
    labels = frame.drop(columns="value").astype(object)
    texts = labels.where(labels.notna(), "").map(_label_text)
    return texts.assign(value=_to_numbers(frame["value"])).dropna(subset="value")


def _label_text(label: Any) -> str:
    return f"{label:g}" if isinstance(label, float) else str(label)


def _shared_labels(published: pd.DataFrame, ours: pd.DataFrame) -> list[str]:
    """List the columns of labels that both tables have, and that are not empty in ours.

    Columns of numbers and remarks (`NO_LABELS`), and those called paper_..., are no labels.
    """
    labels = []
    for column in map(str, published):
        is_label = column not in NO_LABELS and not column.startswith("paper_")
        if is_label and column in ours and set(ours[column]) != {""}:
            labels.append(column)
    return labels


def _join(published: pd.DataFrame, ours: pd.DataFrame, labels: Sequence[str]) -> pd.DataFrame:
    """Join published numbers and ours, which are of the same number in each row.

    Shares of ours become percentages where percentages are published. Columns: the labels, ours,
    published, step (size of the last printed digit), and noise: two standard errors of the
    difference, NaN where no deviation is published.
    """
    is_percentage = published["unit"].str.startswith("%") & ("unit" not in ours)
    our_values: Any = ours["value"].astype(float) * np.where(is_percentage, 100, 1)
    published_variances = _variances(published, published["published"], published["unit"])
    our_variances = _variances(ours, our_values, published["unit"])
    # Ours may be expected values, for which nothing is drawn.
    variances = published_variances + np.nan_to_num(our_variances)
    joined = published.assign(ours=our_values, noise=2 * np.sqrt(variances))
    return joined[[*labels, "ours", "published", "step", "noise"]]


def _normalised(text: str) -> str:
    """Write a label so that spellings of the same are equal, without a remark in brackets.

    Lower case, without spaces, hyphens and the like; "none" becomes "". Of a number, only commas
    are left out.
    """
    if NUMBER.fullmatch(text):
        return text.replace(",", "")
    text = REMARK.sub("", text.lower())
    if text == "none":
        return ""
    return re.sub(r"[^a-z0-9><=@.+]", "", text) or text


def _keys(frame: pd.DataFrame, labels: Sequence[str]) -> pd.Series[str]:
    """Join the normalised labels of each row to one text."""
    return frame[labels].map(_normalised).agg("\t".join, axis=1)


def _to_numbers(texts: pd.Series) -> Any:
    """Convert texts to numbers; NaN for what is none."""
    import pandas as pd

    return pd.to_numeric(texts, errors="coerce")


def _variances(frame: pd.DataFrame, values: pd.Series[float], units: pd.Series[str]) -> Any:
    """Compute squared standard errors, (n_rows,): of counts of repeats, and of means.

    Counts are ``values`` with a unit such as "out of 100 runs", which are binomial: v (n - v) / n.
    Means have columns sd and repeats: sd² / repeats. NaN where neither is known.
    """
    unknown = np.full(len(frame), np.nan)
    sd = _to_numbers(frame["sd"]) if "sd" in frame else unknown
    repeats = _to_numbers(frame["repeats"]) if "repeats" in frame else unknown
    n_runs = units.str.extract(r"out of ([0-9]+) (?:runs|repeats)")[0].astype(float)
    variances_of_counts = values * (n_runs - values) / n_runs
    return np.where(n_runs.notna(), variances_of_counts, sd**2 / repeats)


def _of_one_data_set(published: pd.DataFrame, study_name: str) -> pd.DataFrame:
    """Select the rows of the data set that the study is named for, or of the first.

    Spelling aside, the name of the study must contain that of the data set; the longest such name
    counts. Without a column ``dataset`` of several data sets, all rows.
    """
    if "dataset" not in published or published["dataset"].nunique() < 2:
        return published
    candidates = [
        name
        for name in published["dataset"].unique()
        if len(name) >= MIN_NAME_LENGTH and _normalised(name) in _normalised(study_name)
    ]
    data_set = max(candidates, key=len) if candidates else published["dataset"].iloc[0]
    return published[published["dataset"] == data_set].reset_index(drop=True)


def _hint(published: pd.DataFrame, ours: pd.DataFrame, labels: Sequence[str]) -> str:
    """Word which published label the results do not have: the end of a sentence.

    It names the first column none of whose published labels ours has, and a label like it; a full
    stop if there is no such column; without shared columns, that there are none.
    """
    for label in labels:
        our_labels = {_normalised(text) for text in ours[label]}
        unknown = [text for text in published[label] if _normalised(text) not in our_labels]
        if len(unknown) == len(published):
            names = sorted(set(ours[label]))
            return f", for example no {unknown[0]!r}; {suggestion(unknown[0], names)}"
    return "." if labels else ": no table of its has this name, or these columns."
