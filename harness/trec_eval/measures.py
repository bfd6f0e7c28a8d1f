"""Measures by trec_eval's names: which metric of ours each of them is, as data."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from harness.metrics.ndcg import ndcg
from harness.metrics.shared.metric import Metric
from harness.metrics.shared.metric import geometric_mean as geometric_means
from harness.metrics.shared.names import DECIMAL, parse_name
from harness.metrics.shared.register import find_metric
from harness.trec_eval.further_measures import ODDITIES, utility
from harness.trec_eval.metrics import RECALL_POINTS
from qrels import Judged
from runs import InputError
from runs.shared.errors import nearest

Floats = NDArray[np.float64]

RANKS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
MULTIPLES = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)

N_WORTHS = 3
"""Parameters of `utility` that count."""


def mean(values: Floats) -> float:
    """Average over all topics, as ``trec_eval -c`` does."""
    return float(values.mean())


def total(values: Floats) -> float:
    """Add up over all topics."""
    return float(values.sum())


def geometric_mean(values: Floats) -> float:
    """Average the logarithms, of 0.00001 at least, as ``gm_map`` does."""
    return float(geometric_means(values))


@dataclass(frozen=True)
class Column:
    """One value of every topic, and what stands for all of them.

    The values may be counts. trec_eval may print them for single topics, or not.
    """

    name: str
    score: Callable[[Judged], Floats]
    average: Callable[[Floats], float] = mean
    whole: bool = False
    per_topic: bool = True


def _count(name: str, score: Callable[[Judged], Floats], *, per_topic: bool = True) -> Column:
    return Column(name, score, average=total, whole=True, per_topic=per_topic)


RUN_ID = Column("runid", lambda judged: np.zeros(judged.n_users), per_topic=False)
"""Stands for the tag of the run, which trec_eval prints as if it were a measure."""

COUNTS = {
    column.name: column
    for column in (
        RUN_ID,
        _count("num_q", lambda judged: np.ones(judged.n_users), per_topic=False),
        _count("num_ret", lambda judged: judged.n_retrieved.astype(float)),
        _count("num_rel", lambda judged: judged.n_relevant.astype(float)),
        _count("num_rel_ret", lambda judged: judged.relevant.sum(axis=1).astype(float)),
        _count(
            "num_nonrel_judged_ret", lambda judged: judged.nonrelevant.sum(axis=1).astype(float)
        ),
    )
}

WITHOUT_METRIC = {**COUNTS, **{name: Column(name, score) for name, score in ODDITIES.items()}}
"""What trec_eval prints and no metric of ours is needed for."""


@dataclass(frozen=True)
class TrecMeasure:
    """A measure of trec_eval, and the metric of ours that agrees with it.

    The parameters are those if none are given, one column each; they set the option of the metric,
    or cut-offs where it is "". The average makes one value of those of all topics.
    """

    metric: str
    parameters: tuple[float, ...] = ()
    option: str = ""
    average: Callable[[Floats], float] = field(default=mean)


TREC_MEASURES = {
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
    "11pt_avg": TrecMeasure("IAP"),
    "ndcg": TrecMeasure("nDCG"),
    "ndcg_cut": TrecMeasure("nDCG", RANKS),
    "map_cut": TrecMeasure("AP", RANKS),
    "relative_P": TrecMeasure("RelP", RANKS),
    "success": TrecMeasure("Success", (1, 5, 10)),
    "set_P": TrecMeasure("SetP"),
    "set_recall": TrecMeasure("SetR"),
    "set_F": TrecMeasure("SetF"),
}

ORDER = (
    *("runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref"),
    *("recip_rank", "iprec_at_recall", "P", "recall", "infAP", "gm_bpref", "Rprec_mult"),
    *("utility", "11pt_avg", "binG", "G", "ndcg", "ndcg_rel", "Rndcg", "ndcg_cut", "map_cut"),
    *("relative_P", "success", "set_P", "set_relative_P", "set_recall", "set_map", "set_F"),
    "num_nonrel_judged_ret",
)
"""trec_eval prints in this order, whatever the order asked for."""

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


def offered_names(metrics: Mapping[str, Metric]) -> tuple[str, ...]:
    """Give the names of trec_eval for which these metrics suffice, in trec_eval's order."""
    return tuple(
        name for name in ORDER if name in WITHOUT_METRIC or TREC_MEASURES[name].metric in metrics
    )


def read_measures(
    texts: Sequence[str], metrics: Mapping[str, Metric], *, rounding: str = "up"
) -> tuple[Column, ...]:
    """Give the columns that measures, as one names them to trec_eval or to us, stand for."""
    offered = offered_names(metrics)
    rounded = _rounding(metrics, rounding)
    parameters: dict[str, set[float]] = {}
    told: dict[str, dict[str, Column]] = defaultdict(dict)
    ours: dict[str, Column] = {}
    for text in texts:
        base, _, given = text.strip().partition(".")
        _require_offered(base, offered, metrics)
        if base in NICKNAMES and not given:
            for name in NICKNAMES[base]:
                parameters.setdefault(name, set()).update(_default_parameters(name))
        elif base in SCORERS and given:
            told[base][given] = Column(f"{base}_{given}", SCORERS[base](given, rounded))
        elif base in offered:
            parameters.setdefault(base, set()).update(_parameters(base, given, metrics))
        else:
            column = _own_column(text, metrics, offered)
            ours[column.name] = column
    theirs: list[Column] = []
    for name in offered:
        if name in parameters:
            theirs += _columns(name, sorted(parameters[name]), rounded)
        theirs += told[name].values()
    return (*theirs, *ours.values())


