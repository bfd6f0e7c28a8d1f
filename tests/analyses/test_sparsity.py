from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray
from pydantic import ValidationError
from scipy.stats import hypergeom

from analyses.intervals.random_loss import _mean_without_relevant
from analyses.ordering import COEFFICIENTS
from analyses.shared.evidence import to_evidence
from analyses.shared.judgement_samples import Mode, Sampling
from analyses.shared.measure import Measure, Measures
from analyses.sparsity import Settings, Sparsity, sparsity
from qrels import Qrels, qrels_from_columns
from tests.analyses.blocks import sums_of
from tests.analyses.made import JudgedWork, unrelated
from tests.drawn import curve

N_JUDGEMENTS = 400
MEASURES = Measures([Measure("sum", 5), Measure("constant", 5)])


def judgements() -> Qrels:
    """20 users with 20 judgements each, one in four relevant."""
    grades = np.where(np.arange(N_JUDGEMENTS) % 4 == 0, 5, 1)
    users, items = np.divmod(np.arange(N_JUDGEMENTS), 20)
    return qrels_from_columns(users, items, grades, n_users=20, relevance_level=4)


@sums_of
def sum_samples(kept: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Four systems, each with hits of its own; a second measure that ties them all."""
    hits = np.random.default_rng(1).random((4, N_JUDGEMENTS)) < np.array(
        [[0.2], [0.25], [0.3], [0.35]]
    )
    found = (hits[:, :, None] & kept).reshape(4, 20, 20, -1).sum(axis=2)
    return np.stack([found, np.ones(found.shape)])


def study(
    n_jobs: int = 1,
    levels: tuple[float, ...] = (1.0, 0.5, 0.05),
    replicates: int = 0,
    mode: Mode = "all",
) -> Sparsity:
    work = JudgedWork(sum_samples, judgements(), MEASURES, n_systems=4, seed=7, n_jobs=n_jobs)
    settings = Settings(levels=levels, samples=30, mode=mode, replicates=replicates)
    return sparsity(work, settings)


def test_undefined_taus_are_counted_and_left_out_of_the_mean() -> None:
    result = study()
    assert result.undefined.tolist() == [[0, 0, 0], [30, 30, 30]]
    assert np.isnan(result.means()[1]).all()
    assert f"In {result.undefined.sum()} samples" in result.caption()


def test_shares_of_contested_pairs_are_means_over_samples_and_levels_below_one() -> None:
    # Scores of all judgements differ for one user: all pairs are contested, by the first measure.
    result = study(levels=(1.0, 0.5, 0.05), replicates=3)
    everything = np.ones((N_JUDGEMENTS, 1), dtype=np.bool_)
    one_block = np.zeros(20, dtype=np.intp)
    reference = sum_samples(everything, blocks=one_block)[0, 0, :, 0]
    by_level = []
    for level in (0.5, 0.05):
        is_kept = Sampling("all").draw(judgements(), level, n_samples=30, seed=7)
        sums = sum_samples(is_kept, blocks=one_block)[0, 0]
        shares = []
        for i, j in combinations(range(4), 2):
            agreement = np.sign(sums[i] - sums[j]) * np.sign(reference[i] - reference[j])
            shares.append((1 + agreement) / 2)
        by_level.append(np.mean(shares))
    assert result.contested is not None
    assert result.contested.pairs.measures == (MEASURES[0],)
    assert result.contested.shares == pytest.approx([np.mean(by_level)])
    assert result.contested.shares_within_reach == pytest.approx([np.mean(by_level)])
    assert result.contested.replicates.shape == (1, 3)


def test_without_a_loss_there_are_no_shares_of_contested_pairs() -> None:
    assert study(levels=(1.0,)).contested_estimates() is None


@pytest.mark.parametrize("name", ["tau-ap", "rbo"])
def test_further_coefficients_are_means_over_the_samples(name: str) -> None:
    kept = Sampling().draw(judgements(), level=0.5, n_samples=30, seed=7)
    one_block = np.zeros(20, dtype=np.intp)
    samples, (full,) = (
        sum_samples(masks, blocks=one_block)[0, 0].T for masks in (kept, np.ones_like(kept[:, :1]))
    )
    values = [float(COEFFICIENTS[name].compare(sample, full)) for sample in samples]
    assert study().coefficients[name][0, 1] == pytest.approx(np.nanmean(values))


def test_the_number_of_workers_changes_nothing() -> None:
    one, two = (to_evidence(study(n_jobs=n_jobs, replicates=20)) for n_jobs in (1, 2))
    assert one == two


def test_the_standard_error_is_that_of_a_mean_of_samples() -> None:
    result = study()
    taus, row = result.taus[0, 2], result.to_frame().iloc[2]
    assert row.sd == pytest.approx(np.std(taus, ddof=1))
    assert row.standard_error == pytest.approx(np.std(taus, ddof=1) / np.sqrt(30))


def test_judgements_left_are_counted() -> None:
    assert study().n_kept.tolist() == [400.0, 200.0, 20.0]
    stratified = study(mode="stratified")
    # Of 5 relevant items 2 are left, of 15 others 10; then 1 and 10.
    assert stratified.n_kept.tolist() == [400.0, 20 * 12.0, 20 * 11.0]


def test_a_level_does_not_depend_on_the_others() -> None:
    np.testing.assert_array_equal(study().taus[:, 2], study(levels=(0.05,)).taus[:, 0])


def test_users_without_relevant_judgements_are_counted_even_if_none_has_one() -> None:
    qrels = qrels_from_columns(
        np.arange(3), np.zeros(3, dtype=int), np.zeros(3, dtype=int), n_users=4, relevance_level=1
    )
    assert _mean_without_relevant(qrels, np.ones((3, 2), dtype=np.bool_)) == 4.0


def test_areas_within_subsets_are_those_of_a_study_of_these_systems_alone() -> None:
    hits = np.random.default_rng(2).random((9, N_JUDGEMENTS)) < np.linspace(0.2, 0.4, 9)[:, None]

    def study_of(some: NDArray[np.intp]) -> Sparsity:
        @sums_of
        def sum_samples(kept: NDArray[np.bool_]) -> NDArray[np.float64]:
            found = (hits[some][:, :, None] & kept).reshape(len(some), 20, 20, -1).sum(axis=2)
            return np.stack([found, np.minimum(found, 3)])

        work = JudgedWork(sum_samples, judgements(), MEASURES, n_systems=len(some), seed=7)
        return sparsity(work, Settings(levels=(1.0, 0.4, 0.1), samples=6, replicates=0))

    found, subsets = study_of(np.arange(9)), unrelated(9).subsets(seed=7)
    assert found.within.values.shape == (2, len(subsets))
    for number in (0, 57, 199):
        alone = (
            study_of(np.flatnonzero(subsets[number]))
            .curves.estimates(loss="", threshold=0.8)
            .values
        )
        np.testing.assert_allclose(found.within.values[:, number], alone, rtol=1e-12)


@pytest.mark.parametrize(("relevant", "others", "expected"), [(2, 0, 3), (0, 12, 12), (1, 10, 11)])
def test_each_user_keeps_the_minima_of_a_stratified_sample(
    relevant: int, others: int, expected: int
) -> None:
    """Of 5 relevant items and 15 others 5 % are 0 and 1."""
    work = JudgedWork(sum_samples, judgements(), MEASURES, n_systems=4, seed=7)
    settings = Settings(
        levels=(0.05,),
        samples=3,
        replicates=0,
        mode="stratified",
        least_relevant=relevant,
        least_nonrelevant=others,
    )
    assert sparsity(work, settings).n_kept.tolist() == [20 * expected]


def test_users_without_relevant_judgements_are_counted_at_each_level() -> None:
    """Each of 20 users has 5 of 20 relevant: all keep some of all, and few of one in twenty."""
    found = study().without_relevant
    assert found[0] == 0
    chances = 20 * hypergeom.pmf(0, 400, 5, [200, 20])
    np.testing.assert_allclose(found[1:], chances, atol=0.8)


def test_settings_have_the_defaults_of_the_paper_and_bounds() -> None:
    """Valcarce et al. (2018) keep 100 to 5 % of the ratings, in steps of 5 %, in 50 samples."""
    settings = Settings()
    np.testing.assert_allclose(settings.levels, np.linspace(1, 0.05, 20))
    assert (settings.samples, settings.replicates, settings.mode) == (50, 200, "all")
    assert (settings.least_relevant, settings.least_nonrelevant) == (1, 10)
    Settings(samples=1, replicates=0, least_relevant=0, least_nonrelevant=0)
    for refused in (
        {"samples": 0},
        {"replicates": -1},
        {"least_relevant": -1},
        {"least_nonrelevant": -1},
    ):
        with pytest.raises(ValidationError):
            Settings.model_validate(refused)


def test_the_frame_has_the_mode_behind_the_judgements() -> None:
    frame = study(mode="per-user", levels=(0.5,)).to_frame()
    columns = frame.columns.tolist()
    assert columns.index("mode") == columns.index("judgements") + 1
    assert frame["mode"].tolist() == ["per-user", "per-user"]


def test_a_measure_is_robust_from_a_mean_tau_of_8_tenths_on() -> None:
    found = study(levels=(1.0, 0.5))
    for tau, robust in ((0.8, True), (0.79, False)):
        taus = np.ones(found.taus.shape)
        taus[:, 1] = tau
        estimates = replace(found, taus=taus).estimates()
        assert estimates.acceptable().tolist() == [robust, robust]


def test_the_figure_has_the_mean_tau_at_each_level() -> None:
    found = study(levels=(1.0, 0.5), replicates=4)
    means = found.means()[0]
    np.testing.assert_allclose(curve(found.plot(), "sum"), [[100, means[0]], [50, means[1]]])
