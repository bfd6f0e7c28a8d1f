"""What the literature warns of, said where it applies."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MANY_USERS = 1000
# Sums of fewer differences are not close to normal.
FEW_USERS = 200
RANK_TESTS = ("wilcoxon", "sign")
RELYING_ON_NORMALITY = ("t", "wilcoxon", "bootstrap")


def cautions(
    p: NDArray[np.float64],
    *,
    test: str,
    n_users: int,
    draws: int | None = None,
    alpha: float = 0.05,
) -> tuple[str, ...]:
    """Say what to beware of in p-values before any correction, of shape (n_measures, n_pairs).

    Draws are random permutations or replicates; none for tests that draw nothing.

    Returns
    -------
    Sentences, none if there is nothing to say.

    Examples
    --------
    >>> cautions(np.array([[0.2, 0.01]]), test="exact", n_users=500)
    ()
    >>> print(*cautions(np.array([[0.2, 0.01]]), test="sign", n_users=6040))
    The sign test is about medians: with 6,040 users it rejects too often where mean differences \
are nil but not symmetric (Ihemelandu & Ekstrand 2023). Prefer the permutation test.
    """
    found = (
        _of_rank_tests(test, n_users),
        _of_few_users(p, test, n_users),
        _of_coarse_draws(p, draws, alpha),
    )
    return tuple(filter(None, found))


def _of_rank_tests(test: str, n_users: int) -> str:
    if test not in RANK_TESTS or n_users < MANY_USERS:
        return ""
    name, about = ("sign", "medians") if test == "sign" else ("Wilcoxon", "ranks")
    return (
        f"The {name} test is about {about}: with {n_users:,} users it rejects too often where mean "
        "differences are nil but not symmetric (Ihemelandu & Ekstrand 2023). Prefer the "
        "permutation test."
    )


def _of_few_users(p: NDArray[np.float64], test: str, n_users: int) -> str:
    if test not in RELYING_ON_NORMALITY or n_users >= FEW_USERS:
        return ""
    return (
        f"{p.size:,} of the {p.size:,} tests rest on fewer than {FEW_USERS} users who differ, too "
        "few to trust an approximation without a look at the exact permutation test."
    )


def _of_coarse_draws(p: NDArray[np.float64], draws: int | None, alpha: float) -> str:
    n_pairs = p.shape[-1]
    needed = n_pairs / alpha
    if draws is None or draws + 1 > needed:
        return ""
    return (
        f"{draws:,} random draws are too few to correct for {n_pairs:,} pairs at {alpha:g}: no "
        f"p-value is below 1/{draws + 1:,}. Take at least {np.floor(needed):,.0f}."
    )
