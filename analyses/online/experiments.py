"""Models of online experiments, with their offline values and click-through rates, and as tables.

Tables are UTF-8 text with a heading line; fields are separated by tabs if that line has one, else
by commas. The first column is called model, arm or system. A column experiment names data sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

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

    def values_of(self, measures: Sequence[str]) -> Floats:
        """Give the values of some of the measures."""
        return self.values[[self.measures.index(measure) for measure in measures]]


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
    """
    values = table_at(values)
    offline, online = read_values(values), read_rates(rates, over_time=over_time)
    keys = ["experiment", "model"]
    for first, own, second, other, lacking in (
        (values, offline, rates, online, "rate"),
        (rates, online, values, offline, "offline values"),
    ):
        missing = own.loc[~own["experiment"].isin(other["experiment"]), "experiment"]
        if len(missing):
            raise InputError(
                f"{first} and {second} must have the same experiments: {missing.iloc[0]!r} is in "
                "the first alone."
            )
        known = set(other[keys].itertuples(index=False, name=None))
        for line, *place in own[keys].itertuples(name=None):
            if tuple(place) not in known:
                finding = f"model {place[1]!r} has no {lacking} in {second}."
                raise InputError.at(first, line, finding)
    return [
        _experiment(values, str(name), own, rates, online)
        for name, own in offline.groupby("experiment", sort=False)
    ]


def read_experiment_folder(folder: Path, *, over_time: OverTime = "thesis") -> list[Experiment]:
    """Read ``values.csv`` and ``rates.csv`` of a folder, or of the tables of a finished study.

    A data set that the tables do not name is called as the folder.
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

    Given are columns experiment, model, measure, value and error (NaN where it is not known), by
    line.
    """
    path = table_at(path)
    frame, first = _read(path, "values")
    columns = [str(name) for name in frame if name not in ("model", "experiment")]
    if not columns:
        raise InputError.at(path, first, "the table has no measure.")
    if {"metric", "cutoff", "mean"} <= {*columns}:
        _require_names(path, frame, "metric")
        rows = zip(frame.index.tolist(), frame["metric"], frame["cutoff"], strict=True)
        measures = [str(Measure(metric, read_cutoff(path, n, k))) for n, metric, k in rows]
        long = frame.assign(measure=measures, value=_numbers(path, frame, "mean"))
    elif {"measure", "value"} <= {*columns}:
        unknown = [name for name in columns if name not in ("measure", "value", "error")]
        if unknown:
            finding = (
                f"a long table has no column {unknown[0]!r}, only model, measure, value, error, "
                "experiment."
            )
            raise InputError.at(path, first, finding)
        _require_names(path, frame, "measure")
        long = frame.assign(value=_numbers(path, frame, "value"))
    else:
        numbers = frame.assign(**{name: _numbers(path, frame, name) for name in columns})
        long = numbers.melt(["experiment", "model"], columns, "measure", ignore_index=False)
        long = long.sort_index(kind="stable")
    is_known = "measure" in frame and "error" in frame
    long = long.assign(error=_numbers(path, frame, "error") if is_known else np.nan)
    found = long[["experiment", "model", "measure", "value", "error"]]
    _require_complete(path, found)
    return found


def _require_complete(path: Path, found: pd.DataFrame) -> None:
    """Refuse a value that is duplicated, and models that lack a measure."""
    several = found["experiment"].nunique() > 1 or found["experiment"].iloc[0] != ONE_EXPERIMENT

    def refuse(line: Any, experiment: Any, finding: str) -> None:
        where = f" in the experiment {experiment!r}" if several else ""
        raise InputError.at(path, int(line), f"{finding}{where}.")

    keys = ["experiment", "model", "measure"]
    for line, experiment, model, measure in found[found.duplicated(keys)][keys].itertuples():
        refuse(line, experiment, f"model {model!r} has {measure} twice")
    measures = found["measure"].drop_duplicates()
    for (experiment, model), own in found.groupby(["experiment", "model"], sort=False):
        missing = measures[~measures.isin(own["measure"])]
        if len(missing):
            refuse(own.index[0], experiment, f"model {model!r} has no {missing.iloc[0]}")


