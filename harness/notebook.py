"""Analyses as functions of a data frame of scores, and scores of runs, for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from analyses.shared.analysis import Analysis, find_analysis
from analyses.shared.result import Result
from analyses.shared.work import ScoresAlone
from harness.metrics.shared.metric import Metric
from harness.readers.frames import Framed, scores_of
from runs import InputError

if TYPE_CHECKING:
    from analyses.correlation import Correlation
    from analyses.discrimination import Discrimination
    from analyses.shared.measure import Scores


def score(
    runs: str | Sequence[str | PathLike[str]],
    qrels: str | PathLike[str],
    measures: Sequence[str | Metric],
    *,
    relevance_level: int = 1,
) -> Scores:
    """Score TREC runs topic by topic; every topic of the qrels counts.

    Parameters
    ----------
    runs
        Run files, or a pattern such as ``"runs/*.run"``.
    qrels
        The judgements.
    measures
        Such as ``"nDCG@10"``, ``"P(rel=2)@5"`` and ``"bpref"``, which is ``"bpref@all"``: without
        a cut-off of whole lists. Or the same as values, ``P(rel=2) @ 5``, among them metrics of
        your own. All are compared with one another.
    relevance_level
        Lowest relevant grade: trec_eval's ``-l``.

    Raises
    ------
    InputError
        If a file breaks a rule, or there is no such measure.
    """
    from harness.scoring.score import score as score_runs
    from harness.study.collection import collect
    from harness.study.run import check
    from harness.study.study import MetricsSection, QrelsSection, RunsSection, Study

    paths = (runs,) if isinstance(runs, str) else tuple(str(path) for path in runs)
    try:
        study = Study(
            name="scores",
            runs=RunsSection(paths=paths),
            qrels=QrelsSection(path=Path(qrels), relevance_level=relevance_level),
            metrics=MetricsSection(names=tuple(map(str, measures)), cutoffs=()),
        )
    except ValidationError as error:
        finding = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise InputError(f"{finding}.") from None
    own = [measure for measure in measures if not isinstance(measure, str)]
    metrics, collection = check(study, own=own), collect(study)
    return score_runs(
        collection.runs,
        collection.qrels,
        study.measures,
        metrics,
        users=collection.topics.ids,
    )


def discriminate(
    scores: Framed, *, seed: int = 0, n_jobs: int = 1, **settings: Any
) -> Discrimination:
    """Test all pairs of systems, and sum p-values into discriminative power.

    Parameters
    ----------
    scores
        Scores, or data frames of them: see `harness.readers.frames.scores_of`.
    seed, n_jobs
        Of all draws; threads.
    settings
        Those of [analyses.discrimination]: ``test``, ``correction``, ``replicates``, ...

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"a": [3.0, 2.0, 1.0], "b": [0.0, 0.0, 0.0]})
    >>> discriminate(frame).dp
    array([0.25])
    """
    found: Discrimination = analyse("discrimination", scores, seed=seed, n_jobs=n_jobs, **settings)
    return found


def correlate(scores: Framed, *, seed: int = 0, **settings: Any) -> Correlation:
    """Compare how measures order the systems; see `discriminate` for the parameters.

    Examples
    --------
    >>> import pandas as pd
    >>> one = pd.DataFrame({"a": [0.3, 0.5], "b": [0.1, 0.2]})
    >>> correlate({"AP": one, "RR": -one}).taus
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    every = {"every_pair": True} | settings
    found: Correlation = analyse("correlation", scores, seed=seed, **every)
    return found


def analyse(name: str, scores: Framed, *, seed: int = 0, n_jobs: int = 1, **settings: Any) -> Any:
    """Make an analysis of scores alone, by its name.

    Parameters
    ----------
    name
        Such as "users", "discrimination", "correlation".
    scores, seed, n_jobs, settings
        See `discriminate`.

    Returns
    -------
    The result: ``frames()``, ``caption()``, ``findings()``, and its plots.

    Raises
    ------
    InputError
        If there is no such analysis or setting, or it needs more than scores.
    """
    analysis: Analysis[Any, Result] = find_analysis(name)
    try:
        asked = analysis.settings(**settings)
    except ValidationError as error:
        finding = error.errors()[0]
        setting = ".".join(map(str, finding["loc"]))
        raise InputError(f"{name}: `{setting}`: {finding['msg']}.") from None
    return analysis(ScoresAlone(scores_of(scores), seed=seed, n_jobs=n_jobs), asked)
