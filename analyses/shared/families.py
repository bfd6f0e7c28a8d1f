"""Families of systems, and random subsets of them: a study's systems are not independent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import compress

import numpy as np
from scipy.special import stdtrit

from analyses.ordering.agreement import mean_of_defined
from analyses.shared.evidence import FIELD_KEY
from analyses.shared.scores import Scores
from runs.shared.arrays import Floats, Masks, Numbers
from runs.shared.errors import counted
from runs.shared.streams import random_words

CONFIDENCE = 0.95
"""Level of all intervals."""

SUBSET_SHARE = 0.75
"""Part of the families that is in a subset."""

N_SUBSETS = 200
MIN_SYSTEMS, MIN_FAMILIES = 8, 5
"""With fewer, intervals are not given: see docs/methods/intervals.md."""

FEW_SYSTEMS = 12
"""With fewer, intervals over systems have a caution: in a simulation of 8, some held in 89 %."""

MANY_TIES = 0.5
"""A larger share of users for whom all systems score the same has a caution: see there."""

FAMILY_CORRELATION = 0.3
"""Correlation of two systems' scores from which they are taken to be of one family."""


@dataclass(frozen=True, eq=False)
class Families:
    """The families of the systems, such as neighbours or factors: independent of each other.

    Parameters
    ----------
    family_numbers
        Number of the family of each system, from 0, of shape (n_systems,).
    by_similarity
        Whether some were found by likeness (`families_by_similarity`).
    share_of_ties
        Share of the users for whom all systems have the same scores.
    """

    family_numbers: Numbers = field(metadata={FIELD_KEY: "of"})
    by_similarity: bool = field(default=False, metadata={FIELD_KEY: "by_likeness"})
    share_of_ties: float = field(default=0.0, metadata={FIELD_KEY: "same"})

    @property
    def n_systems(self) -> int:
        """Number of systems."""
        return len(self.family_numbers)

    @property
    def n_families(self) -> int:
        """Number of families."""
        return int(self.family_numbers.max(initial=-1)) + 1

    def subsets(self, *, seed: int) -> Masks:
        """Draw three quarters of the families, and mark their systems.

        The result: of shape (n_subsets, n_systems); no subsets of too few systems or families.
        """
        return _subsets(tuple(self.family_numbers.tolist()), seed)

    def cautions(self) -> list[str]:
        """Say that there are no intervals over systems, or why these may be too narrow."""
        are_few = self.n_systems < MIN_SYSTEMS
        if are_few or self.n_families < MIN_FAMILIES:
            few = counted(self.n_systems, "system")
            if not are_few:
                few = counted(self.n_families, "family of systems")
            return [
                f"{few} are too few for an interval over systems; with other systems, any "
                "comparison of measures could reverse."
            ]
        too_few = (
            f"With {counted(self.n_systems, 'system')}, intervals over systems, and over users "
            "and systems, "
            "may hold less often than in 95 % (docs/methods/intervals.md)."
        )
        guessed = (
            "Families of systems that are not named were found by the likeness of their scores. "
            "Versions of one method whose scores deviate differently are taken to be unrelated, "
            "which makes intervals over systems too narrow: name the families of runs in "
            "`families` of [runs], and those of your own systems in `@system(family=...)`."
        )
        same = (
            "By all report measures, systems score the same for "
            f"{100 * self.share_of_ties:.0f} % of the users: intervals of differences over "
            "users and systems may hold less often than in 95 % (docs/methods/intervals.md)."
        )
        holds = self.n_systems < FEW_SYSTEMS, self.share_of_ties > MANY_TIES, self.by_similarity
        return [*compress((too_few, same, guessed), holds)]


@lru_cache
def _subsets(families: tuple[int, ...], seed: int) -> Masks:
    n_families, n_systems = len({*families}), len(families)
    if n_systems < MIN_SYSTEMS or n_families < MIN_FAMILIES:
        return np.empty((0, n_systems), dtype=np.bool_)
    drawn = [random_words(n_families, seed, "systems", n_families, n) for n in range(N_SUBSETS)]
    chosen = np.argsort(np.array(drawn), axis=1, kind="stable")[
        :, : round(SUBSET_SHARE * n_families)
    ]
    marks = np.zeros((N_SUBSETS, n_families), dtype=np.bool_)
    np.put_along_axis(marks, chosen, True, axis=1)
    marks = marks[:, families]
    marks.setflags(write=False)
    return marks


def families_by_similarity(scores: Scores, known: Mapping[str, str] | None = None) -> Families:
    """Put systems into the families that are known by name, others into those of their likeness.

    Systems are alike whose scores deviate from the means of users and systems in the same way: the
    mean over the report measures of their correlation over users is `FAMILY_CORRELATION` or more,
    in the mean over the pairs of two groups that are joined (average linkage).
    """
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    known = known or {}
    names = [known.get(system) for system in scores.systems]
    others = [place for place, name in enumerate(names) if name is None]
    found = [f"{place}" for place in range(len(others))]
    values = scores.weighted_values[scores.measures.indices(scores.measures.reported)]
    same = (values == values[:, :1]).all(axis=(0, 1))
    if len(others) > 1:
        rest = values - values.mean(axis=1, keepdims=True)
        rest = (rest - rest.mean(axis=2, keepdims=True))[:, others]
        lengths = np.sqrt((rest**2).sum(axis=2, keepdims=True))
        unit = np.divide(rest, lengths, out=np.zeros_like(rest), where=lengths > 0)
        apart = np.clip(1 - (unit @ unit.swapaxes(1, 2)).mean(axis=0), 0, None)
        tree = linkage(squareform(apart, checks=False), "average")
        found = [*map(str, fcluster(tree, 1 - FAMILY_CORRELATION, "distance"))]
    # No name of a family has a zero byte.
    own = dict(zip(others, found, strict=True))
    labels = [f"\0{own[place]}" if name is None else name for place, name in enumerate(names)]
    numbers = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    of_systems = np.array([numbers[label] for label in labels], dtype=np.intp)
    return Families(of_systems, bool(others), float(same.mean()))


