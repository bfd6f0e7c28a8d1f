"""Measures by trec_eval's names: which metric of ours each of them is, as data."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

import numpy as np

from harness.metrics.shared.metric import Metric, geometric_mean
from harness.metrics.shared.names import DECIMAL, parse_name, read_cutoff
from harness.metrics.shared.register import find_metric, translate_name
from harness.trec_eval.further_measures import (
    binary_gain,
    ndcg_at_levels,
    ndcg_of_relevant,
    normalised_gain,
    set_average_precision,
    set_relative_precision,
    utility,
)
from harness.trec_eval.metrics import RECALL_POINTS
from qrels import Judged
from runs import InputError
from runs.shared.arrays import Floats, mean_in_order
from runs.shared.errors import ErrorCollector, prefixed_errors

CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
MULTIPLES = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)
"""trec_eval's cut-offs, and its multiples of the number of relevant items."""

Score: TypeAlias = Callable[[Judged], Floats]
"""Scores the lists of all topics: (n_topics,)."""


@dataclass(frozen=True)
class Column:
    """A measure: one value of every topic, and one of all of them.

    Parameters
    ----------
    name
        The name in trec_eval's output.
    score
        Computes the values of topics.
    average
        Computes the value of all topics.
    is_count
        Whether the values are counts.
    per_topic
        Whether trec_eval prints the values of single topics.
    """

    name: str
    score: Score
    average: Callable[[Floats], Floats] = mean_in_order
    is_count: bool = False
    per_topic: bool = True


def _count(name: str, score: Score, *, per_topic: bool = True) -> Column:
    """Make a column of counts, which are added up over topics."""
    return Column(name, score, average=np.sum, is_count=True, per_topic=per_topic)


RUN_ID = Column("runid", lambda judged: np.zeros(judged.n_users), per_topic=False)
"""Stands for the tag of the run, which trec_eval prints as if it were a measure."""


@dataclass(frozen=True)
class TrecMeasure:
    """A measure of trec_eval, and the metric of ours that agrees with it.

    Parameters
    ----------
    metric
        Name of the metric.
    parameters
        Default parameters, one column each; empty if it takes none.
    option
        Option of the metric that parameters set; "" where they are cut-offs.
    average
        Computes the value of all topics.
    """

    metric: str
    parameters: tuple[float, ...] = ()
    option: str = ""
    average: Callable[[Floats], Floats] = field(default=mean_in_order)


MEASURES: dict[str, Column | TrecMeasure] = {
    "runid": RUN_ID,
    "num_q": _count("num_q", lambda judged: np.ones(judged.n_users), per_topic=False),
    "num_ret": _count("num_ret", lambda judged: judged.n_retrieved.astype(float)),
    "num_rel": _count("num_rel", lambda judged: judged.n_relevant.astype(float)),
    "num_rel_ret": _count("num_rel_ret", Judged.hits),
    "map": TrecMeasure("AP"),
    "gm_map": TrecMeasure("AP", average=geometric_mean),
    "Rprec": TrecMeasure("Rprec"),
    "bpref": TrecMeasure("bpref"),
    "recip_rank": TrecMeasure("RR"),
    "iprec_at_recall": TrecMeasure("IPrec", RECALL_POINTS, option="recall"),
    "P": TrecMeasure("P", CUTOFFS),
    "recall": TrecMeasure("Recall", CUTOFFS),
    "infAP": TrecMeasure("infAP_trec"),
    "gm_bpref": TrecMeasure("bpref", average=geometric_mean),
    "Rprec_mult": TrecMeasure("Rprec", MULTIPLES, option="multiple"),
    "utility": Column("utility", utility),
    "11pt_avg": TrecMeasure("IAP"),
    "binG": Column("binG", binary_gain),
    "G": Column("G", normalised_gain),
    "ndcg": TrecMeasure("nDCG"),
    "ndcg_rel": Column("ndcg_rel", ndcg_of_relevant),
    "Rndcg": Column("Rndcg", ndcg_at_levels),
    "ndcg_cut": TrecMeasure("nDCG", CUTOFFS),
    "map_cut": TrecMeasure("AP", CUTOFFS),
    "relative_P": TrecMeasure("RelP", CUTOFFS),
    "success": TrecMeasure("Success", (1, 5, 10)),
    "set_P": TrecMeasure("SetP"),
    "set_relative_P": Column("set_relative_P", set_relative_precision),
    "set_recall": TrecMeasure("SetR"),
    "set_map": Column("set_map", set_average_precision),
    "set_F": TrecMeasure("SetF"),
    "num_nonrel_judged_ret": _count("num_nonrel_judged_ret", Judged.nonrelevant_hits),
}
"""What trec_eval prints, in this order whatever the order asked for; columns need no metric."""

