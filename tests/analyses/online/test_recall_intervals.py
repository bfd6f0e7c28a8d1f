import numpy as np
import pytest

from analyses.online.agreement.replicated_means import replicate_means
from analyses.online.recall_intervals import RecallIntervals, compare_variants
from analyses.ordering import spearman
from runs import InputError
from tests.analyses.online.examples import experiment, weigh

MEASURES = ["LOO(beta=0)@5", "LOO(beta=1)@5", "LLOO(beta=0)@5", "LLOO(beta=1)@5"]


@pytest.fixture
def found(rng: np.random.Generator) -> RecallIntervals:
    values, rates = rng.random((4, 10)), rng.random(10)
    return compare_variants(
        experiment(values, rates, measures=MEASURES),
        values=values + 0.1 * rng.normal(size=(60, 4, 10)),
        rates=rates + 0.2 * rng.normal(size=(60, 10)),
        resampled="users",
        cutoff=5,
    )


def test_both_sides_of_a_replicate_are_of_the_same_users(rng: np.random.Generator) -> None:
    values, rates = rng.random((8, 2, 6)), rng.random((8, 6))
    one = experiment(values[0], rates[0])
    found = compare_variants(one, values=values, rates=rates, resampled="users", cutoff=5)
    for replicate in range(8):
        expected = spearman(values[replicate], rates[replicate])
        np.testing.assert_array_equal(found.replicates[:, replicate], expected)


def test_users_in_both_samples_are_resampled_as_one(rng: np.random.Generator) -> None:
    """Where rates are the recall of the same users, rho is 1 whoever is drawn."""
    per_user = rng.random((300, 6), dtype=np.float32)
    again = replicate_means(per_user, np.ones((300, 1), np.float32), weigh=weigh, replicates=20)
    means = per_user.mean(axis=0, dtype=np.float64)
    one = experiment(means[None], means)
    found = compare_variants(one, values=again[:, None], rates=again, resampled="users", cutoff=5)
    assert (found.replicates == 1).all()


def test_differences_are_paired_and_hold_their_percentiles(found: RecallIntervals) -> None:
    frame = found.differences([(2, 0), (0, 0)])
    assert frame["difference"].tolist() == [found.rhos[2] - found.rhos[0], 0.0]
    assert frame[["low", "high", "beyond_noise"]].to_numpy()[1].tolist() == [0.0, 0.0, False]
    low, high = np.quantile(found.replicates[2] - found.replicates[0], [0.025, 0.975])
    assert frame["low"][0] <= low + 1e-12
    assert frame["high"][0] >= high - 1e-12


def test_families_pair_what_differs_in_one_thing(found: RecallIntervals) -> None:
    frame = found.frames()["recall_differences"]
    assert frame[["measure", "second"]].to_numpy().tolist() == [
        ["LLOO(beta=0)@5", "LOO(beta=0)@5"],
        ["LLOO(beta=1)@5", "LOO(beta=1)@5"],
        ["LOO(beta=1)@5", "LOO(beta=0)@5"],
        ["LLOO(beta=1)@5", "LLOO(beta=0)@5"],
    ]


def test_the_summary_averages_a_family(found: RecallIntervals) -> None:
    frames = found.frames()
    means = frames["recall_differences"].groupby("compared", sort=False)["difference"].mean()
    assert frames["recall_summary"]["difference"].tolist() == pytest.approx(means.tolist())
    assert frames["recall_summary"]["pairs"].tolist() == [2, 2]
    assert "the noise of users" in found.findings()[0]


def test_every_family_has_a_panel(found: RecallIntervals) -> None:
    assert found.kinds == ("LLOO less LOO", "beta > 0 less beta = 0")
    assert found.plot(kind=found.kinds[0]).get_ylabel() == "rho at 5: LLOO less LOO"


def test_one_replicate_is_refused() -> None:
    one = experiment(np.ones((1, 3)), np.arange(3))
    with pytest.raises(InputError, match="at least 2 replicates are needed"):
        compare_variants(
            one, values=np.ones((1, 1, 3)), rates=np.ones((1, 3)), resampled="users", cutoff=5
        )
