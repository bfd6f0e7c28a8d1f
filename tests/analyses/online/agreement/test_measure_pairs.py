from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from analyses.online.agreement.measure_pairs import Comparison, compare_parametrisations
from analyses.online.agreement.replicated_means import replicate_means
from analyses.ordering import spearman
from analyses.shared.evidence import read_evidence, to_evidence
from runs import InputError
from tests.analyses.online.examples import experiment, weigh

MEASURES = ["LOO(beta=0)@5", "LOO(beta=1)@5", "LLOO(beta=0)@5", "LLOO(beta=1)@5"]


@pytest.fixture
def comparison(rng: np.random.Generator) -> Comparison:
    values, rates = rng.random((4, 10)), rng.random(10)
    return compare_parametrisations(
        experiment(values, rates, measures=MEASURES),
        values=values + 0.1 * rng.normal(size=(60, 4, 10)),
        rates=rates + 0.2 * rng.normal(size=(60, 10)),
    )


def test_both_sides_of_a_replicate_are_of_the_same_users(rng: np.random.Generator) -> None:
    values, rates = rng.random((8, 2, 6)), rng.random((8, 6))
    found = compare_parametrisations(experiment(values[0], rates[0]), values=values, rates=rates)
    for replicate in range(8):
        expected = spearman(values[replicate], rates[replicate])
        np.testing.assert_array_equal(found.replicates[:, replicate], expected)


def test_users_in_both_samples_are_resampled_as_one(rng: np.random.Generator) -> None:
    """Where rates are the recall of the same users, rho is 1 whoever is drawn."""
    per_user = rng.random((300, 6), dtype=np.float32)
    again = replicate_means(per_user, np.ones((300, 1), np.float32), weigh=weigh, replicates=20)
    means = per_user.mean(axis=0, dtype=np.float64)
    found = compare_parametrisations(
        experiment(means[None], means), values=again[:, None], rates=again
    )
    assert (found.replicates == 1).all()
    assert (found.variance_by_values > 0).all()


def test_differences_are_paired(comparison: Comparison) -> None:
    frame = comparison.differences([(2, 0), (0, 0)])
    assert frame["difference"].tolist() == [comparison.rhos[2] - comparison.rhos[0], 0.0]
    assert frame[["low", "high", "beyond_noise"]].to_numpy()[1].tolist() == [0.0, 0.0, False]


def test_an_interval_holds_the_percentiles_of_the_differences(comparison: Comparison) -> None:
    frame = comparison.differences([(2, 0)])
    replicates = comparison.replicates[2] - comparison.replicates[0]
    low, high = np.quantile(replicates, [0.025, 0.975])
    assert frame["low"][0] <= low + 1e-12
    assert frame["high"][0] >= high - 1e-12


def test_families_pair_what_differs_in_one_thing(comparison: Comparison) -> None:
    validations, betas = comparison.family("validations"), comparison.family("betas")
    pairs = ["first", "second"]
    assert validations[pairs].to_numpy().tolist() == [
        ["LLOO(beta=0)@5", "LOO(beta=0)@5"],
        ["LLOO(beta=1)@5", "LOO(beta=1)@5"],
    ]
    assert betas[pairs].to_numpy().tolist() == [
        ["LOO(beta=1)@5", "LOO(beta=0)@5"],
        ["LLOO(beta=1)@5", "LLOO(beta=0)@5"],
    ]


def test_the_summary_averages_a_family(comparison: Comparison) -> None:
    summary = comparison.summary().set_index("family")
    family = comparison.family("betas")
    assert summary.loc["betas", "difference"] == pytest.approx(family["difference"].mean())
    assert summary["pairs"].tolist() == [2, 2]


def test_measures_without_a_family_have_an_empty_summary() -> None:
    values, rates = np.array([[1, 2, 3.0]]), np.array([1, 2, 3.0])
    found = compare_parametrisations(
        experiment(values, rates), values=np.stack([values] * 3), rates=np.stack([rates] * 3)
    )
    assert found.summary().empty


