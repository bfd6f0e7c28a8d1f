"""Measures by trec_eval's names: which metric of ours each of them is, as data."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

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

RANKS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
MULTIPLES = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)


@dataclass(frozen=True)
class Column:
    """One value of every topic, and what stands for all of them.

    The values may be counts. trec_eval may print them for single topics, or not.
    """

    name: str
    score: Callable[[Judged], Floats]
    average: Callable[[Floats], Floats] = mean_in_order
    whole: bool = False
    per_topic: bool = True


def _count(name: str, score: Callable[[Judged], Floats], *, per_topic: bool = True) -> Column:
    return Column(name, score, average=np.sum, whole=True, per_topic=per_topic)


RUN_ID = Column("runid", lambda judged: np.zeros(judged.n_users), per_topic=False)
"""Stands for the tag of the run, which trec_eval prints as if it were a measure."""


@dataclass(frozen=True)
class TrecMeasure:
    """A measure of trec_eval, and the metric of ours that agrees with it.

    The parameters are those if none are given, one column each; they set the option of the metric,
    or cut-offs where it is "". The average makes one value of those of all topics.
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
    "P": TrecMeasure("P", RANKS),
    "recall": TrecMeasure("Recall", RANKS),
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
    "ndcg_cut": TrecMeasure("nDCG", RANKS),
    "map_cut": TrecMeasure("AP", RANKS),
    "relative_P": TrecMeasure("RelP", RANKS),
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
    """Say which measures a nickname leaves out."""
    if "all_trec" not in texts:
        return []
    return [f"all_trec leaves out {', '.join(LEFT_OUT)}; the last three are trec_eval 10 only."]


def read_measures(
    texts: Sequence[str], metrics: Mapping[str, Metric], *, rounding: str = "up"
) -> tuple[Column, ...]:
    """Give the columns that measures, as one names them to trec_eval or to us, stand for."""
    # Metrics that say how recall points become numbers of items do it in one way.
    rounded = {
        name: metric.with_options({"rounding": rounding})
        if "rounding" in (option.name for option in metric.options)
        else metric
        for name, metric in metrics.items()
    }
    parameters: dict[str, set[float]] = {}
    told: dict[str, dict[str, Column]] = defaultdict(dict)
    ours: dict[str, Column] = {}
    errors = ErrorCollector()
    for text in texts:
        base, _, given = text.strip().partition(".")
        with errors.catching():
            if base in LEFT_OUT and base not in metrics:
                raise InputError(f"trec_eval's {base!r} is not offered: {LEFT_OUT[base]}.")
            if base in NICKNAMES and not given:
                for name in NICKNAMES[base]:
                    parameters.setdefault(name, set()).update(_default_parameters(name))
            elif base in SCORERS and given:
                told[base][given] = Column(f"{base}_{given}", SCORERS[base](given, rounded))
            elif base in MEASURES:
                parameters.setdefault(base, set()).update(_parameters(base, given, rounded))
            else:
                column = _own_column(text, metrics)
                ours[column.name] = column
    errors.raise_any()
    theirs: list[Column] = []
    for name in MEASURES:
        if name in parameters:
            theirs += _columns(name, sorted(parameters[name]), rounded)
        theirs += told[name].values()
    return (*theirs, *ours.values())


def _default_parameters(name: str) -> tuple[float, ...]:
    measure = MEASURES[name]
    return measure.parameters if isinstance(measure, TrecMeasure) else ()


def _parameters(name: str, text: str, metrics: Mapping[str, Metric]) -> tuple[float, ...]:
    """Read the parameters behind a name; trec_eval stops at one that is duplicated, too."""
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
        _scorer(measure, value, metrics)  # refuses what the metric does not take
        if value in values:
            raise InputError(f"{value:g} is duplicated behind {name!r}.")
        values.append(value)
    return tuple(values)


def _decimal(name: str, text: str) -> float:
    if not DECIMAL.fullmatch(text):
        raise InputError(f"the parameters of {name!r} must be numbers, got {text!r}.")
    return float(text)


def _columns(name: str, parameters: Sequence[float], metrics: Mapping[str, Metric]) -> list[Column]:
    measure = MEASURES[name]
    if isinstance(measure, Column):
        return [measure]
    if not parameters:
        geometric = measure.average is geometric_mean
        return [Column(name, metrics[measure.metric], measure.average, per_topic=not geometric)]
    form = "3.2f" if measure.option else "d"
    return [
        Column(f"{name}_{value:{form}}", _scorer(measure, value, metrics), measure.average)
        for value in parameters
    ]


def _scorer(
    measure: TrecMeasure, parameter: float, metrics: Mapping[str, Metric]
) -> Callable[[Judged], Floats]:
    metric = metrics[measure.metric]
    if measure.option:
        return metric.with_options({measure.option: parameter})
    return partial(metric, cutoff=int(parameter))


SCORERS: dict[str, Callable[[str, Mapping[str, Metric]], Callable[[Judged], Floats]]] = {
    # 1=3,2=9: grade 1 is worth 3 and grade 2 is worth 9, others their grade.
    "ndcg": lambda text, metrics: find_metric(f"nDCG(gains={{{text.replace('=', ':')}}})", metrics),
    "set_F": lambda text, metrics: metrics["SetF"].with_options({"beta": _decimal("set_F", text)}),
}
"""Measures whose value depends on parameters; makes what scores of their text."""


def _own_column(text: str, metrics: Mapping[str, Metric]) -> Column:
    text = translate_name(text, metrics)
    parsed = parse_name(text)
    metric = find_metric(text, metrics, other_names=[*ORDER, *NICKNAMES])
    suffix = "" if parsed.cutoff is None else f"@{parsed.cutoff}"
    return Column(metric.label + suffix, partial(metric, cutoff=parsed.cutoff), metric.average)
