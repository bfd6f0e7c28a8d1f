"""EM and the maximum of entropy, against reference values and brute force."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import entr, softmax
from scipy.stats import binom

from analyses.sampled.estimators import Cells, mes, mle
from analyses.sampled.estimators.mes import most_entropy
from analyses.sampled.estimators.shared.em import em_step, log_likelihood
from analyses.sampled.shared.trials import relative_error
from runs import InputError
from tests.analyses.sampled.estimators.rankings import (
    Floats,
    draw,
    draw_adaptively,
    learned,
    learned_of,
    nodes_and_table,
    power_law,
    sample_of,
)

Integers = NDArray[np.int64]

SHARES = np.array([0.5, 0.3, 0.2])
TEN_USERS = sample_of([5, 3, 2], n=5)
DEPTHS = [1, 5, 10, 50]
AFTER_100 = [0.24890818443, 0.31499783498, 0.26155741050, 0.13625893442, 0.03827763567]
OF_MOST_ENTROPY = [0.25337969917, 0.30841645943, 0.25124506556, 0.13697830803, 0.04998046780]


def test_one_iteration_can_be_done_by_hand() -> None:
    expected = [4 / 15, 37 / 150, 16 / 75, 1 / 6, 8 / 75]
    found = learned_of(mle(iters=1).fit(TEN_USERS))
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_hundred_iterations_give_the_reference() -> None:
    found = learned_of(mle(iters=100).fit(TEN_USERS))
    np.testing.assert_allclose(found, AFTER_100, atol=1e-10)


def test_most_entropy_gives_the_reference() -> None:
    found = learned_of(mes().fit(TEN_USERS))
    np.testing.assert_allclose(found, OF_MOST_ENTROPY, atol=1e-8)


def objective(mass: Floats, table: Floats, shares: Floats, *, eta: float, scale: float) -> float:
    return float(scale * (shares @ (table.T @ mass - shares) ** 2) - eta * entr(mass).sum())


def test_the_objective_of_most_entropy_is_the_reference_s() -> None:
    nodes, table = nodes_and_table(5, 2)
    mass = most_entropy(table, SHARES, weights=nodes.weights, eta=0.01, scale=3, fit_weights=SHARES)
    found = objective(mass, table, SHARES, eta=0.01, scale=3)
    np.testing.assert_allclose(found, -0.0146942795894, atol=1e-8)


def test_a_generic_solver_finds_no_more_entropy() -> None:
    nodes, table = nodes_and_table(5, 2)

    def of_logits(logits: Floats) -> float:
        return objective(softmax(logits), table, SHARES, eta=0.01, scale=3)

    solved = minimize(of_logits, np.zeros(5), tol=1e-12)
    own = most_entropy(table, SHARES, weights=nodes.weights, eta=0.01, scale=3, fit_weights=SHARES)
    np.testing.assert_allclose(own, softmax(solved.x), atol=1e-5)


GOLDEN = {
    100: [0.02075338853, 0.08980549925, 0.1543092474, 0.3927025948],
    1000: [0.02116020362, 0.09047833683, 0.1543430537, 0.3931460444],
}
TRUTH = [0.02143412337, 0.09057933489, 0.1540623493, 0.3931522984]


def expected_shares() -> tuple[Floats, Floats, Floats]:
    """Give the table of 1,000 candidates and 50 negatives, p ~ 1 / (r + 9), and P'p."""
    _, table = nodes_and_table(1000, 50)
    truth = power_law(1000, offset=9)
    return table, truth, truth @ table


def recalls(mass: Floats) -> Floats:
    return mass.cumsum()[np.array(DEPTHS) - 1]


def test_the_golden_truth_is_the_power_law() -> None:
    np.testing.assert_allclose(recalls(expected_shares()[1]), TRUTH, rtol=1e-8)


@pytest.mark.parametrize("iterations", GOLDEN)
def test_em_on_exact_shares_gives_the_golden_values(iterations: int) -> None:
    table, _, shares = expected_shares()
    mass = learned([table], [shares[:, None]], weights=np.ones(1000), iterations=iterations)
    np.testing.assert_allclose(recalls(mass[:, 0]), GOLDEN[iterations], rtol=1e-8)