def test_a_side_that_does_not_vary_has_no_share(rng: np.random.Generator) -> None:
    values, rates = rng.random((1, 6)), rng.random(6)
    found = compare_parametrisations(
        experiment(values, rates),
        values=np.repeat(values[None], 30, axis=0),
        rates=rates + rng.normal(size=(30, 6)),
    )
    frame = found.to_frame()
    assert frame[["share_by_values", "share_by_rates"]].to_numpy().tolist() == [[0.0, 1.0]]


def test_variances_are_those_of_either_side_alone(rng: np.random.Generator) -> None:
    values, rates = rng.random((9, 1, 6)), rng.random((9, 6))
    found = compare_parametrisations(experiment(values[0], rates[0]), values=values, rates=rates)
    by_values = spearman(values[:, 0], rates[0]).var(ddof=1)
    by_rates = spearman(rates, values[0]).var(ddof=1)
    assert found.variance_by_values[0] == pytest.approx(by_values)
    assert found.variance_by_rates[0] == pytest.approx(by_rates)


def test_undefined_replicates_are_left_out_and_counted(rng: np.random.Generator) -> None:
    values, rates = rng.random((5, 1, 6)), rng.random((5, 6))
    values[2] = 0.5
    found = compare_parametrisations(experiment(values[0], rates[0]), values=values, rates=rates)
    assert np.isfinite(found.to_frame()["error"]).all()
    assert "leave out 1 undefined rhos" in found.caption()


@pytest.mark.validity
def test_intervals_cover_a_true_difference_over_fixed_models() -> None:
    """200 experiments of 8 models and 400 users, whose rates and two recalls are noisy means."""
    rng = np.random.default_rng(5)
    true = np.array([np.arange(8.0), [1, 0, 2, 3, 5, 4, 7, 6]])
    rates = np.arange(8.0)
    truth = spearman(true, rates)
    covered = 0
    for _ in range(200):
        users = rng.normal(scale=10, size=(400, 24)) + np.concatenate([*true, rates])
        weights = rng.multinomial(400, np.full(400, 1 / 400), size=100)
        again = weights @ users / 400
        observed = users.mean(axis=0)
        found = compare_parametrisations(
            experiment(observed[:16].reshape(2, 8), observed[16:]),
            values=again[:, :16].reshape(-1, 2, 8),
            rates=again[:, 16:],
        ).differences([(0, 1)])
        covered += bool(found["low"][0] <= truth[0] - truth[1] <= found["high"][0])
    assert covered >= 180


def test_the_caption_says_that_models_are_fixed(comparison: Comparison) -> None:
    caption = comparison.caption()
    assert "conditional on these models" in caption
    assert "60 replicates" in caption


def test_the_result_can_be_kept(comparison: Comparison, tmp_path: Path) -> None:
    (tmp_path / "found.npz").write_bytes(to_evidence(comparison))
    back = read_evidence(tmp_path / "found.npz", Comparison)
    assert to_evidence(back) == to_evidence(comparison)


def test_a_figure_has_a_curve_for_each_validation(comparison: Comparison) -> None:
    ax = comparison.plot(Figure().subplots(), family="betas")
    labels = [line.get_label() for line in ax.lines]
    assert labels[:2] == ["LOO, uniform", "LLOO, uniform"]


def test_what_was_not_compared_is_refused(comparison: Comparison) -> None:
    with pytest.raises(InputError, match="no validations were compared at cut-off 7"):
        comparison.plot(cutoff=7)
    with pytest.raises(InputError, match="`family` must be one of validations, betas, got 'x'"):
        comparison.family("x")  # type: ignore[arg-type]


def test_replicates_that_do_not_fit_are_refused() -> None:
    one = experiment([[1, 2, 3]], [1, 2, 3])
    with pytest.raises(InputError, match="at least 2 replicates are needed"):
        compare_parametrisations(one, values=np.ones((1, 1, 3)), rates=np.ones((1, 3)))
    with pytest.raises(InputError, match=r"of shapes \(4, 1, 3\) and \(4, 3\)"):
        compare_parametrisations(one, values=np.ones((4, 2, 3)), rates=np.ones((4, 3)))
