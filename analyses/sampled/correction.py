"""Corrected metrics of systems from the ranks that they have among sampled negatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, NamedTuple

import numpy as np
import scipy
from pydantic import Field

from analyses.intervals.resampling import draw_weights
from analyses.sampled.corrected_metrics import Corrected
from analyses.sampled.estimators import Estimator, Fits, Metrics, find_estimator
from analyses.sampled.metrics import METRICS, MetricNames, read_metrics
from analyses.sampled.rank_distribution import Cells
from analyses.sampled.rank_tables import Sampled, read_sampled_ranks
from analyses.sampled.samples import SampledRanks, population_of, weighted_auc
from analyses.shared.analysis import AnalysisSettings
from analyses.shared.measure import Measure, Measures
from runs import InputError
from runs.shared.arrays import Floats
from runs.shared.errors import prefixed_errors, refuse_unknown_keywords
from runs.shared.progress import Progress, SilentProgress
from runs.shared.settings import Repeats, accepted_by, check_settings

TEST_ESTIMATOR = "bv(gamma=0.01)"
"""Tests differences, unless an estimator is chosen: it has less noise than MLE, and more bias."""

WEIGHTED_ESTIMATOR = "ht-plugin"
"""Estimates AUC from negatives that were drawn with given probabilities."""


class Settings(AnalysisSettings):
    """How metrics are estimated from ranks among sampled negatives."""

    metrics: MetricNames = METRICS
    estimator: Annotated[str, accepted_by(find_estimator)] | None = Field(
        None,
        description="Estimator, with options; default: mle(iters=100), and bv(gamma=0.01) to test "
        "differences, or ht-plugin (for AUC) if negatives were drawn with probabilities.",
    )
    replicates: Repeats = Field(
        1000, ge=100, description="Number of bootstrap replicates of the users."
    )


@refuse_unknown_keywords
def correct(
    sampled: Sampled,
    *,
    negatives: int | None = None,
    candidates: int | None = None,
    replace: bool = True,
    metrics: Sequence[str] = METRICS,
    estimator: str | None = None,
    replicates: int = 1000,
    seed: int = 0,
) -> Corrected:
    """Estimate metrics among all candidates from ranks among sampled negatives.

    Parameters
    ----------
    sampled
        Ranks by system; or a table, as a data frame or a file; or several files. A file that names
        no system holds one system, with the name of the file. A table of ranks is long, with the
        columns system, user and rank, or wide, with a column for each system. It may have the
        columns n_negatives and n_candidates. A table of scores has the columns user, score and
        label: 1 for a relevant item, 0 for a negative. It may have the columns system, item and
        probability, the probability of drawing each negative. RecBole's names of columns, such as
        ``user_id:token``, are understood. In NCF's layout a line has no heading: ``(user,item)``,
        the score of that item, and the scores of its negatives, separated by tabs.
    negatives
        Number of sampled negatives of each user, without the relevant items, if the table has no
        such column.
    candidates
        Number of candidates of each user, with the relevant items, likewise.
    replace
        Whether negatives were drawn with replacement.
    metrics
        Metrics to estimate.
    estimator
        Estimator, with its options. Default: ``mle(iters=100)``, with tests of differences by
        ``bv(gamma=0.01)``, or ``ht-plugin`` (of AUC) if negatives were drawn with given
        probabilities.
    replicates
        Number of resamples of the users for the intervals, at least 100.
    seed
        Random seed of the resamples, which all systems share.

    Returns
    -------
    Corrected
        Estimates of shape (n_metrics, n_systems), with 95 % intervals.

    Raises
    ------
    InputError
        If a table or an argument breaks a rule.

    Examples
    --------
    >>> ranks = {"a": SampledRanks.of([1, 2, 4] * 9, n_negatives=9, n_candidates=90)}
    >>> correct(ranks, metrics=["AUC"], estimator="uncorrected").values.round(4)
    array([[0.8519]])
    """
    arguments = {"metrics": metrics, "estimator": estimator, "replicates": replicates}
    settings = check_settings("correct", Settings, arguments)
    systems = read_sampled_ranks(
        sampled, negatives=negatives, candidates=candidates, replace=replace
    )
    return corrected_systems(systems, settings, seed=seed)


def corrected_systems(
    systems: Mapping[str, SampledRanks],
    settings: Settings,
    *,
    seed: int,
    progress: Progress | None = None,
) -> Corrected:
    """Estimate metrics among all candidates from the sampled ranks of systems; see `correct`.

    Systems have the same users. By default values are estimated by mle(iters=100) and differences
    are tested by bv(gamma=0.01), but by mle, too, if numbers of negatives differ; ht-plugin does
    both if negatives have probabilities. InputError for negatives with probabilities of some
    systems only or drawn without replacement, for other metrics than AUC from such negatives, and
    for samples that the estimator does not take.
    """
    is_weighted = _has_probabilities(systems)
    metrics = _read_metrics(settings, is_weighted=is_weighted)
    sizes = np.concatenate([np.unique(sample.n_negatives) for sample in systems.values()])
    usual_estimator = WEIGHTED_ESTIMATOR if is_weighted else "mle"
    estimator = find_estimator(settings.estimator or usual_estimator)
    test_estimator = estimator
    has_one_size = len(np.unique(sizes)) == 1
    if settings.estimator is None and not is_weighted and has_one_size:
        test_estimator = find_estimator(TEST_ESTIMATOR)
    corrections = []
    show = progress or SilentProgress()
    with show("Correcting", len(systems)) as bar:
        for name, sample in systems.items():
            with prefixed_errors(f"system {name!r}"):
                correction = _correct_system(
                    sample, estimator, test_estimator, metrics, settings.replicates, seed
                )
            corrections.append(correction)
            bar.advance()
    # The same fields, with an axis of systems after that of metrics.
    stacked = [np.stack(arrays, axis=1) for arrays in zip(*corrections, strict=True)]
    arrays = _CorrectedArrays(*stacked)
    samples = list(systems.values())
    first = samples[0]
    n_users = min(len(np.unique(sample.user)) for sample in samples)
    n_differing = [_count_differing_users(sample) for sample in samples]
    return Corrected(
        measures=Measures(Measure(str(metric)) for metric in metrics),
        systems=tuple(systems),
        population=population_of(first),
        n_irrelevant=int(np.rint(first.n_irrelevant.mean())),
        replace=first.replace,
        estimator=str(estimator),
        test_estimator=str(test_estimator),
        n_users=n_users,
        differing=np.array(n_differing),
        negatives=(int(sizes.min()), int(sizes.max())),
        uncorrected=arrays.uncorrected,
        values=arrays.values,
        bias=arrays.bias,
        steep_bias=arrays.steep_bias,
        replicates=arrays.replicates,
        contrasted=arrays.contrasted,
        contrasted_replicates=arrays.contrasted_replicates,
    )


def _has_probabilities(systems: Mapping[str, SampledRanks]) -> bool:
    """Check whether negatives were drawn with given probabilities.

    Refuse, with InputError, probabilities for some systems only, or without replacement.
    """
    samples = systems.values()
    weighted = [sample for sample in samples if sample.inverse_mass_above is not None]
    if not weighted:
        return False
    all_replaced = all(sample.replace for sample in samples)
    if len(weighted) < len(samples) or not all_replaced:
        raise InputError(
            "negatives drawn with probabilities must be drawn with replacement, for all systems."
        )
    return True


def _read_metrics(settings: Settings, *, is_weighted: bool) -> Metrics:
    """Read the metrics of the settings.

    For the estimator ht-plugin, which is the default if negatives were drawn with probabilities
    (``is_weighted``), the default metrics are AUC alone, and others are refused with InputError.
    """
    names = settings.metrics
    if settings.estimator is not None:
        is_weighted = find_estimator(settings.estimator).name == WEIGHTED_ESTIMATOR
    if not is_weighted:
        return read_metrics(names)
    metrics = read_metrics(["AUC"] if names == METRICS else names)
    for metric in metrics:
        if metric.name != "AUC":
            raise InputError(
                f"from negatives drawn with probabilities only AUC is estimated, not {metric}: "
                "give AUC as the only metric, or draw negatives uniformly."
            )
    return metrics


def _count_differing_users(sample: SampledRanks) -> int:
    """Count the users with a relevant item whose rank is not the most common one of its place.

    The place is 1 for the first relevant item of each user, 2 for the second, and so on.
    """
    n_places = int(sample.order.max())
    usual_rank = np.zeros(n_places + 1, dtype=np.int64)
    for place in np.unique(sample.order):
        usual_rank[place] = scipy.stats.mode(sample.rank[sample.order == place]).mode
    differs = sample.rank != usual_rank[sample.order]
    return len(np.unique(sample.user[differs]))


class _CorrectedArrays(NamedTuple):
    """Arrays of `Corrected`, of one system: (n_metrics,), or (n_metrics, n_replicates).

    Of several systems they have an axis of systems after that of metrics.
    """

    uncorrected: Floats
    values: Floats
    bias: Floats
    steep_bias: Floats
    replicates: Floats
    contrasted: Floats
    contrasted_replicates: Floats


def _correct_system(
    sample: SampledRanks,
    estimator: Estimator,
    test_estimator: Estimator,
    metrics: Metrics,
    replicates: int,
    seed: int,
) -> _CorrectedArrays:
    """Estimate the metrics of one system: values by an estimator, and by that of tests.

    The result has ``values`` and ``contrasted`` (by the test estimator), and those of the sampled
    ranks themselves (``uncorrected``), each (n_metrics,), guesses of the bias, and replicates over
    resampled users, (n_metrics, n_replicates). Resampled users depend on the seed and their number
    alone. InputError if an estimator does not take such a sample.
    """
    sample_cells = Cells.of([sample])
    (uncorrected,) = find_estimator("uncorrected").fit_cells(sample_cells).estimates(metrics)
    if estimator.name == WEIGHTED_ESTIMATOR:
        return _correct_weighted_system(sample, uncorrected, replicates, seed)
    fits = estimator.fit(sample)
    resampled = fits.cells.resampled(replicates, seed=seed)
    bias, steep_bias = bias_left(fits, metrics)
    (values,) = estimator.fit_cells(fits.cells).estimates(metrics)
    (contrasted,) = test_estimator.fit_cells(fits.cells).estimates(metrics)
    replicates_of_values = estimator.fit_cells(resampled).estimates(metrics)
    replicates_of_contrasted = test_estimator.fit_cells(resampled).estimates(metrics)
    return _CorrectedArrays(
        uncorrected=uncorrected,
        values=values,
        bias=bias,
        steep_bias=steep_bias,
        replicates=replicates_of_values.T,
        contrasted=contrasted,
        contrasted_replicates=replicates_of_contrasted.T,
    )


def _correct_weighted_system(
    sample: SampledRanks, uncorrected: Floats, replicates: int, seed: int
) -> _CorrectedArrays:
    """Estimate the AUC of one system from negatives drawn with given probabilities.

    ``uncorrected``: the sampled AUC, of shape (1,), which is passed on. Values are the mean AUC
    over the users, (1,); replicates, (1, n_replicates), are means over resampled users. Tests use
    the same. The bias is NaN, as it is not guessed.
    """
    by_user = weighted_auc(sample)
    draws = draw_weights(len(by_user), replicates=replicates, seed=seed)
    sums = np.concatenate([weights @ by_user for _, weights in draws])
    replicate_means = (sums / len(by_user))[np.newaxis]
    mean = by_user.mean(keepdims=True)
    no_guess = np.full(1, np.nan)
    return _CorrectedArrays(
        uncorrected=uncorrected,
        values=mean,
        bias=no_guess,
        steep_bias=no_guess,
        replicates=replicate_means,
        contrasted=mean,
        contrasted_replicates=replicate_means,
    )


def bias_left(fits: Fits, metrics: Metrics) -> Floats:
    """Guess the bias of an estimator for two plausible distributions of ranks: (2, n_metrics).

    EM learns the distributions from the first sample that was fitted: from a uniform start, as MLE
    does, and from a steep one, with more items at the very first ranks. The bias is the estimate
    from expected samples of such ranks less their exact metric.
    """
    guesses = []
    cells = fits.cells.suited(metrics)
    for steep in (False, True):
        expected_cells, exact = cells.refilled(metrics, steep=steep)
        (estimates,) = fits.estimator.fit_cells(expected_cells).estimates(metrics)
        guesses.append(estimates - exact)
    return np.array(guesses)