def read_rates(path: Path, *, over_time: OverTime = "thesis") -> pd.DataFrame:
    """Read click-through rates of models.

    The table has the columns model (or arm, system) and rate, and may have error, period, users,
    recommendations, accepted and experiment. The rate may be left out where recommendations and
    accepted are there; without errors, these give that of independent lists, too.

    Periods of a model are averaged: ``"thesis"``, the mean of their rates, weighted by users if
    there is a column for them (equations 2.6 and 2.7 of Kasalický 2021); ``"pooled"``, all that was
    accepted over all recommendations.

    Given are columns experiment, model, rate and error (NaN where it is not known), by the first
    line of a model.
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
    _require_one_rate(path, frame)
    least = {"recommendations": 1, "accepted": 0, "users": 1}
    counts = {
        name: _numbers(path, frame, name, least=least[name], whole=True)
        for name in least
        if name in frame
    }
    rates = errors = np.full(len(frame), np.nan)
    if has_counts:
        lists, accepted = counts["recommendations"], counts["accepted"]
        if (accepted > lists).any():
            row = int((accepted > lists).argmax())
            finding = f"{accepted[row]:.0f} recommendations were accepted, of {lists[row]:.0f}."
            raise InputError.at(path, int(frame.index[row]), finding)
        rates = accepted / lists
        # Where none or all are accepted, as long as the interval of Clopper and Pearson.
        point = (1 - TAIL ** (1 / lists)) / REACH
        binomial = (accepted * (lists - accepted) / lists**3) ** 0.5
        errors = np.where((accepted == 0) | (accepted == lists), point, binomial)
    if "rate" in frame and not pooled:
        rates = _numbers(path, frame, "rate")
    if "error" in frame:
        errors = _numbers(path, frame, "error", least=0.0)
    weights = counts.get("recommendations" if pooled else "users", np.ones(len(frame)))
    keys = ["experiment", "model"]
    shares = weights / frame.assign(w=weights).groupby(keys)["w"].transform("sum").to_numpy()
    parts = frame[keys].assign(rate=shares * rates, error=(shares * errors) ** 2, line=frame.index)
    groups = parts.groupby(keys, sort=False)
    found = groups[["rate", "error"]].sum(min_count=1).assign(line=groups["line"].first())
    found["error"] **= 0.5
    return found.reset_index().set_index("line")


def _require_one_rate(path: Path, frame: pd.DataFrame) -> None:
    """Refuse a second rate of a model for one period."""
    if "period" in frame:
        _require_names(path, frame, "period")
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
    _require_names(path, frame, "model")
    if "experiment" not in frame:
        return frame.assign(experiment=ONE_EXPERIMENT), first
    _require_names(path, frame, "experiment")
    return frame, first


def _require_names(path: Path, frame: pd.DataFrame, column: str) -> None:
    """Refuse an empty name."""
    missing = frame.index[frame[column] == ""]
    if len(missing):
        raise InputError.at(path, int(missing[0]), f"column {column!r}: a name is missing.")


def _numbers(
    path: Path, frame: pd.DataFrame, column: str, *, least: float = -np.inf, whole: bool = False
) -> Floats:
    """Read finite numbers, or whole ones, not less than the least."""
    import pandas as pd

    numbers = pd.to_numeric(frame[column], errors="coerce").to_numpy(dtype=np.float64)
    wrong = ~np.isfinite(numbers) | (numbers < least)
    if whole:
        wrong |= ~frame[column].str.isdecimal().to_numpy()
    if wrong.any():
        row = int(wrong.argmax())
        text = frame[column].iloc[row]
        wanted = f"at least {least:g}" if numbers[row] < least > -np.inf else "a number"
        wanted = f"a whole number from {least:g}" if whole else wanted
        finding = f"{wanted} expected, found {text!r}."
        finding = finding if text or whole else "a score is missing."
        raise InputError.at(path, int(frame.index[row]), f"column {column!r}: {finding}")
    return numbers


@dataclass(frozen=True, eq=False)
class LinkedSystems:
    """Systems of a study that have a rate and, where there is such a table, offline values.

    The other systems, and models of the tables that the study does not have, are left out. Rates,
    with their errors if they are known, are of the systems; offline values as of `read_values`.
    """

    systems: tuple[str, ...]
    left_out: tuple[str, ...]
    rates: tuple[Floats, Floats | None]
    offline: pd.DataFrame | None

    def experiment(self, name: str, scores: Scores) -> Experiment:
        """Put mean scores, further measures and rates of the systems together.

        Means of metrics of which less is better are taken negative, so that rho is positive where
        they agree with the rates. Errors of means are over users, without what moves all systems
        together.
        """
        names = [str(measure) for measure in scores.measures]
        places = [scores.systems.index(system) for system in self.systems]
        falling = scores.measures.falling
        signs = np.array([-1.0 if m.metric in falling else 1.0 for m in scores.measures])
        values, own = [signs[:, np.newaxis] * scores.means()[:, places]], scores.values[:, places]
        errors, n_users = [np.zeros(own.shape[:2])], own.shape[2]
        if n_users > 1:
            apart = own - own.mean(axis=1, keepdims=True)
            errors = [apart.std(axis=2, ddof=1) / np.sqrt(n_users)]
        if self.offline is not None:
            further, cells, known = _cells(self.offline, self.systems)
            names += further
            values.append(cells)
            errors.append(np.nan_to_num(known))
        rates, rate_errors = self.rates
        both = np.concatenate(values), rates, np.concatenate(errors), rate_errors
        return Experiment(name, self.systems, tuple(names), *both)


def link_systems(
    systems: Sequence[str],
    measures: Sequence[str],
    *,
    rates: Path,
    offline: Path | None,
    over_time: OverTime,
) -> LinkedSystems:
    """Find the systems of a study in tables of rates, and of measures that it has not itself."""
    online = _only(rates, read_rates(rates, over_time=over_time))
    values = None if offline is None else _only(offline, read_values(offline))
    sides = [list(systems), online["model"].tolist()]
    if values is not None:
        sides.append(values["model"].drop_duplicates().tolist())
        for name in values["measure"].drop_duplicates():
            if name in measures:
                raise InputError(
                    f"{offline}: the study measures {name} itself; rename that of the table."
                )
    known = [system for system in systems if all(system in side for side in sides)]
    everyone = dict.fromkeys(system for side in sides for system in side)
    left_out = [system for system in everyone if system not in known]
    if len(known) < FEWEST_MODELS:
        raise InputError(
            f"{rates}: at least {FEWEST_MODELS} systems of the study must have a rate"
            f"{'' if values is None else f', and values in {offline}'}, found {len(known)}; "
            f"unknown on one side: {', '.join(left_out)}."
        )
    found = rates_of(rates, online, known)
    return LinkedSystems(tuple(known), tuple(left_out), found, values)


def _only(path: Path, frame: pd.DataFrame) -> pd.DataFrame:
    """Give a table of one experiment back."""
    names = frame["experiment"].drop_duplicates()
    if len(names) > 1:
        found = f"{len(names)}: {', '.join(names)}"
        raise InputError(f"{path}: a study has one experiment, found {found}.")
    return frame