ORDER = tuple(MEASURES)
NICKNAMES = {
    "official": ORDER[: ORDER.index("P") + 1],
    "set": (*ORDER[: ORDER.index("map")], "utility", *ORDER[ORDER.index("set_P") : -1]),
    "all_trec": ORDER,
}

LEFT_OUT = {
    "relstring": "it is no number",
    "rbp": "trec_eval 10 alone has it, and reads variables there before they are set",
    "rbp_resid": "trec_eval 10 alone has it",
    "unj": "trec_eval 10 alone has it",
}
"""Measures of trec_eval's ``all_trec`` that are not offered, and why."""


def remarks(texts: Sequence[str]) -> list[str]:
    """Name the measures that "all_trec" leaves out; nothing if it is not among the names."""
    if "all_trec" not in texts:
        return []
    names = ", ".join(LEFT_OUT)
    return [f"all_trec leaves out {names}; the last three are trec_eval 10 only."]


def read_measures(
    texts: Sequence[str], metrics: Mapping[str, Metric], *, rounding: str = "up"
) -> tuple[Column, ...]:
    """Make the columns of measures that are named as in trec_eval, or as in the harness.

    Those of trec_eval are in its order, once each and with rising parameters; ours follow.

    Parameters
    ----------
    texts
        Names with parameters, such as "P.5,10" or "nDCG@10", and nicknames of sets of measures of
        trec_eval, such as "official", which stand for their measures with default parameters.
    metrics
        Metrics by name.
    rounding
        How recall points become numbers of items: "up" or "nearest".

    Returns
    -------
    A column for each measure and parameter. `SCORERS` make the metric of a measure whose value
    depends on its parameters, such as gains; other parameters are cut-offs or recall points.

    Raises
    ------
    InputError
        Of all names that are unknown or not offered, and of parameters that are wrong.
    """
    rounded = {name: _with_rounding(metric, rounding) for name, metric in metrics.items()}
    parameters: dict[str, set[float]] = defaultdict(set)
    columns_by_text: dict[str, dict[str, Column]] = defaultdict(dict)
    our_columns: dict[str, Column] = {}
    errors = ErrorCollector()
    for text in texts:
        base, _, parameter_text = text.strip().partition(".")
        with errors.catching():
            if base in LEFT_OUT and base not in metrics:
                raise InputError(f"trec_eval's {base!r} is not offered: {LEFT_OUT[base]}.")
            if base in NICKNAMES and not parameter_text:
                for name in NICKNAMES[base]:
                    parameters[name].update(_default_parameters(name))
            elif base in SCORERS and parameter_text:
                score = SCORERS[base](parameter_text, rounded)
                column = Column(f"{base}_{parameter_text}", score)
                columns_by_text[base][parameter_text] = column
            elif base in MEASURES:
                values = _parameters(base, parameter_text, rounded)
                parameters[base].update(values)
            else:
                column = _our_column(text, metrics)
                our_columns[column.name] = column
    errors.raise_any()
    trec_columns: list[Column] = []
    for name in MEASURES:
        if name in parameters:
            trec_columns += _columns(name, sorted(parameters[name]), rounded)
        trec_columns += columns_by_text[name].values()
    return (*trec_columns, *our_columns.values())


def _with_rounding(metric: Metric, rounding: str) -> Metric:
    """Set the option "rounding" of a metric that has it; others are returned as they are."""
    if any(option.name == "rounding" for option in metric.options):
        return metric.with_options({"rounding": rounding})
    return metric


def _default_parameters(name: str) -> tuple[float, ...]:
    """Look up the default parameters of a measure of trec_eval; none if it takes none."""
    measure = MEASURES[name]
    return measure.parameters if isinstance(measure, TrecMeasure) else ()


