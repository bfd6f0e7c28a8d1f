"""Runs, qrels and scores as notebooks have them, to scores and results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal, cast

from analyses.shared.analysis import Analysis, StudyFacts, find_analysis
from analyses.shared.result import Result
from analyses.shared.scores import Scores
from analyses.shared.work import ScoresWork, Truth
from harness.readers.judgements import Counts, Judgements
from harness.readers.rankings import Runs
from harness.readers.scores import FrameOfScores, measure_named, scores_of
from runs import InputError
from runs.shared.errors import refuse_unknown_keywords, require_choice
from runs.shared.settings import check_settings

if TYPE_CHECKING:
    from analyses.correlation import Correlation
    from analyses.design import Design
    from analyses.discrimination import Discrimination
    from analyses.popularity import Cut, Popularity
    from analyses.shared.judgement_samples import Mode
    from analyses.shared.work import CountedIn
    from analyses.significance.question import Correction, Simultaneous, Standard, Test
    from analyses.sparsity import Sparsity
    from analyses.systems import Systems
    from analyses.validity import Validity
    from harness.study.scored_runs import MeasureNames

Loss = Literal["random", "popularity"]
LOSSES: Mapping[str, str] = {"random": "sparsity", "popularity": "popularity"}
"""Analysis of each way in which judgements are lost."""

REFERENCES = ("nDCG@10", "P@10")
"""Default measures of the true ordering."""


@refuse_unknown_keywords
def score(
    runs: Runs,
    qrels: Judgements,
    measures: MeasureNames,
    *,
    relevance_level: int = 1,
    run_options: Mapping[str, Any] | None = None,
    qrels_options: Mapping[str, Any] | None = None,
) -> Scores:
    """Score runs for every user (topic) of the qrels.

    A user without a list in a run scores 0. Users that the qrels lack are left out, with a warning.

    Parameters
    ----------
    runs
        Paths of run files, or a pattern such as ``"runs/*.run"``; or a dictionary of runs by the
        name of their system. A run is a file, a dictionary, a data frame, or an object of
        ir_measures or ranx; see `harness.readers.rankings.replicates_of`. The scores of a list of
        runs of one system are averaged.
    qrels
        The judgements, in any of these forms; see `harness.readers.judgements.judgements_of`.
    measures
        Names such as ``"nDCG@10"``, ``"P(rel=2)@5"`` and ``"bpref"``, or metrics such as
        ``harness.P(rel=2) @ 5``, also your own, and trec_eval's names, such as
        ``"ndcg_cut_10"`` and ``"map"``. A measure without a cut-off scores whole lists.
        All measures are compared with one another.
    relevance_level
        Lowest relevant grade, at least 1; trec_eval's ``-l``.
    run_options, qrels_options
        How files of runs and of qrels are read, as in ``[runs]`` and ``[qrels]`` of a study:
        ``columns``, ``separator``, ``encoding``, such as ``{"encoding": "latin-1"}``.

    Returns
    -------
    Scores
        Values of shape (n_measures, n_systems, n_users), with their labels.

    Raises
    ------
    InputError
        If a file or an object breaks a rule of its format, or a measure is unknown.

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
    from harness.study.scored_runs import read_and_score
    from runs.tables.options import TextOptions

    work = read_and_score(
        runs,
        qrels,
        measures,
        relevance_level=relevance_level,
        run_options=check_settings("run_options", TextOptions, run_options or {}),
        qrels_options=check_settings("qrels_options", TextOptions, qrels_options or {}),
        min_systems=1,
    )
    return work.scores


