"""Runs, qrels and scores as notebooks have them, to scores and results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, cast

from pydantic import ValidationError

from analyses.shared.analysis import Analysis, StudyFacts, find_analysis
from analyses.shared.measure import Scores
from analyses.shared.result import Result
from analyses.shared.work import ScoresAndTruth, ScoresWork, Truth
from harness.metrics.shared.metric import Metric
from harness.readers.rankings import (
    Counts,
    Judgements,
    Runs,
    counts_of,
    judgements_of,
    replicates_of,
)
from harness.readers.scores import Framed, measure_named, scores_of
from harness.study.study_file import Origin, sentence_of
from qrels import Catalogue
from runs import InputError
from runs.replicates import Replicates
from runs.shared.errors import require_choice
from runs.shared.progress import Silent

if TYPE_CHECKING:
    from analyses.correlation import Correlation
    from analyses.design import Design
    from analyses.discrimination import Discrimination
    from analyses.popularity import Popularity
    from analyses.sparsity import Sparsity
    from analyses.validity import Validity
    from harness.study.study import MetricsSection
    from harness.study.work import StudyWork

Loss = Literal["random", "popularity"]
LOSSES: Mapping[str, str] = {"random": "sparsity", "popularity": "popularity"}
"""By the way in which judgements are lost: the analysis."""

REFERENCES = ("nDCG@10", "P@10")
"""Measures by which a truth says which system is better, if nothing is said of that."""


def score(
    runs: Runs,
    qrels: Judgements,
    measures: str | Metric | Sequence[str | Metric],
    *,
    relevance_level: int = 1,
) -> Scores:
    """Score runs topic by topic; every topic of the qrels counts.

    Topics that a run lacks score 0; those that the qrels lack are left out, with a warning.

    Parameters
    ----------
    runs
        Run files, or a pattern such as ``"runs/*.run"``; or runs by the names of their systems, as
        dictionaries, data frames, or objects of ir_measures or ranx; or a list of runs of one
        system, over which its scores are averaged: see `harness.readers.rankings.replicates_of`.
    qrels
        The judgements, in any of these forms: see `harness.readers.rankings.judgements_of`.
    measures
        Such as ``"nDCG@10"``, ``"P(rel=2)@5"`` and ``"bpref"``, which is ``"bpref@all"``: without
        a cut-off of whole lists. Or the same as values, ``P(rel=2) @ 5``, among them metrics of
        your own. All are compared with one another.
    relevance_level
        Lowest relevant grade: trec_eval's ``-l``.

    Returns
    -------
    Values of shape (n_measures, n_systems, n_topics), with their labels; ``frame()`` gives a row
    for each.

    Raises
    ------
    InputError
        If a file or an object breaks a rule, or there is no such measure.

    Examples
    --------
    >>> lists = {"a": {"t1": {"d1": 2.0, "d2": 1.0}}, "b": {"t1": {"d1": 1.0, "d2": 2.0}}}
    >>> score(lists, {"t1": {"d1": 1, "d2": 0}}, ["RR", "P@1"]).frame()
      measure system user  score
    0      RR      a   t1    1.0
    1      RR      b   t1    0.5
    2     P@1      a   t1    1.0
    3     P@1      b   t1    0.0
    """
    return _work(runs, qrels, measures, relevance_level=relevance_level).scores


def discriminate(
    scores: Framed, *, seed: int = 0, n_jobs: int = 1, **settings: Any
) -> Discrimination:
    """Test all pairs of systems, and sum p-values into discriminative power.

    Parameters
    ----------
    scores
        Scores, or data frames of them: see `harness.readers.scores.scores_of`.
    seed, n_jobs
        Of all draws; threads.
    settings
        Those of [analyses.discrimination]: ``test``, ``correction``, ``replicates``, ...

    Returns
    -------
    p-values of shape (n_measures, n_pairs), and the powers that they add up to.

    Raises
    ------
    InputError
        If scores or settings break a rule.

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
    """Compare how measures order the systems.

    Parameters
    ----------
    scores, seed
        See `discriminate`.
    settings
        Those of [analyses.correlation]: ``coefficient``, ``replicates``, ...

    Returns
    -------
    Coefficients of shape (n_measures, n_measures), with their limits.

    Raises
    ------
    InputError
        If scores or settings break a rule.

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


def design(scores: Framed, *, seed: int = 0, n_jobs: int = 1, **settings: Any) -> Design:
    """Say how many users each measure needs, from a pilot's scores.

    Parameters
    ----------
    scores, seed, n_jobs
        See `discriminate`.
    settings
        Those of [analyses.design]: ``difference``, ``power``, ``share``, ...

    Returns
    -------
    Users needed by measure and pair of systems, and how reliable means are.

    Raises
    ------
    InputError
        If scores or settings break a rule.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"a": [0.7, 0.6, 0.5, 0.4], "b": [0.4, 0.4, 0.3, 0.3]})
    >>> design(frame).observed
    array([[4.]])
    """
    found: Design = analyse("design", scores, seed=seed, n_jobs=n_jobs, **settings)
    return found


def robustness(
    runs: Runs,
    qrels: Judgements,
    measures: str | Metric | Sequence[str | Metric],
    *,
    loss: Loss = "random",
    popularity: Counts | None = None,
    relevance_level: int = 1,
    seed: int = 0,
    n_jobs: int = 1,
    **settings: Any,
) -> Sparsity | Popularity:
    """Take judgements away, and compare the orderings of the systems with that on all of them.

    Parameters
    ----------
    runs, qrels, measures, relevance_level
        See `score`.
    loss
        "random": samples of the judgements; "popularity": those of the least popular items.
    popularity
        Training ratings of items, if they are known: a dictionary, or what ``value_counts()``
        gives. Otherwise an item is as popular as it has judgements.
    seed, n_jobs
        Of all draws; threads.
    settings
        Those of [analyses.sparsity] or [analyses.popularity]: ``levels``, ``samples``,
        ``replicates``, ``cut``, ...

    Returns
    -------
    Kendall's tau-b by measure and level, with bands and areas under the curves.

    Raises
    ------
    InputError
        If runs, qrels, measures or settings break a rule.

    Examples
    --------
    Without the judgement of the popular item, d1, nothing tells the systems apart:

    >>> lists = {"a": {"t1": {"d1": 2.0, "d2": 1.0}, "t2": {"d1": 1.0}},
    ...          "b": {"t1": {"d2": 2.0, "d1": 1.0}, "t2": {"d3": 1.0}}}
    >>> judged = {"t1": {"d1": 1, "d2": 0}, "t2": {"d1": 1, "d4": 1}}
    >>> curves = robustness(lists, judged, ["RR"], loss="popularity", levels=[1.0, 0.7])
    >>> curves.frame()[["metric", "level", "tau"]]
      metric  level  tau
    0     RR    1.0  1.0
    1     RR    0.7  NaN
    """
    require_choice("loss", loss, [*LOSSES])
    if popularity is not None and loss != "popularity":
        raise InputError(f"`popularity` is for loss='popularity', got loss={loss!r}.")
    analysis: Analysis[Any, Any] = find_analysis(LOSSES[loss])
    asked = _settings_of(analysis, settings)
    level, known = relevance_level, None if popularity is None else counts_of(popularity)
    work = _work(
        runs, qrels, measures, relevance_level=level, popularity=known, seed=seed, n_jobs=n_jobs
    )
    systems, measured = work.scores.systems, work.scores.measures
    asked.check(StudyFacts(systems, measured, has_training=known is not None))
    found: Sparsity | Popularity = analysis(work, asked)
    return found


def validity(
    measured: Framed | Runs,
    truth: Framed | Judgements,
    measures: str | Metric | Sequence[str | Metric] = (),
    *,
    qrels: Judgements | None = None,
    references: Sequence[str] | None = None,
    popularity: Counts | None = None,
    relevance_level: int = 1,
    true_relevance_level: int | None = None,
    seed: int = 0,
    n_jobs: int = 1,
    **settings: Any,
) -> Validity:
    """Compare how measures order the systems with how the truth does.

    Parameters
    ----------
    measured
        Scores (see `harness.readers.scores.scores_of`); or, with ``qrels``, runs: see `score`.
    truth
        True scores of the same systems, perhaps of other users; or, with ``qrels``, judgements that
        are complete, or of items drawn at random, by which the runs are scored as they are.
    measures
        What runs are scored by; see `score`.
    qrels
        The judgements that runs are measured on. Judgements are then taken away, too.
    references
        Measures by which the truth says which system is better; nDCG@10 and P@10, or which of them
        is among true scores.
    popularity
        Training ratings of items; see `robustness`.
    relevance_level, true_relevance_level
        Lowest relevant grade of the qrels, and of the truth, by default the same.
    seed, n_jobs
        Of all draws; threads.
    settings
        Those of [analyses.validity]: ``test``, ``correction``, ``replicates``, ``levels``, ...

    Returns
    -------
    Agreement with the truth, regret, and which significant differences are right.

    Raises
    ------
    InputError
        If something breaks a rule, or the truth is of other systems or lacks a measure.

    Examples
    --------
    The measure puts "b" first, and "a" is truly better for both users:

    >>> import pandas as pd
    >>> rated = {"P@10": pd.DataFrame({"a": [0.1, 0.2], "b": [0.3, 0.4]})}
    >>> true = {"P@10": pd.DataFrame({"a": [0.7, 0.8], "b": [0.5, 0.5]})}
    >>> found = validity(rated, true, references=["P@10"])
    >>> found.frame()[["truth", "metric", "tau", "regret"]]
        truth metric  tau  regret
    0  itself      P -1.0    0.25
    1    P@10      P -1.0    0.25
    """
    analysis: Analysis[Any, Any] = find_analysis("validity")
    work: ScoresAndTruth | StudyWork
    if qrels is None:
        settings = {"judgements": False} | settings
        scores, true = scores_of(cast("Framed", measured)), scores_of(cast("Framed", truth))
        if references is None:
            references = [name for name in REFERENCES if measure_named(name) in true.measures]
        work = ScoresAndTruth(
            scores, _truth(true, references, scores.systems), seed=seed, n_jobs=n_jobs
        )
    else:
        references = REFERENCES if references is None else references
        runs, judged = cast("Runs", measured), cast("Judgements", truth)
        asked = [measures] if isinstance(measures, str | Metric) else [*measures]
        known = None if popularity is None else counts_of(popularity)
        made = _work(
            runs,
            qrels,
            asked,
            relevance_level=relevance_level,
            popularity=known,
            seed=seed,
            n_jobs=n_jobs,
        )
        level = relevance_level if true_relevance_level is None else true_relevance_level
        more = [name for name in references if name not in map(str, made.scores.measures)]
        true = _work(runs, judged, [*asked, *more], relevance_level=level).scores
        work = replace(made, known_truth=_truth(true, references, made.scores.systems))
    found: Validity = analysis(work, _settings_of(analysis, settings))
    return found


def _truth(true: Scores, references: Sequence[str], systems: Sequence[str]) -> Truth:
    """Take true scores in the order of the systems that were measured, if they are the same."""
    if set(true.systems) == set(systems):
        places = [true.systems.index(system) for system in systems]
        true = Scores(true.values[:, places], true.measures, tuple(systems), true.users)
    return Truth(true, tuple(map(measure_named, references)), "as it was given")


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
    The result: ``frame()``, ``frames()``, ``caption()``, ``findings()``, ``plot()``.

    Raises
    ------
    InputError
        If there is no such analysis or setting, or it needs more than scores.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"a": [0.3, 0.5, 0.4], "b": [0.1, 0.2, 0.6]})
    >>> analyse("users", frame, sizes=[2], repeats=4, permutations=99).sizes
    (2, 3)
    """
    analysis: Analysis[Any, Result] = find_analysis(name)
    asked = _settings_of(analysis, settings)
    return analysis(ScoresWork(scores_of(scores), seed=seed, n_jobs=n_jobs), asked)