N_CROSSED = 20
"""Resamples of users, and subsets of systems, that show how much both interact."""


@dataclass(frozen=True, eq=False)
class SubsetValues:
    r"""Numbers within random subsets of three quarters of the families of systems.

    Parameters
    ----------
    n_families
        Number of families.
    values
        Of shape (..., n_subsets); of too few systems or families there are no subsets.
    crossed
        The same within the first `N_CROSSED` subsets for as many resamples of users, of shape (...,
        n_resamples, n_subsets); NaN, or None, where they were not looked at.
    resampled
        The numbers of all systems for resampled users, of shape (..., n_replicates), if they vary
        otherwise than replicates that are moved to the numbers of the study do.

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

    def transformed(self, change: Callable[[Floats], Floats]) -> SubsetValues:
        """Change the numbers, as by taking their logarithms or the differences of some."""
        crossed, resampled = (
            None if numbers is None else change(numbers)
            for numbers in (self.crossed, self.resampled)
        )
        return replace(self, values=change(self.values), crossed=crossed, resampled=resampled)

    @property
    def variances(self) -> Floats:
        r"""Variance over systems by the delete-d jackknife over families, of shape (...).

        With m of F families in a subset, and v the variance over subsets, m / (F - m) v. NaN
        without subsets.
        """
        squares = (self.values - mean_of_defined(self.values)[..., np.newaxis]) ** 2
        return self._scale * mean_of_defined(squares)

    @property
    def interaction_variances(self) -> Floats:
        """Variance of the interaction of users and systems, of shape (...); 0 if not known.

        The variance over users has it, for all systems, and so has that over systems, for all
        users: what is left of ``crossed`` without the means of resamples and of subsets.
        """
        if self.crossed is None:
            return np.zeros(self.values.shape[:-1])
        rest = self.crossed - mean_of_defined(self.crossed)[..., np.newaxis]
        rest = rest.swapaxes(-1, -2)
        rest = rest - mean_of_defined(rest)[..., np.newaxis]
        n_subsets, n_resamples = rest.shape[-2:]
        freedom = max((n_subsets - 1) * (n_resamples - 1), 1)
        squares = mean_of_defined(rest.reshape(*rest.shape[:-2], n_subsets * n_resamples) ** 2)
        return np.nan_to_num(self._scale * squares * n_subsets * n_resamples / freedom)

    @property
    def _size(self) -> int:
        return round(SUBSET_SHARE * self.n_families)

    @property
    def _scale(self) -> float:
        return self._size / max(self.n_families - self._size, 1)

    def half_widths(self) -> Floats:
        """Say how far 95 % intervals over systems reach, by Student's t with F - 1 degrees."""
        return half_widths_from([(self.variances, self.n_families - 1)])

    def half_widths_over_both(self, users: Floats) -> Floats:
        """Say the same of intervals over users and systems, of variances over users."""
        return half_widths_from(
            [(users, np.inf), (self.added_variances(users), self.n_families - 1)]
        )

    def added_variances(self, user_variances: Floats, *, are_differences: bool = False) -> Floats:
        """Give the variance that systems add to that over users: their interaction counts once.

        As much of it is taken off as is known, but no more than the variance over users. Of
        differences, it is taken to be the same share of every variance: that of single ones is too
        uncertain to hold for all at once. At least as much is left as makes the sum the variance
        over systems of what depends on pairs of them, which the jackknife overestimates most.
        """
        variances, shared = self.variances, self.interaction_variances
        if not are_differences:
            return variances - np.minimum(np.minimum(shared, variances), user_variances)
        known = shared > 0
        total = variances[known].sum()
        share = min(shared.sum() / total, 1.0) if total > 0 else 0.0
        pairs = self.n_families * (self.n_families - 1) / max(self._size * (self._size - 1), 1)
        too_large = self._scale * (pairs - 1)
        return np.maximum(variances * (1 - share * known), variances / too_large - user_variances)


VarianceSource = tuple[Floats, float | Numbers]
"""Variances from one source of chance, and their degrees of freedom."""


def half_widths_from(sources: Sequence[VarianceSource], *, level: float = CONFIDENCE) -> Floats:
    """Say how far intervals reach whose variances are the sums over sources, of shape (...).

    Student's t has the degrees of freedom by Satterthwaite (1946), An approximate distribution of
    estimates of variance components; Welch (1947), The generalization of "Student's" problem when
    several different population variances are involved, equation 28. NaN without any.
    """
    variances = np.stack([of_source for of_source, _ in sources])
    total = variances.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = zip(variances / total, sources, strict=True)
        parts = sum(np.where(share > 0, share**2 / n, 0.0) for share, (_, n) in shares)
        quantiles = np.where(total > 0, stdtrit(1 / parts, (1 + level) / 2), 0.0)
    return np.asarray(quantiles * np.sqrt(total))