def _require_offered(name: str, offered: Sequence[str], metrics: Mapping[str, Metric]) -> None:
    """Refuse a measure that trec_eval has and we have not, saying why."""
    reason = "" if name in metrics else LEFT_OUT.get(name, "")
    if name in ORDER and name not in offered:
        reason = f"there is no metric {TREC_MEASURES[name].metric!r}"
    if reason:
        raise InputError(f"trec_eval's {name!r} is not offered: {reason}.")


ROUNDING = "rounding"
"""The option of metrics that say how recall points become numbers of items."""


def _rounding(metrics: Mapping[str, Metric], rounding: str) -> dict[str, Metric]:
    """Have the metrics that round recall points do it in one way."""
    return {
        name: metric.with_options({ROUNDING: rounding})
        if ROUNDING in (option.name for option in metric.options)
        else metric
        for name, metric in metrics.items()
    }


def _default_parameters(name: str) -> tuple[float, ...]:
    return () if name in WITHOUT_METRIC else TREC_MEASURES[name].parameters


def _parameters(name: str, text: str, metrics: Mapping[str, Metric]) -> tuple[float, ...]:
    """Read the parameters behind a name; trec_eval stops at one that is duplicated, too."""
    defaults = _default_parameters(name)
    if not text:
        return defaults
    if not defaults:
        raise InputError(f"the measure {name!r} takes no parameters, got {text!r}.")
    measure = TREC_MEASURES[name]
    texts = text.split(",")
    if measure.option:
        values = tuple(_decimal(name, part) for part in texts)
    else:
        values = tuple(_cutoff(name, part) for part in texts)
    for value in values:
        _scorer(measure, value, metrics)  # refuses what the metric does not take
        if values.count(value) > 1:
            raise InputError(f"{value:g} is duplicated behind {name!r}.")
    return values


def _cutoff(name: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) >= 1):
        raise InputError(
            f"the cut-offs of {name!r} must be whole numbers of at least 1, got {text!r}."
        )
    return int(text)


def _decimal(name: str, text: str) -> float:
    if not DECIMAL.fullmatch(text):
        raise InputError(f"the parameters of {name!r} must be numbers, got {text!r}.")
    return float(text)


def _columns(name: str, parameters: Sequence[float], metrics: Mapping[str, Metric]) -> list[Column]:
    if name in WITHOUT_METRIC:
        return [WITHOUT_METRIC[name]]
    measure = TREC_MEASURES[name]
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


def _of_gains(
    score: Callable[..., Floats], text: str, metrics: Mapping[str, Metric]
) -> Callable[[Judged], Floats]:
    """Read ``1=3,2=9``: grade 1 is worth 3 and grade 2 is worth 9, others their grade."""
    graded = find_metric(f"nDCG(gains={{{text.replace('=', ':')}}})", metrics)
    return partial(score, **dict(graded.given))


def _of_beta(text: str, metrics: Mapping[str, Metric]) -> Callable[[Judged], Floats]:
    return metrics["SetF"].with_options({"beta": _decimal("set_F", text)})


def _of_points(text: str, metrics: Mapping[str, Metric]) -> Callable[[Judged], Floats]:
    """Read recall points, over which interpolated precision is averaged."""
    points = [
        metrics["IPrec"].with_options({"recall": _decimal("11pt_avg", part)})
        for part in text.split(",")
    ]
    return lambda judged: np.mean([point(judged) for point in points], axis=0)


def _of_worths(text: str, _: Mapping[str, Metric]) -> Callable[[Judged], Floats]:
    """Read what items are worth: relevant or not when retrieved, then when not retrieved."""
    *worths, rest = (_decimal("utility", part) for part in text.split(","))
    if len(worths) != N_WORTHS or rest:
        raise InputError(
            "'utility' takes four numbers, of which the last, for items neither relevant nor "
            f"retrieved, must be 0 (nobody says how many there are), got {text!r}."
        )
    return partial(utility, worths=worths)


SCORERS: dict[str, Callable[[str, Mapping[str, Metric]], Callable[[Judged], Floats]]] = {
    "ndcg": partial(_of_gains, ndcg),
    **{name: partial(_of_gains, ODDITIES[name]) for name in ("G", "ndcg_rel", "Rndcg")},
    "set_F": _of_beta,
    "11pt_avg": _of_points,
    "utility": _of_worths,
}
"""Measures whose value depends on parameters; makes what scores of their text."""


def _own_column(text: str, metrics: Mapping[str, Metric], offered: Sequence[str]) -> Column:
    parsed = parse_name(text)
    if parsed.name not in metrics:
        known = [*metrics, *offered, *NICKNAMES]
        raise InputError(f"no measure is called {parsed.name!r}; {nearest(parsed.name, known)}")
    metric = find_metric(text, metrics)
    suffix = "" if parsed.cutoff is None else f"@{parsed.cutoff}"
    score = partial(metric, cutoff=parsed.cutoff)
    return Column(metric.label + suffix, score, lambda values: float(metric.average(values)))
