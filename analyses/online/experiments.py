"""Models of online experiments, with their offline values and click-through rates, and as tables.

Tables are UTF-8 text with a heading line; fields are separated by tabs if that line has one, else
by commas. The first column is called model, arm or system. A column experiment names data sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn

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
COUNTS: Final = ("recommendations", "accepted")
RATE_COLUMNS: Final = ("rate", "error", "period", "users", *COUNTS, "experiment")
NAME_COLUMNS: Final = ("model", "experiment", "period", "metric", "measure")
"""Columns of names, which must not be empty."""


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
        """Refuse, with InputError, an experiment that cannot be studied.

        These have duplicate names of models or measures, fewer than 3 models, errors that are
        negative or NaN, or rates that are not finite.
        """
        require_unique(self.name, "model", self.models)
        require_unique(self.name, "measure", self.measures)
        if len(self.models) < FEWEST_MODELS:
            self._refuse(f"at least {FEWEST_MODELS} models are compared")
        for errors in (self.value_errors, self.rate_errors):
            if errors is not None and not (errors >= 0).all():
                self._refuse("errors must be numbers of at least 0")
        if not np.isfinite(self.rates).all():
            self._refuse("click-through rates must be finite")

    def _refuse(self, rule: str) -> NoReturn:
        """Raise InputError with the name, the rule that is broken, and the models."""
        raise InputError(f"{self.name}: {rule}; the models are {', '.join(self.models)}.")


def require_unique(name: str, kind: str, labels: Sequence[str]) -> None:
    """Refuse, with InputError, a label that occurs twice.

    ``name`` is that of the data set, ``kind`` what the labels are of, such as "model".
    """
    for label in labels:
        if labels.count(label) > 1:
            raise InputError(f"{name}: the {kind} {label!r} occurs twice.")


def read_experiments(
    values: Path, rates: Path, *, over_time: OverTime = "thesis"
) -> list[Experiment]:
    """Read a table of values and one of rates, which must have the same models, by experiment.

    Experiments are in the order of the table of values; errors of values are None if one is not
    known. The path of the values may be the folder of a study, whose means are read then. See
    `read_values` and `read_rates`, which refuse wrong tables. Refuse, with InputError, a
    model that is in one table alone, too few models, and models that all have one rate.
    """
    values = _table_path(values)
    offline = read_values(values)
    online = read_rates(rates, over_time=over_time)
    _require_same_models(values, offline, rates, online)
    experiments = []
    for name, rows in offline.groupby("experiment", sort=False):
        models = tuple(rows["model"].drop_duplicates())
        measures = tuple(rows["measure"].drop_duplicates())
        wide = rows.pivot(index="measure", columns="model", values=["value", "error"])
        model_values = wide["value"].loc[[*measures], [*models]]
        errors = wide["error"].loc[[*measures], [*models]].to_numpy()
        value_errors = None if np.isnan(errors).any() else errors
        experiment_rates = online[online["experiment"] == name]
        model_rates, rate_errors = _rates_of(rates, experiment_rates, models)
        experiment = Experiment(
            name=str(name),
            models=models,
            measures=measures,
            values=model_values.to_numpy(),
            rates=model_rates,
            value_errors=value_errors,
            rate_errors=rate_errors,
        )
        experiments.append(experiment)
    return experiments


def _require_same_models(
    values: Path, offline: pd.DataFrame, rates: Path, online: pd.DataFrame
) -> None:
    """Refuse, with InputError, a model of an experiment that is in one of two tables alone.

    ``values`` and ``rates`` are the paths of the tables, ``offline`` and ``online`` their rows:
    both with columns experiment and model, of which ``online`` has each pair once.
    """
    offline_models = offline[KEYS].drop_duplicates()
    models = offline_models.merge(online[KEYS], how="outer", indicator="side")
    is_unpaired = models["side"] != "both"
    for model in models[is_unpaired].itertuples():
        table = values if model.side == "left_only" else rates
        raise InputError(
            f"{values} and {rates} must have the same models: {model.model!r} of the experiment "
            f"{model.experiment!r} is in {table} alone."
        )


def read_experiment_folder(folder: Path, *, over_time: OverTime = "thesis") -> list[Experiment]:
    """Read ``values.csv`` and ``rates.csv`` of a folder, or of the tables of a finished study.

    The tables are in the subfolder ``tables`` if that has values, else in the folder itself. A data
    set that they do not name is called as the folder. Refuse wrong tables with InputError.
    """
    tables = folder / "tables"
    if not (tables / "values.csv").exists():
        tables = folder
    values = tables / "values.csv"
    rates = tables / "rates.csv"
    experiments = read_experiments(values, rates, over_time=over_time)
    folder_name = folder.resolve().name
    return [
        replace(experiment, name=folder_name) if experiment.name == ONE_EXPERIMENT else experiment
        for experiment in experiments
    ]


def _rates_of(
    path: Path, rates: pd.DataFrame, names: Sequence[str]
) -> tuple[Floats, Floats | None]:
    """Look up the rates of some models of one experiment, and their standard errors, (n_models,).

    ``names`` are those of the models. ``rates``: columns model, rate and error, from the table at
    the path; the models are in it. Errors are None if some are not known. Refuse, with InputError,
    models that all have one rate, as no measure can follow it.
    """
    by_model = rates.set_index("model").loc[[*names]]
    model_rates = by_model["rate"].to_numpy()
    errors = by_model["error"].to_numpy()
    if len(np.unique(model_rates)) == 1:
        raise InputError(f"{path}: all models of an experiment have the rate {model_rates[0]:g}.")
    return model_rates, None if np.isnan(errors).any() else errors


def read_values(path: Path) -> pd.DataFrame:
    """Read offline values of models.

    In a wide table every other column is a measure, such as ``nDCG@10`` or
    ``LLOO(beta=0.35)@5``; a long one has the columns measure, value and perhaps error, as
    ``harness recall --output`` writes them, or metric, cutoff and mean as ``tables/means.csv`` of a
    study, which is meant by the folder of a study.

    The result has the columns experiment, model, measure, value and error (NaN where it is not
    known), and numbers of lines as its index. Refuse, with InputError, a measure that a model has
    twice, and one that it lacks; a wrong number, and a table that is not of this form.
    """
    path = _table_path(path)
    frame = _read_table(path, "values")
    columns = [str(name) for name in frame if name not in ("model", "experiment", "error")]
    if {"metric", "cutoff", "mean"} <= {*columns}:
        lines = frame.index.tolist()
        measures = []
        for line, metric, text in zip(lines, frame["metric"], frame["cutoff"], strict=True):
            cutoff = read_cutoff(path, line, text)
            measures.append(str(Measure(metric, cutoff)))
        means = _read_numbers(path, frame, "mean")
        long = frame.assign(measure=measures, value=means)
    elif {"measure", "value"} == {*columns}:
        long = frame.assign(value=_read_numbers(path, frame, "value"))
    else:
        columns_of_numbers = {name: _read_numbers(path, frame, name) for name in columns}
        numbers = frame.assign(**columns_of_numbers)
        long = numbers.melt(["experiment", "model"], columns, "measure", ignore_index=False)
        long = long.sort_index(kind="stable")
    has_errors = "measure" in frame and "error" in frame
    errors = _read_numbers(path, frame, "error") if has_errors else np.nan
    long = long.assign(error=errors)
    values = long[["experiment", "model", "measure", "value", "error"]]
    _require_each_measure_once(path, values)
    return values


def _require_each_measure_once(path: Path, values: pd.DataFrame) -> None:
    """Refuse, with InputError, a measure that a model has twice, and one that it lacks.

    ``values``: columns experiment, model and measure, first and in this order; the index has
    numbers of lines. Every model must have all measures of the table, also those of other
    experiments. The error names the file and the line.
    """
    is_duplicate = values.duplicated([*KEYS, "measure"])
    for line, _, model, measure, *_ in values[is_duplicate].itertuples():
        raise InputError.at_line(path, int(line), f"model {model!r} has {measure} twice.")
    for (_, model), rows in values.groupby(KEYS, sort=False):
        is_missing = ~values["measure"].isin(rows["measure"])
        missing = values.loc[is_missing, "measure"]
        if len(missing):
            problem = f"model {model!r} has no {missing.iloc[0]}."
            raise InputError.at_line(path, int(rows.index[0]), problem)


def read_rates(path: Path, *, over_time: OverTime = "thesis") -> pd.DataFrame:
    """Read click-through rates of models.

    The table has the columns model (or arm, system) and rate, and may have error, period, users,
    recommendations, accepted and experiment. The rate may be left out where recommendations and
    accepted are there; without errors, these give that of independent lists, too.

    Periods of a model are averaged: ``"thesis"``, the mean of their rates, weighted by users if
    there is a column for them (equations 2.6 and 2.7 of Kasalický 2021); ``"pooled"``, all that was
    accepted over all recommendations.

    The result has the columns experiment, model, rate and error (NaN where it is not known).
    Refuse, with InputError, unknown columns, columns that are missing, a period that a model has
    twice, and wrong numbers.
    """
    frame = _read_table(path, "rates")
    is_pooled = over_time == "pooled"
    _check_rate_columns(path, frame, is_pooled=is_pooled)
    smallest_counts = {"recommendations": 1, "accepted": 0, "users": 1}
    counts = {
        name: _read_numbers(path, frame, name, smallest=smallest, whole=True)
        for name, smallest in smallest_counts.items()
        if name in frame
    }
    rates = np.full(len(frame), np.nan)
    errors = np.full(len(frame), np.nan)
    if {*COUNTS} <= {*frame}:
        n_lists = counts["recommendations"]
        n_accepted = counts["accepted"]
        _require_at_most_all(path, frame, n_accepted, n_lists)
        rates = n_accepted / n_lists
        errors = _errors_of_shares(n_accepted, n_lists)
    if "rate" in frame and not is_pooled:
        rates = _read_numbers(path, frame, "rate")
        _refuse_percentages(path, frame, rates)
    if "error" in frame:
        errors = _read_numbers(path, frame, "error", smallest=0.0)
    weight_column = "recommendations" if is_pooled else "users"
    equal_weights = np.ones(len(frame))
    weights = counts.get(weight_column, equal_weights)
    return _average_periods(frame, rates, errors, weights)


def _check_rate_columns(path: Path, frame: pd.DataFrame, *, is_pooled: bool) -> None:
    """Refuse, with InputError, columns that a table of rates does not have, and missing ones.

    Needed are the counts of recommendations and of accepted ones, or, unless rates are pooled over
    periods, a rate. Refuse a period that a model of an experiment has twice, too. The index of the
    frame has numbers of lines.
    """
    columns = [str(name) for name in frame]
    known_columns = ["model", *RATE_COLUMNS]
    require_known(f"{path}: a table of rates has no column", columns, known_columns)
    has_counts = {*COUNTS} <= {*frame}
    if not has_counts and (is_pooled or "rate" not in frame):
        alternative = "" if is_pooled else ", or a column rate"
        raise InputError(
            f"{path}: the columns recommendations and accepted are needed{alternative}."
        )
    is_duplicate = frame.duplicated([*KEYS, "period"])
    for line, model in frame[is_duplicate]["model"].items():
        problem = f"model {model!r} has a second rate for a period (column period)."
        raise InputError.at_line(path, int(str(line)), problem)


def _require_at_most_all(
    path: Path, frame: pd.DataFrame, n_accepted: Floats, n_lists: Floats
) -> None:
    """Refuse, with InputError, more accepted recommendations than there were.

    Both counts are by row of the frame, (n_rows,), whose index has numbers of lines.
    """
    is_wrong = n_accepted > n_lists
    if is_wrong.any():
        row = int(is_wrong.argmax())
        n_all = n_lists[row]
        problem = f"{n_accepted[row]:.0f} recommendations were accepted, of {n_all:.0f}."
        raise InputError.at_line(path, int(frame.index[row]), problem)


def _refuse_percentages(path: Path, frame: pd.DataFrame, rates: Floats) -> None:
    """Refuse, with InputError, rates above 1, as they may be percentages.

    Rates are by row of the frame, (n_rows,), whose index has numbers of lines.
    """
    is_wrong = rates > 1
    if is_wrong.any():
        row = int(is_wrong.argmax())
        problem = f"a rate is at most 1, got {rates[row]:g}: divide percentages by 100."
        raise InputError.at_line(path, int(frame.index[row]), problem)


def _errors_of_shares(n_accepted: Floats, n_lists: Floats) -> Floats:
    """Compute the standard errors of shares of independent lists, of the shape of the counts.

    It is that of the binomial distribution. Where none or all are accepted, the normal 95 %
    interval, 1.96 errors to one side, is as long as that of Clopper and Pearson. Every number of
    lists is at least 1.
    """
    exact_length = 1 - TAIL ** (1 / n_lists)
    exact = exact_length / NORMAL_QUANTILE
    variances = n_accepted * (n_lists - n_accepted) / n_lists**3
    binomial = variances**0.5
    is_extreme = (n_accepted == 0) | (n_accepted == n_lists)
    return np.where(is_extreme, exact, binomial)


def _average_periods(
    frame: pd.DataFrame, rates: Floats, errors: Floats, weights: Floats
) -> pd.DataFrame:
    """Average the rates of the periods of each model by their weights.

    ``frame``: columns experiment and model, a row for each period; rates, standard errors and
    weights are by row, (n_rows,). Errors of periods are independent. The result has the columns
    experiment, model, rate and error, in the order of the first rows; NaN where one of a model is
    NaN in all periods.
    """
    totals = frame.assign(weight=weights).groupby(KEYS)["weight"].transform("sum")
    shares = weights / totals.to_numpy()
    variances = (shares * errors) ** 2
    terms = frame[KEYS].assign(rate=shares * rates, error=variances)
    averages = terms.groupby(KEYS, sort=False).sum(min_count=1)
    averages["error"] **= 0.5
    return averages.reset_index()


def _table_path(path: Path) -> Path:
    """Find the table itself, where the folder of a study may stand for its means."""
    return path / "tables" / "means.csv" if path.is_dir() else path


def _read_table(path: Path, content: str) -> pd.DataFrame:
    """Read a table of texts, indexed by number of the line.

    ``content``: "values" or "rates". The first column is called model, arm or system. Columns model
    and experiment are added, and period for rates. Refuse, with InputError, another first column, a
    duplicated column, rows of another length, a table without rows or with one column, and empty
    names.
    """
    import pandas as pd

    lines = read_lines(path)
    first_line, heading = next(lines, (0, [""]))
    fields = [(first_line, unescape_formula(name)) for name in heading]
    names = distinct_names(path, fields, "column")
    if names[0] not in MODEL_HEADERS:
        problem = f"the first column must be {' or '.join(MODEL_HEADERS)}, found {names[0]!r}."
        raise InputError.at_line(path, first_line, problem)
    rows = {line: require_width(path, line, row, heading) for line, row in lines}
    if not rows or len(names) == 1:
        raise InputError.at_line(path, first_line, f"the table has no {content}.")
    columns = ("model", *names[1:])
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=columns).map(unescape_formula)
    if "experiment" not in frame:
        frame = frame.assign(experiment=ONE_EXPERIMENT)
    if content == "rates" and "period" not in frame:
        frame = frame.assign(period="all")
    for column in NAME_COLUMNS:
        if column not in frame:
            continue
        is_empty = frame[column] == ""
        if is_empty.any():
            line = int(frame.index[is_empty][0])
            raise InputError.at_line(path, line, f"column {column!r}: a name is missing.")
    return frame


def _read_numbers(
    path: Path,
    frame: pd.DataFrame,
    column: str,
    *,
    smallest: float = -np.inf,
    whole: bool = False,
) -> Floats:
    """Read a column of finite numbers, or whole ones, not less than the smallest: (n_rows,).

    The column holds texts, and the index of the frame numbers of lines. Whole numbers must be
    digits alone. Refuse others with InputError, which names the file and the line.
    """
    import pandas as pd

    numbers = pd.to_numeric(frame[column], errors="coerce").to_numpy(dtype=np.float64)
    is_wrong = ~np.isfinite(numbers) | (numbers < smallest)
    if whole:
        is_wrong |= ~frame[column].str.isdecimal().to_numpy()
    if is_wrong.any():
        row = int(is_wrong.argmax())
        expected = "a whole number" if whole else "a number"
        if smallest > -np.inf:
            expected += f" from {smallest:g}"
        text = frame[column].iloc[row]
        problem = f"column {column!r}: {expected} expected, found {text!r}."
        raise InputError.at_line(path, int(frame.index[row]), problem)
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
        """Combine the mean scores of the systems with a rate, and their rates.

        The scores are of all systems of the study, with shape (n_measures, n_systems, n_users).
        Means of metrics of which less is better are taken negative, so that rho is positive where
        they agree with the rates. Standard errors of means are over users, without what moves all
        systems together; 0 for a single user. ``scores.weighted_values`` are the scores times the
        weights of the users, if they have any. InputError if an error is NaN.
        """
        columns = [scores.systems.index(system) for system in self.systems]
        means = scores.mean_values()[:, columns]
        system_scores = scores.weighted_values[:, columns]
        n_users = system_scores.shape[2]
        if n_users > 1:
            user_means = system_scores.mean(axis=1, keepdims=True)
            deviations = system_scores - user_means
            errors = deviations.std(axis=2, ddof=1) / np.sqrt(n_users)
        else:
            errors = np.zeros(means.shape)
        measures = [str(measure) for measure in scores.measures]
        # 1 where more is better, else -1.
        signs = scores.measures.signs[:, np.newaxis]
        signed_means = signs * means
        return Experiment(
            name=name,
            models=self.systems,
            measures=tuple(measures),
            values=signed_means,
            rates=self.rates,
            value_errors=errors,
            rate_errors=self.errors,
        )


def link_systems(systems: Sequence[str], *, rates: Path, over_time: OverTime) -> LinkedSystems:
    """Find the systems of a study (names) in the table of rates at a path.

    Left out are systems without a rate, and models of the table that are no systems. Refuse, with
    InputError, a table of several experiments, one that has fewer than 3 of the systems, and one
    that gives all of them the same rate, or that cannot be read.
    """
    online = read_rates(rates, over_time=over_time)
    names = online["experiment"].unique()
    if len(names) > 1:
        experiment_names = ", ".join(names)
        raise InputError(f"{rates}: a study has one experiment, found {experiment_names}.")
    models = online["model"].tolist()
    linked = tuple(system for system in systems if system in models)
    all_names = dict.fromkeys([*systems, *models])
    left_out = tuple(name for name in all_names if name not in linked)
    if len(linked) < FEWEST_MODELS:
        raise InputError(
            f"{rates}: at least {FEWEST_MODELS} systems of the study must have a rate, found "
            f"{len(linked)}; unknown on one side: {', '.join(left_out)}."
        )
    model_rates, errors = _rates_of(rates, online, linked)
    return LinkedSystems(linked, left_out, model_rates, errors)
