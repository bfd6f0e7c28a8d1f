"""What is promised, and how far from it a rate may lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

Promise = Literal["exact", "at most", "approximate", "approximately at most", "none"]
Quantity = Literal[
    "type-I error",
    "error at equal means",
    "error at equal margins",
    "error of sign",
    "power",
    "family-wise error",
    "false discovery",
    "coverage",
    "false difference",
]

SIGNS = {"exact": "=", "at most": "<=", "approximate": "~", "approximately at most": "<~"}
BOUNDED_ABOVE = ("exact", "at most", "approximate", "approximately at most")
BOUNDED_BELOW = ("exact", "approximate")

# Chance that a rate lies beyond a limit, if the promise is kept to the letter.
BEYOND = 0.001
LEEWAY = 0.5
"""What is approximate may err so much more or less often than it says, in shares of the rate."""

LEEWAY_OF_INTERVALS = 0.03
"""And intervals may hold so much more or less often."""

ENOUGH_USERS = 100
"""With fewer, what is approximate promises nothing."""

EXACT, MONTE_CARLO, TUKEY = "exact permutation", "Monte-Carlo permutation", "Tukey HSD"
FALSE_DISCOVERY = "Benjamini-Hochberg"
# Their nominal levels are attainable unless statistics tie.
EXACT_IF_CONTINUOUS = (EXACT, MONTE_CARLO, TUKEY)
NEVER_TOO_OFTEN = ("sign", "Bonferroni", "Holm", FALSE_DISCOVERY)
NOT_OF_MEANS = ("Wilcoxon", "sign")
OF_MEANS_ALONE = ("error at equal means", "error of sign")
OF_INTERVALS = ("coverage", "false difference")
# Few errors are promised, and not some.
AT_MOST = ("error of sign", "false discovery", "false difference")


@dataclass(frozen=True)
class Rate:
    """How often something happened, beside how often it should.

    Parameters
    ----------
    quantity
        "type-I error" (a true null hypothesis rejected), "error at equal means" (rejected although
        means are equal in the population), "error at equal margins" (rejected although scores have
        one distribution), "power" (unequal means told apart), "error of sign" (rejected, for the
        worse system), "family-wise error" (any, of a family), "false discovery" (share of the
        rejections), "coverage" (the truth in the interval) or "false difference" (equal numbers
        said to differ beyond noise).
    procedure
        Test, correction, or what the interval is of.
    scores
        What was drawn from.
    nominal
        The rate promised; of power, the level of the test; of errors of sign, half the level.
    observed
        The rate found.
    n_sets, n_users
        Number of sets, and of users in each.
    lower, upper
        Limits that a rate which keeps the promise stays above, and below, each with a chance of
        99.9 %.
    promise
        "exact": neither more nor less often than the nominal rate. "at most": not more often, as
        of tests of discrete scores, whose attainable levels lie below the nominal ones.
        "approximate": .5 to 1.5 times as often; of intervals, .03 more or less. "approximately at
        most": at most 1.5 times as often. "none": what is approximate for few users, or not meant.
    """

    quantity: Quantity
    procedure: str
    scores: str
    nominal: float
    observed: float
    n_sets: int
    n_users: int
    lower: float
    upper: float
    promise: Promise

    @property
    def broken(self) -> bool:
        """Tell whether the promise is not kept."""
        too_often = self.promise in BOUNDED_ABOVE and self.observed > self.upper
        return too_often or (self.promise in BOUNDED_BELOW and self.observed < self.lower)

    @property
    def verdict(self) -> str:
        """Say where the rate lies: within its limits, above or below; in capitals if broken."""
        if self.observed > self.upper:
            return "TOO OFTEN" if self.broken else "above"
        if self.observed < self.lower:
            return "TOO SELDOM" if self.broken else "below"
        return "within"

    @property
    def sign(self) -> str:
        """Abbreviate the promise; nothing if there is none."""
        return SIGNS.get(self.promise, "")


def promised(quantity: Quantity, procedure: str, *, continuous: bool, n_users: int) -> Promise:
    """Say what a procedure promises, of scores that hardly ever tie or of others.

    Examples
    --------
    >>> promised("type-I error", "t", continuous=True, n_users=100)
    'approximate'
    >>> promised("type-I error", "t", continuous=True, n_users=99)
    'none'
    """
    if quantity == "power" or (quantity in OF_MEANS_ALONE and procedure in NOT_OF_MEANS):
        return "none"
    if quantity not in OF_MEANS_ALONE:
        if procedure in EXACT_IF_CONTINUOUS:
            return "exact" if continuous else "at most"
        if procedure in NEVER_TOO_OFTEN:
            return "at most"
    if n_users < ENOUGH_USERS:
        return "none"
    if quantity == "coverage" or (continuous and quantity not in AT_MOST):
        return "approximate"
    return "approximately at most"


def limits(
    quantity: Quantity, nominal: float, promise: Promise, *, n_sets: int
) -> tuple[float, float]:
    """Give the limits of a rate over so many sets: of a binomial, from what is allowed.

    Examples
    --------
    >>> limits("type-I error", 0.05, "exact", n_sets=2000)
    (0.0355, 0.0655)
    >>> limits("type-I error", 0.05, "approximate", n_sets=2000)
    (0.015, 0.094)
    >>> limits("coverage", 0.95, "approximate", n_sets=200)
    (0.855, 1.0)
    """
    from scipy.stats import binom

    if quantity == "power":
        return 0.0, 1.0
    allowed = LEEWAY_OF_INTERVALS if quantity in OF_INTERVALS else LEEWAY * nominal
    reach = allowed if promise.startswith("approximate") else 0.0
    rates = np.array([nominal - reach, nominal + reach])
    lower, upper = np.asarray(binom.ppf(np.array([BEYOND, 1 - BEYOND]), n_sets, rates)) / n_sets
    return float(lower), float(upper)