@refuse_unknown_keywords
def discriminate(
    scores: FrameOfScores,
    *,
    test: Test = "exact",
    correction: Correction = "none",
    across_measures: bool = False,
    alpha: float = 0.05,
    permutations: int | None = None,
    replicates: int = 400,
    baseline: str | Sequence[str] = (),
    standardised: Standard | None = None,
    margin: float | None = None,
    seed: int = 0,
    n_jobs: int = 1,
) -> Discrimination:
    """Test the difference of all pairs of systems under each measure: discriminative power.

    Parameters
    ----------
    scores
        Scores; or a data frame with a row for each user and a column for each system; or a
        dictionary of such frames by measure; see `harness.readers.scores.scores_of`.
    test
        Paired, two-sided test: "exact" or "monte-carlo" (both permutation tests), "t", "wilcoxon",
        "sign" or "bootstrap".
    correction
        Correction of the p-values of one measure for the number of pairs: "none", "bonferroni",
        "holm", "bh" (Benjamini-Hochberg), "max-t", "max-t-sign-flip" or "tukey".
    across_measures
        Correct for the pairs of all measures at once, by "bonferroni", "holm" or "bh".
    alpha
        Significance level, in (0, 1).
    permutations
        Number of random draws of a test that draws, at least 99. Default: 100,000 for
        "monte-carlo" and "max-t-sign-flip", 10,000 for "bootstrap" and "max-t", 5,000 for "tukey".
    replicates
        Number of resamples of the users for the intervals; 0 for no intervals.
    baseline
        Names of systems. If given, only pairs with one of them are tested.
    standardised
        Test scores that are standardised for each user over the systems: "normal", "uniform" or
        "empirical"; see `analyses.significance.question.standardise`.
    margin
        Smallest difference of interest, above 0: each pair is different, equivalent or undecided.
    seed
        Random seed.
    n_jobs
        Number of threads. Does not change results.

    Returns
    -------
    Discrimination
        p-values of shape (n_measures, n_pairs), and DP, their sum over the pairs, of shape
        (n_measures,). Lower is more discriminative. Comparisons of measures are by ``dp_mid``, the
        sum of the mid-p-values.

    Raises
    ------
    InputError
        If the scores or an argument break a rule.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"a": [3.0, 2.0, 1.0], "b": [0.0, 0.0, 0.0]})
    >>> discriminate(frame).dp
    array([0.25])
    """
    return analyse(
        "discrimination",
        scores,
        test=test,
        correction=correction,
        across_measures=across_measures,
        alpha=alpha,
        permutations=permutations,
        replicates=replicates,
        baseline=baseline,
        standardised=standardised,
        margin=margin,
        seed=seed,
        n_jobs=n_jobs,
    )


@refuse_unknown_keywords
def compare_systems(
    scores: FrameOfScores,
    *,
    correction: Simultaneous = "max-t",
    alpha: float = 0.05,
    permutations: int = 10_000,
    seed: int = 0,
    n_jobs: int = 1,
) -> Systems:
    """Compare the systems under each measure: means, intervals, letters and possible ranks.

    Parameters
    ----------
    scores, seed, n_jobs
        See `discriminate`.
    correction
        Simultaneous test of all pairs of systems. "max-t": the step-down max-T bootstrap test of
        the differences in means, for at least 10 users. "max-t-sign-flip" (step-down max-T by sign
        flips) and "tukey" (randomised Tukey HSD): tests of whether a user's scores are
        exchangeable.
    alpha
        Chance of at least one wrong difference among all pairs under one measure.
    permutations
        Number of bootstrap replicates or random permutations, at least 99.

    Returns
    -------
    Systems
        Means, their 95 % intervals and ranks, of shape (n_measures, n_systems). ``tabulate()`` is
        the table of a paper, ``to_latex()`` the same for LaTeX.

    Raises
    ------
    InputError
        If the scores or an argument break a rule.

    Examples
    --------
    The best system, "a", is significantly better than "c" alone:

    >>> import pandas as pd
    >>> users = [0.1, 0.3, 0.2, 0.4, 0.2, 0.3, 0.1, 0.4, 0.2, 0.3]
    >>> others = [0.2, 0.2, 0.2, 0.3, 0.3, 0.2, 0.2, 0.3, 0.2, 0.3]
    >>> frame = pd.DataFrame({"a": users, "b": others})
    >>> compared = compare_systems({"AP": frame.assign(c=[u / 9 for u in users])})
    >>> compared.frame()[["system", "groups", "rank_low", "rank_high"]]
      system groups  rank_low  rank_high
    0      a      a         1          2
    1      b      a         1          2
    2      c      b         3          3
    """
    return analyse(
        "systems",
        scores,
        correction=correction,
        alpha=alpha,
        permutations=permutations,
        seed=seed,
        n_jobs=n_jobs,
    )


