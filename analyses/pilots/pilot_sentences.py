"""What a pilot says, in sentences."""

from __future__ import annotations

import numpy as np

from analyses.pilots.pilot import Pilot, of_median_pair
from analyses.shared.table import shown
from analyses.significance.in_words import count, percent, times

FEW_USERS = 200
"""From fewer, a variance is good to 10 % at best."""

FAR = 10
"""So many times the pilot's users are far away."""

NOISY = 0.1
"""From this part of noise in the effects on, the winner's curse is worth a word."""

OFF = 3
"""A simulated power so many standard errors below what was asked for is said."""


def caption(found: Pilot) -> str:
    """Say what is needed for what, and what is assumed."""
    scores = (
        ""
        if found.standardised is None
        else (f" Scores are standardised user by user ({found.standardised}).")
    )
    return (
        f"Users of a new sample with whom {percent(found.share)} of the {len(found.pairs):,} "
        f"pairs of {len(found.systems)} systems are expected to differ at p < {found.alpha:g}, "
        f"from a pilot of {found.n_users:,} users whose differences are shrunk by what is noise "
        "in them, with 95 % intervals; users with whom the paired t-test finds, with a power "
        f"of {found.power:g}, the difference of the median pair as the pilot has it (as seen), "
        f"and one of {percent(found.difference)} of the mean score; the power of the "
        f"permutation test with the latter over {found.simulations:,} sets of users drawn from "
        "the pilot (tried); and the least difference, in per cent of the mean, that as many "
        f"users as the pilot's find in the median pair (seen now).{scores}"
    )


def of_shares(found: Pilot) -> str:
    """Say what share of the pairs needs how many users."""
    order = np.argsort(found.needed, kind="stable")
    fewest, most = int(order[0]), int(order[-1])
    wanted = f"For {percent(found.share)} of the pairs of systems to differ at p < {found.alpha:g}"
    if np.isinf(found.needed[fewest]):
        return f"{wanted}, no number of users is enough, as far as this pilot tells."
    told = f"{wanted}, {found.measures[fewest]} needs {found.users_of(fewest)} users"
    if len(order) == 1:
        return f"{told}; the pilot has {found.n_users:,}."
    told = f"{told} where {found.measures[most]} needs {found.users_of(most)}"
    ratio, low, high = found.ratio(most, fewest)
    if np.isnan(low):
        return f"{told}."
    place = "beyond" if low > 1 else "within"
    return f"{told}: {times(ratio)} times as many [{times(low)}, {times(high)}], {place} noise."


def of_difference(found: Pilot) -> str:
    """Say what a named difference needs, and what the pilot finds."""
    known = np.flatnonzero(found.means > 0)
    if len(known) == 0:
        return ""
    users = of_median_pair(found.relative)[known]
    least = (np.median(found.detectable, axis=1)[known] / found.means[known]).tolist()
    names = [str(found.measures[number]) for number in known]
    fewest, most = int(np.argmin(users)), int(np.argmax(users))
    finest, coarsest = least.index(min(least)), least.index(max(least))
    return (
        f"A difference of {percent(found.difference)} of the mean score is found with a power "
        f"of {found.power:g}, in the median pair, with {count(users[fewest])} users by "
        f"{names[fewest]} and {count(users[most])} by {names[most]}; the pilot's "
        f"{found.n_users:,} users find {percent(least[finest])} by {names[finest]}, "
        f"{percent(least[coarsest])} by {names[coarsest]}."
    )


def of_reliability(found: Pilot) -> str:
    """Say what a reliable ordering needs."""
    users, _ = found.components.users_for(found.reliability)
    fewest, most = int(np.argmin(users)), int(np.argmax(users))
    return (
        f"The ordering of such systems has a reliability of {found.reliability:g} (E rho²) with "
        f"{count(users[fewest])} users by {found.measures[fewest]} and {count(users[most])} "
        f"by {found.measures[most]}."
    )


def of_equivalence(found: Pilot) -> tuple[str, ...]:
    """Say how many pairs are equivalent, if a bound was named."""
    if found.equivalence is None:
        return ()
    verdicts = found.equivalence.verdicts(found.alpha)
    equivalent, undecided = (
        (verdicts == verdict).sum(axis=1) for verdict in ("equivalent", "undecided")
    )
    fewest, most = int(np.argmin(undecided)), int(np.argmax(undecided))
    equal = f"up to {equivalent.max():,}" if equivalent.any() else "none"
    bound, n_pairs = percent(found.bound or 0.0), len(found.pairs)
    return (
        f"Within {bound} of the mean score, {equal} of {n_pairs:,} pairs of systems are "
        f"equivalent; {undecided[fewest]:,} ({found.measures[fewest]}) to "
        f"{undecided[most]:,} ({found.measures[most]}) are neither that nor different.",
    )


def curse(found: Pilot) -> str:
    """Say that observed differences are too large, where they are noisy."""
    worst = int(np.argmax(found.noise))
    if found.noise[worst] < NOISY:
        return ""
    return (
        "Differences that a pilot observes are too large on average: up to "
        f"{percent(found.noise[worst])} ({found.measures[worst]}) of their squares is noise. "
        "Users for a share of the pairs allow for that; users for single pairs as observed do "
        "not, and are too few."
    )


def small(found: Pilot) -> str:
    """Say how badly a small pilot knows variances."""
    if found.n_users >= FEW_USERS:
        return ""
    off = np.sqrt(2 / (found.n_users - 1))
    return (
        f"From {found.n_users:,} users a variance is known to {percent(off)} at best (one "
        "standard error), and all numbers of users with it."
    )


def far(found: Pilot) -> str:
    """Name measures that need many more users than there are."""
    far = [
        str(m) for m, n in zip(found.measures, found.needed, strict=True) if n > FAR * found.n_users
    ]
    if not far:
        return ""
    return (
        f"By {', '.join(far)}, more than {FAR} times the pilot's users are needed: how many "
        "rests on what is assumed of the differences too small to be seen."
    )


def weaker(found: Pilot) -> str:
    """Name measures by which the test has less power than was planned."""
    error = np.sqrt(found.power * (1 - found.power) / max(found.simulations, 1))
    weak = [
        f"{measure} {shown(power, decimals=2)}"
        for measure, power in zip(found.measures, found.simulated, strict=True)
        if power < found.power - OFF * error
    ]
    if not weak:
        return ""
    return (
        f"The permutation test has less than the power of {found.power:g} that the t-test "
        f"promises, over users drawn from the pilot: {', '.join(weak)}."
    )
