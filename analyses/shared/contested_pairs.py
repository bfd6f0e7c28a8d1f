"""The pairs of systems that measures do not agree on: what the choice of a measure decides."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from analyses.shared.measure import Measure, Measures
from analyses.shared.scores import Scores
from runs.shared.arrays import Floats, Masks

AGREED_P = 0.001
"""A pair that every candidate tells apart with a smaller p, in one direction, is not contested."""

OPPOSED_P = 0.05
"""A measure with a smaller p in the other direction speaks against a pair being apart."""

REACH_P = (1e-3, 1e-4, 1e-5, 1e-6, 1e-8, 1e-10, 1e-12, 1e-15)
"""Levels at which pairs are told apart, to find the systems within reach; the largest that does."""

LEAST_SYSTEMS = 8
"""The group of systems within reach has so many at least, and half of all."""

ROUNDING = 1e-12
"""Share of a number that its rounding may be."""

SAME_SCORE = 1e-9
"""Scores, as shares of the largest, that differ by less are equal: rounding."""

IGNORES_JUDGEMENTS = "does not reward relevant items"
"""Why a measure cannot be recommended: robustness and agreement with itself tell nothing of it."""


@dataclass(frozen=True, eq=False)
class ContestedPairs:
    """The pairs of systems within reach that the candidate measures do not all order alike.

    Pairs are i < j, first by i, then by j.

    Parameters
    ----------
    measures
        The candidates: report measures that use the judgements, and are no other one.
    excluded
        Other report measures, by name, with the reason.
    systems
        Names of all systems.
    is_within_reach
        Marks of the systems that are compared, of shape (n_systems,): the others are far from them
        by most measures, as trivial baselines are, and would make every measure look better.
    is_contested
        Marks of the contested pairs of systems, of shape (n_pairs,).
    n_users
        Number of users for whom systems differ in score, by some candidate.
    """

    measures: Measures
    excluded: Mapping[str, str]
    systems: tuple[str, ...]
    is_within_reach: Masks
    is_contested: Masks
    n_users: int

    @property
    def ignoring_judgements(self) -> list[str]:
        """Names of the report measures whose scores relevant items in the lists do not raise."""
        return [name for name, reason in self.excluded.items() if reason == IGNORES_JUDGEMENTS]

    def rewarding(self, measures: Iterable[Measure]) -> list[Measure]:
        """Select the measures whose scores relevant items in the lists raise, in their order."""
        ignoring = self.ignoring_judgements
        return [measure for measure in measures if str(measure) not in ignoring]

    @property
    def n_contested(self) -> int:
        """Number of contested pairs."""
        return int(np.count_nonzero(self.is_contested))

    @cached_property
    def is_pair_within_reach(self) -> Masks:
        """Marks of the pairs of which both systems are within reach, of shape (n_pairs,)."""
        return _has_both(self.is_within_reach)

    @property
    def n_pairs(self) -> int:
        """Number of pairs within reach."""
        return int(np.count_nonzero(self.is_pair_within_reach))

    @property
    def out_of_reach(self) -> tuple[str, ...]:
        """Names of the systems that are not compared."""
        return tuple(
            system
            for system, is_within in zip(self.systems, self.is_within_reach, strict=True)
            if not is_within
        )

    def within(self, subsets: Masks) -> Masks:
        """Mark the contested pairs of each subset of the systems: (n_subsets, n_pairs).

        ``subsets`` marks the systems of each, of shape (n_subsets, n_systems).
        """
        return _has_both(subsets) & self.is_contested


def _has_both(is_in_group: Masks) -> Masks:
    """Mark the pairs i < j of which both systems are in a group: (..., n_systems) to n_pairs."""
    first, second = np.triu_indices(is_in_group.shape[-1], k=1)
    return np.asarray(is_in_group[..., first] & is_in_group[..., second])


def contested_pairs(
    scores: Scores, *, uses_judgements: Callable[[Measure], bool]
) -> ContestedPairs:
    """Find the pairs of systems that the report measures do not all order alike.

    Systems are compared by paired t-tests, whose p-values may be as small as a definition of
    "far apart" needs. `ContestedPairs` has all pairs within reach that not every candidate tells
    apart at p < .001 (`AGREED_P`) in one direction. Pairs of systems whose scores are equal for all
    users by all candidates are not contested: on them, all measures agree. Without a candidate,
    none is contested, and all systems are within reach.

    Parameters
    ----------
    scores
        Scores of every user.
    uses_judgements
        Tells whether a measure depends on the judgements.
    """
    reported = scores.measures.reported
    candidates, excluded = _candidates(scores, uses_judgements)
    if not candidates:
        n_systems = len(scores.systems)
        n_pairs = n_systems * (n_systems - 1) // 2
        is_contested = np.zeros(n_pairs, dtype=np.bool_)
        return ContestedPairs(
            measures=Measures(()),
            excluded=excluded,
            systems=scores.systems,
            is_within_reach=np.ones(n_systems, dtype=np.bool_),
            is_contested=is_contested,
            n_users=0,
        )
    measures = reported.restricted_to(candidates)
    # p-values and differences of means are of shape (n_candidates, n_pairs).
    chosen = scores.measures.indices(measures)
    p_values, differences = _t_tests_of_pairs(scores.weighted_values[chosen])
    is_duplicate = _are_duplicates(scores.values[chosen], differences)
    directions = measures.signs[:, np.newaxis] * np.sign(differences)
    is_within_reach = systems_within_reach(p_values, directions, n_systems=len(scores.systems))
    ranges = np.ptp(scores.values[chosen], axis=1)
    is_user_informative = (ranges > 0).any(axis=0)
    is_agreed = np.zeros(p_values.shape[1], dtype=np.bool_)
    for direction in (-1.0, 1.0):
        is_agreed |= ((p_values < AGREED_P) & (directions == direction)).all(axis=0)
    return ContestedPairs(
        measures=measures,
        excluded=excluded,
        systems=scores.systems,
        is_within_reach=is_within_reach,
        is_contested=_has_both(is_within_reach) & ~is_agreed & ~is_duplicate,
        n_users=int(np.count_nonzero(is_user_informative)),
    )


def _are_duplicates(values: Floats, differences: Floats) -> Masks:
    """Mark the pairs i < j of systems whose scores are equal by all measures: (n_pairs,).

    ``values`` are the scores, (n_measures, n_systems, n_users); ``differences`` those in means, of
    shape (n_measures, n_pairs).
    """
    first, second = np.triu_indices(values.shape[1], k=1)
    is_duplicate = (differences == 0).all(axis=0)
    for pair in np.flatnonzero(is_duplicate):
        is_duplicate[pair] = np.array_equal(values[:, first[pair]], values[:, second[pair]])
    return is_duplicate


def _t_tests_of_pairs(values: Floats) -> tuple[Floats, Floats]:
    """Compute p-values of paired t-tests of all pairs i < j, and their differences in means.

    ``values`` have the shape (n_measures, n_systems, n_users), of one user at least; the results,
    p and the mean of i less that of j, (n_measures, n_pairs). p is 1 for equal means, and 0 for
    differences that are the same for all users. With one user it is 1.
    """
    n_measures, n_systems, n_users = values.shape
    first, second = np.triu_indices(n_systems, k=1)
    means = values.mean(axis=2)
    differences = means[:, first] - means[:, second]
    if n_users < 2:
        return np.ones(differences.shape), differences
    p_values = np.empty(differences.shape)
    for measure in range(n_measures):
        covariances = np.atleast_2d(np.cov(values[measure]))
        variances = np.diagonal(covariances)
        sums = variances[first] + variances[second]
        of_differences = sums - 2 * covariances[first, second]
        # What is left of equal differences by rounding is no variance.
        of_differences = np.where(of_differences > ROUNDING * sums, of_differences, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.abs(differences[measure]) / np.sqrt(of_differences / n_users)
        p_values[measure] = 2 * scipy.special.stdtr(n_users - 1, -t)
    is_equal = np.abs(differences) <= ROUNDING * np.abs(means).max(initial=0.0)
    return np.where(is_equal, 1.0, p_values), np.where(is_equal, 0.0, differences)


def _candidates(
    scores: Scores, uses_judgements: Callable[[Measure], bool]
) -> tuple[list[Measure], dict[str, str]]:
    """Select the report measures that may be recommended; the others by name, with the reason.

    A measure is left out if it does not use the judgements, or if its scores are a multiple of
    those of an earlier candidate.
    """
    candidates: list[Measure] = []
    excluded: dict[str, str] = {}
    for measure in scores.measures.reported:
        if not uses_judgements(measure):
            excluded[str(measure)] = IGNORES_JUDGEMENTS
            continue
        equal = [
            candidate for candidate in candidates if _are_multiples(scores, candidate, measure)
        ]
        if equal:
            excluded[str(measure)] = f"compares systems exactly as {equal[0]} does"
        else:
            candidates.append(measure)
    return candidates, excluded


def _are_multiples(scores: Scores, first: Measure, second: Measure) -> bool:
    """Check whether scores by one measure are a multiple, above 0, of those by another.

    Up to 1e-9 of the largest score (`SAME_SCORE`); also if both are 0 for all systems and users.
    """
    first_values = scores.values[scores.measures.index(first)]
    second_values = scores.values[scores.measures.index(second)]
    largest = np.abs(first_values).max(initial=0.0)
    largest_of_second = np.abs(second_values).max(initial=0.0)
    if largest == 0 or largest_of_second == 0:
        return bool(largest == largest_of_second)
    difference = first_values / largest - second_values / largest_of_second
    return bool(np.abs(difference).max() < SAME_SCORE)


def systems_within_reach(p_values: Floats, directions: Floats, *, n_systems: int) -> Masks:
    """Mark the largest group of systems that are not all far from each other: (n_systems,).

    Two systems are far apart if at least half of the measures tell them apart at a level, in one
    direction, and none does at .05 (`OPPOSED_P`) in the other. All others are joined, and the
    largest group of joined systems is taken, at the highest level of `REACH_P`, .001 to 1e-15, at
    which it has 8 systems (`LEAST_SYSTEMS`) and half of all. With fewer systems, or without such a
    level, all are within reach.

    Parameters
    ----------
    p_values, directions
        p-values of the pairs i < j, and which system is better: 1.0 for i, -1.0 for j, 0.0 for
        none; of shape (n_measures, n_pairs).
    n_systems
        Number of systems.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    everything = np.ones(n_systems, dtype=np.bool_)
    least_size = max(LEAST_SYSTEMS, n_systems / 2)
    if n_systems < least_size:
        return everything
    first, second = np.triu_indices(n_systems, k=1)
    for level in REACH_P:
        is_apart = _are_apart(p_values, directions, level)
        is_joined = ~is_apart
        links = (np.ones(is_joined.sum()), (first[is_joined], second[is_joined]))
        graph = coo_array(links, shape=(n_systems, n_systems))
        _, group_numbers = connected_components(graph, directed=False)
        sizes = np.bincount(group_numbers)
        if sizes.max() >= least_size:
            return np.asarray(group_numbers == sizes.argmax())
    return everything


def _are_apart(p_values: Floats, directions: Floats, level: float) -> Masks:
    """Mark the pairs that measures tell apart at a level, with no measure against it: (n_pairs,).

    At least half of the measures have p below the level in one direction, and none has p below .05
    (`OPPOSED_P`) in the other. p-values and directions (1.0, -1.0, or 0.0) are of shape
    (n_measures, n_pairs).
    """
    is_apart = np.zeros(p_values.shape[1], dtype=np.bool_)
    for direction in (-1.0, 1.0):
        says_so = (p_values < level) & (directions == direction)
        is_opposed = (p_values < OPPOSED_P) & (directions == -direction)
        is_apart |= (says_so.mean(axis=0) >= 0.5) & ~is_opposed.any(axis=0)
    return is_apart