@refuse_unknown_keywords
def correlate(
    scores: FrameOfScores, *, coefficient: str = "tau-b", replicates: int = 1000, seed: int = 0
) -> Correlation:
    """Compare the orderings of the systems by every two measures.

    Parameters
    ----------
    scores, seed
        See `discriminate`.
    coefficient
        Coefficient of figures and intervals: "tau-b", "tau-ap" or "rbo". Tables have all three.
    replicates
        Number of resamples of the users for the intervals; 0 for no intervals.

    Returns
    -------
    Correlation
        Coefficients of shape (n_measures, n_measures), with 95 % intervals.

    Raises
    ------
    InputError
        If the scores or an argument break a rule.

    Examples
    --------
    >>> import pandas as pd
    >>> one = pd.DataFrame({"a": [0.3, 0.5], "b": [0.1, 0.2]})
    >>> correlate({"AP": one, "RR": -one}).taus
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    return analyse(
        "correlation",
        scores,
        coefficient=coefficient,
        replicates=replicates,
        every_pair=True,
        seed=seed,
    )


@refuse_unknown_keywords
def design(
    scores: FrameOfScores,
    *,
    difference: float = 0.05,
    power: float = 0.8,
    alpha: float = 0.05,
    share: float = 0.8,
    reliability: float = 0.95,
    standardised: Standard | None = None,
    replicates: int = 1000,
    seed: int = 0,
    n_jobs: int = 1,
) -> Design:
    """Estimate from the scores of a pilot study how many users each measure needs.

    Parameters
    ----------
    scores, standardised, replicates, seed, n_jobs
        See `discriminate`.
    difference
        Difference between two systems to detect, as a share of the measure's mean score; above 0.
    power
        Probability of detecting it, in (0, 1).
    alpha
        Significance level, in (0, 1).
    share
        Share of the pairs of systems to find significant, in (0, 1).
    reliability
        Generalizability coefficient to reach, in (0, 1).

    Returns
    -------
    Design
        Number of users needed, by measure and pair of systems, and the reliability of the means.

    Raises
    ------
    InputError
        If the scores or an argument break a rule.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"a": [0.7, 0.6, 0.5, 0.4], "b": [0.4, 0.4, 0.3, 0.3]})
    >>> design(frame).observed
    array([[4.]])
    """
    return analyse(
        "design",
        scores,
        difference=difference,
        power=power,
        alpha=alpha,
        share=share,
        reliability=reliability,
        standardised=standardised,
        replicates=replicates,
        seed=seed,
        n_jobs=n_jobs,
    )


@refuse_unknown_keywords
def robustness(
    runs: Runs,
    qrels: Judgements,
    measures: MeasureNames,
    *,
    loss: Loss = "random",
    levels: Sequence[float] | None = None,
    replicates: int = 200,
    samples: int = 50,
    mode: Mode = "all",
    least_relevant: int = 1,
    least_nonrelevant: int = 10,
    popularity: Counts | None = None,
    counted_in: CountedIn | None = None,
    cut: Cut = "items",
    orders: int = 10,
    relevance_level: int = 1,
    seed: int = 0,
    n_jobs: int = 1,
) -> Sparsity | Popularity:
    """Remove judgements, and compare the orderings of the systems before and after.

    Parameters
    ----------
    runs, qrels, measures, relevance_level
        See `score`.
    loss
        "random" removes judgements at random; "popularity" removes those of the most popular items.
    levels
        Shares that are kept, in (0, 1]: of the judgements (default 1, 0.95, ..., 0.05), or of the
        items (default 1, 0.99, ..., 0.8).
    replicates
        Number of resamples of the users for the intervals; 0 for no intervals.
    samples
        With loss="random": number of samples of the judgements at each level.
    mode
        With loss="random": a level is a share of "all" judgements, of those of each user
        ("per-user"), or of the relevant and the non-relevant ones of each user ("stratified").
    least_relevant, least_nonrelevant
        With mode="stratified": smallest number of judgements that each user keeps.
    popularity
        With loss="popularity": number of training ratings of each item, as a dictionary or the
        result of ``value_counts()``. Default: the number of its judgements.
    counted_in
        With loss="popularity": count popularity in "train", "test" or "all". Default: "train" if
        ``popularity`` is given, else "test".
    cut
        With loss="popularity": a level is a share of the "items" or of their "ratings".
    orders
        With loss="popularity": number of random orders of equally popular items.
    seed, n_jobs
        See `discriminate`.

    Returns
    -------
    Sparsity or Popularity
        Kendall's tau-b by measure and level, with intervals and areas under the curves.

    Raises
    ------
    InputError
        If the runs, the qrels or an argument break a rule, or an argument is of the other loss.

    Examples
    --------
    Without the judgement of the popular item, d1, both systems score the same:

    >>> lists = {"a": {"t1": {"d1": 2.0, "d2": 1.0}, "t2": {"d1": 1.0}},
    ...          "b": {"t1": {"d2": 2.0, "d1": 1.0}, "t2": {"d3": 1.0}}}
    >>> judged = {"t1": {"d1": 1, "d2": 0}, "t2": {"d1": 1, "d4": 1}}
    >>> curves = robustness(lists, judged, ["RR"], loss="popularity", levels=[1.0, 0.7])
    >>> curves.frame()[["metric", "level", "tau"]]
      metric  level  tau
    0     RR    1.0  1.0
    1     RR    0.7  NaN
    """
    from harness.study.scored_runs import read_and_score

    require_choice("loss", loss, [*LOSSES])
    if popularity is not None and loss != "popularity":
        raise InputError(f"`popularity` is for loss='popularity', got loss={loss!r}.")
    analysis: Analysis[Any, Any] = find_analysis(LOSSES[loss])
    arguments: dict[str, Any] = {
        "levels": levels,
        "replicates": replicates,
        "samples": samples,
        "mode": mode,
        "least_relevant": least_relevant,
        "least_nonrelevant": least_nonrelevant,
        "counted_in": counted_in,
        "cut": cut,
        "orders": orders,
    }
    # What is as in the signature is left out: the other loss has no such setting.
    parameters = signature(robustness).parameters
    changed_arguments = {
        name: value for name, value in arguments.items() if value is not parameters[name].default
    }
    settings = _check_settings_of(analysis, changed_arguments)
    work = read_and_score(
        runs,
        qrels,
        measures,
        relevance_level=relevance_level,
        popularity=popularity,
        seed=seed,
        n_jobs=n_jobs,
    )
    scores = work.scores
    has_training = popularity is not None
    settings.check(StudyFacts(scores.systems, scores.measures, has_training=has_training))
    return analysis(work, settings)


@refuse_unknown_keywords
def validity(
    measured: FrameOfScores | Runs,
    truth: FrameOfScores | Judgements,
    measures: MeasureNames = (),
    *,
    qrels: Judgements | None = None,
    references: Sequence[str] | None = None,
    test: Test = "t",
    correction: Correction = "none",
    alpha: float = 0.05,
    permutations: int | None = None,
    replicates: int = 400,
    judgements: bool = True,
    levels: Sequence[float] | None = None,
    samples: int = 20,
    popularity: Counts | None = None,
    relevance_level: int = 1,
    true_relevance_level: int | None = None,
    seed: int = 0,
    n_jobs: int = 1,
) -> Validity:
    """Compare the ordering of the systems by each measure with the true ordering.

    Parameters
    ----------
    measured
        Scores, see `discriminate`; or, with ``qrels``, runs, see `score`.
    truth
        True scores of the same systems, also of other users; or, with ``qrels``, complete
        judgements or judgements of a random sample of items.
    measures
        Measures that score the runs; see `score`.
    qrels
        Judgements that the runs are measured on.
    references
        Measures that define the true ordering. Default: nDCG@10 and P@10, as far as the true
        scores have them.
    test, correction, alpha, permutations, replicates
        See `discriminate`; the test is also that of the true differences.
    judgements
        Whether to remove judgements as well, for curves of validity; only with ``qrels``.
    levels
        Shares of the judgements that are kept, in (0, 1]. Default: 1, 0.9, ..., 0.1.
    samples
        Number of samples of the judgements at each level.
    popularity
        Number of training ratings of each item; see `robustness`.
    relevance_level, true_relevance_level
        Lowest relevant grade of the qrels and of the truth. Default: the same for both.
    seed, n_jobs
        See `discriminate`.

    Returns
    -------
    Validity
        Agreement with the true ordering, regret, and which significant differences are right.

    Raises
    ------
    InputError
        If an argument breaks a rule, or the truth has other systems or lacks a measure.

    Examples
    --------
    The measure orders "b" first, but "a" is truly better for both users:

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
    settings = _check_settings_of(
        analysis,
        {
            "test": test,
            "correction": correction,
            "alpha": alpha,
            "permutations": permutations,
            "replicates": replicates,
            "judgements": judgements and qrels is not None,
            "levels": levels,
            "samples": samples,
        },
    )
    if qrels is None:
        scores = scores_of(cast("FrameOfScores", measured))
        true_scores = scores_of(cast("FrameOfScores", truth))
        if references is None:
            references = [
                name for name in REFERENCES if measure_named(name) in true_scores.measures
            ]
        known_truth = _make_truth(true_scores, references, scores.systems)
        scores_work = ScoresWork(scores, known_truth=known_truth, seed=seed, n_jobs=n_jobs)
        return analysis(scores_work, settings)
    from harness.study.scored_runs import list_measures, read_and_score

    references = REFERENCES if references is None else references
    runs = cast("Runs", measured)
    all_measures = list_measures(measures)
    study_work = read_and_score(
        runs,
        qrels,
        all_measures,
        relevance_level=relevance_level,
        popularity=popularity,
        seed=seed,
        n_jobs=n_jobs,
    )
    measure_names = [str(measure) for measure in study_work.scores.measures]
    all_measures += [name for name in references if name not in measure_names]
    if true_relevance_level is None:
        true_relevance_level = relevance_level
    true_judgements = cast("Judgements", truth)
    true_work = read_and_score(
        runs, true_judgements, all_measures, relevance_level=true_relevance_level
    )
    known_truth = _make_truth(true_work.scores, references, study_work.scores.systems)
    return analysis(replace(study_work, known_truth=known_truth), settings)