@pytest.mark.slow
def test_most_entropy_on_exact_shares_gives_the_golden_values() -> None:
    table, _, shares = expected_shares()
    mass = most_entropy(
        table, shares, weights=np.ones(1000), eta=0.01, scale=51, fit_weights=shares
    )
    expected = [0.020588825, 0.08914782, 0.15329826, 0.38833532]
    np.testing.assert_allclose(recalls(mass), expected, rtol=1e-6)
    found = objective(mass, table, shares, eta=0.01, scale=51)
    np.testing.assert_allclose(found, -0.0616634952084, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("exponent", [1.0, 1.5])
def test_weights_of_the_shares_let_entropy_fill_the_bottom_of_the_ranks(exponent: float) -> None:
    _, table = nodes_and_table(1000, 50)
    truth = power_law(1000, offset=20, exponent=exponent)
    shares, ranks = truth @ table, np.arange(1, 1001)
    by_shares, uniformly = (
        most_entropy(
            table, shares, weights=np.ones(1000), eta=0.01, scale=51, fit_weights=fit_weights
        )
        for fit_weights in (shares, np.ones(51))
    )
    # Of 1,000 candidates, a mean rank that is off by 30 is an AUC that is off by .03.
    assert by_shares @ ranks > truth @ ranks + 30
    assert uniformly @ ranks == pytest.approx(truth @ ranks, abs=3)


@pytest.mark.slow
def test_where_entropy_hardly_counts_the_fit_is_better_than_that_of_em() -> None:
    rng = np.random.default_rng(1)
    nodes, table = nodes_and_table(2000, 50, path="grid")
    ranks = rng.choice(2000, 100, p=power_law(2000, offset=20, exponent=1.5))
    shares = np.bincount(rng.binomial(50, ranks / 1999), minlength=51) / 100
    own = most_entropy(
        table, shares, weights=nodes.weights, eta=1e-6, scale=51, fit_weights=np.ones(51)
    )
    other = learned([table], [shares[:, None]], weights=nodes.weights, iterations=1000)[:, 0]
    assert ((own @ table - shares) ** 2).sum() < ((other @ table - shares) ** 2).sum()


def per_user_em(theta_of_rank: Floats, above: Integers, sizes: Integers, iterations: int) -> Floats:
    """Responsibilities of every rank for every user, as the formula is printed."""
    likelihood = binom.pmf(above[:, None], sizes[:, None], theta_of_rank)
    mass = np.full(len(theta_of_rank), 1 / len(theta_of_rank))
    for _ in range(iterations):
        joint = likelihood * mass
        mass = (joint / joint.sum(axis=1, keepdims=True)).mean(axis=0)
    return mass


def test_em_on_cells_is_em_on_users() -> None:
    rng = np.random.default_rng(3)
    sample = draw(rng.integers(1, 60, 200), n=80, m=12, rng=rng)
    expected = per_user_em(np.arange(80) / 79, sample.above, sample.n_negatives, 40)
    found = learned_of(mle(iters=40).fit(sample, path="full"))
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_step_of_em_leaves_what_it_is_given() -> None:
    _, table = nodes_and_table(5, 2)
    start = np.full((5, 1), 0.2)
    em_step(start, [table], [SHARES[:, None]])
    assert (start == 0.2).all()


def test_stops_on_the_way_are_runs_of_their_own() -> None:
    cells = Cells.of([TEN_USERS], path="full")
    for number in (1, 100, 4):
        alone = mle(iters=number).fit(TEN_USERS, path="full").masses
        assert (cells.most_likely(number) == alone).all()


def test_the_likelihood_is_that_of_the_users() -> None:
    _, table = nodes_and_table(5, 2)
    mass = np.array([0.1, 0.2, 0.3, 0.3, 0.1])
    cells = np.repeat([0, 1, 2], [5, 3, 2])
    known = np.mean([np.log(mass @ table[:, cell]) for cell in cells])
    found = log_likelihood(mass[:, None], [table], [SHARES[:, None]])
    np.testing.assert_allclose(found, known, rtol=1e-12)


def stopped_likelihood(size: int, n0: int, theta: Floats) -> Floats:
    """The exact probabilities of (19), over all that may happen until a sample stops growing."""
    if size == n0:
        return np.asarray(binom.pmf(np.arange(n0), n0 - 1, theta[:, None]))
    half = size // 2
    grown = (1 - theta[:, None]) ** (half - 1)
    return np.asarray(grown * binom.pmf(np.arange(size), half, theta[:, None]))


def test_the_rule_that_stops_sampling_can_be_ignored() -> None:
    rng = np.random.default_rng(5)
    n, n0 = 60, 4
    sample = draw_adaptively(rng.integers(1, n, 300), n=n, n0=n0, n_max=16, rng=rng)
    sizes = np.unique(sample.n_negatives)
    theta = np.arange(n) / (n - 1)
    exact = [stopped_likelihood(size + 1, n0, theta) for size in sizes.tolist()]
    shares = [
        np.bincount(sample.above[sample.n_negatives == size], minlength=size + 1)[:, None] / 300
        for size in sizes
    ]
    expected = learned(exact, shares, weights=np.ones(n), iterations=50)[:, 0]
    found = learned_of(mle(iters=50).fit(sample, path="full"))
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.slow
def test_more_iterations_than_100_make_estimates_worse() -> None:
    rng = np.random.default_rng(11)
    n, cutoffs = 2000, range(1, 51)
    truth = power_law(n, offset=20)
    samples = [draw(rng.choice(n, 5000, p=truth) + 1, n=n, m=99, rng=rng) for _ in range(5)]
    exact = truth.cumsum()[:50]
    early, late = (
        relative_error(curves, exact).mean()
        for curves in (
            mle(iters=iterations).fit_repeats(samples).curve("Recall", cutoffs)
            for iterations in (100, 3000)
        )
    )
    assert early < late


def test_at_least_one_iteration_is_needed() -> None:
    with pytest.raises(InputError, match="`iters` must be at least 1, got 0"):
        mle(iters=0)
