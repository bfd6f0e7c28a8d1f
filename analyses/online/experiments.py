"""Models of online experiments, with their offline values and click-through rates, and as tables.

Tables are UTF-8 text with a heading line; fields are separated by tabs if that line has one, else
by commas. The first column is called model, arm or system. A column experiment names data sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from analyses.online.rates import TAIL, OverTime
from analyses.shared.estimate import REACH
from analyses.shared.measure import Measure, Scores
from runs import InputError
from runs.shared.errors import nearest
from runs.shared.fields import check_width, distinct, read_cutoff, read_lines

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

FEWEST_MODELS: Final = 3
ONE_EXPERIMENT: Final = "data"
"""What the data set is called where tables do not name it; it is part of the key of the draws."""

MODEL_HEADERS: Final = ("model", "arm", "system")
COUNTS: Final = ("recommendations", "accepted")
RATE_COLUMNS: Final = ("rate", "error", "period", "users", *COUNTS, "experiment")


@dataclass(frozen=True, eq=False)
class Experiment:
    """Models (arms) of one data set, at least 3, with offline values and click-through rates.

    Values have the shape (n_measures, n_models), NaN where undefined, rates (n_models,); so have
    their standard errors, None where they are not known.

    Raises
    ------
    InputError
        If there are too few models, a name occurs twice, an error is negative or a rate not
        finite.
    """

    name: str
    models: tuple[str, ...]
    measures: tuple[str, ...]
    values: Floats
    rates: Floats
    value_errors: Floats | None = None
    rate_errors: Floats | None = None

    def __post_init__(self) -> None:
        if len(self.models) < FEWEST_MODELS:
            raise InputError(
                f"{self.name}: at least {FEWEST_MODELS} models are compared, "
                f"got {len(self.models)}."
            )
        errors = {"values": self.value_errors, "rates": self.rate_errors}
        for what, known in errors.items():
            if known is not None and not (known >= 0).all():
                raise InputError(f"{self.name}: errors of {what} must be numbers of at least 0.")
        require_unique(self.name, "model", self.models)
        require_unique(self.name, "measure", self.measures)
        if not np.isfinite(self.rates).all():
            unknown = int(np.flatnonzero(~np.isfinite(self.rates))[0])
            raise InputError(
                f"{self.name}: click-through rates must be finite, got {self.rates[unknown]} for "
                f"{self.models[unknown]}."
            )

    def select(self, measures: Sequence[str]) -> Experiment:
        """Keep some of the measures."""
        rows = [self.measures.index(measure) for measure in measures]
        errors = None if self.value_errors is None else self.value_errors[rows]
        values = self.values[rows]
        return replace(self, measures=tuple(measures), values=values, value_errors=errors)


def require_unique(name: str, what: str, labels: Sequence[str]) -> None:
    """Refuse a label that occurs twice."""
    seen: set[str] = set()
    for label in labels:
        if label in seen:
            raise InputError(f"{name}: the {what} {label!r} occurs twice.")
        seen.add(label)


def read_experiments(
    values: Path, rates: Path, *, over_time: OverTime = "thesis"
) -> list[Experiment]:
    """Read a table of values and one of rates, which must have the same models, by experiment.

    See `read_values` and `read_rates`.

    Raises
    ------
    InputError
        If a table breaks a rule, a model or experiment is in one of them alone, there are fewer
        than three models, or all have one rate.
    """
    values = table_at(values)
    offline, online = read_values(values), read_rates(rates, over_time=over_time)
    sides = (values, offline, rates, online), (rates, online, values, offline)
    for first, own, second, other in sides:
        missing = [name for name in own["experiment"] if name not in set(other["experiment"])]
        if missing:
            raise InputError(
                f"{first} and {second} must have the same experiments: {missing[0]!r} is in the "
                "first alone."
            )
        keys = ["experiment", "model"]
        known = set(other[keys].itertuples(index=False, name=None))
        for line, experiment, model in own[keys].itertuples(name=None):
            if (experiment, model) not in known:
                lacking = "rate" if own is offline else "offline values"
                finding = f"model {model!r} has no {lacking} in {second}."
                raise InputError.at(first, line, finding)
    return [
        _experiment(values, str(name), own, rates, online)
        for name, own in offline.groupby("experiment", sort=False)
    ]


def read_experiment_folder(folder: Path, *, over_time: OverTime = "thesis") -> list[Experiment]:
    """Read ``values.csv`` and ``rates.csv`` of a folder, or of the tables of a finished study.

    A data set that the tables do not name is called as the folder.

    Raises
    ------
    InputError
        If a file is missing or breaks a rule; see `read_experiments`.
    """
    places = folder / "tables", folder
    place = next((each for each in places if (each / "values.csv").exists()), folder)
    found = read_experiments(place / "values.csv", place / "rates.csv", over_time=over_time)
    name = folder.resolve().name
    return [replace(one, name=name) if one.name == ONE_EXPERIMENT else one for one in found]


def _experiment(
    values: Path, name: str, offline: pd.DataFrame, rates: Path, online: pd.DataFrame
) -> Experiment:
    models = tuple(offline["model"].drop_duplicates())
    measures, cells, errors = _cells(offline, models)
    of_models, rate_errors = rates_of(rates, online[online["experiment"] == name], models)
    value_errors = None if np.isnan(errors).any() else errors
    try:
        return Experiment(name, models, measures, cells, of_models, value_errors, rate_errors)
    except InputError as error:
        raise InputError(f"{values}: {error}") from None


def _cells(offline: pd.DataFrame, models: Sequence[str]) -> tuple[tuple[str, ...], Floats, Floats]:
    """Give measures, and the values and errors of some models: (n_measures, n_models)."""
    measures = offline["measure"].drop_duplicates()
    wide = offline.pivot(index="measure", columns="model", values=["value", "error"]).loc[measures]
    values, errors = (wide[column][[*models]].to_numpy() for column in ("value", "error"))
    return tuple(measures), values, errors


def rates_of(
    path: Path, rates: pd.DataFrame, models: Sequence[str]
) -> tuple[Floats, Floats | None]:
    """Give the rates of some models of one experiment, and their errors if they are known.

    Refused are models that all have one rate, as no measure can follow it.
    """
    by_model = rates.set_index("model").loc[[*models]]
    found, errors = by_model["rate"].to_numpy(), by_model["error"].to_numpy()
    if len(np.unique(found)) == 1:
        raise InputError(
            f"{path}: all models of {rates['experiment'].iloc[0]!r} have the rate {found[0]:g}, an "
            "order that no measure can follow."
        )
    return found, None if np.isnan(errors).any() else errors


def read_values(path: Path) -> pd.DataFrame:
    """Read offline values of models.

    In a wide table every other column is a measure, such as ``nDCG@10`` or
    ``LLOO(beta=0.35)@5``; a long one has the columns measure, value and perhaps error, as
    ``harness recall --output`` writes them, or metric, cutoff and mean as ``tables/means.csv`` of a
    study, which is meant by the folder of a study.

    Returns
    -------
    Columns experiment, model, measure, value and error (NaN where it is not known), by line.

    Raises
    ------
    InputError
        If the file is missing, empty or no such table, a value is missing, is duplicated or is no
        finite number, or a model lacks a measure of the others.
    """
    import pandas as pd

    path = table_at(path)
    frame, first = _read(path, "values")
    columns = [str(name) for name in frame if name not in ("model", "experiment")]
    if not columns:
        raise InputError.at(path, first, "the table has no measure.")
    if {"metric", "cutoff", "mean"} <= {*columns}:
        cutoffs = [read_cutoff(path, line, text) for line, text in _texts(frame, "cutoff")]
        names = zip(_names(path, frame, "metric"), cutoffs, strict=True)
        measures = [str(Measure(metric, cutoff)) for metric, cutoff in names]
        long = frame.assign(measure=measures, value=_numbers(path, frame, "mean"), error=np.nan)
    elif {"measure", "value"} <= {*columns}:
        unknown = [name for name in columns if name not in ("measure", "value", "error")]
        if unknown:
            finding = (
                f"a long table has no column {unknown[0]!r}, only model, measure, value, error, "
                "experiment."
            )
            raise InputError.at(path, first, finding)
        errors = _numbers(path, frame, "error") if "error" in frame else np.nan
        _names(path, frame, "measure")
        long = frame.assign(value=_numbers(path, frame, "value"), error=errors)
    else:
        numbers = frame.assign(**{name: _numbers(path, frame, name) for name in columns})
        long = pd.melt(
            numbers,
            ["experiment", "model"],
            columns,
            "measure",
            ignore_index=False,
        ).assign(error=np.nan)
        long = long.iloc[np.argsort(np.tile(np.arange(len(frame)), len(columns)), kind="stable")]
    found = long[["experiment", "model", "measure", "value", "error"]]
    _require_complete(path, found)
    return found


def _require_complete(path: Path, found: pd.DataFrame) -> None:
    """Refuse a value that is duplicated, and models that lack a measure."""
    several = found["experiment"].nunique() > 1 or found["experiment"].iloc[0] != ONE_EXPERIMENT
    keys = ["experiment", "model", "measure"]
    for line, experiment, model, measure in found[found.duplicated(keys)][keys].itertuples():
        where = f" in the experiment {experiment!r}" if several else ""
        raise InputError.at(path, line, f"model {model!r} has {measure} twice{where}.")
    measures = found["measure"].drop_duplicates()
    for (experiment, model), own in found.groupby(["experiment", "model"], sort=False):
        missing = measures[~measures.isin(own["measure"])]
        if len(missing):
            where = f" in the experiment {experiment!r}" if several else ""
            finding = f"model {model!r} has no {missing.iloc[0]}{where}."
            raise InputError.at(path, int(own.index[0]), finding)


def read_rates(path: Path, *, over_time: OverTime = "thesis") -> pd.DataFrame:
    """Read click-through rates of models.

    The table has the columns model (or arm, system) and rate, and may have error, period, users,
    recommendations, accepted and experiment. The rate may be left out where recommendations and
    accepted are there; without errors, these give that of independent lists, too.

    Periods of a model are averaged: ``"thesis"``, the mean of their rates, weighted by users if
    there is a column for them (equations 2.6 and 2.7 of Kasalický 2021); ``"pooled"``, all that was
    accepted over all recommendations.

    Returns
    -------
    Columns experiment, model, rate and error (NaN where it is not known), by the first line of a
    model.

    Raises
    ------
    InputError
        If the file is missing, empty or no such table, a number is missing or impossible, or a
        model has two rates for one period.
    """
    frame, first = _read(path, "rates")
    for name in map(str, frame):
        if name != "model" and name not in RATE_COLUMNS:
            finding = f"a table of rates has no column {name!r}; {nearest(name, RATE_COLUMNS)}"
            raise InputError.at(path, first, finding)
    has_counts, pooled = set(COUNTS) <= {*frame}, over_time == "pooled"
    if pooled and not has_counts:
        finding = "pooled rates need the columns recommendations and accepted."
        raise InputError.at(path, first, finding)
    if "rate" not in frame and not has_counts:
        finding = "a column rate is needed, or both recommendations and accepted."
        raise InputError.at(path, first, finding)
    _require_periods(path, frame)
    lists = _wholes(path, frame, "recommendations", least=1)
    accepted = _wholes(path, frame, "accepted", least=0)
    if lists is not None and accepted is not None and (accepted > lists).any():
        row = int((accepted > lists).argmax())
        finding = f"{accepted[row]} recommendations were accepted, of {lists[row]}."
        raise InputError.at(path, int(frame.index[row]), finding)
    counted = np.full(len(frame), np.nan)
    if lists is not None and accepted is not None:
        counted = accepted / lists
    rates = _numbers(path, frame, "rate") if "rate" in frame and not pooled else counted
    users = _wholes(path, frame, "users", least=1)
    weights = lists if pooled else users
    weights = np.ones(len(frame), dtype=np.int64) if weights is None else weights
    if "error" in frame:
        errors = _numbers(path, frame, "error", least=0.0)
    elif lists is not None and accepted is not None:
        # Where none or all are accepted, as long as the interval of Clopper and Pearson.
        point = (1 - TAIL ** (1 / lists)) / REACH
        binomial = (accepted * (lists - accepted) / lists.astype(np.float64) ** 3) ** 0.5
        errors = np.where((accepted == 0) | (accepted == lists), point, binomial)
    else:
        errors = np.full(len(frame), np.nan)
    keys = ["experiment", "model"]
    shares = weights / frame.assign(w=weights).groupby(keys)["w"].transform("sum").to_numpy()
    parts = frame[keys].assign(rate=shares * rates, error=(shares * errors) ** 2, line=frame.index)
    groups = parts.groupby(keys, sort=False)
    found = groups[["rate", "error"]].sum(min_count=1).assign(line=groups["line"].first())
    found["error"] **= 0.5
    return found.reset_index().set_index("line")


def _require_periods(path: Path, frame: pd.DataFrame) -> None:
    if "period" in frame:
        _names(path, frame, "period")
    keys = [name for name in ("experiment", "model", "period") if name in frame]
    again = frame.duplicated(keys)
    if again.any():
        line = int(frame.index[again][0])
        own = frame.loc[line, keys]
        before = frame.index[(frame[keys] == own).all(axis=1)][0]
        hint = f" for period {own['period']!r}" if "period" in frame else ""
        hint = hint or "; periods need a column period"
        finding = f"model {own['model']!r} has a second rate, after line {before}{hint}."
        raise InputError.at(path, line, finding)


def table_at(path: Path) -> Path:
    """Give the table itself, where the folder of a study may stand for its means."""
    return path / "tables" / "means.csv" if path.is_dir() else path


def _read(path: Path, what: str) -> tuple[pd.DataFrame, int]:
    """Read texts by line, with columns model and experiment; and the line of the heading."""
    import pandas as pd

    lines = read_lines(path)
    first, heading = next(lines, (0, []))
    if not first:
        raise InputError(f"{path}: the file is empty.")
    names = distinct(path, [(first, name) for name in heading], "column")
    if names[0] not in MODEL_HEADERS:
        finding = f"the first column must be {' or '.join(MODEL_HEADERS)}, found {names[0]!r}."
        raise InputError.at(path, first, finding)
    rows = {line: check_width(path, line, row, heading) for line, row in lines}
    if not rows:
        raise InputError.at(path, first, f"the table has a heading but no {what}.")
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=("model", *names[1:]))
    _names(path, frame, "model")
    if "experiment" in frame:
        _names(path, frame, "experiment")
        return frame, first
    return frame.assign(experiment=ONE_EXPERIMENT), first


def _texts(frame: pd.DataFrame, column: str) -> list[tuple[int, str]]:
    """Give the texts of a column with their lines."""
    return list(zip(frame.index.tolist(), frame[column].tolist(), strict=True))


def _names(path: Path, frame: pd.DataFrame, column: str) -> list[str]:
    """Give names, which must not be empty."""
    for line, name in _texts(frame, column):
        if not name:
            raise InputError.at(path, line, f"column {column!r}: a name is missing.")
    return frame[column].tolist()


def _numbers(path: Path, frame: pd.DataFrame, column: str, *, least: float = -np.inf) -> Floats:
    """Read finite numbers, not less than the least."""
    import pandas as pd

    numbers = pd.to_numeric(frame[column], errors="coerce").to_numpy(dtype=np.float64)
    wrong = ~np.isfinite(numbers) | (numbers < least)
    if wrong.any():
        row = int(wrong.argmax())
        text = frame[column].iloc[row]
        wanted = f"at least {least:g}" if numbers[row] < least > -np.inf else "a number"
        finding = f"{wanted} expected, found {text!r}." if text else "a score is missing."
        raise InputError.at(path, int(frame.index[row]), f"column {column!r}: {finding}")
    return numbers


def _wholes(
    path: Path, frame: pd.DataFrame, column: str, *, least: int
) -> NDArray[np.int64] | None:
    """Read whole numbers from the least on; None if there is no such column."""
    if column not in frame:
        return None
    for line, text in _texts(frame, column):
        if not text.isdecimal() or int(text) < least:
            finding = f"column {column!r}: a whole number from {least} expected, found {text!r}."
            raise InputError.at(path, line, finding)
    return np.array([int(text) for text in frame[column]], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class LinkedSystems:
    """Systems of a study that have a rate and, where there is such a table, offline values.

    The other systems, and models of the tables that the study does not have, are left out. Rates
    and offline values are as of `read_rates` and `read_values`.
    """

    systems: tuple[str, ...]
    left_out: tuple[str, ...]
    rates_path: Path
    rates: pd.DataFrame
    offline: pd.DataFrame | None

    def require_further(self, path: Path | None, measures: Sequence[str]) -> None:
        """Refuse a measure of the table of offline values that the study has, too."""
        further = () if self.offline is None else tuple(self.offline["measure"].drop_duplicates())
        for name in further:
            if name in measures:
                raise InputError(
                    f"{path}: the study measures {name} itself; rename that of the table."
                )

    def experiment(self, name: str, scores: Scores) -> Experiment:
        """Put mean scores, further measures and rates of the systems together.

        Means of metrics of which less is better are taken negative, so that rho is positive where
        they agree with the rates.
        """
        names = [str(measure) for measure in scores.measures]
        falling = scores.measures.falling
        places = [scores.systems.index(system) for system in self.systems]
        signs = np.array([-1.0 if m.metric in falling else 1.0 for m in scores.measures])
        values = [signs[:, np.newaxis] * scores.means()[:, places]]
        errors = [_errors_of_means(scores.values[:, places])]
        if self.offline is not None:
            further, cells, known = _cells(self.offline, self.systems)
            names += further
            values.append(cells)
            errors.append(np.nan_to_num(known))
        rates, rate_errors = rates_of(self.rates_path, self.rates, self.systems)
        own = np.concatenate(values), rates, np.concatenate(errors), rate_errors
        return Experiment(name, self.systems, tuple(names), *own)


def _errors_of_means(scores: Floats) -> Floats:
    """Give standard errors of means over users, without what moves all systems together.

    Scores are of shape (n_measures, n_systems, n_users), errors (n_measures, n_systems).
    """
    n_users = scores.shape[2]
    if n_users < 2:
        return np.zeros(scores.shape[:2])
    apart = scores - scores.mean(axis=1, keepdims=True)
    return np.asarray(apart.std(axis=2, ddof=1) / np.sqrt(n_users))


def link_systems(
    systems: Sequence[str], *, rates: Path, offline: Path | None, over_time: OverTime
) -> LinkedSystems:
    """Find the systems of a study in tables of rates, and of further measures.

    Raises
    ------
    InputError
        If a table breaks a rule or is of several experiments, fewer than three systems are
        known on all sides, or all of them have one rate.
    """
    online = _only(rates, read_rates(rates, over_time=over_time))
    values = None if offline is None else _only(offline, read_values(offline))
    sides = [list(systems), online["model"].tolist()]
    sides += [] if values is None else [values["model"].drop_duplicates().tolist()]
    known = [system for system in systems if all(system in side for side in sides)]
    everyone = dict.fromkeys(system for side in sides for system in side)
    left_out = [system for system in everyone if system not in known]
    if len(known) < FEWEST_MODELS:
        raise InputError(
            f"{rates}: at least {FEWEST_MODELS} systems of the study must have a rate"
            f"{'' if values is None else f', and values in {offline}'}, found {len(known)}; "
            f"unknown on one side: {', '.join(left_out)}."
        )
    rates_of(rates, online, known)
    return LinkedSystems(tuple(known), tuple(left_out), rates, online, values)


def _only(path: Path, frame: pd.DataFrame) -> pd.DataFrame:
    """Give a table of one experiment back."""
    names = frame["experiment"].drop_duplicates()
    if len(names) > 1:
        found = f"{len(names)}: {', '.join(names)}"
        raise InputError(f"{path}: a study has one experiment, found {found}.")
    return frame
