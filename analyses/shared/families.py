"""Families of systems, and random subsets of them: a study's systems are not independent."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

import numpy as np
import scipy

from analyses.ordering.agreement import mean_of_defined
from analyses.shared.evidence import FIELD_KEY
from analyses.shared.scores import Scores
from runs.shared.arrays import Floats, Masks, Numbers
from runs.shared.errors import counted
from runs.shared.streams import random_words

CONFIDENCE = 0.95
"""Level of all intervals."""

SUBSET_SHARE = 0.75
"""Share of the families that is in a subset."""

N_SUBSETS = 200
"""Number of random subsets of the families."""

MIN_SYSTEMS = 8
MIN_FAMILIES = 5
"""With fewer, intervals are not given: see docs/methods/intervals.md."""

FEW_SYSTEMS = 12
"""With fewer, intervals over systems have a caution: in a simulation of 8, some held in 89 %."""

MANY_TIES = 0.5
"""A larger share of users for whom all systems score the same has a caution: see there."""

FAMILY_CORRELATION = 0.3
"""Correlation of two systems' scores from which they are taken to be of one family.

A convention: docs/methods/intervals.md has how often intervals hold at .2 and .4.
"""


VERSION = re.compile(r"([-_.][A-Za-z]*)?[-_.]?[0-9]+$")
"""The end of a name that tells versions of one system apart, such as "-s0", "_seed12" or "2"."""


@dataclass(frozen=True, eq=False)
class Families:
    """The families of the systems, such as neighbours or factors: independent of each other.

    Parameters
    ----------
    family_numbers
        Number of the family of each system, from 0, of shape (n_systems,).
    by_similarity
        Whether some were found by the similarity of scores (`families_by_similarity`).
    share_of_ties
        Share of the users for whom all systems have the same scores.
    versions
        Two systems whose names differ in a number at their end alone, if no family was named or
        found: they may be of one family. Else empty.
    """

    family_numbers: Numbers = field(metadata={FIELD_KEY: "of"})
    by_similarity: bool = field(default=False, metadata={FIELD_KEY: "by_likeness"})
    share_of_ties: float = field(default=0.0, metadata={FIELD_KEY: "same"})
    versions: tuple[str, ...] = ()

    @property
    def n_systems(self) -> int:
        """Number of systems."""
        return len(self.family_numbers)

    @cached_property
    def n_families(self) -> int:
        """Number of families."""
        return int(self.family_numbers.max(initial=-1)) + 1

    def subsets(self, *, seed: int) -> Masks:
        """Draw random subsets of three quarters of the families, and mark their systems.

        The result has the shape (n_subsets, n_systems): 200 subsets. With fewer than 8 systems
        (`MIN_SYSTEMS`) or 5 families (`MIN_FAMILIES`) there are none. It is read-only, as all calls
        share it.
        """
        return _subsets(tuple(self.family_numbers.tolist()), seed)

    def cautions(self) -> list[str]:
        """Write the cautions about intervals over systems, a sentence each.

        With too few systems or families, the one caution is that there are no such intervals. Else
        there may be three: few systems, many users with ties of all systems, and families that
        were guessed from scores, or were not although the names of systems suggest some. Too few
        are fewer than 8 systems or 5 families, few are fewer than 12 systems, and many users are
        more than half of them.
        """
        if self.n_systems < MIN_SYSTEMS:
            return [_too_few(counted(self.n_systems, "system"))]
        if self.n_families < MIN_FAMILIES:
            return [_too_few(counted(self.n_families, "family of systems"))]
        cautions = []
        if self.n_systems < FEW_SYSTEMS:
            cautions.append(
                f"With {counted(self.n_systems, 'system')}, intervals over systems, and over users "
                "and systems, may hold less often than in 95 % (`harness docs methods/intervals`)."
            )
        if self.share_of_ties > MANY_TIES:
            cautions.append(
                "By all report measures, systems score the same for "
                f"{100 * self.share_of_ties:.0f} % of the users: intervals of differences over "
                "users and systems may hold less often than in 95 % "
                "(`harness docs methods/intervals`)."
            )
        if self.versions:
            first, second = self.versions
            cautions.append(
                f"Every system is taken to be of a family of its own. If systems such as {first} "
                f"and {second} are versions or replicates of one method, intervals over systems "
                "are too narrow: name `families` or `replicates` in [runs]."
            )
        elif self.by_similarity and self.n_families < self.n_systems:
            cautions.append(
                "Families of systems that are not named were found by the likeness of their "
                "scores. Versions of one method whose scores deviate differently are taken to be "
                "unrelated, which makes intervals over systems too narrow: name the families of "
                "runs in `families` of [runs], and those of your own systems in "
                "`@system(family=...)`."
            )
        return cautions


def _too_few(number: str) -> str:
    """Write that a number, with its noun, is too small for intervals over systems."""
    return (
        f"{number} are too few for an interval over systems; with other systems, any "
        "comparison of measures could reverse."
    )


@lru_cache
def _subsets(family_numbers: tuple[int, ...], seed: int) -> Masks:
    """Draw subsets of the families of systems; see `Families.subsets`.

    ``family_numbers`` has the number of each system's family, from 0. Each subset takes the
    families with the smallest of random numbers, a new one for each family and subset. The result
    marks the systems of each subset, of shape (n_subsets, n_systems): 200 (`N_SUBSETS`), or none
    with fewer than 8 systems (`MIN_SYSTEMS`) or 5 families (`MIN_FAMILIES`). It is kept for later
    calls, and read-only.
    """
    n_systems = len(family_numbers)
    n_families = len(set(family_numbers))
    if n_systems < MIN_SYSTEMS or n_families < MIN_FAMILIES:
        return np.empty((0, n_systems), dtype=np.bool_)
    random_keys = np.empty((N_SUBSETS, n_families), dtype=np.uint64)
    for subset in range(N_SUBSETS):
        random_keys[subset] = random_words(n_families, seed, "systems", n_families, subset)
    n_chosen = round(SUBSET_SHARE * n_families)
    chosen_families = np.argsort(random_keys, axis=1, kind="stable")[:, :n_chosen]
    is_family_chosen = np.zeros((N_SUBSETS, n_families), dtype=np.bool_)
    np.put_along_axis(is_family_chosen, chosen_families, True, axis=1)
    is_system_chosen = is_family_chosen[:, family_numbers]
    is_system_chosen.setflags(write=False)
    return is_system_chosen


def families_by_similarity(
    scores: Scores, known_families: Mapping[str, str] | None = None
) -> Families:
    """Put systems into their known families, and the others into families by similar scores.

    Two systems are similar if their scores deviate in the same way from the means of users and
    systems. The similarity of two systems is the mean, over the report measures, of their
    correlation over users. Groups of systems are joined while the mean similarity over the pairs
    of both groups is .3 (`FAMILY_CORRELATION`) or more (average linkage).

    Parameters
    ----------
    scores
        Scores of the systems.
    known_families
        Names of families by the name of a system; a system that is not there has no known family.

    Returns
    -------
    The families, numbered in the order of their first systems, and the share of users for whom all
    systems have the same score by every report measure.
    """
    name_of_family = known_families or {}
    family_names = [name_of_family.get(system) for system in scores.systems]
    unnamed = [system for system, name in enumerate(family_names) if name is None]
    reported = scores.measures.indices(scores.measures.reported)
    values = scores.weighted_values[reported]
    # Users for whom all systems score as the first does, by all measures.
    is_tied = (values == values[:, :1]).all(axis=(0, 1))
    clusters = dict(zip(unnamed, _clusters(values, unnamed), strict=True))
    labels = []
    for system, name in enumerate(family_names):
        # No name of a family has a zero byte.
        labels.append(f"\0{clusters[system]}" if name is None else name)
    is_each_alone = len(set(labels)) == len(labels)
    unnamed_systems = [scores.systems[system] for system in unnamed]
    versions = _versions(unnamed_systems) if is_each_alone else ()
    number_of_label = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    family_numbers = np.array([number_of_label[label] for label in labels], dtype=np.intp)
    return Families(
        family_numbers,
        by_similarity=bool(unnamed),
        share_of_ties=float(is_tied.mean()),
        versions=versions,
    )


def _versions(systems: Sequence[str]) -> tuple[str, ...]:
    """Find two systems whose names differ in a number at their end alone, such as ``bm25-s0``.

    A letter or a word between a separator (``-_.``) and the number belongs to it. The result has
    the first two such systems; none if there are none, or if all names are numbered alike.
    """
    stems = [VERSION.sub("", system) for system in systems]
    if len(set(stems)) == 1:
        return ()
    first_of_stem: dict[str, str] = {}
    for system, stem in zip(systems, stems, strict=True):
        is_numbered = stem not in ("", system)
        if is_numbered and stem in first_of_stem:
            return first_of_stem[stem], system
        if is_numbered:
            first_of_stem[stem] = system
    return ()


def _clusters(values: Floats, systems: Sequence[int]) -> list[int]:
    """Cluster some systems by similar scores, and number the cluster of each of them.

    ``values`` are the scores of all systems, of shape (n_measures, n_systems, n_users), and
    ``systems`` the numbers of some. Groups are joined while the mean correlation of deviations over
    their pairs is .3 (`FAMILY_CORRELATION`) or more, in the mean over measures; deviations are from
    the means of users and systems. A measure by which a system does not deviate has correlation 0.
    The result: a number for each of ``systems``, in their order. A single system is a cluster.
    """
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    if len(systems) < 2:
        return list(range(len(systems)))
    deviations = values - values.mean(axis=1, keepdims=True)
    deviations = (deviations - deviations.mean(axis=2, keepdims=True))[:, systems]
    lengths = np.sqrt((deviations**2).sum(axis=2, keepdims=True))
    without_length = np.zeros_like(deviations)
    normalised = np.divide(deviations, lengths, out=without_length, where=lengths > 0)
    correlations = normalised @ normalised.swapaxes(1, 2)
    distances = np.clip(1 - correlations.mean(axis=0), 0, None)
    tree = linkage(squareform(distances, checks=False), "average")
    return list(fcluster(tree, 1 - FAMILY_CORRELATION, "distance"))


N_CROSSED = 20
"""Number of resamples of users, and of subsets of systems, that show how much both interact."""


@dataclass(frozen=True, eq=False)
class SubsetValues:
    r"""Values of measures within random subsets of three quarters of the families of systems.

    Parameters
    ----------
    n_families
        Number of families.
    values
        Of shape (..., n_subsets); of too few systems or families there are no subsets.
    crossed
        The same within the first `N_CROSSED` subsets for as many resamples of users, of shape
        (..., n_resamples, n_subsets); NaN, or None, where they were not computed.
    resampled
        The values of all systems for resampled users, of shape (..., n_replicates), if they vary
        otherwise than replicates that are moved to the values of the study do.

    References
    ----------
    Shao & Wu (1989), A general theory for jackknife variance estimation; Cameron & Miller (2015), A
    practitioner's guide to cluster-robust inference (whole families are left out); Searle, Casella
    & McCulloch (1992), Variance components.
    """

    n_families: int
    values: Floats
    crossed: Floats | None = None
    resampled: Floats | None = None

    def transformed(self, transform: Callable[[Floats], Floats]) -> SubsetValues:
        """Transform all values, for instance to their logarithms or to differences of some."""
        crossed = None if self.crossed is None else transform(self.crossed)
        resampled = None if self.resampled is None else transform(self.resampled)
        return replace(self, values=transform(self.values), crossed=crossed, resampled=resampled)

    @cached_property
    def variances(self) -> Floats:
        r"""Variance over systems by the delete-d jackknife over families, of shape (...).

        With m of F families in a subset, and v the variance of ``values``, (..., n_subsets), over
        subsets: m / (F - m) v. NaN without subsets.
        """
        means = mean_of_defined(self.values)[..., np.newaxis]
        squares = (self.values - means) ** 2
        return self._jackknife_factor * mean_of_defined(squares)

    @cached_property
    def interaction_variances(self) -> Floats:
        """Variance of the interaction of users and systems, of shape (...); 0 if unknown.

        The variance over users includes it, for all systems, and so does that over systems, for all
        users. It is the variance of what is left of ``crossed``, (..., n_resamples, n_subsets),
        without the means of resamples and of subsets, times m / (F - m) with m of F families in a
        subset.
        """
        if self.crossed is None:
            return np.zeros(self.values.shape[:-1])
        # Less the means over subsets, then less those over resamples.
        residuals = self.crossed - mean_of_defined(self.crossed)[..., np.newaxis]
        residuals = residuals.swapaxes(-1, -2)
        residuals = residuals - mean_of_defined(residuals)[..., np.newaxis]
        n_subsets, n_resamples = residuals.shape[-2:]
        n_cells = n_subsets * n_resamples
        degrees_of_freedom = max((n_subsets - 1) * (n_resamples - 1), 1)
        cells = residuals.reshape(*residuals.shape[:-2], n_cells)
        mean_squares = mean_of_defined(cells**2)
        # The mean square times the number of cells is the sum of squares.
        variances = self._jackknife_factor * mean_squares * n_subsets * n_resamples
        return np.nan_to_num(variances / degrees_of_freedom)

    @property
    def _subset_size(self) -> int:
        """Number of families in a subset."""
        return round(SUBSET_SHARE * self.n_families)

    @property
    def _jackknife_factor(self) -> float:
        """Factor m / (F - m) of the delete-d jackknife, of m of F families in a subset."""
        n_left_out = max(self.n_families - self._subset_size, 1)
        return self._subset_size / n_left_out

    def half_widths_over_both(self, user_variances: Floats) -> Floats:
        """Compute half-widths of 95 % intervals over users and systems, of shape (...).

        ``user_variances``, of shape (...), are the variances over users; Student's t has F - 1
        degrees of freedom for what systems add to them, with F families. NaN without subsets.
        """
        system_variances = self.added_variances(user_variances)
        return half_widths_from([(user_variances, np.inf), (system_variances, self.n_families - 1)])

    def added_variances(self, user_variances: Floats, *, are_differences: bool = False) -> Floats:
        """Compute the variance that systems add to that over users, (...), of the same shape.

        The interaction of users and systems, ``self.interaction_variances``, is in both variances,
        and must count once. It is taken off the variance over systems, ``self.variances``, but no
        more than the variance over users.

        Of differences, the interaction is taken to be the same share of every variance: that of
        single ones is too uncertain to hold for all at once. At least as much is left as makes the
        sum the variance over systems of what depends on pairs of them, which the jackknife
        overestimates most.
        """
        variances = self.variances
        interaction = self.interaction_variances
        if not are_differences:
            shared = np.minimum(interaction, variances)
            return variances - np.minimum(shared, user_variances)
        is_known = interaction > 0
        total = variances[is_known].sum()
        # The share of the interaction in the variances of all differences.
        share = min(interaction.sum() / total, 1.0) if total > 0 else 0.0
        remaining = np.where(is_known, variances * (1 - share), variances)
        return np.maximum(remaining, variances / self._pair_overestimate - user_variances)

    @property
    def _pair_overestimate(self) -> float:
        """Factor by which the jackknife overestimates the variance of what depends on pairs.

        It is m / (F - m) (P / p - 1) of m of F families in a subset, with P ordered pairs of all
        families, and p of those in a subset.
        """
        n_pairs = self.n_families * (self.n_families - 1)
        n_subset_pairs = max(self._subset_size * (self._subset_size - 1), 1)
        return self._jackknife_factor * (n_pairs / n_subset_pairs - 1)


VarianceSource = tuple[Floats, float | Numbers]
"""Variances from one source of chance, and their degrees of freedom."""


def half_widths_from(sources: Sequence[VarianceSource], *, level: float = CONFIDENCE) -> Floats:
    """Compute half-widths of intervals whose variances are the sums over sources, of shape (...).

    Each source has its variances, of shape (...), and their degrees of freedom: a number, infinity,
    or an array of the same shape. Student's t has the degrees of freedom by Satterthwaite. The
    result is 0 where the total variance is 0, and NaN where it is NaN or has 0 degrees of freedom.

    References
    ----------
    Satterthwaite (1946), An approximate distribution of estimates of variance components; Welch
    (1947), The generalization of "Student's" problem when several different population variances
    are involved, equation 28.
    """
    total = np.stack([variances for variances, _ in sources]).sum(axis=0)
    # The sum of the squared shares in the variance, each over its degrees of freedom.
    inverse_freedom = np.zeros(total.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        for variances, degrees_of_freedom in sources:
            shares = variances / total
            parts = np.where(shares > 0, shares**2 / degrees_of_freedom, 0.0)
            inverse_freedom = inverse_freedom + parts
        t_quantiles = scipy.special.stdtrit(1 / inverse_freedom, (1 + level) / 2)
        t_quantiles = np.where(total > 0, t_quantiles, 0.0)
    return np.asarray(t_quantiles * np.sqrt(total))
