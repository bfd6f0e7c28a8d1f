"""Measures by trec_eval's names: which metric of ours each of them is, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from harness.metric import Metric, find_metric, nearest
from harness.naming import parse_name
from qrels import Judged
from runs import InputError

Floats = NDArray[np.float64]

RANKS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
LOWEST_IN_LOGARITHM = 1e-5


def mean(values: Floats) -> float:
    """Average over all topics, as ``trec_eval -c`` does."""
    return float(values.mean())


def total(values: Floats) -> float:
    """Add up over all topics."""
    return float(values.sum())


def geometric_mean(values: Floats) -> float:
    """Average the logarithms, of 0.00001 at least, as ``gm_map`` does.

    Examples
    --------
    >>> round(geometric_mean(np.array([0.1, 0.001])), 6)
    0.01
    """
    return float(np.exp(np.log(np.maximum(values, LOWEST_IN_LOGARITHM)).mean()))


@dataclass(frozen=True)
class Column:
    """One value of every topic, and what stands for all of them.

    Parameters
    ----------
    name
        As printed.
    score
        Gives the values of all topics.
    average
        Makes them one.
    whole
        Whether the values are counts.
    per_topic
        Whether trec_eval prints them for single topics.
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


@dataclass(frozen=True)
class TrecMeasure:
    """A measure of trec_eval, and the metric of ours that agrees with it.

    Parameters
    ----------
    metric
        Name of ours.
    cutoffs
        Cut-offs if none are given; empty where the measure takes none.
    average
        Makes one value of those of all topics.
    """

    metric: str
    cutoffs: tuple[int, ...] = ()
    average: Callable[[Floats], float] = field(default=mean)


TREC_MEASURES = {
    "map": TrecMeasure("AP"),
    "gm_map": TrecMeasure("AP", average=geometric_mean),
    "Rprec": TrecMeasure("Rprec"),
    "bpref": TrecMeasure("bpref"),
    "recip_rank": TrecMeasure("RR"),
    "P": TrecMeasure("P", RANKS),
    "recall": TrecMeasure("Recall", RANKS),
    "infAP": TrecMeasure("infAP_trec"),
    "gm_bpref": TrecMeasure("bpref", average=geometric_mean),
    "ndcg": TrecMeasure("nDCG"),
    "ndcg_cut": TrecMeasure("nDCG", RANKS),
    "map_cut": TrecMeasure("AP", RANKS),
    "success": TrecMeasure("Success", (1, 5, 10)),
    "set_P": TrecMeasure("SetP"),
    "set_recall": TrecMeasure("SetR"),
    "set_F": TrecMeasure("SetF"),
}

ORDER = (
    *("runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref"),
    *("recip_rank", "P", "recall", "infAP", "gm_bpref", "ndcg", "ndcg_cut", "map_cut", "success"),
    *("set_P", "set_recall", "set_F", "num_nonrel_judged_ret"),
)
"""trec_eval prints in this order, whatever the order asked for."""

NICKNAMES = {
    "official": ORDER[: ORDER.index("P") + 1],
    "set": (*ORDER[: ORDER.index("map")], "set_P", "set_recall", "set_F"),
    "all_trec": ORDER,
}


def offered_names(metrics: Mapping[str, Metric]) -> tuple[str, ...]:
    """Give the names of trec_eval for which these metrics suffice, in trec_eval's order.

    Examples
    --------
    >>> from harness.metric import built_in_metrics
    >>> offered_names({"AP": built_in_metrics()["AP"]})[5:]
    ('map', 'gm_map', 'map_cut', 'num_nonrel_judged_ret')
    """
    return tuple(name for name in ORDER if name in COUNTS or TREC_MEASURES[name].metric in metrics)