def _parameters(name: str, text: str, metrics: Mapping[str, Metric]) -> tuple[float, ...]:
    """Read the parameters of a measure of trec_eval: numbers with commas; defaults if empty.

    ``name`` is that of the measure, ``text`` what stands behind its dot: "5,10". Raises InputError
    if the measure takes none, if one is no number or not one that the metric takes, or if one is
    duplicated, where trec_eval stops, too.
    """
    measure = MEASURES[name]
    if not text:
        return _default_parameters(name)
    if isinstance(measure, Column) or not measure.parameters:
        raise InputError(f"the measure {name!r} takes no parameters, got {text!r}.")
    values: list[float] = []
    for part in text.split(","):
        if measure.option:
            value = _decimal(name, part)
        else:
            with prefixed_errors(f"the cut-offs of {name!r}"):
                value = read_cutoff(part)
        # Refuses what the metric does not take.
        _with_parameter(measure, value, metrics)
        if value in values:
            raise InputError(f"{value:g} is duplicated behind {name!r}.")
        values.append(value)
    return tuple(values)


def _decimal(name: str, text: str) -> float:
    """Read a parameter of the measure of this name; raise InputError if it is no number."""
    if not DECIMAL.fullmatch(text):
        raise InputError(f"the parameters of {name!r} must be numbers, got {text!r}.")
    return float(text)


def _columns(name: str, parameters: Sequence[float], metrics: Mapping[str, Metric]) -> list[Column]:
    """Make the columns of a measure of trec_eval: one for each parameter, or the only one.

    ``name`` is that of the measure; columns are called as trec_eval does, such as "P_5" or
    "iprec_at_recall_0.10". Geometric means are not printed for single topics.
    """
    measure = MEASURES[name]
    if isinstance(measure, Column):
        return [measure]
    if not parameters:
        is_geometric = measure.average is geometric_mean
        metric = metrics[measure.metric]
        return [Column(name, metric, measure.average, per_topic=not is_geometric)]
    columns = []
    for value in parameters:
        suffix = f"{value:3.2f}" if measure.option else f"{int(value)}"
        score = _with_parameter(measure, value, metrics)
        columns.append(Column(f"{name}_{suffix}", score, measure.average))
    return columns


def _with_parameter(measure: TrecMeasure, parameter: float, metrics: Mapping[str, Metric]) -> Score:
    """Set the parameter of a measure of trec_eval: an option of its metric, or the cut-off.

    Raises InputError if the option does not take the parameter.
    """
    metric = metrics[measure.metric]
    if measure.option:
        return metric.with_options({measure.option: parameter})
    return partial(metric, cutoff=int(parameter))


def _ndcg_with_gains(text: str, metrics: Mapping[str, Metric]) -> Metric:
    """Read gains such as "1=3,2=9": grade 1 is worth 3 and grade 2 is worth 9, others their grade.

    Raises InputError if they cannot be read.
    """
    gains = text.replace("=", ":")
    return find_metric(f"nDCG(gains={{{gains}}})", metrics)


def _set_f_with_beta(text: str, metrics: Mapping[str, Metric]) -> Metric:
    """Read beta of SetF; raise InputError if it is no number, or not one that SetF takes."""
    beta = _decimal("set_F", text)
    return metrics["SetF"].with_options({"beta": beta})


SCORERS: dict[str, Callable[[str, Mapping[str, Metric]], Metric]] = {
    "ndcg": _ndcg_with_gains,
    "set_F": _set_f_with_beta,
}
"""Measures whose value depends on parameters; makes their metric from the text of these."""


def _our_column(text: str, metrics: Mapping[str, Metric]) -> Column:
    """Make the column of a measure by the harness's name, or another tool's, such as "nDCG@10".

    Raises InputError, with a suggestion, if no metric has this name.
    """
    text = translate_name(text, metrics)
    cutoff = parse_name(text).cutoff
    metric = find_metric(text, metrics, other_names=[*ORDER, *NICKNAMES])
    name = metric.label if cutoff is None else f"{metric.label}@{cutoff}"
    return Column(name, partial(metric, cutoff=cutoff), metric.average)