def _make_truth(true_scores: Scores, references: Sequence[str], systems: Sequence[str]) -> Truth:
    """Make a truth of true scores, in the order of the systems that were measured.

    ``systems`` are the names of those. If the true scores are of other systems, their order is
    kept: the analysis refuses them. ``references`` are names of the measures that define the true
    ordering.
    """
    if set(true_scores.systems) == set(systems):
        indices = [true_scores.systems.index(system) for system in systems]
        values = true_scores.values[:, indices]
        true_scores = replace(true_scores, values=values, systems=tuple(systems))
    reference_measures = tuple(map(measure_named, references))
    return Truth(true_scores, reference_measures, "as it was given")


def analyse(
    name: str, scores: FrameOfScores, *, seed: int = 0, n_jobs: int = 1, **settings: Any
) -> Any:
    """Run any analysis that needs nothing but scores.

    Parameters
    ----------
    name
        Name of the analysis, such as "users", "discrimination" or "correlation".
    scores, seed, n_jobs
        See `discriminate`.
    settings
        Settings of the analysis, as in its section of a study file.

    Returns
    -------
    Result
        The result of the analysis: ``frame()``, ``frames()``, ``findings()``, ``plot()``.

    Raises
    ------
    InputError
        If the analysis or a setting is unknown, or the analysis needs more than scores.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"a": [0.3, 0.5, 0.4], "b": [0.1, 0.2, 0.6]})
    >>> analyse("users", frame, sizes=[2], repeats=4, permutations=99).sizes
    (2, 3)
    """
    analysis: Analysis[Any, Result] = find_analysis(name)
    checked_settings = _check_settings_of(analysis, settings)
    work = ScoresWork(scores_of(scores), seed=seed, n_jobs=n_jobs)
    return analysis(work, checked_settings)


def _check_settings_of(analysis: Analysis[Any, Any], values: Mapping[str, Any]) -> Any:
    """Make the settings of an analysis; a value of None stands for its default.

    Raises InputError for an unknown name, or a value that breaks a rule.
    """
    given_values = {name: value for name, value in values.items() if value is not None}
    return check_settings(f"analysis {analysis.name!r}", analysis.settings, given_values)