def _work(
    runs: Runs,
    qrels: Judgements,
    measures: str | Metric | Sequence[str | Metric],
    *,
    relevance_level: int,
    popularity: Mapping[str, int] | None = None,
    seed: int = 0,
    n_jobs: int = 1,
) -> StudyWork:
    """Read and score runs, and give what an analysis may use of them."""
    from harness.scoring.means import averaged
    from harness.scoring.score import score as score_runs
    from harness.study.collection import collect_lists
    from harness.study.run import check_metrics
    from harness.study.work import StudyWork

    named = [measures] if isinstance(measures, str | Metric) else measures
    section = _section_of(named)
    metrics = check_metrics(section, own=[each for each in named if isinstance(each, Metric)])
    run_files, systems = replicates_of(runs)
    collection = collect_lists(
        run_files,
        judgements_of(qrels),
        relevance_level=relevance_level,
        source=str(qrels) if isinstance(qrels, str | PathLike) else "the qrels",
        systems=systems,
        popularity=popularity,
    )
    known = Catalogue(len(collection.items))
    users = collection.topics.ids
    measured = section.measures.with_falling(
        name for name, metric in metrics.items() if not metric.higher_is_better
    )
    scores = score_runs(
        collection.runs, collection.qrels, measured, metrics, users=users, catalogue=known
    )
    replicates = Replicates.of(systems, collection.runs) if systems else None
    return StudyWork(
        name="scores",
        seed=seed,
        n_jobs=n_jobs,
        progress=Silent(),
        collection=collection,
        runs=collection.runs,
        scores=averaged(scores, replicates),
        metrics=metrics,
        catalogue=known,
        ranks={},
        replicates=replicates,
    )


def _section_of(measures: Sequence[str | Metric]) -> MetricsSection:
    from harness.study.study import MetricsSection

    if not measures:
        raise InputError("there is no measure: name some, such as 'nDCG@10' and 'bpref'.")
    try:
        return MetricsSection(names=tuple(map(str, measures)), cutoffs=())
    except ValidationError as error:
        finding = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise InputError(f"{finding}.") from None


def _settings_of(analysis: Analysis[Any, Any], settings: Mapping[str, Any]) -> Any:
    try:
        return analysis.settings(**settings)
    except ValidationError as error:
        origin = Origin(analysis.name, "")
        raise InputError(sentence_of(error, origin, analysis.settings)) from None