def read_measures(texts: Sequence[str], metrics: Mapping[str, Metric]) -> tuple[Column, ...]:
    """Give the columns that measures, as one names them to trec_eval or to us, stand for.

    Parameters
    ----------
    texts
        Names such as ``map``, ``P.5,10``, ``ndcg.1=0,2=0``, ``official``, ``nDCG@10``,
        ``P(rel=4)@5``. A bare name that both have is trec_eval's: ``infAP`` is trec_eval's form,
        ``infAP@10`` the paper's.
    metrics
        The metrics there are.

    Returns
    -------
    trec_eval's measures in its order, then ours in the order given, each once.

    Raises
    ------
    InputError
        If there is no such measure, or its parameters are wrong.

    Examples
    --------
    >>> from harness.metric import built_in_metrics
    >>> columns = read_measures(["nDCG@10", "P.10,5", "map"], built_in_metrics())
    >>> [column.name for column in columns]
    ['map', 'P_5', 'P_10', 'nDCG@10']
    """
    offered = offered_names(metrics)
    cutoffs: dict[str, set[int]] = {}
    graded: dict[str, Column] = {}
    ours: dict[str, Column] = {}
    for text in texts:
        base, _, parameters = text.strip().partition(".")
        if base in NICKNAMES and not parameters:
            for name in NICKNAMES[base]:
                cutoffs.setdefault(name, set()).update(_default_cutoffs(name))
        elif base in ORDER and base not in offered:
            raise InputError(
                f"trec_eval's {base!r} is not offered: there is no metric "
                f"{TREC_MEASURES[base].metric!r}."
            )
        elif base == "ndcg" and parameters:
            graded[parameters] = _graded_column(parameters, metrics)
        elif base in offered:
            cutoffs.setdefault(base, set()).update(_cutoffs(base, parameters))
        else:
            column = _own_column(text, metrics, offered)
            ours[column.name] = column
    theirs: list[Column] = []
    for name in offered:
        if name in cutoffs:
            theirs += _columns(name, sorted(cutoffs[name]), metrics)
        if name == "ndcg":
            theirs += graded.values()
    return (*theirs, *ours.values())


def _default_cutoffs(name: str) -> tuple[int, ...]:
    return () if name in COUNTS else TREC_MEASURES[name].cutoffs


def _cutoffs(name: str, parameters: str) -> tuple[int, ...]:
    """Read the cut-offs behind a name; trec_eval stops at one that stands twice, too."""
    defaults = _default_cutoffs(name)
    if not parameters:
        return defaults
    if not defaults:
        raise InputError(f"the measure {name!r} takes no parameters, got {parameters!r}.")
    texts = parameters.split(",")
    for text in texts:
        if not (text.isascii() and text.isdigit() and int(text) >= 1):
            raise InputError(
                f"the cut-offs of {name!r} must be whole numbers of at least 1, got {text!r}."
            )
    cutoffs = tuple(map(int, texts))
    for cutoff in cutoffs:
        if cutoffs.count(cutoff) > 1:
            raise InputError(f"the cut-off {cutoff} of {name!r} stands twice.")
    return cutoffs


def _columns(name: str, cutoffs: Sequence[int], metrics: Mapping[str, Metric]) -> list[Column]:
    if name in COUNTS:
        return [COUNTS[name]]
    measure = TREC_MEASURES[name]
    metric = metrics[measure.metric]
    if not cutoffs:
        geometric = measure.average is geometric_mean
        return [Column(name, metric, measure.average, per_topic=not geometric)]
    return [Column(f"{name}_{n}", partial(metric, cutoff=n), measure.average) for n in cutoffs]


def _graded_column(gains: str, metrics: Mapping[str, Metric]) -> Column:
    """Read ``ndcg.1=3,2=9``: grade 1 is worth 3 and grade 2 is worth 9, others their grade."""
    option = "{" + gains.replace("=", ":") + "}"
    return Column(f"ndcg_{gains}", find_metric(f"nDCG(gains={option})", metrics))


def _own_column(text: str, metrics: Mapping[str, Metric], offered: Sequence[str]) -> Column:
    parsed = parse_name(text)
    if parsed.name not in metrics:
        known = [*metrics, *offered, *NICKNAMES]
        raise InputError(f"no measure is called {parsed.name!r}; {nearest(parsed.name, known)}")
    metric = find_metric(text, metrics)
    suffix = "" if parsed.cutoff is None else f"@{parsed.cutoff}"
    return Column(metric.label + suffix, partial(metric, cutoff=parsed.cutoff))
