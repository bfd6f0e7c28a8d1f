"""Models of online experiments, with their offline values and click-through rates, and as tables.

Tables are UTF-8 text with a heading line; fields are separated by tabs if that line has one, else
by commas. The first column is called model, arm or system. A column experiment names data sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from analyses.online.rates import TAIL, OverTime
from analyses.shared.limits import NORMAL_QUANTILE
from analyses.shared.measure import Measure
from analyses.shared.scores import Scores
from analyses.shared.table import unescape_formula
from runs import InputError
from runs.shared.arrays import Floats
from runs.shared.errors import require_known
from runs.shared.fields import distinct_names, read_cutoff, read_lines, require_width

if TYPE_CHECKING:
    import pandas as pd


FEWEST_MODELS: Final = 3
ONE_EXPERIMENT: Final = "data"
"""What the data set is called where tables do not name it; it is part of the key of the draws."""

MODEL_HEADERS: Final = ("model", "arm", "system")
KEYS: Final = ["experiment", "model"]
VALUES: Final = ("value", "error")
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
        for what, labels in {"model": self.models, "measure": self.measures}.items():
            require_unique(self.name, what, labels)
        errors = [each for each in (self.value_errors, self.rate_errors) if each is not None]
        rules = {
            f"at least {FEWEST_MODELS} models are compared": len(self.models) >= FEWEST_MODELS,
            "errors must be numbers of at least 0": all((each >= 0).all() for each in errors),
            "click-through rates must be finite": bool(np.isfinite(self.rates).all()),
        }
        for rule, is_kept in rules.items():
            if not is_kept:
                raise InputError(f"{self.name}: {rule}; the models are {', '.join(self.models)}.")


def require_unique(name: str, what: str, labels: Sequence[str]) -> None:
    """Refuse a label that occurs twice."""
    for label in labels:
        if labels.count(label) > 1:
            raise InputError(f"{name}: the {what} {label!r} occurs twice.")


def read_experiments(
    values: Path, rates: Path, *, over_time: OverTime = "thesis"
) -> list[Experiment]:
    """Read a table of values and one of rates, which must have the same models, by experiment.

    See `read_values` and `read_rates`.
    """
    values = _table_at(values)
    offline, online = read_values(values), read_rates(rates, over_time=over_time)
    both = offline[KEYS].drop_duplicates().merge(online[KEYS], how="outer", indicator="side")
    for model in both[both["side"] != "both"].itertuples():
        where = values if model.side == "left_only" else rates
        raise InputError(
            f"{values} and {rates} must have the same models: {model.model!r} of the experiment "
            f"{model.experiment!r} is in {where} alone."
        )
    found = []
    for name, own in offline.groupby("experiment", sort=False):
        models = tuple(own["model"].drop_duplicates())
        measures = own["measure"].drop_duplicates()
        wide = own.pivot(index="measure", columns="model", values=["value", "error"])
        cells, errors = (wide[side].loc[measures, [*models]].to_numpy() for side in VALUES)
        known = None if np.isnan(errors).any() else errors
        of_models, rate_errors = _rates_of(rates, online[online["experiment"] == name], models)
        both_sides = (cells, of_models, known, rate_errors)
        found.append(Experiment(str(name), models, tuple(measures), *both_sides))
    return found


def read_experiment_folder(folder: Path, *, over_time: OverTime = "thesis") -> list[Experiment]:
    """Read ``values.csv`` and ``rates.csv`` of a folder, or of the tables of a finished study.

    A data set that the tables do not name is called as the folder.
    """
    place = folder / "tables" if (folder / "tables" / "values.csv").exists() else folder
    found = read_experiments(place / "values.csv", place / "rates.csv", over_time=over_time)
    name = folder.resolve().name
    return [replace(one, name=name) if one.name == ONE_EXPERIMENT else one for one in found]


def _rates_of(
    path: Path, rates: pd.DataFrame, names: Sequence[str]
) -> tuple[Floats, Floats | None]:
    """Give the rates of some models of one experiment, and their errors if they are known.

    Refused are models that all have one rate, as no measure can follow it.
    """
    by_model = rates.set_index("model").loc[[*names]]
    found, errors = by_model["rate"].to_numpy(), by_model["error"].to_numpy()
    if len(np.unique(found)) == 1:
        raise InputError(f"{path}: all models of an experiment have the rate {found[0]:g}.")
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
    path = _table_at(path)
    frame = _read(path, "values")
    columns = [str(name) for name in frame if name not in ("model", "experiment", "error")]
    if {"metric", "cutoff", "mean"} <= {*columns}:
        rows = zip(frame.index.tolist(), frame["metric"], frame["cutoff"], strict=True)
        measures = [str(Measure(metric, read_cutoff(path, n, k))) for n, metric, k in rows]
        long = frame.assign(measure=measures, value=_numbers(path, frame, "mean"))
    elif {"measure", "value"} == {*columns}:
        long = frame.assign(value=_numbers(path, frame, "value"))
    else:
        numbers = frame.assign(**{name: _numbers(path, frame, name) for name in columns})
        long = numbers.melt(["experiment", "model"], columns, "measure", ignore_index=False)
        long = long.sort_index(kind="stable")
    is_known = "measure" in frame and "error" in frame
    long = long.assign(error=_numbers(path, frame, "error") if is_known else np.nan)
    found = long[["experiment", "model", "measure", "value", "error"]]
    for line, _, model, measure, *_ in found[found.duplicated([*KEYS, "measure"])].itertuples():
        raise InputError.at_line(path, int(line), f"model {model!r} has {measure} twice.")
    for (_, model), own in found.groupby(KEYS, sort=False):
        missing = found.loc[~found["measure"].isin(own["measure"]), "measure"]
        if len(missing):
            line, finding = int(own.index[0]), f"model {model!r} has no {missing.iloc[0]}."
            raise InputError.at_line(path, line, finding)
    return found


def read_rates(path: Path, *, over_time: OverTime = "thesis") -> pd.DataFrame:
    """Read click-through rates of models.

    The table has the columns model (or arm, system) and rate, and may have error, period, users,
    recommendations, accepted and experiment. The rate may be left out where recommendations and
    accepted are there; without errors, these give that of independent lists, too.

    Periods of a model are averaged: ``"thesis"``, the mean of their rates, weighted by users if
    there is a column for them (equations 2.6 and 2.7 of Kasalický 2021); ``"pooled"``, all that was
    accepted over all recommendations.

    Given are columns experiment, model, rate and error (NaN where it is not known).
    """
    frame, pooled = _read(path, "rates"), over_time == "pooled"
    known = ["model", *RATE_COLUMNS]
    require_known(f"{path}: a table of rates has no column", map(str, frame), known)
    has_counts = {*COUNTS} <= {*frame}
    if not has_counts and (pooled or "rate" not in frame):
        also = "" if pooled else ", or a column rate"
        raise InputError(f"{path}: the columns recommendations and accepted are needed{also}.")
    for line, model in frame[frame.duplicated([*KEYS, "period"])]["model"].items():
        finding = f"model {model!r} has a second rate for a period (column period)."
        raise InputError.at_line(path, int(str(line)), finding)
    columns = {
        name: _numbers(path, frame, name, least=least, whole=True)
        for name, least in {"recommendations": 1, "accepted": 0, "users": 1}.items()
        if name in frame
    }
    rates = errors = np.full(len(frame), np.nan)
    if has_counts:
        lists, accepted = columns["recommendations"], columns["accepted"]
        if (accepted > lists).any():
            row = int((accepted > lists).argmax())
            finding = f"{accepted[row]:.0f} recommendations were accepted, of {lists[row]:.0f}."
            raise InputError.at_line(path, int(frame.index[row]), finding)
        rates = accepted / lists
        # Where none or all are accepted, as long as the interval of Clopper and Pearson.
        point = (1 - TAIL ** (1 / lists)) / NORMAL_QUANTILE
        binomial = (accepted * (lists - accepted) / lists**3) ** 0.5
        errors = np.where((accepted == 0) | (accepted == lists), point, binomial)
    if "rate" in frame and not pooled:
        rates = _numbers(path, frame, "rate")
        if (rates > 1).any():
            row = int((rates > 1).argmax())
            finding = f"a rate is at most 1, got {rates[row]:g}: divide percentages by 100."
            raise InputError.at_line(path, int(frame.index[row]), finding)
    if "error" in frame:
        errors = _numbers(path, frame, "error", least=0.0)
    weights = columns.get("recommendations" if pooled else "users", np.ones(len(frame)))
    shares = weights / frame.assign(w=weights).groupby(KEYS)["w"].transform("sum").to_numpy()
    parts = frame[KEYS].assign(rate=shares * rates, error=(shares * errors) ** 2)
    found = parts.groupby(KEYS, sort=False).sum(min_count=1)
    found["error"] **= 0.5
    return found.reset_index()


def _table_at(path: Path) -> Path:
    """Give the table itself, where the folder of a study may stand for its means."""
    return path / "tables" / "means.csv" if path.is_dir() else path


def _read(path: Path, what: str) -> pd.DataFrame:
    """Read texts by line, with columns model and experiment, and of rates period."""
    import pandas as pd

    lines = read_lines(path)
    first, heading = next(lines, (0, [""]))
    names = distinct_names(path, [(first, unescape_formula(name)) for name in heading], "column")
    if names[0] not in MODEL_HEADERS:
        finding = f"the first column must be {' or '.join(MODEL_HEADERS)}, found {names[0]!r}."
        raise InputError.at_line(path, first, finding)
    rows = {line: require_width(path, line, row, heading) for line, row in lines}
    if not rows or len(names) == 1:
        raise InputError.at_line(path, first, f"the table has no {what}.")
    columns = ("model", *names[1:])
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=columns).map(unescape_formula)
    defaults = {"experiment": ONE_EXPERIMENT} | ({"period": "all"} if what == "rates" else {})
    frame = frame.assign(**{name: text for name, text in defaults.items() if name not in frame})
    for column in ("model", "experiment", "period", "metric", "measure"):
        if column in frame and (frame[column] == "").any():
            line = int(frame.index[frame[column] == ""][0])
            raise InputError.at_line(path, line, f"column {column!r}: a name is missing.")
    return frame


def _numbers(
    path: Path, frame: pd.DataFrame, column: str, *, least: float = -np.inf, whole: bool = False
) -> Floats:
    """Read finite numbers, or whole ones, not less than the least."""
    import pandas as pd

    numbers = pd.to_numeric(frame[column], errors="coerce").to_numpy(dtype=np.float64)
    wrong = ~np.isfinite(numbers) | (numbers < least)
    wrong |= whole & ~frame[column].str.isdecimal().to_numpy()
    if wrong.any():
        row = int(wrong.argmax())
        wanted = f"a {'whole ' * whole}number{f' from {least:g}' * (least > -np.inf)}"
        finding = f"column {column!r}: {wanted} expected, found {frame[column].iloc[row]!r}."
        raise InputError.at_line(path, int(frame.index[row]), finding)
    return numbers


class LinkedSystems(NamedTuple):
    """Systems of a study that have a rate; the others, and other models, are left out.

    Rates, with their errors if they are known, are of the systems.
    """

    systems: tuple[str, ...]
    left_out: tuple[str, ...]
    rates: Floats
    errors: Floats | None

    def experiment(self, name: str, scores: Scores) -> Experiment:
        """Put mean scores and rates of the systems together.

        Means of metrics of which less is better are taken negative, so that rho is positive where
        they agree with the rates. Errors of means are over users, without what moves all systems
        together.
        """
        names = tuple(str(measure) for measure in scores.measures)
        places = [scores.systems.index(system) for system in self.systems]
        means, own = scores.mean_values()[:, places], scores.weighted_values[:, places]
        values = scores.measures.signs[:, np.newaxis] * means
        errors, n_users = np.zeros(own.shape[:2]), own.shape[2]
        if n_users > 1:
            apart = own - own.mean(axis=1, keepdims=True)
            errors = apart.std(axis=2, ddof=1) / np.sqrt(n_users)
        return Experiment(name, self.systems, names, values, self.rates, errors, self.errors)


def link_systems(systems: Sequence[str], *, rates: Path, over_time: OverTime) -> LinkedSystems:
    """Find the systems of a study in a table of rates."""
    online = read_rates(rates, over_time=over_time)
    names = online["experiment"].unique()
    if len(names) > 1:
        raise InputError(f"{rates}: a study has one experiment, found {', '.join(names)}.")
    models = online["model"].tolist()
    known = tuple(system for system in systems if system in models)
    left_out = tuple(name for name in dict.fromkeys([*systems, *models]) if name not in known)
    if len(known) < FEWEST_MODELS:
        raise InputError(
            f"{rates}: at least {FEWEST_MODELS} systems of the study must have a rate, found "
            f"{len(known)}; unknown on one side: {', '.join(left_out)}."
        )
    return LinkedSystems(known, left_out, *_rates_of(rates, online, known))
